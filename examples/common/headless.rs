//! A device that shows nothing, and frames of which two are in flight.

use anyhow::{Context as _, Result};
use ash::vk;
use vkxfb::Device;

use super::validation::{self, Validation};

const API_VERSION: u32 = vk::API_VERSION_1_2;

/// The first device, with a queue that computes.
pub struct Headless {
    pub xfb: Device,
    _entry: ash::Entry,
    instance: ash::Instance,
    validation: Option<Validation>,
    queue: vk::Queue,
    pool: vk::CommandPool,
    frames: [Frame; Device::FRAMES_IN_FLIGHT],
}

/// The commands of a frame, and the fence that is signalled when they were executed.
struct Frame {
    cmd: vk::CommandBuffer,
    fence: vk::Fence,
}

impl Headless {
    /// Opens it.
    ///
    /// # Safety
    /// What is made with it is passed to `close`.
    pub unsafe fn open() -> Result<Self> {
        // SAFETY: all handles are of one instance, and the structures are valid.
        unsafe {
            let entry = ash::Entry::load()?;
            let application = vk::ApplicationInfo::default().api_version(API_VERSION);
            let (instance, validation) = validation::create_instance(&entry, &application)?;
            let gpu =
                *instance.enumerate_physical_devices()?.first().context("no Vulkan device")?;
            let families = instance.get_physical_device_queue_family_properties(gpu);
            let computes = |family: &vk::QueueFamilyProperties| {
                family.queue_flags.contains(vk::QueueFlags::COMPUTE)
            };
            let family = families.iter().position(computes).context("no queue that computes")?;
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family as u32)
                .queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let xfb = Device::create(&entry, &instance, API_VERSION, gpu, info)?;
            let device = xfb.raw();
            let info = vk::CommandPoolCreateInfo::default()
                .queue_family_index(family as u32)
                .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
            let pool = device.create_command_pool(&info, None)?;
            let frame = || {
                let info = vk::CommandBufferAllocateInfo::default().command_pool(pool);
                let cmds = device.allocate_command_buffers(&info.command_buffer_count(1))?;
                let info = vk::FenceCreateInfo::default().flags(vk::FenceCreateFlags::SIGNALED);
                anyhow::Ok(Frame { cmd: cmds[0], fence: device.create_fence(&info, None)? })
            };
            let (frames, queue) = ([frame()?, frame()?], device.get_device_queue(family as u32, 0));
            Ok(Self { xfb, _entry: entry, instance, validation, queue, pool, frames })
        }
    }

    /// Records a frame and submits it, once the device has finished the frame before the last.
    ///
    /// # Safety
    /// What is recorded is valid, and lives until the device is idle.
    pub unsafe fn frame(
        &mut self,
        record: impl FnOnce(&mut Device, vk::CommandBuffer) -> Result<()>,
    ) -> Result<()> {
        self.frames.rotate_left(1);
        let Frame { cmd, fence } = self.frames[0];
        let device = self.xfb.raw().clone();
        // SAFETY: the caller's contract; the fence says that the commands are not executed any more.
        unsafe {
            device.wait_for_fences(&[fence], true, u64::MAX)?;
            device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())?;
            self.xfb.next_frame();
            record(&mut self.xfb, cmd)?;
            device.end_command_buffer(cmd)?;
            device.reset_fences(&[fence])?;
            let cmds = [cmd];
            let submit = vk::SubmitInfo::default().command_buffers(&cmds);
            Ok(device.queue_submit(self.queue, &[submit], fence)?)
        }
    }

    /// Waits until the device has executed all frames.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the device is live.
        Ok(unsafe { self.xfb.raw().device_wait_idle() }?)
    }

    /// Destroys the device, and what was made with it. Fails if the validation layer has said anything.
    ///
    /// # Safety
    /// Nothing of the device is used any more.
    pub unsafe fn close(
        self,
        objects: impl vkxfb::runtime::Destroy<dyn vkxfb::runtime::MemoryAllocator + Send + Sync>,
    ) -> Result<()> {
        self.wait()?;
        let device = self.xfb.raw();
        // SAFETY: the caller's contract, and the device is idle.
        unsafe {
            for Frame { fence, .. } in &self.frames {
                device.destroy_fence(*fence, None);
            }
            device.destroy_command_pool(self.pool, None);
            self.xfb.destroy(objects);
            let closed = self.validation.map_or(Ok(()), |validation| validation.close());
            self.instance.destroy_instance(None);
            closed
        }
    }
}
