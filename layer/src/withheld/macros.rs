//! Macros that turn the tables of commands into code. The hooks for the commands are in
//! `crate::hooks`.
//!
//! A row of a table is a command, its parameters, and how arguments that are pointers are copied:
//! `way name Type (parameter: type, parameter: type => copy(count),);`. `way` is the method of
//! `Recorded` for the command: `begin_pass`, `end_pass`, or `record` for commands that neither begin
//! nor end a pass.

/// The arguments of commands, and how they are replayed.
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

/// Generates the withholding of commands whose arguments the registry describes completely.
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
