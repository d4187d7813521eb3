//! Environment variables that tests take, and what the validation layer that they ask for needs.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number that a variable holds.
pub fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name}={v} is no number")))
}

/// Without `VKXFB_FULL=1`, tests of random cases run one in so many of them.
const SHARE: u64 = 3;

/// So many of `all` random cases as are run: all with `VKXFB_FULL=1`, as `.ci/run` has it, or else a
/// part that a newcomer can wait for.
pub fn sample_of(all: u64) -> u64 {
    if is_full() { all } else { all.div_ceil(SHARE) }
}

/// Two of the ways in which a compiler can be called, other ones for the next number, and all with `VKXFB_FULL=1`:
/// what is compiled in ways that are numbered in turn is compiled in each. A call of glslang takes 0.15 s, of which all
/// but a little goes to what it knows of the language.
pub fn ways_of<T>(all: &[T], number: usize) -> impl Iterator<Item = &T> {
    let (first, count) = if is_full() { (0, all.len()) } else { (2 * number, 2.min(all.len())) };
    all.iter().cycle().skip(first % all.len()).take(count)
}

/// Whether everything is run that takes long: `VKXFB_FULL` is 1.
pub fn is_full() -> bool {
    std::env::var_os("VKXFB_FULL").is_some_and(|value| value == "1")
}

/// The number of random cases that a variable holds, or else [`sample_of`] them.
pub fn cases(name: &str, all: u64) -> u64 {
    number(name, sample_of(all))
}

/// Whether the validation layer is to look on: `VKXFB_TEST_VALIDATION` is not 0.
pub fn has_validation() -> bool {
    is_on("VKXFB_TEST_VALIDATION")
}

/// Whether the Khronos tools are there: `VKXFB_TEST_TOOLS` is not 0.
pub fn has_tools() -> bool {
    is_on("VKXFB_TEST_TOOLS")
}

/// Held while an instance or a device is created or destroyed: one at a time in this process. Validation
/// layer 1.3.239 (Debian 12) keeps them in maps without a lock, and crashed when two threads did so.
pub fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_none_or(|value| value != "0")
}
