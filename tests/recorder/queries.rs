//! Reads queries in every way that Vulkan has, and compares the results with the device's own
//! `VkQueryPool`s. A thread also polls while submissions are executed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ash::vk;
use ash::vk::QueryResultFlags as Flags;
use vkxfb::lower::Backend;
use vkxfb::runtime::Barrier;
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, ConsumerScope, Context, Draw, Kernels, QueryKind, QueryPool,
    QueryResult, ResultTarget, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Gpu, OpenOptions, Profile, Resources};
use vkxfb_probe::shaders::ProbeShader;

use super::setup::Setup;
use crate::common::device;
use crate::common::settings::has_validation;
use crate::common::skip::{Why, skip};
use crate::common::test_device::{Owned, TestDevice};

const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
const KINDS: [QueryKind; 2] = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated];
/// The number of records for which the capture buffer has room.
const ROOM: u32 = 100;
/// The contents of memory before results are written to it.
const BEFORE: u8 = 0xa5;
/// A timeout that is long enough for a submission on any machine.
const PATIENCE: Duration = Duration::from_secs(10_000);

/// Opens a device, to capture on by this backend.
fn open(resources: Resources, backend: Backend) -> (TestDevice, Setup) {
    let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
    let shader = ProbeShader::identify();
    let size = u64::from(ROOM * shader.stride(0).unwrap());
    let setup = Setup::new(&mut gpu, backend, &shader, size);
    (gpu, setup)
}

fn points(vertex_count: u32) -> Draw {
    Draw::new(vertex_count)
}

/// The counts of the queries of the differential test: `None` for a query that is only reset.
const COUNTED: [Option<u32>; 5] = [Some(7), None, Some(0), Some(ROOM + 5), None];

/// A native query pool and one of vkxfb. Queries 0, 2 and 3 of both have ended, and the others have
/// not begun.
struct Both {
    native: Owned<vk::QueryPool>,
    own: Owned<QueryPool>,
    gpu: TestDevice,
}

impl Both {
    /// Returns `None` if the device has no such queries.
    fn new(kind: QueryKind) -> Option<Self> {
        let (mut gpu, setup) = open(Resources::Best, Backend::Native);
        let has = gpu.draw_features().primitives_generated_query;
        if kind == QueryKind::PrimitivesGenerated && !has {
            return None;
        }
        let count = COUNTED.len() as u32;
        let query_type = match kind {
            QueryKind::TransformFeedbackStream => vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT,
            QueryKind::PrimitivesGenerated => vk::QueryType::PRIMITIVES_GENERATED_EXT,
        };
        let info = vk::QueryPoolCreateInfo::default().query_type(query_type).query_count(count);
        let device = gpu.context().device().clone();
        // SAFETY: the device is live, and the feature is enabled.
        let pool = unsafe { device.create_query_pool(&info, None) }.unwrap();
        // SAFETY: nothing uses the queries.
        let native = gpu.own(pool, |gpu, pool| unsafe {
            gpu.context().device().destroy_query_pool(pool, None);
        });
        let own = gpu.query_pool(kind, count);
        let mut arena = gpu.arena(ArenaDesc::new(8, 8));
        gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                device.cmd_reset_query_pool(cmd, pool, 0, count);
                for (query, counted) in (0..).zip(COUNTED) {
                    let Some(counted) = counted else { continue };
                    setup.record(ctx, cmd, &mut arena, [None; 2], |recorder| {
                        device.cmd_begin_query(cmd, pool, query, vk::QueryControlFlags::empty());
                        recorder.draw(POINTS, &points(counted))?;
                        device.cmd_end_query(cmd, pool, query);
                        Ok(())
                    })?;
                    ctx.capture_barrier(cmd, Backend::Native, ConsumerScope::TRANSFER);
                }
            }
            Ok(())
        })
        .unwrap();
        // The same by compute, in the same device.
        let size = setup.target.size();
        let setup = Setup::new(&mut gpu, Backend::Compute, &ProbeShader::identify(), size);
        gpu.submit(|ctx, cmd| {
            // SAFETY: as above.
            unsafe {
                for (query, counted) in (0..).zip(COUNTED) {
                    let Some(counted) = counted else { continue };
                    setup.record(ctx, cmd, &mut arena, [None; 2], |recorder| {
                        recorder.begin_query(&own, query, 0)?;
                        recorder.draw(POINTS, &points(counted))?;
                        recorder.end_query(kind, 0)
                    })?;
                }
            }
            Ok(())
        })
        .unwrap();
        Some(Self { native, own, gpu })
    }

    /// Returns whether the driver has results that can be compared. If partial results are
    /// requested, NVIDIA's driver (580.159.04) copies 0 even for queries that have ended.
    fn has_results(&self, flags: Flags) -> bool {
        let driver = self.gpu.capabilities().driver_id;
        !(driver == vk::DriverId::NVIDIA_PROPRIETARY && flags.contains(Flags::PARTIAL))
    }
}

/// Returns the contents of a buffer of [`BEFORE`] to which results were copied.
fn copied(
    gpu: &mut TestDevice,
    size: usize,
    copy: impl FnOnce(&Context, &mut Arena, &Kernels, vk::CommandBuffer, vk::Buffer),
) -> Vec<u8> {
    let usage = gpu.context().buffer_usages(Backend::Compute).query_results;
    let target = gpu.filled(usage, &vec![BEFORE; size]);
    let mut arena = gpu.arena(ArenaDesc::new(1, 0));
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        copy(ctx, &mut arena, &kernels, cmd, target.raw());
        Ok(())
    })
    .unwrap();
    gpu.contents(&target)
}

/// Returns every combination of flags for the results of queries.
fn all_flags() -> impl Iterator<Item = Flags> {
    let flags = [Flags::TYPE_64, Flags::WAIT, Flags::WITH_AVAILABILITY, Flags::PARTIAL];
    (0..1 << flags.len()).map(move |set: u32| {
        let chosen = (0..).zip(flags).filter(|(bit, _)| set & 1 << bit != 0);
        chosen.fold(Flags::empty(), |all, (_, flag)| all | flag)
    })
}

/// Returns ranges of queries, each with the number of integers of padding after each result.
fn ranges() -> impl Iterator<Item = (u32, u32, u64)> {
    let all = (0..5u32).flat_map(|first| (1..=5 - first).map(move |count| (first, count)));
    all.flat_map(|(first, count)| [0, 3].map(|padding| (first, count, padding)))
}

/// Returns whether all queries of a range have ended.
fn have_ended(first: u32, count: u32) -> bool {
    COUNTED[first as usize..][..count as usize].iter().all(Option::is_some)
}

/// Returns the results that Vulkan requires, from byte `offset` on, in memory that contains
/// [`BEFORE`], and whether they are complete. Queries that have not begun have counted 0.
fn model(
    kind: QueryKind,
    (first, count): (u32, u32),
    (offset, stride): (u64, u64),
    flags: Flags,
    len: usize,
) -> (Vec<u8>, bool) {
    let mut bytes = vec![BEFORE; len];
    let (integer, _) = sizes(kind, flags);
    let mut is_complete = true;
    for (start, counted) in (offset as usize..)
        .step_by(stride.max(1) as usize)
        .zip(&COUNTED[first as usize..])
        .take(count as usize)
    {
        let values = counted.or(flags.contains(Flags::PARTIAL).then_some(0));
        let written = if kind == QueryKind::PrimitivesGenerated { u32::MAX } else { ROOM };
        let integers = [values.map(|counted| counted.min(written)), values];
        let available = u32::from(counted.is_some());
        let available = flags.contains(Flags::WITH_AVAILABILITY).then_some(available);
        is_complete &= values.is_some();
        let integers = integers.into_iter().take(kind.values()).chain([available]);
        for (place, value) in integers.enumerate() {
            let Some(value) = value else { continue };
            let value = u64::from(value).to_le_bytes();
            let start = start + place * integer as usize;
            bytes[start..start + integer as usize].copy_from_slice(&value[..integer as usize]);
        }
    }
    (bytes, is_complete)
}

/// Returns the size in bytes of an integer, and that of a result.
fn sizes(kind: QueryKind, flags: Flags) -> (u64, u64) {
    let integer = if flags.contains(Flags::TYPE_64) { 8 } else { 4 };
    let availability = u64::from(flags.contains(Flags::WITH_AVAILABILITY));
    (integer, integer * (kind.values() as u64 + availability))
}

/// Compares `vkGetQueryPoolResults` of both pools, with all flags, ranges and strides: the bytes,
/// and the return value. (For a query that has not begun, lavapipe returns values of another query
/// as partial results.)
#[test]
fn the_host_reads_what_it_reads_natively() {
    for kind in KINDS {
        let Some(both) = Both::new(kind) else { continue };
        let device = both.gpu.context().device();
        for (flags, (first, count, padding)) in
            all_flags().flat_map(|flags| ranges().map(move |range| (flags, range)))
        {
            if flags.contains(Flags::WAIT) && !have_ended(first, count) {
                continue;
            }
            let (integer, size) = sizes(kind, flags);
            let stride = size + padding * integer;
            // No byte more than Vulkan asks for.
            let needed = (stride * u64::from(count - 1) + size) as usize;
            let mut own = vec![BEFORE; needed];
            let what = format!("{kind:?} {first} and {count} in all, {flags:?}");
            // SAFETY: the queries have been reset, and those that are waited for have ended.
            let is_complete = unsafe {
                both.own.results(first, count, &mut own, stride, flags, Duration::ZERO).unwrap()
            };
            let expected = model(kind, (first, count), (0, stride), flags, needed);
            assert_eq!((&own, is_complete), (&expected.0, expected.1), "{what}");
            if !both.has_results(flags) {
                continue;
            }
            let mut native = vec![BEFORE; needed];
            // SAFETY: as above.
            let returned = unsafe {
                (device.fp_v1_0().get_query_pool_results)(
                    device.handle(),
                    *both.native,
                    first,
                    count,
                    needed,
                    native.as_mut_ptr().cast(),
                    stride,
                    flags,
                )
            };
            assert_eq!(is_complete, returned == vk::Result::SUCCESS, "{what}: {returned:?}");
            if have_ended(first, count) || !flags.contains(Flags::PARTIAL) {
                assert_eq!(own, native, "{what}");
            }
        }
    }
}

/// Compares `vkCmdCopyQueryPoolResults` of both pools. (If availability is requested for a query
/// that has not begun, lavapipe overwrites its values, and memory after them, with zeros: these are
/// not compared.)
#[test]
fn the_device_copies_what_it_copies_natively() {
    for kind in KINDS {
        let Some(mut both) = Both::new(kind) else { continue };
        for (flags, (first, count, padding)) in
            all_flags().flat_map(|flags| ranges().map(move |range| (flags, range)))
        {
            if flags.contains(Flags::WAIT) && !have_ended(first, count) || count == 3 {
                continue;
            }
            let (integer, size) = sizes(kind, flags);
            let (offset, stride) = (3 * integer, size + padding * integer);
            let all = (offset + stride * u64::from(count) + 8) as usize;
            let is_compared = both.has_results(flags)
                && (have_ended(first, count) || flags & !Flags::TYPE_64 == Flags::empty());
            let Both { native, own, gpu } = &mut both;
            let found = copied(gpu, all, |ctx, arena, kernels, cmd, buffer| {
                let target = ResultTarget { buffer, offset, stride };
                // SAFETY: the buffer holds the results.
                unsafe { own.copy_results(ctx, arena, kernels, cmd, first, count, &target, flags) }
                    .unwrap();
            });
            let (expected, _) = model(kind, (first, count), (offset, stride), flags, all);
            let what = format!("{kind:?} {first} and {count} in all, {flags:?}");
            assert_eq!(found, expected, "{what}");
            if !is_compared {
                continue;
            }
            let copied = copied(gpu, all, |ctx, _, _, cmd, target| {
                // SAFETY: as above.
                unsafe {
                    ctx.device().cmd_copy_query_pool_results(
                        cmd, **native, first, count, target, offset, stride, flags,
                    );
                }
            });
            assert_eq!(found, copied, "{what}");
        }
    }
}

/// Submissions that are executed without waiting for them.
struct Flying {
    pool: vk::CommandPool,
    buffers: Vec<vk::CommandBuffer>,
    fence: vk::Fence,
}

impl Flying {
    fn new(gpu: &Gpu, count: u32) -> Self {
        let device = gpu.context().device();
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(gpu.queue().1);
        // SAFETY: the device is live.
        unsafe {
            let pool = device.create_command_pool(&info, None).unwrap();
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .command_buffer_count(count);
            let buffers = device.allocate_command_buffers(&info).unwrap();
            let fence = device.create_fence(&vk::FenceCreateInfo::default(), None).unwrap();
            Self { pool, buffers, fence }
        }
    }

    /// Records a command buffer that may be pending several times at once.
    fn record(
        &self,
        ctx: &Context,
        number: usize,
        record: impl FnOnce(vk::CommandBuffer) -> Result<(), RuntimeError>,
    ) {
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        let cmd = self.buffers[number];
        // SAFETY: the command buffer is not in use.
        unsafe {
            ctx.device().begin_command_buffer(cmd, &begin).unwrap();
            record(cmd).unwrap();
            ctx.device().end_command_buffer(cmd).unwrap();
        }
    }

    fn submit(&self, gpu: &Gpu, number: usize, fence: vk::Fence) {
        let buffers = [self.buffers[number]];
        let submit = vk::SubmitInfo::default().command_buffers(&buffers);
        // SAFETY: the command buffer is executable, and what it uses lives until `close`.
        unsafe { gpu.context().device().queue_submit(gpu.queue().0, &[submit], fence) }.unwrap();
    }

    /// Waits until the previous submissions are complete.
    fn wait(&self, gpu: &Gpu) {
        let device = gpu.context().device();
        let timeout = PATIENCE.as_nanos() as u64;
        // SAFETY: the fence was submitted.
        unsafe {
            device.wait_for_fences(&[self.fence], true, timeout).unwrap();
            device.reset_fences(&[self.fence]).unwrap();
        }
    }

    fn close(self, gpu: &Gpu) {
        let device = gpu.context().device();
        // SAFETY: everything was waited for.
        unsafe {
            device.queue_wait_idle(gpu.queue().0).unwrap();
            device.destroy_fence(self.fence, None);
            device.destroy_command_pool(self.pool, None);
        }
    }
}

/// The number of command buffers. Each resets a query, counts more points than the previous one in
/// three parts, and ends the query: by the CPU or, if it resumes from a counter, by the setup
/// kernel.
const WAYS: u32 = 8;

fn counted(way: u32) -> u32 {
    30 + 3 * way
}

/// Ends the polling thread when it is dropped, even if a test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Submits `count` command buffers without waiting while a thread polls. If the thread finds a
/// result that no command buffer produces, returns it.
fn poll(resources: Resources, count: u32, omitted: Option<Barrier>) -> Option<QueryResult> {
    let (mut gpu, setup) = open(resources, Backend::Compute);
    // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch after
    // another.
    unsafe { gpu.omit_barrier(omitted) };
    let pool = gpu.query_pool(QueryKind::TransformFeedbackStream, 2);
    let parts = 8 * u64::from(WAYS);
    let desc = ArenaSize { descriptor_sets: 8 * WAYS, ..ArenaDesc::new(parts, parts).into() };
    let mut arena = gpu.arena(desc);
    let (gpu, ctx) = (&*gpu, gpu.context());
    let flying = Flying::new(gpu, WAYS);
    for way in 0..WAYS {
        flying.record(ctx, way as usize, |cmd| {
            let draw = points(counted(way) / 3);
            // SAFETY: everything lives until the queue is idle.
            unsafe {
                pool.reset(ctx, cmd, 1, 1)?;
                let from = setup.counter().filter(|_| way % 2 == 1);
                for is_last in [false, false, true] {
                    setup.record(ctx, cmd, &mut arena, [from, None], |recorder| {
                        recorder.begin_query(&pool, 1, 0)?;
                        recorder.draw(POINTS, &draw)?;
                        if is_last {
                            recorder.end_query(pool.kind(), 0)?;
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        });
    }
    let result = |way| QueryResult {
        primitives_written: counted(way).into(),
        primitives_needed: counted(way).into(),
    };
    let expected: Vec<QueryResult> = (0..WAYS).map(result).collect();
    let (is_done, is_found) = (AtomicBool::new(false), AtomicBool::new(false));
    let wrong = std::thread::scope(|scope| {
        let poller = scope.spawn(|| {
            let mut data = [[0u64; 3]];
            while !is_done.load(Ordering::Relaxed) {
                // SAFETY: the device is live.
                let found = unsafe { pool.result(1) }.unwrap();
                let wrong = found.filter(|found| !expected.contains(found));
                // A partial result is not larger than any final one.
                let flags = Flags::TYPE_64 | Flags::PARTIAL | Flags::WITH_AVAILABILITY;
                let bytes = bytemuck::cast_slice_mut(&mut data);
                // SAFETY: as above.
                assert!(unsafe { pool.results(1, 1, bytes, 0, flags, PATIENCE) }.unwrap());
                let [[written, needed, available]] = data;
                let found = QueryResult { primitives_written: written, primitives_needed: needed };
                let is_possible = match available {
                    0 => written.max(needed) <= counted(WAYS - 1).into(),
                    _ => expected.contains(&found),
                };
                let wrong = wrong.or(Some(found).filter(|_| !is_possible));
                if wrong.is_some() {
                    is_found.store(true, Ordering::Relaxed);
                    return wrong;
                }
                // A CPU driver needs the processors, too.
                std::thread::yield_now();
            }
            None
        });
        let done = Done(&is_done);
        for number in 0..count {
            // Limits the number of pending submissions.
            let is_waited = number % 64 == 63 || number + 1 == count;
            let fence = if is_waited { flying.fence } else { vk::Fence::null() };
            flying.submit(gpu, (number % WAYS) as usize, fence);
            if is_waited {
                flying.wait(gpu);
            }
            if is_found.load(Ordering::Relaxed) && is_waited {
                break;
            }
        }
        drop(done);
        poller.join().unwrap()
    });
    flying.close(gpu);
    // SAFETY: the device is live.
    let last = unsafe { pool.result(1) }.unwrap();
    if wrong.is_none() {
        assert_eq!(last, Some(result((count - 1) % WAYS)));
    }
    wrong
}

#[test]
fn who_polls_finds_results_of_ends() {
    for resources in device::RESOURCES {
        assert_eq!(poll(resources, 4000, None), None);
    }
}

/// This test takes a minute or two.
#[test]
#[ignore = "takes long; run with --ignored"]
fn who_polls_long_finds_results_of_ends() {
    assert_eq!(poll(Resources::Best, 100_000, None), None);
}

/// Without the barrier, queries may end before everything is counted, and on this device they do.
/// The polling thread notices that.
#[test]
fn who_polls_finds_ends_before_what_they_count() {
    let omitted = Some(Barrier::ValuesToEnds);
    assert!(poll(Resources::Best, 100_000, omitted).is_some());
}

/// Both barriers of the end of a query are recorded: if either of them is omitted, there is one
/// less.
#[test]
fn no_barrier_of_an_end_can_be_left_out() {
    let (mut gpu, setup) = open(Resources::Best, Backend::Compute);
    let pool = gpu.query_pool(KINDS[0], 1);
    let mut barriers = |omitted| {
        // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch
        // after another.
        unsafe { gpu.omit_barrier(omitted) };
        let mut arena = gpu.arena(ArenaDesc::new(1, 2));
        let recorded = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            let recorded = unsafe {
                setup.record(ctx, cmd, &mut arena, [None; 2], |recorder| {
                    recorder.begin_query(&pool, 0, 0)?;
                    recorder.draw(POINTS, &points(1))?;
                    recorder.end_query(pool.kind(), 0)
                })
            };
            Ok(recorded?.barriers)
        });
        recorded.unwrap()
    };
    // There is another barrier before the counting.
    assert_eq!(barriers(None), 3);
    for omitted in [Barrier::ValuesToEnds, Barrier::EndsToHost] {
        assert_eq!(barriers(Some(omitted)), 2, "{omitted:?}");
    }
}

/// Synchronization validation reports both barriers of a reset between two queries, where kernels write queries by
/// descriptors.
#[test]
fn a_reset_without_its_barriers_is_reported() {
    if !has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let (mut gpu, setup) = open(Resources::Descriptors, Backend::Compute);
    let pool = gpu.query_pool(KINDS[0], 1);
    let mut messages = |omitted| {
        // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch
        // after another.
        unsafe { gpu.omit_barrier(omitted) };
        let mut arena = gpu.arena(ArenaDesc::new(2, 4));
        let submitted = gpu.submit(|ctx, cmd| {
            let mut count = || {
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    setup.record(ctx, cmd, &mut arena, [None; 2], |recorder| {
                        recorder.begin_query(&pool, 0, 0)?;
                        recorder.draw(POINTS, &points(1))?;
                        recorder.end_query(pool.kind(), 0)
                    })
                }
            };
            count()?;
            // SAFETY: as above.
            unsafe { pool.reset(ctx, cmd, 0, 1) }?;
            count()?;
            Ok(())
        });
        submitted.unwrap();
        gpu.take_messages()
    };
    assert_eq!(messages(None), []);
    for omitted in [Barrier::BeforeReset, Barrier::AfterReset] {
        let found = messages(Some(omitted));
        assert!(!found.is_empty(), "{omitted:?}");
        assert!(found.iter().all(|m| m.id.starts_with("SYNC-HAZARD")), "{omitted:?}: {found:?}");
    }
}

/// Waits with `WAIT` before the fence, and for a query that never ends.
#[test]
fn who_waits_needs_no_fence() {
    let (mut gpu, setup) = open(Resources::Best, Backend::Compute);
    let pools = KINDS.map(|kind| gpu.query_pool(kind, 3));
    let mut arena = gpu.arena(ArenaDesc::new(1, 4));
    let (gpu, ctx) = (&*gpu, gpu.context());
    let flying = Flying::new(gpu, 1);
    flying.record(ctx, 0, |cmd| {
        // SAFETY: everything lives until the queue is idle.
        unsafe {
            setup.record(ctx, cmd, &mut arena, [None; 2], |recorder| {
                for query in [0, 1] {
                    for pool in &pools {
                        recorder.begin_query(pool, query, 0)?;
                    }
                    recorder.draw(POINTS, &points(ROOM / 2 + 10 + query))?;
                    pools.iter().try_for_each(|pool| recorder.end_query(pool.kind(), 0))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    });
    flying.submit(gpu, 0, vk::Fence::null());
    let mut found = [0u32; 8];
    let bytes = bytemuck::cast_slice_mut(&mut found);
    let flags = Flags::WAIT | Flags::WITH_AVAILABILITY;
    // SAFETY: the device is live.
    unsafe {
        assert!(pools[0].results(0, 2, bytes, 16, flags, PATIENCE).unwrap());
        assert_eq!(found, [60, 60, 1, 0, 40, 61, 1, 0]);
        let mut found = [0u64; 2];
        let bytes = bytemuck::cast_slice_mut(&mut found);
        assert!(
            pools[1]
                .results(0, 2, bytes, 8, flags & Flags::WAIT | Flags::TYPE_64, PATIENCE)
                .unwrap()
        );
        assert_eq!(found, [60, 61]);

        let mut found = [7u32; 9];
        let bytes = bytemuck::cast_slice_mut(&mut found);
        let timeout = Duration::from_millis(2);
        let error = pools[0].results(0, 3, bytes, 12, flags, timeout).unwrap_err();
        assert_eq!(error.to_string(), "query 2 has not become available within 2ms");
        assert_eq!(found, [60, 60, 1, 40, 61, 1, 7, 7, 7]);
    }
    flying.close(gpu);
}

/// The host resets a query that the next submission uses again, and no other query.
#[test]
fn the_host_resets_queries() {
    for resources in device::RESOURCES {
        let (mut gpu, setup) = open(resources, Backend::Compute);
        let pool = gpu.query_pool(QueryKind::TransformFeedbackStream, 3);
        let ended = |query: u32, counted: u32| {
            // SAFETY: the device is live.
            let found = unsafe { pool.result(query) }.unwrap();
            let counted = counted.into();
            assert_eq!(
                found,
                Some(QueryResult { primitives_written: counted, primitives_needed: counted })
            );
        };
        let mut arena = gpu.arena(ArenaDesc::new(6, 6));
        let mut count = |gpu: &mut TestDevice, query, counted| {
            gpu.submit(|ctx, cmd| {
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    setup.record(ctx, cmd, &mut arena, [None; 2], |recorder| {
                        recorder.begin_query(&pool, query, 0)?;
                        recorder.draw(POINTS, &points(counted))?;
                        recorder.end_query(pool.kind(), 0)
                    })?;
                }
                Ok(())
            })
            .unwrap();
        };
        for query in 0..3 {
            count(&mut gpu, query, 10 + query);
        }
        (0..3).for_each(|query| ended(query, 10 + query));
        // SAFETY: no submission is under way.
        unsafe { pool.reset_by_host(1, 1) }.unwrap();
        // SAFETY: the device is live.
        assert_eq!(unsafe { pool.result(1) }.unwrap(), None);
        count(&mut gpu, 1, 20);
        [(0, 10), (1, 20), (2, 12)].into_iter().for_each(|(query, counted)| ended(query, counted));
        // SAFETY: no submission is under way.
        assert!(unsafe { pool.reset_by_host(2, 2) }.is_err());
    }
}

/// Results that do not fit in memory, and queries that do not exist, are refused with an error.
#[test]
fn what_is_no_result_is_refused() {
    let mut gpu = device::open(Profile::Full);
    let pool = gpu.query_pool(QueryKind::TransformFeedbackStream, 3);
    let other = device::open(Profile::Full);
    let results = |first, count, len: usize, stride, flags| {
        let mut data = vec![0; len];
        // SAFETY: the device is live.
        unsafe { pool.results(first, count, &mut data, stride, flags, PATIENCE) }
            .unwrap_err()
            .to_string()
    };
    let none = Flags::empty();
    assert_eq!(results(2, 2, 64, 8, none), "2 queries from number 2 on: the pool has 3");
    assert_eq!(results(0, 3, 23, 8, none), "the query results take 24 bytes: there are 23");
    assert_eq!(results(0, 2, 64, 4, none), "the stride of query results is 4 bytes: each takes 8");
    assert_eq!(
        results(0, 1, 64, 12, Flags::TYPE_64),
        "the stride of query results is 12 bytes: it must be a multiple of 8"
    );
    assert_eq!(
        results(0, 1, 64, 8, Flags::WITH_STATUS_KHR),
        "query results are asked for with WITH_STATUS_KHR, which queries of vkxfb do not have"
    );
    gpu.submit(|_, cmd| {
        // SAFETY: it is refused.
        let error = unsafe { pool.reset(other.context(), cmd, 0, 1) }.unwrap_err();
        assert_eq!(error.to_string(), "the query pool was made with another context");
        Ok(())
    })
    .unwrap();
}
