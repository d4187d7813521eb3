//! Whether a shader changes memory beside its outputs.

use std::collections::HashSet;

use spirv::{Op, StorageClass};

use crate::spirv::{Id, Module, ParseError, Section, result_of};

/// Storage classes of variables that an invocation has for itself, or that are its outputs.
const OWN: [StorageClass; 4] =
    [StorageClass::Function, StorageClass::Private, StorageClass::Input, StorageClass::Output];

/// Whether anything in a module stores to memory that others see: by an atomic instruction, to an image, or through a
/// pointer into a buffer. Then it matters how often the shader runs for a vertex, and before or behind what.
///
/// Nothing is followed from an entry point: a module is taken as a whole.
///
/// # Errors
/// The words are no SPIR-V module.
pub fn has_side_effects(words: &[u32]) -> Result<bool, ParseError> {
    let module = Module::parse(words)?;
    let is_own = |class: u32| OWN.iter().any(|own| *own as u32 == class);
    let types = || module.section(Section::Declarations);
    let pointers: HashSet<Id> = types()
        .filter(|i| i.is(Op::TypePointer) && !is_own(i.operand(1)))
        .map(|i| i.id(0))
        .collect();
    let results = types().chain(module.section(Section::Functions)).map(result_of);
    let is_shared =
        |(ty, result): (Option<Id>, Option<Id>)| ty.filter(|ty| pointers.contains(ty)).and(result);
    let shared: HashSet<Id> = results.filter_map(is_shared).collect();
    Ok(module.section(Section::Functions).any(|i| match i.op() {
        Some(Op::Store | Op::CopyMemory | Op::CopyMemorySized) => shared.contains(&i.id(0)),
        Some(Op::ImageWrite) => true,
        Some(op) => is_atomic_write(op),
        None => false,
    }))
}

/// Whether an atomic instruction writes.
fn is_atomic_write(op: Op) -> bool {
    format!("{op:?}").starts_with("Atomic") && op != Op::AtomicLoad
}
