//! Reads Gallium's stream outputs from a JSON file.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use vkxfb_translators::stream_output::{SlotLocations, StreamOutput, StreamOutputInfo};

/// The contents of the file, which has the fields of [`StreamOutputInfo`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The stride of each buffer in dwords. There may be fewer elements than buffers.
    strides: Vec<u32>,
    outputs: Vec<Output>,
    #[serde(default)]
    locations: Locations,
    outputs_written: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Locations {
    #[default]
    Packed,
    Unpacked,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    register_index: u32,
    start_component: u32,
    num_components: u32,
    output_buffer: u32,
    dst_offset: u32,
    #[serde(default)]
    stream: u32,
}

pub(super) fn read(file: &Path) -> Result<StreamOutputInfo> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text).with_context(|| file.display().to_string())
}

/// Reads stream outputs from the text of a file.
pub(super) fn parse(text: &str) -> Result<StreamOutputInfo> {
    info(serde_json::from_str(text)?)
}

fn info(file: File) -> Result<StreamOutputInfo> {
    let File { strides: given, outputs, locations, outputs_written } = file;
    let mut strides = StreamOutputInfo::default().strides;
    if given.len() > strides.len() {
        bail!("{} strides, but there are only {} buffers", given.len(), strides.len());
    }
    strides[..given.len()].copy_from_slice(&given);
    let output = |output: Output| StreamOutput {
        register_index: output.register_index,
        start_component: output.start_component,
        num_components: output.num_components,
        output_buffer: output.output_buffer,
        dst_offset: output.dst_offset,
        stream: output.stream,
    };
    let locations = match locations {
        Locations::Packed => SlotLocations::Packed,
        Locations::Unpacked => SlotLocations::Unpacked,
    };
    let outputs = outputs.into_iter().map(output).collect();
    Ok(StreamOutputInfo { outputs, strides, locations, outputs_written })
}
