//! Tests what captures by compute record, and that it can be executed several times.

use ash::vk;
use vkxfb::runtime::Barrier;
use vkxfb::runtime::{
    Arena, ArenaDesc, Capture, CaptureBuffer, CaptureDesc, CaptureOrder, ConsumerScope, Context,
    CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndexType, IndirectDraw, Recorded, Recorder,
    RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{GpuError, OpenOptions, Profile, Resources};
use vkxfb_probe::shaders::ProbeShader;

use super::setup::{COMPUTE, Setup};
use crate::common::skip::{Why, skip};
use crate::common::test_device::TestDevice;
use crate::common::{self, device};

/// The size of a record in bytes.
const STRIDE: u32 = 16;

/// Opens a device, to capture the index of each vertex on.
fn open(options: OpenOptions, size: u64) -> (TestDevice, Setup) {
    let mut gpu = device::open_with(options);
    let setup = Setup::new(&mut gpu, COMPUTE, &ProbeShader::identify(), size);
    (gpu, setup)
}

fn by(resources: Resources, profile: Profile) -> OpenOptions {
    OpenOptions { profile, resources, ..Default::default() }
}

impl Setup {
    /// Returns the first dword of each record.
    fn records(&self, gpu: &mut TestDevice) -> Vec<u32> {
        gpu.contents::<[u32; 4]>(&self.target).iter().map(|record| record[0]).collect()
    }

    /// Records a capture of `draws`.
    ///
    /// # Safety
    /// As [`Recorder::begin`].
    unsafe fn record_draws(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        arena: &mut Arena,
        counters: [Option<CounterBuffer>; 2],
        draws: &[(PrimitiveTopology, Draw)],
    ) -> Result<Recorded, RuntimeError> {
        unsafe {
            self.record(ctx, cmd, arena, counters, |recorder| {
                draws.iter().try_for_each(|(topology, draw)| recorder.draw(*topology, draw))
            })
        }
    }
}

/// Returns a thousand draws of 3 to 300 vertices, with these topologies in turn.
fn thousand_draws(topologies: &[PrimitiveTopology]) -> Vec<(PrimitiveTopology, Draw)> {
    let draw = |i: u32| Draw {
        vertex_count: 3 + i * 7919 % 298,
        instance_count: 1 + i % 2,
        first_vertex: i * 1000,
        first_instance: 0,
    };
    let topologies = topologies.iter().copied().cycle();
    topologies.zip(0..1000).map(|(topology, i)| (topology, draw(i))).collect()
}

/// Returns the first dword of each record, computed with the CPU implementation of the topologies.
fn expected(draws: &[(PrimitiveTopology, Draw)]) -> Vec<u32> {
    let of = |(topology, draw): &(PrimitiveTopology, Draw)| -> Vec<u32> {
        let outputs = topology.output_count(draw.vertex_count);
        let vertex = |o| topology.gather(ProvokingVertex::First, o) as u32 + draw.first_vertex;
        (0..draw.instance_count).flat_map(|_| (0..outputs).map(vertex)).collect()
    };
    draws.iter().flat_map(of).collect()
}

#[test]
fn small_draws_share_dispatches() {
    for resources in device::RESOURCES {
        share_dispatches(resources, &PrimitiveTopology::ALL);
        share_dispatches(resources, &[PrimitiveTopology::TriangleStrip]);
    }
}

fn share_dispatches(resources: Resources, topologies: &[PrimitiveTopology]) {
    let draws = thousand_draws(topologies);
    let records = expected(&draws);
    let (mut gpu, setup) = open(by(resources, Profile::Full), 16 * records.len() as u64);
    let counter = setup.counter();
    for (from, to) in [(None, None), (None, counter), (counter, counter)] {
        gpu.write(&setup.counters, 0, &[0; 16]).unwrap();
        let mut arena = gpu.arena(ArenaDesc::new(1, 1000));
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            let recorded = unsafe { setup.record_draws(ctx, cmd, &mut arena, [from, to], &draws) };
            recorded.map_err(|source| GpuError::Capture { capture: 0, source })
        });
        let recorded = recorded.unwrap();
        assert_eq!(setup.records(&mut gpu), records);
        assert_eq!(recorded.capture_dispatches, 1, "{recorded:?}");
        // Only counters need kernels and barriers: values that the CPU knows are written at the
        // end, others are computed before.
        let most = match (from, to) {
            (None, None) => (0, 0),
            (None, _) => (1, 1),
            _ => (1, 2),
        };
        assert_eq!((recorded.kernel_dispatches, recorded.barriers), most, "{recorded:?}");
        assert_eq!(recorded.captured.is_some(), from.is_none());
        if to.is_some() {
            assert_eq!(setup.position(&mut gpu), records.len() as u32 * STRIDE);
        }
    }
}

/// A small draw between counters is one dispatch after one barrier, however often it is resumed.
/// With few descriptors, and if several workgroups resume with descriptors, kernels execute the
/// rest.
#[test]
fn a_small_capture_is_one_dispatch() {
    const TIMES: usize = 5;
    for (resources, storage_buffers, vertex_count) in [
        (Resources::Best, None, 7),
        (Resources::Best, None, 300),
        (Resources::Descriptors, None, 7),
        (Resources::Descriptors, None, 300),
        (Resources::Descriptors, Some(8), 7),
    ] {
        let is_fused = storage_buffers.is_none();
        let resumes_fused = is_fused && (resources == Resources::Best || vertex_count == 7);
        let draws = [(PrimitiveTopology::TriangleStrip, Draw::new(vertex_count))];
        let once = expected(&draws);
        // The last capture finds room for one triangle.
        let all: Vec<u32> = once.repeat(TIMES)[..(TIMES - 1) * once.len() + 3].to_vec();
        let options = OpenOptions { resources, storage_buffers, ..Default::default() };
        let (mut gpu, setup) = open(options, 16 * all.len() as u64 + 32);
        let mut arena = gpu.arena(ArenaDesc::new(6, 6));
        let counter = setup.counter();
        let recorded = gpu.submit(|ctx, cmd| {
            let mut record = |counters| {
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe { setup.record_draws(ctx, cmd, &mut arena, counters, &draws) }
            };
            let first = record([None, counter])?;
            let resumed: Result<Vec<Recorded>, _> =
                (1..TIMES).map(|_| record([counter; 2])).collect();
            Ok((first, resumed?))
        });
        let (first, resumed) = recorded.unwrap();
        assert_eq!(setup.records(&mut gpu)[..all.len()], all);
        assert_eq!(setup.position(&mut gpu), all.len() as u32 * STRIDE);
        let counts = |r: &Recorded| [r.capture_dispatches, r.kernel_dispatches, r.barriers];
        let once = if is_fused { [1, 0, 1] } else { [1, 1, 1] };
        let again = if resumes_fused { [1, 0, 1] } else { [1, 1, 2] };
        assert_eq!(counts(&first), once);
        assert!(first.captured.is_some());
        for recorded in resumed {
            assert_eq!(counts(&recorded), again);
            assert_eq!(recorded.captured, None);
        }
    }
}

/// A capture that is played in order has one more barrier only if it had none.
#[test]
fn captures_in_order_have_a_barrier() {
    for resources in device::RESOURCES {
        let (mut gpu, setup) = open(by(resources, Profile::Full), 4096);
        let mut arena = gpu.arena(ArenaDesc::new(8, 16));
        let counter = setup.counter();
        let bound = setup.buffers();
        let recorded = gpu.submit(|ctx, cmd| {
            let mut barriers = |counters: [Option<CounterBuffer>; 2], draws: usize| {
                let mut capture = Capture::new(ctx, &setup.kernels);
                let begin = [counters[0]];
                let desc = CaptureDesc {
                    buffers: &bound,
                    counters: &begin,
                    ..CaptureDesc::new(&setup.pipeline)
                };
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    let (stages, access) = Context::write_scope(COMPUTE);
                    ctx.capture_barrier(cmd, COMPUTE, ConsumerScope { stages, access });
                    capture.begin(&desc)?;
                    for _ in 0..draws {
                        capture.recorder().draw(PrimitiveTopology::PointList, &Draw::new(3))?;
                    }
                    capture.end(&[counters[1]])?;
                    let mut order = CaptureOrder::default();
                    Ok::<_, RuntimeError>([
                        capture.play(&mut *arena, cmd)?.barriers,
                        capture.play_in_order(&mut *arena, cmd, &mut order)?.barriers,
                    ])
                }
            };
            Ok([
                barriers([None; 2], 1)?,
                barriers([counter; 2], 1)?,
                barriers([counter; 2], 2)?,
                barriers([None, counter], 2)?,
                barriers([None; 2], 0)?,
            ])
        });
        // A counter that the CPU knows shares no bytes with what is captured. By descriptors it
        // may, as far as is known.
        let finished = if resources == Resources::Best { [1, 1] } else { [1, 2] };
        assert_eq!(recorded.unwrap(), [[0, 1], [1, 1], [2, 2], finished, [0, 0]]);
    }
}

/// Draws of up to eight workgroups are fused. With descriptors, draws of captures that begin and
/// end with counters are fused if they have one workgroup.
#[test]
fn draws_of_few_workgroups_are_fused() {
    const MOST: u32 = 8;
    for (resources, most_resumed) in [(Resources::Best, MOST), (Resources::Descriptors, 1)] {
        let (mut gpu, setup) = open(by(resources, Profile::Full), 16 * 2000);
        let other = setup.counter().map(|counter| CounterBuffer { offset: 4, ..counter });
        let mut arena = gpu.arena(ArenaDesc::new(8, 8));
        let size = 64;
        let counter = setup.counter();
        let recorded = gpu.submit(|ctx, cmd| {
            let mut kernels = |counters: [Option<CounterBuffer>; 2], points: u32| {
                let draws = [(PrimitiveTopology::PointList, Draw::new(points))];
                let (stages, access) = Context::write_scope(COMPUTE);
                // SAFETY: everything outlives the submission, which is waited for.
                let recorded = unsafe {
                    ctx.capture_barrier(cmd, COMPUTE, ConsumerScope { stages, access });
                    setup.record_draws(ctx, cmd, &mut arena, counters, &draws)
                }?;
                Ok::<_, RuntimeError>((recorded.capture_dispatches, recorded.kernel_dispatches))
            };
            Ok([
                kernels([counter, counter], most_resumed * size)?,
                kernels([counter, counter], most_resumed * size + 1)?,
                kernels([counter, other], most_resumed * size)?,
                kernels([counter, other], most_resumed * size + 1)?,
                kernels([None, counter], MOST * size)?,
                kernels([None, counter], MOST * size + 1)?,
            ])
        });
        assert_eq!(recorded.unwrap(), [(1, 0), (1, 1), (1, 0), (1, 1), (1, 0), (1, 1)]);
    }
}

/// Large draws have separate dispatches.
#[test]
fn large_draws_are_dispatched_alone() {
    let strip = PrimitiveTopology::TriangleStrip;
    let draw = |vertex_count| (strip, Draw::new(vertex_count));
    let draws = [draw(10), draw(20), draw(20_000), draw(30_000), draw(30), draw(40)];
    let records = expected(&draws);
    let (mut gpu, setup) = open(by(Resources::Best, Profile::Bifrost), 16 * records.len() as u64);
    let mut arena = gpu.arena(ArenaDesc::new(1, 6));
    let recorded = gpu.submit(|ctx, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe { setup.record_draws(ctx, cmd, &mut arena, [None; 2], &draws) }
            .map_err(|source| GpuError::Capture { capture: 0, source })
    });
    let recorded = recorded.unwrap();
    assert_eq!(
        (recorded.capture_dispatches, recorded.kernel_dispatches, recorded.barriers),
        (4, 0, 0)
    );
    assert_eq!(setup.records(&mut gpu), records);
}

/// A command buffer that resumes from the counter that it writes is submitted sixteen times without
/// waiting. Each execution captures after the previous one, until the buffer is full.
#[test]
fn a_command_buffer_is_executed_many_times() {
    const TIMES: usize = 16;
    let (strip, fan) = (PrimitiveTopology::TriangleStrip, PrimitiveTopology::TriangleFan);
    let draw = |vertex_count| Draw { vertex_count, instance_count: 2, ..Draw::default() };
    let draws = [(strip, draw(7)), (fan, draw(300)), (strip, draw(5))];
    let once = expected(&draws);
    let profiles = [Profile::Full, Profile::Bifrost];
    let ways = profiles.into_iter().flat_map(|p| device::RESOURCES.map(|resources| (p, resources)));
    for (profile, resources) in ways {
        // The last execution finds no room for its last draws.
        let size = 16 * (TIMES * once.len() - 40) as u64;
        let (mut gpu, setup) = open(by(resources, profile), size);
        let mut arena = gpu.arena(ArenaDesc::new(1, 3));
        let ctx = gpu.context().clone();
        let (queue, family) = gpu.queue();
        let device = ctx.device();
        // SAFETY: everything outlives the submissions, which are waited for.
        unsafe {
            let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
            let pool = device.create_command_pool(&info, None).unwrap();
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let cmd = device.allocate_command_buffers(&info).unwrap()[0];
            let begin = vk::CommandBufferBeginInfo::default()
                .flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
            device.begin_command_buffer(cmd, &begin).unwrap();
            let counters = [setup.counter(); 2];
            let recorded = setup.record_draws(&ctx, cmd, &mut arena, counters, &draws).unwrap();
            assert_eq!(recorded.captured, None);
            device.end_command_buffer(cmd).unwrap();
            let submit = vk::SubmitInfo::default().command_buffers(std::slice::from_ref(&cmd));
            device.queue_submit(queue, &[submit; TIMES], vk::Fence::null()).unwrap();
            device.queue_wait_idle(queue).unwrap();
            device.destroy_command_pool(pool, None);
        }
        let all: Vec<u32> = once.iter().copied().cycle().take(once.len() * TIMES).collect();
        let records = setup.records(&mut gpu);
        // Whole primitives of the fan, then of the strip.
        let written = records.len() / 3 * 3;
        assert_eq!(setup.position(&mut gpu), written as u32 * STRIDE);
        assert_eq!(records[..written], all[..written]);
    }
}

/// Each barrier is recorded at its place: if one is omitted, there is one less. (With
/// `VKXFB_OMIT_BARRIER`, synchronization validation then reports it in the random draws of
/// `tests/draws` and the restarts of `long_restarts.rs`, and on a GPU these capture something
/// else.)
#[test]
fn no_barrier_can_be_left_out() {
    /// The number of indices, which is so large that several workgroups process them, whose results
    /// are combined.
    const MANY: u32 = 20_000;
    let (mut gpu, setup) = open(OpenOptions::default(), 4096);
    let usage = gpu.context().buffer_usages(COMPUTE).index;
    let data: Vec<u8> = (0..MANY).map(|i| if i % 7 == 4 { 255 } else { i as u8 % 200 }).collect();
    let indices = gpu.filled(usage, &data);
    let restarting = device::restarting_pipeline(&gpu, ProvokingVertex::First);
    let mut barriers = |omitted: Option<Barrier>| {
        // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch
        // after another.
        unsafe { gpu.omit_barrier(omitted) };
        let desc = ArenaDesc {
            restarted_draws: 1,
            restarted_indices: MANY.into(),
            ..ArenaDesc::new(4, 4)
        };
        let mut arena = gpu.arena(desc);
        let counter = setup.counter();
        let strip = PrimitiveTopology::TriangleStrip;
        let recorded = gpu.submit(|ctx, cmd| {
            let draws = [(strip, Draw::new(5))];
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let fused = setup.record_draws(ctx, cmd, &mut arena, [None, counter], &draws)?;
                let draws = [draws[0]; 2];
                let known = setup.record_draws(ctx, cmd, &mut arena, [None, counter], &draws)?;
                let resumed = setup.record_draws(ctx, cmd, &mut arena, [counter; 2], &draws)?;
                let mut restarted = |counters, index_count| {
                    setup.record(ctx, cmd, &mut arena, counters, |recorder| {
                        recorder.bind_pipeline(&restarting)?;
                        recorder.bind_index_buffer(&IndexBuffer::new(
                            indices.raw(),
                            MANY.into(),
                            IndexType::Uint8,
                        ))?;
                        let draw = DrawIndexed::new(index_count);
                        recorder.draw_indexed(strip, &draw)
                    })
                };
                let [few, many] = [restarted([None; 2], 16)?, restarted([None; 2], MANY)?];
                let behind = restarted([counter; 2], 16)?;
                Ok([fused, known, resumed, few, many, behind].map(|recorded| recorded.barriers))
            }
        });
        recorded.unwrap()
    };
    // The captures of `few` and `many` need nothing from the setup kernel.
    for (omitted, recorded) in [
        (None, [1, 1, 2, 2, 3, 3]),
        (Some(Barrier::BeforeFused), [0, 1, 2, 2, 3, 3]),
        (Some(Barrier::BeforeFinish), [1, 0, 2, 2, 3, 3]),
        (Some(Barrier::BeforeSetup), [1, 1, 1, 1, 2, 2]),
        (Some(Barrier::RestartToScan), [1, 1, 2, 2, 2, 3]),
        (Some(Barrier::RestartToSetup), [1, 1, 2, 1, 2, 2]),
        (Some(Barrier::SetupToCapture), [1, 1, 1, 2, 3, 2]),
    ] {
        assert_eq!(barriers(omitted), recorded, "{omitted:?}");
    }
}

/// Synchronization validation reports reads of captured data without [`Context::capture_barrier`]
/// if captures use descriptors. It does not detect writes by device address.
#[test]
fn a_consumer_without_its_barrier_is_reported() {
    if !common::settings::has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let (mut gpu, setup) = open(by(Resources::Descriptors, Profile::Full), 4096);
    let mut arena = gpu.arena(ArenaDesc::new(4, 4));
    let mut messages = |omitted: Option<Barrier>| {
        // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch
        // after another.
        unsafe { gpu.omit_barrier(omitted) };
        let counters = setup.counters.raw();
        let submitted = gpu.submit(|ctx, cmd| {
            let draw = Draw::new(5);
            let draws = [(PrimitiveTopology::TriangleStrip, draw)];
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                setup.record_draws(ctx, cmd, &mut arena, [None; 2], &draws)?;
                ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::TRANSFER);
                let region = vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 16 };
                ctx.device().cmd_copy_buffer(cmd, setup.target.raw(), counters, &[region]);
            }
            Ok(())
        });
        submitted.unwrap();
        gpu.take_messages()
    };
    assert_eq!(messages(None), []);
    let found = messages(Some(Barrier::CaptureToConsumer));
    let ids: Vec<&str> = found.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids, ["SYNC-HAZARD-READ-AFTER-WRITE"], "{found:?}");
}

/// An indirect draw uses few of the bound indices. The restart kernel processes all of them.
#[test]
fn few_of_many_indices_are_drawn() {
    const BOUND: u32 = 100_000;
    const DRAWN: u32 = 5000;
    // Segments of 100 indices: 49 whole ones, and 51 indices of the last.
    let primitives = DRAWN / 101 * 98 + (DRAWN % 101 - 2);
    let (mut gpu, setup) = open(OpenOptions::default(), 48 * u64::from(primitives) + 480);
    let size = u64::from(BOUND) * 2;
    let usage = gpu.context().buffer_usages(COMPUTE).index;
    let index = |i: u32| if i % 101 == 100 { u16::MAX } else { (i % 1000) as u16 };
    let data: Vec<u16> = (0..BOUND).map(index).collect();
    let indices = gpu.filled(usage, &data);
    let usage = gpu.context().buffer_usages(COMPUTE).indirect;
    let arguments = gpu.filled(usage, &[DRAWN, 1, 0, 0, 0]);
    let restarting = device::restarting_pipeline(&gpu, ProvokingVertex::First);
    let mut arena = gpu.arena(ArenaDesc {
        restarted_draws: 1,
        restarted_indices: BOUND.into(),
        ..ArenaDesc::new(1, 1)
    });
    let counter = setup.counter();
    let recorded = gpu.submit(|ctx, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            setup.record(ctx, cmd, &mut arena, [None, counter], |recorder| {
                recorder.bind_pipeline(&restarting)?;
                let index_type = IndexType::Uint16;
                recorder.bind_index_buffer(&IndexBuffer::new(indices.raw(), size, index_type))?;
                let draw = IndirectDraw {
                    buffer: arguments.raw(),
                    offset: 0,
                    draw_count: 1,
                    stride: 0,
                    count: None,
                };
                recorder.draw_indexed_indirect(PrimitiveTopology::TriangleStrip, &draw)
            })?;
        }
        Ok(())
    });
    recorded.unwrap();
    assert_eq!(setup.position(&mut gpu), 48 * primitives);
}

/// The error for what cannot be captured names the rule.
#[test]
fn refusals_name_the_rule() {
    let (mut gpu, setup) = open(OpenOptions::default(), 1024);
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    let counter = setup.counter();
    let Setup { pipeline, kernels, target, .. } = &setup;
    let errors = gpu.submit(|ctx, cmd| {
        let bound_buffers = [Some(CaptureBuffer::new(target.raw(), 1024))];
        let desc = CaptureDesc { buffers: &bound_buffers, ..CaptureDesc::new(pipeline) };
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut capture = Capture::new(ctx, kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            let strip = PrimitiveTopology::TriangleStrip;
            let indexed = recorder.draw_indexed(strip, &Default::default());
            let restart = recorder.set_primitive_restart(true);
            let query = recorder.end_query(vkxfb::runtime::QueryKind::PrimitivesGenerated, 0);
            let shared = recorder.end(&[counter, None, counter]).map(|_| ());
            let resumed = |counters| {
                let desc = CaptureDesc { counters, ..desc };
                Recorder::begin(&mut Capture::new(ctx, kernels), &mut *arena, cmd, &desc)?
                    .end(&[])
                    .map(|_| ())
            };
            // Two buffers may resume from the same counter.
            let [begun, many] = [&[counter; 2][..], &[None; 5]].map(resumed);
            begun?;
            let refused = [indexed, restart, query, shared, many];
            Ok(refused.map(|e| e.unwrap_err().to_string()))
        }
    });
    assert_eq!(
        errors.unwrap(),
        [
            "no index buffer is bound in the capture: bind one before (bind_index_buffer)",
            "primitive restart is enabled for a pipeline that was made without primitive restart",
            "no query of that kind is active",
            "counters 0 and 2 of the end of a capture are the same four bytes",
            "5 counters are given: a shader has at most 4 capture buffers",
        ]
    );
}
