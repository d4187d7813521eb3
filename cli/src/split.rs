//! `vkxfb split-blocks`: makes each member of a shader's output blocks and structures a variable.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use vkxfb_translators::split_blocks::{Member, SplitOptions, split_blocks};

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
    let member = |member: &Member| {
        json!({
            "variable": member.variable.0,
            // The variable to which the member belonged.
            "of": member.of.0,
            // The indices of an access chain from that variable to the member.
            "path": member.path,
            "location": member.location,
        })
    };
    let members: Vec<_> = split.members.iter().map(member).collect();
    let report = json!({ "entry_point": split.entry_point, "members": members });
    arguments.output.put(&split.words, &report)
}
