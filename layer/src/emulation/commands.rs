//! What takes the place of commands that are recorded and that captures are made of.

use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use vkxfb::runtime::{
    ByteCountDraw, CaptureBuffer, ConditionalRendering, CounterBuffer, Draw, DrawIndexed,
    IndexBuffer, IndexType, IndirectDraw, QueryPool, ResultTarget, RuntimeError, VertexBuffer,
    vulkan,
};

use super::Emulation;
use super::captures::{Captures, Forward};
use super::state::BUFFERS;
use crate::chain::slice;
use crate::command_buffers::{captures, hoisted};
use crate::device::DeviceData;
use crate::guard::guard;
use crate::queue::recorded as queued;
use crate::translate::{Around, Kind};

/// How long a wait for queries goes on before the driver is asked whether the device is lost.
const WAIT: Duration = Duration::from_millis(100);

/// What a command returns where nothing is known of its device.
const FAILED: vk::Result = vk::Result::ERROR_UNKNOWN;

/// What a command comes to behind the layer.
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

macro_rules! observed {
    ($($name:ident ($($parameter:ident: $ty:ty),* $(,)?) |$captures:ident, $cmd:ident| $body:expr;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "as the command has them")]
        unsafe extern "system" fn $name(command_buffer: vk::CommandBuffer, $($parameter: $ty),*) {
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                let mut forward = Forward::Yes;
                captures(command_buffer, |$captures| {
                    #[allow(unused_variables, reason = "most commands need no handle")]
                    let $cmd = command_buffer;
                    forward = Outcome::forward($body);
                });
                match forward {
                    Forward::Yes => queued::$name(command_buffer, $($parameter),*),
                    Forward::No => {}
                    Forward::DrawIndirect(buffer, offset) => {
                        let stride = size_of::<vk::DrawIndirectCommand>() as u32;
                        queued::draw_indirect(command_buffer, buffer, offset, 1, stride);
                    }
                    Forward::BeginQuery(pool, query, flags) => {
                        queued::begin_query(command_buffer, pool, query, flags);
                    }
                    Forward::EndQuery(pool, query) => queued::end_query(command_buffer, pool, query),
                }
            }
        }
    )*};
}

observed! {
    bind_pipeline(point: vk::PipelineBindPoint, pipeline: vk::Pipeline) |c, _cmd| {
        c.bind_pipeline(point, pipeline);
    };
    bind_descriptor_sets(
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        sets: *const vk::DescriptorSet,
        offset_count: u32,
        offsets: *const u32,
    ) |c, _cmd| c.bind_sets(point, layout, first, slice(sets, count), slice(offsets, offset_count));
    push_constants(
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) |c, _cmd| c.state.push(layout, stages, offset, slice(values.cast(), size));
    bind_descriptor_sets2_khr(info: *const vk::BindDescriptorSetsInfoKHR<'static>) |c, _cmd| {
        if let Some(info) = info.as_ref() {
            let sets = slice(info.p_descriptor_sets, info.descriptor_set_count);
            let offsets = slice(info.p_dynamic_offsets, info.dynamic_offset_count);
            for point in bind_points(info.stage_flags) {
                c.bind_sets(point, info.layout, info.first_set, sets, offsets);
            }
        }
    };
    push_constants2_khr(info: *const vk::PushConstantsInfoKHR<'static>) |c, _cmd| {
        if let Some(info) = info.as_ref() {
            let bytes = slice(info.p_values.cast(), info.size);
            c.state.push(info.layout, info.stage_flags, info.offset, bytes);
        }
    };
    bind_vertex_buffers(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| c.bind_vertex_buffers(first, slice(buffers, count), slice(offsets, count), &[], &[]);
    bind_vertex_buffers2(
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
    bind_index_buffer(buffer: vk::Buffer, offset: vk::DeviceSize, ty: vk::IndexType) |c, _cmd| {
        c.bind_index_buffer(buffer, offset, vk::WHOLE_SIZE, ty);
    };
    bind_index_buffer2_khr(
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        ty: vk::IndexType,
    ) |c, _cmd| c.bind_index_buffer(buffer, offset, size, ty);
    set_primitive_topology(topology: vk::PrimitiveTopology) |c, _cmd| c.state.topology = topology;
    set_primitive_restart_enable(enable: vk::Bool32) |c, _cmd| c.state.restart = enable == vk::TRUE;
    set_rasterizer_discard_enable(enable: vk::Bool32) |c, _cmd| c.state.discard = enable == vk::TRUE;
    set_provoking_vertex_mode_ext(mode: vk::ProvokingVertexModeEXT) |c, _cmd| {
        c.state.is_last_provoking = mode == vk::ProvokingVertexModeEXT::LAST_VERTEX;
    };
    set_rasterization_stream_ext(_stream: u32) |_c, _cmd| Forward::No;
    set_vertex_input_ext(
        binding_count: u32,
        bindings: *const vk::VertexInputBindingDescription2EXT<'static>,
        attribute_count: u32,
        attributes: *const vk::VertexInputAttributeDescription2EXT<'static>,
    ) |c, _cmd| c.set_vertex_input(slice(bindings, binding_count), slice(attributes, attribute_count));
    draw(vertex_count: u32, instance_count: u32, first_vertex: u32, first_instance: u32) |c, _cmd| {
        let draw = Draw { vertex_count, instance_count, first_vertex, first_instance };
        c.draw(|recorder, topology| recorder.draw(topology, &draw))
    };
    draw_indexed(
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
    draw_multi_ext(
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
    draw_multi_indexed_ext(
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
    draw_indirect(buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32)
    |c, _cmd| {
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count: None };
        c.draw(|recorder, topology| recorder.draw_indirect(topology, &draw))
    };
    draw_indexed_indirect(buffer: vk::Buffer, offset: vk::DeviceSize, draw_count: u32, stride: u32)
    |c, _cmd| {
        let draw = IndirectDraw { buffer, offset, draw_count, stride, count: None };
        c.draw(|recorder, topology| recorder.draw_indexed_indirect(topology, &draw))
    };
    draw_indirect_count(
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
    draw_indexed_indirect_count(
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
    draw_indirect_byte_count_ext(
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
    bind_transform_feedback_buffers_ext(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
        sizes: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.bind_capture_buffers(first, slice(buffers, count), slice(offsets, count), slice(sizes, count));
        Forward::No
    };
    begin_transform_feedback_ext(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.begin(counters(first, slice(buffers, count), slice(offsets, count)));
        Forward::No
    };
    end_transform_feedback_ext(
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) |c, _cmd| {
        c.end(counters(first, slice(buffers, count), slice(offsets, count)));
        Forward::No
    };
    begin_conditional_rendering_ext(info: *const vk::ConditionalRenderingBeginInfoEXT<'static>)
    |c, _cmd| {
        let inverted = vk::ConditionalRenderingFlagsEXT::INVERTED;
        c.state.conditional_rendering = info.as_ref().map(|info| ConditionalRendering {
            buffer: info.buffer,
            offset: info.offset,
            inverted: info.flags.contains(inverted),
        });
        c.state.changed.conditional_rendering = true;
    };
    end_conditional_rendering_ext() |c, _cmd| {
        c.state.conditional_rendering = None;
        c.state.changed.conditional_rendering = true;
    };
    begin_query(pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags) |c, _cmd| {
        c.query_begins(pool, query, flags)
    };
    begin_query_indexed_ext(
        pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags,
        _index: u32,
    ) |c, _cmd| c.query_begins(pool, query, flags);
    end_query(pool: vk::QueryPool, query: u32) |c, cmd| c.query_ends(cmd, pool, query);
    end_query_indexed_ext(pool: vk::QueryPool, query: u32, _index: u32) |c, cmd| {
        c.query_ends(cmd, pool, query)
    };
    execute_commands(count: u32, command_buffers: *const vk::CommandBuffer) |c, _cmd| {
        for secondary in slice(command_buffers, count) {
            c.execute(hoisted(*secondary));
        }
        c.forget_state();
    };
    begin_render_pass(info: *const vk::RenderPassBeginInfo<'static>, _contents: vk::SubpassContents)
    |c, cmd| c.begin_pass(around(cmd, info));
    begin_render_pass2(
        info: *const vk::RenderPassBeginInfo<'static>,
        _begin: *const vk::SubpassBeginInfo<'static>,
    ) |c, cmd| c.begin_pass(around(cmd, info));
    begin_rendering(info: *const vk::RenderingInfo<'static>) |c, _cmd| {
        let resumes = vk::RenderingFlags::RESUMING;
        c.begin_rendering(info.as_ref().is_some_and(|info| info.flags.contains(resumes)));
    };
}

macro_rules! ending {
    ($($name:ident ($($parameter:ident: $ty:ty),*);)*) => {$(
        unsafe extern "system" fn $name(command_buffer: vk::CommandBuffer, $($parameter: $ty),*) {
            // SAFETY: Vulkan's contract, which is the caller's; the pass is recorded by the command itself.
            unsafe {
                let mut behind = None;
                captures(command_buffer, |captures| behind = captures.end_pass(command_buffer));
                queued::$name(command_buffer, $($parameter),*);
                if let Some(around) = behind {
                    captures(command_buffer, |captures| captures.behind_pass(command_buffer, &around));
                }
            }
        }
    )*};
}

ending! {
    end_render_pass();
    end_render_pass2(info: *const vk::SubpassEndInfo<'static>);
    end_rendering();
}

/// What a render pass asks of captures.
///
/// # Safety
/// The structure is valid, of the command buffer's device.
unsafe fn around(cmd: vk::CommandBuffer, info: *const vk::RenderPassBeginInfo<'_>) -> Around {
    // SAFETY: the caller's contract.
    unsafe {
        let device = DeviceData::of(cmd);
        let translation = device.as_ref().and_then(|device| device.translation());
        match (translation, info.as_ref()) {
            (Some(translation), Some(info)) => translation.render_passes.around(info.render_pass),
            _ => Around::default(),
        }
    }
}

/// Where sets are bound for stages.
fn bind_points(stages: vk::ShaderStageFlags) -> impl Iterator<Item = vk::PipelineBindPoint> {
    use vk::{PipelineBindPoint as Point, ShaderStageFlags as Stage};
    let graphics = Stage::ALL_GRAPHICS | Stage::TASK_EXT | Stage::MESH_EXT;
    [(graphics, Point::GRAPHICS), (Stage::COMPUTE, Point::COMPUTE)]
        .into_iter()
        .filter_map(move |(of_point, point)| stages.intersects(of_point).then_some(point))
}

/// Counters by the number of the capture buffer.
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

impl Captures {
    fn bind_pipeline(&mut self, point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
        match point {
            vk::PipelineBindPoint::GRAPHICS => {
                self.state.pipeline = self.emulation().objects().pipelines.get(pipeline);
                self.state.changed.vertex_input = true;
            }
            vk::PipelineBindPoint::COMPUTE => {
                Arc::make_mut(&mut self.state.disturbed).compute_pipeline = pipeline;
            }
            _ => {}
        }
    }

    fn bind_sets(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        sets: &[vk::DescriptorSet],
        offsets: &[u32],
    ) {
        let known = match offsets.is_empty() {
            true => None,
            false => self.emulation().objects().pipeline_layouts.get(layout),
        };
        let counts = known.iter().flat_map(|layout| layout.sets.iter().skip(first as usize));
        let counts = counts.map(|set| set.dynamic_count);
        let counts: Vec<u32> = counts.collect();
        self.state.bind_sets(point, layout, first, sets, counts.into_iter(), offsets);
    }

    /// Bytes of a range that may be all of the rest.
    fn size(&self, buffer: vk::Buffer, offset: u64, size: Option<u64>) -> u64 {
        match size {
            Some(size) if size != vk::WHOLE_SIZE => size,
            _ => self.emulation().objects().buffers.get(buffer).unwrap_or(0).saturating_sub(offset),
        }
    }

    fn bind_vertex_buffers(
        &mut self,
        first: u32,
        buffers: &[vk::Buffer],
        offsets: &[u64],
        sizes: &[u64],
        strides: &[u64],
    ) {
        for (number, (buffer, offset)) in buffers.iter().zip(offsets).enumerate() {
            let binding = first + number as u32;
            let size = self.size(*buffer, *offset, sizes.get(number).copied());
            let bound =
                VertexBuffer { binding, buffer: *buffer, offset: *offset, size, stride: None };
            self.state.vertex_buffers.insert(binding, bound);
            if let Some(stride) = strides.get(number) {
                self.state.strides.insert(binding, *stride as u32);
            }
        }
        self.state.changed.vertex_buffers = true;
    }

    fn bind_index_buffer(&mut self, buffer: vk::Buffer, offset: u64, size: u64, ty: vk::IndexType) {
        let index_type = match ty {
            vk::IndexType::UINT8_EXT => IndexType::Uint8,
            vk::IndexType::UINT16 => IndexType::Uint16,
            _ => IndexType::Uint32,
        };
        let size = self.size(buffer, offset, Some(size));
        self.state.index_buffer = Some(IndexBuffer { buffer, offset, size, index_type });
        self.state.changed.index_buffer = true;
    }

    fn bind_capture_buffers(
        &mut self,
        first: u32,
        buffers: &[vk::Buffer],
        offsets: &[u64],
        sizes: &[u64],
    ) {
        for (number, (buffer, offset)) in buffers.iter().zip(offsets).enumerate() {
            let size = self.size(*buffer, *offset, sizes.get(number).copied());
            // More is never written: a counter has 32 bits.
            let size = size.min(self.emulation().context().max_capture_buffer());
            if let Some(bound) = self.state.capture_buffers.get_mut(first as usize + number) {
                *bound = Some(CaptureBuffer { buffer: *buffer, offset: *offset, size });
            }
        }
    }

    fn set_vertex_input(
        &mut self,
        bindings: &[vk::VertexInputBindingDescription2EXT<'_>],
        attributes: &[vk::VertexInputAttributeDescription2EXT<'_>],
    ) {
        let input = vulkan::dynamic_vertex_input(bindings, attributes);
        for binding in input.iter().flat_map(|input| &input.bindings) {
            self.state.strides.insert(binding.binding, binding.stride);
        }
        // Whether anything is captured with it shows later.
        self.state.vertex_input = input.map_err(|error| error.to_string());
        self.state.changed.vertex_input = true;
    }

    /// # Safety
    /// The contract of `vkCmdBeginQuery`.
    unsafe fn query_begins(
        &mut self,
        pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags,
    ) -> Forward {
        match self.emulation().objects().queries.get(pool) {
            Some(queries) => {
                // SAFETY: the caller's contract.
                unsafe { self.begin_query(queries, query) };
                Forward::No
            }
            None => {
                self.other_queries += 1;
                Forward::BeginQuery(pool, query, flags)
            }
        }
    }

    /// # Safety
    /// The contract of `vkCmdEndQuery`.
    unsafe fn query_ends(
        &mut self,
        cmd: vk::CommandBuffer,
        pool: vk::QueryPool,
        query: u32,
    ) -> Forward {
        match self.emulation().objects().queries.get(pool) {
            Some(queries) => {
                // SAFETY: the caller's contract.
                unsafe { self.end_query(cmd, &queries, query) };
                Forward::No
            }
            None => {
                self.other_queries = self.other_queries.saturating_sub(1);
                Forward::EndQuery(pool, query)
            }
        }
    }

    /// # Safety
    /// The command buffer is being recorded, and stands behind the pass.
    unsafe fn behind_pass(&self, cmd: vk::CommandBuffer, around: &Around) {
        // SAFETY: the caller's contract.
        unsafe { around.after.record(Kind::BehindPass, self.emulation().pipeline_barrier(), cmd) };
    }
}

// -- Queries, outside of passes

/// Does something with a query pool: with one of the layer's, or what the driver does with one of its own.
///
/// # Safety
/// The handle is of a live object, as the loader hands them to layers.
unsafe fn with_queries<H: vk::Handle + Copy, R: Copy>(
    name: &'static str,
    failed: R,
    handle: H,
    pool: vk::QueryPool,
    below: impl FnOnce(&Emulation) -> R,
    command: impl FnOnce(&Emulation, &QueryPool) -> R,
) -> R {
    guard(name, failed, || {
        // SAFETY: the caller's contract.
        let device = unsafe { DeviceData::of(handle) };
        let Some(emulation) = device.as_ref().and_then(|device| device.emulation()) else {
            return failed;
        };
        match emulation.objects().queries.get(pool) {
            Some(queries) => queries.pool().map_or(failed, |pool| command(emulation, pool)),
            None => below(emulation),
        }
    })
}

unsafe extern "system" fn reset_query_pool(
    command_buffer: vk::CommandBuffer,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    let what = "vkCmdResetQueryPool";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            (),
            command_buffer,
            pool,
            |emulation| {
                let next = emulation.context().device().fp_v1_0().cmd_reset_query_pool;
                next(command_buffer, pool, first, count);
            },
            |_, queries| {
                captures(command_buffer, |captures| {
                    captures.record_outside(what, command_buffer, |emulation, _| {
                        queries.reset(emulation.context(), command_buffer, first, count)
                    });
                });
            },
        );
    }
}

#[allow(clippy::too_many_arguments, reason = "as the command has them")]
unsafe extern "system" fn copy_query_pool_results(
    command_buffer: vk::CommandBuffer,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) {
    let what = "vkCmdCopyQueryPoolResults";
    let cmd = command_buffer;
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            (),
            cmd,
            pool,
            |emulation| {
                let next = emulation.context().device().fp_v1_0().cmd_copy_query_pool_results;
                next(cmd, pool, first, count, buffer, offset, stride, flags);
            },
            |_, queries| {
                captures(cmd, |captures| {
                    let target = ResultTarget { buffer, offset, stride };
                    captures.record_outside(what, cmd, |emulation, arena| {
                        let (ctx, kernels) = (emulation.context(), emulation.kernels());
                        queries.copy_results(ctx, arena, kernels, cmd, first, count, &target, flags)
                    });
                });
            },
        );
    }
}

unsafe extern "system" fn get_query_pool_results(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    size: usize,
    data: *mut c_void,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> vk::Result {
    let what = "vkGetQueryPoolResults";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            FAILED,
            device,
            pool,
            |emulation| {
                let next = emulation.context().device().fp_v1_0().get_query_pool_results;
                next(device, pool, first, count, size, data, stride, flags)
            },
            |emulation, queries| {
                let data = match size {
                    0 => &mut [],
                    _ => std::slice::from_raw_parts_mut(data.cast::<u8>(), size),
                };
                loop {
                    match queries.results(first, count, data, stride, flags, WAIT) {
                        Ok(true) => break vk::Result::SUCCESS,
                        Ok(false) => break vk::Result::NOT_READY,
                        // A device that is lost ends no query. The driver tells, of its pool behind the handle.
                        Err(RuntimeError::QueryTimeout { .. }) => {
                            let next =
                                emulation.context().device().fp_v1_0().get_query_pool_results;
                            let mut value = 0_u32;
                            let (place, none) =
                                ((&raw mut value).cast(), vk::QueryResultFlags::empty());
                            let found = next(device, pool, first, 1, 4, place, 4, none);
                            if found == vk::Result::ERROR_DEVICE_LOST {
                                break found;
                            }
                        }
                        Err(error) => {
                            tracing::error!("{what}: {error}");
                            break FAILED;
                        }
                    }
                }
            },
        )
    }
}

unsafe extern "system" fn host_reset_query_pool(
    device: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
) {
    let what = "vkResetQueryPool";
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_queries(
            what,
            (),
            device,
            pool,
            |emulation| {
                if let Some(next) = emulation.reset_query_pool() {
                    next(device, pool, first, count);
                }
            },
            |_, queries| {
                if let Err(error) = queries.reset_by_host(first, count) {
                    tracing::error!("{what}: {error}");
                }
            },
        );
    }
}

/// What takes the place of a command.
pub(super) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    macro_rules! hooks {
        ($($($name:literal)|+ => $function:ident,)*) => {
            match name.to_bytes() {
                $($($name)|+ => {
                    // SAFETY: pointers to functions are of one size; whoever calls it by the command's name gives it
                    // its type again.
                    unsafe {
                        std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>($function as *const ())
                    }
                })*
                _ => None,
            }
        };
    }
    hooks! {
        b"vkCmdBeginConditionalRenderingEXT" =>
            begin_conditional_rendering_ext,
        b"vkCmdBeginQuery" => begin_query,
        b"vkCmdBeginQueryIndexedEXT" => begin_query_indexed_ext,
        b"vkCmdBeginRenderPass" => begin_render_pass,
        b"vkCmdBeginRenderPass2" | b"vkCmdBeginRenderPass2KHR" =>
            begin_render_pass2,
        b"vkCmdBeginRendering" | b"vkCmdBeginRenderingKHR" =>
            begin_rendering,
        b"vkCmdBeginTransformFeedbackEXT" =>
            begin_transform_feedback_ext,
        b"vkCmdBindDescriptorSets" => bind_descriptor_sets,
        b"vkCmdBindDescriptorSets2" | b"vkCmdBindDescriptorSets2KHR" => bind_descriptor_sets2_khr,
        b"vkCmdBindIndexBuffer" => bind_index_buffer,
        b"vkCmdBindIndexBuffer2" | b"vkCmdBindIndexBuffer2KHR" =>
            bind_index_buffer2_khr,
        b"vkCmdBindPipeline" => bind_pipeline,
        b"vkCmdBindTransformFeedbackBuffersEXT" =>
            bind_transform_feedback_buffers_ext,
        b"vkCmdBindVertexBuffers" => bind_vertex_buffers,
        b"vkCmdBindVertexBuffers2" | b"vkCmdBindVertexBuffers2EXT" =>
            bind_vertex_buffers2,
        b"vkCmdCopyQueryPoolResults" => copy_query_pool_results,
        b"vkCmdDraw" => draw,
        b"vkCmdDrawIndexed" => draw_indexed,
        b"vkCmdDrawIndexedIndirect" => draw_indexed_indirect,
        b"vkCmdDrawIndexedIndirectCount" | b"vkCmdDrawIndexedIndirectCountKHR"
            | b"vkCmdDrawIndexedIndirectCountAMD" =>
            draw_indexed_indirect_count,
        b"vkCmdDrawIndirect" => draw_indirect,
        b"vkCmdDrawIndirectByteCountEXT" =>
            draw_indirect_byte_count_ext,
        b"vkCmdDrawIndirectCount" | b"vkCmdDrawIndirectCountKHR" | b"vkCmdDrawIndirectCountAMD" =>
            draw_indirect_count,
        b"vkCmdDrawMultiEXT" => draw_multi_ext,
        b"vkCmdDrawMultiIndexedEXT" => draw_multi_indexed_ext,
        b"vkCmdEndConditionalRenderingEXT" =>
            end_conditional_rendering_ext,
        b"vkCmdEndQuery" => end_query,
        b"vkCmdEndQueryIndexedEXT" => end_query_indexed_ext,
        b"vkCmdEndRenderPass" => end_render_pass,
        b"vkCmdEndRenderPass2" | b"vkCmdEndRenderPass2KHR" =>
            end_render_pass2,
        b"vkCmdEndRendering" | b"vkCmdEndRenderingKHR" => end_rendering,
        b"vkCmdEndTransformFeedbackEXT" =>
            end_transform_feedback_ext,
        b"vkCmdExecuteCommands" => execute_commands,
        b"vkCmdPushConstants" => push_constants,
        b"vkCmdPushConstants2" | b"vkCmdPushConstants2KHR" => push_constants2_khr,
        b"vkCmdResetQueryPool" => reset_query_pool,
        b"vkCmdSetPrimitiveRestartEnable" | b"vkCmdSetPrimitiveRestartEnableEXT" =>
            set_primitive_restart_enable,
        b"vkCmdSetPrimitiveTopology" | b"vkCmdSetPrimitiveTopologyEXT" =>
            set_primitive_topology,
        b"vkCmdSetProvokingVertexModeEXT" =>
            set_provoking_vertex_mode_ext,
        b"vkCmdSetRasterizationStreamEXT" =>
            set_rasterization_stream_ext,
        b"vkCmdSetRasterizerDiscardEnable" | b"vkCmdSetRasterizerDiscardEnableEXT" =>
            set_rasterizer_discard_enable,
        b"vkCmdSetVertexInputEXT" => set_vertex_input_ext,
        b"vkGetQueryPoolResults" => get_query_pool_results,
        b"vkResetQueryPool" | b"vkResetQueryPoolEXT" =>
            host_reset_query_pool,
    }
}
