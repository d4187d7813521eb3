//! `vkxfb probe --self-test`: tests the diagnosis of the probe.

use std::fmt::Write;

use anyhow::Result;
use owo_colors::OwoColorize;
use vkxfb_probe::report::Outcome;
use vkxfb_probe::self_test;

/// Checks that the diagnosis recognizes every kind of fault.
pub(super) fn run(json: bool) -> Result<u8> {
    let checks = self_test::run();
    let passed = self_test::passed(&checks);
    if json {
        crate::print::show_json(&checks)?;
    } else {
        let mut text = String::new();
        for check in &checks {
            let mark = if check.passed {
                "ok".green().to_string()
            } else {
                "NOT RECOGNISED".red().to_string()
            };
            writeln!(text, "{mark} {check}")?;
        }
        let recognised = checks.iter().filter(|check| check.passed).count();
        writeln!(text, "{recognised} of {} faults recognised", checks.len())?;
        crate::print::show_coloured(&text)?;
    }
    Ok(if passed { Outcome::AllRight } else { Outcome::Mismatches }.exit_code())
}
