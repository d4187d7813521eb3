//! Functions of the next in the chain.

/// Declares a struct of functions by their names: `name PFN_type [names of the command];`. A
/// command that the next in the chain does not have is `None`.
macro_rules! next {
    ($(#[$doc:meta])* struct $Next:ident {
        $($name:ident $pfn:ident [$first:literal $(, $alias:literal)*];)*
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $Next {
            $(pub(crate) $name: Option<ash::vk::$pfn>,)*
        }

        impl $Next {
            /// Fetches the functions.
            ///
            /// # Safety
            /// `find` returns the command of the name.
            pub(crate) unsafe fn load(
                mut find: impl FnMut(&std::ffi::CStr) -> ash::vk::PFN_vkVoidFunction,
            ) -> Self {
                Self {
                    $($name: {
                        let found = find($first)$(.or_else(|| find($alias)))*;
                        // SAFETY: the caller's contract; all function pointers have the same size.
                        unsafe {
                            std::mem::transmute::<
                                ash::vk::PFN_vkVoidFunction,
                                Option<ash::vk::$pfn>,
                            >(found)
                        }
                    },)*
                }
            }
        }
    };
}

pub(crate) use next;
