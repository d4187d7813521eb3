//! SPIR-V at word level.
//!
//! A [`Module`] is the module's words, cut into instructions and sorted into the sections of the
//! [logical layout](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#_logical_layout_of_a_module).
//! Nothing is decoded that a pass does not ask for, so that instructions which this crate has never
//! heard of (newer opcodes, vendor extensions, debug info) go through untouched: parsing and
//! [`Module::words`] are inverse to the bit. One thing is written out on the way in, decoration groups.
//!
//! What a pass needs to know of an instruction's operands comes from Khronos' grammar, as `rspirv` tabulates it
//! (`grammar`). [`declarations`] reads types, constants, names and decorations; [`emit`] writes new code;
//! `assignment` finds what is read or left before it is written; [`entry_point`] isolates an entry point;
//! [`specialization`] makes constants of specialisation constants; [`link`] brings functions of another module in.

#![forbid(unsafe_code)]

pub(crate) mod assignment;
pub mod declarations;
pub mod emit;
pub mod entry_point;
mod grammar;
mod id_set;
pub mod link;
mod module;
pub(crate) mod pointers;
pub mod specialization;
pub mod static_use;
pub(crate) mod type_name;
pub(crate) mod types;

/// The crate `spirv`: the enumerations of SPIR-V that this crate takes and gives.
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

/// A literal string's words: UTF-8, low byte first, with at least one terminating 0.
pub fn string_words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// A literal string at the start of `words`, and the number of words that it takes; `None` where it is
/// not terminated. What is not UTF-8 is replaced: names are for people.
pub fn read_string(words: &[u32]) -> Option<(String, usize)> {
    let end = words.iter().position(|w| w.to_le_bytes().contains(&0))?;
    let bytes: Vec<u8> =
        words[..=end].iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    Some((String::from_utf8_lossy(&bytes).into_owned(), end + 1))
}
