//! Hooks for commands that the captures must see: draws, and commands that set state for draws.

use vkxfb::runtime::descriptor_heaps::BoundHeaps;
use vkxfb::runtime::{
    ByteCountDraw, ConditionalRendering, CounterBuffer, DirectDraw, Draw, DrawIndexed, IndirectDraw,
};

use super::commands::{Observer, observer_hooks};
#[cfg(feature = "drawn")]
use super::lists::draw_instead;
use crate::chain::slice;
use crate::command_buffers::{
    CommandBufferState, FastPath, executed, fast_path, inherited_heaps, observe, track, waits, with,
};
use crate::device::DeviceData;
use crate::emulation::captures::{Captures, Forward};
use crate::emulation::state::BUFFERS;
use crate::registry::vk;
use crate::translate::{RenderPass, Views, neutral};
use crate::withheld::{Command, arguments};

/// A command that the captures see before it is recorded.
pub(super) trait Observe: Command {
    const WHEN: When;

    /// Shows the command to the captures. Returns what the layer records in place of the command.
    ///
    /// # Safety
    /// The command is valid.
    unsafe fn observe(&self, captures: &mut Captures, command_buffer: vk::CommandBuffer)
    -> Forward;
}

/// When the captures see a command.
pub(super) enum When {
    Always,
    /// Always, too. But the command only changes state for later draws, so it goes to the driver directly unless it
    /// must be stored until the render pass ends.
    Tracked,
    /// While they [observe draws](Captures::observes_draws) or are deferred. Otherwise the command takes the
    /// [`FastPath`].
    WhileActive,
}

/// The captures see the command.
struct Observed;

impl<C: Observe> Observer<C> for Observed {
    #[inline]
    unsafe fn fast_path<'a>(cmd: vk::CommandBuffer, command: &C) -> Option<FastPath<'a>> {
        unsafe {
            match C::WHEN {
                When::Always => None,
                When::Tracked => {
                    let change = |captures: &mut Captures| _ = command.observe(captures, cmd);
                    track(cmd, change).map(FastPath::Driver)
                }
                When::WhileActive => fast_path(cmd),
            }
        }
    }

    #[inline]
    unsafe fn record(cmd: vk::CommandBuffer, command: &C) {
        unsafe {
            observe(
                cmd,
                |captures| command.observe(captures, cmd),
                |state, forward| match forward {
                    None | Some(Forward::Yes) => state.record(cmd, command),
                    Some(other) => instead(state, cmd, other),
                },
            );
        }
    }
}

/// Implements [`Observe`] for commands, and generates `hook_of`. A row is `When function(arguments: Type) |captures|
/// result;`, or has `|captures, command buffer|`. The function is that of `commands`. The result is converted to
/// [`Forward`]: `()` means that the command itself is recorded.
macro_rules! observed {
    ($($when:ident $function:ident($arguments:ident: $type:ident)
        |$captures:ident $(, $cmd:ident)?| $result:expr;)*) => {
        $(impl Observe for arguments::$type {
            const WHEN: When = When::$when;

            #[inline]
            #[allow(unused_unsafe, reason = "not needed for all commands")]
            unsafe fn observe(&self, $captures: &mut Captures, _cmd: vk::CommandBuffer) -> Forward {
                let $arguments = self;
                $(let $cmd = _cmd;)?
                unsafe { Forward::from($result) }
            }
        })*

        observer_hooks!(Observed: execute_commands $($function)*);
    };
}

/// Records the command that replaces a command of the program, if there is one.
///
/// # Safety
/// The contract of the command.
unsafe fn instead(state: &mut CommandBufferState, cmd: vk::CommandBuffer, other: Forward) {
    unsafe {
        match other {
            // The command may have begun or ended a capture. This changes whether later commands go to the driver
            // directly.
            Forward::Yes | Forward::No => state.update_destination(),
            Forward::DrawIndirect(buffer, offset) => {
                let stride = size_of::<vk::DrawIndirectCommand>() as u32;
                state.record(
                    cmd,
                    &arguments::DrawIndirect { buffer, offset, draw_count: 1, stride },
                );
            }
            #[cfg(feature = "drawn")]
            Forward::Drawn(instead) => draw_instead(state, cmd, &instead),
            Forward::BeginQuery(query_pool, query, flags) => {
                state.record(cmd, &arguments::BeginQuery { query_pool, query, flags });
            }
            Forward::EndQuery(query_pool, query) => {
                state.record(cmd, &arguments::EndQuery { query_pool, query });
            }
        }
    }
}

observed! {
    Tracked bind_pipeline(a: BindPipeline) |c| c.bind_pipeline(a.pipeline_bind_point, a.pipeline);
    Tracked bind_descriptor_sets(a: BindDescriptorSets) |c| {
        let sets = slice(a.p_descriptor_sets, a.descriptor_set_count);
        let offsets = slice(a.p_dynamic_offsets, a.dynamic_offset_count);
        c.bind_sets(a.pipeline_bind_point, a.layout, a.first_set, sets, offsets);
    };
    Tracked bind_shaders_ext(a: BindShadersExt) |c| {
        c.bind_shaders(slice(a.p_stages, a.stage_count), slice(a.p_shaders, a.stage_count));
    };
    Tracked bind_descriptor_buffers_ext(a: BindDescriptorBuffersExt) |c| {
        c.bind_descriptor_buffers(slice(a.p_binding_infos, a.buffer_count));
    };
    Tracked set_descriptor_buffer_offsets_ext(a: SetDescriptorBufferOffsetsExt) |c| {
        let (buffers, offsets) = (slice(a.p_buffer_indices, a.set_count), slice(a.p_offsets, a.set_count));
        c.set_descriptor_buffer_offsets(a.pipeline_bind_point, a.layout, a.first_set, buffers, offsets);
    };
    Tracked bind_descriptor_buffer_embedded_samplers_ext(a: BindDescriptorBufferEmbeddedSamplersExt) |c| {
        c.bind_embedded_samplers(a.pipeline_bind_point, a.layout, a.set);
    };
    Tracked bind_resource_heap_ext(a: BindResourceHeapExt) |c| {
        if let Some(info) = a.p_bind_info.as_ref() {
            c.bind_resource_heap(info);
        }
    };
    Tracked bind_sampler_heap_ext(a: BindSamplerHeapExt) |c| {
        if let Some(info) = a.p_bind_info.as_ref() {
            c.bind_sampler_heap(info);
        }
    };
    Tracked push_data_ext(a: PushDataExt) |c| {
        if let Some(info) = a.p_push_data_info.as_ref() {
            c.push_data(info);
        }
    };
    Tracked push_constants(a: PushConstants) |c| {
        c.state.push(a.layout, a.stage_flags, a.offset, slice(a.p_values.cast(), a.size));
    };
    Tracked bind_vertex_buffers(a: BindVertexBuffers) |c| {
        let (buffers, offsets) = (slice(a.p_buffers, a.binding_count), slice(a.p_offsets, a.binding_count));
        c.bind_vertex_buffers(a.first_binding, buffers, offsets, &[], &[]);
    };
    Tracked bind_vertex_buffers2(a: BindVertexBuffers2) |c| {
        let (buffers, offsets) = (slice(a.p_buffers, a.binding_count), slice(a.p_offsets, a.binding_count));
        let (sizes, strides) = (slice(a.p_sizes, a.binding_count), slice(a.p_strides, a.binding_count));
        c.bind_vertex_buffers(a.first_binding, buffers, offsets, sizes, strides);
    };
    Tracked bind_index_buffer(a: BindIndexBuffer) |c| {
        c.bind_index_buffer(a.buffer, a.offset, vk::WHOLE_SIZE, a.index_type);
    };
    Tracked bind_index_buffer2_khr(a: BindIndexBuffer2Khr) |c| {
        c.bind_index_buffer(a.buffer, a.offset, a.size, a.index_type);
    };
    Tracked set_primitive_topology(a: SetPrimitiveTopology) |c| c.state.topology = a.primitive_topology;
    Tracked set_primitive_restart_index_ext(a: SetPrimitiveRestartIndexExt) |c| {
        c.set_primitive_restart_index(a.primitive_restart_index);
    };
    Tracked set_primitive_restart_enable(a: SetPrimitiveRestartEnable) |c| {
        c.state.restart = a.primitive_restart_enable == vk::TRUE;
    };
    Tracked set_rasterizer_discard_enable(a: SetRasterizerDiscardEnable) |c| {
        c.state.discard = a.rasterizer_discard_enable == vk::TRUE;
    };
    Tracked set_provoking_vertex_mode_ext(a: SetProvokingVertexModeExt) |c| {
        c.state.provoking_vertex = a.provoking_vertex_mode.into();
    };
    Tracked set_patch_control_points_ext(a: SetPatchControlPointsExt) |c| {
        c.state.patch_control_points = a.patch_control_points;
    };
    Tracked set_tessellation_domain_origin_ext(a: SetTessellationDomainOriginExt) |c| {
        c.set_domain_origin(a.domain_origin);
    };
    Always bind_descriptor_sets2_khr(a: BindDescriptorSets2Khr) |c| {
        if let Some(info) = a.p_bind_descriptor_sets_info.as_ref()
            && c.has_layout("vkCmdBindDescriptorSets2", info.layout)
        {
            let sets = slice(info.p_descriptor_sets, info.descriptor_set_count);
            let offsets = slice(info.p_dynamic_offsets, info.dynamic_offset_count);
            for point in bind_points(info.stage_flags) {
                c.bind_sets(point, info.layout, info.first_set, sets, offsets);
            }
        }
    };
    Always set_descriptor_buffer_offsets2_ext(a: SetDescriptorBufferOffsets2Ext) |c| {
        if let Some(info) = a.p_set_descriptor_buffer_offsets_info.as_ref()
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
    Always bind_descriptor_buffer_embedded_samplers2_ext(a: BindDescriptorBufferEmbeddedSamplers2Ext) |c| {
        if let Some(info) = a.p_bind_descriptor_buffer_embedded_samplers_info.as_ref()
            && c.has_layout("vkCmdBindDescriptorBufferEmbeddedSamplers2EXT", info.layout)
        {
            for point in bind_points(info.stage_flags) {
                c.bind_embedded_samplers(point, info.layout, info.set);
            }
        }
    };
    Always push_descriptor_set_khr(a: PushDescriptorSetKhr) |c| {
        let writes = slice(a.p_descriptor_writes, a.descriptor_write_count);
        c.push_descriptors(a.pipeline_bind_point, a.layout, a.set, writes);
    };
    Always push_descriptor_set2_khr(a: PushDescriptorSet2Khr) |c| {
        if let Some(info) = a.p_push_descriptor_set_info.as_ref()
            && c.has_layout("vkCmdPushDescriptorSet2", info.layout)
        {
            let writes = slice(info.p_descriptor_writes, info.descriptor_write_count);
            for point in bind_points(info.stage_flags) {
                c.push_descriptors(point, info.layout, info.set, writes);
            }
        }
    };
    Always push_descriptor_set_with_template_khr(a: PushDescriptorSetWithTemplateKhr) |c| {
        c.push_with_template(a.descriptor_update_template, a.layout, a.set, a.p_data);
    };
    Always push_descriptor_set_with_template2_khr(a: PushDescriptorSetWithTemplate2Khr) |c| {
        if let Some(info) = a.p_push_descriptor_set_with_template_info.as_ref()
            && c.has_layout("vkCmdPushDescriptorSetWithTemplate2", info.layout)
        {
            c.push_with_template(info.descriptor_update_template, info.layout, info.set, info.p_data);
        }
    };
    Always push_constants2_khr(a: PushConstants2Khr) |c| {
        if let Some(info) = a.p_push_constants_info.as_ref()
            && c.has_layout("vkCmdPushConstants2", info.layout)
        {
            let bytes = slice(info.p_values.cast(), info.size);
            c.state.push(info.layout, info.stage_flags, info.offset, bytes);
        }
    };
    Always set_rasterization_stream_ext(a: SetRasterizationStreamExt) |c| {
        c.state.rasterization_stream = a.rasterization_stream;
        Forward::No
    };
    Always set_vertex_input_ext(a: SetVertexInputExt) |c| {
        let bindings = slice(a.p_vertex_binding_descriptions, a.vertex_binding_description_count);
        let attributes = slice(a.p_vertex_attribute_descriptions, a.vertex_attribute_description_count);
        c.set_vertex_input(bindings, attributes);
    };
    WhileActive draw(a: Draw) |c| {
        let arguments::Draw { vertex_count, instance_count, first_vertex, first_instance } = *a;
        let draw = Draw { vertex_count, instance_count, first_vertex, first_instance };
        let forward = c.draw(|recorder, topology| recorder.draw(topology, &draw));
        c.replace_draw(forward, |_| Some(DirectDraw::Vertices(draw)))
    };
    WhileActive draw_indexed(a: DrawIndexed) |c| {
        let arguments::DrawIndexed { index_count, instance_count, first_index, vertex_offset, first_instance } = *a;
        let draw = DrawIndexed { index_count, instance_count, first_index, vertex_offset, first_instance };
        let forward = c.draw(|recorder, topology| recorder.draw_indexed(topology, &draw));
        c.replace_draw(forward, |indices| Some(DirectDraw::Indexed(draw, indices?)))
    };
    WhileActive draw_multi_ext(a: DrawMultiExt) |c| {
        let forward = c.draw(|recorder, topology| {
        let arguments::DrawMultiExt { instance_count, first_instance, .. } = *a;
        let draws: Vec<Draw> = (0..a.draw_count as usize)
            .map(|number| {
                let draw = *a.p_vertex_info.byte_add(number * a.stride as usize);
                let (first_vertex, vertex_count) = (draw.first_vertex, draw.vertex_count);
                Draw { vertex_count, instance_count, first_vertex, first_instance }
            })
            .collect();
        recorder.draw_multi(topology, &draws)
    });
        c.lose_draw(forward, "several draws in a command")
    };
    WhileActive draw_multi_indexed_ext(a: DrawMultiIndexedExt) |c| {
        let forward = c.draw(|recorder, topology| {
        let common = a.p_vertex_offset.as_ref();
        let draws: Vec<DrawIndexed> = (0..a.draw_count as usize)
            .map(|number| {
                let draw = *a.p_index_info.byte_add(number * a.stride as usize);
                DrawIndexed {
                    index_count: draw.index_count,
                    instance_count: a.instance_count,
                    first_index: draw.first_index,
                    vertex_offset: common.copied().unwrap_or(draw.vertex_offset),
                    first_instance: a.first_instance,
                }
            })
            .collect();
        recorder.draw_multi_indexed(topology, &draws)
    });
        c.lose_draw(forward, "several draws in a command")
    };
    WhileActive draw_indirect(a: DrawIndirect) |c| {
        let arguments::DrawIndirect { buffer, offset, draw_count, stride } = *a;
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count: None };
        let forward = c.draw(|recorder, topology| recorder.draw_indirect(topology, &draw));
        c.lose_draw(forward, "indirect draws")
    };
    WhileActive draw_indexed_indirect(a: DrawIndexedIndirect) |c| {
        let arguments::DrawIndexedIndirect { buffer, offset, draw_count, stride } = *a;
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count: None };
        let forward = c.draw(|recorder, topology| recorder.draw_indexed_indirect(topology, &draw));
        c.lose_draw(forward, "indirect draws")
    };
    WhileActive draw_indirect_count(a: DrawIndirectCount) |c| {
        let arguments::DrawIndirectCount { buffer, offset, max_draw_count: draw_count, stride, .. } = *a;
        let count = Some((a.count_buffer, a.count_buffer_offset));
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
        let forward = c.draw(|recorder, topology| recorder.draw_indirect(topology, &draw));
        c.lose_draw(forward, "indirect draws")
    };
    WhileActive draw_indexed_indirect_count(a: DrawIndexedIndirectCount) |c| {
        let arguments::DrawIndexedIndirectCount { buffer, offset, max_draw_count: draw_count, stride, .. } = *a;
        let count = Some((a.count_buffer, a.count_buffer_offset));
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
        let forward = c.draw(|recorder, topology| recorder.draw_indexed_indirect(topology, &draw));
        c.lose_draw(forward, "indirect draws")
    };
    Always draw_indirect_byte_count_ext(a: DrawIndirectByteCountExt) |c| {
        let forward = c.draw_byte_count(ByteCountDraw {
            instance_count: a.instance_count,
            first_instance: a.first_instance,
            counter: CounterBuffer { buffer: a.counter_buffer, offset: a.counter_buffer_offset },
            counter_offset: a.counter_offset,
            vertex_stride: a.vertex_stride,
        });
        c.lose_draw(forward, "draws of captured vertices")
    };
    Always bind_transform_feedback_buffers_ext(a: BindTransformFeedbackBuffersExt) |c| {
        let (buffers, offsets) = (slice(a.p_buffers, a.binding_count), slice(a.p_offsets, a.binding_count));
        c.bind_capture_buffers(a.first_binding, buffers, offsets, slice(a.p_sizes, a.binding_count));
        Forward::No
    };
    Always begin_transform_feedback_ext(a: BeginTransformFeedbackExt) |c| {
        let buffers = slice(a.p_counter_buffers, a.counter_buffer_count);
        let offsets = slice(a.p_counter_buffer_offsets, a.counter_buffer_count);
        c.begin_capture(counters(a.first_counter_buffer, buffers, offsets));
        Forward::No
    };
    Always end_transform_feedback_ext(a: EndTransformFeedbackExt) |c| {
        let buffers = slice(a.p_counter_buffers, a.counter_buffer_count);
        let offsets = slice(a.p_counter_buffer_offsets, a.counter_buffer_count);
        c.end_capture(counters(a.first_counter_buffer, buffers, offsets));
        Forward::No
    };
    Always begin_conditional_rendering_ext(a: BeginConditionalRenderingExt) |c| {
        let inverted = vk::ConditionalRenderingFlagsEXT::INVERTED;
        c.state.set_condition(a.p_conditional_rendering_begin.as_ref().map(|info| ConditionalRendering {
            buffer: info.buffer,
            offset: info.offset,
            inverted: info.flags.contains(inverted),
        }));
    };
    Always end_conditional_rendering_ext(_a: EndConditionalRenderingExt) |c| c.state.set_condition(None);
    Always begin_query(a: BeginQuery) |c| c.query_begins(a.query_pool, a.query, 0);
    Always begin_query_indexed_ext(a: BeginQueryIndexedExt) |c| match c.query_begins(a.query_pool, a.query, a.index) {
        // Programs may use the indexed command for any query type, but a driver without transform
        // feedback may only have `vkCmdBeginQuery`.
        Forward::Yes if a.index == 0 => Forward::BeginQuery(a.query_pool, a.query, a.flags),
        forward => forward,
    };
    Always end_query(a: EndQuery) |c, cmd| c.query_ends(cmd, a.query_pool, a.query);
    Always end_query_indexed_ext(a: EndQueryIndexedExt) |c, cmd| match c.query_ends(cmd, a.query_pool, a.query) {
        Forward::Yes if a.index == 0 => Forward::EndQuery(a.query_pool, a.query),
        forward => forward,
    };
    Always begin_render_pass(a: BeginRenderPass) |c, cmd| {
        c.begin_pass(cmd, render_pass_of(cmd, a.p_render_pass_begin))
    };
    Always begin_render_pass2(a: BeginRenderPass2) |c, cmd| {
        c.begin_pass(cmd, render_pass_of(cmd, a.p_render_pass_begin))
    };
    Always begin_rendering(a: BeginRendering) |c, cmd| {
        if let Some(info) = a.p_rendering_info.as_ref() {
            let views = Views::of_rendering(info.view_mask);
            c.begin_rendering(cmd, info.flags, views, neutral::rendering(info));
        }
    };
    Always next_subpass(_a: NextSubpass) |c| c.next_subpass();
    Always next_subpass2(_a: NextSubpass2) |c| c.next_subpass();
}

impl Observer<arguments::ExecuteCommands> for Observed {
    unsafe fn fast_path<'a>(
        _: vk::CommandBuffer,
        _: &arguments::ExecuteCommands,
    ) -> Option<FastPath<'a>> {
        None
    }

    unsafe fn record(cmd: vk::CommandBuffer, command: &arguments::ExecuteCommands) {
        unsafe {
            let secondaries = slice(command.p_command_buffers, command.command_buffer_count);
            with(cmd, |state| state.play_deferred(cmd));
            observe(
                cmd,
                |captures| {
                    for secondary in secondaries {
                        captures.execute(executed(*secondary));
                    }
                    let inherited = secondaries.iter().map(|secondary| inherited_heaps(*secondary));
                    captures.forget_state(inherited.reduce(BoundHeaps::both).unwrap_or_default());
                },
                |state, _| {
                    for secondary in secondaries {
                        if let Some(waits) = waits(*secondary) {
                            state.repeat_waits(cmd, waits);
                        }
                    }
                    state.record(cmd, command);
                },
            );
        }
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
