//! Formats the output of `vkxfb inspect` as text.

use std::fmt::Write;

use anyhow::Result;
use comfy_table::{Table, TableStyle};
use vkxfb_probe::terminal::in_line;

use super::{
    BufferRow, DescriptorRow, Inspection, InterfaceRow, Member, PushConstantRow, StageRow,
};
use crate::primitives::{Primitives, Tessellation};

/// Renders the tables. With `gl`, the captured outputs are shown as OpenGL lists them, otherwise as
/// Vulkan does.
pub(super) fn render(inspection: &Inspection, gl: bool) -> Result<String> {
    let mut text = String::new();
    write!(text, "{} shader '{}'", inspection.stage, in_line(&inspection.entry_point))?;
    for (number, StageRow { stage, entry_point }) in inspection.before.iter().enumerate() {
        let lead = if number == 0 { ", behind" } else { ", and" };
        write!(text, "{lead} {stage} shader '{}'", in_line(entry_point))?;
    }
    writeln!(text)?;
    let divided = inspection.geometry.as_ref().and_then(|of| of.tessellation.as_ref());
    if let Some(Tessellation { domain, spacing, primitives, control_points }) = divided {
        let plural = if *control_points == 1 { "point" } else { "points" };
        writeln!(
            text,
            "patches are {domain} with {spacing} spacing, divided into {primitives}; \
             the control shader returns {control_points} control {plural} of each"
        )?;
    }
    let emits = inspection.geometry.as_ref().filter(|_| inspection.stage == "geometry");
    if let Some(Primitives { input, output, max_vertices, invocations, .. }) = emits {
        let input = divided.map_or(&**input, |divided| divided.primitives);
        let plural = if *max_vertices == 1 { "vertex" } else { "vertices" };
        let times = if *invocations == 1 { "once" } else { &format!("{invocations} times") };
        writeln!(
            text,
            "takes {input}, and emits {output} of at most {max_vertices} {plural} in all; runs {times} for each"
        )?;
    }
    if !inspection.constants.is_empty() {
        let mut constants = table(&["id", "type", "name", "default"]);
        for row in &inspection.constants {
            let name = row.name.clone().unwrap_or_default();
            add_row(
                &mut constants,
                [row.id.to_string(), row.ty.clone(), name, row.default.clone()],
            );
        }
        writeln!(text, "\nspecialisation constants\n{constants}")?;
    }
    if !inspection.inputs.is_empty() {
        writeln!(text, "\ninputs\n{}", inputs(&inspection.inputs))?;
    }
    if !inspection.descriptors.is_empty() {
        writeln!(text, "\ndescriptors\n{}", descriptors(&inspection.descriptors))?;
    }
    if !inspection.push_constants.is_empty() {
        writeln!(text, "\npush constants\n{}", push_constants(&inspection.push_constants))?;
    }
    if !inspection.shader_outputs.is_empty() {
        writeln!(text, "\noutputs\n{}", outputs(&inspection.shader_outputs))?;
    }
    match &inspection.nothing_captured {
        Some(reason) => {
            writeln!(text, "\nno transform feedback decorations: {}", in_line(reason))?;
            let first = inspection.shader_outputs.iter().find(|row| row.size.is_some());
            if let Some(selector) = first.and_then(|row| row.selector.as_ref()) {
                writeln!(
                    text,
                    "vkxfb capture takes Position and all outputs that have locations, or those of --varyings, by name \
                     or place, for example {selector}"
                )?;
            }
        }
        None if gl => write_gl(&mut text, inspection)?,
        None => write_captured(&mut text, inspection)?,
    }
    let used: Vec<String> = inspection.locations_used.iter().map(u32::to_string).collect();
    let used = if used.is_empty() { "none".to_owned() } else { used.join(" ") };
    writeln!(text, "\nlocations used: {used}")?;
    writeln!(text, "locations left: {}", inspection.locations_left)?;
    Ok(text)
}

fn inputs(rows: &[InterfaceRow]) -> Table {
    let mut all = table(&["location", "type", "name"]);
    for row in rows {
        let place = match (row.location, row.component) {
            (Some(location), 0) => location.to_string(),
            (Some(location), component) => format!("{location}, component {component}"),
            (None, _) => row.place.clone(),
        };
        add_row(&mut all, [place, row.ty.clone(), row.name.clone().unwrap_or_default()]);
    }
    all
}

/// Makes a table of descriptors, with a row for each member of a block.
fn descriptors(rows: &[DescriptorRow]) -> Table {
    let mut all = table(&["set.binding", "byte", "type", "name"]);
    for DescriptorRow { set, binding, ty, name, members } in rows {
        let name = name.clone().unwrap_or_default();
        add_row(&mut all, [format!("{set}.{binding}"), String::new(), ty.clone(), name]);
        for Member { offset, ty, name } in members {
            add_row(&mut all, [String::new(), offset.to_string(), ty.clone(), name.clone()]);
        }
    }
    all
}

fn push_constants(rows: &[PushConstantRow]) -> Table {
    let mut all = table(&["byte", "type", "name"]);
    for row in rows {
        let name = row.name.clone().unwrap_or_default();
        let name = if row.is_read { name } else { format!("{name} (not read)") };
        add_row(&mut all, [row.offset.to_string(), row.ty.clone(), name]);
    }
    all
}

/// Makes a table of the outputs, with the selector and the name that `--varyings` accepts for each.
fn outputs(rows: &[InterfaceRow]) -> Table {
    let mut all = table(&["output", "type", "name"]);
    for row in rows {
        let ty = match row.size {
            Some(_) => row.ty.clone(),
            None => format!("{} (cannot be captured)", row.ty),
        };
        add_row(&mut all, [row.place.clone(), ty, row.name.clone().unwrap_or_default()]);
    }
    all
}

/// Writes a table with the buffer and offset of each captured value.
fn write_captured(text: &mut String, inspection: &Inspection) -> Result<()> {
    let mut captured = table(&["buffer", "byte", "type", "name"]);
    for row in &inspection.varyings {
        let (buffer, offset) = (row.buffer.to_string(), row.offset.to_string());
        add_row(&mut captured, [buffer, offset, row.ty.clone(), row.name.clone()]);
    }
    writeln!(text, "\ncaptured\n{captured}")?;
    write_buffers(text, inspection)
}

/// Writes the captured outputs as `nir_gather_xfb_info` lists them, and the varyings of OpenGL's
/// program interface.
fn write_gl(text: &mut String, inspection: &Inspection) -> Result<()> {
    let mut outputs = table(&["location", "buffer", "components", "dword", "name"]);
    for row in &inspection.outputs {
        let component = |i: usize| if row.component_mask >> i & 1 == 1 { b"xyzw"[i] } else { b'.' };
        add_row(
            &mut outputs,
            [
                row.location.map_or("built-in".to_owned(), |location| location.to_string()),
                row.buffer.to_string(),
                (0..4).map(component).map(char::from).collect(),
                row.offset_dwords.to_string(),
                row.name.clone().unwrap_or_default(),
            ],
        );
    }
    writeln!(text, "\ncaptured outputs\n{outputs}")?;
    let mut varyings = table(&["offset", "type", "buffer index", "size", "name"]);
    for row in &inspection.varyings {
        add_row(
            &mut varyings,
            [
                row.offset.to_string(),
                row.gl_type.clone(),
                row.buffer_index.to_string(),
                row.size.to_string(),
                row.name.clone(),
            ],
        );
    }
    writeln!(text, "\ncaptured varyings\n{varyings}")?;
    write_buffers(text, inspection)
}

fn write_buffers(text: &mut String, inspection: &Inspection) -> Result<()> {
    writeln!(text)?;
    for BufferRow { buffer, stride, stream } in &inspection.buffers {
        let stream = match stream {
            0 => String::new(),
            _ => format!(" of stream {stream}"),
        };
        writeln!(text, "buffer {buffer}: {stride} bytes per vertex{stream}")?;
    }
    Ok(())
}

/// Adds a row whose cells may have names of the module.
fn add_row<const N: usize>(table: &mut Table, cells: [String; N]) {
    table.add_row(cells.map(|cell| in_line(&cell)));
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_header(head);
    table
}
