//! Runs a plan on a device.
//!
//! Each case is captured into memory that is filled with [`super::sentinel`], with guards around
//! it. The result is compared with the records that the model on the CPU gathers. For the probe's
//! own shaders the records are formulas, so every backend is compared with the same expectation,
//! and so with the other backends. The records of a shader from a file are not known. They are
//! captured first by the same backend, as a list of points (or of lines, if the shader must not be
//! drawn as points), and compared with those of the first backend.

mod alone;
mod case;
mod counters;
mod device;
mod reference;
mod speed;
mod trials;

use std::collections::VecDeque;
use std::time::Instant;

use vkxfb::lower::{Backend, Lowered, compute};
use vkxfb::runtime::{CaptureNeeds, Pipeline, PipelineDesc};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexFormat;

pub use self::alone::{Event, Position, numbered_cases, run_alone};
pub use self::device::device_info;
pub use self::trials::{run_trial, run_trials};

use self::case::Prepared;
use self::reference::{RecordTable, References};
use super::diagnose::{DiagnoseError, Fault, Mismatch, Verdict};
use super::gpu::{BoundContents, CaptureRequest, Gpu, GpuError, VertexData};
use super::plan::{Batch, BatchTooLarge, CaseGroup, Plan};
use super::records::RecordsDiffer;
use super::report::{Case, Failure, ProbeReport};
use super::subject::{Subject, SubjectError};

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The number of batches that are done.
    pub done: usize,
    /// The number of all batches.
    pub total: usize,
    /// The group whose batch runs now.
    pub group: CaseGroup<'a>,
}

/// Runs a plan, and records the results in `report`.
///
/// A case that cannot be captured is recorded, too. Only a lost device ends the run early, which
/// the report also says.
pub fn run(
    gpu: &mut Gpu,
    plan: &Plan,
    report: &mut ProbeReport,
    observe: impl FnMut(Progress<'_>),
) {
    if let Some(Loss { at, how, forms }) = run_until_loss(gpu, plan, report, observe)
        && let Some(Batch { group, draws }) = plan.all_batches().get(at.batch)
    {
        for specialized in forms {
            for (vertex_count, instance_count) in draws {
                let case = case_of(group, *vertex_count, *instance_count, specialized);
                report.record_error(group.backend, &case, how.as_str());
            }
        }
    }
}

/// A device that was lost, or did not finish.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The batch in which it happened, and the first case of it that was not captured.
    pub at: Position,
    /// What happened.
    pub how: String,
    /// Of which pipelines of the batch no draw was captured: those into which the topology is folded, and others.
    forms: VecDeque<bool>,
}

/// As [`run`], but of the batch that was running when the device was lost nothing is recorded that was not captured.
pub fn run_until_loss(
    gpu: &mut Gpu,
    plan: &Plan,
    report: &mut ProbeReport,
    mut observe: impl FnMut(Progress<'_>),
) -> Option<Loss> {
    let start = Instant::now();
    note_made_up(plan, report);
    let batches = plan.all_batches();
    let mut references = References::default();
    let mut loss = None;
    for (done, batch) in batches.iter().enumerate() {
        let Batch { group, draws } = batch;
        observe(Progress { done, total: batches.len(), group: *group });
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.topology, reason);
            continue;
        }
        let mut forms = forms(group.backend);
        let all_forms = forms.len();
        if let Err(error) = run_batch(gpu, group, draws, &mut forms, &mut references, report) {
            if error.is_fatal() {
                let captured = (all_forms - forms.len()) * draws.len();
                let case = if captured == 0 { 0 } else { captured + 1 };
                let at = Position { batch: done, case };
                loss = Some(Loss { at, how: chain(&error), forms });
                break;
            }
            for specialized in forms {
                for (vertex_count, instance_count) in draws {
                    let case = case_of(group, *vertex_count, *instance_count, specialized);
                    error.record(group.backend, &case, report);
                }
            }
        }
        if plan.fail_fast && report.has_failures() {
            break;
        }
    }
    report.longest_submission_s = gpu.longest_submission().as_secs_f64();
    report.elapsed_s = start.elapsed().as_secs_f64();
    loss
}

fn note_made_up(plan: &Plan, report: &mut ProbeReport) {
    for subject in &plan.subjects {
        for what in &subject.contents.made_up {
            report.note(format!("{}: the contents of {what} are made up", subject.name));
        }
    }
}

/// The shader of a wrong case, as the device got it. `target` is what the shader was lowered for by compute.
///
/// # Errors
/// [`SubjectError`] if the shader cannot be lowered.
pub fn failing_module(
    failure: &Failure,
    plan: &Plan,
    target: &compute::Target,
) -> Result<Vec<u32>, SubjectError> {
    let subject = plan.subjects.iter().find(|s| s.name == failure.case.shader);
    let lowered = subject.map(|s| s.lower(failure.backend, target)).transpose()?;
    Ok(lowered.map(|l| l.words).unwrap_or_default())
}

/// Whether a backend of the device captures draws of a topology.
fn has_topology(gpu: &Gpu, backend: Backend, topology: PrimitiveTopology) -> bool {
    backend == Backend::Compute
        || !topology.has_adjacency()
        || gpu.context().enabled().geometry_shader
}

/// Why a group cannot run on a device that has the backend.
fn unsupported(gpu: &Gpu, group: &CaseGroup<'_>) -> Option<String> {
    let enabled = gpu.context().enabled();
    let is_graphics = group.backend != Backend::Compute;
    if !has_topology(gpu, group.backend, group.topology) {
        return Some("no geometryShader: adjacency is illegal in a graphics pipeline".to_owned());
    }
    let is_points = group.topology == PrimitiveTopology::PointList;
    if is_graphics && is_points && !group.subject.writes_point_size() {
        return Some("the shader writes no PointSize: points are illegal then".to_owned());
    }
    // A graphics pipeline with a format that the device does not support is invalid, so its
    // captures mean nothing.
    let lacks = |format: &VertexFormat| is_graphics && !gpu.has_vertex_format(*format);
    let mut formats = group.subject.vertex_input.attributes.iter().map(|a| a.format);
    if let Some(format) = formats.find(lacks) {
        let format = ash::vk::Format::from(format);
        return Some(format!("no vertex buffers of VK_FORMAT_{format:?}"));
    }
    let is_last = group.provoking == ProvokingVertex::Last;
    if group.backend == Backend::Native && is_last && !enabled.provoking_vertex_last {
        return Some("last-vertex cases: no provokingVertexLast".to_owned());
    }
    None
}

/// Why the backend refuses a draw of a group, if it does.
fn refused(group: &CaseGroup<'_>, vertex_count: u32) -> Option<&'static str> {
    let is_fan = group.topology == PrimitiveTopology::TriangleFan;
    let fan_vertices = if is_fan { vertex_count } else { 0 };
    group.backend.refuses(&CaptureNeeds::default().fan_vertices(fan_vertices))
}

/// Why a batch could not be captured.
#[derive(Debug, thiserror::Error)]
enum BatchError {
    #[error(transparent)]
    TooLarge(#[from] BatchTooLarge),
    #[error(transparent)]
    Subject(#[from] SubjectError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Diagnose(#[from] DiagnoseError),
    /// A step of the capture of the records did nothing.
    #[error("{0}")]
    MissingStep(Box<Mismatch>),
    /// The backends captured different records.
    #[error("{differ} (compared with {first})")]
    Records { differ: RecordsDiffer, first: Backend },
}

impl BatchError {
    const fn is_fatal(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::DeviceLost { .. } | GpuError::Timeout(_)))
    }

    /// Records a case that could not be captured because of this error.
    fn record(&self, backend: Backend, case: &Case, report: &mut ProbeReport) {
        match self {
            Self::Records { differ, .. } => {
                let mismatch = Mismatch {
                    fault: Fault::WrongBytes,
                    also: Vec::new(),
                    first: None,
                    differing_primitives: 0,
                    rotated_primitives: 0,
                    buffer: differ.buffer,
                    byte_offset: differ.byte_offset.cast_signed(),
                    note: Some(self.to_string()),
                    excerpt: Vec::new(),
                };
                report.record_disagreement(backend, case, mismatch);
            }
            Self::MissingStep(mismatch) => {
                report.record(backend, case, Verdict::Mismatch(mismatch.clone()));
            }
            // The outermost message alone may be only the name of a file.
            _ => report.record_error(backend, case, chain(self)),
        }
    }
}

/// An error and its sources, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

fn case_of(
    group: &CaseGroup<'_>,
    vertex_count: u32,
    instance_count: u32,
    specialized: bool,
) -> Case {
    Case {
        shader: group.subject.name.clone(),
        topology: group.topology,
        provoking: group.provoking,
        vertex_count,
        instance_count,
        specialized,
    }
}

/// Whether the topology is folded into each of a group's pipelines. Both kinds are in use, so both are probed.
fn forms(backend: Backend) -> VecDeque<bool> {
    match backend {
        Backend::Native => [false].into(),
        Backend::Vertex | Backend::Compute => [false, true].into(),
    }
}

/// Captures a batch with the group's pipelines, and records the verdicts. Takes those out of `forms` that are done.
fn run_batch(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    batch: &[(u32, u32)],
    forms: &mut VecDeque<bool>,
    references: &mut References,
    report: &mut ProbeReport,
) -> Result<(), BatchError> {
    let mut captured = batch.to_vec();
    captured.retain(|&(vertex_count, _)| {
        let reason = refused(group, vertex_count);
        if let Some(reason) = reason {
            report.skip(group.backend, group.topology, reason);
        }
        reason.is_none()
    });
    let batch = &captured;
    if batch.is_empty() {
        return Ok(());
    }
    group.check(batch)?;
    let contents = gpu.bind_contents(&group.subject.contents)?;
    let result = run_bound(gpu, group, &contents, batch, forms, references, report);
    gpu.destroy_contents(contents);
    result
}

/// The same, with what the shader's descriptors hold.
fn run_bound(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    contents: &BoundContents,
    batch: &[(u32, u32)],
    forms: &mut VecDeque<bool>,
    references: &mut References,
    report: &mut ProbeReport,
) -> Result<(), BatchError> {
    let (shader, table) = prepare(gpu, group, contents, batch, references, report)?;
    let shader = &shader;
    while let Some(&specialized) = forms.front() {
        let pipeline = make_pipeline(gpu, group, shader, group.topology, specialized)?;
        let cases: Vec<Prepared> = batch
            .iter()
            .map(|(vertices, instances)| Prepared::new(group, *vertices, *instances))
            .collect();
        let result = capture(gpu, &pipeline, shader, group.subject, group.topology, &cases);
        gpu.destroy_pipeline(pipeline);
        for (prepared, buffers) in cases.iter().zip(result?) {
            prepared.judge(gpu, group, &table, &buffers, specialized, report)?;
        }
        forms.pop_front();
    }
    Ok(())
}

/// What the cases of a batch need: the shader, and the records of their largest draw.
fn prepare<'a>(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    contents: &'a BoundContents,
    batch: &[(u32, u32)],
    references: &mut References,
    report: &mut ProbeReport,
) -> Result<(Shaded<'a>, RecordTable), BatchError> {
    let target = gpu.compute_target(group.backend)?;
    let shader = Shaded { lowered: group.subject.lower(group.backend, &target)?, contents };
    let max = |f: fn(&(u32, u32)) -> u32| batch.iter().map(f).max().unwrap_or(0);
    let (max_vertices, max_instances) = (max(|b| b.0), max(|b| b.1));
    let table = references.table(gpu, group, &shader, max_vertices, max_instances, report)?;
    Ok((shader, table))
}

/// A shader as a backend takes it, and what its descriptors hold.
struct Shaded<'a> {
    lowered: Lowered,
    contents: &'a BoundContents,
}

fn make_pipeline(
    gpu: &Gpu,
    group: &CaseGroup<'_>,
    shader: &Shaded<'_>,
    topology: PrimitiveTopology,
    specialize: bool,
) -> Result<Pipeline, GpuError> {
    let desc = PipelineDesc::new(&shader.lowered)
        .topology(topology)
        .dynamic_topology(!specialize)
        .provoking_vertex(group.provoking)
        .vertex_input(&group.subject.vertex_input)
        .set_layouts(shader.contents.set_layouts())
        .render_pass(gpu.render_pass())
        .cache(ash::vk::PipelineCache::null());
    // SAFETY: the context is of a live device, the module was lowered for this backend, and the set layouts have what it
    // uses.
    Ok(unsafe { Pipeline::new(gpu.context(), &desc) }?)
}

/// Captures prepared cases with one pipeline. Returns the allocations after the capture.
fn capture(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    shader: &Shaded<'_>,
    subject: &Subject,
    topology: PrimitiveTopology,
    cases: &[Prepared],
) -> Result<Vec<Vec<Option<Vec<u8>>>>, GpuError> {
    let vertex_buffers: Vec<Vec<(u32, Vec<u8>)>> = cases
        .iter()
        .map(|case| {
            let bindings = &subject.vertex_input.bindings;
            let (vertices, instances) = (case.draw.vertex_count, case.draw.instance_count);
            bindings
                .iter()
                .map(|b| (b.binding, subject.vertex_buffer(b, vertices, instances)))
                .collect()
        })
        .collect();
    let vertex_data: Vec<Vec<VertexData<'_>>> = vertex_buffers
        .iter()
        .map(|buffers| {
            buffers.iter().map(|(binding, bytes)| VertexData { binding: *binding, bytes }).collect()
        })
        .collect();
    let draws: Vec<_> = cases.iter().map(|case| [(topology, case.draw)]).collect();
    let push_constants = [subject.contents.push_constants.clone()];
    let pushed = if push_constants[0].is_empty() { &[] } else { &push_constants[..] };
    let targets: Vec<_> = cases.iter().map(Prepared::targets).collect();
    let requests: Vec<CaptureRequest<'_>> = draws
        .iter()
        .zip(&targets)
        .zip(&vertex_data)
        .map(|((draws, targets), vertex_data)| {
            // Buffers after the last that is captured to are not bound.
            let used = targets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            CaptureRequest {
                pipeline,
                vertex_data,
                descriptor_sets: shader.contents.sets(),
                push_constants: pushed,
                draws,
                buffers: &targets[..used],
            }
        })
        .collect();
    // SAFETY: the pipeline is of this device, and the vertex data holds every vertex of the draws.
    let results = unsafe { gpu.capture(&requests) }?;
    Ok(results.into_iter().map(|result| result.buffers).collect())
}
