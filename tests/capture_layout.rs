//! Layouts from decorations, on GLSL as glslang compiles it, and on modules that are wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use proptest::prelude::*;
use vkxfb::capture::{CaptureError, Layout};
use vkxfb::spirv::Module;
use vkxfb::spirv::declarations::Declarations;
use vkxfb::spirv::entry_point::find_vertex_shader;

fn layout_of(words: &[u32]) -> Result<Layout, CaptureError> {
    let module = Module::parse(words).unwrap();
    let entry = find_vertex_shader(&module, None).unwrap();
    Layout::from_decorations(&module, &Declarations::of(&module), &entry)
}

fn layout_of_glsl(declarations: &str) -> Result<Layout, CaptureError> {
    layout_of(&common::compile(&format!("#version 450\n{declarations}\nvoid main() {{}}\n"), &[]))
}

/// (buffer, offset, components, name)
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

#[test]
fn what_is_not_there_yet_is_an_error() {
    for ty in ["mat4", "vec2 x[2]", "dvec2", "S"] {
        let (ty, suffix) = ty.split_once(' ').map_or((ty, ""), |(ty, rest)| (ty, &rest[1..]));
        let error = layout_of_glsl(&format!(
            "struct S {{ float a; }};
             layout(location = 0, xfb_buffer = 0, xfb_stride = 128, xfb_offset = 0) flat out {ty} x{suffix};"
        ))
        .unwrap_err();
        assert!(matches!(error, CaptureError::UnsupportedType { .. }), "{ty}: {error}");
        assert!(error.to_string().contains("'x'"), "{error}");
    }
    let error = layout_of_glsl(
        "layout(location = 0, xfb_buffer = 0, xfb_stride = 8) out B { layout(xfb_offset = 0) float a; } b[2];",
    )
    .unwrap_err();
    assert!(matches!(error, CaptureError::UnsupportedType { .. }), "{error}");
}

/// A shader of one output, with the given decorations of %2 and the given execution modes.
fn assembly(decorations: &str, modes: &str) -> Result<Layout, CaptureError> {
    layout_of(&common::assemble(
        &format!(
            r#"
            OpCapability Shader
            OpCapability TransformFeedback
            OpMemoryModel Logical GLSL450
            OpEntryPoint Vertex %1 "main" %2 %3
            {modes}
            {decorations}
            %4 = OpTypeVoid
            %5 = OpTypeFunction %4
            %6 = OpTypeFloat 32
            %7 = OpTypeVector %6 2
            %8 = OpTypePointer Output %7
            %2 = OpVariable %8 Output
            %3 = OpVariable %8 Output
            %1 = OpFunction %4 None %5
            %9 = OpLabel
            OpReturn
            OpFunctionEnd
            "#
        ),
        "vulkan1.0",
    ))
}

#[test]
fn contradictions_are_named() {
    const XFB: &str = "OpExecutionMode %1 Xfb";
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
    assert_eq!(error(""), CaptureError::NothingCaptured);
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
        CaptureError::Misaligned { output: output(), offset: 2 }
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
        CaptureError::Overlap { first: output(), second: "%3".to_owned(), buffer: 0 }
    );
}

/// Decorations by way of a group are read nowhere, so none may be missed.
#[test]
fn decoration_groups_are_refused() {
    const XFB: &str = "OpExecutionMode %1 Xfb";
    let plain = "OpDecorate %2 XfbBuffer 0\nOpDecorate %2 XfbStride 8\nOpDecorate %2 Offset 0\n";
    for group in ["OpGroupDecorate %20 %3", "OpGroupMemberDecorate %20 %21 0"] {
        let decorations =
            format!("{plain}OpDecorate %20 Offset 0\n%20 = OpDecorationGroup\n{group}");
        assert_eq!(assembly(&decorations, XFB).unwrap_err(), CaptureError::DecorationGroups);
    }
}

/// Its members are captured as those of a block are, which is not there yet.
#[test]
fn members_of_a_plain_structure_are_refused() {
    let shader = |buffer: &str| {
        layout_of(&common::assemble(
            &format!(
                r#"
                OpCapability Shader
                OpCapability TransformFeedback
                OpMemoryModel Logical GLSL450
                OpEntryPoint Vertex %1 "main" %2 %3
                OpExecutionMode %1 Xfb
                OpDecorate %2 Location 0
                {buffer}
                OpMemberDecorate %7 0 Offset 4
                OpDecorate %3 Location 1
                OpDecorate %3 XfbBuffer 0
                OpDecorate %3 XfbStride 8
                OpDecorate %3 Offset 0
                %4 = OpTypeVoid
                %5 = OpTypeFunction %4
                %6 = OpTypeFloat 32
                %7 = OpTypeStruct %6
                %8 = OpTypePointer Output %7
                %9 = OpTypePointer Output %6
                %2 = OpVariable %8 Output
                %3 = OpVariable %9 Output
                %1 = OpFunction %4 None %5
                %10 = OpLabel
                OpReturn
                OpFunctionEnd
                "#
            ),
            "vulkan1.0",
        ))
    };
    for buffer in ["OpDecorate %2 XfbBuffer 0", "OpMemberDecorate %7 0 XfbBuffer 0"] {
        let error = shader(buffer).unwrap_err();
        assert!(matches!(error, CaptureError::UnsupportedType { .. }), "{error}");
    }
    // Without a buffer it is the layout of some uniform's type.
    assert_eq!(shader("").unwrap().outputs.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Decorations with arbitrary parameters: an error, or a layout within its own limits.
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
        if let Ok(layout) = assembly(&decorations, "OpExecutionMode %1 Xfb") {
            for output in &layout.outputs {
                let stride = layout.strides[output.buffer as usize].unwrap();
                prop_assert!(output.offset + output.size() <= stride);
                prop_assert_eq!((stride % 4, output.offset % 4), (0, 0));
            }
        }
    }
}
