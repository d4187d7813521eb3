//! Environment variables that tests read, and a lock that the validation layer needs.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use super::skip::is_full;

/// Returns the number in a variable, or `default` if it is not set.
pub fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name}={v} is no number")))
}

/// Without `VKXFB_FULL=1`, tests run only one in this number of their random cases.
const SHARE: u64 = 4;

/// Returns the number of random cases to run, of `all`: all of them with `VKXFB_FULL=1`, as
/// `.ci/run --all` sets it, otherwise a part that takes a tolerable time.
pub fn sample_of(all: u64) -> u64 {
    if is_full() { all } else { all.div_ceil(SHARE) }
}

/// Returns some of the ways in which a compiler can be called: all with `VKXFB_FULL=1`, otherwise
/// two that depend on `number`. If sources are numbered consecutively, each way is used for some of
/// them. A call of glslang takes 0.15 s, most of which is its initialization.
pub fn ways_of<T>(all: &[T], number: usize) -> impl Iterator<Item = &T> {
    let (first, count) = if is_full() { (0, all.len()) } else { (2 * number, 2.min(all.len())) };
    all.iter().cycle().skip(first % all.len()).take(count)
}

/// Returns the number of random cases in a variable or, if that is not set, [`sample_of`] `all`.
pub fn cases(name: &str, all: u64) -> u64 {
    number(name, sample_of(all))
}

/// Whether tests enable the validation layer: `VKXFB_TEST_VALIDATION` is not 0.
pub fn has_validation() -> bool {
    is_on("VKXFB_TEST_VALIDATION")
}

/// Whether tests use the Khronos tools: `VKXFB_TEST_TOOLS` is not 0.
pub fn has_tools() -> bool {
    is_on("VKXFB_TEST_TOOLS")
}

/// Returns a lock to hold while an instance or a device is created or destroyed, so that this
/// happens one at a time in this process. Validation layer 1.3.239 (Debian 12) keeps them in maps
/// without a lock, and crashed when two threads created or destroyed them at the same time.
pub fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_none_or(|value| value != "0")
}
