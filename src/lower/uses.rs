//! What a shader uses apart from its inputs and outputs, for all backends.

use std::collections::BTreeSet;

use spirv::{Decoration, StorageClass};

use super::effects::Effects;
use crate::spirv::Module;
use crate::spirv::declarations::Declarations;
use crate::spirv::static_use::StaticUse;

/// The storage classes of variables that descriptors are bound to.
pub(super) const DESCRIPTORS: [StorageClass; 3] =
    [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer];

/// What a shader uses apart from its inputs and outputs.
#[derive(Debug)]
pub(super) struct Uses {
    /// [`Lowered::effects`](super::Lowered::effects)
    pub(super) effects: Effects,
    /// [`Lowered::descriptor_sets`](super::Lowered::descriptor_sets)
    pub(super) descriptor_sets: Vec<u32>,
}

impl Uses {
    pub(super) fn of(module: &Module, declarations: &Declarations, used: &StaticUse) -> Self {
        Self {
            effects: Effects::of(module, declarations, used),
            descriptor_sets: descriptor_sets(declarations, used),
        }
    }
}

/// The numbers of the descriptor sets that the entry point uses, ascending.
fn descriptor_sets(declarations: &Declarations, used: &StaticUse) -> Vec<u32> {
    let variables = DESCRIPTORS.iter().flat_map(|storage| declarations.variables(*storage));
    let sets: BTreeSet<u32> = variables
        .filter(|variable| used.contains(variable.id))
        .filter_map(|variable| {
            declarations.decoration_value(variable.id, Decoration::DescriptorSet)
        })
        .collect();
    sets.into_iter().collect()
}
