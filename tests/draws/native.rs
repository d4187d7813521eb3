//! Programs by the device's own transform feedback, recorded command by command, past the crate.

mod pipelines;

use ash::{ext, khr, vk};
use vkxfb::lower::Backend;
use vkxfb::runtime::{ConsumerScope, Context, MemoryLocation};
use vkxfb_probe::gpu::{Gpu, GpuError};

use self::pipelines::Pipelines;
use crate::images::{self, Round, failed};
use crate::program::{
    Condition, Counters, Draw, IndexBuffer, Outcome, Program, QueryKind, QueryPlaces, State,
    StateChange, Step, place_queries,
};
use crate::sets::Sets;

/// Functions and pipelines.
pub struct Native {
    xfb: ext::transform_feedback::Device,
    multi_draw: ext::multi_draw::Device,
    indirect_count: khr::draw_indirect_count::Device,
    conditional: ext::conditional_rendering::Device,
    pipelines: Pipelines,
    /// Where captures go on that another pipeline interrupts: a dword for each buffer, while a batch is run.
    hidden_counters: vk::Buffer,
}

/// A command buffer that is being recorded, and what was recorded into it.
#[derive(Default)]
struct Recording {
    cmd: vk::CommandBuffer,
    in_pass: bool,
    /// Whether transform feedback is.
    is_active: bool,
    /// By number, whether a capture buffer is bound.
    has_buffer: [bool; 4],
    state: Option<State>,
}

/// The scopes of barriers between captures of one pass, which `Pipelines` declares as the pass's self-dependency.
fn scopes() -> [(vk::PipelineStageFlags, vk::AccessFlags); 2] {
    let ConsumerScope { stages, access } = images::next(Backend::Native);
    [Context::write_scope(Backend::Native), (stages, access)]
}

/// Where the queries of each program of a batch begin.
struct Queries {
    pools: [vk::QueryPool; 2],
    places: QueryPlaces,
}

impl Native {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let (instance, device) = (gpu.instance(), gpu.context().device());
        Ok(Self {
            xfb: ext::transform_feedback::Device::new(instance, device),
            multi_draw: ext::multi_draw::Device::new(instance, device),
            indirect_count: khr::draw_indirect_count::Device::new(instance, device),
            conditional: ext::conditional_rendering::Device::new(instance, device),
            pipelines: Pipelines::new(gpu.context())?,
            hidden_counters: vk::Buffer::null(),
        })
    }

    /// Runs programs, each in the space of the device.
    pub fn run(&mut self, gpu: &mut Gpu, programs: &[Program]) -> Result<Vec<Outcome>, GpuError> {
        let queries = Queries::new(gpu.context(), programs)?;
        let sets = Sets::new(gpu.context(), &self.pipelines.set_layouts, programs.len())?;
        let mut usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT
            | vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER
            | vk::BufferUsageFlags::INDIRECT_BUFFER;
        if gpu.draw_features().conditional_rendering {
            usage |= vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT;
        }
        let counters = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let hidden_counters = gpu.create_buffer(16, counters, MemoryLocation::Device)?;
        self.hidden_counters = hidden_counters.raw();
        // One at a time: bindings and what drivers forget to reset stay in a command buffer.
        let memories = images::execute(gpu, programs, usage, 1, |ctx, cmd, round| {
            // SAFETY: programs are valid by their making; the handles live until the end.
            unsafe { self.record(ctx, cmd, round, &queries, &sets) }
        });
        let outcomes = memories.and_then(|memories| {
            memories
                .into_iter()
                .zip(&queries.places)
                .map(|(memory, places)| {
                    let queries = queries.results(gpu.context(), places)?;
                    Ok(Outcome { memory, queries })
                })
                .collect()
        });
        gpu.destroy_buffer(hidden_counters);
        // SAFETY: nothing is in flight.
        unsafe {
            queries.destroy(gpu.context());
            sets.destroy(gpu.context());
        }
        outcomes
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, gpu: &Gpu) {
        // SAFETY: the caller's contract.
        unsafe { self.pipelines.destroy(gpu.context()) };
    }

    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance, and the round's program is valid.
    unsafe fn record(
        &mut self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        round: &Round<'_>,
        queries: &Queries,
        sets: &Sets,
    ) -> Result<(), GpuError> {
        let device = ctx.device();
        let places = &queries.places[round.number];
        // SAFETY: the caller's contract.
        unsafe {
            if round.round == 0 {
                sets.write(ctx, round);
                for &(kind, place) in places {
                    device.cmd_reset_query_pool(cmd, queries.pool(kind), place, 1);
                }
            }
            let mut recording = Recording { cmd, ..Default::default() };
            for step in &round.program.rounds[round.round] {
                match step {
                    Step::BeginPass => {
                        recording.in_pass = true;
                        self.pipelines.begin_pass(ctx, cmd);
                    }
                    Step::EndPass => {
                        recording.in_pass = false;
                        device.cmd_end_render_pass(cmd);
                    }
                    Step::Barrier if recording.in_pass => barrier_in_pass(ctx, cmd),
                    Step::Barrier => images::barrier(ctx, cmd),
                    Step::Change(change) => {
                        self.change(ctx, &mut recording, round, sets, change)?;
                    }
                    Step::CaptureBuffers(ranges) => {
                        recording.has_buffer = ranges.map(|range| range.is_some());
                        for (buffer, range) in (0..).zip(ranges) {
                            let Some(range) = range else { continue };
                            (self.xfb.fp().cmd_bind_transform_feedback_buffers_ext)(
                                cmd,
                                buffer,
                                1,
                                &round.memory,
                                &range.offset,
                                &range.size,
                            );
                        }
                    }
                    Step::Begin(counters) => {
                        recording.is_active = true;
                        self.begin(cmd, counters, round.memory);
                    }
                    Step::End(counters) => {
                        recording.is_active = false;
                        self.end(cmd, counters, round.memory);
                    }
                    Step::BeginQuery(query) => {
                        let (kind, place) = places[*query];
                        let flags = vk::QueryControlFlags::empty();
                        device.cmd_begin_query(cmd, queries.pool(kind), place, flags);
                    }
                    Step::EndQuery(query) => {
                        let (kind, place) = places[*query];
                        device.cmd_end_query(cmd, queries.pool(kind), place);
                    }
                    Step::Draw(draw) => self.draw(device, cmd, round.memory, draw),
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn begin(&self, cmd: vk::CommandBuffer, counters: &Counters, memory: vk::Buffer) {
        let begin = self.xfb.fp().cmd_begin_transform_feedback_ext;
        with_counters(counters, memory, |first, count, buffers, offsets| {
            // SAFETY: the caller's contract.
            unsafe { begin(cmd, first, count, buffers, offsets) };
        });
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn end(&self, cmd: vk::CommandBuffer, counters: &Counters, memory: vk::Buffer) {
        let end = self.xfb.fp().cmd_end_transform_feedback_ext;
        with_counters(counters, memory, |first, count, buffers, offsets| {
            // SAFETY: the caller's contract.
            unsafe { end(cmd, first, count, buffers, offsets) };
        });
    }

    /// Binds the pipeline of a state. No pipeline may be bound between Begin and End: a capture is ended before, and
    /// goes on behind from counters that nobody sees.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn bind(
        &mut self,
        ctx: &Context,
        recording: &mut Recording,
        state: State,
    ) -> Result<(), GpuError> {
        let cmd = recording.cmd;
        let pipeline = self.pipelines.get(ctx, &state)?;
        recording.state = Some(state);
        let counters = Counters {
            first: 0,
            counters: (0..)
                .zip(recording.has_buffer)
                .map(|(b, has)| has.then_some(4 * b))
                .collect(),
        };
        // SAFETY: the caller's contract.
        unsafe {
            if recording.is_active {
                self.end(cmd, &counters, self.hidden_counters);
                barrier_in_pass(ctx, cmd);
            }
            ctx.device().cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            if recording.is_active {
                self.begin(cmd, &counters, self.hidden_counters);
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn change(
        &mut self,
        ctx: &Context,
        recording: &mut Recording,
        round: &Round<'_>,
        sets: &Sets,
        change: &StateChange,
    ) -> Result<(), GpuError> {
        let (device, cmd) = (ctx.device(), recording.cmd);
        // SAFETY: the caller's contract.
        unsafe {
            match change {
                StateChange::Pipeline(state) => self.bind(ctx, recording, *state)?,
                StateChange::ProvokingVertex(provoking) => {
                    let state = State { provoking: *provoking, ..recording.state.unwrap() };
                    self.bind(ctx, recording, state)?;
                }
                StateChange::PrimitiveRestart(restart) => {
                    let state = State { restart: *restart, ..recording.state.unwrap() };
                    self.bind(ctx, recording, state)?;
                }
                StateChange::VertexBuffers(ranges) => {
                    let offsets = ranges.map(|range| range.offset);
                    device.cmd_bind_vertex_buffers(cmd, 0, &[round.memory; 2], &offsets);
                }
                StateChange::IndexBuffer(IndexBuffer { range, index_size }) => {
                    let index_type = match index_size {
                        1 => vk::IndexType::UINT8_EXT,
                        2 => vk::IndexType::UINT16,
                        _ => vk::IndexType::UINT32,
                    };
                    device.cmd_bind_index_buffer(cmd, round.memory, range.offset, index_type);
                }
                StateChange::PrimitiveRestartIndex(_) => {
                    panic!("no driver has VK_EXT_primitive_restart_index yet")
                }
                StateChange::BeginConditionalRendering(Condition { offset, inverted }) => {
                    let flags = match inverted {
                        true => vk::ConditionalRenderingFlagsEXT::INVERTED,
                        false => vk::ConditionalRenderingFlagsEXT::empty(),
                    };
                    let begin = vk::ConditionalRenderingBeginInfoEXT::default()
                        .buffer(round.memory)
                        .offset(*offset)
                        .flags(flags);
                    (self.conditional.fp().cmd_begin_conditional_rendering_ext)(cmd, &begin);
                }
                StateChange::EndConditionalRendering => {
                    (self.conditional.fp().cmd_end_conditional_rendering_ext)(cmd);
                }
                StateChange::DescriptorSets { first, sets: bound } => {
                    let (raw, offsets) = sets.arguments(round.number, *first, bound);
                    let (point, first) = (vk::PipelineBindPoint::GRAPHICS, *first as u32);
                    let layout = self.pipelines.layout;
                    device.cmd_bind_descriptor_sets(cmd, point, layout, first, &raw, &offsets);
                }
                StateChange::PushConstants { first, dwords } => {
                    let (layout, stage) = (self.pipelines.layout, vk::ShaderStageFlags::VERTEX);
                    let bytes = bytemuck::cast_slice(dwords);
                    device.cmd_push_constants(cmd, layout, stage, 4 * *first as u32, bytes);
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`record`](Self::record), inside of a render pass instance.
    unsafe fn draw(
        &self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        memory: vk::Buffer,
        draw: &Draw,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            match draw {
                Draw::Direct { indexed: false, span, instances: i } => {
                    device.cmd_draw(cmd, span.count, i.count, span.first, i.first);
                }
                Draw::Direct { indexed: true, span, instances: i } => {
                    let vertex_offset = span.vertex_offset;
                    let (count, first) = (span.count, span.first);
                    device.cmd_draw_indexed(cmd, count, i.count, first, vertex_offset, i.first);
                }
                Draw::Multi { indexed: false, spans, instances, .. } => {
                    let info: Vec<_> = spans
                        .iter()
                        .map(|span| vk::MultiDrawInfoEXT {
                            first_vertex: span.first,
                            vertex_count: span.count,
                        })
                        .collect();
                    (self.multi_draw.fp().cmd_draw_multi_ext)(
                        cmd,
                        info.len() as u32,
                        info.as_ptr(),
                        instances.count,
                        instances.first,
                        size_of::<vk::MultiDrawInfoEXT>() as u32,
                    );
                }
                Draw::Multi { indexed: true, spans, instances, vertex_offset } => {
                    let info: Vec<_> = spans
                        .iter()
                        .map(|span| vk::MultiDrawIndexedInfoEXT {
                            first_index: span.first,
                            index_count: span.count,
                            vertex_offset: span.vertex_offset,
                        })
                        .collect();
                    let one_offset = vertex_offset.as_ref().map_or(std::ptr::null(), |o| o);
                    (self.multi_draw.fp().cmd_draw_multi_indexed_ext)(
                        cmd,
                        info.len() as u32,
                        info.as_ptr(),
                        instances.count,
                        instances.first,
                        size_of::<vk::MultiDrawIndexedInfoEXT>() as u32,
                        one_offset,
                    );
                }
                &Draw::Indirect { indexed, offset, draw_count: most, stride, count } => {
                    let counted = &self.indirect_count;
                    match (indexed, count) {
                        (false, None) => {
                            device.cmd_draw_indirect(cmd, memory, offset, most, stride);
                        }
                        (true, None) => {
                            device.cmd_draw_indexed_indirect(cmd, memory, offset, most, stride);
                        }
                        (false, Some(count)) => counted.cmd_draw_indirect_count(
                            cmd, memory, offset, memory, count, most, stride,
                        ),
                        (true, Some(count)) => counted.cmd_draw_indexed_indirect_count(
                            cmd, memory, offset, memory, count, most, stride,
                        ),
                    }
                }
                Draw::ByteCount { instances, counter, counter_offset, vertex_stride } => {
                    (self.xfb.fp().cmd_draw_indirect_byte_count_ext)(
                        cmd,
                        instances.count,
                        instances.first,
                        memory,
                        *counter,
                        *counter_offset,
                        *vertex_stride,
                    );
                }
            }
        }
    }
}

/// Everything before it in the pass is visible to everything behind it.
///
/// # Safety
/// `cmd` is being recorded, in an instance of the render pass of [`Pipelines`].
unsafe fn barrier_in_pass(ctx: &Context, cmd: vk::CommandBuffer) {
    let [(source, writes), (destination, reads)] = scopes();
    let barrier = vk::MemoryBarrier::default().src_access_mask(writes).dst_access_mask(reads);
    let flags = vk::DependencyFlags::empty();
    let device = ctx.device();
    // SAFETY: the caller's contract.
    unsafe { device.cmd_pipeline_barrier(cmd, source, destination, flags, &[barrier], &[], &[]) };
}

/// The arguments of Begin and End; null pointers where there is no counter.
fn with_counters(
    counters: &Counters,
    memory: vk::Buffer,
    f: impl FnOnce(u32, u32, *const vk::Buffer, *const vk::DeviceSize),
) {
    let buffers: Vec<_> = counters
        .counters
        .iter()
        .map(|counter| if counter.is_some() { memory } else { vk::Buffer::null() })
        .collect();
    let offsets: Vec<u64> = counters.counters.iter().map(|c| c.unwrap_or(0)).collect();
    match buffers.len() {
        0 => f(0, 0, std::ptr::null(), std::ptr::null()),
        count => f(counters.first, count as u32, buffers.as_ptr(), offsets.as_ptr()),
    }
}

impl Queries {
    fn new(ctx: &Context, programs: &[Program]) -> Result<Self, GpuError> {
        let (counts, places) = place_queries(programs);
        let mut queries = Self { pools: [vk::QueryPool::null(); 2], places };
        let types =
            [vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, vk::QueryType::PRIMITIVES_GENERATED_EXT];
        for ((pool, query_type), count) in queries.pools.iter_mut().zip(types).zip(counts) {
            if count > 0 {
                let info =
                    vk::QueryPoolCreateInfo::default().query_type(query_type).query_count(count);
                // SAFETY: the device is live and has queries of that type.
                *pool = unsafe { ctx.device().create_query_pool(&info, None) }
                    .map_err(failed("vkCreateQueryPool"))?;
            }
        }
        Ok(queries)
    }

    fn pool(&self, kind: QueryKind) -> vk::QueryPool {
        self.pools[kind as usize]
    }

    fn results(
        &self,
        ctx: &Context,
        places: &[(QueryKind, u32)],
    ) -> Result<Vec<[u64; 2]>, GpuError> {
        let result = |&(kind, place): &(QueryKind, u32)| {
            let pool = self.pool(kind);
            let flags = vk::QueryResultFlags::TYPE_64;
            let (mut two, mut one) = ([[0u64; 2]], [0u64]);
            // SAFETY: the queries are available, as the submission was waited for.
            let got = unsafe {
                match kind {
                    QueryKind::Stream => {
                        ctx.device().get_query_pool_results(pool, place, &mut two, flags)
                    }
                    QueryKind::Generated => {
                        ctx.device().get_query_pool_results(pool, place, &mut one, flags)
                    }
                }
            };
            got.map_err(failed("vkGetQueryPoolResults"))?;
            Ok(if kind == QueryKind::Stream { two[0] } else { [one[0], 0] })
        };
        places.iter().map(result).collect()
    }

    /// # Safety
    /// Nothing is in flight.
    unsafe fn destroy(self, ctx: &Context) {
        for pool in self.pools {
            // SAFETY: the caller's contract.
            unsafe { ctx.device().destroy_query_pool(pool, None) };
        }
    }
}
