//! Layouts from decorations: for GLSL as glslang compiles it, and for invalid modules.

use proptest::prelude::*;
use vkxfb_rewriter::capture::{CaptureError, CapturedOutput, Layout};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;

use crate::common;

fn layout_of(words: &[u32]) -> Result<Layout, CaptureError> {
    let module = Module::parse(words).unwrap();
    let entry = find_vertex_shader(&module, None).unwrap();
    Layout::from_decorations(&module, &Declarations::of(&module), &entry)
}

fn layout_of_glsl(declarations: &str) -> Result<Layout, CaptureError> {
    layout_of(&common::compile(&format!("#version 450\n{declarations}\nvoid main() {{}}\n"), &[]))
}

/// Returns the layout of a vertex shader in assembly that does nothing. The arguments are its
/// outputs, the lines before its types, and its types and variables.
fn layout_of_assembly(
    outputs: &str,
    annotations: &str,
    declarations: &str,
) -> Result<Layout, CaptureError> {
    let source = format!(
        r#"
        OpCapability Shader
        OpCapability TransformFeedback
        OpCapability Float16
        OpCapability Int64
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %main "main" {outputs}
        {annotations}
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %float = OpTypeFloat 32
        {declarations}
        %main = OpFunction %void None %fn
        %label = OpLabel
        OpReturn
        OpFunctionEnd
        "#
    );
    layout_of(&common::assemble(&source, "vulkan1.0"))
}

/// Returns (buffer, offset, components, name) of each captured output.
fn summary(layout: &Layout) -> Vec<(u32, u32, u32, &str)> {
    layout
        .outputs
        .iter()
        .map(|o| (o.buffer, o.offset, o.components, o.name.as_deref().unwrap_or("")))
        .collect()
}

#[test]
fn variables_blocks_and_built_ins_are_captured() {
    let layout = layout_of_glsl(
        r#"
        layout(xfb_buffer = 2, xfb_stride = 24) out;
        layout(xfb_buffer = 0, xfb_stride = 64) out;
        layout(location = 0, xfb_buffer = 2, xfb_offset = 4) out ivec3 a;
        layout(location = 1, xfb_offset = 60) flat out uint b;
        layout(location = 2) out vec4 not_captured;
        layout(location = 3, xfb_buffer = 0) out Block {
            layout(xfb_offset = 24) vec2 c;
            float left_out;
            layout(xfb_offset = 16) float d;
        } block;
        out gl_PerVertex { layout(xfb_offset = 0) vec4 gl_Position; float gl_PointSize; };
        "#,
    )
    .unwrap();
    assert_eq!(layout.strides, [Some(64), None, Some(24), None]);
    assert_eq!(
        summary(&layout),
        [
            (0, 0, 4, "gl_Position"),
            (0, 16, 1, "block.d"),
            (0, 24, 2, "block.c"),
            (0, 60, 1, "b"),
            (2, 4, 3, "a"),
        ]
    );
}

/// glslang decorates gl_PerVertex with XfbBuffer and XfbStride in any module that captures.
#[test]
fn per_vertex_without_offsets_captures_nothing() {
    let layout = layout_of_glsl(
        "layout(location = 0, xfb_buffer = 1, xfb_stride = 4, xfb_offset = 0) out float a;
         out gl_PerVertex { vec4 gl_Position; };",
    )
    .unwrap();
    assert_eq!(layout.strides, [None, Some(4), None, None]);
}

/// Checks the varyings as OpenGL lists them: (offset, type, buffer index, count, name).
#[track_caller]
fn assert_varyings(layout: &Layout, expected: &[(u32, &str, u32, u32, &str)]) {
    let types: Vec<String> = layout.varyings.iter().map(|v| v.ty.to_string()).collect();
    let found: Vec<_> = layout
        .varyings
        .iter()
        .zip(&types)
        .map(|(v, ty)| (v.offset, ty.as_str(), v.buffer_index, v.count, v.name.as_str()))
        .collect();
    assert_eq!(found, expected);
}

/// Tables that Mesa's `nir_gather_xfb_info` returns.
mod gathered {
    use super::*;

    #[test]
    fn an_array_of_matrices_is_one_varying_of_twelve_outputs() {
        let layout =
            layout_of_glsl("layout(location = 0, xfb_buffer = 0, xfb_offset = 0) out mat4 var[3];")
                .unwrap();
        assert_eq!(layout.strides, [Some(192), None, None, None]);
        let outputs: Vec<_> =
            layout.outputs.iter().map(|o| (o.location, o.offset, o.components)).collect();
        let all: Vec<_> = (0..12).map(|i| (Some(i), i * 16, 4)).collect();
        assert_eq!(outputs, all);
        assert_varyings(&layout, &[(0, "GL_FLOAT_MAT4", 0, 3, "var")]);
    }

    #[test]
    fn structures_are_taken_apart() {
        let layout = layout_of_glsl(
            "struct Array { float x2_out; };
             struct AoA { Array x2_Array[2]; };
             struct S { float x1_out; AoA x2_AoA[2]; float x3_out; };
             layout(location = 0, xfb_offset = 0) out S s1;
             layout(location = 8, xfb_offset = 0, xfb_buffer = 2) out struct S2 {
                 float y1_out; vec4 y2_out;
             } s2;",
        )
        .unwrap();
        assert_varyings(
            &layout,
            &[
                (0, "GL_FLOAT", 0, 1, "s1.x1_out"),
                (4, "GL_FLOAT", 0, 1, "s1.x2_AoA[0].x2_Array[0].x2_out"),
                (8, "GL_FLOAT", 0, 1, "s1.x2_AoA[0].x2_Array[1].x2_out"),
                (12, "GL_FLOAT", 0, 1, "s1.x2_AoA[1].x2_Array[0].x2_out"),
                (16, "GL_FLOAT", 0, 1, "s1.x2_AoA[1].x2_Array[1].x2_out"),
                (20, "GL_FLOAT", 0, 1, "s1.x3_out"),
                (0, "GL_FLOAT", 1, 1, "s2.y1_out"),
                (4, "GL_FLOAT_VEC4", 1, 1, "s2.y2_out"),
            ],
        );
    }

    #[test]
    fn basic_types_and_their_arrays_are_not() {
        let layout = layout_of_glsl(
            "layout(location = 0, xfb_offset = 0) out float x1_out;
             layout(location = 1, xfb_offset = 4) out float x2_out[2];
             layout(location = 3, xfb_offset = 12) out vec3 x3_out;
             layout(xfb_buffer = 2) out;
             layout(location = 4, xfb_offset = 0, xfb_buffer = 2) out float y1_out;
             layout(location = 5, xfb_offset = 4) out vec4 y2_out;",
        )
        .unwrap();
        assert_varyings(
            &layout,
            &[
                (0, "GL_FLOAT", 0, 1, "x1_out"),
                (4, "GL_FLOAT", 0, 2, "x2_out"),
                (12, "GL_FLOAT_VEC3", 0, 1, "x3_out"),
                (0, "GL_FLOAT", 1, 1, "y1_out"),
                (4, "GL_FLOAT_VEC4", 1, 1, "y2_out"),
            ],
        );
    }

    #[test]
    fn an_array_of_arrays_is_a_varying_an_element() {
        let layout =
            layout_of_glsl("layout(location = 0, xfb_offset = 0) out float a[3][5];").unwrap();
        assert_varyings(
            &layout,
            &[
                (0, "GL_FLOAT", 0, 5, "a[0]"),
                (20, "GL_FLOAT", 0, 5, "a[1]"),
                (40, "GL_FLOAT", 0, 5, "a[2]"),
            ],
        );
    }
}

/// An example from Zink: 62 components in 256 bytes.
#[test]
fn structures_of_doubles_are_aligned() {
    let layout = layout_of_glsl(
        "struct TestStruct { dmat3x4 a; double b; float c; dvec2 d; };
         struct OuterStruct { TestStruct inner_struct_a, inner_struct_b; };
         layout(location = 0, xfb_offset = 0) flat out OuterStruct goku;",
    )
    .unwrap();
    assert_eq!(layout.strides[0], Some(256));
    let of = |base: u32, name: &'static str| {
        [
            (base, "GL_DOUBLE_MAT3x4", 0, 1, format!("goku.{name}.a")),
            (base + 96, "GL_DOUBLE", 0, 1, format!("goku.{name}.b")),
            (base + 104, "GL_FLOAT", 0, 1, format!("goku.{name}.c")),
            (base + 112, "GL_DOUBLE_VEC2", 0, 1, format!("goku.{name}.d")),
        ]
    };
    let all = [of(0, "inner_struct_a"), of(128, "inner_struct_b")].concat();
    let all: Vec<_> =
        all.iter().map(|(o, t, b, n, name)| (*o, *t, *b, *n, name.as_str())).collect();
    assert_varyings(&layout, &all);
    // dmat3x4 has three dvec4 columns of two locations each: the structure takes 18.
    assert_eq!(layout.outputs.iter().map(CapturedOutput::dwords).sum::<u32>(), 62);
    assert_eq!(layout.outputs.last().unwrap().location, Some(17));
}

#[test]
fn an_array_of_blocks_spreads_over_the_buffers() {
    let layout = layout_of_glsl(
        "layout(location = 20, xfb_buffer = 1) out B {
             layout(xfb_offset = 8) float q;
             layout(xfb_offset = 16) dvec3 z;
             mat2 m;
         } blocks[2];",
    )
    .unwrap();
    assert_eq!(layout.strides, [None, Some(40), Some(40), None]);
    assert_varyings(
        &layout,
        &[
            (8, "GL_FLOAT", 0, 1, "B[0].q"),
            (16, "GL_DOUBLE_VEC3", 0, 1, "B[0].z"),
            (8, "GL_FLOAT", 1, 1, "B[1].q"),
            (16, "GL_DOUBLE_VEC3", 1, 1, "B[1].z"),
        ],
    );
    let locations: Vec<_> = layout.outputs.iter().map(|o| o.location).collect();
    // q, z over two locations, and two columns of m.
    assert_eq!(locations, [Some(20), Some(21), Some(25), Some(26)]);
}

/// glslang moves the offset of a block to its members; other compilers may not.
#[test]
fn an_offset_on_a_block_lays_out_its_members() {
    let layout = layout_of_assembly(
        "%out",
        "OpExecutionMode %main Xfb
         OpDecorate %block Block
         OpMemberDecorate %block 2 Offset 40
         OpDecorate %out Location 3
         OpDecorate %out XfbBuffer 0
         OpDecorate %out XfbStride 64
         OpDecorate %out Offset 4",
        "%vec3 = OpTypeVector %float 3
         %block = OpTypeStruct %float %vec3 %float %vec3
         %pointer = OpTypePointer Output %block
         %out = OpVariable %pointer Output",
    )
    .unwrap();
    let places: Vec<_> = layout.outputs.iter().map(|o| (o.offset, o.location)).collect();
    assert_eq!(places, [(4, Some(3)), (8, Some(4)), (40, Some(5)), (44, Some(6))]);
}

#[test]
fn what_cannot_be_captured_is_an_error() {
    for (ty, said) in [
        ("%f16", "is float16_t"),
        ("%bool", "is bool"),
        ("%many", "ends at byte"),
        ("%empties", "nested too deeply"),
        ("%sized", "no 32-bit constant"),
    ] {
        let layout = layout_of_assembly(
            "%out",
            "OpExecutionMode %main Xfb
             OpName %out \"x\"
             OpDecorate %out Location 0
             OpDecorate %out XfbBuffer 0
             OpDecorate %out XfbStride 2048
             OpDecorate %out Offset 0",
            &format!(
                "%uint = OpTypeInt 32 0
                 %ulong = OpTypeInt 64 0
                 %f16 = OpTypeFloat 16
                 %bool = OpTypeBool
                 %million = OpConstant %uint 1000000
                 %long_one = OpConstant %ulong 1
                 %many = OpTypeArray %float %million
                 %empty = OpTypeStruct
                 %empties0 = OpTypeArray %empty %million
                 %empties = OpTypeArray %empties0 %million
                 %sized = OpTypeArray %float %long_one
                 %pointer = OpTypePointer Output {ty}
                 %out = OpVariable %pointer Output"
            ),
        );
        let error = layout.unwrap_err().to_string();
        assert!(error.contains("'x") && error.contains(said), "{ty}: {error}");
    }
}

/// Returns the layout of a shader with two outputs, with the given decorations of %2 and %3 and the
/// given execution modes.
fn assembly(decorations: &str, modes: &str) -> Result<Layout, CaptureError> {
    layout_of_assembly(
        "%2 %3",
        &format!("{modes}\n{decorations}"),
        "%vec2 = OpTypeVector %float 2
         %pointer = OpTypePointer Output %vec2
         %2 = OpVariable %pointer Output
         %3 = OpVariable %pointer Output",
    )
}

#[test]
fn contradictions_are_named() {
    const XFB: &str = "OpExecutionMode %main Xfb";
    let buffer = |variable: u32, buffer: u32, stride: u32, offset: u32| {
        format!(
            "OpDecorate %{variable} XfbBuffer {buffer}
             OpDecorate %{variable} XfbStride {stride}
             OpDecorate %{variable} Offset {offset}
             "
        )
    };
    let error = |decorations: &str| assembly(decorations, XFB).unwrap_err();
    let output = || "%2".to_owned();

    assert!(assembly(&buffer(2, 0, 8, 0), XFB).is_ok());
    assert_eq!(
        assembly(&buffer(2, 0, 8, 0), "").unwrap_err(),
        CaptureError::NoXfbMode { entry_point: "main".to_owned() }
    );
    assert_eq!(assembly("", XFB), Ok(Layout::default()));
    assert_eq!(
        error("OpDecorate %2 Offset 0\nOpDecorate %2 XfbStride 8"),
        CaptureError::MissingDecoration { output: output(), missing: "XfbBuffer" }
    );
    assert_eq!(
        error("OpDecorate %2 Offset 0\nOpDecorate %2 XfbBuffer 0"),
        CaptureError::MissingDecoration { output: output(), missing: "XfbStride" }
    );
    assert_eq!(
        error(&buffer(2, 4, 8, 0)),
        CaptureError::BufferLimit { output: output(), buffer: 4 }
    );
    for stride in [0, 6, 2052] {
        assert_eq!(
            error(&buffer(2, 0, stride, 0)),
            CaptureError::Stride { output: output(), stride }
        );
    }
    assert_eq!(
        error(&(buffer(2, 1, 16, 0) + &buffer(3, 1, 20, 8))),
        CaptureError::StrideConflict { output: "%3".to_owned(), buffer: 1, stride: 20, other: 16 }
    );
    assert_eq!(
        error(&buffer(2, 0, 16, 2)),
        CaptureError::Misaligned { output: output(), offset: 2, alignment: 4 }
    );
    assert_eq!(
        error(&buffer(2, 0, 16, 12)),
        CaptureError::BeyondStride { output: output(), end: 20, stride: 16 }
    );
    assert_eq!(
        error(&buffer(2, 0, 16, u32::MAX - 3)),
        CaptureError::BeyondStride { output: output(), end: (1 << 32) + 4, stride: 16 }
    );
    assert_eq!(
        error(&(buffer(2, 0, 16, 0) + &buffer(3, 0, 16, 4))),
        CaptureError::Overlap {
            first: output(),
            first_bytes: 0..=7,
            second: "%3".to_owned(),
            second_bytes: 4..=11,
            buffer: 0
        }
    );
    assert_eq!(
        error(&(buffer(2, 0, 16, 0) + &buffer(3, 0, 16, 4))).to_string(),
        format!("outputs {} (bytes 0 to 7) and %3 (bytes 4 to 11) overlap in buffer 0", output())
    );
}

/// Capturing single members of a structure that is not a block is not supported.
#[test]
fn members_of_a_plain_structure_are_refused() {
    let shader = |buffer: &str| {
        layout_of_assembly(
            "%2 %3",
            &format!(
                "OpExecutionMode %main Xfb
                 OpDecorate %2 Location 0
                 {buffer}
                 OpMemberDecorate %plain 0 Offset 4
                 OpDecorate %3 Location 1
                 OpDecorate %3 XfbBuffer 0
                 OpDecorate %3 XfbStride 8
                 OpDecorate %3 Offset 0"
            ),
            "%plain = OpTypeStruct %float
             %to_plain = OpTypePointer Output %plain
             %to_float = OpTypePointer Output %float
             %2 = OpVariable %to_plain Output
             %3 = OpVariable %to_float Output",
        )
    };
    for buffer in ["OpDecorate %2 XfbBuffer 0", "OpMemberDecorate %plain 0 XfbBuffer 0"] {
        let error = shader(buffer).unwrap_err();
        assert!(matches!(error, CaptureError::UnsupportedType { .. }), "{error}");
    }
    // Without a buffer it is the layout of some uniform's type.
    assert_eq!(shader("").unwrap().outputs.len(), 1);
}

/// A variable with an `Offset` is captured completely. The `Offset`s of its members only say where
/// they are within it, which follows from its type anyway.
#[test]
fn a_plain_structure_is_captured_whole() {
    let shader = |wide: u32, last: u32| {
        layout_of_assembly(
            "%2",
            &format!(
                "OpExecutionMode %main Xfb
                 OpDecorate %2 Location 0
                 OpDecorate %2 XfbBuffer 1
                 OpDecorate %2 XfbStride 96
                 OpDecorate %2 Offset 8
                 OpMemberDecorate %plain 1 Offset {wide}
                 OpMemberDecorate %plain 2 Offset {last}"
            ),
            "%uint = OpTypeInt 32 0
             %double = OpTypeFloat 64
             %two = OpConstant %uint 2
             %doubles = OpTypeVector %double 2
             %plain = OpTypeStruct %float %doubles %float
             %array = OpTypeArray %plain %two
             %pointer = OpTypePointer Output %array
             %2 = OpVariable %pointer Output",
        )
    };
    let offsets: Vec<u32> = shader(8, 24).unwrap().outputs.iter().map(|o| o.offset).collect();
    assert_eq!(offsets, [8, 16, 32, 40, 48, 64]);
    for (wide, last) in [(4, 24), (8, 28)] {
        let error = shader(wide, last).unwrap_err();
        assert!(matches!(error, CaptureError::UnsupportedType { .. }), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Decorations with arbitrary parameters lead to an error, or to a layout that keeps all
    /// limits.
    #[test]
    fn layouts_keep_their_invariants(
        parameters in proptest::collection::vec((0..6u32, 0..70u32, 0..70u32), 2),
        scale in 1..5u32,
    ) {
        let decorations: String = parameters
            .iter()
            .zip([2, 3])
            .map(|((buffer, stride, offset), variable)| format!(
                "OpDecorate %{variable} XfbBuffer {buffer}\n\
                 OpDecorate %{variable} XfbStride {}\n\
                 OpDecorate %{variable} Offset {}\n",
                stride * scale,
                offset * scale
            ))
            .collect();
        if let Ok(layout) = assembly(&decorations, "OpExecutionMode %main Xfb") {
            for output in &layout.outputs {
                let stride = layout.strides[output.buffer as usize].unwrap();
                prop_assert!(output.offset + output.size() <= stride);
                prop_assert_eq!((stride % 4, output.offset % 4), (0, 0));
            }
        }
    }
}
