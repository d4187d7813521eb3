//! Hooks for query commands that are valid only outside of passes, and for query commands of the
//! host.

use std::ffi::c_void;
use std::time::Duration;

use ash::vk;
use vkxfb::runtime::{QueryPool, ResultTarget, RuntimeError};

use super::Emulation;
use crate::command_buffers::with;
use crate::device::DeviceData;
use crate::guard::guard;

/// How long to wait for queries before asking the driver whether the device is lost.
const WAIT: Duration = Duration::from_millis(100);

/// What a command returns for an unknown device.
const FAILED: vk::Result = vk::Result::ERROR_UNKNOWN;

/// Handles a command for a query pool: by `command` for a pool that the layer emulates, by `below`
/// for one of the driver.
///
/// # Safety
/// The handle is that of a live object, as the loader passes it to layers.
unsafe fn with_queries<H: vk::Handle + Copy, R: Copy>(
    name: &'static str,
    failed: R,
    handle: H,
    pool: vk::QueryPool,
    below: impl FnOnce(&Emulation) -> R,
    command: impl FnOnce(&Emulation, &QueryPool) -> R,
) -> R {
    guard(name, failed, || {
        // SAFETY: the caller's contract.
        let device = unsafe { DeviceData::of(handle) };
        let Some(emulation) = device.as_ref().and_then(|device| device.emulation()) else {
            return failed;
        };
        match emulation.objects().queries.get(pool) {
            Some(queries) => queries.pool().map_or(failed, |pool| command(emulation, pool)),
            None => below(emulation),
        }
    })
}

pub(super) unsafe extern "system" fn reset_query_pool(
    command_buffer: vk::CommandBuffer,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    let what = "vkCmdResetQueryPool";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            (),
            command_buffer,
            pool,
            |emulation| {
                let next = emulation.context().device().fp_v1_0().cmd_reset_query_pool;
                next(command_buffer, pool, first, count);
            },
            |_, queries| {
                with(command_buffer, |recorded| {
                    recorded.observe(|captures| {
                        captures.record_outside(what, command_buffer, |emulation, _| {
                            queries.reset(emulation.context(), command_buffer, first, count)
                        });
                    });
                });
            },
        );
    }
}

#[allow(clippy::too_many_arguments, reason = "as the command has them")]
pub(super) unsafe extern "system" fn copy_query_pool_results(
    command_buffer: vk::CommandBuffer,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) {
    let what = "vkCmdCopyQueryPoolResults";
    let cmd = command_buffer;
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            (),
            cmd,
            pool,
            |emulation| {
                let next = emulation.context().device().fp_v1_0().cmd_copy_query_pool_results;
                next(cmd, pool, first, count, buffer, offset, stride, flags);
            },
            |_, queries| {
                with(cmd, |recorded| {
                    recorded.observe(|captures| {
                        let target = ResultTarget { buffer, offset, stride };
                        captures.record_outside(what, cmd, |emulation, arena| {
                            let (ctx, kernels) = (emulation.context(), emulation.kernels());
                            let target = &target;
                            queries
                                .copy_results(ctx, arena, kernels, cmd, first, count, target, flags)
                        });
                    });
                });
            },
        );
    }
}

pub(super) unsafe extern "system" fn get_query_pool_results(
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
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            FAILED,
            device,
            pool,
            |emulation| {
                let next = emulation.context().device().fp_v1_0().get_query_pool_results;
                next(device, pool, first, count, size, data, stride, flags)
            },
            |emulation, queries| {
                let data = match size {
                    0 => &mut [],
                    _ => std::slice::from_raw_parts_mut(data.cast::<u8>(), size),
                };
                loop {
                    match queries.results(first, count, data, stride, flags, WAIT) {
                        Ok(true) => break vk::Result::SUCCESS,
                        Ok(false) => break vk::Result::NOT_READY,
                        // On a lost device no query becomes available.
                        Err(RuntimeError::QueryTimeout { .. }) => {
                            if is_lost(emulation.context().device()) {
                                break vk::Result::ERROR_DEVICE_LOST;
                            }
                        }
                        Err(error) => {
                            tracing::error!("{what}: {error}");
                            break FAILED;
                        }
                    }
                }
            },
        )
    }
}

/// Asks the driver whether [the device is
/// lost](https://docs.vulkan.org/spec/latest/chapters/devsandqueues.html#devsandqueues-lost-device):
/// by a fence, whose status may be asked for at any time. Results of the driver's own pool may not:
/// its queries are never reset.
///
/// # Safety
/// The device is live.
unsafe fn is_lost(device: &ash::Device) -> bool {
    let lost = vk::Result::ERROR_DEVICE_LOST;
    // SAFETY: the caller's contract; nothing uses the fence.
    unsafe {
        match device.create_fence(&vk::FenceCreateInfo::default(), None) {
            Ok(fence) => {
                let status = device.get_fence_status(fence);
                device.destroy_fence(fence, None);
                status == Err(lost)
            }
            // If there is no memory for a fence now, there may be later.
            Err(error) => error == lost,
        }
    }
}

pub(super) unsafe extern "system" fn host_reset_query_pool(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    let what = "vkResetQueryPool";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            (),
            device,
            pool,
            |emulation| {
                if let Some(next) = emulation.reset_query_pool() {
                    next(device, pool, first, count);
                }
            },
            |_, queries| {
                if let Err(error) = queries.reset_by_host(first, count) {
                    tracing::error!("{what}: {error}");
                }
            },
        );
    }
}
