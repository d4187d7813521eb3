//! The least that captures: the positions of a triangle strip, of a vertex shader in WGSL, without vertex buffers.
//!
//! `cargo run --example minimal` prints them. examples/engine has vertex buffers, frames and much more.

use anyhow::{Context as _, Result, ensure};
use ash::{khr, vk};
use vkxfb::lower::compute;
use vkxfb::*;

/// A vertex at its number.
const SHADER: &str =
    "@vertex fn main(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    return vec4f(f32(vertex), 0.0, 0.0, 1.0);
}";
const VERTICES: u32 = 5;
/// A strip of five vertices is three triangles, of which every other one turns the other way round.
const EXPECTED: [f32; 9] = [0.0, 1.0, 2.0, 1.0, 3.0, 2.0, 2.0, 3.0, 4.0];

/// Captures, and checks what was captured.
pub fn main() -> Result<()> {
    // SAFETY: one thread, and all handles are of one device, which is idle before anything is destroyed.
    unsafe {
        let entry = ash::Entry::load()?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        // Devices that lack parts of Vulkan, such as those of macOS, are there for those only who ask for them.
        let portability = khr::portability_enumeration::NAME;
        let found = entry.enumerate_instance_extension_properties(None)?;
        let is_it =
            |found: &vk::ExtensionProperties| found.extension_name_as_c_str() == Ok(portability);
        let (mut flags, mut names) = (vk::InstanceCreateFlags::empty(), Vec::new());
        if found.iter().any(is_it) {
            flags = vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
            names.push(portability.as_ptr());
        }
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        let info = info.flags(flags).enabled_extension_names(&names);
        let instance = entry.create_instance(&info, None)?;
        let physical_device =
            *instance.enumerate_physical_devices()?.first().context("no Vulkan device")?;

        // The device is created with what captures by compute need beside what the application does.
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let (version, backends) = (application.api_version, &[Backend::Compute]);
        let (device, context) =
            Context::create_device(&entry, &instance, version, physical_device, info, backends)?;
        let mut allocator = SimpleAllocator::new(&instance, physical_device, &context);

        // A buffer to capture to, and a command buffer of a queue with compute.
        let usage = context.capture_buffer_usage(Backend::Compute);
        let size = (EXPECTED.len() * size_of::<[f32; 4]>()) as u64;
        let desc = BufferDesc::new("captured", size, usage, MemoryLocation::Readback);
        let captured = Buffer::new(&context, &mut allocator, &desc)?;
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let cmd = device.allocate_command_buffers(&info)?[0];
        device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())?;

        // Once: the shader becomes a compute pipeline that stores its position, 16 bytes a vertex.
        let spirv = frontend::wgsl::vertex_shader(SHADER, None)?;
        let list = CaptureList::new(16).output("@Position", 0);
        let vertex_input = VertexInput::default();
        let options = compute::Options::new(&vertex_input).target(context.compute_target()?);
        let lowered = compute::lower(&Shader::new(&spirv).captures(&list), &options)?;
        let pipeline = Pipeline::new(&context, &PipelineDesc::new(&lowered))?;
        let kernels = Kernels::new(&context)?;
        let mut arena = Arena::new(&context, &mut allocator, &ArenaDesc::for_draws(1, 1))?;
        let mut capture = Capture::new(&context, &kernels);

        // In each frame, outside of render passes: begin, draws, end, and a barrier for who reads.
        let buffers = [Some(CaptureBuffer::new(captured.raw(), captured.size()))];
        let desc = CaptureDesc::new(&pipeline).buffers(&buffers);
        let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
        recorder.draw(PrimitiveTopology::TriangleStrip, &Draw::new(VERTICES))?;
        recorder.end(&[])?;
        context.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);

        device.end_command_buffer(cmd)?;
        let cmds = [cmd];
        let submit = vk::SubmitInfo::default().command_buffers(&cmds);
        device.queue_submit(device.get_device_queue(0, 0), &[submit], vk::Fence::null())?;
        device.device_wait_idle()?;
        captured.invalidate(&context)?;
        let positions: Vec<[f32; 4]> = bytemuck::cast_slice(captured.mapped()).to_vec();
        println!("{positions:?}");
        ensure!(positions == EXPECTED.map(|x| [x, 0.0, 0.0, 1.0]), "not the vertices of the strip");

        device.destroy_command_pool(pool, None);
        context.destroy((captured, arena, kernels, pipeline), &mut allocator);
        device.destroy_device(None);
        instance.destroy_instance(None);
    }
    Ok(())
}
