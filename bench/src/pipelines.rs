//! Measures how long it takes from a new shader to its first capture: lowering the shader, creating
//! the pipeline, and the first capture, for which some drivers compile again. Also measures the
//! same for compute shaders that were written by hand.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vkxfb::runtime::{ConsumerScope, ExpectedDraws, Pipeline};
use vkxfb_probe::gpu::{Gpu, GpuError, begin_render_pass};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::by_hand;
use crate::case::{Case, Record, Workload};
use crate::contestant::{Contestant, PipelineError, create, lower};
use crate::memory::{Memory, MemoryError, Sources};
use crate::report::{Maker, PipelineReport};
use crate::sample::capture;
use crate::stats::Spread;

/// The topologies that are measured. A vertex is in one record of a triangle list, but in up to three records
/// of a triangle strip.
const TOPOLOGIES: [PrimitiveTopology; 2] =
    [PrimitiveTopology::TriangleList, PrimitiveTopology::TriangleStrip];

/// The number of pipelines of each kind that are created.
const TIMES: u32 = 7;

/// The number of vertices of the first capture.
const VERTICES: u32 = 3;

/// The reason why pipelines for a record size were not measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum MeasureError {
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// The samples for pipelines of one kind, in nanoseconds.
#[derive(Default)]
struct Samples {
    rewriting: Vec<f64>,
    creation: Vec<f64>,
    first_use: Vec<f64>,
    words: usize,
}

/// Measures pipelines for a record size, for each contestant in turn. Each shader has a different
/// constant, so that drivers do not find it in a cache.
pub(super) fn measure(
    gpu: &mut Gpu,
    sources: &mut Sources,
    record: Record,
    contestants: &[Contestant],
) -> Result<Vec<PipelineReport>, MeasureError> {
    let mut reports = Vec::new();
    for topology in TOPOLOGIES {
        let case = Case { workload: Workload::Draw, topology, record, vertices: VERTICES };
        let mut memory = Memory::new(gpu, sources, &case)?;
        let measured = measure_case(gpu, &case, &mut memory, contestants);
        memory.destroy(gpu);
        reports.extend(measured?);
    }
    Ok(reports)
}

fn measure_case(
    gpu: &mut Gpu,
    case: &Case,
    memory: &mut Memory,
    contestants: &[Contestant],
) -> Result<Vec<PipelineReport>, MeasureError> {
    let by_hand = by_hand::shader(gpu, case);
    let available = contestants.iter().filter(|c| c.unavailable(gpu, case).is_none());
    let backends: Vec<_> = available.filter_map(|c| Some((*c, c.backend()?))).collect();
    let makers: Vec<Maker> = backends
        .iter()
        .map(|(contestant, _)| Maker::Contestant(*contestant))
        .chain(by_hand.map(|_| Maker::ByHand))
        .collect();
    let mut samples: Vec<Samples> = makers.iter().map(|_| Samples::default()).collect();
    // Drivers may keep caches on disk, so the constants depend on the current time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = f32::from(now.subsec_micros() as u16) + now.as_secs() as u16 as f32 / 65536.0;
    for time in 0..=TIMES {
        let salt = |number: usize| first * (2 + time as usize * makers.len() + number) as f32;
        for (number, (contestant, backend)) in backends.iter().enumerate() {
            let start = Instant::now();
            let vertices = case.workload.vertices();
            let shader = lower(gpu, *backend, case, salt(number))?;
            let rewriting = start.elapsed();
            let start = Instant::now();
            let pipeline = create(gpu, *contestant, &shader, vertices, case.topology, false)
                .map_err(PipelineError::from)?;
            // SAFETY: the device is live.
            let prepared = unsafe {
                let draws = [ExpectedDraws::new(case.topology)];
                pipeline.prepare(gpu.context(), &draws, ash::vk::PipelineCache::null())
            };
            let creation = start.elapsed();
            let used = match prepared {
                Ok(()) => first_use(gpu, *backend, case, memory, &pipeline),
                Err(error) => Err(error.into()),
            };
            gpu.destroy_pipeline(pipeline);
            samples[number].add(time, [rewriting, creation, used?]);
            samples[number].words = shader.words.len();
        }
        if let Some(shader) = by_hand {
            let number = backends.len();
            let [creation, first_use] = by_hand::measure(gpu, shader, case, memory, salt(number))?;
            samples[number].add(time, [Duration::ZERO, creation, first_use]);
            samples[number].words = shader.len() / size_of::<u32>();
        }
    }
    let report = |(maker, samples): (Maker, Samples)| {
        Some(PipelineReport {
            record_bytes: case.record.bytes(),
            buffers: case.record.buffers(),
            topology: case.topology,
            contestant: maker,
            rewriting_ns: Spread::of(&samples.rewriting)?,
            creation_ns: Spread::of(&samples.creation)?,
            first_use_ns: Spread::of(&samples.first_use)?,
            words: samples.words,
        })
    };
    Ok(makers.into_iter().zip(samples).filter_map(report).collect())
}

impl Samples {
    fn add(&mut self, time: u32, durations: [Duration; 3]) {
        // The first pipeline is not counted, because it only warms up the driver.
        if time > 0 {
            let [rewriting, creation, first_use] = durations.map(|d| d.as_nanos() as f64);
            self.rewriting.push(rewriting);
            self.creation.push(creation);
            self.first_use.push(first_use);
        }
    }
}

/// Captures a draw, and waits for it. Returns how long that took.
fn first_use(
    gpu: &mut Gpu,
    backend: Backend,
    case: &Case,
    memory: &mut Memory,
    pipeline: &Pipeline,
) -> Result<Duration, GpuError> {
    let (pass, frame) = (gpu.render_pass(), gpu.framebuffer());
    // SAFETY: the command buffer that was recorded with the arena has been executed, and will be
    // reset.
    unsafe { memory.arena.reset() };
    let start = Instant::now();
    gpu.submit(|ctx, cmd| {
        // SAFETY: the handles belong to this device and outlive the submission; the buffers are
        // large enough for the case.
        unsafe {
            if backend != Backend::Compute {
                begin_render_pass(ctx, cmd, pass, frame);
            }
            capture(cmd, case, memory, pipeline)?;
            if backend != Backend::Compute {
                ctx.device().cmd_end_render_pass(cmd);
            }
            ctx.capture_barrier(cmd, backend, ConsumerScope::HOST);
        }
        Ok(())
    })?;
    Ok(start.elapsed())
}
