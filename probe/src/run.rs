//! Runs a plan on a device.
//!
//! Each case is captured into memory that is filled with [`super::sentinel`], with guards around
//! it. The result is compared with the records that the model on the CPU gathers. For the probe's
//! own shaders the records are formulas, so every backend is compared with the same expectation,
//! and so with the other backends. The records of a shader from a file are not known. They are
//! captured first by the same backend, as a list of points (or of lines, if the shader must not be
//! drawn as points), and compared with those of the first backend. What a geometry shader from a file emits is captured
//! first from a list of its primitives, whose vertices an index buffer has, and compared so, too.

mod alone;
mod case;
mod counters;
mod device;
mod reference;
mod shaded;
mod speed;
mod trials;

use std::collections::VecDeque;
use std::time::Instant;

use vkxfb::lower::{Backend, compute};
use vkxfb::runtime::CaptureNeeds;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexFormat;

pub use self::alone::{Event, Position, numbered_cases, run_alone};
pub use self::device::device_info;
pub use self::trials::{run_trial, run_trials};

use self::case::Prepared;
use self::reference::{RecordTable, References};
use self::shaded::{Kept, Shaded, capture, make_pipeline};
use super::diagnose::{DiagnoseError, Fault, Mismatch, Verdict};
use super::gpu::{BoundContents, Gpu, GpuError};
use super::plan::{Batch, BatchTooLarge, CaseGroup, Plan};
use super::records::RecordsDiffer;
use super::report::{Case, Failure, ProbeReport};
use super::subject::SubjectError;

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
    let mut shared = Shared::default();
    let mut loss = None;
    for (done, batch) in batches.iter().enumerate() {
        let Batch { group, draws } = batch;
        observe(Progress { done, total: batches.len(), group: *group });
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.row(), reason);
            continue;
        }
        let mut forms = forms(group);
        let all_forms = forms.len();
        if let Err(error) = run_batch(gpu, group, draws, &mut forms, &mut shared, report) {
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
    shared.kept.destroy(gpu);
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
    let subject = plan.subjects.iter().find(|subject| subject.is_of(&failure.case));
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
    if group.subject.geometry.is_some() {
        match group.backend {
            Backend::Vertex => {
                return Some("the vertex backend takes vertex shaders alone".to_owned());
            }
            Backend::Native if !enabled.geometry_shader => {
                return Some("no geometryShader".to_owned());
            }
            Backend::Native | Backend::Compute => {}
        }
    }
    if !has_topology(gpu, group.backend, group.topology) {
        return Some("no geometryShader: adjacency is illegal in a graphics pipeline".to_owned());
    }
    let is_points = group.topology == PrimitiveTopology::PointList;
    if is_graphics && is_points && !group.subject.may_take_points() {
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
                let (buffer, byte_offset) = differ.place();
                let mismatch = Mismatch {
                    fault: Fault::WrongBytes,
                    also: Vec::new(),
                    first: None,
                    differing_primitives: 0,
                    rotated_primitives: 0,
                    buffer,
                    byte_offset: byte_offset.cast_signed(),
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
        geometry: group.subject.geometry.as_ref().map(|geometry| geometry.name.clone()),
        topology: group.topology,
        provoking: group.provoking,
        vertex_count,
        instance_count,
        specialized,
    }
}

/// Whether the topology is folded into each of a group's pipelines. Both kinds are in use, so both are probed; but of
/// the probe's own geometry shaders only the one that takes every topology, and need not be made for each.
fn forms(group: &CaseGroup<'_>) -> VecDeque<bool> {
    match group.backend {
        Backend::Native => [false].into(),
        _ if group.subject.geometry.is_some() && group.subject.has_formulas() => [false].into(),
        Backend::Vertex | Backend::Compute => [false, true].into(),
    }
}

/// What batches have in common.
#[derive(Default)]
struct Shared {
    references: References,
    kept: Kept,
}

/// Captures a batch with the group's pipelines, and records the verdicts. Takes those out of `forms` that are done.
fn run_batch(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    batch: &[(u32, u32)],
    forms: &mut VecDeque<bool>,
    shared: &mut Shared,
    report: &mut ProbeReport,
) -> Result<(), BatchError> {
    let mut captured = batch.to_vec();
    captured.retain(|&(vertex_count, _)| {
        let reason = refused(group, vertex_count);
        if let Some(reason) = reason {
            report.skip(group.backend, group.row(), reason);
        }
        reason.is_none()
    });
    let batch = &captured;
    if batch.is_empty() {
        return Ok(());
    }
    group.check(batch)?;
    let contents = gpu.bind_contents(&group.subject.contents)?;
    let result = run_bound(gpu, group, &contents, batch, forms, shared, report);
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
    shared: &mut Shared,
    report: &mut ProbeReport,
) -> Result<(), BatchError> {
    let (shader, table) = prepare(gpu, group, contents, batch, shared, report)?;
    let shader = &shader;
    while let Some(&specialized) = forms.front() {
        let pipeline = shared.kept.pipeline(gpu, group, shader, specialized)?;
        let prepared = |draw: &_| Prepared::new(group, table.primitives(group, *draw), *draw);
        let cases: Vec<Prepared> = batch.iter().map(prepared).collect();
        let result = capture(gpu, &pipeline, shader, group, &cases);
        shared.kept.put(gpu, group, specialized, pipeline);
        for (prepared, captured) in cases.iter().zip(result?) {
            prepared.judge(gpu, group, &table, &captured, specialized, report)?;
        }
        forms.pop_front();
    }
    Ok(())
}

/// What the cases of a batch need: the shader, and what they write.
fn prepare<'a>(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    contents: &'a BoundContents,
    batch: &[(u32, u32)],
    shared: &mut Shared,
    report: &mut ProbeReport,
) -> Result<(Shaded<'a>, RecordTable), BatchError> {
    let shader = shared.kept.shaded(gpu, group, contents)?;
    let table = shared.references.table(gpu, group, &shader, batch, report)?;
    Ok((shader, table))
}
