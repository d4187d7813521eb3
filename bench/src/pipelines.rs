//! Measures how long it takes until a new shader captures: lowering it, making the pipeline, and
//! the first capture, for which some drivers compile once more. Beside it the same for a shader
//! that was written by hand.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vkxfb::lower::Backend;
use vkxfb::runtime::{ConsumerScope, ExpectedDraws, Pipeline};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Gpu, GpuError, begin_render_pass};

use super::by_hand;
use super::case::{Case, Record, Workload};
use super::contestant::{Contestant, PipelineError, create, lower};
use super::memory::{Memory, MemoryError, Sources};
use super::report::{Maker, PipelineReport};
use super::sample::capture;
use super::stats::Spread;

/// The topologies: one whose vertices have one record each, and one with three.
const TOPOLOGIES: [PrimitiveTopology; 2] =
    [PrimitiveTopology::TriangleList, PrimitiveTopology::TriangleStrip];

/// The number of pipelines of each kind that are made.
const TIMES: u32 = 7;

/// Vertices of the first capture.
const VERTICES: u32 = 3;

/// Why pipelines of a record were not measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum MeasureError {
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// The samples of a maker, in nanoseconds.
#[derive(Default)]
struct Samples {
    rewriting: Vec<f64>,
    creation: Vec<f64>,
    first_use: Vec<f64>,
    words: usize,
}

/// Makes pipelines for a record, for each contestant in turn. Each shader has a different constant,
/// so that the driver should not find it in a cache.
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
    // Caches of drivers outlive the process.
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
        // The first pipeline is for warming up.
        if time > 0 {
            let [rewriting, creation, first_use] = durations.map(|d| d.as_nanos() as f64);
            self.rewriting.push(rewriting);
            self.creation.push(creation);
            self.first_use.push(first_use);
        }
    }
}

/// Captures a draw, and waits for it.
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
