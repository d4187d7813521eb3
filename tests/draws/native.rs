//! Runs programs with the device's own transform feedback. Each Vulkan command is recorded
//! directly, without the crate.

mod passes;
mod pipelines;
mod queries;
mod secondaries;

use ash::{ext, vk};
use vkxfb::runtime::{Buffer, Context, MemoryLocation};
use vkxfb_probe::gpu::{Gpu, GpuError};

use self::passes::{Part, Passes};
use self::pipelines::Pipelines;
pub use self::queries::Queries;
pub use self::secondaries::Secondaries;
use crate::common::commands::{Commands, Counters};
use crate::images::{self, Round};
use crate::program::{
    Condition, IndexBuffer, Outcome, Program, State, StateChange, Step, queries_of, secondary,
};
use crate::sets::{SetLayouts, Sets};

/// The functions, pipelines and passes with which programs are recorded.
pub struct Native {
    commands: Commands,
    conditional: ext::conditional_rendering::Device,
    pipelines: Pipelines,
    /// Counters from which captures are resumed after another pipeline was bound. While a batch is
    /// run, there is a dword for each buffer.
    hidden_counters: vk::Buffer,
}

/// A command buffer that is being recorded, and what was recorded into it so far.
#[derive(Default)]
struct Recording {
    cmd: vk::CommandBuffer,
    /// The part of the pass that is being recorded. `None` outside of passes.
    part: Option<Part>,
    /// Secondary command buffers that are to be executed at the current position.
    executed: Vec<vk::CommandBuffer>,
    /// Whether transform feedback is active.
    is_active: bool,
    /// For each capture buffer, whether it is bound.
    has_buffer: [bool; 4],
    state: Option<State>,
}

impl Native {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let (instance, device) = (gpu.instance(), gpu.context().device());
        Ok(Self {
            commands: Commands::new(instance, device),
            conditional: ext::conditional_rendering::Device::new(instance, device),
            pipelines: Pipelines::new(gpu)?,
            hidden_counters: vk::Buffer::null(),
        })
    }

    /// Runs programs, which must use only the features in the space of the device.
    pub fn run(&mut self, gpu: &mut Gpu, programs: &[Program]) -> Result<Vec<Outcome>, GpuError> {
        let queries = Queries::new(gpu.context(), programs);
        let sets = Sets::new(gpu.context(), &self.pipelines.set_layouts, programs.len())?;
        let mut secondaries = Secondaries::new(gpu.context(), gpu.queue().1)?;
        let usage = usage(gpu);
        let counters = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let hidden_counters = gpu.create_buffer(16, counters, MemoryLocation::Device)?;
        self.set_hidden_counters(&hidden_counters);
        // One at a time, because bindings, and state that drivers forget to reset, persist in a
        // command buffer.
        let memories = images::execute(gpu, programs, usage, 1, |ctx, cmd, round| {
            // SAFETY: programs are valid by their making; the handles live until the end, and what
            // was submitted before was waited for.
            unsafe {
                secondaries.reset(ctx)?;
                self.record(ctx, cmd, round, &queries, &sets, &mut secondaries)
            }
        });
        let outcomes = memories.and_then(|memories| {
            memories
                .into_iter()
                .zip(&queries.places)
                .map(|(memory, places)| {
                    let queries = queries.results(places)?;
                    Ok(Outcome { memory, queries })
                })
                .collect()
        });
        gpu.destroy_buffer(hidden_counters);
        // SAFETY: nothing is in flight.
        unsafe {
            secondaries.destroy(gpu.context());
            queries.destroy();
            sets.destroy(gpu.context());
        }
        outcomes
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, ctx: &Context) {
        unsafe { self.pipelines.destroy(ctx) };
    }

    pub const fn set_layouts(&self) -> &SetLayouts {
        &self.pipelines.set_layouts
    }

    /// Sets the buffer of the counters from which captures are resumed after another pipeline was
    /// bound. It has 16 bytes, and outlives everything that is recorded.
    pub const fn set_hidden_counters(&mut self, buffer: &Buffer) {
        self.hidden_counters = buffer.raw();
    }

    /// # Safety
    /// `cmd` is being recorded, outside of a render pass instance, and the round's program is
    /// valid.
    pub unsafe fn record(
        &mut self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        round: &Round<'_>,
        queries: &Queries,
        sets: &Sets,
        secondaries: &mut Secondaries,
    ) -> Result<(), GpuError> {
        let steps = &round.program.rounds[round.round];
        let mut recording = Recording { cmd, ..Default::default() };
        unsafe {
            if round.round == 0 {
                sets.write(ctx, round);
            }
            queries.reset(ctx, cmd, round.number, queries_of(steps));
            self.record_steps(ctx, &mut recording, steps, round, queries, sets, secondaries)
        }
    }

    /// # Safety
    /// As [`record`](Self::record).
    #[allow(clippy::too_many_arguments, reason = "all that a command names")]
    unsafe fn record_steps(
        &mut self,
        ctx: &Context,
        recording: &mut Recording,
        steps: &[Step],
        round: &Round<'_>,
        queries: &Queries,
        sets: &Sets,
        secondaries: &mut Secondaries,
    ) -> Result<(), GpuError> {
        let (device, cmd) = (ctx.device(), recording.cmd);
        let places = &queries.places[round.number];
        let mut rest = steps;
        unsafe {
            while let [step, behind @ ..] = rest {
                rest = behind;
                if !matches!(step, Step::BeginSecondary(_)) {
                    recording.execute(ctx);
                }
                match step {
                    Step::BeginSecondary(times) => {
                        let (inside, behind) = secondary(behind);
                        rest = behind;
                        let part = recording.part;
                        let cmd = secondaries.begin(ctx, &self.pipelines.passes, part, *times)?;
                        // If the command buffer is executed again, its queries begin again.
                        if part.is_none() {
                            queries.reset(ctx, cmd, round.number, queries_of(inside));
                        }
                        let mut its = Recording { cmd, part, ..Default::default() };
                        self.record_steps(
                            ctx,
                            &mut its,
                            inside,
                            round,
                            queries,
                            sets,
                            secondaries,
                        )?;
                        secondaries.end(ctx, cmd)?;
                        recording.executed.extend((0..*times).map(|_| cmd));
                        recording.state = None;
                    }
                    Step::EndSecondary => panic!("no secondary command buffer begins"),
                    Step::BeginPass(pass) => {
                        let part = Part::first(*pass, behind);
                        self.pipelines.passes.begin(ctx, cmd, part);
                        recording.part = Some(part);
                    }
                    Step::NextPart => {
                        let part = recording.part.expect("a pass is open").next();
                        self.pipelines.passes.next_part(ctx, cmd, part);
                        recording.part = Some(part);
                    }
                    Step::EndPass => {
                        let part = recording.part.take().expect("a pass is open");
                        Passes::end(ctx, cmd, part);
                    }
                    Step::Barrier if recording.part.is_some() => {
                        self.pipelines.passes.barrier(ctx, cmd);
                    }
                    Step::Barrier => images::barrier(ctx, cmd),
                    Step::Change(change) => {
                        self.change(ctx, recording, round, sets, change)?;
                    }
                    Step::CaptureBuffers(ranges) => {
                        recording.has_buffer = ranges.map(|range| range.is_some());
                        self.commands.bind_captures(cmd, round.memory, ranges);
                    }
                    Step::Begin(counters) => {
                        recording.is_active = true;
                        self.commands.begin(cmd, round.memory, counters);
                    }
                    Step::End(counters) => {
                        recording.is_active = false;
                        self.commands.end(cmd, round.memory, counters);
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
                    Step::Draw(draw) => self.commands.draw(cmd, round.memory, draw),
                }
            }
            recording.execute(ctx);
        }
        Ok(())
    }

    /// Binds the pipeline of a state. No pipeline may be bound between Begin and End, so an active
    /// capture is ended before that, and resumed afterwards with internal counters.
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
        let pipeline = self.pipelines.get(ctx, &state, recording.part)?;
        recording.state = Some(state);
        let counters = Counters {
            first: 0,
            counters: (0..)
                .zip(recording.has_buffer)
                .map(|(b, has)| has.then_some(4 * b))
                .collect(),
        };
        unsafe {
            if recording.is_active {
                self.commands.end(cmd, self.hidden_counters, &counters);
                self.pipelines.passes.barrier(ctx, cmd);
            }
            ctx.device().cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            if recording.is_active {
                self.commands.begin(cmd, self.hidden_counters, &counters);
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
                    let flags = if *inverted {
                        vk::ConditionalRenderingFlagsEXT::INVERTED
                    } else {
                        vk::ConditionalRenderingFlagsEXT::empty()
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
}

impl Recording {
    /// Executes the pending secondary command buffers with one command.
    ///
    /// # Safety
    /// As [`record`](Native::record).
    unsafe fn execute(&mut self, ctx: &Context) {
        if !self.executed.is_empty() {
            unsafe { ctx.device().cmd_execute_commands(self.cmd, &self.executed) };
            self.executed.clear();
        }
    }
}

/// Whether programs have indirect draws and byte-count draws: they do, unless `VKXFB_INDIRECT` is
/// 0. If a device has no buffer with the usage for them, the Vulkan layer records captures after
/// their passes.
pub fn draws_indirectly() -> bool {
    std::env::var("VKXFB_INDIRECT").as_deref() != Ok("0")
}

/// Returns the usages of the buffer that contains the memory of programs.
pub fn usage(gpu: &Gpu) -> vk::BufferUsageFlags {
    let indirect = if draws_indirectly() {
        vk::BufferUsageFlags::INDIRECT_BUFFER
    } else {
        vk::BufferUsageFlags::empty()
    };
    let usage = indirect
        | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT
        | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT
        | vk::BufferUsageFlags::VERTEX_BUFFER
        | vk::BufferUsageFlags::INDEX_BUFFER;
    if gpu.draw_features().conditional_rendering {
        usage | vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT
    } else {
        usage
    }
}
