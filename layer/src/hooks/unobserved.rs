//! Hooks for commands that the captures need not see. The commands go to the driver, after captures that were deferred,
//! or are stored until the render pass ends.

use std::ffi::{CStr, c_void};

use crate::command_buffers::{CommandBufferState, UnobservedRoute, unobserved_route, with};
use crate::registry::vk;
use crate::withheld::{Commands, commands, commands_by_hand, functions};

macro_rules! hook {
    ($($name:ident $pfn:ident [$($command:literal),*];)*) => {
        /// Returns the hook for a command that can be recorded inside of a render pass, and may have to be stored until
        /// the pass ends, or before which captures that were deferred must be recorded. `None` for other commands.
        pub(super) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
            $(
                if [$($command),*].contains(&name) {
                    // SAFETY: all function pointers have the same size.
                    return unsafe {
                        std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>($name as *const ())
                    };
                }
            )*
            None
        }
    };
}

functions!(hook);

/// The fast path of a hook: if the command need not be stored until the pass ends, calls the driver's function and
/// returns from the hook. Commands that begin or end a pass do not have this path.
macro_rules! to_the_driver {
    (begin_pass $name:ident $arguments:tt) => {};
    (end_pass $name:ident $arguments:tt) => {};
    ($way:ident $name:ident ($command_buffer:ident, $($parameter:ident),*)) => {
        if let Some(UnobservedRoute::Driver(functions)) = unobserved_route($command_buffer)
            && let Some(function) = functions.$name
        {
            return function($command_buffer, $($parameter),*);
        }
    };
}

macro_rules! unobserved {
    ($($way:ident $name:ident $type:ident (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    );)*) => {$(
        impl CommandBufferState {
            /// Stores the command until the pass ends, or calls the driver's function.
            ///
            /// # Safety
            /// The application's arguments are valid, and `self` is the state of the command
            /// buffer.
            #[allow(clippy::too_many_arguments, reason = "as the command has them")]
            pub(super) unsafe fn $name(
                &mut self,
                command_buffer: vk::CommandBuffer,
                $($parameter: $of),*
            ) {
                // SAFETY: the caller's contract.
                unsafe {
                    self.$way(command_buffer, |commands| match commands {
                        Commands::Withheld(withheld) => withheld.$name($($parameter),*),
                        Commands::Functions(functions) => {
                            if let Some(function) = functions.$name {
                                function(command_buffer, $($parameter),*);
                            }
                            Ok(())
                        }
                    });
                }
            }
        }

        #[allow(clippy::too_many_arguments, reason = "as the command has them")]
        pub(super) unsafe extern "system" fn $name(
            command_buffer: vk::CommandBuffer,
            $($parameter: $of),*
        ) {
            // Not inlined, so that the direct path to the driver need not save registers.
            #[inline(never)]
            unsafe extern "system" fn record(command_buffer: vk::CommandBuffer, $($parameter: $of),*) {
                // SAFETY: Vulkan requires that the application's arguments are valid, and that it
                // synchronizes access to the command buffer.
                unsafe {
                    with(command_buffer, |state| {
                        state.$name(command_buffer, $($parameter),*);
                    });
                }
            }
            // SAFETY: Vulkan's contract, which is the caller's.
            unsafe {
                to_the_driver!($way $name (command_buffer, $($parameter),*));
                record(command_buffer, $($parameter),*);
            }
        }
    )*};
}

commands!(unobserved);
commands_by_hand!(unobserved);

#[cfg(test)]
mod tests;
