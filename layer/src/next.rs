//! Declares structs of function pointers, which are fetched from the layer or driver below this layer.

/// Declares a struct of function pointers. Each row is `field PFN_type [names];`, where the names are those of the
/// command and its aliases. The field is `None` if the layer or driver below does not have the command.
macro_rules! next {
    ($(#[$doc:meta])* struct $Next:ident {
        $($name:ident $pfn:ident [$first:literal $(, $alias:literal)*];)*
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $Next {
            $(pub(crate) $name: Option<$crate::registry::vk::$pfn>,)*
        }

        impl $Next {
            /// Fetches each function by its first name or, if the layer or driver below does not have that name, by an
            /// alias.
            ///
            /// # Safety
            /// `find` returns a function of the type that belongs to the name, or `None`.
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
                                Option<$crate::registry::vk::$pfn>,
                            >(found)
                        }
                    },)*
                }
            }
        }
    };
}

pub(crate) use next;
