//! Prints results, messages and progress.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use serde::Serialize;
use vkxfb_probe::gpu::Message;
use vkxfb_probe::terminal;

use crate::log;

/// Writes text to standard output, where nothing of it controls the terminal.
///
/// What the command prints goes through this function, its relatives below, and [`complain`], [`remark`] and the log.
/// Others print, too: clap, where all arguments are harmless; progress bars; the hook of panics; and a child process of
/// `probe`, whose results go to its parent.
pub(crate) fn show(text: &str) -> Result<()> {
    put(anstream::stdout(), terminal::printable(text).as_bytes())
}

/// Like [`show`], for text with colours of our own, whose parts from outside are escaped.
pub(crate) fn show_coloured(text: &str) -> Result<()> {
    put(anstream::stdout(), terminal::coloured(text).as_bytes())
}

/// Writes what other programs read to standard output: byte for byte, unless a terminal shows it.
pub(crate) fn show_data(data: &[u8]) -> Result<()> {
    if std::io::stdout().is_terminal() {
        show(&String::from_utf8_lossy(data))
    } else {
        put(std::io::stdout(), data)
    }
}

pub(crate) fn show_json(value: &impl Serialize) -> Result<()> {
    show_json_text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Passes on a result. With `--json` an error is also shown as an object, `{ "error": "..." }`, in place of what the
/// command would have shown.
pub(crate) fn error_as_json<T>(
    result: Result<T, impl Into<anyhow::Error>>,
    is_json: bool,
) -> Result<T> {
    let error = match result {
        Ok(value) => return Ok(value),
        Err(error) => error.into(),
    };
    if is_json {
        show_json(&serde_json::json!({ "error": error.to_string() }))?;
    }
    Err(error)
}

/// Like [`show`], for JSON, which means the same afterwards.
pub(crate) fn show_json_text(json: &str) -> Result<()> {
    put(anstream::stdout(), terminal::json(json).as_bytes())
}

/// Writes to standard output, which `anstream` leaves without colours if it is not a terminal. It is not an error if
/// the reader, such as `head`, has closed the pipe.
fn put(mut out: impl Write, bytes: &[u8]) -> Result<()> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Writes a line about a problem to standard error and to the log. If standard error is closed,
/// only the exit status tells of the problem.
pub(crate) fn complain(lead: &str, what: impl Display) {
    let what = message(what);
    let _ = writeln!(anstream::stderr(), "{} {what}", lead.red().bold());
    let _ = writeln!(log::Keeper, "{lead} {what}");
}

/// Writes a line that is not about a problem to standard error and to the log.
pub(crate) fn remark(what: impl Display) {
    let what = message(what);
    say(&what);
    let _ = writeln!(log::Keeper, "{what}");
}

/// Writes a line to standard error.
pub(crate) fn say(what: &str) {
    let _ = writeln!(anstream::stderr(), "{}", terminal::printable(what));
}

/// Returns the text of a message, without what would control the terminal. All lines after the first are indented, so
/// that a line break in a name does not make a message of its own, and lists keep their shape.
fn message(what: impl Display) -> String {
    let text = terminal::printable(&what.to_string());
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("  {line}") };
    std::iter::once(first).chain(lines.map(indent)).collect::<Vec<_>>().join("\n")
}

/// Returns the first message of each kind from the validation layer, with the number of messages of
/// that kind.
pub(crate) fn once_each(messages: &[Message]) -> Vec<String> {
    let mut kinds: Vec<(&Message, usize)> = Vec::new();
    for message in messages {
        match kinds.iter_mut().find(|(first, _)| first.id == message.id) {
            Some((_, count)) => *count += 1,
            None => kinds.push((message, 1)),
        }
    }
    let text = |(message, count): &(&Message, usize)| match count {
        1 => message.to_string(),
        _ => format!("{message} ({count} of that kind)"),
    };
    kinds.iter().map(text).collect()
}

/// Returns a progress bar on standard error. It is hidden if standard error is not a terminal.
pub(crate) fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
