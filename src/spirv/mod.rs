//! SPIR-V at word level.
//!
//! A `Module` contains the words of a module, split into instructions and sorted by the sections
//! of the [logical
//! layout](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#_logical_layout_of_a_module).
//! Only the instructions that a pass needs are decoded. Unknown instructions (newer opcodes, vendor
//! extensions, debug info) are therefore kept: `Module::words` returns exactly the words that
//! were parsed, except that decoration groups are expanded during parsing.
//!
//! The operands of instructions are known from Khronos' grammar in the form of `rspirv`'s tables
//! (`grammar`). `declarations` reads types, constants, names and decorations; `emit` writes new
//! code; `assignment` finds values that are used before they are written; `entry_point` isolates an
//! entry point; [`specialization`] replaces specialisation constants by constants; `link` links
//! functions of another module; `merge` joins the modules of two stages; `optimize` inlines and
//! simplifies the code of an entry point for one pipeline.

#![forbid(unsafe_code)]

pub(crate) mod assignment;
pub(crate) mod declarations;
pub(crate) mod emit;
pub(crate) mod entry_point;
pub(crate) mod grammar;
pub(crate) mod id_set;
pub(crate) mod link;
pub(crate) mod merge;
pub(crate) mod module;
pub(crate) mod optimize;
pub(crate) mod pointers;
pub(crate) mod raise;
pub mod specialization;
pub(crate) mod static_use;
pub(crate) mod type_name;
pub(crate) mod types;

/// The crate `spirv`, whose enumerations this crate's API uses.
pub use ::spirv as headers;
pub use entry_point::EntryPointError;
pub(crate) use grammar::{
    accesses_of_copy, ids_of, read_string, result_of, string_words, visit_ids,
};
pub(crate) use module::{Instruction, Module, Section};
pub use module::{ParseError, ParseErrorKind, words_from_bytes};
pub use types::NumericClass;

use std::fmt;

/// A result id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}
