//! The simulation of instructions: which values runs know.

use spirv::Op;

use super::EmissionWalk;
use super::run::Run;
use crate::lower::stages::followed::{Part, Scalars};
use crate::spirv::specialization::fold::{ConstantValue, fold_exactly};
use crate::spirv::{Id, Instruction, result_of};

impl EmissionWalk<'_> {
    /// Computes the result of an instruction, if it has one.
    pub(super) fn compute(&self, op: Op, i: Instruction<'_>, run: &mut Run) {
        let (Some(ty), Some(result)) = result_of(i) else { return };
        let Some(scalars) = Scalars::of(self.declarations, ty) else { return };
        let Scalars { scalar, count } = scalars;
        let is_relaxed = self.relaxed.contains(result);
        let one = Scalars { scalar, count: 1 };
        let copy = |run: &mut Run, from: (Id, u32)| {
            run.copy((result, 0), from, scalars, is_relaxed);
        };
        let copy_one = |run: &mut Run, number: u32, from: (Id, u32)| {
            run.copy((result, number), from, one, is_relaxed);
        };
        // A result that is not computed below is not known. In a loop it may have been.
        (0..count).for_each(|number| run.set(result, number, None));
        match op {
            Op::Load => {
                if let Some(part) = self.part(i.id(2), scalars) {
                    let is_relaxed = is_relaxed || self.is_relaxed(i.id(2), part);
                    run.copy((result, 0), (part.name, part.first), scalars, is_relaxed);
                }
            }
            Op::CopyObject => copy(run, (i.id(2), 0)),
            // Constituents may be vectors, unless there are as many as components.
            Op::CompositeConstruct if i.operands().len() == 2 + count as usize => {
                for (number, part) in (0..).zip(i.operands().iter().skip(2)) {
                    copy_one(run, number, (Id(*part), 0));
                }
            }
            // Of other composites than vectors nothing is known.
            Op::CompositeExtract if i.operands().len() == 4 && count == 1 => {
                copy(run, (i.id(2), i.operand(3)));
            }
            Op::CompositeInsert if i.operands().len() == 5 && i.operand(4) < count => {
                copy(run, (i.id(3), 0));
                copy_one(run, i.operand(4), (i.id(2), 0));
            }
            Op::VectorShuffle => {
                let Some(length) = self.lengths.get(&i.id(2)).copied() else { return };
                for (number, from) in (0..count).zip(i.operands().iter().skip(4)) {
                    let from = match from.checked_sub(length) {
                        None => (i.id(2), *from),
                        // A component that is undefined has a number that no vector has.
                        Some(from) => (i.id(3), from),
                    };
                    copy_one(run, number, from);
                }
            }
            _ => {
                // The instructions that `fold_exactly` supports have no literal operands, and are done on each component
                // by itself.
                let operands = i.operands().iter().skip(2);
                for number in 0..count {
                    let of = |id: &u32| run.component(Id(*id), number);
                    let Some(values) = operands.clone().map(of).collect::<Option<Vec<_>>>() else {
                        continue;
                    };
                    let value = fold_exactly(op, scalar, &values);
                    let mut all = values.iter().chain(&value);
                    let is_known = !is_relaxed
                        || all.all(|value| value.fits_relaxed_precision())
                            && !shifts_far(op, &values);
                    run.set(result, number, value.filter(|_| is_known));
                }
            }
        }
    }

    pub(super) fn store(&mut self, pointer: Id, value: Id, run: &mut Run) -> Option<()> {
        let Some(part) = self.variables.get(&pointer).copied() else {
            return self.forget(pointer, run);
        };
        let Part { name, first, scalars, .. } = part;
        run.copy((name, first), (value, 0), scalars, self.is_relaxed(pointer, part));
        Some(())
    }

    /// What a pointer to scalars of this type points to.
    fn part(&self, pointer: Id, scalars: Scalars) -> Option<Part> {
        self.variables.get(&pointer).copied().filter(|part| part.scalars == scalars)
    }

    fn is_relaxed(&self, pointer: Id, part: Part) -> bool {
        part.is_relaxed || self.relaxed.contains(pointer)
    }

    /// Makes what a pointer points to unknown.
    pub(super) fn forget(&mut self, pointer: Id, run: &mut Run) -> Option<()> {
        if let Some(Part { name, first, scalars, .. }) = self.variables.get(&pointer) {
            let numbers = (0..scalars.count).map(|number| first + number);
            numbers.for_each(|number| run.set(*name, number, None));
        } else if let Some(names) = self.followed.wholes.get(&pointer) {
            self.spend(names.len())?;
            names.iter().for_each(|name| run.forget(*name));
        }
        Some(())
    }
}

/// Whether an operation shifts by 16 bits or more, which is undefined for the integers of 16 bits that values of relaxed
/// precision may be.
fn shifts_far(op: Op, operands: &[ConstantValue]) -> bool {
    let is_shift =
        matches!(op, Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic);
    is_shift && operands.get(1).and_then(|count| count.index()).is_none_or(|count| count >= 16)
}
