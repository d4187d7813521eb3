//! All of vkxfb: a vertex shader runs once for each vertex of a mesh, and what it puts out is captured.

use anyhow::Result;
use ash::vk;
use vkxfb::capture::CaptureList;
use vkxfb::lower::compute;
use vkxfb::runtime::{MemoryAllocator, vulkan};
use vkxfb::*;

use super::common::gpu::{API_VERSION, Gpu};
use super::deform::{ATTRIBUTES, BINDINGS, DEFORMATION};

/// Positions and normals, by their names in the shader: records like the vertices that go in.
pub fn captures() -> CaptureList {
    CaptureList::new(24).output("position", 0).output("normal", 12)
}

/// The device, for captures.
///
/// # Safety
/// The device outlives the context.
pub unsafe fn context(gpu: &Gpu) -> Result<Context> {
    // SAFETY: the caller's contract; the handles belong together.
    unsafe {
        let (entry, instance) = (&gpu.entry, &gpu.instance);
        let mut capabilities =
            Capabilities::query(entry, instance, API_VERSION, gpu.physical_device)?;
        gpu.with_create_info(|info| capabilities.restrict(info));
        let required = required_features(&capabilities, &[Backend::Compute])?;
        Ok(Context::new(instance, &gpu.device, capabilities, required)?)
    }
}

/// Captures what the shader makes of so many vertices, and waits for it. A point list has a record for each vertex, so
/// that the triangles of the mesh stay what they are.
///
/// # Safety
/// The context is of the device, `source` holds the vertices, and the shader is valid.
pub unsafe fn capture(
    gpu: &Gpu,
    context: &Context,
    allocator: &mut dyn MemoryAllocator,
    spirv: &[u32],
    source: &Buffer,
    vertices: u32,
) -> Result<Buffer> {
    let vertex_input = &vulkan::vertex_input_descriptions(&BINDINGS, &ATTRIBUTES)?;
    let options = compute::Options::new(vertex_input).target(context.compute_target()?);
    let shader = compute::lower(&Shader::new(spirv).captures(&captures()), &options)?;
    let desc = PipelineDesc::new(&shader).topology(PrimitiveTopology::PointList);
    // SAFETY: the caller's contract; the submission is waited for.
    unsafe {
        let pipeline = Pipeline::new(context, &desc)?;
        let kernels = Kernels::new(context)?;
        let desc = ArenaDesc::for_draws(1, 1).with_pipeline(&pipeline, 1);
        let mut arena = Arena::new(context, allocator, &desc)?;
        let usage =
            context.capture_buffer_usage(Backend::Compute) | vk::BufferUsageFlags::VERTEX_BUFFER;
        let desc = BufferDesc::new("captured", source.size(), usage, MemoryLocation::Readback);
        let captured = Buffer::new(context, allocator, &desc)?;
        let mut capture = Capture::new(context, &kernels);
        gpu.submit(|cmd| {
            let buffers = [Some(CaptureBuffer::new(captured.raw(), captured.size()))];
            let sources = [VertexBuffer::new(0, source.raw(), source.size())];
            let desc = CaptureDesc::new(&pipeline).buffers(&buffers).vertex_buffers(&sources);
            let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
            recorder.push_constants(0, bytemuck::bytes_of(&DEFORMATION))?;
            recorder.draw(PrimitiveTopology::PointList, &Draw::new(vertices))?;
            recorder.end(&[])?;
            context.capture_barrier(cmd, Backend::Compute, ConsumerScope::HOST);
            context.capture_barrier(cmd, Backend::Compute, ConsumerScope::VERTEX_BUFFER);
            Ok(())
        })?;
        context.destroy((arena, kernels, pipeline), allocator);
        Ok(captured)
    }
}
