//! Query results: the host reads them at any time, or the device copies them.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

use ash::vk;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::{check_limit, multiple_of};
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::pipelines::kernels::Kernels;
use crate::runtime::recording::job::{Job, Placing};
use crate::runtime::recording::queries::{QueryKind, QueryPool};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::offset;
use vkxfb_rewriter::sysval::results::{Query, RESULTS_WIDTH, Results, flags};

/// The result of a query that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryResult {
    /// The number of primitives written; 0 for [`PrimitivesGenerated`](crate::runtime::QueryKind::PrimitivesGenerated).
    pub primitives_written: u64,
    /// The number of primitives that would be written if all buffers were large enough. For
    /// [`PrimitivesGenerated`](crate::runtime::QueryKind::PrimitivesGenerated) the number of primitives generated.
    pub primitives_needed: u64,
}

/// The destination of [`QueryPool::copy_results`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultTarget {
    /// A buffer with the usage [`BufferUsages::query_results`](crate::runtime::BufferUsages::query_results).
    pub buffer: vk::Buffer,
    /// The number of bytes from the start of the buffer to the first result. It is a multiple of 8 with
    /// `VK_QUERY_RESULT_64_BIT`, otherwise of 4.
    pub offset: u64,
    /// The number of bytes from one result to the next, a multiple of 8 with `VK_QUERY_RESULT_64_BIT`, otherwise of 4.
    pub stride: u64,
}

/// The number of polls of a query after which the waiting thread begins to yield; after `YIELDS` polls it begins to
/// sleep.
const SPINS: u32 = 64;
const YIELDS: u32 = 1024;
/// How long the waiting thread sleeps between two polls.
const NAP: Duration = Duration::from_micros(50);

/// The format of results in memory.
#[derive(Debug, Clone, Copy)]
struct Format {
    flags: vk::QueryResultFlags,
    /// The size of one integer in bytes: 8 with `VK_QUERY_RESULT_64_BIT`, otherwise 4.
    integer: u64,
    /// The number of integers in a result, without the availability.
    values: usize,
}

impl Format {
    fn has(self, flag: vk::QueryResultFlags) -> bool {
        self.flags.contains(flag)
    }

    /// The size in bytes of a result, with the availability if it was requested.
    fn size(self) -> u64 {
        let availability = self.has(vk::QueryResultFlags::WITH_AVAILABILITY);
        self.integer * (self.values as u64 + u64::from(availability))
    }

    /// Returns the number of bytes from the start of the first of `count` results to the end of the last one.
    ///
    /// # Errors
    /// [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`], [`RuntimeError::PastTheEnd`].
    fn extent(self, count: u32, offset: u64, stride: u64) -> Result<u64, RuntimeError> {
        for (what, value) in [("offset", offset), ("stride", stride)] {
            multiple_of(self.integer, || format!("the {what} of query results"), value)?;
        }
        let size = self.size();
        let Some(last) = count.checked_sub(1) else { return Ok(0) };
        if last > 0 && stride < size {
            return Err(RuntimeError::SmallStride { what: "query results", stride, size });
        }
        let all = stride.checked_mul(last.into()).and_then(|all| all.checked_add(size));
        match all.filter(|all| offset.checked_add(*all).is_some()) {
            Some(all) => Ok(all),
            None => {
                let (what, size) = ("the query results".to_owned(), all.unwrap_or(u64::MAX));
                Err(RuntimeError::PastTheEnd { what, offset, size })
            }
        }
    }

    /// Writes integers to `target`, in the size that the flags request. Integers that do not fit into `target` are
    /// dropped.
    fn write(self, target: &mut [u8], integers: impl Iterator<Item = u64>) {
        let size = self.integer as usize;
        for (target, integer) in target.chunks_exact_mut(size).zip(integers) {
            if self.has(vk::QueryResultFlags::TYPE_64) {
                target.copy_from_slice(&integer.to_ne_bytes())
            } else {
                target.copy_from_slice(&(integer as u32).to_ne_bytes())
            }
        }
    }
}

impl QueryPool {
    /// # Errors
    /// [`RuntimeError::ResultFlags`].
    fn format(&self, flags: vk::QueryResultFlags) -> Result<Format, RuntimeError> {
        use vk::QueryResultFlags as Flags;
        let known = Flags::TYPE_64 | Flags::WAIT | Flags::WITH_AVAILABILITY | Flags::PARTIAL;
        if !known.contains(flags) {
            return Err(RuntimeError::ResultFlags { flags: flags & !known });
        }
        let integer = if flags.contains(Flags::TYPE_64) { 8 } else { 4 };
        Ok(Format { flags, integer, values: self.kind.values() })
    }

    /// The result of a query, or `None` if the query has not ended. This function may be called at any time, for
    /// example while submissions add to the query.
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`].
    ///
    /// # Safety
    /// The device is live.
    pub unsafe fn result(&self, query: u32) -> Result<Option<QueryResult>, RuntimeError> {
        self.check_range(query, 1)?;
        // SAFETY: the caller's contract; nothing else borrows the mapped memory.
        let dwords = unsafe { self.buffer.mapped_dwords() };
        let result = |[first, second]: [u64; 2]| match self.kind {
            QueryKind::TransformFeedbackStream => {
                QueryResult { primitives_written: first, primitives_needed: second }
            }
            QueryKind::PrimitivesGenerated => {
                QueryResult { primitives_written: 0, primitives_needed: first }
            }
        };
        Ok(self.available(dwords, query).map(result))
    }

    /// Writes results of queries into host memory, one every `stride` bytes, as
    /// [`vkGetQueryPoolResults`](https://docs.vulkan.org/refpages/latest/refpages/source/vkGetQueryPoolResults.html)
    /// does. Returns true if all results were available (`VK_SUCCESS`), and false otherwise (`VK_NOT_READY`).
    ///
    /// Any number of threads may call this function at any time, also while submissions add to, end or reset the
    /// queries: neither a fence nor a barrier is needed. If a query has ended, its complete values are written. If it
    /// has not, its values in `data` are not changed, except with these flags:
    /// * With `PARTIAL`, the values counted so far are written. If the device adds to a value at the same time and its
    ///   lower half overflows, the halves may be inconsistent.
    /// * With `WAIT`, the call waits up to `timeout` for all queries together; without `WAIT`, `timeout` is ignored. As
    ///   in Vulkan, the command buffer that ends the query must have been submitted. A query on a lost device never
    ///   ends: use a timeout not much longer than a submission takes, and check for device loss in between.
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`], [`RuntimeError::ResultFlags`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::SmallStride`], [`RuntimeError::PastTheEnd`], [`RuntimeError::ResultsTooLong`];
    /// [`RuntimeError::QueryTimeout`], after which the results of the queries before the one that timed out are
    /// written.
    ///
    /// # Safety
    /// The device is live.
    pub unsafe fn results(
        &self,
        first: u32,
        count: u32,
        data: &mut [u8],
        stride: u64,
        flags: vk::QueryResultFlags,
        timeout: Duration,
    ) -> Result<bool, RuntimeError> {
        use vk::QueryResultFlags as Flags;
        let format = self.format(flags)?;
        self.check_range(first, count)?;
        let needed = format.extent(count, 0, stride)?;
        if needed > data.len() as u64 {
            return Err(RuntimeError::ResultsTooLong { needed, len: data.len() });
        }
        // SAFETY: the caller's contract; nothing else borrows the mapped memory.
        let dwords = unsafe { self.buffer.mapped_dwords() };
        let started = Instant::now();
        let mut is_complete = true;
        // Results that do not fit into `data` are not written.
        let stride = usize::try_from(stride).unwrap_or(usize::MAX);
        for number in 0..count {
            let query = first + number;
            let mut found = self.available(dwords, query);
            let mut polls = 0;
            while found.is_none() && format.has(Flags::WAIT) {
                if started.elapsed() >= timeout {
                    return Err(RuntimeError::QueryTimeout { query, timeout });
                }
                pause(polls);
                polls = polls.saturating_add(1);
                found = self.available(dwords, query);
            }
            let is_available = found.is_some();
            let values = match found {
                None if format.has(Flags::PARTIAL) => Some(self.values(dwords, query)),
                found => found,
            };
            is_complete &= values.is_some();
            let start = stride.saturating_mul(number as usize);
            let target = data.get_mut(start..).unwrap_or_default();
            let (target, rest) = split_at(target, format.values * format.integer as usize);
            format.write(target, values.into_iter().flatten());
            if format.has(Flags::WITH_AVAILABILITY) {
                format.write(rest, std::iter::once(is_available.into()));
            }
        }
        Ok(is_complete)
    }

    /// Returns the values that the last end of a query wrote, or `None` if the query is not available.
    fn available(&self, dwords: &[AtomicU32], query: u32) -> Option<[u64; 2]> {
        let [_, _, _, _, a, for_a, b, for_b, c, for_c, d, for_d] = self.dwords_of(dwords, query)?;
        let numbers = || loaded([for_a, for_b, for_c, for_d]);
        let [end, others @ ..] = numbers();
        if end == 0 || others != [end; 3] {
            return None;
        }
        // An acquire load is not enough: mapped memory may be write-combined, and processors may reorder loads from it.
        fence(Ordering::SeqCst);
        let values = integers(loaded([a, b, c, d]));
        fence(Ordering::SeqCst);
        // A reset sets the numbers to 0, and the next end writes another number. So if the numbers have not changed,
        // all values belong to the same end.
        (numbers() == [end; 4]).then_some(values)
    }

    /// Returns the values that a query has counted so far.
    fn values(&self, dwords: &[AtomicU32], query: u32) -> [u64; 2] {
        let values =
            self.dwords_of(dwords, query).map_or([0; 4], |[a, b, c, d, ..]| loaded([a, b, c, d]));
        integers(values)
    }

    /// Returns the dwords of a [`Query`], or `None` if the query is beyond the mapped memory.
    fn dwords_of<'a>(&self, dwords: &'a [AtomicU32], query: u32) -> Option<&'a [AtomicU32; QUERY]> {
        let start = (self.place(query).query / crate::runtime::recording::queries::DWORD) as usize;
        dwords.get(start..)?.first_chunk()
    }

    /// Copies results of queries into a buffer of the application, as
    /// [`vkCmdCopyQueryPoolResults`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdCopyQueryPoolResults.html)
    /// does.
    ///
    /// The results include everything that was submitted to the queue before. If a query has not ended by then, its
    /// values in the buffer are not changed, unless `PARTIAL` or `WAIT` is set: with one of these, the values counted
    /// so far are written. The command does not wait for other queues, nor for draws of a
    /// [`Recorder`](crate::runtime::Recorder) that has not [ended](crate::runtime::Recorder::end).
    ///
    /// Records a kernel between two barriers. As for Vulkan's command, the application must synchronize with `TRANSFER`
    /// and `TRANSFER_WRITE`. The bound compute pipeline and its push constants are disturbed, and under the descriptor
    /// plan all descriptor sets of the compute bind point. The function takes 32 bytes of upload memory from `arena`,
    /// and under the descriptor plan one descriptor set.
    ///
    /// # Errors
    /// [`RuntimeError::QueryRange`], [`RuntimeError::ResultFlags`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::SmallStride`], [`RuntimeError::PastTheEnd`], [`RuntimeError::OtherContext`],
    /// [`RuntimeError::NoKernels`], [`RuntimeError::NoAddress`], [`RuntimeError::PartialDword`],
    /// [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::ArenaFull`],
    /// [`RuntimeError::NoDescriptorSet`]. Nothing is recorded in case of an error.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports compute, outside of a render pass
    /// instance and outside of conditional rendering, which would discard the dispatch. The pool,
    /// the kernels, the memory of the arena and the buffer of `target` belong to the device of
    /// `ctx`, and live until `cmd` is reset. The buffer is large enough for all results.
    #[allow(clippy::too_many_arguments, reason = "those of vkCmdCopyQueryPoolResults")]
    pub unsafe fn copy_results<'a>(
        &self,
        ctx: &'a Context,
        arena: impl Into<ArenaAccess<'a>>,
        kernels: &'a Kernels,
        cmd: vk::CommandBuffer,
        first: u32,
        count: u32,
        target: &ResultTarget,
        result_flags: vk::QueryResultFlags,
    ) -> Result<(), RuntimeError> {
        use vk::QueryResultFlags as Flags;
        let format = self.format(result_flags)?;
        self.check_context(ctx)?;
        self.check_range(first, count)?;
        let size = format.extent(count, target.offset, target.stride)?;
        let stride = if count > 1 { target.stride } else { 0 };
        let what = || "the stride of query results in bytes".to_owned();
        check_limit(what, stride, "what a dword holds", u32::MAX)?;
        if count == 0 {
            return Ok(());
        }
        let of = |flag, bit| if format.flags.intersects(flag) { bit } else { 0 };
        let start = self.place(first).query;
        // SAFETY: the caller's contract; the pool's buffer was created with the usage that shaders need.
        unsafe {
            let mut job = Job::begin(ctx, arena.into(), kernels, cmd)?;
            let (raw, all) = (self.buffer.raw(), self.buffer.size());
            let what = format_args!("the buffer of queries");
            let queries = job.address(Purpose::State, what, (raw, 0, all))?;
            let what = format_args!("the buffer for query results");
            let range = (target.buffer, target.offset, size);
            let copies = job.address(Purpose::State, what, range)?;
            let place = |placing: &mut Placing<'_, '_>| {
                placing.push(&[Results {
                    queries: offset(placing.resolve(queries), start),
                    copies: placing.resolve(copies),
                    stride: stride as u32,
                    count,
                    value_count: format.values as u32,
                    flags: of(Flags::TYPE_64, flags::RESULT_64)
                        | of(Flags::WITH_AVAILABILITY, flags::WITH_AVAILABILITY)
                        | of(Flags::PARTIAL | Flags::WAIT, flags::PARTIAL),
                }])
            };
            let workgroups = u64::from(count.div_ceil(RESULTS_WIDTH));
            let upload = [size_of::<Results>() as u64];
            let (kernel, behind) = (Kernel::Results, Barrier::ResultsToTransfer);
            job.record(kernel, &[queries, copies], &upload, place, workgroups, behind).map(drop)
        }
    }
}

/// The number of dwords of a [`Query`]: 4 for its values, then 8 for its result.
const QUERY: usize = size_of::<Query>() / size_of::<u32>();

fn loaded(dwords: [&AtomicU32; 4]) -> [u32; 4] {
    dwords.map(|dword| dword.load(Ordering::Relaxed))
}

/// Returns two 64-bit integers from their dwords. The low dword of each integer comes first.
const fn integers([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    [a as u64 | (b as u64) << 32, c as u64 | (d as u64) << 32]
}

/// Pauses between two polls: first for a few cycles, after [`SPINS`] polls by yielding, after [`YIELDS`] polls by
/// sleeping.
fn pause(polls: u32) {
    match polls {
        0..SPINS => std::hint::spin_loop(),
        SPINS..YIELDS => std::thread::yield_now(),
        _ => std::thread::sleep(NAP),
    }
}

/// Splits a slice. The first part has at most `len` bytes.
fn split_at(slice: &mut [u8], len: usize) -> (&mut [u8], &mut [u8]) {
    let len = len.min(slice.len());
    slice.split_at_mut(len)
}
