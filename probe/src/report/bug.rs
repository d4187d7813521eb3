//! A single file to attach to a driver bug.

use std::fmt::Write;

use super::{Failure, ProbeReport};

/// The contents of a bug report.
#[derive(Debug, Clone, Copy)]
pub struct BugReport<'a> {
    /// The run.
    pub report: &'a ProbeReport,
    /// The case that it is about.
    pub failure: &'a Failure,
    /// The shader as the device got it.
    pub spirv: &'a [u32],
    /// Its disassembly, if there is a disassembler.
    pub disassembly: Option<&'a str>,
}

/// The bug report as Markdown: device, driver, limits, the failing case, the lowered SPIR-V and the
/// command that repeats it.
pub fn bug_report(bug: &BugReport<'_>) -> String {
    let BugReport { report, failure, spirv, disassembly } = *bug;
    let device = &report.device;
    let mut text = String::new();
    let mut line = |s: String| {
        text.push_str(&s);
        text.push('\n');
    };
    line(format!("# Transform feedback: {} ({})\n", failure.mismatch.fault, failure.case.topology));
    line(format!("{}.\n", failure.mismatch));
    line("Repeat it with\n".to_owned());
    line(format!("    {}\n", failure.command));

    line("## Device\n".to_owned());
    line(format!(
        "- device: {} ({:#06x}:{:#06x})",
        device.name, device.vendor_id, device.device_id
    ));
    line(format!("- driver: {}, version {}", device.driver, device.driver_version));
    line(format!("- Vulkan {}", device.api_version));
    line(format!("- vkxfb {}", super::TOOL_VERSION));
    if !report.profile.is_empty() {
        line(format!("- profile: {}", report.profile));
    }
    if !report.resources.is_empty() {
        line(format!("- resources: {}", report.resources));
    }

    line("\n## Case\n".to_owned());
    line(format!("- {}, backend {}", failure.case, failure.backend));
    let mismatch = &failure.mismatch;
    line(format!("- primitives that differ: {}", mismatch.differing_primitives));
    if mismatch.rotated_primitives > 0 {
        line(format!("- primitives rotated, legally: {}", mismatch.rotated_primitives));
    }
    line(format!(
        "- first wrong byte: buffer {}, {} from the start of the bound range",
        mismatch.buffer, mismatch.byte_offset
    ));
    if !mismatch.excerpt.is_empty() {
        line("\n| instance | primitive | expected | captured | |".to_owned());
        line("|---:|---:|---|---|---|".to_owned());
        for diff in &mismatch.excerpt {
            line(format!(
                "| {} | {} | {} | {} | {} |",
                diff.instance,
                diff.primitive,
                diff.expected_text(),
                // A bar would end the cell of the table.
                diff.captured_text().replace('|', "\\|"),
                diff.fault.map_or("", super::super::diagnose::Fault::name)
            ));
        }
    }

    line("\n## Limits and features\n".to_owned());
    for (name, value) in &device.limits {
        line(format!("- {name}: {value}"));
    }

    line("\n## SPIR-V\n".to_owned());
    line(format!("{} words, little-endian; `xxd -r -p` makes a module of the hex.\n", spirv.len()));
    if let Some(disassembly) = disassembly {
        line(fenced("spirv", disassembly));
    }
    line(fenced("hex", &hex(spirv)));
    text
}

/// The bytes of the words, little-endian, eight words per line, in the format of `xxd -r -p`.
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

/// A code block whose fence is longer than any run of backticks inside.
fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", code.trim_end())
}
