//! This module finds what a module decorates with `RelaxedPrecision`: operations and variables whose values may have
//! 16 bits.

use rustc_hash::FxHashSet;
use spirv::{Decoration, Op};

use crate::spirv::{Id, Module, Section};

/// The ids with the decoration [relaxed
/// precision](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#_relaxed_precision).
#[derive(Debug, Default)]
pub(super) struct Relaxed {
    ids: FxHashSet<Id>,
    /// The structures of which any member has the decoration.
    structures: FxHashSet<Id>,
}

impl Relaxed {
    pub(super) fn of(module: &Module) -> Self {
        const RELAXED: u32 = Decoration::RelaxedPrecision as u32;
        let mut this = Self::default();
        for i in module.section(Section::Annotations) {
            match (i.op(), i.operands()) {
                (Some(Op::Decorate), [id, RELAXED, ..]) => _ = this.ids.insert(Id(*id)),
                (Some(Op::MemberDecorate), [ty, _, RELAXED, ..]) => {
                    this.structures.insert(Id(*ty));
                }
                _ => {}
            }
        }
        this
    }

    pub(super) fn contains(&self, id: Id) -> bool {
        self.ids.contains(&id)
    }

    pub(super) fn has_members(&self, structure: Id) -> bool {
        self.structures.contains(&structure)
    }
}
