//! WGSL is compiled to SPIR-V, whose outputs are captured by list.

use spirv::{BuiltIn, Decoration, StorageClass};
use vkxfb::runtime::Draw;
use vkxfb_probe::gpu::Profile;
use vkxfb_probe::shaders::ProbeShader;
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, Selector};
use vkxfb_rewriter::frontend::{FrontendError, MAX_NESTING, module, output_names, wgsl};
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Backend, Lowered, Shader, compute, vertex};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::common;
use crate::common::device::{
    Bound, Capture, PipelineOptions, assert_same, capture, open, pipeline, run,
};

/// `shaders/probe/two_buffers.vert`, whose records are formulas, but without the layouts.
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

/// Returns the capture list that corresponds to the layouts of `two_buffers.vert`.
fn list(checksum: Selector, id: Selector) -> CaptureList {
    let entry = |selector, buffer, offset| CaptureEntry::new(selector, buffer, offset);
    let position = Selector::BuiltIn { built_in: BuiltIn::Position, component: 0, components: 4 };
    CaptureList::default()
        .captures(vec![entry(position, 0, 0), entry(checksum, 0, 20), entry(id, 1, 4)])
        .strides([Some(32), Some(20), None, None])
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
    let shader = Shader::new(words).captures(list);
    let vertex_input = ProbeShader::two_buffers().vertex_input;
    let options = compute::Options::new(&vertex_input);
    [vertex::lower(&shader).unwrap(), compute::lower(&shader, &options).unwrap()]
}

#[test]
fn outputs_are_found_by_location_and_by_name() {
    let words = wgsl::vertex_shader(WGSL, None).unwrap();
    common::validate(&words, "vulkan1.0");
    let module = Module::parse(&words).unwrap();
    assert_eq!(module.version(), (1, 0));
    let (declarations, entry) =
        (Declarations::of(&module), find_vertex_shader(&module, None).unwrap());
    let mut names: Vec<_> = output_names(&declarations, &entry).collect();
    names.sort_unstable();
    assert_eq!(names, [(0, "checksum"), (1, "id")]);
    let lowered = [both(&words, &by_location()), both(&words, &by_name())];
    for [vertex, compute] in &lowered {
        common::validate(&vertex.words, "vulkan1.0");
        common::validate(&compute.words, "vulkan1.0");
    }
    assert_eq!(lowered[0][0].layout.strides, lowered[1][0].layout.strides);
    assert_eq!(lowered[0][0].layout.outputs, lowered[1][0].layout.outputs);
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
    let words = wgsl::vertex_shader(WGSL, None).unwrap();
    for lowered in both(&words, &by_location()) {
        let options = PipelineOptions { topology: STRIP, provoking, specialize: false };
        let pipeline = pipeline(&gpu, &shader, &lowered, options);
        let found = run(&mut gpu, &shader, &pipeline, std::slice::from_ref(&capture)).remove(0);
        assert_same(&found, &expected, &lowered.backend().to_string());
    }
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
    // Errors of syntax, and errors that only the validator finds.
    for (error, line) in [
        (wgsl("\n@vertex fn main( -> @builtin(position) vec4f {}"), 2),
        (
            wgsl(
                "@vertex fn main() -> @builtin(position) vec4f { return a; }\n\
                 @group(0) @binding(0) var<workgroup> a: vec4f;",
            ),
            2,
        ),
    ] {
        let FrontendError::Source { location: Some(location), message } = &error else {
            panic!("{error:?}");
        };
        assert!(!message.is_empty());
        assert_eq!(location.line, line, "{error}");
        assert!(error.to_string().starts_with(&format!("{location}: ")), "{error}");
    }
}

/// The compiled module has the behaviour that WGSL defines for divisions by zero and for indices
/// out of range.
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

/// Returns the descriptors of a module's interface, in order.
fn descriptors(words: &[u32]) -> Vec<(u32, u32)> {
    let module = Module::parse(words).unwrap();
    let declarations = Declarations::of(&module);
    let number = |id, decoration| declarations.decoration(id, decoration).and_then(|n| n.first());
    let storages =
        [StorageClass::UniformConstant, StorageClass::Uniform, StorageClass::StorageBuffer];
    let mut found: Vec<_> = storages
        .into_iter()
        .flat_map(|storage| declarations.variables(storage))
        .filter_map(|variable| {
            let set = number(variable.id, Decoration::DescriptorSet)?;
            Some((*set, *number(variable.id, Decoration::Binding)?))
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn descriptors_keep_their_sets_and_bindings() {
    let source = "
        struct Camera { view: mat4x4f, scale: f32 }
        @group(0) @binding(3) var<uniform> camera: Camera;
        @group(2) @binding(1) var<storage, read> weights: array<f32>;
        @group(1) @binding(0) var heights: texture_2d<f32>;
        @group(1) @binding(5) var nearest: sampler;
        struct Out { @builtin(position) position: vec4f, @location(0) weight: f32 }
        @vertex fn main(@location(0) at: vec2f, @builtin(vertex_index) i: u32) -> Out {
            let height = textureSampleLevel(heights, nearest, at, 0).x;
            return Out(camera.view * vec4f(at, height, camera.scale), weights[i]);
        }";
    let list = CaptureList::default()
        .captures(vec![CaptureEntry::new(Selector::Name("weight".to_owned()), 0, 0)])
        .strides([Some(4), None, None, None]);
    let words = wgsl::vertex_shader(source, None).unwrap();
    common::validate(&words, "vulkan1.0");
    assert_eq!(descriptors(&words), [(0, 3), (1, 0), (1, 5), (2, 1)]);
    let shader = Shader::new(&words).captures(&list);
    let vertex_input = vertex_reads(&shader).unwrap().packed_vertex_input();
    let compute = compute::lower(&shader, &compute::Options::new(&vertex_input)).unwrap();
    for lowered in [vertex::lower(&shader).unwrap(), compute] {
        common::validate(&lowered.words, "vulkan1.0");
        assert_eq!(descriptors(&lowered.words), [(0, 3), (1, 0), (1, 5), (2, 1)]);
    }
}

#[test]
fn push_constants_come_through() {
    let source = |space: &str| {
        format!(
            "struct P {{ at: vec2f, scale: f32 }} /* var<push_constant> */ var < {space} > p: P;
             @vertex fn main() -> @builtin(position) vec4f {{ return vec4f(p.at, p.scale, 1); }}"
        )
    };
    for space in ["immediate", "push_constant"] {
        let words = wgsl::vertex_shader(&source(space), None).unwrap();
        common::validate(&words, "vulkan1.0");
        let text = common::disassemble(&words);
        assert!(text.contains("%p = OpVariable %_ptr_PushConstant_"), "{text}");
        assert!(text.contains("OpMemberDecorate %P 1 Offset 8"), "{text}");
    }
}

/// Code that naga cannot write, or on which it panics, results in an error, unless only another
/// shader of the source uses it.
#[test]
fn naga_fails_in_errors() {
    let external = "@group(0) @binding(0) var video: texture_external;
        fn size() -> vec2u { return textureDimensions(video); }
        @fragment fn frag() -> @location(0) vec4f { return vec4f(vec2f(size()), 0, 0); }";
    let vertex = |x: &str| {
        format!("{external} @vertex fn main() -> @builtin(position) vec4f {{ return vec4f({x}); }}")
    };
    let words = wgsl::vertex_shader(&vertex("1"), None).unwrap();
    common::validate(&words, "vulkan1.0");
    assert_eq!(descriptors(&words), []);
    let error = wgsl::vertex_shader(&vertex("f32(size().x)"), None).unwrap_err();
    assert!(
        matches!(&error, FrontendError::Unsupported { what, .. } if what == "texture_external"),
        "{error}"
    );
}

#[test]
fn sources_nest_as_deep_as_the_limit() {
    let (most, more) = (MAX_NESTING - 100, 100 * MAX_NESTING);
    let parentheses = |n: usize| format!("{}1.0{}", "(".repeat(n), ")".repeat(n));
    let sum = |n: usize| format!("1.0{}", " + a".repeat(n));
    let negations = |n: usize| format!("{}a", "- ".repeat(n));
    let branches = |n: usize| "else if (a > 1.0) { b = a; } ".repeat(n);
    let source = |x: &str, branches: &str| {
        format!(
            "@vertex fn main(@location(0) a: f32) -> @builtin(position) vec4f {{
             var b = 0.0; if (a > 2.0) {{ b = 1.0; }} {branches} return vec4f({x} + b); }}"
        )
    };
    for (expression, branches) in [
        (sum(most), String::new()),
        (negations(most), String::new()),
        ("a".to_owned(), branches(most)),
    ] {
        wgsl::vertex_shader(&source(&expression, &branches), None).unwrap();
    }
    for (expression, branches) in [
        (sum(more), String::new()),
        (negations(more), String::new()),
        (parentheses(more), String::new()),
        ("a".to_owned(), branches(more)),
    ] {
        let error = wgsl::vertex_shader(&source(&expression, &branches), None).unwrap_err();
        assert!(matches!(error, FrontendError::Nesting { location: Some(_) }), "{error}");
    }
}

#[test]
fn constants_have_the_values_of_the_source() {
    let source = "@id(3) override scale = 2.5; override unused: f32;
        @vertex fn main() -> @builtin(position) vec4f { return vec4f(scale); }";
    let words = wgsl::vertex_shader(source, None).unwrap();
    common::validate(&words, "vulkan1.0");
    let text = common::disassemble(&words);
    assert!(text.contains("OpConstant %float 2.5") && !text.contains("SpecId"), "{text}");
}

/// Overrides with and without `@id`, with and without a default, and one that is computed from
/// others: the module is that of a source that contains the values.
#[test]
fn overrides_have_the_values_that_are_given() {
    const SOURCE: &str = "@id(3) override scale: f32; @id(0) override bias = 2.5;
        override count: u32; override is_flipped = false; override steps: i32 = -4;
        override area = scale * f32(count); override unused: f32;
        @vertex fn main() -> @builtin(position) vec4f {
            let x = select(scale, -scale, is_flipped) + bias;
            return vec4f(x, area, f32(count), f32(steps));
        }";
    let written = |values: &[(&str, &str)]| {
        let mut source = SOURCE.to_owned();
        for (declared, value) in values {
            assert!(source.contains(declared), "{declared}");
            source = source.replace(declared, value);
        }
        wgsl::vertex_shader(&source, None).unwrap()
    };
    let least: &[(&str, f64)] = &[("3", 1.25), ("count", 7.0)];
    let declared = [("scale: f32", "scale: f32 = 1.25"), ("count: u32", "count: u32 = 7")];
    let mut gpu = open(Profile::Full);
    let mut captured = |words: &[u32]| {
        common::validate(words, "vulkan1.0");
        let built_in = BuiltIn::Position;
        let selector = Selector::BuiltIn { built_in, component: 0, components: 4 };
        let list = CaptureList::default()
            .captures(vec![CaptureEntry::new(selector, 0, 0)])
            .strides([Some(16), None, None, None]);
        let shader = Shader::new(words).captures(&list);
        let vertex_input = VertexInput::default();
        let target = gpu.compute_target(Backend::Compute).unwrap();
        let options = compute::Options::new(&vertex_input).target(target);
        capture(&mut gpu, &compute::lower(&shader, &options).unwrap())
    };
    let found = captured(&wgsl::vertex_shader_with(SOURCE, None, least).unwrap());
    assert_eq!(found, captured(&written(&declared)));

    let others: &[(&str, f64)] =
        &[("0", -8.0), ("is_flipped", 1.0), ("steps", 12.0), ("unused", 9.0), ("area", 0.5)];
    let all = [least, others].concat();
    let more = [
        ("bias = 2.5", "bias = -8.0"),
        ("is_flipped = false", "is_flipped = true"),
        ("steps: i32 = -4", "steps: i32 = 12"),
        ("area = scale * f32(count)", "area = 0.5"),
    ];
    let others = captured(&wgsl::vertex_shader_with(SOURCE, None, &all).unwrap());
    assert_eq!(others, captured(&written(&[&declared[..], &more[..]].concat())));
    assert_ne!(others, found);

    let refused = |values: &[(&str, f64)]| {
        let values = [least, values].concat();
        wgsl::vertex_shader_with(SOURCE, None, &values).unwrap_err().to_string()
    };
    let has = "it has: 3, 0, count, is_flipped, steps, area, unused";
    for unknown in ["scale", "4", ""] {
        let expected = format!("the source has no override constant '{unknown}'; {has}");
        assert_eq!(refused(&[(unknown, 1.0)]), expected);
    }
    assert_eq!(refused(&[("count", -1.0)]), "the override constant 'count' cannot be -1");
    assert_eq!(refused(&[("3", f64::NAN)]), "the override constant '3' cannot be NaN");
    for (values, key) in [(&least[..1], "count"), (&least[1..], "3")] {
        let error = wgsl::vertex_shader_with(SOURCE, None, values).unwrap_err();
        assert_eq!(error, FrontendError::NoValue { key: key.to_owned() });
    }
}

#[test]
fn a_preprocessor_of_wgsl_comes_first() {
    let source = "// #import\n  #import bevy_pbr::forward_io\n@vertex fn main() {}";
    let error = wgsl::vertex_shader(source, None).unwrap_err().to_string();
    assert!(error.starts_with("2:3: '#import' cannot be compiled here: "), "{error}");
}

/// A naga module is compiled as its source is: to the same shader, with the same constants.
#[test]
fn a_module_becomes_the_words_of_its_source() {
    let source = format!(
        "@group(1) @binding(2) var<uniform> offset: vec4f;
         @id(3) override scale = 2.5;
         @vertex fn other(@location(0) a: f32) -> @builtin(position) vec4f {{
             return offset + vec4f(a / scale);
         }}
         @fragment fn paint() -> @location(0) vec4f {{ return vec4f(1.0); }}
         {WGSL}"
    );
    let parsed = naga::front::wgsl::parse_str(&source).unwrap();
    for name in ["main", "other"] {
        let words = module::vertex_shader(&parsed, Some(name)).unwrap();
        assert_eq!(words, wgsl::vertex_shader(&source, Some(name)).unwrap());
    }
    let values: &[(&str, f64)] = &[("3", 0.5)];
    let words = module::vertex_shader_with(&parsed, Some("other"), values).unwrap();
    assert_eq!(words, wgsl::vertex_shader_with(&source, Some("other"), values).unwrap());
    assert_ne!(words, module::vertex_shader(&parsed, Some("other")).unwrap());

    for (name, values) in [(None, values), (Some("paint"), values), (Some("other"), &[("x", 1.0)])]
    {
        let error = module::vertex_shader_with(&parsed, name, values).unwrap_err();
        assert_eq!(error, wgsl::vertex_shader_with(&source, name, values).unwrap_err());
    }
}

/// Modules that no source results in: an invalid module, and one that is nested more deeply than
/// the stack allows.
#[test]
fn modules_are_checked() {
    use naga::{Block, Statement};

    let valid = naga::front::wgsl::parse_str(WGSL).unwrap();
    let with_body = |statement| {
        let mut changed = valid.clone();
        changed.entry_points[0].function.body = Block::from_vec(vec![statement]);
        module::vertex_shader(&changed, None).unwrap_err()
    };
    let error = with_body(Statement::Break);
    assert!(matches!(error, FrontendError::Source { location: None, .. }), "{error}");
    assert!(error.to_string().contains("`break`"), "{error}");

    let nested = |levels: usize| {
        let mut block = Block::new();
        for level in 0..levels {
            let (accept, reject) = (Block::new(), block);
            let condition = valid.entry_points[0].function.expressions.iter().next().unwrap().0;
            let statement = match level % 4 {
                0 => Statement::Block(reject),
                1 => Statement::If { condition, accept, reject },
                2 => Statement::Loop { body: accept, continuing: reject, break_if: None },
                _ => Statement::Switch {
                    selector: condition,
                    cases: vec![naga::SwitchCase {
                        value: naga::SwitchValue::Default,
                        body: reject,
                        fall_through: false,
                    }],
                },
            };
            block = Block::from_vec(vec![statement]);
        }
        block
    };
    for levels in [MAX_NESTING, 10 * MAX_NESTING] {
        let mut deep = valid.clone();
        deep.entry_points[0].function.body = nested(levels);
        let error = module::vertex_shader(&deep, None).unwrap_err();
        assert_eq!(error, FrontendError::Nesting { location: None });
    }
    let mut flat = valid.clone();
    flat.entry_points[0].function.body = nested(MAX_NESTING - 1);
    let error = module::vertex_shader(&flat, None).unwrap_err();
    assert!(!matches!(error, FrontendError::Nesting { .. }), "{error}");
}
