//! Runs each case in a submission of its own, and tells of each before it begins: who listens knows which case it was
//! that took the device or the process with it.

use std::io::{Error, Result};

use serde::{Deserialize, Serialize};
use vkxfb::runtime::Pipeline;

use crate::gpu::{BoundContents, Gpu};
use crate::plan::{Batch, CaseGroup, Plan};
use crate::report::{Case, Findings, ProbeReport};
use crate::trial::Tried;

use super::case::Prepared;
use super::{
    BatchError, Shaded, Shared, capture, case_of, chain, forms, make_pipeline, note_made_up,
    prepare, refused, unsupported,
};

/// A place in a plan whose cases run one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Position {
    /// Place of the batch in [`Plan::all_batches`].
    pub batch: usize,
    /// 0 for what all cases of the batch need, which is made first; otherwise the case, from 1.
    pub case: usize,
}

/// What a run tells.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Something begins, and what began before is done.
    Begin(Position),
    /// What was found since the last time.
    Found(Box<Findings>),
    /// A trial was made.
    Tried(Box<Tried>),
    /// The device was lost, or did not finish, and the run is over.
    Lost(String),
    /// The messages of the validation layer, and the run is over.
    Done(Vec<String>),
}

/// The cases of a batch in the order of their numbers, from 1.
pub fn numbered_cases(batch: &Batch<'_>) -> Vec<Case> {
    let forms = forms(&batch.group);
    let cases = forms.iter().flat_map(|specialized| {
        batch.draws.iter().map(|(v, i)| case_of(&batch.group, *v, *i, *specialized))
    });
    cases.collect()
}

/// Where a run tells what happens. Its error ends the run.
type Tell<'a> = &'a mut dyn FnMut(Event) -> Result<()>;

/// Why the cases of a batch ended early.
enum Stop {
    /// They could not be captured.
    Batch(BatchError),
    /// Nobody listens.
    Listener(Error),
}

impl From<BatchError> for Stop {
    fn from(error: BatchError) -> Self {
        Self::Batch(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Listener(error)
    }
}

/// Runs a plan from a position on, each case alone, and tells of it; but for [`Event::Done`], which is left to the
/// caller, who closes the device before. Returns whether the device still works. Findings are taken out of `report`.
///
/// # Errors
/// Those of `tell`.
pub fn run_alone(
    gpu: &mut Gpu,
    plan: &Plan,
    from: Position,
    report: &mut ProbeReport,
    tell: Tell<'_>,
) -> Result<bool> {
    note_made_up(plan, report);
    let mut shared = Shared::default();
    for (index, batch) in plan.all_batches().iter().enumerate().skip(from.batch) {
        let first = if index == from.batch { from.case } else { 0 };
        let Batch { group, .. } = batch;
        let place = Place { batch, index, first };
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.row(), reason);
        } else {
            // Behind a case that was lost, what the batch needs is made once more.
            tell(place.begin(first))?;
            match run_batch(gpu, &place, &mut shared, report, tell) {
                Ok(()) => {}
                Err(Stop::Listener(error)) => return Err(error),
                Err(Stop::Batch(error)) if error.is_fatal() => {
                    tell(Event::Lost(chain(&error)))?;
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
        tell(Event::Found(Box::new(report.take_findings())))?;
    }
    Ok(true)
}

/// A batch, and the first of its cases that runs.
struct Place<'a> {
    batch: &'a Batch<'a>,
    index: usize,
    first: usize,
}

impl Place<'_> {
    const fn begin(&self, case: usize) -> Event {
        Event::Begin(Position { batch: self.index, case })
    }
}

fn run_batch(
    gpu: &mut Gpu,
    place: &Place<'_>,
    shared: &mut Shared,
    report: &mut ProbeReport,
    tell: Tell<'_>,
) -> std::result::Result<(), Stop> {
    let group = &place.batch.group;
    group.check(&place.batch.draws).map_err(BatchError::from)?;
    let contents = gpu.bind_contents(&group.subject.contents).map_err(BatchError::from)?;
    let result = run_cases(gpu, place, &contents, shared, report, tell);
    gpu.destroy_contents(contents);
    result
}

fn run_cases(
    gpu: &mut Gpu,
    place: &Place<'_>,
    contents: &BoundContents,
    shared: &mut Shared,
    report: &mut ProbeReport,
    tell: Tell<'_>,
) -> std::result::Result<(), Stop> {
    let Batch { group, draws } = place.batch;
    let (shader, table) = prepare(gpu, group, contents, draws, shared, report)?;
    let mut pipelines = Pipelines { shader: &shader, group, made: None };
    for (case, number) in numbered_cases(place.batch).iter().zip(1..) {
        let &Case { vertex_count, instance_count, specialized, .. } = case;
        if number < place.first {
            continue;
        }
        if let Some(reason) = refused(group, vertex_count) {
            report.skip(group.backend, group.row(), reason);
            continue;
        }
        let begun = tell(place.begin(number));
        let captured = begun.map_err(Stop::from).and_then(|()| {
            let pipeline = pipelines.of(gpu, specialized)?;
            let draw = (vertex_count, instance_count);
            let cases = [Prepared::new(group, table.primitives(group, draw), draw)];
            let captured = capture(gpu, pipeline, &shader, group, &cases);
            let [prepared] = cases;
            for captured in captured.map_err(BatchError::from)? {
                prepared.judge(gpu, group, &table, &captured, specialized, report)?;
            }
            Ok(())
        });
        match captured {
            Err(Stop::Batch(error)) if !error.is_fatal() => {
                error.record(group.backend, case, report);
            }
            Err(stop) => {
                pipelines.destroy(gpu);
                return Err(stop);
            }
            Ok(()) => {}
        }
        report.longest_submission_s = gpu.longest_submission().as_secs_f64();
        tell(Event::Found(Box::new(report.take_findings())))?;
    }
    pipelines.destroy(gpu);
    Ok(())
}

/// The pipelines of a batch, one after the other: each is made by the first case that runs with it.
struct Pipelines<'a> {
    shader: &'a Shaded<'a>,
    group: &'a CaseGroup<'a>,
    made: Option<(bool, Pipeline)>,
}

impl Pipelines<'_> {
    fn of(&mut self, gpu: &Gpu, specialized: bool) -> std::result::Result<&Pipeline, BatchError> {
        if self.made.as_ref().is_some_and(|(made, _)| *made != specialized) {
            self.destroy(gpu);
        }
        let (_, pipeline) = match self.made.take() {
            Some(made) => self.made.insert(made),
            None => {
                let Self { shader, group, .. } = *self;
                let pipeline = make_pipeline(gpu, group, shader, specialized)?;
                self.made.insert((specialized, pipeline))
            }
        };
        Ok(pipeline)
    }

    fn destroy(&mut self, gpu: &Gpu) {
        if let Some((_, pipeline)) = self.made.take() {
            gpu.destroy_pipeline(pipeline);
        }
    }
}
