//! Runs programs with the crate's recorder, on any backend.

mod pipelines;
mod queries;
mod state;

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaSize, Capture, CaptureDesc, Context, CounterBuffer, Kernels, QueryPool, Recorded,
    Recorder, RuntimeError,
};
use vkxfb_probe::gpu::{Gpu, GpuError};

use self::pipelines::Pipelines;
use self::queries::Queries;
use self::state::Bound;
use crate::common::commands::{Counters, QueryKind};
use crate::common::device;
use crate::images::{self, Round};
use crate::program::{Outcome, Program, StateChange, Step};
use crate::sets::{SetLayouts, Sets};

/// The size of the arena of a batch. It is more than programs of the generator take.
const ARENA: ArenaSize = ArenaSize { upload: 16 << 20, scratch: 32 << 20, descriptor_sets: 4096 };

/// The objects that are created once for a device.
pub struct ByRecorder {
    pipelines: Pipelines,
    set_layouts: SetLayouts,
}

impl ByRecorder {
    pub fn new(gpu: &Gpu, backend: Backend) -> Result<Self, GpuError> {
        let set_layouts = SetLayouts::new(gpu.context())?;
        Ok(Self { pipelines: Pipelines::new(backend), set_layouts })
    }

    pub const fn backend(&self) -> Backend {
        self.pipelines.backend
    }

    /// Runs programs on the backend, and returns their results.
    pub fn run(&mut self, gpu: &mut Gpu, programs: &[Program]) -> Result<Vec<Outcome>, GpuError> {
        for program in programs {
            for step in program.rounds.iter().flatten() {
                if let Step::Change(StateChange::Pipeline(state)) = step {
                    self.pipelines.make(gpu, &self.set_layouts, program, *state)?;
                }
            }
        }
        let backend = self.backend();
        let mut arena = gpu.create_arena(ARENA)?;
        let sets = Sets::new(gpu.context(), &self.set_layouts, programs.len())?;
        let queries = match backend {
            Backend::Native | Backend::Vertex => None,
            Backend::Compute => Some(Queries::new(gpu, programs)?),
        };
        let kernels = gpu.kernels();
        let pass = (gpu.render_pass(), gpu.framebuffer());
        // Natively one at a time, because bindings, and state that drivers forget to reset, persist
        // in a command buffer.
        let together = if backend == Backend::Native { 1 } else { 8 };
        let usage = usage(gpu.context(), backend);
        let pipelines = &self.pipelines;
        let memories = images::execute(gpu, programs, usage, together, |ctx, cmd, round| {
            if round.round == 0 {
                // SAFETY: this is the first use of the program's sets.
                unsafe { sets.write(ctx, round) };
            }
            let kernels = &kernels;
            let (queries, sets) = (queries.as_ref(), &sets);
            let machine = Machine { ctx, kernels, cmd, pass, round, pipelines, queries, sets };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe { machine.record(&mut arena) }
                .map_err(|source| GpuError::Capture { capture: round.number, source })
        });
        let outcomes = memories.and_then(|memories| {
            let results = match &queries {
                Some(queries) => queries.results(gpu)?,
                None => vec![Vec::new(); programs.len()],
            };
            let outcome = |(memory, queries)| Outcome { memory, queries };
            Ok(memories.into_iter().zip(results).map(outcome).collect())
        });
        gpu.destroy_arena(arena);
        // SAFETY: every submission was waited for.
        unsafe { sets.destroy(gpu.context()) };
        if let Some(queries) = queries {
            queries.destroy(gpu);
        }
        outcomes
    }

    pub fn destroy(self, gpu: &Gpu) {
        self.pipelines.destroy(gpu);
        // SAFETY: every submission was waited for.
        unsafe { self.set_layouts.destroy(gpu.context()) };
    }
}

/// Returns the usages of the buffer that contains the memory of programs.
fn usage(ctx: &Context, backend: Backend) -> vk::BufferUsageFlags {
    let usage = ctx.buffer_usages(backend).capture | ctx.buffer_usages(backend).vertex;
    match backend {
        Backend::Vertex => usage,
        Backend::Native | Backend::Compute => {
            usage
                | ctx.buffer_usages(backend).index
                | ctx.buffer_usages(backend).indirect
                | ctx.buffer_usages(backend).counter
        }
    }
}

/// Records a command buffer of a program.
struct Machine<'a> {
    ctx: &'a Context,
    kernels: &'a Kernels,
    cmd: vk::CommandBuffer,
    pass: (vk::RenderPass, vk::Framebuffer),
    round: &'a Round<'a>,
    pipelines: &'a Pipelines,
    queries: Option<&'a Queries>,
    sets: &'a Sets,
}

impl Machine<'_> {
    /// # Safety
    /// The memory outlives the execution of the command buffer.
    unsafe fn record(&self, arena: &mut Arena) -> Result<(), RuntimeError> {
        let mut bound = Bound::default();
        let program = self.round.program;
        let mut steps = program.executed(self.round.round).into_iter();
        while let Some(step) = steps.next() {
            unsafe {
                match step {
                    Step::Begin(counters) => {
                        self.capture(arena, &mut bound, counters, &mut steps)?;
                    }
                    Step::BeginQuery(query) => {
                        let (_, kind, place) = self.query(*query);
                        bound.queries[kind as usize] = Some(place);
                    }
                    Step::EndQuery(query) => {
                        let (pool, kind, _) = self.query(*query);
                        self.inactive(arena, &bound, |recorder| {
                            recorder.end_query(pool.kind(), 0)
                        })?;
                        bound.queries[kind as usize] = None;
                    }
                    // Without queries such a draw has no effect.
                    Step::Draw(_) if self.pipelines.backend != Backend::Compute => {}
                    Step::Draw(draw) => {
                        let topology = bound.state.unwrap().topology;
                        self.inactive(arena, &bound, |recorder| {
                            draw.record(recorder, topology, self.round.memory)
                        })?;
                    }
                    Step::Change(change) => bound.change(self.round.memory, change),
                    Step::CaptureBuffers(ranges) => {
                        bound.bind_captures(self.round.memory, ranges);
                    }
                    Step::Barrier => {
                        let backend = self.pipelines.backend;
                        let next = images::next(backend);
                        self.ctx.capture_barrier(self.cmd, backend, next);
                    }
                    Step::BeginSecondary(_) => self.reset_queries(steps.as_slice())?,
                    Step::BeginPass(_) | Step::EndPass | Step::EndSecondary | Step::End(_) => {}
                    // If the parts are dynamic rendering, the barrier between them is outside of
                    // it.
                    Step::NextPart => {
                        let backend = self.pipelines.backend;
                        self.ctx.capture_barrier(self.cmd, backend, images::next(backend));
                    }
                }
            }
        }
        Ok(())
    }

    /// Records everything from Begin to End.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn capture<'s>(
        &self,
        arena: &mut Arena,
        bound: &mut Bound,
        counters: &Counters,
        steps: &mut impl Iterator<Item = &'s Step>,
    ) -> Result<Recorded, RuntimeError> {
        let state = bound.state.unwrap();
        let backend = self.pipelines.backend;
        let counter_buffers = self.counters(counters);
        let desc = CaptureDesc {
            buffers: &bound.captures,
            vertex_buffers: &bound.vertices,
            counters: &counter_buffers,
            ..CaptureDesc::new(self.pipelines.get(self.round.program, state))
        };
        unsafe {
            device::begin_render_pass(self.ctx, self.cmd, backend, self.pass);
            let mut capture = Capture::new(self.ctx, self.kernels);
            let mut recorder = Recorder::begin(&mut capture, arena, self.cmd, &desc)?;
            self.resume_queries(&mut recorder, bound)?;
            self.restore(&mut recorder, bound)?;
            for step in steps {
                match step {
                    Step::End(counters) => {
                        let recorded = recorder.end(&self.counters(counters));
                        device::end_render_pass(self.ctx, self.cmd, backend);
                        return recorded;
                    }
                    Step::Draw(draw) => {
                        let topology = bound.state.unwrap().topology;
                        draw.record(&mut recorder, topology, self.round.memory)?;
                    }
                    Step::BeginQuery(query) => {
                        let (pool, kind, place) = self.query(*query);
                        recorder.begin_query(pool, place, 0)?;
                        bound.queries[kind as usize] = Some(place);
                    }
                    Step::EndQuery(query) => {
                        let (pool, kind, _) = self.query(*query);
                        recorder.end_query(pool.kind(), 0)?;
                        bound.queries[kind as usize] = None;
                    }
                    Step::Change(change) => {
                        bound.change(self.round.memory, change);
                        self.change(&mut recorder, bound, change)?;
                    }
                    step => panic!("{step:?} between Begin and End"),
                }
            }
        }
        panic!("a capture without an end");
    }

    /// Records draws that are not captured.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn inactive(
        &self,
        arena: &mut Arena,
        bound: &Bound,
        f: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        unsafe {
            let mut capture = Capture::new(self.ctx, self.kernels);
            let mut recorder = Recorder::begin(&mut capture, arena, self.cmd, None)?;
            recorder.set_primitive_restart(bound.state.is_some_and(|state| state.restart))?;
            self.resume_queries(&mut recorder, bound)?;
            bound.restore_indices(&mut recorder)?;
            if let Some(condition) = &bound.condition {
                recorder.begin_conditional_rendering(condition)?;
            }
            f(&mut recorder)?;
            recorder.end(&[])?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn resume_queries(
        &self,
        recorder: &mut Recorder<'_>,
        bound: &Bound,
    ) -> Result<(), RuntimeError> {
        let pools = self.queries.map_or(&[][..], |queries| &queries.pools);
        for (pool, active) in pools.iter().zip(bound.queries) {
            if let Some(place) = active {
                unsafe { recorder.begin_query(pool, place, 0) }?;
            }
        }
        Ok(())
    }

    /// Resets the queries of a secondary command buffer that is executed again.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn reset_queries(&self, steps: &[&Step]) -> Result<(), RuntimeError> {
        for step in steps {
            match step {
                Step::BeginQuery(query) => {
                    let (pool, _, place) = self.query(*query);
                    unsafe { pool.reset(self.ctx, self.cmd, place, 1) }?;
                }
                Step::EndSecondary => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the pool, the kind and the index of a query of the program.
    fn query(&self, query: usize) -> (&QueryPool, QueryKind, u32) {
        let queries = self.queries.expect("programs have queries on the compute backend alone");
        let (kind, place) = queries.places[self.round.number][query];
        (&queries.pools[kind as usize], kind, place)
    }

    fn counters(&self, counters: &Counters) -> Vec<Option<CounterBuffer>> {
        let buffer = self.round.memory;
        (0..4).map(|b| Some(CounterBuffer { buffer, offset: counters.of(b)? })).collect()
    }
}
