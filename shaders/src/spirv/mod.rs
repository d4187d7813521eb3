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

pub(crate) mod assignment;
pub(crate) mod call_tree;
pub(crate) mod debug_info;
pub mod declarations;
pub mod emit;
pub mod entry_point;
pub(crate) mod grammar;
pub(crate) mod id_set;
pub mod link;
pub mod merge;
pub(crate) mod module;
pub(crate) mod optimize;
pub(crate) mod pointers;
pub(crate) mod raise;
pub mod specialization;
pub mod static_use;
pub(crate) mod type_name;
pub mod types;

/// The crate `spirv`, whose enumerations this crate's API uses.
pub use ::spirv as headers;
pub use entry_point::EntryPointError;
pub(crate) use grammar::{accesses_of_copy, ids_of};
pub use grammar::{read_string, result_of, string_words, visit_ids};
pub use id_set::IdSet;
pub use module::{
    Instruction, MAX_OPERANDS, Module, ParseError, ParseErrorKind, Section, words_from_bytes,
};
pub use specialization::{DeclaredConstant, declared_constants, specialize};
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
