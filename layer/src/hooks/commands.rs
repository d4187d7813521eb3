//! The functions that programs call for commands that can be recorded inside of a render pass, or before which captures
//! that were deferred must be recorded. Each is generic: an [`Observer`] says what the captures do with the command.
//!
//! The hooks for commands that the captures need not see are these functions with [`Unobserved`]. The commands go to
//! the driver, after captures that were deferred, or are stored until the render pass ends.

use std::ffi::{CStr, c_void};

use crate::command_buffers::{FastPath, fast_path, with};
use crate::registry::vk;
use crate::withheld::arguments::*;
use crate::withheld::commands;

/// What the layer does with commands of the type `C` before they are recorded. Without methods of its own, an observer
/// does nothing with them.
///
/// The contract of all methods is that of [`with`], and that the command is valid.
pub(super) trait Observer<C: Command> {
    /// Returns the command that is recorded in place of a command of the program.
    #[inline]
    fn replacement(command: C) -> C {
        command
    }

    /// Returns where the command goes if it need not be [recorded](Self::record).
    ///
    /// # Safety
    /// The contract of the trait.
    #[inline]
    unsafe fn fast_path<'a>(
        command_buffer: vk::CommandBuffer,
        _command: &C,
    ) -> Option<FastPath<'a>> {
        match C::TYPE {
            CommandType::BeginPass | CommandType::EndPass => None,
            _ => unsafe { fast_path(command_buffer) },
        }
    }

    /// Records the command by the state of the command buffer.
    ///
    /// # Safety
    /// The contract of the trait.
    #[inline]
    unsafe fn record(command_buffer: vk::CommandBuffer, command: &C) {
        unsafe { with(command_buffer, |state| state.record(command_buffer, command)) }
    }
}

/// The captures need not see the command.
pub(super) struct Unobserved;

impl<C: Command> Observer<C> for Unobserved {}

macro_rules! define {
    ($($command_type:ident $name:ident $type:ident $pfn:ident $names:tt (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    ) $($by_hand:ident)?;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "as the command has them")]
        pub(super) unsafe extern "system" fn $name<O: Observer<$type>>(
            command_buffer: vk::CommandBuffer,
            $($parameter: $of),*
        ) {
            // Not inlined, so that the direct path to the driver need not save registers.
            #[inline(never)]
            unsafe extern "system" fn record<O: Observer<$type>>(
                command_buffer: vk::CommandBuffer,
                $($parameter: $of),*
            ) {
                // SAFETY: Vulkan requires that the application's arguments are valid, and that it
                // synchronizes access to the command buffer.
                unsafe { O::record(command_buffer, &$type { $($parameter),* }) }
            }
            let command = O::replacement($type { $($parameter),* });
            unsafe {
                match O::fast_path(command_buffer, &command) {
                    Some(FastPath::Driver(functions)) => command.call(functions, command_buffer),
                    Some(FastPath::Withheld) => {
                        record::<Unobserved>(command_buffer, $(command.$parameter),*);
                    }
                    None => record::<O>(command_buffer, $(command.$parameter),*),
                }
            }
        }
    )*};
}

commands!(define);

/// Generates the function `hook_of`, which finds the hooks for some commands by the names of their functions: these
/// functions with an observer.
macro_rules! observer_hooks {
    ($observer:ty: $($function:ident)*) => {
        pub(super) fn hook_of(function: &str) -> ash::vk::PFN_vkVoidFunction {
            use $crate::hooks::commands;
            match function {
                $(stringify!($function) => Some($crate::hooks::entry::untyped!(commands::$function::<$observer>)),)*
                _ => None,
            }
        }
    };
}

pub(super) use observer_hooks;

macro_rules! find {
    ($($command_type:ident $name:ident $type:ident $pfn:ident $names:tt $parameters:tt $($by_hand:ident)?;)*) => {
        /// Returns the name of the function for a command, which is the same for all names of the command.
        pub(super) fn function_of(command: &CStr) -> Option<&'static str> {
            $(
                if $names.contains(&command) {
                    return Some(stringify!($name));
                }
            )*
            None
        }

        observer_hooks! { Unobserved: $($name)* }
    };
}

commands!(find);

/// Returns the hook for a command that the captures need not see. `None` for commands that are not recorded inside of a
/// render pass, and before which no captures must be recorded.
pub(super) fn hook(command: &CStr) -> vk::PFN_vkVoidFunction {
    hook_of(function_of(command)?)
}

#[cfg(test)]
mod tests;
