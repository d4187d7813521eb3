//! Defines the structures and unions of Vulkan that ash does not have.

use std::ffi::c_void;
use std::fmt;

use super::{types, vk};

macro_rules! define {
    ($($from:ident struct $name:ident $c_name:ident $(= $s_type:literal)? {
        $($member:ident $c_member:ident: $type:ty,)*
    })*) => {$(
        #[doc = concat!("`", stringify!($c_name), "` of `", stringify!($from), "`")]
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        #[allow(dead_code, reason = "of some the layer needs only the size")]
        pub(crate) struct $name {
            $(pub(crate) $member: $type,)*
        }

        $(
            // SAFETY: the registry has this value for the structure, and the structure begins with a member
            // for the value.
            unsafe impl vk::TaggedStructure for $name {
                const STRUCTURE_TYPE: vk::StructureType = vk::StructureType::from_raw($s_type);
            }
        )?
    )*};
}

macro_rules! define_unions {
    ($($from:ident union $name:ident $c_name:ident {
        $($member:ident $c_member:ident: $type:ty,)*
    })*) => {$(
        #[doc = concat!("`", stringify!($c_name), "` of `", stringify!($from), "`")]
        #[repr(C)]
        #[derive(Clone, Copy)]
        #[allow(dead_code, reason = "of some the layer needs only the size")]
        pub(crate) union $name {
            $(pub(crate) $member: $type,)*
        }

        /// Which member is valid is known elsewhere.
        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

types::newer_structures!(define);
types::newer_unions!(define_unions);
