//! Files with what a shader's descriptors and push constants hold.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vkxfb_probe::contents::{Given, GivenBytes};

/// What is bound beside vertex buffers.
#[derive(Debug, clap::Args)]
pub(super) struct Supplied {
    /// The bytes of a uniform or storage buffer, as they lie in memory, by descriptor set and binding: 0.1=lights.bin.
    /// In an array of buffers all are this one
    #[arg(long = "uniform", value_name = "SET.BINDING=FILE", value_parser = parse_buffer)]
    buffers: Vec<Buffer>,
    /// The bytes of the push constants, from byte 0 on
    #[arg(long, value_name = "FILE")]
    push: Option<PathBuf>,
}

/// A buffer as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Buffer {
    set: u32,
    binding: u32,
    file: PathBuf,
}

impl Supplied {
    /// Reads the files.
    pub(super) fn read(&self) -> Result<Given> {
        let mut given = Given::default();
        for Buffer { set, binding, file } in &self.buffers {
            if given.buffers.insert((*set, *binding), bytes_of(file)?).is_some() {
                bail!("--uniform gives {set}.{binding} two files");
            }
        }
        given.push_constants = self.push.as_deref().map(bytes_of).transpose()?;
        Ok(given)
    }

    /// The options that give the same again.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        for Buffer { set, binding, file } in &self.buffers {
            options.push("--uniform".to_owned());
            options.push(format!("{set}.{binding}={}", file.display()));
        }
        if let Some(file) = &self.push {
            options.extend(["--push".to_owned(), file.display().to_string()]);
        }
        options
    }
}

fn bytes_of(file: &Path) -> Result<GivenBytes> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
    Ok(GivenBytes { name, bytes })
}

fn parse_buffer(text: &str) -> Result<Buffer, String> {
    let wrong = || "SET.BINDING=FILE, as in 0.1=lights.bin".to_owned();
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let (place, file) = text.split_once('=').ok_or_else(wrong)?;
    let (set, binding) = place.split_once('.').ok_or_else(wrong)?;
    if file.is_empty() {
        return Err(wrong());
    }
    Ok(Buffer { set: number(set)?, binding: number(binding)?, file: file.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_read() {
        let buffer = |set, binding, file: &str| Ok(Buffer { set, binding, file: file.into() });
        assert_eq!(parse_buffer("0.1=lights.bin"), buffer(0, 1, "lights.bin"));
        assert_eq!(parse_buffer("2 . 30=a=b.c"), buffer(2, 30, "a=b.c"));
        for wrong in ["", "0", "0=a", "0.1", "0.1=", "a.1=b", "0.-1=b", ".=b"] {
            assert!(parse_buffer(wrong).is_err(), "{wrong}");
        }
    }
}
