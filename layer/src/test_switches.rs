//! Switches for tests, controlled by environment variables. They cause situations that a program
//! under test cannot cause: a driver without buffer device addresses, a missing barrier, and passes
//! that count as long from their first command on.
//!
//! The switches exist only with the feature `test-switches`. Only this package's dev-dependency on
//! itself enables that feature, so builds for tests and benchmarks have the switches, and shipped
//! builds do not.

use std::sync::LazyLock;

/// Returns the value of a switch, and logs a warning if it is set.
fn read(name: &'static str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    tracing::warn!(value, "{name} is for tests");
    Some(value)
}

/// `VKXFB_HIDE_ADDRESSES`: whether to hide the device's support for addresses, so that captures use
/// descriptors. Synchronization validation does not see accesses by device address.
pub(crate) fn hides_addresses() -> bool {
    read("VKXFB_HIDE_ADDRESSES").is_some()
}

/// `VKXFB_LONG_PASS`: after how many commands a pass is *long*. `None` if the variable is not set.
pub(crate) fn long_pass() -> Option<usize> {
    static COMMANDS: LazyLock<Option<usize>> =
        LazyLock::new(|| read("VKXFB_LONG_PASS")?.parse().ok());
    *COMMANDS
}

/// Returns the value of `VKXFB_OMIT_TRANSLATION`: the name of the variant of `translate::Kind` for
/// which the layer does not add the stages and accesses of captures. Tests use it to check that
/// they notice the omission.
pub(crate) fn omitted() -> Option<&'static str> {
    static KIND: LazyLock<Option<String>> = LazyLock::new(|| read("VKXFB_OMIT_TRANSLATION"));
    KIND.as_deref()
}
