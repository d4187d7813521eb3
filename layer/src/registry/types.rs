// Generated from the registry of Vulkan 1.4.360 by tests/registry. Changes belong there.

use super::vk;

/// Passes the structures that ash does not have to a macro. Each row has the version or extension that
/// adds the structure to Vulkan, its name in Rust and in C, the value of `sType`, and the members.
macro_rules! newer_structures {
    ($expand:ident) => {
        $expand! {
            VK_KHR_unified_image_layouts struct AttachmentFeedbackLoopInfoEXT VkAttachmentFeedbackLoopInfoEXT = 1000527001 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                feedback_loop_enable feedbackLoopEnable: vk::Bool32, }
            VK_EXT_custom_resolve struct BeginCustomResolveInfoEXT VkBeginCustomResolveInfoEXT = 1000628001 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void, }
            VK_EXT_descriptor_heap struct BindHeapInfoEXT VkBindHeapInfoEXT = 1000135003 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                heap_range heapRange: vk::DeviceAddressRangeKHR,
                reserved_range_offset reservedRangeOffset: vk::DeviceSize,
                reserved_range_size reservedRangeSize: vk::DeviceSize, }
            VK_EXT_descriptor_heap struct CommandBufferInheritanceDescriptorHeapInfoEXT VkCommandBufferInheritanceDescriptorHeapInfoEXT = 1000135010 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                p_sampler_heap_bind_info pSamplerHeapBindInfo: *const vk::BindHeapInfoEXT,
                p_resource_heap_bind_info pResourceHeapBindInfo: *const vk::BindHeapInfoEXT, }
            VK_NV_compute_occupancy_priority struct ComputeOccupancyPriorityParametersNV VkComputeOccupancyPriorityParametersNV = 1000645000 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                occupancy_priority occupancyPriority: f32,
                occupancy_throttling occupancyThrottling: f32, }
            VK_KHR_copy_memory_indirect struct CopyMemoryIndirectInfoKHR VkCopyMemoryIndirectInfoKHR = 1000549002 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                src_copy_flags srcCopyFlags: vk::AddressCopyFlagsKHR,
                dst_copy_flags dstCopyFlags: vk::AddressCopyFlagsKHR, copy_count copyCount: u32,
                copy_address_range copyAddressRange: vk::StridedDeviceAddressRangeKHR, }
            VK_KHR_copy_memory_indirect struct CopyMemoryToImageIndirectInfoKHR VkCopyMemoryToImageIndirectInfoKHR = 1000549003 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                src_copy_flags srcCopyFlags: vk::AddressCopyFlagsKHR, copy_count copyCount: u32,
                copy_address_range copyAddressRange: vk::StridedDeviceAddressRangeKHR,
                dst_image dstImage: vk::Image, dst_image_layout dstImageLayout: vk::ImageLayout,
                p_image_subresources pImageSubresources: *const vk::ImageSubresourceLayers, }
            VK_EXT_custom_resolve struct CustomResolveCreateInfoEXT VkCustomResolveCreateInfoEXT = 1000628002 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                custom_resolve customResolve: vk::Bool32,
                color_attachment_count colorAttachmentCount: u32,
                p_color_attachment_formats pColorAttachmentFormats: *const vk::Format,
                depth_attachment_format depthAttachmentFormat: vk::Format,
                stencil_attachment_format stencilAttachmentFormat: vk::Format, }
            VK_EXT_depth_clamp_control struct DepthClampRangeEXT VkDepthClampRangeEXT {
                min_depth_clamp minDepthClamp: f32, max_depth_clamp maxDepthClamp: f32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourceConstantOffsetEXT VkDescriptorMappingSourceConstantOffsetEXT {
                heap_offset heapOffset: u32, heap_array_stride heapArrayStride: u32,
                p_embedded_sampler pEmbeddedSampler: *const vk::SamplerCreateInfo<'static>,
                sampler_heap_offset samplerHeapOffset: u32,
                sampler_heap_array_stride samplerHeapArrayStride: u32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourceHeapDataEXT VkDescriptorMappingSourceHeapDataEXT {
                heap_offset heapOffset: u32, push_offset pushOffset: u32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourceIndirectAddressEXT VkDescriptorMappingSourceIndirectAddressEXT {
                push_offset pushOffset: u32, address_offset addressOffset: u32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourceIndirectIndexArrayEXT VkDescriptorMappingSourceIndirectIndexArrayEXT {
                heap_offset heapOffset: u32, push_offset pushOffset: u32,
                address_offset addressOffset: u32, heap_index_stride heapIndexStride: u32,
                p_embedded_sampler pEmbeddedSampler: *const vk::SamplerCreateInfo<'static>,
                use_combined_image_sampler_index useCombinedImageSamplerIndex: vk::Bool32,
                sampler_heap_offset samplerHeapOffset: u32,
                sampler_push_offset samplerPushOffset: u32,
                sampler_address_offset samplerAddressOffset: u32,
                sampler_heap_index_stride samplerHeapIndexStride: u32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourceIndirectIndexEXT VkDescriptorMappingSourceIndirectIndexEXT {
                heap_offset heapOffset: u32, push_offset pushOffset: u32,
                address_offset addressOffset: u32, heap_index_stride heapIndexStride: u32,
                heap_array_stride heapArrayStride: u32,
                p_embedded_sampler pEmbeddedSampler: *const vk::SamplerCreateInfo<'static>,
                use_combined_image_sampler_index useCombinedImageSamplerIndex: vk::Bool32,
                sampler_heap_offset samplerHeapOffset: u32,
                sampler_push_offset samplerPushOffset: u32,
                sampler_address_offset samplerAddressOffset: u32,
                sampler_heap_index_stride samplerHeapIndexStride: u32,
                sampler_heap_array_stride samplerHeapArrayStride: u32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourcePushIndexEXT VkDescriptorMappingSourcePushIndexEXT {
                heap_offset heapOffset: u32, push_offset pushOffset: u32,
                heap_index_stride heapIndexStride: u32, heap_array_stride heapArrayStride: u32,
                p_embedded_sampler pEmbeddedSampler: *const vk::SamplerCreateInfo<'static>,
                use_combined_image_sampler_index useCombinedImageSamplerIndex: vk::Bool32,
                sampler_heap_offset samplerHeapOffset: u32,
                sampler_push_offset samplerPushOffset: u32,
                sampler_heap_index_stride samplerHeapIndexStride: u32,
                sampler_heap_array_stride samplerHeapArrayStride: u32, }
            VK_EXT_descriptor_heap struct DescriptorMappingSourceShaderRecordIndexEXT VkDescriptorMappingSourceShaderRecordIndexEXT {
                heap_offset heapOffset: u32, shader_record_offset shaderRecordOffset: u32,
                heap_index_stride heapIndexStride: u32, heap_array_stride heapArrayStride: u32,
                p_embedded_sampler pEmbeddedSampler: *const vk::SamplerCreateInfo<'static>,
                use_combined_image_sampler_index useCombinedImageSamplerIndex: vk::Bool32,
                sampler_heap_offset samplerHeapOffset: u32,
                sampler_shader_record_offset samplerShaderRecordOffset: u32,
                sampler_heap_index_stride samplerHeapIndexStride: u32,
                sampler_heap_array_stride samplerHeapArrayStride: u32, }
            VK_EXT_descriptor_heap struct DescriptorSetAndBindingMappingEXT VkDescriptorSetAndBindingMappingEXT = 1000135005 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                descriptor_set descriptorSet: u32, first_binding firstBinding: u32,
                binding_count bindingCount: u32,
                resource_mask resourceMask: vk::SpirvResourceTypeFlagsEXT,
                source source: vk::DescriptorMappingSourceEXT,
                source_data sourceData: vk::DescriptorMappingSourceDataEXT, }
            VK_EXT_descriptor_heap struct DeviceAddressRangeKHR VkDeviceAddressRangeKHR {
                address address: vk::DeviceAddress, size size: vk::DeviceSize, }
            VK_OHOS_external_memory struct ExternalFormatOHOS VkExternalFormatOHOS = 1000452005 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                external_format externalFormat: u64, }
            VK_EXT_device_generated_commands struct GeneratedCommandsInfoEXT VkGeneratedCommandsInfoEXT = 1000572004 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                shader_stages shaderStages: vk::ShaderStageFlags,
                indirect_execution_set indirectExecutionSet: vk::IndirectExecutionSetEXT,
                indirect_commands_layout indirectCommandsLayout: vk::IndirectCommandsLayoutEXT,
                indirect_address indirectAddress: vk::DeviceAddress,
                indirect_address_size indirectAddressSize: vk::DeviceSize,
                preprocess_address preprocessAddress: vk::DeviceAddress,
                preprocess_size preprocessSize: vk::DeviceSize,
                max_sequence_count maxSequenceCount: u32,
                sequence_count_address sequenceCountAddress: vk::DeviceAddress,
                max_draw_count maxDrawCount: u32, }
            VK_EXT_device_generated_commands struct GeneratedCommandsPipelineInfoEXT VkGeneratedCommandsPipelineInfoEXT = 1000572013 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                pipeline pipeline: vk::Pipeline, }
            VK_EXT_device_generated_commands struct GeneratedCommandsShaderInfoEXT VkGeneratedCommandsShaderInfoEXT = 1000572014 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                shader_count shaderCount: u32, p_shaders pShaders: *const vk::ShaderEXT, }
            VK_EXT_descriptor_heap struct HostAddressRangeConstEXT VkHostAddressRangeConstEXT {
                address address: *const c_void, size size: usize, }
            VK_EXT_external_memory_metal struct ImportMemoryMetalHandleInfoEXT VkImportMemoryMetalHandleInfoEXT = 1000602000 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                handle_type handleType: vk::ExternalMemoryHandleTypeFlags,
                handle handle: *const c_void, }
            VK_OHOS_external_memory struct ImportNativeBufferInfoOHOS VkImportNativeBufferInfoOHOS = 1000452003 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                buffer buffer: *const c_void, }
            VK_EXT_device_generated_commands struct IndirectCommandsLayoutCreateInfoEXT VkIndirectCommandsLayoutCreateInfoEXT = 1000572006 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                flags flags: vk::IndirectCommandsLayoutUsageFlagsEXT,
                shader_stages shaderStages: vk::ShaderStageFlags,
                indirect_stride indirectStride: u32,
                pipeline_layout pipelineLayout: vk::PipelineLayout, token_count tokenCount: u32,
                p_tokens pTokens: *const c_void, }
            VK_KHR_maintenance8 struct MemoryBarrierAccessFlags3KHR VkMemoryBarrierAccessFlags3KHR = 1000574002 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                src_access_mask3 srcAccessMask3: vk::AccessFlags3KHR,
                dst_access_mask3 dstAccessMask3: vk::AccessFlags3KHR, }
            VK_EXT_descriptor_heap struct PhysicalDeviceDescriptorHeapPropertiesEXT VkPhysicalDeviceDescriptorHeapPropertiesEXT = 1000135008 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                sampler_heap_alignment samplerHeapAlignment: vk::DeviceSize,
                resource_heap_alignment resourceHeapAlignment: vk::DeviceSize,
                max_sampler_heap_size maxSamplerHeapSize: vk::DeviceSize,
                max_resource_heap_size maxResourceHeapSize: vk::DeviceSize,
                min_sampler_heap_reserved_range minSamplerHeapReservedRange: vk::DeviceSize,
                min_sampler_heap_reserved_range_with_embedded minSamplerHeapReservedRangeWithEmbedded: vk::DeviceSize,
                min_resource_heap_reserved_range minResourceHeapReservedRange: vk::DeviceSize,
                sampler_descriptor_size samplerDescriptorSize: vk::DeviceSize,
                image_descriptor_size imageDescriptorSize: vk::DeviceSize,
                buffer_descriptor_size bufferDescriptorSize: vk::DeviceSize,
                sampler_descriptor_alignment samplerDescriptorAlignment: vk::DeviceSize,
                image_descriptor_alignment imageDescriptorAlignment: vk::DeviceSize,
                buffer_descriptor_alignment bufferDescriptorAlignment: vk::DeviceSize,
                max_push_data_size maxPushDataSize: vk::DeviceSize,
                image_capture_replay_opaque_data_size imageCaptureReplayOpaqueDataSize: usize,
                max_descriptor_heap_embedded_samplers maxDescriptorHeapEmbeddedSamplers: u32,
                sampler_ycbcr_conversion_count samplerYcbcrConversionCount: u32,
                sparse_descriptor_heaps sparseDescriptorHeaps: vk::Bool32,
                protected_descriptor_heaps protectedDescriptorHeaps: vk::Bool32, }
            VK_EXT_device_generated_commands struct PhysicalDeviceDeviceGeneratedCommandsFeaturesEXT VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT = 1000572000 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                device_generated_commands deviceGeneratedCommands: vk::Bool32,
                dynamic_generated_pipeline_layout dynamicGeneratedPipelineLayout: vk::Bool32, }
            VK_EXT_device_generated_commands struct PhysicalDeviceDeviceGeneratedCommandsPropertiesEXT VkPhysicalDeviceDeviceGeneratedCommandsPropertiesEXT = 1000572001 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                max_indirect_pipeline_count maxIndirectPipelineCount: u32,
                max_indirect_shader_object_count maxIndirectShaderObjectCount: u32,
                max_indirect_sequence_count maxIndirectSequenceCount: u32,
                max_indirect_commands_token_count maxIndirectCommandsTokenCount: u32,
                max_indirect_commands_token_offset maxIndirectCommandsTokenOffset: u32,
                max_indirect_commands_indirect_stride maxIndirectCommandsIndirectStride: u32,
                supported_indirect_commands_input_modes supportedIndirectCommandsInputModes: vk::IndirectCommandsInputModeFlagsEXT,
                supported_indirect_commands_shader_stages supportedIndirectCommandsShaderStages: vk::ShaderStageFlags,
                supported_indirect_commands_shader_stages_pipeline_binding supportedIndirectCommandsShaderStagesPipelineBinding: vk::ShaderStageFlags,
                supported_indirect_commands_shader_stages_shader_binding supportedIndirectCommandsShaderStagesShaderBinding: vk::ShaderStageFlags,
                device_generated_commands_transform_feedback deviceGeneratedCommandsTransformFeedback: vk::Bool32,
                device_generated_commands_multi_draw_indirect_count deviceGeneratedCommandsMultiDrawIndirectCount: vk::Bool32, }
            VK_KHR_maintenance9 struct PhysicalDeviceMaintenance9PropertiesKHR VkPhysicalDeviceMaintenance9PropertiesKHR = 1000584001 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                image2_d_view_of3_d_sparse image2DViewOf3DSparse: vk::Bool32,
                default_vertex_attribute_value defaultVertexAttributeValue: vk::DefaultVertexAttributeValueKHR, }
            VK_EXT_descriptor_heap struct PushDataInfoEXT VkPushDataInfoEXT = 1000135004 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void, offset offset: u32,
                data data: vk::HostAddressRangeConstEXT, }
            VK_ARM_performance_counters_by_region struct RenderPassPerformanceCountersByRegionBeginInfoARM VkRenderPassPerformanceCountersByRegionBeginInfoARM = 1000605004 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                counter_address_count counterAddressCount: u32,
                p_counter_addresses pCounterAddresses: *const vk::DeviceAddress,
                serialize_regions serializeRegions: vk::Bool32,
                counter_index_count counterIndexCount: u32,
                p_counter_indices pCounterIndices: *const u32, }
            VK_KHR_maintenance10 struct RenderingAttachmentFlagsInfoKHR VkRenderingAttachmentFlagsInfoKHR = 1000630002 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                flags flags: vk::RenderingAttachmentFlagsKHR, }
            VK_KHR_maintenance10 struct RenderingEndInfoKHR VkRenderingEndInfoKHR = 1000619003 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void, }
            VK_EXT_descriptor_heap struct ShaderDescriptorSetAndBindingMappingInfoEXT VkShaderDescriptorSetAndBindingMappingInfoEXT = 1000135006 {
                s_type sType: vk::StructureType, p_next pNext: *const c_void,
                mapping_count mappingCount: u32,
                p_mappings pMappings: *const vk::DescriptorSetAndBindingMappingEXT, }
            VK_KHR_copy_memory_indirect struct StridedDeviceAddressRangeKHR VkStridedDeviceAddressRangeKHR {
                address address: vk::DeviceAddress, size size: vk::DeviceSize,
                stride stride: vk::DeviceSize, }
        }
    };
}

/// Passes the unions that ash does not have to a macro, in rows like those of structures.
macro_rules! newer_unions {
    ($expand:ident) => {
        $expand! {
            VK_EXT_descriptor_heap union DescriptorMappingSourceDataEXT VkDescriptorMappingSourceDataEXT {
                constant_offset constantOffset: vk::DescriptorMappingSourceConstantOffsetEXT,
                push_index pushIndex: vk::DescriptorMappingSourcePushIndexEXT,
                indirect_index indirectIndex: vk::DescriptorMappingSourceIndirectIndexEXT,
                indirect_index_array indirectIndexArray: vk::DescriptorMappingSourceIndirectIndexArrayEXT,
                heap_data heapData: vk::DescriptorMappingSourceHeapDataEXT,
                push_data_offset pushDataOffset: u32, push_address_offset pushAddressOffset: u32,
                indirect_address indirectAddress: vk::DescriptorMappingSourceIndirectAddressEXT,
                shader_record_index shaderRecordIndex: vk::DescriptorMappingSourceShaderRecordIndexEXT,
                shader_record_data_offset shaderRecordDataOffset: u32,
                shader_record_address_offset shaderRecordAddressOffset: u32, }
        }
    };
}

pub(crate) use {newer_structures, newer_unions};

pub(crate) type AccessFlags3KHR = u64;
pub(crate) type AddressCopyFlagsKHR = u32;
pub(crate) type DefaultVertexAttributeValueKHR = i32;
pub(crate) type DepthClampModeEXT = i32;
pub(crate) type DescriptorMappingSourceEXT = i32;
pub(crate) type IndirectCommandsInputModeFlagsEXT = u32;
pub(crate) type IndirectCommandsLayoutEXT = u64;
pub(crate) type IndirectCommandsLayoutUsageFlagsEXT = u32;
pub(crate) type IndirectExecutionSetEXT = u64;
pub(crate) type RenderingAttachmentFlagsKHR = u32;
pub(crate) type ShaderInstrumentationARM = u64;
pub(crate) type SpirvResourceTypeFlagsEXT = u32;
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdBeginCustomResolveEXT =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::BeginCustomResolveInfoEXT);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdBeginShaderInstrumentationARM =
    unsafe extern "system" fn(vk::CommandBuffer, vk::ShaderInstrumentationARM);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdBindResourceHeapEXT =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::BindHeapInfoEXT);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdBindSamplerHeapEXT =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::BindHeapInfoEXT);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdCopyMemoryIndirectKHR =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::CopyMemoryIndirectInfoKHR);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdCopyMemoryToImageIndirectKHR =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::CopyMemoryToImageIndirectInfoKHR);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdEndRendering2KHR =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::RenderingEndInfoKHR);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdEndShaderInstrumentationARM = unsafe extern "system" fn(vk::CommandBuffer);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdExecuteGeneratedCommandsEXT =
    unsafe extern "system" fn(vk::CommandBuffer, vk::Bool32, *const vk::GeneratedCommandsInfoEXT);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdPreprocessGeneratedCommandsEXT = unsafe extern "system" fn(
    vk::CommandBuffer,
    *const vk::GeneratedCommandsInfoEXT,
    vk::CommandBuffer,
);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdPushDataEXT =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::PushDataInfoEXT);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdSetComputeOccupancyPriorityNV =
    unsafe extern "system" fn(vk::CommandBuffer, *const vk::ComputeOccupancyPriorityParametersNV);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdSetDepthClampRangeEXT = unsafe extern "system" fn(
    vk::CommandBuffer,
    vk::DepthClampModeEXT,
    *const vk::DepthClampRangeEXT,
);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCmdSetPrimitiveRestartIndexEXT =
    unsafe extern "system" fn(vk::CommandBuffer, u32);
#[allow(non_camel_case_types)]
pub(crate) type PFN_vkCreateIndirectCommandsLayoutEXT = unsafe extern "system" fn(
    vk::Device,
    *const vk::IndirectCommandsLayoutCreateInfoEXT,
    *const vk::AllocationCallbacks<'static>,
    *const vk::IndirectCommandsLayoutEXT,
) -> vk::Result;
