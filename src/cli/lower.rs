//! `vkxfb lower`

use std::path::PathBuf;

use anyhow::{Context, Result};
use vkxfb::capture::{BufferMode, CaptureList};
use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Backend, Captures, Shader, compute, native, vertex};
use vkxfb::spirv::Module;
use vkxfb::spirv::declarations::Declarations;
use vkxfb::spirv::entry_point::find_vertex_shader;

/// Arguments of `vkxfb lower`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A vertex shader: SPIR-V, WGSL (.wgsl) or GLSL (.vert, .glsl)
    shader: PathBuf,
    /// native, vertex or compute
    #[arg(long, value_parser = super::parse_backend)]
    backend: Backend,
    /// Its entry point, where there are several
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// Capture these outputs, as glTransformFeedbackVaryings would, whatever the decorations say
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    varyings: Vec<String>,
    /// With --varyings: one buffer an output
    #[arg(long, requires = "varyings")]
    separate: bool,
    /// Invocations of a workgroup of the compute backend
    #[arg(long, value_name = "N", default_value_t = compute::DEFAULT_WORKGROUP_SIZE)]
    workgroup_size: u32,
    #[command(flatten)]
    output: super::Output,
}

/// Runs `vkxfb lower`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let words = super::read(&arguments.shader, arguments.entry_point.as_deref())?;
    let lowered =
        lower(arguments, &words).with_context(|| arguments.shader.display().to_string())?;
    arguments.output.put(&lowered)
}

fn lower(arguments: &Arguments, words: &[u32]) -> Result<Vec<u32>> {
    let entry_point = arguments.entry_point.as_deref();
    let list = list(entry_point, words, &arguments.varyings, arguments.separate)?;
    let captures = list.as_ref().map_or(Captures::Decorations, Captures::List);
    let shader = Shader { words, entry_point, captures };
    let lowered = match arguments.backend {
        Backend::Native => native::lower(&shader)?,
        Backend::Vertex => vertex::lower(&shader)?,
        Backend::Compute => {
            // What would be bound is not known here: tightly packed, as the shader reads it.
            let reads = vertex_reads(words, entry_point)?;
            let vertex_input = reads.packed_vertex_input();
            let workgroup_size = arguments.workgroup_size;
            compute::lower(
                &shader,
                &compute::Options { vertex_input: &vertex_input, workgroup_size },
            )?
        }
    };
    Ok(lowered.words)
}

/// What `--varyings` and `--separate` say; `None` leaves it to the decorations.
pub(super) fn list(
    entry_point: Option<&str>,
    words: &[u32],
    varyings: &[String],
    separate: bool,
) -> Result<Option<CaptureList>> {
    if varyings.is_empty() {
        return Ok(None);
    }
    let module = Module::parse(words)?;
    let entry = find_vertex_shader(&module, entry_point)?;
    let mode = if separate { BufferMode::Separate } else { BufferMode::Interleaved };
    let declarations = Declarations::of(&module);
    Ok(Some(CaptureList::from_varyings(&declarations, &entry, varyings, mode)?))
}
