//! The memory allocator of a [`Gpu`](super::Gpu). It does not free allocations of other devices.

use std::any::Any;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use vkxfb::runtime::{
    Allocation, AllocationRequest, Context, MemoryAllocator, MemoryLocation, RuntimeError,
    SimpleAllocator,
};

use super::HostMemory;
use super::shadow::Shadows;

/// What the next allocator is known by.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Allocates the memory for all objects of a device.
pub(super) struct OwnAllocator {
    raw: Allocator,
    /// Allocates readback memory on devices whose cached memory is not coherent, because `raw` only
    /// uses coherent memory. `None` on other devices.
    cached: Option<SimpleAllocator>,
    /// The copies of mapped memory that emulate missing coherence. `None` unless
    /// [`HostMemory::NonCoherent`] is chosen.
    shadows: Option<Shadows>,
    owner: u64,
}

/// The private data of an allocation: which device and which allocator it is from.
struct Backing {
    owner: u64,
    is_cached: bool,
    inner: Box<dyn Any + Send + Sync>,
}

/// Whether the device has cached host-visible memory, but none that is also coherent.
fn is_cached_without_coherence(memory: &vk::PhysicalDeviceMemoryProperties) -> bool {
    use vk::MemoryPropertyFlags as Flags;
    let cached = Flags::HOST_VISIBLE | Flags::HOST_CACHED;
    let types = memory.memory_types_as_slice().iter().map(|of_type| of_type.property_flags);
    let mut cached = types.filter(|flags| flags.contains(cached)).peekable();
    cached.peek().is_some() && !cached.any(|flags| flags.contains(Flags::HOST_COHERENT))
}

impl OwnAllocator {
    /// Creates the allocator of a device.
    ///
    /// # Safety
    /// The instance created the physical device and the device of the context. They outlive the
    /// allocator.
    pub(super) unsafe fn new(
        instance: &ash::Instance,
        physical_device: vk::PhysicalDevice,
        context: &Context,
        host_memory: HostMemory,
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
        let cached = unsafe {
            let memory = instance.get_physical_device_memory_properties(physical_device);
            is_cached_without_coherence(&memory)
                .then(|| SimpleAllocator::new(instance, physical_device, context))
        };
        let shadows = (host_memory == HostMemory::NonCoherent).then(Shadows::default);
        Ok(Self { raw, cached, shadows, owner: NEXT.fetch_add(1, Ordering::Relaxed) })
    }

    /// The copies of mapped memory that emulate missing coherence, if there are any.
    pub(super) const fn shadows(&self) -> Option<&Shadows> {
        self.shadows.as_ref()
    }
}

// SAFETY: the memory comes from implementations of the same trait, or is a copy that lives as long
// as such memory.
unsafe impl MemoryAllocator for OwnAllocator {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, Box<dyn Error + Send + Sync>> {
        let is_readback = request.location == MemoryLocation::Readback;
        let cached = self.cached.as_mut().filter(|_| is_readback);
        let is_cached = cached.is_some();
        // SAFETY: the caller's contract; the allocators were created for device addresses if the
        // device has them.
        let mut allocation = unsafe {
            match cached {
                Some(cached) => cached.allocate(request),
                None => MemoryAllocator::allocate(&mut self.raw, request),
            }
        }?;
        if let Some(shadows) = self.shadows.as_mut().filter(|_| is_readback) {
            shadows.add(&mut allocation);
        }
        let backing = Backing { owner: self.owner, is_cached, inner: allocation.backing };
        allocation.backing = Box::new(backing);
        Ok(allocation)
    }

    unsafe fn free(&mut self, mut allocation: Allocation) {
        match allocation.backing.downcast::<Backing>() {
            Ok(backing) if backing.owner == self.owner => {
                let Backing { inner, is_cached, .. } = *backing;
                allocation.backing = inner;
                if let Some(shadows) = &mut self.shadows {
                    shadows.remove(&allocation);
                }
                // SAFETY: `is_cached` says from which allocator it came, and by the caller's
                // contract the device no longer uses it.
                unsafe {
                    match self.cached.as_mut().filter(|_| is_cached) {
                        Some(cached) => cached.free(allocation),
                        None => MemoryAllocator::free(&mut self.raw, allocation),
                    }
                }
            }
            Ok(_) | Err(_) => tracing::warn!("device memory of another allocator is leaked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coherent_memory_is_left_only_for_memory_that_the_host_reads_faster() {
        use vk::MemoryPropertyFlags as Flags;
        let (visible, coherent, cached) =
            (Flags::HOST_VISIBLE, Flags::HOST_COHERENT, Flags::HOST_CACHED);
        for (types, expected) in [
            (&[visible | coherent][..], false),
            (&[visible | coherent, visible | cached], true),
            (&[visible | coherent, visible | cached, visible | coherent | cached], false),
            (&[visible | coherent | cached], false),
            (&[visible | coherent, visible], false),
        ] {
            let mut memory = vk::PhysicalDeviceMemoryProperties {
                memory_type_count: types.len() as u32,
                ..Default::default()
            };
            for (of_type, &flags) in memory.memory_types.iter_mut().zip(types) {
                of_type.property_flags = flags;
            }
            assert_eq!(is_cached_without_coherence(&memory), expected, "{types:?}");
        }
    }
}
