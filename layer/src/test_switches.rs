//! Reads environment variables with which tests cause situations that a program under test cannot cause: a driver
//! without queries of generated primitives, a missing barrier, and passes that count as long after few commands
//! (`VKXFB_LONG_PASS`).
//!
//! This module exists only with the feature `test-switches`. Only this package's dev-dependency on
//! itself enables that feature, so tests and benchmarks can use the variables, and shipped builds
//! ignore them.

use std::sync::LazyLock;

/// Returns the value of a variable, and logs a warning. `None` if the variable is not set.
fn read(name: &'static str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    tracing::warn!(value, "{name} is for tests");
    Some(value)
}

/// Whether `VKXFB_HIDE_GENERATED_QUERIES` is set. The layer then ignores that the driver has
/// `VK_EXT_primitives_generated_query`, and gives the extension itself.
pub(crate) fn hides_generated_queries() -> bool {
    read("VKXFB_HIDE_GENERATED_QUERIES").is_some()
}

/// Returns the value of `VKXFB_LONG_PASS`: the number of commands from which on a pass is *long*, so that the layer
/// tries to give the stored commands to the driver before the pass ends. `None` if the variable is not set.
pub(crate) fn long_pass() -> Option<usize> {
    static COMMANDS: LazyLock<Option<usize>> =
        LazyLock::new(|| read("VKXFB_LONG_PASS")?.parse().ok());
    *COMMANDS
}

/// Returns the value of `VKXFB_OMIT_TRANSLATION`: the name of a `translate::Kind`. The layer then does not add the
/// stages and accesses of captures to arguments of that kind, or leaves out the barriers of that kind, and tests check
/// that they notice the omission. `None` if the variable is not set.
pub(crate) fn omitted() -> Option<&'static str> {
    static KIND: LazyLock<Option<String>> = LazyLock::new(|| read("VKXFB_OMIT_TRANSLATION"));
    KIND.as_deref()
}
