//! This module finds the side effects of a shader.

use rustc_hash::FxHashSet;
use spirv::{Capability, Op, StorageClass};

use crate::spirv::declarations::Declarations;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Module, Section, ids_of, result_of};

/// The properties of a shader by which an application can observe how often the shader runs, or
/// which invocations share a subgroup.
///
/// The guide of `vkxfb` (`vkxfb::guide::limits`) says how often a vertex is
/// shaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Effects {
    /// Whether the shader writes storage buffers or images, or uses atomic operations. If the application draws with
    /// the shader in addition to a compute capture, the side effects happen twice.
    pub side_effects: bool,
    /// Whether the shader uses the results of atomic operations. If the application draws with the shader in addition
    /// to a compute capture, the two runs get different results, so the captured vertices may differ from the drawn
    /// ones.
    pub atomic_results: bool,
    /// Whether the module declares a capability for subgroup operations. A compute capture assigns
    /// invocations to subgroups differently, and in another order, than a draw does.
    pub subgroup_operations: bool,
}

impl Effects {
    pub(super) fn of(module: &Module, declarations: &Declarations, used: &StaticUse) -> Self {
        let mut effects =
            Self { subgroup_operations: declares_subgroup_operations(module), ..Self::default() };
        let mut atomics: FxHashSet<Id> = FxHashSet::default();
        for_each_side_effect(module, declarations, used, |_, i| {
            effects.side_effects = true;
            if i.op().is_some_and(is_atomic_write) {
                atomics.extend(result_of(i).1);
            }
        });
        effects.atomic_results = !atomics.is_empty() && uses_any(module, &atomics);
        effects
    }

    /// Adds the effects of another stage of the pipeline: each member becomes true if it is true in
    /// `other`.
    pub const fn unite(&mut self, other: Self) {
        let Self { side_effects, atomic_results, subgroup_operations } = other;
        self.side_effects |= side_effects;
        self.atomic_results |= atomic_results;
        self.subgroup_operations |= subgroup_operations;
    }

    /// Whether an application could observe, by these effects, that the shader also runs in invocations
    /// without a vertex.
    pub(super) const fn show_invocations(self) -> bool {
        self.side_effects || self.subgroup_operations
    }
}

/// Calls `found` for each side effect in the functions in `used`: each instruction that changes
/// memory which other invocations can see. `found` gets the instruction, and its index in the
/// section of functions.
pub(super) fn for_each_side_effect(
    module: &Module,
    declarations: &Declarations,
    used: &StaticUse,
    mut found: impl FnMut(usize, Instruction<'_>),
) {
    let types: FxHashSet<Id> = declarations.pointers(&SHARED).collect();
    let variables = SHARED.iter().flat_map(|storage| declarations.variables(*storage));
    let mut pointers: FxHashSet<Id> = variables.map(|variable| variable.id).collect();
    let mut is_used = false;
    for (number, i) in module.section(Section::Functions).enumerate() {
        if i.is(Op::Function) {
            is_used = used.contains(i.id(1));
        }
        if !is_used {
            continue;
        }
        // If the shader has no pointers into these storage classes, the test of `types` saves the look-ups.
        if !types.is_empty()
            && let (Some(ty), Some(id)) = result_of(i)
            && types.contains(&ty)
        {
            pointers.insert(id);
        }
        let is_side_effect = match i.op() {
            Some(Op::Store | Op::CopyMemory | Op::CopyMemorySized) => pointers.contains(&i.id(0)),
            Some(Op::ImageWrite) => true,
            Some(op) => is_atomic_write(op),
            None => false,
        };
        if is_side_effect {
            found(number, i);
        }
    }
}

/// Whether any instruction uses one of these results. All instructions are searched, because in a
/// loop a phi may use a result before the instruction that produces it.
fn uses_any(module: &Module, results: &FxHashSet<Id>) -> bool {
    module.section(Section::Functions).any(|i| {
        let made = result_of(i).1;
        ids_of(i).into_iter().any(|id| results.contains(&id) && made != Some(id))
    })
}

const SHARED: [StorageClass; 4] = [
    StorageClass::StorageBuffer,
    StorageClass::Uniform,
    StorageClass::PhysicalStorageBuffer,
    StorageClass::Image,
];

fn declares_subgroup_operations(module: &Module) -> bool {
    use Capability::*;
    const SUBGROUPS: [Capability; 14] = [
        Groups,
        GroupNonUniform,
        GroupNonUniformVote,
        GroupNonUniformArithmetic,
        GroupNonUniformBallot,
        GroupNonUniformShuffle,
        GroupNonUniformShuffleRelative,
        GroupNonUniformClustered,
        GroupNonUniformQuad,
        GroupNonUniformRotateKHR,
        GroupNonUniformPartitionedEXT,
        GroupUniformArithmeticKHR,
        SubgroupBallotKHR,
        SubgroupVoteKHR,
    ];
    module
        .section(Section::Capabilities)
        .any(|i| SUBGROUPS.iter().any(|capability| *capability as u32 == i.operand(0)))
}

fn is_atomic_write(op: Op) -> bool {
    use Op::*;
    (AtomicStore..=AtomicXor).contains(&op)
        || matches!(
            op,
            AtomicFlagTestAndSet | AtomicFlagClear | AtomicFMinEXT | AtomicFMaxEXT | AtomicFAddEXT
        )
}
