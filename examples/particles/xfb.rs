//! All of vkxfb: sparks that are captured from one buffer into another, as many as only the device knows, by compute
//! or, to compare with, by the driver.

use anyhow::Result;
use ash::vk;
use vkxfb::capture::CaptureList;
use vkxfb::lower::{Lowered, compute, native};
use vkxfb::runtime::{ByteCountDraw, DrawCommands, MemoryAllocator, PipelineUse, vulkan};
use vkxfb::*;

use super::common::gpu::{API_VERSION, Gpu};
use super::common::shader;
use super::sparks::{ATTRIBUTES, BINDINGS, CAPACITY, SHADERS, Spark, Step};

/// Bytes of a spark.
const STRIDE: u32 = size_of::<Spark>() as u32;
/// Bytes of all sparks.
const SIZE: u64 = CAPACITY as u64 * STRIDE as u64;

/// Where sparks are, and how many bytes they fill.
pub struct Side {
    pub sparks: Buffer,
    pub counter: Buffer,
}

pub struct Xfb {
    context: Context,
    backend: Backend,
    kernels: Kernels,
    fly: Pipeline,
    burst: Pipeline,
    arena: Arena,
    capture: Capture,
    /// `VkDrawIndirectCommand`, for draws of what was captured.
    pub commands: Buffer,
    /// Captured from the one into the other, and in the next frame the other way round.
    sides: [Side; 2],
}

/// What a backend makes of one of the shaders.
fn lower(
    context: &Context,
    backend: Backend,
    name: &str,
    vertex_input: &VertexInput,
) -> Result<Lowered> {
    let spirv = shader::wgsl(SHADERS, name)?;
    let list =
        CaptureList::new(STRIDE).output("position", 0).output("velocity", 8).output("look", 16);
    let shader = Shader::new(&spirv).captures(&list);
    Ok(match backend {
        Backend::Native => native::lower(&shader)?,
        _ => {
            let options = compute::Options::new(vertex_input).target(context.compute_target()?);
            compute::lower(&shader, &options)?
        }
    })
}

impl Xfb {
    /// # Safety
    /// The device is live, and is the allocator's. It captures itself if the backend is native.
    pub unsafe fn new(
        gpu: &Gpu,
        allocator: &mut dyn MemoryAllocator,
        backend: Backend,
    ) -> Result<Self> {
        // SAFETY: the caller's contract; the handles belong together.
        unsafe {
            let (entry, instance) = (&gpu.entry, &gpu.instance);
            let mut capabilities =
                Capabilities::query(entry, instance, API_VERSION, gpu.physical_device)?;
            gpu.with_create_info(|info| capabilities.restrict(info));
            let backends = [Backend::Compute, backend];
            let required = required_features(&capabilities, &backends)?;
            let context = Context::new(instance, &gpu.device, capabilities, required)?;

            let pipeline = |name: &str, vertex_input: &VertexInput| {
                let lowered = lower(&context, backend, name, vertex_input)?;
                let desc = PipelineDesc {
                    vertex_input: Some(vertex_input),
                    topology: Some(vk::PrimitiveTopology::POINT_LIST),
                    ..PipelineDesc::new(&lowered)
                };
                anyhow::Ok(Pipeline::new(&context, &desc)?)
            };
            let fly = pipeline("fly", &vulkan::vertex_input_descriptions(&BINDINGS, &ATTRIBUTES)?)?;
            let burst = pipeline("burst", &VertexInput::default())?;
            let kernels = Kernels::new(&context)?;
            // Two captures, and the kernel that writes the draw command.
            let pipelines = [PipelineUse::new(&fly, 1), PipelineUse::new(&burst, 1)];
            let desc = ArenaDesc { pipelines: &pipelines, ..ArenaDesc::new(3, 3) };
            let arena = Arena::new(&context, allocator, desc)?;
            let capture = Capture::new(&context, &kernels);

            // The host reads all of them to check the captures. A program that only draws has them in device memory.
            let mut buffer = |name, size, usage| {
                let desc = BufferDesc { name, size, usage, location: MemoryLocation::Readback };
                let mut buffer = Buffer::new(&context, allocator, &desc)?;
                buffer.mapped_mut().fill(0);
                buffer.flush(&context)?;
                anyhow::Ok(buffer)
            };
            let usage = context.buffer_usages(backend).capture
                | context.buffer_usages(backend).vertex
                | vk::BufferUsageFlags::VERTEX_BUFFER;
            let mut side = || {
                let counter = buffer("counter", 4, context.buffer_usages(backend).counter)?;
                anyhow::Ok(Side { sparks: buffer("sparks", SIZE, usage)?, counter })
            };
            let sides = [side()?, side()?];
            let size = size_of::<vk::DrawIndirectCommand>() as u64;
            let commands = buffer(
                "draw command",
                size,
                context.buffer_usages(Backend::Compute).draw_commands,
            )?;
            Ok(Self { context, backend, kernels, fly, burst, arena, capture, commands, sides })
        }
    }

    /// Captures a frame: all sparks fly on, and new ones come behind them.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass, and the device is done with the frame before.
    pub unsafe fn step(&mut self, gpu: &Gpu, cmd: vk::CommandBuffer, step: &Step) -> Result<()> {
        let topology = PrimitiveTopology::PointList;
        self.sides.swap(0, 1);
        let [to, from] = &self.sides;
        let sparks = [Some(CaptureBuffer::new(to.sparks.raw(), SIZE))];
        let earlier = [VertexBuffer::new(0, from.sparks.raw(), SIZE)];
        let counters = [Some(CounterBuffer::new(to.counter.raw()))];
        unsafe {
            self.arena.reset();
            // As many as there are, from the start of the buffer.
            let desc = CaptureDesc {
                buffers: &sparks,
                vertex_buffers: &earlier,
                ..CaptureDesc::new(&self.fly)
            };
            let all = ByteCountDraw::new(CounterBuffer::new(from.counter.raw()), STRIDE);
            begin_pass(gpu, cmd, self.backend);
            let mut recorder = Recorder::begin(&mut self.capture, &mut self.arena, cmd, &desc)?;
            recorder.push_constants(0, bytemuck::bytes_of(step))?;
            recorder.draw_indirect_byte_count(topology, &all)?;
            recorder.end(&counters)?;
            end_pass(gpu, cmd, self.backend);
            self.barrier(cmd);
            // From where the counter stands on, as far as the buffer goes.
            let desc = CaptureDesc {
                buffers: &sparks,
                counters: &counters,
                ..CaptureDesc::new(&self.burst)
            };
            begin_pass(gpu, cmd, self.backend);
            let mut recorder = Recorder::begin(&mut self.capture, &mut self.arena, cmd, &desc)?;
            recorder.push_constants(0, bytemuck::bytes_of(step))?;
            recorder.draw(topology, &Draw::new(step.added()))?;
            recorder.end(&counters)?;
            end_pass(gpu, cmd, self.backend);
            self.barrier(cmd);
        }
        Ok(())
    }

    /// Between captures: the next one reads counters, and what was captured as vertices; so does the host.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass.
    unsafe fn barrier(&self, cmd: vk::CommandBuffer) {
        let (stages, access) = Context::argument_scope(self.backend);
        let (written, writes) = Context::write_scope(self.backend);
        let next = ConsumerScope {
            stages: stages | written | vk::PipelineStageFlags::HOST,
            access: access | writes | vk::AccessFlags::HOST_READ,
        };
        unsafe {
            self.context.capture_barrier(cmd, self.backend, next);
            self.context.capture_barrier(cmd, self.backend, ConsumerScope::VERTEX_BUFFER);
        }
    }

    /// Writes the command that draws all sparks that were captured, as so many instances: for `vkCmdDrawIndirect`.
    ///
    /// # Safety
    /// As [`step`](Self::step), behind it, by compute.
    pub unsafe fn draw_command(&mut self, cmd: vk::CommandBuffer, instances: u32) -> Result<()> {
        let counter = CounterBuffer::new(self.side().counter.raw());
        let draws =
            [ByteCountDraw { instance_count: instances, ..ByteCountDraw::new(counter, STRIDE) }];
        let commands = DrawCommands { buffer: self.commands.raw(), offset: 0, stride: 0 };
        let (kernels, context, arena) = (&self.kernels, &self.context, &mut self.arena);
        unsafe { kernels.write_draw_commands(context, arena, cmd, &draws, &commands) }?;
        Ok(())
    }

    /// Where the last step captured to.
    pub const fn side(&self) -> &Side {
        &self.sides[0]
    }

    /// The sparks that the counter says were captured last.
    ///
    /// # Safety
    /// The device is idle.
    pub unsafe fn captured(&self) -> Result<Vec<Spark>> {
        let Side { sparks, counter } = self.side();
        unsafe {
            counter.invalidate(&self.context)?;
            sparks.invalidate(&self.context)?;
            let bytes = u32::from_le_bytes(bytemuck::pod_read_unaligned(counter.mapped()));
            Ok(bytemuck::cast_slice(&sparks.mapped()[..bytes as usize]).to_vec())
        }
    }

    /// The draw command that was written last.
    ///
    /// # Safety
    /// The device is idle.
    pub unsafe fn command(&self) -> Result<[u32; 4]> {
        unsafe {
            self.commands.invalidate(&self.context)?;
            Ok(bytemuck::pod_read_unaligned(self.commands.mapped()))
        }
    }

    /// # Safety
    /// The device is idle, and the allocator is the one that it was made with.
    pub unsafe fn destroy(self, allocator: &mut dyn MemoryAllocator) {
        let sides = self.sides.map(|Side { sparks, counter }| (sparks, counter));
        let pipelines = (self.kernels, self.fly, self.burst);
        unsafe { self.context.destroy((sides, self.commands, self.arena, pipelines), allocator) };
    }
}

/// The driver captures within render passes, compute outside of them.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass.
unsafe fn begin_pass(gpu: &Gpu, cmd: vk::CommandBuffer, backend: Backend) {
    let extent = vk::Extent2D { width: 1, height: 1 };
    let area = vk::Rect2D { offset: vk::Offset2D::default(), extent };
    let info = vk::RenderingInfo::default().render_area(area).layer_count(1);
    if backend == Backend::Native {
        unsafe { gpu.device.cmd_begin_rendering(cmd, &info) };
    }
}

/// # Safety
/// `cmd` is being recorded, behind [`begin_pass`].
unsafe fn end_pass(gpu: &Gpu, cmd: vk::CommandBuffer, backend: Backend) {
    if backend == Backend::Native {
        unsafe { gpu.device.cmd_end_rendering(cmd) };
    }
}
