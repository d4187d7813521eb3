//! Makes the create info of a pipeline whose vertex shader is merged with the geometry shader.

use std::ffi::CStr;
use std::sync::Arc;

use ash::vk;
use ash::vk::GraphicsPipelineLibraryFlagsEXT as Has;
use vkxfb::runtime::{DrawnShader, RuntimeError};
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::drawn::{self, Options, PARAMETERS_LOCATION, fragment};
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::chain::slice;
use crate::emulation::Emulation;
use crate::emulation::default_attributes::Inputs;
use crate::emulation::drawn::{Drawing, DrawnPipeline, FoundDrawn};
use crate::emulation::graphics_pipelines::{
    DESCRIPTOR_HEAP, create_module, flags_of, kind, module_of, rasterized_stream, stage_of,
};
use crate::emulation::pipelines::{InputPart, PipelineError, ShaderPart, StagePart};
use crate::emulation::shader_modules::{Stripped, needs_geometry};

type Info = vk::GraphicsPipelineCreateInfo<'static>;
type Stage = vk::PipelineShaderStageCreateInfo<'static>;

/// Memory for the create info of a driver's pipeline, which points to it.
#[derive(Default)]
pub(in crate::emulation) struct DrawnBelow {
    stages: Vec<Stage>,
    binding: Box<[vk::VertexInputBindingDescription]>,
    attribute: Box<[vk::VertexInputAttributeDescription]>,
    input: Box<vk::PipelineVertexInputStateCreateInfo<'static>>,
    assembly: Box<vk::PipelineInputAssemblyStateCreateInfo<'static>>,
    rasterization: Box<vk::PipelineRasterizationStateCreateInfo<'static>>,
    dynamic_states: Vec<vk::DynamicState>,
    dynamic: Box<vk::PipelineDynamicStateCreateInfo<'static>>,
}

/// What the layer keeps of a pipeline with a geometry shader, if it has one, and memory for the driver's create info.
pub(in crate::emulation) type Replaced = (Option<FoundDrawn>, DrawnBelow);

/// The merged shader of a pipeline, and its fragment shader if that was rewritten.
struct Merged {
    drawn: drawn::Drawn,
    fragment: Option<Vec<u32>>,
    vertex_input: VertexInput,
}

/// If a pipeline has a geometry shader, replaces its stages in `info`, the create info for the driver, by a merged vertex
/// shader, and returns the pipeline's data, with memory that `info` points to. If the geometry shader cannot be drawn, the
/// driver gets a pipeline that draws nothing, and the reason is returned. `given` is the program's create info. Adds to
/// `temporary` the modules that the driver needs until the pipeline is created.
///
/// # Errors
/// Memory ran out, or the device is lost; with the setting `strict` the geometry shader cannot be drawn.
///
/// # Safety
/// The structures are valid for `vkCreateGraphicsPipelines`, and the device is live.
pub(in crate::emulation) unsafe fn replaced(
    emulation: &Emulation,
    drawing: &Drawing,
    given: &Info,
    info: &mut Info,
    temporary: &mut Vec<vk::ShaderModule>,
) -> Result<Option<Replaced>, PipelineError> {
    unsafe {
        let stages = slice(given.p_stages, given.stage_count);
        if stage_of(stages, vk::ShaderStageFlags::GEOMETRY).is_none() {
            return without_geometry(emulation, drawing, given, info, temporary);
        }
        let mut below = DrawnBelow::default();
        let made = merged(emulation, drawing, given).and_then(|(merged, input, shader)| {
            let fragment = merged.fragment.as_deref();
            let words = [Some(&merged.drawn.words[..]), fragment];
            let modules = words.map(|words| words.map(|words| module(emulation, words, temporary)));
            let [Some(vertex), fragment] = modules else { return Err(PipelineError::Module) };
            let modules = (vertex?, fragment.transpose()?);
            let pipeline = pipeline_of(merged, input, shader)?;
            below.draws(drawing, given, info, pipeline.list, modules);
            Ok(pipeline)
        });
        match made {
            Ok(pipeline) => Ok(Some((Some(Ok(Some(Arc::new(pipeline)))), below))),
            // Nothing would be rasterized in any case.
            Err(_) if discards(given) => {
                below.draws_nothing(info);
                Ok(Some((Some(Ok(None)), below)))
            }
            Err(error) => nothing(emulation, info, error),
        }
    }
}

/// Changes the create info of a pipeline to one that draws nothing, because of an error.
///
/// # Errors
/// The error, if it must not be [lost](super::super::losses::Losses::allows).
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn nothing(
    emulation: &Emulation,
    info: &mut Info,
    error: PipelineError,
) -> Result<Option<Replaced>, PipelineError> {
    if !emulation.losses.allows(&error) {
        return Err(error);
    }
    tracing::error!("a pipeline draws nothing: {error}");
    let mut below = DrawnBelow::default();
    unsafe { below.draws_nothing(info) };
    Ok(Some((Some(Err(Arc::new(error))), below)))
}

/// Whether a pipeline discards what it draws, and this is no dynamic state.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn discards(info: &Info) -> bool {
    let shader = unsafe { ShaderPart::new(info, None, None) };
    shader.discard && !shader.dynamic.discard
}

/// Handles a pipeline without a geometry shader. The driver has no module for a fragment shader that needs the capability
/// `Geometry`: it gets one without the capability or, if the shader reads `PrimitiveId`, a pipeline that draws nothing.
///
/// # Errors
/// With the setting `strict` such a fragment shader is an error.
///
/// # Safety
/// The contract of [`replaced`].
unsafe fn without_geometry(
    emulation: &Emulation,
    drawing: &Drawing,
    given: &Info,
    info: &mut Info,
    temporary: &mut Vec<vk::ShaderModule>,
) -> Result<Option<Replaced>, PipelineError> {
    unsafe {
        let stages = slice(given.p_stages, given.stage_count);
        let is_vertex = stage_of(stages, vk::ShaderStageFlags::VERTEX).is_some();
        let fragment = stage_of(stages, vk::ShaderStageFlags::FRAGMENT);
        let known = match fragment {
            Some(stage) if is_vertex && kind(info).0.contains(Has::FRAGMENT_SHADER) => {
                module_of(emulation, stage)?
            }
            _ => None,
        };
        if !known.is_some_and(|module| needs_geometry(&module.words)) {
            return Ok(None);
        }
        let mut below = DrawnBelow::default();
        let lowered =
            fragment_of(emulation, drawing, stages, 0).and_then(|lowered| match lowered {
                Some((lowered, _)) if lowered.primitive_id.is_none() => {
                    module(emulation, &lowered.words, temporary)
                }
                _ => Err(PipelineError::NotDrawn("PrimitiveId that no geometry shader passes on")),
            });
        match lowered {
            Ok(module) => {
                let all = slice(info.p_stages, info.stage_count).iter();
                below.stages.extend(all.map(|stage| match stage.stage {
                    vk::ShaderStageFlags::FRAGMENT => of_layer(stage, module),
                    _ => *stage,
                }));
                info.p_stages = below.stages.as_ptr();
                Ok(Some((None, below)))
            }
            Err(error) => nothing(emulation, info, error),
        }
    }
}

/// Returns the stage of a fragment shader with a module of the layer, whose words have the values of specialization
/// constants.
fn of_layer(stage: &Stage, module: vk::ShaderModule) -> Stage {
    Stage { module, p_next: std::ptr::null(), p_specialization_info: std::ptr::null(), ..*stage }
}

/// Returns the fragment shader of a pipeline for a merged shader, and whether it was changed. `first` is the first location
/// that the outputs of the geometry shader leave free. `None` without a fragment shader.
///
/// # Errors
/// The fragment shader is invalid, or cannot be drawn.
///
/// # Safety
/// The structures are valid for `vkCreateGraphicsPipelines`.
unsafe fn fragment_of(
    emulation: &Emulation,
    drawing: &Drawing,
    stages: &[Stage],
    first: u32,
) -> Result<Option<(fragment::DrawnFragment, bool)>, PipelineError> {
    let Some(stage) = stage_of(stages, vk::ShaderStageFlags::FRAGMENT) else { return Ok(None) };
    unsafe {
        let module = module_of(emulation, stage)?.ok_or(PipelineError::Module)?;
        let constants = StagePart::constants_of(stage)?;
        let constants = StagePart::borrowed(&constants);
        let name = CStr::from_ptr(stage.p_name).to_str();
        let name = name.map_err(|_| PipelineError::EntryPoint)?;
        let given = Shader::new(&module.words).entry_point(name).specialization(&constants);
        let lowered = fragment::lower(&given, first, drawing.layer_outputs);
        let lowered = lowered.map_err(PipelineError::of_lowering)?;
        let is_changed = lowered.words[..] != module.words[..];
        Ok(Some((lowered, is_changed)))
    }
}

fn pipeline_of(
    merged: Merged,
    input: InputPart,
    shader: ShaderPart,
) -> Result<DrawnPipeline, RuntimeError> {
    let dynamic =
        super::Dynamic { provoking_vertex: shader.dynamic.provoking_vertex, ..input.dynamic };
    Ok(DrawnPipeline {
        shader: DrawnShader::new(&merged.drawn, &merged.vertex_input)?,
        list: list_of(merged.drawn.geometry.output_vertices),
        vertex_input: merged.vertex_input,
        topology: input.topology,
        restart: input.restart,
        provoking_vertex: shader.provoking_vertex,
        dynamic,
    })
}

/// Merges the vertex and the geometry shader of a pipeline.
///
/// # Errors
/// The geometry shader cannot be drawn.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn merged(
    emulation: &Emulation,
    drawing: &Drawing,
    info: &Info,
) -> Result<(Merged, InputPart, ShaderPart), PipelineError> {
    unsafe {
        let stages = slice(info.p_stages, info.stage_count);
        let (_, libraries, is_library) = kind(info);
        if is_library || !libraries.is_empty() {
            return Err(PipelineError::NotDrawn("pipeline libraries"));
        }
        if flags_of(info).contains(DESCRIPTOR_HEAP) {
            return Err(PipelineError::NotDrawn("descriptor heaps"));
        }
        if stage_of(stages, vk::ShaderStageFlags::TESSELLATION_CONTROL).is_some() {
            return Err(PipelineError::NotDrawn("tessellation shaders"));
        }
        let part = |stage| {
            let Some(stage) = stage_of(stages, stage) else { return Ok(None) };
            let module = module_of(emulation, stage)?.ok_or(PipelineError::Module)?;
            // Only one vertex stream is drawn. Others may be captured.
            let drawn = Stripped::of(&module.words, rasterized_stream(info)).words;
            StagePart::new(stage, drawn.map_or(module.words, Into::into)).map(Some)
        };
        let vertex = part(vk::ShaderStageFlags::VERTEX)?.ok_or(PipelineError::Module)?;
        let geometry = part(vk::ShaderStageFlags::GEOMETRY)?.ok_or(PipelineError::Module)?;
        let input = InputPart::new(info);
        if input.dynamic.vertex_input {
            return Err(PipelineError::NotDrawn("dynamic vertex input"));
        }
        let shader = ShaderPart::new(info, None, None);
        let (of_vertex, of_geometry) = (vertex.constants(), geometry.constants());
        let (vertex, geometry) = (vertex.shader(&of_vertex), geometry.shader(&of_geometry));
        let first = drawn::output_locations(&geometry).map_err(PipelineError::of_lowering)?;
        let fragment = fragment_of(emulation, drawing, stages, first)?;
        let given = input.vertex_input.clone().map_err(PipelineError::VertexInput)?;
        let inputs = Inputs::new(&vertex, emulation.default_attributes.as_ref());
        let vertex_input = inputs.complete(&given).into_owned();
        let mut options = Options::new(&vertex, &vertex_input)
            .layer_outputs(drawing.layer_outputs)
            .unindexed(true);
        options.primitive_id = fragment.as_ref().and_then(|(fragment, _)| fragment.primitive_id);
        let drawn = drawn::lower(&geometry, &options).map_err(PipelineError::of_lowering)?;
        let fragment = fragment.filter(|(_, is_changed)| *is_changed);
        let fragment = fragment.map(|(fragment, _)| fragment.words);
        Ok((Merged { drawn, fragment, vertex_input }, input, shader))
    }
}

/// Creates a module for the driver, and adds it to `temporary`.
///
/// # Errors
/// The module cannot be created.
///
/// # Safety
/// The device is live.
unsafe fn module(
    emulation: &Emulation,
    words: &[u32],
    temporary: &mut Vec<vk::ShaderModule>,
) -> Result<vk::ShaderModule, PipelineError> {
    let made = unsafe { create_module(emulation, words) }?;
    temporary.push(made);
    Ok(made)
}

/// The topology of the list of primitives of this number of vertices.
const fn list_of(vertices: u32) -> vk::PrimitiveTopology {
    match vertices {
        1 => vk::PrimitiveTopology::POINT_LIST,
        2 => vk::PrimitiveTopology::LINE_LIST,
        _ => vk::PrimitiveTopology::TRIANGLE_LIST,
    }
}

impl DrawnBelow {
    /// Changes the create info to one that draws the lists of a merged shader. `vertex` and `fragment` are the modules of
    /// the layer.
    ///
    /// # Safety
    /// The structures are valid for `vkCreateGraphicsPipelines`.
    unsafe fn draws(
        &mut self,
        drawing: &Drawing,
        given: &Info,
        info: &mut Info,
        list: vk::PrimitiveTopology,
        (vertex, fragment): (vk::ShaderModule, Option<vk::ShaderModule>),
    ) {
        unsafe {
            // `info` may have other modules than `given`: without transform feedback.
            let stages = slice(info.p_stages, info.stage_count);
            let geometry =
                stage_of(slice(given.p_stages, given.stage_count), vk::ShaderStageFlags::GEOMETRY);
            let name = geometry.map_or(std::ptr::null(), |stage| stage.p_name);
            self.stages.push(Stage {
                stage: vk::ShaderStageFlags::VERTEX,
                module: vertex,
                p_name: name,
                ..Stage::default()
            });
            if let Some(stage) = stage_of(stages, vk::ShaderStageFlags::FRAGMENT) {
                // The values of specialization constants are in the words that were rewritten.
                self.stages.push(match fragment {
                    Some(module) => of_layer(stage, module),
                    None => *stage,
                });
            }
        }
        self.set_stages(info);
        let (binding, format) = (drawing.binding, vk::Format::R32G32_UINT);
        let input_rate = vk::VertexInputRate::INSTANCE;
        let stride = 0;
        self.binding =
            Box::new([vk::VertexInputBindingDescription { binding, stride, input_rate }]);
        let (location, offset) = (PARAMETERS_LOCATION, 0);
        self.attribute =
            Box::new([vk::VertexInputAttributeDescription { location, binding, format, offset }]);
        *self.input = vk::PipelineVertexInputStateCreateInfo {
            vertex_binding_description_count: 1,
            p_vertex_binding_descriptions: self.binding.as_ptr(),
            vertex_attribute_description_count: 1,
            p_vertex_attribute_descriptions: self.attribute.as_ptr(),
            ..Default::default()
        };
        info.p_vertex_input_state = &raw const *self.input;
        self.assemble(list, info);
        unsafe { self.keep_dynamic(info) };
    }

    /// Changes the create info to one that draws nothing: it has the vertex shader alone, and discards rasterization.
    ///
    /// # Safety
    /// The structures are valid for `vkCreateGraphicsPipelines`.
    unsafe fn draws_nothing(&mut self, info: &mut Info) {
        unsafe {
            let stages = slice(info.p_stages, info.stage_count);
            self.stages.extend(stage_of(stages, vk::ShaderStageFlags::VERTEX));
            self.set_stages(info);
            self.assemble(vk::PrimitiveTopology::TRIANGLE_LIST, info);
            if let Some(state) = info.p_rasterization_state.as_ref() {
                *self.rasterization = *state;
                self.rasterization.rasterizer_discard_enable = vk::TRUE;
                info.p_rasterization_state = &raw const *self.rasterization;
            }
            self.keep_dynamic(info);
        }
    }

    fn set_stages(&self, info: &mut Info) {
        info.stage_count = self.stages.len() as u32;
        info.p_stages = self.stages.as_ptr();
        info.p_tessellation_state = std::ptr::null();
    }

    fn assemble(&mut self, topology: vk::PrimitiveTopology, info: &mut Info) {
        *self.assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        info.p_input_assembly_state = &raw const *self.assembly;
    }

    /// Removes the dynamic state that the driver's pipeline does not have.
    ///
    /// # Safety
    /// The structure is valid for `vkCreateGraphicsPipelines`.
    unsafe fn keep_dynamic(&mut self, info: &mut Info) {
        let Some(state) = (unsafe { info.p_dynamic_state.as_ref() }) else { return };
        let states = unsafe { slice(state.p_dynamic_states, state.dynamic_state_count) };
        let is_kept = |state: &vk::DynamicState| {
            *state != vk::DynamicState::PATCH_CONTROL_POINTS_EXT
                && *state != vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT
        };
        self.dynamic_states = states.iter().copied().filter(is_kept).collect();
        *self.dynamic = *state;
        self.dynamic.dynamic_state_count = self.dynamic_states.len() as u32;
        self.dynamic.p_dynamic_states = self.dynamic_states.as_ptr();
        info.p_dynamic_state = &raw const *self.dynamic;
    }
}
