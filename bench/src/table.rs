//! Shows the report as text for a terminal.

#![forbid(unsafe_code)]

use std::fmt::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use vkxfb_probe::terminal::in_line;

use crate::case::Workload;
use crate::contestant::Contestant;
use crate::report::{BenchReport, CaseReport, Maker, Measured, PipelineReport};

/// The table has rules at its top and bottom, and below its header.
const RULES: TableStyle =
    TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);
const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

/// The maximum number of cases listed among those that were left out.
const LISTED: usize = 5;

/// Renders the report as text that ends in a line break.
pub fn render(report: &BenchReport) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(out: &mut String, report: &BenchReport) -> fmt::Result {
    let device = &report.device;
    writeln!(out, "{}", in_line(&device.name))?;
    let driver = format!("{} {}", device.driver, device.driver_version);
    writeln!(out, "{}, Vulkan {}", in_line(driver.trim()), device.api_version)?;
    let host = &report.host;
    writeln!(
        out,
        "{} {}, {} x {}",
        host.os,
        host.arch,
        host.cpus,
        host.cpu.as_deref().map_or("CPU".to_owned(), in_line)
    )?;
    if !host.optimized {
        writeln!(out, "compiled without optimisations: times of the host are not meaningful")?;
    }
    match (report.clock.timestamps, report.clock.coverage) {
        (true, _) => writeln!(out, "times: the device's timestamps")?,
        (false, None) => writeln!(out, "times: the host's clock around each submission")?,
        (false, Some(coverage)) => writeln!(
            out,
            "times: the host's clock around each submission; the device's timestamps cover {:.1} % of \
             its work",
            100.0 * coverage
        )?,
    }
    let is_draw = |c: &&CaseReport| c.workload == Workload::Draw;
    let draws: Vec<_> = report.cases.iter().filter(is_draw).collect();
    if !draws.is_empty() {
        writeln!(
            out,
            "\nCaptured bytes, 10^9 per second, one draw; [roofline, native] = times as fast"
        )?;
        writeln!(out, "{}", rates(&draws).trim_fmt())?;
    }
    let others: Vec<_> = report.cases.iter().filter(|c| !is_draw(c)).collect();
    if !others.is_empty() {
        writeln!(out, "\nThe same of other workloads")?;
        writeln!(out, "{}", rates(&others).trim_fmt())?;
    }
    let many: Vec<_> = report.cases.iter().filter(|c| c.draws > 1).collect();
    if !many.is_empty() {
        writeln!(
            out,
            "\nMany draws: microseconds of the host to record one, and bytes of the arena"
        )?;
        writeln!(out, "{}", recording(&many).trim_fmt())?;
    }
    if !report.pipelines.is_empty() {
        writeln!(
            out,
            "\nPipelines, milliseconds: rewriting the shader + creation + first use [times by hand]"
        )?;
        writeln!(out, "{}", pipelines(&report.pipelines).trim_fmt())?;
    }
    for case in report.left_out.iter().take(LISTED) {
        writeln!(out, "left out: {}: {}", case.case, case.reason)?;
    }
    if let Some(more @ 1..) = report.left_out.len().checked_sub(LISTED) {
        writeln!(out, "left out: {more} more, which --json lists")?;
    }
    for (who, reason) in missing(report) {
        writeln!(out, "missing: {who}: {reason}")?;
    }
    for wrong in &report.wrong {
        writeln!(out, "WRONG, and not timed: {wrong}")?;
    }
    for message in &report.validation {
        writeln!(out, "validation: {message}")?;
    }
    let (count, plural) = (report.cases.len(), if report.cases.len() == 1 { "" } else { "s" });
    writeln!(out, "\n{count} case{plural} in {:.1} s", report.elapsed_s)
}

fn table(head: impl IntoIterator<Item = String>, left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(RULES).force_no_tty();
    table.set_header(head);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns the contestants that took part in any of the cases.
fn present(cases: &[&CaseReport]) -> Vec<Contestant> {
    let took_part = |c: &Contestant| cases.iter().any(|case| case.result(*c).is_some());
    Contestant::ALL.into_iter().filter(took_part).collect()
}

fn rates(cases: &[&CaseReport]) -> Table {
    let present = present(cases);
    let with_workload = cases.iter().any(|c| c.workload != Workload::Draw);
    let head = ["topology", "bytes", "vertices"].map(str::to_owned).into_iter();
    let names = present.iter().map(Contestant::to_string);
    let mut table = table(head.chain(names), 1);
    for case in cases {
        let name = if with_workload {
            format!("{} {}", case.workload, case.topology)
        } else {
            case.topology.to_string()
        };
        let bytes = match case.buffers {
            1 => case.record_bytes.to_string(),
            buffers => format!("{}/{buffers}", case.record_bytes),
        };
        let cell = |c: &Contestant| case.result(*c).map_or("-".to_owned(), rate);
        let results = present.iter().map(cell);
        table.add_row([name, bytes, vertices(case)].into_iter().chain(results));
    }
    table
}

fn vertices(case: &CaseReport) -> String {
    let n = case.vertices;
    let count = match n {
        0 => n.to_string(),
        n if n % (1 << 20) == 0 => format!("{} Mi", n >> 20),
        n if n % (1 << 10) == 0 => format!("{} Ki", n >> 10),
        n => n.to_string(),
    };
    if case.draws > 1 { format!("{} x {count}", case.draws) } else { count }
}

/// Formats the captured bytes per second, and their ratios to the roofline and to native: "12.3
/// [0.91 45]".
fn rate(result: &Measured) -> String {
    let mut text = figures(result.captured_gb_per_s);
    let ratios: Vec<_> = match result.contestant {
        Contestant::Roofline => Vec::new(),
        Contestant::Native => vec![result.to_roofline],
        _ => vec![result.to_roofline, result.to_native],
    };
    let ratios: Vec<String> = ratios.into_iter().flatten().map(figures).collect();
    if !ratios.is_empty() {
        text += &format!(" [{}]", ratios.join(" "));
    }
    text
}

/// Formats a number with about three significant figures.
fn figures(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.0995 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

fn recording(cases: &[&CaseReport]) -> Table {
    let present: Vec<_> =
        present(cases).into_iter().filter(|c| *c != Contestant::Roofline).collect();
    let head = ["draws".to_owned(), "vertices".to_owned()].into_iter();
    let mut table = table(head.chain(present.iter().map(Contestant::to_string)), 1);
    for case in cases {
        let cell = |c: &Contestant| {
            case.result(*c).map_or("-".to_owned(), |result| {
                let one = result.recording_ns.divided(case.draws).median / 1e3;
                let arena = result.arena_upload + result.arena_scratch;
                format!("{} ({arena} B)", figures(one))
            })
        };
        let name = format!("{} {}", case.workload, case.topology);
        let cells = present.iter().map(cell);
        table.add_row([name, vertices(case)].into_iter().chain(cells));
    }
    table
}

fn pipelines(reports: &[PipelineReport]) -> Table {
    let mut present: Vec<Maker> = Vec::new();
    for report in reports {
        if !present.contains(&report.contestant) {
            present.push(report.contestant);
        }
    }
    let head = ["bytes", "topology"].map(str::to_owned).into_iter();
    let mut table = table(head.chain(present.iter().map(Maker::to_string)), 0);
    let of_row = |r: &PipelineReport| (r.record_bytes, r.buffers, r.topology);
    let mut rows: Vec<_> = reports.iter().map(of_row).collect();
    rows.dedup();
    for row in rows {
        let find = |maker| reports.iter().find(|r| of_row(r) == row && r.contestant == maker);
        let by_hand = find(Maker::ByHand).map(total);
        let cell = |maker: &Maker| {
            find(*maker).map_or("-".to_owned(), |r| {
                let [rewriting, creation, first_use] =
                    [r.rewriting_ns, r.creation_ns, r.first_use_ns]
                        .map(|s| figures(s.median / 1e6));
                match (r.contestant, by_hand) {
                    (Maker::ByHand, _) => format!("{creation} + {first_use}"),
                    (_, None) => format!("{rewriting} + {creation} + {first_use}"),
                    (_, Some(by_hand)) => {
                        let times = figures(total(r) / by_hand);
                        format!("{rewriting} + {creation} + {first_use} [{times}]")
                    }
                }
            })
        };
        let (bytes, buffers, topology) = row;
        let name = if buffers == 1 { bytes.to_string() } else { format!("{bytes}/{buffers}") };
        let head = [name, topology.to_string()].into_iter();
        table.add_row(head.chain(present.iter().map(cell)));
    }
    table
}

/// Returns the nanoseconds from a new shader to its first capture.
fn total(report: &PipelineReport) -> f64 {
    report.rewriting_ns.median + report.creation_ns.median + report.first_use_ns.median
}

/// Returns the contestants that did not take part in some case, with each reason, without
/// repetitions.
fn missing(report: &BenchReport) -> Vec<(Contestant, &str)> {
    let mut all: Vec<_> = report
        .cases
        .iter()
        .flat_map(|case| &case.missing)
        .map(|m| (m.contestant, m.reason.as_str()))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_places() {
        let values = [1234.5, 99.96, 12.34, 1.234, 0.5, 0.0123];
        assert_eq!(values.map(figures), ["1234", "100", "12.3", "1.23", "0.50", "0.0123"]);
    }
}
