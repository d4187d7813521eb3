//! Copies the arguments of commands and structures that the registry does not describe completely.
//! So this code is written by hand.

use ash::vk;

use super::arguments::{
    DrawMultiExt, DrawMultiIndexedExt, PushDescriptorSetWithTemplateKhr, SetSampleMaskExt,
};
use super::memory::{Copied, Memory, OutOfMemory};

/// The descriptor type determines which of the three arrays Vulkan reads. Only this array is copied. The pointers to
/// the other arrays may have any value.
impl Copied for vk::WriteDescriptorSet<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        use vk::DescriptorType as Type;
        let count = self.descriptor_count as usize;
        let mut copied = Self {
            p_image_info: std::ptr::null(),
            p_buffer_info: std::ptr::null(),
            p_texel_buffer_view: std::ptr::null(),
            ..*self
        };
        unsafe {
            copied.p_next = memory.chain(self.p_next)?;
            match self.descriptor_type {
                Type::UNIFORM_BUFFER
                | Type::STORAGE_BUFFER
                | Type::UNIFORM_BUFFER_DYNAMIC
                | Type::STORAGE_BUFFER_DYNAMIC => {
                    copied.p_buffer_info = memory.values(self.p_buffer_info, count)?;
                }
                Type::UNIFORM_TEXEL_BUFFER | Type::STORAGE_TEXEL_BUFFER => {
                    copied.p_texel_buffer_view = memory.values(self.p_texel_buffer_view, count)?;
                }
                // Descriptors of these types have their data in the chain.
                Type::INLINE_UNIFORM_BLOCK
                | Type::ACCELERATION_STRUCTURE_KHR
                | Type::ACCELERATION_STRUCTURE_NV => {}
                _ => copied.p_image_info = memory.values(self.p_image_info, count)?,
            }
        }
        Ok(copied)
    }
}

/// The update template determines the size of the data.
impl Copied for vk::PushDescriptorSetWithTemplateInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_data: memory.template_data(self.descriptor_update_template, self.p_data)?,
                ..*self
            })
        }
    }
}

/// Copies the draws of a multi-draw command, which begin every `stride` bytes, into an array without gaps. Returns null
/// if there are no draws.
///
/// # Safety
/// There are `count` draws at the pointer.
unsafe fn draws<T: Copy>(
    memory: &Memory,
    draws: *const T,
    count: u32,
    stride: u32,
) -> Result<*const T, OutOfMemory> {
    if draws.is_null() || count == 0 {
        return Ok(std::ptr::null());
    }
    let place = memory.room::<T>(count as usize)?;
    for number in 0..count as usize {
        // SAFETY: the caller's contract; the stride is a multiple of 4, which is the alignment of
        // all members.
        unsafe { place.add(number).write(*draws.byte_add(number * stride as usize)) };
    }
    Ok(place)
}

impl Copied for DrawMultiExt {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        let p_vertex_info =
            unsafe { draws(memory, self.p_vertex_info, self.draw_count, self.stride) }?;
        let stride = size_of::<vk::MultiDrawInfoEXT>() as u32;
        Ok(Self { p_vertex_info, stride, ..*self })
    }
}

impl Copied for DrawMultiIndexedExt {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        let (p_index_info, p_vertex_offset) = unsafe {
            (
                draws(memory, self.p_index_info, self.draw_count, self.stride)?,
                memory.values(self.p_vertex_offset, 1)?,
            )
        };
        let stride = size_of::<vk::MultiDrawIndexedInfoEXT>() as u32;
        Ok(Self { p_index_info, p_vertex_offset, stride, ..*self })
    }
}

/// The update template determines the size of the data.
impl Copied for PushDescriptorSetWithTemplateKhr {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        let p_data = unsafe { memory.template_data(self.descriptor_update_template, self.p_data) }?;
        Ok(Self { p_data, ..*self })
    }
}

/// The sample mask has one bit per sample, in words of 32 bits.
impl Copied for SetSampleMaskExt {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        let words = self.samples.as_raw().div_ceil(32) as usize;
        let p_sample_mask = unsafe { memory.values(self.p_sample_mask, words) }?;
        Ok(Self { p_sample_mask, ..*self })
    }
}
