//! Writes reports as JSON, for programs to read.

use serde::Serialize;

use crate::report::{
    DeviceInfo, HostInfo, Outcome, ProbeReport, Results, SCHEMA, TOOL_VERSION, outcome,
};
use crate::trial::TrialReport;

#[derive(Serialize)]
struct Root<R> {
    schema: u32,
    tool_version: &'static str,
    outcome: Outcome,
    reports: Vec<R>,
}

impl<'a, R> Root<R> {
    fn new(reports: &'a [ProbeReport], of: impl Fn(&'a ProbeReport) -> R) -> Self {
        Self {
            schema: SCHEMA,
            tool_version: TOOL_VERSION,
            outcome: outcome(reports),
            reports: reports.iter().map(of).collect(),
        }
    }
}

/// Writes reports, one for each device, as indented JSON that ends with a line break.
///
/// # Errors
/// Errors of `serde_json`, which no report should cause.
pub fn to_json(reports: &[ProbeReport]) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Device<'a> {
        outcome: Outcome,
        #[serde(flatten)]
        report: &'a ProbeReport,
    }
    let root = Root::new(reports, |report| Device { outcome: report.outcome(), report });
    Ok(serde_json::to_string_pretty(&root)? + "\n")
}

/// Writes the part of [`to_json`] that [comparisons](crate::compare) read, in one line.
pub(crate) fn to_comparable_json(reports: &[ProbeReport]) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Device<'a> {
        device: &'a DeviceInfo,
        host: &'a HostInfo,
        command: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        injected: Option<&'a str>,
        profile: &'a str,
        resources: &'a str,
        trials: &'a [TrialReport],
        results: &'a [Results],
    }
    let root = Root::new(reports, |report| Device {
        device: &report.device,
        host: &report.host,
        command: &report.command,
        injected: report.injected.as_deref(),
        profile: &report.profile,
        resources: &report.resources,
        trials: &report.trials,
        results: &report.results,
    });
    serde_json::to_string(&root)
}
