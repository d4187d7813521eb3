//! A mesh from a file, as a vertex shader deforms it: captured, and written as a mesh again and as a picture.
//!
//! `cargo run --example capture_mesh -- --mesh in.obj --output DIRECTORY` writes `captured.ply` and `captured.png`. What
//! it has of vkxfb is in xfb.rs.

#[path = "../common/mod.rs"]
mod common;

mod deform;
mod draw;
mod mesh;
mod xfb;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::{
    Backend, Buffer, BufferDesc, Context, Draw, MemoryLocation, PrimitiveTopology, Shader,
    VertexBuffer,
};

use common::gpu::Gpu;
use common::native::{NativeCapture, compare};
use common::{arguments, picture, shader};
use deform::DEFORMATION;
use mesh::{Mesh, Vertex};

/// What the example is run with.
#[derive(Default)]
pub struct Options {
    /// The mesh, in place of the vase beside this file.
    pub mesh: Option<PathBuf>,
    /// Where what was captured goes.
    pub output: Option<PathBuf>,
}

/// Runs the example with the program's arguments.
pub fn main() -> Result<()> {
    let [mesh, output] = arguments::named(["mesh", "output"], std::env::args().skip(1))?;
    run(&Options { mesh: arguments::path(mesh), output: arguments::path(output) })
}

/// Captures a mesh, checks it, and writes it if that is asked for.
pub fn run(options: &Options) -> Result<()> {
    let vase = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/capture_mesh/vase.obj");
    let Mesh { vertices, indices } = Mesh::read(options.mesh.as_deref().unwrap_or(&vase))?;
    let spirv = shader::wgsl(deform::SHADER, "main")?;
    // SAFETY: one thread; every submission is waited for, so that the device is idle where anything is destroyed.
    unsafe {
        let gpu = Gpu::open()?;
        let context = xfb::context(&gpu)?;
        let mut allocator = Allocator::new(&AllocatorCreateDesc {
            instance: gpu.instance.clone(),
            device: gpu.device.clone(),
            physical_device: gpu.physical_device,
            debug_settings: gpu_allocator::AllocatorDebugSettings::default(),
            buffer_device_address: context.has_addresses(),
            allocation_sizes: gpu_allocator::AllocationSizes::default(),
        })?;
        let usage =
            context.vertex_buffer_usage(Backend::Compute) | vk::BufferUsageFlags::VERTEX_BUFFER;
        let source = upload(&context, &mut allocator, usage, bytemuck::cast_slice(&vertices))?;

        let captured =
            xfb::capture(&gpu, &context, &mut allocator, &spirv, &source, vertices.len() as u32)?;
        captured.invalidate(&context)?;
        let deformed: Vec<Vertex> = bytemuck::cast_slice(captured.mapped()).to_vec();
        println!("{} vertices captured", deformed.len());
        check(&vertices, &deformed)?;
        check_native(&gpu, &mut allocator, &spirv, &source, &deformed)?;

        if let Some(directory) = &options.output {
            let usage = vk::BufferUsageFlags::INDEX_BUFFER;
            let triangles =
                upload(&context, &mut allocator, usage, bytemuck::cast_slice(&indices))?;
            let both = [source.raw(), captured.raw()];
            let drawn = draw::meshes(&gpu, &both, triangles.raw(), indices.len() as u32)?;
            context.destroy(triangles, &mut allocator);
            std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
            picture::write(&directory.join("captured.png"), &[drawn], 1)?;
            let mesh = Mesh { vertices: deformed, indices };
            mesh.write(&directory.join("captured.ply"))?;
        }

        context.destroy([captured, source], &mut allocator);
        drop(allocator);
        drop(context);
        gpu.close()
    }
}

/// A buffer that the device reads, with what it holds.
///
/// # Safety
/// The device of the context is live, and is the allocator's.
unsafe fn upload(
    context: &Context,
    allocator: &mut Allocator,
    usage: vk::BufferUsageFlags,
    bytes: &[u8],
) -> Result<Buffer> {
    let desc = BufferDesc::new("mesh", bytes.len() as u64, usage, MemoryLocation::Upload);
    unsafe {
        let mut buffer = Buffer::new(context, allocator, &desc)?;
        buffer.mapped_mut().copy_from_slice(bytes);
        Ok(buffer)
    }
}

fn numbers(vertices: &[Vertex]) -> &[f32] {
    bytemuck::cast_slice(vertices)
}

/// Holds what was captured against what the CPU makes of the mesh.
fn check(source: &[Vertex], deformed: &[Vertex]) -> Result<()> {
    let expected: Vec<_> = source.iter().map(|vertex| DEFORMATION.vertex(vertex)).collect();
    // Devices have sines within 2^-11, and the CPU's normals are of chords.
    let difference = compare("the CPU", numbers(deformed), numbers(&expected), 2e-3)?;
    println!("as the CPU makes them, but for {difference:e}");
    Ok(())
}

/// Holds what was captured against what the driver captures itself.
///
/// # Safety
/// The device is idle; `source` holds as many vertices as were captured, and the allocator is the device's.
unsafe fn check_native(
    gpu: &Gpu,
    allocator: &mut Allocator,
    spirv: &[u32],
    source: &Buffer,
    deformed: &[Vertex],
) -> Result<()> {
    let (topology, list) = (PrimitiveTopology::PointList, xfb::captures());
    let native = NativeCapture {
        shader: Shader::new(spirv).captures(&list),
        vertex_input: &vertex_input_descriptions(&deform::BINDINGS, &deform::ATTRIBUTES)?,
        topology,
        set_layouts: &[],
        vertex_buffers: &[VertexBuffer::new(0, source.raw(), source.size())],
        size: size_of_val(deformed) as u64,
    };
    let captured = unsafe {
        native.run(gpu, allocator, |recorder| {
            recorder.push_constants(0, bytemuck::bytes_of(&DEFORMATION))?;
            recorder.draw(topology, &Draw::new(deformed.len() as u32))
        })
    }?;
    let Some(native) = captured else {
        println!("the driver has no transform feedback to compare them with");
        return Ok(());
    };
    let difference = compare("the driver's own capture", numbers(deformed), &native, 1e-4)?;
    println!("as the driver captures them, but for {difference:e}");
    Ok(())
}
