//! Transform feedback in a Vulkan application whose driver may have none.
//!
//! The application creates its instance, device, memory and command buffer as ever, asks vkxfb what to
//! enable, and records a capture of a triangle strip. Run it with `cargo run --example embed`.

use std::path::Path;

use anyhow::{Context as _, Result};
use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, BufferDesc, Capabilities, CaptureBuffer, CaptureDesc, ConsumerScope,
    Context, Draw, Kernels, MemoryLocation, Pipeline, PipelineDesc, Recorder, required_features,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;

const API_VERSION: u32 = vk::API_VERSION_1_2;
const VERTICES: u32 = 5;

/// Runs the example.
pub fn main() -> Result<()> {
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
            &[],
            &vk::PhysicalDeviceFeatures::default(),
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

        capture(&context, allocator, queue)?;

        device.destroy_device(None);
        instance.destroy_instance(None);
    }
    Ok(())
}

/// Captures a strip, and prints which vertex went where.
///
/// # Safety
/// The context, the allocator and the queue are of one live device, and the queue is of family 0.
unsafe fn capture(context: &Context, mut allocator: Allocator, queue: vk::Queue) -> Result<()> {
    let device = context.device();

    // Any vertex shader with transform feedback decorations. This one captures 16 bytes a vertex, which
    // begin with VertexIndex.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/probe/identify.spv");
    let words = vkxfb::spirv::words_from_bytes(&std::fs::read(file)?)?;
    let vertex_input = VertexInput::default();
    let shader = compute::lower(
        &Shader::new(&words),
        &compute::Options { vertex_input: &vertex_input, target: context.compute_target(0)? },
    )?;
    let topology = PrimitiveTopology::TriangleStrip;
    let desc = PipelineDesc {
        shader: &shader,
        topology,
        provoking_vertex: ProvokingVertex::First,
        primitive_restart: false,
        vertex_input: &vertex_input,
        set_layouts: &[],
        dynamic_topology: false,
        render_pass: vk::RenderPass::null(),
        cache: vk::PipelineCache::null(),
    };

    // SAFETY: the caller's contract; everything outlives the submission, which is waited for.
    unsafe {
        let pipeline = Pipeline::new(context, &desc)?;
        let mut arena = Arena::new(context, &mut allocator, &ArenaDesc::for_draws(1, 1))?;
        let kernels = Kernels::new(context, vk::PipelineCache::null())?;
        let target = Buffer::new(
            context,
            &mut allocator,
            &BufferDesc {
                name: "captured",
                size: topology.output_count(VERTICES) * 16,
                usage: context.capture_buffer_usage(Backend::Compute),
                // An application that draws what it captured takes device memory.
                location: MemoryLocation::Readback,
            },
        )?;

        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let command_buffers = device.allocate_command_buffers(&info)?;
        let cmd = command_buffers[0];
        device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())?;
        let bound = CaptureBuffer { buffer: target.raw(), offset: 0, size: target.size() };
        let desc = CaptureDesc {
            pipeline: &pipeline,
            kernels: &kernels,
            buffers: &[Some(bound)],
            vertex_buffers: &[],
            counters: &[],
        };
        let mut recorder = Recorder::begin(context, &mut arena, cmd, &desc)?;
        let draw = Draw { vertex_count: VERTICES, instance_count: 1, ..Draw::default() };
        recorder.draw(topology, &draw)?;
        let recorded = recorder.end(&[])?;
        context.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);
        device.end_command_buffer(cmd)?;

        let submit = vk::SubmitInfo::default().command_buffers(&command_buffers);
        device.queue_submit(queue, &[submit], vk::Fence::null())?;
        device.queue_wait_idle(queue)?;
        target.invalidate(context)?;

        if let Some(captured) = recorded.captured {
            println!("{} primitives written", captured.primitives_written);
        }
        let records: &[[u32; 4]] = bytemuck::cast_slice(target.mapped());
        for (primitive, records) in records.chunks(3).enumerate() {
            let vertices: Vec<String> = records.iter().map(|r| format!("v{}", r[0])).collect();
            println!("primitive {primitive}: {}", vertices.join(" "));
        }

        device.destroy_command_pool(pool, None);
        target.destroy(context, &mut allocator);
        arena.destroy(context, &mut allocator);
        kernels.destroy(context);
        pipeline.destroy(context);
    }
    Ok(())
}
