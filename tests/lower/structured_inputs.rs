//! Inputs of a structure type, as Slang emits them for matrices and arrays: their members have
//! consecutive locations.

use vkxfb::runtime::Draw;
use vkxfb_probe::gpu::OpenOptions;
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, Selector};
use vkxfb_rewriter::lower::reflect::{AttributeUse, vertex_reads};
use vkxfb_rewriter::lower::{Backend, LowerError, Shader};
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::{NumericClass, VertexInput};

use crate::common;
use crate::common::device::{Draws, RESOURCES, lower_on, open_with};
use crate::common::test_device::TestDevice;

/// A matrix in a structure, an array of matrices in another structure, and a structure with members
/// of different types. Each is copied to an output.
const SHADER: &str = r#"
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %main "main" %in_m %in_n %in_w %out_m %out_n %out_w
    OpName %in_m "i.m"
    OpName %in_w "i.w"
    OpName %out_m "m"
    OpName %out_n "n"
    OpName %out_w "w"
    OpDecorate %array4 ArrayStride 16
    OpDecorate %array3 ArrayStride 8
    OpDecorate %array_n ArrayStride 24
    OpMemberDecorate %matrix4 0 Offset 0
    OpMemberDecorate %matrix3 0 Offset 0
    OpMemberDecorate %struct_n 0 Offset 0
    OpDecorate %in_m Location 1
    OpDecorate %in_n Location 5
    OpDecorate %in_w Location 11
    OpDecorate %out_m Location 0
    OpDecorate %out_n Location 4
    OpDecorate %out_w Location 10
    OpDecorate %out_w Flat
    %void = OpTypeVoid
    %procedure = OpTypeFunction %void
    %float = OpTypeFloat 32
    %uint = OpTypeInt 32 0
    %int = OpTypeInt 32 1
    %vec2 = OpTypeVector %float 2
    %vec4 = OpTypeVector %float 4
    %ivec3 = OpTypeVector %int 3
    %two = OpConstant %uint 2
    %three = OpConstant %uint 3
    %four = OpConstant %uint 4
    %zero = OpConstant %uint 0
    %array4 = OpTypeArray %vec4 %four
    %matrix4 = OpTypeStruct %array4
    %array3 = OpTypeArray %vec2 %three
    %matrix3 = OpTypeStruct %array3
    %array_n = OpTypeArray %matrix3 %two
    %struct_n = OpTypeStruct %array_n
    %array_w = OpTypeArray %uint %two
    %struct_w = OpTypeStruct %uint %array_w %float %ivec3
    %to_in_m = OpTypePointer Input %matrix4
    %to_in_n = OpTypePointer Input %struct_n
    %to_in_w = OpTypePointer Input %struct_w
    %to_in_array4 = OpTypePointer Input %array4
    %to_out_m = OpTypePointer Output %matrix4
    %to_out_n = OpTypePointer Output %struct_n
    %to_out_w = OpTypePointer Output %struct_w
    %to_out_array4 = OpTypePointer Output %array4
    %in_m = OpVariable %to_in_m Input
    %in_n = OpVariable %to_in_n Input
    %in_w = OpVariable %to_in_w Input
    %out_m = OpVariable %to_out_m Output
    %out_n = OpVariable %to_out_n Output
    %out_w = OpVariable %to_out_w Output
    %main = OpFunction %void None %procedure
    %entry = OpLabel
    %from = OpAccessChain %to_in_array4 %in_m %zero
    %to = OpAccessChain %to_out_array4 %out_m %zero
    %m = OpLoad %array4 %from
    OpStore %to %m
    %n = OpLoad %struct_n %in_n
    OpStore %out_n %n
    %w = OpLoad %struct_w %in_w
    OpStore %out_w %w
    OpReturn
    OpFunctionEnd
"#;

/// The size of a record in bytes.
const STRIDE: usize = 140;
/// The number of vertices that are drawn, as lines.
const VERTICES: u32 = 6;

/// Returns the attributes in the order of their locations: location, class, and number of
/// components.
fn attributes() -> Vec<(u32, NumericClass, u32)> {
    let matrices = (1..5).map(|location| (location, NumericClass::Float, 4));
    let array = (5..11).map(|location| (location, NumericClass::Float, 2));
    let mixed = [
        (11, NumericClass::Uint, 1),
        (12, NumericClass::Uint, 1),
        (13, NumericClass::Uint, 1),
        (14, NumericClass::Float, 1),
        (15, NumericClass::Sint, 3),
    ];
    matrices.chain(array).chain(mixed).collect()
}

/// Returns a dword that is different for each attribute and each vertex.
fn dword(location: u32, class: NumericClass, component: u32, vertex: u32) -> u32 {
    let number = vertex * 256 + location * 4 + component;
    match class {
        NumericClass::Float => (number as f32).to_bits(),
        NumericClass::Sint => number.wrapping_neg(),
        NumericClass::Uint => number,
    }
}

#[test]
fn members_take_consecutive_locations() {
    let words = common::assemble(SHADER, "vulkan1.0");
    let reads = vertex_reads(&Shader::new(&words)).unwrap();
    let of = |read: &AttributeUse| (read.location, read.class, read.components);
    assert_eq!(reads.attributes.iter().map(of).collect::<Vec<_>>(), attributes());
    assert!(reads.attributes.iter().all(|read| read.bits == 32));
}

#[test]
fn every_backend_fetches_them() {
    let words = common::assemble(SHADER, "vulkan1.0");
    let vertex_input = vertex_reads(&Shader::new(&words)).unwrap().packed_vertex_input();
    let of_vertex = |(location, class, components): (u32, NumericClass, u32), vertex: u32| {
        (0..components)
            .flat_map(move |c| dword(location, class, c, vertex).to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let buffers: Vec<Vec<u8>> = attributes()
        .into_iter()
        .map(|attribute| (0..VERTICES).flat_map(|v| of_vertex(attribute, v)).collect())
        .collect();
    let expected: Vec<u8> = (0..VERTICES)
        .flat_map(|v| attributes().into_iter().flat_map(move |a| of_vertex(a, v)))
        .collect();
    assert_eq!(expected.len(), VERTICES as usize * STRIDE);
    for resources in RESOURCES {
        let mut gpu = open_with(OpenOptions { resources, ..OpenOptions::default() });
        for backend in gpu.backends().to_vec() {
            let found = capture(&mut gpu, &words, backend, &vertex_input, &buffers);
            assert_eq!(found, expected, "{backend}");
        }
    }
}

fn capture(
    gpu: &mut TestDevice,
    words: &[u32],
    backend: Backend,
    vertex_input: &VertexInput,
    buffers: &[Vec<u8>],
) -> Vec<u8> {
    let capture = |(name, offset): (&str, u32)| {
        let selector = Selector::Name(name.to_owned());
        CaptureEntry::new(selector, 0, offset)
    };
    let captures = [("m", 0), ("n", 64), ("w", 112)].map(capture).to_vec();
    let list =
        CaptureList::default().captures(captures).strides([Some(STRIDE as u32), None, None, None]);
    let shader = Shader::new(words).captures(&list);
    let lowered = lower_on(gpu, backend, &shader, vertex_input);
    common::validate(&lowered.words, "vulkan1.0");
    let draw =
        Draw { vertex_count: VERTICES, instance_count: 1, first_vertex: 0, first_instance: 0 };
    let draws = Draws {
        lowered: &lowered,
        vertex_input,
        vertex_data: buffers,
        sets: &[],
        push_constants: &[],
        topology: PrimitiveTopology::LineList,
        draws: &[draw],
    };
    draws.capture(gpu).remove(0).unwrap()
}

/// Members of a block may have locations. A member without a location follows the previous member.
#[test]
fn members_of_a_block_have_locations() {
    let words = common::assemble(
        &SHADER
            .replace("OpDecorate %in_w Location 11", "OpDecorate %struct_w Block")
            .replace(
                "OpMemberDecorate %matrix4 0",
                "OpMemberDecorate %struct_w 0 Location 20
                 OpMemberDecorate %struct_w 1 Location 12
                 OpMemberDecorate %struct_w 2 Location 17
                 OpMemberDecorate %struct_w 3 Location 17
                 OpMemberDecorate %struct_w 3 Component 1
                 OpMemberDecorate %matrix4 0",
            )
            .replace("OpDecorate %out_w Location 10", ""),
        "vulkan1.0",
    );
    let reads = vertex_reads(&Shader::new(&words)).unwrap();
    let found: Vec<_> = reads.attributes.iter().map(|a| (a.location, a.components)).collect();
    // Two members share a location, of which the first to come says what class it is.
    assert_eq!(found[10..], [(12, 1), (13, 1), (17, 4), (20, 1)]);
}

#[test]
fn what_no_attribute_fills_is_named() {
    let error = |from: &str, to: &str| {
        let words = common::assemble(&SHADER.replace(from, to), "vulkan1.0");
        vertex_reads(&Shader::new(&words)).unwrap_err()
    };
    let far = error("OpDecorate %in_n Location 5", "OpDecorate %in_n Location 251");
    assert!(matches!(far, LowerError::LocationLimit { last: 256, max: 256, .. }), "{far}");
    let none = error("OpDecorate %in_w Location 11", "");
    assert!(matches!(none, LowerError::NoLocation { .. }), "{none}");
    assert!(none.to_string().starts_with("input 'i.w' ("), "{none}");
    let empty =
        error("%struct_w = OpTypeStruct %uint %array_w %float %ivec3", "%struct_w = OpTypeStruct");
    assert!(matches!(empty, LowerError::InputType { .. }), "{empty}");
    assert!(empty.to_string().contains("is struct; "), "{empty}");
}
