//! All of vkxfb: a vertex shader runs once for each vertex of a mesh, and what it puts out is captured.

use anyhow::Result;
use ash::vk;
use vkxfb::lower::Captures;
use vkxfb::runtime::vulkan;
use vkxfb::*;

use super::common::gpu::{API_VERSION, Gpu};
use super::deform::{ATTRIBUTES, BINDINGS, DEFORMATION};

/// Positions and normals, by their names in the shader: records like the vertices that go in.
pub fn captures() -> CaptureList {
    CaptureList::new(24).output("position", 0).output("normal", 12)
}

/// The device of the program, for captures.
///
/// # Safety
/// The program's device outlives this one.
pub unsafe fn device(gpu: &Gpu) -> Result<Device> {
    let Gpu { entry, instance, physical_device, device, .. } = gpu;
    let made = gpu.with_create_info(|info| unsafe {
        Device::from_existing(entry, instance, API_VERSION, *physical_device, device, info)
    });
    Ok(made?)
}

/// Captures what the shader makes of so many vertices, and waits for it. A point list has a record for each vertex, so
/// that the triangles of the mesh stay what they are.
///
/// # Safety
/// `source` is of this device and holds the vertices, and the shader is valid.
pub unsafe fn capture(
    gpu: &Gpu,
    xfb: &mut Device,
    spirv: &[u32],
    source: &Buffer,
    vertices: u32,
) -> Result<Buffer> {
    let vertex_input = vulkan::vertex_input_descriptions(&BINDINGS, &ATTRIBUTES)?;
    let list = captures();
    let stages = Stages {
        captures: Captures::List(&list),
        vertex_input: &vertex_input,
        topology: Some(vk::PrimitiveTopology::POINT_LIST),
        ..Stages::new(spirv)
    };
    unsafe {
        let pipeline = xfb.pipeline(&stages)?;
        let captured = xfb.buffer("captured", source.size(), MemoryLocation::Readback)?;
        gpu.submit(|cmd| {
            let sources = [VertexBuffer::new(0, source.raw(), source.size())];
            let desc = CaptureDesc {
                buffers: captured.as_capture_buffers(),
                vertex_buffers: &sources,
                ..CaptureDesc::new(&pipeline)
            };
            let readers = ConsumerScope::HOST | ConsumerScope::VERTEX_BUFFER;
            xfb.capture(cmd, &desc, readers, |recorder| {
                recorder.push_constants(0, bytemuck::bytes_of(&DEFORMATION))?;
                recorder.draw(vk::PrimitiveTopology::POINT_LIST, &Draw::new(vertices))
            })?;
            Ok(())
        })?;
        // The submission was waited for.
        xfb.context().destroy(pipeline, &mut ());
        Ok(captured)
    }
}
