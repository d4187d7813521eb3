//! Transform feedback in a Vulkan application whose driver may have none.
//!
//! The application creates its instance, device, memory and command buffer as ever, asks vkxfb what to
//! enable, and records a capture of a triangle strip and a triangle fan. Run it with
//! `cargo run --example embed`. [`make_pipeline`] and [`capture`] are what the README shows.

use std::path::Path;

use anyhow::{Context as _, Result};
use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use vkxfb::lower::compute;
use vkxfb::runtime::Captured;
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::{
    Arena, ArenaDesc, Backend, Buffer, BufferDesc, Capabilities, Capture, CaptureBuffer,
    CaptureDesc, ConsumerScope, Context, Draw, Kernels, MemoryLocation, Pipeline, PipelineDesc,
    PrimitiveTopology, Recorded, Recorder, RuntimeError, Shader, VertexBuffer, VertexInput,
    required_features,
};

const API_VERSION: u32 = vk::API_VERSION_1_2;
/// Vertices of each draw.
const VERTICES: u32 = 5;

/// The captured record: the position, and its components in reverse plus 1.
pub type Record = [[f32; 4]; 2];

/// Runs the example.
pub fn main() -> Result<()> {
    let (captured, records) = run()?;
    println!("{} primitives written", captured.primitives_written);
    for (primitive, records) in records.chunks(3).enumerate() {
        let vertices: Vec<String> = records.iter().map(|r| format!("v{}", r[0][0])).collect();
        println!("primitive {primitive}: {}", vertices.join(" "));
    }
    Ok(())
}

/// Captures vertices whose position begins with their number.
pub fn run() -> Result<(Captured, Vec<Record>)> {
    // SAFETY: one thread, no other Vulkan object; everything is destroyed in the reverse order, when the
    // device is idle.
    unsafe {
        let entry = ash::Entry::load()?;
        let application = vk::ApplicationInfo::default().api_version(API_VERSION);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&info, None)?;
        let physical_device =
            *instance.enumerate_physical_devices()?.first().context("no Vulkan device")?;

        // What the backend needs is added to what the application enables for itself.
        let capabilities = Capabilities::query(&entry, &instance, API_VERSION, physical_device)?;
        println!("{}", capabilities.device_name);
        let required = required_features(&capabilities, &[Backend::Compute])?;
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(0)
            .queue_priorities(&priorities)];
        let device = required.with_create_info(
            vk::DeviceCreateInfo::default().queue_create_infos(&queues),
            |info| instance.create_device(physical_device, info, None),
        )?;
        let queue = device.get_device_queue(0, 0);
        let context = Context::new(&instance, &device, capabilities, required)?;
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.clone(),
            device: device.clone(),
            physical_device,
            debug_settings: gpu_allocator::AllocatorDebugSettings::default(),
            buffer_device_address: context.has_addresses(),
            allocation_sizes: gpu_allocator::AllocationSizes::default(),
        })?;

        let result = submit(&context, allocator, queue)?;

        device.destroy_device(None);
        instance.destroy_instance(None);
        Ok(result)
    }
}

/// Records, submits, and reads what was captured.
///
/// # Safety
/// The context, the allocator and the queue are of one live device, and the queue is of family 0.
unsafe fn submit(
    context: &Context,
    mut allocator: Allocator,
    queue: vk::Queue,
) -> Result<(Captured, Vec<Record>)> {
    let device = context.device();

    // Any vertex shader with transform feedback decorations. This one captures 32 bytes a vertex.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/bench/stream.spv");
    let spirv = vkxfb::spirv::words_from_bytes(&std::fs::read(file)?)?;
    let vertex_input = vertex_input_descriptions(
        &[vk::VertexInputBindingDescription::default().binding(0).stride(16)],
        &[vk::VertexInputAttributeDescription::default()
            .location(0)
            .format(vk::Format::R32G32B32A32_SFLOAT)],
    )?;
    let pipeline = make_pipeline(context, &spirv, &vertex_input)?;

    // SAFETY: the caller's contract; everything outlives the submission, which is waited for.
    unsafe {
        let size = ArenaDesc::for_draws(1, 2).with_pipeline(&pipeline, 1);
        let mut arena = Arena::new(context, &mut allocator, &size)?;
        let kernels = Kernels::new(context, vk::PipelineCache::null())?;
        let positions: Vec<[f32; 4]> = (0..VERTICES).map(|v| [v as f32, 0.0, 0.0, 1.0]).collect();
        let mut source = Buffer::new(
            context,
            &mut allocator,
            &BufferDesc::new(
                "vertices",
                size_of_val(&*positions) as u64,
                context.vertex_buffer_usage(Backend::Compute),
                MemoryLocation::Upload,
            ),
        )?;
        source.mapped_mut().copy_from_slice(bytemuck::cast_slice(&positions));
        let records: u64 = [PrimitiveTopology::TriangleStrip, PrimitiveTopology::TriangleFan]
            .map(|topology| topology.output_count(VERTICES))
            .iter()
            .sum();
        let target = Buffer::new(
            context,
            &mut allocator,
            &BufferDesc::new(
                "captured",
                records * size_of::<Record>() as u64,
                context.capture_buffer_usage(Backend::Compute),
                // An application that draws what it captured takes device memory.
                MemoryLocation::Readback,
            ),
        )?;

        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let command_buffers = device.allocate_command_buffers(&info)?;
        let cmd = command_buffers[0];
        device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())?;
        let vertices = VertexBuffer::new(0, source.raw(), source.size());
        let bound = CaptureBuffer::new(target.raw(), target.size());
        // Kept from frame to frame, as the arena is: then recording allocates nothing.
        let mut drawn = Capture::new(context, &kernels);
        let recorded = capture(context, &mut drawn, &mut arena, cmd, &pipeline, bound, vertices)?;
        context.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);
        device.end_command_buffer(cmd)?;

        let submit = vk::SubmitInfo::default().command_buffers(&command_buffers);
        device.queue_submit(queue, &[submit], vk::Fence::null())?;
        device.queue_wait_idle(queue)?;
        target.invalidate(context)?;
        let records = bytemuck::cast_slice(target.mapped()).to_vec();

        device.destroy_command_pool(pool, None);
        source.destroy(context, &mut allocator);
        target.destroy(context, &mut allocator);
        arena.destroy(context, &mut allocator);
        kernels.destroy(context);
        pipeline.destroy(context);
        let captured = recorded.captured.context("the CPU knows what direct draws capture")?;
        Ok((captured, records))
    }
}

fn make_pipeline(context: &Context, spirv: &[u32], vertex_input: &VertexInput) -> Result<Pipeline> {
    let options = compute::Options { vertex_input, target: context.compute_target(0)? };
    let shader = compute::lower(&Shader::new(spirv), &options)?;
    // It takes draws of all topologies; with `.topology(..)` of one, and faster.
    let desc = PipelineDesc::new(&shader, vertex_input);
    // SAFETY: the context is of a live device.
    Ok(unsafe { Pipeline::new(context, &desc) }?)
}

/// # Safety
/// Outside of a render pass; the handles live until `cmd` is reset.
unsafe fn capture(
    context: &Context,
    capture: &mut Capture,
    arena: &mut Arena,
    cmd: vk::CommandBuffer,
    pipeline: &Pipeline,
    target: CaptureBuffer,
    vertices: VertexBuffer,
) -> Result<Recorded, RuntimeError> {
    let (buffers, vertex_buffers) = ([Some(target)], [vertices]);
    let desc = CaptureDesc::new(pipeline).buffers(&buffers).vertex_buffers(&vertex_buffers);
    let draw = Draw::new(5);
    // SAFETY: the caller's contract.
    unsafe {
        let mut recorder = Recorder::begin(capture, arena, cmd, &desc)?;
        recorder.draw(PrimitiveTopology::TriangleStrip, &draw)?;
        recorder.draw(PrimitiveTopology::TriangleFan, &draw)?; // appends
        let recorded = recorder.end(&[])?;
        context.capture_barrier(cmd, Backend::Compute, ConsumerScope::VERTEX_BUFFER);
        Ok(recorded)
    }
}
