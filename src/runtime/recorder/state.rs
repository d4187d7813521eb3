//! Begin and End of a capture, and what is bound and counted between them.

use ash::vk;

use super::capture::{Capture, Flushed};
use super::checks::{check_index_buffer, check_push_constants};
use super::graphics::Graphics;
use super::play::Playback;
use super::{CaptureDesc, Immediate, Inner, Recorded, Recorder};
use crate::lower::Backend;
use crate::runtime::parameters::{ConditionalRendering, CounterBuffer, IndexBuffer, VertexBuffer};
use crate::runtime::{ArenaAccess, Pipeline, QueryKind, QueryPool, RuntimeError};
use crate::topology::ProvokingVertex;

impl<'a> Recorder<'a> {
    /// Begins a capture.
    ///
    /// Which state of the command buffer is disturbed, and which barriers are recorded, is said in
    /// [synchronization](crate::guide::synchronization).
    ///
    /// # Errors
    /// Everything is checked before anything is recorded: [`RuntimeError::TooManyCaptureBuffers`],
    /// [`RuntimeError::TooManyCounters`], [`RuntimeError::NoCaptureBuffer`] (native),
    /// [`RuntimeError::Misaligned`],
    /// [`RuntimeError::WholeSize`], [`RuntimeError::Limit`], [`RuntimeError::MissingVertexBuffer`],
    /// [`RuntimeError::DuplicateVertexBuffer`], [`RuntimeError::StaticStride`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`],
    /// [`RuntimeError::PastTheEnd`], [`RuntimeError::NoKernels`] (compute),
    /// [`RuntimeError::Unsupported`] (counters on the vertex backend).
    ///
    /// # Safety
    /// * The pipelines, the kernels and the arena were made with the context of `capture` or a clone of it.
    /// * `cmd` is being recorded for a queue of the bind point; inside of a render pass instance
    ///   that is compatible with the pipeline's and not multiview for the native and vertex
    ///   backends, outside of one for the compute backend.
    /// * All handles are live, of the device of the context, have the usages that
    ///   [`Context`](crate::runtime::Context) names and hold the bound ranges, on the compute backend rounded up to
    ///   whole dwords; they, the pipelines and what is taken from the arena stay so until `cmd` is reset.
    /// * Native: no buffer was bound before in `cmd` to a number that the shader captures to and
    ///   `buffers` leaves out. Vulkan has no command to unbind it, and it would be captured to.
    /// * What the draws read is visible to the capture: vertices and index buffers, arguments, counters and predicates
    ///   ([`Context::argument_scope`](crate::runtime::Context::argument_scope)). What others do with the capture
    ///   buffers before is ordered before it ([`Context::write_scope`](crate::runtime::Context::write_scope)).
    /// * Compute: Vulkan's own conditional rendering is not active in `cmd` where draws are recorded: it would discard
    ///   kernels, and with them counters and ends of queries. That of the recorder discards draws alone.
    /// * The capture buffers' ranges do not overlap each other, or anything that the draws read. What
    ///   [`end`](Self::end) and queries write, counters and the memory of pools, is neither read by the draws' shaders
    ///   nor captured to.
    /// * `cmd` may be executed again while it is being executed, on one queue: the scratch memory is
    ///   its own, and barriers order its executions there.
    pub unsafe fn begin(
        capture: &'a mut Capture,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'_>,
    ) -> Result<Self, RuntimeError> {
        let backend = desc.pipeline.backend();
        tracing::debug!(backend = backend.name(), buffers = ?desc.buffers, "begin capture");
        let arena = arena.into();
        // SAFETY: the caller's contract.
        let inner = unsafe {
            match backend {
                Backend::Native | Backend::Vertex => {
                    capture.clear();
                    Inner::Graphics(Graphics::begin(&capture.ctx, arena, cmd, desc)?)
                }
                Backend::Compute => {
                    capture.begin(desc)?;
                    Inner::Immediate(Immediate { capture, playback: Playback::new(arena, cmd) })
                }
            }
        };
        Ok(Self { inner, is_open: true })
    }

    /// Begins counting draws that are not captured, for [`QueryKind::PrimitivesGenerated`]: what
    /// stands outside of Begin and End. Nothing is dispatched but kernels. Topology decides how
    /// primitives are counted, and each draw may have another.
    ///
    /// # Errors
    /// [`RuntimeError::NoKernels`].
    ///
    /// # Safety
    /// As [`begin`](Self::begin) for the compute backend.
    pub unsafe fn begin_inactive(
        capture: &'a mut Capture,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
    ) -> Result<Self, RuntimeError> {
        capture.begin_inactive()?;
        let playback = Playback::new(arena.into(), cmd);
        let inner = Inner::Immediate(Immediate { capture, playback });
        Ok(Self { inner, is_open: true })
    }

    /// Binds another pipeline for the draws that follow, with its provoking vertex and whether it restarts
    /// primitives. Vertex buffers, sets and push constants stay bound; whether they are what the pipeline needs is
    /// checked as it draws.
    ///
    /// # Errors
    /// [`RuntimeError::StrideMismatch`] for other capture buffers, or records of another size;
    /// [`RuntimeError::Unsupported`] for a pipeline of another backend, and on the native backend, where
    /// [Vulkan](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindPipeline.html) allows none between
    /// Begin and End (`VUID-vkCmdBindPipeline-None-02323`); [`RuntimeError::OtherContext`].
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    pub unsafe fn bind_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        match self.backing() {
            // SAFETY: the caller's contract.
            Backing::Graphics(graphics) => unsafe { graphics.bind_pipeline(pipeline) },
            Backing::Capture(capture) => capture.bind_pipeline(pipeline),
        }
    }

    /// Replaces push constants of the application for the draws that follow, from byte `offset` on
    /// ([`vkCmdPushConstants`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdPushConstants.html)).
    /// A capture begins with zeros, natively with what the command buffer has.
    ///
    /// On the compute and the vertex backend they lie in memory of the [`Arena`](crate::runtime::Arena): all of
    /// the device's are the application's. Draws share a dispatch while those that the shader reads stay the same.
    ///
    /// # Errors
    /// [`RuntimeError::Misaligned`] for an offset or size that is no multiple of 4, [`RuntimeError::Limit`] behind
    /// `maxPushConstantsSize`.
    pub fn push_constants(&mut self, offset: u32, bytes: &[u8]) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => graphics.push_constants(offset, bytes),
            Backing::Capture(capture) => {
                check_push_constants(&capture.ctx, offset, bytes)?;
                capture.bound.constants.push(offset, bytes);
                Ok(())
            }
        }
    }

    /// Binds vertex buffers for the draws that follow, in place of those of the same bindings. Where
    /// descriptors take the place of device addresses, each buffer that was bound since
    /// [`begin`](Self::begin) keeps one to the end of the recording: see
    /// [`RuntimeError::TooManyBuffers`].
    ///
    /// # Errors
    /// [`RuntimeError::DuplicateVertexBuffer`], [`RuntimeError::WholeSize`], [`RuntimeError::Limit`] (native and
    /// vertex). Whether they are what the pipeline reads is checked as it draws.
    ///
    /// # Safety
    /// As [`begin`](Self::begin). On the native and vertex backends a null buffer needs the feature
    /// `nullDescriptor`, which is the application's to enable.
    pub unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            // SAFETY: the caller's contract.
            Backing::Graphics(graphics) => unsafe { graphics.bind_vertex_buffers(buffers) },
            Backing::Capture(capture) => capture.bind_vertex_buffers(buffers),
        }
    }

    /// Binds the application's descriptor sets for the draws that follow, from set `first` of the
    /// pipeline's layout on. Draws before it read those that were bound when they were drawn. Without a pipeline
    /// ([`begin_inactive`](Self::begin_inactive)) this does nothing.
    ///
    /// Draws of a compute capture share a dispatch only while the sets stay the same; to bind those that are bound
    /// already changes nothing. What an application that binds sets itself has to mind is said at [`Recorder`].
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    ///
    /// # Safety
    /// As for
    /// [`vkCmdBindDescriptorSets`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindDescriptorSets.html).
    /// The sets stay valid until the recording ends, and until `cmd` is reset.
    pub unsafe fn bind_descriptor_sets(
        &mut self,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            // SAFETY: the caller's contract.
            Backing::Graphics(graphics) => unsafe {
                graphics.bind_descriptor_sets(first, sets, dynamic_offsets)
            },
            Backing::Capture(capture) => capture.bind_descriptor_sets(first, sets, dynamic_offsets),
        }
    }

    /// Binds the index buffer for the draws that follow.
    ///
    /// # Errors
    /// [`RuntimeError::WholeSize`], [`RuntimeError::Misaligned`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`],
    /// [`RuntimeError::PastTheEnd`], [`RuntimeError::Unsupported`] (vertex).
    ///
    /// # Safety
    /// As [`begin`](Self::begin). Natively [`IndexType::Uint8`](crate::runtime::IndexType::Uint8) needs the feature
    /// `indexTypeUint8`, which is the application's to enable.
    pub unsafe fn bind_index_buffer(&mut self, buffer: &IndexBuffer) -> Result<(), RuntimeError> {
        check_index_buffer(buffer)?;
        // SAFETY: the caller's contract.
        unsafe {
            match self.backing() {
                Backing::Graphics(graphics) => graphics.bind_index_buffer(buffer),
                Backing::Capture(capture) => capture.bind_index_buffer(buffer),
            }
        }
    }

    /// Whether an index restarts primitives in the draws that follow: the largest of its type, or what
    /// [`set_primitive_restart_index`](Self::set_primitive_restart_index) set
    /// ([`vkCmdSetPrimitiveRestartEnable`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetPrimitiveRestartEnable.html)).
    /// A capture begins with what the pipeline says.
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] on the native and vertex backends, where the pipeline decides;
    /// [`RuntimeError::NoRestart`] where the pipeline was made without.
    pub fn set_primitive_restart(&mut self, enable: bool) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("dynamic primitive restart")),
            Backing::Capture(capture) => capture.set_primitive_restart(enable),
        }
    }

    /// The index that restarts primitives in the draws that follow, where that is enabled, in place of the largest one
    /// ([`vkCmdSetPrimitiveRestartIndexEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetPrimitiveRestartIndexEXT.html)).
    /// It holds until an index buffer is bound. Indices beyond the bound range, which are 0, restart nothing.
    ///
    /// # Errors
    /// [`RuntimeError::NoIndexBuffer`]; [`RuntimeError::Unsupported`] on the native and vertex backends, where the
    /// application records Vulkan's own command.
    pub fn set_primitive_restart_index(&mut self, index: u32) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("a primitive restart index")),
            Backing::Capture(capture) => capture.set_primitive_restart_index(index),
        }
    }

    /// Begins conditional rendering: the draws that follow are discarded where a dword says so when they are executed.
    /// A draw that is discarded captures nothing, counts for no query and moves no counter
    /// ([`vkCmdBeginConditionalRenderingEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginConditionalRenderingEXT.html)).
    ///
    /// # Errors
    /// [`RuntimeError::ConditionalRenderingActive`], [`RuntimeError::Misaligned`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`];
    /// [`RuntimeError::Unsupported`] on the native and vertex backends, where the application records Vulkan's own
    /// command.
    ///
    /// # Safety
    /// As [`begin`](Self::begin). The dword is visible to
    /// [`Context::argument_scope`](crate::runtime::Context::argument_scope) of the compute backend.
    pub unsafe fn begin_conditional_rendering(
        &mut self,
        condition: &ConditionalRendering,
    ) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("conditional rendering")),
            // SAFETY: the caller's contract.
            Backing::Capture(capture) => unsafe { capture.begin_conditional_rendering(condition) },
        }
    }

    /// Ends conditional rendering. The end of a capture does, too.
    ///
    /// # Errors
    /// [`RuntimeError::NoConditionalRendering`]; [`RuntimeError::Unsupported`] as
    /// [`begin_conditional_rendering`](Self::begin_conditional_rendering).
    pub fn end_conditional_rendering(&mut self) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("conditional rendering")),
            Backing::Capture(capture) => capture.end_conditional_rendering(),
        }
    }

    /// Which vertex of a primitive is the provoking one in the draws that follow
    /// ([`vkCmdSetProvokingVertexModeEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetProvokingVertexModeEXT.html)).
    /// A capture begins with what the pipeline says.
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] on the native backend, where the pipeline decides.
    pub fn set_provoking_vertex(&mut self, mode: ProvokingVertex) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => graphics.set_provoking_vertex(mode),
            Backing::Capture(capture) => {
                capture.bound.provoking_vertex = mode;
                Ok(())
            }
        }
    }

    /// Begins a query: the draws that follow count. Of each kind one query is active at a time. A query that
    /// has ended is [reset](QueryPool::reset), behind a [`flush`](Self::flush) if it ended in this recording, before
    /// it is begun again.
    ///
    /// # Errors
    /// [`RuntimeError::QueryActive`], [`RuntimeError::QueryUsed`], [`RuntimeError::QueryRange`],
    /// [`RuntimeError::OtherContext`], [`RuntimeError::NoAddress`], [`RuntimeError::Limit`],
    /// [`RuntimeError::TooManyBuffers`];
    /// [`RuntimeError::Unsupported`] on the native backend, where a `VkQueryPool` serves, and on the
    /// vertex backend.
    ///
    /// # Safety
    /// The pool lives until every command buffer is reset that the capture is recorded into.
    pub unsafe fn begin_query(&mut self, pool: &QueryPool, query: u32) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            // SAFETY: the caller's contract.
            Backing::Capture(capture) => unsafe { capture.begin_query(pool, query) },
        }
    }

    /// Ends the active query of a kind, which becomes available behind all that counts for it, to the device and to
    /// the host: [`QueryPool::results`] needs no barrier of the application.
    ///
    /// # Errors
    /// [`RuntimeError::NoQuery`]; [`RuntimeError::Unsupported`] as
    /// [`begin_query`](Self::begin_query).
    pub fn end_query(&mut self, kind: QueryKind) -> Result<(), RuntimeError> {
        match self.backing() {
            Backing::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            Backing::Capture(capture) => capture.end_query(kind),
        }
    }

    /// Records the draws so far, so that the application's next commands come behind them: resets and copies
    /// of queries, and descriptor sets that it binds itself. Does nothing on the native and vertex backends.
    ///
    /// # Errors
    /// As [`Capture::play`]: nothing is recorded then, and the draws stay to be recorded. [`RuntimeError::Unsupported`]
    /// for the [recorder of a capture](Capture::recorder), which has no command buffer.
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    pub unsafe fn flush(&mut self) -> Result<(), RuntimeError> {
        match &mut self.inner {
            Inner::Graphics(_) => Ok(()),
            Inner::Collect(_) => {
                let (backend, what) = (Backend::Compute, "a flush without a command buffer");
                Err(RuntimeError::Unsupported { backend, what })
            }
            // SAFETY: the caller's contract.
            Inner::Immediate(immediate) => unsafe { immediate.flush() },
        }
    }

    /// Ends the capture, and writes the counters: by the number of the capture buffer. That of a
    /// buffer to which nothing is captured holds what it was begun with.
    ///
    /// Queries that are active go on counting if they are begun again in the next capture.
    ///
    /// No barrier is recorded behind it: before the buffers are read comes
    /// [`Context::capture_barrier`](crate::runtime::Context::capture_barrier).
    ///
    /// # Errors
    /// [`RuntimeError::TooManyCounters`], [`RuntimeError::DuplicateCounter`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::Limit`] (native), [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Unsupported`] (counters on the vertex backend),
    /// [`RuntimeError::TooManyBuffers`], and those of [`Capture::play`]. On the compute backend the draws that were
    /// not flushed stay in the [`Capture`] then: [`end`](Capture::end) it, and [`play`](Capture::play) it with more
    /// memory.
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn end(
        mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<Recorded, RuntimeError> {
        self.is_open = false;
        // SAFETY: the caller's contract.
        let recorded = unsafe {
            match &mut self.inner {
                Inner::Graphics(graphics) => graphics.end(counters),
                Inner::Collect(capture) => capture.end(counters).map(|()| Recorded::default()),
                Inner::Immediate(immediate) => immediate.end(counters),
            }
        }?;
        tracing::debug!(?recorded, "end capture");
        Ok(recorded)
    }

    pub(super) fn backing(&mut self) -> Backing<'_, 'a> {
        match &mut self.inner {
            Inner::Graphics(graphics) => Backing::Graphics(graphics),
            Inner::Immediate(immediate) => Backing::Capture(immediate.capture),
            Inner::Collect(capture) => Backing::Capture(capture),
        }
    }
}

/// Who takes what is bound and drawn.
pub(super) enum Backing<'r, 'a> {
    Graphics(&'r mut Graphics<'a>),
    Capture(&'r mut Capture),
}

impl Immediate<'_> {
    /// # Safety
    /// As [`Recorder::flush`].
    unsafe fn flush(&mut self) -> Result<(), RuntimeError> {
        let Self { capture, playback } = self;
        // SAFETY: the caller's contract.
        let after = unsafe { capture.record(playback, Default::default()) }?;
        let Playback { cmd, recorded, sets_disturbed, layout, .. } = *playback;
        capture.advance(&after, Flushed { cmd, recorded, sets_disturbed, layout });
        Ok(())
    }

    /// # Safety
    /// As [`Recorder::end`].
    unsafe fn end(&mut self, counters: &[Option<CounterBuffer>]) -> Result<Recorded, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe {
            self.capture.end(counters)?;
            let counters = self.capture.end_counters;
            self.capture.record(&mut self.playback, counters)?;
        }
        self.capture.clear();
        Ok(self.playback.recorded)
    }
}
