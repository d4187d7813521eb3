//! `vkxfb inspect`

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use comfy_table::{Table, TableStyle};
use serde::Serialize;
use vkxfb::capture::{Layout, Output, locations_used};
use vkxfb::lower::Shader;
use vkxfb::spirv::declarations::Declarations;
use vkxfb::spirv::entry_point::find_vertex_shader;

/// Arguments of `vkxfb inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A vertex shader: SPIR-V, WGSL (.wgsl) or GLSL (.vert, .glsl)
    shader: PathBuf,
    #[command(flatten)]
    captured: super::Captured,
    /// Locations that the device has: maxVertexOutputComponents / 4
    #[arg(long, value_name = "N", default_value_t = 32)]
    max_locations: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Both views of a layout, and the locations.
#[derive(Serialize)]
struct Inspection {
    entry_point: String,
    buffers: Vec<BufferRow>,
    outputs: Vec<OutputRow>,
    varyings: Vec<VaryingRow>,
    locations_used: Vec<u32>,
    /// Locations of the device that the shader leaves; what a translator may add.
    locations_left: u32,
}

#[derive(Serialize)]
struct BufferRow {
    buffer: usize,
    /// Bytes of a record.
    stride: u32,
}

/// Up to four 32-bit components of one location, as `nir_gather_xfb_info` has them.
#[derive(Serialize)]
struct OutputRow {
    location: Option<u32>,
    buffer: u32,
    /// Bit n is component n of the location.
    component_mask: u32,
    component_offset: u32,
    /// Dwords from the start of the record.
    offset_dwords: u32,
    name: Option<String>,
}

#[derive(Serialize)]
struct VaryingRow {
    /// Bytes from the start of the record.
    offset: u32,
    #[serde(rename = "type")]
    ty: String,
    buffer_index: u32,
    size: u32,
    name: String,
}

/// Runs `vkxfb inspect`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    let words = super::read(&arguments.shader, arguments.captured.entry_point())?;
    let inspection =
        inspect(arguments, &words).with_context(|| arguments.shader.display().to_string())?;
    if arguments.json {
        super::show(&format!("{}\n", serde_json::to_string_pretty(&inspection)?))?;
    } else {
        super::show(&text(&inspection)?)?;
    }
    Ok(0)
}

fn inspect(arguments: &Arguments, words: &[u32]) -> Result<Inspection> {
    let entry_point = arguments.captured.entry_point();
    let specialization = arguments.captured.constants.specialization();
    let shader = Shader { entry_point, specialization: &specialization, ..Shader::new(words) };
    let module = shader.module()?;
    let entry = find_vertex_shader(&module, entry_point)?;
    let declarations = Declarations::of(&module);
    let layout = match arguments.captured.list(&shader)? {
        None => Layout::from_decorations(&module, &declarations, &entry)?,
        Some(list) => Layout::from_list(&declarations, &entry, &list)?,
    };
    let used: BTreeSet<u32> = locations_used(&declarations, &entry);
    Ok(Inspection {
        entry_point: entry.name,
        buffers: layout.buffers().map(|(buffer, stride)| BufferRow { buffer, stride }).collect(),
        outputs: layout.outputs.iter().flat_map(output_rows).collect(),
        varyings: layout
            .varyings
            .iter()
            .map(|v| VaryingRow {
                offset: v.offset,
                ty: v.ty.to_string(),
                buffer_index: v.buffer_index,
                size: v.count,
                name: v.name.clone(),
            })
            .collect(),
        locations_left: arguments.max_locations.saturating_sub(used.len() as u32),
        locations_used: used.into_iter().collect(),
    })
}

/// A row a location: a long vector of 64-bit components takes two.
fn output_rows(output: &Output) -> Vec<OutputRow> {
    let mut rows = Vec::new();
    let (mut component, mut done) = (output.component, 0);
    while done < output.dwords() {
        let count = (4 - component.min(3)).min(output.dwords() - done);
        rows.push(OutputRow {
            location: output.location.map(|location| location + rows.len() as u32),
            buffer: output.buffer,
            component_mask: ((1 << count) - 1) << component.min(3),
            component_offset: component,
            offset_dwords: output.offset / 4 + done,
            name: output.name.clone(),
        });
        (component, done) = (0, done + count);
    }
    rows
}

fn text(inspection: &Inspection) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "entry point '{}'", inspection.entry_point)?;
    for BufferRow { buffer, stride } in &inspection.buffers {
        writeln!(text, "buffer {buffer}: {stride} bytes a vertex")?;
    }
    let mut outputs = table(&["location", "buffer", "components", "dword", "name"]);
    for row in &inspection.outputs {
        outputs.add_row([
            row.location.map_or("built-in".to_owned(), |location| location.to_string()),
            row.buffer.to_string(),
            (0..4)
                .map(|i| if row.component_mask >> i & 1 == 1 { "xyzw".as_bytes()[i] } else { b'.' })
                .map(char::from)
                .collect(),
            row.offset_dwords.to_string(),
            row.name.clone().unwrap_or_default(),
        ]);
    }
    writeln!(text, "\noutputs\n{outputs}")?;
    let mut varyings = table(&["offset", "type", "buffer index", "size", "name"]);
    for row in &inspection.varyings {
        varyings.add_row([
            row.offset.to_string(),
            row.ty.clone(),
            row.buffer_index.to_string(),
            row.size.to_string(),
            row.name.clone(),
        ]);
    }
    writeln!(text, "\nvaryings\n{varyings}")?;
    let used: Vec<String> = inspection.locations_used.iter().map(u32::to_string).collect();
    writeln!(
        text,
        "\nlocations used: {}",
        if used.is_empty() { "none".to_owned() } else { used.join(" ") }
    )?;
    writeln!(text, "locations left: {}", inspection.locations_left)?;
    Ok(text)
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_header(head);
    table
}
