//! `vkxfb strip-xfb`: removes transform feedback from a module.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use vkxfb_rewriter::lower::strip::strip_xfb;

/// The arguments of `vkxfb strip-xfb`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StripArguments {
    /// A module in SPIR-V, of any stage
    shader: PathBuf,
    #[command(flatten)]
    output: crate::output::Output,
}

const EXAMPLES: &str = "Examples:
  vkxfb strip-xfb my.vert.spv --text
  vkxfb strip-xfb my.geom.spv -o out.spv

This removes the mode Xfb, the capability TransformFeedback, the decorations
XfbBuffer and XfbStride, and the Offset decorations of outputs. A module
without them is not changed. Streams of geometry shaders stay.

Exit status: 0, or 2 if the file does not contain a module.";

/// Runs `vkxfb strip-xfb`, and returns its exit status.
pub(crate) fn run(arguments: &StripArguments) -> Result<u8> {
    let words = crate::source::read_spirv(&arguments.shader)?;
    let stripped = strip_xfb(&words).with_context(|| arguments.shader.display().to_string())?;
    // Whether there was transform feedback to remove.
    let report = json!({ "stripped": matches!(stripped, Cow::Owned(_)) });
    arguments.output.put(&stripped, &report)
}
