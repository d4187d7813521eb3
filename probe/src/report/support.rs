//! Describes the backends and topologies that a device supports.

use serde::{Serialize, Serializer};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::names;
use crate::report::{DeviceInfo, ProbeReport};
use crate::trial::TrialResult;

/// Whether a device supports a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendSupport {
    /// The backend.
    #[serde(with = "names::backend")]
    pub backend: Backend,
    /// The features that the backend needs and the device lacks. Empty if the backend is available.
    pub missing: Vec<String>,
    /// The topologies that the backend can capture.
    #[serde(serialize_with = "by_name")]
    pub topologies: Vec<PrimitiveTopology>,
}

fn by_name<S: Serializer>(topologies: &[PrimitiveTopology], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(topologies.iter().map(ToString::to_string))
}

impl BackendSupport {
    const fn is_available(&self) -> bool {
        self.missing.is_empty()
    }
}

impl DeviceInfo {
    /// Lists the available backends, and the missing features of the others.
    pub(crate) fn backends_text(&self) -> String {
        let (available, others): (Vec<_>, Vec<_>) =
            self.backends.iter().partition(|backend| backend.is_available());
        let mut texts: Vec<String> = Vec::new();
        if !available.is_empty() {
            let names: Vec<_> = available.iter().map(|b| b.backend.to_string()).collect();
            texts.push(names.join(", "));
        }
        texts.extend(others.iter().map(|b| format!("not {}: {}", b.backend, b.missing.join(", "))));
        texts.join("; ")
    }

    /// Says which topologies the available backends capture.
    pub(crate) fn topologies_text(&self) -> String {
        let is_all = |b: &&BackendSupport| b.topologies.len() == PrimitiveTopology::ALL.len();
        let available = self.backends.iter().filter(|backend| backend.is_available());
        let (all, fewer): (Vec<_>, Vec<_>) = available.partition(is_all);
        let names = |backends: &[&BackendSupport]| {
            let names: Vec<_> = backends.iter().map(|b| b.backend.to_string()).collect();
            names.join(" and ")
        };
        let few = |fewer: &[&BackendSupport]| {
            format!("those without adjacency by {} (no geometryShader)", names(fewer))
        };
        match (all.as_slice(), fewer.as_slice()) {
            ([], []) => "none".to_owned(),
            (_, []) => format!("all {}", PrimitiveTopology::ALL.len()),
            ([], fewer) => few(fewer),
            (all, fewer) => {
                let count = PrimitiveTopology::ALL.len();
                format!("all {count} by {}, {}", names(all), few(fewer))
            }
        }
    }
}

impl ProbeReport {
    /// Lists the trials (tests of properties that devices do not report) that are wrong, could not run, or lost the
    /// device. Empty if there are none.
    pub(crate) fn trials_summary(&self) -> String {
        let texts = self.trials.iter().filter_map(|tried| {
            let how = match tried.result {
                TrialResult::Wrong => "came out wrong",
                TrialResult::NotRun => "could not be tried",
                TrialResult::Lost => "lost",
                TrialResult::Works | TrialResult::DoneWithout | TrialResult::Absent => return None,
            };
            Some(format!("{} {how}", tried.trial.title()))
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}
