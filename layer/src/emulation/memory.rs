//! Memory of what captures need: of all arenas, queries and arguments of a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationError, AllocationSizes};
use vkxfb::runtime::{Allocation, AllocationRequest, MemoryAllocator, RuntimeError};

/// Bytes of a block, of which a device has few: a capture takes some kilobytes.
const BLOCK: u64 = 4 << 20;

/// The allocator of a device, shared by whoever has memory of it.
#[derive(Clone)]
pub(super) struct Memory(Arc<Mutex<Option<Allocator>>>);

impl Memory {
    /// # Errors
    /// The allocator's.
    ///
    /// # Safety
    /// All of them are live and belong together; buffer device addresses are enabled if so said.
    pub(super) unsafe fn new(
        instance: &ash::Instance,
        physical_device: vk::PhysicalDevice,
        device: &ash::Device,
        addresses: bool,
    ) -> Result<Self, AllocationError> {
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.clone(),
            device: device.clone(),
            physical_device,
            debug_settings: Default::default(),
            buffer_device_address: addresses,
            allocation_sizes: AllocationSizes::new(BLOCK, BLOCK),
        })?;
        Ok(Self(Arc::new(Mutex::new(Some(allocator)))))
    }

    /// Does something with the allocator; nothing once the device is gone.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Allocator) -> R) -> Option<R> {
        self.lock().as_mut().map(f)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Allocator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees all blocks: the device is about to be destroyed.
    pub(super) fn close(&self) {
        drop(self.lock().take());
    }
}

/// It is locked for each piece of memory, and not while a capture is recorded with what grows by it.
// SAFETY: what it gives is the allocator's.
unsafe impl MemoryAllocator for Memory {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, RuntimeError> {
        match self.lock().as_mut() {
            // SAFETY: the caller's contract.
            Some(allocator) => unsafe { MemoryAllocator::allocate(allocator, request) },
            None => Err(RuntimeError::Allocation {
                name: request.name.to_owned(),
                size: request.requirements.size,
                source: "the device is gone".into(),
            }),
        }
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        if let Some(allocator) = self.lock().as_mut() {
            // SAFETY: the caller's contract.
            unsafe { MemoryAllocator::free(allocator, allocation) };
        }
    }
}
