// Generated from the registry of Vulkan 1.4.360 by tests/registry. Changes belong there.

/// Passes the functions of a device to a macro, as rows `name PFN_type [names of the command];`.
macro_rules! functions {
    ($expand:ident) => {
        $expand! {
            begin_conditional_rendering_ext PFN_vkCmdBeginConditionalRenderingEXT [c"vkCmdBeginConditionalRenderingEXT"];
            begin_custom_resolve_ext PFN_vkCmdBeginCustomResolveEXT [c"vkCmdBeginCustomResolveEXT"];
            begin_debug_utils_label_ext PFN_vkCmdBeginDebugUtilsLabelEXT [c"vkCmdBeginDebugUtilsLabelEXT"];
            begin_query PFN_vkCmdBeginQuery [c"vkCmdBeginQuery"];
            begin_query_indexed_ext PFN_vkCmdBeginQueryIndexedEXT [c"vkCmdBeginQueryIndexedEXT"];
            begin_render_pass PFN_vkCmdBeginRenderPass [c"vkCmdBeginRenderPass"];
            begin_render_pass2 PFN_vkCmdBeginRenderPass2 [c"vkCmdBeginRenderPass2", c"vkCmdBeginRenderPass2KHR"];
            begin_rendering PFN_vkCmdBeginRendering [c"vkCmdBeginRendering", c"vkCmdBeginRenderingKHR"];
            begin_shader_instrumentation_arm PFN_vkCmdBeginShaderInstrumentationARM [c"vkCmdBeginShaderInstrumentationARM"];
            begin_transform_feedback_ext PFN_vkCmdBeginTransformFeedbackEXT [c"vkCmdBeginTransformFeedbackEXT"];
            bind_descriptor_buffer_embedded_samplers2_ext PFN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT [c"vkCmdBindDescriptorBufferEmbeddedSamplers2EXT"];
            bind_descriptor_buffer_embedded_samplers_ext PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT [c"vkCmdBindDescriptorBufferEmbeddedSamplersEXT"];
            bind_descriptor_buffers_ext PFN_vkCmdBindDescriptorBuffersEXT [c"vkCmdBindDescriptorBuffersEXT"];
            bind_descriptor_sets PFN_vkCmdBindDescriptorSets [c"vkCmdBindDescriptorSets"];
            bind_descriptor_sets2_khr PFN_vkCmdBindDescriptorSets2KHR [c"vkCmdBindDescriptorSets2KHR", c"vkCmdBindDescriptorSets2"];
            bind_index_buffer PFN_vkCmdBindIndexBuffer [c"vkCmdBindIndexBuffer"];
            bind_index_buffer2_khr PFN_vkCmdBindIndexBuffer2KHR [c"vkCmdBindIndexBuffer2KHR", c"vkCmdBindIndexBuffer2"];
            bind_pipeline PFN_vkCmdBindPipeline [c"vkCmdBindPipeline"];
            bind_resource_heap_ext PFN_vkCmdBindResourceHeapEXT [c"vkCmdBindResourceHeapEXT"];
            bind_sampler_heap_ext PFN_vkCmdBindSamplerHeapEXT [c"vkCmdBindSamplerHeapEXT"];
            bind_shaders_ext PFN_vkCmdBindShadersEXT [c"vkCmdBindShadersEXT"];
            bind_shading_rate_image_nv PFN_vkCmdBindShadingRateImageNV [c"vkCmdBindShadingRateImageNV"];
            bind_transform_feedback_buffers_ext PFN_vkCmdBindTransformFeedbackBuffersEXT [c"vkCmdBindTransformFeedbackBuffersEXT"];
            bind_vertex_buffers PFN_vkCmdBindVertexBuffers [c"vkCmdBindVertexBuffers"];
            bind_vertex_buffers2 PFN_vkCmdBindVertexBuffers2 [c"vkCmdBindVertexBuffers2", c"vkCmdBindVertexBuffers2EXT"];
            clear_attachments PFN_vkCmdClearAttachments [c"vkCmdClearAttachments"];
            copy_memory_indirect_khr PFN_vkCmdCopyMemoryIndirectKHR [c"vkCmdCopyMemoryIndirectKHR"];
            copy_memory_indirect_nv PFN_vkCmdCopyMemoryIndirectNV [c"vkCmdCopyMemoryIndirectNV"];
            copy_memory_to_image_indirect_khr PFN_vkCmdCopyMemoryToImageIndirectKHR [c"vkCmdCopyMemoryToImageIndirectKHR"];
            copy_memory_to_image_indirect_nv PFN_vkCmdCopyMemoryToImageIndirectNV [c"vkCmdCopyMemoryToImageIndirectNV"];
            debug_marker_begin_ext PFN_vkCmdDebugMarkerBeginEXT [c"vkCmdDebugMarkerBeginEXT"];
            debug_marker_end_ext PFN_vkCmdDebugMarkerEndEXT [c"vkCmdDebugMarkerEndEXT"];
            debug_marker_insert_ext PFN_vkCmdDebugMarkerInsertEXT [c"vkCmdDebugMarkerInsertEXT"];
            dispatch PFN_vkCmdDispatch [c"vkCmdDispatch"];
            dispatch_base PFN_vkCmdDispatchBase [c"vkCmdDispatchBase", c"vkCmdDispatchBaseKHR"];
            dispatch_indirect PFN_vkCmdDispatchIndirect [c"vkCmdDispatchIndirect"];
            draw PFN_vkCmdDraw [c"vkCmdDraw"];
            draw_cluster_huawei PFN_vkCmdDrawClusterHUAWEI [c"vkCmdDrawClusterHUAWEI"];
            draw_cluster_indirect_huawei PFN_vkCmdDrawClusterIndirectHUAWEI [c"vkCmdDrawClusterIndirectHUAWEI"];
            draw_indexed PFN_vkCmdDrawIndexed [c"vkCmdDrawIndexed"];
            draw_indexed_indirect PFN_vkCmdDrawIndexedIndirect [c"vkCmdDrawIndexedIndirect"];
            draw_indexed_indirect_count PFN_vkCmdDrawIndexedIndirectCount [c"vkCmdDrawIndexedIndirectCount", c"vkCmdDrawIndexedIndirectCountKHR", c"vkCmdDrawIndexedIndirectCountAMD"];
            draw_indirect PFN_vkCmdDrawIndirect [c"vkCmdDrawIndirect"];
            draw_indirect_byte_count_ext PFN_vkCmdDrawIndirectByteCountEXT [c"vkCmdDrawIndirectByteCountEXT"];
            draw_indirect_count PFN_vkCmdDrawIndirectCount [c"vkCmdDrawIndirectCount", c"vkCmdDrawIndirectCountKHR", c"vkCmdDrawIndirectCountAMD"];
            draw_mesh_tasks_ext PFN_vkCmdDrawMeshTasksEXT [c"vkCmdDrawMeshTasksEXT"];
            draw_mesh_tasks_indirect_count_ext PFN_vkCmdDrawMeshTasksIndirectCountEXT [c"vkCmdDrawMeshTasksIndirectCountEXT"];
            draw_mesh_tasks_indirect_count_nv PFN_vkCmdDrawMeshTasksIndirectCountNV [c"vkCmdDrawMeshTasksIndirectCountNV"];
            draw_mesh_tasks_indirect_ext PFN_vkCmdDrawMeshTasksIndirectEXT [c"vkCmdDrawMeshTasksIndirectEXT"];
            draw_mesh_tasks_indirect_nv PFN_vkCmdDrawMeshTasksIndirectNV [c"vkCmdDrawMeshTasksIndirectNV"];
            draw_mesh_tasks_nv PFN_vkCmdDrawMeshTasksNV [c"vkCmdDrawMeshTasksNV"];
            draw_multi_ext PFN_vkCmdDrawMultiEXT [c"vkCmdDrawMultiEXT"];
            draw_multi_indexed_ext PFN_vkCmdDrawMultiIndexedEXT [c"vkCmdDrawMultiIndexedEXT"];
            end_conditional_rendering_ext PFN_vkCmdEndConditionalRenderingEXT [c"vkCmdEndConditionalRenderingEXT"];
            end_debug_utils_label_ext PFN_vkCmdEndDebugUtilsLabelEXT [c"vkCmdEndDebugUtilsLabelEXT"];
            end_query PFN_vkCmdEndQuery [c"vkCmdEndQuery"];
            end_query_indexed_ext PFN_vkCmdEndQueryIndexedEXT [c"vkCmdEndQueryIndexedEXT"];
            end_render_pass PFN_vkCmdEndRenderPass [c"vkCmdEndRenderPass"];
            end_render_pass2 PFN_vkCmdEndRenderPass2 [c"vkCmdEndRenderPass2", c"vkCmdEndRenderPass2KHR"];
            end_rendering PFN_vkCmdEndRendering [c"vkCmdEndRendering", c"vkCmdEndRenderingKHR"];
            end_rendering2_khr PFN_vkCmdEndRendering2KHR [c"vkCmdEndRendering2KHR", c"vkCmdEndRendering2EXT"];
            end_shader_instrumentation_arm PFN_vkCmdEndShaderInstrumentationARM [c"vkCmdEndShaderInstrumentationARM"];
            end_transform_feedback_ext PFN_vkCmdEndTransformFeedbackEXT [c"vkCmdEndTransformFeedbackEXT"];
            execute_commands PFN_vkCmdExecuteCommands [c"vkCmdExecuteCommands"];
            execute_generated_commands_ext PFN_vkCmdExecuteGeneratedCommandsEXT [c"vkCmdExecuteGeneratedCommandsEXT"];
            insert_debug_utils_label_ext PFN_vkCmdInsertDebugUtilsLabelEXT [c"vkCmdInsertDebugUtilsLabelEXT"];
            next_subpass PFN_vkCmdNextSubpass [c"vkCmdNextSubpass"];
            next_subpass2 PFN_vkCmdNextSubpass2 [c"vkCmdNextSubpass2", c"vkCmdNextSubpass2KHR"];
            pipeline_barrier PFN_vkCmdPipelineBarrier [c"vkCmdPipelineBarrier"];
            pipeline_barrier2 PFN_vkCmdPipelineBarrier2 [c"vkCmdPipelineBarrier2", c"vkCmdPipelineBarrier2KHR"];
            push_constants PFN_vkCmdPushConstants [c"vkCmdPushConstants"];
            push_constants2_khr PFN_vkCmdPushConstants2KHR [c"vkCmdPushConstants2KHR", c"vkCmdPushConstants2"];
            push_data_ext PFN_vkCmdPushDataEXT [c"vkCmdPushDataEXT"];
            push_descriptor_set2_khr PFN_vkCmdPushDescriptorSet2KHR [c"vkCmdPushDescriptorSet2KHR", c"vkCmdPushDescriptorSet2"];
            push_descriptor_set_khr PFN_vkCmdPushDescriptorSetKHR [c"vkCmdPushDescriptorSetKHR", c"vkCmdPushDescriptorSet"];
            push_descriptor_set_with_template2_khr PFN_vkCmdPushDescriptorSetWithTemplate2KHR [c"vkCmdPushDescriptorSetWithTemplate2KHR", c"vkCmdPushDescriptorSetWithTemplate2"];
            push_descriptor_set_with_template_khr PFN_vkCmdPushDescriptorSetWithTemplateKHR [c"vkCmdPushDescriptorSetWithTemplateKHR", c"vkCmdPushDescriptorSetWithTemplate"];
            reset_event PFN_vkCmdResetEvent [c"vkCmdResetEvent"];
            reset_event2 PFN_vkCmdResetEvent2 [c"vkCmdResetEvent2", c"vkCmdResetEvent2KHR"];
            set_alpha_to_coverage_enable_ext PFN_vkCmdSetAlphaToCoverageEnableEXT [c"vkCmdSetAlphaToCoverageEnableEXT"];
            set_alpha_to_one_enable_ext PFN_vkCmdSetAlphaToOneEnableEXT [c"vkCmdSetAlphaToOneEnableEXT"];
            set_attachment_feedback_loop_enable_ext PFN_vkCmdSetAttachmentFeedbackLoopEnableEXT [c"vkCmdSetAttachmentFeedbackLoopEnableEXT"];
            set_blend_constants PFN_vkCmdSetBlendConstants [c"vkCmdSetBlendConstants"];
            set_checkpoint_nv PFN_vkCmdSetCheckpointNV [c"vkCmdSetCheckpointNV"];
            set_coarse_sample_order_nv PFN_vkCmdSetCoarseSampleOrderNV [c"vkCmdSetCoarseSampleOrderNV"];
            set_color_blend_advanced_ext PFN_vkCmdSetColorBlendAdvancedEXT [c"vkCmdSetColorBlendAdvancedEXT"];
            set_color_blend_enable_ext PFN_vkCmdSetColorBlendEnableEXT [c"vkCmdSetColorBlendEnableEXT"];
            set_color_blend_equation_ext PFN_vkCmdSetColorBlendEquationEXT [c"vkCmdSetColorBlendEquationEXT"];
            set_color_write_enable_ext PFN_vkCmdSetColorWriteEnableEXT [c"vkCmdSetColorWriteEnableEXT"];
            set_color_write_mask_ext PFN_vkCmdSetColorWriteMaskEXT [c"vkCmdSetColorWriteMaskEXT"];
            set_compute_occupancy_priority_nv PFN_vkCmdSetComputeOccupancyPriorityNV [c"vkCmdSetComputeOccupancyPriorityNV"];
            set_conservative_rasterization_mode_ext PFN_vkCmdSetConservativeRasterizationModeEXT [c"vkCmdSetConservativeRasterizationModeEXT"];
            set_coverage_modulation_mode_nv PFN_vkCmdSetCoverageModulationModeNV [c"vkCmdSetCoverageModulationModeNV"];
            set_coverage_modulation_table_enable_nv PFN_vkCmdSetCoverageModulationTableEnableNV [c"vkCmdSetCoverageModulationTableEnableNV"];
            set_coverage_modulation_table_nv PFN_vkCmdSetCoverageModulationTableNV [c"vkCmdSetCoverageModulationTableNV"];
            set_coverage_reduction_mode_nv PFN_vkCmdSetCoverageReductionModeNV [c"vkCmdSetCoverageReductionModeNV"];
            set_coverage_to_color_enable_nv PFN_vkCmdSetCoverageToColorEnableNV [c"vkCmdSetCoverageToColorEnableNV"];
            set_coverage_to_color_location_nv PFN_vkCmdSetCoverageToColorLocationNV [c"vkCmdSetCoverageToColorLocationNV"];
            set_cull_mode PFN_vkCmdSetCullMode [c"vkCmdSetCullMode", c"vkCmdSetCullModeEXT"];
            set_depth_bias PFN_vkCmdSetDepthBias [c"vkCmdSetDepthBias"];
            set_depth_bias2_ext PFN_vkCmdSetDepthBias2EXT [c"vkCmdSetDepthBias2EXT"];
            set_depth_bias_enable PFN_vkCmdSetDepthBiasEnable [c"vkCmdSetDepthBiasEnable", c"vkCmdSetDepthBiasEnableEXT"];
            set_depth_bounds PFN_vkCmdSetDepthBounds [c"vkCmdSetDepthBounds"];
            set_depth_bounds_test_enable PFN_vkCmdSetDepthBoundsTestEnable [c"vkCmdSetDepthBoundsTestEnable", c"vkCmdSetDepthBoundsTestEnableEXT"];
            set_depth_clamp_enable_ext PFN_vkCmdSetDepthClampEnableEXT [c"vkCmdSetDepthClampEnableEXT"];
            set_depth_clamp_range_ext PFN_vkCmdSetDepthClampRangeEXT [c"vkCmdSetDepthClampRangeEXT"];
            set_depth_clip_enable_ext PFN_vkCmdSetDepthClipEnableEXT [c"vkCmdSetDepthClipEnableEXT"];
            set_depth_clip_negative_one_to_one_ext PFN_vkCmdSetDepthClipNegativeOneToOneEXT [c"vkCmdSetDepthClipNegativeOneToOneEXT"];
            set_depth_compare_op PFN_vkCmdSetDepthCompareOp [c"vkCmdSetDepthCompareOp", c"vkCmdSetDepthCompareOpEXT"];
            set_depth_test_enable PFN_vkCmdSetDepthTestEnable [c"vkCmdSetDepthTestEnable", c"vkCmdSetDepthTestEnableEXT"];
            set_depth_write_enable PFN_vkCmdSetDepthWriteEnable [c"vkCmdSetDepthWriteEnable", c"vkCmdSetDepthWriteEnableEXT"];
            set_descriptor_buffer_offsets2_ext PFN_vkCmdSetDescriptorBufferOffsets2EXT [c"vkCmdSetDescriptorBufferOffsets2EXT"];
            set_descriptor_buffer_offsets_ext PFN_vkCmdSetDescriptorBufferOffsetsEXT [c"vkCmdSetDescriptorBufferOffsetsEXT"];
            set_device_mask PFN_vkCmdSetDeviceMask [c"vkCmdSetDeviceMask", c"vkCmdSetDeviceMaskKHR"];
            set_discard_rectangle_ext PFN_vkCmdSetDiscardRectangleEXT [c"vkCmdSetDiscardRectangleEXT"];
            set_discard_rectangle_enable_ext PFN_vkCmdSetDiscardRectangleEnableEXT [c"vkCmdSetDiscardRectangleEnableEXT"];
            set_discard_rectangle_mode_ext PFN_vkCmdSetDiscardRectangleModeEXT [c"vkCmdSetDiscardRectangleModeEXT"];
            set_event PFN_vkCmdSetEvent [c"vkCmdSetEvent"];
            set_event2 PFN_vkCmdSetEvent2 [c"vkCmdSetEvent2", c"vkCmdSetEvent2KHR"];
            set_exclusive_scissor_enable_nv PFN_vkCmdSetExclusiveScissorEnableNV [c"vkCmdSetExclusiveScissorEnableNV"];
            set_exclusive_scissor_nv PFN_vkCmdSetExclusiveScissorNV [c"vkCmdSetExclusiveScissorNV"];
            set_extra_primitive_overestimation_size_ext PFN_vkCmdSetExtraPrimitiveOverestimationSizeEXT [c"vkCmdSetExtraPrimitiveOverestimationSizeEXT"];
            set_fragment_shading_rate_enum_nv PFN_vkCmdSetFragmentShadingRateEnumNV [c"vkCmdSetFragmentShadingRateEnumNV"];
            set_fragment_shading_rate_khr PFN_vkCmdSetFragmentShadingRateKHR [c"vkCmdSetFragmentShadingRateKHR"];
            set_front_face PFN_vkCmdSetFrontFace [c"vkCmdSetFrontFace", c"vkCmdSetFrontFaceEXT"];
            set_line_rasterization_mode_ext PFN_vkCmdSetLineRasterizationModeEXT [c"vkCmdSetLineRasterizationModeEXT"];
            set_line_stipple_enable_ext PFN_vkCmdSetLineStippleEnableEXT [c"vkCmdSetLineStippleEnableEXT"];
            set_line_stipple_khr PFN_vkCmdSetLineStippleKHR [c"vkCmdSetLineStippleKHR", c"vkCmdSetLineStipple", c"vkCmdSetLineStippleEXT"];
            set_line_width PFN_vkCmdSetLineWidth [c"vkCmdSetLineWidth"];
            set_logic_op_ext PFN_vkCmdSetLogicOpEXT [c"vkCmdSetLogicOpEXT"];
            set_logic_op_enable_ext PFN_vkCmdSetLogicOpEnableEXT [c"vkCmdSetLogicOpEnableEXT"];
            set_patch_control_points_ext PFN_vkCmdSetPatchControlPointsEXT [c"vkCmdSetPatchControlPointsEXT"];
            set_polygon_mode_ext PFN_vkCmdSetPolygonModeEXT [c"vkCmdSetPolygonModeEXT"];
            set_primitive_restart_enable PFN_vkCmdSetPrimitiveRestartEnable [c"vkCmdSetPrimitiveRestartEnable", c"vkCmdSetPrimitiveRestartEnableEXT"];
            set_primitive_restart_index_ext PFN_vkCmdSetPrimitiveRestartIndexEXT [c"vkCmdSetPrimitiveRestartIndexEXT"];
            set_primitive_topology PFN_vkCmdSetPrimitiveTopology [c"vkCmdSetPrimitiveTopology", c"vkCmdSetPrimitiveTopologyEXT"];
            set_provoking_vertex_mode_ext PFN_vkCmdSetProvokingVertexModeEXT [c"vkCmdSetProvokingVertexModeEXT"];
            set_rasterization_samples_ext PFN_vkCmdSetRasterizationSamplesEXT [c"vkCmdSetRasterizationSamplesEXT"];
            set_rasterization_stream_ext PFN_vkCmdSetRasterizationStreamEXT [c"vkCmdSetRasterizationStreamEXT"];
            set_rasterizer_discard_enable PFN_vkCmdSetRasterizerDiscardEnable [c"vkCmdSetRasterizerDiscardEnable", c"vkCmdSetRasterizerDiscardEnableEXT"];
            set_rendering_attachment_locations_khr PFN_vkCmdSetRenderingAttachmentLocationsKHR [c"vkCmdSetRenderingAttachmentLocationsKHR", c"vkCmdSetRenderingAttachmentLocations"];
            set_rendering_input_attachment_indices_khr PFN_vkCmdSetRenderingInputAttachmentIndicesKHR [c"vkCmdSetRenderingInputAttachmentIndicesKHR", c"vkCmdSetRenderingInputAttachmentIndices"];
            set_representative_fragment_test_enable_nv PFN_vkCmdSetRepresentativeFragmentTestEnableNV [c"vkCmdSetRepresentativeFragmentTestEnableNV"];
            set_sample_locations_ext PFN_vkCmdSetSampleLocationsEXT [c"vkCmdSetSampleLocationsEXT"];
            set_sample_locations_enable_ext PFN_vkCmdSetSampleLocationsEnableEXT [c"vkCmdSetSampleLocationsEnableEXT"];
            set_sample_mask_ext PFN_vkCmdSetSampleMaskEXT [c"vkCmdSetSampleMaskEXT"];
            set_scissor PFN_vkCmdSetScissor [c"vkCmdSetScissor"];
            set_scissor_with_count PFN_vkCmdSetScissorWithCount [c"vkCmdSetScissorWithCount", c"vkCmdSetScissorWithCountEXT"];
            set_shading_rate_image_enable_nv PFN_vkCmdSetShadingRateImageEnableNV [c"vkCmdSetShadingRateImageEnableNV"];
            set_stencil_compare_mask PFN_vkCmdSetStencilCompareMask [c"vkCmdSetStencilCompareMask"];
            set_stencil_op PFN_vkCmdSetStencilOp [c"vkCmdSetStencilOp", c"vkCmdSetStencilOpEXT"];
            set_stencil_reference PFN_vkCmdSetStencilReference [c"vkCmdSetStencilReference"];
            set_stencil_test_enable PFN_vkCmdSetStencilTestEnable [c"vkCmdSetStencilTestEnable", c"vkCmdSetStencilTestEnableEXT"];
            set_stencil_write_mask PFN_vkCmdSetStencilWriteMask [c"vkCmdSetStencilWriteMask"];
            set_tessellation_domain_origin_ext PFN_vkCmdSetTessellationDomainOriginEXT [c"vkCmdSetTessellationDomainOriginEXT"];
            set_vertex_input_ext PFN_vkCmdSetVertexInputEXT [c"vkCmdSetVertexInputEXT"];
            set_viewport PFN_vkCmdSetViewport [c"vkCmdSetViewport"];
            set_viewport_shading_rate_palette_nv PFN_vkCmdSetViewportShadingRatePaletteNV [c"vkCmdSetViewportShadingRatePaletteNV"];
            set_viewport_swizzle_nv PFN_vkCmdSetViewportSwizzleNV [c"vkCmdSetViewportSwizzleNV"];
            set_viewport_w_scaling_enable_nv PFN_vkCmdSetViewportWScalingEnableNV [c"vkCmdSetViewportWScalingEnableNV"];
            set_viewport_w_scaling_nv PFN_vkCmdSetViewportWScalingNV [c"vkCmdSetViewportWScalingNV"];
            set_viewport_with_count PFN_vkCmdSetViewportWithCount [c"vkCmdSetViewportWithCount", c"vkCmdSetViewportWithCountEXT"];
            subpass_shading_huawei PFN_vkCmdSubpassShadingHUAWEI [c"vkCmdSubpassShadingHUAWEI"];
            trace_rays_indirect2_khr PFN_vkCmdTraceRaysIndirect2KHR [c"vkCmdTraceRaysIndirect2KHR"];
            trace_rays_indirect_khr PFN_vkCmdTraceRaysIndirectKHR [c"vkCmdTraceRaysIndirectKHR"];
            trace_rays_khr PFN_vkCmdTraceRaysKHR [c"vkCmdTraceRaysKHR"];
            trace_rays_nv PFN_vkCmdTraceRaysNV [c"vkCmdTraceRaysNV"];
            wait_events PFN_vkCmdWaitEvents [c"vkCmdWaitEvents"];
            wait_events2 PFN_vkCmdWaitEvents2 [c"vkCmdWaitEvents2", c"vkCmdWaitEvents2KHR"];
            write_buffer_marker2_amd PFN_vkCmdWriteBufferMarker2AMD [c"vkCmdWriteBufferMarker2AMD"];
            write_buffer_marker_amd PFN_vkCmdWriteBufferMarkerAMD [c"vkCmdWriteBufferMarkerAMD"];
            write_timestamp PFN_vkCmdWriteTimestamp [c"vkCmdWriteTimestamp"];
            write_timestamp2 PFN_vkCmdWriteTimestamp2 [c"vkCmdWriteTimestamp2", c"vkCmdWriteTimestamp2KHR"];
        }
    };
}

/// Passes commands to a macro, as rows in the form that [`arguments`](super::arguments) describes.
macro_rules! commands {
    ($expand:ident) => {
        $expand! {
            Action begin_conditional_rendering_ext BeginConditionalRenderingExt (
                p_conditional_rendering_begin: *const vk::ConditionalRenderingBeginInfoEXT<'static> => structures(1),
            );
            Action begin_custom_resolve_ext BeginCustomResolveExt (
                p_begin_custom_resolve_info: *const vk::BeginCustomResolveInfoEXT => structures(1),
            );
            State begin_debug_utils_label_ext BeginDebugUtilsLabelExt (
                p_label_info: *const vk::DebugUtilsLabelEXT<'static> => structures(1),
            );
            Action begin_query BeginQuery (
                query_pool: vk::QueryPool,
                query: u32,
                flags: vk::QueryControlFlags,
            );
            Action begin_query_indexed_ext BeginQueryIndexedExt (
                query_pool: vk::QueryPool,
                query: u32,
                flags: vk::QueryControlFlags,
                index: u32,
            );
            BeginPass begin_render_pass BeginRenderPass (
                p_render_pass_begin: *const vk::RenderPassBeginInfo<'static> => structures(1),
                contents: vk::SubpassContents,
            );
            BeginPass begin_render_pass2 BeginRenderPass2 (
                p_render_pass_begin: *const vk::RenderPassBeginInfo<'static> => structures(1),
                p_subpass_begin_info: *const vk::SubpassBeginInfo<'static> => structures(1),
            );
            BeginPass begin_rendering BeginRendering (
                p_rendering_info: *const vk::RenderingInfo<'static> => structures(1),
            );
            Action begin_shader_instrumentation_arm BeginShaderInstrumentationArm (
                instrumentation: vk::ShaderInstrumentationARM,
            );
            Action begin_transform_feedback_ext BeginTransformFeedbackExt (
                first_counter_buffer: u32,
                counter_buffer_count: u32,
                p_counter_buffers: *const vk::Buffer => values(counter_buffer_count),
                p_counter_buffer_offsets: *const vk::DeviceSize => values(counter_buffer_count),
            );
            State bind_descriptor_buffer_embedded_samplers2_ext BindDescriptorBufferEmbeddedSamplers2Ext (
                p_bind_descriptor_buffer_embedded_samplers_info: *const vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static> => structures(1),
            );
            State bind_descriptor_buffer_embedded_samplers_ext BindDescriptorBufferEmbeddedSamplersExt (
                pipeline_bind_point: vk::PipelineBindPoint,
                layout: vk::PipelineLayout,
                set: u32,
            );
            State bind_descriptor_buffers_ext BindDescriptorBuffersExt (
                buffer_count: u32,
                p_binding_infos: *const vk::DescriptorBufferBindingInfoEXT<'static> => structures(buffer_count),
            );
            State bind_descriptor_sets BindDescriptorSets (
                pipeline_bind_point: vk::PipelineBindPoint,
                layout: vk::PipelineLayout,
                first_set: u32,
                descriptor_set_count: u32,
                p_descriptor_sets: *const vk::DescriptorSet => values(descriptor_set_count),
                dynamic_offset_count: u32,
                p_dynamic_offsets: *const u32 => values(dynamic_offset_count),
            );
            State bind_descriptor_sets2_khr BindDescriptorSets2Khr (
                p_bind_descriptor_sets_info: *const vk::BindDescriptorSetsInfoKHR<'static> => structures(1),
            );
            State bind_index_buffer BindIndexBuffer (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                index_type: vk::IndexType,
            );
            State bind_index_buffer2_khr BindIndexBuffer2Khr (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                size: vk::DeviceSize,
                index_type: vk::IndexType,
            );
            State bind_pipeline BindPipeline (
                pipeline_bind_point: vk::PipelineBindPoint,
                pipeline: vk::Pipeline,
            );
            State bind_resource_heap_ext BindResourceHeapExt (
                p_bind_info: *const vk::BindHeapInfoEXT => structures(1),
            );
            State bind_sampler_heap_ext BindSamplerHeapExt (
                p_bind_info: *const vk::BindHeapInfoEXT => structures(1),
            );
            State bind_shaders_ext BindShadersExt (
                stage_count: u32,
                p_stages: *const vk::ShaderStageFlags => values(stage_count),
                p_shaders: *const vk::ShaderEXT => values(stage_count),
            );
            State bind_shading_rate_image_nv BindShadingRateImageNv (
                image_view: vk::ImageView,
                image_layout: vk::ImageLayout,
            );
            State bind_transform_feedback_buffers_ext BindTransformFeedbackBuffersExt (
                first_binding: u32,
                binding_count: u32,
                p_buffers: *const vk::Buffer => values(binding_count),
                p_offsets: *const vk::DeviceSize => values(binding_count),
                p_sizes: *const vk::DeviceSize => values(binding_count),
            );
            State bind_vertex_buffers BindVertexBuffers (
                first_binding: u32,
                binding_count: u32,
                p_buffers: *const vk::Buffer => values(binding_count),
                p_offsets: *const vk::DeviceSize => values(binding_count),
            );
            State bind_vertex_buffers2 BindVertexBuffers2 (
                first_binding: u32,
                binding_count: u32,
                p_buffers: *const vk::Buffer => values(binding_count),
                p_offsets: *const vk::DeviceSize => values(binding_count),
                p_sizes: *const vk::DeviceSize => values(binding_count),
                p_strides: *const vk::DeviceSize => values(binding_count),
            );
            Action clear_attachments ClearAttachments (
                attachment_count: u32,
                p_attachments: *const vk::ClearAttachment => values(attachment_count),
                rect_count: u32,
                p_rects: *const vk::ClearRect => values(rect_count),
            );
            Action copy_memory_indirect_khr CopyMemoryIndirectKhr (
                p_copy_memory_indirect_info: *const vk::CopyMemoryIndirectInfoKHR => structures(1),
            );
            Action copy_memory_indirect_nv CopyMemoryIndirectNv (
                copy_buffer_address: vk::DeviceAddress,
                copy_count: u32,
                stride: u32,
            );
            Action copy_memory_to_image_indirect_khr CopyMemoryToImageIndirectKhr (
                p_copy_memory_to_image_indirect_info: *const vk::CopyMemoryToImageIndirectInfoKHR => structures(1),
            );
            Action copy_memory_to_image_indirect_nv CopyMemoryToImageIndirectNv (
                copy_buffer_address: vk::DeviceAddress,
                copy_count: u32,
                stride: u32,
                dst_image: vk::Image,
                dst_image_layout: vk::ImageLayout,
                p_image_subresources: *const vk::ImageSubresourceLayers => values(copy_count),
            );
            State debug_marker_begin_ext DebugMarkerBeginExt (
                p_marker_info: *const vk::DebugMarkerMarkerInfoEXT<'static> => structures(1),
            );
            State debug_marker_end_ext DebugMarkerEndExt (
            );
            State debug_marker_insert_ext DebugMarkerInsertExt (
                p_marker_info: *const vk::DebugMarkerMarkerInfoEXT<'static> => structures(1),
            );
            Action dispatch Dispatch (
                group_count_x: u32,
                group_count_y: u32,
                group_count_z: u32,
            );
            Action dispatch_base DispatchBase (
                base_group_x: u32,
                base_group_y: u32,
                base_group_z: u32,
                group_count_x: u32,
                group_count_y: u32,
                group_count_z: u32,
            );
            Action dispatch_indirect DispatchIndirect (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
            );
            Action draw Draw (
                vertex_count: u32,
                instance_count: u32,
                first_vertex: u32,
                first_instance: u32,
            );
            Action draw_cluster_huawei DrawClusterHuawei (
                group_count_x: u32,
                group_count_y: u32,
                group_count_z: u32,
            );
            Action draw_cluster_indirect_huawei DrawClusterIndirectHuawei (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
            );
            Action draw_indexed DrawIndexed (
                index_count: u32,
                instance_count: u32,
                first_index: u32,
                vertex_offset: i32,
                first_instance: u32,
            );
            Action draw_indexed_indirect DrawIndexedIndirect (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                draw_count: u32,
                stride: u32,
            );
            Action draw_indexed_indirect_count DrawIndexedIndirectCount (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize,
                max_draw_count: u32,
                stride: u32,
            );
            Action draw_indirect DrawIndirect (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                draw_count: u32,
                stride: u32,
            );
            Action draw_indirect_byte_count_ext DrawIndirectByteCountExt (
                instance_count: u32,
                first_instance: u32,
                counter_buffer: vk::Buffer,
                counter_buffer_offset: vk::DeviceSize,
                counter_offset: u32,
                vertex_stride: u32,
            );
            Action draw_indirect_count DrawIndirectCount (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize,
                max_draw_count: u32,
                stride: u32,
            );
            Action draw_mesh_tasks_ext DrawMeshTasksExt (
                group_count_x: u32,
                group_count_y: u32,
                group_count_z: u32,
            );
            Action draw_mesh_tasks_indirect_count_ext DrawMeshTasksIndirectCountExt (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize,
                max_draw_count: u32,
                stride: u32,
            );
            Action draw_mesh_tasks_indirect_count_nv DrawMeshTasksIndirectCountNv (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize,
                max_draw_count: u32,
                stride: u32,
            );
            Action draw_mesh_tasks_indirect_ext DrawMeshTasksIndirectExt (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                draw_count: u32,
                stride: u32,
            );
            Action draw_mesh_tasks_indirect_nv DrawMeshTasksIndirectNv (
                buffer: vk::Buffer,
                offset: vk::DeviceSize,
                draw_count: u32,
                stride: u32,
            );
            Action draw_mesh_tasks_nv DrawMeshTasksNv (
                task_count: u32,
                first_task: u32,
            );
            Action end_conditional_rendering_ext EndConditionalRenderingExt (
            );
            State end_debug_utils_label_ext EndDebugUtilsLabelExt (
            );
            Action end_query EndQuery (
                query_pool: vk::QueryPool,
                query: u32,
            );
            Action end_query_indexed_ext EndQueryIndexedExt (
                query_pool: vk::QueryPool,
                query: u32,
                index: u32,
            );
            EndPass end_render_pass EndRenderPass (
            );
            EndPass end_render_pass2 EndRenderPass2 (
                p_subpass_end_info: *const vk::SubpassEndInfo<'static> => structures(1),
            );
            EndPass end_rendering EndRendering (
            );
            EndPass end_rendering2_khr EndRendering2Khr (
                p_rendering_end_info: *const vk::RenderingEndInfoKHR => structures(1),
            );
            Action end_shader_instrumentation_arm EndShaderInstrumentationArm (
            );
            Action end_transform_feedback_ext EndTransformFeedbackExt (
                first_counter_buffer: u32,
                counter_buffer_count: u32,
                p_counter_buffers: *const vk::Buffer => values(counter_buffer_count),
                p_counter_buffer_offsets: *const vk::DeviceSize => values(counter_buffer_count),
            );
            Action execute_commands ExecuteCommands (
                command_buffer_count: u32,
                p_command_buffers: *const vk::CommandBuffer => values(command_buffer_count),
            );
            Action execute_generated_commands_ext ExecuteGeneratedCommandsExt (
                is_preprocessed: vk::Bool32,
                p_generated_commands_info: *const vk::GeneratedCommandsInfoEXT => structures(1),
            );
            State insert_debug_utils_label_ext InsertDebugUtilsLabelExt (
                p_label_info: *const vk::DebugUtilsLabelEXT<'static> => structures(1),
            );
            Action next_subpass NextSubpass (
                contents: vk::SubpassContents,
            );
            Action next_subpass2 NextSubpass2 (
                p_subpass_begin_info: *const vk::SubpassBeginInfo<'static> => structures(1),
                p_subpass_end_info: *const vk::SubpassEndInfo<'static> => structures(1),
            );
            Synchronization pipeline_barrier PipelineBarrier (
                src_stage_mask: vk::PipelineStageFlags,
                dst_stage_mask: vk::PipelineStageFlags,
                dependency_flags: vk::DependencyFlags,
                memory_barrier_count: u32,
                p_memory_barriers: *const vk::MemoryBarrier<'static> => structures(memory_barrier_count),
                buffer_memory_barrier_count: u32,
                p_buffer_memory_barriers: *const vk::BufferMemoryBarrier<'static> => structures(buffer_memory_barrier_count),
                image_memory_barrier_count: u32,
                p_image_memory_barriers: *const vk::ImageMemoryBarrier<'static> => structures(image_memory_barrier_count),
            );
            Synchronization pipeline_barrier2 PipelineBarrier2 (
                p_dependency_info: *const vk::DependencyInfo<'static> => structures(1),
            );
            State push_constants PushConstants (
                layout: vk::PipelineLayout,
                stage_flags: vk::ShaderStageFlags,
                offset: u32,
                size: u32,
                p_values: *const c_void => bytes(size),
            );
            State push_constants2_khr PushConstants2Khr (
                p_push_constants_info: *const vk::PushConstantsInfoKHR<'static> => structures(1),
            );
            State push_data_ext PushDataExt (
                p_push_data_info: *const vk::PushDataInfoEXT => structures(1),
            );
            State push_descriptor_set2_khr PushDescriptorSet2Khr (
                p_push_descriptor_set_info: *const vk::PushDescriptorSetInfoKHR<'static> => structures(1),
            );
            State push_descriptor_set_khr PushDescriptorSetKhr (
                pipeline_bind_point: vk::PipelineBindPoint,
                layout: vk::PipelineLayout,
                set: u32,
                descriptor_write_count: u32,
                p_descriptor_writes: *const vk::WriteDescriptorSet<'static> => structures(descriptor_write_count),
            );
            State push_descriptor_set_with_template2_khr PushDescriptorSetWithTemplate2Khr (
                p_push_descriptor_set_with_template_info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'static> => structures(1),
            );
            Action reset_event ResetEvent (
                event: vk::Event,
                stage_mask: vk::PipelineStageFlags,
            );
            Action reset_event2 ResetEvent2 (
                event: vk::Event,
                stage_mask: vk::PipelineStageFlags2,
            );
            State set_alpha_to_coverage_enable_ext SetAlphaToCoverageEnableExt (
                alpha_to_coverage_enable: vk::Bool32,
            );
            State set_alpha_to_one_enable_ext SetAlphaToOneEnableExt (
                alpha_to_one_enable: vk::Bool32,
            );
            State set_attachment_feedback_loop_enable_ext SetAttachmentFeedbackLoopEnableExt (
                aspect_mask: vk::ImageAspectFlags,
            );
            State set_blend_constants SetBlendConstants (
                blend_constants: *const [f32; 4] => values(1),
            );
            Action set_checkpoint_nv SetCheckpointNv (
                p_checkpoint_marker: *const c_void,
            );
            State set_coarse_sample_order_nv SetCoarseSampleOrderNv (
                sample_order_type: vk::CoarseSampleOrderTypeNV,
                custom_sample_order_count: u32,
                p_custom_sample_orders: *const vk::CoarseSampleOrderCustomNV<'static> => structures(custom_sample_order_count),
            );
            State set_color_blend_advanced_ext SetColorBlendAdvancedExt (
                first_attachment: u32,
                attachment_count: u32,
                p_color_blend_advanced: *const vk::ColorBlendAdvancedEXT => values(attachment_count),
            );
            State set_color_blend_enable_ext SetColorBlendEnableExt (
                first_attachment: u32,
                attachment_count: u32,
                p_color_blend_enables: *const vk::Bool32 => values(attachment_count),
            );
            State set_color_blend_equation_ext SetColorBlendEquationExt (
                first_attachment: u32,
                attachment_count: u32,
                p_color_blend_equations: *const vk::ColorBlendEquationEXT => values(attachment_count),
            );
            State set_color_write_enable_ext SetColorWriteEnableExt (
                attachment_count: u32,
                p_color_write_enables: *const vk::Bool32 => values(attachment_count),
            );
            State set_color_write_mask_ext SetColorWriteMaskExt (
                first_attachment: u32,
                attachment_count: u32,
                p_color_write_masks: *const vk::ColorComponentFlags => values(attachment_count),
            );
            State set_compute_occupancy_priority_nv SetComputeOccupancyPriorityNv (
                p_parameters: *const vk::ComputeOccupancyPriorityParametersNV => structures(1),
            );
            State set_conservative_rasterization_mode_ext SetConservativeRasterizationModeExt (
                conservative_rasterization_mode: vk::ConservativeRasterizationModeEXT,
            );
            State set_coverage_modulation_mode_nv SetCoverageModulationModeNv (
                coverage_modulation_mode: vk::CoverageModulationModeNV,
            );
            State set_coverage_modulation_table_enable_nv SetCoverageModulationTableEnableNv (
                coverage_modulation_table_enable: vk::Bool32,
            );
            State set_coverage_modulation_table_nv SetCoverageModulationTableNv (
                coverage_modulation_table_count: u32,
                p_coverage_modulation_table: *const f32 => values(coverage_modulation_table_count),
            );
            State set_coverage_reduction_mode_nv SetCoverageReductionModeNv (
                coverage_reduction_mode: vk::CoverageReductionModeNV,
            );
            State set_coverage_to_color_enable_nv SetCoverageToColorEnableNv (
                coverage_to_color_enable: vk::Bool32,
            );
            State set_coverage_to_color_location_nv SetCoverageToColorLocationNv (
                coverage_to_color_location: u32,
            );
            State set_cull_mode SetCullMode (
                cull_mode: vk::CullModeFlags,
            );
            State set_depth_bias SetDepthBias (
                depth_bias_constant_factor: f32,
                depth_bias_clamp: f32,
                depth_bias_slope_factor: f32,
            );
            State set_depth_bias2_ext SetDepthBias2Ext (
                p_depth_bias_info: *const vk::DepthBiasInfoEXT<'static> => structures(1),
            );
            State set_depth_bias_enable SetDepthBiasEnable (
                depth_bias_enable: vk::Bool32,
            );
            State set_depth_bounds SetDepthBounds (
                min_depth_bounds: f32,
                max_depth_bounds: f32,
            );
            State set_depth_bounds_test_enable SetDepthBoundsTestEnable (
                depth_bounds_test_enable: vk::Bool32,
            );
            State set_depth_clamp_enable_ext SetDepthClampEnableExt (
                depth_clamp_enable: vk::Bool32,
            );
            State set_depth_clamp_range_ext SetDepthClampRangeExt (
                depth_clamp_mode: vk::DepthClampModeEXT,
                p_depth_clamp_range: *const vk::DepthClampRangeEXT => values(1),
            );
            State set_depth_clip_enable_ext SetDepthClipEnableExt (
                depth_clip_enable: vk::Bool32,
            );
            State set_depth_clip_negative_one_to_one_ext SetDepthClipNegativeOneToOneExt (
                negative_one_to_one: vk::Bool32,
            );
            State set_depth_compare_op SetDepthCompareOp (
                depth_compare_op: vk::CompareOp,
            );
            State set_depth_test_enable SetDepthTestEnable (
                depth_test_enable: vk::Bool32,
            );
            State set_depth_write_enable SetDepthWriteEnable (
                depth_write_enable: vk::Bool32,
            );
            State set_descriptor_buffer_offsets2_ext SetDescriptorBufferOffsets2Ext (
                p_set_descriptor_buffer_offsets_info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'static> => structures(1),
            );
            State set_descriptor_buffer_offsets_ext SetDescriptorBufferOffsetsExt (
                pipeline_bind_point: vk::PipelineBindPoint,
                layout: vk::PipelineLayout,
                first_set: u32,
                set_count: u32,
                p_buffer_indices: *const u32 => values(set_count),
                p_offsets: *const vk::DeviceSize => values(set_count),
            );
            Action set_device_mask SetDeviceMask (
                device_mask: u32,
            );
            State set_discard_rectangle_ext SetDiscardRectangleExt (
                first_discard_rectangle: u32,
                discard_rectangle_count: u32,
                p_discard_rectangles: *const vk::Rect2D => values(discard_rectangle_count),
            );
            State set_discard_rectangle_enable_ext SetDiscardRectangleEnableExt (
                discard_rectangle_enable: vk::Bool32,
            );
            State set_discard_rectangle_mode_ext SetDiscardRectangleModeExt (
                discard_rectangle_mode: vk::DiscardRectangleModeEXT,
            );
            Action set_event SetEvent (
                event: vk::Event,
                stage_mask: vk::PipelineStageFlags,
            );
            Action set_event2 SetEvent2 (
                event: vk::Event,
                p_dependency_info: *const vk::DependencyInfo<'static> => structures(1),
            );
            State set_exclusive_scissor_enable_nv SetExclusiveScissorEnableNv (
                first_exclusive_scissor: u32,
                exclusive_scissor_count: u32,
                p_exclusive_scissor_enables: *const vk::Bool32 => values(exclusive_scissor_count),
            );
            State set_exclusive_scissor_nv SetExclusiveScissorNv (
                first_exclusive_scissor: u32,
                exclusive_scissor_count: u32,
                p_exclusive_scissors: *const vk::Rect2D => values(exclusive_scissor_count),
            );
            State set_extra_primitive_overestimation_size_ext SetExtraPrimitiveOverestimationSizeExt (
                extra_primitive_overestimation_size: f32,
            );
            State set_fragment_shading_rate_enum_nv SetFragmentShadingRateEnumNv (
                shading_rate: vk::FragmentShadingRateNV,
                combiner_ops: *const [vk::FragmentShadingRateCombinerOpKHR; 2] => values(1),
            );
            State set_fragment_shading_rate_khr SetFragmentShadingRateKhr (
                p_fragment_size: *const vk::Extent2D => values(1),
                combiner_ops: *const [vk::FragmentShadingRateCombinerOpKHR; 2] => values(1),
            );
            State set_front_face SetFrontFace (
                front_face: vk::FrontFace,
            );
            State set_line_rasterization_mode_ext SetLineRasterizationModeExt (
                line_rasterization_mode: vk::LineRasterizationModeKHR,
            );
            State set_line_stipple_enable_ext SetLineStippleEnableExt (
                stippled_line_enable: vk::Bool32,
            );
            State set_line_stipple_khr SetLineStippleKhr (
                line_stipple_factor: u32,
                line_stipple_pattern: u16,
            );
            State set_line_width SetLineWidth (
                line_width: f32,
            );
            State set_logic_op_ext SetLogicOpExt (
                logic_op: vk::LogicOp,
            );
            State set_logic_op_enable_ext SetLogicOpEnableExt (
                logic_op_enable: vk::Bool32,
            );
            State set_patch_control_points_ext SetPatchControlPointsExt (
                patch_control_points: u32,
            );
            State set_polygon_mode_ext SetPolygonModeExt (
                polygon_mode: vk::PolygonMode,
            );
            State set_primitive_restart_enable SetPrimitiveRestartEnable (
                primitive_restart_enable: vk::Bool32,
            );
            State set_primitive_restart_index_ext SetPrimitiveRestartIndexExt (
                primitive_restart_index: u32,
            );
            State set_primitive_topology SetPrimitiveTopology (
                primitive_topology: vk::PrimitiveTopology,
            );
            State set_provoking_vertex_mode_ext SetProvokingVertexModeExt (
                provoking_vertex_mode: vk::ProvokingVertexModeEXT,
            );
            State set_rasterization_samples_ext SetRasterizationSamplesExt (
                rasterization_samples: vk::SampleCountFlags,
            );
            State set_rasterization_stream_ext SetRasterizationStreamExt (
                rasterization_stream: u32,
            );
            State set_rasterizer_discard_enable SetRasterizerDiscardEnable (
                rasterizer_discard_enable: vk::Bool32,
            );
            Action set_rendering_attachment_locations_khr SetRenderingAttachmentLocationsKhr (
                p_location_info: *const vk::RenderingAttachmentLocationInfoKHR<'static> => structures(1),
            );
            Action set_rendering_input_attachment_indices_khr SetRenderingInputAttachmentIndicesKhr (
                p_input_attachment_index_info: *const vk::RenderingInputAttachmentIndexInfoKHR<'static> => structures(1),
            );
            State set_representative_fragment_test_enable_nv SetRepresentativeFragmentTestEnableNv (
                representative_fragment_test_enable: vk::Bool32,
            );
            State set_sample_locations_ext SetSampleLocationsExt (
                p_sample_locations_info: *const vk::SampleLocationsInfoEXT<'static> => structures(1),
            );
            State set_sample_locations_enable_ext SetSampleLocationsEnableExt (
                sample_locations_enable: vk::Bool32,
            );
            State set_scissor SetScissor (
                first_scissor: u32,
                scissor_count: u32,
                p_scissors: *const vk::Rect2D => values(scissor_count),
            );
            State set_scissor_with_count SetScissorWithCount (
                scissor_count: u32,
                p_scissors: *const vk::Rect2D => values(scissor_count),
            );
            State set_shading_rate_image_enable_nv SetShadingRateImageEnableNv (
                shading_rate_image_enable: vk::Bool32,
            );
            State set_stencil_compare_mask SetStencilCompareMask (
                face_mask: vk::StencilFaceFlags,
                compare_mask: u32,
            );
            State set_stencil_op SetStencilOp (
                face_mask: vk::StencilFaceFlags,
                fail_op: vk::StencilOp,
                pass_op: vk::StencilOp,
                depth_fail_op: vk::StencilOp,
                compare_op: vk::CompareOp,
            );
            State set_stencil_reference SetStencilReference (
                face_mask: vk::StencilFaceFlags,
                reference: u32,
            );
            State set_stencil_test_enable SetStencilTestEnable (
                stencil_test_enable: vk::Bool32,
            );
            State set_stencil_write_mask SetStencilWriteMask (
                face_mask: vk::StencilFaceFlags,
                write_mask: u32,
            );
            State set_tessellation_domain_origin_ext SetTessellationDomainOriginExt (
                domain_origin: vk::TessellationDomainOrigin,
            );
            State set_vertex_input_ext SetVertexInputExt (
                vertex_binding_description_count: u32,
                p_vertex_binding_descriptions: *const vk::VertexInputBindingDescription2EXT<'static> => structures(vertex_binding_description_count),
                vertex_attribute_description_count: u32,
                p_vertex_attribute_descriptions: *const vk::VertexInputAttributeDescription2EXT<'static> => structures(vertex_attribute_description_count),
            );
            State set_viewport SetViewport (
                first_viewport: u32,
                viewport_count: u32,
                p_viewports: *const vk::Viewport => values(viewport_count),
            );
            State set_viewport_shading_rate_palette_nv SetViewportShadingRatePaletteNv (
                first_viewport: u32,
                viewport_count: u32,
                p_shading_rate_palettes: *const vk::ShadingRatePaletteNV<'static> => structures(viewport_count),
            );
            State set_viewport_swizzle_nv SetViewportSwizzleNv (
                first_viewport: u32,
                viewport_count: u32,
                p_viewport_swizzles: *const vk::ViewportSwizzleNV => values(viewport_count),
            );
            State set_viewport_w_scaling_enable_nv SetViewportWScalingEnableNv (
                viewport_w_scaling_enable: vk::Bool32,
            );
            State set_viewport_w_scaling_nv SetViewportWScalingNv (
                first_viewport: u32,
                viewport_count: u32,
                p_viewport_w_scalings: *const vk::ViewportWScalingNV => values(viewport_count),
            );
            State set_viewport_with_count SetViewportWithCount (
                viewport_count: u32,
                p_viewports: *const vk::Viewport => values(viewport_count),
            );
            Action subpass_shading_huawei SubpassShadingHuawei (
            );
            Action trace_rays_indirect2_khr TraceRaysIndirect2Khr (
                indirect_device_address: vk::DeviceAddress,
            );
            Action trace_rays_indirect_khr TraceRaysIndirectKhr (
                p_raygen_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_miss_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_hit_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_callable_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                indirect_device_address: vk::DeviceAddress,
            );
            Action trace_rays_khr TraceRaysKhr (
                p_raygen_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_miss_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_hit_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_callable_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                width: u32,
                height: u32,
                depth: u32,
            );
            Action trace_rays_nv TraceRaysNv (
                raygen_shader_binding_table_buffer: vk::Buffer,
                raygen_shader_binding_offset: vk::DeviceSize,
                miss_shader_binding_table_buffer: vk::Buffer,
                miss_shader_binding_offset: vk::DeviceSize,
                miss_shader_binding_stride: vk::DeviceSize,
                hit_shader_binding_table_buffer: vk::Buffer,
                hit_shader_binding_offset: vk::DeviceSize,
                hit_shader_binding_stride: vk::DeviceSize,
                callable_shader_binding_table_buffer: vk::Buffer,
                callable_shader_binding_offset: vk::DeviceSize,
                callable_shader_binding_stride: vk::DeviceSize,
                width: u32,
                height: u32,
                depth: u32,
            );
            Action wait_events WaitEvents (
                event_count: u32,
                p_events: *const vk::Event => values(event_count),
                src_stage_mask: vk::PipelineStageFlags,
                dst_stage_mask: vk::PipelineStageFlags,
                memory_barrier_count: u32,
                p_memory_barriers: *const vk::MemoryBarrier<'static> => structures(memory_barrier_count),
                buffer_memory_barrier_count: u32,
                p_buffer_memory_barriers: *const vk::BufferMemoryBarrier<'static> => structures(buffer_memory_barrier_count),
                image_memory_barrier_count: u32,
                p_image_memory_barriers: *const vk::ImageMemoryBarrier<'static> => structures(image_memory_barrier_count),
            );
            Action wait_events2 WaitEvents2 (
                event_count: u32,
                p_events: *const vk::Event => values(event_count),
                p_dependency_infos: *const vk::DependencyInfo<'static> => structures(event_count),
            );
            Action write_buffer_marker2_amd WriteBufferMarker2Amd (
                stage: vk::PipelineStageFlags2,
                dst_buffer: vk::Buffer,
                dst_offset: vk::DeviceSize,
                marker: u32,
            );
            Action write_buffer_marker_amd WriteBufferMarkerAmd (
                pipeline_stage: vk::PipelineStageFlags,
                dst_buffer: vk::Buffer,
                dst_offset: vk::DeviceSize,
                marker: u32,
            );
            Action write_timestamp WriteTimestamp (
                pipeline_stage: vk::PipelineStageFlags,
                query_pool: vk::QueryPool,
                query: u32,
            );
            Action write_timestamp2 WriteTimestamp2 (
                stage: vk::PipelineStageFlags2,
                query_pool: vk::QueryPool,
                query: u32,
            );
        }
    };
}

/// Passes the commands to a macro of which the registry does not say completely what their arguments point to.
macro_rules! commands_by_hand {
    ($expand:ident) => {
        $expand! {
            Action draw_multi_ext DrawMultiExt (
                draw_count: u32,
                p_vertex_info: *const vk::MultiDrawInfoEXT,
                instance_count: u32,
                first_instance: u32,
                stride: u32,
            );
            Action draw_multi_indexed_ext DrawMultiIndexedExt (
                draw_count: u32,
                p_index_info: *const vk::MultiDrawIndexedInfoEXT,
                instance_count: u32,
                first_instance: u32,
                stride: u32,
                p_vertex_offset: *const i32,
            );
            State push_descriptor_set_with_template_khr PushDescriptorSetWithTemplateKhr (
                descriptor_update_template: vk::DescriptorUpdateTemplateKHR,
                layout: vk::PipelineLayout,
                set: u32,
                p_data: *const c_void,
            );
            State set_sample_mask_ext SetSampleMaskExt (
                samples: vk::SampleCountFlags,
                p_sample_mask: *const vk::SampleMask,
            );
        }
    };
}

pub(crate) use {commands, commands_by_hand, functions};
