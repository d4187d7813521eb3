//! [`SimpleAllocator`], for applications without a memory allocator.

use std::error::Error;
use std::ptr::NonNull;

use ash::vk;

use crate::runtime::device::context::Context;
use crate::runtime::memory::buffers::{
    Allocation, AllocationRequest, MemoryAllocator, MemoryLocation,
};

/// A [`MemoryAllocator`] that allocates a `VkDeviceMemory` for each buffer.
///
/// An [`Arena`](crate::runtime::Arena) takes two allocations, for upload and for scratch memory, and another one each
/// time that one of the two grows. A device has at most `maxMemoryAllocationCount` allocations in all, often 4096.
///
/// ```no_run
/// # use ash::vk;
/// # use vkxfb::{Arena, ArenaDesc, Context, RuntimeError, SimpleAllocator};
/// # unsafe fn make(
/// #     instance: &ash::Instance, physical_device: vk::PhysicalDevice, context: &Context,
/// # ) -> Result<(), RuntimeError> { unsafe {
/// let mut allocator = SimpleAllocator::new(instance, physical_device, context);
/// let arena = Arena::new(context, &mut allocator, &ArenaDesc::new(1, 100))?;
/// # Ok(())
/// # } }
/// ```
///
/// Dropping the allocator frees nothing: the memory belongs to the buffers and arenas, which must be
/// [destroyed](Context::destroy).
#[derive(Debug, Clone)]
pub struct SimpleAllocator {
    context: Context,
    memory: vk::PhysicalDeviceMemoryProperties,
}

/// Marks the allocations of a [`SimpleAllocator`], so that [`free`](MemoryAllocator::free) can detect that it is called
/// with an allocation of another allocator.
struct Own;

impl SimpleAllocator {
    /// Makes an allocator for the device of `context`.
    ///
    /// # Safety
    /// The device of `context` was created from `physical_device`, which belongs to `instance`. The device outlives the
    /// allocator.
    pub unsafe fn new(
        instance: &ash::Instance,
        physical_device: vk::PhysicalDevice,
        context: &Context,
    ) -> Self {
        let memory = unsafe { instance.get_physical_device_memory_properties(physical_device) };
        Self { context: context.clone(), memory }
    }

    /// Returns the index and properties of the memory type to use for `location`: the first type with the best
    /// properties, or otherwise the first one with the next best. `None` if no type in `type_bits` has the properties
    /// that the location requires. Vulkan lists types with fewer properties first, so the first type has no additional
    /// property for which a feature would have to be enabled.
    fn memory_type(
        &self,
        type_bits: u32,
        location: MemoryLocation,
    ) -> Option<(u32, vk::MemoryPropertyFlags)> {
        use vk::MemoryPropertyFlags as Flags;
        let upload = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let wanted: &[Flags] = match location {
            MemoryLocation::Device => &[Flags::DEVICE_LOCAL, Flags::empty()],
            MemoryLocation::Upload => &[upload],
            MemoryLocation::Readback => {
                &[upload | Flags::HOST_CACHED, Flags::HOST_VISIBLE | Flags::HOST_CACHED, upload]
            }
        };
        let types = self.memory.memory_types_as_slice();
        wanted.iter().find_map(|&wanted| {
            (0..)
                .zip(types)
                .map(|(index, of_type)| (index, of_type.property_flags))
                .find(|&(index, flags)| type_bits & (1 << index) != 0 && flags.contains(wanted))
        })
    }

    /// Maps a whole memory object. Returns its host address.
    ///
    /// # Safety
    /// The memory is live, not mapped, and `HOST_VISIBLE`.
    unsafe fn map(&self, memory: vk::DeviceMemory) -> Result<Option<NonNull<u8>>, vk::Result> {
        let flags = vk::MemoryMapFlags::empty();
        // SAFETY: the memory was just allocated from a type that is visible to the host.
        let mapped = unsafe { self.context.device().map_memory(memory, 0, vk::WHOLE_SIZE, flags) }?;
        Ok(NonNull::new(mapped.cast()))
    }
}

// SAFETY: each allocation is its own memory object, of a type and size that fit. If the location requires it, the whole
// object is mapped until it is freed.
unsafe impl MemoryAllocator for SimpleAllocator {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, Box<dyn Error + Send + Sync>> {
        let AllocationRequest { requirements, location, device_address, .. } = *request;
        let size = requirements.size;
        let (index, properties) = self
            .memory_type(requirements.memory_type_bits, location)
            .ok_or("no memory type fits")?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default();
        if device_address {
            flags = flags.flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        }
        let mut info =
            vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(index);
        if device_address {
            info = info.push_next(&mut flags);
        }
        let device = self.context.device();
        let memory = unsafe { device.allocate_memory(&info, None) }?;
        let mapped = match location {
            MemoryLocation::Device => Ok(None),
            // SAFETY: the memory was just allocated, from a type that is visible to the host.
            MemoryLocation::Upload | MemoryLocation::Readback => unsafe { self.map(memory) },
        };
        let mapped = mapped.inspect_err(|_| {
            // SAFETY: nothing uses the memory yet.
            unsafe { device.free_memory(memory, None) };
        })?;
        let coherent = properties.contains(vk::MemoryPropertyFlags::HOST_COHERENT);
        Ok(Allocation { memory, offset: 0, size, mapped, coherent, backing: Box::new(Own) })
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        if allocation.backing.is::<Own>() {
            // SAFETY: the caller's contract. Freeing memory also unmaps it.
            unsafe { self.context.device().free_memory(allocation.memory, None) };
        } else {
            tracing::warn!("device memory of another allocator is leaked");
        }
    }
}
