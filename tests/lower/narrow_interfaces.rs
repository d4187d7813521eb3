//! Inputs, outputs and push constants of 8 and 16 bits: they are loaded with 32 bits, and converted
//! where the shader reads them.

use vkxfb::runtime::Draw;
use vkxfb_probe::gpu::OpenOptions;
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, Selector};
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Backend, LowerError, Shader, compute};
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

use crate::common;
use crate::common::device::{Draws, RESOURCES, lower_on};
use crate::common::test_device::TestDevice;

/// The number of vertices that are drawn.
const VERTICES: u32 = 7;
const POINTS: Draw =
    Draw { vertex_count: VERTICES, instance_count: 1, first_vertex: 0, first_instance: 0 };
/// The size of a record in bytes.
const STRIDE: u32 = 96;

/// Returns a shader whose inputs have types with the given prefixes: scalars, vectors, a matrix and
/// an array, which are read as a whole, in parts and with a dynamic index. Captured outputs have 32
/// bits. Half of the other outputs are as narrow as the inputs.
fn shader(float: &str, vec: &str, mat: &str, ivec: &str, uvec: &str) -> String {
    format!(
        "#version 450
        #extension GL_EXT_shader_explicit_arithmetic_types : require
        layout(location = 0) in {vec}4 a;
        layout(location = 1) in {ivec}2 b;
        layout(location = 2) in {uvec}3 c;
        layout(location = 3) in {mat}2x3 d;
        layout(location = 5) in {float} e[2];
        layout(location = 7, component = 1) in {vec}2 f;
        layout(location = 0) out vec4 out_a;
        layout(location = 1) out ivec2 out_b;
        layout(location = 2) out uvec3 out_c;
        layout(location = 3) out mat2x3 out_d;
        layout(location = 5) out vec3 out_e;
        layout(location = 6) out vec2 out_f;
        layout(location = 7) out {vec}3 narrow;
        layout(location = 8) out {float} list[2];
        void main() {{
            out_a = vec4(a);
            out_b = ivec2(b);
            out_c = uvec3(c);
            out_d = mat2x3(vec3(d[0]), vec3(d[1]));
            out_e = vec3(float(e[0]), float(e[1]), float(e[gl_VertexIndex & 1]));
            narrow = a.zyx;
            list[0] = e[1];
            list[gl_VertexIndex & 1] = e[0];
            out_f = vec2(f) + vec2(float(narrow.x), float(list[gl_VertexIndex & 1]));
            gl_Position = vec4(0.0);
        }}"
    )
}

fn list() -> CaptureList {
    let offsets = [0, 16, 24, 36, 60, 72];
    let outputs = ["out_a", "out_b", "out_c", "out_d", "out_e", "out_f"];
    let capture = |(name, offset): (&str, u32)| {
        let selector = Selector::Name(name.to_owned());
        CaptureEntry::new(selector, 0, offset)
    };
    let captures = outputs.into_iter().zip(offsets).map(capture).collect();
    CaptureList::default().captures(captures).strides([Some(STRIDE), None, None, None])
}

/// Returns formats with 8, 16 and 32 bits per component, with values that 16 bits can represent
/// exactly.
fn vertex_input() -> VertexInput {
    use VertexFormat::*;
    formats(&[
        (0, R16G16B16A16Sfloat),
        (1, R8G8Sint),
        (2, R16G16B16Uint),
        (3, R16G16B16Sfloat),
        (4, R32G32B32Sfloat),
        (5, R8Uscaled),
        (6, R16Sfloat),
        // Components that the format lacks: 0.
        (7, R16G16Sfloat),
    ])
}

/// Returns a vertex input state with a separate binding for each format.
fn formats(formats: &[(u32, VertexFormat)]) -> VertexInput {
    let mut input = VertexInput::default();
    for (binding, &(location, format)) in (0..).zip(formats) {
        let (stride, input_rate) = (format.size(), InputRate::Vertex);
        input.bindings.push(VertexBinding { binding, stride, input_rate });
        input.attributes.push(VertexAttribute { location, binding, format, offset: 0 });
    }
    input
}

fn number(vertex: u32, location: u32, component: u32) -> u32 {
    1 + vertex * 29 + location * 7 + component
}

/// Returns small integers in the format of an attribute. They are exact both as 16-bit floats and
/// as 8-bit integers.
fn data(attribute: &VertexAttribute) -> Vec<u8> {
    use VertexFormat::*;
    let (format, location) = (attribute.format, attribute.location);
    let half = |number: u32| match number {
        0 => 0u16,
        // 5 bits of exponent, 10 of the number behind its first bit.
        _ => ((number.ilog2() + 15) << 10 | (number << (10 - number.ilog2())) & 0x3ff) as u16,
    };
    let value = |vertex: u32, component: u32| {
        let number = number(vertex, location, component);
        match format {
            R32G32B32Sfloat => (number as f32).to_le_bytes().to_vec(),
            R32Uint => number.to_le_bytes().to_vec(),
            R8Sint | R8G8Sint | R8Uscaled => vec![number as u8],
            R16G16B16Uint => (number as u16 | 0xff00).to_le_bytes().to_vec(),
            _ => half(number).to_le_bytes().to_vec(),
        }
    };
    let of_vertex = |vertex| (0..format.components()).flat_map(move |c| value(vertex, c));
    (0..VERTICES).flat_map(of_vertex).collect()
}

fn capture(
    gpu: &mut TestDevice,
    words: &[u32],
    target: &str,
    list: &CaptureList,
    vertex_input: &VertexInput,
) -> Vec<u8> {
    let shader = Shader::new(words).captures(list);
    let lowered = lower_on(gpu, Backend::Compute, &shader, vertex_input);
    common::validate(&lowered.words, target);
    let draws = Draws {
        lowered: &lowered,
        vertex_input,
        vertex_data: &vertex_input.attributes.iter().map(data).collect::<Vec<_>>(),
        sets: &[],
        push_constants: &[],
        topology: PrimitiveTopology::PointList,
        draws: &[POINTS],
    };
    draws.capture(gpu).remove(0).unwrap()
}

/// Inputs of 16 bits have the same values as inputs of 32 bits.
#[test]
fn narrow_inputs_are_those_of_32_bits() {
    // Without the validation layer, which requires `shaderFloat16` and `shaderInt16` to be enabled:
    // captures do not need them, and the driver accepts such modules.
    let mut gpu = TestDevice::open(&OpenOptions::default());
    let wide = common::compile(&shader("float", "vec", "mat", "ivec", "uvec"), &[]);
    let expected = capture(&mut gpu, &wide, "vulkan1.0", &list(), &vertex_input());
    let narrow = shader("float16_t", "f16vec", "f16mat", "i16vec", "u16vec");
    for arguments in [&[][..], &["-gVS", "--target-env", "vulkan1.1"], &["-Od"]] {
        let words = common::compile(&narrow, arguments);
        let found = capture(&mut gpu, &words, "vulkan1.1", &list(), &vertex_input());
        assert_eq!(found, expected, "{arguments:?}");
    }
    let messages = gpu.close();
    assert!(messages.is_empty(), "{messages:?}");
}

/// Vulkan allows attributes of any width for these inputs, so they are reported as inputs of 32
/// bits.
#[test]
fn narrow_inputs_read_the_formats_of_32_bits() {
    let reads = |source: &str| vertex_reads(&Shader::new(&common::compile(source, &[]))).unwrap();
    let narrow = reads(&shader("float16_t", "f16vec", "f16mat", "i16vec", "u16vec"));
    assert_eq!(narrow, reads(&shader("float", "vec", "mat", "ivec", "uvec")));
}

/// A block with members of two types, which is loaded and stored as a whole, as in modules from
/// Slang.
const BLOCK: &str = r#"
    OpCapability Shader
    OpCapability Float16
    OpCapability Int8
    OpCapability StorageInputOutput16
    OpExtension "SPV_KHR_16bit_storage"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %main "main" %in %copy %a %b
    OpName %in "in"
    OpName %copy "copy"
    OpName %a "a"
    OpName %b "b"
    OpDecorate %block Block
    OpMemberDecorate %block 0 Location 2
    OpMemberDecorate %block 1 Location 5
    OpMemberDecorate %block 2 Location 4
    OpDecorate %a Location 10
    OpDecorate %b Location 11
    OpDecorate %b Flat
    %void = OpTypeVoid
    %procedure = OpTypeFunction %void
    %half = OpTypeFloat 16
    %half4 = OpTypeVector %half 4
    %byte = OpTypeInt 8 1
    %uint = OpTypeInt 32 0
    %two = OpConstant %uint 2
    %one = OpConstant %uint 1
    %bytes = OpTypeArray %byte %two
    %block = OpTypeStruct %half4 %bytes %uint
    %to_in = OpTypePointer Input %block
    %to_out = OpTypePointer Output %block
    %to_byte = OpTypePointer Output %byte
    %in = OpVariable %to_in Input
    %copy = OpVariable %to_out Output
    %float = OpTypeFloat 32
    %float4 = OpTypeVector %float 4
    %int = OpTypeInt 32 1
    %to_float4 = OpTypePointer Output %float4
    %to_int = OpTypePointer Output %int
    %a = OpVariable %to_float4 Output
    %b = OpVariable %to_int Output
    %main = OpFunction %void None %procedure
    %entry = OpLabel
    %whole = OpLoad %block %in
    OpStore %copy %whole
    %a16 = OpCompositeExtract %half4 %whole 0
    %doubled = OpFAdd %half4 %a16 %a16
    %a32 = OpFConvert %float4 %doubled
    OpStore %a %a32
    %from = OpAccessChain %to_byte %copy %one %one
    %b8 = OpLoad %byte %from
    %b32 = OpSConvert %int %b8
    OpStore %b %b32
    OpReturn
    OpFunctionEnd
"#;

#[test]
fn composites_are_converted_by_part() {
    use VertexFormat::*;
    let words = common::assemble(BLOCK, "vulkan1.1");
    common::validate(&words, "vulkan1.1");
    let capture_of = |name: &str, offset| {
        let selector = Selector::Name(name.to_owned());
        CaptureEntry::new(selector, 0, offset)
    };
    let captures = vec![capture_of("a", 0), capture_of("b", 16)];
    let list = CaptureList::default().captures(captures).strides([Some(20), None, None, None]);
    let input = formats(&[(2, R16G16B16A16Sfloat), (4, R32Uint), (5, R8Sint), (6, R8Sint)]);
    let mut gpu = TestDevice::open(&OpenOptions::default());
    let found = capture(&mut gpu, &words, "vulkan1.1", &list, &input);
    let expected: Vec<u8> = (0..VERTICES)
        .flat_map(|vertex| {
            let doubled = (0..4).map(|c| (2 * number(vertex, 2, c)) as f32);
            let byte = i32::from(number(vertex, 6, 0) as u8 as i8);
            doubled.flat_map(f32::to_le_bytes).chain(byte.to_le_bytes()).collect::<Vec<u8>>()
        })
        .collect();
    assert_eq!(found, expected);
    let messages = gpu.close();
    assert!(messages.is_empty(), "{messages:?}");
}

/// A shader that only converts 16-bit values does not need 16-bit arithmetic, so no capability for
/// it is added.
#[test]
fn no_capability_is_added() {
    let capabilities = |words: &[u32]| {
        let text = common::disassemble(words);
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("OpCapability "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let lowered = |declarations: &str, body: &str| {
        let source = format!(
            "#version 450
            #extension GL_EXT_shader_explicit_arithmetic_types : require
            #extension GL_EXT_shader_16bit_storage : require
            layout(location = 0) in f16vec4 read;
            layout(location = 0) out vec4 o;
            {declarations}
            void main() {{ o = vec4(read); {body} }}"
        );
        let words = common::compile(&source, &[]);
        let captures = [Selector::Name("o".to_owned())];
        let captures = captures.map(|selector| CaptureEntry::new(selector, 0, 0)).to_vec();
        let list = CaptureList::default().captures(captures).strides([Some(16), None, None, None]);
        let shader = Shader::new(&words).captures(&list);
        let input = vertex_reads(&shader).unwrap().packed_vertex_input();
        let lowered = compute::lower(&shader, &compute::Options::new(&input)).unwrap();
        common::validate(&lowered.words, "vulkan1.1");
        capabilities(&lowered.words)
    };
    let has = |all: &[String], which: &str| all.iter().any(|one| one == which);
    let plain = lowered("", "");
    assert!(has(&plain, "StorageInputOutput16") && !has(&plain, "Float16"), "{plain:?}");
    let arithmetic = lowered("", "f16vec4 sum = read + read; o += vec4(sum);");
    assert!(!has(&arithmetic, "StorageInputOutput16") && has(&arithmetic, "Float16"));
    let buffer = "layout(set = 0, binding = 0) buffer B { float16_t values[]; } b;";
    let stored = lowered(buffer, "b.values[gl_VertexIndex] = read.x;");
    assert!(!has(&stored, "StorageInputOutput16") && !has(&stored, "Float16"), "{stored:?}");
}

/// Numbers of 8 and 16 bits that the shader only converts, so that its module does not declare
/// arithmetic of that width: within one dword and across several, in matrix rows, in arrays and
/// with a dynamic index.
const PUSHED: &str = "#version 450
    #extension GL_EXT_shader_explicit_arithmetic_types : require
    #extension GL_EXT_shader_8bit_storage : require
    #extension GL_EXT_shader_16bit_storage : require
    struct Light { float wide; uint8_t narrow; };
    layout(push_constant, std430) uniform Push {
        uint8_t a;
        i8vec4 b;
        u8vec3 c;
        int16_t d;
        u16vec4 e;
        f16vec4 f;
        layout(row_major, offset = 32) f16mat2x3 g;
        layout(offset = 48) int16_t h[3];
        layout(offset = 56) Light lights[2];
    } p;
    int second(Light light) { return int(light.narrow); }
    layout(location = 0, xfb_buffer = 0, xfb_stride = 88, xfb_offset = 0) out ivec4 out_b;
    layout(location = 1, xfb_buffer = 0, xfb_offset = 16) out uvec3 out_c;
    layout(location = 2, xfb_buffer = 0, xfb_offset = 28) out uvec4 out_e;
    layout(location = 3, xfb_buffer = 0, xfb_offset = 44) out vec4 out_f;
    layout(location = 4, xfb_buffer = 0, xfb_offset = 60) out vec3 out_g;
    layout(location = 5, xfb_buffer = 0, xfb_offset = 72) out ivec4 out_ints;
    void main() {
        out_b = ivec4(p.b);
        out_c = uvec3(p.c);
        out_e = uvec4(p.e);
        out_f = vec4(p.f);
        out_g = vec3(p.g[gl_VertexIndex & 1]);
        int light = int(p.lights[gl_VertexIndex & 1].narrow);
        out_ints = ivec4(int(p.a), int(p.d), int(p.h[gl_VertexIndex % 3]), light);
    }";

/// Returns the push constants that [`PUSHED`] reads.
fn pushed() -> Vec<u8> {
    let mut bytes = vec![0xee; 72];
    let mut push = |at: usize, values: &[u16], size: usize| {
        for (value, to) in values.iter().zip(bytes[at..].chunks_exact_mut(size)) {
            to.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    };
    push(0, &[200], 1);
    push(4, &[0xff, 0x80, 5, 0x7f], 1);
    push(8, &[255, 0, 7], 1);
    push(12, &[-300i16 as u16], 2);
    push(16, &[1, 0xffff, 0x8000, 300], 2);
    // 1.5, -2.0, 65504.0, -0.0
    push(24, &[0x3e00, 0xc000, 0x7bff, 0x8000], 2);
    // Three rows: 1.0, 2.0; 3.0, 4.0; 5.0, 6.0.
    push(32, &[0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600], 2);
    push(48, &[11, -12i16 as u16, 13], 2);
    push(60, &[0x80], 1);
    push(68, &[0x7f], 1);
    bytes
}

fn expected_of_pushed() -> Vec<u8> {
    (0..VERTICES)
        .flat_map(|vertex| {
            let row = |even: f32| (0..3).map(move |r| even + 2.0 * r as f32 + (vertex % 2) as f32);
            let ints =
                [200, -300, [11, -12, 13][vertex as usize % 3], [128, 127][vertex as usize % 2]];
            let dwords =
                [-1, -128, 5, 127, 255, 0, 7, 1, 0xffff, 0x8000, 300].map(|i: i32| i as u32);
            let floats = [1.5, -2.0, 65504.0, -0.0].into_iter().chain(row(1.0)).map(f32::to_bits);
            let all = dwords.into_iter().chain(floats).chain(ints.map(|i: i32| i as u32));
            all.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
        })
        .collect()
}

#[test]
fn push_constants_are_widened() {
    let vertex_input = VertexInput::default();
    for resources in RESOURCES {
        // As above, without the validation layer: the driver has `storagePushConstant8` and its
        // like enabled.
        let mut gpu = TestDevice::open(&OpenOptions { resources, ..Default::default() });
        for backend in gpu.backends().to_vec() {
            for arguments in [&[][..], &["-gVS", "--target-env", "vulkan1.1"], &["-Od"]] {
                let words = common::compile(PUSHED, arguments);
                let lowered = lower_on(&gpu, backend, &Shader::new(&words), &vertex_input);
                common::validate(&lowered.words, "vulkan1.1");
                let draws = Draws {
                    lowered: &lowered,
                    vertex_input: &vertex_input,
                    vertex_data: &[],
                    sets: &[],
                    push_constants: &[pushed()],
                    topology: PrimitiveTopology::PointList,
                    draws: &[POINTS],
                };
                let found = draws.capture(&mut gpu).remove(0).unwrap();
                assert_eq!(found, expected_of_pushed(), "{backend} {arguments:?}");
            }
        }
        let messages = gpu.close();
        assert!(messages.is_empty(), "{messages:?}");
    }
}

#[test]
fn what_cannot_be_widened_is_named() {
    let error = |from: &str, to: &str| {
        let words = common::assemble(&BLOCK.replace(from, to), "vulkan1.1");
        vertex_reads(&Shader::new(&words)).unwrap_err()
    };
    let initialised = error(
        "%copy = OpVariable %to_out Output",
        "%null = OpConstantNull %block
         %copy = OpVariable %to_out Output %null",
    );
    assert!(matches!(initialised, LowerError::NarrowComposite { .. }), "{initialised}");
    assert!(initialised.to_string().starts_with("'copy' ("), "{initialised}");
    let many = error("%two = OpConstant %uint 2", "%two = OpConstant %uint 20000");
    assert!(matches!(many, LowerError::NarrowComposite { .. }), "{many}");

    // Captured are 32 and 64 bits.
    let source = shader("float16_t", "f16vec", "f16mat", "i16vec", "u16vec");
    let words = common::compile(&source, &[]);
    let selector = Selector::Name("narrow".to_owned());
    let captures = vec![CaptureEntry::new(selector, 0, 0)];
    let list = CaptureList::default().captures(captures).strides([Some(16), None, None, None]);
    let shader = Shader::new(&words).captures(&list);
    let vertex_input = vertex_input();
    let error = compute::lower(&shader, &compute::Options::new(&vertex_input)).unwrap_err();
    assert!(error.to_string().contains("'narrow'"), "{error}");
    assert!(error.to_string().contains("f16vec3; 32-bit and 64-bit"), "{error}");
}
