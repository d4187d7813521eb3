//! Commands that allocate, begin, end, reset and free command buffers, on devices where passes may
//! be withheld.

use std::ffi::CStr;
use std::sync::Arc;

use ash::vk;

use crate::chain::slice;
use crate::command_buffers::{
    allocated, device_destroyed, failure, forget, freed, pool_destroyed, pool_reset, reset,
};
use crate::device::DeviceData;
use crate::emulation::Emulation;
use crate::guard::guard;
use crate::translate::{Translation, Usages};
use crate::withheld::{self, Functions, Templates};

/// What a command returns for an unknown device.
const FAILED: vk::Result = vk::Result::ERROR_UNKNOWN;

/// The state of a device that recording uses.
pub(crate) struct Recording {
    functions: Arc<Functions>,
    templates: Arc<Templates>,
    /// Present where transform feedback is emulated.
    pub(crate) translation: Option<Translation>,
    /// Present where transform feedback is emulated.
    pub(crate) emulation: Option<Arc<Emulation>>,
    next: Next,
}

/// Commands of the next in the chain. Those of Vulkan 1.0 are always present.
struct Next {
    allocate: Option<vk::PFN_vkAllocateCommandBuffers>,
    free: Option<vk::PFN_vkFreeCommandBuffers>,
    destroy_pool: Option<vk::PFN_vkDestroyCommandPool>,
    reset_pool: Option<vk::PFN_vkResetCommandPool>,
    reset: Option<vk::PFN_vkResetCommandBuffer>,
    begin: Option<vk::PFN_vkBeginCommandBuffer>,
    end: Option<vk::PFN_vkEndCommandBuffer>,
    create_template: Option<vk::PFN_vkCreateDescriptorUpdateTemplate>,
    destroy_template: Option<vk::PFN_vkDestroyDescriptorUpdateTemplate>,
}

impl Recording {
    /// The device is about to be destroyed.
    pub(crate) fn device_destroyed(&self) {
        device_destroyed(&self.functions);
        if let Some(emulation) = &self.emulation {
            // SAFETY: Vulkan requires that the device is idle, and the layer has forgotten its
            // command buffers.
            unsafe { emulation.close() };
        }
    }

    /// Sets the emulation of transform feedback.
    ///
    /// # Safety
    /// As [`load`](Self::load).
    pub(crate) unsafe fn emulating(
        self,
        device: vk::Device,
        get: vk::PFN_vkGetDeviceProcAddr,
        emulation: Emulation,
    ) -> Self {
        let usages = Usages::emulating(emulation.context().enabled());
        // SAFETY: the caller's contract.
        let this = unsafe { self.translating(device, get, usages) };
        let emulation = emulation.with_templates(&this.templates);
        Self { emulation: Some(Arc::new(emulation)), ..this }
    }

    /// Sets the translation of arguments, for emulated transform feedback.
    ///
    /// # Safety
    /// As [`load`](Self::load).
    pub(crate) unsafe fn translating(
        self,
        device: vk::Device,
        get: vk::PFN_vkGetDeviceProcAddr,
        usages: Usages,
    ) -> Self {
        // SAFETY: the caller's contract.
        let translation = unsafe { Translation::load(device, get, usages) };
        Self { translation: Some(translation), ..self }
    }

    /// Fetches everything from the next in the chain.
    ///
    /// # Safety
    /// The device is live, and the function belongs to the next in the chain.
    pub(crate) unsafe fn load(device: vk::Device, get: vk::PFN_vkGetDeviceProcAddr) -> Self {
        // SAFETY: the caller's contract; each function is of the type that its name says.
        unsafe {
            let find = |name: &CStr| get(device, name.as_ptr());
            macro_rules! next {
                ($ty:ident: $name:literal $(, $alias:literal)?) => {
                    std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$ty>>(
                        find($name)$(.or_else(|| find($alias)))?,
                    )
                };
            }
            Self {
                functions: Arc::new(Functions::load(find)),
                templates: Arc::default(),
                translation: None,
                emulation: None,
                next: Next {
                    allocate: next!(PFN_vkAllocateCommandBuffers: c"vkAllocateCommandBuffers"),
                    free: next!(PFN_vkFreeCommandBuffers: c"vkFreeCommandBuffers"),
                    destroy_pool: next!(PFN_vkDestroyCommandPool: c"vkDestroyCommandPool"),
                    reset_pool: next!(PFN_vkResetCommandPool: c"vkResetCommandPool"),
                    reset: next!(PFN_vkResetCommandBuffer: c"vkResetCommandBuffer"),
                    begin: next!(PFN_vkBeginCommandBuffer: c"vkBeginCommandBuffer"),
                    end: next!(PFN_vkEndCommandBuffer: c"vkEndCommandBuffer"),
                    create_template: next!(
                        PFN_vkCreateDescriptorUpdateTemplate: c"vkCreateDescriptorUpdateTemplate",
                        c"vkCreateDescriptorUpdateTemplateKHR"
                    ),
                    destroy_template: next!(
                        PFN_vkDestroyDescriptorUpdateTemplate: c"vkDestroyDescriptorUpdateTemplate",
                        c"vkDestroyDescriptorUpdateTemplateKHR"
                    ),
                },
            }
        }
    }
}

/// Returns the hook for a command of a device where passes may be withheld.
pub(crate) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    let function: *const () = match name.to_bytes() {
        b"vkAllocateCommandBuffers" => allocate as _,
        b"vkFreeCommandBuffers" => free as _,
        b"vkDestroyCommandPool" => destroy_pool as _,
        b"vkResetCommandBuffer" => reset_command_buffer as _,
        b"vkResetCommandPool" => reset_pool as _,
        b"vkBeginCommandBuffer" => begin as _,
        b"vkEndCommandBuffer" => end as _,
        b"vkCreateDescriptorUpdateTemplate" | b"vkCreateDescriptorUpdateTemplateKHR" => {
            create_template as _
        }
        b"vkDestroyDescriptorUpdateTemplate" | b"vkDestroyDescriptorUpdateTemplateKHR" => {
            destroy_template as _
        }
        _ => return withheld::hook(name),
    };
    // SAFETY: all function pointers have the same size; the caller casts the pointer back to the
    // type of the command.
    unsafe { std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>(function) }
}

/// Calls `command` with the recording state of a device and a command of the next in the chain.
///
/// # Safety
/// The handle is that of a live object, as the loader passes it to layers.
unsafe fn with<H: vk::Handle, F, R: Copy>(
    name: &'static str,
    otherwise: R,
    handle: H,
    next: impl FnOnce(&Next) -> Option<F>,
    command: impl FnOnce(&Recording, F) -> R,
) -> R {
    guard(name, otherwise, || {
        // SAFETY: the caller's contract.
        let device = unsafe { DeviceData::of(handle) };
        let found = device.as_ref().and_then(|device| device.recording.as_ref());
        let Some((recording, next)) = found.and_then(|r| Some((r, next(&r.next)?))) else {
            tracing::error!("{name}: nothing is known of the device");
            return otherwise;
        };
        command(recording, next)
    })
}

/// `vkAllocateCommandBuffers`
unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    command_buffers: *mut vk::CommandBuffer,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkAllocateCommandBuffers",
            FAILED,
            device,
            |n| n.allocate,
            |recording, next| {
                let result = next(device, info, command_buffers);
                if result == vk::Result::SUCCESS {
                    let (pool, count) = ((*info).command_pool, (*info).command_buffer_count);
                    let handles = slice(command_buffers.cast_const(), count);
                    let Recording { functions, templates, emulation, .. } = recording;
                    let is_secondary = (*info).level == vk::CommandBufferLevel::SECONDARY;
                    let device = (functions, templates, emulation.as_ref());
                    allocated(device, pool, is_secondary, handles);
                }
                result
            },
        )
    }
}

/// `vkFreeCommandBuffers`
unsafe extern "system" fn free(
    device: vk::Device,
    pool: vk::CommandPool,
    count: u32,
    command_buffers: *const vk::CommandBuffer,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkFreeCommandBuffers",
            (),
            device,
            |n| n.free,
            |_, next| {
                freed(slice(command_buffers, count));
                next(device, pool, count, command_buffers);
            },
        );
    }
}

/// `vkResetCommandPool`
unsafe extern "system" fn reset_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    flags: vk::CommandPoolResetFlags,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkResetCommandPool",
            FAILED,
            device,
            |n| n.reset_pool,
            |recording, next| {
                let releases = flags.contains(vk::CommandPoolResetFlags::RELEASE_RESOURCES);
                pool_reset(&recording.functions, pool, releases);
                next(device, pool, flags)
            },
        )
    }
}

/// `vkResetCommandBuffer`
unsafe extern "system" fn reset_command_buffer(
    command_buffer: vk::CommandBuffer,
    flags: vk::CommandBufferResetFlags,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkResetCommandBuffer",
            FAILED,
            command_buffer,
            |n| n.reset,
            |_, next| {
                let releases = flags.contains(vk::CommandBufferResetFlags::RELEASE_RESOURCES);
                forget(command_buffer, releases);
                next(command_buffer, flags)
            },
        )
    }
}

/// `vkDestroyCommandPool`
unsafe extern "system" fn destroy_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkDestroyCommandPool",
            (),
            device,
            |n| n.destroy_pool,
            |recording, next| {
                pool_destroyed(&recording.functions, pool);
                next(device, pool, allocator);
            },
        );
    }
}

/// `vkBeginCommandBuffer`
unsafe extern "system" fn begin(
    command_buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkBeginCommandBuffer",
            FAILED,
            command_buffer,
            |n| n.begin,
            |_, next| {
                if let Some(info) = info.as_ref() {
                    reset(command_buffer, info);
                }
                next(command_buffer, info)
            },
        )
    }
}

/// `vkEndCommandBuffer`
unsafe extern "system" fn end(command_buffer: vk::CommandBuffer) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            "vkEndCommandBuffer",
            FAILED,
            command_buffer,
            |n| n.end,
            |_, next| {
                let failure = failure(command_buffer);
                match next(command_buffer) {
                    vk::Result::SUCCESS => failure.unwrap_or(vk::Result::SUCCESS),
                    error => error,
                }
            },
        )
    }
}

/// `vkCreateDescriptorUpdateTemplate`
unsafe extern "system" fn create_template(
    device: vk::Device,
    info: *const vk::DescriptorUpdateTemplateCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    template: *mut vk::DescriptorUpdateTemplate,
) -> vk::Result {
    let name = "vkCreateDescriptorUpdateTemplate";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            name,
            FAILED,
            device,
            |n| n.create_template,
            |recording, next| {
                let result = next(device, info, allocator, template);
                if result == vk::Result::SUCCESS {
                    recording.templates.created(*template, &*info);
                }
                result
            },
        )
    }
}

/// `vkDestroyDescriptorUpdateTemplate`
unsafe extern "system" fn destroy_template(
    device: vk::Device,
    template: vk::DescriptorUpdateTemplate,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let name = "vkDestroyDescriptorUpdateTemplate";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(
            name,
            (),
            device,
            |n| n.destroy_template,
            |recording, next| {
                recording.templates.destroyed(template);
                next(device, template, allocator);
            },
        );
    }
}
