//! Hooks for commands that allocate, begin, end, reset and free command buffers, and for those that create and destroy
//! descriptor update templates. They are used only on devices where the layer may store the commands of a render pass
//! until the pass ends.

use ash::vk;

use super::entry::{FAILED, hooks, with_device};
use crate::chain::slice;
use crate::command_buffers::{
    allocated, failure, forget, freed, pool_destroyed, pool_reset, reset,
};

hooks! {
    b"vkAllocateCommandBuffers" => allocate as PFN_vkAllocateCommandBuffers,
    b"vkBeginCommandBuffer" => begin as PFN_vkBeginCommandBuffer,
    b"vkCreateDescriptorUpdateTemplate" | b"vkCreateDescriptorUpdateTemplateKHR" =>
        create_template as PFN_vkCreateDescriptorUpdateTemplate,
    b"vkDestroyCommandPool" => destroy_pool as PFN_vkDestroyCommandPool,
    b"vkDestroyDescriptorUpdateTemplate" | b"vkDestroyDescriptorUpdateTemplateKHR" =>
        destroy_template as PFN_vkDestroyDescriptorUpdateTemplate,
    b"vkEndCommandBuffer" => end as PFN_vkEndCommandBuffer,
    b"vkFreeCommandBuffers" => free as PFN_vkFreeCommandBuffers,
    b"vkResetCommandBuffer" => reset_command_buffer as PFN_vkResetCommandBuffer,
    b"vkResetCommandPool" => reset_pool as PFN_vkResetCommandPool,
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    command_buffers: *mut vk::CommandBuffer,
) -> vk::Result {
    unsafe {
        with_device("vkAllocateCommandBuffers", FAILED, device, |data| {
            let result = data.next.allocate_command_buffers?(device, info, command_buffers);
            if result == vk::Result::SUCCESS {
                let (pool, count) = ((*info).command_pool, (*info).command_buffer_count);
                let is_secondary = (*info).level == vk::CommandBufferLevel::SECONDARY;
                let of = (&data.functions, &data.templates, data.emulation.as_ref());
                allocated(of, pool, is_secondary, slice(command_buffers.cast_const(), count));
            }
            Some(result)
        })
    }
}

unsafe extern "system" fn free(
    device: vk::Device,
    pool: vk::CommandPool,
    count: u32,
    command_buffers: *const vk::CommandBuffer,
) {
    unsafe {
        with_device("vkFreeCommandBuffers", (), device, |data| {
            let next = data.next.free_command_buffers?;
            freed(slice(command_buffers, count));
            next(device, pool, count, command_buffers);
            Some(())
        });
    }
}

unsafe extern "system" fn reset_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    flags: vk::CommandPoolResetFlags,
) -> vk::Result {
    unsafe {
        with_device("vkResetCommandPool", FAILED, device, |data| {
            let next = data.next.reset_pool?;
            let releases = flags.contains(vk::CommandPoolResetFlags::RELEASE_RESOURCES);
            pool_reset(&data.functions, pool, releases);
            Some(next(device, pool, flags))
        })
    }
}

unsafe extern "system" fn destroy_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        with_device("vkDestroyCommandPool", (), device, |data| {
            let next = data.next.destroy_pool?;
            pool_destroyed(&data.functions, pool);
            next(device, pool, allocator);
            Some(())
        });
    }
}

unsafe extern "system" fn begin(
    command_buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    unsafe {
        with_device("vkBeginCommandBuffer", FAILED, command_buffer, |device| {
            if let Some(info) = info.as_ref() {
                let passes = device.translation.as_ref().map(|known| &known.render_passes);
                reset(command_buffer, info, passes);
            }
            Some(device.next.begin_command_buffer?(command_buffer, info))
        })
    }
}

unsafe extern "system" fn reset_command_buffer(
    command_buffer: vk::CommandBuffer,
    flags: vk::CommandBufferResetFlags,
) -> vk::Result {
    unsafe {
        forget(command_buffer, flags.contains(vk::CommandBufferResetFlags::RELEASE_RESOURCES));
        with_device("vkResetCommandBuffer", FAILED, command_buffer, |device| {
            Some(device.next.reset_command_buffer?(command_buffer, flags))
        })
    }
}

unsafe extern "system" fn end(command_buffer: vk::CommandBuffer) -> vk::Result {
    unsafe {
        let failure = failure(command_buffer);
        let result = with_device("vkEndCommandBuffer", FAILED, command_buffer, |device| {
            Some(device.next.end_command_buffer?(command_buffer))
        });
        match result {
            vk::Result::SUCCESS => failure.unwrap_or(vk::Result::SUCCESS),
            error => error,
        }
    }
}

/// `vkCreateDescriptorUpdateTemplate`. The driver's template is created without allocation callbacks, because the layer
/// may destroy it after the program has destroyed the template and its callbacks.
unsafe extern "system" fn create_template(
    device: vk::Device,
    info: *const vk::DescriptorUpdateTemplateCreateInfo<'_>,
    _allocator: *const vk::AllocationCallbacks<'_>,
    template: *mut vk::DescriptorUpdateTemplate,
) -> vk::Result {
    unsafe {
        with_device("vkCreateDescriptorUpdateTemplate", FAILED, device, |data| {
            let result = data.next.create_template?(device, info, std::ptr::null(), template);
            if result == vk::Result::SUCCESS {
                data.templates.created(*template, &*info);
            }
            Some(result)
        })
    }
}

unsafe extern "system" fn destroy_template(
    device: vk::Device,
    template: vk::DescriptorUpdateTemplate,
    _allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        with_device("vkDestroyDescriptorUpdateTemplate", (), device, |data| {
            data.templates.destroyed(template);
            Some(())
        });
    }
}
