//! A lowered shader as a Vulkan pipeline.
//!
//! | backend | pipeline | push constants |
//! |---|---|---|
//! | native | graphics, rasterizer discard | none |
//! | vertex | graphics, rasterizer discard | [`Sysvals`](crate::sysval::Sysvals) for `VERTEX` |
//! | compute | compute | [`Sysvals`](crate::sysval::Sysvals) for `COMPUTE` |
//!
//! The set layouts are the application's. A compute shader whose [`ResourcePlan`] is by descriptors has one
//! more behind them.

mod check;
mod vertex_input;

use std::ffi::{CStr, CString};

use ash::vk;

use super::descriptors::with_layout;
use super::extensions::{with_discard_state, with_vertex_input_state};
use super::pulling::PulledAttribute;
use super::{Context, RuntimeError};
use crate::capture::Layout;
use crate::lower::{Backend, Lowered, ResourcePlan};
use crate::sysval::{AttributeDescriptor, INLINE_ATTRIBUTES, SYSVALS_SIZE};
use crate::topology::{PrimitiveTopology, ProvokingVertex};
use crate::vertex_input::VertexInput;

/// What a pipeline is made of.
#[derive(Debug, Clone, Copy)]
pub struct PipelineDesc<'a> {
    /// The shader, rewritten for its backend.
    pub shader: &'a Lowered,
    /// Topology of the draws. With `dynamic_topology` the draws decide.
    pub topology: PrimitiveTopology,
    /// Which vertex of a primitive is recorded last, or first. On the native backend this is
    /// pipeline state and [`Last`](ProvokingVertex::Last) needs `provokingVertexLast`.
    pub provoking_vertex: ProvokingVertex,
    /// Whether the largest index restarts primitives. On the compute backend draws may do without, but
    /// a pipeline that is made without has no code for it.
    pub primitive_restart: bool,
    /// Vertex input state: on the compute backend the one that the shader was lowered for. Strides are
    /// multiples of the [`alignment`](crate::vertex_input::VertexFormat::alignment) of each attribute.
    pub vertex_input: &'a VertexInput,
    /// The application's descriptor set layouts. The shader was lowered for
    /// [`Context::resource_plan`] of their number.
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    /// Whether each draw says which topology it has, as with `VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY`. Otherwise
    /// specialisation constants fold the shader to `topology`: such a pipeline is smaller and faster (on an
    /// NVIDIA H200 by up to 15 %, on llvmpipe up to half as fast again) and takes no other. Pipelines of the
    /// native and the vertex backend take one topology in any case.
    pub dynamic_topology: bool,
    /// Native and vertex: a render pass that the draws' render pass instance is compatible with,
    /// used with subpass 0. Ignored by the compute backend.
    pub render_pass: vk::RenderPass,
    /// Pipeline cache, or null.
    pub cache: vk::PipelineCache,
}

/// A pipeline with its layout.
#[derive(Debug)]
pub struct Pipeline {
    raw: vk::Pipeline,
    /// Compute only: for one draw without indices, otherwise null.
    plain: vk::Pipeline,
    raw_layout: vk::PipelineLayout,
    backend: Backend,
    layout: Layout,
    fixed_topology: Option<PrimitiveTopology>,
    provoking_vertex: ProvokingVertex,
    primitive_restart: bool,
    /// Attributes whose buffers a capture needs: those that the shader reads, in slot order, on the
    /// compute backend, and all that are described on the others.
    attributes: Vec<PulledAttribute>,
    workgroup_size: u32,
    /// Sets of the application.
    set_count: u32,
}

impl Pipeline {
    /// Makes the pipeline.
    ///
    /// # Errors
    /// Before any Vulkan call: [`RuntimeError::FeatureNotEnabled`] for a backend that the device
    /// was not created for, for adjacency without `geometryShader` and for
    /// [`ProvokingVertex::Last`] without `provokingVertexLast` on graphics backends; an invalid
    /// vertex input state; [`RuntimeError::Limit`]; [`RuntimeError::ResourcePlan`];
    /// [`RuntimeError::InvalidShader`]. After: a failed command.
    ///
    /// # Safety
    /// The device of `ctx` is live, the handles of `desc` are its, and the shader's words are a
    /// valid module for it whose interface `desc` matches.
    pub unsafe fn new(ctx: &Context, desc: &PipelineDesc<'_>) -> Result<Self, RuntimeError> {
        let shader = desc.shader;
        let attributes = check::check(ctx, desc)?;
        let entry = CString::new(shader.entry_point.as_str()).map_err(|_| {
            RuntimeError::InvalidShader("the name of the entry point has a NUL inside".to_owned())
        })?;
        // Descriptors are accessed dword by dword.
        let by_address = matches!(shader.resources, Some(ResourcePlan::DeviceAddress));
        let wide = by_address && ctx.capabilities().wide_accesses();
        let constants = Specialization::new(desc, Variant::General, wide);
        let device = ctx.device();

        let stage = match shader.backend {
            Backend::Native | Backend::Vertex => vk::ShaderStageFlags::VERTEX,
            Backend::Compute => vk::ShaderStageFlags::COMPUTE,
        };
        let ranges = [vk::PushConstantRange { stage_flags: stage, offset: 0, size: SYSVALS_SIZE }];
        let create_layout = |set_layouts: &[vk::DescriptorSetLayout]| {
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(set_layouts)
                .push_constant_ranges(match shader.backend {
                    Backend::Native => &[],
                    Backend::Vertex | Backend::Compute => &ranges,
                });
            // SAFETY: the caller's contract.
            unsafe { device.create_pipeline_layout(&info, None) }
                .map_err(RuntimeError::vulkan("vkCreatePipelineLayout"))
        };
        let raw_layout = match (ctx.table(), shader.resources) {
            (Some(limits), Some(ResourcePlan::Descriptors { .. })) => {
                let mut set_layouts = desc.set_layouts.to_vec();
                // SAFETY: the caller's contract.
                unsafe {
                    with_layout(ctx, limits, |layout| {
                        set_layouts.push(layout);
                        create_layout(&set_layouts)
                    })
                }
            }
            _ => create_layout(desc.set_layouts),
        }?;
        let (cache, words) = (desc.cache, &shader.words);
        // SAFETY: the caller's contract.
        let made = unsafe {
            match shader.backend {
                Backend::Compute => {
                    let plain = Specialization::new(desc, Variant::Plain, wide);
                    let variants = [constants.info(), plain.info()];
                    compute_pipelines(device, cache, raw_layout, words, &entry, &variants)
                }
                Backend::Native | Backend::Vertex => with_module(device, words, |module| {
                    let info = constants.info();
                    let stage = vk::PipelineShaderStageCreateInfo::default()
                        .stage(stage)
                        .module(module)
                        .name(&entry)
                        .specialization_info(&info);
                    let raw = create_graphics(device, desc, raw_layout, stage)?;
                    Ok([raw, vk::Pipeline::null()])
                }),
            }
        };
        let [raw, plain] = match made {
            Ok(pipelines) => pipelines,
            Err(error) => {
                // SAFETY: nothing uses the layout.
                unsafe { device.destroy_pipeline_layout(raw_layout, None) };
                return Err(error);
            }
        };
        let fixed = shader.backend != Backend::Compute || !desc.dynamic_topology;
        tracing::debug!(
            backend = shader.backend.name(),
            topology = %desc.topology,
            fixed,
            words = shader.words.len(),
            "pipeline"
        );
        Ok(Self {
            raw,
            plain,
            raw_layout,
            backend: shader.backend,
            layout: shader.layout.clone(),
            fixed_topology: fixed.then_some(desc.topology),
            provoking_vertex: desc.provoking_vertex,
            primitive_restart: desc.primitive_restart,
            attributes,
            workgroup_size: shader.workgroup_size,
            set_count: desc.set_layouts.len() as u32,
        })
    }

    /// The `VkPipeline`; on the compute backend the one that takes every draw.
    pub const fn raw(&self) -> vk::Pipeline {
        self.raw
    }

    /// Compute: the `VkPipeline` for one draw without indices, whose sysvals are push constants.
    pub(super) const fn plain(&self) -> vk::Pipeline {
        self.plain
    }

    /// The `VkPipelineLayout`, for the application to bind its descriptor sets with.
    pub const fn raw_layout(&self) -> vk::PipelineLayout {
        self.raw_layout
    }

    /// Who captures.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Where [`raw`](Self::raw) is bound.
    pub const fn bind_point(&self) -> vk::PipelineBindPoint {
        match self.backend {
            Backend::Native | Backend::Vertex => vk::PipelineBindPoint::GRAPHICS,
            Backend::Compute => vk::PipelineBindPoint::COMPUTE,
        }
    }

    /// What is captured.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The only topology that draws may have, or `None` where each draw decides.
    pub const fn fixed_topology(&self) -> Option<PrimitiveTopology> {
        self.fixed_topology
    }

    /// The provoking vertex.
    pub const fn provoking_vertex(&self) -> ProvokingVertex {
        self.provoking_vertex
    }

    /// Whether the largest index restarts primitives, unless a draw says otherwise.
    pub const fn primitive_restart(&self) -> bool {
        self.primitive_restart
    }

    /// Bytes of upload that the attributes of each capture with this pipeline take from its
    /// [`Arena`](super::Arena), and again whenever vertex buffers are bound.
    pub fn attribute_bytes(&self) -> u64 {
        let beyond = match self.backend {
            Backend::Native | Backend::Vertex => 0,
            Backend::Compute => self.attributes.len().saturating_sub(INLINE_ATTRIBUTES),
        };
        (beyond * size_of::<AttributeDescriptor>()) as u64
    }

    pub(super) fn attributes(&self) -> &[PulledAttribute] {
        &self.attributes
    }

    pub(super) const fn workgroup_size(&self) -> u32 {
        self.workgroup_size
    }

    /// Descriptor sets of the application.
    pub(super) const fn set_count(&self) -> u32 {
        self.set_count
    }

    /// Destroys the pipeline and its layout.
    ///
    /// # Safety
    /// The device no longer uses them, and `ctx` is the one that it was made with.
    pub unsafe fn destroy(self, ctx: &Context) {
        // SAFETY: the caller's contract.
        unsafe {
            ctx.device().destroy_pipeline(self.raw, None);
            ctx.device().destroy_pipeline(self.plain, None);
            ctx.device().destroy_pipeline_layout(self.raw_layout, None);
        }
    }
}

/// The pipelines of a compute capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// Takes every draw.
    General,
    /// One draw without indices.
    Plain,
}

/// Specialisation constants that fold away what cannot occur.
#[derive(Default)]
struct Specialization {
    entries: Vec<vk::SpecializationMapEntry>,
    values: Vec<vk::Bool32>,
}

impl Specialization {
    fn new(desc: &PipelineDesc<'_>, variant: Variant, wide_accesses: bool) -> Self {
        let mut constants = Self::default();
        let Some(ids) = desc.shader.spec_ids else { return constants };
        if !desc.dynamic_topology {
            let wanted = desc.topology.xfb_topology() as usize;
            for (topology, id) in ids.topologies.into_iter().enumerate() {
                constants.push(id, topology == wanted);
            }
        }
        constants.push(ids.wide, wide_accesses);
        if desc.shader.backend == Backend::Compute {
            constants.push(ids.restart, desc.primitive_restart);
            constants.push(ids.general, variant == Variant::General);
        }
        constants
    }

    fn info(&self) -> vk::SpecializationInfo<'_> {
        vk::SpecializationInfo::default()
            .map_entries(&self.entries)
            .data(bytemuck::cast_slice(&self.values))
    }

    fn push(&mut self, constant_id: u32, value: bool) {
        let size = size_of::<vk::Bool32>();
        let offset = (self.values.len() * size) as u32;
        self.entries.push(vk::SpecializationMapEntry { constant_id, offset, size });
        self.values.push(value.into());
    }
}

/// Compute pipelines of words, which differ in their specialisation.
///
/// # Safety
/// The words are a valid module with that entry point, which `layout` matches; all is of `device`.
pub(crate) unsafe fn compute_pipelines<const N: usize>(
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
        .topology(vk::PrimitiveTopology::from_raw(desc.topology.as_raw()))
        .primitive_restart_enable(desc.primitive_restart);
    // The vertex backend orders its stores itself and needs no extension for it.
    let provoking = match desc.shader.backend {
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
