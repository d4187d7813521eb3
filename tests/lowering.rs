//! Lowered modules are valid for their target, on what compilers emit, and errors say what is wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use vkxfb::capture::CaptureError;
use vkxfb::lower::{LowerError, Lowered, compute, native, vertex};
use vkxfb::spirv::entry_point::EntryPointError;
use vkxfb::spirv::{Module, words_from_bytes};
use vkxfb::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// Attributes of locations 0 to 15, all of one class.
fn vertex_input(class: NumericClass) -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: 16, input_rate: InputRate::Vertex }],
        attributes: (0..16)
            .map(|location| VertexAttribute {
                location,
                binding: 0,
                format: VertexFormat::of(class, 4).unwrap(),
                offset: 0,
            })
            .collect(),
    }
}

fn to_compute(words: &[u32], vertex_input: &VertexInput) -> Result<Lowered, LowerError> {
    let options = compute::Options {
        entry_point: None,
        vertex_input,
        workgroup_size: compute::DEFAULT_WORKGROUP_SIZE,
    };
    compute::lower(words, &options)
}

fn both(words: &[u32]) -> [Lowered; 2] {
    [
        vertex::lower(words, None).unwrap(),
        to_compute(words, &vertex_input(NumericClass::Float)).unwrap(),
    ]
}

/// Everything that this project lowers as yet, in one shader.
const EVERYTHING: &str = r#"#version 450
#extension GL_ARB_shader_draw_parameters : require
layout(constant_id = 0) const bool flip = false;
layout(constant_id = 3) const float scale = 2.0;
layout(xfb_buffer = 1, xfb_stride = 36) out;
layout(xfb_buffer = 0, xfb_stride = 32) out;
layout(location = 0) in vec4 position;
layout(location = 1) in mat3 transform;
layout(location = 4) in vec2 pair[2];
layout(location = 6, component = 1) in vec2 middle;
layout(set = 0, binding = 0) uniform Uniforms { mat4 matrix; };
layout(set = 1, binding = 2) buffer Storage { uint counter; };
layout(set = 0, binding = 1) uniform sampler2D image;
layout(location = 0, xfb_offset = 16) out vec4 colour;
layout(location = 1, xfb_buffer = 1, xfb_offset = 8) flat out ivec3 numbers;
layout(location = 2) noperspective out vec2 free;
out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
    float gl_ClipDistance[2];
};
vec4 transformed(vec4 x) { return matrix * x * scale; }
void main() {
    gl_Position = transformed(position) + vec4(transform * vec3(middle, 1.0), 0.0);
    gl_PointSize = 1.0;
    gl_ClipDistance[0] = position.x;
    gl_ClipDistance[1] = pair[1].y;
    numbers = ivec3(gl_VertexIndex, gl_InstanceIndex, gl_BaseVertexARB + gl_BaseInstanceARB + gl_DrawIDARB);
    colour = textureLod(image, pair[0], 0.0);
    if (flip) { colour = -colour; return; }
    for (int i = 0; i < 3; i++) colour[i] += float(i);
}
"#;

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
        for lowered in both(&words) {
            common::validate(&lowered.words, target);
            assert_eq!(lowered.entry_point, "main");
            // constant_id 0 and 3 are the shader's own.
            assert_eq!(lowered.topology_spec_ids, Some([1, 2, 4, 5, 6, 7, 8, 9]));
        }
    }
}

#[test]
fn lowering_depends_on_nothing_but_its_input() {
    let words = common::compile(EVERYTHING, &[]);
    let [vertex, compute] = both(&words);
    for _ in 0..4 {
        let [vertex_again, compute_again] = both(&words);
        assert_eq!(vertex.words, vertex_again.words);
        assert_eq!(compute.words, compute_again.words);
    }
}

#[test]
fn probe_shaders_read_as_reviewed() {
    let words = words_from_bytes(include_bytes!("../shaders/probe/two_buffers.spv")).unwrap();
    let [vertex, compute] = both(&words);
    common::validate(&vertex.words, "vulkan1.0");
    common::validate(&compute.words, "vulkan1.0");
    insta::assert_snapshot!("two_buffers.vertex", common::disassemble(&vertex.words));
    insta::assert_snapshot!("two_buffers.compute", common::disassemble(&compute.words));
}

#[test]
fn native_leaves_the_words_alone() {
    let words = common::compile(EVERYTHING, &[]);
    assert_eq!(native::lower(&words, None).unwrap().words, words);
}

#[test]
fn side_effects_are_reported() {
    let shader = |body: &str| {
        let source = format!(
            "#version 450
             layout(set = 0, binding = 0) buffer Storage {{ uint counter; uint data[]; }};
             layout(set = 0, binding = 1, r32ui) uniform uimage2D image;
             layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint a;
             void main() {{ a = data[0]; {body} }}"
        );
        native::lower(&common::compile(&source, &[]), None).unwrap().has_side_effects
    };
    assert!(!shader(""));
    assert!(!shader("uint local[2]; local[gl_VertexIndex & 1] = 3; a += local[0];"));
    assert!(shader("data[gl_VertexIndex] = 1;"));
    assert!(shader("atomicAdd(counter, 1);"));
    assert!(shader("imageStore(image, ivec2(0), uvec4(1));"));
}

/// A module with two vertex shaders and a fragment shader, whose inputs and outputs share types.
const SEVERAL: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %1 "first" %2
    OpEntryPoint Fragment %3 "shade" %4 %5
    OpEntryPoint Vertex %6 "second" %7 %8
    OpExecutionMode %3 OriginUpperLeft
    OpExecutionMode %6 Xfb
    OpName %3 "shade"
    OpName %4 "colour_in"
    OpDecorate %2 BuiltIn Position
    OpDecorate %4 Location 0
    OpDecorate %5 Location 0
    OpDecorate %7 Location 0
    OpDecorate %8 Location 0
    OpDecorate %8 XfbBuffer 0
    OpDecorate %8 XfbStride 16
    OpDecorate %8 Offset 0
    %10 = OpTypeVoid
    %11 = OpTypeFunction %10
    %12 = OpTypeFloat 32
    %13 = OpTypeVector %12 4
    %14 = OpTypePointer Input %13
    %15 = OpTypePointer Output %13
    %2 = OpVariable %15 Output
    %4 = OpVariable %14 Input
    %5 = OpVariable %15 Output
    %7 = OpVariable %14 Input
    %8 = OpVariable %15 Output
    %16 = OpConstantNull %13
    %1 = OpFunction %10 None %11
    %20 = OpLabel
    OpStore %2 %16
    OpReturn
    OpFunctionEnd
    %3 = OpFunction %10 None %11
    %21 = OpLabel
    %22 = OpLoad %13 %4
    %23 = OpDPdx %13 %22
    OpStore %5 %23
    OpReturn
    OpFunctionEnd
    %6 = OpFunction %10 None %11
    %24 = OpLabel
    %25 = OpLoad %13 %7
    OpStore %8 %25
    OpReturn
    OpFunctionEnd
"#;

#[test]
fn other_entry_points_are_kept_by_vertex_and_removed_by_compute() {
    let words = common::assemble(SEVERAL, "vulkan1.0");
    common::validate(&words, "vulkan1.0");
    let lowered = vertex::lower(&words, Some("second")).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    assert_eq!(common::disassemble(&lowered.words).matches("OpEntryPoint").count(), 3);

    let input = vertex_input(NumericClass::Float);
    let options =
        compute::Options { entry_point: Some("second"), vertex_input: &input, workgroup_size: 32 };
    let lowered = compute::lower(&words, &options).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("OpEntryPoint").count(), 1);
    assert!(!text.contains("OpDPdx") && !text.contains("colour_in"), "{text}");
    assert!(text.contains("LocalSize 32 1 1"));

    let ambiguous = vertex::lower(&words, None).unwrap_err();
    let LowerError::EntryPoint(EntryPointError::Ambiguous { found, .. }) = ambiguous else {
        panic!("{ambiguous}")
    };
    assert!(found.contains("'first'") && found.contains("'second'"), "{found}");
    assert!(matches!(
        vertex::lower(&words, Some("third")),
        Err(LowerError::EntryPoint(EntryPointError::NotFound { .. }))
    ));
    assert!(matches!(
        native::lower(&words, Some("first")),
        Err(LowerError::Capture(CaptureError::NoXfbMode { .. }))
    ));
}

#[test]
fn inputs_that_cannot_be_given_are_named() {
    let shader = |declarations: &str, body: &str| {
        common::compile(
            &format!(
                "#version 450
                 {declarations}
                 layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) flat out vec4 a;
                 void main() {{ a = vec4({body}); }}"
            ),
            &[],
        )
    };
    let floats = vertex_input(NumericClass::Float);

    let error = to_compute(&shader("layout(location = 16) in vec4 v;", "v"), &floats).unwrap_err();
    assert!(matches!(&error, LowerError::NoAttribute { location: 16, .. }), "{error}");

    let mut unbound = floats.clone();
    unbound.bindings.clear();
    let error = to_compute(&shader("layout(location = 1) in vec4 v;", "v"), &unbound).unwrap_err();
    assert!(error.to_string().contains("no binding 0"), "{error}");

    let error = to_compute(&shader("layout(location = 2) in uvec4 v;", "v"), &floats).unwrap_err();
    assert!(
        matches!(
            &error,
            LowerError::AttributeClass {
                location: 2,
                expected: NumericClass::Uint,
                found: NumericClass::Float,
                ..
            }
        ),
        "{error}"
    );

    let error =
        to_compute(&shader("layout(location = 0) in dvec2 v;", "v, v"), &floats).unwrap_err();
    assert!(matches!(&error, LowerError::InputType { .. }), "{error}");
    assert!(error.to_string().contains("'v'"), "{error}");

    let push = shader("layout(push_constant) uniform P { vec4 v; } p;", "p.v");
    for error in [to_compute(&push, &floats).unwrap_err(), vertex::lower(&push, None).unwrap_err()]
    {
        assert!(matches!(&error, LowerError::PushConstants { .. }), "{error}");
    }
    assert!(native::lower(&push, None).is_ok());
}

#[test]
fn a_fragment_shader_is_no_vertex_shader() {
    let words = common::assemble(
        &SEVERAL
            .replace("OpEntryPoint Vertex %1 \"first\" %2", "")
            .replace("OpEntryPoint Vertex %6 \"second\" %7 %8", "")
            .replace("OpExecutionMode %6 Xfb", ""),
        "vulkan1.0",
    );
    let error = native::lower(&words, None).unwrap_err();
    assert_eq!(error.to_string(), "the module has no vertex shader; it has: Fragment 'shade'");
}

/// The compute lowering asks the device for nothing that the interface asked for.
#[test]
fn interface_capabilities_are_dropped() {
    let words = common::compile(EVERYTHING, &[]);
    let [_, compute] = both(&words);
    let text = common::disassemble(&compute.words);
    for gone in ["ClipDistance", "DrawParameters", "TransformFeedback", "shader_draw_parameters"] {
        assert!(!text.contains(&format!("OpCapability {gone}")), "{gone}");
        assert!(!text.contains(&format!("OpExtension \"SPV_KHR_{gone}\"")), "{gone}");
    }
    assert!(Module::parse(&compute.words).is_ok());
}
