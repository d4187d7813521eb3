//! Compute shaders: workgroups, shared memory and descriptors.

use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::lower::reflect;
use vkxfb_rewriter::lower::{LowerError, Lowered, ResourcePlan, Shader, compute};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::spirv::{Module, Section};
use vkxfb_rewriter::vertex_input::NumericClass;

use super::shaders::{EVERYTHING, SHARED, compute_of, to_compute, to_compute_by, vertex_input};
use crate::common;

/// A module may have only one `WorkgroupSize`, so the one of another shader in it is dropped.
#[test]
fn a_workgroup_size_of_another_shader_is_dropped() {
    let words = common::assemble(SHARED, "vulkan1.1");
    let lowered = compute_of(&words, "first").unwrap();
    common::validate(&lowered.words, "vulkan1.1");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("BuiltIn WorkgroupSize").count(), 1, "{text}");
    assert!(text.contains("OpSpecConstant %uint 64"), "{text}");
}

/// A pipeline may specialise the workgroup size: the constant, the arrays of records and the loops
/// must follow it.
#[test]
fn a_specialised_workgroup_size_is_in_the_module() {
    let words = common::compile(EVERYTHING, &[]);
    let reads = reflect::vertex_reads(&Shader::new(&words)).unwrap();
    let vertex_input = reads.packed_vertex_input();
    let target = compute::Target::default().staging(4096);
    let options = compute::Options::new(&vertex_input).target(target);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let constant_id = lowered.spec_ids().unwrap().workgroup_size;
    for (size, listed) in [(32u32, 96), (64, 192), (128, 384)] {
        let data = size.to_ne_bytes();
        let constants = [SpecializationConstant { constant_id, data: &data }];
        let words = lowered.specialized(&constants).unwrap();
        common::validate(&words, "vulkan1.1");
        let text = common::disassemble(&words);
        assert_eq!(text.matches("BuiltIn WorkgroupSize").count(), 1, "{text}");
        for expected in [
            format!("OpConstantComposite %v3uint %uint_{size} %uint_1 %uint_1"),
            format!("OpTypeArray %uint %uint_{listed}"),
        ] {
            assert!(text.contains(&expected), "{expected}: {text}");
        }
    }
}

#[test]
fn a_workgroup_has_invocations() {
    let words = common::assemble(SHARED, "vulkan1.1");
    let vertex_input = &vertex_input(NumericClass::Float);
    let options = compute::Options::new(vertex_input)
        .target(compute::Target::default().workgroup_sizes(WorkgroupSizes::all(0)));
    assert_eq!(
        compute::lower(&Shader::new(&words), &options).unwrap_err(),
        LowerError::WorkgroupSize
    );
}

/// In the Vulkan memory model, accesses to shared memory would need availability and visibility
/// operations.
#[test]
fn modules_of_the_vulkan_memory_model_are_not_staged() {
    let source =
        common::assemble(&SHARED.replace("OpEntryPoint Vertex %1 \"second\" %2 %3", ""), "spv1.5");
    let mut module = Module::parse(&source).unwrap();
    module.add_capability(spirv::Capability::VulkanMemoryModel);
    module
        .edit(Section::MemoryModel, |_, operands| operands[1] = spirv::MemoryModel::Vulkan as u32);
    let vertex_input = vertex_input(NumericClass::Float);
    let target = compute::Target::default().staging(4096).shared_draws(true);
    let options = compute::Options::new(&vertex_input).target(target);
    let lower = |words: &[u32]| compute::lower(&Shader::new(words), &options).unwrap();
    let lowered = lower(&module.words());
    common::validate(&lowered.words, "vulkan1.2");
    assert_eq!(lowered.compute().unwrap().shared_memory, 0);
    assert_ne!(lower(&source).compute().unwrap().shared_memory, 0);
}

/// The set of the resource plan comes after all sets of the shader, and can be moved further.
#[test]
fn descriptors_in_the_way_are_named() {
    let words = common::compile(EVERYTHING, &[]);
    let vertex_input = vertex_input(NumericClass::Float);
    let lower = |reads, writes| {
        let resources = ResourcePlan::Descriptors { reads, writes };
        to_compute_by(resources, &words, &vertex_input)
    };
    let mut lowered = lower(12, 4).unwrap();
    let set = |lowered: &Lowered| lowered.compute().unwrap().descriptor_set;
    assert_eq!(set(&lowered), Some(1), "the shader uses nothing of set 1");
    let first = lowered.words.clone();
    lowered.move_descriptor_set(3).unwrap();
    assert_eq!(set(&lowered), Some(3));
    let sets = |words: &[u32]| {
        let text = common::disassemble(words);
        let sets = |set| text.matches(&format!("DescriptorSet {set}\n")).count();
        [0, 1, 3].map(sets)
    };
    let [own, of_plan, _] = sets(&first);
    assert!(own > 0 && of_plan > 0);
    assert_eq!(sets(&lowered.words), [own, 0, of_plan]);
    common::validate(&lowered.words, "vulkan1.0");
    let conflict = lowered.move_descriptor_set(0).unwrap_err();
    assert!(matches!(conflict, LowerError::DescriptorSet { used: 0, set: 0, .. }), "{conflict}");
    assert_eq!(set(&lowered), Some(3), "it is where it was");
    lowered.move_descriptor_set(1).unwrap();
    assert_eq!(lowered.words, first);
    for (reads, writes) in [(4, 4), (1, 0)] {
        assert_eq!(lower(reads, writes).unwrap_err(), LowerError::StorageBuffers { reads, writes });
    }
    let mut by_address = to_compute(&words, &vertex_input).unwrap();
    let before = by_address.words.clone();
    by_address.move_descriptor_set(0).unwrap();
    assert_eq!(by_address.words, before, "there is no such set");
}
