//! The report as one HTML file.

#![forbid(unsafe_code)]

use super::report::ProbeReport;

pub(super) fn render(report: &ProbeReport) -> String {
    let _ = report;
    String::new()
}
