//! Removes instructions whose results are not used.

use rustc_hash::FxHashSet;
use spirv::{MemoryAccess, Op};

use crate::spirv::optimize::instructions::{instructions, is_pure};
use crate::spirv::optimize::values::Values;
use crate::spirv::{Id, Instruction, result_of, visit_ids};

/// Returns the written code without the instructions that have no effect and whose results are not
/// used, and the ids that this code refers to. The first block of the
/// returned code includes the `OpVariable` instructions in `variables` that are used.
pub(super) fn remove(
    values: &Values<'_>,
    variables: &[u32],
    glsl: Option<Id>,
) -> (Vec<u32>, FxHashSet<Id>) {
    let mut live = FxHashSet::default();
    let mut open = Vec::new();
    for i in instructions(&values.words).filter(|i| !is_removable(*i, glsl)) {
        mark(i, &mut live, &mut open);
    }
    while let Some(id) = open.pop() {
        if let Some(i) = values.definition(id) {
            mark(i, &mut live, &mut open);
        }
    }
    let is_live = |i: &Instruction<'_>| {
        !is_removable(*i, glsl) || result_of(*i).1.is_none_or(|id| live.contains(&id))
    };
    let (words, start) = (&values.words, &values.start);
    let mut code = Vec::with_capacity(words.len() + start.len() + variables.len());
    let mut all = instructions(words);
    // The label of the first block comes before the variables.
    code.extend(all.next().into_iter().flat_map(|i| i.words()));
    code.extend(
        instructions(variables).filter(|i| live.contains(&i.id(1))).flat_map(|i| i.words()),
    );
    code.extend(instructions(start).chain(all).filter(is_live).flat_map(|i| i.words()));
    (code, live)
}

fn mark(i: Instruction<'_>, live: &mut FxHashSet<Id>, open: &mut Vec<Id>) {
    visit_ids(i, |index| {
        if live.insert(i.id(index)) {
            open.push(i.id(index));
        }
    });
}

/// Whether the only effect of an instruction is its result, so that it can be removed if the result
/// is not used.
fn is_removable(i: Instruction<'_>, glsl: Option<Id>) -> bool {
    match i.op() {
        Some(Op::Phi) => true,
        Some(Op::Load) => {
            !MemoryAccess::from_bits_retain(i.operand(3)).contains(MemoryAccess::VOLATILE)
        }
        _ => is_pure(i, glsl),
    }
}
