//! Begin and End of a capture, and what is bound and counted between them.

use ash::vk;

use super::checks::{check_capture_buffers, check_counters, check_distinct, check_index_buffer};
use super::compute::Compute;
use super::graphics::Graphics;
use super::sets::SetArguments;
use super::{CaptureDesc, Inner, Recorded, Recorder};
use crate::lower::Backend;
use crate::runtime::draws::{CounterBuffer, IndexBuffer, VertexBuffer};
use crate::runtime::{Arena, Context, Kernels, QueryKind, QueryPool, RuntimeError, pulling};

impl<'a> Recorder<'a> {
    /// Begins a capture.
    ///
    /// State that is disturbed:
    /// * native: the graphics pipeline, the vertex buffers of the given bindings, the transform
    ///   feedback buffers of the given numbers; the index buffer once one is bound.
    /// * vertex: the graphics pipeline, the vertex buffers of the given bindings, the push constants
    ///   of the vertex stage.
    /// * compute, at `end` and `flush`: the compute pipeline, the push constants of the compute stage, and at
    ///   the compute bind point the descriptor sets that
    ///   [`bind_descriptor_sets`](Self::bind_descriptor_sets) bound. Nothing of the graphics state. Where
    ///   descriptors take the place of device addresses, also the compute bind point's descriptor set behind
    ///   those of the pipeline, and all of them where kernels are recorded.
    ///
    /// # Barriers
    /// On the native and vertex backends none is recorded: see [`Context::write_scope`] for what the
    /// application orders before, and [`Context::capture_barrier`] for afterwards. On the compute
    /// backend none either as long as the CPU knows everything. Captures that use counters, indirect
    /// arguments, restarts or queries record global barriers between compute shaders, which also
    /// order them behind all earlier captures; so between a capture that ends in a counter and one
    /// that resumes from it the application needs none. Where the draws reach more places than there are
    /// [descriptors](crate::runtime::RequiredFeatures::storage_buffers), such barriers are also before,
    /// between and behind the captures.
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
    /// * The pipeline, the kernels and `arena` were made with `ctx` or a clone of it.
    /// * `cmd` is being recorded for a queue of the bind point; inside of a render pass instance
    ///   that is compatible with the pipeline's and not multiview for the native and vertex
    ///   backends, outside of one for the compute backend.
    /// * All handles are live, of the device of `ctx`, have the usages that [`Context`] names and
    ///   hold the bound ranges, on the compute backend rounded up to whole dwords; they and what is taken from
    ///   `arena` stay so until `cmd` is reset.
    /// * Native: no buffer was bound before in `cmd` to a number that the shader captures to and
    ///   `buffers` leaves out. Vulkan has no command to unbind it, and it would be captured to.
    /// * The capture buffers' ranges do not overlap each other, or anything that the draws read. What
    ///   [`end`](Self::end) and queries write, counters and the memory of pools, is neither read by the draws' shaders
    ///   nor captured to.
    /// * `cmd` may be executed again while it is being executed, on one queue: the scratch memory is
    ///   its own, and barriers order its executions there.
    pub unsafe fn begin(
        ctx: &'a Context,
        arena: &'a mut Arena,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'a, '_>,
    ) -> Result<Self, RuntimeError> {
        let backend = desc.pipeline.backend();
        check_capture_buffers(ctx, desc.pipeline, desc.buffers)?;
        check_counters(ctx, backend, desc.counters)?;
        let attributes = desc.pipeline.attributes();
        pulling::check_buffers(backend, attributes, desc.vertex_buffers)?;
        pulling::check_complete(attributes, desc.vertex_buffers)?;
        tracing::debug!(backend = backend.name(), buffers = ?desc.buffers, "begin capture");
        // SAFETY: the caller's contract.
        let inner = unsafe {
            match backend {
                Backend::Native | Backend::Vertex => {
                    Inner::Graphics(Graphics::begin(ctx, cmd, desc)?)
                }
                Backend::Compute => Inner::Compute(Compute::begin(ctx, arena, cmd, desc)?),
            }
        };
        Ok(Self { inner })
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
        ctx: &'a Context,
        arena: &'a mut Arena,
        cmd: vk::CommandBuffer,
        kernels: &'a Kernels,
    ) -> Result<Self, RuntimeError> {
        // SAFETY: the caller's contract.
        let compute = unsafe { Compute::inactive(ctx, arena, cmd, kernels) }?;
        Ok(Self { inner: Inner::Compute(compute) })
    }

    /// Binds vertex buffers for the draws that follow, in place of those of the same bindings. Where
    /// descriptors take the place of device addresses, each buffer that was bound since
    /// [`begin`](Self::begin) keeps one to the end of the record: see
    /// [`RuntimeError::TooManyBuffers`].
    ///
    /// # Errors
    /// Those of [`begin`](Self::begin) that are about vertex buffers.
    ///
    /// # Safety
    /// As [`begin`](Self::begin). On the native and vertex backends a null buffer needs the feature
    /// `nullDescriptor`, which is the application's to enable.
    pub unsafe fn bind_vertex_buffers(
        &mut self,
        buffers: &[VertexBuffer],
    ) -> Result<(), RuntimeError> {
        let pipeline = match &self.inner {
            Inner::Graphics(graphics) => Some(graphics.pipeline),
            Inner::Compute(compute) => compute.pipeline,
        };
        if let Some(pipeline) = pipeline {
            pulling::check_buffers(pipeline.backend(), pipeline.attributes(), buffers)?;
        }
        // SAFETY: the caller's contract.
        unsafe {
            match &mut self.inner {
                Inner::Graphics(graphics) => graphics.bind_vertex_buffers(buffers),
                Inner::Compute(compute) => compute.bind_vertex_buffers(buffers),
            }
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
    /// The sets stay valid until the record ends, and until `cmd` is reset.
    pub unsafe fn bind_descriptor_sets(
        &mut self,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) -> Result<(), RuntimeError> {
        let arguments = SetArguments { first, sets, dynamic_offsets };
        match &mut self.inner {
            // SAFETY: the caller's contract.
            Inner::Graphics(graphics) => unsafe { graphics.bind_descriptor_sets(arguments) },
            Inner::Compute(compute) => compute.bind_descriptor_sets(arguments),
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
            match &mut self.inner {
                Inner::Graphics(graphics) => graphics.bind_index_buffer(buffer),
                Inner::Compute(compute) => compute.bind_index_buffer(buffer),
            }
        }
    }

    /// Whether the largest index restarts primitives in the draws that follow
    /// ([`vkCmdSetPrimitiveRestartEnable`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetPrimitiveRestartEnable.html)).
    /// A capture begins with what the pipeline says.
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] on the native and vertex backends, where the pipeline decides;
    /// [`RuntimeError::NoRestart`] where the pipeline was made without.
    pub fn set_primitive_restart(&mut self, enable: bool) -> Result<(), RuntimeError> {
        match &mut self.inner {
            Inner::Graphics(graphics) => Err(graphics.unsupported("dynamic primitive restart")),
            Inner::Compute(compute) => compute.set_primitive_restart(enable),
        }
    }

    /// Begins a query: the draws that follow count. Of each kind one query is active at a time. A query that
    /// has ended is [reset](QueryPool::reset), behind a [`flush`](Self::flush) if it ended in this record, before
    /// it is begun again.
    ///
    /// # Errors
    /// [`RuntimeError::QueryActive`], [`RuntimeError::QueryRange`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`];
    /// [`RuntimeError::Unsupported`] on the native backend, where a `VkQueryPool` serves, and on the
    /// vertex backend.
    ///
    /// # Safety
    /// The pool was made with the context of the capture or a clone of it, and lives until the command buffer is
    /// reset.
    pub unsafe fn begin_query(&mut self, pool: &QueryPool, query: u32) -> Result<(), RuntimeError> {
        match &mut self.inner {
            Inner::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            // SAFETY: the caller's contract.
            Inner::Compute(compute) => unsafe { compute.begin_query(pool, query) },
        }
    }

    /// Ends the active query of a kind, which becomes available.
    ///
    /// # Errors
    /// [`RuntimeError::NoQuery`]; [`RuntimeError::Unsupported`] as
    /// [`begin_query`](Self::begin_query).
    pub fn end_query(&mut self, kind: QueryKind) -> Result<(), RuntimeError> {
        match &mut self.inner {
            Inner::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            Inner::Compute(compute) => compute.end_query(kind),
        }
    }

    /// Records the draws so far, so that the application's next commands come behind them: resets and copies
    /// of queries, and descriptor sets that it binds itself. Does nothing on the native and vertex backends.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`], [`RuntimeError::NoDescriptorSet`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`]: nothing is recorded
    /// then, and the draws are lost.
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    pub unsafe fn flush(&mut self) -> Result<(), RuntimeError> {
        match &mut self.inner {
            Inner::Graphics(_) => Ok(()),
            // SAFETY: the caller's contract.
            Inner::Compute(compute) => unsafe { compute.flush() },
        }
    }

    /// Ends the capture, and writes the counters: by the number of the capture buffer. That of a
    /// buffer to which nothing is captured holds what it was begun with.
    ///
    /// Queries that are active go on counting if they are begun again in the next capture.
    ///
    /// No barrier is recorded behind it: before the buffers are read comes
    /// [`Context::capture_barrier`].
    ///
    /// # Errors
    /// [`RuntimeError::TooManyCounters`], [`RuntimeError::DuplicateCounter`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::Limit`] (native), [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Unsupported`] (counters on the vertex backend),
    /// [`RuntimeError::TooManyBuffers`], and those of [`flush`](Self::flush). The draws that were not
    /// flushed are lost then.
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn end(self, counters: &[Option<CounterBuffer>]) -> Result<Recorded, RuntimeError> {
        let (ctx, backend) = match &self.inner {
            Inner::Graphics(graphics) => (graphics.ctx, graphics.pipeline.backend()),
            Inner::Compute(compute) => (compute.ctx, Backend::Compute),
        };
        let checked =
            check_counters(ctx, backend, counters).and_then(|()| check_distinct(counters));
        // SAFETY: the caller's contract.
        let recorded = unsafe {
            match self.inner {
                // What was begun is ended whatever happens.
                Inner::Graphics(graphics) => match checked {
                    Ok(()) => graphics.end(counters),
                    Err(error) => graphics.end(&[]).and(Err(error)),
                },
                Inner::Compute(_) if checked.is_err() => checked.map(|()| Recorded::default()),
                Inner::Compute(compute) => compute.end(counters),
            }
        }?;
        tracing::debug!(?recorded, "end capture");
        Ok(recorded)
    }
}
