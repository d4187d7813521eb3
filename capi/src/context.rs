//! A device that captures, with everything that its captures share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings};
use vkxfb::lower::Backend;
use vkxfb::lower::kernel::Kernel;
use vkxfb::runtime::{Arena, ArenaAccess, ConsumerScope, Context, Kernels, RuntimeError};

use crate::arguments::{owned, required, required_mut};
use crate::device::VkxfbRequiredFeatures;
use crate::error::{Error, VkxfbResult, guard, guard_quietly};

/// The size in bytes of the memory objects for arenas. Most captures need a few kilobytes.
const BLOCK: u64 = 4 << 20;

/// A device that captures: its commands, internal pipelines that prepare captures, and an allocator
/// of device memory.
///
/// Several threads may use it at the same time. Contexts, pipelines, captures and query pools can be
/// destroyed in any order, as long as the device outlives them all.
pub struct VkxfbContext {
    pub(crate) shared: Arc<Shared>,
}

/// What a context and all that is made with it share.
pub(crate) struct Shared {
    pub(crate) context: Context,
    kernels: Kernels,
    allocator: Mutex<Allocator>,
}

/// Creates a context for a device that was created with `requiredFeatures`. This submits nothing.
///
/// If `pipelineCache` is a pipeline cache, the internal pipelines that prepare captures are
/// compiled through it at once. If it is `VK_NULL_HANDLE`, each of them is compiled when a capture
/// is first recorded that needs it.
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
    guard(|| {
        // SAFETY: the caller's contract.
        let (enabled, created) = unsafe {
            (required(required_features, "requiredFeatures")?, required_mut(p_context, "pContext")?)
        };
        if device == vk::Device::null() {
            return Err(Error::Null("device"));
        }
        // SAFETY: as above.
        let shared = Arc::new(unsafe { Shared::new(enabled, device, pipeline_cache) }?);
        *created = Box::into_raw(Box::new(VkxfbContext { shared }));
        Ok(())
    })
}

/// Destroys a context. NULL is ignored.
///
/// # Safety
/// `context` is live or NULL, and is not used any more. The device has executed everything that was
/// recorded with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkxfb_context_destroy(context: *mut VkxfbContext) {
    // SAFETY: the caller's contract.
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
    // SAFETY: the caller's contract.
    unsafe { context.as_ref() }.map_or(vk::BufferUsageFlags::empty(), |context| {
        context.shared.context.capture_buffer_usage(Backend::Compute)
    })
}

/// Records a barrier after all captures that were recorded before, for commands that read what they
/// wrote: one `vkCmdPipelineBarrier` with one global memory barrier, which changes no state of the
/// command buffer.
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
        // SAFETY: the caller's contract.
        let context = &unsafe { required(context, "context") }?.shared.context;
        if command_buffer == vk::CommandBuffer::null() {
            return Err(Error::Null("commandBuffer"));
        }
        let consumer = ConsumerScope { stages: dst_stage_mask, access: dst_access_mask };
        // SAFETY: as above.
        unsafe { context.capture_barrier(command_buffer, Backend::Compute, consumer) };
        Ok(())
    })
}

impl Shared {
    /// # Safety
    /// As [`vkxfb_context_create`].
    unsafe fn new(
        required: &VkxfbRequiredFeatures,
        device: vk::Device,
        cache: vk::PipelineCache,
    ) -> Result<Self, Error> {
        let VkxfbRequiredFeatures { instance, capabilities, features, .. } = required;
        // SAFETY: the caller's contract.
        let device = unsafe { ash::Device::load(instance.fp_v1_0(), device) };
        // SAFETY: as above.
        let context =
            unsafe { Context::new(instance, &device, capabilities.clone(), features.clone())? };
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
            unsafe { shared.kernels.prepare(&shared.context, &Kernel::ALL, cache) }?;
        }
        Ok(shared)
    }

    pub(crate) const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Calls `f` with an arena that grows.
    ///
    /// # Safety
    /// The arena belongs to this context and is destroyed with its allocator.
    pub(crate) unsafe fn with_growing<R>(
        &self,
        arena: &mut Arena,
        f: impl FnOnce(ArenaAccess<'_>) -> Result<R, RuntimeError>,
    ) -> Result<R, RuntimeError> {
        let mut allocator = self.allocator();
        // SAFETY: the caller's contract.
        f(unsafe { arena.growing(&mut *allocator) })
    }

    /// After a panic the allocator is still usable; at worst blocks are leaked.
    pub(crate) fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the device is live and no longer uses the kernels, by the contracts of the
        // functions that destroy, and this is the last reference.
        unsafe { self.kernels.clone().destroy(&self.context) };
    }
}
