//! Macros that generate code from tables of commands. The hooks for the commands are in
//! `crate::hooks`.
//!
//! Each row of a table is a command with its parameters:
//! `way name Type (parameter: type, parameter: type => copy(count),);`. `Type` is the structure
//! that stores the arguments. `copy` is the method of `Memory` that copies what a pointer points to.
//! `way` is the method of `CommandBufferState` that records the command: `begin_pass`, `end_pass`, `set_state`
//! for commands that only set state for later commands, `synchronize` for barriers, or `record` for
//! all others.

/// Generates for each command the structure that stores its arguments, and the function that
/// replays it.
macro_rules! arguments {
    ($($way:ident $name:ident $type:ident (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    );)*) => {$(
        struct $type {
            $($parameter: $of,)*
        }

        impl Replay for $type {
            unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
                if let Some(function) = functions.$name {
                    // SAFETY: the caller's contract.
                    unsafe { function(command_buffer, $(self.$parameter),*) }
                }
            }
        }
    )*};
}

/// Generates for each command the method of `WithheldCommands` that copies its arguments and stores
/// it.
macro_rules! withhold {
    ($($way:ident $name:ident $type:ident (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    );)*) => {
        impl WithheldCommands {$(
            /// # Safety
            /// The arguments are valid for the command.
            #[allow(unused_unsafe, clippy::unnecessary_cast, clippy::too_many_arguments, reason = "not needed for all commands")]
            pub(crate) unsafe fn $name(&mut self, $($parameter: $of),*) -> Result<(), OutOfMemory> {
                $($(
                    // SAFETY: the caller's contract.
                    let $parameter = unsafe {
                        self.memory.$copy($parameter.cast() $(, $count as usize)?)
                    }?;
                )?)*
                self.push($type { $($parameter),* })
            }
        )*}
    };
}

pub(super) use {arguments, withhold};
