//! Leaves out the empty sides of selections, whose block only branches to the merge block: the header branches there
//! itself.
//!
//! SwiftShader takes exponential time for selections with an empty side that follow each other: a kernel of 15 KB with
//! 25 of them takes 15 seconds to compile, and 0.1 seconds without the empty blocks.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::spirv::module::encode;
use crate::spirv::optimize::instructions::instructions;
use crate::spirv::{Id, Instruction};

/// Returns the code of a function without the empty sides of its selections. If both sides of a selection are empty,
/// one of them stays.
pub(super) fn leave_out_empty(code: &[u32]) -> Vec<u32> {
    let left_out = find(code);
    let mut result = Vec::with_capacity(code.len());
    let mut is_left_out = false;
    for i in instructions(code) {
        if i.is(Op::Label) {
            is_left_out = left_out.contains_key(&i.id(0));
        }
        if is_left_out {
            continue;
        }
        let mut operands = i.operands().to_vec();
        match i.op() {
            Some(Op::BranchConditional) => {
                for label in operands.iter_mut().skip(1).take(2) {
                    *label = left_out.get(&Id(*label)).map_or(*label, |side| side.merge.0);
                }
            }
            Some(Op::Phi) => {
                for block in operands.iter_mut().skip(3).step_by(2) {
                    *block = left_out.get(&Id(*block)).map_or(*block, |side| side.header.0);
                }
            }
            _ => {
                result.extend_from_slice(i.words());
                continue;
            }
        }
        if let Some(op) = i.op() {
            encode(&mut result, op, &operands);
        }
    }
    result
}

/// The empty side of a selection.
struct Side {
    header: Id,
    merge: Id,
}

/// Finds the empty sides that can be left out, by the label of their block.
fn find(code: &[u32]) -> FxHashMap<Id, Side> {
    // The targets of the blocks that only branch.
    let mut empty = FxHashMap::default();
    // Labels to which more than one branch or merge instruction refers.
    let (mut referred, mut shared) = (FxHashSet::default(), FxHashSet::default());
    let mut previous: Option<Instruction<'_>> = None;
    for i in instructions(code) {
        if i.is(Op::Branch)
            && let Some(label) = previous.filter(|previous| previous.is(Op::Label))
        {
            empty.insert(label.id(0), i.id(0));
        }
        for label in labels(i) {
            if !referred.insert(label) {
                shared.insert(label);
            }
        }
        previous = Some(i);
    }

    let mut sides = FxHashMap::default();
    let (mut header, mut merge) = (None, None);
    for i in instructions(code) {
        match i.op() {
            Some(Op::Label) => (header, merge) = (Some(i.id(0)), None),
            Some(Op::SelectionMerge) => merge = Some(i.id(0)),
            Some(Op::BranchConditional) => {
                let (Some(header), Some(merge)) = (header, merge) else { continue };
                let [a, b] = [i.id(1), i.id(2)];
                let is_empty = |side: &Id| {
                    empty.get(side) == Some(&merge)
                        && !shared.contains(side)
                        && ![a, b].contains(&merge)
                };
                if let Some(side) = [b, a].into_iter().find(is_empty) {
                    sides.insert(side, Side { header, merge });
                }
            }
            _ => {}
        }
    }
    sides
}

/// The labels to which a branch or a merge instruction refers.
fn labels(i: Instruction<'_>) -> Vec<Id> {
    let operands = i.operands();
    let labels = match i.op() {
        Some(Op::Branch | Op::SelectionMerge) => operands.get(..1),
        Some(Op::LoopMerge) => operands.get(..2),
        Some(Op::BranchConditional) => operands.get(1..3),
        // The widths of the literals are those of the selector, so each word may be a label.
        Some(Op::Switch) => operands.get(1..),
        _ => None,
    };
    labels.unwrap_or_default().iter().map(|label| Id(*label)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(instructions: &[(Op, &[u32])]) -> Vec<u32> {
        let mut words = Vec::new();
        for (op, operands) in instructions {
            encode(&mut words, *op, operands);
        }
        words
    }

    /// Block 1 is the header, 2 and 3 the sides, 4 the merge block; 9 is the condition.
    fn selection(then: &[u32], otherwise: &[u32], phi: &[u32]) -> Vec<u32> {
        let mut words = code(&[
            (Op::Label, &[1]),
            (Op::SelectionMerge, &[4, 0]),
            (Op::BranchConditional, &[9, 2, 3]),
        ]);
        for side in [then, otherwise] {
            words.extend_from_slice(side);
        }
        words.extend(code(&[(Op::Label, &[4]), (Op::Phi, phi), (Op::Return, &[])]));
        words
    }

    #[test]
    fn an_empty_side_is_left_out() {
        let full = code(&[(Op::Label, &[2]), (Op::Load, &[5, 6, 7]), (Op::Branch, &[4])]);
        let empty = code(&[(Op::Label, &[3]), (Op::Branch, &[4])]);
        let mut expected = code(&[
            (Op::Label, &[1]),
            (Op::SelectionMerge, &[4, 0]),
            (Op::BranchConditional, &[9, 2, 4]),
        ]);
        expected.extend_from_slice(&full);
        expected.extend(code(&[
            (Op::Label, &[4]),
            (Op::Phi, &[5, 8, 6, 2, 7, 1]),
            (Op::Return, &[]),
        ]));
        assert_eq!(leave_out_empty(&selection(&full, &empty, &[5, 8, 6, 2, 7, 3])), expected);
    }

    #[test]
    fn one_of_two_empty_sides_stays() {
        let [a, b] = [2, 3].map(|label| code(&[(Op::Label, &[label]), (Op::Branch, &[4])]));
        let left = leave_out_empty(&selection(&a, &b, &[5, 8, 6, 2, 7, 3]));
        let labels = instructions(&left).filter(|i| i.is(Op::Label)).map(|i| i.id(0).0);
        assert_eq!(labels.collect::<Vec<_>>(), [1, 2, 4]);
    }

    /// The side of a selection that leaves a loop is not empty: it branches to another block than the merge block.
    #[test]
    fn other_branches_stay() {
        let full = code(&[(Op::Label, &[2]), (Op::Load, &[5, 6, 7]), (Op::Branch, &[4])]);
        let leaves = code(&[(Op::Label, &[3]), (Op::Branch, &[11])]);
        let words = selection(&full, &leaves, &[5, 8, 6, 2]);
        assert_eq!(leave_out_empty(&words), words);
    }
}
