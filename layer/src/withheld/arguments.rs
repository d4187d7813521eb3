//! The arguments of commands that are recorded. The hooks for the commands are in `crate::hooks`.
//!
//! Each row of the table is a command with its [type](CommandType), the name of its function, the structure with its
//! arguments, the type and the names of the device's function, and its parameters:
//! `CommandType name Structure PFN_name [names] (parameter: type, parameter: type => copy(count),);`.
//! `copy` is the method of [`Memory`] that copies what a pointer points to. A row ends with `by_hand` if the registry does
//! not say completely what the arguments point to: then the module `by_hand` copies them.

use std::ffi::c_void;

use super::commands::commands;
use super::memory::{Copied, Memory, OutOfMemory};
use crate::next::next;
use crate::registry::vk;

macro_rules! functions {
    ($($command_type:ident $name:ident $type:ident $pfn:ident $names:tt $parameters:tt $($by_hand:ident)?;)*) => {
        next! {
            /// The commands of a device that are allowed inside of a render pass instance, those that
            /// begin one, and those before which deferred captures are recorded.
            struct Functions {
                $($name $pfn $names;)*
            }
        }
    };
}

commands!(functions);

/// What a command does, as far as passes and deferred captures are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandType {
    /// It begins a pass.
    BeginPass,
    /// It ends a pass.
    EndPass,
    /// It only sets state for later commands, so captures that were deferred can stay so.
    State,
    /// It is a barrier. Captures stay deferred: the hook has recorded them if the barrier is for other commands, too.
    Synchronization,
    /// Anything else. Captures that were deferred are recorded before it.
    Action,
}

/// The arguments of a command. Copies are stored while a pass is withheld.
pub(crate) trait Command: Copied {
    const TYPE: CommandType;

    /// Calls the driver's function with these arguments. Does nothing if the driver does not have it.
    ///
    /// # Safety
    /// The arguments are valid, and so is the command at this place in the command buffer.
    unsafe fn call(&self, functions: &Functions, command_buffer: vk::CommandBuffer);
}

macro_rules! define {
    ($($command_type:ident $name:ident $type:ident $pfn:ident $names:tt (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    ) $($by_hand:ident)?;)*) => {$(
        #[derive(Clone, Copy)]
        pub(crate) struct $type {
            $(pub(crate) $parameter: $of,)*
        }

        impl Command for $type {
            const TYPE: CommandType = CommandType::$command_type;

            #[inline]
            unsafe fn call(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
                if let Some(function) = functions.$name {
                    unsafe { function(command_buffer, $(self.$parameter),*) }
                }
            }
        }
    )*};
}

commands!(define);

macro_rules! copy {
    ($($command_type:ident $name:ident $type:ident $pfn:ident $names:tt $parameters:tt $($by_hand:ident)?;)*) => {
        $(copy!(@ $($by_hand)? $type $parameters);)*
    };
    (@ by_hand $type:ident $parameters:tt) => {};
    (@ $type:ident ($($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*)) => {
        impl Copied for $type {
            #[allow(unused_variables, clippy::unnecessary_cast, reason = "not needed for all commands")]
            unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
                let Self { $($parameter),* } = *self;
                $($(
                    let $parameter = unsafe { memory.$copy($parameter.cast() $(, $count as usize)?) }?;
                )?)*
                Ok(Self { $($parameter),* })
            }
        }
    };
}

commands!(copy);
