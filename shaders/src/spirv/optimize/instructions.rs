//! Reads encoded instructions, their decorations, and whether they have an effect.

use spirv::{GlslStd450Op, Op};

use crate::spirv::id_set::IdSet;
use crate::spirv::{Id, Instruction, Module, Section};

pub(super) fn instructions(words: &[u32]) -> impl Iterator<Item = Instruction<'_>> {
    let mut rest = words;
    std::iter::from_fn(move || {
        let length = (*rest.first()? >> 16) as usize;
        let (instruction, next) = rest.split_at_checked(length.max(1))?;
        rest = next;
        Some(Instruction::new(instruction))
    })
}

/// The decorations of ids. Decorations of members are not included.
pub(super) struct Decorations<'m> {
    decorated: IdSet,
    /// The decorations, sorted by target id.
    all: Vec<Instruction<'m>>,
}

impl<'m> Decorations<'m> {
    pub(super) fn of(module: &'m Module) -> Self {
        let is_decoration = |i: &Instruction<'_>| {
            matches!(i.op(), Some(Op::Decorate | Op::DecorateId | Op::DecorateString))
                && !i.operands().is_empty()
        };
        let mut all: Vec<_> = module.section(Section::Annotations).filter(is_decoration).collect();
        all.sort_by_key(|i| i.id(0));
        let mut decorated = module.id_set();
        decorated.extend(all.iter().map(|i| i.id(0)));
        Self { decorated, all }
    }

    pub(super) fn has(&self, id: Id) -> bool {
        self.decorated.contains(id)
    }

    pub(super) fn get(&self, id: Id) -> &[Instruction<'m>] {
        if !self.has(id) {
            return &[];
        }
        let begin = self.all.partition_point(|i| i.id(0) < id);
        let end = self.all.partition_point(|i| i.id(0) <= id);
        &self.all[begin..end]
    }
}

/// Whether the only effect of an instruction is to compute its result from its operands.
pub(super) fn is_pure(i: Instruction<'_>, glsl: Option<Id>) -> bool {
    use Op::*;
    let Some(op) = i.op() else { return false };
    match op {
        // The instructions of `GLSL.std.450` are pure, except those in this list: they store to memory, or interpolate.
        // Other extended instructions do not count as pure.
        ExtInst => {
            glsl == Some(i.id(2))
                && !matches!(
                    GlslStd450Op::from_u32(i.operand(3)),
                    None | Some(
                        GlslStd450Op::Modf
                            | GlslStd450Op::Frexp
                            | GlslStd450Op::InterpolateAtCentroid
                            | GlslStd450Op::InterpolateAtSample
                            | GlslStd450Op::InterpolateAtOffset
                    )
                )
        }
        ConvertUToPtr | Bitcast => true,
        // In the numbers of instructions, those of a kind stand together.
        _ => [
            AccessChain..=InBoundsAccessChain,
            VectorExtractDynamic..=Transpose,
            ConvertFToU..=ConvertPtrToU,
            SNegate..=SMulExtended,
            Any..=IsInf,
            LogicalEqual..=FUnordGreaterThanEqual,
            ShiftRightLogical..=BitCount,
        ]
        .iter()
        .any(|kind| kind.contains(&op)),
    }
}
