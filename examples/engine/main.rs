//! An engine that exists, with a device, an allocator and frames in flight of its own, captures skinned meshes and
//! draws what it captured.
//!
//! `cargo run --example engine -- --frames 600 --output anemone.png`. Everything that it has of vkxfb is in xfb.rs.

#[path = "../common/mod.rs"]
mod common;

mod check;
mod frame;
mod memory;
mod scene;
mod xfb;
mod xfb_memory;

use std::ffi::CStr;
use std::path::PathBuf;
use std::ptr;

use anyhow::{Result, ensure};
use ash::vk;

use common::gpu::Gpu;
use common::picture::{self, Picture};
use common::pipeline::Drawing;
use common::target::Target;
use common::{arguments, camera, shader};
use frame::{FRAMES, Frame, Scene};
use memory::Memory;
use xfb::Xfb;

/// Columns and rows of the picture; the engine draws twice as many.
const SIZE: [u32; 2] = [320, 240];
const SCALE: u32 = 2;
const GROUND: [f32; 4] = [0.03, 0.09, 0.14, 1.0];

/// After so many frames a driver has what it needs,
const SETTLED: u64 = 100;
/// and so many KiB more in memory would be a leak.
const GROWTH: u64 = 4096;

/// What the example is run with.
pub struct Options {
    /// Frames to draw.
    pub frames: u64,
    /// Where the picture of the last one goes.
    pub output: Option<PathBuf>,
}

/// Runs the example with the program's arguments.
pub fn main() -> Result<()> {
    let [frames, output] = arguments::named(["frames", "output"], std::env::args().skip(1))?;
    let frames = arguments::number(frames, 30)?;
    run(&Options { frames, output: arguments::path(output) })
}

/// Draws the frames and checks them.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.frames > 0, "--frames 0");
    // SAFETY: one thread; the device is idle before anything is destroyed, and the shaders are valid.
    unsafe {
        let gpu = Gpu::open()?;
        let mut memory = Memory::new(&gpu);
        let set_layout = frame::set_layout(&gpu)?;
        let skinning = shader::wgsl(scene::SKINNING, "main")?;
        let device = without_waits(&gpu);
        let xfb = Xfb::new(&gpu, &device, &mut memory, &skinning, set_layout)?;
        let scene = Scene::new(&gpu, &mut memory, &xfb, set_layout)?;
        let mut engine = Engine::new(&gpu, &mut memory, xfb, scene)?;

        let (mut taken, mut resident) = (0, None);
        // A driver takes memory in the first frames, too.
        let settled = options.frames / 10;
        for number in 0..options.frames {
            if number == FRAMES as u64 {
                taken = memory.taken;
            }
            if number == settled {
                resident = resident_kib();
            }
            engine.frame(&gpu, number)?;
        }
        gpu.device.device_wait_idle()?;
        if options.frames > FRAMES as u64 {
            let new = memory.taken - taken;
            ensure!(new == 0, "{new} pieces of memory were taken after all frames had theirs");
        }
        println!("{} frames, {} vertices captured in each", options.frames, engine.vertex_count());
        println!("{} times the engine waited for a frame, and vkxfb for nothing", engine.waits);
        println!("{} pieces of memory, none of them new after {FRAMES} frames", memory.taken);
        if let (Some(before), Some(after)) = (resident, resident_kib()) {
            println!("{before} KiB resident after {settled} frames, {after} KiB at the end");
            let is_flat = settled < SETTLED || after < before + GROWTH;
            ensure!(is_flat, "the process grows");
        }
        check::frames(&gpu, &mut memory, &engine, &skinning, options.frames)?;
        if let Some(path) = &options.output {
            let pixels = engine.target.pixels(&gpu)?;
            picture::write(path, &[Picture::smaller(&pixels, SIZE[0] * SCALE, SCALE)], 1)?;
        }

        engine.destroy(&gpu, &mut memory);
        memory.destroy()?;
        gpu.close()
    }
}

/// The device as vkxfb gets it: without the commands that wait, ask whether they had to, submit, or allocate memory. In
/// place of a command that is not there ash has a panic, which would end the program.
///
/// # Safety
/// The device is live.
unsafe fn without_waits(gpu: &Gpu) -> ash::Device {
    const MISSING: [&CStr; 9] = [
        c"vkWaitForFences",
        c"vkGetFenceStatus",
        c"vkWaitSemaphores",
        c"vkGetSemaphoreCounterValue",
        c"vkQueueWaitIdle",
        c"vkDeviceWaitIdle",
        c"vkQueueSubmit",
        c"vkQueueSubmit2",
        c"vkAllocateMemory",
    ];
    let handle = gpu.device.handle();
    let get = gpu.instance.fp_v1_0().get_device_proc_addr;
    let load = |name: &CStr| {
        if MISSING.contains(&name) {
            ptr::null()
        } else {
            // SAFETY: the device is live, and the name is a string of C.
            unsafe { get(handle, name.as_ptr()) }.map_or(ptr::null(), |f| f as *const _)
        }
    };
    // SAFETY: these are the device's commands.
    unsafe { ash::Device::load_with(load, handle) }
}

/// What of the process is in memory, where Linux tells.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The engine, ready to draw.
pub struct Engine {
    scene: Scene,
    frames: Vec<Frame>,
    xfb: Xfb,
    target: Target,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
    /// Frames that were begun while the device was not yet done with the one whose place they take.
    waits: u64,
}

impl Engine {
    /// # Safety
    /// The device is live.
    unsafe fn new(gpu: &Gpu, memory: &mut Memory<'_>, xfb: Xfb, scene: Scene) -> Result<Self> {
        let ranges = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::VERTEX,
            offset: 0,
            size: size_of::<glam::Mat4>() as u32,
        }];
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
        // SAFETY: the caller's contract, and the shaders match.
        unsafe {
            let frames = (0..FRAMES).map(|_| Frame::new(gpu, memory, &xfb, &scene));
            let frames = frames.collect::<Result<_>>()?;
            let layout = gpu.device.create_pipeline_layout(&info, None)?;
            let drawing = Drawing {
                vertex: &shader::wgsl(scene::DRAWING, "main")?,
                fragment: &shader::wgsl(scene::SHADING, "main")?,
                stride: size_of::<scene::Skinned>() as u32,
                attributes: &scene::SKINNED_ATTRIBUTES,
                topology: vk::PrimitiveTopology::TRIANGLE_LIST,
                layout,
                is_light: false,
            };
            let pipeline = drawing.pipeline(gpu)?;
            let target = Target::new(gpu, SIZE[0] * SCALE, SIZE[1] * SCALE)?;
            Ok(Self { scene, frames, xfb, target, layout, pipeline, waits: 0 })
        }
    }

    fn vertex_count(&self) -> u32 {
        self.scene.vertex_count()
    }

    /// Draws a frame: captures the arms in their poses, and draws what is captured.
    ///
    /// # Safety
    /// The device is live.
    unsafe fn frame(&mut self, gpu: &Gpu, number: u64) -> Result<()> {
        let (device, scene) = (&gpu.device, &self.scene);
        let frame = &mut self.frames[number as usize % FRAMES];
        let cmd = frame.cmd;
        // SAFETY: the caller's contract; the device is done with the frame once its fence has signalled.
        unsafe {
            if !device.get_fence_status(frame.fence)? {
                self.waits += 1;
                device.wait_for_fences(&[frame.fence], true, u64::MAX)?;
            }
            device.reset_fences(&[frame.fence])?;
            device.reset_command_pool(frame.pool, vk::CommandPoolResetFlags::empty())?;
            frame.pose(number, scene.skeleton_stride);

            device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())?;
            self.xfb.record(cmd, scene, frame)?;
            self.target.begin(gpu, cmd, GROUND);
            let (eye, centre, field) = scene::CAMERA;
            let view = camera::view(eye, centre, field, SIZE);
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
            let stages = vk::ShaderStageFlags::VERTEX;
            device.cmd_push_constants(cmd, self.layout, stages, 0, bytemuck::bytes_of(&view));
            device.cmd_bind_vertex_buffers(cmd, 0, &[frame.captured.raw], &[0]);
            device.cmd_draw(cmd, scene.vertex_count(), 1, 0, 0);
            self.target.end(gpu, cmd);
            device.end_command_buffer(cmd)?;

            let cmds = [cmd];
            let submit = vk::SubmitInfo::default().command_buffers(&cmds);
            device.queue_submit(gpu.queue, &[submit], frame.fence)?;
        }
        Ok(())
    }

    /// # Safety
    /// The device is idle.
    unsafe fn destroy(self, gpu: &Gpu, memory: &mut Memory<'_>) {
        unsafe {
            gpu.device.destroy_pipeline(self.pipeline, None);
            gpu.device.destroy_pipeline_layout(self.layout, None);
            self.target.destroy(gpu);
            self.frames.into_iter().for_each(|frame| frame.destroy(gpu, memory));
            self.scene.destroy(gpu, memory);
            self.xfb.destroy(memory);
        }
    }
}
