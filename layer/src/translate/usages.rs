//! What buffers, memory and descriptors have to be made for, so that captures can reach them.

use std::ffi::c_void;

use ash::vk;

use super::memory::Arena;
use crate::chain::{all_of, slice};

/// What captures reach buffers by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usages {
    /// By device addresses. `bufferDeviceAddress` is enabled then, as all memory gets the flag.
    pub(crate) addresses: bool,
    /// By storage buffer descriptors.
    pub(crate) descriptors: bool,
    /// Whether kernels copy results of queries to where the application wants them: to anything that can be copied
    /// to.
    pub(crate) results: bool,
}

/// The extension's own.
const TRANSFORM_FEEDBACK: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT.as_raw()
        | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT.as_raw(),
);

/// Buffers that captures read, write, or count in.
const REACHED: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    TRANSFORM_FEEDBACK.as_raw()
        | vk::BufferUsageFlags::VERTEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT.as_raw(),
);

/// The usage that a buffer is created with, as the application wants it, of the lower 32 bits.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn usage_of_buffer(info: &vk::BufferCreateInfo<'_>) -> vk::BufferUsageFlags {
    // SAFETY: the caller's contract.
    let flags2 = unsafe { all_of::<vk::BufferUsageFlags2CreateInfoKHR<'_>>(info.p_next) }.next();
    flags2.map_or(info.usage, |flags| vk::BufferUsageFlags::from_raw(flags.usage.as_raw() as u32))
}

impl Usages {
    /// What the layer's captures take of a device, with addresses or without.
    pub(crate) const fn emulating(addresses: bool) -> Self {
        Self { addresses, descriptors: !addresses, results: true }
    }

    /// The usage of a buffer, without the extension's own and with what captures need. It does not become empty.
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

    /// The same with more bits, of which the lower ones are
    /// [the same](https://docs.vulkan.org/refpages/latest/refpages/source/VkBufferUsageFlagBits2.html).
    pub(crate) fn buffer2(self, usage: vk::BufferUsageFlags2KHR) -> vk::BufferUsageFlags2KHR {
        let low = self.buffer(vk::BufferUsageFlags::from_raw(usage.as_raw() as u32));
        vk::BufferUsageFlags2KHR::from_raw(usage.as_raw() >> 32 << 32 | u64::from(low.as_raw()))
    }

    /// The usage that a chain has, which is taken in place of the structure's own: a chain with the other one.
    ///
    /// # Safety
    /// The chain is valid.
    unsafe fn chained(self, chain: *const c_void, arena: &Arena) -> *const c_void {
        // SAFETY: the caller's contract; the structure was found in that chain.
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

    /// Translates what is given to `vkCreateBuffer`, and to `vkGetDeviceBufferMemoryRequirements`. What a buffer's
    /// address was in another run stays as it is.
    ///
    /// # Safety
    /// The structure is valid, and outlives the result.
    pub(crate) unsafe fn buffer_create_info<'a>(
        self,
        info: &vk::BufferCreateInfo<'a>,
        arena: &Arena,
    ) -> vk::BufferCreateInfo<'a> {
        // SAFETY: the caller's contract.
        let usage = unsafe { usage_of_buffer(info) };
        vk::BufferCreateInfo {
            // SAFETY: the caller's contract.
            p_next: unsafe { self.chained(info.p_next, arena) },
            usage: self.buffer(info.usage),
            // Captures read whole dwords. An odd size is no secret: memory requirements are of the buffer as it is.
            size: match usage.intersects(REACHED) {
                true => info.size.checked_next_multiple_of(4).unwrap_or(info.size),
                false => info.size,
            },
            ..*info
        }
    }

    /// Translates what is given to `vkGetPhysicalDeviceExternalBufferProperties`: it is asked of a buffer as it will
    /// be created.
    ///
    /// # Safety
    /// As [`buffer_create_info`](Self::buffer_create_info).
    pub(crate) unsafe fn external_buffer_info<'a>(
        self,
        info: &vk::PhysicalDeviceExternalBufferInfo<'a>,
        arena: &Arena,
    ) -> vk::PhysicalDeviceExternalBufferInfo<'a> {
        vk::PhysicalDeviceExternalBufferInfo {
            // SAFETY: the caller's contract.
            p_next: unsafe { self.chained(info.p_next, arena) },
            usage: self.buffer(info.usage),
            ..*info
        }
    }

    /// Translates what is given to `vkAllocateMemory`: buffers with addresses are bound to
    /// [memory with them](https://docs.vulkan.org/refpages/latest/refpages/source/vkBindBufferMemory.html) alone
    /// (VUID-vkBindBufferMemory-bufferDeviceAddress-03339), also to memory that is imported, of which no rule forbids
    /// it. Memory that is dedicated to an image has no buffers, and stays as it is.
    ///
    /// # Safety
    /// The structure is valid, and outlives the result.
    pub(crate) unsafe fn memory_allocate_info<'a>(
        self,
        info: &vk::MemoryAllocateInfo<'a>,
        arena: &Arena,
    ) -> vk::MemoryAllocateInfo<'a> {
        // SAFETY: the caller's contract; the flags are replaced in the chain that they were found in.
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

/// Translates what is given to `vkCreateDescriptorSetLayout` and `vkGetDescriptorSetLayoutSupport`: what vertex shaders
/// see, their captures see, too. All bindings keep their places, by which a chain may speak of them.
///
/// The descriptors count against the limits of the compute stage (`maxPerStageDescriptor*`), beside those of the
/// application's own compute shaders in a pipeline layout: an application that takes all that a device has of both may
/// be over them. Push constant ranges stay: `vkCmdPushConstants` would have to name the added stage.
///
/// # Safety
/// The structure is valid, and outlives the result.
pub(crate) unsafe fn set_layout<'a>(
    info: &vk::DescriptorSetLayoutCreateInfo<'a>,
    arena: &Arena,
) -> vk::DescriptorSetLayoutCreateInfo<'a> {
    use vk::ShaderStageFlags as Stage;
    // SAFETY: the caller's contract.
    let bindings = unsafe { slice(info.p_bindings, info.binding_count) };
    let visible = arena.map(bindings, |binding| {
        let mut visible = *binding;
        if visible.stage_flags.contains(Stage::VERTEX) {
            visible.stage_flags |= Stage::COMPUTE;
        }
        visible
    });
    vk::DescriptorSetLayoutCreateInfo { p_bindings: visible.as_ptr(), ..*info }
}
