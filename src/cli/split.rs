//! `vkxfb split-blocks`

use std::path::PathBuf;

use anyhow::{Context, Result};
use vkxfb::lower::split_blocks::{Options, split_blocks};

/// Arguments of `vkxfb split-blocks`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A vertex shader in SPIR-V
    shader: PathBuf,
    /// Its entry point, where there are several
    #[arg(long, value_name = "NAME")]
    entry_point: Option<String>,
    #[command(flatten)]
    constants: super::specialize::Constants,
    #[command(flatten)]
    output: super::Output,
}

/// Runs `vkxfb split-blocks`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let words = super::read(&arguments.shader, arguments.entry_point.as_deref())?;
    let specialization = arguments.constants.specialization();
    let options = Options {
        entry_point: arguments.entry_point.as_deref(),
        specialization: &specialization,
        ..Options::default()
    };
    let split =
        split_blocks(&words, &options).with_context(|| arguments.shader.display().to_string())?;
    arguments.output.put(&split.words)
}
