//! Captures as values: they are kept, played into several command buffers, and not lost if an error
//! occurs.

use vkxfb::runtime::{
    ArenaDesc, ArenaSize, CaptureDesc, ConsumerScope, Context, Draw, Recorder, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{OpenOptions, Profile, Resources};
use vkxfb_probe::shaders::ProbeShader;

use super::setup::{COMPUTE, Setup};
use crate::common::test_device::TestDevice;
use crate::common::{self, device};

const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
/// The size of a record in bytes.
const STRIDE: u64 = 16;
/// The contents of memory before data is captured to it.
const BEFORE: u8 = 0xa5;

/// Records draws of one point each, with vertex indices that count up from `first`.
fn draw(recorder: &mut Recorder<'_>, first: u32, count: u32) -> Result<(), RuntimeError> {
    for number in first..first + count {
        let draw = Draw { first_vertex: number, ..Draw::new(1) };
        // SAFETY: what the captures are begun with outlives the submissions, which are waited for.
        unsafe { recorder.draw(POINTS, &draw) }?;
    }
    Ok(())
}

/// Opens a device, to capture to a buffer that has room for this many records.
fn open(profile: Profile, resources: Resources, records: u32) -> (TestDevice, Setup) {
    let mut gpu = device::open_with(OpenOptions { profile, resources, ..Default::default() });
    let size = u64::from(records) * STRIDE;
    let setup = Setup::new(&mut gpu, COMPUTE, &ProbeShader::identify(), size);
    (gpu, setup)
}

impl Setup {
    /// Overwrites the capture buffer, and sets the counter to the position of this record.
    fn prepare(&self, gpu: &mut TestDevice, record: u32) {
        self.overwrite(gpu, BEFORE, (u64::from(record) * STRIDE) as u32);
    }

    /// Checks the counter, and that exactly these vertices were captured, from this record on.
    fn check(&self, gpu: &mut TestDevice, record: u32, vertices: u32, what: &str) {
        let shader = ProbeShader::identify();
        let mut expected = vec![BEFORE; self.target.size() as usize];
        let records = expected.chunks_mut(STRIDE as usize).skip(record as usize);
        records.zip(0..vertices).for_each(|(bytes, vertex)| shader.record(0, 0, vertex, bytes));
        let found: Vec<u8> = gpu.contents(&self.target);
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(differs, None, "{what}: first byte that differs");
        let position = u64::from(record + vertices) * STRIDE;
        assert_eq!(u64::from(self.position(gpu)), position, "{what}");
    }
}

const WAYS: [(Profile, Resources); 4] = [
    (Profile::Full, Resources::Best),
    (Profile::Full, Resources::Descriptors),
    (Profile::Bifrost, Resources::Best),
    (Profile::Bifrost, Resources::Descriptors),
];

/// Runs a test with a capture from the start, and with one that resumes from a counter whose value
/// only the GPU knows.
fn each(records: u32, test: impl Fn(&mut TestDevice, &Setup, Option<u32>, &str)) {
    for (profile, resources) in WAYS {
        let (mut gpu, setup) = open(profile, resources, records);
        for resumed in [None, Some(3)] {
            let what = format!("{profile:?} {resources:?} {resumed:?}");
            setup.prepare(&mut gpu, resumed.unwrap_or(0));
            test(&mut gpu, &setup, resumed, &what);
        }
    }
}

fn host_barrier(ctx: &Context, cmd: ash::vk::CommandBuffer) {
    // SAFETY: the command buffer is being recorded outside of a render pass instance.
    unsafe { ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::HOST) };
}

/// A capture can be played several times, into any command buffer and with any arena. Each time it
/// starts at the same position.
#[test]
fn a_capture_is_played_as_often_as_needed() {
    const DRAWS: u32 = 40;
    each(64, |gpu, setup, resumed, what| {
        let mut capture = gpu.new_capture();
        let (targets, counters) = (setup.buffers(), [setup.counter()]);
        let begun = match resumed {
            Some(_) => &counters[..],
            None => &[],
        };
        let desc =
            CaptureDesc { buffers: &targets, counters: begun, ..CaptureDesc::new(&setup.pipeline) };
        // SAFETY: all outlives the submissions, which are waited for.
        unsafe {
            capture.begin(&desc).unwrap();
            draw(&mut capture.recorder(), 0, DRAWS).unwrap();
            assert!(!capture.is_empty());
            capture.end(&counters).unwrap();
        }
        let written = u64::from(DRAWS);
        for time in 0..3 {
            setup.prepare(gpu, resumed.unwrap_or(0));
            let mut arena = gpu.arena(ArenaDesc::new(1, written));
            let recorded = gpu.submit(|ctx, cmd| {
                // SAFETY: as above.
                let recorded = unsafe { capture.play(&mut *arena, cmd) }?;
                host_barrier(ctx, cmd);
                Ok(recorded)
            });
            let captured = recorded.unwrap().captured;
            let captured =
                captured.map(|c| (c.primitives_written, c.primitives_needed, c.positions));
            let known = (written, written, [written * STRIDE, 0, 0, 0]);
            assert_eq!(captured, resumed.is_none().then_some(known), "{what}");
            setup.check(gpu, resumed.unwrap_or(0), DRAWS, &format!("{what}, time {time}"));
        }
    });
}

/// If an arena has too little memory, draws are not recorded, but they are not lost either: this
/// applies to the end of a capture, and to playing a capture.
#[test]
fn what_is_refused_is_not_lost() {
    const DRAWS: u32 = 300;
    each(512, |gpu, setup, resumed, what| {
        let mut capture = gpu.new_capture();
        let (targets, counters) = (setup.buffers(), [setup.counter()]);
        let mut arena = gpu.arena(ArenaSize { descriptor_sets: 8, ..ArenaDesc::new(1, 4).into() });
        let desc = CaptureDesc {
            buffers: &targets,
            counters: if resumed.is_some() { &counters } else { &[] },
            ..CaptureDesc::new(&setup.pipeline)
        };
        let recorded = gpu.submit_growing(|ctx, allocator, cmd| {
            // SAFETY: all outlives the submission, which is waited for.
            unsafe {
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                draw(&mut recorder, 0, DRAWS)?;
                let full = recorder.end(&counters).unwrap_err();
                assert!(matches!(full, RuntimeError::ArenaFull { .. }), "{what}: {full}");
                let full = capture.play(&mut *arena, cmd).unwrap_err();
                assert!(matches!(full, RuntimeError::ArenaFull { .. }), "{what}: {full}");
                let recorded = capture.play(arena.growing(allocator), cmd)?;
                host_barrier(ctx, cmd);
                Ok(recorded)
            }
        });
        let captured = recorded.unwrap().captured.map(|captured| captured.primitives_written);
        assert_eq!(captured, resumed.is_none().then_some(u64::from(DRAWS)), "{what}");
        setup.check(gpu, resumed.unwrap_or(0), DRAWS, what);
    });
}

/// One access to a growing arena is enough for several recordings, and the arena grows in each of
/// them.
#[test]
fn an_access_that_grows_serves_two_recordings() {
    const DRAWS: u32 = 300;
    for (profile, resources) in &WAYS[..2] {
        let (mut gpu, setup) = open(*profile, *resources, 2 * DRAWS);
        let what = format!("{profile:?} {resources:?}");
        setup.prepare(&mut gpu, 0);
        let mut capture = gpu.new_capture();
        let desc = ArenaSize { upload: 4 << 10, scratch: 4 << 10, descriptor_sets: 1 };
        let mut arena = gpu.arena(desc);
        let (targets, counters) = (setup.buffers(), [setup.counter()]);
        let recorded = gpu.submit_growing(|ctx, allocator, cmd| {
            // SAFETY: all outlives the submission, which is waited for.
            unsafe {
                let mut access = arena.growing(allocator);
                for half in 0..2 {
                    let desc =
                        CaptureDesc { buffers: &targets, ..CaptureDesc::new(&setup.pipeline) };
                    let desc =
                        if half == 0 { desc } else { CaptureDesc { counters: &counters, ..desc } };
                    let mut recorder = Recorder::begin(&mut capture, &mut access, cmd, &desc)?;
                    draw(&mut recorder, half * DRAWS, DRAWS)?;
                    recorder.end(&counters)?;
                    ctx.capture_barrier(cmd, COMPUTE, ConsumerScope::COMPUTE_SHADER);
                }
                host_barrier(ctx, cmd);
            }
            Ok(())
        });
        recorded.unwrap();
        assert!(arena.capacity().upload > 4 << 10, "{what}");
        setup.check(&mut gpu, 0, 2 * DRAWS, &what);
    }
}

/// A growing arena loses no draw, however small it was at first. The next capture can use the
/// memory that was added.
#[test]
fn an_arena_grows_to_what_is_drawn() {
    let draws = common::settings::cases("VKXFB_CAPTURED_DRAWS", 100_000) as u32;
    for (profile, resources) in &WAYS[..2] {
        let (mut gpu, setup) = open(*profile, *resources, draws + 3);
        let mut capture = gpu.new_capture();
        let desc = ArenaSize { upload: 4 << 10, scratch: 4 << 10, descriptor_sets: 1 };
        let mut arena = gpu.arena(desc);
        for resumed in [None, Some(3), Some(3)] {
            let what = format!("{profile:?} {resources:?} {resumed:?}");
            setup.prepare(&mut gpu, resumed.unwrap_or(0));
            let (targets, counters) = (setup.buffers(), [setup.counter()]);
            let desc = CaptureDesc { buffers: &targets, ..CaptureDesc::new(&setup.pipeline) };
            let before = arena.capacity();
            gpu.submit_growing(|ctx, allocator, cmd| {
                // SAFETY: all outlives the submission, which is waited for.
                unsafe {
                    arena.reset();
                    let mut arena = arena.growing(allocator);
                    let mut first = 0;
                    for count in [10, 100, 10, draws / 2, draws - draws / 2 - 120] {
                        let begins =
                            if first > 0 || resumed.is_some() { &counters[..] } else { &[] };
                        let desc = CaptureDesc { counters: begins, ..desc };
                        let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
                        draw(&mut recorder, first, count)?;
                        recorder.end(&counters)?;
                        first += count;
                    }
                    host_barrier(ctx, cmd);
                }
                Ok(())
            })
            .unwrap();
            setup.check(&mut gpu, resumed.unwrap_or(0), draws, &what);
            let grown = arena.capacity();
            assert!(grown.upload >= before.upload && grown.scratch >= before.scratch, "{what}");
        }
    }
}
