//! Checks that the structures that ash does not have are laid out as in C.
//!
//! The C compiler reads the Vulkan headers that it finds, or those in the directory of
//! `VKXFB_VULKAN_HEADERS`. Structures that these headers lack are listed, and not checked.
//! `.ci/newest` uses the headers of Debian unstable.

use crate::skip::{Why, skip};
use std::ffi::c_void;
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

#[allow(dead_code, reason = "only the structures matter here")]
#[path = "../../src/registry/types.rs"]
mod types;

mod vk {
    pub use ash::vk::*;

    pub use super::structures::*;
    pub(super) use super::types::*;
}

/// The layout of a structure or union.
#[derive(Clone, Copy)]
pub struct Layout {
    /// The version of Vulkan or the extension that adds the structure. In C there is a macro of
    /// that name.
    from: &'static str,
    name: &'static str,
    size: usize,
    align: usize,
    members: &'static [(&'static str, usize)],
}

mod structures {
    use super::{Layout, c_void, offset_of, types, vk};

    macro_rules! define {
        ($list:ident: $($from:ident $kind:tt $name:ident $c_name:ident $(= $s_type:literal)? {
            $($member:ident $c_member:ident: $type:ty,)*
        })*) => {
            $(
                #[repr(C)]
                #[derive(Clone, Copy)]
                pub $kind $name {
                    $(pub $member: $type,)*
                }
            )*

            pub const $list: &[Layout] = &[$(
                Layout {
                    from: stringify!($from),
                    name: stringify!($c_name),
                    size: size_of::<$name>(),
                    align: align_of::<$name>(),
                    members: &[$((stringify!($c_member), offset_of!($name, $member)),)*],
                },
            )*];
        };
    }

    macro_rules! structures {
        ($($rows:tt)*) => { define!(STRUCTURES: $($rows)*); };
    }

    macro_rules! unions {
        ($($rows:tt)*) => { define!(UNIONS: $($rows)*); };
    }

    types::newer_structures!(structures);
    types::newer_unions!(unions);
}

#[test]
fn structures_are_laid_out_as_in_c() {
    let mut source = String::from("#include <stddef.h>\n#include <vulkan/vulkan_core.h>\n");
    for platform in ["metal", "ohos"] {
        let header = format!("<vulkan/vulkan_{platform}.h>");
        writeln!(source, "#if __has_include({header})\n#include {header}\n#endif").unwrap();
    }
    let all = [structures::STRUCTURES, structures::UNIONS].concat();
    for Layout { from, name, size, align, members } in all.iter().copied() {
        writeln!(source, "#ifdef {from}").unwrap();
        let mut hold = |what: &str, value: usize| {
            writeln!(source, "_Static_assert({what} == {value}, \"{what}\");").unwrap();
        };
        hold(&format!("sizeof({name})"), size);
        hold(&format!("_Alignof({name})"), align);
        for (member, offset) in members {
            hold(&format!("offsetof({name}, {member})"), *offset);
        }
        writeln!(source, "#else\n#warning {from} is missing\n#endif").unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("layout.c");
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    let headers = std::env::var_os("VKXFB_VULKAN_HEADERS");
    if let Some(headers) = &headers {
        compiler.arg("-I").arg(headers);
    }
    let Ok(output) = compiler.args(["-std=c11", "-fsyntax-only"]).arg(file).output() else {
        return skip(Why::Missing("there is no C compiler"));
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("vulkan_core.h: No such file") && headers.is_none() {
        return skip(Why::Missing("there are no Vulkan headers"));
    }
    assert!(output.status.success(), "{said}");
    let missing = said.matches("is missing [").count();
    let all = all.len();
    eprintln!("checked {} of {all} structures", all - missing);
    for line in said.lines().filter(|line| line.contains("is missing [")) {
        eprintln!("not checked: {line}");
    }
    assert!(headers.is_none() || missing < all, "headers without any: {said}");
}
