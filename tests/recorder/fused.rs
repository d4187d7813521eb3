//! Fused captures write the same as the setup kernel, a capture and the finish kernel together:
//! compares random captures of one small draw, most of which are fused, with the same captures and
//! another draw without vertices, none of which are fused.

use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Context,
    CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndexType, Kernels, Pipeline, QueryKind,
    QueryPool, QueryResult, Recorded, Recorder, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, PipelineOptions};
use crate::common::rng::Rng;
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
/// The contents of memory before data is captured to it.
const BEFORE: u8 = 0xa5;
const KINDS: [QueryKind; 2] = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated];
/// The number of captures of a submission.
const CASES: u32 = 600;
/// The maximum number of records for which there is room.
const MOST_RECORDS: u32 = 300;
/// The number of indices in the buffer.
const INDICES: u32 = 200;

/// One capture into two buffers.
#[derive(Debug, Clone, Copy)]
struct Case {
    topology: PrimitiveTopology,
    draw: Draw,
    indexed: bool,
    /// The size in bytes of each capture buffer.
    sizes: [u32; 2],
    /// For each buffer: the counter before the capture, whether the capture begins with the
    /// counter, and whether it ends with it.
    counters: [u32; 2],
    begins: [bool; 2],
    ends: [bool; 2],
    /// For each kind, whether there is a query.
    queries: [bool; 2],
}

impl Case {
    fn random(random: &mut Rng, strides: [u32; 2]) -> Self {
        // Few, those of a workgroup, about as many, and those of several workgroups.
        let vertices =
            [random.below(5), random.below(66), 62 + random.below(9), 66 + random.below(900)];
        let flag = |random: &mut Rng| random.below(2) == 0;
        let pair = |random: &mut Rng| [flag(random), flag(random)];
        // All the room there is, or any number of bytes.
        let size = |random: &mut Rng, stride: u32| match random.below(2) {
            0 => MOST_RECORDS * stride,
            _ => random.below(20 * stride),
        };
        let counter = |random: &mut Rng, stride: u32| match random.below(4) {
            0 => 0,
            1 => random.below(10) * stride,
            2 => random.below(10 * stride),
            _ => u32::MAX - random.below(9),
        };
        Self {
            topology: PrimitiveTopology::ALL[random.below(10) as usize],
            draw: Draw {
                vertex_count: vertices[random.below(4) as usize],
                instance_count: [1, 1, 1, 0, 2, 3][random.below(6) as usize],
                first_vertex: random.below(100),
                first_instance: random.below(1 << 30),
            },
            indexed: flag(random),
            sizes: strides.map(|stride| size(random, stride)),
            counters: strides.map(|stride| counter(random, stride)),
            begins: pair(random),
            ends: pair(random),
            queries: pair(random),
        }
    }
}

/// The results of the cases on a device.
struct Outcome {
    /// For each buffer.
    captured: [Vec<u8>; 2],
    counters: Vec<u8>,
    /// For each kind.
    queries: [Vec<Option<QueryResult>>; 2],
}

/// What all cases capture with, each in its own part of the buffers.
struct Cases {
    pipeline: Owned<Pipeline>,
    kernels: Kernels,
    strides: [u32; 2],
    targets: [Owned<Buffer>; 2],
    counters: Owned<Buffer>,
    indices: Owned<Buffer>,
    pools: [Owned<QueryPool>; 2],
}

impl Cases {
    fn new(gpu: &mut TestDevice) -> Self {
        let shader = ProbeShader::two_buffers();
        let lowered = device::lower(gpu, &shader, COMPUTE);
        let options = PipelineOptions { provoking: ProvokingVertex::Last, ..PipelineOptions::ANY };
        let pipeline = device::pipeline(gpu, &shader, &lowered, options);
        let strides = [0, 1].map(|buffer| lowered.layout.strides[buffer].unwrap());
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let targets = strides.map(|stride| {
            let size = u64::from(CASES * MOST_RECORDS * stride);
            gpu.buffer(size, usage)
        });
        let usage = gpu.context().buffer_usages(COMPUTE).counter;
        let size = u64::from(CASES) * 8;
        let counters = gpu.buffer(size, usage);
        let usage = gpu.context().buffer_usages(COMPUTE).index;
        let values: Vec<u16> = (0..INDICES).map(|i| (i * 7919 % 1000) as u16).collect();
        let indices = gpu.filled(usage, &values);
        let pools = KINDS.map(|kind| gpu.query_pool(kind, CASES));
        let kernels = gpu.kernels();
        Self { pipeline, kernels, strides, targets, counters, indices, pools }
    }

    /// Records one case.
    ///
    /// # Safety
    /// As [`Recorder::begin`].
    unsafe fn record(
        &self,
        ctx: &Context,
        cmd: ash::vk::CommandBuffer,
        arena: &mut Arena,
        number: u32,
        case: &Case,
        is_padded: bool,
    ) -> Result<Recorded, RuntimeError> {
        let buffer = |b: usize| {
            let offset = u64::from(number * MOST_RECORDS * self.strides[b]);
            Some(CaptureBuffer {
                buffer: self.targets[b].raw(),
                offset,
                size: case.sizes[b].into(),
            })
        };
        let counter = |b: usize| {
            let offset = u64::from(number) * 8 + b as u64 * 4;
            CounterBuffer { buffer: self.counters.raw(), offset }
        };
        let counters = |chosen: [bool; 2]| [0, 1].map(|b| Some(counter(b)).filter(|_| chosen[b]));
        unsafe {
            let mut capture = Capture::new(ctx, &self.kernels);
            let (buffers, begins) = ([0, 1].map(buffer), counters(case.begins));
            let desc = CaptureDesc {
                buffers: &buffers,
                counters: &begins,
                ..CaptureDesc::new(&self.pipeline)
            };
            let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
            for (pool, _) in self.pools.iter().zip(case.queries).filter(|(_, used)| *used) {
                recorder.begin_query(pool, number, 0)?;
            }
            let index_type = IndexType::Uint16;
            let indices = IndexBuffer::new(self.indices.raw(), self.indices.size(), index_type);
            recorder.bind_index_buffer(&indices)?;
            if case.indexed {
                let draw = DrawIndexed {
                    index_count: case.draw.vertex_count,
                    instance_count: case.draw.instance_count,
                    // The last ones are beyond the buffer.
                    first_index: case.draw.first_vertex * 2,
                    vertex_offset: 3,
                    first_instance: case.draw.first_instance,
                };
                recorder.draw_indexed(case.topology, &draw)?;
            } else {
                recorder.draw(case.topology, &case.draw)?
            }
            if is_padded {
                recorder.draw(case.topology, &Draw::new(0))?;
            }
            for (kind, _) in KINDS.into_iter().zip(case.queries).filter(|(_, used)| *used) {
                recorder.end_query(kind, 0)?;
            }
            recorder.end(&counters(case.ends))
        }
    }

    /// Executes all cases in one command buffer. Also returns what was recorded for each.
    fn run(
        &self,
        gpu: &mut TestDevice,
        cases: &[Case],
        is_padded: bool,
    ) -> (Vec<Recorded>, Outcome) {
        for target in &self.targets {
            gpu.write(target, 0, &vec![BEFORE; target.size() as usize]).unwrap();
        }
        let counters: Vec<u32> = cases.iter().flat_map(|case| case.counters).collect();
        gpu.write(&self.counters, 0, bytemuck::cast_slice(&counters)).unwrap();
        let all = u64::from(CASES);
        let mut arena = gpu.arena(ArenaDesc::new(2 * all, 4 * all));
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                for pool in &self.pools {
                    pool.reset(ctx, cmd, 0, pool.count())?;
                }
                let recorded = (0..).zip(cases);
                let recorded: Result<Vec<Recorded>, _> = recorded
                    .map(|(number, case)| {
                        self.record(ctx, cmd, &mut arena, number, case, is_padded)
                    })
                    .collect();
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
                Ok(recorded?)
            }
        });
        let outcome = Outcome {
            captured: self.targets.each_ref().map(|buffer| gpu.contents(buffer)),
            counters: gpu.contents(&self.counters),
            queries: self.pools.each_ref().map(|pool| {
                // SAFETY: the device is live.
                let result = |query| unsafe { pool.result(query) }.unwrap();
                (0..CASES).map(result).collect()
            }),
        };
        (recorded.unwrap(), outcome)
    }
}

#[test]
fn fused_captures_write_what_kernels_write() {
    device::RESOURCES.into_iter().for_each(write_what_kernels_write);
}

fn write_what_kernels_write(resources: Resources) {
    let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
    let all = Cases::new(&mut gpu);
    let mut random = Rng::new(157);
    let cases: Vec<Case> = (0..CASES).map(|_| Case::random(&mut random, all.strides)).collect();
    let [(recorded, fused), (by_kernels, expected)] =
        [false, true].map(|is_padded| all.run(&mut gpu, &cases, is_padded));
    for (number, case) in cases.iter().enumerate() {
        let dwords = 8 * number..8 * (number + 1);
        assert_eq!(fused.counters[dwords.clone()], expected.counters[dwords], "{case:?}");
        for (found, expected) in fused.queries.iter().zip(&expected.queries) {
            assert_eq!(found[number], expected[number], "{case:?}");
        }
        for (found, expected) in fused.captured.iter().zip(&expected.captured) {
            let size = found.len() / CASES as usize;
            let bytes = size * number..size * (number + 1);
            assert!(found[bytes.clone()] == expected[bytes], "{case:?}");
        }
    }
    // With counters or queries, only kernels that end queries are left.
    let is_fused = |(case, recorded): &(&Case, &Recorded)| {
        let ends = u32::from(case.queries != [false; 2]);
        let has_work = ends > 0 || case.begins != [false; 2] || case.ends != [false; 2];
        has_work && recorded.capture_dispatches > 0 && recorded.kernel_dispatches == ends
    };
    let count = |all: &[Recorded]| cases.iter().zip(all).filter(is_fused).count();
    assert!(count(&recorded) > CASES as usize / 4, "{} are fused", count(&recorded));
    assert_eq!(count(&by_kernels), 0);
}
