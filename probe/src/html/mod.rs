//! Shows one or more reports as one HTML file. Each report has the lost and the wrong cases, a table,
//! and, in fold-outs that are closed at first, pictures of captures and the properties of the device.
//! If no report has captures, pictures of the topologies are at the end.
//!
//! The file needs no other file, no script and no network, so that it can be sent by mail and
//! attached to bug reports. `Escaped` escapes all text that is not vkxfb's own: names of devices,
//! drivers, shaders and outputs, reasons, and errors.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use quick_xml::escape::escape;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::demand::Demand;
use crate::picture::{self, Comparison};
use crate::report::{
    CapturedStage, Case, Cell, Failure, Footnotes, Group, LostCase, OnBackend, Outcome,
    ProbeReport, Row, Trace,
};
use crate::trial::TrialResult;

/// The number of groups of similar mismatches that are shown above the table. Further groups are below it.
const FIRST_FAILURES: usize = 3;

/// Writes text with the special characters of HTML escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_no_text = |c: char| c.is_control() && c != '\n' && c != '\t';
        f.write_str(&escape(self.0.replace(is_no_text, "\u{fffd}")))
    }
}

/// Writes a name escaped, and allows line breaks between its words: after `_`, and before the
/// capitals of camel case.
struct Breakable<'a>(&'a str);

impl fmt::Display for Breakable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut previous = ' ';
        for c in self.0.chars() {
            if previous == '_' || previous.is_lowercase() && c.is_uppercase() {
                f.write_str("<wbr>")?;
            }
            write!(f, "{}", Escaped(c.encode_utf8(&mut [0; 4])))?;
            previous = c;
        }
        Ok(())
    }
}

/// Writes a shell command escaped, whose lines break only at spaces.
struct Command<'a>(&'a str);

impl fmt::Display for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.split(' ').enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}<span>{}</span>", Escaped(word))?;
        }
        Ok(())
    }
}

/// Renders the reports as one self-contained HTML file.
pub fn render(reports: &[ProbeReport]) -> String {
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

/// Writes pictures that show how each topology should be captured, for a page whose reports have no captures.
fn write_topologies(page: &mut String) -> fmt::Result {
    write_pictures_head(page, "What each topology writes")?;
    for topology in PrimitiveTopology::ALL {
        let picture = picture::expected(topology, ProvokingVertex::First);
        writeln!(page, "<figure>{picture}</figure>")?;
    }
    writeln!(page, "</div>")
}

/// The captures of a draw by several backends, which are drawn beside each other.
struct Drawn<'a> {
    case: &'a Case,
    stream: Option<u32>,
    captured: Vec<picture::CapturedBy<'a>>,
    /// The backends with other captures in the report that have captured nothing of it.
    without: Vec<Backend>,
}

/// Returns the captures in the report, in the order of the rows of the table.
fn drawn(report: &ProbeReport) -> Vec<Drawn<'_>> {
    let has_traces = |backend: &Backend| report.traces.iter().any(|t| t.backend == *backend);
    let backends: Vec<_> = Backend::ALL.into_iter().filter(has_traces).collect();
    let mut all: Vec<Drawn<'_>> = Vec::new();
    for row in Row::all() {
        let first = all.len();
        for Trace { backend, case, stream, primitives } in &report.traces {
            if case.row() != row {
                continue;
            }
            let is_alike = |drawn: &&mut Drawn<'_>| {
                (&drawn.case.geometry, drawn.case.provoking, drawn.stream)
                    == (&case.geometry, case.provoking, *stream)
            };
            let captured = (*backend, primitives.as_slice());
            match all[first..].iter_mut().find(is_alike) {
                Some(drawn) => drawn.captured.push(captured),
                None => {
                    let (stream, without) = (*stream, Vec::new());
                    all.push(Drawn { case, stream, captured: vec![captured], without });
                }
            }
        }
    }
    for drawn in &mut all {
        let row = drawn.case.row();
        let is_without = |backend: &&Backend| {
            // Where a row has one picture, backends may have captured different shaders of it.
            let of_row = |t: &Trace| t.backend == **backend && t.case.row() == row;
            let lacks =
                row.stage == CapturedStage::GeometryStreams || !report.traces.iter().any(of_row);
            lacks && drawn.captured.iter().all(|(captured, _)| captured != *backend)
        };
        drawn.without = backends.iter().filter(is_without).copied().collect();
    }
    all
}

/// Writes pictures of the captures in each row of the table, in two fold-outs. One is for captures that are wrong on
/// some backend, the other for captures that are right on all backends. Captures without any vertex are only named.
fn write_traces(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let (mut right, mut wrong, mut empty) = (String::new(), String::new(), Vec::new());
    for Drawn { case, stream, captured, without } in drawn(report) {
        if captured.iter().all(|by| picture::is_empty(*by)) {
            empty.push(picture::title(case.row(), stream));
            continue;
        }
        let pictures = picture::traces(case, stream, &captured, &without).join("\n");
        if captured.iter().all(|by| picture::is_right(*by)) {
            writeln!(right, "<figure>{pictures}</figure>")?
        } else {
            writeln!(wrong, "<figure class=\"traces\">{pictures}</figure>")?
        }
    }
    let without = if empty.is_empty() {
        String::new()
    } else {
        format!("Without any vertex of the draw, and so without a picture: {}.", empty.join("; "))
    };
    for (head, figures, key, without) in [
        ("What was captured otherwise", wrong, picture::WRONG_KEY, without),
        ("What was captured as expected", right, "", String::new()),
    ] {
        if figures.is_empty() && without.is_empty() {
            continue;
        }
        writeln!(page, "<details><summary><h2>{head}</h2></summary>")?;
        if !without.is_empty() {
            writeln!(page, "<p>{without}</p>")?;
        }
        if !figures.is_empty() {
            writeln!(
                page,
                "<p class=\"note\">{} {} {key}</p>\n<div class=\"pictures\">",
                picture::KEY,
                picture::EMITTED_KEY
            )?;
            writeln!(page, "{figures}</div>")?;
        }
        writeln!(page, "</details>")?;
    }
    Ok(())
}

fn write_pictures_head(page: &mut String, head: &str) -> fmt::Result {
    let key = picture::KEY;
    writeln!(page, "<h2>{head}</h2>\n<p class=\"note\">{key}</p>\n<div class=\"pictures\">")
}

fn write_report(page: &mut String, report: &ProbeReport) -> fmt::Result {
    write_head(page, report)?;
    write_trials(page, report)?;
    write_losses(page, report)?;
    let groups = report.failure_groups();
    let (first, others) = groups.split_at(groups.len().min(FIRST_FAILURES));
    write_failures(page, "Mismatches", first)?;
    write_table(page, report)?;
    write_facts(page, report)?;
    write_failures(page, "More mismatches", others)?;
    let shown: usize = groups.iter().map(|group| group.others.len() + 1).sum();
    let more = (report.mismatch_count as usize).saturating_sub(shown);
    if more > 0 {
        writeln!(page, "<p class=\"note\">{more} more are counted in the table.</p>")?;
    }
    write_traces(page, report)?;
    write_details(page, "Device, machine and run", report.facts())?;
    let limits = report.device.limits.iter();
    let limits = limits.map(|(name, value)| (name.as_str(), value.clone()));
    write_details(page, "Limits and features", limits)
}

fn write_head(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let device = &report.device;
    let not_tried = report.not_tried_text();
    let (class, verdict) = match report.outcome() {
        Outcome::AllRight => ("ok", "all right".to_owned()),
        Outcome::Mismatches if report.mismatch_count == 0 => ("bad", trials_badge(report)),
        Outcome::Mismatches if report.mismatch_count == 1 => {
            ("bad", format!("1 mismatch{not_tried}"))
        }
        Outcome::Mismatches => ("bad", format!("{} mismatches{not_tried}", report.mismatch_count)),
        Outcome::CouldNotRun if !report.losses.is_empty() => {
            ("bad", format!("{} lost{not_tried}", report.losses.len()))
        }
        Outcome::CouldNotRun if !report.trials_summary().is_empty() && !report.has_failures() => {
            ("bad", trials_badge(report))
        }
        Outcome::CouldNotRun => ("warn", "could not run".to_owned()),
    };
    writeln!(
        page,
        "<header>\n<h1>Transform feedback on {}</h1>\n<span class=\"badge {class}\">{}</span>\n\
         </header>",
        Escaped(&device.name),
        Escaped(&verdict)
    )?;
    if let Some(remark) = &report.injected {
        writeln!(page, "<p><span class=\"badge warn\">{}</span></p>", Escaped(remark))?;
    }
    let text = format!(
        "{} {}, Vulkan {}, {}",
        device.driver, device.driver_version, device.api_version, report.date
    );
    writeln!(page, "<p class=\"note\">{}</p>", Escaped(&text))
}

/// Names the trial that is bad, or says how many are.
fn trials_badge(report: &ProbeReport) -> String {
    match report.trials.iter().filter(|tried| tried.result.is_bad()).count() {
        1 => report.trials_summary(),
        count => format!("{count} trials failed"),
    }
}

/// Writes a section for each trial that came out wrong, was lost, or could not be made.
fn write_trials(page: &mut String, report: &ProbeReport) -> fmt::Result {
    for (index, tried) in report.trials.iter().filter(|tried| tried.result.is_bad()).enumerate() {
        let badge = match tried.result {
            TrialResult::Lost => "lost",
            TrialResult::NotRun => "could not be tried",
            _ => "wrong",
        };
        writeln!(
            page,
            "<section class=\"failure\">\n<h3><span class=\"badge bad\">{badge}</span> trial of {}</h3>\n\
             <p>{}</p>",
            tried.trial.title(),
            Escaped(&tried.text)
        )?;
        // Trials cannot be repeated alone, so the same command is for all of them.
        if index == 0 {
            writeln!(
                page,
                "<p class=\"note\">Every probe makes the trials again, before its cases:</p>\n<pre>{}</pre>",
                Command(&report.repeat_trials())
            )?;
        }
        writeln!(page, "</section>")?;
    }
    Ok(())
}

/// Writes the most important facts about the device and the run.
fn write_facts(page: &mut String, report: &ProbeReport) -> fmt::Result {
    let device = &report.device;
    writeln!(page, "<dl class=\"facts\">")?;
    let run = format!("{} cases in {:.1} s", report.cases_run(), report.elapsed_s);
    for (name, value) in [
        ("run", run.as_str()),
        ("profile", &report.profile),
        ("resources", &report.resources),
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
    let has_cells = |backend: &Backend| report.cells.iter().any(|cell| cell.backend == *backend);
    let backends: Vec<_> = Backend::ALL.into_iter().filter(has_cells).collect();
    for backend in &backends {
        write!(page, "<th>{backend}</th>")?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    for row in report.rows() {
        write!(page, "<tr><th>{row}</th>")?;
        for backend in &backends {
            write_cell(page, report, report.cell(*backend, row), &mut footnotes)?;
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

fn write_cell(
    page: &mut String,
    report: &ProbeReport,
    cell: Option<&Cell>,
    footnotes: &mut Footnotes,
) -> fmt::Result {
    let Some(cell) = cell else {
        return write!(page, "<td class=\"none\">not asked for</td>");
    };
    let (lost, not_run) = report.errors_of(cell);
    if let Some(failure) = &cell.first_failure {
        let (failed, fault) = (cell.failed(), failure.mismatch.fault);
        write!(page, "<td class=\"bad\"><b>{failed} of {}</b> {fault}", cell.run)?;
    } else if lost > 0 {
        write!(page, "<td class=\"bad\"><b>{lost} of {}</b> lost", cell.run)?;
    } else if not_run > 0 {
        write!(page, "<td class=\"warn\"><b>{not_run} of {}</b> could not run", cell.run)?;
    } else if cell.run > 0 {
        write!(page, "<td class=\"ok\"><b>ok</b> {}", cell.run)?;
    } else if cell.not_tried > 0 {
        write!(page, "<td class=\"warn\">")?;
    } else {
        write!(page, "<td class=\"none\">skipped")?;
    }
    for text in cell.first_error.iter().chain(&cell.skipped) {
        write!(page, " <sup>{}</sup>", footnotes.number(text))?;
    }
    if cell.rotated > 0 {
        write!(page, "<small>{} rotated, allowed</small>", cell.rotated)?;
    }
    if cell.first_failure.is_some() && lost > 0 {
        write!(page, "<small>{lost} lost</small>")?;
    }
    if (cell.first_failure.is_some() || lost > 0) && not_run > 0 {
        write!(page, "<small>{not_run} could not run</small>")?;
    }
    if cell.run > 0 && cell.skipped.is_some() {
        write!(page, "<small>others left out</small>")?;
    }
    if cell.not_tried > 0 {
        write!(page, "<small>{} not tried", cell.not_tried)?;
        for reason in &cell.not_tried_because {
            write!(page, " <sup>{}</sup>", footnotes.number(reason))?;
        }
        write!(page, "</small>")?;
    }
    write!(page, "</td>")
}

fn write_losses(page: &mut String, report: &ProbeReport) -> fmt::Result {
    for group in report.loss_groups() {
        let LostCase { backend, case, how, command } = group.first;
        writeln!(
            page,
            "<section class=\"failure\">\n<h3><span class=\"badge bad\">lost</span> {} on {}</h3>\n\
             <p>{}</p>\n<p class=\"note\">{backend}, {}</p>\n<pre>{}</pre>",
            case.row(),
            group.backends(),
            Escaped(how),
            Escaped(&case.to_string()),
            Command(command)
        )?;
        write_others(page, &group)?;
        writeln!(page, "</section>")?;
    }
    Ok(())
}

/// Lists the other cases of a group of similar cases in a fold-out, because only the first case is shown in full.
fn write_others<T: OnBackend>(page: &mut String, group: &Group<'_, T>) -> fmt::Result {
    let summary = match group.others.len() {
        0 => return Ok(()),
        1 => "1 other case".to_owned(),
        others => format!("{others} other cases"),
    };
    writeln!(page, "<details><summary>{summary}</summary>")?;
    for line in group.other_draws() {
        writeln!(page, "<p class=\"note\">{}</p>", Escaped(&line))?;
    }
    writeln!(page, "</details>")
}

fn write_failures(page: &mut String, head: &str, groups: &[Group<'_, Failure>]) -> fmt::Result {
    if !groups.is_empty() {
        writeln!(page, "<h2>{head}</h2>")?;
    }
    groups.iter().try_for_each(|group| write_failure(page, group))
}

/// Writes the first case of a group of similar wrong cases, with its picture, and lists the others.
fn write_failure(page: &mut String, group: &Group<'_, Failure>) -> fmt::Result {
    let Failure { backend, case, mismatch, demand, command } = group.first;
    let differ = match mismatch.differing_primitives {
        0 => "No primitive is known to differ".to_owned(),
        1 => "1 primitive differs".to_owned(),
        count => format!("{count} primitives differ"),
    };
    writeln!(
        page,
        "<section class=\"failure\">\n<h3><span class=\"badge bad\">{}</span> {} on {}</h3>\n\
         <p>{}</p>\n<p class=\"note\">{backend}, {}. {differ}; first wrong byte: buffer {}, {} \
         from the start of the bound range.</p>\n<pre>{}</pre>",
        mismatch.fault,
        group.rows(),
        group.backends(),
        Escaped(&mismatch.to_string()),
        Escaped(&case.to_string()),
        mismatch.buffer,
        mismatch.byte_offset,
        Command(command)
    )?;
    write_demand(page, demand)?;
    if !mismatch.excerpt.is_empty() {
        let Comparison { pictures, captions } =
            picture::comparison(case.row(), case.provoking, mismatch);
        writeln!(page, "<figure class=\"comparison\">{}\n<figcaption>", pictures.join("\n"))?;
        for caption in captions {
            writeln!(page, "<p>{}</p>", Escaped(&caption))?;
        }
        writeln!(page, "</figcaption></figure>")?;
    }
    write_others(page, group)?;
    writeln!(page, "</section>")
}

/// Writes what the specification demands, and how the fault can be shown without vkxfb.
fn write_demand(page: &mut String, demand: &Demand) -> fmt::Result {
    let Demand { text, link, conformance, program } = demand;
    writeln!(page, "<p>{} (<a href=\"{link}\">specification</a>)</p>", Escaped(text))?;
    if let Some(name) = conformance {
        writeln!(page, "<p class=\"note\">Nearest conformance test: {}</p>", Breakable(name))?;
    }
    if let Some(command) = program {
        writeln!(
            page,
            "<p class=\"note\">A C program that shows it without vkxfb:</p>\n<pre>{}</pre>",
            Command(command)
        )?;
    }
    Ok(())
}

/// Writes a list of names and values in a fold-out.
fn write_details<'a>(
    page: &mut String,
    head: &str,
    facts: impl IntoIterator<Item = (&'a str, String)>,
) -> fmt::Result {
    let mut facts = facts.into_iter().peekable();
    if facts.peek().is_none() {
        return Ok(());
    }
    writeln!(page, "<details><summary><h2>{head}</h2></summary>\n<dl class=\"limits\">")?;
    for (name, value) in facts {
        writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", Breakable(name), Escaped(&value))?;
    }
    writeln!(page, "</dl>\n</details>")
}
