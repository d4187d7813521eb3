//! `vkxfb broadcast-color`

use std::path::PathBuf;

use anyhow::{Context, Result};
use vkxfb::lower::broadcast::{Options, broadcast_color};

/// Arguments of `vkxfb broadcast-color`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A fragment shader in SPIR-V whose output at location 0 stands for gl_FragColor
    shader: PathBuf,
    /// Its entry point, where there are several
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    /// Colour attachments to be written
    #[arg(long, value_name = "N", default_value_t = 8)]
    attachments: u32,
    /// maxFragmentOutputAttachments of the device
    #[arg(long, value_name = "N", default_value_t = 8)]
    max_attachments: u32,
    /// maxFragmentDualSrcAttachments of the device
    #[arg(long, value_name = "N", default_value_t = 1)]
    max_dual_source: u32,
    #[command(flatten)]
    output: super::Output,
}

/// Runs `vkxfb broadcast-color`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let words = super::read_spirv(&arguments.shader)?;
    let options = Options {
        entry_point: arguments.entry_point.as_deref(),
        attachments: arguments.attachments,
        max_attachments: arguments.max_attachments,
        max_dual_source_attachments: arguments.max_dual_source,
    };
    let broadcast = broadcast_color(&words, &options)
        .with_context(|| arguments.shader.display().to_string())?;
    arguments.output.put(&broadcast.words)
}
