//! A device that captures, with the objects that all its captures share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings};
use vkxfb::lower::Backend;
use vkxfb::runtime::{ConsumerScope, Context, Kernels};

use crate::arguments::{create, owned, required, strings, typed_chain};
use crate::device::{
    VKXFB_DEVICE_DEBUG_NAMES, VKXFB_DEVICE_NO_INDIRECT_DISPATCH, VKXFB_DEVICE_NO_INDIRECT_DRAWS,
    VKXFB_DEVICE_NO_OPTIMIZATION, VkxfbPhysicalDeviceInfo, VkxfbRequiredFeatures,
};
use crate::error::{Error, VkxfbResult, guard, guard_quietly};
use crate::extensible::{Output, extensible, read};

/// The size in bytes of the memory objects for arenas. Most captures need only a few kilobytes.
const BLOCK: u64 = 4 << 20;

/// A device that captures: its commands, internal pipelines that prepare captures, and an allocator
/// of device memory.
///
/// Several threads may use it at the same time. Contexts, pipelines, captures and query pools can be
/// destroyed in any order, as long as the device outlives them all.
pub struct VkxfbContext {
    pub(crate) shared: Arc<Shared>,
}

/// The objects that a context and everything that is made with it share.
pub(crate) struct Shared {
    pub(crate) context: Context,
    kernels: Kernels,
    allocator: Mutex<Allocator>,
}

/// Creates a context for a device that was created with `requiredFeatures`. This submits nothing.
///
/// The library cannot query what a device was created with. If it was created without what
/// `vkxfb_required_features_add_to` added, this succeeds nevertheless, and captures may work or
/// not. The validation layer then reports `VUID-vkGetBufferDeviceAddress-bufferDeviceAddress-03324`
/// or `VUID-VkShaderModuleCreateInfo-pCode-01091`.
///
/// If `pipelineCache` is a pipeline cache, the internal pipelines that prepare captures are
/// compiled with it immediately. If it is `VK_NULL_HANDLE`, each of them is compiled when a capture
/// that needs it is first recorded.
///
/// # Safety
/// `requiredFeatures` is live. `device` was created on its physical device with what
/// `vkxfb_required_features_add_to` added, and outlives the context, its pipelines, its captures and
/// its query pools. `pipelineCache` is `VK_NULL_HANDLE` or a pipeline cache of the device that nothing
/// else uses meanwhile. `pContext` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_create(
    required_features: *const VkxfbRequiredFeatures,
    device: vk::Device,
    pipeline_cache: vk::PipelineCache,
    p_context: *mut *mut VkxfbContext,
) -> VkxfbResult {
    unsafe {
        create(p_context, "pContext", || {
            let enabled = required(required_features, "requiredFeatures")?;
            if device == vk::Device::null() {
                return Err(Error::Null("device"));
            }
            let shared = Arc::new(Shared::new(enabled, device, pipeline_cache)?);
            Ok(VkxfbContext { shared })
        })
    }
}

/// Creates a context for an existing device, which for example an engine or another library
/// created. This submits nothing.
///
/// `pCreateInfo` says what the device was created with: its extensions in
/// `ppEnabledExtensionNames`, and its features in `pEnabledFeatures` or in the chain. Queues are
/// not read. The structure need not be the one that the device was created with, and may leave out
/// extensions and features that captures do not need. Returns `VKXFB_ERROR_UNAVAILABLE` if captures
/// need something that the structure does not contain; `vkxfb_last_error` names it.
///
/// Captures need `bufferDeviceAddress` (below Vulkan 1.2 with `VK_KHR_buffer_device_address`).
/// Without it they use descriptors, and need `shaderStorageBufferArrayDynamicIndexing` (below
/// Vulkan 1.1 with `VK_KHR_storage_buffer_storage_class`). A device with `vulkanMemoryModel` also
/// needs `vulkanMemoryModelDeviceScope`, so `vulkanMemoryModel` must not be left out. Captures also make use of:
/// - `storageBuffer8BitAccess` and `shaderInt8` (below Vulkan 1.2 with `VK_KHR_8bit_storage` and
///   `VK_KHR_shader_float16_int8`): index buffers of any size, not only of multiples of 4 bytes;
/// - `shaderInt64`: faster captures on llvmpipe.
///
/// The library cannot query what a device was created with, so it does not notice if `pCreateInfo`
/// has what the device lacks. Captures may then work or not, and the validation layer reports the
/// errors that `vkxfb_context_create` names. If you do not know whether a feature was enabled,
/// leave it out. For `vulkanMemoryModel` that is no answer: the validation layer reports
/// `VUID-RuntimeSpirv-vulkanMemoryModel-06265` if it was enabled without `vulkanMemoryModelDeviceScope`.
///
/// The argument `pipelineCache` is that of `vkxfb_context_create`.
///
/// # Safety
/// `pInfo` and `pCreateInfo` point to valid structures; the device was created on the physical device, with
/// everything in `pCreateInfo`. The instance and the device outlive the context, its pipelines, its captures
/// and its query pools. `pipelineCache` is `VK_NULL_HANDLE` or a pipeline cache of the device that nothing
/// else uses meanwhile. `pContext` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_create_for_device(
    p_info: *const VkxfbPhysicalDeviceInfo,
    device: vk::Device,
    p_create_info: *const vk::DeviceCreateInfo<'_>,
    pipeline_cache: vk::PipelineCache,
    p_context: *mut *mut VkxfbContext,
) -> VkxfbResult {
    unsafe {
        create(p_context, "pContext", || {
            let info = read(p_info, "pInfo")?;
            let created_with = required(p_create_info, "pCreateInfo")?;
            if device == vk::Device::null() {
                return Err(Error::Null("device"));
            }
            let names = created_with.pp_enabled_extension_names;
            strings(names, created_with.enabled_extension_count, "ppEnabledExtensionNames")?;
            typed_chain(created_with.p_next, "pCreateInfo")?;
            let enabled = VkxfbRequiredFeatures::query(&info, Some(created_with))?;
            let shared = Arc::new(Shared::new(&enabled, device, pipeline_cache)?);
            Ok(VkxfbContext { shared })
        })
    }
}

/// Destroys a context. NULL is ignored.
///
/// # Safety
/// `context` is live or NULL, and is not used any more. The device has executed everything that was
/// recorded with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_destroy(context: *mut VkxfbContext) {
    guard_quietly(|| drop(unsafe { owned(context) }));
}

/// Returns the usage that all buffers that captures read and write must have, in addition to the
/// usage that the application needs: vertex buffers, index buffers, buffers of draw arguments,
/// counter buffers and capture buffers.
///
/// This is `VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT` or `VK_BUFFER_USAGE_STORAGE_BUFFER_BIT`. With
/// the former the memory must be allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
/// The size of a vertex buffer must be a multiple of 4 bytes, and so must that of an index buffer if
/// the device lacks `storageBuffer8BitAccess` or `shaderInt8`. Returns 0 if `context` is NULL.
///
/// # Safety
/// `context` is live or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_buffer_usage(
    context: *const VkxfbContext,
) -> vk::BufferUsageFlags {
    unsafe { context.as_ref() }.map_or(vk::BufferUsageFlags::empty(), |context| {
        context.shared.context.buffer_usages(Backend::Compute).capture
    })
}

/// Properties of a context.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbContextProperties {
    /// The `sizeof` of the structure, as `VKXFB_INIT` sets it.
    pub struct_size: usize,
    /// The result of `vkxfb_context_buffer_usage`.
    pub buffer_usage: vk::BufferUsageFlags,
    /// The flags with which memory of such buffers must be allocated:
    /// `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT` or none.
    pub memory_allocate_flags: vk::MemoryAllocateFlags,
    /// The largest range of a capture buffer, in bytes.
    pub max_capture_buffer_size: vk::DeviceSize,
    /// Whether captures access memory by descriptors, because there are no device addresses, or
    /// because of `VKXFB_DEVICE_DESCRIPTORS`. Then a recording disturbs all descriptor sets of the
    /// compute bind point, and accesses at most `storageBuffers` buffers.
    pub uses_descriptors: vk::Bool32,
    /// The number of storage buffers that a capture uses, or 0 if it uses addresses.
    pub storage_buffers: u32,
    /// Whether the size of an index buffer may be any number of bytes, not only a multiple of 4.
    pub has_byte_loads: vk::Bool32,
    /// Whether `vkxfb_capture_record_draw_commands` and `vkxfb_late_draws_create` may be called.
    pub has_indirect_draws: vk::Bool32,
}

extensible!(VkxfbContextProperties { ..has_indirect_draws });

/// Returns the properties of a context.
///
/// # Safety
/// `context` is live, and `pProperties` points to a valid structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_get_properties(
    context: *const VkxfbContext,
    p_properties: *mut VkxfbContextProperties,
) -> VkxfbResult {
    guard(|| {
        let (context, properties) = unsafe {
            (required(context, "context")?, Output::required(p_properties, "pProperties")?)
        };
        let context = &context.shared.context;
        let enabled = context.enabled();
        let made = VkxfbContextProperties {
            struct_size: size_of::<VkxfbContextProperties>(),
            buffer_usage: context.buffer_usages(Backend::Compute).capture,
            memory_allocate_flags: if context.has_addresses() {
                vk::MemoryAllocateFlags::DEVICE_ADDRESS
            } else {
                vk::MemoryAllocateFlags::empty()
            },
            max_capture_buffer_size: context.max_capture_buffer(),
            uses_descriptors: enabled.uses_descriptors().into(),
            storage_buffers: enabled.storage_buffers,
            has_byte_loads: enabled.byte_loads.into(),
            has_indirect_draws: context.settings().indirect_draws.into(),
        };
        unsafe { properties.write(&made) };
        Ok(())
    })
}

/// Compiles all internal pipelines that prepare captures and that are not compiled yet, so that no
/// recording waits for a compiler. Any thread may call this while others record.
///
/// # Safety
/// `context` is live. `pipelineCache` is `VK_NULL_HANDLE` or a pipeline cache of the device that nothing
/// else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_prepare(
    context: *const VkxfbContext,
    pipeline_cache: vk::PipelineCache,
) -> VkxfbResult {
    guard(|| {
        let shared = &unsafe { required(context, "context") }?.shared;
        // SAFETY: the caller's contract; the kernels live as long as the context.
        Ok(unsafe { shared.kernels.prepare(&shared.context, pipeline_cache) }?)
    })
}

/// Records a barrier after all captures that were recorded before, for commands that read what the
/// captures wrote: one `vkCmdPipelineBarrier` with one global memory barrier, which changes no
/// state of the command buffer.
///
/// `dstStageMask` and `dstAccessMask` are the stages and accesses that read, for example
/// `VK_PIPELINE_STAGE_VERTEX_INPUT_BIT` and `VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT`.
///
/// # Safety
/// `context` is live. `commandBuffer` is a command buffer of its device that is being recorded, for
/// a queue with compute and these stages, outside of a render pass instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_record_barrier(
    context: *const VkxfbContext,
    command_buffer: vk::CommandBuffer,
    dst_stage_mask: vk::PipelineStageFlags,
    dst_access_mask: vk::AccessFlags,
) -> VkxfbResult {
    guard(|| {
        let context = &unsafe { required(context, "context") }?.shared.context;
        if command_buffer == vk::CommandBuffer::null() {
            return Err(Error::Null("commandBuffer"));
        }
        let consumer = ConsumerScope { stages: dst_stage_mask, access: dst_access_mask };
        unsafe { context.capture_barrier(command_buffer, Backend::Compute, consumer) };
        Ok(())
    })
}

impl Shared {
    /// # Safety
    /// The contract of [`vkxfb_context_create`].
    unsafe fn new(
        required: &VkxfbRequiredFeatures,
        device: vk::Device,
        cache: vk::PipelineCache,
    ) -> Result<Self, Error> {
        let VkxfbRequiredFeatures { instance, capabilities, features, flags, .. } = required;
        let has = |flag| flags & flag != 0;
        let device = unsafe { ash::Device::load(instance.fp_v1_0(), device) };
        let mut context =
            unsafe { Context::new(instance, &device, capabilities.clone(), features.clone())? };
        let mut settings = context.settings();
        settings.indirect_dispatch &= !has(VKXFB_DEVICE_NO_INDIRECT_DISPATCH);
        settings.indirect_draws &= !has(VKXFB_DEVICE_NO_INDIRECT_DRAWS);
        settings.optimizes_shaders &= !has(VKXFB_DEVICE_NO_OPTIMIZATION);
        context.set_settings(settings);
        if has(VKXFB_DEVICE_DEBUG_NAMES) {
            // SAFETY: the caller's contract; the instance has the extension, or the flag would have been refused.
            unsafe { context.set_debug_utils(instance) };
        }
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.clone(),
            device,
            physical_device: required.physical_device,
            debug_settings: AllocatorDebugSettings::default(),
            buffer_device_address: context.has_addresses(),
            allocation_sizes: AllocationSizes::new(BLOCK, BLOCK),
        })?;
        // SAFETY: as above.
        let kernels = unsafe { Kernels::new(&context) }?;
        let shared = Self { context, kernels, allocator: Mutex::new(allocator) };
        if cache != vk::PipelineCache::null() {
            // SAFETY: as above.
            unsafe { shared.kernels.prepare(&shared.context, cache) }?;
        }
        Ok(shared)
    }

    /// Checks that a buffer has `size` bytes from `offset` on, unless it is null. `what` names the
    /// range in the message. The size of a buffer cannot be queried, so the end is compared with
    /// the size of its memory, which can be a little larger.
    ///
    /// # Safety
    /// The buffer is null, or a live one of the device.
    pub(crate) unsafe fn check_range(
        &self,
        what: fmt::Arguments<'_>,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
    ) -> Result<(), Error> {
        // For `VK_WHOLE_SIZE` the recorder returns an error with a better message.
        if buffer == vk::Buffer::null() || [0, vk::WHOLE_SIZE].contains(&size) {
            return Ok(());
        }
        let end = offset.saturating_add(size);
        let memory = unsafe { self.context.device().get_buffer_memory_requirements(buffer) }.size;
        if end <= memory {
            Ok(())
        } else {
            Err(Error::PastTheEnd { what: what.to_string(), end, memory })
        }
    }

    pub(crate) const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Locks the allocator. A panic does not make it unusable, although blocks may be leaked.
    pub(crate) fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the device is live and no longer uses the kernels, by the contracts of the
        // functions that destroy, and this is the last reference.
        unsafe { self.context.destroy(self.kernels.clone(), &mut ()) };
    }
}
