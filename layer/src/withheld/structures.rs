// Generated from the registry of Vulkan 1.4.360 by tests/registry. Changes belong there.

use std::ffi::c_void;

use super::memory::{Copied, Memory, OutOfMemory};
use crate::registry::vk;

impl Copied for vk::AttachmentFeedbackLoopInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::AttachmentSampleLocationsEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self { sample_locations_info: self.sample_locations_info.copied(memory)?, ..*self })
        }
    }
}

impl Copied for vk::BeginCustomResolveInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::BindDescriptorSetsInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_descriptor_sets: memory
                    .values(self.p_descriptor_sets, self.descriptor_set_count as usize)?,
                p_dynamic_offsets: memory
                    .values(self.p_dynamic_offsets, self.dynamic_offset_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::BindHeapInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::BufferMemoryBarrier<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::BufferMemoryBarrier2<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::BufferUsageFlags2CreateInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::CoarseSampleOrderCustomNV<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_sample_locations: memory
                    .values(self.p_sample_locations, self.sample_location_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::ComputeOccupancyPriorityParametersNV {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::ConditionalRenderingBeginInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::CopyMemoryIndirectInfoKHR {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::CopyMemoryToImageIndirectInfoKHR {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_image_subresources: memory
                    .values(self.p_image_subresources, self.copy_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::DebugMarkerMarkerInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_marker_name: memory.string(self.p_marker_name)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::DebugUtilsLabelEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_label_name: memory.string(self.p_label_name)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::DependencyInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_memory_barriers: memory
                    .structures(self.p_memory_barriers, self.memory_barrier_count as usize)?,
                p_buffer_memory_barriers: memory.structures(
                    self.p_buffer_memory_barriers,
                    self.buffer_memory_barrier_count as usize,
                )?,
                p_image_memory_barriers: memory.structures(
                    self.p_image_memory_barriers,
                    self.image_memory_barrier_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::DepthBiasInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::DepthBiasRepresentationInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::DescriptorBufferBindingInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?.cast_mut(), ..*self }) }
    }
}

impl Copied for vk::DescriptorBufferBindingPushDescriptorBufferHandleEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?.cast_mut(), ..*self }) }
    }
}

impl Copied for vk::DeviceGroupRenderPassBeginInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_device_render_areas: memory
                    .values(self.p_device_render_areas, self.device_render_area_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::ExternalMemoryAcquireUnmodifiedEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::GeneratedCommandsInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::GeneratedCommandsPipelineInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::GeneratedCommandsShaderInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_shaders: memory.values(self.p_shaders, self.shader_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::HostAddressRangeConstEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { address: memory.bytes(self.address, self.size)?, ..*self }) }
    }
}

impl Copied for vk::ImageMemoryBarrier<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::ImageMemoryBarrier2<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::MemoryBarrier<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::MemoryBarrier2<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::MemoryBarrierAccessFlags3KHR {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::MultisampledRenderToSingleSampledInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::MultiviewPerViewAttributesInfoNVX<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::MultiviewPerViewRenderAreasRenderPassBeginInfoQCOM<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_per_view_render_areas: memory.values(
                    self.p_per_view_render_areas,
                    self.per_view_render_area_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::PipelineLayoutCreateInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_set_layouts: memory.values(self.p_set_layouts, self.set_layout_count as usize)?,
                p_push_constant_ranges: memory
                    .values(self.p_push_constant_ranges, self.push_constant_range_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::PushConstantsInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_values: memory.bytes(self.p_values, self.size as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::PushDataInfoEXT {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                data: self.data.copied(memory)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::PushDescriptorSetInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_descriptor_writes: memory
                    .structures(self.p_descriptor_writes, self.descriptor_write_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderPassAttachmentBeginInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_attachments: memory.values(self.p_attachments, self.attachment_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderPassBeginInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_clear_values: memory
                    .values(self.p_clear_values, self.clear_value_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::SubpassFragmentDensityMapOffsetEndInfoQCOM<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_fragment_density_offsets: memory.values(
                    self.p_fragment_density_offsets,
                    self.fragment_density_offset_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderPassPerformanceCountersByRegionBeginInfoARM {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_counter_addresses: memory
                    .values(self.p_counter_addresses, self.counter_address_count as usize)?,
                p_counter_indices: memory
                    .values(self.p_counter_indices, self.counter_index_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderPassSampleLocationsBeginInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_attachment_initial_sample_locations: memory.structures(
                    self.p_attachment_initial_sample_locations,
                    self.attachment_initial_sample_locations_count as usize,
                )?,
                p_post_subpass_sample_locations: memory.structures(
                    self.p_post_subpass_sample_locations,
                    self.post_subpass_sample_locations_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderPassStripeBeginInfoARM<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_stripe_infos: memory
                    .structures(self.p_stripe_infos, self.stripe_info_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderPassStripeInfoARM<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::RenderPassTransformBeginInfoQCOM<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?.cast_mut(), ..*self }) }
    }
}

impl Copied for vk::RenderingAttachmentFlagsInfoKHR {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::RenderingAttachmentInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::RenderingAttachmentLocationInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_color_attachment_locations: memory.values(
                    self.p_color_attachment_locations,
                    self.color_attachment_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderingEndInfoKHR {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::RenderingFragmentDensityMapAttachmentInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::RenderingFragmentShadingRateAttachmentInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::RenderingInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_color_attachments: memory
                    .structures(self.p_color_attachments, self.color_attachment_count as usize)?,
                p_depth_attachment: memory.structures(self.p_depth_attachment, 1)?,
                p_stencil_attachment: memory.structures(self.p_stencil_attachment, 1)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::RenderingInputAttachmentIndexInfoKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_color_attachment_input_indices: memory.values(
                    self.p_color_attachment_input_indices,
                    self.color_attachment_count as usize,
                )?,
                p_depth_input_attachment_index: memory
                    .values(self.p_depth_input_attachment_index, 1)?,
                p_stencil_input_attachment_index: memory
                    .values(self.p_stencil_input_attachment_index, 1)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::SampleLocationsInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_sample_locations: memory
                    .values(self.p_sample_locations, self.sample_locations_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::SetDescriptorBufferOffsetsInfoEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_buffer_indices: memory.values(self.p_buffer_indices, self.set_count as usize)?,
                p_offsets: memory.values(self.p_offsets, self.set_count as usize)?,
                ..*self
            })
        }
    }
}

impl Copied for vk::ShadingRatePaletteNV<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_shading_rate_palette_entries: memory.values(
                    self.p_shading_rate_palette_entries,
                    self.shading_rate_palette_entry_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::SubpassBeginInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::SubpassEndInfo<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?, ..*self }) }
    }
}

impl Copied for vk::SubpassSampleLocationsEXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self { sample_locations_info: self.sample_locations_info.copied(memory)?, ..*self })
        }
    }
}

impl Copied for vk::VertexInputAttributeDescription2EXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?.cast_mut(), ..*self }) }
    }
}

impl Copied for vk::VertexInputBindingDescription2EXT<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe { Ok(Self { p_next: memory.chain(self.p_next)?.cast_mut(), ..*self }) }
    }
}

impl Copied for vk::WriteDescriptorSetAccelerationStructureKHR<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_acceleration_structures: memory.values(
                    self.p_acceleration_structures,
                    self.acceleration_structure_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::WriteDescriptorSetAccelerationStructureNV<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_acceleration_structures: memory.values(
                    self.p_acceleration_structures,
                    self.acceleration_structure_count as usize,
                )?,
                ..*self
            })
        }
    }
}

impl Copied for vk::WriteDescriptorSetInlineUniformBlock<'static> {
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
        unsafe {
            Ok(Self {
                p_next: memory.chain(self.p_next)?,
                p_data: memory.bytes(self.p_data, self.data_size as usize)?,
                ..*self
            })
        }
    }
}

/// Copies a structure of a chain, and what it points to. `None` if the type of the structure is unknown.
///
/// # Safety
/// The structure and its chain are valid.
pub(super) unsafe fn copy(
    structure: *const vk::BaseInStructure<'_>,
    memory: &Memory,
) -> Result<Option<*const c_void>, OutOfMemory> {
    // SAFETY: the caller's contract; the type says which structure it is.
    unsafe {
        Ok(Some(match (*structure).s_type { <vk::AttachmentFeedbackLoopInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::AttachmentFeedbackLoopInfoEXT>(), 1)?.cast(),
<vk::BeginCustomResolveInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BeginCustomResolveInfoEXT>(), 1)?.cast(),
<vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static>>(), 1)?.cast(),
<vk::BindDescriptorSetsInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BindDescriptorSetsInfoKHR<'static>>(), 1)?.cast(),
<vk::BindHeapInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BindHeapInfoEXT>(), 1)?.cast(),
<vk::BufferMemoryBarrier<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BufferMemoryBarrier<'static>>(), 1)?.cast(),
<vk::BufferMemoryBarrier2<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BufferMemoryBarrier2<'static>>(), 1)?.cast(),
<vk::BufferUsageFlags2CreateInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::BufferUsageFlags2CreateInfoKHR<'static>>(), 1)?.cast(),
<vk::ComputeOccupancyPriorityParametersNV as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::ComputeOccupancyPriorityParametersNV>(), 1)?.cast(),
<vk::ConditionalRenderingBeginInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::ConditionalRenderingBeginInfoEXT<'static>>(), 1)?.cast(),
<vk::CopyMemoryIndirectInfoKHR as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::CopyMemoryIndirectInfoKHR>(), 1)?.cast(),
<vk::CopyMemoryToImageIndirectInfoKHR as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::CopyMemoryToImageIndirectInfoKHR>(), 1)?.cast(),
<vk::DebugMarkerMarkerInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DebugMarkerMarkerInfoEXT<'static>>(), 1)?.cast(),
<vk::DebugUtilsLabelEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DebugUtilsLabelEXT<'static>>(), 1)?.cast(),
<vk::DependencyInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DependencyInfo<'static>>(), 1)?.cast(),
<vk::DepthBiasInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DepthBiasInfoEXT<'static>>(), 1)?.cast(),
<vk::DepthBiasRepresentationInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DepthBiasRepresentationInfoEXT<'static>>(), 1)?.cast(),
<vk::DescriptorBufferBindingInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DescriptorBufferBindingInfoEXT<'static>>(), 1)?.cast(),
<vk::DescriptorBufferBindingPushDescriptorBufferHandleEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DescriptorBufferBindingPushDescriptorBufferHandleEXT<'static>>(), 1)?.cast(),
<vk::DeviceGroupRenderPassBeginInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::DeviceGroupRenderPassBeginInfo<'static>>(), 1)?.cast(),
<vk::ExternalMemoryAcquireUnmodifiedEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::ExternalMemoryAcquireUnmodifiedEXT<'static>>(), 1)?.cast(),
<vk::GeneratedCommandsInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::GeneratedCommandsInfoEXT>(), 1)?.cast(),
<vk::GeneratedCommandsPipelineInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::GeneratedCommandsPipelineInfoEXT>(), 1)?.cast(),
<vk::GeneratedCommandsShaderInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::GeneratedCommandsShaderInfoEXT>(), 1)?.cast(),
<vk::ImageMemoryBarrier<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::ImageMemoryBarrier<'static>>(), 1)?.cast(),
<vk::ImageMemoryBarrier2<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::ImageMemoryBarrier2<'static>>(), 1)?.cast(),
<vk::MemoryBarrier<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::MemoryBarrier<'static>>(), 1)?.cast(),
<vk::MemoryBarrier2<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::MemoryBarrier2<'static>>(), 1)?.cast(),
<vk::MemoryBarrierAccessFlags3KHR as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::MemoryBarrierAccessFlags3KHR>(), 1)?.cast(),
<vk::MultisampledRenderToSingleSampledInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::MultisampledRenderToSingleSampledInfoEXT<'static>>(), 1)?.cast(),
<vk::MultiviewPerViewAttributesInfoNVX<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::MultiviewPerViewAttributesInfoNVX<'static>>(), 1)?.cast(),
<vk::MultiviewPerViewRenderAreasRenderPassBeginInfoQCOM<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::MultiviewPerViewRenderAreasRenderPassBeginInfoQCOM<'static>>(), 1)?.cast(),
<vk::PipelineLayoutCreateInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::PipelineLayoutCreateInfo<'static>>(), 1)?.cast(),
<vk::PushConstantsInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::PushConstantsInfoKHR<'static>>(), 1)?.cast(),
<vk::PushDataInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::PushDataInfoEXT>(), 1)?.cast(),
<vk::PushDescriptorSetInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::PushDescriptorSetInfoKHR<'static>>(), 1)?.cast(),
<vk::PushDescriptorSetWithTemplateInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::PushDescriptorSetWithTemplateInfoKHR<'static>>(), 1)?.cast(),
<vk::RenderPassAttachmentBeginInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassAttachmentBeginInfo<'static>>(), 1)?.cast(),
<vk::RenderPassBeginInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassBeginInfo<'static>>(), 1)?.cast(),
<vk::SubpassFragmentDensityMapOffsetEndInfoQCOM<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::SubpassFragmentDensityMapOffsetEndInfoQCOM<'static>>(), 1)?.cast(),
<vk::RenderPassPerformanceCountersByRegionBeginInfoARM as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassPerformanceCountersByRegionBeginInfoARM>(), 1)?.cast(),
<vk::RenderPassSampleLocationsBeginInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassSampleLocationsBeginInfoEXT<'static>>(), 1)?.cast(),
<vk::RenderPassStripeBeginInfoARM<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassStripeBeginInfoARM<'static>>(), 1)?.cast(),
<vk::RenderPassStripeInfoARM<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassStripeInfoARM<'static>>(), 1)?.cast(),
<vk::RenderPassTransformBeginInfoQCOM<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderPassTransformBeginInfoQCOM<'static>>(), 1)?.cast(),
<vk::RenderingAttachmentFlagsInfoKHR as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingAttachmentFlagsInfoKHR>(), 1)?.cast(),
<vk::RenderingAttachmentInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingAttachmentInfo<'static>>(), 1)?.cast(),
<vk::RenderingAttachmentLocationInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingAttachmentLocationInfoKHR<'static>>(), 1)?.cast(),
<vk::RenderingEndInfoKHR as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingEndInfoKHR>(), 1)?.cast(),
<vk::RenderingFragmentDensityMapAttachmentInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingFragmentDensityMapAttachmentInfoEXT<'static>>(), 1)?.cast(),
<vk::RenderingFragmentShadingRateAttachmentInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingFragmentShadingRateAttachmentInfoKHR<'static>>(), 1)?.cast(),
<vk::RenderingInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingInfo<'static>>(), 1)?.cast(),
<vk::RenderingInputAttachmentIndexInfoKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::RenderingInputAttachmentIndexInfoKHR<'static>>(), 1)?.cast(),
<vk::SampleLocationsInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::SampleLocationsInfoEXT<'static>>(), 1)?.cast(),
<vk::SetDescriptorBufferOffsetsInfoEXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::SetDescriptorBufferOffsetsInfoEXT<'static>>(), 1)?.cast(),
<vk::SubpassBeginInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::SubpassBeginInfo<'static>>(), 1)?.cast(),
<vk::SubpassEndInfo<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::SubpassEndInfo<'static>>(), 1)?.cast(),
<vk::VertexInputAttributeDescription2EXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::VertexInputAttributeDescription2EXT<'static>>(), 1)?.cast(),
<vk::VertexInputBindingDescription2EXT<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::VertexInputBindingDescription2EXT<'static>>(), 1)?.cast(),
<vk::WriteDescriptorSet<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::WriteDescriptorSet<'static>>(), 1)?.cast(),
<vk::WriteDescriptorSetAccelerationStructureKHR<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::WriteDescriptorSetAccelerationStructureKHR<'static>>(), 1)?.cast(),
<vk::WriteDescriptorSetAccelerationStructureNV<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::WriteDescriptorSetAccelerationStructureNV<'static>>(), 1)?.cast(),
<vk::WriteDescriptorSetInlineUniformBlock<'static> as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<vk::WriteDescriptorSetInlineUniformBlock<'static>>(), 1)?.cast(),
 _ => return Ok(None), }))
    }
}
