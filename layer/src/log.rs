//! Writes the log to standard error, on Android to the log of the system. By default it contains only
//! warnings and errors.

#[cfg(any(target_os = "android", test))]
mod logcat;

use std::sync::Once;

use tracing::Subscriber;
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
        #[cfg(not(target_os = "android"))]
        let subscriber = to_standard_error(filter);
        #[cfg(target_os = "android")]
        let subscriber = logcat_format(logcat::Logcat(logcat::write), filter);
        if let Some(subscriber) = subscriber {
            // This fails only if this library's copy of `tracing` already has a subscriber, which
            // then stays.
            let _ = tracing::subscriber::set_global_default(subscriber);
        }
    });
}

/// Returns a subscriber that writes to standard error, or `None` if the filter is not valid.
#[cfg(not(target_os = "android"))]
fn to_standard_error(filter: &str) -> Option<impl Subscriber + Send + Sync> {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::builder().parse(filter).ok()?)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // By default, the subscriber reports on standard error that a write failed. If standard error is closed, this
        // report fails as well.
        .log_internal_errors(false);
    Some(subscriber.finish())
}

/// Returns a subscriber that writes to Android's log, or `None` if the filter is not valid. Android itself adds the
/// time and the level of each message.
#[cfg(any(target_os = "android", test))]
fn logcat_format<F>(
    logcat: logcat::Logcat<F>,
    filter: &str,
) -> Option<impl Subscriber + Send + Sync>
where
    F: Fn(std::ffi::c_int, &std::ffi::CStr) + Send + Sync + 'static,
{
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::builder().parse(filter).ok()?)
        .with_writer(logcat)
        .with_ansi(false)
        .without_time()
        .with_level(false)
        .log_internal_errors(false);
    Some(subscriber.finish())
}
