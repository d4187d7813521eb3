//! [`Pipeline`]: a lowered shader as a Vulkan pipeline.
//!
//! | backend | pipeline | push constants of its layout |
//! |---|---|---|
//! | native | graphics, rasterizer discard | the application's, for the stages up to the captured one |
//! | vertex | graphics, rasterizer discard | [`Sysvals`](vkxfb_rewriter::sysval::Sysvals) for `VERTEX`, or only their address |
//! | compute | compute | [`Sysvals`](vkxfb_rewriter::sysval::Sysvals) for `COMPUTE` |
//!
//! A pipeline of the vertex backend may also be the application's own pipeline, which rasterizes
//! ([`Pipeline::from_raw`]).
//!
//! The pipeline layout has the set layouts of the application. Under the descriptor plan
//! ([`ResourcePlan`](vkxfb_rewriter::lower::ResourcePlan)) the layout of a compute pipeline has one more set layout
//! behind them.

mod check;
mod compute;
mod create;
mod expected;
mod vertex_input;

use std::ops::Range;
use std::sync::Arc;

use ash::vk;

pub(crate) use self::check::{check_control_points, check_input, check_topology, check_used_sets};
use self::compute::ComputePipelines;
pub(crate) use self::compute::{DrawSource, Key, LazyPipeline};
pub use self::create::PipelineSpecialization;
pub(crate) use self::create::{ComputeResources, compute_pipeline};
use self::create::{create_layout, entry_name, graphics_pipeline, push_constant_range, stages};
pub use self::expected::ExpectedDraws;
use crate::runtime::device::context::Context;
use crate::runtime::device::context::{ContextId, Made};
use crate::runtime::device::descriptor_heaps::{DescriptorPlace, HeapInterface};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::known_topology;
use crate::runtime::memory::descriptors::sets::PipelineLayout;
use crate::runtime::memory::destroy::DestroyObject;
use crate::runtime::pipelines::pulling::PulledAttribute;
use vkxfb_rewriter::capture::Layout;
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::lower::{Backend, Lowered, LoweredGeometry, SysvalsPlace};
use vkxfb_rewriter::sysval::{AttributeDescriptor, INLINE_ATTRIBUTES};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexInput;

/// The description of a pipeline.
///
/// Later versions may add members, so end a value of this type with `..PipelineDesc::new(shader)`:
///
/// ```
/// # use ash::vk;
/// # use vkxfb::lower::Lowered;
/// # use vkxfb::runtime::PipelineDesc;
/// # use vkxfb::topology::ProvokingVertex;
/// # fn describe(shader: &Lowered) {
/// let desc = PipelineDesc {
///     topology: Some(vk::PrimitiveTopology::TRIANGLE_STRIP),
///     provoking_vertex: ProvokingVertex::Last,
///     ..PipelineDesc::new(shader)
/// };
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct PipelineDesc<'a> {
    /// The shader, lowered for its backend.
    pub shader: &'a Lowered,
    /// The topology of all draws, to which specialisation constants restrict the shader. If it is `None`, each draw
    /// chooses its topology, as with `VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY`: there are Vulkan pipelines for each
    /// topology, and dispatches that mix topologies are slower, by up to a quarter on an NVIDIA H200 and by up to half
    /// on llvmpipe.
    ///
    /// Pipelines of the native and vertex backends always have a single topology, for which `None` stands for the
    /// triangle list.
    pub topology: Option<vk::PrimitiveTopology>,
    /// Whether specialisation constants restrict the shader to `topology`, as they should. Otherwise the shader finds
    /// the topology at run time, as it does for `None`; on the compute backend any topology may then be drawn.
    pub specialize_topology: bool,
    /// Which vertex of a primitive is the provoking vertex. It determines the order in which the vertices of a
    /// primitive are captured. On the native backend [`Last`](ProvokingVertex::Last) needs `provokingVertexLast`.
    pub provoking_vertex: ProvokingVertex,
    /// Whether the largest index restarts primitives. On the compute backend draws can disable primitive restart, but
    /// they cannot enable it if the pipeline was created without it.
    pub primitive_restart: bool,
    /// The number of control points of a patch, for a pipeline with tessellation shaders, whose topology is always
    /// [`PatchList`](PrimitiveTopology::PatchList). Other pipelines ignore it.
    pub patch_control_points: u32,
    /// The vertex input state.
    ///
    /// On the compute backend, `None` stands for the state that the shader was lowered for. Another state must have the
    /// same formats and input rates for the attributes that the shader reads; bindings, offsets and strides may differ.
    /// On the native and vertex backends the state is required.
    ///
    /// Strides must be multiples of the [`alignment`](vkxfb_rewriter::vertex_input::VertexFormat::alignment) of each
    /// attribute.
    pub vertex_input: Option<&'a VertexInput>,
    /// The application's descriptor set layouts, at least up to the last set that the shader uses
    /// ([`Lowered::descriptor_sets`]). For a set that it does not use, a layout without bindings may stand, and nothing
    /// needs to be bound. Each binding that the shader uses must be visible to the stages that run: the
    /// compute stage, or the vertex stage, and on the native backend also the captured stage and those before it.
    /// [`SetLayoutInfo`](crate::runtime::pipelines::vulkan::SetLayoutInfo) makes set layouts visible to the compute
    /// stage, and [`PipelineLayoutDesc::check`](crate::runtime::pipelines::vulkan::PipelineLayoutDesc::check) reports
    /// mismatches.
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    /// The render pass for the native and vertex backends. It must be compatible with the render pass of the draws,
    /// which are in subpass 0. If it is null, the pipeline is created for [dynamic
    /// rendering](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineRenderingCreateInfo.html) without
    /// attachments, which needs the feature `dynamicRendering`. The compute backend ignores it.
    pub render_pass: vk::RenderPass,
    /// The kinds of draws for which [`Pipeline::new`] creates Vulkan pipelines on the compute backend. Other Vulkan
    /// pipelines are created when a draw first needs them.
    pub prepared: &'a [ExpectedDraws],
    /// The pipeline cache that [`Pipeline::new`] uses, or null.
    pub cache: vk::PipelineCache,
    /// Where the application's descriptors are. Only the compute backend reads this.
    pub descriptors: &'a DescriptorPlace,
}

impl<'a> PipelineDesc<'a> {
    /// Describes a pipeline with the first vertex as the provoking vertex, without primitive restart, descriptor sets,
    /// render pass, expected draws and pipeline cache. On the compute backend each draw chooses its topology, and the
    /// vertex input state is the one that the shader was lowered for. On the native and vertex backends the topology is
    /// the triangle list, and [`vertex_input`](Self::vertex_input) must be set.
    pub const fn new(shader: &'a Lowered) -> Self {
        Self {
            shader,
            topology: None,
            specialize_topology: true,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
            patch_control_points: 0,
            vertex_input: None,
            set_layouts: &[],
            render_pass: vk::RenderPass::null(),
            prepared: &[],
            cache: vk::PipelineCache::null(),
            descriptors: &DescriptorPlace::Sets,
        }
    }

    /// Returns the vertex input state of this description. If it has none, returns the state that the shader was
    /// lowered for on the compute backend, and an error on the other backends.
    fn described_vertex_input(&self) -> Result<&'a VertexInput, RuntimeError> {
        match (self.vertex_input, self.shader.compute()) {
            (Some(input), _) => Ok(input),
            (None, Some(compute)) => Ok(&compute.vertex_input),
            (None, None) => Err(RuntimeError::MissingVertexInput(self.shader.backend())),
        }
    }

    /// The topology that all draws must have, or `None` if each draw chooses.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTopology`].
    fn fixed_topology(&self) -> Result<Option<PrimitiveTopology>, RuntimeError> {
        let topology = self.topology.map(known_topology).transpose()?;
        Ok(match self.shader.backend() {
            Backend::Compute => topology.filter(|_| self.specialize_topology),
            Backend::Native | Backend::Vertex => {
                Some(topology.unwrap_or(PrimitiveTopology::TriangleList))
            }
        })
    }

    const fn set_count(&self) -> u32 {
        self.set_layouts.len() as u32
    }

    /// The range of push constants that the shader reads. In the pipeline layout of an application's own pipeline
    /// ([`Pipeline::from_raw`]), this range must be visible only to the stages that it names, and ranges of other
    /// stages must not overlap it. [`push_constant_ranges`](crate::runtime::pipelines::vulkan::push_constant_ranges)
    /// computes the ranges of such a layout.
    ///
    /// On the native backend the range may be empty. It must then be left out of the layout, because Vulkan does not
    /// allow empty ranges.
    pub fn push_constant_range(&self) -> vk::PushConstantRange {
        push_constant_range(self.shader)
    }

    /// The values of specialisation constants for a pipeline of the vertex backend. [`Pipeline::new`] uses them for its
    /// pipeline, and an application that creates the pipeline itself ([`Pipeline::from_raw`]) should use them, too:
    /// without them the shader makes all decisions at run time.
    ///
    /// On the compute backend the values are for a pipeline that captures any draws without primitive restart. Before
    /// an application creates such a pipeline, the shader's [descriptor set must be
    /// moved](Lowered::move_descriptor_set) after the sets of the pipeline layout.
    pub fn specialization(&self, ctx: &Context) -> PipelineSpecialization {
        let topology = self.topology.filter(|_| self.specialize_topology);
        let topology = topology.and_then(|topology| PrimitiveTopology::try_from(topology).ok());
        let key = Key { topology: topology.map(PrimitiveTopology::xfb_topology), ..Key::ANY };
        PipelineSpecialization::new(ctx, self.shader, &key)
    }
}

/// A lowered shader as a Vulkan pipeline, with its pipeline layout. Clones refer to the same
/// pipeline.
///
/// On the compute backend it consists of several Vulkan pipelines, for draws of different kinds. Each of these is
/// created by [`prepare`](Self::prepare), in any thread, or when a draw that needs it is first recorded: that takes the
/// milliseconds that the driver's compiler needs.
#[derive(Debug, Clone)]
pub struct Pipeline {
    shared: Arc<SharedPipeline>,
}

#[derive(Debug)]
struct Objects {
    raw: Raw,
    layout: PipelineLayout,
}

#[derive(Debug)]
enum Raw {
    Graphics(vk::Pipeline),
    /// A graphics pipeline of the application, which also owns the pipeline layout.
    Foreign(vk::Pipeline),
    Compute(Box<ComputePipelines>),
}

#[derive(Debug)]
struct SharedPipeline {
    objects: Objects,
    backend: Backend,
    layout: Layout,
    fixed_topology: Option<PrimitiveTopology>,
    provoking_vertex: ProvokingVertex,
    primitive_restart: bool,
    patch_control_points: u32,
    /// The attributes for which a capture needs vertex buffers. On the compute backend these are the attributes that
    /// the shader reads, in the order of its attribute descriptors; on the other backends all attributes of the vertex
    /// input state.
    attributes: Vec<PulledAttribute>,
    workgroup_sizes: WorkgroupSizes,
    geometry: Option<LoweredGeometry>,
    stream_count: u32,
    stages: vk::ShaderStageFlags,
    is_staged: bool,
    byte_loads: bool,
    set_count: u32,
    used_sets: Vec<u32>,
    push_constants: Range<u32>,
    sysvals: SysvalsPlace,
    context: ContextId,
}

impl Pipeline {
    /// Creates the pipeline. On the compute backend this creates the pipeline layout, and only the Vulkan pipelines for
    /// the [`prepared`](field@PipelineDesc::prepared) draws.
    ///
    /// # Errors
    /// Errors that precede all Vulkan calls:
    ///
    /// * [`RuntimeError::UnknownTopology`].
    /// * [`RuntimeError::FeatureNotEnabled`] for a backend that the device was not created for; on the native and
    ///   vertex backends for an adjacency topology without `geometryShader`; on the native backend for a geometry
    ///   shader without `geometryShader`, for tessellation shaders without `tessellationShader`, for
    ///   [`ProvokingVertex::Last`] without `provokingVertexLast`, and for vertex streams other than 0 without
    ///   `geometryStreams`.
    /// * [`RuntimeError::MissingProperty`] on the native backend, if lines or triangles are emitted to vertex streams
    ///   other than 0 without `transformFeedbackStreamsLinesTriangles`.
    /// * An invalid vertex input state, or [`RuntimeError::MissingVertexInput`]; [`RuntimeError::AttributeFormat`] and
    ///   [`RuntimeError::AttributeRate`] if the shader was lowered for another format or rate.
    /// * [`RuntimeError::GeometryInput`]; [`RuntimeError::NoTessellation`]; [`RuntimeError::NoControlPoints`];
    ///   [`RuntimeError::LoneStage`]; [`RuntimeError::EntryPointName`]; [`RuntimeError::MissingSetLayout`];
    ///   [`RuntimeError::Limit`]; [`RuntimeError::ResourcePlan`]; [`RuntimeError::InvalidShader`].
    ///
    /// After these checks: the error of a failed command.
    ///
    /// # Safety
    /// The device of `ctx` is live, and the handles of `desc` belong to it. [`lower`](vkxfb_rewriter::lower) made the
    /// shader from a valid module, and `desc` matches the interface of the shader. On the native and vertex backends
    /// the device supports the vertex formats (`VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT`). If lists are drawn with
    /// primitive restart, `primitiveTopologyListRestart` is enabled, and for patch lists
    /// `primitiveTopologyPatchListRestart`.
    #[tracing::instrument(name = "pipeline", level = "debug", skip_all)]
    pub unsafe fn new(ctx: &Context, desc: &PipelineDesc<'_>) -> Result<Self, RuntimeError> {
        let shader = desc.shader;
        let fixed_topology = desc.fixed_topology()?;
        let attributes = check::check(ctx, desc, fixed_topology)?;
        let entry = entry_name(&shader.entry_point)?;
        let layout = unsafe { create_layout(ctx, desc) }?;
        let backend = shader.backend();
        ctx.name(layout.raw, &format!("vkxfb {}", backend.name()));
        let raw = match backend {
            Backend::Compute => {
                Ok(Raw::Compute(Box::new(ComputePipelines::new(desc, fixed_topology, entry))))
            }
            Backend::Native | Backend::Vertex => {
                // SAFETY: the caller's contract; the layout was created for this description.
                let raw =
                    unsafe { graphics_pipeline(ctx, desc, fixed_topology, layout.raw, &entry) };
                raw.inspect(|raw| ctx.name(*raw, &format!("vkxfb {}", backend.name())))
                    .map(Raw::Graphics)
            }
        };
        let raw = raw.inspect_err(|_| {
            // SAFETY: nothing uses the layout.
            unsafe { layout.destroy(ctx) };
        })?;
        let pipeline = Self::of(ctx, desc, Objects { raw, layout }, fixed_topology, attributes);
        if let Err(error) = unsafe { pipeline.prepare(ctx, desc.prepared, desc.cache) } {
            // SAFETY: nothing uses what was created so far.
            unsafe { ctx.destroy(pipeline, &mut ()) };
            return Err(error);
        }
        Ok(pipeline)
    }

    /// Creates the Vulkan pipelines that `draws` may need and that do not exist yet, so that no recording waits for a
    /// compiler. Any thread may call this function while others record with the pipeline. It does nothing on the native
    /// and vertex backends.
    ///
    /// On the compute backend only this function uses a pipeline cache; [`new`](Self::new) calls it. Recordings do not
    /// use one, because an application may destroy its cache at any time.
    ///
    /// ```
    /// # use ash::vk;
    /// # use vkxfb::runtime::{Context, ExpectedDraws, Pipeline, RuntimeError};
    /// # fn prepare(context: &Context, pipeline: Pipeline, cache: vk::PipelineCache) {
    /// let context = context.clone();
    /// std::thread::spawn(move || -> Result<(), RuntimeError> {
    ///     let draws: Vec<_> = ExpectedDraws::every(vk::PrimitiveTopology::TRIANGLE_STRIP).collect();
    ///     // SAFETY: the device, the pipeline and the cache outlive the thread.
    ///     unsafe { pipeline.prepare(&context, &draws, cache) }
    /// });
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTopology`]; [`RuntimeError::Vulkan`] for a failed command. The error is not stored: the
    /// next call, or the next recording, tries again.
    ///
    /// # Safety
    /// The device of `ctx` is live, and `ctx` is the context that the pipeline was made with.
    /// `cache` is a pipeline cache of the device or null. The pipeline was not destroyed.
    pub unsafe fn prepare(
        &self,
        ctx: &Context,
        draws: &[ExpectedDraws],
        cache: vk::PipelineCache,
    ) -> Result<(), RuntimeError> {
        if self.backend() != Backend::Compute {
            return Ok(());
        }
        let (is_fixed, has_addresses) = (self.fixed_topology().is_some(), ctx.table().is_none());
        let possible = draws
            .iter()
            .map(|draws| if self.primitive_restart() { *draws } else { draws.without_restart() });
        for draws in possible {
            for key in draws.keys(is_fixed, has_addresses)? {
                unsafe { self.compiled(ctx, key, cache) }?;
            }
        }
        Ok(())
    }

    /// Wraps a graphics pipeline of the application. The pipeline captures on the vertex backend while it draws. It
    /// rasterizes, and may have any other stages and states.
    ///
    /// `raw` must have been created with [`Lowered::words`] as the vertex stage, with [`PipelineDesc::specialization`]
    /// for that stage, with the application's other stages unchanged, and with `raw_layout`, which must contain
    /// [`PipelineDesc::push_constant_range`]. If the other stages have push constants, lower the shader with
    /// [`lower_at`](vkxfb_rewriter::lower::vertex::lower_at) for a place that these push constants leave free, which
    /// [`sysvals_place`](crate::runtime::pipelines::vulkan::sysvals_place) finds: 8 free bytes are enough. Topology,
    /// vertex input state and set layouts must be those of `desc`. The render pass and the cache of `desc` are not
    /// used.
    ///
    /// The application keeps ownership of the objects: [`Context::destroy`] does not destroy
    /// them.
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
    /// The errors of [`new`](Self::new) that precede all Vulkan calls, and [`RuntimeError::Unsupported`] for a shader
    /// that was lowered for another backend.
    ///
    /// # Safety
    /// The requirements of [`new`](Self::new) apply. `raw` and `raw_layout` belong to the device of `ctx`, were created
    /// as described, and live as long as commands are recorded with the pipeline. Every draw with `raw` must be
    /// recorded by [`Recorder::draw`](crate::runtime::Recorder::draw): the shader stores to the addresses in its push
    /// constants, which are stale or undefined in any other draw. To draw without capturing, use a pipeline with the
    /// application's unchanged module.
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
        let fixed_topology = desc.fixed_topology()?;
        let attributes = check::check(ctx, desc, fixed_topology)?;
        let objects =
            Objects { raw: Raw::Foreign(raw), layout: PipelineLayout::foreign(raw_layout) };
        Ok(Self::of(ctx, desc, objects, fixed_topology, attributes))
    }

    /// Makes a pipeline from a [checked](check) description. `attributes` are the attributes for which captures need
    /// vertex buffers.
    fn of(
        ctx: &Context,
        desc: &PipelineDesc<'_>,
        objects: Objects,
        fixed_topology: Option<PrimitiveTopology>,
        attributes: Vec<PulledAttribute>,
    ) -> Self {
        let shader = desc.shader;
        let backend = shader.backend();
        tracing::debug!(
            backend = backend.name(),
            topology = ?fixed_topology,
            words = shader.words.len(),
            "pipeline"
        );
        let shared = SharedPipeline {
            objects,
            backend,
            layout: shader.layout.clone(),
            fixed_topology,
            provoking_vertex: desc.provoking_vertex,
            primitive_restart: desc.primitive_restart,
            patch_control_points: desc.patch_control_points,
            attributes,
            workgroup_sizes: shader.compute().map(|c| c.workgroup_sizes).unwrap_or_default(),
            geometry: shader.geometry(),
            stream_count: check::stream_count(shader),
            stages: stages(shader),
            is_staged: shader.compute().is_some_and(|compute| compute.is_staged),
            byte_loads: shader.compute().is_some_and(|compute| compute.byte_loads),
            set_count: desc.set_count(),
            // Descriptors in heaps belong to no sets that draws could bind.
            used_sets: match desc.descriptors {
                DescriptorPlace::Heaps(_) => Vec::new(),
                DescriptorPlace::Sets | DescriptorPlace::Buffers => shader.descriptor_sets.clone(),
            },
            push_constants: shader.push_constants.clone(),
            sysvals: shader.sysvals().unwrap_or_default(),
            context: ctx.id(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The `VkPipeline` of the native or vertex backend. On the compute backend the handle is null, because there are
    /// several Vulkan pipelines, which may not exist yet.
    pub fn raw(&self) -> vk::Pipeline {
        match self.shared.objects.raw {
            Raw::Graphics(raw) | Raw::Foreign(raw) => raw,
            Raw::Compute(_) => vk::Pipeline::null(),
        }
    }

    /// Whether `self` and `other` are clones of the same pipeline.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The `VkPipelineLayout`, which the application needs to bind its descriptor sets.
    pub fn raw_layout(&self) -> vk::PipelineLayout {
        self.shared.objects.layout.raw
    }

    /// The backend that the pipeline captures with.
    pub fn backend(&self) -> Backend {
        self.shared.backend
    }

    /// The bind point of [`raw`](Self::raw).
    pub(crate) fn bind_point(&self) -> vk::PipelineBindPoint {
        match self.shared.backend {
            Backend::Native | Backend::Vertex => vk::PipelineBindPoint::GRAPHICS,
            Backend::Compute => vk::PipelineBindPoint::COMPUTE,
        }
    }

    /// The layout of the captured records.
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    pub(crate) fn captures_outputs(&self) -> bool {
        !self.layout().outputs.is_empty()
    }

    /// The number of vertex streams: one more than the number of the last stream that the shader emits to or captures.
    /// Without a geometry shader it is 1.
    pub fn stream_count(&self) -> u32 {
        self.shared.stream_count
    }

    /// The topology that all draws must have, or `None` if each draw chooses.
    pub(crate) fn fixed_topology(&self) -> Option<PrimitiveTopology> {
        self.shared.fixed_topology
    }

    pub(crate) fn provoking_vertex(&self) -> ProvokingVertex {
        self.shared.provoking_vertex
    }

    /// Whether the largest index restarts primitives, unless a draw disables it.
    pub(crate) fn primitive_restart(&self) -> bool {
        self.shared.primitive_restart
    }

    /// The number of control points of a patch, or 0 without tessellation shaders.
    pub(crate) fn patch_control_points(&self) -> u32 {
        self.shared.patch_control_points
    }

    /// The number of bytes of upload memory that the attribute descriptors take in the
    /// [`Arena`](crate::runtime::Arena). Each capture with this pipeline takes this memory once, and again each time
    /// that vertex buffers are bound.
    pub(crate) fn attribute_bytes(&self) -> u64 {
        let beyond = match self.shared.backend {
            Backend::Native | Backend::Vertex => 0,
            Backend::Compute => self.shared.attributes.len().saturating_sub(INLINE_ATTRIBUTES),
        };
        (beyond * size_of::<AttributeDescriptor>()) as u64
    }

    /// The range of bytes of the application's push constants that the shader reads, rounded to multiples of 16. It is
    /// empty if the shader reads none. These bytes take upload memory in the
    /// [`Arena`](crate::runtime::Arena).
    pub fn push_constants(&self) -> &Range<u32> {
        &self.shared.push_constants
    }

    /// What the pipeline reads of push data beside its parameters, if its descriptors are in heaps.
    pub(crate) fn heaps(&self) -> Option<&Arc<HeapInterface>> {
        match &self.shared.objects.raw {
            Raw::Compute(pipelines) => pipelines.descriptors().heaps(),
            Raw::Graphics(_) | Raw::Foreign(_) => None,
        }
    }

    /// The range of bytes of the application's push constants, or push data, that a draw depends on: those that the
    /// shader reads, and those that the mappings of its descriptors read.
    pub(crate) fn pushed(&self) -> Range<u32> {
        let (constants, read) = (self.push_constants(), self.heaps().map(|heaps| heaps.read()));
        match read.filter(|read| !read.is_empty()) {
            None => constants.clone(),
            Some(read) if constants.is_empty() => read,
            Some(read) => constants.start.min(read.start)..constants.end.max(read.end),
        }
    }

    /// Where the shader reads its sysvals: in push constants, or in memory.
    pub(crate) fn sysvals(&self) -> SysvalsPlace {
        self.shared.sysvals
    }

    pub(crate) fn attributes(&self) -> &[PulledAttribute] {
        &self.shared.attributes
    }

    /// The input and output primitives of the geometry or tessellation shaders, or `None` if a vertex shader is
    /// captured.
    pub(crate) fn geometry(&self) -> Option<LoweredGeometry> {
        self.shared.geometry
    }

    /// The stages that read the push constants.
    pub(crate) fn stages(&self) -> vk::ShaderStageFlags {
        self.shared.stages
    }

    /// The number of invocations per workgroup on the compute backend, for each kind of draw.
    pub(crate) fn workgroup_sizes(&self) -> WorkgroupSizes {
        self.shared.workgroup_sizes
    }

    /// Whether the shader loads single bytes of index buffers, so that an index buffer may end within a dword.
    pub(crate) fn byte_loads(&self) -> bool {
        self.shared.byte_loads
    }

    /// Whether workgroups collect records in shared memory before they store them. Some Vulkan pipelines of such a
    /// pipeline nevertheless store records directly. They are for draws that do not become faster by the shared memory.
    pub(crate) fn is_staged(&self) -> bool {
        self.shared.is_staged
    }

    /// The number of descriptor sets of the application.
    pub(crate) fn set_count(&self) -> u32 {
        self.shared.set_count
    }

    /// The numbers of the application's descriptor sets that the shader reads, ascending.
    pub fn used_sets(&self) -> &[u32] {
        &self.shared.used_sets
    }
}

impl Made for Pipeline {
    fn is_of(&self, context: &Context) -> bool {
        self.shared.context == context.id()
    }
}

impl<A: ?Sized> DestroyObject<A> for Pipeline {
    unsafe fn destroy(self, ctx: &Context, _: &mut A) {
        let Objects { raw, layout } = &self.shared.objects;
        let pipelines = match raw {
            Raw::Foreign(_) => return,
            Raw::Graphics(raw) => vec![*raw],
            Raw::Compute(pipelines) => pipelines.all(),
        };
        // SAFETY: the caller's contract; null handles are ignored.
        unsafe {
            for pipeline in pipelines {
                ctx.device().destroy_pipeline(pipeline, None);
            }
            layout.destroy(ctx);
        }
    }
}
