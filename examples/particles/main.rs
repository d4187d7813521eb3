//! Fireworks: sparks are captured from one buffer into another in each frame, new ones behind those that there are,
//! until the buffer is full. How many there are only the device knows, and draws as many.
//!
//! `cargo run --example particles -- --frames 96 --output fireworks.png` writes a picture that moves. What it has of
//! vkxfb is in xfb.rs.

#[path = "../common/mod.rs"]
mod common;

mod sparks;
mod xfb;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use naga::ShaderStage;
use vkxfb::{Backend, RuntimeError};

use common::gpu::Gpu;
use common::native::compare;
use common::picture::{self, Picture};
use common::pipeline::Drawing;
use common::target::Target;
use common::{arguments, shader};
use sparks::Spark;
use xfb::Xfb;

/// Columns and rows of the picture.
const SIZE: [u32; 2] = [400, 300];
/// Frames a second of the picture.
const RATE: u16 = 24;
const SKY: [f32; 4] = [0.01, 0.012, 0.035, 1.0];
/// Points that a spark is drawn as, one behind the other.
const TRAIL: u32 = 12;

/// What the example is run with.
pub struct Options {
    /// Frames to capture.
    pub frames: u32,
    /// Where the picture goes.
    pub output: Option<PathBuf>,
}

/// Runs the example with the program's arguments.
pub fn main() -> Result<()> {
    let [frames, output] = arguments::named(["frames", "output"], std::env::args().skip(1))?;
    let frames = arguments::number(frames, 64)?;
    run(&Options { frames, output: arguments::path(output) })
}

/// Captures the frames, draws them, and checks what was captured.
pub fn run(options: &Options) -> Result<()> {
    // SAFETY: one thread; every submission is waited for, so that the device is idle where anything is destroyed.
    unsafe {
        let gpu = Gpu::open()?;
        let mut allocator = Allocator::new(&AllocatorCreateDesc {
            instance: gpu.instance.clone(),
            device: gpu.device.clone(),
            physical_device: gpu.physical_device,
            debug_settings: gpu_allocator::AllocatorDebugSettings::default(),
            buffer_device_address: gpu.has_addresses(),
            allocation_sizes: gpu_allocator::AllocationSizes::default(),
        })?;
        let mut xfb = Xfb::new(&gpu, &mut allocator, Backend::Compute)?;
        let sky = Sky::new(&gpu)?;
        let mut pictures = Vec::new();
        for frame in 0..options.frames {
            gpu.submit(|cmd| {
                xfb.step(&gpu, cmd, &sparks::step(frame))?;
                xfb.draw_command(cmd, TRAIL)?;
                sky.draw(&gpu, cmd, &xfb);
                Ok(())
            })?;
            let [width, _] = SIZE;
            pictures.push(Picture::smaller(&sky.target.pixels(&gpu)?, width, 1));
        }
        let captured = xfb.captured()?;
        check(&captured, xfb.command()?, options.frames)?;
        let lit = |picture: &Picture| picture.rgb.iter().filter(|byte| **byte > 64).count();
        ensure!(pictures.last().is_none_or(|picture| lit(picture) > 100), "the sky is dark");
        match natively(&gpu, &mut allocator, options.frames)? {
            None => println!("the driver has no transform feedback to compare them with"),
            Some(native) => {
                let difference =
                    compare("the driver's", numbers(&captured), numbers(&native), 1e-4)?;
                println!("as the driver captures them, but for {difference:e}");
            }
        }
        if let Some(path) = &options.output {
            picture::write(path, &pictures, RATE)?;
        }
        sky.destroy(&gpu);
        xfb.destroy(&mut allocator);
        drop(allocator);
        gpu.close()
    }
}

fn numbers(sparks: &[Spark]) -> &[f32] {
    bytemuck::cast_slice(sparks)
}

/// Holds what was captured last, and the command that drew it, against what the CPU makes of so many frames.
fn check(captured: &[Spark], command: [u32; 4], frames: u32) -> Result<()> {
    let expected = sparks::expected(frames);
    let bursts: u32 = (0..frames).map(|frame| sparks::step(frame).added()).sum();
    let lost = bursts as usize - expected.len();
    println!("{} sparks captured, and {lost} for which there was no room", captured.len());
    let difference = compare("the CPU", numbers(captured), numbers(&expected), 1e-4)?;
    println!("as the CPU makes them, but for {difference:e}");
    let wanted = [expected.len() as u32, TRAIL, 0, 0];
    ensure!(frames == 0 || command == wanted, "the draw command is {command:?}, not {wanted:?}");
    Ok(())
}

/// What the driver captures in as many frames; `None` where it cannot.
///
/// # Safety
/// The device is idle, and is the allocator's.
unsafe fn natively(
    gpu: &Gpu,
    allocator: &mut Allocator,
    frames: u32,
) -> Result<Option<Vec<Spark>>> {
    if !gpu.has_transform_feedback() {
        return Ok(None);
    }
    // SAFETY: the caller's contract; each submission is waited for.
    unsafe {
        let mut xfb = Xfb::new(gpu, allocator, Backend::Native)?;
        let mut steps = (0..frames).map(sparks::step);
        let done = steps.try_for_each(|step| gpu.submit(|cmd| xfb.step(gpu, cmd, &step)));
        let captured = xfb.captured();
        xfb.destroy(allocator);
        match done {
            Err(error)
                if matches!(error.downcast_ref(), Some(RuntimeError::MissingProperty { .. })) =>
            {
                Ok(None)
            }
            done => done.and(captured).map(Some),
        }
    }
}

/// Where the sparks are drawn.
struct Sky {
    target: Target,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

impl Sky {
    /// # Safety
    /// The device is live.
    unsafe fn new(gpu: &Gpu) -> Result<Self> {
        // SAFETY: the caller's contract, and the shaders match.
        unsafe {
            let layout = gpu.device.create_pipeline_layout(&Default::default(), None)?;
            let drawing = Drawing {
                vertex: &shader::glsl(sparks::DRAWING, ShaderStage::Vertex)?,
                fragment: &shader::glsl(sparks::SHADING, ShaderStage::Fragment)?,
                stride: size_of::<Spark>() as u32,
                attributes: &sparks::ATTRIBUTES,
                topology: vk::PrimitiveTopology::POINT_LIST,
                layout,
                is_light: true,
            };
            let pipeline = drawing.pipeline(gpu)?;
            let [width, height] = SIZE;
            Ok(Self { target: Target::new(gpu, width, height)?, layout, pipeline })
        }
    }

    /// Draws what was captured, by the command that the device wrote.
    ///
    /// # Safety
    /// `cmd` is being recorded, behind [`Xfb::step`] and [`Xfb::draw_command`].
    unsafe fn draw(&self, gpu: &Gpu, cmd: vk::CommandBuffer, xfb: &Xfb) {
        unsafe {
            self.target.begin(gpu, cmd, SKY);
            gpu.device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
            gpu.device.cmd_bind_vertex_buffers(cmd, 0, &[xfb.side().sparks.raw()], &[0]);
            gpu.device.cmd_draw_indirect(cmd, xfb.commands.raw(), 0, 1, 0);
            self.target.end(gpu, cmd);
        }
    }

    /// # Safety
    /// The device is idle.
    unsafe fn destroy(self, gpu: &Gpu) {
        unsafe {
            gpu.device.destroy_pipeline(self.pipeline, None);
            gpu.device.destroy_pipeline_layout(self.layout, None);
            self.target.destroy(gpu);
        }
    }
}
