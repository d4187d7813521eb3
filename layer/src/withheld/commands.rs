// Generated from the registry of Vulkan 1.4.360 by tests/registry. Changes belong there.

/// Passes commands to a macro, as rows in the form that [`arguments`](super::arguments) describes.
macro_rules! commands {
    ($expand:ident) => {
        $expand! {
            Action begin_conditional_rendering_ext BeginConditionalRenderingExt PFN_vkCmdBeginConditionalRenderingEXT [c"vkCmdBeginConditionalRenderingEXT"] (
                p_conditional_rendering_begin: *const vk::ConditionalRenderingBeginInfoEXT<'static> => structures(1),);
            Action begin_custom_resolve_ext BeginCustomResolveExt PFN_vkCmdBeginCustomResolveEXT [c"vkCmdBeginCustomResolveEXT"] (
                p_begin_custom_resolve_info: *const vk::BeginCustomResolveInfoEXT => structures(1),);
            State begin_debug_utils_label_ext BeginDebugUtilsLabelExt PFN_vkCmdBeginDebugUtilsLabelEXT [c"vkCmdBeginDebugUtilsLabelEXT"] (
                p_label_info: *const vk::DebugUtilsLabelEXT<'static> => structures(1),);
            Action begin_query BeginQuery PFN_vkCmdBeginQuery [c"vkCmdBeginQuery"] (
                query_pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags,);
            Action begin_query_indexed_ext BeginQueryIndexedExt PFN_vkCmdBeginQueryIndexedEXT [c"vkCmdBeginQueryIndexedEXT"] (
                query_pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags, index: u32,);
            BeginPass begin_render_pass BeginRenderPass PFN_vkCmdBeginRenderPass [c"vkCmdBeginRenderPass"] (
                p_render_pass_begin: *const vk::RenderPassBeginInfo<'static> => structures(1),
                contents: vk::SubpassContents,);
            BeginPass begin_render_pass2 BeginRenderPass2 PFN_vkCmdBeginRenderPass2 [c"vkCmdBeginRenderPass2", c"vkCmdBeginRenderPass2KHR"] (
                p_render_pass_begin: *const vk::RenderPassBeginInfo<'static> => structures(1),
                p_subpass_begin_info: *const vk::SubpassBeginInfo<'static> => structures(1),);
            BeginPass begin_rendering BeginRendering PFN_vkCmdBeginRendering [c"vkCmdBeginRendering", c"vkCmdBeginRenderingKHR"] (
                p_rendering_info: *const vk::RenderingInfo<'static> => structures(1),);
            Action begin_shader_instrumentation_arm BeginShaderInstrumentationArm PFN_vkCmdBeginShaderInstrumentationARM [c"vkCmdBeginShaderInstrumentationARM"] (
                instrumentation: vk::ShaderInstrumentationARM,);
            Action begin_transform_feedback_ext BeginTransformFeedbackExt PFN_vkCmdBeginTransformFeedbackEXT [c"vkCmdBeginTransformFeedbackEXT"] (
                first_counter_buffer: u32, counter_buffer_count: u32,
                p_counter_buffers: *const vk::Buffer => values(counter_buffer_count),
                p_counter_buffer_offsets: *const vk::DeviceSize => values(counter_buffer_count),);
            State bind_descriptor_buffer_embedded_samplers2_ext BindDescriptorBufferEmbeddedSamplers2Ext PFN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT [c"vkCmdBindDescriptorBufferEmbeddedSamplers2EXT"] (
                p_bind_descriptor_buffer_embedded_samplers_info: *const vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static> => structures(1),);
            State bind_descriptor_buffer_embedded_samplers_ext BindDescriptorBufferEmbeddedSamplersExt PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT [c"vkCmdBindDescriptorBufferEmbeddedSamplersEXT"] (
                pipeline_bind_point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32,);
            State bind_descriptor_buffers_ext BindDescriptorBuffersExt PFN_vkCmdBindDescriptorBuffersEXT [c"vkCmdBindDescriptorBuffersEXT"] (
                buffer_count: u32,
                p_binding_infos: *const vk::DescriptorBufferBindingInfoEXT<'static> => structures(buffer_count),);
            State bind_descriptor_sets BindDescriptorSets PFN_vkCmdBindDescriptorSets [c"vkCmdBindDescriptorSets"] (
                pipeline_bind_point: vk::PipelineBindPoint, layout: vk::PipelineLayout,
                first_set: u32, descriptor_set_count: u32,
                p_descriptor_sets: *const vk::DescriptorSet => values(descriptor_set_count),
                dynamic_offset_count: u32,
                p_dynamic_offsets: *const u32 => values(dynamic_offset_count),);
            State bind_descriptor_sets2_khr BindDescriptorSets2Khr PFN_vkCmdBindDescriptorSets2KHR [c"vkCmdBindDescriptorSets2KHR", c"vkCmdBindDescriptorSets2"] (
                p_bind_descriptor_sets_info: *const vk::BindDescriptorSetsInfoKHR<'static> => structures(1),);
            State bind_index_buffer BindIndexBuffer PFN_vkCmdBindIndexBuffer [c"vkCmdBindIndexBuffer"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, index_type: vk::IndexType,);
            State bind_index_buffer2_khr BindIndexBuffer2Khr PFN_vkCmdBindIndexBuffer2KHR [c"vkCmdBindIndexBuffer2KHR", c"vkCmdBindIndexBuffer2"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, size: vk::DeviceSize,
                index_type: vk::IndexType,);
            State bind_pipeline BindPipeline PFN_vkCmdBindPipeline [c"vkCmdBindPipeline"] (
                pipeline_bind_point: vk::PipelineBindPoint, pipeline: vk::Pipeline,);
            State bind_resource_heap_ext BindResourceHeapExt PFN_vkCmdBindResourceHeapEXT [c"vkCmdBindResourceHeapEXT"] (
                p_bind_info: *const vk::BindHeapInfoEXT => structures(1),);
            State bind_sampler_heap_ext BindSamplerHeapExt PFN_vkCmdBindSamplerHeapEXT [c"vkCmdBindSamplerHeapEXT"] (
                p_bind_info: *const vk::BindHeapInfoEXT => structures(1),);
            State bind_shaders_ext BindShadersExt PFN_vkCmdBindShadersEXT [c"vkCmdBindShadersEXT"] (
                stage_count: u32, p_stages: *const vk::ShaderStageFlags => values(stage_count),
                p_shaders: *const vk::ShaderEXT => values(stage_count),);
            State bind_shading_rate_image_nv BindShadingRateImageNv PFN_vkCmdBindShadingRateImageNV [c"vkCmdBindShadingRateImageNV"] (
                image_view: vk::ImageView, image_layout: vk::ImageLayout,);
            State bind_transform_feedback_buffers_ext BindTransformFeedbackBuffersExt PFN_vkCmdBindTransformFeedbackBuffersEXT [c"vkCmdBindTransformFeedbackBuffersEXT"] (
                first_binding: u32, binding_count: u32,
                p_buffers: *const vk::Buffer => values(binding_count),
                p_offsets: *const vk::DeviceSize => values(binding_count),
                p_sizes: *const vk::DeviceSize => values(binding_count),);
            State bind_vertex_buffers BindVertexBuffers PFN_vkCmdBindVertexBuffers [c"vkCmdBindVertexBuffers"] (
                first_binding: u32, binding_count: u32,
                p_buffers: *const vk::Buffer => values(binding_count),
                p_offsets: *const vk::DeviceSize => values(binding_count),);
            State bind_vertex_buffers2 BindVertexBuffers2 PFN_vkCmdBindVertexBuffers2 [c"vkCmdBindVertexBuffers2", c"vkCmdBindVertexBuffers2EXT"] (
                first_binding: u32, binding_count: u32,
                p_buffers: *const vk::Buffer => values(binding_count),
                p_offsets: *const vk::DeviceSize => values(binding_count),
                p_sizes: *const vk::DeviceSize => values(binding_count),
                p_strides: *const vk::DeviceSize => values(binding_count),);
            Action clear_attachments ClearAttachments PFN_vkCmdClearAttachments [c"vkCmdClearAttachments"] (
                attachment_count: u32,
                p_attachments: *const vk::ClearAttachment => values(attachment_count),
                rect_count: u32, p_rects: *const vk::ClearRect => values(rect_count),);
            Action copy_memory_indirect_khr CopyMemoryIndirectKhr PFN_vkCmdCopyMemoryIndirectKHR [c"vkCmdCopyMemoryIndirectKHR"] (
                p_copy_memory_indirect_info: *const vk::CopyMemoryIndirectInfoKHR => structures(1),);
            Action copy_memory_indirect_nv CopyMemoryIndirectNv PFN_vkCmdCopyMemoryIndirectNV [c"vkCmdCopyMemoryIndirectNV"] (
                copy_buffer_address: vk::DeviceAddress, copy_count: u32, stride: u32,);
            Action copy_memory_to_image_indirect_khr CopyMemoryToImageIndirectKhr PFN_vkCmdCopyMemoryToImageIndirectKHR [c"vkCmdCopyMemoryToImageIndirectKHR"] (
                p_copy_memory_to_image_indirect_info: *const vk::CopyMemoryToImageIndirectInfoKHR => structures(1),);
            Action copy_memory_to_image_indirect_nv CopyMemoryToImageIndirectNv PFN_vkCmdCopyMemoryToImageIndirectNV [c"vkCmdCopyMemoryToImageIndirectNV"] (
                copy_buffer_address: vk::DeviceAddress, copy_count: u32, stride: u32,
                dst_image: vk::Image, dst_image_layout: vk::ImageLayout,
                p_image_subresources: *const vk::ImageSubresourceLayers => values(copy_count),);
            State debug_marker_begin_ext DebugMarkerBeginExt PFN_vkCmdDebugMarkerBeginEXT [c"vkCmdDebugMarkerBeginEXT"] (
                p_marker_info: *const vk::DebugMarkerMarkerInfoEXT<'static> => structures(1),);
            State debug_marker_end_ext DebugMarkerEndExt PFN_vkCmdDebugMarkerEndEXT [c"vkCmdDebugMarkerEndEXT"] ();
            State debug_marker_insert_ext DebugMarkerInsertExt PFN_vkCmdDebugMarkerInsertEXT [c"vkCmdDebugMarkerInsertEXT"] (
                p_marker_info: *const vk::DebugMarkerMarkerInfoEXT<'static> => structures(1),);
            Action dispatch Dispatch PFN_vkCmdDispatch [c"vkCmdDispatch"] (group_count_x: u32,
                group_count_y: u32, group_count_z: u32,);
            Action dispatch_base DispatchBase PFN_vkCmdDispatchBase [c"vkCmdDispatchBase", c"vkCmdDispatchBaseKHR"] (
                base_group_x: u32, base_group_y: u32, base_group_z: u32, group_count_x: u32,
                group_count_y: u32, group_count_z: u32,);
            Action dispatch_indirect DispatchIndirect PFN_vkCmdDispatchIndirect [c"vkCmdDispatchIndirect"] (
                buffer: vk::Buffer, offset: vk::DeviceSize,);
            Action draw Draw PFN_vkCmdDraw [c"vkCmdDraw"] (vertex_count: u32, instance_count: u32,
                first_vertex: u32, first_instance: u32,);
            Action draw_cluster_huawei DrawClusterHuawei PFN_vkCmdDrawClusterHUAWEI [c"vkCmdDrawClusterHUAWEI"] (
                group_count_x: u32, group_count_y: u32, group_count_z: u32,);
            Action draw_cluster_indirect_huawei DrawClusterIndirectHuawei PFN_vkCmdDrawClusterIndirectHUAWEI [c"vkCmdDrawClusterIndirectHUAWEI"] (
                buffer: vk::Buffer, offset: vk::DeviceSize,);
            Action draw_indexed DrawIndexed PFN_vkCmdDrawIndexed [c"vkCmdDrawIndexed"] (
                index_count: u32, instance_count: u32, first_index: u32, vertex_offset: i32,
                first_instance: u32,);
            Action draw_indexed_indirect DrawIndexedIndirect PFN_vkCmdDrawIndexedIndirect [c"vkCmdDrawIndexedIndirect"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32,);
            Action draw_indexed_indirect_count DrawIndexedIndirectCount PFN_vkCmdDrawIndexedIndirectCount [c"vkCmdDrawIndexedIndirectCount", c"vkCmdDrawIndexedIndirectCountKHR", c"vkCmdDrawIndexedIndirectCountAMD"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize, max_draw_count: u32, stride: u32,);
            Action draw_indirect DrawIndirect PFN_vkCmdDrawIndirect [c"vkCmdDrawIndirect"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32,);
            Action draw_indirect_byte_count_ext DrawIndirectByteCountExt PFN_vkCmdDrawIndirectByteCountEXT [c"vkCmdDrawIndirectByteCountEXT"] (
                instance_count: u32, first_instance: u32, counter_buffer: vk::Buffer,
                counter_buffer_offset: vk::DeviceSize, counter_offset: u32, vertex_stride: u32,);
            Action draw_indirect_count DrawIndirectCount PFN_vkCmdDrawIndirectCount [c"vkCmdDrawIndirectCount", c"vkCmdDrawIndirectCountKHR", c"vkCmdDrawIndirectCountAMD"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize, max_draw_count: u32, stride: u32,);
            Action draw_mesh_tasks_ext DrawMeshTasksExt PFN_vkCmdDrawMeshTasksEXT [c"vkCmdDrawMeshTasksEXT"] (
                group_count_x: u32, group_count_y: u32, group_count_z: u32,);
            Action draw_mesh_tasks_indirect_count_ext DrawMeshTasksIndirectCountExt PFN_vkCmdDrawMeshTasksIndirectCountEXT [c"vkCmdDrawMeshTasksIndirectCountEXT"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize, max_draw_count: u32, stride: u32,);
            Action draw_mesh_tasks_indirect_count_nv DrawMeshTasksIndirectCountNv PFN_vkCmdDrawMeshTasksIndirectCountNV [c"vkCmdDrawMeshTasksIndirectCountNV"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, count_buffer: vk::Buffer,
                count_buffer_offset: vk::DeviceSize, max_draw_count: u32, stride: u32,);
            Action draw_mesh_tasks_indirect_ext DrawMeshTasksIndirectExt PFN_vkCmdDrawMeshTasksIndirectEXT [c"vkCmdDrawMeshTasksIndirectEXT"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32,);
            Action draw_mesh_tasks_indirect_nv DrawMeshTasksIndirectNv PFN_vkCmdDrawMeshTasksIndirectNV [c"vkCmdDrawMeshTasksIndirectNV"] (
                buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32,);
            Action draw_mesh_tasks_nv DrawMeshTasksNv PFN_vkCmdDrawMeshTasksNV [c"vkCmdDrawMeshTasksNV"] (
                task_count: u32, first_task: u32,);
            Action draw_multi_ext DrawMultiExt PFN_vkCmdDrawMultiEXT [c"vkCmdDrawMultiEXT"] (
                draw_count: u32, p_vertex_info: *const vk::MultiDrawInfoEXT, instance_count: u32,
                first_instance: u32, stride: u32,) by_hand;
            Action draw_multi_indexed_ext DrawMultiIndexedExt PFN_vkCmdDrawMultiIndexedEXT [c"vkCmdDrawMultiIndexedEXT"] (
                draw_count: u32, p_index_info: *const vk::MultiDrawIndexedInfoEXT,
                instance_count: u32, first_instance: u32, stride: u32, p_vertex_offset: *const i32,) by_hand;
            Action end_conditional_rendering_ext EndConditionalRenderingExt PFN_vkCmdEndConditionalRenderingEXT [c"vkCmdEndConditionalRenderingEXT"] ();
            State end_debug_utils_label_ext EndDebugUtilsLabelExt PFN_vkCmdEndDebugUtilsLabelEXT [c"vkCmdEndDebugUtilsLabelEXT"] ();
            Action end_query EndQuery PFN_vkCmdEndQuery [c"vkCmdEndQuery"] (
                query_pool: vk::QueryPool, query: u32,);
            Action end_query_indexed_ext EndQueryIndexedExt PFN_vkCmdEndQueryIndexedEXT [c"vkCmdEndQueryIndexedEXT"] (
                query_pool: vk::QueryPool, query: u32, index: u32,);
            EndPass end_render_pass EndRenderPass PFN_vkCmdEndRenderPass [c"vkCmdEndRenderPass"] ();
            EndPass end_render_pass2 EndRenderPass2 PFN_vkCmdEndRenderPass2 [c"vkCmdEndRenderPass2", c"vkCmdEndRenderPass2KHR"] (
                p_subpass_end_info: *const vk::SubpassEndInfo<'static> => structures(1),);
            EndPass end_rendering EndRendering PFN_vkCmdEndRendering [c"vkCmdEndRendering", c"vkCmdEndRenderingKHR"] ();
            EndPass end_rendering2_khr EndRendering2Khr PFN_vkCmdEndRendering2KHR [c"vkCmdEndRendering2KHR", c"vkCmdEndRendering2EXT"] (
                p_rendering_end_info: *const vk::RenderingEndInfoKHR => structures(1),);
            Action end_shader_instrumentation_arm EndShaderInstrumentationArm PFN_vkCmdEndShaderInstrumentationARM [c"vkCmdEndShaderInstrumentationARM"] ();
            Action end_transform_feedback_ext EndTransformFeedbackExt PFN_vkCmdEndTransformFeedbackEXT [c"vkCmdEndTransformFeedbackEXT"] (
                first_counter_buffer: u32, counter_buffer_count: u32,
                p_counter_buffers: *const vk::Buffer => values(counter_buffer_count),
                p_counter_buffer_offsets: *const vk::DeviceSize => values(counter_buffer_count),);
            Action execute_commands ExecuteCommands PFN_vkCmdExecuteCommands [c"vkCmdExecuteCommands"] (
                command_buffer_count: u32,
                p_command_buffers: *const vk::CommandBuffer => values(command_buffer_count),);
            Action execute_generated_commands_ext ExecuteGeneratedCommandsExt PFN_vkCmdExecuteGeneratedCommandsEXT [c"vkCmdExecuteGeneratedCommandsEXT"] (
                is_preprocessed: vk::Bool32,
                p_generated_commands_info: *const vk::GeneratedCommandsInfoEXT => structures(1),);
            State insert_debug_utils_label_ext InsertDebugUtilsLabelExt PFN_vkCmdInsertDebugUtilsLabelEXT [c"vkCmdInsertDebugUtilsLabelEXT"] (
                p_label_info: *const vk::DebugUtilsLabelEXT<'static> => structures(1),);
            Action next_subpass NextSubpass PFN_vkCmdNextSubpass [c"vkCmdNextSubpass"] (
                contents: vk::SubpassContents,);
            Action next_subpass2 NextSubpass2 PFN_vkCmdNextSubpass2 [c"vkCmdNextSubpass2", c"vkCmdNextSubpass2KHR"] (
                p_subpass_begin_info: *const vk::SubpassBeginInfo<'static> => structures(1),
                p_subpass_end_info: *const vk::SubpassEndInfo<'static> => structures(1),);
            Synchronization pipeline_barrier PipelineBarrier PFN_vkCmdPipelineBarrier [c"vkCmdPipelineBarrier"] (
                src_stage_mask: vk::PipelineStageFlags, dst_stage_mask: vk::PipelineStageFlags,
                dependency_flags: vk::DependencyFlags, memory_barrier_count: u32,
                p_memory_barriers: *const vk::MemoryBarrier<'static> => structures(memory_barrier_count),
                buffer_memory_barrier_count: u32,
                p_buffer_memory_barriers: *const vk::BufferMemoryBarrier<'static> => structures(buffer_memory_barrier_count),
                image_memory_barrier_count: u32,
                p_image_memory_barriers: *const vk::ImageMemoryBarrier<'static> => structures(image_memory_barrier_count),);
            Synchronization pipeline_barrier2 PipelineBarrier2 PFN_vkCmdPipelineBarrier2 [c"vkCmdPipelineBarrier2", c"vkCmdPipelineBarrier2KHR"] (
                p_dependency_info: *const vk::DependencyInfo<'static> => structures(1),);
            State push_constants PushConstants PFN_vkCmdPushConstants [c"vkCmdPushConstants"] (
                layout: vk::PipelineLayout, stage_flags: vk::ShaderStageFlags, offset: u32,
                size: u32, p_values: *const c_void => bytes(size),);
            State push_constants2_khr PushConstants2Khr PFN_vkCmdPushConstants2KHR [c"vkCmdPushConstants2KHR", c"vkCmdPushConstants2"] (
                p_push_constants_info: *const vk::PushConstantsInfoKHR<'static> => structures(1),);
            State push_data_ext PushDataExt PFN_vkCmdPushDataEXT [c"vkCmdPushDataEXT"] (
                p_push_data_info: *const vk::PushDataInfoEXT => structures(1),);
            State push_descriptor_set2_khr PushDescriptorSet2Khr PFN_vkCmdPushDescriptorSet2KHR [c"vkCmdPushDescriptorSet2KHR", c"vkCmdPushDescriptorSet2"] (
                p_push_descriptor_set_info: *const vk::PushDescriptorSetInfoKHR<'static> => structures(1),);
            State push_descriptor_set_khr PushDescriptorSetKhr PFN_vkCmdPushDescriptorSetKHR [c"vkCmdPushDescriptorSetKHR", c"vkCmdPushDescriptorSet"] (
                pipeline_bind_point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32,
                descriptor_write_count: u32,
                p_descriptor_writes: *const vk::WriteDescriptorSet<'static> => structures(descriptor_write_count),);
            State push_descriptor_set_with_template2_khr PushDescriptorSetWithTemplate2Khr PFN_vkCmdPushDescriptorSetWithTemplate2KHR [c"vkCmdPushDescriptorSetWithTemplate2KHR", c"vkCmdPushDescriptorSetWithTemplate2"] (
                p_push_descriptor_set_with_template_info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'static> => structures(1),);
            State push_descriptor_set_with_template_khr PushDescriptorSetWithTemplateKhr PFN_vkCmdPushDescriptorSetWithTemplateKHR [c"vkCmdPushDescriptorSetWithTemplateKHR", c"vkCmdPushDescriptorSetWithTemplate"] (
                descriptor_update_template: vk::DescriptorUpdateTemplateKHR,
                layout: vk::PipelineLayout, set: u32, p_data: *const c_void,) by_hand;
            Action reset_event ResetEvent PFN_vkCmdResetEvent [c"vkCmdResetEvent"] (
                event: vk::Event, stage_mask: vk::PipelineStageFlags,);
            Action reset_event2 ResetEvent2 PFN_vkCmdResetEvent2 [c"vkCmdResetEvent2", c"vkCmdResetEvent2KHR"] (
                event: vk::Event, stage_mask: vk::PipelineStageFlags2,);
            State set_alpha_to_coverage_enable_ext SetAlphaToCoverageEnableExt PFN_vkCmdSetAlphaToCoverageEnableEXT [c"vkCmdSetAlphaToCoverageEnableEXT"] (
                alpha_to_coverage_enable: vk::Bool32,);
            State set_alpha_to_one_enable_ext SetAlphaToOneEnableExt PFN_vkCmdSetAlphaToOneEnableEXT [c"vkCmdSetAlphaToOneEnableEXT"] (
                alpha_to_one_enable: vk::Bool32,);
            State set_attachment_feedback_loop_enable_ext SetAttachmentFeedbackLoopEnableExt PFN_vkCmdSetAttachmentFeedbackLoopEnableEXT [c"vkCmdSetAttachmentFeedbackLoopEnableEXT"] (
                aspect_mask: vk::ImageAspectFlags,);
            State set_blend_constants SetBlendConstants PFN_vkCmdSetBlendConstants [c"vkCmdSetBlendConstants"] (
                blend_constants: *const [f32; 4] => values(1),);
            Action set_checkpoint_nv SetCheckpointNv PFN_vkCmdSetCheckpointNV [c"vkCmdSetCheckpointNV"] (
                p_checkpoint_marker: *const c_void,);
            State set_coarse_sample_order_nv SetCoarseSampleOrderNv PFN_vkCmdSetCoarseSampleOrderNV [c"vkCmdSetCoarseSampleOrderNV"] (
                sample_order_type: vk::CoarseSampleOrderTypeNV, custom_sample_order_count: u32,
                p_custom_sample_orders: *const vk::CoarseSampleOrderCustomNV<'static> => structures(custom_sample_order_count),);
            State set_color_blend_advanced_ext SetColorBlendAdvancedExt PFN_vkCmdSetColorBlendAdvancedEXT [c"vkCmdSetColorBlendAdvancedEXT"] (
                first_attachment: u32, attachment_count: u32,
                p_color_blend_advanced: *const vk::ColorBlendAdvancedEXT => values(attachment_count),);
            State set_color_blend_enable_ext SetColorBlendEnableExt PFN_vkCmdSetColorBlendEnableEXT [c"vkCmdSetColorBlendEnableEXT"] (
                first_attachment: u32, attachment_count: u32,
                p_color_blend_enables: *const vk::Bool32 => values(attachment_count),);
            State set_color_blend_equation_ext SetColorBlendEquationExt PFN_vkCmdSetColorBlendEquationEXT [c"vkCmdSetColorBlendEquationEXT"] (
                first_attachment: u32, attachment_count: u32,
                p_color_blend_equations: *const vk::ColorBlendEquationEXT => values(attachment_count),);
            State set_color_write_enable_ext SetColorWriteEnableExt PFN_vkCmdSetColorWriteEnableEXT [c"vkCmdSetColorWriteEnableEXT"] (
                attachment_count: u32,
                p_color_write_enables: *const vk::Bool32 => values(attachment_count),);
            State set_color_write_mask_ext SetColorWriteMaskExt PFN_vkCmdSetColorWriteMaskEXT [c"vkCmdSetColorWriteMaskEXT"] (
                first_attachment: u32, attachment_count: u32,
                p_color_write_masks: *const vk::ColorComponentFlags => values(attachment_count),);
            State set_compute_occupancy_priority_nv SetComputeOccupancyPriorityNv PFN_vkCmdSetComputeOccupancyPriorityNV [c"vkCmdSetComputeOccupancyPriorityNV"] (
                p_parameters: *const vk::ComputeOccupancyPriorityParametersNV => structures(1),);
            State set_conservative_rasterization_mode_ext SetConservativeRasterizationModeExt PFN_vkCmdSetConservativeRasterizationModeEXT [c"vkCmdSetConservativeRasterizationModeEXT"] (
                conservative_rasterization_mode: vk::ConservativeRasterizationModeEXT,);
            State set_coverage_modulation_mode_nv SetCoverageModulationModeNv PFN_vkCmdSetCoverageModulationModeNV [c"vkCmdSetCoverageModulationModeNV"] (
                coverage_modulation_mode: vk::CoverageModulationModeNV,);
            State set_coverage_modulation_table_enable_nv SetCoverageModulationTableEnableNv PFN_vkCmdSetCoverageModulationTableEnableNV [c"vkCmdSetCoverageModulationTableEnableNV"] (
                coverage_modulation_table_enable: vk::Bool32,);
            State set_coverage_modulation_table_nv SetCoverageModulationTableNv PFN_vkCmdSetCoverageModulationTableNV [c"vkCmdSetCoverageModulationTableNV"] (
                coverage_modulation_table_count: u32,
                p_coverage_modulation_table: *const f32 => values(coverage_modulation_table_count),);
            State set_coverage_reduction_mode_nv SetCoverageReductionModeNv PFN_vkCmdSetCoverageReductionModeNV [c"vkCmdSetCoverageReductionModeNV"] (
                coverage_reduction_mode: vk::CoverageReductionModeNV,);
            State set_coverage_to_color_enable_nv SetCoverageToColorEnableNv PFN_vkCmdSetCoverageToColorEnableNV [c"vkCmdSetCoverageToColorEnableNV"] (
                coverage_to_color_enable: vk::Bool32,);
            State set_coverage_to_color_location_nv SetCoverageToColorLocationNv PFN_vkCmdSetCoverageToColorLocationNV [c"vkCmdSetCoverageToColorLocationNV"] (
                coverage_to_color_location: u32,);
            State set_cull_mode SetCullMode PFN_vkCmdSetCullMode [c"vkCmdSetCullMode", c"vkCmdSetCullModeEXT"] (
                cull_mode: vk::CullModeFlags,);
            State set_depth_bias SetDepthBias PFN_vkCmdSetDepthBias [c"vkCmdSetDepthBias"] (
                depth_bias_constant_factor: f32, depth_bias_clamp: f32,
                depth_bias_slope_factor: f32,);
            State set_depth_bias2_ext SetDepthBias2Ext PFN_vkCmdSetDepthBias2EXT [c"vkCmdSetDepthBias2EXT"] (
                p_depth_bias_info: *const vk::DepthBiasInfoEXT<'static> => structures(1),);
            State set_depth_bias_enable SetDepthBiasEnable PFN_vkCmdSetDepthBiasEnable [c"vkCmdSetDepthBiasEnable", c"vkCmdSetDepthBiasEnableEXT"] (
                depth_bias_enable: vk::Bool32,);
            State set_depth_bounds SetDepthBounds PFN_vkCmdSetDepthBounds [c"vkCmdSetDepthBounds"] (
                min_depth_bounds: f32, max_depth_bounds: f32,);
            State set_depth_bounds_test_enable SetDepthBoundsTestEnable PFN_vkCmdSetDepthBoundsTestEnable [c"vkCmdSetDepthBoundsTestEnable", c"vkCmdSetDepthBoundsTestEnableEXT"] (
                depth_bounds_test_enable: vk::Bool32,);
            State set_depth_clamp_enable_ext SetDepthClampEnableExt PFN_vkCmdSetDepthClampEnableEXT [c"vkCmdSetDepthClampEnableEXT"] (
                depth_clamp_enable: vk::Bool32,);
            State set_depth_clamp_range_ext SetDepthClampRangeExt PFN_vkCmdSetDepthClampRangeEXT [c"vkCmdSetDepthClampRangeEXT"] (
                depth_clamp_mode: vk::DepthClampModeEXT,
                p_depth_clamp_range: *const vk::DepthClampRangeEXT => values(1),);
            State set_depth_clip_enable_ext SetDepthClipEnableExt PFN_vkCmdSetDepthClipEnableEXT [c"vkCmdSetDepthClipEnableEXT"] (
                depth_clip_enable: vk::Bool32,);
            State set_depth_clip_negative_one_to_one_ext SetDepthClipNegativeOneToOneExt PFN_vkCmdSetDepthClipNegativeOneToOneEXT [c"vkCmdSetDepthClipNegativeOneToOneEXT"] (
                negative_one_to_one: vk::Bool32,);
            State set_depth_compare_op SetDepthCompareOp PFN_vkCmdSetDepthCompareOp [c"vkCmdSetDepthCompareOp", c"vkCmdSetDepthCompareOpEXT"] (
                depth_compare_op: vk::CompareOp,);
            State set_depth_test_enable SetDepthTestEnable PFN_vkCmdSetDepthTestEnable [c"vkCmdSetDepthTestEnable", c"vkCmdSetDepthTestEnableEXT"] (
                depth_test_enable: vk::Bool32,);
            State set_depth_write_enable SetDepthWriteEnable PFN_vkCmdSetDepthWriteEnable [c"vkCmdSetDepthWriteEnable", c"vkCmdSetDepthWriteEnableEXT"] (
                depth_write_enable: vk::Bool32,);
            State set_descriptor_buffer_offsets2_ext SetDescriptorBufferOffsets2Ext PFN_vkCmdSetDescriptorBufferOffsets2EXT [c"vkCmdSetDescriptorBufferOffsets2EXT"] (
                p_set_descriptor_buffer_offsets_info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'static> => structures(1),);
            State set_descriptor_buffer_offsets_ext SetDescriptorBufferOffsetsExt PFN_vkCmdSetDescriptorBufferOffsetsEXT [c"vkCmdSetDescriptorBufferOffsetsEXT"] (
                pipeline_bind_point: vk::PipelineBindPoint, layout: vk::PipelineLayout,
                first_set: u32, set_count: u32, p_buffer_indices: *const u32 => values(set_count),
                p_offsets: *const vk::DeviceSize => values(set_count),);
            Action set_device_mask SetDeviceMask PFN_vkCmdSetDeviceMask [c"vkCmdSetDeviceMask", c"vkCmdSetDeviceMaskKHR"] (
                device_mask: u32,);
            State set_discard_rectangle_ext SetDiscardRectangleExt PFN_vkCmdSetDiscardRectangleEXT [c"vkCmdSetDiscardRectangleEXT"] (
                first_discard_rectangle: u32, discard_rectangle_count: u32,
                p_discard_rectangles: *const vk::Rect2D => values(discard_rectangle_count),);
            State set_discard_rectangle_enable_ext SetDiscardRectangleEnableExt PFN_vkCmdSetDiscardRectangleEnableEXT [c"vkCmdSetDiscardRectangleEnableEXT"] (
                discard_rectangle_enable: vk::Bool32,);
            State set_discard_rectangle_mode_ext SetDiscardRectangleModeExt PFN_vkCmdSetDiscardRectangleModeEXT [c"vkCmdSetDiscardRectangleModeEXT"] (
                discard_rectangle_mode: vk::DiscardRectangleModeEXT,);
            Action set_event SetEvent PFN_vkCmdSetEvent [c"vkCmdSetEvent"] (event: vk::Event,
                stage_mask: vk::PipelineStageFlags,);
            Action set_event2 SetEvent2 PFN_vkCmdSetEvent2 [c"vkCmdSetEvent2", c"vkCmdSetEvent2KHR"] (
                event: vk::Event,
                p_dependency_info: *const vk::DependencyInfo<'static> => structures(1),);
            State set_exclusive_scissor_enable_nv SetExclusiveScissorEnableNv PFN_vkCmdSetExclusiveScissorEnableNV [c"vkCmdSetExclusiveScissorEnableNV"] (
                first_exclusive_scissor: u32, exclusive_scissor_count: u32,
                p_exclusive_scissor_enables: *const vk::Bool32 => values(exclusive_scissor_count),);
            State set_exclusive_scissor_nv SetExclusiveScissorNv PFN_vkCmdSetExclusiveScissorNV [c"vkCmdSetExclusiveScissorNV"] (
                first_exclusive_scissor: u32, exclusive_scissor_count: u32,
                p_exclusive_scissors: *const vk::Rect2D => values(exclusive_scissor_count),);
            State set_extra_primitive_overestimation_size_ext SetExtraPrimitiveOverestimationSizeExt PFN_vkCmdSetExtraPrimitiveOverestimationSizeEXT [c"vkCmdSetExtraPrimitiveOverestimationSizeEXT"] (
                extra_primitive_overestimation_size: f32,);
            State set_fragment_shading_rate_enum_nv SetFragmentShadingRateEnumNv PFN_vkCmdSetFragmentShadingRateEnumNV [c"vkCmdSetFragmentShadingRateEnumNV"] (
                shading_rate: vk::FragmentShadingRateNV,
                combiner_ops: *const [vk::FragmentShadingRateCombinerOpKHR; 2] => values(1),);
            State set_fragment_shading_rate_khr SetFragmentShadingRateKhr PFN_vkCmdSetFragmentShadingRateKHR [c"vkCmdSetFragmentShadingRateKHR"] (
                p_fragment_size: *const vk::Extent2D => values(1),
                combiner_ops: *const [vk::FragmentShadingRateCombinerOpKHR; 2] => values(1),);
            State set_front_face SetFrontFace PFN_vkCmdSetFrontFace [c"vkCmdSetFrontFace", c"vkCmdSetFrontFaceEXT"] (
                front_face: vk::FrontFace,);
            State set_line_rasterization_mode_ext SetLineRasterizationModeExt PFN_vkCmdSetLineRasterizationModeEXT [c"vkCmdSetLineRasterizationModeEXT"] (
                line_rasterization_mode: vk::LineRasterizationModeKHR,);
            State set_line_stipple_enable_ext SetLineStippleEnableExt PFN_vkCmdSetLineStippleEnableEXT [c"vkCmdSetLineStippleEnableEXT"] (
                stippled_line_enable: vk::Bool32,);
            State set_line_stipple_khr SetLineStippleKhr PFN_vkCmdSetLineStippleKHR [c"vkCmdSetLineStippleKHR", c"vkCmdSetLineStipple", c"vkCmdSetLineStippleEXT"] (
                line_stipple_factor: u32, line_stipple_pattern: u16,);
            State set_line_width SetLineWidth PFN_vkCmdSetLineWidth [c"vkCmdSetLineWidth"] (
                line_width: f32,);
            State set_logic_op_ext SetLogicOpExt PFN_vkCmdSetLogicOpEXT [c"vkCmdSetLogicOpEXT"] (
                logic_op: vk::LogicOp,);
            State set_logic_op_enable_ext SetLogicOpEnableExt PFN_vkCmdSetLogicOpEnableEXT [c"vkCmdSetLogicOpEnableEXT"] (
                logic_op_enable: vk::Bool32,);
            State set_patch_control_points_ext SetPatchControlPointsExt PFN_vkCmdSetPatchControlPointsEXT [c"vkCmdSetPatchControlPointsEXT"] (
                patch_control_points: u32,);
            State set_polygon_mode_ext SetPolygonModeExt PFN_vkCmdSetPolygonModeEXT [c"vkCmdSetPolygonModeEXT"] (
                polygon_mode: vk::PolygonMode,);
            State set_primitive_restart_enable SetPrimitiveRestartEnable PFN_vkCmdSetPrimitiveRestartEnable [c"vkCmdSetPrimitiveRestartEnable", c"vkCmdSetPrimitiveRestartEnableEXT"] (
                primitive_restart_enable: vk::Bool32,);
            State set_primitive_restart_index_ext SetPrimitiveRestartIndexExt PFN_vkCmdSetPrimitiveRestartIndexEXT [c"vkCmdSetPrimitiveRestartIndexEXT"] (
                primitive_restart_index: u32,);
            State set_primitive_topology SetPrimitiveTopology PFN_vkCmdSetPrimitiveTopology [c"vkCmdSetPrimitiveTopology", c"vkCmdSetPrimitiveTopologyEXT"] (
                primitive_topology: vk::PrimitiveTopology,);
            State set_provoking_vertex_mode_ext SetProvokingVertexModeExt PFN_vkCmdSetProvokingVertexModeEXT [c"vkCmdSetProvokingVertexModeEXT"] (
                provoking_vertex_mode: vk::ProvokingVertexModeEXT,);
            State set_rasterization_samples_ext SetRasterizationSamplesExt PFN_vkCmdSetRasterizationSamplesEXT [c"vkCmdSetRasterizationSamplesEXT"] (
                rasterization_samples: vk::SampleCountFlags,);
            State set_rasterization_stream_ext SetRasterizationStreamExt PFN_vkCmdSetRasterizationStreamEXT [c"vkCmdSetRasterizationStreamEXT"] (
                rasterization_stream: u32,);
            State set_rasterizer_discard_enable SetRasterizerDiscardEnable PFN_vkCmdSetRasterizerDiscardEnable [c"vkCmdSetRasterizerDiscardEnable", c"vkCmdSetRasterizerDiscardEnableEXT"] (
                rasterizer_discard_enable: vk::Bool32,);
            Action set_rendering_attachment_locations_khr SetRenderingAttachmentLocationsKhr PFN_vkCmdSetRenderingAttachmentLocationsKHR [c"vkCmdSetRenderingAttachmentLocationsKHR", c"vkCmdSetRenderingAttachmentLocations"] (
                p_location_info: *const vk::RenderingAttachmentLocationInfoKHR<'static> => structures(1),);
            Action set_rendering_input_attachment_indices_khr SetRenderingInputAttachmentIndicesKhr PFN_vkCmdSetRenderingInputAttachmentIndicesKHR [c"vkCmdSetRenderingInputAttachmentIndicesKHR", c"vkCmdSetRenderingInputAttachmentIndices"] (
                p_input_attachment_index_info: *const vk::RenderingInputAttachmentIndexInfoKHR<'static> => structures(1),);
            State set_representative_fragment_test_enable_nv SetRepresentativeFragmentTestEnableNv PFN_vkCmdSetRepresentativeFragmentTestEnableNV [c"vkCmdSetRepresentativeFragmentTestEnableNV"] (
                representative_fragment_test_enable: vk::Bool32,);
            State set_sample_locations_ext SetSampleLocationsExt PFN_vkCmdSetSampleLocationsEXT [c"vkCmdSetSampleLocationsEXT"] (
                p_sample_locations_info: *const vk::SampleLocationsInfoEXT<'static> => structures(1),);
            State set_sample_locations_enable_ext SetSampleLocationsEnableExt PFN_vkCmdSetSampleLocationsEnableEXT [c"vkCmdSetSampleLocationsEnableEXT"] (
                sample_locations_enable: vk::Bool32,);
            State set_sample_mask_ext SetSampleMaskExt PFN_vkCmdSetSampleMaskEXT [c"vkCmdSetSampleMaskEXT"] (
                samples: vk::SampleCountFlags, p_sample_mask: *const vk::SampleMask,) by_hand;
            State set_scissor SetScissor PFN_vkCmdSetScissor [c"vkCmdSetScissor"] (
                first_scissor: u32, scissor_count: u32,
                p_scissors: *const vk::Rect2D => values(scissor_count),);
            State set_scissor_with_count SetScissorWithCount PFN_vkCmdSetScissorWithCount [c"vkCmdSetScissorWithCount", c"vkCmdSetScissorWithCountEXT"] (
                scissor_count: u32, p_scissors: *const vk::Rect2D => values(scissor_count),);
            State set_shading_rate_image_enable_nv SetShadingRateImageEnableNv PFN_vkCmdSetShadingRateImageEnableNV [c"vkCmdSetShadingRateImageEnableNV"] (
                shading_rate_image_enable: vk::Bool32,);
            State set_stencil_compare_mask SetStencilCompareMask PFN_vkCmdSetStencilCompareMask [c"vkCmdSetStencilCompareMask"] (
                face_mask: vk::StencilFaceFlags, compare_mask: u32,);
            State set_stencil_op SetStencilOp PFN_vkCmdSetStencilOp [c"vkCmdSetStencilOp", c"vkCmdSetStencilOpEXT"] (
                face_mask: vk::StencilFaceFlags, fail_op: vk::StencilOp, pass_op: vk::StencilOp,
                depth_fail_op: vk::StencilOp, compare_op: vk::CompareOp,);
            State set_stencil_reference SetStencilReference PFN_vkCmdSetStencilReference [c"vkCmdSetStencilReference"] (
                face_mask: vk::StencilFaceFlags, reference: u32,);
            State set_stencil_test_enable SetStencilTestEnable PFN_vkCmdSetStencilTestEnable [c"vkCmdSetStencilTestEnable", c"vkCmdSetStencilTestEnableEXT"] (
                stencil_test_enable: vk::Bool32,);
            State set_stencil_write_mask SetStencilWriteMask PFN_vkCmdSetStencilWriteMask [c"vkCmdSetStencilWriteMask"] (
                face_mask: vk::StencilFaceFlags, write_mask: u32,);
            State set_tessellation_domain_origin_ext SetTessellationDomainOriginExt PFN_vkCmdSetTessellationDomainOriginEXT [c"vkCmdSetTessellationDomainOriginEXT"] (
                domain_origin: vk::TessellationDomainOrigin,);
            State set_vertex_input_ext SetVertexInputExt PFN_vkCmdSetVertexInputEXT [c"vkCmdSetVertexInputEXT"] (
                vertex_binding_description_count: u32,
                p_vertex_binding_descriptions: *const vk::VertexInputBindingDescription2EXT<'static> => structures(vertex_binding_description_count),
                vertex_attribute_description_count: u32,
                p_vertex_attribute_descriptions: *const vk::VertexInputAttributeDescription2EXT<'static> => structures(vertex_attribute_description_count),);
            State set_viewport SetViewport PFN_vkCmdSetViewport [c"vkCmdSetViewport"] (
                first_viewport: u32, viewport_count: u32,
                p_viewports: *const vk::Viewport => values(viewport_count),);
            State set_viewport_shading_rate_palette_nv SetViewportShadingRatePaletteNv PFN_vkCmdSetViewportShadingRatePaletteNV [c"vkCmdSetViewportShadingRatePaletteNV"] (
                first_viewport: u32, viewport_count: u32,
                p_shading_rate_palettes: *const vk::ShadingRatePaletteNV<'static> => structures(viewport_count),);
            State set_viewport_swizzle_nv SetViewportSwizzleNv PFN_vkCmdSetViewportSwizzleNV [c"vkCmdSetViewportSwizzleNV"] (
                first_viewport: u32, viewport_count: u32,
                p_viewport_swizzles: *const vk::ViewportSwizzleNV => values(viewport_count),);
            State set_viewport_w_scaling_enable_nv SetViewportWScalingEnableNv PFN_vkCmdSetViewportWScalingEnableNV [c"vkCmdSetViewportWScalingEnableNV"] (
                viewport_w_scaling_enable: vk::Bool32,);
            State set_viewport_w_scaling_nv SetViewportWScalingNv PFN_vkCmdSetViewportWScalingNV [c"vkCmdSetViewportWScalingNV"] (
                first_viewport: u32, viewport_count: u32,
                p_viewport_w_scalings: *const vk::ViewportWScalingNV => values(viewport_count),);
            State set_viewport_with_count SetViewportWithCount PFN_vkCmdSetViewportWithCount [c"vkCmdSetViewportWithCount", c"vkCmdSetViewportWithCountEXT"] (
                viewport_count: u32, p_viewports: *const vk::Viewport => values(viewport_count),);
            Action subpass_shading_huawei SubpassShadingHuawei PFN_vkCmdSubpassShadingHUAWEI [c"vkCmdSubpassShadingHUAWEI"] ();
            Action trace_rays_indirect2_khr TraceRaysIndirect2Khr PFN_vkCmdTraceRaysIndirect2KHR [c"vkCmdTraceRaysIndirect2KHR"] (
                indirect_device_address: vk::DeviceAddress,);
            Action trace_rays_indirect_khr TraceRaysIndirectKhr PFN_vkCmdTraceRaysIndirectKHR [c"vkCmdTraceRaysIndirectKHR"] (
                p_raygen_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_miss_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_hit_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_callable_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                indirect_device_address: vk::DeviceAddress,);
            Action trace_rays_khr TraceRaysKhr PFN_vkCmdTraceRaysKHR [c"vkCmdTraceRaysKHR"] (
                p_raygen_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_miss_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_hit_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                p_callable_shader_binding_table: *const vk::StridedDeviceAddressRegionKHR => values(1),
                width: u32, height: u32, depth: u32,);
            Action trace_rays_nv TraceRaysNv PFN_vkCmdTraceRaysNV [c"vkCmdTraceRaysNV"] (
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
                callable_shader_binding_stride: vk::DeviceSize, width: u32, height: u32, depth: u32,);
            Action wait_events WaitEvents PFN_vkCmdWaitEvents [c"vkCmdWaitEvents"] (
                event_count: u32, p_events: *const vk::Event => values(event_count),
                src_stage_mask: vk::PipelineStageFlags, dst_stage_mask: vk::PipelineStageFlags,
                memory_barrier_count: u32,
                p_memory_barriers: *const vk::MemoryBarrier<'static> => structures(memory_barrier_count),
                buffer_memory_barrier_count: u32,
                p_buffer_memory_barriers: *const vk::BufferMemoryBarrier<'static> => structures(buffer_memory_barrier_count),
                image_memory_barrier_count: u32,
                p_image_memory_barriers: *const vk::ImageMemoryBarrier<'static> => structures(image_memory_barrier_count),);
            Action wait_events2 WaitEvents2 PFN_vkCmdWaitEvents2 [c"vkCmdWaitEvents2", c"vkCmdWaitEvents2KHR"] (
                event_count: u32, p_events: *const vk::Event => values(event_count),
                p_dependency_infos: *const vk::DependencyInfo<'static> => structures(event_count),);
            Action write_buffer_marker2_amd WriteBufferMarker2Amd PFN_vkCmdWriteBufferMarker2AMD [c"vkCmdWriteBufferMarker2AMD"] (
                stage: vk::PipelineStageFlags2, dst_buffer: vk::Buffer, dst_offset: vk::DeviceSize,
                marker: u32,);
            Action write_buffer_marker_amd WriteBufferMarkerAmd PFN_vkCmdWriteBufferMarkerAMD [c"vkCmdWriteBufferMarkerAMD"] (
                pipeline_stage: vk::PipelineStageFlags, dst_buffer: vk::Buffer,
                dst_offset: vk::DeviceSize, marker: u32,);
            Action write_timestamp WriteTimestamp PFN_vkCmdWriteTimestamp [c"vkCmdWriteTimestamp"] (
                pipeline_stage: vk::PipelineStageFlags, query_pool: vk::QueryPool, query: u32,);
            Action write_timestamp2 WriteTimestamp2 PFN_vkCmdWriteTimestamp2 [c"vkCmdWriteTimestamp2", c"vkCmdWriteTimestamp2KHR"] (
                stage: vk::PipelineStageFlags2, query_pool: vk::QueryPool, query: u32,);
        }
    };
}

pub(crate) use commands;
