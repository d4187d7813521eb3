//! Programs on the compute backend, through the recorder.

use std::collections::HashMap;

use ash::vk;
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::probe::gpu::{Gpu, GpuError};
use vkxfb::runtime::{
    Arena, ArenaDesc, ByteCountDraw, CaptureBuffer, CaptureDesc, ConsumerScope, Context,
    CounterBuffer, DrawIndexed, IndexBuffer, IndexType, IndirectDraw, Kernels, Pipeline,
    PipelineDesc, QueryPool, Recorded, Recorder, ResultFormat, RuntimeError, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;

use crate::images::{self, Round};
use crate::program::{
    Counters, Draw, Outcome, Program, QueryKind, QueryPlaces, Range, State, Step, place_queries,
};

/// Memory of a batch: more than the generator's programs take.
const ARENA: ArenaDesc = ArenaDesc { upload: 16 << 20, scratch: 32 << 20, descriptor_sets: 4096 };

/// Who comes after a capture: one that reads or overwrites what it captured.
const NEXT: ConsumerScope = ConsumerScope {
    access: vk::AccessFlags::from_raw(
        vk::AccessFlags::SHADER_READ.as_raw() | vk::AccessFlags::SHADER_WRITE.as_raw(),
    ),
    ..ConsumerScope::COMPUTE_SHADER
};

/// What is made once.
#[derive(Default)]
pub struct Compute {
    pipelines: HashMap<Variant, Pipeline>,
}

/// The query pools of a batch, and where in them each program's queries are.
struct Queries {
    pools: [QueryPool; 2],
    places: QueryPlaces,
}

impl Compute {
    /// Runs programs.
    pub fn run(&mut self, gpu: &mut Gpu, programs: &[Program]) -> Result<Vec<Outcome>, GpuError> {
        for program in programs {
            for step in program.rounds.iter().flatten() {
                if let Step::Bind(state) = step {
                    self.make_pipeline(gpu, program, *state)?;
                }
            }
        }
        let mut arena = gpu.create_arena(&ARENA)?;
        let queries = Queries::new(gpu, programs)?;
        let kernels = gpu.kernels();
        let pipelines = &self.pipelines;
        // That of capture buffers is that of all others.
        let usage = gpu.context().capture_buffer_usage(Backend::Compute);
        let memories = images::execute(gpu, programs, usage, 8, |ctx, cmd, round| {
            let places = &queries.places[round.number];
            let machine = Machine {
                ctx,
                kernels: &kernels,
                cmd,
                round,
                pipelines,
                queries: &queries.pools,
                places,
            };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe { machine.record(&mut arena) }
                .map_err(|source| GpuError::Capture { capture: round.number, source })
        });
        let outcomes = memories.and_then(|memories| {
            let results = queries.results(gpu);
            Ok(memories
                .into_iter()
                .zip(results?)
                .map(|(memory, queries)| Outcome { memory, queries })
                .collect())
        });
        gpu.destroy_arena(arena);
        let Queries { pools: [stream, generated], .. } = queries;
        gpu.destroy_query_pool(stream);
        gpu.destroy_query_pool(generated);
        outcomes
    }

    fn make_pipeline(
        &mut self,
        gpu: &Gpu,
        program: &Program,
        state: State,
    ) -> Result<(), GpuError> {
        let key = Variant::of(program, state);
        if self.pipelines.contains_key(&key) {
            return Ok(());
        }
        let vertex_input = state.shader.vertex_input();
        let words = state.shader.words();
        let options = compute::Options {
            vertex_input: &vertex_input,
            target: compute::Target {
                workgroup_size: key.workgroup_size,
                staging: key.staging,
                ..gpu.compute_target(Backend::Compute)?
            },
        };
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let desc = PipelineDesc {
            shader: &lowered,
            topology: key.state.topology,
            provoking_vertex: state.provoking,
            primitive_restart: state.restart,
            vertex_input: &vertex_input,
            set_layouts: &[],
            dynamic_topology: !key.specialize,
            render_pass: vk::RenderPass::null(),
            cache: vk::PipelineCache::null(),
        };
        // SAFETY: the context is of a live device, and the words are valid.
        let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }?;
        self.pipelines.insert(key, pipeline);
        Ok(())
    }

    /// Destroys the pipelines.
    pub fn destroy(self, gpu: &Gpu) {
        for pipeline in self.pipelines.into_values() {
            gpu.destroy_pipeline(pipeline);
        }
    }
}

/// What makes a pipeline.
#[derive(PartialEq, Eq, Hash)]
struct Variant {
    state: State,
    specialize: bool,
    workgroup_size: u32,
    staging: u32,
}

impl Variant {
    /// Every tenth program's pipelines are specialised to a topology: the others share one for all.
    /// Workgroups are small, so that most draws have several.
    fn of(program: &Program, state: State) -> Self {
        let specialize = program.seed.is_multiple_of(10);
        let topology = if specialize { state.topology } else { PrimitiveTopology::PointList };
        // What a workgroup stages: nothing, all that it captures, or in many rounds.
        let ways = if specialize { 2 } else { 4 };
        let (workgroup_size, staging) = match program.seed / 10 % ways {
            0 => (32, 0),
            1 => (32, 4096),
            2 => (7, 4096),
            _ => (32, 100),
        };
        Self { state: State { topology, ..state }, specialize, workgroup_size, staging }
    }
}

/// Whether what a capture has so far is recorded before its step of that number: in every third program in
/// front of some steps, in every ninth in front of all.
const fn is_flushed(program: &Program, number: u64) -> bool {
    let seed = program.seed;
    seed.is_multiple_of(3) && (seed.is_multiple_of(9) || (seed / 9 + number).is_multiple_of(3))
}

impl Queries {
    fn new(gpu: &mut Gpu, programs: &[Program]) -> Result<Self, GpuError> {
        let (counts, places) = place_queries(programs);
        use vkxfb::runtime::QueryKind as Kind;
        let pools = [
            gpu.create_query_pool(Kind::TransformFeedbackStream, counts[0])?,
            gpu.create_query_pool(Kind::PrimitivesGenerated, counts[1])?,
        ];
        gpu.submit(|ctx, cmd| {
            for pool in &pools {
                // SAFETY: the command buffer is being recorded.
                unsafe { pool.reset(ctx, cmd, 0, pool.count()) }?;
            }
            Ok(())
        })?;
        Ok(Self { pools, places })
    }

    /// Both ways of reading a result: on the host, and copied.
    fn results(&self, gpu: &mut Gpu) -> Result<Vec<Vec<[u64; 2]>>, GpuError> {
        let copied = [self.copied(gpu, 0)?, self.copied(gpu, 1)?];
        let result = |&(kind, place): &(QueryKind, u32)| {
            let pool = &self.pools[kind as usize];
            // SAFETY: every submission was waited for.
            let result = unsafe { pool.result(gpu.context(), place) }?.unwrap();
            let both = [result.first, result.second];
            assert_eq!(copied[kind as usize][place as usize], both);
            Ok(both)
        };
        self.places.iter().map(|places| places.iter().map(result).collect()).collect()
    }

    fn copied(&self, gpu: &mut Gpu, pool: usize) -> Result<Vec<[u64; 2]>, GpuError> {
        const STRIDE: u64 = 32;
        let pool = &self.pools[pool];
        let size = STRIDE * u64::from(pool.count().max(1));
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let location = vkxfb::runtime::MemoryLocation::Readback;
        let target = gpu.create_buffer(size, usage, location)?;
        let copied = gpu.submit(|ctx, cmd| {
            let format = ResultFormat { bits64: true, with_availability: true };
            // SAFETY: the buffer holds the results.
            unsafe {
                pool.copy_results(ctx, cmd, 0, pool.count(), target.raw(), 0, STRIDE, format)?;
                images::barrier(ctx, cmd);
            }
            Ok(())
        });
        // SAFETY: nothing is in flight, and the context is that of the buffer.
        let bytes = unsafe {
            target.invalidate(gpu.context())?;
            target.mapped().to_vec()
        };
        gpu.destroy_buffer(target);
        copied?;
        let value = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let values = pool.kind().values();
        Ok((0..pool.count() as usize)
            .map(|query| {
                let at = query * STRIDE as usize;
                assert_eq!(value(at + 8 * values), 1, "query {query} is not available");
                [value(at), if values == 2 { value(at + 8) } else { 0 }]
            })
            .collect())
    }
}

/// What records a command buffer of a program.
struct Machine<'a> {
    ctx: &'a Context,
    kernels: &'a Kernels,
    cmd: vk::CommandBuffer,
    round: &'a Round<'a>,
    pipelines: &'a HashMap<Variant, Pipeline>,
    queries: &'a [QueryPool; 2],
    places: &'a [(QueryKind, u32)],
}

/// What is bound.
#[derive(Default)]
struct Bound {
    state: Option<State>,
    vertices: Vec<VertexBuffer>,
    indices: Option<IndexBuffer>,
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
                        let (kind, place) = self.places[*query];
                        bound.queries[kind as usize] = Some(place);
                    }
                    Step::EndQuery(query) => {
                        let (kind, _) = self.places[*query];
                        self.inactive(arena, &bound, |recorder| {
                            recorder.end_query(self.queries[kind as usize].kind())
                        })?;
                        bound.queries[kind as usize] = None;
                    }
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
        let desc = CaptureDesc {
            pipeline: &self.pipelines[&Variant::of(self.round.program, state)],
            kernels: self.kernels,
            buffers: &bound.captures,
            vertex_buffers: &bound.vertices,
            counters: &self.counters(counters),
        };
        // SAFETY: the caller's contract.
        unsafe {
            let mut recorder = Recorder::begin(self.ctx, arena, self.cmd, &desc)?;
            self.resume_queries(&mut recorder, bound)?;
            if let Some(indices) = &bound.indices {
                recorder.bind_index_buffer(indices)?;
            }
            for (number, step) in (0u64..).zip(steps) {
                if is_flushed(self.round.program, number) {
                    recorder.flush()?;
                }
                match step {
                    Step::End(counters) => return recorder.end(&self.counters(counters)),
                    Step::Draw(draw) => self.draw(&mut recorder, state.topology, draw)?,
                    Step::BeginQuery(query) => {
                        let (kind, place) = self.places[*query];
                        recorder.begin_query(&self.queries[kind as usize], place)?;
                        bound.queries[kind as usize] = Some(place);
                    }
                    Step::EndQuery(query) => {
                        let (kind, _) = self.places[*query];
                        recorder.end_query(self.queries[kind as usize].kind())?;
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
            let mut recorder = Recorder::begin_inactive(self.ctx, arena, self.cmd, self.kernels);
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

    fn resume_queries(
        &self,
        recorder: &mut Recorder<'_>,
        bound: &Bound,
    ) -> Result<(), RuntimeError> {
        for (pool, active) in self.queries.iter().zip(bound.queries) {
            if let Some(place) = active {
                recorder.begin_query(pool, place)?;
            }
        }
        Ok(())
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
            Step::CaptureBuffers(ranges) => {
                bound.captures = ranges.map(|range| {
                    let Range { offset, size } = range?;
                    Some(CaptureBuffer { buffer, offset, size })
                });
            }
            // SAFETY: the command buffer is being recorded, outside of a render pass.
            Step::Barrier => unsafe {
                self.ctx.capture_barrier(self.cmd, Backend::Compute, NEXT);
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
