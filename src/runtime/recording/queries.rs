//! [`QueryPool`]: queries of captures on the compute backend. They are reset, read back and copied like the queries of
//! a [`VkQueryPool`](https://docs.vulkan.org/spec/latest/chapters/queries.html).
//!
//! # Results that the host may read at any time
//! The host may [read results](QueryPool::results) while submissions execute, without a fence. No barrier guarantees in
//! which order a host sees the writes of a running submission: on an NVIDIA H200 the host sometimes saw the writes of
//! two fills in the wrong order. So each end of a query has a different number, and stores each dword of the query's
//! values together with this number, in one store. If the host finds the same number beside all dwords, before and
//! after it reads them, all dwords belong to that end.
//!
//! Vulkan also does not guarantee that a store of 8 aligned bytes reaches the host as a whole, but on GPUs it does.
//! Under the descriptor plan and on llvmpipe the dword and its number are stored separately: the number after the
//! dword, with a barrier in between.
//!
//! # Memory
//! ```text
//! queries[count]    a Query: its values, to which kernels add, and its result
//! ends[count]       a dword: the number of the query's last end, which a reset does not change
//! ```
//! The memory is coherent. With non-coherent memory, flushing the host's writes would flush whole
//! atoms (`nonCoherentAtomSize`), and overwrite what the device wrote to neighbouring queries.

mod results;

use std::sync::atomic::{Ordering, fence};

use ash::vk;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::context::Context;
use crate::runtime::device::context::Made;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::buffers::{Buffer, BufferDesc, MemoryAllocator, MemoryLocation};
use crate::runtime::memory::destroy::DestroyObject;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::sysval::results::Query;

pub use results::{QueryResult, ResultTarget};

/// Which primitives a query counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    /// `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`: counts the primitives that captured draws write, and the
    /// primitives that they would write if all buffers were large enough.
    TransformFeedbackStream,
    /// `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`: counts the primitives that draws generate,
    /// captured or not.
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

/// A pool of queries of one kind.
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
/// recorder.begin_query(pool, 0, 0)?;
/// recorder.draw(PrimitiveTopology::PointList, &Draw::new(1000))?;
/// recorder.end_query(pool.kind(), 0)?;
/// recorder.end(&[])?;
/// // At any time after the submission, with or without a fence:
/// if let Some(QueryResult { primitives_written, primitives_needed }) = pool.result(0)? {
///     println!("{primitives_written} of {primitives_needed} points fit");
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

const QUERY: u64 = size_of::<Query>() as u64;
/// The size in bytes of the number that identifies the last end of a query.
const DWORD: u64 = 4;

/// The offsets in bytes of a query, and of the number of its last end, in the pool's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueryPlace {
    pub(crate) query: u64,
    pub(crate) ends: u64,
}

impl Made for QueryPool {
    fn is_of(&self, context: &Context) -> bool {
        self.buffer.is_of(context)
    }
}

impl QueryPool {
    /// Creates a pool of `count` queries, which are in the reset state.
    ///
    /// # Errors
    /// [`RuntimeError::FeatureNotEnabled`] if the device was not created for the compute backend, or the error of a
    /// failed command or allocation.
    ///
    /// # Safety
    /// The device of `ctx` is live, and `allocator` belongs to that device and was created as its implementation
    /// requires.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        kind: QueryKind,
        count: u32,
    ) -> Result<Self, RuntimeError> {
        ctx.resource_plan()?;
        let desc = |location| BufferDesc {
            name: "vkxfb queries",
            size: Self::size(count),
            usage: ctx.shader_usage(Backend::Compute) | vk::BufferUsageFlags::TRANSFER_DST,
            location,
        };
        let mut buffer = unsafe {
            // Memory from which the host reads fast (`HOST_CACHED`) is preferred, but only if it is coherent.
            let buffer = Buffer::new(ctx, allocator, &desc(MemoryLocation::Readback))?;
            if buffer.is_coherent() {
                buffer
            } else {
                ctx.destroy(buffer, allocator);
                Buffer::new(ctx, allocator, &desc(MemoryLocation::Upload))?
            }
        };
        // SAFETY: the device does not use the buffer yet.
        unsafe { buffer.mapped_mut() }.fill(0);
        Ok(Self { buffer, kind, count })
    }

    /// The size in bytes of the buffer for `count` queries.
    pub const fn size(count: u32) -> u64 {
        (QUERY + DWORD) * if count == 0 { 1 } else { count as u64 }
    }

    /// The kind of the queries.
    pub const fn kind(&self) -> QueryKind {
        self.kind
    }

    /// The number of queries.
    pub const fn count(&self) -> u32 {
        self.count
    }

    pub(crate) const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Returns the offsets of a query, which must be in range.
    pub(crate) const fn place(&self, query: u32) -> QueryPlace {
        let (query, count) = (query as u64, self.count as u64);
        QueryPlace { query: QUERY * query, ends: QUERY * count + DWORD * query }
    }

    pub(crate) fn check_range(&self, first: u32, count: u32) -> Result<(), RuntimeError> {
        match first.checked_add(count) {
            Some(end) if end <= self.count => Ok(()),
            _ => Err(RuntimeError::QueryRange { first, count, queries: self.count }),
        }
    }

    pub(crate) fn check_context(&self, ctx: &Context) -> Result<(), RuntimeError> {
        ctx.check_made(self, "the query pool")
    }

    /// Sets queries to zero and makes them unavailable, as
    /// [`vkCmdResetQueryPool`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdResetQueryPool.html) does.
    ///
    /// Records a `vkCmdFillBuffer` between two barriers: it is ordered after earlier captures and copies and before
    /// later ones. Draws and ends of queries of a [`Recorder`](crate::runtime::Recorder) that has not
    /// [ended](crate::runtime::Recorder::end) yet are executed after the reset.
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
        self.check_context(ctx)?;
        self.check_range(first, count)?;
        if count == 0 {
            return Ok(());
        }
        let (start, size) = (self.place(first).query, QUERY * u64::from(count));
        // SAFETY: the caller's contract; the range lies within the buffer.
        unsafe {
            ctx.kernel_barrier(cmd, Barrier::BeforeReset, false);
            ctx.device().cmd_fill_buffer(cmd, self.buffer.raw(), start, size, 0);
            ctx.kernel_barrier(cmd, Barrier::AfterReset, false);
        }
        Ok(())
    }

    /// Resets queries immediately, on the host, as
    /// [`vkResetQueryPool`](https://docs.vulkan.org/refpages/latest/refpages/source/vkResetQueryPool.html) does.
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
        let [start, size] = [self.place(first).query, QUERY * u64::from(count)];
        let dwords = dwords.iter().skip((start / DWORD) as usize).take((size / DWORD) as usize);
        dwords.for_each(|dword| dword.store(0, Ordering::Relaxed));
        fence(Ordering::SeqCst);
        Ok(())
    }
}

impl<A: MemoryAllocator + ?Sized> DestroyObject<A> for QueryPool {
    unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
        unsafe { self.buffer.destroy(ctx, allocator) };
    }
}
