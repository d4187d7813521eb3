//! Warnings and errors: wgpu logs its own, and those of the validation layer, which it enables in debug builds.

use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow, ensure};
use log::{LevelFilter, Log, Metadata, Record};

/// What wgpu says where the layer is not installed.
const NO_LAYER: &str = "InstanceFlags::VALIDATION requested, but unable to find layer";

struct Messages(Mutex<Vec<String>>);

static MESSAGES: Messages = Messages(Mutex::new(Vec::new()));

impl Log for Messages {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let message = record.args().to_string();
        if !message.starts_with(NO_LAYER) {
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
