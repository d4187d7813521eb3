//! [`Device`], the object that owns everything that captures need.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ash::vk;
use vkxfb::runtime::{Profile, RuntimeError};
use vkxfb::{
    Buffer, CaptureDesc, ConsumerScope, CounterBuffer, Device, Draw, MemoryLocation, Pipeline,
    PrimitiveTopology, Recorder, Stages,
};

use crate::common::bare::BareInstance;
use crate::common::settings::alone;
use crate::common::{CAPTURES, compile};

const POINTS: vk::PrimitiveTopology = vk::PrimitiveTopology::POINT_LIST;
/// The room of the capture buffer, in vertices of 4 bytes.
const ROOM: u32 = 16;
/// What is not captured to.
const UNTOUCHED: u32 = 0xcccc_cccc;

/// A device of its own, with the validation layer.
struct Whole {
    xfb: Device,
    pipeline: Pipeline,
    captured: Buffer,
    counter: Buffer,
    pool: vk::CommandPool,
    cmd: vk::CommandBuffer,
    /// Dropped after the device is destroyed. It fails the test if the validation layer has said anything.
    _instance: BareInstance,
}

impl Whole {
    /// Runs a test with each profile.
    fn test(test: impl Fn(&mut Self)) {
        for profile in [Profile::Full, Profile::NoAddresses, Profile::Bifrost] {
            Self::test_as(profile, &test);
        }
    }

    fn test_as(profile: Profile, test: impl FnOnce(&mut Self)) {
        let instance = BareInstance::open();
        // SAFETY: the handles are of one live device, and the structures are valid; the device is idle when they are
        // destroyed.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let mut xfb = {
                let _alone = alone();
                let (version, gpu) = (vk::API_VERSION_1_3, instance.physical_device());
                Device::create_with_profile(&entry, &instance.raw, version, gpu, info, profile)
                    .unwrap()
            };
            let pipeline = xfb.pipeline(&Stages::new(&compile(CAPTURES, &[]))).unwrap();
            let size = u64::from(ROOM) * 4;
            let captured = xfb.buffer("captured", size, MemoryLocation::Readback).unwrap();
            let counter = xfb.buffer("counter", 4, MemoryLocation::Device).unwrap();
            let info = vk::CommandPoolCreateInfo::default()
                .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
            let pool = xfb.raw().create_command_pool(&info, None).unwrap();
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool);
            let cmd = xfb.raw().allocate_command_buffers(&info.command_buffer_count(1)).unwrap()[0];
            let mut whole =
                Self { xfb, pipeline, captured, counter, pool, cmd, _instance: instance };
            test(&mut whole);
            let Self { xfb, pipeline, captured, counter, pool, _instance, .. } = whole;
            xfb.raw().destroy_command_pool(pool, None);
            let _alone = alone();
            xfb.destroy((pipeline, [captured, counter]));
        }
    }

    /// Records commands, submits them, and returns the dwords of the capture buffer after that.
    fn run(&mut self, record: impl FnOnce(&mut Self)) -> Vec<u32> {
        // SAFETY: nothing else uses the command buffer and the buffers, and the submission is waited for.
        unsafe {
            self.captured.mapped_mut().fill(UNTOUCHED as u8);
            self.captured.flush(self.xfb.context()).unwrap();
            let device = self.xfb.raw().clone();
            let begin = vk::CommandBufferBeginInfo::default();
            device.begin_command_buffer(self.cmd, &begin).unwrap();
            record(self);
            device.end_command_buffer(self.cmd).unwrap();
            let cmds = [self.cmd];
            let submits = [vk::SubmitInfo::default().command_buffers(&cmds)];
            let queue = device.get_device_queue(0, 0);
            device.queue_submit(queue, &submits, vk::Fence::null()).unwrap();
            device.device_wait_idle().unwrap();
            bytemuck::cast_slice(self.xfb.read(&self.captured).unwrap()).to_vec()
        }
    }

    /// Records a capture. `resumes` says whether it goes on where the one before ended.
    fn capture(
        &mut self,
        resumes: bool,
        draw: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let counters = [Some(CounterBuffer::new(self.counter.raw()))];
        let desc = CaptureDesc {
            buffers: self.captured.as_capture_buffers(),
            counters: if resumes { &counters } else { &[] },
            ..CaptureDesc::new(&self.pipeline)
        };
        let (cmd, readers) = (self.cmd, ConsumerScope::HOST | ConsumerScope::TRANSFER);
        // SAFETY: the handles live until the command buffer is reset.
        unsafe { self.xfb.capture_with_counters(cmd, &desc, &counters, readers, draw) }.map(drop)
    }
}

fn vertices(first: u32, count: u32) -> Draw {
    Draw { first_vertex: first, ..Draw::new(count) }
}

/// Returns the numbers of these vertices, and after them what is in the rest of the capture buffer.
fn expected(numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let untouched = std::iter::repeat(UNTOUCHED);
    numbers.into_iter().chain(untouched).take(ROOM as usize).collect()
}

/// Captures in one command buffer need no barrier of the application between them: the second goes on at the counter that
/// the first one writes, and both accept a topology of Vulkan or of this crate.
#[test]
fn captures_follow_each_other() {
    Whole::test(|whole| {
        let captured = whole.run(|whole| {
            // SAFETY: the draws read no buffers.
            let first =
                |recorder: &mut Recorder<'_>| unsafe { recorder.draw(POINTS, &vertices(3, 2)) };
            // SAFETY: as above.
            let second = |recorder: &mut Recorder<'_>| unsafe {
                recorder.draw(PrimitiveTopology::PointList, &vertices(7, 3))
            };
            whole.capture(false, first).unwrap();
            whole.capture(true, second).unwrap();
        });
        assert_eq!(captured, expected([3, 4, 7, 8, 9]));
    });
}

/// What reads a capture in the stages of its consumer has read it before the next capture overwrites it.
#[test]
fn captures_wait_for_what_read_the_one_before() {
    Whole::test(|whole| {
        let size = whole.captured.size();
        // SAFETY: the device is live.
        let copy = unsafe { whole.xfb.buffer("copy", size, MemoryLocation::Readback) }.unwrap();
        let captured = whole.run(|whole| {
            for first in [3, 8] {
                // SAFETY: the draws read no buffers.
                let draw = |recorder: &mut Recorder<'_>| unsafe {
                    recorder.draw(POINTS, &vertices(first, ROOM))
                };
                // Without counters no barrier of a kernel orders them by chance.
                let buffers = whole.captured.as_capture_buffers();
                let desc = CaptureDesc { buffers, ..CaptureDesc::new(&whole.pipeline) };
                let (cmd, readers) = (whole.cmd, ConsumerScope::HOST | ConsumerScope::TRANSFER);
                // SAFETY: the handles live until the submission is done.
                unsafe { whole.xfb.capture(cmd, &desc, readers, draw) }.unwrap();
                if first == 3 {
                    let regions = [vk::BufferCopy::default().size(size)];
                    let (device, from) = (whole.xfb.raw(), whole.captured.raw());
                    // SAFETY: both buffers have that size, and live until the submission is done.
                    unsafe { device.cmd_copy_buffer(whole.cmd, from, copy.raw(), &regions) };
                }
            }
        });
        assert_eq!(captured, expected(8..));
        // SAFETY: the submission was waited for; the copy is used no more.
        unsafe {
            let copied = bytemuck::cast_slice::<u8, u32>(whole.xfb.read(&copy).unwrap()).to_vec();
            assert_eq!(copied, expected(3..));
            whole.xfb.context().clone().destroy(copy, whole.xfb.allocator());
        }
    });
}

/// What a closure drew before it failed is not recorded, and the next capture does not have it.
#[test]
fn nothing_is_recorded_after_an_error_or_a_panic() {
    Whole::test(|whole| {
        let captured = whole.run(|whole| {
            let unknown = vk::PrimitiveTopology::from_raw(99);
            // SAFETY: the draws read no buffers.
            let fails = |recorder: &mut Recorder<'_>| unsafe {
                recorder.draw(POINTS, &vertices(0, 5))?;
                recorder.draw(unknown, &vertices(0, 5))
            };
            let error = whole.capture(false, fails).unwrap_err();
            assert!(matches!(error, RuntimeError::UnknownTopology(given) if given == unknown));
            assert_eq!(error.to_string(), "VkPrimitiveTopology(99) is no topology");
            // SAFETY: as above.
            let panics = |recorder: &mut Recorder<'_>| unsafe {
                recorder.draw(POINTS, &vertices(0, 5))?;
                std::panic::resume_unwind(Box::new("on purpose"))
            };
            let caught = catch_unwind(AssertUnwindSafe(|| whole.capture(false, panics)));
            assert!(caught.is_err());
        });
        assert_eq!(captured, expected([]));
        let captured = whole.run(|whole| {
            // SAFETY: as above.
            let draw =
                |recorder: &mut Recorder<'_>| unsafe { recorder.draw(POINTS, &vertices(1, 1)) };
            whole.capture(false, draw).unwrap();
        });
        assert_eq!(captured, expected([1]));
    });
}

/// A frame may have more draws than the arenas were made for, and the memory of frames is used again.
#[test]
fn frames_use_the_same_memory_and_grow_it() {
    Whole::test(|whole| {
        // SAFETY: nothing was recorded yet.
        unsafe { whole.xfb.set_frames_in_flight(3) }.unwrap();
        for frame in 0..7 {
            // SAFETY: `run` waits for each frame.
            unsafe { whole.xfb.next_frame() };
            let captured = whole.run(|whole| {
                for number in 0..200 {
                    // Each draw with push constants or buffers of its own would need memory of its own; so do captures.
                    // SAFETY: the draws read no buffers.
                    let draw = |recorder: &mut Recorder<'_>| unsafe {
                        recorder.draw(POINTS, &vertices(frame * 1000 + number, 1))
                    };
                    whole.capture(number != 0, draw).unwrap();
                }
            });
            assert_eq!(captured, expected((0..ROOM).map(|number| frame * 1000 + number)));
        }
    });
}

/// A device of the application is adopted by what it was created with.
#[test]
fn a_device_of_the_application_is_adopted() {
    let instance = BareInstance::open();
    let physical_device = instance.physical_device();
    // SAFETY: the handles are of one live device, and the structures are valid.
    unsafe {
        let entry = ash::Entry::load().unwrap();
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let mut vulkan12 =
            vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        let info =
            vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut vulkan12);
        let device = instance.create_device(&info);
        let adopted = |info: &vk::DeviceCreateInfo<'_>| {
            let (raw, version) = (&instance.raw, vk::API_VERSION_1_3);
            Device::from_existing(&entry, raw, version, physical_device, &device, info)
        };
        let mut xfb = adopted(&info).unwrap();
        assert_eq!(xfb.raw().handle(), device.handle());
        let buffer = xfb.buffer("buffer", 100, MemoryLocation::Device).unwrap();
        assert!(buffer.usage().contains(xfb.buffer_usage()));
        xfb.destroy(buffer);
        let error = adopted(&vk::DeviceCreateInfo::default()).unwrap_err();
        assert!(matches!(error, RuntimeError::Unavailable(_)), "{error}");
        instance.destroy_device(&device);
    }
}
