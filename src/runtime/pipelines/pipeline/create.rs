//! Creates the Vulkan objects of a pipeline.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::time::Instant;

use ash::vk;
use spirv::ExecutionModel;

use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::{DescriptorPlace, HeapInterface};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::{with_discard_state, with_vertex_input_state};
use crate::runtime::memory::descriptors::sets::PipelineLayout;
use crate::runtime::pipelines::pipeline::{DrawSource, Key, PipelineDesc, vertex_input};
use vkxfb_rewriter::lower::{Backend, Lowered, ResourcePlan, WideAccesses};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vulkan::stage_flag;

/// The stages that read the push constants, in a pipeline with a lowered shader.
pub(super) fn stages(shader: &Lowered) -> vk::ShaderStageFlags {
    if shader.backend() == Backend::Compute {
        return vk::ShaderStageFlags::COMPUTE;
    }
    let all = shader.before().iter().map(|before| before.stage).chain([shader.stage]);
    all.filter_map(stage_flag).fold(vk::ShaderStageFlags::empty(), |all, flag| all | flag)
}

pub(super) fn push_constant_range(shader: &Lowered) -> vk::PushConstantRange {
    let (offset, size) = match shader.sysvals() {
        // The shader of a native pipeline reads the application's push constants. On the other backends the push
        // constants are the sysvals, and the shader reads the application's push constants from memory.
        None => (0, shader.push_constants.end),
        Some(sysvals) => (sysvals.offset(), sysvals.size()),
    };
    vk::PushConstantRange { stage_flags: stages(shader), offset, size }
}

/// Creates the pipeline layout for a [checked](crate::runtime::pipelines::pipeline::check) description: the range of
/// push constants, the set layouts of the application, and under the descriptor plan the set layout of the plan behind
/// them. A pipeline for descriptor heaps has none.
///
/// # Safety
/// The device of `ctx` is live, and the set layouts belong to it.
pub(super) unsafe fn create_layout(
    ctx: &Context,
    desc: &PipelineDesc<'_>,
) -> Result<PipelineLayout, RuntimeError> {
    if desc.descriptors.heaps().is_some() {
        return Ok(PipelineLayout::none());
    }
    let ranges = [push_constant_range(desc.shader)];
    let limits = match desc.shader.resources() {
        Some(ResourcePlan::Descriptors { .. }) => ctx.table(),
        _ => None,
    };
    let ranges = if ranges[0].size == 0 { &[][..] } else { &ranges };
    unsafe { PipelineLayout::new(ctx, desc.set_layouts, limits, ranges) }
}

/// Creates the Vulkan pipeline for a [checked](crate::runtime::pipelines::pipeline::check) description of the native or
/// the vertex backend.
///
/// # Safety
/// The requirements of [`Pipeline::new`](crate::runtime::Pipeline::new) apply, and `layout` was created for the
/// description.
pub(super) unsafe fn graphics_pipeline(
    ctx: &Context,
    desc: &PipelineDesc<'_>,
    topology: Option<PrimitiveTopology>,
    layout: vk::PipelineLayout,
    entry: &CStr,
) -> Result<vk::Pipeline, RuntimeError> {
    let (device, shader) = (ctx.device(), desc.shader);
    let words = match shader.backend() {
        Backend::Vertex => {
            Cow::from(specialized(ctx, shader, &desc.specialization(ctx), desc.set_count())?)
        }
        Backend::Native | Backend::Compute => Cow::from(&shader.words),
    };
    let names = shader.before().iter().map(|before| entry_name(&before.entry_point));
    let names = names.collect::<Result<Vec<CString>, _>>()?;
    let mut all: Vec<(ExecutionModel, &[u32], &CStr)> = Vec::new();
    for (before, name) in shader.before().iter().zip(&names) {
        all.push((before.stage, &before.words, name));
    }
    all.push((shader.stage, &words, entry));
    let code: Vec<&[u32]> = all.iter().map(|(_, words, _)| *words).collect();
    unsafe {
        with_modules(device, &code, |modules| {
            let stages = all.iter().zip(modules).map(|((stage, _, name), module)| {
                let flag = stage_flag(*stage).unwrap_or_default();
                vk::PipelineShaderStageCreateInfo::default().stage(flag).module(*module).name(name)
            });
            create_graphics(device, desc, topology, layout, &stages.collect::<Vec<_>>())
        })
    }
}

pub(super) fn entry_name(name: &str) -> Result<CString, RuntimeError> {
    CString::new(name).map_err(|_| RuntimeError::EntryPointName { name: name.to_owned() })
}

/// Under the descriptor plan, a shader tests the alignment of accesses only if it captures at most this number of
/// dwords. With twice as many, a Mali-G52 has to spill registers, because the shader holds the dwords for both aligned
/// and unaligned accesses.
const MOST_TESTED: u32 = 16;

/// Values of specialisation constants for a [`Lowered`] shader. They remove code for cases that cannot occur. See
/// [`PipelineDesc::specialization`].
#[derive(Debug, Clone, Default)]
pub struct PipelineSpecialization {
    entries: Vec<vk::SpecializationMapEntry>,
    values: Vec<u32>,
}

impl PipelineSpecialization {
    /// The values for draws with the properties `key`, which [`Key::normal`] returned.
    pub(super) fn new(ctx: &Context, shader: &Lowered, key: &Key) -> Self {
        let mut constants = Self::default();
        let Some(ids) = shader.spec_ids() else { return constants };
        let is_pushed = key.source == DrawSource::Pushed;
        let wide = match shader.resources() {
            _ if is_pushed && !(key.checked && ctx.tests_alignment()) => WideAccesses::Aligned,
            Some(ResourcePlan::Descriptors { .. }) => {
                let captured: u32 = shader.layout.outputs.iter().map(|o| o.dwords()).sum();
                if captured <= MOST_TESTED { WideAccesses::Tested } else { WideAccesses::Narrow }
            }
            _ if ctx.capabilities().wide_accesses() => WideAccesses::Tested,
            _ => WideAccesses::Narrow,
        };
        if let Some(topology) = key.topology {
            constants.push(ids.topology, topology as u32);
        }
        // llvmpipe executes both sides of a branch, so testing the alignment costs time. This time pays off only for
        // loads of pairs of dwords as 64-bit integers, because loads are slow on llvmpipe.
        let loads = match wide {
            WideAccesses::Narrow if ctx.int64_accesses() => WideAccesses::Tested,
            wide => wide,
        };
        constants.push(ids.wide_loads, loads as u32);
        constants.push(ids.wide_stores, wide as u32);
        if let Some(compute) = shader.compute() {
            constants.push(ids.workgroup_size, key.workgroup_size(&compute.workgroup_sizes));
            for (id, value) in [
                (ids.restart, key.restart),
                (ids.general, key.source == DrawSource::General),
                (ids.indexed, key.indexed),
                (ids.partial_indices, key.partial_indices),
                (ids.batched, key.source == DrawSource::Listed),
                (ids.fused, key.source == DrawSource::Fused),
                (ids.unchecked, key.is_unchecked()),
            ] {
                constants.push(id, value.into());
            }
        }
        constants
    }

    /// Returns the values as a Vulkan structure, which borrows them.
    pub fn info(&self) -> vk::SpecializationInfo<'_> {
        vk::SpecializationInfo::default()
            .map_entries(&self.entries)
            .data(bytemuck::cast_slice(&self.values))
    }

    /// Returns the values as an argument of [`Lowered::specialized`].
    pub fn constants(&self) -> Vec<SpecializationConstant<'_>> {
        let values = self.entries.iter().zip(&self.values);
        let constant = |(entry, value): (&vk::SpecializationMapEntry, _)| SpecializationConstant {
            constant_id: entry.constant_id,
            data: bytemuck::bytes_of(value),
        };
        values.map(constant).collect()
    }

    /// Adds the value of a constant: a `u32`, or a boolean as a `VkBool32`.
    fn push(&mut self, constant_id: u32, value: u32) {
        let size = size_of::<u32>();
        let offset = (self.values.len() * size) as u32;
        self.entries.push(vk::SpecializationMapEntry { constant_id, offset, size });
        self.values.push(value);
    }
}

/// Returns the SPIR-V of a shader for a pipeline with these constants and with `set_count` set layouts of the
/// application.
pub(super) fn specialized(
    ctx: &Context,
    shader: &Lowered,
    constants: &PipelineSpecialization,
    set_count: u32,
) -> Result<Vec<u32>, RuntimeError> {
    let words = shader.for_pipeline(
        &constants.constants(),
        Some(set_count),
        ctx.settings().optimizes_shaders,
    );
    words.map_err(|error| RuntimeError::InvalidShader(error.to_string()))
}

/// What connects a compute pipeline with its resources.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ComputeResources<'a> {
    /// A pipeline layout, and the flags for its sets.
    Layout(vk::PipelineLayout, vk::PipelineCreateFlags),
    /// Descriptor heaps and push data. `None` for a shader without descriptors.
    Heaps(Option<&'a HeapInterface>),
}

impl<'a> ComputeResources<'a> {
    pub(crate) const fn sets(layout: vk::PipelineLayout) -> Self {
        Self::Layout(layout, vk::PipelineCreateFlags::empty())
    }

    /// `layout` is ignored if the descriptors are in heaps.
    pub(super) fn of(place: &'a DescriptorPlace, layout: vk::PipelineLayout) -> Self {
        match place {
            DescriptorPlace::Sets => Self::sets(layout),
            DescriptorPlace::Buffers => {
                Self::Layout(layout, vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT)
            }
            DescriptorPlace::Heaps(interface) => Self::Heaps(Some(interface)),
        }
    }
}

/// `VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT`, which ash does not have.
const DESCRIPTOR_HEAP: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::from_raw(1 << 36);

/// Creates a compute pipeline from SPIR-V words.
///
/// # Errors
/// [`RuntimeError::Vulkan`] for a failed command.
///
/// # Safety
/// The words are a valid module with the entry point `entry`, and match `resources`. `cache` and the layout belong to
/// `device`. For descriptor heaps the feature `descriptorHeap` is enabled.
pub(crate) unsafe fn compute_pipeline(
    resources: ComputeResources<'_>,
    device: &ash::Device,
    cache: vk::PipelineCache,
    words: &[u32],
    entry: &CStr,
    constants: &vk::SpecializationInfo<'_>,
) -> Result<vk::Pipeline, RuntimeError> {
    unsafe {
        with_modules(device, &[words], |modules| {
            let mut stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(modules.first().copied().unwrap_or_default())
                .name(entry)
                .specialization_info(constants);
            let mut flags2 =
                vk::PipelineCreateFlags2CreateInfoKHR::default().flags(DESCRIPTOR_HEAP);
            let info = match resources {
                ComputeResources::Layout(layout, flags) => {
                    vk::ComputePipelineCreateInfo::default().flags(flags).layout(layout)
                }
                ComputeResources::Heaps(interface) => {
                    if let Some(interface) = interface {
                        stage.p_next = interface.mappings.as_ptr();
                    }
                    vk::ComputePipelineCreateInfo::default().push_next(&mut flags2)
                }
            };
            let info = info.stage(stage);
            tracing::info!(?entry, bytes = size_of_val(words), "compiling");
            let begin = Instant::now();
            let made = only(
                device.create_compute_pipelines(cache, &[info], None),
                "vkCreateComputePipelines",
            );
            if made.is_ok() {
                tracing::info!(?entry, seconds = begin.elapsed().as_secs_f32(), "compiled");
            }
            made
        })
    }
}

/// Calls `make` with a shader module for each element of `code`. The modules exist only during the call.
///
/// # Safety
/// The words are valid modules for `device`.
unsafe fn with_modules<T>(
    device: &ash::Device,
    code: &[&[u32]],
    make: impl FnOnce(&[vk::ShaderModule]) -> Result<T, RuntimeError>,
) -> Result<T, RuntimeError> {
    let mut modules = Vec::new();
    let created = code.iter().try_for_each(|words| {
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        let module = unsafe { device.create_shader_module(&info, None) };
        modules.push(module.map_err(RuntimeError::vulkan("vkCreateShaderModule"))?);
        Ok(())
    });
    let made = created.and_then(|()| make(&modules));
    for module in modules {
        // SAFETY: pipelines that `make` created do not need the modules any more.
        unsafe { device.destroy_shader_module(module, None) };
    }
    made
}

/// # Safety
/// `layout`, the render pass and the modules of `stages` are live and compatible.
unsafe fn create_graphics(
    device: &ash::Device,
    desc: &PipelineDesc<'_>,
    topology: Option<PrimitiveTopology>,
    layout: vk::PipelineLayout,
    stages: &[vk::PipelineShaderStageCreateInfo<'_>],
) -> Result<vk::Pipeline, RuntimeError> {
    let input = desc.described_vertex_input()?;
    let (bindings, attributes) = vertex_input::descriptions(input);
    let divisors = vertex_input::divisor_descriptions(input);
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(topology.unwrap_or(PrimitiveTopology::TriangleList).into())
        .primitive_restart_enable(desc.primitive_restart);
    let tessellation = vk::PipelineTessellationStateCreateInfo::default()
        .patch_control_points(desc.patch_control_points);
    // On the vertex backend the shader itself stores vertices in the order that the provoking vertex determines, so the
    // pipeline does not need VK_EXT_provoking_vertex.
    let provoking = match desc.shader.backend() {
        Backend::Native => desc.provoking_vertex,
        Backend::Vertex | Backend::Compute => ProvokingVertex::First,
    };
    with_vertex_input_state(&bindings, &attributes, &divisors, |vertex_input| {
        with_discard_state(provoking, |rasterization| {
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(stages)
                .vertex_input_state(vertex_input)
                .input_assembly_state(&assembly)
                .tessellation_state(&tessellation)
                .rasterization_state(rasterization)
                .layout(layout)
                .render_pass(desc.render_pass)
                .subpass(0);
            // SAFETY: the caller's contract. With rasterizer discard Vulkan does not read the other states.
            let made = unsafe { device.create_graphics_pipelines(desc.cache, &[info], None) };
            only(made, "vkCreateGraphicsPipelines")
        })
    })
}

/// Returns the pipeline from the result of a call that creates a single pipeline. `call` names the command in the
/// error.
fn only(
    made: Result<Vec<vk::Pipeline>, (Vec<vk::Pipeline>, vk::Result)>,
    call: &'static str,
) -> Result<vk::Pipeline, RuntimeError> {
    let result = match made {
        Ok(made) => match made[..] {
            [pipeline] => return Ok(pipeline),
            _ => vk::Result::ERROR_UNKNOWN,
        },
        // If the call failed, the only handle in the list is null.
        Err((_, result)) => result,
    };
    Err(RuntimeError::Vulkan { call, result })
}
