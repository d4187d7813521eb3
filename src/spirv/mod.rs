//! SPIR-V at word level.
//!
//! A [`Module`] contains the words of a module, split into instructions and sorted by the sections
//! of the [logical
//! layout](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#_logical_layout_of_a_module).
//! Only the instructions that a pass needs are decoded. Unknown instructions (newer opcodes, vendor
//! extensions, debug info) are therefore kept: [`Module::words`] returns exactly the words that
//! were parsed, except that decoration groups are expanded during parsing.
//!
//! The operands of instructions are known from Khronos' grammar in the form of `rspirv`'s tables
//! (`grammar`). [`declarations`] reads types, constants, names and decorations; [`emit`] writes new
//! code; `assignment` finds values that are used before they are written; [`entry_point`] isolates
//! an entry point; [`specialization`] replaces specialisation constants by constants; [`link`]
//! links functions of another module; `optimize` inlines and folds all of it for one pipeline.

#![forbid(unsafe_code)]

pub(crate) mod assignment;
pub mod declarations;
pub mod emit;
pub mod entry_point;
mod grammar;
mod id_set;
pub mod link;
pub mod merge;
mod module;
pub(crate) mod optimize;
pub(crate) mod pointers;
pub(crate) mod raise;
pub mod specialization;
pub mod static_use;
pub(crate) mod type_name;
pub(crate) mod types;

/// The crate `spirv`: the enumerations of SPIR-V in this crate's API.
pub use ::spirv as headers;
pub use grammar::result_of;
pub(crate) use grammar::{ids_of, visit_ids};
pub use module::{
    Instruction, MAX_OPERANDS, Module, ParseError, ParseErrorKind, Section, words_from_bytes,
};
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

/// The words of a literal string: UTF-8, low byte first, with at least one terminating 0.
pub fn string_words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Reads a literal string at the start of `words`. Returns it with the number of its words, or
/// `None` if it is not terminated. Invalid UTF-8 is replaced.
pub fn read_string(words: &[u32]) -> Option<(String, usize)> {
    let end = words.iter().position(|w| w.to_le_bytes().contains(&0))?;
    let bytes: Vec<u8> =
        words[..=end].iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    Some((String::from_utf8_lossy(&bytes).into_owned(), end + 1))
}
