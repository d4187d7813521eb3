//! Switches for tests, controlled by environment variables. They cause situations that a program cannot
//! create: a driver without addresses, a missing barrier, passes that are long from their first command
//! on.
//!
//! The feature `test-switches` compiles them. Only this package's dev-dependency on itself enables it,
//! so builds for tests and benchmarks have the switches, and shipped builds do not.

use std::sync::LazyLock;

/// Returns the value of a variable, and logs that it is set.
fn read(name: &'static str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    tracing::warn!(value, "{name} is for tests");
    Some(value)
}

/// `VKXFB_HIDE_ADDRESSES`: whether captures use descriptors. Synchronization validation does not see
/// accesses by device address.
pub(crate) fn hides_addresses() -> bool {
    read("VKXFB_HIDE_ADDRESSES").is_some()
}

/// `VKXFB_LONG_PASS`: the number of commands from which a pass is long.
pub(crate) fn long_pass() -> Option<usize> {
    static COMMANDS: LazyLock<Option<usize>> =
        LazyLock::new(|| read("VKXFB_LONG_PASS")?.parse().ok());
    *COMMANDS
}

/// `VKXFB_OMIT_TRANSLATION`: which stages and accesses of captures are omitted, to check that this is
/// noticed: one of the names of `translate::Kind`.
pub(crate) fn omitted() -> Option<&'static str> {
    static KIND: LazyLock<Option<String>> = LazyLock::new(|| read("VKXFB_OMIT_TRANSLATION"));
    KIND.as_deref()
}
