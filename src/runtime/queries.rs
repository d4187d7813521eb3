//! Queries of captures on the compute backend, which read back and copy as
//! [`VkQueryPool`](https://docs.vulkan.org/spec/latest/chapters/queries.html)s do.

use ash::vk;

use super::checks::multiple_of;
use super::context::ContextId;
use super::{Buffer, BufferDesc, Context, MemoryAllocator, MemoryLocation, RuntimeError};
use crate::lower::Backend;
use crate::sysval::setup::QUERY_AVAILABILITY;

/// What a query counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    /// `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`: primitives written and primitives needed, of
    /// draws that are captured.
    TransformFeedbackStream,
    /// `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`: primitives, captured or not.
    PrimitivesGenerated,
}

impl QueryKind {
    /// Integers of a result.
    pub const fn values(self) -> usize {
        match self {
            Self::TransformFeedbackStream => 2,
            Self::PrimitivesGenerated => 1,
        }
    }
}

/// How [`QueryPool::copy_results`] writes results: `VkQueryResultFlags` with those that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultFormat {
    /// `VK_QUERY_RESULT_64_BIT`: 64-bit integers. Otherwise the lower halves.
    pub bits64: bool,
    /// `VK_QUERY_RESULT_WITH_AVAILABILITY_BIT`: one more integer, 1 once the query has ended.
    pub with_availability: bool,
}

/// Result of a query that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryResult {
    /// Primitives written, or primitives generated.
    pub first: u64,
    /// Primitives needed; 0 for [`QueryKind::PrimitivesGenerated`].
    pub second: u64,
}

/// Queries of one kind.
#[derive(Debug)]
pub struct QueryPool {
    buffer: Buffer,
    kind: QueryKind,
    count: u32,
}

/// Bytes of a query: two 64-bit integers, the availability as a third, padding.
const SLOT: u64 = 32;

impl QueryPool {
    /// Makes `count` queries. They have to be [`reset`](Self::reset) before they are used.
    ///
    /// # Errors
    /// [`RuntimeError::FeatureNotEnabled`] without the compute backend, or a failed command or allocation.
    ///
    /// # Safety
    /// The device of `ctx` is live and is the allocator's, which was made as its implementation asks.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        kind: QueryKind,
        count: u32,
    ) -> Result<Self, RuntimeError> {
        ctx.resource_plan(0)?;
        let desc = BufferDesc {
            name: "vkxfb queries",
            size: Self::size(count),
            usage: ctx.shader_usage(Backend::Compute)
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST,
            location: MemoryLocation::Readback,
        };
        // SAFETY: the caller's contract.
        let buffer = unsafe { Buffer::new(ctx, allocator, &desc) }?;
        Ok(Self { buffer, kind, count })
    }

    /// The context that they were made with.
    #[cfg_attr(
        not(feature = "probe"),
        allow(dead_code, reason = "the probe tells its own queries by it")
    )]
    pub(crate) const fn context(&self) -> ContextId {
        self.buffer.context()
    }

    /// Bytes of so many queries.
    pub(crate) const fn size(count: u32) -> u64 {
        SLOT * if count == 0 { 1 } else { count as u64 }
    }

    /// What the queries count.
    pub const fn kind(&self) -> QueryKind {
        self.kind
    }

    /// How many there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Where a query lies: buffer, bytes from its start, bytes.
    pub(super) fn slot(&self, query: u32) -> Result<(vk::Buffer, u64, u64), RuntimeError> {
        Ok((self.buffer.raw(), self.range(query, 1)?, SLOT))
    }

    /// Sets queries to zero and makes them unavailable:
    /// [`vkCmdResetQueryPool`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdResetQueryPool.html).
    ///
    /// Records a `vkCmdFillBuffer` between two barriers that order it behind earlier captures and
    /// copies and before later ones. Draws and ends of queries that a [`Recorder`](super::Recorder) has not
    /// [flushed](super::Recorder::flush) are later ones.
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`].
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance; the pool lives until it is reset, and `ctx` is
    /// the context that it was made with.
    pub unsafe fn reset(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        first: u32,
        count: u32,
    ) -> Result<(), RuntimeError> {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let offset = self.range(first, count)?;
        if count == 0 {
            return Ok(());
        }
        let users = (
            Stage::COMPUTE_SHADER | Stage::TRANSFER,
            Access::SHADER_READ | Access::SHADER_WRITE | Access::TRANSFER_READ,
        );
        let fill = (Stage::TRANSFER, Access::TRANSFER_WRITE);
        // SAFETY: the caller's contract.
        unsafe {
            ctx.memory_barrier(cmd, users, fill);
            ctx.device().cmd_fill_buffer(
                cmd,
                self.buffer.raw(),
                offset,
                SLOT * u64::from(count),
                0,
            );
            ctx.memory_barrier(cmd, fill, users);
        }
        Ok(())
    }

    /// Copies results into a buffer of the application:
    /// [`vkCmdCopyQueryPoolResults`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdCopyQueryPoolResults.html).
    /// A query that has not ended gives what it has counted so far (`VK_QUERY_RESULT_PARTIAL_BIT`).
    ///
    /// Records a barrier that makes the counts of earlier captures visible, and `vkCmdCopyBuffer`. What a
    /// [`Recorder`](super::Recorder) has not [flushed](super::Recorder::flush) is not among them.
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`], [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`] for results that
    /// are longer than the stride between them, [`RuntimeError::PastTheEnd`].
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance; the pool lives until it is reset, and `ctx` is
    /// the context that it was made with. `target` is live until then, too, is of that device, has the usage
    /// `TRANSFER_DST` and holds a result every `stride` bytes from `offset` on.
    #[allow(clippy::too_many_arguments, reason = "those of vkCmdCopyQueryPoolResults")]
    pub unsafe fn copy_results(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        first: u32,
        count: u32,
        target: vk::Buffer,
        offset: u64,
        stride: u64,
        format: ResultFormat,
    ) -> Result<(), RuntimeError> {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let start = self.range(first, count)?;
        let size = if format.bits64 { 8 } else { 4 };
        for (what, value) in [("offset", offset), ("stride", stride)] {
            multiple_of(size, || format!("the {what} of query results"), value)?;
        }
        let values = (0..self.kind.values() as u64).map(|value| 8 * value);
        let values: Vec<u64> =
            values.chain(format.with_availability.then_some(QUERY_AVAILABILITY)).collect();
        let result = size * values.len() as u64;
        let Some(last) = count.checked_sub(1) else { return Ok(()) };
        if last > 0 && stride < result {
            return Err(RuntimeError::SmallStride { what: "query results", stride, size: result });
        }
        let all = stride.checked_mul(last.into()).and_then(|all| all.checked_add(result));
        if all.and_then(|all| offset.checked_add(all)).is_none() {
            let (what, size) = ("the query results".to_owned(), all.unwrap_or(u64::MAX));
            return Err(RuntimeError::PastTheEnd { what, offset, size });
        }
        let regions: Vec<vk::BufferCopy> = (0..u64::from(count))
            .flat_map(|query| {
                (0u64..).zip(&values).map(move |(i, source)| vk::BufferCopy {
                    src_offset: start + SLOT * query + source,
                    dst_offset: offset + stride * query + size * i,
                    size,
                })
            })
            .collect();
        // SAFETY: the caller's contract.
        unsafe {
            ctx.memory_barrier(
                cmd,
                (Stage::COMPUTE_SHADER, Access::SHADER_WRITE),
                (Stage::TRANSFER, Access::TRANSFER_READ),
            );
            ctx.device().cmd_copy_buffer(cmd, self.buffer.raw(), target, &regions);
        }
        Ok(())
    }

    /// The result of a query, or `None` while it has not ended:
    /// [`vkGetQueryPoolResults`](https://docs.vulkan.org/refpages/latest/refpages/source/vkGetQueryPoolResults.html)
    /// without waiting. The captures have to be available to the host
    /// ([`Context::capture_barrier`] with [`ConsumerScope::HOST`](super::ConsumerScope::HOST)).
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`], or a failed `vkInvalidateMappedMemoryRanges`.
    ///
    /// # Safety
    /// No submission that counts or resets the query is under way; `ctx` is the context that the pool was made
    /// with.
    pub unsafe fn result(
        &self,
        ctx: &Context,
        query: u32,
    ) -> Result<Option<QueryResult>, RuntimeError> {
        let start = self.range(query, 1)?;
        // SAFETY: the buffer is of the context, and the device does not write this query, by contract.
        let mapped = unsafe {
            self.buffer.invalidate(ctx)?;
            self.buffer.mapped_part(start, SLOT)
        };
        let value = |at: u64| {
            let bytes = usize::try_from(at).ok().and_then(|at| mapped.get(at..at + 8));
            bytes.and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
        };
        Ok((value(QUERY_AVAILABILITY) != 0)
            .then(|| QueryResult { first: value(0), second: value(8) }))
    }

    /// Destroys the queries.
    ///
    /// # Safety
    /// The device no longer uses them; `ctx` and `allocator` are those that they were made with.
    pub unsafe fn destroy(self, ctx: &Context, allocator: &mut dyn MemoryAllocator) {
        // SAFETY: the caller's contract.
        unsafe { self.buffer.destroy(ctx, allocator) };
    }

    /// Bytes to the first of some queries.
    fn range(&self, first: u32, count: u32) -> Result<u64, RuntimeError> {
        match first.checked_add(count) {
            Some(end) if end <= self.count => Ok(SLOT * u64::from(first)),
            _ => Err(RuntimeError::QueryRange { first, count, queries: self.count }),
        }
    }
}
