//! Runs a plan on a device.
//!
//! Memory for each capture is filled with [sentinels](super::sentinel), with guard regions before
//! and after it. The result is compared with the records that the model on the CPU expects. The
//! records of the probe's own shaders are given by formulas, so all backends are compared with the
//! same records. The records of a shader from a file are not known in advance. Therefore each
//! backend first captures them once: the shader is drawn as a list of points (or of lines, if it
//! must not be drawn as points), and the records are compared with those of the first backend. Each
//! draw is captured and compared on its own, so only the draws that differ are wrong, and each of
//! them differs again when it is repeated alone. For a geometry shader from a file, the list
//! contains the primitives of the draw, and an index buffer selects their vertices.

mod alone;
mod case;
mod counters;
mod device;
mod error;
mod pipelines;
mod record_table;
mod reference;
mod speed;
mod supported;
#[cfg(test)]
mod tests;
mod trials;

use std::collections::VecDeque;

use spirv::ExecutionModel;
use vkxfb_rewriter::lower::LoweredKind;
use vkxfb_rewriter::lower::{Backend, compute};

pub use self::alone::{Event, Position, leave_out, numbered_cases, run_alone, run_together};
pub use self::device::{device_info, driver, version_string};
pub use self::trials::run_trial;

use self::alone::SendEvent;
use self::case::Prepared;
use self::error::{BatchError, error_chain};
use self::pipelines::{BoundShader, PipelineCache, capture};
use self::record_table::RecordTable;
use self::reference::References;
use self::supported::{refused, unsupported};
use crate::gpu::{BoundContents, Gpu};
use crate::plan::{Batch, CaseGroup, Plan};
use crate::report::{CapturedStage, Failure, ProbeReport};
use crate::subject::SubjectError;

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The number of batches (draws that are submitted together) that have run.
    pub done: usize,
    /// The number of batches in the plan.
    pub total: usize,
    /// The batch that runs now.
    pub batch: &'a Batch<'a>,
}

/// Runs a plan for [`run_together`]. If the device is lost or a submission does not finish, returns the position of the
/// first case that was not captured (of the batch, if none of it was), and a description.
fn run_until_loss(
    gpu: &mut Gpu,
    plan: &Plan,
    shared: &mut Shared,
    report: &mut ProbeReport,
    tell: SendEvent<'_>,
) -> std::io::Result<Option<(Position, String)>> {
    for (index, batch) in plan.all_batches().iter().enumerate() {
        let Batch { group, draws } = batch;
        tell(Event::Findings(Box::new(report.take_findings())))?;
        tell(Event::Begin(Position { batch: index, case: 0 }))?;
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.row(), reason);
            continue;
        }
        let mut forms = forms(group);
        let all_forms = forms.len();
        if let Err(error) = run_batch(gpu, group, draws, &mut forms, shared, report) {
            if error.is_fatal() {
                let captured = (all_forms - forms.len()) * draws.len();
                let case = if captured == 0 { 0 } else { captured + 1 };
                return Ok(Some((Position { batch: index, case }, error_chain(&error))));
            }
            for specialized in forms {
                for draw in draws {
                    let case = group.case(*draw, specialized);
                    error.record(group.backend, &case, report);
                }
            }
        }
        if plan.fail_fast && report.has_failures() {
            break;
        }
    }
    Ok(None)
}

fn note_made_up(plan: &Plan, report: &mut ProbeReport) {
    for subject in &plan.subjects {
        for what in &subject.contents.made_up {
            report.note(format!("{}: the contents of {what} are made up", subject.name));
        }
    }
}

/// Returns the shaders of a wrong case in the form that the driver got, with the name of the stage of each.
/// The shader that captures is first. `target` is the target for which compute shaders are lowered.
///
/// # Errors
/// [`SubjectError`] if the shaders cannot be lowered.
pub fn failing_shaders(
    failure: &Failure,
    plan: &Plan,
    target: &compute::Target,
) -> Result<Vec<(&'static str, Vec<u32>)>, SubjectError> {
    let Some(subject) = plan.subjects.iter().find(|subject| subject.is_of(&failure.case)) else {
        return Ok(Vec::new());
    };
    let lowered = subject.lower(failure.backend, target)?;
    let stage = match &lowered.kind {
        LoweredKind::Compute(_) => "compute shader",
        _ => match subject.captured_stage() {
            CapturedStage::Tessellation => "tessellation evaluation shader",
            CapturedStage::Geometry | CapturedStage::GeometryStreams => "geometry shader",
            CapturedStage::Vertex => "vertex shader",
        },
    };
    let mut shaders = vec![(stage, lowered.words)];
    if let LoweredKind::Native(native) = lowered.kind {
        let name = |stage: ExecutionModel| match stage {
            ExecutionModel::Vertex => "vertex shader before it",
            _ => "tessellation control shader before it",
        };
        shaders.extend(native.before.into_iter().map(|before| (name(before.stage), before.words)));
    }
    Ok(shaders)
}

/// Returns which pipelines to probe for a group (the cases with the same backend, shaders, provoking vertex and
/// topology). Each element says whether the topology is compiled into the pipeline, by specialization constants. On the
/// native backend it never is. For the other backends, applications create pipelines with and without such constants,
/// so both are probed. But for the probe's own geometry shaders, only the pipeline without is created, to save time.
fn forms(group: &CaseGroup<'_>) -> VecDeque<bool> {
    match group.backend {
        Backend::Native => [false].into(),
        _ if group.subject.geometry.is_some() && group.subject.has_formulas() => [false].into(),
        Backend::Vertex | Backend::Compute => [false, true].into(),
    }
}

/// The reference records (those that captures are compared with) and the pipelines, which are kept for later draws.
#[derive(Default)]
struct Shared {
    references: References,
    cache: PipelineCache,
}

/// Captures the draws of a batch, which are submitted together, with each pipeline of their group (the cases with the
/// same backend, shaders, provoking vertex and topology). Records the verdicts. Draws that the backend cannot capture
/// are left out, with the reason in the report. Removes each pipeline from `forms` when its draws have been captured.
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
    shared.cache.end_batch(gpu, group);
    gpu.destroy_contents(contents);
    result
}

/// Does the work of [`run_batch`] after the descriptor sets were made: `contents` has the sets that the shader of the
/// group uses.
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
        let pipeline = shared.cache.pipeline(gpu, group, shader, specialized)?;
        let known = batch.iter().filter(|draw| table.fault(**draw).is_none());
        let cases: Vec<Prepared> = known.map(|draw| Prepared::new(group, &table, *draw)).collect();
        let results = capture(gpu, pipeline, shader, group, &cases)?;
        let mut captures = cases.iter().zip(results);
        for draw in batch {
            if let Some(fault) = table.fault(*draw) {
                fault.record(group.backend, &group.case(*draw, specialized), report);
            } else if let Some((prepared, captured)) = captures.next() {
                prepared.judge(gpu, group, &table, &captured, specialized, report)?;
            }
        }
        forms.pop_front();
    }
    Ok(())
}

/// Lowers the shader of a group of cases, and determines the records that the draws in `batch` should write.
fn prepare<'a>(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    contents: &'a BoundContents,
    batch: &[(u32, u32)],
    shared: &mut Shared,
    report: &mut ProbeReport,
) -> Result<(BoundShader<'a>, RecordTable), BatchError> {
    let shader = shared.cache.shader(gpu, group, contents)?;
    let Shared { references, cache } = shared;
    let table = references.table(gpu, group, &shader, cache, batch, report)?;
    Ok((shader, table))
}
