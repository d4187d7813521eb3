//! Runs a plan for another process, to which each batch or case is announced before it starts. If the
//! device is lost or the process crashes, the process that receives the announcements knows which
//! batch or case is to blame. Each case runs in a submission of its own, or those of a batch together.

use std::io::{Error, Result};

use serde::{Deserialize, Serialize};

use crate::gpu::{BoundContents, Gpu};
use crate::plan::{Batch, Plan};
use crate::report::{Case, Findings, ProbeReport};
use crate::run::case::Prepared;
use crate::run::error::{BatchError, error_chain};
use crate::run::pipelines::BoundShader;
use crate::run::record_table::RecordTable;
use crate::run::{
    Shared, capture, forms, note_made_up, prepare, refused, run_until_loss, unsupported,
};
use crate::trial::TrialReport;

/// A position in a plan whose cases run one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Position {
    /// The index of the batch, which is a list of draws, in [`Plan::all_batches`].
    pub batch: usize,
    /// 0 while the batch is prepared for all of its cases; otherwise the number of the case in the
    /// batch, from 1.
    pub case: usize,
}

/// An event of a run, which is sent to the process that started it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A case starts, so the case before it is done.
    Begin(Position),
    /// The results of the cases since the last event of this kind.
    Findings(Box<Findings>),
    /// The result of a trial (a test of a property that devices do not report).
    Trial(Box<TrialReport>),
    /// What was logged since the last event of this kind.
    Log(String),
    /// The device was lost, or a submission did not finish. This ends the run.
    Lost(String),
    /// The run is complete. The messages are those of the validation layer.
    Done(Vec<String>),
}

/// Returns the cases of a batch in the order in which they run. The first case has the
/// number 1 in a [`Position`].
pub fn numbered_cases(batch: &Batch<'_>) -> Vec<Case> {
    let forms = forms(&batch.group);
    let cases = forms.iter().flat_map(|specialized| {
        batch.draws.iter().map(|draw| batch.group.case(*draw, *specialized))
    });
    cases.collect()
}

/// Records that cases are not tried: those of the first batch from `case` on, counted from 1, and all of the others.
/// Cases that the device or backend does not support are recorded as such.
pub fn leave_out(
    gpu: &Gpu,
    batches: &[Batch<'_>],
    case: usize,
    why: &str,
    report: &mut ProbeReport,
) {
    for (index, batch) in batches.iter().enumerate() {
        let group = &batch.group;
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.row(), reason);
            continue;
        }
        let first = if index == 0 { case.saturating_sub(1) } else { 0 };
        for case in numbered_cases(batch).iter().skip(first) {
            match refused(group, case.vertex_count) {
                Some(reason) => report.skip(group.backend, group.row(), reason),
                None => report.record_not_tried(group.backend, case, why),
            }
        }
    }
}

/// Receives the events of a run. If it returns an error, the run ends.
pub(super) type SendEvent<'a> = &'a mut dyn FnMut(Event) -> Result<()>;

/// The reason why not all cases of a batch (a list of draws) were run.
#[derive(Debug, thiserror::Error)]
enum Stop {
    /// The batch, or a case of it, could not be captured.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The receiver of events failed.
    #[error(transparent)]
    Listener(#[from] Error),
}

/// Runs a plan, and sends events to `tell`. The caller sends [`Event::Done`], after closing the device. Returns `false`
/// if the device was lost or a submission did not finish, otherwise `true`. The results are moved from `report` into the
/// events. A case that cannot be captured is recorded, too. With [`Plan::fail_fast`] the run ends after the first batch
/// with a case that is wrong or could not run.
///
/// # Errors
/// Those of `tell`.
pub fn run_together(
    gpu: &mut Gpu,
    plan: &Plan,
    report: &mut ProbeReport,
    tell: SendEvent<'_>,
) -> Result<bool> {
    note_made_up(plan, report);
    let mut shared = Shared::default();
    let loss = run_until_loss(gpu, plan, &mut shared, report, tell);
    shared.cache.destroy(gpu);
    let loss = loss?;
    report.longest_submission_s = gpu.longest_submission().as_secs_f64();
    tell(Event::Findings(Box::new(report.take_findings())))?;
    let is_done = loss.is_none();
    if let Some((at, how)) = loss {
        tell(Event::Begin(at))?;
        tell(Event::Lost(how))?;
    }
    Ok(is_done)
}

/// Runs a plan from a position on, each case in its own submission, and sends events to `tell`. The caller sends
/// [`Event::Done`], after closing the device. Returns `false` if the device was lost or a submission did not finish,
/// otherwise `true`. The results are moved from `report` into the events.
///
/// # Errors
/// Those of `tell`.
pub fn run_alone(
    gpu: &mut Gpu,
    plan: &Plan,
    from: Position,
    report: &mut ProbeReport,
    tell: SendEvent<'_>,
) -> Result<bool> {
    note_made_up(plan, report);
    let mut shared = Shared::default();
    let works = run_batches(gpu, plan, from, &mut shared, report, tell);
    shared.cache.destroy(gpu);
    works
}

fn run_batches(
    gpu: &mut Gpu,
    plan: &Plan,
    from: Position,
    shared: &mut Shared,
    report: &mut ProbeReport,
    tell: SendEvent<'_>,
) -> Result<bool> {
    for (index, batch) in plan.all_batches().iter().enumerate().skip(from.batch) {
        let first = if index == from.batch { from.case } else { 0 };
        let Batch { group, .. } = batch;
        let place = BatchPlace { batch, index, first };
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.row(), reason);
        } else {
            // `first` is 0, unless this batch lost the device in an earlier process. Then it is the case
            // after the lost one. This process has to prepare the batch again, and if that loses the
            // device, too, the case `first` is blamed.
            tell(place.begin(first))?;
            match run_batch(gpu, &place, shared, report, tell) {
                Ok(()) => {}
                Err(Stop::Listener(error)) => return Err(error),
                Err(Stop::Batch(error)) if error.is_fatal() => {
                    tell(Event::Lost(error_chain(&error)))?;
                    return Ok(false);
                }
                Err(Stop::Batch(error)) => {
                    for case in numbered_cases(batch).iter().skip(first.saturating_sub(1)) {
                        error.record(group.backend, case, report);
                    }
                }
            }
        }
        report.longest_submission_s = gpu.longest_submission().as_secs_f64();
        tell(Event::Findings(Box::new(report.take_findings())))?;
    }
    Ok(true)
}

/// A batch (a list of draws), its index in the plan, and the number of its first case to run.
struct BatchPlace<'a> {
    batch: &'a Batch<'a>,
    index: usize,
    first: usize,
}

impl BatchPlace<'_> {
    const fn begin(&self, case: usize) -> Event {
        Event::Begin(Position { batch: self.index, case })
    }
}

fn run_batch(
    gpu: &mut Gpu,
    place: &BatchPlace<'_>,
    shared: &mut Shared,
    report: &mut ProbeReport,
    tell: SendEvent<'_>,
) -> std::result::Result<(), Stop> {
    let group = &place.batch.group;
    group.check(&place.batch.draws).map_err(BatchError::from)?;
    let contents = gpu.bind_contents(&group.subject.contents).map_err(BatchError::from)?;
    let result = run_cases(gpu, place, &contents, shared, report, tell);
    shared.cache.end_batch(gpu, group);
    gpu.destroy_contents(contents);
    result
}

fn run_cases(
    gpu: &mut Gpu,
    place: &BatchPlace<'_>,
    contents: &BoundContents,
    shared: &mut Shared,
    report: &mut ProbeReport,
    tell: SendEvent<'_>,
) -> std::result::Result<(), Stop> {
    let Batch { group, draws } = place.batch;
    let (shader, table) = prepare(gpu, group, contents, draws, shared, report)?;
    for (case, number) in numbered_cases(place.batch).iter().zip(1..) {
        if number < place.first {
            continue;
        }
        if let Some(reason) = refused(group, case.vertex_count) {
            report.skip(group.backend, group.row(), reason);
            continue;
        }
        tell(place.begin(number))?;
        match run_case(gpu, place, &shader, &table, shared, case, report) {
            Err(error) if !error.is_fatal() => error.record(group.backend, case, report),
            result => result?,
        }
        report.longest_submission_s = gpu.longest_submission().as_secs_f64();
        tell(Event::Findings(Box::new(report.take_findings())))?;
    }
    Ok(())
}

fn run_case(
    gpu: &mut Gpu,
    place: &BatchPlace<'_>,
    shader: &BoundShader<'_>,
    table: &RecordTable,
    shared: &mut Shared,
    case: &Case,
    report: &mut ProbeReport,
) -> std::result::Result<(), BatchError> {
    let group = &place.batch.group;
    if let Some(fault) = table.fault((case.vertex_count, case.instance_count)) {
        fault.record(group.backend, case, report);
        return Ok(());
    }
    let pipeline = shared.cache.pipeline(gpu, group, shader, case.specialized)?;
    let draw = (case.vertex_count, case.instance_count);
    let prepared = Prepared::new(group, table, draw);
    let captured = capture(gpu, pipeline, shader, group, std::slice::from_ref(&prepared))?;
    for captured in captured {
        prepared.judge(gpu, group, table, &captured, case.specialized, report)?;
    }
    Ok(())
}
