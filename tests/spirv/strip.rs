//! Removes transform feedback from modules, and compares the result with a filter of their
//! disassembly.

use std::borrow::Cow;

use vkxfb::capture::{CaptureEntry, CaptureList, Selector};
use vkxfb::lower::native;
use vkxfb_rewriter::lower::streams::strip_streams;
use vkxfb_rewriter::lower::strip::strip_xfb;

use crate::common;

/// The arguments of glslang, and the target for which its output is valid: SPIR-V 1.0, 1.4 and 1.5.
const TARGETS: [(&[&str], &str); 4] = [
    (&[], "vulkan1.0"),
    (&["-g"], "vulkan1.0"),
    (&["--target-env", "spirv1.4"], "vulkan1.1spv1.4"),
    (&["--target-env", "vulkan1.2", "-gVS"], "vulkan1.2"),
];

/// Variables, members of blocks, an array of blocks, built-in variables, and `Offset` decorations
/// that are for a buffer.
const VERTEX: &str = "#version 450
    struct Light { vec4 colour; float list[3]; };
    layout(set = 0, binding = 0) uniform Uniforms { mat4 matrix; Light lights[2]; } uniforms;
    layout(set = 0, binding = 1) buffer Storage { uint count; Light last; } storage;
    layout(location = 0) in vec4 position;
    layout(xfb_buffer = 0, xfb_stride = 64) out;
    layout(location = 0, xfb_offset = 16) out Light light;
    layout(location = 8, xfb_buffer = 1, xfb_stride = 32) out Block {
        layout(xfb_offset = 0) vec3 a;
        layout(xfb_offset = 16) flat uvec2 b;
    } block;
    layout(location = 12, xfb_buffer = 2, xfb_stride = 16) out Each {
        layout(xfb_offset = 4) vec2 c;
    } each[2];
    layout(location = 16) out vec4 free;
    out gl_PerVertex { layout(xfb_buffer = 0, xfb_offset = 0) vec4 gl_Position; };
    void main() {
        gl_Position = uniforms.matrix * position;
        light = uniforms.lights[gl_VertexIndex & 1];
        storage.last = light;
        block.a = position.xyz;
        block.b = uvec2(gl_VertexIndex, storage.count);
        each[0].c = position.xy;
        each[1].c = position.zw;
        free = position;
    }";

const EVALUATION: &str = "#version 450
    layout(isolines, point_mode) in;
    layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out dvec3 wide;
    in gl_PerVertex { vec4 gl_Position; float gl_PointSize; } gl_in[];
    out gl_PerVertex { layout(xfb_offset = 32) vec4 gl_Position; float gl_PointSize; };
    void main() {
        gl_Position = gl_in[0].gl_Position;
        gl_PointSize = gl_in[0].gl_PointSize;
        wide = dvec3(gl_TessCoord);
    }";

/// A shader with two vertex streams, which do not depend on transform feedback.
const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 2) out;
    layout(location = 0, stream = 0, xfb_buffer = 0, xfb_offset = 0) out vec4 first;
    layout(location = 1, stream = 1, xfb_buffer = 1, xfb_offset = 0) out Second { vec2 a; vec2 b; };
    void main() {
        first = vec4(1.0);
        EmitStreamVertex(0);
        a = b = vec2(2.0);
        EmitStreamVertex(1);
    }";

/// Returns the lines of a module's disassembly except those for transform feedback. `outputs` are
/// the names of the variables and types with an `Offset` that is not for a buffer.
fn without_xfb(words: &[u32], outputs: &[&str]) -> Vec<String> {
    let is_of_xfb = |line: &&str| {
        let of_output = |name: &&str| line.contains(&format!("Decorate %{name} "));
        *line == "OpCapability TransformFeedback"
            || line.starts_with("OpExecutionMode ") && line.ends_with(" Xfb")
            || line.contains(" XfbBuffer ")
            || line.contains(" XfbStride ")
            || line.contains(" Offset ") && outputs.iter().any(of_output)
    };
    let text = common::disassemble(words);
    let lines = text.lines().map(|line| line.trim_start());
    lines.filter(|line| !is_of_xfb(line)).map(str::to_owned).collect()
}

fn lines(words: &[u32]) -> Vec<String> {
    common::disassemble(words).lines().map(|line| line.trim_start().to_owned()).collect()
}

#[track_caller]
fn strips(words: &[u32], outputs: &[&str], target: &str) {
    common::validate(words, target);
    let stripped = strip_xfb(words).unwrap();
    assert!(matches!(stripped, Cow::Owned(_)));
    common::validate(&stripped, target);
    assert_eq!(lines(&stripped), without_xfb(words, outputs));
    // The header does not change.
    assert_eq!(stripped[..5], words[..5]);
    is_left_alone(&stripped);
}

#[track_caller]
fn is_left_alone(words: &[u32]) {
    let same = strip_xfb(words).unwrap();
    assert!(matches!(same, Cow::Borrowed(_)));
    assert_eq!(*same, *words);
}

#[test]
fn what_makes_a_driver_capture_goes_and_nothing_else() {
    for (arguments, target) in TARGETS {
        for (stage, source, outputs) in [
            ("vert", VERTEX, &["light", "Block", "Each", "gl_PerVertex"][..]),
            ("tese", EVALUATION, &["wide", "gl_PerVertex", "gl_PerVertex_0"]),
            ("geom", GEOMETRY, &["first", "Second"]),
        ] {
            let words = common::compile_stage(stage, source, arguments);
            strips(&words, outputs, target);
            let text = common::disassemble(&strip_xfb(&words).unwrap());
            for what in ["OpCapability GeometryStreams", " Stream 1"] {
                assert_eq!(text.contains(what), stage == "geom", "{text}");
            }
        }
    }
}

#[test]
fn modules_without_transform_feedback_come_back_as_they_are() {
    let fragment = "#version 450\nlayout(location = 0) out vec4 c; void main() { c = vec4(1); }";
    is_left_alone(&common::compile_stage("frag", fragment, &[]));
    let compute = "#version 450\nlayout(local_size_x = 8) in;
        layout(set = 0, binding = 0) buffer B { uint a; uint b[]; }; void main() { b[a] = 1; }";
    is_left_alone(&common::compile_stage("comp", compute, &["-gVS", "--target-env", "vulkan1.1"]));
    // Offsets of an output, and a group, which reading a module writes out.
    is_left_alone(&common::assemble(&two_shaders(false), "vulkan1.0"));
    assert!(strip_xfb(&[1, 2, 3]).is_err());
}

/// Returns two vertex shaders. With transform feedback, one of them captures a structure that is
/// also the type of a buffer.
fn two_shaders(has_xfb: bool) -> String {
    let (capability, mode, decorations) = if has_xfb {
        (
            "OpCapability TransformFeedback",
            "OpExecutionMode %1 Xfb",
            "OpDecorate %3 XfbBuffer 0\nOpDecorate %3 XfbStride 32\nOpMemberDecorate %40 0 XfbBuffer 1",
        )
    } else {
        ("", "", "")
    };
    format!(
        r#"
        OpCapability Shader
        {capability}
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %1 "main" %3
        OpEntryPoint Vertex %2 "other" %4
        {mode}
        OpName %40 "unused"
        OpDecorate %3 Location 0
        OpDecorate %5 DescriptorSet 0
        OpDecorate %5 Binding 0
        {decorations}
        OpDecorate %20 Block
        OpMemberDecorate %20 0 Offset 0
        OpMemberDecorate %20 1 Offset 16
        OpMemberDecorate %40 0 Offset 4
        OpDecorate %30 Location 7
        %30 = OpDecorationGroup
        OpGroupDecorate %30 %4
        %10 = OpTypeVoid
        %11 = OpTypeFunction %10
        %12 = OpTypeFloat 32
        %13 = OpTypeVector %12 4
        %20 = OpTypeStruct %13 %13
        %40 = OpTypeStruct %12
        %21 = OpTypePointer Output %20
        %22 = OpTypePointer Uniform %20
        %23 = OpTypePointer Output %13
        %3 = OpVariable %21 Output
        %4 = OpVariable %23 Output
        %5 = OpVariable %22 Uniform
        %1 = OpFunction %10 None %11
        %50 = OpLabel
        %51 = OpLoad %20 %5
        OpStore %3 %51
        OpReturn
        OpFunctionEnd
        %2 = OpFunction %10 None %11
        %52 = OpLabel
        OpReturn
        OpFunctionEnd
        "#
    )
}

/// The offsets of the buffer are kept. The decorations of an unused structure are removed if
/// necessary.
#[test]
fn offsets_of_buffers_stay() {
    let words = common::assemble(&two_shaders(true), "vulkan1.0");
    let stripped = strip_xfb(&words).unwrap();
    common::validate(&stripped, "vulkan1.0");
    // Groups are written out.
    let ungrouped = |line: &String| !line.contains("Group") && !line.contains("Location 7");
    let expected = without_xfb(&words, &[]).into_iter().filter(ungrouped).collect::<Vec<_>>();
    let found = lines(&stripped).into_iter().filter(|line| !line.contains("Location 7"));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(common::disassemble(&stripped).contains("OpDecorate %4 Location 7"));
    is_left_alone(&stripped);
}

/// The capability `TransformFeedback` implies `Shader`, which has to be declared instead.
#[test]
fn a_shader_stays_one() {
    let text = two_shaders(true);
    let words = common::assemble(&text.replacen("OpCapability Shader", "", 1), "vulkan1.0");
    let stripped = strip_xfb(&words).unwrap();
    common::validate(&stripped, "vulkan1.0");
    assert_eq!(lines(&stripped)[0], "OpCapability Shader");
    assert_eq!(
        lines(&stripped)[1..],
        lines(&strip_xfb(&common::assemble(&text, "vulkan1.0")).unwrap())[1..]
    );
}

/// If native emission adds only decorations, stripping returns the original words.
#[test]
fn stripping_undoes_native_emission() {
    for (arguments, target) in TARGETS {
        let source = "#version 450
            layout(location = 0) out vec4 colour;
            layout(location = 1) out Block { vec2 a; vec2 b; };
            void main() { colour = vec4(1.0); a = b = vec2(2.0); }";
        let words = common::compile(source, arguments);
        let capture = |location, components, offset| {
            let selector = Selector::Location { location, component: 0, components };
            CaptureEntry::new(selector, 0, offset)
        };
        let captures = vec![capture(0, 4, 16), capture(2, 2, 0)];
        let list = CaptureList::default().captures(captures).strides([Some(32), None, None, None]);
        let emitted = native::emit(&words, &native::EmitOptions::new(&list)).unwrap();
        assert_eq!((emitted.inlined, emitted.explicit), (2, 0));
        common::validate(&emitted.lowered.words, target);
        assert_eq!(*strip_xfb(&emitted.lowered.words).unwrap(), *words);
    }
}

const STREAMS: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 6) out;
    layout(stream = 0, location = 0) out vec4 first;
    layout(stream = 1, location = 1) out Second { vec4 a; vec2 b[2]; } second;
    layout(stream = 1, location = 4) out vec4 readBack;
    void emit(int n) {
        second.b[n].x = 1.0;
        readBack = vec4(n);
        readBack.x += 1.0;
        EmitStreamVertex(1);
        EndStreamPrimitive(1);
    }
    void main() {
        gl_Position = gl_in[0].gl_Position;
        gl_PointSize = 1.0;
        first = vec4(1.0);
        EmitStreamVertex(0);
        for (int n = 0; n < 2; n++) emit(n);
        first = vec4(2.0);
        EmitStreamVertex(0);
        EndStreamPrimitive(0);
    }";

/// A driver without the extension gets the vertices that are emitted to one stream, and no
/// instruction for streams.
#[test]
fn one_stream_is_left() {
    for (arguments, target) in TARGETS {
        let words = common::compile_stage("geom", STREAMS, arguments);
        common::validate(&words, target);
        for (stream, emits, ends, outputs) in [
            (0, 2, 1, &["first", "readBack"][..]),
            (1, 1, 1, &["second", "readBack"]),
            (2, 0, 0, &["readBack"]),
        ] {
            let stripped = strip_streams(&words, stream).unwrap();
            assert!(matches!(stripped, Cow::Owned(_)));
            common::validate(&stripped, target);
            let text = common::disassemble(&stripped);
            let count = |what| text.matches(what).count();
            assert_eq!((count("OpEmitVertex"), count("OpEndPrimitive")), (emits, ends), "{text}");
            for what in ["OpEmitStream", "OpEndStream", "GeometryStreams", " Stream "] {
                assert!(!text.contains(what), "{text}");
            }
            for name in ["first", "second", "readBack"] {
                let is_there = text.contains(&format!("OpName %{name} \"{name}\""));
                assert_eq!(is_there, outputs.contains(&name), "{name} of stream {stream}: {text}");
            }
            assert!(matches!(strip_streams(&stripped, 0), Ok(Cow::Borrowed(_))));
        }
    }
    is_without_streams(&common::compile_stage("geom", GEOMETRY_OF_ONE, &[]));
    is_without_streams(&common::compile(VERTEX, &[]));
    assert!(strip_streams(&[1, 2, 3], 0).is_err());
}

const GEOMETRY_OF_ONE: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 1) out;
    void main() { gl_Position = vec4(0.0); EmitVertex(); EndPrimitive(); }";

#[track_caller]
fn is_without_streams(words: &[u32]) {
    let same = strip_streams(words, 0).unwrap();
    assert!(matches!(same, Cow::Borrowed(_)));
    assert_eq!(*same, *words);
}

/// Without streams all vertices are emitted to stream 0, so nothing is left for another stream.
#[test]
fn nothing_is_left_for_a_stream_that_there_is_not() {
    let words = common::compile_stage("geom", GEOMETRY_OF_ONE, &[]);
    let stripped = strip_streams(&words, 1).unwrap();
    common::validate(&stripped, "vulkan1.0");
    let text = common::disassemble(&stripped);
    assert!(!text.contains("OpEmitVertex") && !text.contains("OpEndPrimitive"), "{text}");
}
