//! What a shader uses apart from its inputs and outputs, for all backends.

use std::collections::BTreeSet;

use spirv::{Decoration, Op, StorageClass};

use super::effects::Effects;
use crate::spirv::declarations::Declarations;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Module, Section};

/// The storage classes of variables that descriptors are bound to.
pub(super) const DESCRIPTORS: [StorageClass; 3] =
    [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer];

/// What a shader uses apart from its inputs and outputs.
#[derive(Debug)]
pub(super) struct Uses {
    /// [`Lowered::effects`](super::Lowered::effects)
    pub(super) effects: Effects,
    /// Whether an invocation may run the shader a second time, for other inputs.
    pub(super) is_repeatable: bool,
    /// [`Lowered::descriptor_sets`](super::Lowered::descriptor_sets)
    pub(super) descriptor_sets: Vec<u32>,
}

impl Uses {
    pub(super) fn of(module: &Module, declarations: &Declarations, used: &StaticUse) -> Self {
        let effects = Effects::of(module, declarations, used);
        Self {
            effects,
            is_repeatable: !effects.show_invocations() && !has_initializers(module),
            descriptor_sets: descriptor_sets(declarations, used),
        }
    }
}

/// Whether the module initialises global variables that shaders write: a second run would find what
/// the first one left there.
fn has_initializers(module: &Module) -> bool {
    const WRITTEN: [StorageClass; 2] = [StorageClass::Private, StorageClass::Output];
    module.section(Section::Declarations).any(|i| {
        // The type, the result, the storage class, and the initializer.
        matches!(i.operands(), [_, _, storage, _] if i.is(Op::Variable)
            && WRITTEN.iter().any(|written| *written as u32 == *storage))
    })
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
