//! Edge cases of draws, counters and recordings: counts whose sums exceed 2^64, counters with
//! values that no capture writes, empty captures, and calls that are refused in the middle of a
//! recording, which continues.

use vkxfb::runtime::{
    ArenaDesc, ArenaSize, Buffer, CaptureBuffer, CaptureDesc, Captured, ConsumerScope, Draw,
    QueryKind, QueryPool, QueryResult, Recorded, Recorder, RuntimeError, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_probe::shaders::ProbeShader;

use super::setup::{COMPUTE, Setup};
use crate::common::device;
use crate::common::test_device::{Owned, TestDevice};

const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
const KINDS: [QueryKind; 2] = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated];
/// The number of dwords of the capture buffer.
const DWORDS: usize = 64;
const BEFORE: u32 = 0xa5a5_a5a5;

/// A device with a vertex buffer, and a query pool of each kind.
struct Scene {
    setup: Setup,
    vertices: Owned<Buffer>,
    pools: [Owned<QueryPool>; 2],
    /// The number of bytes of the buffer that are bound as the capture buffer.
    size: u64,
    gpu: TestDevice,
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

impl Scene {
    fn new(resources: Resources, shader: &ProbeShader) -> Self {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let size = 4 * DWORDS as u64;
        let setup = Setup::new(&mut gpu, COMPUTE, shader, size);
        let vertices = gpu.buffer(1 << 12, gpu.context().buffer_usages(COMPUTE).vertex);
        let pools = KINDS.map(|kind| gpu.query_pool(kind, 1));
        Self { setup, vertices, pools, size, gpu }
    }

    /// Captures, and resumes from a counter if its value is given. Returns the value of the counter
    /// afterwards.
    fn capture(
        &mut self,
        arena: impl Into<ArenaSize>,
        vertex_buffers: &[VertexBuffer],
        resumed: Option<u32>,
        record: impl FnOnce(&mut Recorder<'_>, &[Owned<QueryPool>; 2]) -> Result<(), RuntimeError>,
    ) -> (Recorded, Vec<u32>, u32) {
        let Self { setup, pools, gpu, .. } = self;
        setup.overwrite(gpu, BEFORE as u8, resumed.unwrap_or(BEFORE));
        let mut arena = gpu.arena(arena);
        let mut capture = gpu.new_capture();
        let counter = setup.counter();
        let buffers = [Some(CaptureBuffer::new(setup.target.raw(), self.size))];
        let counters = [counter.filter(|_| resumed.is_some())];
        let desc = CaptureDesc {
            buffers: &buffers,
            vertex_buffers,
            counters: &counters,
            ..CaptureDesc::new(&setup.pipeline)
        };
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                for pool in pools.iter() {
                    pool.reset(ctx, cmd, 0, pool.count())?;
                }
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                record(&mut recorder, pools)?;
                let recorded = recorder.end(&[counter])?;
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
                Ok(recorded)
            }
        });
        (recorded.unwrap(), gpu.contents(&setup.target), setup.position(gpu))
    }

    fn results(&self) -> [Option<QueryResult>; 2] {
        // SAFETY: the device is live.
        [0, 1].map(|i| unsafe { self.pools[i].result(0) }.unwrap())
    }
}

/// Begins the first query of each pool of a [`Scene`].
fn begin_queries(
    recorder: &mut Recorder<'_>,
    pools: &[Owned<QueryPool>; 2],
) -> Result<(), RuntimeError> {
    // SAFETY: the pools outlive the submission, which is waited for.
    pools.iter().try_for_each(|pool| unsafe { recorder.begin_query(pool, 0, 0) })
}

/// The CPU and the setup kernel count alike, modulo 2^64, and capture as many records as fit.
#[test]
fn counts_pass_64_bits() {
    let shader = ProbeShader::identify();
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &shader);
        let huge = Draw { vertex_count: u32::MAX, instance_count: u32::MAX, ..Draw::default() };
        let needed = (u64::from(u32::MAX) * u64::from(u32::MAX)).wrapping_mul(2);
        for resumed in [None, Some(0)] {
            let arena = ArenaDesc::new(1, 4);
            let (recorded, found, position) =
                scene.capture(arena, &[], resumed, |recorder, pools| {
                    begin_queries(recorder, pools)?;
                    // SAFETY: as `capture` says.
                    unsafe {
                        recorder.draw(POINTS, &huge)?;
                        recorder.draw(POINTS, &huge)?;
                    }
                    KINDS.into_iter().try_for_each(|kind| recorder.end_query(kind, 0))
                });
            let mut expected = vec![0; 4 * DWORDS];
            let records = expected.chunks_exact_mut(16).zip(0..);
            records.for_each(|(record, vertex)| shader.record(0, 0, vertex, record));
            assert_eq!(found, words(&expected), "{resources:?} {resumed:?}");
            assert_eq!(position, 4 * DWORDS as u32);
            let written = DWORDS as u64 / 4;
            let stream = QueryResult { primitives_written: written, primitives_needed: needed };
            let generated = QueryResult { primitives_written: 0, primitives_needed: needed };
            assert_eq!(scene.results(), [Some(stream), Some(generated)], "{resumed:?}");
            let captured = recorded.captured.map(|c| (c.primitives_written, c.primitives_needed));
            assert_eq!(captured, resumed.is_none().then_some((written, needed)));
        }
    }
}

/// Counters with values that no capture writes: rounded down to a multiple of 4, they determine
/// where records are written, or that none fit.
#[test]
fn hostile_counters_are_harmless() {
    let shader = ProbeShader::identify();
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &shader);
        let size = 4 * DWORDS as u32;
        for counter in [1, 2, 3, 4, 19, size - 17, size - 16, size - 1, size, size + 1, u32::MAX] {
            let draw = Draw::new(9);
            let (_, found, position) =
                scene.capture(ArenaDesc::new(1, 1), &[], Some(counter), |recorder, _| {
                    // SAFETY: as `capture` says.
                    unsafe { recorder.draw(POINTS, &draw) }
                });
            let start = counter / 4 * 4;
            let written = (size.saturating_sub(start) / 16).min(draw.vertex_count);
            let mut expected = bytes(&[BEFORE; DWORDS]);
            for vertex in 0..written {
                let at = (start + 16 * vertex) as usize;
                shader.record(0, 0, vertex, &mut expected[at..at + 16]);
            }
            assert_eq!(found, words(&expected), "{resources:?} {counter}");
            assert_eq!(position, start + 16 * written, "{resources:?} {counter}");
        }
    }
}

/// Without draws, counters and queries do not change, and queries become available.
#[test]
fn nothing_is_captured_without_draws() {
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &ProbeShader::identify());
        for (resumed, position) in [(None, 0), (Some(20), 20)] {
            let (recorded, found, end) =
                scene.capture(ArenaDesc::new(1, 2), &[], resumed, |recorder, pools| {
                    begin_queries(recorder, pools)?;
                    KINDS.into_iter().try_for_each(|kind| recorder.end_query(kind, 0))
                });
            assert_eq!((found, end), (vec![BEFORE; DWORDS], position));
            assert_eq!(recorded.capture_dispatches, 0);
            assert_eq!(scene.results(), [Some(QueryResult::default()); 2]);
        }
    }
}

/// Ranges in which no record fits: nothing is written, and everything is counted as needed.
#[test]
fn empty_ranges_hold_nothing() {
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &ProbeShader::identify());
        for (size, resumed) in
            [0, 3, 15].into_iter().flat_map(|size| [(size, None), (size, Some(0))])
        {
            scene.size = size;
            let draw = Draw { vertex_count: 3, instance_count: 2, ..Draw::default() };
            let arena = ArenaDesc::new(1, 3);
            let (_, found, position) = scene.capture(arena, &[], resumed, |recorder, pools| {
                begin_queries(recorder, pools)?;
                // SAFETY: as `capture` says.
                unsafe { recorder.draw(POINTS, &draw) }?;
                KINDS.into_iter().try_for_each(|kind| recorder.end_query(kind, 0))
            });
            assert_eq!((found, position), (vec![BEFORE; DWORDS], 0), "{resources:?} {size}");
            let stream = QueryResult { primitives_written: 0, primitives_needed: 6 };
            let generated = QueryResult { primitives_written: 0, primitives_needed: 6 };
            assert_eq!(scene.results(), [Some(stream), Some(generated)], "{resources:?} {size}");
        }
    }
}

/// A query can be used, reset and used again in one command buffer, by another recording.
#[test]
fn queries_are_used_again_in_a_command_buffer() {
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &ProbeShader::identify());
        let desc = ArenaSize { descriptor_sets: 8, ..ArenaDesc::new(2, 4).into() };
        let mut arena = scene.gpu.arena(desc);
        let (mut capture, pool) = (scene.gpu.new_capture(), &scene.pools[1]);
        let recorded = scene.gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                for vertex_count in [5, 3] {
                    pool.reset(ctx, cmd, 0, 1)?;
                    let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, None)?;
                    recorder.begin_query(pool, 0, 0)?;
                    recorder.draw(POINTS, &Draw::new(vertex_count))?;
                    recorder.end_query(pool.kind(), 0)?;
                    recorder.end(&[])?;
                }
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
            }
            Ok(())
        });
        recorded.unwrap();
        assert_eq!(
            scene.results()[1],
            Some(QueryResult { primitives_written: 0, primitives_needed: 3 }),
            "{resources:?}"
        );
    }
}

/// Queries of several vertex streams are told apart by their pools, however the memory of a stream
/// contains them.
#[test]
fn a_query_is_active_for_one_stream() {
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &ProbeShader::identify());
        let desc = ArenaSize { descriptor_sets: 8, ..ArenaDesc::new(2, 2).into() };
        let mut arena = scene.gpu.arena(desc);
        let (mut capture, [stream, generated]) = (scene.gpu.new_capture(), &scene.pools);
        let recorded = scene.gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                stream.reset(ctx, cmd, 0, 1)?;
                generated.reset(ctx, cmd, 0, 1)?;
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, None)?;
                recorder.begin_query(stream, 0, 0)?;
                recorder.begin_query(generated, 0, 1)?;
                let active = recorder.begin_query(stream, 0, 1);
                assert!(matches!(active, Err(RuntimeError::QueryActive)), "{active:?}");
                recorder.end_query(stream.kind(), 0)?;
                let used = recorder.begin_query(stream, 0, 2);
                assert!(matches!(used, Err(RuntimeError::QueryUsed { query: 0 })), "{used:?}");
                recorder.end_query(generated.kind(), 1)?;
                recorder.end(&[])?;
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
            }
            Ok(())
        });
        recorded.unwrap();
        let nothing = Some(QueryResult::default());
        assert_eq!(scene.results(), [nothing; 2], "{resources:?}");
    }
}

/// A query that was not ended is not available, even if draws were counted for it.
#[test]
fn queries_are_available_once_they_end() {
    for resources in device::RESOURCES {
        let mut scene = Scene::new(resources, &ProbeShader::identify());
        for resumed in [None, Some(0)] {
            let draw = Draw::new(3);
            scene.capture(ArenaDesc::new(1, 1), &[], resumed, |recorder, pools| {
                begin_queries(recorder, pools)?;
                // SAFETY: as `capture` says.
                unsafe { recorder.draw(POINTS, &draw) }
            });
            assert_eq!(scene.results(), [None; 2], "{resources:?} {resumed:?}");
        }
    }
}

/// Primitives outside of captures are counted as generated, but neither as written nor as needed.
#[test]
fn draws_outside_of_captures_are_not_captured() {
    let mut scene = Scene::new(Resources::Best, &ProbeShader::identify());
    let mut arena = scene.gpu.arena(ArenaDesc::new(1, 3));
    let (mut capture, pools) = (scene.gpu.new_capture(), &scene.pools);
    let recorded = scene.gpu.submit(|ctx, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            for pool in pools {
                pool.reset(ctx, cmd, 0, 1)?;
            }
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, None)?;
            begin_queries(&mut recorder, pools)?;
            let draw = Draw { vertex_count: 5, instance_count: 2, ..Draw::default() };
            recorder.draw(POINTS, &draw)?;
            KINDS.into_iter().try_for_each(|kind| recorder.end_query(kind, 0))?;
            let recorded = recorder.end(&[])?;
            ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST);
            Ok(recorded)
        }
    });
    assert_eq!(recorded.unwrap().captured, Some(Captured::default()));
    let generated = QueryResult { primitives_written: 0, primitives_needed: 10 };
    assert_eq!(scene.results(), [Some(QueryResult::default()), Some(generated)]);
}

/// If vertex buffers are refused, draws with them are not captured, and other vertex buffers can be
/// bound afterwards.
#[test]
fn draws_of_refused_vertex_buffers_are_not_captured() {
    let shader = ProbeShader::attributes();
    let mut scene = Scene::new(Resources::Descriptors, &shader);
    let bindings: Vec<u32> = shader.vertex_input.bindings.iter().map(|b| b.binding).collect();
    assert!(bindings.len() > 1);
    let size = scene.vertices.size();
    let area = size / bindings.len() as u64 / 16 * 16;
    let mut buffers = Vec::new();
    for (number, &binding) in (0u64..).zip(&bindings) {
        let data = shader.vertex_buffer(binding, 4).unwrap();
        scene.gpu.write(&scene.vertices, number * area, &data).unwrap();
        buffers.push(VertexBuffer {
            binding,
            buffer: scene.vertices.raw(),
            offset: number * area,
            size: data.len() as u64,
            stride: None,
        });
    }
    let stride = shader.stride(0).unwrap() as usize;
    let draw = Draw::new(2);
    let arena = ArenaSize { upload: 4096, ..ArenaDesc::new(1, 2).into() };
    let (_, found, _) = scene.capture(arena, &buffers, None, |recorder, _| {
        // SAFETY: as `capture` says.
        unsafe {
            recorder.draw(POINTS, &draw)?;
            let huge = VertexBuffer { size: 1 << 40, ..buffers[0] };
            recorder.bind_vertex_buffers(&[huge])?;
            let error = recorder.draw(POINTS, &draw).unwrap_err();
            assert!(matches!(error, RuntimeError::Limit { .. }), "{error}");
            recorder.bind_vertex_buffers(&buffers[..1])?;
            recorder.draw(POINTS, &Draw { first_vertex: 2, vertex_count: 1, ..draw })
        }
    });
    let mut expected = bytes(&[BEFORE; DWORDS]);
    for (vertex, record) in (0..3).zip(expected.chunks_exact_mut(stride)) {
        shader.record(0, 0, vertex, record);
    }
    assert_eq!(found, words(&expected));
}
