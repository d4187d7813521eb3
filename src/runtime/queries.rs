//! Queries of captures on the compute backend. They are reset, read back and copied like those of a
//! [`VkQueryPool`](https://docs.vulkan.org/spec/latest/chapters/queries.html).
//!
//! # Values before availability
//! The host may [read results](QueryPool::results) while submissions execute, without a fence.
//! Kernels therefore write the values of a query first, then a barrier makes them available to the
//! host, and only then another dispatch writes the availability. A [reset](QueryPool::reset) clears
//! the availability first, then the values. The availability is a number that is different for each
//! end of a query: if the host reads the same number before and after it reads the values, all
//! values belong to that end.
//!
//! # Memory
//! ```text
//! values[count]          two 64-bit integers, which kernels add to
//! availability[count]    a dword: 0, or the number of the end
//! ends[count]            a dword: the number of the last end; no reset changes it
//! ```
//! The memory is coherent: flushing writes of the host would flush whole atoms, and overwrite what
//! the device wrote into other queries.

mod results;

use std::sync::atomic::{Ordering, fence};

use ash::vk;

use super::barrier::Scope;
use super::context::ContextId;
use super::{Buffer, BufferDesc, Context, MemoryAllocator, MemoryLocation, RuntimeError};
use crate::lower::Backend;

pub use results::{QueryResult, ResultTarget};

/// What a query counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    /// `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`: primitives written and primitives needed, for
    /// draws that are captured.
    TransformFeedbackStream,
    /// `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`: primitives generated, captured or not.
    PrimitivesGenerated,
}

impl QueryKind {
    /// The number of integers in a result.
    pub const fn values(self) -> usize {
        match self {
            Self::TransformFeedbackStream => 2,
            Self::PrimitivesGenerated => 1,
        }
    }
}

/// Queries of one kind.
///
/// ```no_run
/// # use ash::vk;
/// # use vkxfb::runtime::*;
/// # use vkxfb::topology::PrimitiveTopology;
/// # unsafe fn record(
/// #     context: &Context, capture: &mut Capture, arena: &mut Arena, cmd: vk::CommandBuffer,
/// #     desc: &CaptureDesc<'_>, pool: &QueryPool,
/// # ) -> Result<(), RuntimeError> { unsafe {
/// // `pool` has queries of QueryKind::TransformFeedbackStream.
/// pool.reset(context, cmd, 0, 1)?;
/// let mut recorder = Recorder::begin(capture, arena, cmd, desc)?;
/// recorder.begin_query(pool, 0)?;
/// recorder.draw(PrimitiveTopology::PointList, &Draw::new(1000))?;
/// recorder.end_query(pool.kind())?;
/// recorder.end(&[])?;
/// // At any time after the submission, with or without a fence:
/// if let Some(QueryResult { first: written, second: needed }) = pool.result(0)? {
///     println!("{written} of {needed} points fit");
/// }
/// # Ok(())
/// # } }
/// ```
#[derive(Debug)]
pub struct QueryPool {
    buffer: Buffer,
    kind: QueryKind,
    count: u32,
}

/// Bytes of the values of one query.
const VALUES: u64 = 16;
/// Bytes of an availability, or of the number of an end.
const DWORD: u64 = 4;

/// The location of a query in the buffer of its pool, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryPlace {
    pub(super) values: u64,
    pub(super) availability: u64,
    pub(super) ends: u64,
}

impl QueryPool {
    /// Makes `count` queries in the reset state.
    ///
    /// # Errors
    /// [`RuntimeError::FeatureNotEnabled`] without the compute backend, or a failed command or
    /// allocation.
    ///
    /// # Safety
    /// The device of `ctx` is live and is the device of the allocator, which was made as its
    /// implementation requires.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        kind: QueryKind,
        count: u32,
    ) -> Result<Self, RuntimeError> {
        ctx.resource_plan(0)?;
        let desc = |location| BufferDesc {
            name: "vkxfb queries",
            size: Self::size(count),
            usage: ctx.shader_usage(Backend::Compute) | vk::BufferUsageFlags::TRANSFER_DST,
            location,
        };
        // SAFETY: the caller's contract.
        let mut buffer = unsafe {
            // Prefer memory that the host reads fast, but only if it is coherent.
            let buffer = Buffer::new(ctx, allocator, &desc(MemoryLocation::Readback))?;
            if buffer.is_coherent() {
                buffer
            } else {
                buffer.destroy(ctx, allocator);
                Buffer::new(ctx, allocator, &desc(MemoryLocation::Upload))?
            }
        };
        // SAFETY: the device does not use it yet.
        unsafe { buffer.mapped_mut() }.fill(0);
        Ok(Self { buffer, kind, count })
    }

    /// The id of the context that the pool was made with.
    pub(crate) const fn context(&self) -> ContextId {
        self.buffer.context()
    }

    /// The bytes of `count` queries.
    pub(crate) const fn size(count: u32) -> u64 {
        (VALUES + 2 * DWORD) * if count == 0 { 1 } else { count as u64 }
    }

    /// The kind of the queries.
    pub const fn kind(&self) -> QueryKind {
        self.kind
    }

    /// The number of queries.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The buffer that contains the queries.
    pub(super) const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The location of a query, which must be in range.
    pub(super) const fn place(&self, query: u32) -> QueryPlace {
        let (query, count) = (query as u64, self.count as u64);
        QueryPlace {
            values: VALUES * query,
            availability: VALUES * count + DWORD * query,
            ends: (VALUES + DWORD) * count + DWORD * query,
        }
    }

    /// Checks that a range of queries is within the pool.
    pub(super) fn check_range(&self, first: u32, count: u32) -> Result<(), RuntimeError> {
        match first.checked_add(count) {
            Some(end) if end <= self.count => Ok(()),
            _ => Err(RuntimeError::QueryRange { first, count, queries: self.count }),
        }
    }

    /// Checks that the pool was made with `ctx` or a clone of it.
    pub(super) fn check_context(&self, ctx: &Context) -> Result<(), RuntimeError> {
        match self.buffer.context() == ctx.id() {
            true => Ok(()),
            false => Err(RuntimeError::OtherContext { what: "the query pool" }),
        }
    }

    /// Sets queries to zero and makes them unavailable:
    /// [`vkCmdResetQueryPool`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdResetQueryPool.html).
    ///
    /// Records two `vkCmdFillBuffer` with barriers before, between and after them. The barriers
    /// order the fills after earlier captures and copies and before later ones. Draws and ends of
    /// queries that a [`Recorder`](super::Recorder) has not [flushed](super::Recorder::flush) yet
    /// are executed after the reset.
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`], [`RuntimeError::OtherContext`].
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports compute, outside of a render pass
    /// instance. The pool lives until `cmd` is reset.
    pub unsafe fn reset(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        first: u32,
        count: u32,
    ) -> Result<(), RuntimeError> {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        self.check_context(ctx)?;
        self.check_range(first, count)?;
        if count == 0 {
            return Ok(());
        }
        let place = self.place(first);
        let users: Scope = (Stage::COMPUTE_SHADER, Access::SHADER_READ | Access::SHADER_WRITE);
        let fill: Scope = (Stage::TRANSFER, Access::TRANSFER_WRITE);
        let to = |(stage, access): Scope| (stage | Stage::HOST, access | Access::HOST_READ);
        let fills = [(place.availability, DWORD), (place.values, VALUES)];
        // SAFETY: the caller's contract; both ranges lie within the buffer.
        unsafe {
            ctx.memory_barrier(cmd, users, fill);
            for ((offset, size), next) in fills.into_iter().zip([fill, users]) {
                let (device, buffer) = (ctx.device(), self.buffer.raw());
                device.cmd_fill_buffer(cmd, buffer, offset, size * u64::from(count), 0);
                ctx.memory_barrier(cmd, fill, to(next));
            }
        }
        Ok(())
    }

    /// Resets queries immediately, on the host:
    /// [`vkResetQueryPool`](https://docs.vulkan.org/refpages/latest/refpages/source/vkResetQueryPool.html).
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`].
    ///
    /// # Safety
    /// The device is live. No submission that uses the queries is executing, and no other thread
    /// reads their results during the call.
    pub unsafe fn reset_by_host(&self, first: u32, count: u32) -> Result<(), RuntimeError> {
        self.check_range(first, count)?;
        // SAFETY: the caller's contract; nothing else borrows the mapped memory.
        let dwords = unsafe { self.buffer.mapped_dwords() };
        let QueryPlace { values, availability, .. } = self.place(first);
        for (offset, size) in [(availability, DWORD), (values, VALUES)] {
            let start = (offset / DWORD) as usize;
            let count = (size / DWORD) as usize * count as usize;
            for dword in dwords.iter().skip(start).take(count) {
                dword.store(0, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// Destroys the queries.
    ///
    /// # Safety
    /// The device no longer uses the queries; `ctx` and `allocator` are those that the pool was
    /// made with.
    pub unsafe fn destroy(self, ctx: &Context, allocator: &mut dyn MemoryAllocator) {
        // SAFETY: the caller's contract.
        unsafe { self.buffer.destroy(ctx, allocator) };
    }
}
