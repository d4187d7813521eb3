//! Programs through the crate's recorder, on any backend.

mod pipelines;
mod queries;

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::probe::gpu::{Gpu, GpuError};
use vkxfb::runtime::{
    Arena, ArenaDesc, ByteCountDraw, Capture, CaptureBuffer, CaptureDesc, Context, CounterBuffer,
    DrawIndexed, IndexBuffer, IndexType, IndirectDraw, Kernels, QueryPool, Recorded, Recorder,
    RuntimeError, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;

use self::pipelines::Pipelines;
use self::queries::Queries;
use crate::common::device;
use crate::images::{self, Round};
use crate::program::{BoundSet, Counters, Draw, Outcome, Program, QueryKind, Range, State, Step};
use crate::sets::{SETS, SetLayouts, Sets};

/// Memory of a batch: more than the generator's programs take.
const ARENA: ArenaDesc = ArenaDesc { upload: 16 << 20, scratch: 32 << 20, descriptor_sets: 4096 };

/// What is made once.
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

    /// Runs programs.
    pub fn run(&mut self, gpu: &mut Gpu, programs: &[Program]) -> Result<Vec<Outcome>, GpuError> {
        for program in programs {
            for step in program.rounds.iter().flatten() {
                if let Step::Bind(state) = step {
                    self.pipelines.make(gpu, &self.set_layouts, program, *state)?;
                }
            }
        }
        let backend = self.backend();
        let mut arena = gpu.create_arena(&ARENA)?;
        let sets = Sets::new(gpu.context(), &self.set_layouts, programs.len())?;
        let queries = match backend {
            Backend::Native | Backend::Vertex => None,
            Backend::Compute => Some(Queries::new(gpu, programs)?),
        };
        let kernels = gpu.kernels();
        let pass = (gpu.render_pass(), gpu.framebuffer());
        // Natively one at a time: bindings and what drivers forget to reset stay in a command buffer.
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

/// What programs use their memory as.
fn usage(ctx: &Context, backend: Backend) -> vk::BufferUsageFlags {
    let usage = ctx.capture_buffer_usage(backend) | ctx.vertex_buffer_usage(backend);
    match backend {
        Backend::Vertex => usage,
        Backend::Native | Backend::Compute => {
            usage
                | ctx.index_buffer_usage(backend)
                | ctx.indirect_buffer_usage(backend)
                | ctx.counter_buffer_usage(backend)
        }
    }
}

/// Whether what a capture has so far is recorded before its step of that number: in every third program in
/// front of some steps, in every ninth in front of all.
const fn is_flushed(program: &Program, number: u64) -> bool {
    let seed = program.seed;
    seed.is_multiple_of(3) && (seed.is_multiple_of(9) || (seed / 9 + number).is_multiple_of(3))
}

/// What records a command buffer of a program.
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

/// What is bound.
#[derive(Default)]
struct Bound {
    state: Option<State>,
    vertices: Vec<VertexBuffer>,
    indices: Option<IndexBuffer>,
    sets: [Option<BoundSet>; SETS],
    captures: [Option<CaptureBuffer>; 4],
    /// Active queries, by kind.
    queries: [Option<u32>; 2],
}

impl Machine<'_> {
    /// # Safety
    /// The memory outlives the execution of the command buffer.
    unsafe fn record(&self, arena: &mut Arena) -> Result<(), RuntimeError> {
        let mut bound = Bound::default();
        let mut steps = self.round.program.rounds[self.round.round].iter();
        while let Some(step) = steps.next() {
            // SAFETY: the caller's contract.
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
                        self.inactive(arena, &bound, |recorder| recorder.end_query(pool.kind()))?;
                        bound.queries[kind as usize] = None;
                    }
                    // Without queries nobody sees it.
                    Step::Draw(_) if self.pipelines.backend != Backend::Compute => {}
                    Step::Draw(draw) => {
                        let topology = bound.state.unwrap().topology;
                        self.inactive(arena, &bound, |recorder| {
                            self.draw(recorder, topology, draw)
                        })?;
                    }
                    step => self.bind(&mut bound, step),
                }
            }
        }
        Ok(())
    }

    /// Everything from Begin to End.
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
        let desc = CaptureDesc {
            pipeline: self.pipelines.get(self.round.program, state),
            buffers: &bound.captures,
            vertex_buffers: &bound.vertices,
            counters: &self.counters(counters),
        };
        // SAFETY: the caller's contract.
        unsafe {
            device::begin_render_pass(self.ctx, self.cmd, backend, self.pass);
            let mut capture = Capture::new(self.ctx, self.kernels);
            let mut recorder = Recorder::begin(&mut capture, arena, self.cmd, &desc)?;
            self.resume_queries(&mut recorder, bound)?;
            if state.shader.reads_sets() {
                let sets = bound.sets.map(|set| set.unwrap());
                self.bind_sets(&mut recorder, 0, &sets)?;
            }
            if let Some(indices) = &bound.indices {
                recorder.bind_index_buffer(indices)?;
            }
            for (number, step) in (0u64..).zip(steps) {
                if is_flushed(self.round.program, number) {
                    recorder.flush()?;
                }
                match step {
                    Step::End(counters) => {
                        let recorded = recorder.end(&self.counters(counters));
                        device::end_render_pass(self.ctx, self.cmd, backend);
                        return recorded;
                    }
                    Step::Draw(draw) => self.draw(&mut recorder, state.topology, draw)?,
                    Step::BeginQuery(query) => {
                        let (pool, kind, place) = self.query(*query);
                        recorder.begin_query(pool, place)?;
                        bound.queries[kind as usize] = Some(place);
                    }
                    Step::EndQuery(query) => {
                        let (pool, kind, _) = self.query(*query);
                        recorder.end_query(pool.kind())?;
                        bound.queries[kind as usize] = None;
                    }
                    step => {
                        self.bind(bound, step);
                        match step {
                            Step::VertexBuffers(_) => {
                                recorder.bind_vertex_buffers(&bound.vertices)?;
                            }
                            Step::IndexBuffer(_) => {
                                recorder.bind_index_buffer(&bound.indices.unwrap())?;
                            }
                            Step::DescriptorSets { first, sets } => {
                                self.bind_sets(&mut recorder, *first, sets)?;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        panic!("a capture without an end");
    }

    /// What is not captured.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn inactive(
        &self,
        arena: &mut Arena,
        bound: &Bound,
        f: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe {
            let mut capture = Capture::new(self.ctx, self.kernels);
            let mut recorder = Recorder::begin_inactive(&mut capture, arena, self.cmd)?;
            recorder.set_primitive_restart(bound.state.is_some_and(|state| state.restart))?;
            self.resume_queries(&mut recorder, bound)?;
            if let Some(indices) = &bound.indices {
                recorder.bind_index_buffer(indices)?;
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
                // SAFETY: the caller's contract.
                unsafe { recorder.begin_query(pool, place) }?;
            }
        }
        Ok(())
    }

    /// Pool, kind and place of a query of the program.
    fn query(&self, query: usize) -> (&QueryPool, QueryKind, u32) {
        let queries = self.queries.expect("programs have queries on the compute backend alone");
        let (kind, place) = queries.places[self.round.number][query];
        (&queries.pools[kind as usize], kind, place)
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn bind_sets(
        &self,
        recorder: &mut Recorder<'_>,
        first: usize,
        sets: &[BoundSet],
    ) -> Result<(), RuntimeError> {
        let (raw, offsets) = self.sets.arguments(self.round.number, first, sets);
        // SAFETY: the caller's contract.
        unsafe { recorder.bind_descriptor_sets(first as u32, &raw, &offsets) }
    }

    fn bind(&self, bound: &mut Bound, step: &Step) {
        let buffer = self.round.memory;
        match step {
            Step::Bind(state) => bound.state = Some(*state),
            Step::VertexBuffers(ranges) => {
                bound.vertices = (0..)
                    .zip(ranges)
                    .map(|(binding, &Range { offset, size })| VertexBuffer {
                        binding,
                        buffer,
                        offset,
                        size,
                        stride: None,
                    })
                    .collect();
            }
            Step::IndexBuffer(indices) => {
                bound.indices = Some(IndexBuffer {
                    buffer,
                    offset: indices.range.offset,
                    size: indices.range.size,
                    index_type: match indices.index_size {
                        1 => IndexType::Uint8,
                        2 => IndexType::Uint16,
                        _ => IndexType::Uint32,
                    },
                });
            }
            Step::DescriptorSets { first, sets } => {
                for (bound, set) in bound.sets.iter_mut().skip(*first).zip(sets) {
                    *bound = Some(*set);
                }
            }
            Step::CaptureBuffers(ranges) => {
                bound.captures = ranges.map(|range| {
                    let Range { offset, size } = range?;
                    Some(CaptureBuffer { buffer, offset, size })
                });
            }
            // SAFETY: the command buffer is being recorded, outside of a render pass.
            Step::Barrier => unsafe {
                let backend = self.pipelines.backend;
                self.ctx.capture_barrier(self.cmd, backend, images::next(backend));
            },
            _ => {}
        }
    }

    fn counters(&self, counters: &Counters) -> Vec<Option<CounterBuffer>> {
        let buffer = self.round.memory;
        (0..4).map(|b| Some(CounterBuffer { buffer, offset: counters.of(b)? })).collect()
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn draw(
        &self,
        recorder: &mut Recorder<'_>,
        topology: PrimitiveTopology,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        use vkxfb::runtime::Draw as Direct;
        let buffer = self.round.memory;
        // SAFETY: the caller's contract.
        unsafe {
            match draw {
                Draw::Direct { indexed: false, span, instances } => {
                    let draw = Direct {
                        vertex_count: span.count,
                        instance_count: instances.count,
                        first_vertex: span.first,
                        first_instance: instances.first,
                    };
                    recorder.draw(topology, &draw)
                }
                Draw::Direct { indexed: true, span, instances } => {
                    let draw = DrawIndexed {
                        index_count: span.count,
                        instance_count: instances.count,
                        first_index: span.first,
                        vertex_offset: span.vertex_offset,
                        first_instance: instances.first,
                    };
                    recorder.draw_indexed(topology, &draw)
                }
                Draw::Multi { indexed: false, spans, instances, .. } => {
                    let draws: Vec<_> = spans
                        .iter()
                        .map(|span| Direct {
                            vertex_count: span.count,
                            instance_count: instances.count,
                            first_vertex: span.first,
                            first_instance: instances.first,
                        })
                        .collect();
                    recorder.draw_multi(topology, &draws)
                }
                Draw::Multi { indexed: true, spans, instances, vertex_offset } => {
                    let draws: Vec<_> = spans
                        .iter()
                        .map(|span| DrawIndexed {
                            index_count: span.count,
                            instance_count: instances.count,
                            first_index: span.first,
                            vertex_offset: vertex_offset.unwrap_or(span.vertex_offset),
                            first_instance: instances.first,
                        })
                        .collect();
                    recorder.draw_multi_indexed(topology, &draws)
                }
                &Draw::Indirect { indexed, offset, draw_count, stride, count } => {
                    let count = count.map(|offset| (buffer, offset));
                    let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
                    match indexed {
                        false => recorder.draw_indirect(topology, &draw),
                        true => recorder.draw_indexed_indirect(topology, &draw),
                    }
                }
                Draw::ByteCount { instances, counter, counter_offset, vertex_stride } => {
                    let draw = ByteCountDraw {
                        instance_count: instances.count,
                        first_instance: instances.first,
                        counter: CounterBuffer { buffer, offset: *counter },
                        counter_offset: *counter_offset,
                        vertex_stride: *vertex_stride,
                    };
                    recorder.draw_indirect_byte_count(topology, &draw)
                }
            }
        }
    }
}
