//! The result of a probe run, for users, scripts and bug trackers.
//!
//! A runner creates a [`ProbeReport`], calls [`ProbeReport::record`] for each case (a draw that is captured with one
//! pipeline), and passes the report to the code that shows it. Each [`Cell`] has the results of the cases in one row of
//! the table on one backend. The first [`MAX_FAILURES`] wrong cases, and the first one of each cell, are kept with all
//! details. [`write_atomically`] writes each file of a report completely or not at all.

#![forbid(unsafe_code)]

mod date;
mod file;
mod findings;
mod footnotes;
mod groups;
mod host;
mod json;
mod results;
#[cfg(test)]
pub(crate) mod samples;
mod support;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

pub(crate) use crate::case::FOLDED;
pub use crate::case::{Case, shell_word};
use crate::demand::Demand;
use crate::diagnose::{Mismatch, PrimitiveDiff, Verdict};
use crate::names;
use crate::plan::CaseGroup;
pub use crate::row::{CapturedStage, Row};
use crate::trial::{TrialReport, TrialResult};
pub use file::{check_writable, write_atomically};
pub use findings::Findings;
pub(super) use footnotes::Footnotes;
pub(super) use groups::{Group, OnBackend};
pub use host::HostInfo;
pub(crate) use json::to_comparable_json;
pub use json::to_json;
pub(crate) use json::{Comparable, Root};
pub use results::{CaseResult, Results};
pub use support::BackendSupport;

/// The version of the JSON format. It is raised if the meaning of a field changes, a field is
/// removed, or a value is added that [comparisons](crate::compare) of older versions do not know.
pub const SCHEMA: u32 = 1;

/// The version of vkxfb that made the report.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The maximum number of wrong cases in [`ProbeReport::mismatches`], which keeps all their details. Of further wrong
/// cases, only the first one of each [`Cell`] is kept; the others are only counted.
pub const MAX_FAILURES: usize = 64;

/// The device under test, as Vulkan reports it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The index in the loader's order, as `--device` takes it. `None` if there is only one device.
    pub index: Option<usize>,
    /// `VkPhysicalDeviceProperties::deviceName`.
    pub name: String,
    /// The name and info in `VkPhysicalDeviceDriverProperties`.
    pub driver: String,
    /// `VkPhysicalDeviceProperties::driverVersion`, in the vendor's format.
    pub driver_version: String,
    /// `VkPhysicalDeviceDriverProperties::conformanceVersion` as `MAJOR.MINOR.SUBMINOR.PATCH`.
    /// `None` if the driver does not report it.
    pub conformance_version: Option<String>,
    /// `VkPhysicalDeviceProperties::apiVersion` as `MAJOR.MINOR.PATCH`.
    pub api_version: String,
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// Whether each backend works on the device, and if not, why. It is not read from files, since comparisons do
    /// without.
    #[serde(skip_deserializing)]
    pub backends: Vec<BackendSupport>,
    /// Limits and features that affect captures, by their names in Vulkan.
    pub limits: BTreeMap<String, String>,
}

impl Case {
    /// The maximum number of primitives of the first instance that are shown in a picture.
    pub(crate) fn pictured_primitives(&self) -> usize {
        match self.stage {
            CapturedStage::Vertex => self.topology.primitive_count(self.vertex_count) as usize,
            CapturedStage::Geometry
            | CapturedStage::GeometryStreams
            | CapturedStage::Tessellation => crate::picture::EMITTED,
        }
    }
}

/// A case that was captured wrongly.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    /// The backend that captured the draw.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The draw, and the pipeline that captured it.
    pub case: Case,
    /// The difference between the captured and the expected bytes.
    pub mismatch: Mismatch,
    /// What the specification demands instead.
    pub demand: Demand,
    /// A command that runs this case again.
    pub command: String,
}

/// A case in which the device was lost, the process crashed, or the device did not finish.
#[derive(Debug, Clone, Serialize)]
pub struct LostCase {
    /// The backend that should have captured the draw.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The draw, and the pipeline that should have captured it.
    pub case: Case,
    /// A description of the loss.
    pub how: String,
    /// A command that runs this case again.
    pub command: String,
}

/// The captured primitives of a draw, right or wrong, from which a picture can be drawn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trace {
    /// The backend that captured the draw.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The draw, and the pipeline that captured it.
    pub case: Case,
    /// The vertex stream. `None` if the shader emits to only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// The primitives of the first instance of the draw.
    pub primitives: Vec<PrimitiveDiff>,
}

/// The results of all cases in one row of the table on one backend.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The backend that captured the draws.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The topology of the cases.
    #[serde(with = "names::topology")]
    pub topology: PrimitiveTopology,
    /// The stage whose outputs are captured.
    #[serde(default)]
    pub stage: CapturedStage,
    /// The number of cases that ran, whatever their results are. It includes those that could not be captured.
    pub run: u32,
    /// The number of right cases. It includes those counted in `rotated`.
    pub passed: u32,
    /// The number of cases in which triangles are rotated where the specification allows that, and
    /// everything else is right.
    pub rotated: u32,
    /// The number of cases that could not be captured.
    pub errors: u32,
    /// The error of the first case that could not be captured. `None` if there is no such case.
    pub first_error: Option<String>,
    /// The first reason for leaving out a case that does not apply to the device or backend. `None` if each applies.
    pub skipped: Option<String>,
    /// The number of cases that were not tried, because too many others were lost. They are not in `run`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_tried: u32,
    /// The reasons for not trying cases, without repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_tried_because: Vec<String>,
    /// The first wrong case. `None` if there is none.
    pub first_failure: Option<Failure>,
}

impl Cell {
    /// The row of the table that this cell belongs to.
    pub const fn row(&self) -> Row {
        Row { stage: self.stage, topology: self.topology }
    }

    /// The number of wrong cases.
    pub const fn failed(&self) -> u32 {
        self.run - self.passed - self.errors
    }
}

/// The outcome of a run. Its value is the exit status of `vkxfb probe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// At least one case ran. No case or trial is wrong or could not run, and the validation layer sent no messages.
    AllRight = 0,
    /// At least one case or [trial](crate::trial) (a test of a property that devices do not report) is wrong.
    Mismatches = 1,
    /// Nothing is wrong, but no case ran, some case or [trial](crate::trial) could not run, or the
    /// validation layer sent messages.
    CouldNotRun = 2,
}

impl Outcome {
    /// The worse of the outcomes of two runs. Mismatches are worse than cases that could not run.
    pub const fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Mismatches, _) | (_, Self::Mismatches) => Self::Mismatches,
            (Self::CouldNotRun, _) | (_, Self::CouldNotRun) => Self::CouldNotRun,
            (Self::AllRight, Self::AllRight) => Self::AllRight,
        }
    }

    /// The exit status.
    pub const fn exit_code(self) -> u8 {
        self as u8
    }
}

/// The result of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProbeReport {
    /// The device under test.
    pub device: DeviceInfo,
    /// The time at which the run started, such as `2026-01-31 17:05 UTC`.
    pub date: String,
    /// The machine on which the run took place.
    pub host: HostInfo,
    /// The command line of the run. Empty if the run was not started by a command.
    pub command: String,
    /// The name of the [profile](crate::gpu::Profile) to which the run restricted the device, such as `bifrost`. Empty
    /// if the run used all features of the device.
    pub profile: String,
    /// The resource plan, if an option selected one; otherwise empty.
    pub resources: String,
    /// Other options of the command that affect the run: time limits, for example.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The options that describe shaders from files: the selection of captured outputs, for example.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shader_options: Vec<String>,
    /// The results of the trials (tests of properties that devices do not report), which run before the cases.
    pub trials: Vec<TrialReport>,
    /// The results, by backend and row of the table, in the order in which they were first
    /// recorded.
    pub cells: Vec<Cell>,
    /// The result of each case, by pipeline, in the order in which pipelines were first recorded.
    pub results: Vec<Results>,
    /// The first [`MAX_FAILURES`] wrong cases, with all details.
    pub mismatches: Vec<Failure>,
    /// The number of all wrong cases.
    pub mismatch_count: u32,
    /// The captured primitives of a small draw for each backend and each row of the table, for pictures, and of each
    /// shader with several vertex streams. A draw with several vertex streams has one element for each stream.
    pub traces: Vec<Trace>,
    /// Other remarks, without repetitions: for example that backends differ in precision.
    pub notes: Vec<String>,
    /// The messages of the validation layer, without repetitions.
    pub validation: Vec<String>,
    /// The cases in which the device was lost, the process crashed, or the device did not finish.
    pub losses: Vec<LostCase>,
    /// The number of cases that were not tried, because too many others were lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// A remark that faults were simulated, so that the report says nothing about the driver. `None` if none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injected: Option<String>,
    /// The duration of the longest submission in seconds, measured by the host.
    pub longest_submission_s: f64,
    /// The duration of the run in seconds.
    pub elapsed_s: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl ProbeReport {
    /// Makes an empty report, before the run.
    pub fn new(device: DeviceInfo, profile: impl Into<String>) -> Self {
        Self {
            device,
            date: date::now(),
            host: HostInfo::query(),
            profile: profile.into(),
            ..Self::default()
        }
    }

    /// Returns the results of a row on a backend, if there are any.
    pub fn cell(&self, backend: Backend, row: impl Into<Row>) -> Option<&Cell> {
        let row = row.into();
        self.cells.iter().find(|cell| cell.backend == backend && cell.row() == row)
    }

    /// Returns the rows of the table that have results. Before there are any results, returns the rows of vertex
    /// shaders.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let has_row = |row: &Row| {
            if self.cells.is_empty() {
                row.stage == CapturedStage::Vertex
            } else {
                self.cells.iter().any(|cell| cell.row() == *row)
            }
        };
        Row::all().filter(has_row)
    }

    fn cell_mut(&mut self, backend: Backend, row: Row) -> &mut Cell {
        let found = |cell: &Cell| cell.backend == backend && cell.row() == row;
        let Row { stage, topology } = row;
        let index = self.cells.iter().position(found).unwrap_or_else(|| {
            self.cells.push(Cell {
                backend,
                topology,
                stage,
                run: 0,
                passed: 0,
                rotated: 0,
                errors: 0,
                first_error: None,
                skipped: None,
                not_tried: 0,
                not_tried_because: Vec::new(),
                first_failure: None,
            });
            self.cells.len() - 1
        });
        &mut self.cells[index]
    }

    fn add_result(&mut self, backend: Backend, case: &Case, result: CaseResult) {
        // The search begins at the end, because consecutive cases mostly have the same pipeline.
        let index = self.results.iter().rposition(|r| r.has(backend, case)).unwrap_or_else(|| {
            self.results.push(Results::of(backend, case));
            self.results.len() - 1
        });
        self.results[index].add(case, result);
    }

    /// Adds the verdict on a case.
    pub fn record(&mut self, backend: Backend, case: &Case, verdict: Verdict) {
        if !matches!(verdict, Verdict::Mismatch(_)) {
            self.add_result(backend, case, CaseResult::Right);
        }
        let cell = self.cell_mut(backend, case.row());
        match verdict {
            Verdict::Match => {
                cell.run += 1;
                cell.passed += 1;
            }
            Verdict::RotationAllowed { .. } => {
                cell.run += 1;
                cell.passed += 1;
                cell.rotated += 1;
            }
            Verdict::Mismatch(mismatch) => {
                let command = self.repeat(case, Some(backend));
                self.record_failure(backend, case, *mismatch, command);
            }
        }
    }

    /// Adds a case whose records differ from those of another backend. The command that repeats the
    /// case runs all backends.
    pub fn record_disagreement(&mut self, backend: Backend, case: &Case, mismatch: Mismatch) {
        let command = self.repeat(case, None);
        self.record_failure(backend, case, mismatch, command);
    }

    /// Returns the shell command that runs a case again, with the options of this run. If `backend`
    /// is `None`, the command runs all backends.
    pub fn repeat(&self, case: &Case, backend: Option<Backend>) -> String {
        self.with_options(case.command(backend, &self.shader_options))
    }

    /// Returns a shell command that runs the trials again, with the options of this run, and only few cases.
    pub(crate) fn repeat_trials(&self) -> String {
        self.with_options("vkxfb probe --quick --vertices 3 --instances 1".to_owned())
    }

    /// Returns the number of cases of a cell that were lost, and of those that could not run for another reason.
    pub(crate) fn errors_of(&self, cell: &Cell) -> (u32, u32) {
        let is_of_cell =
            |lost: &&LostCase| (lost.backend, lost.case.row()) == (cell.backend, cell.row());
        let lost = self.losses.iter().filter(is_of_cell).count() as u32;
        (lost, cell.errors.saturating_sub(lost))
    }

    /// Returns the case with which a report for the driver's maintainer begins. `None` if no case is wrong.
    pub fn example(&self) -> Option<&Failure> {
        self.failure_groups().first().map(|group| group.first)
    }

    /// Returns the shell command that runs all draws of a group (the cases with the same backend, shaders, provoking
    /// vertex and topology) again, with the options of this run.
    pub fn repeat_group(&self, group: &CaseGroup<'_>) -> String {
        let case = group.case((0, 0), false);
        self.with_options(case.pipeline_command(Some(group.backend), &self.shader_options))
    }

    fn with_options(&self, mut command: String) -> String {
        if let Some(device) = self.device.index {
            command.push_str(&format!(" --device {device}"));
        }
        for (option, value) in [("profile", &self.profile), ("resources", &self.resources)] {
            if !value.is_empty() {
                command.push_str(&format!(" --{option} {value}"));
            }
        }
        for option in &self.options {
            command.push(' ');
            command.push_str(&shell_word(option));
        }
        command
    }

    fn record_failure(
        &mut self,
        backend: Backend,
        case: &Case,
        mismatch: Mismatch,
        command: String,
    ) {
        let demand = Demand::of(backend, case, mismatch.fault);
        let failure = Failure { backend, case: case.clone(), mismatch, demand, command };
        self.add_result(failure.backend, &failure.case, CaseResult::Wrong);
        let cell = self.cell_mut(failure.backend, failure.case.row());
        cell.run += 1;
        cell.first_failure.get_or_insert_with(|| failure.clone());
        self.mismatch_count += 1;
        if self.mismatches.len() < MAX_FAILURES {
            self.mismatches.push(failure);
        }
    }

    /// Adds a case that could not be captured, for example because the driver rejected a pipeline
    /// or the device was lost.
    pub fn record_error(&mut self, backend: Backend, case: &Case, error: impl Into<String>) {
        self.add_result(backend, case, CaseResult::NotRun);
        let cell = self.cell_mut(backend, case.row());
        cell.run += 1;
        cell.errors += 1;
        cell.first_error.get_or_insert_with(|| error.into());
    }

    /// Adds a case in which the device was lost, the process crashed, or the device did not finish.
    pub fn record_loss(&mut self, backend: Backend, case: &Case, how: impl Into<String>) {
        let (how, command) = (how.into(), self.repeat(case, Some(backend)));
        self.record_error(backend, case, how.as_str());
        self.losses.push(LostCase { backend, case: case.clone(), how, command });
    }

    /// Adds a case that was not tried, because too many others were lost.
    pub fn record_not_tried(&mut self, backend: Backend, case: &Case, why: &str) {
        self.add_result(backend, case, CaseResult::NotTried);
        self.left_out += 1;
        let cell = self.cell_mut(backend, case.row());
        cell.not_tried += 1;
        if !cell.not_tried_because.iter().any(|known| known == why) {
            cell.not_tried_because.push(why.to_owned());
        }
    }

    /// Adds the reason why cases of a row do not apply on a backend, and are left out. If the row already has a reason
    /// on this backend, only the first reason is kept.
    pub fn skip(&mut self, backend: Backend, row: impl Into<Row>, reason: impl Into<String>) {
        self.cell_mut(backend, row.into()).skipped.get_or_insert_with(|| reason.into());
    }

    /// Whether a picture needs the capture of this case. A picture needs it if the case has the [vertex count for
    /// pictures](super::picture::vertex_count), and the report has neither a capture of another case in the same row on
    /// this backend nor a capture of this case with the same `stream`. Of shaders with several vertex streams each is
    /// needed, since some devices have such streams for points alone. `stream` is `None` if the shader emits to only
    /// one vertex stream.
    pub fn wants_trace(&self, backend: Backend, case: &Case, stream: Option<u32>) -> bool {
        let has_streams = case.stage == CapturedStage::GeometryStreams;
        let is_alike = |t: &Trace| {
            (t.backend, t.case.row()) == (backend, case.row())
                && (!has_streams || t.case.geometry == case.geometry)
                && (t.case != *case || t.stream == stream)
        };
        case.vertex_count == super::picture::vertex_count(case.topology)
            && !self.traces.iter().any(is_alike)
    }

    /// Keeps the primitives of the first instance of a case, from [`super::diagnose::trace`], if a
    /// picture needs them.
    pub fn trace(
        &mut self,
        backend: Backend,
        case: &Case,
        stream: Option<u32>,
        primitives: Vec<PrimitiveDiff>,
    ) {
        if self.wants_trace(backend, case, stream) {
            self.traces.push(Trace { backend, case: case.clone(), stream, primitives });
        }
    }

    /// Adds a remark about something that is not a fault.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn first_trial(&self, results: &[TrialResult]) -> Option<&TrialReport> {
        self.trials.iter().find(|tried| results.contains(&tried.result))
    }

    /// Returns the facts about the device, the machine and the run, as pairs of name and value.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let device = &self.device;
        let ids = format!("{:#06x}:{:#06x}", device.vendor_id, device.device_id);
        let mut facts = vec![
            ("device", format!("{} ({ids})", device.name)),
            ("driver", format!("{}, version {}", device.driver, device.driver_version)),
            ("conformance", device.conformance_version.clone().unwrap_or_default()),
            ("Vulkan", device.api_version.clone()),
            ("date", self.date.clone()),
        ];
        facts.extend(self.host.facts());
        let longest = self.longest_submission_s * 1000.0;
        facts.extend([
            ("longest submission", format!("{longest:.1} ms")),
            ("vkxfb", TOOL_VERSION.to_owned()),
            ("profile", self.profile.clone()),
            ("resources", self.resources.clone()),
            ("command", self.command.clone()),
        ]);
        facts.retain(|(_, value)| !value.is_empty());
        facts
    }

    /// How many cases were not tried, as the end of a sentence. Empty if there are none.
    pub(crate) fn not_tried_text(&self) -> String {
        match self.left_out {
            0 => String::new(),
            cases => format!(", {cases} not tried"),
        }
    }

    /// The number of cases that ran.
    pub fn cases_run(&self) -> u32 {
        self.cells.iter().map(|c| c.run).sum()
    }

    /// Whether a case is wrong or could not be captured.
    pub fn has_failures(&self) -> bool {
        self.mismatch_count > 0 || self.cells.iter().any(|cell| cell.errors > 0)
    }

    /// The outcome of the run.
    pub fn outcome(&self) -> Outcome {
        if self.mismatch_count > 0 || self.first_trial(&[TrialResult::Wrong]).is_some() {
            Outcome::Mismatches
        } else if self.cases_run() == 0
            || self.has_failures()
            || self.first_trial(&[TrialResult::Lost, TrialResult::NotRun]).is_some()
            || !self.validation.is_empty()
        {
            Outcome::CouldNotRun
        } else {
            Outcome::AllRight
        }
    }
}

/// The outcome of all runs together; [`Outcome::CouldNotRun`] if there is no run.
pub fn outcome(reports: &[ProbeReport]) -> Outcome {
    let outcomes = reports.iter().map(ProbeReport::outcome);
    outcomes.reduce(Outcome::worse).unwrap_or(Outcome::CouldNotRun)
}
