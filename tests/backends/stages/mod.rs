//! Tessellation evaluation and geometry shaders that are captured natively, compared with the
//! results that the specification defines.

mod device;

use ash::vk::ShaderStageFlags as Stage;
use spirv::ExecutionModel;
use vkxfb_rewriter::capture::{CaptureEntry, CaptureError, CaptureList, Layout, Selector};
use vkxfb_rewriter::lower::native::{self, Emitted};
use vkxfb_rewriter::lower::strip::strip_xfb;
use vkxfb_rewriter::lower::{LowerError, Shader, compute, vertex};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::vertex_input::VertexInput;
use vkxfb_translators::split_blocks::{self, split_blocks};

use device::{BEFORE, Device, Scene};

use crate::common;

const VERTEX: &str = "#version 450
    void main() { gl_Position = vec4(float(gl_VertexIndex)); gl_PointSize = 1.0; }";

fn at(location: u32, component: u32, components: u32, buffer: u32, offset: u32) -> CaptureEntry {
    CaptureEntry::new(Selector::Location { location, component, components }, buffer, offset)
}

fn emit(words: &[u32], list: &CaptureList, max: u32) -> Result<Emitted, LowerError> {
    let options = native::EmitOptions::new(list).max_output_components(max);
    let emitted = native::emit(words, &options)?;
    common::validate(&emitted.lowered.words, "vulkan1.0");
    Ok(emitted)
}

fn split(words: &[u32]) -> Vec<u32> {
    let split = split_blocks(words, &split_blocks::SplitOptions::default()).unwrap();
    assert!(!split.members.is_empty());
    common::validate(&split.words, "vulkan1.0");
    split.words
}

/// Returns the module without its transform feedback decorations.
fn strip(words: &[u32]) -> Vec<u32> {
    strip_xfb(words).unwrap().into_owned()
}

/// An example from Zink for the splitting of blocks: `struct OuterStruct`, with 18 locations and 62
/// captured components. All numbers of a vertex differ, so that a wrong component is noticed.
const EVALUATION: &str = "#version 450
    layout(isolines, point_mode) in;
    struct TestStruct { dmat3x4 a; double b; float c; dvec2 d; };
    struct OuterStruct { TestStruct inner_struct_a, inner_struct_b; };
    layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out OuterStruct goku;
    out gl_PerVertex { float gl_PointSize; };
    TestStruct numbers(double n) {
        dmat3x4 a;
        for (int i = 0; i < 12; i++) a[i / 4][i % 4] = n + double(i);
        return TestStruct(a, n + 12.0LF, float(n + 13.0LF), dvec2(n + 14.0LF, n + 15.0LF));
    }
    void main() {
        uint point = uint(gl_TessCoord.x * 4.0 + 0.5) + 5 * uint(gl_TessCoord.y * 2.0 + 0.5);
        double n = double((point + 10 * gl_PrimitiveID) * 64);
        gl_PointSize = 1.0;
        goku.inner_struct_a = numbers(n);
        goku.inner_struct_b = numbers(n + 16.0LF);
    }";

const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    void main() { gl_TessLevelOuter[0] = 2.0; gl_TessLevelOuter[1] = 4.0; }";

/// The number of patches. The points of each patch are two lines of four segments.
const PATCHES: u32 = 3;
const POINTS: u32 = PATCHES * 10;

/// Returns the stream outputs of the example, of up to four dwords each, as a translator creates
/// them.
fn records() -> CaptureList {
    let of_struct = |location: u32, offset: u32| {
        let components = [4, 4, 4, 4, 4, 4, 2, 1, 4];
        let offsets = [0, 16, 32, 48, 64, 80, 96, 104, 112];
        (location..).zip(components.into_iter().zip(offsets)).map(
            move |(location, (components, at_offset))| {
                at(location, 0, components, 0, offset + at_offset)
            },
        )
    };
    let captures = of_struct(0, 0).chain(of_struct(9, 128)).collect();
    CaptureList::default().captures(captures).strides([Some(256), None, None, None])
}

/// Returns the expected record of a point. Bytes that no member covers keep their value.
fn goku(point: u32) -> Vec<u8> {
    let mut record = vec![BEFORE; 256];
    for half in 0..2 {
        let at = half * 128;
        let number = |i: usize| f64::from(point * 64) + (half * 16 + i) as f64;
        // The float takes a dword, and what is behind it begins at a multiple of 8 again.
        for i in (0..16).filter(|i| *i != 13) {
            record[at + i * 8..][..8].copy_from_slice(&number(i).to_le_bytes());
        }
        record[at + 13 * 8..][..4].copy_from_slice(&(number(13) as f32).to_le_bytes());
    }
    record
}

/// Sorts records by their first number, because the order of the tessellator is not specified.
fn sorted(bytes: &[u8], stride: usize) -> Vec<&[u8]> {
    let mut records: Vec<&[u8]> = bytes.chunks(stride).collect();
    let first = |record: &&[u8]| f64::from_le_bytes(record[..8].try_into().unwrap());
    records.sort_by(|a, b| first(a).total_cmp(&first(b)));
    records
}

#[test]
fn the_worked_case_is_captured_from_a_tessellation_evaluation_shader() {
    let Some(device) = Device::open() else { return };
    let vertex = common::compile(VERTEX, &[]);
    let control = common::compile_stage("tesc", CONTROL, &[]);
    let evaluation = common::compile_stage("tese", EVALUATION, &[]);
    let captures = |words: &[u32], what: &str| {
        let stages = [
            (Stage::VERTEX, vertex.as_slice()),
            (Stage::TESSELLATION_CONTROL, &control),
            (Stage::TESSELLATION_EVALUATION, words),
        ];
        let buffers = [256 * POINTS as usize];
        let found =
            device.capture(&Scene { stages: &stages, vertices: PATCHES, buffers: &buffers });
        for (point, record) in (0..).zip(sorted(&found[0], 256)) {
            assert_eq!(record, goku(point), "{what}: point {point}");
        }
    };
    let lowered = native::lower(&Shader::new(&evaluation)).unwrap();
    assert_eq!(lowered.stage, ExecutionModel::TessellationEvaluation);
    assert_eq!(lowered.words, evaluation);
    captures(&evaluation, "decorated");
    captures(&split(&evaluation), "decorated and split");

    // Undecorated, by records: without splitting these need 16 locations, which is more than
    // available.
    let plain = strip(&evaluation);
    let max = device.limits().max_tessellation_evaluation_output_components;
    match emit(&plain, &records(), max) {
        Ok(emitted) => captures(&emitted.lowered.words, "explicit"),
        Err(LowerError::LocationBudget { needed: 16, .. }) if max == 128 => {}
        Err(error) => panic!("{max}: {error}"),
    }
    let emitted = emit(&split(&plain), &records(), max).unwrap();
    assert_eq!((emitted.inlined, emitted.explicit), (8, 0));
    captures(&emitted.lowered.words, "records, split");
}

/// Parts of the example are captured through separate outputs.
#[test]
fn parts_of_a_tessellation_evaluation_shader_are_captured() {
    let Some(device) = Device::open() else { return };
    let vertex = common::compile(VERTEX, &[]);
    let control = common::compile_stage("tesc", CONTROL, &[]);
    let evaluation = common::compile_stage("tese", EVALUATION, &[]);
    // goku.inner_struct_a.b, .a[1].zw and goku.inner_struct_b.d.
    let captures = vec![at(6, 0, 2, 0, 0), at(3, 0, 4, 0, 8), at(17, 0, 4, 0, 24)];
    let list = CaptureList::default().captures(captures).strides([Some(48), None, None, None]);
    let emitted = emit(&evaluation, &list, 128).unwrap();
    assert_eq!((emitted.inlined, emitted.explicit), (0, 3));
    let stages = [
        (Stage::VERTEX, vertex.as_slice()),
        (Stage::TESSELLATION_CONTROL, &control),
        (Stage::TESSELLATION_EVALUATION, &emitted.lowered.words),
    ];
    let buffers = [48 * POINTS as usize];
    let found = device.capture(&Scene { stages: &stages, vertices: PATCHES, buffers: &buffers });
    for (point, record) in (0..).zip(sorted(&found[0], 48)) {
        let number = |i: u32| f64::from(point * 64 + i).to_le_bytes();
        let mut expected = [12, 6, 7, 30, 31].map(number).concat();
        expected.extend([BEFORE; 8]);
        assert_eq!(record, expected, "point {point}");
    }
}

/// Emits two points to stream 0, the second of them in a function, and one to stream 1.
const STREAMS: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 3) out;
    layout(xfb_buffer = 0, xfb_stride = 48) out;
    layout(location = 0, stream = 0, xfb_offset = 16) out vec4 first;
    layout(location = 1, stream = 0) out vec3 free;
    layout(xfb_buffer = 1, xfb_stride = 32) out;
    layout(location = 2, stream = 1) out Block {
        layout(xfb_offset = 8) vec2 a;
        layout(xfb_offset = 0) flat uvec2 b;
    } block;
    layout(location = 4, stream = 1, xfb_offset = 16) out vec3 third;
    layout(stream = 0, xfb_buffer = 0) out gl_PerVertex {
        layout(xfb_offset = 0) vec4 gl_Position;
        float gl_PointSize;
    };
    void point(float x) {
        gl_Position = vec4(x, x + 1.0, x + 2.0, x + 3.0);
        gl_PointSize = 1.0;
        first = gl_Position + 4.0;
        free = gl_Position.xyz + 8.0;
        EmitStreamVertex(0);
        EndStreamPrimitive(0);
    }
    void main() {
        float x = float(gl_PrimitiveIDIn * 64);
        point(x);
        block.a = vec2(x + 12.0, x + 13.0);
        block.b = uvec2(gl_PrimitiveIDIn, 7);
        third = vec3(x + 14.0, x + 15.0, x + 16.0);
        EmitStreamVertex(1);
        EndStreamPrimitive(1);
        point(x + 32.0);
    }";

/// The number of points that are drawn.
const DRAWN: u32 = 5;

fn floats(start: f32, count: u8) -> Vec<u8> {
    (0..count).flat_map(|i| (start + f32::from(i)).to_le_bytes()).collect()
}

fn of_stream_1(point: u32) -> Vec<u8> {
    let x = (point * 64) as f32;
    let b = [point.to_le_bytes(), 7u32.to_le_bytes()].concat();
    [b, floats(x + 12.0, 2), floats(x + 14.0, 3), vec![BEFORE; 4]].concat()
}

#[test]
fn streams_of_a_geometry_shader_are_captured() {
    let Some(device) = Device::open() else { return };
    let vertex = common::compile(VERTEX, &[]);
    let geometry = common::compile_stage("geom", STREAMS, &[]);
    let captures = |words: &[u32], what: &str, expected: [Vec<u8>; 2]| {
        let stages = [(Stage::VERTEX, vertex.as_slice()), (Stage::GEOMETRY, words)];
        let buffers = expected.each_ref().map(Vec::len);
        let found = device.capture(&Scene { stages: &stages, vertices: DRAWN, buffers: &buffers });
        for (buffer, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{what}: buffer {buffer}");
        }
    };
    // The record of each of the two points of stream 0, and of each point of stream 1.
    let all = |of_stream_0: fn(f32) -> Vec<u8>, of_stream_1: fn(u32) -> Vec<u8>| {
        let halves = (0..2 * DRAWN).flat_map(|half| of_stream_0((half * 32) as f32)).collect();
        [halves, (0..DRAWN).flat_map(of_stream_1).collect()]
    };
    let decorated = || {
        let whole = |x| [floats(x, 8), vec![BEFORE; 16]].concat();
        all(whole, of_stream_1)
    };
    let lowered = native::lower(&Shader::new(&geometry)).unwrap();
    assert_eq!((lowered.stage, lowered.layout.streams), (ExecutionModel::Geometry, [0, 1, 0, 0]));
    captures(&lowered.words, "decorated", decorated());
    captures(&split(&geometry), "decorated and split", decorated());

    // Whole outputs are decorated, parts copied before each vertex.
    let plain = strip(&geometry);
    let max = device.limits().max_geometry_output_components;
    let list = CaptureList::default()
        .captures(vec![
            at(0, 0, 4, 0, 0),
            at(1, 1, 2, 0, 16),
            at(3, 0, 2, 1, 0),
            at(2, 1, 1, 1, 8),
            at(4, 0, 3, 1, 12),
        ])
        .strides([Some(24), Some(28), None, None]);
    let emitted = emit(&plain, &list, max).unwrap();
    assert_eq!((emitted.inlined, emitted.explicit), (3, 2));
    assert_eq!(emitted.lowered.layout.streams, [0, 1, 0, 0]);
    let expected = || {
        all(
            |x| [floats(x + 4.0, 4), floats(x + 9.0, 2)].concat(),
            |point| {
                let x = (point * 64) as f32;
                let b = [point.to_le_bytes(), 7u32.to_le_bytes()].concat();
                [b, floats(x + 13.0, 1), floats(x + 14.0, 3), vec![BEFORE; 4]].concat()
            },
        )
    };
    captures(&emitted.lowered.words, "list", expected());
    captures(&emit(&split(&plain), &list, max).unwrap().lowered.words, "list, split", expected());
}

/// A strip of four vertices is captured as two triangles.
#[test]
fn strips_of_a_geometry_shader_are_decomposed() {
    let Some(device) = Device::open() else { return };
    let vertex = common::compile(VERTEX, &[]);
    let geometry = "#version 450
        layout(points) in;
        layout(triangle_strip, max_vertices = 4) out;
        layout(location = 3) out vec4 value;
        void main() {
            for (int i = 0; i < 4; i++) {
                gl_Position = vec4(1.0);
                value = vec4(float(gl_PrimitiveIDIn * 4 + i)) + vec4(0.0, 0.25, 0.5, 0.75);
                EmitVertex();
            }
        }";
    let words = common::compile_stage("geom", geometry, &[]);
    let capture = |captures, stride, expected: fn(f32) -> Vec<u8>| {
        let list =
            CaptureList::default().captures(captures).strides([Some(stride), None, None, None]);
        let emitted = emit(&words, &list, 64).unwrap();
        let stages =
            [(Stage::VERTEX, vertex.as_slice()), (Stage::GEOMETRY, &emitted.lowered.words)];
        let expected: Vec<u8> = (0..DRAWN)
            .flat_map(|point| [0, 1, 2, 1, 3, 2].map(|i| (point * 4 + i) as f32))
            .flat_map(expected)
            .collect();
        let buffers = [expected.len()];
        let found = device.capture(&Scene { stages: &stages, vertices: DRAWN, buffers: &buffers });
        assert_eq!(found[0], expected);
        (emitted.inlined, emitted.explicit)
    };
    fn quarter(x: f32, parts: std::ops::Range<u8>) -> Vec<u8> {
        parts.flat_map(|i| (x + f32::from(i) / 4.0).to_le_bytes()).collect()
    }
    assert_eq!(capture(vec![at(3, 0, 4, 0, 0)], 16, |x| quarter(x, 0..4)), (1, 0));
    assert_eq!(capture(vec![at(3, 1, 2, 0, 0)], 8, |x| quarter(x, 1..3)), (0, 1));
}

/// The other backends, other stages, and streams that share a buffer return errors.
#[test]
fn what_cannot_be_captured_is_named() {
    let evaluation = common::compile_stage("tese", EVALUATION, &[]);
    let shader = Shader::new(&evaluation);
    let vertex_input = VertexInput::default();
    for error in [
        vertex::lower(&shader).unwrap_err(),
        compute::lower(&shader, &compute::Options::new(&vertex_input)).unwrap_err(),
    ] {
        let (stage, entry_point) = (ExecutionModel::TessellationEvaluation, "main".to_owned());
        assert_eq!(error, LowerError::NativeOnly { stage, entry_point });
    }
    let error = native::lower(&shader.stage(ExecutionModel::Vertex));
    let expected = "the module has no vertex shader; it has: TessellationEvaluation 'main'";
    assert_eq!(error.unwrap_err().to_string(), expected);
    let fragment = common::compile_stage("frag", "#version 450\nvoid main() {}", &[]);
    let error = native::lower(&Shader::new(&fragment)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the module has no vertex, tessellation evaluation or geometry shader; it has: Fragment 'main'"
    );

    let geometry = strip(&common::compile_stage("geom", STREAMS, &[]));
    let captures = vec![at(0, 0, 4, 0, 0), at(4, 0, 3, 0, 16)];
    let list = CaptureList::default().captures(captures).strides([Some(32), None, None, None]);
    let shader = Shader::new(&geometry).captures(&list);
    let error = native::lower(&shader).unwrap_err();
    let LowerError::Capture(CaptureError::StreamConflict { output, buffer: 0, .. }) = &error else {
        panic!("{error}");
    };
    assert!(output.contains("third"), "{error}");
    let of_vertex = ExecutionModel::Vertex;
    let module = Module::parse(&geometry).unwrap();
    let mut entry = Shader::new(&geometry).find(&module).unwrap();
    entry.model = of_vertex;
    let list = list.captures(vec![at(4, 0, 3, 0, 0)]);
    let error = Layout::from_list(&Declarations::of(&module), &entry, &list).unwrap_err();
    assert!(matches!(error, CaptureError::Stream { stream: 1, .. }), "{error}");
}
