//! Writes reports as JSON, for programs to read.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::report::{
    DeviceInfo, HostInfo, Outcome, ProbeReport, Results, SCHEMA, TOOL_VERSION, outcome,
};
use crate::trial::TrialReport;

/// The JSON of a run: what is common to all devices, and a report of each.
#[derive(Serialize, Deserialize)]
pub(crate) struct Root<R> {
    pub(crate) schema: u32,
    pub(crate) tool_version: Cow<'static, str>,
    outcome: Outcome,
    /// The reason why devices could not be probed, so that they have no report. `None` if all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    pub(crate) reports: Vec<R>,
}

/// The part of a report that [comparisons](crate::compare) read.
#[derive(Serialize, Deserialize)]
pub(crate) struct Comparable<'a> {
    pub(crate) device: Cow<'a, DeviceInfo>,
    pub(crate) host: Cow<'a, HostInfo>,
    // Reports of older versions have neither the command, where they are Markdown, nor trials.
    #[serde(default)]
    pub(crate) command: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) injected: Option<Cow<'a, str>>,
    pub(crate) profile: Cow<'a, str>,
    pub(crate) resources: Cow<'a, str>,
    #[serde(default)]
    pub(crate) trials: Cow<'a, [TrialReport]>,
    pub(crate) results: Cow<'a, [Results]>,
}

impl<'a, R> Root<R> {
    fn new(
        reports: &'a [ProbeReport],
        error: Option<&str>,
        of: impl Fn(&'a ProbeReport) -> R,
    ) -> Self {
        let outcome = outcome(reports);
        Self {
            schema: SCHEMA,
            tool_version: TOOL_VERSION.into(),
            outcome: error.map_or(outcome, |_| outcome.worse(Outcome::CouldNotRun)),
            error: error.map(str::to_owned),
            reports: reports.iter().map(of).collect(),
        }
    }
}

/// Writes reports, one for each device, as indented JSON that ends with a line break. `error` says why devices, or all
/// of them, could not be probed. `cli/JSON.md` describes each field.
///
/// # Errors
/// Errors of `serde_json`, which no report should cause.
pub fn to_json(reports: &[ProbeReport], error: Option<&str>) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Device<'a> {
        outcome: Outcome,
        #[serde(flatten)]
        report: &'a ProbeReport,
    }
    let root = Root::new(reports, error, |report| Device { outcome: report.outcome(), report });
    Ok(serde_json::to_string_pretty(&root)? + "\n")
}

/// Writes the part of [`to_json`] that [comparisons](crate::compare) read, in one line.
pub(crate) fn to_comparable_json(reports: &[ProbeReport]) -> Result<String, serde_json::Error> {
    let root = Root::new(reports, None, |report| Comparable {
        device: Cow::Borrowed(&report.device),
        host: Cow::Borrowed(&report.host),
        command: (&report.command).into(),
        injected: report.injected.as_ref().map(Cow::from),
        profile: (&report.profile).into(),
        resources: (&report.resources).into(),
        trials: (&report.trials).into(),
        results: (&report.results).into(),
    });
    serde_json::to_string(&root)
}
