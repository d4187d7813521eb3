//! The least that captures: `cargo run --example minimal` prints the positions of a triangle strip.

use anyhow::{Context as _, Result};
use ash::vk;
use vkxfb::{CaptureDesc, ConsumerScope, Device, Draw, MemoryLocation, Stages};

/// A vertex at its number.
const SHADER: &str = "@vertex fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
    return vec4f(f32(i), 0.0, 0.0, 1.0); }";

/// Captures the three triangles of a strip, of which every other one turns the other way round.
pub fn capture() -> Result<Vec<[f32; 4]>> {
    // SAFETY: all handles are of one device, which is idle before anything is read or destroyed.
    unsafe {
        let entry = ash::Entry::load()?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&info, None)?;
        let gpu = *instance.enumerate_physical_devices()?.first().context("no Vulkan device")?;
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let mut xfb = Device::create(&entry, &instance, application.api_version, gpu, info)?;
        let captured = xfb.buffer("captured", 3 * 3 * 16, MemoryLocation::Readback)?;
        let spirv = vkxfb::frontend::wgsl::vertex_shader(SHADER, None)?;
        let pipeline = xfb.pipeline(&Stages::new(&spirv).varyings(&["@Position"]))?;
        let device = xfb.raw().clone();
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool);
        let cmd = device.allocate_command_buffers(&info.command_buffer_count(1))?;
        device.begin_command_buffer(cmd[0], &vk::CommandBufferBeginInfo::default())?;
        let buffers = captured.as_capture_buffers();
        let desc = CaptureDesc { buffers, ..CaptureDesc::new(&pipeline) };
        xfb.capture(cmd[0], &desc, ConsumerScope::HOST, |recorder| {
            recorder.draw(vk::PrimitiveTopology::TRIANGLE_STRIP, &Draw::new(5))
        })?;
        device.end_command_buffer(cmd[0])?;
        let submit = [vk::SubmitInfo::default().command_buffers(&cmd)];
        device.queue_submit(device.get_device_queue(0, 0), &submit, vk::Fence::null())?;
        device.device_wait_idle()?;
        let positions = bytemuck::cast_slice(xfb.read(&captured)?).to_vec();
        device.destroy_command_pool(pool, None);
        xfb.destroy((captured, pipeline));
        instance.destroy_instance(None);
        Ok(positions)
    }
}

fn main() -> Result<()> {
    capture().map(|positions| println!("{positions:?}"))
}
