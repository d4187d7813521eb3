//! The log: to standard error, silent but for warnings until somebody asks.

use std::sync::Once;

use tracing_subscriber::EnvFilter;

/// Whether a text is a filter of the log.
pub(crate) fn is_filter(text: &str) -> bool {
    EnvFilter::builder().parse(text).is_ok()
}

/// Starts the log of this library, where the first instance of the process was created. The globals of `tracing`
/// are the library's own copy: a program in Rust keeps its own subscriber.
pub(crate) fn start(filter: &str) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Ok(filter) = EnvFilter::builder().parse(filter) else { return };
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            // Where standard error is closed nobody can be told.
            .log_internal_errors(false)
            .finish();
        // It fails only where there is one, which is as good.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
}
