//! Hooks for query commands that are valid only outside of passes, and for query commands of the
//! host.

use std::ffi::c_void;
use std::time::Duration;

use vkxfb::runtime::{ResultTarget, RuntimeError};

use super::entry::{FAILED, emulated, hooks, with_device};
use crate::command_buffers::with;
use crate::emulation::Emulation;
use crate::emulation::queries::Queries;
use crate::registry::vk;

hooks! {
    b"vkCmdCopyQueryPoolResults" => copy_query_pool_results as PFN_vkCmdCopyQueryPoolResults,
    b"vkCmdResetQueryPool" => reset_query_pool as PFN_vkCmdResetQueryPool,
    b"vkGetQueryPoolResults" => get_query_pool_results as PFN_vkGetQueryPoolResults,
    b"vkResetQueryPool" | b"vkResetQueryPoolEXT" => host_reset_query_pool as PFN_vkResetQueryPool,
}

/// How long the layer waits for query results before it asks the driver whether the device is lost.
const WAIT: Duration = Duration::from_millis(100);

unsafe extern "system" fn reset_query_pool(
    command_buffer: vk::CommandBuffer,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    unsafe {
        with(command_buffer, |state| {
            state.play_deferred(command_buffer);
            state.capture(|c| c.reset_query_pool(command_buffer, pool, first, count));
        });
    }
}

#[allow(clippy::too_many_arguments, reason = "as the command has them")]
unsafe extern "system" fn copy_query_pool_results(
    command_buffer: vk::CommandBuffer,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) {
    let target = ResultTarget { buffer, offset, stride };
    unsafe {
        with(command_buffer, |state| {
            state.play_deferred(command_buffer);
            state.capture(|captures| {
                let range = [first, count];
                captures.copy_query_pool_results(command_buffer, pool, range, target, flags);
            });
        });
    }
}

#[allow(clippy::too_many_arguments, reason = "as the command has them")]
unsafe extern "system" fn get_query_pool_results(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    size: usize,
    data: *mut c_void,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> vk::Result {
    let what = "vkGetQueryPoolResults";
    unsafe {
        emulated(what, FAILED, device, |emulation| {
            let Some(queries) = emulation.objects().queries.get(pool) else {
                let next = emulation.context().device().fp_v1_0().get_query_pool_results;
                return next(device, pool, first, count, size, data, stride, flags);
            };
            let data = match size {
                0 => &mut [],
                _ => std::slice::from_raw_parts_mut(data.cast::<u8>(), size),
            };
            let mut all = vk::Result::SUCCESS;
            for (from, count, is_own) in queries.runs(first, count) {
                let place = stride.saturating_mul(u64::from(from - first)) as usize;
                let data = data.get_mut(place..).unwrap_or_default();
                let result = if is_own {
                    own_results(emulation, &queries, [from, count], data, stride, flags)
                } else {
                    let next = emulation.context().device().fp_v1_0().get_query_pool_results;
                    let (size, data) = (data.len(), data.as_mut_ptr().cast());
                    next(device, pool, from, count, size, data, stride, flags)
                };
                match result {
                    vk::Result::SUCCESS => {}
                    vk::Result::NOT_READY => all = result,
                    error => return error,
                }
            }
            all
        })
    }
}

/// Reads the results of a range of queries that the layer emulates. If the flags include `WAIT`, waits until the results
/// are available or the device is lost. A query that [nothing ends](Queries::may_end), for example because it was never
/// begun, stays unavailable, as if there were no `WAIT`: Vulkan allows to wait forever, but drivers return.
///
/// # Safety
/// The device is live.
unsafe fn own_results(
    emulation: &Emulation,
    queries: &Queries,
    [first, count]: [u32; 2],
    data: &mut [u8],
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> vk::Result {
    let Some(pool) = queries.pool() else { return FAILED };
    let end = first.saturating_add(count);
    let (mut from, mut all, mut has_waited) = (first, vk::Result::SUCCESS, false);
    loop {
        let mut read = |from: u32, count, flags, timeout| {
            let place = stride.saturating_mul(u64::from(from - first));
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            let data = data.get_mut(place..).unwrap_or_default();
            unsafe { pool.results(from, count, data, stride, flags, timeout) }
        };
        // Another thread may be about to submit the end of the query, so the first one that nothing ends is waited for,
        // too. For others this was time enough.
        let timeout = if has_waited && !queries.may_end(from) { Duration::ZERO } else { WAIT };
        match read(from, end - from, flags, timeout) {
            Ok(true) => break all,
            Ok(false) => break vk::Result::NOT_READY,
            // The wait timed out. The wait must not be repeated forever on a lost device, on which no query becomes
            // available.
            Err(RuntimeError::QueryTimeout { query, .. }) => {
                if timeout == WAIT && unsafe { is_lost(emulation.context().device()) } {
                    break vk::Result::ERROR_DEVICE_LOST;
                }
                // The results of the queries before it are written.
                from = query;
                if !queries.may_end(query) {
                    let flags = flags & !vk::QueryResultFlags::WAIT;
                    match read(query, 1, flags, Duration::ZERO) {
                        Ok(true) => {}
                        _ => all = vk::Result::NOT_READY,
                    }
                    (from, has_waited) = (query + 1, true);
                    if from >= end {
                        break all;
                    }
                }
            }
            Err(error) => {
                tracing::error!("vkGetQueryPoolResults: {error}");
                break FAILED;
            }
        }
    }
}

/// Asks the driver whether [the device is
/// lost](https://docs.vulkan.org/spec/latest/chapters/devsandqueues.html#devsandqueues-lost-device), by getting the
/// status of a new fence, which is always allowed. To read results from the driver's query pool would not be allowed,
/// because the layer never resets the queries of that pool.
///
/// # Safety
/// The device is live.
unsafe fn is_lost(device: &ash::Device) -> bool {
    let lost = vk::Result::ERROR_DEVICE_LOST;
    // SAFETY: the caller's contract; nothing uses the fence when it is destroyed.
    unsafe {
        match device.create_fence(&vk::FenceCreateInfo::default(), None) {
            Ok(fence) => {
                let status = device.get_fence_status(fence);
                device.destroy_fence(fence, None);
                status == Err(lost)
            }
            // If the fence cannot be created for lack of memory, the device is not lost.
            Err(error) => error == lost,
        }
    }
}

unsafe extern "system" fn host_reset_query_pool(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    let what = "vkResetQueryPool";
    unsafe {
        with_device(what, (), device, |data| {
            let own = data.emulation.as_ref()?.objects().queries.get(pool);
            if let Some(queries) = &own
                && let Err(error) = queries.pool()?.reset_by_host(first, count)
            {
                tracing::error!("{what}: {error}");
            }
            if let Some(queries) = &own {
                queries.set_ended(first, count, false);
            }
            if own.is_none_or(|queries| queries.is_shared()) {
                data.next.reset_query_pool?(device, pool, first, count);
            }
            Some(())
        });
    }
}
