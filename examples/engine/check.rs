//! Whether the engine captured what it should have.

use anyhow::{Context as _, Result};
use ash::vk;
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::{PrimitiveTopology, Shader, VertexBuffer};

use super::common::gpu::Gpu;
use super::common::native::{NativeCapture, compare};
use super::frame::{FRAMES, Frame};
use super::memory::Memory;
use super::{Engine, scene, xfb};

/// Holds what the last frames captured against what the CPU makes of the mesh, and the last one against what the driver
/// captures.
///
/// # Safety
/// The device is idle, and the last of so many frames were drawn by the engine.
pub unsafe fn frames(
    gpu: &Gpu,
    memory: &mut Memory<'_>,
    engine: &Engine,
    skinning: &[u32],
    count: u64,
) -> Result<()> {
    let mut largest = 0f32;
    for number in count.saturating_sub(FRAMES as u64)..count {
        let frame = &engine.frames[number as usize % FRAMES];
        let captured = unsafe { read(gpu, memory, frame) }?;
        let difference = compare("the CPU", &captured, &expected(number), 1e-4)
            .with_context(|| format!("frame {number}"))?;
        largest = largest.max(difference);
    }
    println!("as the CPU makes them, but for {largest:e}");

    let frame = &engine.frames[(count - 1) as usize % FRAMES];
    let scene = &engine.scene;
    let list = xfb::captures();
    let vertex_input = vertex_input_descriptions(&scene::BINDINGS, &scene::ATTRIBUTES)?;
    let native = NativeCapture {
        shader: Shader::new(skinning).captures(&list),
        vertex_input: &vertex_input,
        topology: PrimitiveTopology::TriangleList,
        set_layouts: &[scene.set_layout],
        vertex_buffers: &[VertexBuffer::new(0, scene.vertices.raw, scene.vertices.size)],
        size: frame.captured.size,
    };
    unsafe {
        match native.run(gpu, memory, |recorder| xfb::draw(recorder, scene, frame))? {
            None => println!("the driver has no transform feedback to compare them with"),
            Some(native) => {
                let captured = read(gpu, memory, frame)?;
                let difference = compare("the driver's own capture", &captured, &native, 1e-4)?;
                println!("as the driver captures them, but for {difference:e}");
            }
        }
    }
    Ok(())
}

/// What a frame captured.
///
/// # Safety
/// The device is idle.
unsafe fn read(gpu: &Gpu, memory: &mut Memory<'_>, frame: &Frame) -> Result<Vec<f32>> {
    let size = frame.captured.size;
    // SAFETY: the caller's contract; the submission is waited for.
    unsafe {
        let mut copy = memory.buffer(size, vk::BufferUsageFlags::TRANSFER_DST, true)?;
        gpu.submit(|cmd| {
            let region = vk::BufferCopy::default().size(size);
            gpu.device.cmd_copy_buffer(cmd, frame.captured.raw, copy.raw, &[region]);
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                .dst_access_mask(vk::AccessFlags::HOST_READ);
            gpu.device.cmd_pipeline_barrier(
                cmd,
                vk::PipelineStageFlags::TRANSFER,
                vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
            Ok(())
        })?;
        let captured = bytemuck::cast_slice(copy.mapped()).to_vec();
        memory.destroy_buffer(copy);
        Ok(captured)
    }
}

/// What the CPU makes of a frame: position and normal of each vertex of each triangle.
fn expected(number: u64) -> Vec<f32> {
    let (vertices, indices) = scene::mesh();
    let arms = (0..scene::ARMS).flat_map(|arm| {
        let (skeleton, place) = (scene::skeleton(arm, number), scene::place(arm));
        let skinned = vertices.iter().map(|vertex| scene::skin(vertex, &skeleton, place));
        let skinned: Vec<_> = skinned.collect();
        let of = |index: &u16| skinned[usize::from(*index)];
        indices.iter().map(of).collect::<Vec<_>>()
    });
    arms.flat_map(|v| [v.position, v.normal]).flat_map(|v| v.to_array()).collect()
}
