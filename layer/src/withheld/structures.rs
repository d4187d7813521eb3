// Generated from the registry of Vulkan 1.4.360 by tests/registry. Changes belong there.

use std::ffi::c_void;

use super::memory::{Copied, Memory, OutOfMemory, copied};
use crate::registry::vk;

copied! {
    chained {
        vk::AttachmentFeedbackLoopInfoEXT { p_next: chain, }
        vk::BeginCustomResolveInfoEXT { p_next: chain, }
        vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static> { p_next: chain, }
        vk::BindDescriptorSetsInfoKHR<'static> { p_next: chain,
            p_descriptor_sets: values(descriptor_set_count),
            p_dynamic_offsets: values(dynamic_offset_count), }
        vk::BindHeapInfoEXT { p_next: chain, }
        vk::BufferMemoryBarrier<'static> { p_next: chain, }
        vk::BufferMemoryBarrier2<'static> { p_next: chain, }
        vk::BufferUsageFlags2CreateInfoKHR<'static> { p_next: chain, }
        vk::ComputeOccupancyPriorityParametersNV { p_next: chain, }
        vk::ConditionalRenderingBeginInfoEXT<'static> { p_next: chain, }
        vk::CopyMemoryIndirectInfoKHR { p_next: chain, }
        vk::CopyMemoryToImageIndirectInfoKHR { p_next: chain,
            p_image_subresources: values(copy_count), }
        vk::DebugMarkerMarkerInfoEXT<'static> { p_next: chain, p_marker_name: string, }
        vk::DebugUtilsLabelEXT<'static> { p_next: chain, p_label_name: string, }
        vk::DependencyInfo<'static> { p_next: chain,
            p_memory_barriers: structures(memory_barrier_count),
            p_buffer_memory_barriers: structures(buffer_memory_barrier_count),
            p_image_memory_barriers: structures(image_memory_barrier_count), }
        vk::DepthBiasInfoEXT<'static> { p_next: chain, }
        vk::DepthBiasRepresentationInfoEXT<'static> { p_next: chain, }
        vk::DescriptorBufferBindingInfoEXT<'static> { p_next: written_chain, }
        vk::DescriptorBufferBindingPushDescriptorBufferHandleEXT<'static> { p_next: written_chain, }
        vk::DeviceGroupRenderPassBeginInfo<'static> { p_next: chain,
            p_device_render_areas: values(device_render_area_count), }
        vk::ExternalMemoryAcquireUnmodifiedEXT<'static> { p_next: chain, }
        vk::GeneratedCommandsInfoEXT { p_next: chain, }
        vk::GeneratedCommandsPipelineInfoEXT { p_next: chain, }
        vk::GeneratedCommandsShaderInfoEXT { p_next: chain, p_shaders: values(shader_count), }
        vk::ImageMemoryBarrier<'static> { p_next: chain, }
        vk::ImageMemoryBarrier2<'static> { p_next: chain, }
        vk::MemoryBarrier<'static> { p_next: chain, }
        vk::MemoryBarrier2<'static> { p_next: chain, }
        vk::MemoryBarrierAccessFlags3KHR { p_next: chain, }
        vk::MultisampledRenderToSingleSampledInfoEXT<'static> { p_next: chain, }
        vk::MultiviewPerViewAttributesInfoNVX<'static> { p_next: chain, }
        vk::MultiviewPerViewRenderAreasRenderPassBeginInfoQCOM<'static> { p_next: chain,
            p_per_view_render_areas: values(per_view_render_area_count), }
        vk::PipelineLayoutCreateInfo<'static> { p_next: chain,
            p_set_layouts: values(set_layout_count),
            p_push_constant_ranges: values(push_constant_range_count), }
        vk::PushConstantsInfoKHR<'static> { p_next: chain, p_values: bytes(size), }
        vk::PushDataInfoEXT { p_next: chain, data: structure, }
        vk::PushDescriptorSetInfoKHR<'static> { p_next: chain,
            p_descriptor_writes: structures(descriptor_write_count), }
        vk::RenderPassAttachmentBeginInfo<'static> { p_next: chain,
            p_attachments: values(attachment_count), }
        vk::RenderPassBeginInfo<'static> { p_next: chain, p_clear_values: values(clear_value_count), }
        vk::SubpassFragmentDensityMapOffsetEndInfoQCOM<'static> { p_next: chain,
            p_fragment_density_offsets: values(fragment_density_offset_count), }
        vk::RenderPassPerformanceCountersByRegionBeginInfoARM { p_next: chain,
            p_counter_addresses: values(counter_address_count),
            p_counter_indices: values(counter_index_count), }
        vk::RenderPassSampleLocationsBeginInfoEXT<'static> { p_next: chain,
            p_attachment_initial_sample_locations: structures(attachment_initial_sample_locations_count),
            p_post_subpass_sample_locations: structures(post_subpass_sample_locations_count), }
        vk::RenderPassStripeBeginInfoARM<'static> { p_next: chain,
            p_stripe_infos: structures(stripe_info_count), }
        vk::RenderPassStripeInfoARM<'static> { p_next: chain, }
        vk::RenderPassTransformBeginInfoQCOM<'static> { p_next: written_chain, }
        vk::RenderingAttachmentFlagsInfoKHR { p_next: chain, }
        vk::RenderingAttachmentInfo<'static> { p_next: chain, }
        vk::RenderingAttachmentLocationInfoKHR<'static> { p_next: chain,
            p_color_attachment_locations: values(color_attachment_count), }
        vk::RenderingEndInfoKHR { p_next: chain, }
        vk::RenderingFragmentDensityMapAttachmentInfoEXT<'static> { p_next: chain, }
        vk::RenderingFragmentShadingRateAttachmentInfoKHR<'static> { p_next: chain, }
        vk::RenderingInfo<'static> { p_next: chain,
            p_color_attachments: structures(color_attachment_count),
            p_depth_attachment: structures(1), p_stencil_attachment: structures(1), }
        vk::RenderingInputAttachmentIndexInfoKHR<'static> { p_next: chain,
            p_color_attachment_input_indices: values(color_attachment_count),
            p_depth_input_attachment_index: values(1), p_stencil_input_attachment_index: values(1), }
        vk::SampleLocationsInfoEXT<'static> { p_next: chain,
            p_sample_locations: values(sample_locations_count), }
        vk::SetDescriptorBufferOffsetsInfoEXT<'static> { p_next: chain,
            p_buffer_indices: values(set_count), p_offsets: values(set_count), }
        vk::SubpassBeginInfo<'static> { p_next: chain, }
        vk::SubpassEndInfo<'static> { p_next: chain, }
        vk::VertexInputAttributeDescription2EXT<'static> { p_next: written_chain, }
        vk::VertexInputBindingDescription2EXT<'static> { p_next: written_chain, }
        vk::WriteDescriptorSetAccelerationStructureKHR<'static> { p_next: chain,
            p_acceleration_structures: values(acceleration_structure_count), }
        vk::WriteDescriptorSetAccelerationStructureNV<'static> { p_next: chain,
            p_acceleration_structures: values(acceleration_structure_count), }
        vk::WriteDescriptorSetInlineUniformBlock<'static> { p_next: chain, p_data: bytes(data_size), }
    }
    chained_by_hand {
        vk::PushDescriptorSetWithTemplateInfoKHR<'static>,
        vk::WriteDescriptorSet<'static>,
    }
    others {
        vk::AttachmentSampleLocationsEXT<'static> { sample_locations_info: structure, }
        vk::CoarseSampleOrderCustomNV<'static> { p_sample_locations: values(sample_location_count), }
        vk::HostAddressRangeConstEXT { address: bytes(size), }
        vk::ShadingRatePaletteNV<'static> {
            p_shading_rate_palette_entries: values(shading_rate_palette_entry_count), }
        vk::SubpassSampleLocationsEXT<'static> { sample_locations_info: structure, }
    }
}
