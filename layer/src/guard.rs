//! Catches panics at the functions of the layer that programs call, because a panic there would
//! abort the program. The program gets a Vulkan error instead.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `command`, and returns `otherwise` if it panics.
///
/// Guards are not nested, except that functions that the runtime calls by pointer have guards of
/// their own. A command that captures observe has two guards, one after the other, so that the
/// command is recorded even if the captures panic. Commands that go directly to the driver need no
/// guard.
///
/// After a panic, a value that `command` was changing may be inconsistent. The layer holds no lock
/// while it calls code that could panic, and it ignores that locks are poisoned.
#[inline]
pub(crate) fn guard<R>(name: &'static str, otherwise: R, command: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(command)) {
        Ok(result) => result,
        Err(payload) => {
            panicked(name, payload);
            otherwise
        }
    }
}

#[cold]
fn panicked(name: &'static str, payload: Box<dyn Any + Send>) {
    // Logging, or dropping the payload, could panic again.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        tracing::error!(command = name, "panicked: {}", text.unwrap_or("without a message"));
    }));
    std::mem::forget(payload);
}

#[cfg(test)]
mod tests {
    use ash::vk;

    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let failed = vk::Result::ERROR_INITIALIZATION_FAILED;
        assert_eq!(guard("vkCommand", failed, || vk::Result::SUCCESS), vk::Result::SUCCESS);
        assert_eq!(guard("vkCommand", failed, || panic!("told by the test")), failed);
        let number = 3;
        assert_eq!(guard("vkCommand", failed, || panic!("told by the test {number}")), failed);
    }

    #[test]
    fn a_panic_in_what_a_panic_leaves_is_no_abort() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert_eq!(guard("vkCommand", 1, || std::panic::panic_any(Bomb)), 1);
    }
}
