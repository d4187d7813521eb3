//! Queries that count what captures write, for each vertex stream.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use vkxfb::runtime::{QueryKind, QueryPool, ResultTarget, RuntimeError};

use crate::active_query::ActiveQuery;
use crate::arguments::{create, owned, required, required_mut};
use crate::capture::{VkxfbCapture, command};
use crate::context::{Shared, VkxfbContext};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};

/// A pool of queries that count captures, like a `VkQueryPool`. Queries of a `VkQueryPool` would
/// count the application's own draws instead.
///
/// Several threads may use it at the same time.
pub struct VkxfbQueryPool {
    pool: QueryPool,
    shared: Arc<Shared>,
}

/// Creates a pool of queries of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`, which count
/// primitives written and primitives needed, or of `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`. They
/// are in the reset state, so each can be begun once.
///
/// # Safety
/// `context` is live. `pCreateInfo` points to a valid structure, whose chain and flags are ignored.
/// `pQueryPool` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_query_pool_create(
    context: *const VkxfbContext,
    p_create_info: *const vk::QueryPoolCreateInfo<'_>,
    p_query_pool: *mut *mut VkxfbQueryPool,
) -> VkxfbResult {
    // SAFETY: the caller's contract; the allocator belongs to the device.
    unsafe {
        create(p_query_pool, "pQueryPool", || {
            let shared = Arc::clone(&required(context, "context")?.shared);
            let info = required(p_create_info, "pCreateInfo")?;
            let kind = match info.query_type {
                vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => QueryKind::TransformFeedbackStream,
                vk::QueryType::PRIMITIVES_GENERATED_EXT => QueryKind::PrimitivesGenerated,
                other => return Err(Error::Argument(format!("queryType is {}", other.as_raw()))),
            };
            let (context, count) = (&shared.context, info.query_count);
            let pool = QueryPool::new(context, &mut *shared.allocator(), kind, count)?;
            Ok(VkxfbQueryPool { pool, shared })
        })
    }
}

/// Destroys a pool of queries. NULL is ignored.
///
/// # Safety
/// `queryPool` is live or NULL, and is not used any more. Every capture that used it was begun again, ended by
/// `vkxfb_capture_end` or destroyed. Every command buffer that such a capture was recorded or played into, and
/// every other one with the queries, was reset or freed, or was executed and will not be again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_query_pool_destroy(query_pool: *mut VkxfbQueryPool) {
    guard_quietly(|| {
        if let Some(owned) = unsafe { owned(query_pool) } {
            let VkxfbQueryPool { pool, shared } = *owned;
            // SAFETY: the caller's contract; the allocator is the one that it was made with.
            unsafe { shared.context.destroy(pool, &mut *shared.allocator()) };
        }
    });
}

/// Records a reset of queries, as `vkCmdResetQueryPool` does, with the barriers that it needs. A
/// query that has ended must be reset before it is begun again. The reset is executed before
/// everything that `vkxfb_capture_end` records later.
///
/// # Safety
/// `queryPool` is live until the command buffer is reset or freed. `commandBuffer` is a command buffer
/// of its device that is being recorded, for a queue with compute, outside of a render pass instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_query_pool_record_reset(
    query_pool: *const VkxfbQueryPool,
    command_buffer: vk::CommandBuffer,
    first_query: u32,
    query_count: u32,
) -> VkxfbResult {
    guard(|| {
        let VkxfbQueryPool { pool, shared } = unsafe { required(query_pool, "queryPool") }?;
        if command_buffer == vk::CommandBuffer::null() {
            return Err(Error::Null("commandBuffer"));
        }
        Ok(unsafe { pool.reset(&shared.context, command_buffer, first_query, query_count) }?)
    })
}

/// Resets queries on the host, as `vkResetQueryPool` does.
///
/// # Safety
/// `queryPool` is live. Nothing that uses the queries is being executed, and no other thread reads their results
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_query_pool_reset(
    query_pool: *const VkxfbQueryPool,
    first_query: u32,
    query_count: u32,
) -> VkxfbResult {
    guard(|| {
        let VkxfbQueryPool { pool, .. } = unsafe { required(query_pool, "queryPool") }?;
        Ok(unsafe { pool.reset_by_host(first_query, query_count) }?)
    })
}

/// Reads results of queries, with the arguments of `vkGetQueryPoolResults`. The result of a query
/// of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT` is the number of primitives written, followed
/// by the number of primitives needed, which would be written if the buffers were large enough.
///
/// This needs no barrier, and may be called while the device executes. Returns `VKXFB_NOT_READY` if
/// a query has not ended: without `VK_QUERY_RESULT_PARTIAL_BIT` its values in `pData` are not
/// changed. `VK_QUERY_RESULT_WAIT_BIT` is an error, because the library does not know when the
/// device is lost: wait for a fence, or call `vkxfb_query_pool_wait`, which has a timeout.
///
/// # Safety
/// `queryPool` is live, and `pData` points to `dataSize` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_query_pool_get_results(
    query_pool: *const VkxfbQueryPool,
    first_query: u32,
    query_count: u32,
    data_size: usize,
    p_data: *mut c_void,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> VkxfbResult {
    let mut all_ended = true;
    let result = guard(|| {
        let pool = &unsafe { required(query_pool, "queryPool") }?.pool;
        if flags.contains(vk::QueryResultFlags::WAIT) {
            let refused = "flags has VK_QUERY_RESULT_WAIT_BIT: wait for a fence in place of it";
            return Err(Error::Argument(refused.to_owned()));
        }
        if p_data.is_null() {
            return Err(Error::Null("pData"));
        }
        all_ended = unsafe {
            let data = std::slice::from_raw_parts_mut(p_data.cast(), data_size);
            pool.results(first_query, query_count, data, stride, flags, Duration::ZERO)
        }?;
        Ok(())
    });
    match result {
        VkxfbResult::VkxfbSuccess if !all_ended => VkxfbResult::VkxfbNotReady,
        result => result,
    }
}

/// Waits until queries have ended, at most for `timeout` nanoseconds. Returns `VKXFB_NOT_READY` if
/// they have not ended by then, which also happens if the device is lost.
///
/// # Safety
/// `queryPool` is live. The command buffers that end the queries were submitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_query_pool_wait(
    query_pool: *const VkxfbQueryPool,
    first_query: u32,
    query_count: u32,
    timeout: u64,
) -> VkxfbResult {
    let mut has_timed_out = false;
    let result = guard(|| {
        let pool = &unsafe { required(query_pool, "queryPool") }?.pool;
        let stride = pool.kind().values() * size_of::<u32>();
        let size = stride.saturating_mul(pool.count().min(query_count) as usize);
        let (mut values, flags) = (vec![0; size], vk::QueryResultFlags::WAIT);
        let timeout = Duration::from_nanos(timeout);
        let waited = unsafe {
            pool.results(first_query, query_count, &mut values, stride as u64, flags, timeout)
        };
        match waited {
            Ok(_) => Ok(()),
            Err(RuntimeError::QueryTimeout { .. }) => {
                has_timed_out = true;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    });
    match result {
        VkxfbResult::VkxfbSuccess if has_timed_out => VkxfbResult::VkxfbNotReady,
        result => result,
    }
}

/// Records a copy of results of queries into a buffer, with the arguments of
/// `vkCmdCopyQueryPoolResults`. The results include everything that was submitted to the queue
/// before. If a query has not ended by then, its values in the buffer are not changed; with
/// `VK_QUERY_RESULT_PARTIAL_BIT` or `VK_QUERY_RESULT_WAIT_BIT` the values counted so far are
/// written.
///
/// For barriers the copy is a transfer, like Vulkan's command: the stage
/// `VK_PIPELINE_STAGE_TRANSFER_BIT` with `VK_ACCESS_TRANSFER_WRITE_BIT`. It overwrites the same
/// state of the command buffer as `vkxfb_capture_end`.
///
/// Only the memory of `capture` is used, until `vkxfb_capture_reset`. `capture` need not be begun.
/// If it is, the copy is not a part of the capture. If this fails, nothing is recorded.
///
/// # Safety
/// `queryPool` and `capture` are live and belong to the same context. `commandBuffer` is a command buffer of its
/// device that is being recorded, for a queue with compute, outside of a render pass instance and of conditional
/// rendering. Until it is reset or freed, the pool and `dstBuffer` are live; the buffer has the usage that
/// `vkxfb_context_buffer_usage` returns, and is large enough.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "those of vkCmdCopyQueryPoolResults")]
pub unsafe extern "C" fn vkxfb_query_pool_record_copy_results(
    query_pool: *const VkxfbQueryPool,
    capture: *mut VkxfbCapture,
    command_buffer: vk::CommandBuffer,
    first_query: u32,
    query_count: u32,
    dst_buffer: vk::Buffer,
    dst_offset: vk::DeviceSize,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> VkxfbResult {
    guard(|| {
        let (pool, capture) = unsafe {
            (&required(query_pool, "queryPool")?.pool, required_mut(capture, "capture")?)
        };
        if dst_buffer == vk::Buffer::null() {
            return Err(Error::Null("dstBuffer"));
        }
        unsafe {
            let size = size_of_results(pool.kind(), query_count, stride, flags);
            let what = format_args!("the last result (dstBuffer, dstOffset, stride)");
            capture.shared.check_range(what, dst_buffer, dst_offset, size)?;
        }
        let target = ResultTarget { buffer: dst_buffer, offset: dst_offset, stride };
        unsafe {
            capture.record(command_buffer, |_, shared, arena| {
                pool.copy_results(
                    &shared.context,
                    arena,
                    shared.kernels(),
                    command_buffer,
                    first_query,
                    query_count,
                    &target,
                    flags,
                )
            })
        }
    })
}

/// Returns the number of bytes from the first of `count` results to the end of the last one.
fn size_of_results(
    kind: QueryKind,
    count: u32,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> vk::DeviceSize {
    let Some(last) = count.checked_sub(1) else { return 0 };
    let has = |flag| u64::from(flags.contains(flag));
    let values = kind.values() as u64 + has(vk::QueryResultFlags::WITH_AVAILABILITY);
    let size = values * 4 * (1 + has(vk::QueryResultFlags::TYPE_64));
    stride.saturating_mul(last.into()).saturating_add(size)
}

/// Begins a query for a vertex stream, as `vkCmdBeginQueryIndexedEXT` does: it counts what the
/// draws that follow emit to the stream `index`, until `vkxfb_capture_end_query_indexed`. Without a
/// geometry shader, and with one that does not use streams, everything is emitted to stream 0. A
/// stream has at most one active query of each type.
///
/// A query begins and ends within a capture: after `vkxfb_capture_begin`, without which this function fails, and before
/// `vkxfb_capture_end`. A query that is still active at `vkxfb_capture_end` has no result yet
/// (`VKXFB_NOT_READY`). It can be continued: begin it again in a later capture, without a reset.
///
/// # Safety
/// `capture` and `queryPool` are live and belong to the same context. The pool lives until the capture is begun
/// again, ended by `vkxfb_capture_end` or destroyed, and every command buffer that it was recorded or played
/// into is reset or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_begin_query_indexed(
    capture: *mut VkxfbCapture,
    query_pool: *const VkxfbQueryPool,
    query: u32,
    index: u32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_begin_query_indexed", |capture| {
            let pool = required(query_pool, "queryPool")?;
            capture.recorder().begin_query(&pool.pool, query, index)?;
            capture.active_queries.push(ActiveQuery::new(&pool.pool, query, index));
            Ok(())
        })
    }
}

/// Ends a query before `vkxfb_capture_end`. The arguments are those with which it was begun.
///
/// # Safety
/// The requirements are those of `vkxfb_capture_begin_query_indexed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_capture_end_query_indexed(
    capture: *mut VkxfbCapture,
    query_pool: *const VkxfbQueryPool,
    query: u32,
    index: u32,
) -> VkxfbResult {
    unsafe {
        command(capture, "vkxfb_capture_end_query_indexed", |capture| {
            let pool = required(query_pool, "queryPool")?;
            // The recorder would end any active query of the stream, so this checks that it is this
            // one.
            let ended = ActiveQuery::new(&pool.pool, query, index);
            let active = &mut capture.active_queries;
            let Some(place) = active.iter().position(|active| *active == ended) else {
                let message = format!("query {query} is not active for vertex stream {index}");
                return Err(Error::Argument(message));
            };
            active.swap_remove(place);
            Ok(capture.recorder().end_query(pool.pool.kind(), index)?)
        })
    }
}
