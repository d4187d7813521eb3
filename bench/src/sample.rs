//! Makes a single capture, and measures its time.

use std::time::Instant;

use ash::vk;

use vkxfb::runtime::{
    ArenaSize, CaptureDesc, ConsumerScope, Context, DrawIndexed, IndexBuffer, Pipeline, Recorder,
    RuntimeError,
};
use vkxfb_probe::gpu::{Gpu, GpuError, Timestamps, begin_render_pass};
use vkxfb_rewriter::lower::Backend;

use crate::case::Case;
use crate::contestant::{Contestant, PipelineError, Pipelines};
use crate::memory::Memory;
use crate::roofline::{Rooflines, Spread};

/// The times of one capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// The time in nanoseconds by the device's timestamps. `None` if they are not used.
    pub(super) gpu: Option<f64>,
    /// The time in nanoseconds from the submission until the host knows that the device has
    /// finished.
    pub(super) wall: f64,
    /// The time in nanoseconds that the host spends in Begin, the draws and End.
    pub(super) recording: f64,
    /// The memory that the capture took from the arena.
    pub(super) arena: ArenaSize,
}

/// The reason why a capture could not be measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum SampleError {
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

impl SampleError {
    /// Whether the device is lost or hung, so that nothing else can be measured.
    pub(super) const fn is_fatal(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::DeviceLost { .. } | GpuError::Timeout(_)))
    }
}

/// Two timestamps, before and after the work that is measured.
pub(super) struct Timer {
    /// The properties of timestamps. `None` if the device has none, or if they are not plausible.
    timestamps: Option<Timestamps>,
    pool: vk::QueryPool,
}

impl Timer {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let timestamps = gpu.timestamps();
        let info =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
        let pool = match timestamps {
            // SAFETY: the device is live, and its queue supports timestamps.
            Some(_) => unsafe { gpu.context().device().create_query_pool(&info, None) }
                .map_err(RuntimeError::vulkan("vkCreateQueryPool"))?,
            None => vk::QueryPool::null(),
        };
        Ok(Self { timestamps, pool })
    }

    pub(super) const fn timestamps(&self) -> Option<Timestamps> {
        self.timestamps
    }

    /// Stops using timestamps, because they are not plausible.
    pub(super) const fn distrust(&mut self) {
        self.timestamps = None;
    }

    /// Resets the queries for the timestamps, if these are used.
    ///
    /// # Safety
    /// `cmd` is being recorded outside of a render pass instance.
    unsafe fn reset(&self, ctx: &Context, cmd: vk::CommandBuffer) {
        if self.timestamps.is_some() {
            unsafe { ctx.device().cmd_reset_query_pool(cmd, self.pool, 0, 2) };
        }
    }

    /// Writes a timestamp after all earlier commands have completed.
    ///
    /// # Safety
    /// `cmd` is being recorded, after [`reset`](Self::reset).
    unsafe fn write(&self, ctx: &Context, cmd: vk::CommandBuffer, query: u32) {
        let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
        if self.timestamps.is_some() {
            unsafe { ctx.device().cmd_write_timestamp(cmd, stage, self.pool, query) };
        }
    }

    /// Returns the nanoseconds between the two timestamps. `None` if they are not used.
    fn read(&self, ctx: &Context) -> Result<Option<f64>, GpuError> {
        let Some(timestamps) = self.timestamps else { return Ok(None) };
        let mut values = [0u64; 2];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the submission that wrote both timestamps has finished.
        unsafe { ctx.device().get_query_pool_results(self.pool, 0, &mut values, flags) }
            .map_err(RuntimeError::vulkan("vkGetQueryPoolResults"))?;
        Ok(Some(timestamps.nanoseconds(values)))
    }

    pub(super) fn destroy(self, gpu: &Gpu) {
        // SAFETY: no submission is in flight. Destroying a null handle is allowed.
        unsafe { gpu.context().device().destroy_query_pool(self.pool, None) };
    }
}

/// The pipelines and the timer for measuring captures.
pub(super) struct Tools {
    pub(super) pipelines: Pipelines,
    pub(super) rooflines: Rooflines,
    pub(super) timer: Timer,
}

impl Tools {
    /// Makes a capture, and measures its time.
    pub(super) fn sample(
        &mut self,
        gpu: &mut Gpu,
        case: &Case,
        memory: &mut Memory,
        contestant: Contestant,
        spread: Spread,
    ) -> Result<Sample, SampleError> {
        let Some(backend) = contestant.backend() else {
            return self.sample_roofline(gpu, case, memory, spread, 1);
        };
        let pipeline = self.pipelines.get(gpu, contestant, backend, case)?;
        let (pass, frame) = (gpu.render_pass(), gpu.framebuffer());
        let is_graphics = backend != Backend::Compute;
        let timer = &self.timer;
        memory.make_room(gpu, case, pipeline)?;
        // SAFETY: the command buffer that was recorded with the arena has been executed, and will
        // be reset.
        unsafe { memory.arena.reset() };
        let (recording, wall) = gpu.submit_timed(|ctx, cmd| {
            // SAFETY: the handles belong to this device and outlive the submission; the buffers are
            // large enough for the case.
            unsafe {
                prepare(ctx, cmd, memory);
                timer.reset(ctx, cmd);
                if is_graphics {
                    begin_render_pass(ctx, cmd, pass, frame);
                }
                timer.write(ctx, cmd, 0);
                let start = Instant::now();
                capture(cmd, case, memory, pipeline)?;
                let recording = start.elapsed();
                if is_graphics {
                    ctx.device().cmd_end_render_pass(cmd);
                }
                ctx.capture_barrier(cmd, backend, ConsumerScope::VERTEX_BUFFER);
                timer.write(ctx, cmd, 1);
                Ok(recording)
            }
        })?;
        Ok(Sample {
            gpu: timer.read(gpu.context())?,
            wall: wall.as_nanos() as f64,
            recording: recording.as_nanos() as f64,
            arena: memory.arena.used(),
        })
    }

    /// Runs the roofline kernel for a case `times` times, and measures the time of all runs
    /// together.
    pub(super) fn sample_roofline(
        &mut self,
        gpu: &mut Gpu,
        case: &Case,
        memory: &Memory,
        spread: Spread,
        times: u32,
    ) -> Result<Sample, SampleError> {
        // SAFETY: earlier submissions were waited for; the buffers are those of the case.
        unsafe { self.rooflines.prepare(gpu.context(), case, spread, &memory.reached) }
            .map_err(GpuError::from)?;
        let (timer, rooflines) = (&self.timer, &self.rooflines);
        let (recording, wall) = gpu.submit_timed(|ctx, cmd| {
            // SAFETY: the handles belong to this device and outlive the submission; the buffers are
            // large enough for the case.
            unsafe {
                prepare(ctx, cmd, memory);
                timer.reset(ctx, cmd);
                timer.write(ctx, cmd, 0);
                let start = Instant::now();
                // Repetitions need no barriers between them, because all write the same values.
                for _ in 0..times {
                    rooflines.record(ctx, cmd, case, spread, &memory.reached)?;
                }
                let recording = start.elapsed();
                ctx.capture_barrier(cmd, Backend::Compute, ConsumerScope::VERTEX_BUFFER);
                timer.write(ctx, cmd, 1);
                Ok(recording)
            }
        })?;
        Ok(Sample {
            gpu: timer.read(gpu.context())?,
            wall: wall.as_nanos() as f64,
            recording: recording.as_nanos() as f64,
            arena: ArenaSize::default(),
        })
    }

    pub(super) fn destroy(self, gpu: &Gpu) {
        self.pipelines.destroy(gpu);
        self.rooflines.destroy(gpu.context());
        self.timer.destroy(gpu);
    }
}

/// Sets the counters to 0, and records a barrier that orders the capture after all earlier
/// commands.
///
/// # Safety
/// `cmd` is being recorded outside of a render pass instance.
unsafe fn prepare(ctx: &Context, cmd: vk::CommandBuffer, memory: &Memory) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    let none = vk::DependencyFlags::empty();
    // SAFETY: the caller's contract; the counters' buffer has the usage `TRANSFER_DST`.
    unsafe {
        for counter in memory.counters.iter().flatten() {
            ctx.device().cmd_fill_buffer(cmd, counter.buffer, counter.offset, 4, 0);
        }
        ctx.device().cmd_pipeline_barrier(cmd, all, all, none, &[barrier], &[], &[]);
    }
}

/// Records Begin, the draws, and End.
///
/// # Safety
/// The same as for [`Recorder::begin`]. The buffers contain the data that the case draws.
pub(super) unsafe fn capture(
    cmd: vk::CommandBuffer,
    case: &Case,
    memory: &mut Memory,
    pipeline: &Pipeline,
) -> Result<(), RuntimeError> {
    let vertex_buffers = [memory.vertices];
    let desc = CaptureDesc {
        buffers: &memory.captures,
        vertex_buffers: &vertex_buffers,
        counters: &memory.counters,
        ..CaptureDesc::new(pipeline)
    };
    unsafe {
        let mut recorder = Recorder::begin(&mut memory.capture, &mut memory.arena, cmd, &desc)?;
        // If a draw fails, the capture is still ended; the first error is returned after that.
        let drawn = draw(&mut recorder, case, memory.indices.as_ref());
        let ended = recorder.end(&memory.counters);
        drawn.and(ended)?;
    }
    Ok(())
}

/// Records the draws of a case, between the commands that begin and end transform feedback.
///
/// # Safety
/// The same as for [`capture`].
unsafe fn draw(
    recorder: &mut Recorder<'_>,
    case: &Case,
    indices: Option<&IndexBuffer>,
) -> Result<(), RuntimeError> {
    unsafe {
        if let Some(indices) = indices {
            recorder.bind_index_buffer(indices)?;
            let draw = DrawIndexed {
                index_count: case.vertices,
                instance_count: 1,
                ..DrawIndexed::default()
            };
            return recorder.draw_indexed(case.topology, &draw);
        }
        for number in 0..case.draws() {
            recorder.draw(case.topology, &case.draw(number))?;
        }
    }
    Ok(())
}
