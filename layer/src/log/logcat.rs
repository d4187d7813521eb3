//! Writes to Android's log, which the command `logcat` prints. Apps on Android have no standard error.

use std::ffi::{CStr, CString, c_int};
use std::io::{Result, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Passes each message (an event of `tracing`) to a function, with its `android_LogPriority`.
pub(super) struct Logcat<F>(pub(super) F);

impl<F: Fn(c_int, &CStr)> Logcat<F> {
    const fn event(&self, level: Level) -> Event<'_, F> {
        Event { write: &self.0, priority: priority(level), text: Vec::new() }
    }
}

impl<'a, F: Fn(c_int, &CStr) + 'a> MakeWriter<'a> for Logcat<F> {
    type Writer = Event<'a, F>;

    fn make_writer(&'a self) -> Self::Writer {
        self.event(Level::INFO)
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Self::Writer {
        self.event(*meta.level())
    }
}

const fn priority(level: Level) -> c_int {
    match level {
        Level::TRACE => 2,
        Level::DEBUG => 3,
        Level::INFO => 4,
        Level::WARN => 5,
        Level::ERROR => 6,
    }
}

/// The text of a message. When the text is complete, dropping this value passes it to the function of [`Logcat`].
pub(super) struct Event<'a, F: Fn(c_int, &CStr)> {
    write: &'a F,
    priority: c_int,
    text: Vec<u8>,
}

impl<F: Fn(c_int, &CStr)> Write for Event<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // A zero would end the text.
        self.text.extend(bytes.iter().copied().filter(|byte| *byte != 0));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<F: Fn(c_int, &CStr)> Drop for Event<'_, F> {
    fn drop(&mut self) {
        if let Ok(text) = CString::new(self.text.trim_ascii_end()) {
            (self.write)(self.priority, &text);
        }
    }
}

/// Writes to the log of the system.
#[cfg(target_os = "android")]
pub(super) fn write(priority: c_int, text: &CStr) {
    #[link(name = "log")]
    unsafe extern "C" {
        fn __android_log_write(
            priority: c_int,
            tag: *const std::ffi::c_char,
            text: *const std::ffi::c_char,
        ) -> c_int;
    }
    // SAFETY: both are strings that are terminated by zero.
    unsafe { __android_log_write(priority, c"vkxfb".as_ptr(), text.as_ptr()) };
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn each_event_is_one_entry_with_its_priority() {
        let entries = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&entries);
        let write = move |priority, text: &CStr| {
            kept.lock().unwrap().push((priority, text.to_str().unwrap().to_owned()));
        };
        let subscriber = super::super::logcat_format(Logcat(write), Level::TRACE.as_str());
        tracing::subscriber::with_default(subscriber.unwrap(), || {
            tracing::error!("lost\0 \n of two lines");
            tracing::warn!(device = 7, "warned");
            tracing::trace!("told");
        });
        let target = module_path!();
        let expected = [
            (6, format!("{target}: lost \n of two lines")),
            (5, format!("{target}: warned device=7")),
            (2, format!("{target}: told")),
        ];
        assert_eq!(*entries.lock().unwrap(), expected);
    }
}
