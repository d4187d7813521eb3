//! Warnings and errors: wgpu logs its own, and those of the validation layer, which it enables in debug builds.

use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow, ensure};
use log::{LevelFilter, Log, Metadata, Record};

/// No faults.
const IGNORED: [&str; 2] = [
    // The layer is not installed.
    "InstanceFlags::VALIDATION requested, but unable to find layer",
    // wgpu's shaders say that their source is in WGSL, which the layer of Debian 12 does not know.
    "Invalid source language operand: 10",
];

struct Messages(Mutex<Vec<String>>);

static MESSAGES: Messages = Messages(Mutex::new(Vec::new()));

impl Log for Messages {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let message = record.args().to_string();
        // wgpu logs beside a message of the layer, indented, what it is about.
        let is_detail = message.starts_with('\t');
        if !is_detail && !IGNORED.iter().any(|ignored| message.contains(ignored)) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        }
    }

    fn flush(&self) {}
}

/// Begins to collect them.
pub fn collect() -> Result<()> {
    log::set_logger(&MESSAGES).map_err(|error| anyhow!(error.to_string()))?;
    log::set_max_level(LevelFilter::Warn);
    Ok(())
}

/// Fails if there are any.
pub fn check() -> Result<()> {
    let messages = MESSAGES.0.lock().unwrap_or_else(PoisonError::into_inner);
    ensure!(messages.is_empty(), "wgpu or the validation layer says:\n{}", messages.join("\n"));
    Ok(())
}
