//! What the tables of [`commands`](super::commands) become.

/// The functions of a device, by name: `name PFN_type [names of the command];`.
macro_rules! functions {
    ($($name:ident $pfn:ident [$first:literal $(, $alias:literal)*];)*) => {
        /// Commands of a device that may stand inside of a render pass instance, and those that begin one.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $name: Option<vk::$pfn>,)*
        }

        impl Functions {
            /// Those that the driver knows.
            ///
            /// # Safety
            /// What is found is the command of that name.
            pub(crate) unsafe fn load(
                mut find: impl FnMut(&std::ffi::CStr) -> vk::PFN_vkVoidFunction,
            ) -> Self {
                Self {
                    $($name: {
                        let found = find($first)$(.or_else(|| find($alias)))*;
                        // SAFETY: the caller's contract; pointers to functions are of one size.
                        unsafe {
                            std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$pfn>>(found)
                        }
                    },)*
                }
            }
        }

        /// What takes the place of a command that may have to be withheld.
        pub(crate) fn hook(name: &std::ffi::CStr) -> vk::PFN_vkVoidFunction {
            $(
                if [$first $(, $alias)*].contains(&name) {
                    // SAFETY: pointers to functions are of one size.
                    return unsafe {
                        std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>($name as *const ())
                    };
                }
            )*
            None
        }
    };
}

/// Commands, their arguments, and how those are copied that point to something:
/// `way name Type (parameter: type, parameter: type => copy(count),);`. The way is what it does to a pass: it begins
/// or ends one, or is recorded.
macro_rules! commands {
    ($($way:ident $name:ident $type:ident (
        $($parameter:ident: $of:ty $(=> $copy:ident($($count:expr)?))?,)*
    );)*) => {$(
        super::macros::command!($way $name $type ($($parameter: $of),*));

        impl super::WithheldCommands {
            /// # Safety
            /// The arguments are valid ones of the command.
            #[allow(unused_unsafe, clippy::unnecessary_cast, clippy::too_many_arguments, reason = "not of all")]
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

/// The arguments of a command, how they are replayed, and the function that takes the command's place.
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
            /// The command, withheld or handed to the driver.
            ///
            /// # Safety
            /// The application's arguments are valid, and the command buffer is the one that this is known of.
            #[allow(clippy::too_many_arguments, reason = "as the command has them")]
            #[allow(unused_unsafe, reason = "of commands that end no pass")]
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
            // Of its own, so that what goes straight to the driver saves no registers.
            #[inline(never)]
            unsafe extern "system" fn record(command_buffer: vk::CommandBuffer, $($parameter: $of),*) {
                // SAFETY: the application's arguments are valid, and it synchronizes access to the command buffer.
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

/// Hands a command to where it goes, where that is all that there is to do. One that begins or ends a pass needs more.
macro_rules! direct {
    (record $name:ident ($command_buffer:ident, $($parameter:ident: $of:ty),*)) => {
        // Of its own, so that what goes to the driver saves no registers.
        #[inline(never)]
        unsafe extern "system" fn withhold(
            withheld: &mut crate::withheld::WithheldCommands,
            $command_buffer: ash::vk::CommandBuffer,
            $($parameter: $of),*
        ) {
            // SAFETY: the application's arguments are valid, and it synchronizes access to the command buffer.
            unsafe {
                if withheld.$name($($parameter),*).is_err() {
                    crate::command_buffers::fail($command_buffer, crate::withheld::OutOfMemory::RESULT);
                }
            }
        }
        match crate::command_buffers::straight($command_buffer) {
            Some(crate::command_buffers::Straight::Driver(functions)) => {
                if let Some(function) = functions.$name {
                    return function($command_buffer, $($parameter),*);
                }
            }
            Some(crate::command_buffers::Straight::Withheld(withheld)) => {
                return withhold(withheld, $command_buffer, $($parameter),*);
            }
            None => {}
        }
    };
    ($way:ident $name:ident $arguments:tt) => {};
}

pub(crate) use direct;
pub(super) use {command, commands, functions};
