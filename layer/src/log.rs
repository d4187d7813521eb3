//! Writes the log to standard error, on Android to the log of the system. By default it contains only
//! warnings and errors.

#[cfg(any(target_os = "android", test))]
mod logcat;

use std::sync::Once;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;

/// Parses a filter, in the syntax of `tracing_subscriber::EnvFilter`. `None` if it is not valid.
///
/// The values of fields in a filter are compared as text. As regular expressions they would be compiled to automata,
/// and a filter from a file in the working directory could make that take all memory and time.
///
/// Spaces around commas are removed, because `tracing_subscriber` (0.3.23) applies byte offsets in the trimmed
/// directive to the text with the spaces. So it takes only a part of a name, and panics if an offset is within a
/// character.
fn parse(text: &str) -> Option<EnvFilter> {
    let directives: Vec<&str> = text.split(',').map(str::trim).collect();
    EnvFilter::builder().with_regex(false).parse(directives.join(",")).ok()
}

pub(crate) fn is_filter(text: &str) -> bool {
    parse(text).is_some()
}

/// Starts the log of this library. Only the first call in a process has an effect. This library has its own copy of
/// `tracing`, whose globals this function sets, so a program in Rust keeps its own subscriber.
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
        .with_env_filter(parse(filter)?)
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
        .with_env_filter(parse(filter)?)
        .with_writer(logcat)
        .with_ansi(false)
        .without_time()
        .with_level(false)
        .log_internal_errors(false);
    Some(subscriber.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of fields in a filter are not regular expressions. As a regular expression, the first value here
    /// would need an automaton of 2^40 states.
    #[test]
    fn values_in_filters_are_no_regular_expressions() {
        let dots = ".".repeat(40);
        assert!(is_filter(&format!("vkxfb_layer[span{{field=.*a{dots}}}]=trace")));
        // A value that is not a valid regular expression is allowed.
        assert!(is_filter("vkxfb_layer[span{field=(}]=trace"));
    }

    #[test]
    fn spaces_around_commas_do_not_matter() {
        let filter = |text| parse(text).map(|filter| filter.to_string());
        assert_eq!(filter("warn, vkxfb_layer=debug "), filter("warn,vkxfb_layer=debug"));
        assert!(is_filter("warn, \u{e9}t\u{e9}=debug"));
    }
}
