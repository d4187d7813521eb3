//! Recognizes the extended instructions of debug info.

use rustc_hash::FxHashSet;
use spirv::Op;

use crate::spirv::{Id, Instruction, Module, Section, read_string};

/// Whether an extended instruction is of one of the instruction sets in `sets`.
pub(crate) fn is_of_sets(i: Instruction<'_>, sets: &FxHashSet<Id>) -> bool {
    (i.is(Op::ExtInst) || i.is(Op::ExtInstWithForwardRefsKHR)) && sets.contains(&i.id(2))
}

/// Returns the ids of the imported instruction sets for debug info, whose instructions do not affect what the module
/// does.
pub(crate) fn debug_info_sets(module: &Module) -> FxHashSet<Id> {
    let is_debug_info = |name: &str| name.starts_with("NonSemantic.") || name.contains("DebugInfo");
    module
        .section(Section::Imports)
        .filter(|i| {
            let name = i.operands().get(1..).and_then(read_string);
            name.is_some_and(|(name, _)| is_debug_info(&name))
        })
        .map(|i| i.id(0))
        .collect()
}
