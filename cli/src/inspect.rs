//! `vkxfb inspect`: shows the interface of a shader and what it captures.

mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use spirv::StorageClass;
use vkxfb_rewriter::capture::{CaptureError, CapturedOutput, Layout, Varying};
use vkxfb_rewriter::capture::{InterfaceVariable, interface_variables, locations_used};
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::reflect::{
    DescriptorUse, PushConstant, ResourceType, geometry, push_constants, resource_interface,
};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::declared_constants;
use vkxfb_rewriter::spirv::entry_point::stage_name;

use crate::source::Sources;
use crate::specialize::default_of;
use crate::supplied::{self, Member};

/// The arguments of `vkxfb inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArguments {
    /// A vertex, tessellation evaluation or geometry shader in SPIR-V, or a vertex shader in WGSL
    /// (.wgsl) or GLSL (.vert, .glsl, .vs)
    shader: PathBuf,
    #[command(flatten)]
    translated: crate::captured::Translated,
    /// Show what is captured as Mesa and OpenGL list it: outputs by component, and varyings
    #[arg(long)]
    gl: bool,
    /// Number of locations that the device has: maxVertexOutputComponents / 4, or the corresponding
    /// limit of another stage
    #[arg(long, value_name = "N", default_value_t = 32)]
    max_locations: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  vkxfb inspect my.vert.spv                     inputs, outputs, and what its decorations capture
  vkxfb inspect my.wgsl --varyings colour,@Position
                                                where a list of outputs would be captured
  vkxfb inspect my.vert --gl                    as OpenGL's program interface lists it
  vkxfb inspect my.vert.spv --geometry my.geom.spv
                                                the geometry shader: its primitives, what is captured
  vkxfb inspect my.vert.spv --control my.tesc --evaluation my.tese
                                                how patches are divided, what is captured

Exit status: 0, even if nothing is captured; 2 if the shader or the list is
wrong.";

/// The interface of a shader, and what it captures: a list of outputs, and a list of varyings.
#[derive(Serialize)]
struct Inspection {
    stage: &'static str,
    entry_point: String,
    /// The primitives of a geometry shader, or of tessellation shaders. `None` for other shaders.
    geometry: Option<crate::primitives::Primitives>,
    /// The shaders that precede the shader, in the order in which they run.
    before: Vec<StageRow>,
    constants: Vec<ConstantRow>,
    inputs: Vec<InterfaceRow>,
    /// The buffers, images and samplers that the shader uses.
    descriptors: Vec<DescriptorRow>,
    /// The members of the push constant block.
    push_constants: Vec<PushConstantRow>,
    /// All outputs of the shader, captured or not.
    shader_outputs: Vec<InterfaceRow>,
    /// The reason why nothing is captured. `None` if something is captured.
    nothing_captured: Option<String>,
    buffers: Vec<BufferRow>,
    outputs: Vec<OutputRow>,
    varyings: Vec<VaryingRow>,
    locations_used: Vec<u32>,
    /// The number of locations of the device that the shader does not use. A translator may use
    /// them for additional outputs.
    locations_left: u32,
}

/// A shader that precedes the inspected one.
#[derive(Serialize)]
struct StageRow {
    stage: &'static str,
    entry_point: String,
}

#[derive(Serialize)]
struct ConstantRow {
    id: u32,
    #[serde(rename = "type")]
    ty: String,
    name: Option<String>,
    default: String,
}

#[derive(Serialize)]
struct PushConstantRow {
    /// The offset in bytes from the start of the application's push constants.
    offset: u32,
    /// The type in GLSL.
    #[serde(rename = "type")]
    ty: String,
    name: Option<String>,
    /// Whether the shader reads any part of the member.
    is_read: bool,
}

/// A variable that descriptors are bound to.
#[derive(Serialize)]
struct DescriptorRow {
    set: u32,
    binding: u32,
    /// The type of the descriptors: "uniform buffer".
    #[serde(rename = "type")]
    ty: String,
    name: Option<String>,
    /// The members of the block. Empty if the descriptors are not of buffers.
    members: Vec<Member>,
}

/// An input or output variable, or a member of a block.
#[derive(Serialize)]
struct InterfaceRow {
    /// The text that `--varyings` accepts for the output in addition to its name. `None` if the
    /// variable has neither a location nor a built-in.
    selector: Option<String>,
    /// The selector, or a description if there is no selector.
    #[serde(skip)]
    place: String,
    location: Option<u32>,
    /// The component of the location, from 0 to 3, at which the variable begins.
    component: u32,
    /// The name of the built-in in SPIR-V. `None` for other variables.
    built_in: Option<String>,
    /// The type in GLSL.
    #[serde(rename = "type")]
    ty: String,
    name: Option<String>,
    /// The size in bytes in a record. `None` if the output cannot be captured.
    size: Option<u32>,
}

#[derive(Serialize)]
struct BufferRow {
    buffer: usize,
    /// The size of a record in bytes.
    stride: u32,
    stream: u32,
}

/// Up to four captured 32-bit components of one location, as Mesa's function `nir_gather_xfb_info` lists them.
#[derive(Serialize)]
struct OutputRow {
    location: Option<u32>,
    buffer: u32,
    /// The captured components of the location: bit n is for component n.
    component_mask: u32,
    component_offset: u32,
    /// The offset in dwords from the start of the record.
    offset_dwords: u32,
    name: Option<String>,
}

#[derive(Serialize)]
struct VaryingRow {
    buffer: u32,
    /// The offset in bytes from the start of the record.
    offset: u32,
    /// The type in GLSL.
    #[serde(rename = "type")]
    ty: String,
    /// The type in OpenGL's program interface.
    gl_type: String,
    buffer_index: u32,
    /// The number of elements of an array; 1 for other types.
    size: u32,
    name: String,
}

/// Runs `vkxfb inspect`, and returns its exit status.
pub(crate) fn run(arguments: &InspectArguments) -> Result<u8> {
    let sources = arguments.translated.captured.read(&arguments.shader)?;
    let file = arguments.translated.captured.file(&arguments.shader);
    let inspection = inspect(arguments, &sources).with_context(|| file.display().to_string())?;
    if arguments.json {
        crate::print::show_json(&inspection)?;
    } else {
        crate::print::show(&text::render(&inspection, arguments.gl)?)?;
    }
    Ok(0)
}

fn inspect(arguments: &InspectArguments, sources: &Sources) -> Result<Inspection> {
    let values = sources.specialized();
    let stages = arguments.translated.stages(sources, &values);
    let shader = stages.shader;
    let mut before = Vec::new();
    for (shader, file) in
        stages.before.iter().zip(arguments.translated.captured.files(&arguments.shader))
    {
        let entry = shader.module().and_then(|module| Ok(shader.find(&module)?));
        let entry = entry.with_context(|| file.display().to_string())?;
        before.push(StageRow { stage: stage_name(entry.model), entry_point: entry.name });
    }
    let unspecialized = Module::parse(shader.words)?;
    let constants = declared_constants(&unspecialized, &Declarations::of(&unspecialized));
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    let declarations = Declarations::of(&module);
    let layout = match arguments.translated.list(&shader)? {
        None => Layout::from_decorations(&module, &declarations, &entry),
        Some(list) => Ok(Layout::from_list(&declarations, &entry, &list)?),
    };
    let (layout, nothing_captured) = match layout {
        Ok(layout) => (layout, None),
        // If nothing is captured, the inputs, the outputs and the descriptors can be shown all the same.
        Err(error @ (CaptureError::NoXfbMode { .. } | CaptureError::NothingCaptured)) => {
            (Layout::default(), Some(error.to_string()))
        }
        Err(error) => return Err(error.into()),
    };
    let interface = |storage| {
        let variables = interface_variables(&declarations, &entry, storage);
        variables.into_iter().map(interface_row).collect()
    };
    let used: BTreeSet<u32> = locations_used(&declarations, &entry);
    Ok(Inspection {
        inputs: interface(StorageClass::Input),
        descriptors: descriptor_rows(&shader)?,
        push_constants: push_constants(&shader)?.into_iter().map(push_constant_row).collect(),
        shader_outputs: interface(StorageClass::Output),
        stage: stage_name(entry.model),
        entry_point: entry.name.clone(),
        geometry: geometry(&shader, &stages.native())?
            .map(|primitives| crate::primitives::Primitives::of(primitives, entry.model)),
        before,
        constants: constants
            .into_iter()
            .map(|constant| ConstantRow {
                id: constant.constant_id,
                default: default_of(&constant),
                ty: constant.type_name,
                name: constant.name,
            })
            .collect(),
        nothing_captured,
        buffers: layout
            .buffers()
            .map(|(buffer, stride)| BufferRow { buffer, stride, stream: layout.streams[buffer] })
            .collect(),
        outputs: layout.outputs.iter().flat_map(output_rows).collect(),
        varyings: layout.varyings.iter().map(varying_row).collect(),
        locations_left: arguments.max_locations.saturating_sub(used.len() as u32),
        locations_used: used.into_iter().collect(),
    })
}

fn interface_row(variable: InterfaceVariable) -> InterfaceRow {
    InterfaceRow {
        built_in: variable.built_in_name(),
        place: variable.place(),
        selector: variable.selector,
        location: variable.location,
        component: variable.component,
        ty: variable.ty,
        name: variable.name,
        size: variable.size,
    }
}

fn descriptor_rows(shader: &Shader<'_>) -> Result<Vec<DescriptorRow>> {
    let row = |used: DescriptorUse| {
        let DescriptorUse { set, binding, resource, variable, .. } = used;
        let is_buffer =
            matches!(resource, ResourceType::UniformBuffer | ResourceType::StorageBuffer);
        // For some kinds of blocks, the user cannot supply values of members. Such a block is listed without its
        // members.
        let members = if is_buffer {
            supplied::members(&[shader], Some((set, binding))).unwrap_or_default()
        } else {
            Vec::new()
        };
        let name = variable.strip_prefix('\'').and_then(|name| name.split_once('\''));
        let name = name.map(|(name, _)| name.to_owned());
        let ty = resource.to_string();
        let ty = ["a ", "an "].iter().find_map(|article| ty.strip_prefix(article)).unwrap_or(&ty);
        DescriptorRow { set, binding, ty: ty.to_owned(), name, members }
    };
    let mut rows: Vec<_> = resource_interface(shader)?.descriptors.into_iter().map(row).collect();
    rows.sort_by_key(|row| (row.set, row.binding));
    Ok(rows)
}

fn push_constant_row(constant: PushConstant) -> PushConstantRow {
    let PushConstant { offset, ty, name, is_read, .. } = constant;
    PushConstantRow { offset, ty, name, is_read }
}

fn varying_row(varying: &Varying) -> VaryingRow {
    let element = varying.ty.glsl();
    VaryingRow {
        buffer: varying.buffer,
        offset: varying.offset,
        ty: match varying.count {
            1 => element,
            count => format!("{element}[{count}]"),
        },
        gl_type: varying.ty.to_string(),
        buffer_index: varying.buffer_index,
        size: varying.count,
        name: varying.name.clone(),
    }
}

/// Makes a row for each location of an output. A vector of 64-bit components may have two locations.
fn output_rows(output: &CapturedOutput) -> Vec<OutputRow> {
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
