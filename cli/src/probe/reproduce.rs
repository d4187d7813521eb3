//! `vkxfb probe reproduce`: writes a C program that shows a case without vkxfb.

use std::path::PathBuf;

use anyhow::{Context, Result};
use vkxfb_probe::report::{Outcome, shell_word};
use vkxfb_probe::reproduce::{COMPILE, ProgramFile, ReproducedDraw, program};
use vkxfb_probe::subject::Subject;
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use super::{BuiltIn, parse_built_in, parse_topology};

/// The arguments of `vkxfb probe reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReproduceArguments {
    /// The directory for the program, which is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// A shader of the probe: identify, two_buffers or attributes, or geometry or tessellation shaders behind identify,
    /// such as lines_to_triangles_cut or patches_to_lines
    #[arg(long, value_name = "NAME", default_value = "identify", value_parser = parse_built_in)]
    shader: BuiltIn,
    /// The topology, for example triangle-strip
    #[arg(long, value_parser = parse_topology)]
    topology: PrimitiveTopology,
    /// The provoking vertex: first or last
    #[arg(long, default_value = "first", value_parser = crate::options::parse_provoking)]
    provoking: ProvokingVertex,
    /// The number of vertices of an instance
    #[arg(long, value_name = "N", default_value_t = 7)]
    vertices: u32,
    /// The number of instances
    #[arg(long, value_name = "N", default_value_t = 1)]
    instances: u32,
}

const EXAMPLES: &str = "Examples:
  vkxfb probe reproduce --topology triangle-strip strip
  cd strip && cc main.c -o reproduce -lvulkan && ./reproduce

The program captures one draw by the driver's VK_EXT_transform_feedback,
prints the vertices that it captured beside those that the specification
demands, and exits with 1 where they differ. After tessellation the order
within a patch is the device's choice, and is not held against it. The
program needs a C compiler (C99), and the headers and the loader of Vulkan,
but not vkxfb. A report of vkxfb probe says with which arguments it shows a
finding. Existing files are replaced.

Exit status: 0 the program is written; 2 there is none for these shaders, or
a file cannot be written.";

/// Writes the program, and returns the exit status.
pub(super) fn run(arguments: &ReproduceArguments) -> Result<u8> {
    let ReproduceArguments { directory, topology, provoking, vertices, instances, .. } = arguments;
    let subject = match &arguments.shader {
        BuiltIn::Vertex(shader) => Subject::built_in(shader.clone()),
        BuiltIn::Geometry(geometry) => Subject::built_in_geometry(*geometry),
    }?;
    let draw = ReproducedDraw {
        topology: *topology,
        provoking: *provoking,
        vertices: *vertices,
        instances: *instances,
    };
    let mut files = program(&subject, draw)?;
    let assembly = files.iter().filter(|file| file.name.ends_with(".spv")).filter_map(|file| {
        let words = words_from_bytes(&file.contents).ok()?;
        let contents = crate::output::disassemble(&words)?;
        Some(ProgramFile { name: format!("{}asm", file.name), contents })
    });
    let assembly: Vec<_> = assembly.collect();
    files.extend(assembly);
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for file in &files {
        crate::files::write(&directory.join(&file.name), &file.contents)?;
    }
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let path = directory.display().to_string();
    let (names, word) = (names.join(", "), shell_word(&path));
    crate::print::show(&format!("{path}: {names}\n  $ cd {word} && {COMPILE}\n"))?;
    Ok(Outcome::AllRight.exit_code())
}
