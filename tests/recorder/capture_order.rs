//! Captures that are played in order have barriers if they access the same bytes, and no other
//! barriers. The captures are random: they read from one buffer, write to it, and use counters in
//! it. A device that executes one dispatch after another works without the barriers, so the test
//! compares their number with a model. It compares the captured data with that of captures that are
//! played with all barriers.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, CaptureOrder, ConsumerScope,
    Context, CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndexType, Kernels, Pipeline,
    PipelineDesc, QueryKind, QueryPool, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::OpenOptions;
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device;
use crate::common::rng::Rng;
use crate::common::settings::sample_of;
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
/// The number of captures of a submission.
const CASES: usize = 400;
/// The size of a record in bytes.
const RECORD: u32 = 16;
/// The size in bytes of a cell. The buffer consists of cells, followed by counters.
const CELL: u32 = 4 * RECORD;
const CELLS: u32 = 40;
const COUNTERS: u32 = 12;
const QUERIES: u32 = 8;

#[derive(Debug, Clone)]
struct Case {
    /// The first cell that is captured to, and the number of cells.
    target: (u32, u32),
    /// The cell that contains the indices.
    indices: Option<u32>,
    /// The number of points of each draw.
    draws: Vec<u32>,
    /// Whether primitive restart is enabled. Then the setup kernel is executed at the same time as
    /// the capture.
    restarts: bool,
    /// The numbers of the counters.
    begins: Option<u32>,
    ends: Option<u32>,
    query: Option<u32>,
    ends_query: bool,
    /// Whether nothing is known about the previous captures.
    forgets: bool,
}

impl Case {
    fn random(random: &mut Rng) -> Self {
        let target = (random.below(CELLS - 2), random.range(1, 2));
        let apart = |cell: &u32| !(target.0..target.0 + target.1).contains(cell);
        let some = |random: &mut Rng, of: u32, percent: u32| {
            let number = random.below(of);
            Some(number).filter(|_| random.percent(percent))
        };
        let indices = some(random, CELLS, 40).filter(apart);
        let draws: Vec<u32> = (0..random.range(1, 2)).map(|_| random.range(1, 6)).collect();
        let begins = some(random, COUNTERS, 20);
        Self {
            target,
            indices,
            restarts: indices.is_some()
                && draws.len() == 1
                && begins.is_none()
                && random.percent(40),
            draws,
            begins,
            ends: some(random, COUNTERS, 60),
            query: some(random, QUERIES, 30),
            ends_query: random.percent(10),
            forgets: random.percent(3),
        }
    }
}

/// Ranges of bytes of the buffer, or of the queries, each as its start and its end.
#[derive(Debug, Clone, Default)]
struct Bytes(Vec<(u32, u32)>);

/// The position in [`Bytes`] of the queries, which are in another buffer.
const QUERY_PLACES: u32 = 1 << 20;

impl Bytes {
    fn add(&mut self, first: u32, size: u32) {
        self.0.push((first, first + size));
    }

    fn add_counter(&mut self, counter: Option<u32>) {
        counter.into_iter().for_each(|number| self.add(counter_offset(number), 4));
    }

    fn touch(&self, others: &Self) -> bool {
        self.0.iter().any(|a| others.0.iter().any(|b| a.0 < b.1 && b.0 < a.1))
    }
}

fn counter_offset(number: u32) -> u32 {
    CELLS * CELL + 4 * number
}

/// The bytes that commands since the last barrier read and wrote. `None` if that is not known.
#[derive(Debug, Default)]
struct Model(Option<Vec<[Bytes; 2]>>);

impl Model {
    /// Adds accesses. Returns the number of barriers before them.
    fn barriers_before(&mut self, [read, written]: [Bytes; 2]) -> u32 {
        let needs_barrier = self.0.as_ref().is_none_or(|since| {
            since.iter().any(|[earlier_read, earlier_written]| {
                written.touch(earlier_read)
                    || written.touch(earlier_written)
                    || read.touch(earlier_written)
            })
        });
        if needs_barrier {
            self.0 = Some(Vec::new());
        }
        self.0.get_or_insert_default().push([read, written]);
        needs_barrier.into()
    }

    /// Returns the number of barriers of a capture.
    fn barriers(&mut self, case: &Case) -> u32 {
        if case.forgets {
            self.0 = None;
        }
        let [mut read, mut written, mut finished] = [(); 3].map(|()| Bytes::default());
        let room = case.target.1 * CELL;
        let size = match case.begins {
            Some(_) => room,
            None if case.restarts => room,
            None => (case.draws.iter().sum::<u32>() * RECORD).min(room),
        };
        written.add(case.target.0 * CELL, size);
        case.indices.into_iter().for_each(|cell| read.add(cell * CELL, CELL));
        finished.add_counter(case.ends);
        case.query.into_iter().for_each(|query| finished.add(QUERY_PLACES + 16 * query, 16));
        let mut barriers = 0;
        match (case.draws.len(), case.begins) {
            // One barrier before the restarts are found, and one after that.
            _ if case.restarts => {
                written.0.append(&mut finished.0);
                barriers += 2;
                self.0 = Some(vec![[read, written]]);
            }
            (1, _) => {
                read.add_counter(case.begins);
                written.0.append(&mut finished.0);
                barriers += self.barriers_before([read, written]);
            }
            // The setup kernel is between two barriers.
            (_, Some(_)) => {
                barriers += 2;
                self.0 = Some(vec![[read, written]]);
            }
            (_, None) => {
                barriers += self.barriers_before([read, written]);
                if !finished.0.is_empty() {
                    barriers += self.barriers_before([Bytes::default(), finished]);
                }
            }
        }
        if let Some(query) = case.query.filter(|_| case.ends_query) {
            // The end reads what was counted.
            let mut ended = Bytes::default();
            ended.add(QUERY_PLACES + 16 * query, 16);
            barriers += 2;
            self.0 = Some(vec![[ended, Bytes::default()]]);
        }
        barriers
    }
}

/// What captures are played with. Everything that they read and write is in the buffer.
struct Player {
    pipeline: Owned<Pipeline>,
    kernels: Kernels,
    buffer: Owned<Buffer>,
    pool: Owned<QueryPool>,
}

impl Player {
    fn new(gpu: &mut TestDevice) -> Self {
        let shader = ProbeShader::identify();
        assert_eq!(shader.stride(0), Some(RECORD));
        let lowered = device::lower(gpu, &shader, COMPUTE);
        let desc = PipelineDesc::new(&lowered).topology(POINTS).primitive_restart(true);
        let pipeline = gpu.pipeline(&desc);
        let ctx = gpu.context();
        let usage = ctx.capture_buffer_usage(COMPUTE)
            | ctx.index_buffer_usage(COMPUTE)
            | ctx.counter_buffer_usage(COMPUTE);
        let size = u64::from(counter_offset(COUNTERS));
        let buffer = gpu.buffer(size, usage);
        let kind = QueryKind::TransformFeedbackStream;
        let pool = gpu.query_pool(kind, QUERIES);
        Self { pipeline, kernels: gpu.kernels(), buffer, pool }
    }

    /// Plays one capture, and in order if an order is given. Returns the number of barriers.
    ///
    /// # Safety
    /// As [`Capture::play`].
    unsafe fn play(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        arena: &mut Arena,
        case: &Case,
        order: Option<&mut CaptureOrder>,
    ) -> Result<u32, RuntimeError> {
        let (buffer, (first, count)) = (self.buffer.raw(), case.target);
        let bytes = |cells: u32| u64::from(cells * CELL);
        let targets = [Some(CaptureBuffer { buffer, offset: bytes(first), size: bytes(count) })];
        let counter = |number| CounterBuffer { buffer, offset: counter_offset(number).into() };
        let begins = [case.begins.map(counter)];
        let desc = CaptureDesc::new(&self.pipeline).buffers(&targets).counters(&begins);
        // SAFETY: the caller's contract.
        unsafe {
            let mut capture = Capture::new(ctx, &self.kernels);
            capture.begin(&desc)?;
            let mut recorder = capture.recorder();
            if let Some(query) = case.query {
                recorder.begin_query(&self.pool, query)?;
            }
            recorder.set_primitive_restart(case.restarts)?;
            for points in &case.draws {
                match case.indices {
                    None => recorder.draw(POINTS, &Draw::new(*points))?,
                    Some(cell) => {
                        let offset = bytes(cell);
                        let (size, index_type) = (CELL.into(), IndexType::Uint32);
                        let indices = IndexBuffer { buffer, offset, size, index_type };
                        recorder.bind_index_buffer(&indices)?;
                        recorder.draw_indexed(POINTS, &DrawIndexed::new(*points))?;
                    }
                }
            }
            if case.query.is_some() && case.ends_query {
                recorder.end_query(self.pool.kind())?;
            }
            recorder.end(&[case.ends.map(counter)])?;
            let recorded = match order {
                Some(order) => {
                    if case.forgets {
                        order.forget();
                    }
                    capture.play_in_order(arena, cmd, order)
                }
                None => {
                    let (stages, writes) = Context::write_scope(COMPUTE);
                    let access = writes | vk::AccessFlags::SHADER_READ;
                    ctx.capture_barrier(cmd, COMPUTE, ConsumerScope { stages, access });
                    capture.play(arena, cmd)
                }
            };
            Ok(recorded?.barriers)
        }
    }

    /// Plays all captures. Returns the number of barriers of each, and the contents of the buffer
    /// and the queries afterwards.
    fn run(&self, gpu: &mut TestDevice, cases: &[Case], in_order: bool) -> (Vec<u32>, Vec<u8>) {
        let dwords = (0..counter_offset(COUNTERS) / 4).map(|number| match number {
            data if data < CELLS * CELL / 4 => data,
            counter => counter % 3 * RECORD,
        });
        let before: Vec<u32> = dwords.collect();
        gpu.write(&self.buffer, 0, bytemuck::cast_slice(&before)).unwrap();
        let mut arena = gpu.arena(&ArenaDesc::for_draws(1200, 1200));
        let barriers = gpu.submit(|ctx, cmd| {
            let mut order = CaptureOrder::new();
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                self.pool.reset(ctx, cmd, 0, QUERIES)?;
                let barriers = cases.iter().map(|case| {
                    let order = in_order.then_some(&mut order);
                    self.play(ctx, cmd, &mut arena, case, order)
                });
                let barriers = barriers.collect::<Result<Vec<u32>, _>>()?;
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
                Ok(barriers)
            }
        });
        let mut after: Vec<u8> = gpu.contents(&self.buffer);
        for query in 0..QUERIES {
            let mut result = [0; 16];
            let (flags, none) =
                (vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::PARTIAL, Default::default());
            // SAFETY: the device is live.
            unsafe { self.pool.results(query, 1, &mut result, 16, flags, none) }.unwrap();
            after.extend(result);
        }
        (barriers.unwrap(), after)
    }
}

#[test]
fn captures_have_barriers_where_they_touch_the_same_bytes() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let player = Player::new(&mut gpu);
        let has_addresses = gpu.context().has_addresses();
        for seed in 0..sample_of(4) {
            let mut random = Rng::new(seed);
            let cases: Vec<Case> = (0..CASES).map(|_| Case::random(&mut random)).collect();
            let (barriers, captured) = player.run(&mut gpu, &cases, true);
            let (all, expected) = player.run(&mut gpu, &cases, false);
            assert!(captured == expected, "seed {seed}");
            if !has_addresses {
                // Sets cover more than what is accessed, so that every capture has a barrier.
                assert!(barriers.iter().all(|barriers| *barriers > 0), "seed {seed}");
                continue;
            }
            let mut model = Model::default();
            for (number, (case, found)) in cases.iter().zip(&barriers).enumerate() {
                let expected = model.barriers(case);
                assert_eq!(*found, expected, "seed {seed}, capture {number}: {case:?}");
            }
            let [in_order, all] = [&barriers, &all].map(|barriers| barriers.iter().sum::<u32>());
            println!("{in_order} barriers in place of {}", all + CASES as u32);
            assert!(barriers.iter().filter(|barriers| **barriers == 0).count() > CASES / 20);
        }
    }
}

/// A frame of captures of three points, each with its own counter and its own range: only the first
/// capture has a barrier.
#[test]
fn captures_of_ranges_of_their_own_have_no_barriers() {
    let mut gpu = device::open_with(OpenOptions::default());
    let player = Player::new(&mut gpu);
    let case = |number: u32| Case {
        target: (number, 1),
        indices: None,
        draws: vec![3],
        restarts: false,
        begins: None,
        ends: Some(number),
        query: None,
        ends_query: false,
        forgets: false,
    };
    let cases: Vec<Case> = (0..COUNTERS).map(case).collect();
    if gpu.context().has_addresses() {
        let (barriers, _) = player.run(&mut gpu, &cases, true);
        assert_eq!(barriers.iter().sum::<u32>(), 1, "{barriers:?}");
        assert_eq!(barriers[0], 1);
    }
}
