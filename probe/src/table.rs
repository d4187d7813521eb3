//! Shows a report as text for a terminal: a table with the results of each topology on each backend, and then, for each
//! cell of the table that has a wrong case, the first mismatch.
//!
//! No line is wider than [`WIDTH`] columns, except for long names. Reasons are listed once below
//! the table, and cells refer to them by number.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use comfy_table::{
    Attribute, Cell as TableCell, Color, ColumnConstraint, ContentArrangement, LineStyle, Table,
    TableStyle,
};
use owo_colors::{OwoColorize, Style};
use vkxfb_rewriter::lower::Backend;

use crate::demand::Demand;
use crate::report::{Cell, Failure, Footnotes, Group, LostCase, Outcome, ProbeReport};
use crate::terminal::{in_line, printable};
use crate::trial::TrialResult;

/// The width of the text, in columns.
pub const WIDTH: usize = 100;

/// The number of primitives that are listed around the first wrong one.
const LISTED: usize = 6;

const RULES: TableStyle =
    TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);
const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

/// Renders the report as text that ends in a line break. Uses ANSI colours if `colour` is true.
pub fn render(report: &ProbeReport, colour: bool) -> String {
    render_head(report, colour) + &render_results(report, colour)
}

/// Renders the first part of [`render`], which is known before the cases run: the device and the trials (tests of
/// properties that devices do not report).
pub fn render_head(report: &ProbeReport, colour: bool) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_head(&mut text, report, &Paint { colour });
    text
}

/// Renders the second part of [`render`], which follows [`render_head`].
pub fn render_results(report: &ProbeReport, colour: bool) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_results(&mut text, report, &Paint { colour });
    text
}

/// Adds ANSI colours to text, if `colour` is true.
struct Paint {
    colour: bool,
}

impl Paint {
    fn styled(&self, text: impl fmt::Display, style: Style) -> String {
        if self.colour { text.style(style).to_string() } else { text.to_string() }
    }

    fn good(&self, text: impl fmt::Display) -> String {
        self.styled(text, Style::new().green().bold())
    }

    fn bad(&self, text: impl fmt::Display) -> String {
        self.styled(text, Style::new().red().bold())
    }

    fn doubtful(&self, text: impl fmt::Display) -> String {
        self.styled(text, Style::new().yellow().bold())
    }

    fn dim(&self, text: impl fmt::Display) -> String {
        self.styled(text, Style::new().dimmed())
    }
}

fn write_head(out: &mut String, report: &ProbeReport, paint: &Paint) -> fmt::Result {
    let device = &report.device;
    writeln!(out, "{}", paint.styled(in_line(&device.name), Style::new().bold()))?;
    let mut facts = vec![format!("{} {}", device.driver, device.driver_version)];
    facts.push(format!("Vulkan {}", device.api_version));
    if !report.profile.is_empty() {
        facts.push(format!("profile {}", report.profile));
    }
    if !report.resources.is_empty() {
        facts.push(format!("resources {}", report.resources));
    }
    write_wrapped(out, &facts.join(", "), "", |line| paint.dim(line))?;
    if !device.backends.is_empty() {
        write_fact(out, "backends", &device.backends_text(), str::to_owned)?;
        write_fact(out, "topologies", &device.topologies_text(), str::to_owned)?;
    }
    for tried in &report.trials {
        let paint = |line: &str| match tried.result {
            TrialResult::Works => line.to_owned(),
            TrialResult::DoneWithout | TrialResult::Absent => paint.dim(line),
            TrialResult::Wrong | TrialResult::Lost => paint.bad(line),
            TrialResult::NotRun => paint.doubtful(line),
        };
        write_fact(out, &tried.trial.title(), &tried.described(), paint)?;
    }
    Ok(())
}

/// Writes a name and its value in the head, in several lines if the value is too long.
fn write_fact(
    out: &mut String,
    name: &str,
    text: &str,
    paint: impl Fn(&str) -> String,
) -> fmt::Result {
    write_wrapped(out, text, &format!(" {name:18} "), paint)
}

fn write_results(out: &mut String, report: &ProbeReport, paint: &Paint) -> fmt::Result {
    let mut footnotes = Footnotes::default();
    let mut table = Table::new();
    table.load_style(RULES).force_no_tty();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH as u16);
    if paint.colour {
        table.enforce_styling();
    }
    let has_cells = |backend: &Backend| report.cells.iter().any(|cell| cell.backend == *backend);
    let backends: Vec<Backend> = Backend::ALL.into_iter().filter(has_cells).collect();
    let names = backends.iter().map(|b| TableCell::new(b).add_attribute(Attribute::Bold));
    table.set_header(std::iter::once(TableCell::new("topology")).chain(names));
    for row in report.rows() {
        let result = |backend: &Backend| {
            report
                .cell(*backend, row)
                .map_or(TableCell::new(""), |of| cell(report, of, &mut footnotes))
        };
        let results: Vec<_> = backends.iter().map(result).collect();
        table.add_row(std::iter::once(TableCell::new(row)).chain(results));
    }
    // The names of rows are not broken into lines; other cells may be.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    for (number, text) in footnotes.iter() {
        write_wrapped(out, text, &format!("[{number}] "), |line| line.to_owned())?;
    }
    for note in &report.notes {
        write_wrapped(out, note, "note: ", |line| line.to_owned())?;
    }
    for message in &report.validation {
        write_wrapped(out, message, "validation: ", |line| line.to_owned())?;
    }
    for group in report.loss_groups() {
        write_losses(out, &group, paint)?;
    }
    for group in report.failure_groups() {
        write_failure(out, &group, paint)?;
    }
    if let Some(remark) = &report.injected {
        writeln!(out)?;
        write_wrapped(out, remark, "note: ", |line| paint.doubtful(line))?;
    }
    write_summary(out, report, paint)
}

fn cell(report: &ProbeReport, cell: &Cell, footnotes: &mut Footnotes) -> TableCell {
    let mut lines = Vec::new();
    let (lost, not_run) = report.errors_of(cell);
    let colour = if let Some(failure) = &cell.first_failure {
        lines.push(format!("{} of {}: {}", cell.failed(), cell.run, failure.mismatch.fault));
        Color::Red
    } else if lost > 0 {
        lines.push(format!("{lost} of {} lost", cell.run));
        Color::Red
    } else if not_run > 0 {
        lines.push(format!("{not_run} of {} could not run", cell.run));
        Color::Yellow
    } else if cell.run > 0 {
        lines.push(format!("ok {}", cell.run));
        Color::Green
    } else if cell.not_tried == 0 {
        lines.push("skipped".to_owned());
        Color::DarkGrey
    } else {
        Color::Yellow
    };
    let mut refer = |line: &mut String, text: &str| {
        // Writing to a string does not fail.
        let _ = write!(line, " [{}]", footnotes.number(text));
    };
    if cell.first_failure.is_some() && lost > 0 {
        lines.push(format!("{lost} lost"));
    }
    if (cell.first_failure.is_some() || lost > 0) && not_run > 0 {
        lines.push(format!("{not_run} could not run"));
    }
    if let (Some(error), Some(line)) = (&cell.first_error, lines.last_mut()) {
        refer(line, error);
    }
    if let Some(reason) = &cell.skipped {
        if cell.run > 0 {
            lines.push("others left out".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            refer(line, reason);
        }
    }
    if cell.not_tried > 0 {
        let mut line = format!("{} not tried", cell.not_tried);
        cell.not_tried_because.iter().for_each(|reason| refer(&mut line, reason));
        lines.push(line);
    }
    if cell.rotated > 0 {
        lines.push(format!("({} rotated, allowed)", cell.rotated));
    }
    TableCell::new(lines.join("\n")).fg(colour)
}

fn write_losses(out: &mut String, group: &Group<'_, LostCase>, paint: &Paint) -> fmt::Result {
    let LostCase { case, how, command, .. } = group.first;
    let head = paint.bad(format!("{}: lost", case.row()));
    let count = match group.others.len() {
        0 => String::new(),
        others => format!(": {} cases, the first of which is", others + 1),
    };
    writeln!(out, "\n{head} on {}{count}", group.backends())?;
    write_wrapped(out, &case.to_string(), "  ", |line| paint.dim(line))?;
    write_wrapped(out, how, "  ", |line| line.to_owned())?;
    write_command(out, command)
}

/// Writes one case of a group of similar wrong cases. How many cases the group has is not written, because only some of
/// the wrong ones are kept.
fn write_failure(out: &mut String, group: &Group<'_, Failure>, paint: &Paint) -> fmt::Result {
    let Failure { case, mismatch, demand, command, .. } = group.first;
    let head = paint.bad(format!("{}: {}", group.rows(), mismatch.fault));
    let one = if group.others.is_empty() { "" } else { ", for example" };
    writeln!(out, "\n{head} on {}{one}", group.backends())?;
    write_wrapped(out, &case.to_string(), "  ", |line| paint.dim(line))?;
    write_wrapped(out, &mismatch.to_string(), "  ", |line| line.to_owned())?;

    let first = mismatch.first.as_ref().map(|f| f.primitive);
    // The list begins at most two primitives before the first wrong one, so that it always contains the first
    // wrong one.
    let from = mismatch.excerpt.iter().position(|d| Some(d.primitive) == first).unwrap_or(0);
    let listed = mismatch.excerpt.iter().skip(from.saturating_sub(2)).take(LISTED);
    let rows: Vec<_> = listed.map(|d| (d, d.expected_text(), d.captured_text(), d.fault)).collect();
    if rows.iter().any(|(.., fault)| fault.is_some()) {
        let widest = rows.iter().map(|(_, e, ..)| e.chars().count()).max().unwrap_or(0).max(8);
        let head = format!("    {:>9}  {:<widest$}  captured", "primitive", "expected");
        writeln!(out, "{}", paint.dim(head))?;
        for (diff, expected, captured, fault) in &rows {
            let line = format!("    {:>9}  {expected:<widest$}  {captured}", diff.primitive);
            match fault {
                Some(_) => writeln!(out, "{}", paint.bad(format!("{line}  <--")))?,
                None => writeln!(out, "{line}")?,
            }
        }
    }
    let Demand { text, link, conformance, program } = demand;
    write_wrapped(out, text, "  ", |line| line.to_owned())?;
    writeln!(out, "  {link}")?;
    if let Some(name) = conformance {
        writeln!(out, "  nearest conformance test: {name}")?;
    }
    write_command(out, command)?;
    program.iter().try_for_each(|program| write_command(out, program))
}

/// Writes a shell command after a `$`. Lines end only before an option, with a backslash, so that the command can be
/// pasted into a shell. They have at most [`WIDTH`] columns, unless a single option is longer.
fn write_command(out: &mut String, command: &str) -> fmt::Result {
    write!(out, "  $")?;
    let mut column = 3;
    for (index, argument) in in_line(command).split(" --").enumerate() {
        let argument = if index == 0 { argument.to_owned() } else { format!("--{argument}") };
        let width = argument.chars().count();
        // Two columns are reserved for the backslash.
        if column + 1 + width + 2 > WIDTH {
            write!(out, " \\\n     ")?;
            column = 5;
        }
        write!(out, " {argument}")?;
        column += 1 + width;
    }
    writeln!(out)
}

fn write_summary(out: &mut String, report: &ProbeReport, paint: &Paint) -> fmt::Result {
    let run = report.cases_run();
    let not_tried = report.not_tried_text();
    let summary = match report.outcome() {
        Outcome::AllRight => paint.good("all right"),
        Outcome::Mismatches if report.mismatch_count == 0 => paint.bad(report.trials_summary()),
        Outcome::Mismatches => {
            paint.bad(format!("{} of {run} cases came out wrong{not_tried}", report.mismatch_count))
        }
        Outcome::CouldNotRun if run == 0 => paint.doubtful("nothing could run"),
        Outcome::CouldNotRun if report.has_failures() => {
            let (lost, errors) = report
                .cells
                .iter()
                .map(|cell| report.errors_of(cell))
                .fold((0, 0), |(lost, errors), (of_cell, others)| {
                    (lost + of_cell, errors + others)
                });
            match (lost, errors) {
                (0, errors) => paint.doubtful(format!("{errors} of {run} cases could not run")),
                (lost, 0) => paint.bad(format!("{lost} of {run} cases lost{not_tried}")),
                (lost, errors) => paint
                    .bad(format!("{lost} of {run} cases lost, {errors} could not run{not_tried}")),
            }
        }
        Outcome::CouldNotRun if !report.validation.is_empty() => {
            paint.doubtful("the validation layer objects")
        }
        Outcome::CouldNotRun => paint.doubtful(report.trials_summary()),
    };
    writeln!(out, "\n{summary} ({run} cases in {:.1} s)", report.elapsed_s)
}

/// Writes words in lines of at most [`WIDTH`] columns, unless a single word is longer. The first line begins with
/// `lead`, and the others are indented by the width of `lead`.
fn write_wrapped(
    out: &mut String,
    text: &str,
    lead: &str,
    paint: impl Fn(&str) -> String,
) -> fmt::Result {
    let indent = lead.chars().count();
    let mut lines = vec![String::new()];
    for word in printable(text).split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let used = line.chars().count();
        if used > 0 && indent + used + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            if used > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let lead = if index == 0 { lead } else { "" };
        writeln!(out, "{lead:indent$}{}", paint(line))?;
    }
    Ok(())
}
