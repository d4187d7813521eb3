//! `vkxfb broadcast-color`: lets a fragment shader write its colour to every attachment.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use vkxfb_translators::broadcast::{AddedOutput, BroadcastOptions, broadcast_color};

/// The arguments of `vkxfb broadcast-color`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BroadcastArguments {
    /// A fragment shader in SPIR-V whose output at location 0 stands for gl_FragColor
    shader: PathBuf,
    /// Name of the entry point, if there are several
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// The number of colour attachments to be written
    #[arg(long, value_name = "N", default_value_t = 8)]
    attachments: u32,
    /// maxFragmentOutputAttachments of the device
    #[arg(long, value_name = "N", default_value_t = 8)]
    max_attachments: u32,
    /// maxFragmentDualSrcAttachments of the device
    #[arg(long, value_name = "N", default_value_t = 1)]
    max_dual_source: u32,
    #[command(flatten)]
    output: crate::output::Output,
}

const EXAMPLES: &str = "Examples:
  vkxfb broadcast-color my.frag.spv --text
  vkxfb broadcast-color my.frag.spv --attachments 3 -o out.spv

Exit status: 0, or 2 if the colour cannot be broadcast.";

/// Runs `vkxfb broadcast-color`, and returns its exit status.
pub(crate) fn run(arguments: &BroadcastArguments) -> Result<u8> {
    let words = crate::source::read_spirv(&arguments.shader)?;
    let mut options = BroadcastOptions::new(arguments.attachments, arguments.max_attachments)
        .max_dual_source_attachments(arguments.max_dual_source);
    options.entry_point = arguments.entry_point.as_deref();
    let broadcast = broadcast_color(&words, &options)
        .with_context(|| arguments.shader.display().to_string())?;
    // The output that was added for an attachment.
    let added = |output: &AddedOutput| {
        json!({
            "variable": output.variable.0,
            // The output variable whose value is copied to the added variable.
            "source": output.source.0,
            "location": output.location,
            "index": output.index,
            "component": output.component,
        })
    };
    let report = json!({
        "entry_point": broadcast.entry_point,
        // Whether the shader has a second colour for dual-source blending.
        "dual_source": broadcast.dual_source,
        "added": broadcast.added.iter().map(added).collect::<Vec<_>>(),
    });
    arguments.output.put(&broadcast.words, &report)
}
