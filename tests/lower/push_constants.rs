//! The application's push constants on the backends whose sysvals are push constants of the device:
//! tests the lowered modules. Other tests compare the values in captures.

use std::ops::Range;

use vkxfb_rewriter::lower::reflect::{PushConstant, push_constants};
use vkxfb_rewriter::lower::{Backend, LowerError, Lowered, Shader, native};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;

use super::shaders::all_of;
use crate::common;
use crate::common::settings::ways_of;

/// Returns a shader that declares push constants, and whose captured value is computed from them.
fn source(extensions: &[&str], declarations: &str, value: &str) -> String {
    let extensions: String =
        extensions.iter().map(|name| format!("#extension {name} : require\n")).collect();
    format!(
        "#version 450
         {extensions}
         {declarations}
         layout(location = 0) in vec4 first;
         layout(location = 1) in vec4 second;
         layout(location = 2) in vec4 third;
         layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out vec4 captured;
         void main() {{ captured = first + second + third + vec4({value}); }}"
    )
}

/// Validates all modules to which a shader is lowered, in every SPIR-V version. Returns the range
/// of bytes that the shader reads.
fn valid(source: &str) -> Range<u32> {
    let mut found = None;
    let mut ways = Vec::new();
    for (version, target) in common::VERSIONS {
        ways.push((version, target, &[][..]));
        // Its extension is not of 1.0, and glslang's debug info of pointers has ids that are 0.
        if version != "spirv1.0" && !source.contains("reference") {
            ways.push((version, target, &["-gVS"]));
        }
    }
    // Sources that differ are compiled in other ways.
    for (version, target, debug) in ways_of(&ways, source.len()) {
        let words = common::compile(source, &[&["--target-env", version], *debug].concat());
        for lowered in all_of(&Shader::new(&words)) {
            let lowered = lowered.unwrap_or_else(|error| panic!("{version}: {error}"));
            common::validate(&lowered.words, target);
            assert_private(&lowered);
            let range = found.get_or_insert_with(|| lowered.push_constants.clone());
            assert_eq!(*range, lowered.push_constants, "{version} {}", lowered.backend());
        }
    }
    found.unwrap()
}

/// Checks that the sysvals are the only push constants.
fn assert_private(lowered: &Lowered) {
    let text = common::disassemble(&lowered.words);
    let blocks = text
        .lines()
        .filter(|line| line.contains("OpVariable") && line.trim_end().ends_with(" PushConstant"));
    assert_eq!(blocks.count(), 1, "{text}");
}

/// Returns the range of the push constants that each of the lowered modules of a shader reads.
fn read(source: &str) -> Range<u32> {
    let words = common::compile(source, &[]);
    let ranges = all_of(&Shader::new(&words)).map(|lowered| lowered.unwrap().push_constants);
    assert!(ranges.iter().all(|range| *range == ranges[0]), "{ranges:?}");
    ranges[0].clone()
}

#[test]
fn numbers_of_32_bits() {
    let declarations = "
        struct Light { vec3 colour; float reach; ivec2 at[2]; };
        layout(push_constant, std430) uniform Push {
            float scalar;
            layout(offset = 8) vec2 two;
            vec3 three;
            int number;
            uvec4 four;
            layout(row_major) mat3x2 rows;
            mat3x2 columns;
            Light lights[2];
            mat2 more[2];
        } p;
        float of(Light light) { return light.colour.z + light.reach + light.at[1].y; }";
    let all = "p.scalar + p.two.y + p.three.z + p.number + p.four.w + p.rows[1][1] + p.columns[2].x
        + of(p.lights[0]) + p.lights[gl_VertexIndex & 1].at[gl_InstanceIndex & 1].y
        + p.more[1][gl_VertexIndex & 1].x";
    assert_eq!(valid(&source(&[], declarations, all)), 0..208);
    // What is read of it, in multiples of 16.
    for (value, range) in [
        ("p.scalar", 0..16),
        ("p.two.x", 0..16),
        ("p.three.x + p.number", 16..32),
        ("p.rows[2].x", 48..64),
        ("p.columns[2].x", 96..112),
        ("p.lights[1].reach", 144..160),
        ("p.lights[gl_VertexIndex & 1].reach", 112..176),
        ("p.more[gl_VertexIndex & 1][1].x", 176..208),
        ("p.scalar + p.more[1][1].y", 0..208),
    ] {
        assert_eq!(read(&source(&[], declarations, value)), range, "{value}");
    }
}

#[test]
fn numbers_of_64_bits() {
    let declarations = "
        layout(push_constant, std430) uniform Push {
            double scalar;
            int64_t number;
            u64vec2 pair;
            dvec3 three;
            layout(row_major) dmat2x3 rows;
            dmat2 columns[2];
        } p;";
    let value = "float(p.scalar + double(p.number) + double(p.pair.y) + p.three.z + p.rows[1][2]
        + p.columns[gl_VertexIndex & 1][1].x)";
    let extensions = ["GL_ARB_gpu_shader_int64"];
    assert_eq!(valid(&source(&extensions, declarations, value)), 0..176);
}

/// The shader computes with these numbers, so it may have variables of their types.
#[test]
fn numbers_of_8_and_16_bits() {
    let extensions = [
        "GL_EXT_shader_explicit_arithmetic_types",
        "GL_EXT_shader_8bit_storage",
        "GL_EXT_shader_16bit_storage",
    ];
    let declarations = "
        layout(push_constant, std430) uniform Push {
            uint8_t byte;
            i8vec3 bytes;
            int16_t half_word;
            u16vec3 half_words;
            float16_t half_float;
            f16vec4 half_floats;
            layout(row_major) f16mat2x3 rows;
            f16mat2 columns[2];
        } p;";
    let value = "float(p.byte * uint8_t(3)) + float(p.bytes.z * int8_t(3)) + float(p.half_word * int16_t(3))
        + float(p.half_words.z * uint16_t(3)) + float(p.half_float * float16_t(3.0) + p.half_floats.w)
        + float(p.rows[1][2]) + float(p.columns[gl_VertexIndex & 1][1].y)";
    let range = valid(&source(&extensions, declarations, value));
    assert_eq!(range.start, 0);
}

/// If only the storage features are enabled, other variables must not have these types.
#[test]
fn numbers_that_only_push_constants_may_have() {
    let extensions = ["GL_EXT_shader_8bit_storage", "GL_EXT_shader_16bit_storage"];
    for (ty, value, end) in [
        ("uint8_t", "float(uint(p.lights[1].narrow))", 80),
        ("int16_t", "float(int(p.lights[gl_VertexIndex & 1].narrow))", 80),
        ("f16vec3", "vec3(p.lights[0].narrow).zxyz", 48),
        ("i8vec2", "p.a + vec2(ivec2(p.lights[1].narrow)).yxyy", 80),
    ] {
        let declarations = format!(
            "struct Light {{ vec4 colour; {ty} narrow; }};
             layout(push_constant) uniform Push {{ float a; Light lights[2]; }} p;"
        );
        assert_eq!(valid(&source(&extensions, &declarations, value)).end, end, "{ty}");
        let words = common::compile(&source(&extensions, &declarations, value), &[]);
        for lowered in all_of(&Shader::new(&words)) {
            let text = common::disassemble(&lowered.unwrap().words);
            let arithmetic = ["Int8", "Int16", "Float16"];
            assert!(!arithmetic.iter().any(|name| text.contains(&format!("OpCapability {name}"))));
        }
    }
}

/// Without arithmetic of that width, converted values cannot be combined to a matrix, although a
/// buffer may contain one. The error names the matrix.
#[test]
fn matrices_that_only_push_constants_may_have_are_named() {
    let module = |capabilities: &str| {
        let source = format!(
            r#"
            OpCapability Shader
            OpCapability TransformFeedback
            OpCapability StoragePushConstant16
            OpCapability StorageBuffer16BitAccess
            {capabilities}
            OpExtension "SPV_KHR_16bit_storage"
            OpMemoryModel Logical GLSL450
            OpEntryPoint Vertex %main "main" %captured
            OpExecutionMode %main Xfb
            OpDecorate %captured Location 0
            OpDecorate %captured XfbBuffer 0
            OpDecorate %captured XfbStride 4
            OpDecorate %captured Offset 0
            OpDecorate %buffer DescriptorSet 0
            OpDecorate %buffer Binding 0
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            OpMemberDecorate %block 0 ColMajor
            OpMemberDecorate %block 0 MatrixStride 4
            OpMemberDecorate %block 1 Offset 8
            %void = OpTypeVoid
            %procedure = OpTypeFunction %void
            %float = OpTypeFloat 32
            %half = OpTypeFloat 16
            %half2 = OpTypeVector %half 2
            %uint = OpTypeInt 32 0
            %0u = OpConstant %uint 0
            %1u = OpConstant %uint 1
            %matrix = OpTypeMatrix %half2 2
            %block = OpTypeStruct %matrix %float
            %to_push = OpTypePointer PushConstant %block
            %to_pushed = OpTypePointer PushConstant %float
            %to_matrix = OpTypePointer PushConstant %matrix
            %to_buffer = OpTypePointer StorageBuffer %block
            %to_bound = OpTypePointer StorageBuffer %matrix
            %output = OpTypePointer Output %float
            %push = OpVariable %to_push PushConstant
            %buffer = OpVariable %to_buffer StorageBuffer
            %captured = OpVariable %output Output
            %main = OpFunction %void None %procedure
            %entry = OpLabel
            %from = OpAccessChain %to_matrix %push %0u
            %whole = OpLoad %matrix %from
            %to = OpAccessChain %to_bound %buffer %0u
            OpStore %to %whole
            %at = OpAccessChain %to_pushed %push %1u
            %pushed = OpLoad %float %at
            OpStore %captured %pushed
            OpReturn
            OpFunctionEnd"#
        );
        let words = common::assemble(&source, "spv1.3");
        common::validate(&words, "vulkan1.1");
        words
    };
    let words = module("");
    for lowered in all_of(&Shader::new(&words)) {
        let error = lowered.unwrap_err();
        assert!(matches!(error, LowerError::NarrowComposite { .. }), "{error}");
        assert!(error.to_string().contains(" is f16mat2, or copies it as a whole"), "{error}");
    }
    assert!(native::lower(&Shader::new(&words)).is_ok());
    for lowered in all_of(&Shader::new(&module("OpCapability Float16"))) {
        common::validate(&lowered.unwrap().words, "vulkan1.1");
    }
}

#[test]
fn device_addresses() {
    let declarations = "
        layout(buffer_reference) buffer Node;
        layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {
            vec4 value;
            Node next;
        };
        struct Mesh { Node first; uvec2 bits; };
        layout(push_constant, std430) uniform Push {
            float scale;
            Node node;
            Mesh meshes[2];
            Node array[2];
        } p;
        vec4 follow(Node node) { return node.next.value; }";
    let value = "p.scale * p.node.value + follow(p.meshes[1].first)
        + p.array[gl_VertexIndex & 1].next.value + Node(p.meshes[0].bits).value";
    let extensions = ["GL_EXT_buffer_reference", "GL_EXT_buffer_reference_uvec2"];
    assert_eq!(valid(&source(&extensions, declarations, value)), 0..64);
}

/// A specialization constant determines the length of an array.
#[test]
fn lengths_may_be_specialised() {
    let declarations = "
        layout(constant_id = 7) const uint count = 2;
        layout(push_constant) uniform Push { vec4 head; vec4 values[count]; } p;";
    let source = source(&[], declarations, "p.values[gl_VertexIndex % count]");
    assert_eq!(valid(&source), 16..48);
    let words = common::compile(&source, &[]);
    let specialization = &[SpecializationConstant { constant_id: 7, data: &6u32.to_le_bytes() }];
    for lowered in all_of(&Shader::new(&words).specialization(specialization)) {
        let lowered = lowered.unwrap();
        common::validate(&lowered.words, "vulkan1.0");
        assert_eq!(lowered.push_constants, 16..112);
    }
}

/// A uniform buffer has the same type as the block, and keeps its layout. The block is loaded as a
/// whole.
#[test]
fn types_that_buffers_share() {
    const SHARED: &str = r#"
        OpCapability Shader
        OpCapability TransformFeedback
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %main "main" %captured INTERFACE
        OpExecutionMode %main Xfb
        OpName %block "shared"
        OpDecorate %captured Location 0
        OpDecorate %captured XfbBuffer 0
        OpDecorate %captured XfbStride 16
        OpDecorate %captured Offset 0
        OpDecorate %uniform DescriptorSet 0
        OpDecorate %uniform Binding 0
        OpDecorate %array ArrayStride 16
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 16
        OpMemberDecorate %block 1 Offset 32
        OpMemberDecorate %block 1 ColMajor
        OpMemberDecorate %block 1 MatrixStride 16
        OpMemberDecorate %inner 0 Offset 0
        %void = OpTypeVoid
        %procedure = OpTypeFunction %void
        %float = OpTypeFloat 32
        %vec4 = OpTypeVector %float 4
        %mat4 = OpTypeMatrix %vec4 4
        %uint = OpTypeInt 32 0
        %0u = OpConstant %uint 0
        %2u = OpConstant %uint 2
        %array = OpTypeArray %vec4 %2u
        %inner = OpTypeStruct %array
        %block = OpTypeStruct %vec4 %mat4
        %to_push = OpTypePointer PushConstant %block
        %to_uniform = OpTypePointer Uniform %block
        %to_vec4 = OpTypePointer Uniform %vec4
        %output = OpTypePointer Output %vec4
        %push = OpVariable %to_push PushConstant
        %uniform = OpVariable %to_uniform Uniform
        %captured = OpVariable %output Output
        %main = OpFunction %void None %procedure
        %entry = OpLabel
        %whole = OpLoad %block %push
        %pushed = OpCompositeExtract %vec4 %whole 1 3
        %at = OpAccessChain %to_vec4 %uniform %0u
        %bound = OpLoad %vec4 %at
        %sum = OpFAdd %vec4 %pushed %bound
        OpStore %captured %sum
        OpReturn
        OpFunctionEnd
    "#;
    for (version, target, interface) in [
        ("spv1.0", "vulkan1.0", ""),
        ("spv1.4", "vulkan1.1spv1.4", "%push %uniform"),
        ("spv1.5", "vulkan1.2", "%push %uniform"),
        ("spv1.6", "vulkan1.3", "%push %uniform"),
    ] {
        let words = common::assemble(&SHARED.replace("INTERFACE", interface), version);
        common::validate(&words, target);
        for lowered in all_of(&Shader::new(&words)) {
            let lowered = lowered.unwrap();
            common::validate(&lowered.words, target);
            assert_private(&lowered);
            assert_eq!(lowered.push_constants, 16..96);
            let text = common::disassemble(&lowered.words);
            assert!(text.contains("OpMemberDecorate %shared 1 Offset 32"), "{text}");
        }
    }
}

/// A fragment shader in the module is removed if it uses the same block, or if it is the same
/// function. One that uses no push constants is kept.
#[test]
fn entry_points_that_share_push_constants() {
    let module = |fragment_reads: &str| {
        let source = format!(
            r#"
            OpCapability Shader
            OpCapability TransformFeedback
            OpMemoryModel Logical GLSL450
            OpEntryPoint Vertex %vertex "vertex" %captured
            OpEntryPoint Fragment %fragment "fragment" %colour
            OpExecutionMode %vertex Xfb
            OpExecutionMode %fragment OriginUpperLeft
            OpDecorate %captured Location 0
            OpDecorate %captured XfbBuffer 0
            OpDecorate %captured XfbStride 16
            OpDecorate %captured Offset 0
            OpDecorate %colour Location 0
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            OpMemberDecorate %block 1 Offset 16
            %void = OpTypeVoid
            %procedure = OpTypeFunction %void
            %float = OpTypeFloat 32
            %vec4 = OpTypeVector %float 4
            %int = OpTypeInt 32 1
            %int_0 = OpConstant %int 0
            %int_1 = OpConstant %int 1
            %block = OpTypeStruct %vec4 %vec4
            %to_block = OpTypePointer PushConstant %block
            %to_vec4 = OpTypePointer PushConstant %vec4
            %output = OpTypePointer Output %vec4
            %params = OpVariable %to_block PushConstant
            %captured = OpVariable %output Output
            %colour = OpVariable %output Output
            %vertex = OpFunction %void None %procedure
            %20 = OpLabel
            %21 = OpAccessChain %to_vec4 %params %int_1
            %22 = OpLoad %vec4 %21
            OpStore %captured %22
            OpReturn
            OpFunctionEnd
            %uncalled = OpFunction %void None %procedure
            %23 = OpLabel
            %24 = OpAccessChain %to_vec4 %params %int_0
            %25 = OpLoad %vec4 %24
            OpReturn
            OpFunctionEnd
            %fragment = OpFunction %void None %procedure
            %26 = OpLabel
            {fragment_reads}
            OpReturn
            OpFunctionEnd"#
        );
        common::assemble(&source, "spv1.3")
    };
    let reads = "%27 = OpAccessChain %to_vec4 %params %int_0
                 %28 = OpLoad %vec4 %27
                 OpStore %colour %28";
    for (fragment, is_kept) in [(reads, false), ("", true)] {
        let words = module(fragment);
        for lowered in all_of(&Shader::new(&words)) {
            let lowered = lowered.unwrap();
            common::validate(&lowered.words, "vulkan1.1");
            assert_private(&lowered);
            assert_eq!(lowered.push_constants, 16..32);
            let text = common::disassemble(&lowered.words);
            let is_kept = is_kept && lowered.backend() == Backend::Vertex;
            assert_eq!(text.contains("\"fragment\""), is_kept, "{text}");
        }
    }
}

/// The descriptors of attributes other than the inline attribute are placed after the push
/// constants that the shader reads.
#[test]
fn attributes_lie_behind_push_constants() {
    let slots = |value: &str| {
        let declarations = "layout(push_constant) uniform Push { vec4 values[8]; } p;";
        let words = common::compile(&source(&[], declarations, value), &[]);
        let [_, lowered, ..] = all_of(&Shader::new(&words)).map(Result::unwrap);
        let text = common::disassemble(&lowered.words);
        let calls = text.lines().filter(|line| line.contains("OpFunctionCall %v4uint %xfb_fetch4"));
        calls.map(|call| call.split_whitespace().nth(5).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(slots("0.0"), ["%uint_0", "%uint_1", "%uint_2"]);
    assert_eq!(slots("p.values[7].x"), ["%uint_0", "%uint_2", "%uint_3"]);
    assert_eq!(slots("p.values[2] + p.values[5]"), ["%uint_0", "%uint_5", "%uint_6"]);
}

/// The native backend keeps the whole block, even if the shader reads only a part of it.
#[test]
fn the_native_backend_leaves_them_as_they_are() {
    let declarations = "layout(push_constant) uniform Push {
        layout(offset = 20) float a; vec4 b; float c[3]; } p;";
    let words = common::compile(&source(&[], declarations, "p.b"), &[]);
    let lowered = native::lower(&Shader::new(&words)).unwrap();
    assert_eq!(lowered.words, words);
    assert_eq!(lowered.push_constants, 16..64);
    let words = common::compile(&source(&[], declarations, "0.0"), &[]);
    assert_eq!(native::lower(&Shader::new(&words)).unwrap().push_constants, 0..0);
}

#[test]
fn members_are_listed() {
    let list = |value: &str| {
        let declarations = "layout(push_constant) uniform Push {
            layout(offset = 16) mat2 matrix; vec4 values[2]; } p;";
        let words = common::compile(&source(&[], declarations, value), &[]);
        let found = push_constants(&Shader::new(&words)).unwrap();
        let row = |found: PushConstant| (found.offset, found.ty, found.name, found.is_read);
        found.into_iter().map(row).collect::<Vec<_>>()
    };
    let row = |offset, ty: &str, name: &str, is_read| {
        (offset, ty.to_owned(), Some(name.to_owned()), is_read)
    };
    let expected = [row(16, "mat2", "matrix", false), row(32, "vec4[2]", "values", true)];
    assert_eq!(list("p.values[gl_VertexIndex]"), expected);
    assert_eq!(list("0.0"), []);
}

/// naga wraps the block in a structure whose member has no name. Members are listed as of other compilers.
#[test]
fn members_of_a_wrapped_block_are_listed() {
    let source = "
        struct Light { place: vec4f }
        struct Push { matrix: mat4x4f, light: Light }
        var<immediate> p: Push;
        @vertex fn main() -> @builtin(position) vec4f { return p.matrix * p.light.place; }";
    let words = vkxfb_rewriter::frontend::wgsl::vertex_shader(source, None).unwrap();
    let found = push_constants(&Shader::new(&words)).unwrap();
    let row = |found: &PushConstant| (found.offset, found.name.clone().unwrap(), found.is_read);
    let rows: Vec<_> = found.iter().map(row).collect();
    let expected = [(0, "matrix".to_owned(), true), (64, "light".to_owned(), true)];
    assert_eq!(rows, expected);
}

#[test]
fn layouts_that_say_nothing_are_named() {
    let declarations = "layout(push_constant) uniform Push { vec4 a; vec4 values[3]; } p;";
    let words = common::compile(&source(&[], declarations, "p.values[1]"), &["-g"]);
    let text = common::disassemble(&words);
    let error = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let words = common::assemble(&text.replace(from, to), "vulkan1.0");
        let errors = all_of(&Shader::new(&words)).map(Result::unwrap_err);
        assert!(errors.iter().all(|error| *error == errors[0]));
        assert!(matches!(errors[0], LowerError::PushConstantLayout { .. }), "{}", errors[0]);
        errors[0].to_string()
    };
    let message = error("OpMemberDecorate %Push 1 Offset 16", "");
    assert!(message.starts_with("push constant 'values[1]' of 'p' (%"), "{message}");
    assert!(message.ends_with("has no Offset"), "{message}");
    let message = error("ArrayStride 16", "ArrayStride 5000");
    assert!(message.ends_with("ends behind byte 4096"), "{message}");
}
