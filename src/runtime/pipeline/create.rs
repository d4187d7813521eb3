//! The Vulkan objects of a pipeline.

use std::ffi::CStr;

use ash::vk;

use super::{PipelineDesc, vertex_input};
use crate::lower::{Backend, Lowered, ResourcePlan};
use crate::runtime::descriptors::with_layout;
use crate::runtime::extensions::{with_discard_state, with_vertex_input_state};
use crate::runtime::{Context, RuntimeError};
use crate::topology::ProvokingVertex;

/// The stage that captures.
const fn capture_stage(backend: Backend) -> vk::ShaderStageFlags {
    match backend {
        Backend::Native | Backend::Vertex => vk::ShaderStageFlags::VERTEX,
        Backend::Compute => vk::ShaderStageFlags::COMPUTE,
    }
}

/// What a lowered shader reads of the push constants.
pub(super) fn push_constant_range(shader: &Lowered) -> vk::PushConstantRange {
    let (offset, size) = match shader.sysvals() {
        // A native pipeline has the application's, the others have them in memory.
        None => (0, shader.push_constants.end),
        Some(sysvals) => (sysvals.offset(), sysvals.size()),
    };
    vk::PushConstantRange { stage_flags: capture_stage(shader.backend()), offset, size }
}

/// The layout of a description that is [checked](super::check): push constants and the sets of the
/// application, with that of the buffers behind them where descriptors take the place of device addresses.
///
/// # Safety
/// The device of `ctx` is live, and the set layouts are its.
pub(super) unsafe fn create_layout(
    ctx: &Context,
    desc: &PipelineDesc<'_>,
) -> Result<vk::PipelineLayout, RuntimeError> {
    let (device, shader) = (ctx.device(), desc.shader);
    let ranges = [push_constant_range(shader)];
    let create = |set_layouts: &[vk::DescriptorSetLayout]| {
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(set_layouts)
            .push_constant_ranges(if ranges[0].size == 0 { &[] } else { &ranges });
        // SAFETY: the caller's contract.
        unsafe { device.create_pipeline_layout(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreatePipelineLayout"))
    };
    match (ctx.table(), shader.resources()) {
        (Some(limits), Some(ResourcePlan::Descriptors { .. })) => {
            let mut set_layouts = desc.set_layouts.to_vec();
            // SAFETY: the caller's contract.
            unsafe {
                with_layout(ctx, limits, |layout| {
                    set_layouts.push(layout);
                    create(&set_layouts)
                })
            }
        }
        _ => create(desc.set_layouts),
    }
}

/// The pipelines of a description that is [checked](super::check): for every draw, and on the compute backend
/// for one draw without indices, otherwise null.
///
/// # Safety
/// As [`Pipeline::new`](super::Pipeline::new), and `layout` is of the description.
pub(super) unsafe fn create_pipelines(
    ctx: &Context,
    desc: &PipelineDesc<'_>,
    layout: vk::PipelineLayout,
    entry: &CStr,
) -> Result<[vk::Pipeline; 2], RuntimeError> {
    let (device, shader) = (ctx.device(), desc.shader);
    let general = PipelineSpecialization::new(ctx, desc, Variant::General);
    // SAFETY: the caller's contract.
    unsafe {
        match shader.backend() {
            Backend::Compute => {
                let plain = PipelineSpecialization::new(ctx, desc, Variant::Plain);
                let variants = [general.info(), plain.info()];
                compute_pipelines(device, desc.cache, layout, &shader.words, entry, &variants)
            }
            Backend::Native | Backend::Vertex => with_module(device, &shader.words, |module| {
                let info = general.info();
                let stage = vk::PipelineShaderStageCreateInfo::default()
                    .stage(capture_stage(shader.backend()))
                    .module(module)
                    .name(entry)
                    .specialization_info(&info);
                let raw = create_graphics(device, desc, layout, stage)?;
                Ok([raw, vk::Pipeline::null()])
            }),
        }
    }
}

/// The pipelines of a compute capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    /// Takes every draw.
    General,
    /// One draw without indices.
    Plain,
}

/// Values of the specialisation constants by which a pipeline of a [`Lowered`] shader folds away what cannot occur:
/// what [`PipelineDesc::specialization`] gives.
#[derive(Debug, Clone, Default)]
pub struct PipelineSpecialization {
    entries: Vec<vk::SpecializationMapEntry>,
    values: Vec<u32>,
}

impl PipelineSpecialization {
    pub(super) fn new(ctx: &Context, desc: &PipelineDesc<'_>, variant: Variant) -> Self {
        let mut constants = Self::default();
        let Some(ids) = desc.shader.spec_ids() else { return constants };
        // Descriptors are accessed dword by dword.
        let by_address = matches!(desc.shader.resources(), Some(ResourcePlan::DeviceAddress));
        let wide_accesses = by_address && ctx.capabilities().wide_accesses();
        if !desc.dynamic_topology {
            constants.push(ids.topology, desc.topology.xfb_topology() as u32);
        }
        constants.push(ids.wide, wide_accesses.into());
        if desc.shader.backend() == Backend::Compute {
            constants.push(ids.restart, desc.primitive_restart.into());
            constants.push(ids.general, (variant == Variant::General).into());
        }
        constants
    }

    /// The structure of Vulkan, which borrows the values.
    pub fn info(&self) -> vk::SpecializationInfo<'_> {
        vk::SpecializationInfo::default()
            .map_entries(&self.entries)
            .data(bytemuck::cast_slice(&self.values))
    }

    /// A `u32`, or as a `VkBool32` a boolean.
    fn push(&mut self, constant_id: u32, value: u32) {
        let size = size_of::<u32>();
        let offset = (self.values.len() * size) as u32;
        self.entries.push(vk::SpecializationMapEntry { constant_id, offset, size });
        self.values.push(value);
    }
}

/// Compute pipelines of words, which differ in their specialisation.
///
/// # Errors
/// [`RuntimeError::Vulkan`] for a failed command. No pipeline is left behind.
///
/// # Safety
/// The words are a valid module with that entry point, which `layout` matches; all is of `device`.
pub unsafe fn compute_pipelines<const N: usize>(
    device: &ash::Device,
    cache: vk::PipelineCache,
    layout: vk::PipelineLayout,
    words: &[u32],
    entry: &CStr,
    variants: &[vk::SpecializationInfo<'_>; N],
) -> Result<[vk::Pipeline; N], RuntimeError> {
    // SAFETY: the caller's contract.
    unsafe {
        with_module(device, words, |module| {
            let infos = variants.each_ref().map(|constants| {
                let stage = vk::PipelineShaderStageCreateInfo::default()
                    .stage(vk::ShaderStageFlags::COMPUTE)
                    .module(module)
                    .name(entry)
                    .specialization_info(constants);
                vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)
            });
            match device.create_compute_pipelines(cache, &infos, None) {
                Ok(made) => exactly(made, "vkCreateComputePipelines"),
                Err((made, result)) => {
                    for pipeline in made {
                        device.destroy_pipeline(pipeline, None);
                    }
                    Err(RuntimeError::Vulkan { call: "vkCreateComputePipelines", result })
                }
            }
        })
    }
}

/// Calls with a shader module, which pipelines need only while they are made.
///
/// # Safety
/// The words are a valid module for `device`.
unsafe fn with_module<T>(
    device: &ash::Device,
    words: &[u32],
    make: impl FnOnce(vk::ShaderModule) -> Result<T, RuntimeError>,
) -> Result<T, RuntimeError> {
    let info = vk::ShaderModuleCreateInfo::default().code(words);
    // SAFETY: the caller's contract.
    let module = unsafe { device.create_shader_module(&info, None) }
        .map_err(RuntimeError::vulkan("vkCreateShaderModule"))?;
    let made = make(module);
    // SAFETY: the pipelines exist, or never will.
    unsafe { device.destroy_shader_module(module, None) };
    made
}

/// # Safety
/// `layout`, the render pass and the module of `stage` are live and match.
unsafe fn create_graphics(
    device: &ash::Device,
    desc: &PipelineDesc<'_>,
    layout: vk::PipelineLayout,
    stage: vk::PipelineShaderStageCreateInfo<'_>,
) -> Result<vk::Pipeline, RuntimeError> {
    let (bindings, attributes) = vertex_input::descriptions(desc.vertex_input);
    let divisors = vertex_input::divisor_descriptions(desc.vertex_input);
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(desc.topology.into())
        .primitive_restart_enable(desc.primitive_restart);
    // The vertex backend orders its stores itself and needs no extension for it.
    let provoking = match desc.shader.backend() {
        Backend::Native => desc.provoking_vertex,
        Backend::Vertex | Backend::Compute => ProvokingVertex::First,
    };
    let stages = [stage];
    with_vertex_input_state(&bindings, &attributes, &divisors, |vertex_input| {
        with_discard_state(provoking, |rasterization| {
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(vertex_input)
                .input_assembly_state(&assembly)
                .rasterization_state(rasterization)
                .layout(layout)
                .render_pass(desc.render_pass)
                .subpass(0);
            // SAFETY: the caller's contract. State behind the discarding rasterizer is not read.
            let made = unsafe { device.create_graphics_pipelines(desc.cache, &[info], None) };
            let call = "vkCreateGraphicsPipelines";
            let made = made.map_err(|(_, result)| RuntimeError::Vulkan { call, result })?;
            exactly(made, call).map(|[pipeline]| pipeline)
        })
    })
}

/// The pipelines of a call that makes that many.
fn exactly<const N: usize>(
    made: Vec<vk::Pipeline>,
    call: &'static str,
) -> Result<[vk::Pipeline; N], RuntimeError> {
    made.try_into().map_err(|_| RuntimeError::Vulkan { call, result: vk::Result::ERROR_UNKNOWN })
}
