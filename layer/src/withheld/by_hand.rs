//! Copies the arguments of commands and structures that the registry does not describe completely.
//! So this code is written by hand.

use std::ffi::c_void;

use ash::vk;

use super::macros::arguments;
use super::memory::{Copied, Memory, OutOfMemory};
use super::store::{Functions, Replay, WithheldCommands};

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
        // SAFETY: the caller's contract.
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
        // SAFETY: the caller's contract.
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

/// Passes a table to a macro, in the form that `macros` describes. The table has the commands whose arguments the
/// registry does not describe completely.
macro_rules! commands_by_hand {
    ($expand:ident) => {
        $expand! {
            record draw_multi_ext DrawMultiExt (
                draw_count: u32,
                p_vertex_info: *const vk::MultiDrawInfoEXT,
                instance_count: u32,
                first_instance: u32,
                stride: u32,
            );
            record draw_multi_indexed_ext DrawMultiIndexedExt (
                draw_count: u32,
                p_index_info: *const vk::MultiDrawIndexedInfoEXT,
                instance_count: u32,
                first_instance: u32,
                stride: u32,
                p_vertex_offset: *const i32,
            );
            set_state push_descriptor_set_with_template_khr PushDescriptorSetWithTemplateKhr (
                descriptor_update_template: vk::DescriptorUpdateTemplate,
                layout: vk::PipelineLayout,
                set: u32,
                p_data: *const c_void,
            );
            set_state push_descriptor_set_with_template2_khr PushDescriptorSetWithTemplate2Khr (
                p_push_descriptor_set_with_template_info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'static>,
            );
            set_state set_sample_mask_ext SetSampleMaskExt (
                samples: vk::SampleCountFlags,
                p_sample_mask: *const vk::SampleMask,
            );
        }
    };
}

pub(crate) use commands_by_hand;

commands_by_hand!(arguments);

impl WithheldCommands {
    /// # Safety
    /// The arguments are valid for the Vulkan command of the same name. The other functions of this `impl` require the
    /// same of their arguments.
    pub(crate) unsafe fn draw_multi_ext(
        &mut self,
        draw_count: u32,
        p_vertex_info: *const vk::MultiDrawInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's contract.
        let p_vertex_info = unsafe { draws(&self.memory, p_vertex_info, draw_count, stride) }?;
        let stride = size_of::<vk::MultiDrawInfoEXT>() as u32;
        self.push(DrawMultiExt {
            draw_count,
            p_vertex_info,
            instance_count,
            first_instance,
            stride,
        })
    }

    pub(crate) unsafe fn draw_multi_indexed_ext(
        &mut self,
        draw_count: u32,
        p_index_info: *const vk::MultiDrawIndexedInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
        p_vertex_offset: *const i32,
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's contract.
        let (p_index_info, p_vertex_offset) = unsafe {
            (
                draws(&self.memory, p_index_info, draw_count, stride)?,
                self.memory.values(p_vertex_offset, 1)?,
            )
        };
        let stride = size_of::<vk::MultiDrawIndexedInfoEXT>() as u32;
        self.push(DrawMultiIndexedExt {
            draw_count,
            p_index_info,
            instance_count,
            first_instance,
            stride,
            p_vertex_offset,
        })
    }

    pub(crate) unsafe fn push_descriptor_set_with_template_khr(
        &mut self,
        descriptor_update_template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        set: u32,
        p_data: *const c_void,
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's contract.
        let p_data = unsafe { self.memory.template_data(descriptor_update_template, p_data) }?;
        self.push(PushDescriptorSetWithTemplateKhr {
            descriptor_update_template,
            layout,
            set,
            p_data,
        })
    }

    pub(crate) unsafe fn push_descriptor_set_with_template2_khr(
        &mut self,
        info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'static>,
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's contract.
        let info = unsafe { self.memory.structures(info, 1) }?;
        self.push(PushDescriptorSetWithTemplate2Khr {
            p_push_descriptor_set_with_template_info: info,
        })
    }

    /// The sample mask has one bit per sample, in words of 32 bits.
    pub(crate) unsafe fn set_sample_mask_ext(
        &mut self,
        samples: vk::SampleCountFlags,
        p_sample_mask: *const vk::SampleMask,
    ) -> Result<(), OutOfMemory> {
        let words = samples.as_raw().div_ceil(32) as usize;
        // SAFETY: the caller's contract.
        let p_sample_mask = unsafe { self.memory.values(p_sample_mask, words) }?;
        self.push(SetSampleMaskExt { samples, p_sample_mask })
    }
}
