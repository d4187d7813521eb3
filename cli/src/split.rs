//! `vkxfb split-blocks`: makes each member of a shader's output blocks and structures a variable.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use vkxfb_translators::split_blocks::{SplitOptions, split_blocks};

/// The arguments of `vkxfb split-blocks`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SplitArguments {
    /// A vertex, tessellation evaluation or geometry shader in SPIR-V, or a vertex shader in WGSL
    /// (.wgsl) or GLSL (.vert, .glsl, .vs)
    shader: PathBuf,
    /// Stage of the shader; by default the first of these stages that the module has
    #[arg(long, value_name = "STAGE")]
    stage: Option<crate::options::StageName>,
    /// Name of the entry point, if there are several
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    #[command(flatten)]
    constants: crate::specialize::Constants,
    #[command(flatten)]
    output: crate::output::Output,
}

const EXAMPLES: &str = "Examples:
  vkxfb split-blocks my.vert.spv --text
  vkxfb split-blocks my.vert.spv -o out.spv

Exit status: 0, or 2 if a block cannot be split.";

/// The changes that the command made, for `--json`.
#[derive(Serialize)]
struct SplitReport<'a> {
    entry_point: &'a str,
    members: Vec<Member<'a>>,
}

/// A variable that was made from a member.
#[derive(Serialize)]
struct Member<'a> {
    variable: u32,
    /// The variable to which the member belonged.
    of: u32,
    /// The indices of an access chain from that variable to the member.
    path: &'a [u32],
    location: u32,
}

/// Runs `vkxfb split-blocks`, and returns its exit status.
pub(crate) fn run(arguments: &SplitArguments) -> Result<u8> {
    let entry_point = arguments.entry_point.as_deref();
    let (words, values) =
        crate::source::read(&arguments.shader, entry_point, &arguments.constants)?;
    let specialization = values.specialization();
    let mut options = SplitOptions::default().specialization(&specialization);
    (options.stage, options.entry_point) = (arguments.stage.map(Into::into), entry_point);
    let split =
        split_blocks(&words, &options).with_context(|| arguments.shader.display().to_string())?;
    let report = SplitReport {
        entry_point: &split.entry_point,
        members: split
            .members
            .iter()
            .map(|member| Member {
                variable: member.variable.0,
                of: member.of.0,
                path: &member.path,
                location: member.location,
            })
            .collect(),
    };
    arguments.output.put(&split.words, &report)
}
