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
use vkxfb::runtime::MemoryAllocator;
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::{Buffer, Device, Draw, MemoryLocation, PrimitiveTopology, Shader, VertexBuffer};

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
        let mut xfb = xfb::device(&gpu)?;
        let source = upload(&mut xfb, bytemuck::cast_slice(&vertices))?;
        let captured = xfb::capture(&gpu, &mut xfb, &spirv, &source, vertices.len() as u32)?;
        let deformed: Vec<Vertex> = bytemuck::cast_slice(xfb.read(&captured)?).to_vec();
        println!("{} vertices captured", deformed.len());
        check(&vertices, &deformed)?;
        check_native(&gpu, xfb.allocator(), &spirv, &source, &deformed)?;

        let mut drawn_indices = None;
        if let Some(directory) = &options.output {
            let triangles = upload(&mut xfb, bytemuck::cast_slice(&indices))?;
            let both = [source.raw(), captured.raw()];
            let drawn = draw::meshes(&gpu, &both, triangles.raw(), indices.len() as u32)?;
            drawn_indices = Some(triangles);
            std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
            picture::write(&directory.join("captured.png"), &[drawn], 1)?;
            let mesh = Mesh { vertices: deformed, indices };
            mesh.write(&directory.join("captured.ply"))?;
        }

        xfb.destroy((captured, source, drawn_indices));
        gpu.close()
    }
}

/// A buffer that the device reads, with what it holds.
///
/// # Safety
/// The device is live.
unsafe fn upload(xfb: &mut Device, bytes: &[u8]) -> Result<Buffer> {
    unsafe {
        let mut buffer = xfb.buffer("mesh", bytes.len() as u64, MemoryLocation::Upload)?;
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
    allocator: &mut (dyn MemoryAllocator + Send + Sync),
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
