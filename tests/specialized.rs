//! Shaders that are specialised and inlined for a pipeline are valid, and as small as they should
//! be. That they capture the same is tested wherever captures are compared with a model.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use vkxfb::lower::kernel::{self, Kernel, MAX_WORKGROUP_SIZE, MIN_WORKGROUP_SIZE};
use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Lowered, ResourcePlan, Shader, SpecIds, compute, vertex};
use vkxfb::spirv::headers::{Op, StorageClass};
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::spirv::{Module, Section};
use vkxfb_probe::shaders::ProbeShader;

const DESCRIPTORS: ResourcePlan = ResourcePlan::Descriptors { set: 3, reads: 12, writes: 4 };

/// How often an opcode occurs in functions.
fn count(words: &[u32], op: Op) -> usize {
    Module::parse(words).unwrap().section(Section::Functions).filter(|i| i.is(op)).count()
}

/// A shader for a topology, and for a single draw or for all draws.
fn specialized(lowered: &Lowered, topology: u32, restart: bool, general: bool) -> Vec<u32> {
    let ids = lowered.spec_ids().unwrap();
    let values = [
        (ids.topology, topology.to_ne_bytes()),
        (ids.restart, u32::from(restart).to_ne_bytes()),
        (ids.general, u32::from(general).to_ne_bytes()),
    ];
    let constants: Vec<_> = values
        .iter()
        .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
        .collect();
    lowered.specialized(&constants).unwrap()
}

fn lowered(words: &[u32]) -> Vec<Lowered> {
    let shader = Shader::new(words);
    let vertex_input = vertex_reads(&shader).unwrap().packed_vertex_input();
    let target = compute::Target::default();
    let targets = [
        target,
        compute::Target { resources: DESCRIPTORS, ..target },
        compute::Target { staging: 2048, ..target },
    ];
    let by_compute = targets.map(|target| {
        let options = compute::Options { vertex_input: &vertex_input, target };
        compute::lower(&shader, &options).unwrap()
    });
    by_compute.into_iter().chain([vertex::lower(&shader).unwrap()]).collect()
}

#[test]
fn probe_shaders_are_valid_for_every_pipeline() {
    for shader in ProbeShader::all() {
        for lowered in lowered(&shader.words()) {
            for topology in (0..8).chain([SpecIds::ANY_TOPOLOGY]) {
                for (restart, general) in [(false, false), (false, true), (true, true)] {
                    let words = specialized(&lowered, topology, restart, general);
                    common::validate(&words, "vulkan1.3");
                    let calls = count(&words, Op::FunctionCall);
                    assert_eq!(calls, 0, "{}: {topology}, {restart}, {general}", shader.name);
                    assert!(words.len() < lowered.words.len());
                }
            }
        }
    }
}

/// The pipeline for a list has no branch for other topologies, indices or restarts, and no
/// variable; that for all draws of any topology has.
#[test]
fn what_cannot_occur_is_not_there() {
    let lowered = lowered(&ProbeShader::identify().words());
    let list = specialized(&lowered[0], 0, false, false);
    assert_eq!((count(&list, Op::Variable), count(&list, Op::LoopMerge)), (0, 0));
    assert!(list.len() * 5 < lowered[0].words.len(), "{}", list.len());
    let any = specialized(&lowered[0], SpecIds::ANY_TOPOLOGY, true, true);
    assert!(count(&any, Op::LoopMerge) > 0 && any.len() > 4 * list.len());
    let module = Module::parse(&list).unwrap();
    assert_eq!(module.section(Section::Names).count(), 0);
    let private = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
    assert_eq!(private.filter(|i| i.operand(2) == StorageClass::Private as u32).count(), 0);
}

#[test]
fn kernels_are_valid() {
    for kernel in Kernel::ALL {
        for resources in [
            ResourcePlan::DeviceAddress,
            ResourcePlan::Descriptors { set: 0, reads: 12, writes: 4 },
        ] {
            for size in [MIN_WORKGROUP_SIZE, MAX_WORKGROUP_SIZE] {
                let words = kernel::lower(kernel, resources, size).unwrap();
                common::validate(&words, "vulkan1.3");
                // One function returns from within a loop.
                let is_called = matches!(kernel, Kernel::Restart | Kernel::RestartScan);
                let functions = 1 + usize::from(is_called);
                assert_eq!(count(&words, Op::Function), functions, "{kernel:?}");
            }
        }
    }
}
