//! Compares the reports of two probe runs, case by case. The runs may be with two builds of a
//! driver, or on two devices.

#![forbid(unsafe_code)]

mod read;
mod show;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub use read::{ReadError, Recorded, RecordedDevice};

use super::report::CaseResult;
use super::trial::{Trial, TrialResult};

/// Identifies a case (a draw that is captured with one pipeline) in a comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CaseKey {
    /// The index in [`Comparison::devices`] of the pair of devices that is compared.
    pub device: usize,
    /// The name of the backend that captured the draw.
    pub backend: String,
    /// The topology of the draw.
    pub topology: String,
    /// The name of the vertex shader.
    pub shader: String,
    /// The name of the geometry shader or tessellation shaders whose outputs are captured. `None`
    /// if the outputs of the vertex shader are captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry: Option<String>,
    /// The provoking vertex of the pipeline.
    pub provoking: String,
    /// Whether the topology was compiled into the pipeline as a constant. Otherwise the pipeline
    /// takes every topology.
    pub specialized: bool,
    /// The number of vertices of an instance.
    pub vertex_count: u32,
    /// The number of instances.
    pub instance_count: u32,
}

/// A case whose results differ, or that only one of the reports has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The draw and the pipeline that captured it.
    #[serde(flatten)]
    pub case: CaseKey,
    /// The result in the first report. `None` if the case is not in it.
    pub before: Option<CaseResult>,
    /// The result in the second report. `None` if the case is not in it.
    pub after: Option<CaseResult>,
}

/// A property of the device, driver or machine, or the result of a [trial](crate::trial), that differs between two
/// reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactChange {
    /// The index in [`Comparison::devices`] of the pair of devices that is compared.
    pub device: usize,
    /// The name of the property, such as `driver` or the name of a limit.
    pub name: String,
    /// The value in the first report. `None` if the property is not in it.
    pub before: Option<String>,
    /// The value in the second report. `None` if the property is not in it.
    pub after: Option<String>,
}

/// A [trial](crate::trial) whose result differs between two reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrialChange {
    /// The index in [`Comparison::devices`] of the pair of devices that is compared.
    pub device: usize,
    /// The trial.
    #[serde(rename = "name")]
    pub trial: Trial,
    /// The result in the first report. `None` if the trial is not in it.
    pub before: Option<TrialResult>,
    /// The result in the second report.
    pub after: TrialResult,
}

/// A row of [`Comparison::gone_rows`]: the number of cases that only the first report has, and the number of cases that
/// the second report has. The row counts the cases of one backend and one topology, either those that capture a vertex
/// shader or those that capture a later stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoneRow {
    /// The index in [`Comparison::devices`] of the pair of devices that is compared.
    pub device: usize,
    /// The backend that captured.
    pub backend: String,
    /// The topology of the draws.
    pub topology: String,
    /// Whether the cases have a geometry shader or tessellation shaders ([`CaseKey::geometry`]).
    pub geometry: bool,
    /// The number of cases that only the first report has.
    pub gone: usize,
    /// The number of cases of this row in the second report. If it is 0, the second report is worse.
    pub left: usize,
}

/// The differences between two reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Comparison {
    /// The names of the devices in each compared pair: the device of the first report, and the device of the second. A
    /// name is `None` if the report lacks the device.
    pub devices: Vec<(Option<String>, Option<String>)>,
    /// The properties of devices, drivers and machines, and the results of [trials](crate::trial), that differ. Only
    /// devices that both reports have are compared.
    pub facts: Vec<FactChange>,
    /// The [trials](crate::trial) (tests of properties that devices do not report) that are worse in the second report.
    /// Their result in the second report is wrong, lost or not run. In the first report it is none of these, or the
    /// trial is missing. If both reports have the device, these differences are also in [`facts`](Self::facts).
    pub worse_trials: Vec<TrialChange>,
    /// Cases that are right in the first report, and are wrong, could not run or were not tried in the second.
    pub became_wrong: Vec<Change>,
    /// Cases that are right in the second report, and are wrong, could not run or were not tried in the first.
    pub became_right: Vec<Change>,
    /// Cases that are right in neither report, and whose results differ.
    pub otherwise_wrong: Vec<Change>,
    /// Cases that only the second report has.
    pub new: Vec<Change>,
    /// Cases that only the first report has.
    pub gone: Vec<Change>,
    /// The numbers of cases in [`gone`](Self::gone), by backend, by topology, and by whether a later stage than the
    /// vertex shader is captured.
    pub gone_rows: Vec<GoneRow>,
    /// The backends that have cases in the first report and none in the second, each with an index
    /// in [`devices`](Self::devices). Backends of a device that the second report lacks are left
    /// out.
    pub gone_backends: Vec<(usize, String)>,
    /// Whether each of the reports was made with `--quick`, which leaves out cases.
    pub quick: (bool, bool),
    /// Whether faults were simulated in each of the reports, which then says nothing about a driver.
    pub injected: (bool, bool),
    /// The number of cases that are right in both reports.
    pub still_right: usize,
    /// The number of cases that are not right, with the same result in both reports.
    pub still_wrong: usize,
}

impl CaseKey {
    /// Returns a key that is the same for all cases of a pipeline: the counts of vertices and
    /// instances are 0.
    fn pipeline(&self) -> Self {
        Self { vertex_count: 0, instance_count: 0, ..self.clone() }
    }

    fn is_in(&self, row: &GoneRow) -> bool {
        (self.device, self.geometry.is_some()) == (row.device, row.geometry)
            && (&self.backend, &self.topology) == (&row.backend, &row.topology)
    }
}

impl GoneRow {
    /// Counts the cases in `gone`: returns the rows that have at least one of them. `second` has the results of all
    /// cases of the device in the second report.
    fn count(gone: &[Change], second: &BTreeMap<CaseKey, CaseResult>) -> Vec<Self> {
        let mut rows: Vec<Self> = Vec::new();
        for Change { case, .. } in gone {
            match rows.iter_mut().find(|row| case.is_in(row)) {
                Some(row) => row.gone += 1,
                None => {
                    let CaseKey { device, backend, topology, geometry, .. } = case.clone();
                    let geometry = geometry.is_some();
                    let mut row = Self { device, backend, topology, geometry, gone: 1, left: 0 };
                    row.left = second.keys().filter(|key| key.is_in(&row)).count();
                    rows.push(row);
                }
            }
        }
        rows
    }
}

impl Comparison {
    /// Compares two reports.
    ///
    /// Devices are paired by vendor and device ID, in order. If both reports have only one device, these two are
    /// compared even if their IDs differ.
    pub fn new(before: &Recorded, after: &Recorded) -> Self {
        let mut comparison = Self {
            quick: (before.is_quick, after.is_quick),
            injected: (before.is_injected, after.is_injected),
            ..Self::default()
        };
        for (first, second) in pairs(&before.devices, &after.devices) {
            comparison.add(first, second);
        }
        comparison
    }

    /// Whether nothing is worse: no case that was right is wrong, could not run or was not tried, no trial is in
    /// [`worse_trials`](Self::worse_trials), every new case is right, and no device, backend or topology of a backend
    /// is gone. Other missing cases are ignored, because a probe may leave out some cases.
    pub fn is_no_worse(&self) -> bool {
        self.became_wrong.is_empty()
            && self.worse_trials.is_empty()
            && self.new_not_right().next().is_none()
            && self.gone_devices().next().is_none()
            && self.gone_rows.iter().all(|row| row.left > 0)
    }

    fn new_not_right(&self) -> impl Iterator<Item = &Change> {
        self.new.iter().filter(|change| change.after != Some(CaseResult::Right))
    }

    fn gone_devices(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().filter_map(|(before, after)| match after {
            None => before.as_deref(),
            Some(_) => None,
        })
    }

    fn add(&mut self, first: Option<&RecordedDevice>, second: Option<&RecordedDevice>) {
        let device = self.devices.len();
        let name = |d: Option<&RecordedDevice>| d.map(|d| d.name.clone());
        self.devices.push((name(first), name(second)));
        if let (Some(first), Some(second)) = (first, second) {
            for (name, before, after) in joined(&first.facts, &second.facts) {
                if before != after {
                    let (before, after) = (before.cloned(), after.cloned());
                    self.facts.push(FactChange { device, name: name.clone(), before, after });
                }
            }
        }
        for trial in Trial::ALL {
            let result = |d: Option<&RecordedDevice>| d?.trials.get(&trial).copied();
            let (before, after) = (result(first), result(second));
            if let Some(after) = after.filter(|after| after.is_bad())
                && !before.is_some_and(TrialResult::is_bad)
            {
                self.worse_trials.push(TrialChange { device, trial, before, after });
            }
        }
        let results = |d: Option<&'_ RecordedDevice>| d.map(|d| d.results(device));
        let (first, second) = (results(first), results(second));
        let before_gone = self.gone.len();
        let is_gone = second.is_none();
        let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
        let cases = joined(&first, &second);
        for (case, before, after) in cases {
            let (before, after) = (before.copied(), after.copied());
            let change = || Change { case: case.clone(), before, after };
            match (before, after) {
                (Some(CaseResult::Right), Some(CaseResult::Right)) => self.still_right += 1,
                (Some(before), Some(after)) if before == after => self.still_wrong += 1,
                (Some(CaseResult::Right), Some(_)) => self.became_wrong.push(change()),
                (Some(_), Some(CaseResult::Right)) => self.became_right.push(change()),
                (Some(_), Some(_)) => self.otherwise_wrong.push(change()),
                (None, _) => self.new.push(change()),
                (_, None) => self.gone.push(change()),
            }
        }
        self.gone_rows.extend(GoneRow::count(&self.gone[before_gone..], &second));
        if is_gone {
            return;
        }
        let has = |backend: &str| second.keys().any(|case| case.backend == backend);
        for case in first.keys().filter(|case| !has(&case.backend)) {
            let gone = (device, case.backend.clone());
            if !self.gone_backends.contains(&gone) {
                self.gone_backends.push(gone);
            }
        }
    }
}

type Pair<'a> = (Option<&'a RecordedDevice>, Option<&'a RecordedDevice>);

/// Pairs the devices of two reports by vendor and device ID. A device that only one report has is paired with `None`.
/// If both reports have only one device, pairs these two even if their IDs differ.
fn pairs<'a>(before: &'a [RecordedDevice], after: &'a [RecordedDevice]) -> Vec<Pair<'a>> {
    if let ([first], [second]) = (before, after) {
        return vec![(Some(first), Some(second))];
    }
    let mut others: Vec<&RecordedDevice> = after.iter().collect();
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    for first in before {
        let same = others.iter().position(|other| other.ids == first.ids);
        pairs.push((Some(first), same.map(|index| others.remove(index))));
    }
    pairs.extend(others.into_iter().map(|other| (None, Some(other))));
    pairs
}

/// Iterates over the keys of both maps, each with its value in `first` and its value in `second`: `None` if the map
/// lacks the key.
fn joined<'a, K: Ord, V>(
    first: &'a BTreeMap<K, V>,
    second: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, Option<&'a V>, Option<&'a V>)> {
    let only_second = second.keys().filter(|key| !first.contains_key(key));
    first.keys().chain(only_second).map(|key| (key, first.get(key), second.get(key)))
}
