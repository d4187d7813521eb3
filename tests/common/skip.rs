//! Tests that are skipped.

#![allow(dead_code, reason = "each test uses some of it")]

use std::fmt::Display;

/// Why a test is skipped.
pub enum Why<R> {
    /// The device lacks something, or the machine what `tests/setup.sh` does not install, or a variable asks for it.
    Expected(R),
    /// The machine lacks what `tests/setup.sh` installs, or the workspace what `cargo test` in its root builds.
    Missing(R),
}

/// Says that a test is skipped, and why. With `VKXFB_FULL=1`, as in `.ci/run`, where nobody reads what a test says that
/// passes, it fails for what is missing.
pub fn skip<R: Display>(why: Why<R>) {
    match why {
        Why::Missing(reason) if is_full() => {
            panic!("{reason}: VKXFB_FULL=1 skips no test for that")
        }
        Why::Expected(reason) | Why::Missing(reason) => eprintln!("skipped: {reason}"),
    }
}

/// Whether tests run everything, even if it takes long: `VKXFB_FULL` is 1.
pub fn is_full() -> bool {
    std::env::var_os("VKXFB_FULL").is_some_and(|value| value == "1")
}
