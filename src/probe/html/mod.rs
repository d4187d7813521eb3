//! The report as one HTML file: a table, each mismatch with its picture, and the topologies.
//!
//! The file needs no other, no script and no network, so that it can be mailed and attached. All text
//! that comes from outside (names of devices, drivers, shaders, outputs; reasons; errors) goes
//! through [`Escaped`].

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use crate::topology::{PrimitiveTopology, ProvokingVertex};

use super::picture;
use super::report::{BACKENDS, Cell, Failure, Outcome, ProbeReport, backend_name};

/// Text in which no character means anything to HTML.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() && c != '\n' && c != '\t' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

pub(super) fn render(report: &ProbeReport) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write_page(&mut page, report);
    page
}

fn write_page(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let device = Escaped(&report.device.name);
    writeln!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Transform feedback on {device}</title>\n<style>\n{}{}</style>\n</head>\n<body>",
        include_str!("page.css"),
        picture::STYLE
    )?;
    write_head(page, report)?;
    write_table(page, report)?;
    if !report.mismatches.is_empty() {
        writeln!(page, "<h2>Mismatches</h2>")?;
        for failure in &report.mismatches {
            write_failure(page, failure)?;
        }
        let more = report.mismatch_count as usize - report.mismatches.len();
        if more > 0 {
            writeln!(page, "<p class=\"note\">{more} more are counted above.</p>")?;
        }
    }
    writeln!(
        page,
        "<h2>What each topology writes</h2>\n<p class=\"note\">{}</p>\n<div class=\"pictures\">",
        picture::KEY
    )?;
    for topology in PrimitiveTopology::ALL {
        let picture = picture::expected(topology, ProvokingVertex::First);
        writeln!(page, "<figure>{picture}</figure>")?;
    }
    writeln!(page, "</div>")?;
    write_limits(page, report)?;
    writeln!(page, "</body>\n</html>")
}

fn write_head(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let device = &report.device;
    let (class, verdict) = match report.outcome() {
        Outcome::AllRight => ("ok", "all right".to_owned()),
        Outcome::Mismatches => {
            let plural = if report.mismatch_count == 1 { "" } else { "s" };
            ("bad", format!("{} mismatch{}", report.mismatch_count, plural.replace('s', "es")))
        }
        Outcome::CouldNotRun => ("warn", "could not run".to_owned()),
    };
    writeln!(
        page,
        "<header>\n<h1>Transform feedback on {}</h1>\n<span class=\"badge {class}\">{verdict}</span>\n\
         </header>\n<dl class=\"facts\">",
        Escaped(&device.name)
    )?;
    let ids = format!("{:#06x}:{:#06x}", device.vendor_id, device.device_id);
    let run = format!("{} cases in {:.1} s", report.cases_run(), report.elapsed_s);
    let driver = format!("{} {}", device.driver, device.driver_version);
    for (name, value) in [
        ("driver", driver.as_str()),
        ("Vulkan", &device.api_version),
        ("device id", &ids),
        ("profile", &report.profile),
        ("run", &run),
        ("vkxfb", report.tool_version),
    ] {
        if !value.trim().is_empty() {
            writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", Escaped(value))?;
        }
    }
    writeln!(page, "</dl>")
}

fn write_table(page: &mut String, report: &ProbeReport) -> fmt::Result {
    write!(page, "<table>\n<thead><tr><th>topology</th>")?;
    for backend in BACKENDS {
        write!(page, "<th>{}</th>", backend_name(backend))?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    for topology in PrimitiveTopology::ALL {
        write!(page, "<tr><th>{}</th>", picture::title(topology))?;
        for backend in BACKENDS {
            write_cell(page, report.cell(backend, topology))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody>\n</table>")
}

fn write_cell(page: &mut String, cell: Option<&Cell>) -> fmt::Result {
    let Some(cell) = cell else {
        return write!(page, "<td class=\"none\">not asked for</td>");
    };
    let skipped = cell.skipped.as_deref().map(Escaped);
    if let Some(failure) = &cell.first_failure {
        write!(
            page,
            "<td class=\"bad\"><b>{} of {}</b> {}",
            cell.failed(),
            cell.run,
            failure.mismatch.fault
        )?;
    } else if cell.errors > 0 {
        write!(page, "<td class=\"warn\"><b>{} of {}</b> could not run", cell.errors, cell.run)?;
    } else if cell.run > 0 {
        write!(page, "<td class=\"ok\"><b>ok</b> {}", cell.run)?;
    } else {
        let reason = skipped.unwrap_or(Escaped("nothing to run"));
        return write!(page, "<td class=\"none\">skipped: {reason}</td>");
    }
    if cell.rotated > 0 {
        write!(page, "<small>{} rotated, allowed</small>", cell.rotated)?;
    }
    if let Some(error) = &cell.first_error {
        write!(page, "<small>{}</small>", Escaped(error))?;
    }
    if let Some(reason) = skipped {
        write!(page, "<small>some skipped: {reason}</small>")?;
    }
    write!(page, "</td>")
}

fn write_failure(page: &mut String, failure: &Failure) -> fmt::Result {
    let Failure { backend, case, mismatch, command } = failure;
    let plural = if mismatch.differing_primitives == 1 { "" } else { "s" };
    writeln!(
        page,
        "<section class=\"failure\">\n<h3><span class=\"badge bad\">{}</span> {} on {}</h3>\n\
         <p>{}</p>\n<p class=\"note\">{}. {} primitive{plural} differ; first wrong byte: buffer {}, {} \
         from the start of the bound range.</p>\n<pre>{}</pre>",
        mismatch.fault,
        picture::title(case.topology),
        backend_name(*backend),
        Escaped(&mismatch.to_string()),
        Escaped(&case.to_string()),
        mismatch.differing_primitives,
        mismatch.buffer,
        mismatch.byte_offset,
        Escaped(command)
    )?;
    if !mismatch.excerpt.is_empty() {
        let picture = picture::comparison(case.topology, case.provoking, mismatch);
        writeln!(page, "<figure>{picture}</figure>")?;
    }
    writeln!(page, "</section>")
}

fn write_limits(page: &mut String, report: &ProbeReport) -> fmt::Result {
    if report.device.limits.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>Limits and features</h2>\n<dl class=\"limits\">")?;
    for (name, value) in &report.device.limits {
        writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", Escaped(name), Escaped(value))?;
    }
    writeln!(page, "</dl>")
}
