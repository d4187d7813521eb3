//! A module is not refused because of declarations that its entry point does not use. In the
//! lowered module, nothing is left of them that a validator or a driver would refuse.

use std::ops::Range;

use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Backend, LowerError, Shader, native};
use vkxfb_rewriter::vertex_input::VertexInput;

use super::shaders::{all_of, all_with};
use crate::common;

/// Lowers a GLSL shader in every SPIR-V version. Checks that the modules are valid, and that the
/// backends, except those in `keeps`, have removed a variable.
fn assert_removed(source: &str, arguments: &[&str], variable: &str, keeps: &[Backend]) {
    let declared = format!("%{variable} = OpVariable");
    for (version, target) in
        [("spirv1.0", "vulkan1.0"), ("spirv1.4", "vulkan1.1spv1.4"), ("spirv1.6", "vulkan1.3")]
    {
        let words = common::compile(source, &[&["--target-env", version], arguments].concat());
        assert!(common::disassemble(&words).contains(&declared), "{version}");
        for lowered in all_of(&Shader::new(&words)) {
            let lowered = lowered.unwrap_or_else(|error| panic!("{version}: {error}"));
            common::validate(&lowered.words, target);
            let text = common::disassemble(&lowered.words);
            let is_kept = keeps.contains(&lowered.backend());
            assert_eq!(text.contains(&declared), is_kept, "{version} {}", lowered.backend());
        }
    }
}

/// Returns a shader with these declarations, which captures the given value.
fn source(declarations: &str, value: &str) -> String {
    format!(
        "#version 450
         #extension GL_EXT_shader_16bit_storage : require
         #extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
         layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out vec4 captured;
         {declarations}
         void main() {{ captured = {value}; }}"
    )
}

/// The captured value of a shader that does not use any of its declarations.
const INDEX: &str = "vec4(gl_VertexIndex)";

#[test]
fn push_constants_that_nothing_uses() {
    let source =
        source("layout(push_constant) uniform Push { vec4 size; uint frame; } params;", INDEX);
    for debug in [&[][..], &["-g"]] {
        assert_removed(&source, debug, "params", &[]);
    }
    let words = common::compile(&source, &[]);
    assert!(vertex_reads(&Shader::new(&words)).unwrap().resources.is_empty());
}

/// A use in the entry point and a use in a called function both count, and are reported with the
/// bytes that they read. A copy of a pointer is a use too, but reads nothing.
#[test]
fn push_constants_in_use() {
    let in_use = |words: &[u32], name: &str, range: Range<u32>| {
        for lowered in all_of(&Shader::new(words)) {
            let lowered = lowered.unwrap();
            assert_eq!(lowered.push_constants, range, "{}", lowered.backend());
            let text = common::disassemble(&lowered.words);
            assert!(!text.contains("%params = OpVariable %_ptr_PushConstant"), "{text}");
        }
        let resources = vertex_reads(&Shader::new(words)).unwrap().resources;
        assert!(resources.iter().any(|what| what.contains(name)), "{resources:?}");
    };
    for (block, used, name) in [
        ("Push { vec4 size; } params", "params.size", "'params'"),
        ("Push { vec4 size; }", "size", "'Push'"),
        ("Push { vec4 sizes[4]; } params", "params.sizes[gl_VertexIndex & 3]", "'params'"),
        ("Push { vec4 size; } params", "called()", "'params'"),
    ] {
        let called = if used == "called()" { "vec4 called() { return params.size; }" } else { "" };
        let source = source(&format!("layout(push_constant) uniform {block}; {called}"), used);
        let range = if block.contains("[4]") { 0..64 } else { 0..16 };
        in_use(&common::compile(&source, &[]), name, range);
    }
    let copied = common::assemble(
        &TWO_STAGES
            .replace("OpStore %captured %zero", "%copy = OpCopyObject %push_pointer %params")
            .replace("OpCapability Shader", "OpCapability Shader\nOpCapability VariablePointers"),
        "spv1.3",
    );
    in_use(&copied, "'params'", 0..0);
}

/// The block is used in the initialiser of a variable that points to it.
#[test]
fn pointers_in_initialisers_are_uses() {
    let words = common::assemble(
        &TWO_STAGES
            .replace(
                "%vertex = OpFunction",
                "%private_pointer = OpTypePointer Private %push_pointer
                 %through = OpVariable %private_pointer Private %params
                 %vertex = OpFunction",
            )
            .replace("OpStore %captured %zero", "%pointer = OpLoad %push_pointer %through"),
        "spv1.3",
    );
    for lowered in all_of(&Shader::new(&words)) {
        assert_eq!(lowered.unwrap().push_constants, 0..16);
    }
}

/// A vertex shader that declares push constants, which are for the fragment shader in the same
/// module.
const TWO_STAGES: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpExtension "SPV_KHR_storage_buffer_storage_class"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %vertex "vertex" %captured
    OpEntryPoint Fragment %fragment "fragment" %colour
    OpExecutionMode %vertex Xfb
    OpExecutionMode %fragment OriginUpperLeft
    OpName %params "params"
    OpDecorate %captured Location 0
    OpDecorate %captured XfbBuffer 0
    OpDecorate %captured XfbStride 16
    OpDecorate %captured Offset 0
    OpDecorate %colour Location 0
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %buffer_block Block
    OpMemberDecorate %buffer_block 0 Offset 0
    OpDecorate %buffer DescriptorSet 1
    OpDecorate %buffer Binding 0
    %void = OpTypeVoid
    %procedure = OpTypeFunction %void
    %float = OpTypeFloat 32
    %vec4 = OpTypeVector %float 4
    %int = OpTypeInt 32 1
    %int_0 = OpConstant %int 0
    %zero = OpConstantNull %vec4
    %block = OpTypeStruct %vec4
    %buffer_block = OpTypeStruct %vec4
    %push_pointer = OpTypePointer PushConstant %block
    %push_vec4 = OpTypePointer PushConstant %vec4
    %buffer_pointer = OpTypePointer StorageBuffer %buffer_block
    %buffer_vec4 = OpTypePointer StorageBuffer %vec4
    %output = OpTypePointer Output %vec4
    %params = OpVariable %push_pointer PushConstant
    %buffer = OpVariable %buffer_pointer StorageBuffer
    %captured = OpVariable %output Output
    %colour = OpVariable %output Output
    %vertex = OpFunction %void None %procedure
    %20 = OpLabel
    OpStore %captured %zero
    OpReturn
    OpFunctionEnd
    %uncalled = OpFunction %void None %procedure
    %21 = OpLabel
    %22 = OpAccessChain %push_vec4 %params %int_0
    %23 = OpLoad %vec4 %22
    OpReturn
    OpFunctionEnd
    %fragment = OpFunction %void None %procedure
    %24 = OpLabel
    %25 = OpAccessChain %push_vec4 %params %int_0
    %26 = OpLoad %vec4 %25
    %27 = OpAccessChain %buffer_vec4 %buffer %int_0
    OpStore %27 %26
    OpStore %colour %26
    OpReturn
    OpFunctionEnd
"#;

/// Push constants, descriptors and side effects of other entry points do not count.
#[test]
fn other_entry_points_count_for_nothing() {
    const LISTED: &str = r#"OpEntryPoint Vertex %vertex "vertex" %captured %params"#;
    for (source, target) in [
        (TWO_STAGES.to_owned(), "vulkan1.0"),
        (
            TWO_STAGES
                .replace(r#"OpEntryPoint Vertex %vertex "vertex" %captured"#, LISTED)
                .replace(r#""fragment" %colour"#, r#""fragment" %colour %params %buffer"#),
            "vulkan1.3",
        ),
    ] {
        let words = common::assemble(&source, target);
        common::validate(&words, target);
        let shader = Shader::new(&words);
        assert!(!native::lower(&shader).unwrap().effects.side_effects);
        let [vertex, computes @ ..] = all_of(&shader).map(Result::unwrap);
        common::validate(&vertex.words, target);
        assert!(!vertex.effects.side_effects);
        let text = common::disassemble(&vertex.words);
        assert!(text.contains("OpVariable %_ptr_PushConstant__struct"), "{text}");
        let interface = text.lines().find(|line| line.contains("\"vertex\"")).unwrap();
        assert!(!interface.contains("%params"), "{interface}");
        for lowered in computes {
            common::validate(&lowered.words, target);
            assert!(!lowered.effects.side_effects);
            let text = common::disassemble(&lowered.words);
            // The fragment shader's block, the function that nobody calls.
            assert!(
                !text.contains("%params") && !text.contains("%_ptr_PushConstant_v4float"),
                "{text}"
            );
        }
        assert!(vertex_reads(&shader).unwrap().resources.is_empty());
    }
}

/// A descriptor in the plan's set is allowed if only a function that is not called uses it.
#[test]
fn a_descriptor_that_nothing_uses_may_be_in_the_plans_set() {
    let camera = "layout(set = 2, binding = 0) uniform Camera { mat4 matrix; } camera;";
    assert_removed(&source(camera, INDEX), &[], "camera", &[Backend::Vertex]);
    let by_descriptors = |shown| {
        let words = common::compile(&source(camera, shown), &[]);
        let [_, _, by_descriptors, _] = all_of(&Shader::new(&words));
        by_descriptors.unwrap()
    };
    by_descriptors(INDEX).move_descriptor_set(2).unwrap();
    let error = by_descriptors("camera.matrix[0]").move_descriptor_set(2).unwrap_err();
    assert!(matches!(error, LowerError::DescriptorSet { used: 2, set: 2, .. }), "{error}");
}

/// Attributes that the vertex input state lacks, types that no attribute has, and built-in
/// variables of other stages.
#[test]
fn inputs_that_nothing_uses() {
    let declarations = "
        layout(location = 0) in vec4 absent;
        layout(location = 1) in f16vec4 unused_half;
        layout(location = 300) in vec4 beyond;";
    let none = VertexInput::default();
    let words = common::compile(&source(declarations, INDEX), &["--target-env", "spirv1.5"]);
    let [_, computes @ ..] = all_with(&Shader::new(&words), &none);
    for lowered in computes {
        let lowered = lowered.unwrap();
        common::validate(&lowered.words, "vulkan1.2");
        assert!(lowered.compute().unwrap().attributes.is_empty());
        let text = common::disassemble(&lowered.words);
        assert!(!text.contains("absent") && !text.contains("OpTypeFloat 16"), "{text}");
    }
    // Graphics pipelines need an attribute for every declared input.
    let reads = vertex_reads(&Shader::new(&words)).unwrap();
    assert_eq!(reads.attributes.iter().map(|a| a.location).collect::<Vec<_>>(), [0, 1]);
    for used in ["vec4(absent.x)", "vec4(unused_half.x)"] {
        let source = source(declarations, used);
        let words = common::compile(&source, &["--target-env", "spirv1.5"]);
        let [_, computes @ ..] = all_with(&Shader::new(&words), &none);
        assert!(computes.iter().all(Result::is_err), "{used}");
    }
}

#[test]
fn a_built_in_of_another_stage_that_nothing_uses() {
    let words = common::assemble(
        &TWO_STAGES
            .replace("%vertex \"vertex\" %captured", "%vertex \"vertex\" %captured %coordinates")
            .replace("OpDecorate %block Block", "OpDecorate %block Block\nOpDecorate %coordinates BuiltIn FragCoord")
            .replace("%vertex = OpFunction", "%input = OpTypePointer Input %vec4\n%coordinates = OpVariable %input Input\n%vertex = OpFunction"),
        "spv1.3",
    );
    for lowered in all_of(&Shader::new(&words)) {
        let lowered = lowered.unwrap();
        let text = common::disassemble(&lowered.words);
        assert_eq!(text.contains("FragCoord"), lowered.backend() == Backend::Vertex, "{text}");
    }
}

/// Debug information of removed variables is removed, that of other variables is kept.
#[test]
fn debug_info_of_unused_declarations() {
    let declarations = "
        layout(push_constant) uniform Push { vec4 size; uint frame; } params;
        layout(location = 0) in vec4 unused;";
    let source = source(declarations, INDEX);
    let words = common::compile(&source, &["-gVS", "--target-env", "vulkan1.1"]);
    for lowered in all_of(&Shader::new(&words)) {
        let lowered = lowered.unwrap();
        common::validate(&lowered.words, "vulkan1.1");
        let text = common::disassemble(&lowered.words);
        assert!(text.contains("DebugGlobalVariable"), "{text}");
        assert!(!text.contains("OpVariable %_ptr_PushConstant_Push"), "{text}");
    }
}
