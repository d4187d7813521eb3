//! Writes a rewritten module as the options say.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use vkxfb_probe::report::write_atomically;

use crate::print::{show_data, show_json};

/// Options for the file of a rewritten module, and for the information that is printed about it.
#[derive(Debug, clap::Args)]
#[group(id = "destination", required = true, multiple = true)]
pub(crate) struct Output {
    /// Write the module to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the module as SPIR-V assembly; spirv-dis must be installed
    #[arg(long)]
    text: bool,
    /// Print JSON that says how the module differs from the shader
    #[arg(long, conflicts_with = "text")]
    json: bool,
}

impl Output {
    /// Writes a module as the options say. `report` is printed with `--json`. Returns the exit
    /// status.
    pub(crate) fn put(&self, words: &[u32], report: &impl Serialize) -> Result<u8> {
        if let Some(file) = &self.output {
            write_atomically(file, bytemuck::cast_slice(words))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        if self.text {
            show_data(&disassemble(words).context("cannot run spirv-dis")?)?;
        }
        if self.json {
            show_json(report)?;
        }
        Ok(0)
    }
}

/// Returns the module as SPIR-V assembly. `None` if spirv-dis is not installed or fails.
pub(crate) fn disassemble(words: &[u32]) -> Option<Vec<u8>> {
    let mut file = tempfile::NamedTempFile::new().ok()?;
    file.write_all(bytemuck::cast_slice(words)).ok()?;
    let output = std::process::Command::new("spirv-dis").arg(file.path()).output().ok()?;
    output.status.success().then_some(output.stdout)
}
