//! Recording one capture: `vkCmdBeginTransformFeedbackEXT`, draws, `vkCmdEndTransformFeedbackEXT`,
//! on whichever backend the pipeline is for.
//!
//! | backend | a draw records |
//! |---|---|
//! | native | the Vulkan command that it stands for |
//! | vertex | `vkCmdDraw`, with the place of its records in push constants |
//! | compute | nothing: [`Recorder::end`], or [`Recorder::flush`], records all of them |
//!
//! The compute backend collects draws because together they cost less. As long as the CPU knows
//! everything (direct draws into buffers that are written from a known position on), it computes all
//! counts, clamps and places itself, and records nothing but dispatches: one for each large draw, one
//! for all small draws between two large ones, no barrier. Otherwise one setup kernel does for the
//! whole lot what the CPU cannot, and then all draws are dispatched.

mod collect;
mod compute;
mod direct;
mod gpu;
mod graphics;
mod resources;

use ash::vk;

use self::compute::Compute;
pub(super) use self::compute::Pending;
use self::graphics::Graphics;
use super::draws::{
    ByteCountDraw, CaptureBuffer, CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndirectDraw,
    VertexBuffer,
};
use super::pulling::{self, multiple_of_4};
use super::{Arena, Context, Kernels, Pipeline, QueryKind, QueryPool, RuntimeError};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::{DrawCounts, MAX_BUFFER_SIZE};
use crate::lower::Backend;
use crate::topology::PrimitiveTopology;

/// What a capture begins with.
#[derive(Debug, Clone, Copy)]
pub struct CaptureDesc<'a, 'b> {
    /// The shader.
    pub pipeline: &'a Pipeline,
    /// The kernels of the device.
    pub kernels: &'b Kernels,
    /// Capture buffers, by their `XfbBuffer` number. Outputs of a buffer that is not bound are
    /// ignored, which is no overflow. But of drivers' own captures, NVIDIA's (580.159.04) writes them to
    /// what an earlier command buffer bound, so that on the native backend all should be bound there.
    pub buffers: &'b [Option<CaptureBuffer>],
    /// Vertex buffers, in any order.
    pub vertex_buffers: &'b [VertexBuffer],
    /// Counters to resume from, by the number of the capture buffer. Without one a buffer is
    /// written from its start.
    pub counters: &'b [Option<CounterBuffer>],
}

/// What a capture did, by the rules of the specification. Like results of queries its counts wrap at 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Captured {
    /// Primitives written: the first integer of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`.
    pub primitives_written: u64,
    /// Primitives needed: its second integer.
    pub primitives_needed: u64,
    /// Bytes from the start of each bound range that records fill: what the counters would hold.
    pub positions: [u64; MAX_XFB_BUFFERS],
}

impl Captured {
    const fn add(&mut self, counts: &DrawCounts) {
        self.primitives_written = self.primitives_written.wrapping_add(counts.primitives_written);
        self.primitives_needed = self.primitives_needed.wrapping_add(counts.primitives_needed);
    }
}

/// What was recorded for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recorded {
    /// What the capture does, where that is known while recording: `None` once it depends on a
    /// counter, indirect arguments or an index buffer with restarts.
    pub captured: Option<Captured>,
    /// Dispatches that capture.
    pub captures: u32,
    /// Dispatches of [`Kernels`].
    pub kernels: u32,
    /// Pipeline barriers.
    pub barriers: u32,
}

/// A capture that is being recorded.
///
/// Between [`begin`](Self::begin) and [`end`](Self::end) the application binds no other pipeline at
/// the bind point of this one, and does not touch the push constants of its stage. It may bind its
/// descriptor sets, by [`bind_descriptor_sets`](Self::bind_descriptor_sets) or itself, with
/// [`Pipeline::raw_layout`]; on the compute backend those that are bound at [`end`](Self::end) or
/// [`flush`](Self::flush) are what the draws before it read.
///
/// Draws are kept in memory of the [`Arena`], which grows to what its largest record needed: once it has
/// recorded as much, recording allocates nothing on the heap. Where descriptors take the place of device
/// addresses, a record still takes a few dozen allocations and each [`flush`](Self::flush) up to 40, however
/// many draws there are.
#[must_use = "a capture is open until `end`"]
pub struct Recorder<'a> {
    inner: Inner<'a>,
}

enum Inner<'a> {
    Graphics(Graphics<'a>),
    Compute(Compute<'a>),
}

/// The arguments of a draw.
#[derive(Debug, Clone, Copy)]
enum Arguments<'a> {
    Draw(&'a Draw),
    Indexed(&'a DrawIndexed),
    Indirect(&'a IndirectDraw),
    IndexedIndirect(&'a IndirectDraw),
    ByteCount(&'a ByteCountDraw),
}

impl<'a> Recorder<'a> {
    /// Begins a capture.
    ///
    /// State that is disturbed:
    /// * native: the graphics pipeline, the vertex buffers of the given bindings, the transform
    ///   feedback buffers of the given numbers; the index buffer once one is bound.
    /// * vertex: the graphics pipeline, the vertex buffers of the given bindings, the push constants
    ///   of the vertex stage.
    /// * compute, at `end` and `flush`: the compute pipeline, the push constants of the compute stage.
    ///   Nothing of the graphics state. Where descriptors take the place of device addresses, also the
    ///   compute bind point's descriptor set behind those of the pipeline, and all of them where kernels
    ///   are recorded.
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
    /// [`RuntimeError::NoAddress`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::Unsupported`] (counters on the vertex backend).
    ///
    /// # Safety
    /// * `cmd` is being recorded for a queue of the bind point; inside of a render pass instance
    ///   that is compatible with the pipeline's and not multiview for the native and vertex
    ///   backends, outside of one for the compute backend.
    /// * All handles are live, of the device of `ctx`, have the usages that [`Context`] names and
    ///   hold the bound ranges, rounded up to whole dwords where [`Context::resource_plan`] is by
    ///   descriptors; they and what is taken from `arena` stay so until `cmd` is reset.
    /// * Native: no buffer was bound before in `cmd` to a number that the shader captures to and
    ///   `buffers` leaves out. Vulkan has no command to unbind it, and it would be captured to.
    /// * The capture buffers' ranges do not overlap each other or anything that the draws read.
    /// * `cmd` may be executed again while it is being executed, on one queue: the scratch memory is
    ///   its own, and barriers order its executions there.
    pub unsafe fn begin(
        ctx: &'a Context,
        arena: &'a mut Arena,
        cmd: vk::CommandBuffer,
        desc: &CaptureDesc<'a, '_>,
    ) -> Result<Self, RuntimeError> {
        let backend = desc.pipeline.backend();
        check_capture_buffers(ctx, backend, desc.buffers)?;
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
    /// # Safety
    /// As [`begin`](Self::begin) for the compute backend.
    pub unsafe fn begin_inactive(
        ctx: &'a Context,
        arena: &'a mut Arena,
        cmd: vk::CommandBuffer,
        kernels: &Kernels,
    ) -> Self {
        // SAFETY: the caller's contract.
        Self { inner: Inner::Compute(unsafe { Compute::inactive(ctx, arena, cmd, kernels) }) }
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
    /// As [`begin`](Self::begin).
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
    /// pipeline's layout on. On the compute backend draws that are not [flushed](Self::flush) yet read
    /// them, too. Without a pipeline ([`begin_inactive`](Self::begin_inactive)) this does nothing.
    ///
    /// Where [`Context::resource_plan`] is by descriptors, and counters, indirect draws or primitive
    /// restart are used, or queries across flushes, this is the only way: kernels that are recorded before
    /// the draws take the place of the sets, which are then bound once more.
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
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            match &mut self.inner {
                Inner::Graphics(graphics) => {
                    graphics.bind_descriptor_sets(first, sets, dynamic_offsets);
                }
                Inner::Compute(compute) => {
                    compute.bind_descriptor_sets(first, sets, dynamic_offsets);
                }
            }
        }
    }

    /// Binds the index buffer for the draws that follow.
    ///
    /// # Errors
    /// [`RuntimeError::WholeSize`], [`RuntimeError::Misaligned`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`], [`RuntimeError::Unsupported`] (vertex).
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    pub unsafe fn bind_index_buffer(&mut self, buffer: &IndexBuffer) -> Result<(), RuntimeError> {
        if buffer.size == vk::WHOLE_SIZE {
            return Err(RuntimeError::WholeSize { what: "the index buffer".to_owned() });
        }
        let alignment = buffer.index_type.size().into();
        if !buffer.offset.is_multiple_of(alignment) {
            let what = "the offset of the index buffer".to_owned();
            return Err(RuntimeError::Misaligned { what, value: buffer.offset, alignment });
        }
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

    /// Captures a draw, behind those before it.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::IndexOverflow`],
    /// [`RuntimeError::DispatchTooLarge`]. Nothing is recorded then, and the capture may go on.
    ///
    /// # Safety
    /// As [`begin`](Self::begin), with the same render pass instance if there is one. On the native
    /// and vertex backends the vertices lie within their buffers, unless `robustBufferAccess` is
    /// enabled.
    pub unsafe fn draw(
        &mut self,
        topology: PrimitiveTopology,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        check_range("vertex", draw.first_vertex, draw.vertex_count)?;
        check_range("instance", draw.first_instance, draw.instance_count)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::Draw(draw), 0) }
    }

    /// Captures an indexed draw.
    ///
    /// With primitive restart, the compute backend takes an invocation, for a triangle fan two, for each index
    /// of each instance, as only they find the restarts. It is a limit where the GPU sizes the dispatch that a
    /// draw has no more than 2^32 - 1, and an instance no more than 2^31 - 1 indices: what further ones would
    /// write is missing, while counters and queries count it. Where the CPU does, it is
    /// [`RuntimeError::DispatchTooLarge`].
    ///
    /// # Errors
    /// As [`draw`](Self::draw), and [`RuntimeError::NoIndexBuffer`], [`RuntimeError::Unsupported`]
    /// (vertex).
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn draw_indexed(
        &mut self,
        topology: PrimitiveTopology,
        draw: &DrawIndexed,
    ) -> Result<(), RuntimeError> {
        check_range("instance", draw.first_instance, draw.instance_count)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::Indexed(draw), 0) }
    }

    /// Captures draws whose `DrawIndex` counts up from 0
    /// ([`vkCmdDrawMultiEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiEXT.html)).
    ///
    /// # Errors
    /// As [`draw`](Self::draw) for the first draw that cannot be captured; those before it are.
    /// [`RuntimeError::Unsupported`] (native and vertex).
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn draw_multi(
        &mut self,
        topology: PrimitiveTopology,
        draws: &[Draw],
    ) -> Result<(), RuntimeError> {
        for (index, draw) in (0..).zip(draws) {
            check_range("vertex", draw.first_vertex, draw.vertex_count)?;
            check_range("instance", draw.first_instance, draw.instance_count)?;
            // SAFETY: the caller's contract.
            unsafe { self.record_multi(topology, Arguments::Draw(draw), index) }?;
        }
        Ok(())
    }

    /// Captures indexed draws whose `DrawIndex` counts up from 0
    /// ([`vkCmdDrawMultiIndexedEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiIndexedEXT.html)).
    /// With primitive restart each has the limit of [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Errors
    /// As [`draw_multi`](Self::draw_multi) and [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn draw_multi_indexed(
        &mut self,
        topology: PrimitiveTopology,
        draws: &[DrawIndexed],
    ) -> Result<(), RuntimeError> {
        for (index, draw) in (0..).zip(draws) {
            check_range("instance", draw.first_instance, draw.instance_count)?;
            // SAFETY: the caller's contract.
            unsafe { self.record_multi(topology, Arguments::Indexed(draw), index) }?;
        }
        Ok(())
    }

    /// Captures draws whose arguments the GPU reads.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::ArenaFull`] (more draws than the upload memory holds),
    /// [`RuntimeError::DispatchTooLarge`] (where the device has no indirect dispatch),
    /// [`RuntimeError::Unsupported`] (vertex), [`RuntimeError::FeatureNotEnabled`] (native, with a
    /// count).
    ///
    /// # Safety
    /// As [`draw`](Self::draw). The arguments lie within their buffer, and are visible to
    /// [`Context::argument_scope`].
    pub unsafe fn draw_indirect(
        &mut self,
        topology: PrimitiveTopology,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::Indirect(draw), 0) }
    }

    /// Captures indexed draws whose arguments the GPU reads. With primitive restart each has the limit of
    /// [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Errors
    /// As [`draw_indirect`](Self::draw_indirect), and [`RuntimeError::NoIndexBuffer`].
    ///
    /// # Safety
    /// As [`draw_indirect`](Self::draw_indirect).
    pub unsafe fn draw_indexed_indirect(
        &mut self,
        topology: PrimitiveTopology,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::IndexedIndirect(draw), 0) }
    }

    /// Captures a draw of as many vertices as an earlier capture wrote.
    ///
    /// # Errors
    /// As [`draw_indirect`](Self::draw_indirect) but for [`RuntimeError::ArenaFull`],
    /// [`RuntimeError::Misaligned`] for a stride of 0, too, and [`RuntimeError::IndexOverflow`].
    ///
    /// # Safety
    /// As [`draw_indirect`](Self::draw_indirect).
    pub unsafe fn draw_indirect_byte_count(
        &mut self,
        topology: PrimitiveTopology,
        draw: &ByteCountDraw,
    ) -> Result<(), RuntimeError> {
        multiple_of_4(|| "the offset of the counter".to_owned(), draw.counter.offset)?;
        multiple_of_4(|| "counterOffset".to_owned(), draw.counter_offset.into())?;
        multiple_of_4(|| "vertexStride".to_owned(), draw.vertex_stride.into())?;
        if draw.vertex_stride == 0 {
            let what = "vertexStride, a divisor,".to_owned();
            return Err(RuntimeError::Misaligned { what, value: 0, alignment: 4 });
        }
        check_range("instance", draw.first_instance, draw.instance_count)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::ByteCount(draw), 0) }
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
    pub fn begin_query(&mut self, pool: &QueryPool, query: u32) -> Result<(), RuntimeError> {
        match &mut self.inner {
            Inner::Graphics(graphics) => Err(graphics.unsupported("queries of vkxfb")),
            Inner::Compute(compute) => compute.begin_query(pool, query),
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

    /// Records the draws so far, so that the application can bind other descriptor sets for the
    /// next. Does nothing on the native and vertex backends.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`], [`RuntimeError::NoDescriptorSet`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetsUnknown`]: nothing is recorded
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

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn record(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        tracing::trace!(%topology, ?arguments, "draw");
        // SAFETY: the caller's contract.
        unsafe {
            match &mut self.inner {
                Inner::Graphics(graphics) => graphics.record(topology, arguments),
                Inner::Compute(compute) => compute.push(topology, arguments, draw_index),
            }
        }
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn record_multi(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        if let Inner::Graphics(graphics) = &self.inner {
            return Err(graphics.unsupported("multi-draws"));
        }
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, arguments, draw_index) }
    }
}

fn check_topology(
    fixed: Option<PrimitiveTopology>,
    topology: PrimitiveTopology,
) -> Result<(), RuntimeError> {
    match fixed {
        Some(pipeline) if pipeline != topology => {
            Err(RuntimeError::TopologyMismatch { draw: topology, pipeline })
        }
        _ => Ok(()),
    }
}

fn check_range(what: &'static str, first: u32, count: u32) -> Result<(), RuntimeError> {
    match u64::from(first) + u64::from(count) <= 1 << 32 {
        true => Ok(()),
        false => Err(RuntimeError::IndexOverflow { what, first, count }),
    }
}

fn check_indirect(draw: &IndirectDraw) -> Result<(), RuntimeError> {
    multiple_of_4(|| "the offset of indirect arguments".to_owned(), draw.offset)?;
    multiple_of_4(|| "the stride of indirect arguments".to_owned(), draw.stride.into())?;
    match draw.count {
        Some((_, offset)) => multiple_of_4(|| "the offset of a draw count".to_owned(), offset),
        None => Ok(()),
    }
}

fn check_counters(
    ctx: &Context,
    backend: Backend,
    counters: &[Option<CounterBuffer>],
) -> Result<(), RuntimeError> {
    if counters.len() > MAX_XFB_BUFFERS {
        let (count, max) = (counters.len(), MAX_XFB_BUFFERS);
        return Err(RuntimeError::TooManyCounters { count, max });
    }
    if backend == Backend::Native
        && let Some(last) = counters.iter().rposition(Option::is_some)
    {
        check_number(ctx, "the number of the last counter, plus one", last)?;
    }
    for (index, counter) in counters.iter().enumerate() {
        if let Some(counter) = counter {
            multiple_of_4(|| format!("the offset of counter {index}"), counter.offset)?;
        }
    }
    Ok(())
}

/// Checks that no two counters are written to one place. To begin with, buffers may share a counter.
fn check_distinct(counters: &[Option<CounterBuffer>]) -> Result<(), RuntimeError> {
    for (second, counter) in counters.iter().enumerate() {
        // Offsets are multiples of 4.
        if counter.is_some()
            && let Some(first) = counters.iter().take(second).position(|other| other == counter)
        {
            return Err(RuntimeError::DuplicateCounter { first, second });
        }
    }
    Ok(())
}

/// Holds the number of a capture buffer against the limit of native transform feedback.
fn check_number(ctx: &Context, what: &str, number: usize) -> Result<(), RuntimeError> {
    match &ctx.capabilities().transform_feedback {
        Some(support) if number >= support.max_buffers as usize => Err(RuntimeError::Limit {
            what: what.to_owned(),
            value: number as u64 + 1,
            limit: "maxTransformFeedbackBuffers",
            max: support.max_buffers.into(),
        }),
        _ => Ok(()),
    }
}

fn check_capture_buffers(
    ctx: &Context,
    backend: Backend,
    buffers: &[Option<CaptureBuffer>],
) -> Result<(), RuntimeError> {
    if buffers.len() > MAX_XFB_BUFFERS {
        let (count, max) = (buffers.len(), MAX_XFB_BUFFERS);
        return Err(RuntimeError::TooManyCaptureBuffers { count, max });
    }
    let (mut max, mut limit) = (MAX_BUFFER_SIZE, "the last dword that a 32-bit counter reaches");
    if backend == Backend::Native {
        let Some(last) = buffers.iter().rposition(Option::is_some) else {
            return Err(RuntimeError::NoCaptureBuffer);
        };
        check_number(ctx, "the number of the last capture buffer, plus one", last)?;
        if let Some(support) = &ctx.capabilities().transform_feedback
            && support.max_buffer_size < max
        {
            (max, limit) = (support.max_buffer_size, "maxTransformFeedbackBufferSize");
        }
    }
    for (index, bound) in buffers.iter().enumerate() {
        let Some(bound) = bound else { continue };
        if bound.size == vk::WHOLE_SIZE {
            return Err(RuntimeError::WholeSize { what: format!("capture buffer {index}") });
        }
        multiple_of_4(|| format!("the offset of capture buffer {index}"), bound.offset)?;
        if bound.size > max {
            let what = format!("the size of capture buffer {index} in bytes");
            return Err(RuntimeError::Limit { what, value: bound.size, limit, max });
        }
    }
    Ok(())
}
