//! The log of the command, which goes to standard error and into reports.

use std::io::{Result, Write};
use std::sync::{Mutex, PoisonError};

use vkxfb_probe::terminal;

/// The maximum number of bytes that are kept. The first bytes are kept, and not the last ones, because they tell most
/// about a problem.
const MOST: usize = 64 << 10;

static KEPT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A writer that keeps the text of the log in memory.
pub(super) struct Keeper;

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..room]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A writer that shows the log on a terminal, which is controlled by nothing but the log's own colours.
pub(super) struct Screen<W>(pub(super) W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let text = terminal::coloured(&String::from_utf8_lossy(bytes));
        self.0.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

/// Returns the text of the log so far, without colours.
pub(super) fn kept() -> String {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    anstream::adapter::strip_str(&String::from_utf8_lossy(&kept)).to_string()
}

/// Keeps text that another process has logged.
pub(super) fn keep(text: &str) {
    // Nothing can fail.
    let _ = Keeper.write_all(text.as_bytes());
}

/// Returns what was kept, which is kept no longer.
pub(super) fn take() -> String {
    let kept = std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner));
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_more_than_colours() {
        let mut shown = Vec::new();
        let line = "\u{1b}[2m1\u{1b}[0m read \u{1b}]0;a\u{7}\u{9b}2J\u{202e}\n";
        Screen(&mut shown).write_all(line.as_bytes()).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown, "\u{1b}[2m1\u{1b}[0m read \\u{1b}]0;a\\u{7}\\u{9b}2J\\u{202e}\n");
    }
}
