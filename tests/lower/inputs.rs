//! Inputs of the vertex shader: what is loaded for them, and which of them are refused.

use vkxfb_rewriter::lower::reflect;
use vkxfb_rewriter::lower::{LowerError, Shader, compute};
use vkxfb_rewriter::vertex_input::{InputRate, NumericClass, VertexFormat};

use super::shaders::{SHARED, one_attribute, to_compute, vertex_input};
use crate::common;

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

    let doubles = shader("layout(location = 0) in dvec2 v;", "v, v");
    let error = to_compute(&doubles, &floats).unwrap_err();
    assert!(
        matches!(&error, LowerError::AttributeWidth { location: 0, expected: 64, found: 32, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("'v'"), "{error}");
    let single = one_attribute(VertexFormat::R64Sfloat, InputRate::Vertex);
    let error = to_compute(&doubles, &single).unwrap_err();
    assert!(
        matches!(&error, LowerError::AttributeComponents { location: 0, needed: 2, found: 1, .. }),
        "{error}"
    );
    let error =
        to_compute(&shader("layout(location = 0) in vec2 v;", "v, v"), &single).unwrap_err();
    assert!(
        matches!(&error, LowerError::AttributeWidth { location: 0, expected: 32, found: 64, .. }),
        "{error}"
    );
}

/// %5 has no location, which would be an error if it were in the interface.
#[test]
fn inputs_outside_the_interface_are_not_read() {
    let words = common::assemble(
        &SHARED.replace("OpEntryPoint Vertex %1 \"second\" %2 %3", ""),
        "vulkan1.1",
    );
    let lowered = to_compute(&words, &vertex_input(NumericClass::Float)).unwrap();
    assert_eq!(
        lowered.compute().unwrap().attributes.iter().map(|a| a.location).collect::<Vec<_>>(),
        [0]
    );
    common::validate(&lowered.words, "vulkan1.1");
    assert_eq!(reflect::vertex_reads(&Shader::new(&words)).unwrap().attributes.len(), 1);
}

/// Inputs that share a location are one attribute, whose width includes its last component.
#[test]
fn reads_are_gathered_by_location() {
    let words = common::compile(
        "#version 450
         layout(location = 3, component = 2) in vec2 high;
         layout(location = 3) in vec2 low;
         layout(location = 1) in ivec3 number;
         void main() { gl_Position = vec4(high, low) + vec4(number.x); }",
        &[],
    );
    let reads = reflect::vertex_reads(&Shader::new(&words)).unwrap();
    let found: Vec<_> =
        reads.attributes.iter().map(|a| (a.location, a.class, a.components)).collect();
    assert_eq!(found, [(1, NumericClass::Sint, 3), (3, NumericClass::Float, 4)]);
}

/// Attributes are loaded by bytes where the vertex input or the option asks for it, and nowhere else.
#[test]
fn what_is_not_aligned_is_loaded_by_bytes() {
    let words = common::compile(
        "#version 450
         layout(location = 0) in vec2 v;
         layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0) flat out vec2 a;
         void main() { a = v; }",
        &[],
    );
    for (format, stride, offset, is_forced, alignment) in [
        (VertexFormat::R32G32Sfloat, 8, 4, false, 4),
        (VertexFormat::R32G32Sfloat, 18, 0, false, 1),
        (VertexFormat::R32G32Sfloat, 8, 2, false, 1),
        (VertexFormat::R32G32Sfloat, 8, 4, true, 1),
        (VertexFormat::R16G16Snorm, 6, 2, false, 2),
        (VertexFormat::R16G16Snorm, 6, 1, false, 1),
        (VertexFormat::A2B10G10R10UnormPack32, 6, 0, false, 1),
        (VertexFormat::R8G8B8Unorm, 3, 1, false, 1),
    ] {
        let mut input = one_attribute(format, InputRate::Vertex);
        (input.bindings[0].stride, input.attributes[0].offset) = (stride, offset);
        let options = compute::Options::new(&input).unaligned_attributes(is_forced);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        assert_eq!(lowered.compute().unwrap().attributes[0].alignment, alignment, "{format:?}");
        common::validate(&lowered.words, "vulkan1.0");
    }
}

/// Returns a shader with one output and one input of type %9.
fn with_input(types: &str, place: &str) -> Vec<u32> {
    common::assemble(
        &format!(
            "
            OpCapability Shader
            OpCapability TransformFeedback
            OpMemoryModel Logical GLSL450
            OpEntryPoint Vertex %1 \"main\" %2 %3
            OpExecutionMode %1 Xfb
            {place}
            OpDecorate %3 Location 0
            OpDecorate %3 XfbBuffer 0
            OpDecorate %3 XfbStride 4
            OpDecorate %3 Offset 0
            %4 = OpTypeVoid
            %5 = OpTypeFunction %4
            %6 = OpTypeFloat 32
            %7 = OpTypeInt 32 0
            {types}
            %10 = OpTypePointer Input %9
            %11 = OpTypePointer Output %6
            %2 = OpVariable %10 Input
            %3 = OpVariable %11 Output
            %1 = OpFunction %4 None %5
            %12 = OpLabel
            %13 = OpLoad %9 %2
            OpReturn
            OpFunctionEnd
            "
        ),
        "vulkan1.0",
    )
}

/// Types and numbers that no compiler emits use neither much memory nor much time.
#[test]
fn hostile_inputs_are_refused() {
    let errors = |types: &str, place: &str| {
        let words = with_input(types, place);
        let lowered = to_compute(&words, &vertex_input(NumericClass::Float)).unwrap_err();
        assert_eq!(reflect::vertex_reads(&Shader::new(&words)).unwrap_err(), lowered);
        lowered
    };
    let nested: String = (100..100_000)
        .map(|id| format!("%{} = OpTypeArray %{id} %8\n", id + 1))
        .collect::<String>();
    let one = "%8 = OpConstant %7 1\n";
    for types in [
        "%8 = OpConstant %7 1\n%9 = OpTypeArray %9 %8".to_owned(),
        "%8 = OpConstant %7 1\n%9 = OpTypeArray %20 %8\n%20 = OpTypeArray %9 %8".to_owned(),
        "%9 = OpTypeVector %9 2".to_owned(),
        "%8 = OpConstant %7 0\n%20 = OpTypeArray %6 %8\n\
         %21 = OpConstant %7 0xffffffff\n%9 = OpTypeArray %20 %21"
            .to_owned(),
        format!("{one}%100 = OpTypeArray %6 %8\n{nested}%9 = OpTypeArray %100000 %8"),
    ] {
        let error = errors(&types, "OpDecorate %2 Location 0");
        assert!(matches!(error, LowerError::InputType { .. }), "{error}");
    }
    let huge = "%8 = OpConstant %7 0xffffffff\n%20 = OpTypeArray %6 %8\n%9 = OpTypeArray %20 %8";
    let limit = |last| LowerError::LocationLimit { variable: "%2".to_owned(), last, max: 256 };
    assert_eq!(
        errors(huge, "OpDecorate %2 Location 0"),
        limit(u64::from(u32::MAX) * u64::from(u32::MAX) - 1)
    );
    let vector = "%9 = OpTypeVector %6 2";
    assert_eq!(errors(vector, "OpDecorate %2 Location 256"), limit(256));
    let error = errors(vector, "OpDecorate %2 Location 0\nOpDecorate %2 Component 0xffffffff");
    assert!(matches!(error, LowerError::InputType { .. }), "{error}");
}
