//! The report as one HTML file: a table, each mismatch with its picture, and the topologies.
//!
//! The file needs no other file, no script and no network, so that it can be mailed and attached.
//! All text from outside (names of devices, drivers, shaders and outputs; reasons; errors) is
//! escaped by `Escaped`.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use vkxfb::lower::Backend;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::picture;
use super::report::{Cell, Failure, Footnotes, Outcome, ProbeReport, Row, TOOL_VERSION, Trace};

/// Text that is written with the special characters of HTML escaped.
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

/// A name that is written escaped, with line breaks allowed between its words: after `_`, and
/// before the capitals of camel case.
struct Breakable<'a>(&'a str);

impl fmt::Display for Breakable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while !rest.is_empty() {
            let mut characters = rest.char_indices().peekable();
            let end = loop {
                let Some((_, first)) = characters.next() else { break rest.len() };
                match characters.peek() {
                    Some((at, _)) if first == '_' => break *at,
                    Some((at, next)) if first.is_lowercase() && next.is_uppercase() => break *at,
                    _ => {}
                }
            };
            let (word, behind) = rest.split_at(end);
            write!(f, "{}{}", Escaped(word), if behind.is_empty() { "" } else { "<wbr>" })?;
            rest = behind;
        }
        Ok(())
    }
}

pub(super) fn render(reports: &[ProbeReport]) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write_page(&mut page, reports);
    page
}

fn write_page(page: &mut String, reports: &[ProbeReport]) -> fmt::Result {
    let names: Vec<_> = reports.iter().map(|r| r.device.name.as_str()).collect();
    let names = names.join(", ");
    let device = Escaped(&names);
    writeln!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Transform feedback on {device}</title>\n<style>\n{}{}</style>\n</head>\n<body>",
        include_str!("page.css"),
        picture::STYLE
    )?;
    for report in reports {
        write_report(page, report)?;
    }
    if reports.iter().all(|report| report.traces.is_empty()) {
        write_topologies(page)?;
    }
    writeln!(page, "</body>\n</html>")
}

/// Writes pictures of the topologies as they should be captured, if there are no captures to show.
fn write_topologies(page: &mut String) -> fmt::Result {
    write_pictures_head(page, "What each topology writes")?;
    for topology in PrimitiveTopology::ALL {
        let picture = picture::expected(topology, ProvokingVertex::First);
        writeln!(page, "<figure>{picture}</figure>")?;
    }
    writeln!(page, "</div>")
}

fn write_traces(page: &mut String, report: &ProbeReport) -> fmt::Result {
    if report.traces.is_empty() {
        return Ok(());
    }
    write_pictures_head(page, "What was captured of each topology")?;
    for row in Row::all() {
        let of_row = || report.traces.iter().filter(|trace| trace.case.row() == row);
        let streams: BTreeSet<Option<u32>> = of_row().map(|trace| trace.stream).collect();
        let each_provoking = |stream| ProvokingVertex::ALL.map(|provoking| (stream, provoking));
        for (stream, provoking) in streams.into_iter().flat_map(each_provoking) {
            let is_alike = |t: &&Trace| (t.stream, t.case.provoking) == (stream, provoking);
            let alike = of_row().filter(is_alike);
            let captured: Vec<_> = alike.map(|t| (t.backend, t.primitives.as_slice())).collect();
            if captured.is_empty() {
                continue;
            }
            let pictures = picture::traces(row, stream, provoking, &captured).join("\n");
            writeln!(page, "<figure class=\"traces\">{pictures}</figure>")?;
        }
    }
    writeln!(page, "</div>")
}

fn write_pictures_head(page: &mut String, head: &str) -> fmt::Result {
    let key = picture::KEY;
    writeln!(page, "<h2>{head}</h2>\n<p class=\"note\">{key}</p>\n<div class=\"pictures\">")
}

fn write_report(page: &mut String, report: &ProbeReport) -> fmt::Result {
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
    write_traces(page, report)?;
    write_limits(page, report)
}

fn write_head(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let device = &report.device;
    let (class, verdict) = match report.outcome() {
        Outcome::AllRight => ("ok", "all right".to_owned()),
        Outcome::Mismatches if report.mismatch_count == 0 => ("bad", report.trials_summary()),
        Outcome::Mismatches if report.mismatch_count == 1 => ("bad", "1 mismatch".to_owned()),
        Outcome::Mismatches => ("bad", format!("{} mismatches", report.mismatch_count)),
        Outcome::CouldNotRun => ("warn", "could not run".to_owned()),
    };
    writeln!(
        page,
        "<header>\n<h1>Transform feedback on {}</h1>\n<span class=\"badge {class}\">{}</span>\n\
         </header>\n<dl class=\"facts\">",
        Escaped(&device.name),
        Escaped(&verdict)
    )?;
    let ids = format!("{:#06x}:{:#06x}", device.vendor_id, device.device_id);
    let run = format!("{} cases in {:.1} s", report.cases_run(), report.elapsed_s);
    let driver = format!("{} {}", device.driver, device.driver_version);
    for (name, value) in [
        ("driver", driver.as_str()),
        ("Vulkan", &device.api_version),
        ("device id", &ids),
        ("profile", &report.profile),
        ("resources", &report.resources),
        ("run", &run),
        ("vkxfb", TOOL_VERSION),
        ("backends", &device.backends_text()),
        ("topologies", &device.topologies_text()),
    ] {
        if !value.trim().is_empty() {
            writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", Escaped(value))?;
        }
    }
    for tried in &report.trials {
        let text = tried.described();
        let (name, text) = (tried.trial.title(), Escaped(&text));
        writeln!(page, "<div><dt>{name}</dt><dd>{text}</dd></div>")?;
    }
    writeln!(page, "</dl>")
}

fn write_table(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let mut footnotes = Footnotes::default();
    write!(page, "<table>\n<thead><tr><th>topology</th>")?;
    for backend in Backend::ALL {
        write!(page, "<th>{backend}</th>")?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    for row in report.rows() {
        write!(page, "<tr><th>{}</th>", Breakable(&picture::title(row)))?;
        for backend in Backend::ALL {
            write_cell(page, report.cell(backend, row), &mut footnotes)?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody>\n</table>\n<ol class=\"note\">")?;
    for (_, text) in footnotes.iter() {
        writeln!(page, "<li>{}</li>", Escaped(text))?;
    }
    writeln!(page, "</ol>")?;
    for note in report.notes.iter().chain(&report.validation) {
        writeln!(page, "<p class=\"note\">{}</p>", Escaped(note))?;
    }
    Ok(())
}

fn write_cell(page: &mut String, cell: Option<&Cell>, footnotes: &mut Footnotes) -> fmt::Result {
    let Some(cell) = cell else {
        return write!(page, "<td class=\"none\">not asked for</td>");
    };
    if let Some(failure) = &cell.first_failure {
        let (failed, fault) = (cell.failed(), failure.mismatch.fault);
        write!(page, "<td class=\"bad\"><b>{failed} of {}</b> {fault}", cell.run)?;
    } else if cell.errors > 0 {
        write!(page, "<td class=\"warn\"><b>{} of {}</b> could not run", cell.errors, cell.run)?;
    } else if cell.run > 0 {
        write!(page, "<td class=\"ok\"><b>ok</b> {}", cell.run)?;
    } else {
        write!(page, "<td class=\"none\">skipped")?;
    }
    for text in cell.first_error.iter().chain(&cell.skipped) {
        write!(page, " <sup>{}</sup>", footnotes.number(text))?;
    }
    if cell.rotated > 0 {
        write!(page, "<small>{} rotated, allowed</small>", cell.rotated)?;
    }
    if cell.first_failure.is_some() && cell.errors > 0 {
        write!(page, "<small>{} could not run</small>", cell.errors)?;
    }
    if cell.run > 0 && cell.skipped.is_some() {
        write!(page, "<small>others skipped</small>")?;
    }
    write!(page, "</td>")
}

fn write_failure(page: &mut String, failure: &Failure) -> fmt::Result {
    let Failure { backend, case, mismatch, command } = failure;
    let differ = match mismatch.differing_primitives {
        0 => "No primitive is known to differ".to_owned(),
        1 => "1 primitive differs".to_owned(),
        count => format!("{count} primitives differ"),
    };
    writeln!(
        page,
        "<section class=\"failure\">\n<h3><span class=\"badge bad\">{}</span> {} on {}</h3>\n\
         <p>{}</p>\n<p class=\"note\">{}. {differ}; first wrong byte: buffer {}, {} \
         from the start of the bound range.</p>\n<pre>{}</pre>",
        mismatch.fault,
        Breakable(&picture::title(case.row())),
        backend,
        Escaped(&mismatch.to_string()),
        Escaped(&case.to_string()),
        mismatch.buffer,
        mismatch.byte_offset,
        Escaped(command)
    )?;
    if !mismatch.excerpt.is_empty() {
        let picture = picture::comparison(case.row(), case.provoking, mismatch);
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
        writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", Breakable(name), Escaped(value))?;
    }
    writeln!(page, "</dl>")
}
