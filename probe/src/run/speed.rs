//! Measures roughly how fast a device captures, for the head of the report, and to leave out large
//! draws that would take too long. The benchmark (`vkxfb bench`) measures exactly.

use std::time::Duration;

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, Draw, MemoryLocation, Pipeline,
    Recorder,
};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::gpu::{Gpu, GpuError};
use crate::plan::{CaseGroup, Plan};
use crate::run::error::BatchError;
use crate::run::pipelines::PipelineCache;
use crate::shaders::ProbeShader;
use crate::subject::Subject;
use crate::trial::{Rate, Trial, TrialReport, TrialResult};

/// The name of a shader of the probe that reads no vertex buffer.
const SHADER: &str = "identify";

const TOPOLOGY: PrimitiveTopology = PrimitiveTopology::TriangleStrip;

/// The number of vertices of the first draw, and of the largest draw.
const VERTICES: [u32; 2] = [1 << 12, 1 << 20];

/// The measured draws become larger until a draw takes this long.
const ENOUGH: Duration = Duration::from_millis(10);

/// The number of times that each draw is measured. Only the shortest time is used.
const ROUNDS: usize = 3;

/// Measures how fast each backend of the plan captures a triangle strip.
pub(super) fn measure(gpu: &mut Gpu, plan: &Plan) -> Result<TrialReport, BatchError> {
    let trial = Trial::Speed;
    gpu.fail_trial_if_injected(trial)?;
    let Some(shader) = ProbeShader::by_name(SHADER) else {
        return Ok(TrialReport::new(trial, TrialResult::NotRun, format!("no shader {SHADER}")));
    };
    let subject = Subject::built_in(shader)?;
    let mut rates = Vec::new();
    for &backend in &plan.backends {
        let group = CaseGroup {
            backend,
            subject: &subject,
            provoking: ProvokingVertex::First,
            topology: TOPOLOGY,
            max_batch_bytes: plan.max_batch_bytes,
        };
        let stride: u64 = subject.layout.buffers().map(|(_, stride)| u64::from(stride)).sum();
        let most = plan.max_capture_buffer.min(plan.max_batch_bytes);
        let contents = gpu.bind_contents(&subject.contents)?;
        let mut cache = PipelineCache::default();
        let rate = cache.shader(gpu, &group, &contents).and_then(|shader| {
            let pipeline = cache.pipeline(gpu, &group, &shader, true)?;
            Ok(of_pipeline(gpu, pipeline, stride, most)?)
        });
        cache.destroy(gpu);
        gpu.destroy_contents(contents);
        match rate? {
            Some(vertices_per_second) => rates.push(Rate { backend, vertices_per_second }),
            None => {
                let text = format!("captures by {backend} write nothing");
                return Ok(TrialReport::new(trial, TrialResult::Wrong, text));
            }
        }
    }
    let rate = |Rate { backend, vertices_per_second }: &Rate| {
        let millions = vertices_per_second / 1e6;
        let digits = if millions < 10.0 { 1 } else { 0 };
        format!("{backend} {millions:.digits$}")
    };
    let texts: Vec<_> = rates.iter().map(rate).collect();
    let text = format!("{} million vertices/s", texts.join(", "));
    Ok(TrialReport { rates, ..TrialReport::new(trial, TrialResult::Works, text) })
}

/// Returns the number of vertices that are captured per second. `None` if the last record of a draw was not written.
fn of_pipeline(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    stride: u64,
    most: u64,
) -> Result<Option<f64>, GpuError> {
    let bytes = |vertices: u32| TOPOLOGY.output_count(vertices) * stride;
    let [mut vertices, largest] = VERTICES;
    loop {
        let usage = gpu.context().buffer_usages(pipeline.backend()).capture;
        let target = gpu.create_buffer(bytes(vertices), usage, MemoryLocation::Device)?;
        let time = of_draw(gpu, pipeline, &target, vertices);
        gpu.destroy_buffer(target);
        let Some(time) = time? else { return Ok(None) };
        let next = vertices * 4;
        if time >= ENOUGH || next > largest || bytes(next) > most {
            return Ok(Some(f64::from(vertices) / time.as_secs_f64().max(1e-9)));
        }
        vertices = next;
    }
}

/// Captures a draw several times, and returns the shortest time. `None` if the last record was not
/// written.
fn of_draw(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    target: &Buffer,
    vertices: u32,
) -> Result<Option<Duration>, GpuError> {
    gpu.submit(|ctx, cmd| {
        // SAFETY: the range is the whole buffer, and no earlier submission uses it.
        unsafe { ctx.device().cmd_fill_buffer(cmd, target.raw(), 0, vk::WHOLE_SIZE, 0) };
        Ok(())
    })?;
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut arena = gpu.create_arena(ArenaDesc::new(1, 1))?;
        let time = submit(gpu, pipeline, target, vertices, &mut arena);
        gpu.destroy_arena(arena);
        least = least.min(time?);
    }
    let last = target.size() - 4..target.size();
    Ok(gpu.read(target, last)?.iter().any(|&byte| byte != 0).then_some(least))
}

fn submit(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    target: &Buffer,
    vertices: u32,
    arena: &mut Arena,
) -> Result<Duration, GpuError> {
    let kernels = gpu.kernels();
    let (render_pass, framebuffer) = (gpu.render_pass(), gpu.framebuffer());
    let is_graphics = pipeline.backend() != Backend::Compute;
    let buffers = [Some(CaptureBuffer::new(target.raw(), target.size()))];
    let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
    let draw = Draw { vertex_count: vertices, instance_count: 1, ..Draw::default() };
    let ((), time) = gpu.submit_timed(|ctx, cmd| {
        // SAFETY: everything outlives the submission. Graphics pipelines were created for the
        // render pass, and the buffer is large enough for what is captured.
        unsafe {
            if is_graphics {
                crate::gpu::begin_render_pass(ctx, cmd, render_pass, framebuffer);
            }
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
            // The capture is ended even if the draw failed.
            let drawn = recorder.draw(TOPOLOGY, &draw);
            let ended = recorder.end(&[]);
            drawn.and(ended)?;
            if is_graphics {
                ctx.device().cmd_end_render_pass(cmd);
            }
        }
        Ok(())
    })?;
    Ok(time)
}
