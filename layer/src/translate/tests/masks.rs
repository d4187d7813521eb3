//! Tests that the translation of all masks follows the rules of the specification.

use ash::vk::{self, AccessFlags2 as Access, PipelineStageFlags2 as Stage};
use proptest::prelude::*;

use super::super::masks::{Scope, Side, outside_stages, outside_stages32, single, single32};
use super::table::{ACCESSES, EQUIVALENT, PRIMITIVE, STAGES};

const XFB: u64 = 1 << 24;
const XFB_ACCESS: u64 = 7 << 25;
const COMPUTE: u64 = Stage::COMPUTE_SHADER.as_raw();
const SIDES: [Side; 2] = [Side::Source, Side::Destination];

/// Returns a mask with all stages that the given stages include.
fn expanded(stages: u64) -> u64 {
    let mut all = stages;
    if stages & Stage::ALL_COMMANDS.as_raw() != 0 {
        all |= STAGES.iter().fold(0, |all, stage| all | stage);
    }
    // An included stage may itself include other stages, so the loop is repeated.
    for _ in 0..3 {
        for (stage, others) in EQUIVALENT {
            if all & stage != 0 {
                all |= others;
            }
        }
    }
    all
}

/// Whether each access of a scope is supported by one of its stages, as
/// VUID-VkMemoryBarrier2-srcAccessMask-03900 and similar rules require.
fn is_valid(scope: Scope) -> bool {
    let stages = expanded(scope.stages.as_raw());
    ACCESSES.iter().all(|(access, by)| {
        scope.access.as_raw() & access == 0
            || *by == 0
            || expanded(*by) & stages != 0
            || by & stages != 0
    })
}

fn pick(all: &[u64], mask: u64) -> u64 {
    all.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).fold(0, |all, (_, bit)| all | bit)
}

/// Generates valid scopes, some with few stages and some with many.
fn scopes() -> impl Strategy<Value = Scope> {
    (any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(a, b, access, few)| {
        let stages = pick(STAGES, if few { a & b & access.rotate_left(7) } else { a });
        let mut scope = Scope { stages: Stage::from_raw(stages), access: Access::empty() };
        for (i, (bit, _)) in ACCESSES.iter().enumerate() {
            let with = Scope { access: scope.access | Access::from_raw(*bit), ..scope };
            if access >> i & 1 == 1 && is_valid(with) {
                scope = with;
            }
        }
        scope
    })
}

fn narrow(scope: Scope) -> (vk::PipelineStageFlags, vk::AccessFlags) {
    (
        vk::PipelineStageFlags::from_raw(scope.stages.as_raw() as u32),
        vk::AccessFlags::from_raw(scope.access.as_raw() as u32),
    )
}

fn without_xfb(scope: Scope) -> (u64, u64) {
    (scope.stages.as_raw() & !XFB, scope.access.as_raw() & !XFB_ACCESS)
}

fn contains(scope: Scope, (stages, access): (u64, u64)) -> bool {
    scope.stages.as_raw() & stages == stages && scope.access.as_raw() & access == access
}

fn has_xfb(scope: Scope) -> bool {
    scope.stages.as_raw() & XFB != 0 || scope.access.as_raw() & XFB_ACCESS != 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn outside_of_passes(scope in scopes(), other in scopes()) {
        for side in SIDES {
            for also_compute in [true, false] {
                let new = scope.outside(side, also_compute);
                prop_assert!(!has_xfb(new), "{new:?}");
                prop_assert!(is_valid(new), "{scope:?} {new:?}");
                prop_assert!(contains(new, without_xfb(scope)));
                prop_assert_eq!(new.outside(side, also_compute), new);
                prop_assert_eq!(new.stages.is_empty(), scope.stages.is_empty());
                // The translation adds only bits that 32-bit masks have.
                let added = new.stages.as_raw() & !scope.stages.as_raw();
                prop_assert_eq!(added >> 32, 0);
                prop_assert_eq!((new.access.as_raw() & !scope.access.as_raw()) >> 32, 0);
                prop_assert_eq!(outside_stages(scope.stages, side, also_compute), new.stages);
                let narrowed = outside_stages32(narrow(scope).0, side, also_compute);
                let wide = Scope::new32(narrow(scope).0, vk::AccessFlags::empty());
                let wide = wide.outside(side, also_compute);
                prop_assert_eq!(narrow(wide).0, narrowed);
            }
            // The stage mask of `vkCmdWaitEvents` must be the union of the masks with which the
            // events were set.
            let union = outside_stages(scope.stages | other.stages, side, true);
            let apart = [scope, other].map(|scope| outside_stages(scope.stages, side, true));
            prop_assert_eq!(union, apart[0] | apart[1]);
        }
    }

    #[test]
    fn captures_have_part_in_what_the_extension_does(scope in scopes()) {
        for side in SIDES {
            let new = scope.outside(side, true);
            let stages = expanded(scope.stages.as_raw());
            // `COMPUTE_SHADER` is added if the logical order of stages makes the scope include
            // transform feedback.
            let xfb = PRIMITIVE.iter().position(|stage| *stage == XFB).unwrap();
            // Vulkan orders `FRAGMENT_DENSITY_PROCESS` only relative to the fragment tests.
            let ordered = |stage: &&u64| **stage != Stage::FRAGMENT_DENSITY_PROCESS_EXT.as_raw();
            let involved: u64 = match side {
                Side::Source => PRIMITIVE.iter().filter(ordered).fold(0, |all, stage| all | stage),
                Side::Destination => PRIMITIVE[..=xfb].iter().fold(0, |all, stage| all | stage),
            };
            let predicates = Stage::CONDITIONAL_RENDERING_EXT.as_raw();
            let is_involved = stages & (involved | predicates) != 0;
            prop_assert_eq!(expanded(new.stages.as_raw()) & COMPUTE != 0, is_involved || stages & COMPUTE != 0);
            let (old, new) = (scope.access.as_raw(), new.access.as_raw());
            let reads = Access::INDIRECT_COMMAND_READ | Access::INDEX_READ | Access::VERTEX_ATTRIBUTE_READ;
            let reads = reads | Access::CONDITIONAL_RENDERING_READ_EXT;
            if is_involved && old & (reads.as_raw() | 6 << 25) != 0 {
                prop_assert!(new & Access::SHADER_READ.as_raw() != 0);
            }
            if old & (5 << 25) != 0 {
                prop_assert!(new & Access::SHADER_WRITE.as_raw() != 0);
            }
            let part = scope.captures(side);
            prop_assert!(part.stages.as_raw() & !COMPUTE == 0);
            prop_assert!(is_valid(part), "{part:?}");
            prop_assert_eq!(part.stages.is_empty(), !(is_involved || stages & COMPUTE != 0));
        }
    }

    #[test]
    fn in_passes(scope in scopes()) {
        let (inside, declared) = (scope.inside(), scope.in_subpass());
        for new in [inside, declared] {
            prop_assert!(!has_xfb(new));
            prop_assert!(is_valid(new), "{scope:?} {new:?}");
            prop_assert!(contains(new, without_xfb(scope)));
            prop_assert_eq!(new.inside(), new);
            prop_assert_eq!(new.in_subpass(), new);
            // Only graphics stages were added.
            prop_assert_eq!(new.stages & !scope.stages & !Stage::VERTEX_SHADER, Stage::empty());
        }
        prop_assert!(contains(declared, (inside.stages.as_raw(), inside.access.as_raw())));
        prop_assert_eq!(declared.stages.is_empty(), scope.stages.is_empty());
    }

    #[test]
    fn in_32_bits(scope in scopes()) {
        let scope = scope.outside(Side::Source, true);
        let (stages, access) = scope.to32();
        let new = Scope::new32(stages, access);
        prop_assert!(is_valid(new), "{scope:?} {new:?}");
        // Stages that only stand for a set of stages are not compared themselves, but the stages of the set are.
        let groups = EQUIVALENT.iter().fold(0, |all, (stage, _)| all | stage);
        let old = expanded(scope.stages.as_raw()) & !groups;
        prop_assert_eq!(old & !expanded(new.stages.as_raw()), 0, "{:?} {:?}", scope, new);
        prop_assert_eq!(scope.access.as_raw() as u32 & !access.as_raw(), 0);
        prop_assert!(scope.access.as_raw() >> 32 == 0 || !access.is_empty());
    }
}

#[test]
fn timestamps_keep_a_single_stage() {
    for stage in STAGES {
        let stage = Stage::from_raw(*stage);
        let expected = match stage {
            Stage::TRANSFORM_FEEDBACK_EXT => Stage::COMPUTE_SHADER,
            other => other,
        };
        assert_eq!(single(stage), expected);
    }
    let xfb = vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT;
    assert_eq!(single32(xfb), vk::PipelineStageFlags::COMPUTE_SHADER);
    assert_eq!(single(Stage::NONE), Stage::NONE);
}
