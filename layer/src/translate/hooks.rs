//! Hooks for the commands whose arguments are translated.

use std::ffi::CStr;

use ash::vk;

use super::memory::Arena;
use super::recorded::*;
use super::{Kind, Next, Translation, passes, submits, usages};
use crate::chain::slice;
use crate::device::DeviceData;
use crate::guard::guard;

/// Returns the hook for a command of a device whose transform feedback is emulated. Hooks for
/// commands that are recorded call the hooks in `withheld`.
pub(crate) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    macro_rules! hooks {
        ($($($name:literal)|+ => $function:ident as $ty:ident,)*) => {
            match name.to_bytes() {
                $($($name)|+ => {
                    let function: vk::$ty = $function;
                    // SAFETY: the caller casts the pointer back to the type of the command.
                    Some(unsafe {
                        std::mem::transmute::<vk::$ty, unsafe extern "system" fn()>(function)
                    })
                })*
                _ => None,
            }
        };
    }
    hooks! {
        b"vkAllocateMemory" => allocate_memory as PFN_vkAllocateMemory,
        b"vkCmdPipelineBarrier" => pipeline_barrier as PFN_vkCmdPipelineBarrier,
        b"vkCmdPipelineBarrier2" | b"vkCmdPipelineBarrier2KHR" =>
            pipeline_barrier2 as PFN_vkCmdPipelineBarrier2,
        b"vkCmdResetEvent" => reset_event as PFN_vkCmdResetEvent,
        b"vkCmdResetEvent2" | b"vkCmdResetEvent2KHR" => reset_event2 as PFN_vkCmdResetEvent2,
        b"vkCmdSetEvent" => set_event as PFN_vkCmdSetEvent,
        b"vkCmdSetEvent2" | b"vkCmdSetEvent2KHR" => set_event2 as PFN_vkCmdSetEvent2,
        b"vkCmdWaitEvents" => wait_events as PFN_vkCmdWaitEvents,
        b"vkCmdWaitEvents2" | b"vkCmdWaitEvents2KHR" => wait_events2 as PFN_vkCmdWaitEvents2,
        b"vkCmdWriteBufferMarkerAMD" => write_buffer_marker as PFN_vkCmdWriteBufferMarkerAMD,
        b"vkCmdWriteBufferMarker2AMD" => write_buffer_marker2 as PFN_vkCmdWriteBufferMarker2AMD,
        b"vkCmdWriteTimestamp" => write_timestamp as PFN_vkCmdWriteTimestamp,
        b"vkCmdWriteTimestamp2" | b"vkCmdWriteTimestamp2KHR" =>
            write_timestamp2 as PFN_vkCmdWriteTimestamp2,
        b"vkCreateBuffer" => create_buffer as PFN_vkCreateBuffer,
        b"vkCreateDescriptorSetLayout" => create_set_layout as PFN_vkCreateDescriptorSetLayout,
        b"vkCreateRenderPass" => create_render_pass as PFN_vkCreateRenderPass,
        b"vkCreateRenderPass2" | b"vkCreateRenderPass2KHR" =>
            create_render_pass2 as PFN_vkCreateRenderPass2,
        b"vkDestroyRenderPass" => destroy_render_pass as PFN_vkDestroyRenderPass,
        b"vkGetDescriptorSetLayoutSupport" | b"vkGetDescriptorSetLayoutSupportKHR" =>
            set_layout_support as PFN_vkGetDescriptorSetLayoutSupport,
        b"vkGetDeviceBufferMemoryRequirements" | b"vkGetDeviceBufferMemoryRequirementsKHR" =>
            buffer_requirements as PFN_vkGetDeviceBufferMemoryRequirements,
        b"vkQueueSubmit" => queue_submit as PFN_vkQueueSubmit,
        b"vkQueueSubmit2" | b"vkQueueSubmit2KHR" => queue_submit2 as PFN_vkQueueSubmit2,
    }
}

/// What a command returns if its arguments cannot be translated.
pub(super) const FAILED: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;

/// Calls `command` with the translation state of a device, a command of the next in the chain, and
/// memory.
///
/// # Safety
/// The handle is that of a live object, as the loader passes it to layers.
pub(super) unsafe fn with<H: vk::Handle, F, R: Copy>(
    name: &'static str,
    otherwise: R,
    handle: H,
    next: impl FnOnce(&Next) -> Option<F>,
    command: impl FnOnce(&Translation, F, &Arena) -> R,
) -> R {
    guard(name, otherwise, || {
        // SAFETY: the caller's contract.
        let device = unsafe { DeviceData::of(handle) };
        let found = device.as_ref().and_then(|device| device.translation());
        let Some((translation, next)) = found.and_then(|t| Some((t, next(&t.next)?))) else {
            tracing::error!("{name}: nothing is known of the device");
            return otherwise;
        };
        Arena::with(|arena| command(translation, next, arena))
    })
}

unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let name = "vkQueueSubmit";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            name,
            FAILED,
            queue,
            |n| n.queue_submit,
            |_, next, arena| {
                let infos = slice(infos.cast(), count);
                let infos = submits::submits(infos, Kind::Submit.is_translated(), arena);
                next(queue, count, infos.as_ptr(), fence)
            },
        )
    }
}

unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let name = "vkQueueSubmit2";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            name,
            FAILED,
            queue,
            |n| n.queue_submit2,
            |_, next, arena| {
                let infos = slice(infos.cast(), count);
                let infos = submits::submits2(infos, Kind::Submit.is_translated(), arena);
                next(queue, count, infos.as_ptr(), fence)
            },
        )
    }
}

/// A command of a device that creates an object: the name of the hook, the name of the command, and
/// how its create info is translated.
macro_rules! creates {
    ($($(#[$doc:meta])* $function:ident $name:literal $info:ident $made:ident
        |$translation:ident, $given:ident, $arena:ident| $translated:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) unsafe extern "system" fn $function(
            device: vk::Device,
            info: *const vk::$info<'_>,
            allocator: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::$made,
        ) -> vk::Result {
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                with(
                    $name,
                    FAILED,
                    device,
                    |n| n.$function,
                    |$translation, next, $arena| {
                        let Some($given) = info.as_ref() else { return FAILED };
                        let (info, created) = $translated;
                        let result = next(device, &raw const info, allocator, made);
                        if result == vk::Result::SUCCESS {
                            created(*made);
                        }
                        result
                    },
                )
            }
        }
    )*};
}

creates! {
    create_buffer "vkCreateBuffer" BufferCreateInfo Buffer
        |translation, info, arena| (translation.usages.buffer_create_info(info, arena), drop);
    allocate_memory "vkAllocateMemory" MemoryAllocateInfo DeviceMemory
        |translation, info, arena| (translation.usages.memory_allocate_info(info, arena), drop);
    create_set_layout "vkCreateDescriptorSetLayout" DescriptorSetLayoutCreateInfo
        DescriptorSetLayout
        |_translation, info, arena| (usages::set_layout(info, arena), drop);
    create_render_pass "vkCreateRenderPass" RenderPassCreateInfo RenderPass
        |translation, info, arena| {
            let also_compute = Kind::RenderPass.is_translated();
            let (info, around) = passes::render_pass(info, also_compute, arena);
            (info, move |created| translation.render_passes.created(created, around))
        };
    create_render_pass2 "vkCreateRenderPass2" RenderPassCreateInfo2 RenderPass
        |translation, info, arena| {
            let also_compute = Kind::RenderPass.is_translated();
            let (info, around) = passes::render_pass2(info, also_compute, arena);
            (info, move |created| translation.render_passes.created(created, around))
        };
}

unsafe extern "system" fn destroy_render_pass(
    device: vk::Device,
    render_pass: vk::RenderPass,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkDestroyRenderPass",
            (),
            device,
            |n| n.destroy_render_pass,
            |translation, next, _| {
                // Before the render pass is destroyed: after that another thread may create one
                // with the same handle.
                translation.render_passes.destroyed(render_pass);
                next(device, render_pass, allocator);
            },
        );
    }
}

unsafe extern "system" fn buffer_requirements(
    device: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkGetDeviceBufferMemoryRequirements",
            (),
            device,
            |n| n.buffer_requirements,
            |translation, next, arena| {
                let Some(given) = info.as_ref() else { return };
                let Some(buffer) = given.p_create_info.as_ref() else { return };
                let buffer = translation.usages.buffer_create_info(buffer, arena);
                let mut info = *given;
                info.p_create_info = &raw const buffer;
                next(device, &raw const info, requirements);
            },
        );
    }
}

unsafe extern "system" fn set_layout_support(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    support: *mut vk::DescriptorSetLayoutSupport<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkGetDescriptorSetLayoutSupport",
            (),
            device,
            |n| n.set_layout_support,
            |_, next, arena| {
                let Some(info) = info.as_ref() else { return };
                let info = usages::set_layout(info, arena);
                next(device, &raw const info, support);
            },
        );
    }
}
