//! Captures whose ranges are between their counters, in one buffer, with so few descriptors that
//! the range of one descriptor includes all counters and the captured range. Synchronization
//! validation assumes that commands access the whole range of a descriptor.

use vkxfb::lower::Backend;
use vkxfb::runtime::{
    ArenaDesc, CaptureBuffer, CaptureDesc, ConsumerScope, CounterBuffer, Draw, QueryKind,
    QueryResult, Recorder,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, PipelineOptions};

const COMPUTE: Backend = Backend::Compute;
/// The size of a record in bytes.
const STRIDE: u32 = 16;
/// The offsets of the two counters. Captures alternately resume from one of them and write the
/// other. The captured range is between them.
const COUNTERS: [u64; 2] = [0, 4096];
const START: u64 = 256;
const SIZE: u64 = 2048;

#[test]
fn captures_lie_between_their_counters() {
    // One descriptor for counters in addition to that for scratch memory; with more descriptors
    // there is also one for queries.
    for (storage_buffers, has_queries) in [(8, false), (12, true)] {
        capture(storage_buffers, has_queries);
    }
}

fn capture(storage_buffers: u32, has_queries: bool) {
    let mut gpu = device::open_with(OpenOptions {
        resources: Resources::Descriptors,
        storage_buffers: Some(storage_buffers),
        ..Default::default()
    });
    let shader = ProbeShader::identify();
    let topology = PrimitiveTopology::PointList;
    let lowered = device::lower(&gpu, &shader, COMPUTE);
    let pipeline = device::pipeline(&gpu, &shader, &lowered, PipelineOptions::ANY);
    let usage =
        gpu.context().buffer_usages(COMPUTE).capture | gpu.context().buffer_usages(COMPUTE).counter;
    let memory = gpu.filled(usage, &[0_u8; COUNTERS[1] as usize + 4]);
    let pool = gpu.query_pool(QueryKind::TransformFeedbackStream, 1);
    let mut capture = gpu.new_capture();
    let mut arena = gpu.arena(ArenaDesc::new(4, 8));
    let [first, second] =
        COUNTERS.map(|offset| Some(CounterBuffer { buffer: memory.raw(), offset }));

    let submitted = gpu.submit(|ctx, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            pool.reset(ctx, cmd, 0, 1)?;
            for (number, (from, to)) in (0..).zip([(first, second), (second, first)]) {
                let buffers =
                    [Some(CaptureBuffer { buffer: memory.raw(), offset: START, size: SIZE })];
                let counters = [from];
                let desc = CaptureDesc {
                    buffers: &buffers,
                    counters: &counters,
                    ..CaptureDesc::new(&pipeline)
                };
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                if has_queries {
                    recorder.begin_query(&pool, 0, 0)?;
                }
                let draw =
                    Draw { first_vertex: 10 * number, vertex_count: 10, ..Default::default() };
                recorder.draw(topology, &Draw { instance_count: 1, ..draw })?;
                if has_queries && number == 1 {
                    recorder.end_query(pool.kind(), 0)?;
                }
                recorder.end(&[to])?;
            }
            ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
        }
        Ok(())
    });
    submitted.unwrap();

    let mut expected = vec![0; SIZE as usize];
    for (vertex, record) in (0..20).zip(expected.chunks_exact_mut(STRIDE as usize)) {
        shader.record(0, 0, vertex, record);
    }
    assert_eq!(gpu.read(&memory, START..START + SIZE).unwrap(), expected);
    let ends = COUNTERS.map(|at| gpu.read(&memory, at..at + 4).unwrap());
    assert_eq!(ends, [20 * STRIDE, 10 * STRIDE].map(|end| end.to_le_bytes().to_vec()));
    if has_queries {
        // SAFETY: nothing uses the queries any more.
        let result = unsafe { pool.result(0) }.unwrap();
        assert_eq!(result, Some(QueryResult { primitives_written: 20, primitives_needed: 20 }));
    }
}
