//! Allocates memory for captures on a device: for arenas, queries and the arguments of draws.

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationError, AllocationSizes};
use vkxfb::runtime::{Allocation, AllocationRequest, MemoryAllocator};

/// The size in bytes of a memory block. A capture takes some kilobytes, so few blocks are enough.
const BLOCK: u64 = 4 << 20;

/// The memory allocator of a device. Each object that has memory from the allocator has a clone of this value. The
/// `Option` is `None` after [`close`](Self::close).
#[derive(Clone)]
pub(super) struct Memory(Arc<Mutex<Option<Allocator>>>);

impl Memory {
    /// Creates the allocator of a device.
    ///
    /// # Errors
    /// The allocator cannot be created.
    ///
    /// # Safety
    /// The instance and the devices are live and belong together. If `addresses`, the feature
    /// `bufferDeviceAddress` is enabled.
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

    /// Calls `f` with the allocator. Returns `None` after [`close`](Self::close).
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Allocator) -> R) -> Option<R> {
        self.lock().as_mut().map(f)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Allocator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees all blocks, because the device is about to be destroyed.
    pub(super) fn close(&self) {
        drop(self.lock().take());
    }
}

/// Locks the allocator only during each allocation. If it were locked while a capture is recorded, other threads would
/// have to wait.
// SAFETY: the memory comes from `Allocator`, which meets the requirements of the trait.
unsafe impl MemoryAllocator for Memory {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, Box<dyn Error + Send + Sync>> {
        match self.lock().as_mut() {
            Some(allocator) => unsafe { MemoryAllocator::allocate(allocator, request) },
            None => Err("the device was destroyed".into()),
        }
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        if let Some(allocator) = self.lock().as_mut() {
            unsafe { MemoryAllocator::free(allocator, allocation) };
        }
    }
}
