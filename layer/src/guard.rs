//! Catches panics at the functions of the layer that programs call, because a panic there would
//! abort the program. The program gets a Vulkan error instead.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `command`, and returns `otherwise` if it panics.
///
/// A guard may run inside of another one: for example, the `vkGetInstanceProcAddr` that the layer passes to vkxfb's
/// runtime has its own guard, and the runtime calls it inside of other commands. Then the inner guard catches the
/// panic. A command whose arguments the captures must see (`command_buffers::observe`) has two guards, one after the
/// other: if the code of the captures panics, the command is recorded all the same. For the same reason, what happens to
/// captures at the end of a pass (`CommandBufferState::end_pass`) has guards of its own. Commands that go directly to
/// the driver need no guard.
///
/// After a panic, a value that `command` was changing may be inconsistent. The layer ignores that locks are poisoned,
/// so that a panic does not make later commands fail.
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
