//! Properties of every lowered module: it is valid, and depends on nothing but the input.

use vkxfb::lower::compute::WorkgroupSizes;
use vkxfb::lower::{ResourcePlan, Shader, compute, native};
use vkxfb::spirv::words_from_bytes;
use vkxfb::vertex_input::NumericClass;

use super::shaders::{DESCRIPTORS, EVERYTHING, all, vertex_input};
use crate::common;

#[test]
fn what_glslang_emits_is_lowered_to_valid_modules() {
    for (arguments, target) in [
        (&[][..], "vulkan1.0"),
        (&["-g"], "vulkan1.0"),
        (&["-gVS"], "vulkan1.1"),
        (&["-Od"], "vulkan1.0"),
        (&["--target-env", "vulkan1.1"], "vulkan1.1"),
        (&["--target-env", "spirv1.4"], "vulkan1.1spv1.4"),
        (&["--target-env", "vulkan1.2"], "vulkan1.2"),
        (&["--target-env", "vulkan1.3", "-gVS"], "vulkan1.3"),
    ] {
        let words = common::compile(EVERYTHING, arguments);
        for lowered in all(&words) {
            common::validate(&lowered.words, target);
            assert_eq!(lowered.entry_point, "main");
            // constant_id 0 and 3 are the shader's own.
            let ids = lowered.spec_ids().unwrap();
            assert_eq!([ids.topology, ids.restart, ids.general, ids.indexed], [1, 2, 4, 5]);
            assert_eq!([ids.batched, ids.wide_loads, ids.wide_stores], [6, 7, 8]);
            assert_eq!([ids.fused, ids.unchecked, ids.workgroup_size], [9, 10, 11]);
            assert_eq!(ids.partial_indices, 12);
        }
    }
}

#[test]
fn every_module_that_the_probe_runs_is_valid() {
    use vkxfb::lower::Backend;
    use vkxfb_probe::{shaders::ProbeShader, subject::Subject};
    for shader in ProbeShader::all() {
        let subject = Subject::built_in(shader).unwrap();
        for backend in Backend::ALL {
            for (resources, staging) in [
                (ResourcePlan::DeviceAddress, 0),
                (DESCRIPTORS, 0),
                (DESCRIPTORS, 4096),
                (ResourcePlan::DeviceAddress, 4096),
            ] {
                let target = compute::Target::default().resources(resources).staging(staging);
                let lowered = subject.lower(backend, &target).unwrap();
                common::validate(&lowered.words, "vulkan1.0");
                assert!(lowered.compute().is_none_or(|compute| compute.shared_memory <= staging));
            }
        }
    }
}

#[test]
fn lowering_depends_on_nothing_but_its_input() {
    let words = common::compile(EVERYTHING, &[]);
    let [vertex, compute, ..] = all(&words);
    for _ in 0..4 {
        let [vertex_again, compute_again, ..] = all(&words);
        assert_eq!(vertex.words, vertex_again.words);
        assert_eq!(compute.words, compute_again.words);
        assert_eq!(vertex.cache_key(), vertex_again.cache_key());
        assert_eq!(compute.cache_key(), compute_again.cache_key());
    }
    assert_ne!(vertex.cache_key(), compute.cache_key());
    // Options count as well.
    let input = vertex_input(NumericClass::Float);
    let options = compute::Options::new(&input)
        .target(compute::Target::default().workgroup_sizes(WorkgroupSizes::all(32)));
    let narrower = compute::lower(&Shader::new(&words), &options).unwrap();
    assert_ne!(compute.cache_key(), narrower.cache_key());
}

/// The hash is computed from the bytes of the file, so it equals the output of `xxh128sum`.
#[test]
fn cache_keys_are_xxh3() {
    let words = words_from_bytes(include_bytes!("../../shaders/probe/two_buffers.spv")).unwrap();
    let native = native::lower(&Shader::new(&words)).unwrap();
    assert_eq!(native.cache_key(), 0xe4fb_55f0_5ed1_9cb2_f6c3_66a6_bcd1_82cf);
}

#[test]
fn native_leaves_the_words_alone() {
    // It would replace specialisation constants by constants.
    let source =
        EVERYTHING.replace("layout(constant_id = 0) ", "").replace("layout(constant_id = 3) ", "");
    let words = common::compile(&source, &[]);
    assert_eq!(native::lower(&Shader::new(&words)).unwrap().words, words);
}
