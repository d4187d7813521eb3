//! A flag in the wind: its vertices are captured, and drawn by wgpu.
//!
//! `cargo run --example wgpu` captures and draws a few frames, without a window, and checks them. What it has of vkxfb is
//! in xfb.rs; `vkxfb::guide::wgpu` goes through it.

mod check;
mod messages;
mod picture;
mod scene;
mod set;
mod xfb;

use anyhow::{Context as _, Result};
use wgpu::{BufferTransition, BufferUsages, BufferUses};

use picture::Painter;
use scene::{Captured, INDICES, Wave};
use xfb::Xfb;

const SHADER: &str = include_str!("shader.wgsl");
const FRAMES: u8 = 3;

fn main() -> Result<()> {
    messages::collect()?;
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(desc);
    let options = wgpu::RequestAdapterOptions::default();
    let adapter = pollster::block_on(instance.request_adapter(&options))?;
    println!("{}", adapter.get_info().name);
    for addresses in [false, true] {
        println!("by {}:", if addresses { "addresses" } else { "descriptors" });
        run(&adapter, addresses)?;
    }
    drop((adapter, instance));
    messages::check()
}

/// Captures and draws a few frames.
fn run(adapter: &wgpu::Adapter, addresses: bool) -> Result<()> {
    // SAFETY: the device is idle before anything of Vulkan's is destroyed, and lives until then.
    unsafe {
        let (device, queue, context) = xfb::device(adapter, addresses)?;
        let wave = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("wave"),
            size: size_of::<Wave>() as u64,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut xfb = Xfb::new(adapter, context, SHADER, &wave)?;
        let buffers = Buffers::new(&device, &queue, &mut xfb, wave)?;
        let mut flag = Flag::new(device, queue, buffers, xfb);
        for frame in 0..FRAMES {
            flag.frame(&Wave { height: 0.25, waves: 4.0, phase: f32::from(frame) })?;
        }
        let Flag { device, buffers, xfb, .. } = flag;
        drop(buffers);
        device.poll(wgpu::PollType::wait_indefinitely())?;
        xfb.destroy();
    }
    Ok(())
}

struct Buffers {
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    wave: wgpu::Buffer,
    captured: wgpu::Buffer,
    /// Where the CPU reads `captured` and the picture.
    vertices_read: wgpu::Buffer,
    pixels_read: wgpu::Buffer,
}

impl Buffers {
    /// # Safety
    /// As [`Xfb::buffer`].
    unsafe fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        xfb: &mut Xfb,
        wave: wgpu::Buffer,
    ) -> Result<Self> {
        let mut filled = |label, contents: &[u8]| -> Result<wgpu::Buffer> {
            let size = contents.len() as u64;
            let buffer = unsafe { xfb.buffer(device, label, size, BufferUsages::COPY_DST) }?;
            queue.write_buffer(&buffer, 0, contents);
            Ok(buffer)
        };
        let (vertices, indices) = scene::mesh();
        let vertices = filled("vertices", bytemuck::cast_slice(&vertices))?;
        let indices = filled("indices", bytemuck::cast_slice(&indices))?;
        let size = u64::from(INDICES) * size_of::<Captured>() as u64;
        let usage = BufferUsages::VERTEX | BufferUsages::COPY_SRC;
        let captured = unsafe { xfb.buffer(device, "captured", size, usage) }?;
        let read = |size| {
            let (label, usage) =
                (Some("for the CPU"), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            let desc = wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false };
            device.create_buffer(&desc)
        };
        let [vertices_read, pixels_read] =
            [size, u64::from(picture::SIZE[0] * picture::SIZE[1]) * 4].map(read);
        Ok(Self { vertices, indices, wave, captured, vertices_read, pixels_read })
    }
}

struct Flag {
    device: wgpu::Device,
    queue: wgpu::Queue,
    buffers: Buffers,
    xfb: Xfb,
    painter: Painter,
}

impl Flag {
    fn new(device: wgpu::Device, queue: wgpu::Queue, buffers: Buffers, xfb: Xfb) -> Self {
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("shader.wgsl"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let painter = Painter::new(&device, &shader);
        Self { device, queue, buffers, xfb, painter }
    }

    /// Captures and draws a frame, waits for it, and checks it.
    ///
    /// # Safety
    /// The device of `xfb` is live.
    unsafe fn frame(&mut self, wave: &Wave) -> Result<()> {
        let Self { device, queue, buffers, xfb, painter } = self;
        let Buffers { vertices, indices, wave: uniform, captured, vertices_read, pixels_read } =
            &*buffers;
        queue.write_buffer(uniform, 0, bytemuck::bytes_of(wave));

        // wgpu has one kind of commands in an encoder, its own or those of Vulkan. It orders what it knows of: that the
        // buffers are used so between the encoders, and how the next one uses them.
        let [mut before, mut capture, mut after] = ["before", "capture", "after"].map(|label| {
            let label = Some(label);
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label })
        });
        let transitions = [
            (vertices, BufferUses::STORAGE_READ_ONLY),
            (indices, BufferUses::STORAGE_READ_ONLY),
            (uniform, BufferUses::UNIFORM),
            (captured, BufferUses::STORAGE_READ_WRITE),
        ];
        let transitions = transitions.map(|(buffer, state)| BufferTransition { buffer, state });
        before.transition_resources(transitions.into_iter(), std::iter::empty());
        // SAFETY: the caller's contract. What is recorded is waited for.
        unsafe { xfb.capture(&mut capture, vertices, indices, captured) }?;
        painter.draw(&mut after, captured, INDICES, pixels_read);
        after.copy_buffer_to_buffer(captured, 0, vertices_read, 0, captured.size());
        queue.submit([before, capture, after].map(wgpu::CommandEncoder::finish));

        let (vertices, indices) = scene::mesh();
        let bent = |index: &u16| wave.bend(&vertices[usize::from(*index)]);
        let expected: Vec<Captured> = indices.iter().map(bent).collect();
        let found = read(device, vertices_read)?;
        check::capture(bytemuck::cast_slice(&found), &expected).context("the capture")?;
        check::picture(&read(device, pixels_read)?, &expected).context("the picture")?;
        println!("{} vertices as the CPU computes them, captured and drawn", expected.len());
        Ok(())
    }
}

/// Waits for the device, and reads a buffer.
fn read(device: &wgpu::Device, buffer: &wgpu::Buffer) -> Result<Vec<u8>> {
    let (done, result) = std::sync::mpsc::channel();
    buffer.map_async(wgpu::MapMode::Read, .., move |mapped| {
        // Nobody waits for it if the device is lost.
        let _ = done.send(mapped);
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    result.recv()??;
    let bytes = buffer.slice(..).get_mapped_range()?.to_vec();
    buffer.unmap();
    Ok(bytes)
}

#[test]
fn what_was_captured_is_drawn() {
    main().unwrap_or_else(|error| panic!("{error:#}"));
}
