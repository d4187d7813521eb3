//! Measures how long it takes to make a pipeline: lowering the shader, and the driver's own time.

use std::time::Instant;

use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::Gpu;

use super::case::{Case, Record, Workload};
use super::contestant::{Contestant, PipelineError, create, lower};
use super::data::Vertices;
use super::report::PipelineReport;
use super::stats::Spread;

/// The number of pipelines of each kind that are made.
const TIMES: u32 = 7;

/// Makes pipelines for a record, for each contestant in turn. Each shader has a different constant,
/// so that the driver should not find it in a cache.
pub(super) fn measure(
    gpu: &Gpu,
    record: Record,
    contestants: &[Contestant],
) -> Result<Vec<PipelineReport>, PipelineError> {
    let topology = PrimitiveTopology::TriangleStrip;
    let case = Case { workload: Workload::Draw, topology, record, vertices: 3 };
    let backends: Vec<_> = contestants
        .iter()
        .filter(|c| c.unavailable(gpu, &case).is_none())
        .filter_map(|c| Some((*c, c.backend()?)))
        .collect();
    let mut samples = vec![(Vec::new(), Vec::new(), 0); backends.len()];
    for time in 0..=TIMES {
        for (number, ((contestant, backend), sample)) in
            (0u32..).zip(backends.iter().zip(&mut samples))
        {
            let salt = 2 + number + time * Contestant::ALL.len() as u32;
            let start = Instant::now();
            let shader = lower(gpu, *backend, Vertices::Positions, record, salt as f32)?;
            let rewritten = start.elapsed();
            let vertices = Vertices::Positions;
            let pipeline = create(gpu, *contestant, &shader, vertices, topology, false)?;
            let created = start.elapsed() - rewritten;
            gpu.destroy_pipeline(pipeline);
            // The first pipeline is for warming up.
            if time > 0 {
                sample.0.push(rewritten.as_nanos() as f64);
                sample.1.push(created.as_nanos() as f64);
            }
            sample.2 = shader.words.len();
        }
    }
    let report = |((contestant, _), (rewriting, creation, words)): (_, (Vec<f64>, Vec<f64>, _))| {
        Some(PipelineReport {
            record_bytes: record.bytes(),
            buffers: record.buffers(),
            contestant,
            rewriting_ns: Spread::of(&rewriting)?,
            creation_ns: Spread::of(&creation)?,
            words,
        })
    };
    Ok(backends.into_iter().zip(samples).filter_map(report).collect())
}
