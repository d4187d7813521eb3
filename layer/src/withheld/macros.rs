//! The macros that expand the tables of [`commands`](super::commands).

/// The functions of a device, by name: `name PFN_type [names of the command];`.
macro_rules! functions {
    ($($name:ident $pfn:ident [$first:literal $(, $alias:literal)*];)*) => {
        /// Commands of a device that are allowed inside of a render pass instance, and those that
        /// begin one.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $name: Option<vk::$pfn>,)*
        }

        impl Functions {
            /// Loads the functions that the driver has.
            ///
            /// # Safety
            /// `find` returns the command of the name.
            pub(crate) unsafe fn load(
                mut find: impl FnMut(&std::ffi::CStr) -> vk::PFN_vkVoidFunction,
            ) -> Self {
                Self {
                    $($name: {
                        let found = find($first)$(.or_else(|| find($alias)))*;
                        // SAFETY: the caller's contract; all function pointers have the same size.
                        unsafe {
                            std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$pfn>>(found)
                        }
                    },)*
                }
            }
        }

        /// Returns the hook for a command that may have to be withheld.
        pub(crate) fn hook(name: &std::ffi::CStr) -> vk::PFN_vkVoidFunction {
            $(
                if [$first $(, $alias)*].contains(&name) {
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

/// Commands, their parameters, and how arguments that are pointers are copied: `way name Type
/// (parameter: type, parameter: type => copy(count),);`. `way` is the method of `Recorded` for the
/// command: `begin_pass`, `end_pass`, or `record` for commands that neither begin nor end a pass.
macro_rules! commands {
    ($($way:ident $name:ident $type:ident (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    );)*) => {$(
        super::macros::command!($way $name $type ($($parameter: $of),*));

        impl super::WithheldCommands {
            /// # Safety
            /// The arguments are valid for the command.
            #[allow(unused_unsafe, clippy::unnecessary_cast, clippy::too_many_arguments, reason = "not needed for all commands")]
            pub(crate) unsafe fn $name(&mut self, $($parameter: $of),*) -> Result<(), super::OutOfMemory> {
                $($(
                    // SAFETY: the caller's contract.
                    let $parameter = unsafe {
                        self.memory.$copy($parameter.cast() $(, $count as usize)?)
                    }?;
                )?)*
                self.push($type { $($parameter),* })
            }
        }
    )*};
}

/// The arguments of a command, how they are replayed, and the hook for the command.
macro_rules! command {
    ($way:ident $name:ident $type:ident ($($parameter:ident: $of:ty),*)) => {
        struct $type {
            $($parameter: $of,)*
        }

        impl super::Replay for $type {
            unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
                if let Some(function) = functions.$name {
                    // SAFETY: the caller's contract.
                    unsafe { function(command_buffer, $(self.$parameter),*) }
                }
            }
        }

        impl crate::command_buffers::Recorded {
            /// Withholds the command, or calls the driver.
            ///
            /// # Safety
            /// The application's arguments are valid, and `self` is the state of the command
            /// buffer.
            #[allow(clippy::too_many_arguments, reason = "as the command has them")]
            #[allow(unused_unsafe, reason = "only commands that end a pass need it")]
            pub(crate) unsafe fn $name(
                &mut self,
                command_buffer: vk::CommandBuffer,
                $($parameter: $of),*
            ) {
                // SAFETY: the caller's contract.
                unsafe {
                    self.$way(command_buffer, |commands| match commands {
                        super::Commands::Withheld(withheld) => withheld.$name($($parameter),*),
                        super::Commands::Functions(functions) => {
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
        pub(crate) unsafe extern "system" fn $name(
            command_buffer: vk::CommandBuffer,
            $($parameter: $of),*
        ) {
            // A separate function, so that the path straight to the driver need not save registers.
            #[inline(never)]
            unsafe extern "system" fn record(command_buffer: vk::CommandBuffer, $($parameter: $of),*) {
                // SAFETY: the application's arguments are valid, and it synchronizes access to the
                // command buffer.
                unsafe {
                    crate::command_buffers::with(command_buffer, |recorded| {
                        recorded.$name(command_buffer, $($parameter),*);
                    });
                }
            }
            // SAFETY: as above.
            unsafe {
                super::macros::direct!($way $name(command_buffer, $($parameter: $of),*));
                record(command_buffer, $($parameter),*);
            }
        }
    };
}

/// Withholds a command or calls the driver, without further work. Commands that begin or end a pass
/// need more.
macro_rules! direct {
    (record $name:ident ($command_buffer:ident, $($parameter:ident: $of:ty),*)) => {
        // A separate function, so that the path to the driver need not save registers.
        #[inline(never)]
        unsafe extern "system" fn withhold(
            $command_buffer: ash::vk::CommandBuffer,
            $($parameter: $of,)*
        ) {
            // SAFETY: the application's arguments are valid, and it synchronizes access to the
            // command buffer.
            unsafe {
                crate::command_buffers::with($command_buffer, |recorded| {
                    recorded.$name($command_buffer, $($parameter),*);
                });
            }
        }
        match crate::command_buffers::straight($command_buffer) {
            Some(crate::command_buffers::Straight::Driver(functions)) => {
                if let Some(function) = functions.$name {
                    return function($command_buffer, $($parameter),*);
                }
            }
            Some(crate::command_buffers::Straight::Withheld) => {
                return withhold($command_buffer, $($parameter),*);
            }
            None => {}
        }
    };
    ($way:ident $name:ident $arguments:tt) => {};
}

pub(crate) use direct;
pub(super) use {command, commands, functions};
