//! Writes the log to standard error. By default it contains only warnings and errors.

use std::sync::Once;

use tracing_subscriber::EnvFilter;

/// Whether a text is a valid filter, in the syntax of `tracing_subscriber::EnvFilter`.
pub(crate) fn is_filter(text: &str) -> bool {
    EnvFilter::builder().parse(text).is_ok()
}

/// Starts the log of this library. Only the first call in a process has an effect. The globals of
/// `tracing` that this sets are copies in this library, so a program in Rust keeps its own
/// subscriber.
pub(crate) fn start(filter: &str) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Ok(filter) = EnvFilter::builder().parse(filter) else { return };
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            // By default, the subscriber reports a failed write on standard error. If standard
            // error is closed, that fails as well.
            .log_internal_errors(false)
            .finish();
        // This fails only if this library's copy of `tracing` already has a subscriber, which then
        // stays.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
}
