//! Switches for tests, by variables of the environment. They bring about what a program cannot
//! have from outside: a driver without addresses, a barrier that is missing, passes that are long at
//! their first command.
//!
//! The feature `test-switches` compiles them. Only the dev-dependency of this package on itself enables
//! it, so what is built for tests and benchmarks has them, and what is shipped does not.

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

/// `VKXFB_LONG_PASS`: at how many commands a pass is long.
pub(crate) fn long_pass() -> Option<usize> {
    static COMMANDS: LazyLock<Option<usize>> =
        LazyLock::new(|| read("VKXFB_LONG_PASS")?.parse().ok());
    *COMMANDS
}

/// `VKXFB_OMIT_TRANSLATION`: where stages and accesses of captures are left out, to check that this is
/// noticed: one of the names of `translate::Kind`.
pub(crate) fn omitted() -> Option<&'static str> {
    static KIND: LazyLock<Option<String>> = LazyLock::new(|| read("VKXFB_OMIT_TRANSLATION"));
    KIND.as_deref()
}
