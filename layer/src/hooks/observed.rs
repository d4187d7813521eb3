//! Hooks for commands that the captures must see: draws, and commands that set state for draws.

use std::ffi::c_void;

use vkxfb::runtime::descriptor_heaps::BoundHeaps;
use vkxfb::runtime::{
    ByteCountDraw, ConditionalRendering, CounterBuffer, Draw, DrawIndexed, IndirectDraw,
};

use super::entry::hooks;
use crate::chain::slice;
use crate::command_buffers::{
    CommandBufferState, UnobservedRoute, executed, inherited_heaps, observe, track,
    unobserved_route, waits, with,
};

use crate::device::DeviceData;
use crate::emulation::captures::Forward;
use crate::emulation::state::BUFFERS;
use crate::registry::vk;
use crate::translate::{RenderPass, Views, neutral};

/// The result of a closure that observes a command. It is converted to what the layer records in
/// place of the command.
trait Outcome {
    fn forward(self) -> Forward;
}

impl Outcome for () {
    fn forward(self) -> Forward {
        Forward::Yes
    }
}

impl Outcome for Forward {
    fn forward(self) -> Forward {
        self
    }
}

/// The direct path of a hook to the driver, which returns from the hook. There is none for `always` commands. Those that are
/// `tracked` only change state for later draws: they take it unless they must be stored until the render pass ends.
/// `while_active` commands take it unless captures must see them.
macro_rules! to_the_driver {
    (always $($rest:tt)*) => {};
    (tracked $name:ident ($command_buffer:ident, $($parameter:ident: $ty:ty),*)
        |$captures:ident| $body:expr) => {
        if let Some(functions) = track($command_buffer, |$captures| $body) {
            if let Some(function) = functions.$name {
                function($command_buffer, $($parameter),*);
            }
            return;
        }
    };
    (while_active $name:ident ($command_buffer:ident, $($parameter:ident: $ty:ty),*)
        |$captures:ident| $body:expr) => {
        // Not inlined, so that the direct path to the driver need not save registers.
        #[inline(never)]
        unsafe extern "system" fn withhold(
            $command_buffer: vk::CommandBuffer,
            $($parameter: $ty),*
        ) {
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                with($command_buffer, |state| {
                    state.$name($command_buffer, $($parameter),*);
                });
            }
        }
        match unobserved_route($command_buffer) {
            Some(UnobservedRoute::Driver(functions)) => {
                if let Some(function) = functions.$name {
                    return function($command_buffer, $($parameter),*);
                }
            }
            Some(UnobservedRoute::Withheld) => return withhold($command_buffer, $($parameter),*),
            None => {}
        }
    };
}

macro_rules! observed {
    ($($when:ident $name:ident ($($parameter:ident: $ty:ty),* $(,)?)
        |$captures:ident, $cmd:ident| $body:expr;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "as the command has them")]
        unsafe extern "system" fn $name(command_buffer: vk::CommandBuffer, $($parameter: $ty),*) {
            // Not inlined, so that the direct path to the driver need not save registers.
            #[inline(never)]
            unsafe extern "system" fn observed(
                command_buffer: vk::CommandBuffer,
                $($parameter: $ty),*
            ) {
                // SAFETY: Vulkan's contract, which is the caller's.
                unsafe {
                    observe(
                        command_buffer,
                        |$captures| {
                            #[allow(unused_variables, reason = "most commands need no handle")]
                            let $cmd = command_buffer;
                            Outcome::forward($body)
                        },
                        |state, forward| match forward {
                            None | Some(Forward::Yes) => {
                                state.$name(command_buffer, $($parameter),*);
                            }
                            Some(other) => instead(state, command_buffer, other),
                        },
                    );
                }
            }
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                to_the_driver!($when $name(command_buffer, $($parameter: $ty),*) |$captures| $body);
                observed(command_buffer, $($parameter),*);
            }
        }
    )*};
}

/// Records the command that replaces a command of the program, if there is one.
///
/// # Safety
/// The contract of the command.
unsafe fn instead(state: &mut CommandBufferState, cmd: vk::CommandBuffer, other: Forward) {
    // SAFETY: the caller's contract.
    unsafe {
        match other {
            // The command may have begun or ended a capture. This changes whether later commands go to the driver
            // directly.
            Forward::Yes | Forward::No => state.update_destination(),
            Forward::DrawIndirect(buffer, offset) => {
                let stride = size_of::<vk::DrawIndirectCommand>() as u32;
                state.draw_indirect(cmd, buffer, offset, 1, stride);
            }
            Forward::BeginQuery(pool, query, flags) => {
                state.begin_query(cmd, pool, query, flags);
            }
            Forward::EndQuery(pool, query) => state.end_query(cmd, pool, query),
        }
    }
}

observed! {
    tracked bind_pipeline(point: vk::PipelineBindPoint, pipeline: vk::Pipeline) |c, _cmd| {
        c.bind_pipeline(point, pipeline);
    };
    tracked bind_descriptor_sets(
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        sets: *const vk::DescriptorSet,
        offset_count: u32,
        offsets: *const u32,
    ) |c, _cmd| c.bind_sets(point, layout, first, slice(sets, count), slice(offsets, offset_count));
    tracked bind_shaders_ext(
        count: u32,
        stages: *const vk::ShaderStageFlags,
        shaders: *const vk::ShaderEXT,
    ) |c, _cmd| c.bind_shaders(slice(stages, count), slice(shaders, count));
    tracked bind_descriptor_buffers_ext(
        count: u32,
        infos: *const vk::DescriptorBufferBindingInfoEXT<'static>,
    ) |c, _cmd| c.bind_descriptor_buffers(slice(infos, count));
    tracked set_descriptor_buffer_offsets_ext(
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        buffers: *const u32,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.set_descriptor_buffer_offsets(point, layout, first, slice(buffers, count), slice(offsets, count));
    };
    tracked bind_descriptor_buffer_embedded_samplers_ext(
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
    ) |c, _cmd| c.bind_embedded_samplers(point, layout, set);
    tracked bind_resource_heap_ext(info: *const vk::BindHeapInfoEXT) |c, _cmd| {
        if let Some(info) = info.as_ref() {
            c.bind_resource_heap(info);
        }
    };
    tracked bind_sampler_heap_ext(info: *const vk::BindHeapInfoEXT) |c, _cmd| {
        if let Some(info) = info.as_ref() {
            c.bind_sampler_heap(info);
        }
    };
    tracked push_data_ext(info: *const vk::PushDataInfoEXT) |c, _cmd| {
        if let Some(info) = info.as_ref() {
            c.push_data(info);
        }
    };
    tracked push_constants(
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) |c, _cmd| c.state.push(layout, stages, offset, slice(values.cast(), size));
    tracked bind_vertex_buffers(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| c.bind_vertex_buffers(first, slice(buffers, count), slice(offsets, count), &[], &[]);
    tracked bind_vertex_buffers2(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
        sizes: *const vk::DeviceSize,
        strides: *const vk::DeviceSize,
    ) |c, _cmd| c.bind_vertex_buffers(
        first,
        slice(buffers, count),
        slice(offsets, count),
        slice(sizes, count),
        slice(strides, count),
    );
    tracked bind_index_buffer(buffer: vk::Buffer, offset: vk::DeviceSize, ty: vk::IndexType) |c, _cmd| {
        c.bind_index_buffer(buffer, offset, vk::WHOLE_SIZE, ty);
    };
    tracked bind_index_buffer2_khr(
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        ty: vk::IndexType,
    ) |c, _cmd| c.bind_index_buffer(buffer, offset, size, ty);
    tracked set_primitive_topology(topology: vk::PrimitiveTopology) |c, _cmd| c.state.topology = topology;
    tracked set_primitive_restart_index_ext(index: u32) |c, _cmd| c.set_primitive_restart_index(index);
    tracked set_primitive_restart_enable(enable: vk::Bool32) |c, _cmd| c.state.restart = enable == vk::TRUE;
    tracked set_rasterizer_discard_enable(enable: vk::Bool32) |c, _cmd| c.state.discard = enable == vk::TRUE;
    tracked set_provoking_vertex_mode_ext(mode: vk::ProvokingVertexModeEXT) |c, _cmd| {
        c.state.provoking_vertex = mode.into();
    };
    tracked set_patch_control_points_ext(points: u32) |c, _cmd| c.state.patch_control_points = points;
    tracked set_tessellation_domain_origin_ext(origin: vk::TessellationDomainOrigin) |c, _cmd| {
        c.set_domain_origin(origin);
    };
    always bind_descriptor_sets2_khr(info: *const vk::BindDescriptorSetsInfoKHR<'static>) |c, _cmd| {
        if let Some(info) = info.as_ref()
            && c.has_layout("vkCmdBindDescriptorSets2", info.layout)
        {
            let sets = slice(info.p_descriptor_sets, info.descriptor_set_count);
            let offsets = slice(info.p_dynamic_offsets, info.dynamic_offset_count);
            for point in bind_points(info.stage_flags) {
                c.bind_sets(point, info.layout, info.first_set, sets, offsets);
            }
        }
    };
    always set_descriptor_buffer_offsets2_ext(
        info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'static>,
    ) |c, _cmd| {
        if let Some(info) = info.as_ref()
            && c.has_layout("vkCmdSetDescriptorBufferOffsets2EXT", info.layout)
        {
            let buffers = slice(info.p_buffer_indices, info.set_count);
            let offsets = slice(info.p_offsets, info.set_count);
            for point in bind_points(info.stage_flags) {
                let (layout, first) = (info.layout, info.first_set);
                c.set_descriptor_buffer_offsets(point, layout, first, buffers, offsets);
            }
        }
    };
    always bind_descriptor_buffer_embedded_samplers2_ext(
        info: *const vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'static>,
    ) |c, _cmd| {
        if let Some(info) = info.as_ref()
            && c.has_layout("vkCmdBindDescriptorBufferEmbeddedSamplers2EXT", info.layout)
        {
            for point in bind_points(info.stage_flags) {
                c.bind_embedded_samplers(point, info.layout, info.set);
            }
        }
    };
    always push_descriptor_set_khr(
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
        count: u32,
        writes: *const vk::WriteDescriptorSet<'static>,
    ) |c, _cmd| c.push_descriptors(point, layout, set, slice(writes, count));
    always push_descriptor_set2_khr(info: *const vk::PushDescriptorSetInfoKHR<'static>) |c, _cmd| {
        if let Some(info) = info.as_ref()
            && c.has_layout("vkCmdPushDescriptorSet2", info.layout)
        {
            let writes = slice(info.p_descriptor_writes, info.descriptor_write_count);
            for point in bind_points(info.stage_flags) {
                c.push_descriptors(point, info.layout, info.set, writes);
            }
        }
    };
    always push_descriptor_set_with_template_khr(
        template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        set: u32,
        data: *const c_void,
    ) |c, _cmd| c.push_with_template(template, layout, set, data);
    always push_descriptor_set_with_template2_khr(
        info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'static>,
    ) |c, _cmd| {
        if let Some(info) = info.as_ref()
            && c.has_layout("vkCmdPushDescriptorSetWithTemplate2", info.layout)
        {
            c.push_with_template(
                info.descriptor_update_template,
                info.layout,
                info.set,
                info.p_data,
            );
        }
    };
    always push_constants2_khr(info: *const vk::PushConstantsInfoKHR<'static>) |c, _cmd| {
        if let Some(info) = info.as_ref()
            && c.has_layout("vkCmdPushConstants2", info.layout)
        {
            let bytes = slice(info.p_values.cast(), info.size);
            c.state.push(info.layout, info.stage_flags, info.offset, bytes);
        }
    };
    always set_rasterization_stream_ext(stream: u32) |c, _cmd| {
        c.state.rasterization_stream = stream;
        Forward::No
    };
    always set_vertex_input_ext(
        binding_count: u32,
        bindings: *const vk::VertexInputBindingDescription2EXT<'static>,
        attribute_count: u32,
        attributes: *const vk::VertexInputAttributeDescription2EXT<'static>,
    ) |c, _cmd| c.set_vertex_input(slice(bindings, binding_count), slice(attributes, attribute_count));
    while_active draw(vertex_count: u32, instance_count: u32, first_vertex: u32, first_instance: u32) |c, _cmd| {
        let draw = Draw { vertex_count, instance_count, first_vertex, first_instance };
        c.draw(|recorder, topology| recorder.draw(topology, &draw))
    };
    while_active draw_indexed(
        index_count: u32,
        instance_count: u32,
        first_index: u32,
        vertex_offset: i32,
        first_instance: u32,
    ) |c, _cmd| {
        let draw =
            DrawIndexed { index_count, instance_count, first_index, vertex_offset, first_instance };
        c.draw(|recorder, topology| recorder.draw_indexed(topology, &draw))
    };
    while_active draw_multi_ext(
        draw_count: u32,
        draws: *const vk::MultiDrawInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
    ) |c, _cmd| c.draw(|recorder, topology| {
        let draws: Vec<Draw> = (0..draw_count as usize)
            .map(|number| {
                let draw = *draws.byte_add(number * stride as usize);
                let (first_vertex, vertex_count) = (draw.first_vertex, draw.vertex_count);
                Draw { vertex_count, instance_count, first_vertex, first_instance }
            })
            .collect();
        recorder.draw_multi(topology, &draws)
    });
    while_active draw_multi_indexed_ext(
        draw_count: u32,
        draws: *const vk::MultiDrawIndexedInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
        vertex_offset: *const i32,
    ) |c, _cmd| c.draw(|recorder, topology| {
        let common = vertex_offset.as_ref();
        let draws: Vec<DrawIndexed> = (0..draw_count as usize)
            .map(|number| {
                let draw = *draws.byte_add(number * stride as usize);
                DrawIndexed {
                    index_count: draw.index_count,
                    instance_count,
                    first_index: draw.first_index,
                    vertex_offset: common.copied().unwrap_or(draw.vertex_offset),
                    first_instance,
                }
            })
            .collect();
        recorder.draw_multi_indexed(topology, &draws)
    });
    while_active draw_indirect(buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32)
    |c, _cmd| {
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count: None };
        c.draw(|recorder, topology| recorder.draw_indirect(topology, &draw))
    };
    while_active draw_indexed_indirect(buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32)
    |c, _cmd| {
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count: None };
        c.draw(|recorder, topology| recorder.draw_indexed_indirect(topology, &draw))
    };
    while_active draw_indirect_count(
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count_buffer: vk::Buffer,
        count_offset: vk::DeviceSize,
        draw_count: u32,
        stride: u32,
    ) |c, _cmd| {
        let count = Some((count_buffer, count_offset));
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
        c.draw(|recorder, topology| recorder.draw_indirect(topology, &draw))
    };
    while_active draw_indexed_indirect_count(
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count_buffer: vk::Buffer,
        count_offset: vk::DeviceSize,
        draw_count: u32,
        stride: u32,
    ) |c, _cmd| {
        let count = Some((count_buffer, count_offset));
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
        c.draw(|recorder, topology| recorder.draw_indexed_indirect(topology, &draw))
    };
    always draw_indirect_byte_count_ext(
        instance_count: u32,
        first_instance: u32,
        counter_buffer: vk::Buffer,
        counter_buffer_offset: vk::DeviceSize,
        counter_offset: u32,
        vertex_stride: u32,
    ) |c, _cmd| c.draw_byte_count(ByteCountDraw {
        instance_count,
        first_instance,
        counter: CounterBuffer { buffer: counter_buffer, offset: counter_buffer_offset },
        counter_offset,
        vertex_stride,
    });
    always bind_transform_feedback_buffers_ext(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
        sizes: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.bind_capture_buffers(first, slice(buffers, count), slice(offsets, count), slice(sizes, count));
        Forward::No
    };
    always begin_transform_feedback_ext(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.begin_capture(counters(first, slice(buffers, count), slice(offsets, count)));
        Forward::No
    };
    always end_transform_feedback_ext(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.end_capture(counters(first, slice(buffers, count), slice(offsets, count)));
        Forward::No
    };
    always begin_conditional_rendering_ext(info: *const vk::ConditionalRenderingBeginInfoEXT<'static>)
    |c, _cmd| {
        let inverted = vk::ConditionalRenderingFlagsEXT::INVERTED;
        c.state.set_condition(info.as_ref().map(|info| ConditionalRendering {
            buffer: info.buffer,
            offset: info.offset,
            inverted: info.flags.contains(inverted),
        }));
    };
    always end_conditional_rendering_ext() |c, _cmd| {
        c.state.set_condition(None);
    };
    always begin_query(pool: vk::QueryPool, query: u32, _flags: vk::QueryControlFlags) |c, _cmd| {
        c.query_begins(pool, query, 0)
    };
    always begin_query_indexed_ext(
        pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags,
        index: u32,
    ) |c, _cmd| match c.query_begins(pool, query, index) {
        // Programs may use the indexed command for any query type, but a driver without transform
        // feedback may only have `vkCmdBeginQuery`.
        Forward::Yes if index == 0 => Forward::BeginQuery(pool, query, flags),
        forward => forward,
    };
    always end_query(pool: vk::QueryPool, query: u32) |c, cmd| c.query_ends(cmd, pool, query);
    always end_query_indexed_ext(pool: vk::QueryPool, query: u32, index: u32) |c, cmd| {
        match c.query_ends(cmd, pool, query) {
            Forward::Yes if index == 0 => Forward::EndQuery(pool, query),
            forward => forward,
        }
    };
    always begin_render_pass(info: *const vk::RenderPassBeginInfo<'static>, _contents: vk::SubpassContents)
    |c, cmd| c.begin_pass(cmd, render_pass_of(cmd, info));
    always begin_render_pass2(
        info: *const vk::RenderPassBeginInfo<'static>,
        _begin: *const vk::SubpassBeginInfo<'static>,
    ) |c, cmd| c.begin_pass(cmd, render_pass_of(cmd, info));
    always begin_rendering(info: *const vk::RenderingInfo<'static>) |c, cmd| {
        if let Some(info) = info.as_ref() {
            let views = Views::of_rendering(info.view_mask);
            c.begin_rendering(cmd, info.flags, views, neutral::rendering(info));
        }
    };
    always next_subpass(_contents: vk::SubpassContents) |c, _cmd| c.next_subpass();
    always next_subpass2(
        _begin: *const vk::SubpassBeginInfo<'static>,
        _end: *const vk::SubpassEndInfo<'static>,
    ) |c, _cmd| c.next_subpass();
}

unsafe extern "system" fn execute_commands(
    command_buffer: vk::CommandBuffer,
    count: u32,
    secondaries: *const vk::CommandBuffer,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with(command_buffer, |state| state.play_deferred(command_buffer));
        observe(
            command_buffer,
            |captures| {
                for secondary in slice(secondaries, count) {
                    captures.execute(executed(*secondary));
                }
                let secondaries = slice(secondaries, count).iter();
                let inherited = secondaries.map(|secondary| inherited_heaps(*secondary));
                captures.forget_state(inherited.reduce(BoundHeaps::both).unwrap_or_default());
            },
            |state, _| {
                for secondary in slice(secondaries, count) {
                    if let Some(waits) = waits(*secondary) {
                        state.repeat_waits(command_buffer, waits);
                    }
                }
                state.execute_commands(command_buffer, count, secondaries);
            },
        );
    }
}

/// Returns what captures and queries need of the render pass of a `vkCmdBeginRenderPass`.
///
/// # Safety
/// The structure is valid, and its render pass belongs to the device of the command buffer.
unsafe fn render_pass_of(
    cmd: vk::CommandBuffer,
    info: *const vk::RenderPassBeginInfo<'_>,
) -> RenderPass {
    // SAFETY: the caller's contract.
    unsafe {
        let device = DeviceData::of(cmd);
        let translation = device.as_ref().and_then(|device| device.translation());
        match (translation, info.as_ref()) {
            (Some(translation), Some(info)) => {
                let mut found = translation.render_passes.get(info.render_pass);
                found.barriers.is_neutral &= neutral::begins(info);
                found
            }
            _ => RenderPass::default(),
        }
    }
}

/// Returns the bind points whose pipelines may contain one of the stages.
fn bind_points(stages: vk::ShaderStageFlags) -> impl Iterator<Item = vk::PipelineBindPoint> {
    use vk::{PipelineBindPoint as Point, ShaderStageFlags as Stage};
    let graphics = Stage::ALL_GRAPHICS | Stage::TASK_EXT | Stage::MESH_EXT;
    [(graphics, Point::GRAPHICS), (Stage::COMPUTE, Point::COMPUTE)]
        .into_iter()
        .filter_map(move |(of_point, point)| stages.intersects(of_point).then_some(point))
}

/// Returns the counter buffers of a `vkCmdBeginTransformFeedbackEXT` or `vkCmdEndTransformFeedbackEXT`, indexed by the
/// number of the capture buffer. `None` for a capture buffer without a counter.
fn counters(
    first: u32,
    buffers: &[vk::Buffer],
    offsets: &[vk::DeviceSize],
) -> [Option<CounterBuffer>; BUFFERS] {
    let mut counters = [None; BUFFERS];
    let offsets = offsets.iter().copied().chain(std::iter::repeat(0));
    for ((buffer, offset), counter) in
        buffers.iter().zip(offsets).zip(counters.iter_mut().skip(first as usize))
    {
        *counter =
            (*buffer != vk::Buffer::null()).then_some(CounterBuffer { buffer: *buffer, offset });
    }
    counters
}

hooks! {
    b"vkCmdBeginConditionalRenderingEXT" => begin_conditional_rendering_ext,
    b"vkCmdBeginQuery" => begin_query,
    b"vkCmdBeginQueryIndexedEXT" => begin_query_indexed_ext,
    b"vkCmdBeginRenderPass" => begin_render_pass,
    b"vkCmdBeginRenderPass2" | b"vkCmdBeginRenderPass2KHR" => begin_render_pass2,
    b"vkCmdBeginRendering" | b"vkCmdBeginRenderingKHR" => begin_rendering,
    b"vkCmdBeginTransformFeedbackEXT" => begin_transform_feedback_ext,
    b"vkCmdBindDescriptorBufferEmbeddedSamplersEXT" => bind_descriptor_buffer_embedded_samplers_ext,
    b"vkCmdBindDescriptorBufferEmbeddedSamplers2EXT" =>
        bind_descriptor_buffer_embedded_samplers2_ext,
    b"vkCmdBindDescriptorBuffersEXT" => bind_descriptor_buffers_ext,
    b"vkCmdBindDescriptorSets" => bind_descriptor_sets,
    b"vkCmdBindDescriptorSets2" | b"vkCmdBindDescriptorSets2KHR" => bind_descriptor_sets2_khr,
    b"vkCmdBindIndexBuffer" => bind_index_buffer,
    b"vkCmdBindIndexBuffer2" | b"vkCmdBindIndexBuffer2KHR" => bind_index_buffer2_khr,
    b"vkCmdBindPipeline" => bind_pipeline,
    b"vkCmdBindResourceHeapEXT" => bind_resource_heap_ext,
    b"vkCmdBindSamplerHeapEXT" => bind_sampler_heap_ext,
    b"vkCmdBindShadersEXT" => bind_shaders_ext,
    b"vkCmdBindTransformFeedbackBuffersEXT" => bind_transform_feedback_buffers_ext,
    b"vkCmdBindVertexBuffers" => bind_vertex_buffers,
    b"vkCmdBindVertexBuffers2" | b"vkCmdBindVertexBuffers2EXT" => bind_vertex_buffers2,
    b"vkCmdDraw" => draw,
    b"vkCmdDrawIndexed" => draw_indexed,
    b"vkCmdDrawIndexedIndirect" => draw_indexed_indirect,
    b"vkCmdDrawIndexedIndirectCount" | b"vkCmdDrawIndexedIndirectCountKHR"
        | b"vkCmdDrawIndexedIndirectCountAMD" => draw_indexed_indirect_count,
    b"vkCmdDrawIndirect" => draw_indirect,
    b"vkCmdDrawIndirectByteCountEXT" => draw_indirect_byte_count_ext,
    b"vkCmdDrawIndirectCount" | b"vkCmdDrawIndirectCountKHR" | b"vkCmdDrawIndirectCountAMD" =>
        draw_indirect_count,
    b"vkCmdDrawMultiEXT" => draw_multi_ext,
    b"vkCmdDrawMultiIndexedEXT" => draw_multi_indexed_ext,
    b"vkCmdEndConditionalRenderingEXT" => end_conditional_rendering_ext,
    b"vkCmdEndQuery" => end_query,
    b"vkCmdEndQueryIndexedEXT" => end_query_indexed_ext,
    b"vkCmdEndTransformFeedbackEXT" => end_transform_feedback_ext,
    b"vkCmdExecuteCommands" => execute_commands,
    b"vkCmdNextSubpass" => next_subpass,
    b"vkCmdNextSubpass2" | b"vkCmdNextSubpass2KHR" => next_subpass2,
    b"vkCmdPushConstants" => push_constants,
    b"vkCmdPushConstants2" | b"vkCmdPushConstants2KHR" => push_constants2_khr,
    b"vkCmdPushDataEXT" => push_data_ext,
    b"vkCmdPushDescriptorSet" | b"vkCmdPushDescriptorSetKHR" => push_descriptor_set_khr,
    b"vkCmdPushDescriptorSet2" | b"vkCmdPushDescriptorSet2KHR" => push_descriptor_set2_khr,
    b"vkCmdPushDescriptorSetWithTemplate" | b"vkCmdPushDescriptorSetWithTemplateKHR" =>
        push_descriptor_set_with_template_khr,
    b"vkCmdPushDescriptorSetWithTemplate2" | b"vkCmdPushDescriptorSetWithTemplate2KHR" =>
        push_descriptor_set_with_template2_khr,
    b"vkCmdSetDescriptorBufferOffsetsEXT" => set_descriptor_buffer_offsets_ext,
    b"vkCmdSetDescriptorBufferOffsets2EXT" => set_descriptor_buffer_offsets2_ext,
    b"vkCmdSetPatchControlPointsEXT" => set_patch_control_points_ext,
    b"vkCmdSetPrimitiveRestartEnable" | b"vkCmdSetPrimitiveRestartEnableEXT" =>
        set_primitive_restart_enable,
    b"vkCmdSetPrimitiveRestartIndexEXT" => set_primitive_restart_index_ext,
    b"vkCmdSetPrimitiveTopology" | b"vkCmdSetPrimitiveTopologyEXT" => set_primitive_topology,
    b"vkCmdSetProvokingVertexModeEXT" => set_provoking_vertex_mode_ext,
    b"vkCmdSetRasterizationStreamEXT" => set_rasterization_stream_ext,
    b"vkCmdSetRasterizerDiscardEnable" | b"vkCmdSetRasterizerDiscardEnableEXT" =>
        set_rasterizer_discard_enable,
    b"vkCmdSetTessellationDomainOriginEXT" => set_tessellation_domain_origin_ext,
    b"vkCmdSetVertexInputEXT" => set_vertex_input_ext,
}
