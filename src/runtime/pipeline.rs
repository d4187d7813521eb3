//! A lowered shader as a Vulkan pipeline.
//!
//! | backend | pipeline | push constants |
//! |---|---|---|
//! | native | graphics, rasterizer discard | the application's, for `VERTEX` |
//! | vertex | graphics, rasterizer discard | [`Sysvals`](crate::sysval::Sysvals) for `VERTEX`, or their address |
//! | compute | compute | [`Sysvals`](crate::sysval::Sysvals) for `COMPUTE` |
//!
//! A pipeline of the vertex backend may as well be the application's own, which rasterizes ([`Pipeline::from_raw`]).
//!
//! The set layouts are the application's. A compute shader whose
//! [`ResourcePlan`](crate::lower::ResourcePlan) is by descriptors has one more behind them.

mod check;
mod create;
mod vertex_input;

use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;

use ash::vk;

pub use self::create::PipelineSpecialization;
pub use self::create::compute_pipelines;
use self::create::{Variant, create_layout, create_pipelines, push_constant_range};
use super::context::ContextId;
use super::pulling::PulledAttribute;
use super::{Context, RuntimeError};
use crate::capture::Layout;
use crate::lower::{Backend, Lowered, SysvalsPlace};
use crate::sysval::{AttributeDescriptor, INLINE_ATTRIBUTES};
use crate::topology::{PrimitiveTopology, ProvokingVertex};
use crate::vertex_input::VertexInput;

/// What a pipeline is made of.
///
/// [`new`](Self::new) takes what has no default, and the other functions set the rest, as ash's structures do:
///
/// ```
/// # use vkxfb::lower::Lowered;
/// # use vkxfb::runtime::PipelineDesc;
/// # use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
/// # use vkxfb::vertex_input::VertexInput;
/// # fn describe(shader: &Lowered, vertex_input: &VertexInput) {
/// let desc = PipelineDesc::new(shader, vertex_input)
///     .topology(PrimitiveTopology::TriangleStrip)
///     .provoking_vertex(ProvokingVertex::Last);
/// assert!(!desc.dynamic_topology);
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
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
    /// Vertex input state. On the compute backend the attributes that the shader reads have the formats and
    /// input rates that it was lowered for; bindings, offsets and strides may be others. Strides are multiples of
    /// the [`alignment`](crate::vertex_input::VertexFormat::alignment) of each attribute.
    pub vertex_input: &'a VertexInput,
    /// The application's descriptor set layouts, those of all sets that the shader uses
    /// ([`Lowered::descriptor_sets`]) among them. The shader was lowered for [`Context::resource_plan`] of their
    /// number. Each binding that it uses is visible to the stage that captures, compute or vertex:
    /// [`SetLayoutInfo`](super::vulkan::SetLayoutInfo) makes set layouts so, and
    /// [`PipelineLayoutDesc::check`](super::vulkan::PipelineLayoutDesc::check) finds what does not fit.
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    /// Whether each draw says which topology it has, as with `VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY`. Otherwise
    /// specialisation constants fold the shader to `topology`: such a pipeline is smaller and faster (on an
    /// NVIDIA H200 by up to 15 %, on llvmpipe up to half as fast again) and takes no other. Pipelines of the
    /// native and the vertex backend take one topology in any case.
    pub dynamic_topology: bool,
    /// Native and vertex: a render pass that the draws' render pass instance is compatible with,
    /// used with subpass 0. Ignored by the compute backend. Null makes a pipeline for
    /// [dynamic rendering](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineRenderingCreateInfo.html)
    /// without attachments, which needs the feature `dynamicRendering`.
    pub render_pass: vk::RenderPass,
    /// Pipeline cache, or null.
    pub cache: vk::PipelineCache,
}

impl<'a> PipelineDesc<'a> {
    /// Draws of every topology, with the first vertex as the provoking one, without primitive restart, descriptor
    /// sets, render pass and pipeline cache. Pipelines of the native and the vertex backend, which take one topology,
    /// take triangle lists.
    pub const fn new(shader: &'a Lowered, vertex_input: &'a VertexInput) -> Self {
        Self {
            shader,
            topology: PrimitiveTopology::TriangleList,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
            vertex_input,
            set_layouts: &[],
            dynamic_topology: true,
            render_pass: vk::RenderPass::null(),
            cache: vk::PipelineCache::null(),
        }
    }

    /// Sets [`topology`](field@Self::topology) and clears
    /// [`dynamic_topology`](field@Self::dynamic_topology): draws have that topology alone.
    pub const fn topology(mut self, topology: PrimitiveTopology) -> Self {
        self.topology = topology;
        self.dynamic_topology = false;
        self
    }

    /// Sets [`provoking_vertex`](field@Self::provoking_vertex).
    pub const fn provoking_vertex(mut self, provoking_vertex: ProvokingVertex) -> Self {
        self.provoking_vertex = provoking_vertex;
        self
    }

    /// Sets [`primitive_restart`](field@Self::primitive_restart).
    pub const fn primitive_restart(mut self, primitive_restart: bool) -> Self {
        self.primitive_restart = primitive_restart;
        self
    }

    /// Sets [`set_layouts`](field@Self::set_layouts).
    pub const fn set_layouts(mut self, set_layouts: &'a [vk::DescriptorSetLayout]) -> Self {
        self.set_layouts = set_layouts;
        self
    }

    /// Sets [`dynamic_topology`](field@Self::dynamic_topology).
    pub const fn dynamic_topology(mut self, dynamic_topology: bool) -> Self {
        self.dynamic_topology = dynamic_topology;
        self
    }

    /// Sets [`render_pass`](field@Self::render_pass).
    pub const fn render_pass(mut self, render_pass: vk::RenderPass) -> Self {
        self.render_pass = render_pass;
        self
    }

    /// Sets [`cache`](field@Self::cache).
    pub const fn cache(mut self, cache: vk::PipelineCache) -> Self {
        self.cache = cache;
        self
    }

    /// What the shader reads of the push constants. The layout of the application's own pipeline
    /// ([`Pipeline::from_raw`]) has that range for that stage alone, and others before it or behind it:
    /// [`push_constant_ranges`](super::vulkan::push_constant_ranges) makes those of what it had.
    ///
    /// Natively it may be empty, which Vulkan does not allow a range to be.
    pub fn push_constant_range(&self) -> vk::PushConstantRange {
        push_constant_range(self.shader)
    }

    /// The values of specialisation constants with which [`Pipeline::new`] makes the pipeline that takes every draw,
    /// and the application its own ([`Pipeline::from_raw`]). Without them everything is decided at run time.
    pub fn specialization(&self, ctx: &Context) -> PipelineSpecialization {
        PipelineSpecialization::new(ctx, self, Variant::General)
    }
}

/// A pipeline with its layout. Clones are of the same pipeline.
#[derive(Debug, Clone)]
pub struct Pipeline {
    shared: Arc<Shared>,
}

#[derive(Debug, Clone, Copy)]
struct Objects {
    raw: vk::Pipeline,
    /// Compute only: for one draw without indices, otherwise null.
    plain: vk::Pipeline,
    raw_layout: vk::PipelineLayout,
    /// Whether they are the application's.
    are_foreign: bool,
}

#[derive(Debug)]
struct Shared {
    objects: Objects,
    backend: Backend,
    layout: Layout,
    fixed_topology: Option<PrimitiveTopology>,
    provoking_vertex: ProvokingVertex,
    primitive_restart: bool,
    /// Attributes whose buffers a capture needs: those that the shader reads, in slot order, on the
    /// compute backend, and all that are described on the others.
    attributes: Vec<PulledAttribute>,
    workgroup_size: u32,
    /// Sets of the application, and numbers of those that the shader reads.
    set_count: u32,
    used_sets: Vec<u32>,
    /// Bytes of the application's push constants that the shader reads.
    push_constants: Range<u32>,
    sysvals: SysvalsPlace,
    context: ContextId,
}

impl Pipeline {
    /// Makes the pipeline.
    ///
    /// # Errors
    /// Before any Vulkan call: [`RuntimeError::FeatureNotEnabled`] for a backend that the device
    /// was not created for, for adjacency without `geometryShader` and for
    /// [`ProvokingVertex::Last`] without `provokingVertexLast` on graphics backends; an invalid
    /// vertex input state; [`RuntimeError::AttributeFormat`] and [`RuntimeError::AttributeRate`] for another
    /// one than the shader was lowered for; [`RuntimeError::MissingSetLayout`]; [`RuntimeError::Limit`];
    /// [`RuntimeError::ResourcePlan`]; [`RuntimeError::InvalidShader`]. After: a failed command.
    ///
    /// # Safety
    /// The device of `ctx` is live, the handles of `desc` are its, and the shader is what [`lower`](crate::lower)
    /// made of a valid module, whose interface `desc` matches.
    /// Native and vertex: the device has the vertex formats as such (`VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT`), and with
    /// primitive restart in lists `primitiveTopologyListRestart` is enabled.
    #[tracing::instrument(name = "pipeline", level = "debug", skip_all)]
    pub unsafe fn new(ctx: &Context, desc: &PipelineDesc<'_>) -> Result<Self, RuntimeError> {
        let shader = desc.shader;
        let attributes = check::check(ctx, desc)?;
        let entry = CString::new(shader.entry_point.as_str()).map_err(|_| {
            RuntimeError::InvalidShader("the name of the entry point has a NUL inside".to_owned())
        })?;
        // SAFETY: the caller's contract.
        let raw_layout = unsafe { create_layout(ctx, desc) }?;
        // SAFETY: the caller's contract, and the layout was made for it.
        let made = unsafe { create_pipelines(ctx, desc, raw_layout, &entry) };
        let [raw, plain] = match made {
            Ok(pipelines) => pipelines,
            Err(error) => {
                // SAFETY: nothing uses the layout.
                unsafe { ctx.device().destroy_pipeline_layout(raw_layout, None) };
                return Err(error);
            }
        };
        let backend = shader.backend().name();
        ctx.name(raw_layout, &format!("vkxfb {backend}"));
        ctx.name(raw, &format!("vkxfb {backend}"));
        if plain != raw {
            ctx.name(plain, &format!("vkxfb {backend} without indices"));
        }
        let objects = Objects { raw, plain, raw_layout, are_foreign: false };
        Ok(Self::of(ctx, desc, objects, attributes))
    }

    /// A graphics pipeline of the application that captures on the vertex backend as it draws: it rasterizes, and
    /// has whatever other stages and states the application gives it.
    ///
    /// `raw` is made of [`Lowered::words`] for the vertex stage, with [`PipelineDesc::specialization`], of the other
    /// stages from the modules that they were in before, and of `raw_layout`, which has
    /// [`PipelineDesc::push_constant_range`]. Where the other stages have push constants of their own,
    /// [`lower_at`](crate::lower::vertex::lower_at) leaves room for them, on any device for all but 8 bytes
    /// ([`sysvals_place`](super::vulkan::sysvals_place)).
    /// Topology, vertex input state and set layouts are those of `desc`, whose render pass and cache are not used.
    ///
    /// The objects stay the application's: [`destroy`](Self::destroy) leaves them alone.
    ///
    /// ```
    /// # use ash::vk;
    /// # use vkxfb::lower::Lowered;
    /// # use vkxfb::runtime::{Context, Pipeline, PipelineDesc, RuntimeError};
    /// # unsafe fn make(
    /// #     ctx: &Context, desc: &PipelineDesc<'_>, layout: vk::PipelineLayout, vertex: vk::ShaderModule,
    /// #     fragment: vk::ShaderModule, rest: vk::GraphicsPipelineCreateInfo<'_>,
    /// # ) -> Result<Pipeline, RuntimeError> { unsafe {
    /// let specialization = desc.specialization(ctx);
    /// let constants = specialization.info();
    /// let stages = [
    ///     vk::PipelineShaderStageCreateInfo::default()
    ///         .stage(vk::ShaderStageFlags::VERTEX)
    ///         .module(vertex) // of desc.shader.words
    ///         .name(c"main")
    ///         .specialization_info(&constants),
    ///     vk::PipelineShaderStageCreateInfo::default()
    ///         .stage(vk::ShaderStageFlags::FRAGMENT)
    ///         .module(fragment)
    ///         .name(c"main"),
    /// ];
    /// let info = rest.stages(&stages).layout(layout);
    /// # let made = ctx.device().create_graphics_pipelines(desc.cache, &[info], None);
    /// # let [raw] = made.map_err(|_| RuntimeError::InvalidShader(String::new()))?[..] else { unreachable!() };
    /// Pipeline::from_raw(ctx, desc, raw, layout)
    /// # } }
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new) that come before any Vulkan call, and [`RuntimeError::Unsupported`] for a shader
    /// of another backend.
    ///
    /// # Safety
    /// As [`new`](Self::new), and both objects are of that device, are made as above, and live as long as something
    /// is recorded with the pipeline. Every draw with `raw` is one of [`Recorder::draw`](super::Recorder::draw): the
    /// shader stores wherever its push constants say, and behind another draw those are the last capture's, or
    /// nobody's. What is drawn without being captured is drawn with a pipeline of the application's module.
    pub unsafe fn from_raw(
        ctx: &Context,
        desc: &PipelineDesc<'_>,
        raw: vk::Pipeline,
        raw_layout: vk::PipelineLayout,
    ) -> Result<Self, RuntimeError> {
        let backend = desc.shader.backend();
        if backend != Backend::Vertex {
            let what = "a pipeline of the application's own";
            return Err(RuntimeError::Unsupported { backend, what });
        }
        let attributes = check::check(ctx, desc)?;
        let objects = Objects { raw, plain: vk::Pipeline::null(), raw_layout, are_foreign: true };
        Ok(Self::of(ctx, desc, objects, attributes))
    }

    /// A pipeline of a description that is [checked](check), which needs buffers for those attributes.
    fn of(
        ctx: &Context,
        desc: &PipelineDesc<'_>,
        objects: Objects,
        attributes: Vec<PulledAttribute>,
    ) -> Self {
        let shader = desc.shader;
        let backend = shader.backend();
        let fixed = backend != Backend::Compute || !desc.dynamic_topology;
        tracing::debug!(
            backend = backend.name(),
            topology = %desc.topology,
            fixed,
            words = shader.words.len(),
            "pipeline"
        );
        let shared = Shared {
            objects,
            backend,
            layout: shader.layout.clone(),
            fixed_topology: fixed.then_some(desc.topology),
            provoking_vertex: desc.provoking_vertex,
            primitive_restart: desc.primitive_restart,
            attributes,
            workgroup_size: shader.compute().map_or(0, |compute| compute.workgroup_size),
            set_count: desc.set_layouts.len() as u32,
            used_sets: shader.descriptor_sets.clone(),
            push_constants: shader.push_constants.clone(),
            sysvals: shader.sysvals().unwrap_or_default(),
            context: ctx.id(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The context that it was made with.
    pub(crate) fn context(&self) -> ContextId {
        self.shared.context
    }

    /// The `VkPipeline`; on the compute backend the one that takes every draw.
    pub fn raw(&self) -> vk::Pipeline {
        self.shared.objects.raw
    }

    /// Compute: the `VkPipeline` for one draw without indices, whose sysvals are push constants.
    pub(super) fn plain(&self) -> vk::Pipeline {
        self.shared.objects.plain
    }

    /// The `VkPipelineLayout`, for the application to bind its descriptor sets with.
    pub fn raw_layout(&self) -> vk::PipelineLayout {
        self.shared.objects.raw_layout
    }

    /// Who captures.
    pub fn backend(&self) -> Backend {
        self.shared.backend
    }

    /// Where [`raw`](Self::raw) is bound.
    pub fn bind_point(&self) -> vk::PipelineBindPoint {
        match self.shared.backend {
            Backend::Native | Backend::Vertex => vk::PipelineBindPoint::GRAPHICS,
            Backend::Compute => vk::PipelineBindPoint::COMPUTE,
        }
    }

    /// What is captured.
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// The only topology that draws may have, or `None` where each draw decides.
    pub fn fixed_topology(&self) -> Option<PrimitiveTopology> {
        self.shared.fixed_topology
    }

    /// The provoking vertex.
    pub fn provoking_vertex(&self) -> ProvokingVertex {
        self.shared.provoking_vertex
    }

    /// Whether the largest index restarts primitives, unless a draw says otherwise.
    pub fn primitive_restart(&self) -> bool {
        self.shared.primitive_restart
    }

    /// Bytes of upload that the attributes of each capture with this pipeline take from its
    /// [`Arena`](super::Arena), and again whenever vertex buffers are bound.
    pub fn attribute_bytes(&self) -> u64 {
        let beyond = match self.shared.backend {
            Backend::Native | Backend::Vertex => 0,
            Backend::Compute => self.shared.attributes.len().saturating_sub(INLINE_ATTRIBUTES),
        };
        (beyond * size_of::<AttributeDescriptor>()) as u64
    }

    /// Bytes of push constants of the application that the shader reads, from one multiple of 16 to another; empty
    /// where it reads none. Those of [`attribute_bytes`](Self::attribute_bytes) and these lie in the
    /// [`Arena`](super::Arena).
    pub fn push_constants(&self) -> &Range<u32> {
        &self.shared.push_constants
    }

    /// Where its shader finds its sysvals.
    pub(super) fn sysvals(&self) -> SysvalsPlace {
        self.shared.sysvals
    }

    pub(super) fn attributes(&self) -> &[PulledAttribute] {
        &self.shared.attributes
    }

    pub(super) fn workgroup_size(&self) -> u32 {
        self.shared.workgroup_size
    }

    /// Descriptor sets of the application.
    pub(super) fn set_count(&self) -> u32 {
        self.shared.set_count
    }

    /// Numbers of the application's descriptor sets that the shader reads, rising.
    pub fn used_sets(&self) -> &[u32] {
        &self.shared.used_sets
    }

    /// Destroys the pipeline and its layout, unless they are the [application's own](Self::from_raw).
    ///
    /// # Safety
    /// The device no longer uses them, of all clones one is destroyed and nothing is recorded with the others, and
    /// `ctx` is the one that it was made with.
    pub unsafe fn destroy(self, ctx: &Context) {
        let Objects { raw, plain, raw_layout, are_foreign } = self.shared.objects;
        if are_foreign {
            return;
        }
        // SAFETY: the caller's contract.
        unsafe {
            ctx.device().destroy_pipeline(raw, None);
            ctx.device().destroy_pipeline(plain, None);
            ctx.device().destroy_pipeline_layout(raw_layout, None);
        }
    }
}
