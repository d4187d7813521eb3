//! WGSL and GLSL become words that are captured by list.

#![cfg(all(feature = "wgsl", feature = "glsl", feature = "probe"))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::{Bound, Capture, PipelineOptions, assert_same, close, open, pipeline, run};
use spirv::BuiltIn;
use vkxfb::capture::{Capture as Captured, CaptureList, Selector};
use vkxfb::frontend::{FrontendError, SourceLocation, glsl, output_names, wgsl};
use vkxfb::lower::{Captures, Lowered, Shader, compute, vertex};
use vkxfb::probe::gpu::Profile;
use vkxfb::probe::shaders::ProbeShader;
use vkxfb::runtime::Draw;
use vkxfb::spirv::Module;
use vkxfb::spirv::declarations::Declarations;
use vkxfb::spirv::entry_point::find_vertex_shader;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

/// `shaders/probe/two_buffers.vert`, whose records are formulas, but for the layouts.
const WGSL: &str = "
struct Result {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) checksum: f32,
    @location(1) @interpolate(flat) id: vec3u,
}

fn mix32(x: u32) -> u32 {
    let y = (x ^ (x >> 16u)) * 0x7feb352du;
    let z = (y ^ (y >> 15u)) * 0x846ca68bu;
    return z ^ (z >> 16u);
}

@vertex
fn main(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Result {
    let hash = mix32(vertex ^ mix32(instance + 0x9e3779b9u));
    let halves = vec4u(vertex & 0xffffu, vertex >> 16u, instance & 0xffffu, instance >> 16u);
    return Result(vec4f(halves), f32(hash & 0xffffffu), vec3u(vertex, instance, hash));
}
";

const GLSL: &str = "#version 450
layout(location = 0) flat out float checksum;
layout(location = 1) flat out uvec3 id;
uint mix32(uint x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}
void main() {
    uint vertex = uint(gl_VertexIndex);
    uint instance = uint(gl_InstanceIndex);
    uint hash = mix32(vertex ^ mix32(instance + 0x9e3779b9u));
    gl_Position = vec4(uvec4(vertex & 0xffffu, vertex >> 16, instance & 0xffffu, instance >> 16));
    checksum = float(hash & 0xffffffu);
    id = uvec3(vertex, instance, hash);
}
";

/// What the layouts of `two_buffers.vert` say.
fn list(checksum: Selector, id: Selector) -> CaptureList {
    let entry = |selector, buffer, offset| Captured { selector, buffer, offset };
    let position = Selector::BuiltIn { built_in: BuiltIn::Position, component: 0, components: 4 };
    CaptureList {
        captures: vec![entry(position, 0, 0), entry(checksum, 0, 20), entry(id, 1, 4)],
        strides: [Some(32), Some(20), None, None],
    }
}

fn by_location() -> CaptureList {
    let at = |location, components| Selector::Location { location, component: 0, components };
    list(at(0, 1), at(1, 3))
}

fn by_name() -> CaptureList {
    let named = |name: &str| Selector::Name(name.to_owned());
    list(named("checksum"), named("id"))
}

fn both(words: &[u32], list: &CaptureList) -> [Lowered; 2] {
    let shader = Shader { captures: Captures::List(list), ..Shader::new(words) };
    let vertex_input = ProbeShader::two_buffers().vertex_input;
    let options = compute::Options::new(&vertex_input);
    [vertex::lower(&shader).unwrap(), compute::lower(&shader, &options).unwrap()]
}

fn sources() -> [(&'static str, Vec<u32>); 2] {
    [
        ("WGSL", wgsl::vertex_shader(WGSL, None).unwrap()),
        ("GLSL", glsl::vertex_shader(GLSL).unwrap()),
    ]
}

#[test]
fn outputs_are_found_by_location_and_by_name() {
    for (language, words) in sources() {
        common::validate(&words, "vulkan1.0");
        let module = Module::parse(&words).unwrap();
        assert_eq!(module.version(), (1, 0));
        let (declarations, entry) =
            (Declarations::of(&module), find_vertex_shader(&module, None).unwrap());
        let mut names: Vec<_> = output_names(&declarations, &entry).collect();
        names.sort_unstable();
        assert_eq!(names, [(0, "checksum"), (1, "id")], "{language}");
        let lowered = [both(&words, &by_location()), both(&words, &by_name())];
        for [vertex, compute] in &lowered {
            common::validate(&vertex.words, "vulkan1.0");
            common::validate(&compute.words, "vulkan1.0");
        }
        assert_eq!(lowered[0][0].layout.strides, lowered[1][0].layout.strides);
        assert_eq!(lowered[0][0].layout.outputs, lowered[1][0].layout.outputs, "{language}");
    }
}

#[test]
fn captures_hold_what_the_source_computes() {
    const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;
    let mut gpu = open(Profile::Full);
    let shader = ProbeShader::two_buffers();
    let draw = Draw { vertex_count: 9, instance_count: 2, first_vertex: 3, ..Draw::default() };
    let capture = Capture {
        draws: vec![(STRIP, draw)],
        buffers: vec![
            Some(Bound { offset: 0, size: 42 * 32 }),
            Some(Bound { offset: 8, size: 42 * 20 }),
        ],
    };
    let provoking = ProvokingVertex::First;
    let expected = capture.model(&shader, provoking);
    for (language, words) in sources() {
        for lowered in both(&words, &by_location()) {
            let options = PipelineOptions { topology: STRIP, provoking, specialize: false };
            let pipeline = pipeline(&gpu, &shader, &lowered, options);
            let found = run(&mut gpu, &shader, &pipeline, std::slice::from_ref(&capture)).remove(0);
            gpu.destroy_pipeline(pipeline);
            assert_same(&found, &expected, &format!("{language}, {}", lowered.backend));
        }
    }
    close(gpu);
}

#[test]
fn entry_points_are_chosen_by_name() {
    let source = format!(
        "{WGSL}
        @vertex fn other() -> @builtin(position) vec4f {{ return vec4f(); }}
        @fragment fn frag() -> @location(0) vec4f {{ return vec4f(); }}"
    );
    let words = wgsl::vertex_shader(&source, Some("other")).unwrap();
    common::validate(&words, "vulkan1.0");
    assert_eq!(find_vertex_shader(&Module::parse(&words).unwrap(), None).unwrap().name, "other");
    let error = |name| wgsl::vertex_shader(&source, name).unwrap_err().to_string();
    assert_eq!(error(None), "the source has several vertex shaders, name one of: main, other");
    assert_eq!(
        error(Some("frag")),
        "the source has no vertex shader named 'frag'; it has: main, other"
    );
    let error = wgsl::vertex_shader("", None).unwrap_err().to_string();
    assert_eq!(error, "the source has no vertex shader; it has: none");
}

#[test]
fn errors_say_where() {
    let wgsl = |source| wgsl::vertex_shader(source, None).unwrap_err();
    let glsl = |source| glsl::vertex_shader(source).unwrap_err();
    // Syntax, and what only the validator sees.
    for (error, line) in [
        (wgsl("\n@vertex fn main( -> @builtin(position) vec4f {}"), 2),
        (
            wgsl(
                "@vertex fn main() -> @builtin(position) vec4f { return a; }\n\
                 @group(0) @binding(0) var<workgroup> a: vec4f;",
            ),
            2,
        ),
        (glsl("#version 450\nvoid main() {\n  gl_Position = undeclared;\n}"), 3),
        (glsl("#version 450\nlayout(location = 0) out vec4 a\nvoid main() {}"), 3),
    ] {
        let FrontendError::Source { location: Some(location), message } = &error else {
            panic!("{error:?}");
        };
        assert!(!message.is_empty());
        assert_eq!(location.line, line, "{error}");
        assert!(error.to_string().starts_with(&format!("{location}: ")), "{error}");
    }
    let source = "#version 450\nlayout(xfb_buffer = 0, xfb_offset = 0) out vec4 a;";
    let location = SourceLocation { line: 2, column: 8 };
    let qualifier = "xfb_buffer".to_owned();
    assert_eq!(glsl(source), FrontendError::CaptureLayout { location, qualifier });
}

/// What WGSL promises, so that an application may count on it: division by zero, indices out of range.
#[test]
fn checks_that_the_language_promises_are_kept() {
    let source = "
        @vertex fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
            var list = array<f32, 4>(1, 2, 3, 4);
            return vec4f(f32(8u / i), list[i], 0, 1);
        }";
    let words = wgsl::vertex_shader(source, None).unwrap();
    let text = common::disassemble(&words);
    assert!(text.contains("OpSelect"), "{text}");
    assert!(text.contains("UMin"), "{text}");
}
