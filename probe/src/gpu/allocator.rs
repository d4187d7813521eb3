//! The memory of a [`Gpu`](super::Gpu), which tells its own allocations from those of another.

use std::any::Any;

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use vkxfb::internal::{ContextId, HasContext};
use vkxfb::runtime::{Allocation, AllocationRequest, Context, MemoryAllocator, RuntimeError};

/// Memory for the objects of a context.
pub(super) struct OwnAllocator {
    raw: Allocator,
    owner: ContextId,
}

/// What an allocation carries.
struct Backing {
    owner: ContextId,
    inner: Box<dyn Any + Send + Sync>,
}

impl OwnAllocator {
    /// # Safety
    /// All are of each other, and outlive the allocator.
    pub(super) unsafe fn new(
        instance: &ash::Instance,
        physical_device: vk::PhysicalDevice,
        context: &Context,
    ) -> Result<Self, RuntimeError> {
        let raw = Allocator::new(&AllocatorCreateDesc {
            instance: instance.clone(),
            device: context.device().clone(),
            physical_device,
            debug_settings: gpu_allocator::AllocatorDebugSettings::default(),
            buffer_device_address: context.has_addresses(),
            allocation_sizes: gpu_allocator::AllocationSizes::new(8 << 20, 8 << 20)
                .with_max_device_memblock_size(256 << 20)
                .with_max_host_memblock_size(256 << 20),
        })
        .map_err(|source| RuntimeError::Allocation {
            name: "the allocator".to_owned(),
            size: 0,
            source: Box::new(source),
        })?;
        Ok(Self { raw, owner: context.context_id() })
    }
}

// SAFETY: the other implementation gives the memory.
unsafe impl MemoryAllocator for OwnAllocator {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, RuntimeError> {
        // SAFETY: the caller's contract; it was made for device addresses where the device has them.
        let allocation = unsafe { MemoryAllocator::allocate(&mut self.raw, request) }?;
        let backing = Backing { owner: self.owner, inner: allocation.backing };
        Ok(Allocation { backing: Box::new(backing), ..allocation })
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        match allocation.backing.downcast::<Backing>() {
            Ok(backing) if backing.owner == self.owner => {
                let allocation = Allocation { backing: backing.inner, ..allocation };
                // SAFETY: it came from this allocator, and the device no longer uses it by the caller's contract.
                unsafe { MemoryAllocator::free(&mut self.raw, allocation) };
            }
            Ok(_) | Err(_) => tracing::warn!("device memory of another allocator is leaked"),
        }
    }
}
