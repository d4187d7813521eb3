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

/// A writer that shows the log on standard error. Its own colours are all that controls the terminal.
pub(super) struct Screen;

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let text = terminal::coloured(&String::from_utf8_lossy(bytes));
        std::io::stderr().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        std::io::stderr().flush()
    }
}

/// Returns the text of the log so far, without colours.
pub(super) fn kept() -> String {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    anstream::adapter::strip_str(&String::from_utf8_lossy(&kept)).to_string()
}
