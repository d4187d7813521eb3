//! [`Recorder`], with its functions for Begin and End, and for the state, the queries and the draws between them.

use ash::vk;

use crate::runtime::device::descriptor_heaps::BoundHeaps;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::{
    Arguments, ByteCountDraw, ConditionalRendering, CounterBuffer, Draw, DrawIndexed, IndexBuffer,
    IndirectDraw, VertexBuffer, known_topology,
};
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::recording::capture::Capture;
use crate::runtime::recording::capture_desc::{CaptureDesc, Recorded};
use crate::runtime::recording::checks::{check_byte_count, check_index_buffer, check_indirect};
use crate::runtime::recording::collect::Streams;
use crate::runtime::recording::graphics::Graphics;
use crate::runtime::recording::play::Playback;
use crate::runtime::recording::queries::{QueryKind, QueryPool};
use crate::runtime::recording::set_arguments::BufferSet;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

/// A capture that is being recorded.
///
/// Between [`begin`](Self::begin) and [`end`](Self::end) the application must not bind another pipeline at the bind
/// point of the capture's pipeline, and must not change the push constants of that pipeline's stage.
///
/// ```no_run
/// # use ash::vk;
/// # use vkxfb::runtime::*;
/// # use vkxfb::topology::PrimitiveTopology;
/// # unsafe fn record(
/// #     capture: &mut Capture, arena: &mut Arena, cmd: vk::CommandBuffer, desc: &CaptureDesc<'_>,
/// #     indices: vk::Buffer, set: vk::DescriptorSet, colour: [u8; 16],
/// # ) -> Result<(), RuntimeError> { unsafe {
/// // `desc` has the pipeline, capture buffers and vertex buffers.
/// let mut recorder = Recorder::begin(capture, arena, cmd, desc)?;
/// recorder.draw(PrimitiveTopology::TriangleStrip, &Draw { instance_count: 2, ..Draw::new(5) })?;
/// // The state that is bound from here on applies to the draws that follow. Their records are appended.
/// recorder.bind_descriptor_sets(0, &[set], &[])?;
/// recorder.push_constants(0, &colour)?;
/// recorder.bind_index_buffer(&IndexBuffer::new(indices, 2 * 300, IndexType::Uint16))?;
/// recorder.draw_indexed(PrimitiveTopology::TriangleList, &DrawIndexed::new(300))?;
/// let recorded = recorder.end(&[])?;
/// println!("{:?}", recorded.captured.map(|captured| captured.primitives_written));
/// # Ok(())
/// # } }
/// ```
///
/// # Descriptor sets
/// Sets that [`bind_descriptor_sets`](Self::bind_descriptor_sets) binds are used by the draws after it, on every
/// backend. A draw whose shader reads a set that is not bound is refused
/// ([`RuntimeError::MissingDescriptorSet`](crate::runtime::RuntimeError::MissingDescriptorSet)).
///
/// An application may also record `vkCmdBindDescriptorSets` itself, with [`Pipeline::raw_layout`], before or during the
/// capture. It must declare such sets by [`assume_descriptor_sets`](Self::assume_descriptor_sets). On the native and
/// vertex backends that works as in Vulkan. The compute backend records draws at [`end`](Self::end), so all draws use
/// the sets that are bound in the command buffer at that time. For a set number that `bind_descriptor_sets` bound
/// before a draw, the draw uses that set.
///
/// Under the descriptor plan ([`Context::compute_target`](crate::runtime::Context::compute_target)), kernels that are
/// recorded before the draws disturb all descriptor sets, and only the sets of `bind_descriptor_sets` are bound again.
/// A draw that reads other sets is therefore refused if kernels are needed
/// ([`RuntimeError::DescriptorSetUnknown`](crate::runtime::RuntimeError::DescriptorSetUnknown)): for counters, indirect
/// draws, predicates or primitive restart.
///
/// # Memory
/// Draws are stored in the memory of the [`Capture`], which grows to the size of its largest recording. Later
/// recordings up to that size make no heap allocations, except under the [descriptor
/// plan](crate::guide::resource_plans): with descriptors a recording makes a few dozen allocations,
/// independently of the number of draws.
///
/// Data for the device is stored in an [`Arena`](crate::runtime::Arena). All the memory that a recording needs is
/// reserved before its commands are recorded; [`Arena::growing`](crate::runtime::Arena::growing) lets the arena grow.
///
/// # Dropping
/// A recorder that is dropped without [`end`](Self::end), for example by `?`, logs a `tracing::error!`. On the compute
/// backend, draws that were not recorded yet stay in the [`Capture`]. Playing it returns
/// [`RuntimeError::NotEnded`](crate::runtime::RuntimeError::NotEnded) until [`Capture::end`] is called. On the native
/// backend `vkCmdBeginTransformFeedbackEXT` is left without its end, so the command buffer cannot be ended validly.
/// Recorders that [`Capture::recorder`] returns may be dropped.
#[must_use = "a capture is open until `end`"]
pub struct Recorder<'a> {
    inner: Inner<'a>,
    /// Whether `end` has to be called before the recorder is dropped.
    is_open: bool,
}

enum Inner<'a> {
    /// Draws are recorded immediately, with a graphics pipeline.
    Graphics(Graphics<'a>),
    /// Draws are collected, and `end` records them.
    Immediate(Immediate<'a>),
    /// Draws are collected, and the application plays the capture.
    Collect(&'a mut Capture),
}

/// A capture, and the command buffer that its draws will be recorded into.
struct Immediate<'a> {
    capture: &'a mut Capture,
    playback: Playback<'a>,
}

impl Capture {
    /// Returns a recorder whose bindings and draws are collected in this capture. It has no command buffer, so its
    /// [`end`](Recorder::end) calls [`end`](Self::end) of the capture.
    pub fn recorder(&mut self) -> Recorder<'_> {
        Recorder { inner: Inner::Collect(self), is_open: false }
    }
}

impl<'a> Recorder<'a> {
    /// Begins a capture.
    ///
    /// Without a description (`None`) transform feedback is not active: the draws are not captured, but only counted
    /// for [`QueryKind::PrimitivesGenerated`]. Only kernels are dispatched. How a draw's primitives are counted depends
    /// on its topology, which may be different for each draw.
    ///
    /// [Synchronization](crate::guide::synchronization) lists the state of the command buffer that
    /// is disturbed, and the barriers that are recorded.
    ///
    /// # Errors
    /// All errors are detected before anything is recorded: [`RuntimeError::TooManyCaptureBuffers`],
    /// [`RuntimeError::TooManyCounters`], [`RuntimeError::Misaligned`], [`RuntimeError::WholeSize`],
    /// [`RuntimeError::Limit`], [`RuntimeError::MissingVertexBuffer`], [`RuntimeError::DuplicateVertexBuffer`],
    /// [`RuntimeError::StaticStride`], [`RuntimeError::NoAddress`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`], [`RuntimeError::OtherContext`];
    /// [`RuntimeError::NoCaptureBuffer`] on the native backend; [`RuntimeError::NoKernels`] on the compute backend;
    /// [`RuntimeError::Unsupported`] for counters on the vertex backend.
    ///
    /// # Safety
    /// * The pipelines, the kernels and the arena were made with the context of `capture` or a
    ///   clone of it.
    /// * `cmd` is in the recording state, for a queue that supports the pipeline's bind point. On the native and vertex
    ///   backends it is inside of a render pass instance that is compatible with the pipeline's render pass and not
    ///   multiview; on the compute backend it is outside of a render pass instance.
    /// * All handles are live, belong to the device of the context, and have the usages that
    ///   [`Context`](crate::runtime::Context) returns for their use. The buffers contain the bound ranges. On the
    ///   compute backend they must contain the ranges rounded up to whole dwords, except for indices with
    ///   [`byte_loads`](crate::runtime::RequiredFeatures::byte_loads). The handles, the pipelines and the memory taken
    ///   from the arena stay valid until `cmd` is reset.
    /// * On the native backend: if the shader captures to a buffer that `buffers` does not contain, no buffer was bound
    ///   at that number before in `cmd`. Vulkan has no command to unbind such a buffer, and the capture would write to
    ///   it.
    /// * All data that the draws read is visible to the capture: vertices, indices, arguments, counters and predicates
    ///   ([`Context::argument_scope`](crate::runtime::Context::argument_scope)). Earlier accesses of other commands to
    ///   the capture buffers are ordered before the capture
    ///   ([`Context::write_scope`](crate::runtime::Context::write_scope)).
    /// * On the compute backend: Vulkan's own conditional rendering is not active in `cmd` where draws are recorded,
    ///   because it would discard kernels, and thereby writes of counters and ends of queries. The recorder's
    ///   conditional rendering discards only draws.
    /// * The ranges of the capture buffers do not overlap each other, nor anything that the draws read. The counters
    ///   that [`end`](Self::end) writes and the memory of query pools are neither read by the draws' shaders nor
    ///   captured to.
    /// * `cmd` may be submitted to the same queue again while it is executing: barriers order its executions, and no
    ///   other command buffer uses its scratch memory.
    pub unsafe fn begin<'d>(
        capture: &'a mut Capture,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        desc: impl Into<Option<&'d CaptureDesc<'d>>>,
    ) -> Result<Self, RuntimeError> {
        let (arena, desc) = (arena.into(), desc.into());
        if let Some(CaptureDesc { pipeline, buffers, .. }) = desc {
            tracing::debug!(backend = pipeline.backend().name(), ?buffers, "begin capture");
        }
        let inner = unsafe {
            match desc {
                Some(desc) if desc.pipeline.backend() != Backend::Compute => {
                    capture.clear();
                    Inner::Graphics(Graphics::begin(&capture.ctx, arena, cmd, desc)?)
                }
                desc => {
                    capture.begin(desc)?;
                    Inner::Immediate(Immediate { capture, playback: Playback::new(arena, cmd) })
                }
            }
        };
        Ok(Self { inner, is_open: true })
    }

    /// Binds another pipeline for the draws that follow, with its provoking vertex, primitive restart and control
    /// points. Vertex buffers, sets and push constants stay bound; each draw checks whether they match the pipeline.
    ///
    /// # Errors
    /// [`RuntimeError::StrideMismatch`] and [`RuntimeError::StreamMismatch`] if the pipeline has other capture buffers,
    /// or captures records of another size or another vertex stream to one of them; [`RuntimeError::Unsupported`] for a
    /// pipeline of another backend, for a pipeline that emits to more vertex streams than the pipeline of Begin, and on
    /// the native backend, because
    /// [Vulkan](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindPipeline.html) does not allow the
    /// command between Begin and End (`VUID-vkCmdBindPipeline-None-02323`); [`RuntimeError::OtherContext`].
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply.
    pub unsafe fn bind_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => unsafe { graphics.bind_pipeline(pipeline) },
            Backing::Compute(streams) => streams.bind_pipeline(pipeline),
        }
    }

    /// Sets push constants of the application for the draws that follow, from byte `offset` on
    /// ([`vkCmdPushConstants`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdPushConstants.html)). At
    /// Begin all push constants are 0, except on the native backend, which keeps those of the command buffer.
    ///
    /// On the compute and the vertex backend, push constants are copied to memory of the
    /// [`Arena`](crate::runtime::Arena), so the application can use all push constants of the device. Draws can share a
    /// dispatch only as long as the push constants that the shader reads do not change.
    ///
    /// # Errors
    /// [`RuntimeError::Misaligned`] if the offset or size is not a multiple of 4; [`RuntimeError::PushConstantRange`]
    /// if the end exceeds `maxPushConstantsSize`.
    pub fn push_constants(&mut self, offset: u32, bytes: &[u8]) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => graphics.push_constants(offset, bytes),
            Backing::Compute(streams) => {
                streams.each(|collector| collector.push_constants(offset, bytes))
            }
        }
    }

    /// Binds vertex buffers for the draws that follow, in place of the buffers that were bound to the same bindings.
    /// Under the descriptor plan, each buffer from which draws since [`begin`](Self::begin) read attributes takes up a
    /// descriptor until the end of the recording: see [`RuntimeError::TooManyBuffers`].
    ///
    /// # Errors
    /// [`RuntimeError::DuplicateVertexBuffer`], [`RuntimeError::WholeSize`]; [`RuntimeError::Limit`] on the native and
    /// vertex backends. Whether the buffers match the pipeline is checked by each draw.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply. On the native and vertex backends the application must enable
    /// the feature `nullDescriptor` to bind a null buffer.
    pub unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => unsafe { graphics.bind_vertex_buffers(buffers) },
            Backing::Compute(streams) => {
                streams.each(|collector| collector.bind_vertex_buffers(buffers))
            }
        }
    }

    /// Binds the application's descriptor sets for the draws that follow, from set `first` of the pipeline's layout on.
    /// Earlier draws use the sets that were bound before them. Without a pipeline
    /// ([`begin`](Self::begin) without a description) this does nothing.
    ///
    /// Draws of a compute capture can share a dispatch only as long as the sets do not change; binding the same sets
    /// again is no change. For sets that the application binds itself, call
    /// [`assume_descriptor_sets`](Self::assume_descriptor_sets) instead.
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    ///
    /// # Safety
    /// The requirements of
    /// [`vkCmdBindDescriptorSets`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindDescriptorSets.html)
    /// are met. The sets stay valid until the recording ends, and until `cmd` is reset.
    pub unsafe fn bind_descriptor_sets(
        &mut self,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => unsafe {
                graphics.bind_descriptor_sets(first, sets, dynamic_offsets)
            },
            Backing::Compute(streams) => streams
                .each(|collector| collector.bind_descriptor_sets(first, sets, dynamic_offsets)),
        }
    }

    /// Binds a set that is in a descriptor buffer, for the draws that follow. The application must have bound the
    /// descriptor buffers itself in the command buffer that the capture is played into.
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`]; [`RuntimeError::Unsupported`] on the native and vertex backends.
    ///
    /// # Safety
    /// The requirements of
    /// [`vkCmdSetDescriptorBufferOffsetsEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetDescriptorBufferOffsetsEXT.html)
    /// are met. The pipeline was created [with descriptor buffers](crate::runtime::Stages::descriptors).
    pub unsafe fn bind_buffer_set(
        &mut self,
        set: u32,
        buffer_set: BufferSet,
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => {
                let (backend, what) = (graphics.backend(), "a descriptor buffer");
                Err(RuntimeError::Unsupported { backend, what })
            }
            Backing::Compute(streams) => {
                streams.each(|collector| collector.bind_buffer_set(set, buffer_set))
            }
        }
    }

    /// Sets push data for the draws that follow, of pipelines with descriptor heaps. The end of the bytes must be
    /// within `maxPushDataSize`.
    ///
    /// # Errors
    /// [`RuntimeError::Misaligned`] if the offset or size is not a multiple of 4; [`RuntimeError::Unsupported`] on the
    /// native and vertex backends.
    pub fn push_data(&mut self, offset: u32, bytes: &[u8]) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => {
                let (backend, what) = (graphics.backend(), "push data");
                Err(RuntimeError::Unsupported { backend, what })
            }
            Backing::Compute(streams) => {
                streams.each(|collector| collector.push_data(offset, bytes))
            }
        }
    }

    /// Binds descriptor heaps for the draws that follow, of pipelines with [descriptor
    /// heaps](crate::runtime::descriptor_heaps). Playing the capture binds them in the command buffer, unless they are
    /// [known](crate::runtime::Capture::play_in_state) to be bound.
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] on the native and vertex backends.
    ///
    /// # Safety
    /// The ranges are valid for `vkCmdBindResourceHeapEXT` and `vkCmdBindSamplerHeapEXT`.
    pub unsafe fn bind_heaps(&mut self, heaps: &BoundHeaps) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => {
                let (backend, what) = (graphics.backend(), "descriptor heaps");
                Err(RuntimeError::Unsupported { backend, what })
            }
            Backing::Compute(streams) => streams.each(|collector| {
                collector.bind_heaps(*heaps);
                Ok(())
            }),
        }
    }

    /// Declares that the application binds the sets `first` to `first + count - 1` itself with
    /// [`Pipeline::raw_layout`], by `vkCmdBindDescriptorSets`, `vkCmdPushDescriptorSet` or a similar command: see
    /// [`Recorder`]. Until the next begin, draws may read these sets without
    /// [`bind_descriptor_sets`](Self::bind_descriptor_sets). If `bind_descriptor_sets` bound one of them, draws still
    /// use the set that it bound. If kernels or sets of the descriptor plan disturb the application's sets, draws still
    /// return [`RuntimeError::DescriptorSetUnknown`]. Without a pipeline ([`begin`](Self::begin) without a description)
    /// this does nothing.
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    ///
    /// # Safety
    /// The sets are bound at the pipeline's bind point when the draws that read them are recorded. On the compute
    /// backend [`end`](Self::end) or [`Capture::play`] records the draws.
    pub unsafe fn assume_descriptor_sets(
        &mut self,
        first: u32,
        count: u32,
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => graphics.assume_descriptor_sets(first, count),
            Backing::Compute(streams) => {
                streams.each(|collector| collector.assume_descriptor_sets(first, count))
            }
        }
    }

    /// Binds the index buffer for the draws that follow.
    ///
    /// # Errors
    /// [`RuntimeError::WholeSize`], [`RuntimeError::Misaligned`], [`RuntimeError::NoAddress`], [`RuntimeError::Limit`],
    /// [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`];
    /// [`RuntimeError::Unsupported`] on the vertex backend.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply. On the native backend the application must enable the feature
    /// `indexTypeUint8` to bind indices of [`IndexType::Uint8`](crate::runtime::IndexType::Uint8).
    pub unsafe fn bind_index_buffer(&mut self, buffer: &IndexBuffer) -> Result<(), RuntimeError> {
        check_index_buffer(buffer)?;
        unsafe {
            match self.backing() {
                Backing::Graphics(graphics) => graphics.bind_index_buffer(buffer),
                Backing::Compute(streams) => {
                    streams.each(|collector| collector.bind_index_buffer(buffer))
                }
            }
        }
    }

    /// Enables or disables primitive restart for the draws that follow
    /// ([`vkCmdSetPrimitiveRestartEnable`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetPrimitiveRestartEnable.html)).
    /// The index that restarts primitives is the largest one of the index type, or the one that
    /// [`set_primitive_restart_index`](Self::set_primitive_restart_index) set. At Begin and when a pipeline is bound,
    /// the pipeline determines whether primitive restart is enabled.
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] on the native and vertex backends, where primitive restart is fixed in the
    /// pipeline; [`RuntimeError::NoRestart`] if the pipeline was created without primitive restart.
    pub fn set_primitive_restart(&mut self, enable: bool) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("dynamic primitive restart")),
            Backing::Compute(streams) => {
                streams.each(|collector| collector.set_primitive_restart(enable))
            }
        }
    }

    /// Sets the index that restarts primitives in the draws that follow, instead of the largest one
    /// ([`vkCmdSetPrimitiveRestartIndexEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetPrimitiveRestartIndexEXT.html)).
    /// The restart index applies until another index buffer is bound. Indices beyond the bound range are read as 0, and
    /// never restart primitives.
    ///
    /// # Errors
    /// [`RuntimeError::NoIndexBuffer`]; [`RuntimeError::Unsupported`] on the native and vertex
    /// backends, where the application must record Vulkan's own command.
    pub fn set_primitive_restart_index(&mut self, index: u32) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("a primitive restart index")),
            Backing::Compute(streams) => {
                streams.each(|collector| collector.set_primitive_restart_index(index))
            }
        }
    }

    /// Begins conditional rendering: a dword in a buffer determines at execution whether the draws that follow are
    /// discarded
    /// ([`vkCmdBeginConditionalRenderingEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginConditionalRenderingEXT.html)).
    /// A discarded draw captures nothing, adds to no query and advances no counter.
    ///
    /// # Errors
    /// [`RuntimeError::ConditionalRenderingActive`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::PartialDword`]; [`RuntimeError::Unsupported`] on the native and vertex
    /// backends, where the application must record Vulkan's own command.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply. Earlier writes to the dword are visible to
    /// [`Context::argument_scope`](crate::runtime::Context::argument_scope) of the compute backend.
    pub unsafe fn begin_conditional_rendering(
        &mut self,
        condition: &ConditionalRendering,
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("conditional rendering")),
            Backing::Compute(streams) => unsafe {
                streams.each(|collector| collector.begin_conditional_rendering(condition))
            },
        }
    }

    /// Ends conditional rendering. Conditional rendering also ends with the capture. But if
    /// [`Capture::begin_next`](crate::runtime::Capture::begin_next) then begins a further capture in the same
    /// [`Capture`] value, it stays active.
    ///
    /// # Errors
    /// [`RuntimeError::NoConditionalRendering`]; [`RuntimeError::Unsupported`] on the native and vertex backends.
    pub fn end_conditional_rendering(&mut self) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("conditional rendering")),
            Backing::Compute(streams) => {
                streams.each(|collector| collector.end_conditional_rendering())
            }
        }
    }

    /// Sets the provoking vertex of the draws that follow
    /// ([`vkCmdSetProvokingVertexModeEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetProvokingVertexModeEXT.html)).
    /// At Begin and when a pipeline is bound, the pipeline determines the provoking vertex.
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] on the native backend, where the provoking vertex is fixed in the pipeline.
    pub fn set_provoking_vertex(&mut self, mode: ProvokingVertex) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => graphics.set_provoking_vertex(mode),
            Backing::Compute(streams) => streams.each(|collector| {
                collector.set_provoking_vertex(mode);
                Ok(())
            }),
        }
    }

    /// Sets the number of control points of a patch for the draws that follow
    /// ([`vkCmdSetPatchControlPointsEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetPatchControlPointsEXT.html)).
    /// At Begin and when a pipeline is bound, the pipeline determines the number.
    ///
    /// # Errors
    /// [`RuntimeError::NoTessellation`] if the bound pipeline has no tessellation shaders;
    /// [`RuntimeError::NoControlPoints`] for 0; [`RuntimeError::Limit`] for more points than the tessellation control
    /// shader has room for; [`RuntimeError::Unsupported`] on the native and vertex backends, where the number is fixed
    /// in the pipeline.
    pub fn set_patch_control_points(&mut self, points: u32) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => {
                Err(graphics.unsupported("control points of patches as dynamic state"))
            }
            Backing::Compute(streams) => {
                streams.each(|collector| collector.set_patch_control_points(points))
            }
        }
    }

    /// Begins a query
    /// ([`vkCmdBeginQueryIndexedEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginQueryIndexedEXT.html)).
    /// It counts primitives that the draws that follow emit to a vertex stream, which is 0 without a geometry shader.
    /// For each stream, one query of each kind can be active at a time. A query that has ended must be
    /// [reset](QueryPool::reset) before it is begun again: in the same recording there is an error otherwise, in a later
    /// one the query goes on counting. If it ended in this recording, [end](Self::end) the capture before the reset.
    ///
    /// # Errors
    /// [`RuntimeError::QueryStream`], [`RuntimeError::QueryActive`], [`RuntimeError::QueryUsed`],
    /// [`RuntimeError::QueryRange`], [`RuntimeError::OtherContext`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`]; [`RuntimeError::Unsupported`] on the native backend,
    /// where a `VkQueryPool` must be used, and on the vertex backend.
    ///
    /// # Safety
    /// The pool lives until every command buffer that the capture is recorded into is reset.
    pub unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        query: u32,
        stream: u32,
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            Backing::Compute(streams) => unsafe { streams.begin_query(pool, query, stream) },
        }
    }

    /// Ends the active query of a kind for a vertex stream
    /// ([`vkCmdEndQueryIndexedEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdEndQueryIndexedEXT.html)).
    /// When everything that it counts has been executed, the query becomes available to the device and to the host:
    /// [`QueryPool::results`] needs no barrier of the application.
    ///
    /// # Errors
    /// [`RuntimeError::NoQuery`]; [`RuntimeError::Unsupported`] on the native and vertex backends.
    pub fn end_query(&mut self, kind: QueryKind, stream: u32) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            Backing::Compute(streams) => streams.end_query(kind, stream),
        }
    }

    /// Ends the capture, and writes `counters`, one for each capture buffer. If nothing was captured to a buffer, its
    /// counter gets the value that the capture began with.
    ///
    /// A query that is still active can be continued: begin it again in the next capture.
    ///
    /// With several vertex streams, a counter that this function writes for a buffer of one stream must not be used for
    /// another stream, neither to begin a capture with it nor as the argument of a draw.
    ///
    /// The function records no barrier after the capture: record
    /// [`Context::capture_barrier`](crate::runtime::Context::capture_barrier) before the buffers are read.
    ///
    /// # Errors
    /// [`RuntimeError::TooManyCounters`], [`RuntimeError::DuplicateCounter`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::TooManyBuffers`]; [`RuntimeError::Limit`] on the native backend;
    /// [`RuntimeError::Unsupported`] for counters on the vertex backend; on the compute backend the errors of
    /// [`Capture::play`]. After an error on the compute backend, the draws stay in the [`Capture`]:
    /// call [`Capture::end`], and then [`Capture::play`] with more memory.
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn end(
        mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        self.is_open = false;
        let recorded = unsafe {
            match &mut self.inner {
                Inner::Graphics(graphics) => graphics.end(counters),
                Inner::Collect(capture) => capture.end(counters).map(|()| Recorded::default()),
                Inner::Immediate(Immediate { capture, playback }) => {
                    capture.finish(playback, counters)
                }
            }
        }?;
        tracing::debug!(?recorded, "end capture");
        Ok(recorded)
    }

    fn backing(&mut self) -> Backing<'_, 'a> {
        match &mut self.inner {
            Inner::Graphics(graphics) => Backing::Graphics(graphics),
            Inner::Immediate(immediate) => Backing::Compute(&mut immediate.capture.streams),
            Inner::Collect(capture) => Backing::Compute(&mut capture.streams),
        }
    }
}

impl Recorder<'_> {
    /// Captures a draw. Its records follow those of the draws before it.
    ///
    /// `VertexIndex` and `InstanceIndex` are computed modulo 2^32, as in all draws.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTopology`], [`RuntimeError::TopologyMismatch`], [`RuntimeError::GeometryInput`],
    /// [`RuntimeError::NoTessellation`], [`RuntimeError::DispatchTooLarge`], [`RuntimeError::NotBegun`]; [`RuntimeError::MissingDescriptorSet`] for a set
    /// that the shader reads; with geometry or tessellation shaders on the compute backend
    /// [`RuntimeError::TooManyPrimitives`] and, for indirect commands, [`RuntimeError::TooManyDraws`].
    ///
    /// Because of the vertex buffers that the pipeline reads: [`RuntimeError::MissingVertexBuffer`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::StaticStride`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`].
    ///
    /// On the vertex backend: [`RuntimeError::ArenaFull`] and a failed allocation, if push constants or sysvals are in
    /// memory; [`RuntimeError::Limit`] for a triangle fan with more primitives than
    /// [`MAX_FAN_PRIMITIVES`](vkxfb_rewriter::lower::vertex::MAX_FAN_PRIMITIVES).
    ///
    /// Nothing is recorded in case of an error, and the capture may continue.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply. On the native and vertex backends the draw is in the same
    /// render pass instance as [`begin`](Self::begin), and all vertices lie within their buffers, unless
    /// `robustBufferAccess` is enabled. On the native backend all indices lie within their buffer, unless
    /// `robustBufferAccess2` is enabled.
    pub unsafe fn draw(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        unsafe { self.record(known_topology(topology)?, Arguments::Draw(draw), 0) }
    }

    /// Captures an indexed draw.
    ///
    /// With primitive restart, the compute backend needs one invocation per index and instance (two for a triangle
    /// fan), because only the GPU knows the restarts. An indirect dispatch is limited to 2^32 - 1 invocations per draw
    /// and 2^31 - 1 indices per instance: records beyond that are missing, although counters and queries include them.
    /// For a direct dispatch [`RuntimeError::DispatchTooLarge`] is returned instead.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw), and [`RuntimeError::NoIndexBuffer`]; [`RuntimeError::Unsupported`] on the
    /// vertex backend; [`RuntimeError::PartialDword`] if the index buffer ends within a dword, and the shader was
    /// lowered without [loads of single bytes](vkxfb_rewriter::lower::compute::Target::byte_loads).
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn draw_indexed(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &DrawIndexed,
    ) -> Result<(), RuntimeError> {
        unsafe { self.record(known_topology(topology)?, Arguments::Indexed(draw), 0) }
    }

    /// Captures several draws with `DrawIndex` 0, 1, 2, ...
    /// ([`vkCmdDrawMultiEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiEXT.html)).
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw) for the first draw that cannot be captured; the draws before it are captured.
    /// [`RuntimeError::Unsupported`] on the native and vertex backends.
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn draw_multi(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draws: &[Draw],
    ) -> Result<(), RuntimeError> {
        let topology = known_topology(topology)?;
        for (index, draw) in (0..).zip(draws) {
            unsafe { self.record_multi(topology, Arguments::Draw(draw), index) }?;
        }
        Ok(())
    }

    /// Captures several indexed draws with `DrawIndex` 0, 1, 2, ...
    /// ([`vkCmdDrawMultiIndexedEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiIndexedEXT.html)).
    /// With primitive restart, the limits of [`draw_indexed`](Self::draw_indexed) apply to each draw.
    ///
    /// # Errors
    /// The errors of [`draw_multi`](Self::draw_multi) and [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn draw_multi_indexed(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draws: &[DrawIndexed],
    ) -> Result<(), RuntimeError> {
        let topology = known_topology(topology)?;
        for (index, draw) in (0..).zip(draws) {
            unsafe { self.record_multi(topology, Arguments::Indexed(draw), index) }?;
        }
        Ok(())
    }

    /// Captures draws whose arguments are in a buffer.
    ///
    /// The compute backend collects them as one draw, whatever `draw_count` is: the GPU reads the number of draws and
    /// processes only that many. It skips draws for which the buffers have no room left, unless a query counts them.
    /// The command takes scratch memory of the [arena](crate::runtime::ArenaDesc) for `draw_count` draws, or for about
    /// as many draws as records fit into the capture buffers, if that is less. The limit is 2^24 - 1 draws: further
    /// draws are neither captured nor counted.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::GeometryInput`], [`RuntimeError::NoTessellation`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`], [`RuntimeError::MissingDescriptorSet`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`];
    /// [`RuntimeError::DispatchTooLarge`] if the device has no indirect dispatch; [`RuntimeError::CommandsPastTheEnd`]
    /// under the descriptor plan; [`RuntimeError::Unsupported`] on the vertex backend;
    /// [`RuntimeError::FeatureNotEnabled`] on the native backend, for a count in a buffer without `drawIndirectCount`,
    /// and for several draws without `multiDrawIndirect`.
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply. The buffer contains the arguments of `draw_count` draws, and
    /// earlier writes to it are visible to [`Context::argument_scope`](crate::runtime::Context::argument_scope). On the
    /// native backend the `firstInstance` of the draws is 0 unless `drawIndirectFirstInstance` is enabled, and a count
    /// in a buffer is at most `maxDrawIndirectCount`.
    pub unsafe fn draw_indirect(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw, IndirectDraw::command_size(false))?;
        unsafe { self.record(known_topology(topology)?, Arguments::Indirect(draw), 0) }
    }

    /// Captures indexed draws whose arguments are in a buffer.
    ///
    /// With primitive restart, the limits of [`draw_indexed`](Self::draw_indexed) apply to each draw. The compute
    /// backend then searches all indices of the bound range for restarts. It does so once per capture, for all indirect
    /// draws with the same topology, bound range and restart index. So do not bind a larger range than the draws use.
    ///
    /// # Errors
    /// The errors of [`draw_indirect`](Self::draw_indirect), and [`RuntimeError::NoIndexBuffer`],
    /// [`RuntimeError::PartialDword`].
    ///
    /// # Safety
    /// The requirements of [`draw_indirect`](Self::draw_indirect) apply.
    pub unsafe fn draw_indexed_indirect(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw, IndirectDraw::command_size(true))?;
        unsafe { self.record(known_topology(topology)?, Arguments::IndexedIndirect(draw), 0) }
    }

    /// Captures a draw of the vertices that an earlier capture wrote: the GPU computes their number from a counter.
    ///
    /// # Errors
    /// The errors of [`draw_indirect`](Self::draw_indirect) without [`RuntimeError::FeatureNotEnabled`];
    /// [`RuntimeError::ZeroStride`]; [`RuntimeError::MissingProperty`] on the native backend, without
    /// `transformFeedbackDraw`.
    ///
    /// # Safety
    /// The requirements of [`draw_indirect`](Self::draw_indirect) apply.
    pub unsafe fn draw_indirect_byte_count(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &ByteCountDraw,
    ) -> Result<(), RuntimeError> {
        check_byte_count(draw)?;
        unsafe { self.record(known_topology(topology)?, Arguments::ByteCount(draw), 0) }
    }

    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    unsafe fn record(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        tracing::trace!(%topology, ?arguments, "draw");
        unsafe {
            match self.backing() {
                Backing::Graphics(graphics) => graphics.record(topology, arguments),
                Backing::Compute(streams) => streams.push(topology, arguments, draw_index),
            }
        }
    }

    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    unsafe fn record_multi(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        if let Backing::Graphics(graphics) = self.backing() {
            return Err(graphics.unsupported("multi-draws"));
        }
        unsafe { self.record(topology, arguments, draw_index) }
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        match &mut self.inner {
            Inner::Graphics(_) => tracing::error!("a recorder is dropped without `end`"),
            Inner::Immediate(immediate) => {
                let draws = immediate.capture.abandon();
                // If there are no draws, the recorder was probably dropped because the first draw failed. The error of
                // that draw is enough.
                if draws > 0 {
                    tracing::error!(
                        draws,
                        "a recorder is dropped without `end`, and draws are lost"
                    );
                }
            }
            Inner::Collect(_) => {}
        }
    }
}

/// The part of a recorder that depends on the backend. `Graphics` (native and vertex backends) records bindings and
/// draws into the command buffer at once. For a compute capture, they are passed to the collectors, one for each vertex
/// stream.
enum Backing<'r, 'a> {
    Graphics(&'r mut Graphics<'a>),
    Compute(&'r mut Streams),
}
