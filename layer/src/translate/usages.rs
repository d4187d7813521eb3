//! Translates the create infos of buffers and descriptor set layouts and the allocate info of memory, so that captures
//! can access buffers and descriptors. Buffers lose the extension's usages and get those that captures need, and the
//! sizes of buffers that captures may access are rounded up to whole dwords. Memory gets the flag `DEVICE_ADDRESS` if
//! captures use device addresses. Bindings of set layouts that are visible to a stage before rasterization become
//! visible to compute shaders, too.

use std::ffi::c_void;

use ash::vk;
use vkxfb::runtime::RequiredFeatures;

use super::memory::Arena;
use crate::chain::{all_of, slice};

/// The ways in which captures access the application's buffers. They determine the usages that the layer
/// adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usages {
    /// Whether captures use device addresses. `bufferDeviceAddress` must be enabled then, because the memory flag
    /// `DEVICE_ADDRESS` is added to all allocations that are not dedicated to an image.
    pub(crate) addresses: bool,
    /// Whether captures use storage buffer descriptors.
    pub(crate) descriptors: bool,
    /// Whether kernels, which are compute shaders, copy query results to the application's buffers.
    /// Any buffer with the usage `TRANSFER_DST` may receive them.
    pub(crate) results: bool,
}

/// The buffer usages of `VK_EXT_transform_feedback`.
const TRANSFORM_FEEDBACK: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT.as_raw()
        | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT.as_raw(),
);

/// A buffer with one of these usages may be read or written by captures.
const REACHED: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    TRANSFORM_FEEDBACK.as_raw()
        | vk::BufferUsageFlags::VERTEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT.as_raw(),
);

/// Returns the lower 32 bits of the usage that the application requests for a buffer.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn usage_of_buffer(info: &vk::BufferCreateInfo<'_>) -> vk::BufferUsageFlags {
    let flags2 = unsafe { all_of::<vk::BufferUsageFlags2CreateInfoKHR<'_>>(info.p_next) }.next();
    flags2.map_or(info.usage, |flags| vk::BufferUsageFlags::from_raw(flags.usage.as_raw() as u32))
}

impl Usages {
    /// Returns how captures access buffers on a device that was created with the features that captures require.
    pub(crate) fn emulating(required: &RequiredFeatures) -> Self {
        Self {
            addresses: required.address_source.is_some(),
            descriptors: required.uses_descriptors(),
            results: true,
        }
    }

    /// Translates the usage of a buffer: removes the extension's usages and adds those that captures need. If `usage`
    /// is not empty, the result is not empty either.
    pub(crate) fn buffer(self, usage: vk::BufferUsageFlags) -> vk::BufferUsageFlags {
        use vk::BufferUsageFlags as Usage;
        let is_reached = usage.intersects(REACHED)
            || self.results && usage.intersects(vk::BufferUsageFlags::TRANSFER_DST);
        let mut kept = usage & !TRANSFORM_FEEDBACK;
        if is_reached && self.addresses {
            kept |= Usage::SHADER_DEVICE_ADDRESS;
        }
        if is_reached && self.descriptors {
            kept |= Usage::STORAGE_BUFFER;
        }
        kept
    }

    /// Translates a 64-bit usage of a buffer. Its lower 32 bits are [the same
    /// usages](https://docs.vulkan.org/refpages/latest/refpages/source/VkBufferUsageFlagBits2.html) as those that
    /// [`buffer`](Self::buffer) translates. The upper 32 bits stay.
    pub(crate) fn buffer2(self, usage: vk::BufferUsageFlags2KHR) -> vk::BufferUsageFlags2KHR {
        let low = self.buffer(vk::BufferUsageFlags::from_raw(usage.as_raw() as u32));
        vk::BufferUsageFlags2KHR::from_raw(usage.as_raw() >> 32 << 32 | u64::from(low.as_raw()))
    }

    /// Translates the usage in the `VkBufferUsageFlags2CreateInfo` of a chain, which replaces the
    /// usage in the main structure. Returns the changed chain, or the same chain if it has no such
    /// structure.
    ///
    /// # Safety
    /// The chain is valid.
    unsafe fn chained(self, chain: *const c_void, arena: &Arena) -> *const c_void {
        // SAFETY: the caller's contract; `found` is in the chain.
        unsafe {
            match all_of::<vk::BufferUsageFlags2CreateInfoKHR<'_>>(chain).next() {
                None => chain,
                Some(found) => {
                    let new = vk::BufferUsageFlags2CreateInfoKHR {
                        usage: self.buffer2(found.usage),
                        ..*found
                    };
                    arena.replaced(chain, found, new)
                }
            }
        }
    }

    /// Translates the create info of a buffer, for `vkCreateBuffer` and
    /// `vkGetDeviceBufferMemoryRequirements`. An opaque capture address in its chain is kept.
    ///
    /// # Safety
    /// The structure is valid, and outlives the result.
    pub(crate) unsafe fn buffer_create_info<'a>(
        self,
        info: &vk::BufferCreateInfo<'a>,
        arena: &Arena,
    ) -> vk::BufferCreateInfo<'a> {
        let usage = unsafe { usage_of_buffer(info) };
        vk::BufferCreateInfo {
            p_next: unsafe { self.chained(info.p_next, arena) },
            usage: self.buffer(info.usage),
            // Captures read whole dwords, so the size is rounded up. The program allocates enough
            // memory, because it queries the memory requirements of the larger buffer.
            size: if usage.intersects(REACHED) {
                info.size.checked_next_multiple_of(4).unwrap_or(info.size)
            } else {
                info.size
            },
            ..*info
        }
    }

    /// Translates the structure for `vkGetPhysicalDeviceExternalBufferProperties`, so that the
    /// driver's answer is for the usage with which the buffer will be created.
    ///
    /// # Safety
    /// The contract of [`buffer_create_info`](Self::buffer_create_info).
    pub(crate) unsafe fn external_buffer_info<'a>(
        self,
        info: &vk::PhysicalDeviceExternalBufferInfo<'a>,
        arena: &Arena,
    ) -> vk::PhysicalDeviceExternalBufferInfo<'a> {
        vk::PhysicalDeviceExternalBufferInfo {
            p_next: unsafe { self.chained(info.p_next, arena) },
            usage: self.buffer(info.usage),
            ..*info
        }
    }

    /// Translates the allocate info of `vkAllocateMemory`: if captures use device addresses, adds the flag
    /// `DEVICE_ADDRESS`, because the memory of a buffer with a device address [must have
    /// it](https://docs.vulkan.org/refpages/latest/refpages/source/vkBindBufferMemory.html)
    /// (VUID-vkBindBufferMemory-bufferDeviceAddress-03339). Vulkan allows the flag for imported memory, too. Memory
    /// that is dedicated to an image does not get the flag, because no buffer can be bound to it.
    ///
    /// # Safety
    /// The structure is valid, and outlives the result.
    pub(crate) unsafe fn memory_allocate_info<'a>(
        self,
        info: &vk::MemoryAllocateInfo<'a>,
        arena: &Arena,
    ) -> vk::MemoryAllocateInfo<'a> {
        // SAFETY: the caller's contract; the replaced flags are in the chain.
        unsafe {
            let mut dedicated = all_of::<vk::MemoryDedicatedAllocateInfo<'_>>(info.p_next);
            if !self.addresses || dedicated.any(|info| info.image != vk::Image::null()) {
                return *info;
            }
            let address = vk::MemoryAllocateFlags::DEVICE_ADDRESS;
            let p_next = match all_of::<vk::MemoryAllocateFlagsInfo<'_>>(info.p_next).next() {
                Some(found) if found.flags.contains(address) => info.p_next,
                Some(found) => {
                    let flags = found.flags | address;
                    let new = vk::MemoryAllocateFlagsInfo { flags, ..*found };
                    arena.replaced(info.p_next, found, new)
                }
                None => {
                    let mut new = vk::MemoryAllocateFlagsInfo::default().flags(address);
                    new.p_next = info.p_next;
                    (&raw const *arena.keep(new)).cast()
                }
            };
            vk::MemoryAllocateInfo { p_next, ..*info }
        }
    }
}

/// Translates the create info for `vkCreateDescriptorSetLayout` and
/// `vkGetDescriptorSetLayoutSupport`: makes bindings that are visible to a stage before
/// rasterization visible to compute shaders as well. The bindings keep their order, because arrays
/// in the chain have one element for each binding.
///
/// These descriptors then also count against the limits of the compute stage (`maxPerStageDescriptor*`), so an
/// application that comes close to these limits may exceed them. The stages of push constant ranges are not changed,
/// because then `vkCmdPushConstants` would have to name the added stage.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn set_layout<'a>(
    info: &vk::DescriptorSetLayoutCreateInfo<'a>,
    arena: &Arena,
) -> vk::DescriptorSetLayoutCreateInfo<'a> {
    let bindings = unsafe { slice(info.p_bindings, info.binding_count) };
    let visible = arena.map(bindings, |binding| {
        let mut visible = *binding;
        visible.stage_flags = vkxfb::runtime::vulkan::with_compute(visible.stage_flags);
        visible
    });
    vk::DescriptorSetLayoutCreateInfo { p_bindings: visible.as_ptr(), ..*info }
}
