//! This module finds the side effects and the descriptor sets of a shader, which all backends
//! report.

use std::collections::BTreeSet;

use crate::lower::effects::Effects;
use crate::lower::resources::descriptor_sets;
use crate::spirv::Module;
use crate::spirv::declarations::Declarations;
use crate::spirv::static_use::StaticUse;

#[derive(Debug)]
pub(super) struct Uses {
    /// The value of [`Lowered::effects`](super::Lowered::effects).
    pub(super) effects: Effects,
    /// The value of [`Lowered::descriptor_sets`](super::Lowered::descriptor_sets), in ascending order.
    pub(super) descriptor_sets: Vec<u32>,
}

impl Uses {
    pub(super) fn of(module: &Module, declarations: &Declarations, used: &StaticUse) -> Self {
        let sets = descriptor_sets(declarations).filter(|(variable, _)| used.contains(*variable));
        let sets: BTreeSet<u32> = sets.map(|(_, set)| set).collect();
        Self {
            effects: Effects::of(module, declarations, used),
            descriptor_sets: sets.into_iter().collect(),
        }
    }
}
