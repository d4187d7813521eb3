//! Captures of very many small draws, recorded in every possible way: compares the bytes, the
//! counter and the queries with a model that works primitive by primitive. The setup kernel
//! processes draws in blocks of 256, or of 128 on devices with small workgroups (here with
//! descriptors). Queries, groups and buffers end anywhere in a block.

use vkxfb::lower::compute::WorkgroupSizes;
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::runtime::{
    ArenaDesc, Buffer, CaptureBuffer, CaptureDesc, ConsumerScope, CounterBuffer, Draw,
    IndirectDraw, Pipeline, QueryKind, QueryPool, QueryResult, Recorder, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, PipelineOptions};
use crate::common::rng::Rng;
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
/// The size of a record in bytes.
const STRIDE: u32 = 16;
/// The contents of memory before data is captured to it.
const BEFORE: u8 = 0xa5;

/// How draws are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By the CPU.
    Direct,
    /// By the setup kernel, because of the counter that the capture resumes from.
    Resumed,
    /// By the setup kernel, which also sizes the dispatches.
    Indirect,
    /// The same, with as many draws in an indirect command as have the same topology.
    Several,
}

/// A step of a recording.
#[derive(Debug, Clone, Copy)]
enum Step {
    Draw(PrimitiveTopology, Draw),
    Begin(QueryKind, u32),
    End(QueryKind),
    /// Binds the other pipeline, so that the following draws have a separate dispatch.
    Bind,
}

const KINDS: [QueryKind; 2] = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated];

/// A capture, and its expected results.
struct Program {
    steps: Vec<Step>,
    draws: u32,
    queries: [u32; 2],
}

impl Program {
    /// Returns a program with draws of 0 to 8 vertices. Each step begins or ends queries, or binds
    /// a pipeline, with a probability of one in `rarely`. Every query is used once.
    fn new(draws: u32, rarely: u32) -> Self {
        Self::with_topologies(draws, rarely, 1)
    }

    /// The same, with another topology with a probability of one in `changes` for each draw.
    fn with_topologies(draws: u32, rarely: u32, changes: u32) -> Self {
        let mut random = Rng::new((u64::from(draws) << 32) | u64::from(rarely));
        let (mut steps, mut queries, mut active) = (Vec::new(), [0; 2], [false; 2]);
        let mut topology = PrimitiveTopology::TriangleStrip;
        for _ in 0..draws {
            for (i, kind) in KINDS.into_iter().enumerate() {
                if random.below(rarely) != 0 {
                    continue;
                }
                if std::mem::take(&mut active[i]) {
                    steps.push(Step::End(kind));
                }
                // In half of the cases the next begins at once.
                if random.below(2) == 0 {
                    steps.push(Step::Begin(kind, queries[i]));
                    (active[i], queries[i]) = (true, queries[i] + 1);
                }
            }
            if random.below(rarely) == 0 {
                steps.push(Step::Bind);
            }
            if random.below(changes) == 0 {
                topology = PrimitiveTopology::ALL[random.below(10) as usize];
            }
            let draw = Draw {
                vertex_count: random.below(9),
                instance_count: random.below(3),
                first_vertex: random.below(1 << 30),
                first_instance: random.below(1 << 30),
            };
            steps.push(Step::Draw(topology, draw));
        }
        let ends = KINDS.into_iter().zip(active).filter(|(_, active)| *active);
        steps.extend(ends.map(|(kind, _)| Step::End(kind)));
        Self { steps, draws, queries }
    }

    /// Returns a program with draws of 1 to 4 points, each between the beginning and the end of a
    /// query.
    fn with_a_query_each(draws: u32) -> Self {
        let kind = QueryKind::TransformFeedbackStream;
        let steps = |number| {
            let draw = Draw::new(1 + number % 4);
            let draw = Step::Draw(PrimitiveTopology::PointList, draw);
            [Step::Begin(kind, number), draw, Step::End(kind)]
        };
        Self { steps: (0..draws).flat_map(steps).collect(), draws, queries: [draws, 0] }
    }

    /// The number of draws of each indirect command, if these have as many as possible.
    fn draws_of_commands(&self) -> Vec<u32> {
        let (mut counts, mut last): (Vec<u32>, _) = (Vec::new(), None);
        for step in &self.steps {
            let topology = match step {
                Step::Draw(topology, _) => Some(*topology),
                _ => None,
            };
            match counts.last_mut().filter(|_| topology == last) {
                _ if topology.is_none() => {}
                Some(count) => *count += 1,
                None => counts.push(1),
            }
            last = topology;
        }
        counts
    }

    /// Returns the captured bytes if this many records fit, and the results of the queries.
    fn model(&self, room: u32) -> (Vec<u8>, [Vec<QueryResult>; 2]) {
        let shader = ProbeShader::identify();
        let (mut bytes, room) = (Vec::new(), (room * STRIDE) as usize);
        let mut results = self.queries.map(|count| vec![QueryResult::default(); count as usize]);
        let mut active = [None; 2];
        for step in &self.steps {
            let (topology, draw) = match *step {
                Step::Begin(kind, query) => {
                    active[kind as usize] = Some(query as usize);
                    continue;
                }
                Step::End(kind) => {
                    active[kind as usize] = None;
                    continue;
                }
                Step::Bind => continue,
                Step::Draw(topology, draw) => (topology, draw),
            };
            let m = u64::from(topology.vertices_per_primitive());
            let (mut written, mut needed) = (0, 0);
            for instance in 0..draw.instance_count {
                for primitive in 0..topology.primitive_count(draw.vertex_count) {
                    needed += 1;
                    if bytes.len() + (m * u64::from(STRIDE)) as usize > room {
                        continue;
                    }
                    written += 1;
                    for slot in 0..m {
                        let vertex = topology.gather(ProvokingVertex::First, primitive * m + slot);
                        let mut record = [0; STRIDE as usize];
                        let (first, vertex) = (draw.first_vertex, vertex as u32);
                        shader.record(
                            0,
                            draw.first_instance + instance,
                            first + vertex,
                            &mut record,
                        );
                        bytes.extend(record);
                    }
                }
            }
            if let Some(query) = active[0] {
                results[0][query].primitives_written += written;
                results[0][query].primitives_needed += needed;
            }
            if let Some(query) = active[1] {
                results[1][query].primitives_needed += needed;
            }
        }
        (bytes, results)
    }
}

/// Two pipelines with workgroups of different sizes, and a counter.
struct Pipelines {
    pipelines: [Owned<Pipeline>; 2],
    counter: Owned<Buffer>,
    gpu: TestDevice,
}

impl Pipelines {
    fn new(resources: Resources, parallel_kernels: bool) -> Self {
        let workgroup_invocations = (resources == Resources::Descriptors).then_some(128);
        let options = OpenOptions {
            resources,
            workgroup_invocations,
            parallel_kernels,
            ..Default::default()
        };
        let mut gpu = device::open_with(options);
        let shader = ProbeShader::identify();
        let lowered = device::lower(&gpu, &shader, COMPUTE);
        assert_eq!(lowered.layout.strides[0], Some(STRIDE));
        let words = shader.words();
        let target = gpu.context().compute_target().unwrap();
        let small = compute::lower(
            &Shader::new(&words),
            &compute::Options::new(&shader.vertex_input)
                .target(target.workgroup_sizes(WorkgroupSizes::all(32)).staging(0)),
        );
        let pipelines = [lowered, small.unwrap()]
            .map(|lowered| device::pipeline(&gpu, &shader, &lowered, PipelineOptions::ANY));
        let usage = gpu.context().buffer_usages(COMPUTE).counter;
        let counter = gpu.buffer(4, usage);
        Self { pipelines, counter, gpu }
    }

    /// Captures after `before` records, into a buffer with room for `room` more records and for a
    /// part of another, and compares the results.
    fn check(&mut self, program: &Program, way: Way, before: u32, room: u32) {
        let what = format!("{way:?}: {} draws, room for {room}", program.draws);
        let before = if way == Way::Direct { 0 } else { before };
        let size = u64::from((before + room) * STRIDE + STRIDE - 4);
        let gpu = &mut self.gpu;
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let target = gpu.filled(usage, &vec![BEFORE; size as usize]);
        gpu.write(&self.counter, 0, &(before * STRIDE).to_le_bytes()).unwrap();
        let commands = program.steps.iter().filter_map(|step| match step {
            Step::Draw(_, d) => {
                Some([d.vertex_count, d.instance_count, d.first_vertex, d.first_instance])
            }
            _ => None,
        });
        let commands: Vec<[u32; 4]> = commands.collect();
        let usage = gpu.context().buffer_usages(COMPUTE).indirect;
        let arguments = gpu.filled(usage, &commands);
        let pools = [0, 1].map(|i| {
            let count = program.queries[i].max(1);
            gpu.query_pool(KINDS[i], count)
        });
        // An arena of the documented size.
        let takes = |step: &&Step| matches!(step, Step::Draw(..) | Step::End(_));
        let takes = program.steps.iter().filter(takes).count() as u64;
        let commands = program.draws_of_commands().len() as u64;
        let draws = u64::from(program.draws);
        let desc = match way {
            Way::Several => ArenaDesc {
                indirect_draws: draws - commands,
                queries: takes - draws,
                ..ArenaDesc::new(1, commands)
            },
            _ => ArenaDesc::new(1, takes),
        };
        let mut arena = gpu.arena(desc);
        let (mut capture, pipelines) = (gpu.new_capture(), &self.pipelines);

        let counter = Some(CounterBuffer::new(self.counter.raw()));
        let buffers = [Some(CaptureBuffer::new(target.raw(), size))];
        let counters = [counter.filter(|_| way != Way::Direct)];
        let desc = CaptureDesc {
            buffers: &buffers,
            counters: &counters,
            ..CaptureDesc::new(&self.pipelines[0])
        };
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                for pool in &pools {
                    pool.reset(ctx, cmd, 0, pool.count())?;
                }
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                record(&mut recorder, program, way, &arguments, &pools, pipelines)?;
                let recorded = recorder.end(&[counter])?;
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
                Ok(recorded)
            }
        });
        let recorded = recorded.unwrap();
        assert_eq!(recorded.captured.is_some(), way == Way::Direct);

        let (captured, results) = program.model(room);
        let first = (before * STRIDE) as usize;
        let end = first + captured.len();
        let mut expected = vec![BEFORE; size as usize];
        expected[first..end].copy_from_slice(&captured);
        let found: Vec<u8> = self.gpu.contents(&target);
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(differs, None, "{what}: first byte that differs");
        let counter = self.gpu.read(&self.counter, 0..4).unwrap();
        assert_eq!(counter, (end as u32).to_le_bytes(), "{what}");
        for (pool, results) in pools.iter().zip(&results) {
            for (query, result) in (0u32..).zip(results) {
                // SAFETY: the device is live.
                let found = unsafe { pool.result(query) }.unwrap();
                assert_eq!(found, Some(*result), "{what}: {:?} {query}", pool.kind());
            }
        }
    }
}

/// Records the steps of a program.
///
/// # Safety
/// As [`Recorder::draw_indirect`].
unsafe fn record(
    recorder: &mut Recorder<'_>,
    program: &Program,
    way: Way,
    arguments: &Buffer,
    pools: &[Owned<QueryPool>; 2],
    pipelines: &[Owned<Pipeline>; 2],
) -> Result<(), RuntimeError> {
    let (mut offset, mut bound) = (0, 0);
    let counts = if way == Way::Several { program.draws_of_commands() } else { Vec::new() };
    let (mut counts, mut skipped) = (counts.into_iter(), 0);
    for step in &program.steps {
        match *step {
            Step::Begin(kind, query) => unsafe {
                recorder.begin_query(&pools[kind as usize], query, 0)?;
            },
            Step::End(kind) => recorder.end_query(kind, 0)?,
            Step::Bind => unsafe {
                bound = 1 - bound;
                recorder.bind_pipeline(&pipelines[bound])?;
            },
            Step::Draw(..) if skipped > 0 => skipped -= 1,
            Step::Draw(topology, draw) => {
                let draw_count = counts.next().unwrap_or(1);
                let indirect =
                    IndirectDraw { offset, ..IndirectDraw::new(arguments.raw(), draw_count, 16) };
                offset += 16 * u64::from(draw_count);
                skipped = draw_count - 1;
                unsafe {
                    match way {
                        Way::Indirect | Way::Several => {
                            recorder.draw_indirect(topology, &indirect)?
                        }
                        Way::Direct | Way::Resumed => recorder.draw(topology, &draw)?,
                    }
                }
            }
        }
    }
    Ok(())
}

const WAYS: [Way; 4] = [Way::Direct, Way::Resumed, Way::Indirect, Way::Several];

/// Tests every number of draws around the size of a block, and every size of the buffer with which
/// the last draws overflow.
#[test]
fn draws_are_placed_across_blocks() {
    // On processors a kernel of a single invocation places them, without blocks.
    for (resources, parallel) in device::RESOURCES.into_iter().flat_map(|r| [(r, true), (r, false)])
    {
        let mut pipelines = Pipelines::new(resources, parallel);
        for (draws, rarely) in
            [(1, 3), (2, 3), (255, 3), (256, 3), (257, 3), (511, 3), (513, 3), (5000, 500)]
        {
            let program = Program::new(draws, rarely);
            for way in WAYS {
                pipelines.check(&program, way, 7, 10 * draws);
            }
        }
        // 500 draws take some 2,000 records.
        let program = Program::new(500, 20);
        let all = program.model(u32::MAX / STRIDE).0.len() as u32 / STRIDE;
        for room in (0..8).chain(970..980).chain(all - 5..all + 1) {
            for way in WAYS {
                pipelines.check(&program, way, 3, room);
            }
        }
    }
}

/// Kernels of a single invocation place at most 10,917 draws in a turn. They go on where they stopped, within a
/// command, a query or a group.
#[test]
fn draws_are_placed_in_turns() {
    for resources in device::RESOURCES {
        let mut pipelines = Pipelines::new(resources, false);
        let check = |program: &Program, pipelines: &mut Pipelines| {
            let all = program.model(u32::MAX / STRIDE).0.len() as u32 / STRIDE;
            for way in [Way::Resumed, Way::Indirect, Way::Several] {
                for room in [all / 2, all] {
                    pipelines.check(program, way, 7, room);
                }
            }
        };
        for draws in [10_917, 10_918, 25_000] {
            check(&Program::with_topologies(draws, 500, 4000), &mut pipelines);
        }
        // A single command of three turns, without queries.
        check(&Program::with_topologies(25_000, u32::MAX, u32::MAX), &mut pipelines);
        // Each turn has at most six draws.
        pipelines.gpu.set(|settings| settings.kernel_rounds = 72);
        for (rarely, changes) in [(3, 1), (20, 5), (100, 50), (u32::MAX, u32::MAX)] {
            check(&Program::with_topologies(200, rarely, changes), &mut pipelines);
        }
    }
}

/// The CPU passes as many queries to the GPU as there are draws.
#[test]
fn a_hundred_thousand_draws_have_a_query_each() {
    for resources in device::RESOURCES {
        let mut pipelines = Pipelines::new(resources, false);
        pipelines.check(&Program::with_a_query_each(100_000), Way::Direct, 0, 200_000);
    }
}

/// Many draws are captured as few are, wherever the buffer ends.
#[test]
fn a_hundred_thousand_draws_are_one_capture() {
    for resources in device::RESOURCES {
        let mut pipelines = Pipelines::new(resources, false);
        let program = Program::new(100_000, 500);
        let all = program.model(u32::MAX / STRIDE).0.len() as u32 / STRIDE;
        for way in WAYS {
            for room in [all / 2, all] {
                pipelines.check(&program, way, 1000, room);
            }
        }
    }
}
