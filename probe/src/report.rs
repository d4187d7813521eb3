//! The result of a probe run, for people, scripts and bug trackers.
//!
//! A runner makes a [`ProbeReport`], calls [`ProbeReport::record`] once per case, and passes the
//! report to the code that shows it. Results are collected by backend and row, in a [`Cell`],
//! and mismatches in full up to [`MAX_FAILURES`]. All files are written by [`write_atomically`]:
//! completely or not at all.

#![forbid(unsafe_code)]

mod bug;
mod case;
mod date;
mod file;
mod findings;
mod footnotes;
mod groups;
mod host;
mod json;
pub(crate) mod names;
mod results;
mod row;
#[cfg(test)]
pub(crate) mod samples;
mod support;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vkxfb::lower::Backend;
use vkxfb::topology::PrimitiveTopology;

use super::diagnose::{Mismatch, PrimitiveDiff, Verdict};
use super::trial::{TrialReport, TrialResult};

pub use bug::{BugReport, Failing, FailingShader, bug_report};
pub use case::{Case, shell_word};
pub use file::{check_writable, write_atomically};
pub use findings::Findings;
pub(super) use footnotes::Footnotes;
pub(super) use groups::{Group, OnBackend};
pub use host::HostInfo;
use json::to_comparable_json;
pub use json::to_json;
pub use results::{CaseResult, Results};
pub use row::{CapturedStage, Row};
pub use support::BackendSupport;

/// Version of the JSON. Raised if the meaning of a field changes or a field is removed.
pub const SCHEMA: u32 = 1;

/// Version of vkxfb.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The maximum number of mismatches that are kept in full; the rest is only counted.
pub const MAX_FAILURES: usize = 64;

/// The device under test, as Vulkan reports it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DeviceInfo {
    /// Index in the order of the loader, as `--device` takes it, if there are several devices.
    pub index: Option<usize>,
    /// `VkPhysicalDeviceProperties::deviceName`.
    pub name: String,
    /// `VkPhysicalDeviceDriverProperties`: name and info.
    pub driver: String,
    /// `VkPhysicalDeviceProperties::driverVersion`, in the vendor's format.
    pub driver_version: String,
    /// `VkPhysicalDeviceDriverProperties::conformanceVersion`, dotted, if the driver states one.
    pub conformance_version: Option<String>,
    /// `VkPhysicalDeviceProperties::apiVersion`, dotted.
    pub api_version: String,
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// The support for each backend.
    pub backends: Vec<BackendSupport>,
    /// Limits and features that affect captures, by their Vulkan names.
    pub limits: BTreeMap<String, String>,
}

/// A case that was captured wrongly.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    /// The backend that captured.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The case.
    pub case: Case,
    /// What is wrong with it.
    pub mismatch: Mismatch,
    /// The command that repeats it.
    pub command: String,
}

/// A case that lost the device, crashed the process, or did not finish.
#[derive(Debug, Clone, Serialize)]
pub struct LostCase {
    /// The backend that captured.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The case.
    pub case: Case,
    /// What happened.
    pub how: String,
    /// The command that repeats it.
    pub command: String,
}

/// The captured primitives of a draw, right or wrong, for a picture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trace {
    /// The backend that captured.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The case.
    pub case: Case,
    /// The vertex stream, if the case has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// The primitives of its first instance.
    pub primitives: Vec<PrimitiveDiff>,
}

/// The cases of one row of the table on one backend.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The backend that captured.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// Topology of the cases.
    #[serde(with = "names::topology")]
    pub topology: PrimitiveTopology,
    /// The stage that is captured.
    #[serde(default)]
    pub stage: CapturedStage,
    /// The number of cases that ran, with any result.
    pub run: u32,
    /// The number of right cases, including legally rotated ones.
    pub passed: u32,
    /// The number of cases with legally rotated triangles that are right otherwise.
    pub rotated: u32,
    /// The number of cases that could not be captured.
    pub errors: u32,
    /// The first of these errors.
    pub first_error: Option<String>,
    /// Why cases were left out: the first reason.
    pub skipped: Option<String>,
    /// The first wrong case.
    pub first_failure: Option<Failure>,
}

impl Cell {
    /// The row of the table.
    pub const fn row(&self) -> Row {
        Row { stage: self.stage, topology: self.topology }
    }

    /// The number of wrong cases.
    pub const fn failed(&self) -> u32 {
        self.run - self.passed - self.errors
    }
}

/// The outcome of a run, which is the exit status of `vkxfb probe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything that ran is right.
    AllRight = 0,
    /// At least one case or [trial](crate::trial) is wrong.
    Mismatches = 1,
    /// Nothing is wrong, but nothing ran, some case could not be captured, some trial could not be made, or the
    /// validation layer reported something.
    CouldNotRun = 2,
}

impl Outcome {
    /// The outcome of two runs together. A mismatch is worse than a case that could not run.
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
#[derive(Debug, Clone, Serialize)]
pub struct ProbeReport {
    /// The device under test.
    pub device: DeviceInfo,
    /// When the run started, such as `2026-01-31 17:05 UTC`.
    pub date: String,
    /// The machine that it is in.
    pub host: HostInfo,
    /// The command line of the run, empty if it was no command.
    pub command: String,
    /// Name of the device profile of the run, empty for none.
    pub profile: String,
    /// The resource plan, if an option selected one; otherwise empty.
    pub resources: String,
    /// Other options of the command that concern the shader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The trials, which run before the cases.
    pub trials: Vec<TrialReport>,
    /// Results by backend and row, in the order in which they were first recorded.
    pub cells: Vec<Cell>,
    /// The result of each case, by pipeline, in the order in which they were first recorded.
    pub results: Vec<Results>,
    /// The first [`MAX_FAILURES`] wrong cases.
    pub mismatches: Vec<Failure>,
    /// The number of all wrong cases.
    pub mismatch_count: u32,
    /// A small capture of each topology on each backend, for pictures.
    pub traces: Vec<Trace>,
    /// Other remarks, each once: for example that backends differ in precision.
    pub notes: Vec<String>,
    /// The messages of the validation layer, each once.
    pub validation: Vec<String>,
    /// The cases that lost the device, crashed the process, or did not finish.
    pub losses: Vec<LostCase>,
    /// The time of the longest submission in seconds, measured by the host.
    pub longest_submission_s: f64,
    /// Seconds that the run took.
    pub elapsed_s: f64,
}

impl ProbeReport {
    /// An empty report, before the run.
    pub fn new(device: DeviceInfo, profile: impl Into<String>) -> Self {
        Self {
            device,
            date: date::now(),
            host: HostInfo::query(),
            command: String::new(),
            profile: profile.into(),
            resources: String::new(),
            options: Vec::new(),
            trials: Vec::new(),
            cells: Vec::new(),
            results: Vec::new(),
            mismatches: Vec::new(),
            mismatch_count: 0,
            traces: Vec::new(),
            notes: Vec::new(),
            validation: Vec::new(),
            losses: Vec::new(),
            longest_submission_s: 0.0,
            elapsed_s: 0.0,
        }
    }

    /// The results of a row on a backend, if there are any.
    pub fn cell(&self, backend: Backend, row: impl Into<Row>) -> Option<&Cell> {
        let row = row.into();
        self.cells.iter().find(|cell| cell.backend == backend && cell.row() == row)
    }

    /// The rows of the table: those that have results; before there are any, those of vertex shaders.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let has_row = |row: &Row| match self.cells.is_empty() {
            true => row.stage == CapturedStage::Vertex,
            false => self.cells.iter().any(|cell| cell.row() == *row),
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
                first_failure: None,
            });
            self.cells.len() - 1
        });
        &mut self.cells[index]
    }

    fn add_result(&mut self, backend: Backend, case: &Case, result: CaseResult) {
        // Consecutive cases mostly have the same pipeline.
        let index = self.results.iter().rposition(|r| r.has(backend, case)).unwrap_or_else(|| {
            self.results.push(Results::of(backend, case));
            self.results.len() - 1
        });
        self.results[index].add(case, result);
    }

    /// Records the verdict on a case.
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
                let command = self.command(case, Some(backend));
                self.record_failure(Failure {
                    backend,
                    case: case.clone(),
                    mismatch: *mismatch,
                    command,
                });
            }
        }
    }

    /// Records that the records of a case differ from those of another backend. The command that
    /// repeats it runs all backends.
    pub fn record_disagreement(&mut self, backend: Backend, case: &Case, mismatch: Mismatch) {
        let command = self.command(case, None);
        self.record_failure(Failure { backend, case: case.clone(), mismatch, command });
    }

    fn command(&self, case: &Case, backend: Option<Backend>) -> String {
        let mut command = case.command(backend, self.device.index, &self.profile);
        if !self.resources.is_empty() {
            command.push_str(" --resources ");
            command.push_str(&self.resources);
        }
        for option in &self.options {
            command.push(' ');
            command.push_str(&shell_word(option));
        }
        command
    }

    fn record_failure(&mut self, failure: Failure) {
        self.add_result(failure.backend, &failure.case, CaseResult::Wrong);
        let cell = self.cell_mut(failure.backend, failure.case.row());
        cell.run += 1;
        cell.first_failure.get_or_insert_with(|| failure.clone());
        self.mismatch_count += 1;
        if self.mismatches.len() < MAX_FAILURES {
            self.mismatches.push(failure);
        }
    }

    /// Records that a case could not be captured, for example because a pipeline was refused or the
    /// device was lost.
    pub fn record_error(&mut self, backend: Backend, case: &Case, error: impl Into<String>) {
        self.add_result(backend, case, CaseResult::NotRun);
        let cell = self.cell_mut(backend, case.row());
        cell.run += 1;
        cell.errors += 1;
        cell.first_error.get_or_insert_with(|| error.into());
    }

    /// Records that a case lost the device, crashed the process, or did not finish.
    pub fn record_loss(&mut self, backend: Backend, case: &Case, how: impl Into<String>) {
        let (how, command) = (how.into(), self.command(case, Some(backend)));
        self.record_error(backend, case, how.as_str());
        self.losses.push(LostCase { backend, case: case.clone(), how, command });
    }

    /// Records that cases of a row are left out on a backend, and why.
    pub fn skip(&mut self, backend: Backend, row: impl Into<Row>, reason: impl Into<String>) {
        self.cell_mut(backend, row.into()).skipped.get_or_insert_with(|| reason.into());
    }

    /// Whether a capture of that case, and of that vertex stream if it has several, is wanted for a picture: that of the
    /// first case of its row on a backend that fits a picture, see [`super::picture::vertex_count`].
    pub fn wants_trace(&self, backend: Backend, case: &Case, stream: Option<u32>) -> bool {
        let is_alike = |t: &Trace| {
            (t.backend, t.case.row()) == (backend, case.row())
                && (t.case != *case || t.stream == stream)
        };
        case.vertex_count == super::picture::vertex_count(case.topology)
            && !self.traces.iter().any(is_alike)
    }

    /// Keeps the result of [`super::diagnose::trace`] for the first instance of a case, if it is
    /// wanted.
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

    /// Adds a remark that is not a fault.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The first trial with one of these results.
    pub(crate) fn first_trial(&self, results: &[TrialResult]) -> Option<&TrialReport> {
        self.trials.iter().find(|tried| results.contains(&tried.result))
    }

    /// The known facts about the device, the machine and the run, with their names.
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

/// Reports as one self-contained HTML file; see [`super::html`].
pub fn to_html(reports: &[ProbeReport]) -> String {
    super::html::render(reports)
}

/// The outcome of all runs together; without a run, [`Outcome::CouldNotRun`].
pub fn outcome(reports: &[ProbeReport]) -> Outcome {
    let outcomes = reports.iter().map(ProbeReport::outcome);
    outcomes.reduce(Outcome::worse).unwrap_or(Outcome::CouldNotRun)
}
