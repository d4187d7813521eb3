//! Compares what two probes found, case by case: of two builds of a driver, or of two devices.

#![forbid(unsafe_code)]

mod read;
mod show;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use read::{ReadError, Recorded, RecordedDevice};

use super::report::CaseResult;

/// Identifies a case in a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CaseKey {
    /// Index of the pair of devices that are compared.
    pub device: usize,
    /// The backend that captured.
    pub backend: String,
    /// Topology of the draw.
    pub topology: String,
    /// Name of the vertex shader.
    pub shader: String,
    /// Name of the geometry shader that is captured behind it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry: Option<String>,
    /// Convention of the pipeline.
    pub provoking: String,
    /// Whether the topology was folded into the pipeline.
    pub specialized: bool,
    /// Vertices of one instance.
    pub vertex_count: u32,
    /// Instances.
    pub instance_count: u32,
}

/// A case with different results, or in only one of the reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The case.
    #[serde(flatten)]
    pub case: CaseKey,
    /// The result in the first report, unless it is new.
    pub before: Option<CaseResult>,
    /// The result in the second report, unless it is gone.
    pub after: Option<CaseResult>,
}

/// A property of the devices that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactChange {
    /// Index of the pair of devices that are compared.
    pub device: usize,
    /// What it is, such as `driver` or the name of a limit.
    pub name: String,
    /// The value in the first report.
    pub before: Option<String>,
    /// The value in the second report.
    pub after: Option<String>,
}

/// The difference of two reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Comparison {
    /// Names of the devices, by pair: one of them is missing where the other report has no such device.
    pub devices: Vec<(Option<String>, Option<String>)>,
    /// Different properties of devices, drivers and machines.
    pub facts: Vec<FactChange>,
    /// Right before, and wrong or not captured now.
    pub became_wrong: Vec<Change>,
    /// Right now, and not before.
    pub became_right: Vec<Change>,
    /// Wrong now and not captured before, or the other way round.
    pub otherwise_wrong: Vec<Change>,
    /// Only in the second report.
    pub new: Vec<Change>,
    /// Only in the first report.
    pub gone: Vec<Change>,
    /// The number of cases that are right in both.
    pub still_right: usize,
    /// The number of cases that are wrong in both, or could be captured in neither.
    pub still_wrong: usize,
    /// Cases without draws: the pipelines of which the second report has cases.
    #[serde(skip)]
    kept: BTreeSet<CaseKey>,
}

impl CaseKey {
    /// What cases of the same pipeline have in common.
    fn pipeline(&self) -> Self {
        Self { vertex_count: 0, instance_count: 0, ..self.clone() }
    }
}

impl Comparison {
    /// Compares two reports.
    ///
    /// Devices are paired by vendor and device ID, in order; where both reports have one device only, those are
    /// compared whatever they are.
    pub fn new(before: &Recorded, after: &Recorded) -> Self {
        let mut comparison = Self::default();
        for (first, second) in pairs(&before.devices, &after.devices) {
            comparison.add(first, second);
        }
        comparison
    }

    /// Whether no case became wrong. Cases that are in only one report are ignored.
    pub const fn is_no_worse(&self) -> bool {
        self.became_wrong.is_empty()
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
        let none = BTreeMap::new();
        let results = |d: Option<&'_ RecordedDevice>| d.map(|d| d.results(device));
        let (first, second) = (results(first), results(second));
        self.kept.extend(second.iter().flatten().map(|(case, _)| case.pipeline()));
        let cases = joined(first.as_ref().unwrap_or(&none), second.as_ref().unwrap_or(&none));
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
    }
}

type Pair<'a> = (Option<&'a RecordedDevice>, Option<&'a RecordedDevice>);

/// Pairs of devices that are compared, and devices that are in only one report.
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

/// The keys of two maps, with the values in both.
fn joined<'a, K: Ord, V>(
    first: &'a BTreeMap<K, V>,
    second: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, Option<&'a V>, Option<&'a V>)> {
    let only_second = second.keys().filter(|key| !first.contains_key(key));
    first.keys().chain(only_second).map(|key| (key, first.get(key), second.get(key)))
}
