//! Writes the reports of all devices as a single file, to be attached to a bug report for a driver.
//! `vkxfb probe compare` also reads that file.

use std::fmt::Write;

use crate::demand::Demand;
use crate::diagnose::Fault;
use crate::report::{Failure, LostCase, ProbeReport, to_comparable_json};
use crate::table;

/// The start of the first line of each bug report.
pub(crate) const BUG_REPORT_HEAD: &str = "# Transform feedback: ";

/// The contents of a bug report.
#[derive(Debug, Clone, Copy)]
pub struct BugReport<'a> {
    /// The reports of the runs, one for each device.
    pub reports: &'a [ProbeReport],
    /// The case that the bug report is about. `None` if no case is wrong.
    pub failing: Option<&'a Failing>,
    /// The log of the runs.
    pub log: &'a str,
}

/// A wrong case, with its shaders.
#[derive(Debug, Clone)]
pub struct Failing {
    /// The case, and its mismatch.
    pub failure: Failure,
    /// The shaders of the case as the driver got them. The shader that captures is first.
    pub shaders: Vec<FailingShader>,
}

/// A shader of a test case whose capture was wrong.
#[derive(Debug, Clone)]
pub struct FailingShader {
    /// The name of the stage, such as "geometry shader".
    pub stage: &'static str,
    /// The module.
    pub spirv: Vec<u32>,
    /// The disassembled module. `None` if no disassembler was found.
    pub disassembly: Option<String>,
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, line: impl AsRef<str>) {
        self.0.push_str(line.as_ref());
        self.0.push('\n');
    }
}

/// Writes the bug report as Markdown: the wrong case, if there is one, with its lowered SPIR-V and
/// the command that runs it again; the machine, device, driver and limits; and all results, for
/// readers and for [comparisons](crate::compare).
///
/// # Errors
/// Errors of `serde_json`, which no report should cause.
pub fn bug_report(bug: &BugReport<'_>) -> Result<String, serde_json::Error> {
    let BugReport { reports, failing, log } = *bug;
    let mut lines = Lines::default();
    match failing {
        Some(Failing { failure, .. }) => {
            let Failure { case, mismatch, demand, command, .. } = failure;
            let fault = mismatch.fault;
            lines.add(format!("{BUG_REPORT_HEAD}{fault} ({})\n", case.topology));
            lines.add(format!("{mismatch}.\n\nRepeat it with\n\n    {command}\n"));
            add_demand(&mut lines, demand);
        }
        None => match reports.iter().find_map(|report| report.losses.first()) {
            Some(LostCase { case, how, command, .. }) => {
                lines.add(format!("{BUG_REPORT_HEAD}lost ({})\n", case.topology));
                lines.add(format!("{case}: {how}.\n\nRepeat it with\n\n    {command}\n"));
            }
            None => {
                let summaries = reports.iter().map(ProbeReport::trials_summary);
                let summaries: Vec<_> = summaries.filter(|summary| !summary.is_empty()).collect();
                lines.add(if summaries.is_empty() {
                    format!("{BUG_REPORT_HEAD}no capture came out wrong\n")
                } else {
                    format!("{BUG_REPORT_HEAD}{}\n", summaries.join("; "))
                });
            }
        },
    }
    // The devices of a run have the same simulated fault.
    if let Some(remark) = reports.iter().find_map(|report| report.injected.as_ref()) {
        lines.add(format!("{remark}\n"));
    }
    for report in reports {
        add_device(&mut lines, report);
    }
    if let Some(Failing { failure, .. }) = failing {
        add_case(&mut lines, failure);
    }
    for report in reports {
        lines.add(format!("\n## Results of {}\n", report.device.name));
        lines.add(fenced("text", &table::render(report, false)));
        lines.add(format!("## Limits and features of {}\n", report.device.name));
        for (name, value) in &report.device.limits {
            lines.add(format!("- {name}: {value}"));
        }
    }
    for FailingShader { stage, spirv, disassembly } in
        failing.iter().flat_map(|failing| &failing.shaders)
    {
        lines.add(format!("\n## SPIR-V of the {stage}\n"));
        let words = spirv.len();
        lines
            .add(format!("{words} words, little-endian; `xxd -r -p` makes a module of the hex.\n"));
        if let Some(disassembly) = disassembly {
            lines.add(fenced("spirv", disassembly));
        }
        lines.add(fenced("hex", &hex(spirv)));
    }
    if !log.is_empty() {
        lines.add("\n## Log\n");
        lines.add(fenced("text", log));
    }
    lines.add("\n## Every case\n\nFor `vkxfb probe compare`, which reads it from this file.\n");
    lines.add(fenced("json", &to_comparable_json(reports)?));
    Ok(lines.0)
}

fn add_demand(lines: &mut Lines, demand: &Demand) {
    let Demand { text, link, conformance, program } = demand;
    lines.add(format!("{text} ([specification]({link}))\n"));
    if let Some(name) = conformance {
        lines.add(format!("Nearest conformance test: `{name}`\n"));
    }
    if let Some(command) = program {
        lines.add(format!(
            "A C program that shows it without vkxfb is written to the directory DIR by\n\n    {command}\n"
        ));
    }
}

fn add_device(lines: &mut Lines, report: &ProbeReport) {
    lines.add("## Device\n");
    for (name, value) in report.facts() {
        let quote = if name == "command" { "`" } else { "" };
        lines.add(format!("- {name}: {quote}{value}{quote}"));
    }
}

fn add_case(lines: &mut Lines, failure: &Failure) {
    lines.add("\n## Case\n");
    lines.add(format!("- {}, backend {}", failure.case, failure.backend));
    let mismatch = &failure.mismatch;
    lines.add(format!("- primitives that differ: {}", mismatch.differing_primitives));
    if mismatch.rotated_primitives > 0 {
        lines.add(format!("- primitives rotated, legally: {}", mismatch.rotated_primitives));
    }
    lines.add(format!(
        "- first wrong byte: buffer {}, {} from the start of the bound range",
        mismatch.buffer, mismatch.byte_offset
    ));
    if !mismatch.excerpt.is_empty() {
        lines.add("\n| instance | primitive | expected | captured | |");
        lines.add("|---:|---:|---|---|---|");
        for diff in &mismatch.excerpt {
            lines.add(format!(
                "| {} | {} | {} | {} | {} |",
                diff.instance,
                diff.primitive,
                diff.expected_text(),
                // An unescaped vertical bar would end the cell of the Markdown table.
                diff.captured_text().replace('|', "\\|"),
                diff.fault.map_or_else(String::new, Fault::name)
            ));
        }
    }
}

/// Formats words as little-endian bytes in hexadecimal, eight words per line, as `xxd -r -p` reads
/// them.
fn hex(words: &[u32]) -> String {
    let mut text = String::with_capacity(words.len() * 9);
    for line in words.chunks(8) {
        for word in line {
            for byte in word.to_le_bytes() {
                // Writing to a string does not fail.
                let _ = write!(text, "{byte:02x}");
            }
        }
        text.push('\n');
    }
    text
}

/// Makes a code block whose fence is longer than any run of backticks in the code.
fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", code.trim_end())
}
