//! Lowered modules are valid for their target, for modules from compilers, and errors say what is
//! wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use vkxfb::capture::CaptureError;
use vkxfb::lower::compute::WorkgroupSizes;
use vkxfb::lower::kernel::Kernel;
use vkxfb::lower::{
    Effects, LowerError, Lowered, ResourcePlan, Shader, compute, native, reflect, vertex,
};
use vkxfb::spirv::entry_point::EntryPointError;
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::spirv::{Module, Section, words_from_bytes};
use vkxfb::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// Attributes of locations 0 to 15, all of one class.
fn vertex_input(class: NumericClass) -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: 16, input_rate: InputRate::Vertex }],
        attributes: (0..16)
            .map(|location| VertexAttribute {
                location,
                binding: 0,
                format: VertexFormat::of(class, 32, 4).unwrap(),
                offset: 0,
            })
            .collect(),
    }
}

/// One attribute, at location 0.
fn one_attribute(format: VertexFormat, input_rate: InputRate) -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: format.size(), input_rate }],
        attributes: vec![VertexAttribute { location: 0, binding: 0, format, offset: 0 }],
    }
}

fn to_compute(words: &[u32], vertex_input: &VertexInput) -> Result<Lowered, LowerError> {
    to_compute_by(ResourcePlan::DeviceAddress, words, vertex_input)
}

fn to_compute_by(
    resources: ResourcePlan,
    words: &[u32],
    vertex_input: &VertexInput,
) -> Result<Lowered, LowerError> {
    let options =
        compute::Options::new(vertex_input).target(compute::Target::default().resources(resources));
    compute::lower(&Shader::new(words), &options)
}

/// Behind the sets of the shaders here.
const DESCRIPTORS: ResourcePlan = ResourcePlan::Descriptors { reads: 12, writes: 4 };

/// One of several entry points.
fn named<'a>(words: &'a [u32], entry_point: &'a str) -> Shader<'a> {
    Shader::new(words).entry_point(entry_point)
}

/// By the vertex backend, and by the compute backend with both resource plans, and staged.
fn all(words: &[u32]) -> [Lowered; 4] {
    let vertex_input = vertex_input(NumericClass::Float);
    let staged = compute::Target::default().staging(1024);
    let staged = compute::Options::new(&vertex_input).target(staged);
    [
        vertex::lower(&Shader::new(words)).unwrap(),
        to_compute(words, &vertex_input).unwrap(),
        to_compute_by(DESCRIPTORS, words, &vertex_input).unwrap(),
        compute::lower(&Shader::new(words), &staged).unwrap(),
    ]
}

/// Everything that lowering supports, in one shader.
const EVERYTHING: &str = r#"#version 450
#extension GL_ARB_shader_draw_parameters : require
layout(constant_id = 0) const bool flip = false;
layout(constant_id = 3) const float scale = 2.0;
layout(xfb_buffer = 1, xfb_stride = 36) out;
layout(xfb_buffer = 0, xfb_stride = 32) out;
layout(location = 0) in vec4 position;
layout(location = 1) in mat3 transform;
layout(location = 4) in vec2 pair[2];
layout(location = 6, component = 1) in vec2 middle;
layout(set = 0, binding = 0) uniform Uniforms { mat4 matrix; };
layout(set = 1, binding = 2) buffer Storage { uint counter; };
layout(set = 0, binding = 1) uniform sampler2D image;
layout(location = 0, xfb_offset = 16) out vec4 colour;
layout(location = 1, xfb_buffer = 1, xfb_offset = 8) flat out ivec3 numbers;
layout(location = 2) noperspective out vec2 free;
struct Inner { dmat2x3 wide[2]; float narrow; };
layout(location = 3, xfb_buffer = 2, xfb_stride = 256, xfb_offset = 8) flat out struct Outer {
    Inner inner[2];
    mat3x2 matrix;
} nested;
layout(location = 26, xfb_buffer = 3, xfb_offset = 0) flat out dvec3 wide;
out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
    float gl_ClipDistance[2];
};
vec4 transformed(vec4 x) { return matrix * x * scale; }
void main() {
    gl_Position = transformed(position) + vec4(transform * vec3(middle, 1.0), 0.0);
    gl_PointSize = 1.0;
    gl_ClipDistance[0] = position.x;
    gl_ClipDistance[1] = pair[1].y;
    nested.inner[1].wide[0] = dmat2x3(position.x);
    nested.matrix = mat3x2(transform);
    wide = dvec3(position.xyz);
    numbers = ivec3(gl_VertexIndex, gl_InstanceIndex, gl_BaseVertexARB + gl_BaseInstanceARB + gl_DrawIDARB);
    colour = textureLod(image, pair[0], 0.0);
    if (flip) { colour = -colour; return; }
    for (int i = 0; i < 3; i++) colour[i] += float(i);
}
"#;

#[test]
fn what_glslang_emits_is_lowered_to_valid_modules() {
    for (arguments, target) in [
        (&[][..], "vulkan1.0"),
        (&["-g"], "vulkan1.0"),
        (&["-gVS"], "vulkan1.1"),
        (&["-Od"], "vulkan1.0"),
        (&["--target-env", "vulkan1.1"], "vulkan1.1"),
        (&["--target-env", "spirv1.4"], "vulkan1.1spv1.4"),
        (&["--target-env", "vulkan1.2"], "vulkan1.2"),
        (&["--target-env", "vulkan1.3", "-gVS"], "vulkan1.3"),
    ] {
        let words = common::compile(EVERYTHING, arguments);
        for lowered in all(&words) {
            common::validate(&lowered.words, target);
            assert_eq!(lowered.entry_point, "main");
            // constant_id 0 and 3 are the shader's own.
            let ids = lowered.spec_ids().unwrap();
            assert_eq!([ids.topology, ids.restart, ids.general, ids.indexed], [1, 2, 4, 5]);
            assert_eq!([ids.batched, ids.wide_loads, ids.wide_stores], [6, 7, 8]);
            assert_eq!([ids.fused, ids.plain, ids.workgroup_size], [9, 10, 11]);
        }
    }
}

/// A module contains only the functions that its formats and rates need, and no capabilities for
/// them.
#[test]
fn modules_link_only_what_their_vertex_input_needs() {
    let source = "#version 450
        layout(location = 0) in vec4 v;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out vec4 captured;
        void main() { captured = v; }";
    let words = common::compile(source, &[]);
    let text = |format, rate| {
        let lowered = to_compute(&words, &one_attribute(format, rate)).unwrap();
        common::validate(&lowered.words, "vulkan1.0");
        common::disassemble(&lowered.words)
    };
    let capabilities = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|l| l.starts_with("OpCapability"));
        lines.map(str::to_owned).collect()
    };
    let floats = text(VertexFormat::R32G32B32A32Sfloat, InputRate::Vertex);
    for unused in ["convert_", "fetch_", "fetch3", "divided", "normalized"] {
        assert!(!floats.contains(unused), "{unused}");
    }
    assert!(floats.contains("xfb_fetch4"));
    let thirds = InputRate::Instance { divisor: 3 };
    for (format, rate, needed, unneeded) in [
        (
            VertexFormat::R8G8B8A8Unorm,
            thirds,
            &["fetch_bytes", "convert_unorm"][..],
            "convert_snorm",
        ),
        (VertexFormat::R16G16B16Snorm, thirds, &["fetch_halves", "divided"], "convert_unorm"),
        (VertexFormat::R8Uscaled, InputRate::INSTANCE, &["fetch_within_dword"], "divided"),
        (VertexFormat::B10G11R11UfloatPack32, InputRate::Vertex, &["fetch1", "widened"], "fetch_"),
    ] {
        let text = text(format, rate);
        for name in needed {
            assert!(text.contains(&format!("%xfb_{name}")), "{format:?} {name}");
        }
        assert!(!text.contains(unneeded), "{format:?} {unneeded}");
        assert_eq!(capabilities(&text), capabilities(&floats), "{format:?}");
    }
}

#[test]
fn lowering_depends_on_nothing_but_its_input() {
    let words = common::compile(EVERYTHING, &[]);
    let [vertex, compute, ..] = all(&words);
    for _ in 0..4 {
        let [vertex_again, compute_again, ..] = all(&words);
        assert_eq!(vertex.words, vertex_again.words);
        assert_eq!(compute.words, compute_again.words);
        assert_eq!(vertex.cache_key(), vertex_again.cache_key());
        assert_eq!(compute.cache_key(), compute_again.cache_key());
    }
    assert_ne!(vertex.cache_key(), compute.cache_key());
    // Options count as well.
    let input = vertex_input(NumericClass::Float);
    let options = compute::Options::new(&input)
        .target(compute::Target::default().workgroup_sizes(WorkgroupSizes::all(32)));
    let narrower = compute::lower(&Shader::new(&words), &options).unwrap();
    assert_ne!(compute.cache_key(), narrower.cache_key());
}

/// Accesses that are aligned move 64-bit integers where the target has them, and no others do.
#[test]
fn aligned_accesses_may_be_64_bit_integers() {
    let words = words_from_bytes(include_bytes!("../shaders/probe/two_buffers.spv")).unwrap();
    let input = vertex_input(NumericClass::Float);
    for int64_accesses in [false, true] {
        let target = compute::Target::default().int64_accesses(int64_accesses);
        let options = compute::Options::new(&input).target(target);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        common::validate(&lowered.words, "vulkan1.0");
        let text = common::disassemble(&lowered.words);
        assert_eq!(text.contains("OpCapability Int64"), int64_accesses);
        for line in
            text.lines().filter(|line| line.contains("OpStore") && line.contains("Aligned 4"))
        {
            assert!(!line.contains("ulong"), "{line}");
        }
        let aligned = text.lines().filter(|line| line.contains("PhysicalStorageBuffer %v2ulong"));
        assert_eq!(aligned.count() > 0, int64_accesses, "{text}");
    }
}

/// Single bytes are loaded where the target can, and only of index buffers: one load for an index of a byte, and
/// for the low byte of one of two bytes, another for the high byte.
#[test]
fn indices_at_the_end_may_be_loaded_by_bytes() {
    let words = words_from_bytes(include_bytes!("../shaders/probe/two_buffers.spv")).unwrap();
    let input = vertex_input(NumericClass::Float);
    for byte_loads in [false, true] {
        for resources in [ResourcePlan::DeviceAddress, DESCRIPTORS] {
            let target = compute::Target::default().byte_loads(byte_loads).resources(resources);
            let options = compute::Options::new(&input).target(target);
            let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
            common::validate(&lowered.words, "vulkan1.0");
            let text = common::disassemble(&lowered.words);
            assert_eq!(text.contains("OpCapability StorageBuffer8BitAccess"), byte_loads);
            let loads = text.matches("OpUConvert").count();
            assert_eq!(loads > 0, byte_loads);
            assert_eq!(text.matches("OpLoad %uchar").count(), loads);
        }
    }
}

/// The hash is of the bytes of the file, so it equals the output of `xxh128sum`.
#[test]
fn cache_keys_are_xxh3() {
    let words = words_from_bytes(include_bytes!("../shaders/probe/two_buffers.spv")).unwrap();
    let native = native::lower(&Shader::new(&words)).unwrap();
    assert_eq!(native.cache_key(), 0xe4fb_55f0_5ed1_9cb2_f6c3_66a6_bcd1_82cf);
}

#[test]
fn probe_shaders_read_as_reviewed() {
    let words = words_from_bytes(include_bytes!("../shaders/probe/two_buffers.spv")).unwrap();
    let names = ["vertex", "compute", "compute-descriptors", "compute-staged"];
    for (name, lowered) in names.into_iter().zip(all(&words)) {
        common::validate(&lowered.words, "vulkan1.0");
        let name = format!("two_buffers.{name}");
        insta::assert_snapshot!(name, generated(&common::disassemble(&lowered.words)));
    }
}

/// Of a module what lowering generates: how it is run, and the functions that are stubs in the shader library.
/// Ids without a name are numbered anew in each function, so that a change shows where it was made.
fn generated(text: &str) -> String {
    const HOW: [&str; 5] =
        ["OpCapability", "OpExtension", "OpMemoryModel", "OpEntryPoint", "OpExecutionMode"];
    let stubs = include_str!("../shaders/stubs.wgsl");
    let (head, functions) = text.split_once("OpFunction ").map_or((text, ""), |(head, _)| {
        let start = head.rfind('\n').map_or(0, |end| end + 1);
        text.split_at(start)
    });
    let how = head.lines().map(str::trim).filter(|line| HOW.iter().any(|op| line.starts_with(op)));
    let mut found: Vec<String> = how.map(str::to_owned).collect();
    let mut bodies = Vec::new();
    for body in functions.split_inclusive("OpFunctionEnd\n") {
        let name = body.split_whitespace().next().unwrap_or_default();
        let stub = format!("fn {}(", name.trim_start_matches("%xfb_"));
        if stubs.contains(&stub) {
            bodies.push(renumbered(body));
        }
    }
    bodies.sort();
    found.extend(bodies);
    found.join("\n")
}

fn renumbered(body: &str) -> String {
    let mut numbers: Vec<&str> = Vec::new();
    let is_number = |word: &&str| {
        word.strip_prefix('%').is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for word in body.split_whitespace().filter(is_number) {
        if !numbers.contains(&word) {
            numbers.push(word);
        }
    }
    let word_of = |word: &str| match numbers.iter().position(|number| *number == word) {
        Some(number) => format!("%{}", number + 1),
        None => word.to_owned(),
    };
    let line_of = |line: &str| line.split_whitespace().map(word_of).collect::<Vec<_>>().join(" ");
    body.lines().map(line_of).collect::<Vec<_>>().join("\n")
}

#[test]
fn native_leaves_the_words_alone() {
    // It would replace specialisation constants by constants.
    let source =
        EVERYTHING.replace("layout(constant_id = 0) ", "").replace("layout(constant_id = 3) ", "");
    let words = common::compile(&source, &[]);
    assert_eq!(native::lower(&Shader::new(&words)).unwrap().words, words);
}

#[test]
fn effects_are_reported() {
    let effects = |body: &str| {
        let source = format!(
            "#version 450
             #extension GL_KHR_shader_subgroup_arithmetic : require
             layout(set = 0, binding = 0) buffer Storage {{ uint counter; uint data[]; }};
             layout(set = 0, binding = 1, r32ui) uniform uimage2D image;
             layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint a;
             void main() {{ a = data[0]; {body} }}"
        );
        let words = common::compile(&source, &["--target-env", "vulkan1.1"]);
        let shader = Shader::new(&words);
        let effects = native::lower(&shader).unwrap().effects;
        assert_eq!(shader.effects(), Ok(effects));
        effects
    };
    let none = Effects::default();
    let mut stores = none;
    stores.side_effects = true;
    let mut depends = stores;
    depends.atomic_results = true;
    let mut subgroup = none;
    subgroup.subgroup_operations = true;
    assert_eq!(effects(""), none);
    assert_eq!(effects("uint local[2]; local[gl_VertexIndex & 1] = 3; a += local[0];"), none);
    assert_eq!(effects("data[gl_VertexIndex] = 1;"), stores);
    assert_eq!(effects("atomicAdd(counter, 1);"), stores);
    assert_eq!(effects("imageStore(image, ivec2(0), uvec4(1));"), stores);
    assert_eq!(effects("a += atomicAdd(counter, 1);"), depends);
    assert_eq!(effects("data[imageAtomicMax(image, ivec2(0), 3)] = 1;"), depends);
    assert_eq!(effects("a = subgroupAdd(a);"), subgroup);
}

/// A module with two vertex shaders and a fragment shader, whose inputs and outputs share types.
const SEVERAL: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %1 "first" %2
    OpEntryPoint Fragment %3 "shade" %4 %5
    OpEntryPoint Vertex %6 "second" %7 %8
    OpExecutionMode %3 OriginUpperLeft
    OpExecutionMode %6 Xfb
    OpName %3 "shade"
    OpName %4 "colour_in"
    OpDecorate %2 BuiltIn Position
    OpDecorate %4 Location 0
    OpDecorate %5 Location 0
    OpDecorate %7 Location 0
    OpDecorate %8 Location 0
    OpDecorate %8 XfbBuffer 0
    OpDecorate %8 XfbStride 16
    OpDecorate %8 Offset 0
    %10 = OpTypeVoid
    %11 = OpTypeFunction %10
    %12 = OpTypeFloat 32
    %13 = OpTypeVector %12 4
    %14 = OpTypePointer Input %13
    %15 = OpTypePointer Output %13
    %2 = OpVariable %15 Output
    %4 = OpVariable %14 Input
    %5 = OpVariable %15 Output
    %7 = OpVariable %14 Input
    %8 = OpVariable %15 Output
    %16 = OpConstantNull %13
    %1 = OpFunction %10 None %11
    %20 = OpLabel
    OpStore %2 %16
    OpReturn
    OpFunctionEnd
    %3 = OpFunction %10 None %11
    %21 = OpLabel
    %22 = OpLoad %13 %4
    %23 = OpDPdx %13 %22
    OpStore %5 %23
    OpReturn
    OpFunctionEnd
    %6 = OpFunction %10 None %11
    %24 = OpLabel
    %25 = OpLoad %13 %7
    OpStore %8 %25
    OpReturn
    OpFunctionEnd
"#;

#[test]
fn other_entry_points_are_kept_by_vertex_and_removed_by_compute() {
    let words = common::assemble(SEVERAL, "vulkan1.0");
    common::validate(&words, "vulkan1.0");
    let lowered = vertex::lower(&named(&words, "second")).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    assert_eq!(common::disassemble(&lowered.words).matches("OpEntryPoint").count(), 3);

    let input = vertex_input(NumericClass::Float);
    let options = compute::Options::new(&input)
        .target(compute::Target::default().workgroup_sizes(WorkgroupSizes::all(32)));
    let lowered = compute::lower(&named(&words, "second"), &options).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("OpEntryPoint").count(), 1);
    assert!(!text.contains("OpDPdx") && !text.contains("colour_in"), "{text}");
    assert!(text.contains("OpSpecConstant %uint 32"));

    let ambiguous = vertex::lower(&Shader::new(&words)).unwrap_err();
    let LowerError::EntryPoint(EntryPointError::Ambiguous { found, .. }) = ambiguous else {
        panic!("{ambiguous}")
    };
    assert!(found.contains("'first'") && found.contains("'second'"), "{found}");
    assert!(matches!(
        vertex::lower(&named(&words, "third")),
        Err(LowerError::EntryPoint(EntryPointError::NotFound { .. }))
    ));
    assert!(matches!(
        native::lower(&named(&words, "first")),
        Err(LowerError::Capture(CaptureError::NoXfbMode { .. }))
    ));
}

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

    let error = to_compute(&shader("layout(location = 2) in uvec4 v;", "v"), &floats).unwrap_err();
    assert!(
        matches!(
            &error,
            LowerError::AttributeClass {
                location: 2,
                expected: NumericClass::Uint,
                found: NumericClass::Float,
                ..
            }
        ),
        "{error}"
    );

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

#[test]
fn a_fragment_shader_is_no_vertex_shader() {
    let words = common::assemble(
        &SEVERAL
            .replace("OpEntryPoint Vertex %1 \"first\" %2", "")
            .replace("OpEntryPoint Vertex %6 \"second\" %7 %8", "")
            .replace("OpExecutionMode %6 Xfb", ""),
        "vulkan1.0",
    );
    let error = native::lower(&Shader::new(&words)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the module has no vertex, tessellation evaluation or geometry shader; it has: Fragment 'shade'"
    );
    let error = vertex::lower(&Shader::new(&words)).unwrap_err().to_string();
    assert_eq!(error, "the module has no vertex shader; it has: Fragment 'shade'");
}

/// The compute lowering asks the device for nothing that the interface asked for.
#[test]
fn interface_capabilities_are_dropped() {
    let words = common::compile(EVERYTHING, &[]);
    let [_, compute, ..] = all(&words);
    let text = common::disassemble(&compute.words);
    for gone in ["ClipDistance", "DrawParameters", "TransformFeedback", "shader_draw_parameters"] {
        assert!(!text.contains(&format!("OpCapability {gone}")), "{gone}");
        assert!(!text.contains(&format!("OpExtension \"SPV_KHR_{gone}\"")), "{gone}");
    }
    assert!(Module::parse(&compute.words).is_ok());
}

#[test]
fn every_module_that_the_probe_runs_is_valid() {
    use vkxfb::lower::Backend;
    use vkxfb_probe::{shaders::ProbeShader, subject::Subject};
    for shader in ProbeShader::all() {
        let subject = Subject::built_in(shader).unwrap();
        for backend in Backend::ALL {
            for (resources, staging) in [
                (ResourcePlan::DeviceAddress, 0),
                (DESCRIPTORS, 0),
                (DESCRIPTORS, 4096),
                (ResourcePlan::DeviceAddress, 4096),
            ] {
                let target = compute::Target::default().resources(resources).staging(staging);
                let lowered = subject.lower(backend, &target).unwrap();
                common::validate(&lowered.words, "vulkan1.0");
                assert!(lowered.compute().is_none_or(|compute| compute.shared_memory <= staging));
            }
        }
    }
}

fn compute_of(words: &[u32], entry_point: &str) -> Result<Lowered, LowerError> {
    let vertex_input = &vertex_input(NumericClass::Float);
    let options = compute::Options::new(vertex_input);
    compute::lower(&named(words, entry_point), &options)
}

/// From SPIR-V 1.4 on the interface lists all globals, but not those of other entry points.
#[test]
fn interfaces_hold_nothing_of_other_entry_points() {
    const TARGET: &str = "vulkan1.1spv1.4";
    let words = common::assemble(
        &SEVERAL
            .replace(
                "OpDecorate %5 Location 0",
                "OpDecorate %5 Location 0\nOpDecorate %9 Location 0",
            )
            .replace("\"shade\" %4 %5", "\"shade\" %4 %5 %9")
            .replace("OpDecorate %5 Location 0\n", "OpDecorate %5 Location 1\n")
            .replace("%4 = OpVariable", "%9 = OpVariable %15 Output\n%4 = OpVariable"),
        TARGET,
    );
    common::validate(&words, TARGET);
    for lowered in
        [vertex::lower(&named(&words, "second")).unwrap(), compute_of(&words, "second").unwrap()]
    {
        common::validate(&lowered.words, TARGET);
        let text = common::disassemble(&lowered.words);
        let entry = text.lines().find(|line| line.contains("\"second\"")).unwrap();
        let (_, interface) = entry.split_once("\"second\"").unwrap();
        for foreign in ["%2", "%colour_in", "%5", "%9"] {
            assert!(interface.split_whitespace().all(|id| id != foreign), "{entry}");
        }
        assert!(interface.split_whitespace().any(|id| id == "%8"), "{entry}");
    }
}

/// A module whose one function is two entry points, with float controls.
const SHARED: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpCapability DenormFlushToZero
    OpExtension "SPV_KHR_float_controls"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %1 "first" %2 %3
    OpEntryPoint Vertex %1 "second" %2 %3
    OpExecutionMode %1 Xfb
    OpExecutionMode %1 DenormFlushToZero 32
    OpDecorate %2 Location 0
    OpDecorate %3 Location 0
    OpDecorate %3 XfbBuffer 0
    OpDecorate %3 XfbStride 4
    OpDecorate %3 Offset 0
    OpDecorate %4 BuiltIn WorkgroupSize
    %10 = OpTypeVoid
    %11 = OpTypeFunction %10
    %12 = OpTypeFloat 32
    %13 = OpTypePointer Input %12
    %14 = OpTypePointer Output %12
    %15 = OpTypeInt 32 0
    %16 = OpTypeVector %15 3
    %17 = OpConstant %15 7
    %4 = OpConstantComposite %16 %17 %17 %17
    %2 = OpVariable %13 Input
    %3 = OpVariable %14 Output
    %5 = OpVariable %13 Input
    %1 = OpFunction %10 None %11
    %20 = OpLabel
    %21 = OpLoad %12 %2
    OpStore %3 %21
    OpReturn
    OpFunctionEnd
"#;

/// Structures of other entry points stay, without what the missing capabilities forbid.
#[test]
fn blocks_of_other_entry_points_are_harmless() {
    let block = "
        OpMemberDecorate %30 0 BuiltIn Position
        OpMemberDecorate %30 1 BuiltIn ClipDistance
        OpMemberDecorate %30 0 XfbBuffer 0
        OpMemberDecorate %30 0 XfbStride 16
        OpMemberDecorate %30 0 Offset 0
        OpDecorate %30 Block
        OpDecorate %10 UserTypeGOOGLE \"nothing\"
        ";
    let words = common::assemble(
        &SEVERAL
            .replace("OpMemoryModel", "OpCapability ClipDistance\nOpMemoryModel")
            .replace(
                "OpMemoryModel",
                "OpExtension \"SPV_GOOGLE_user_type\"
                 OpExtension \"SPV_GOOGLE_decorate_string\"
                 OpMemoryModel",
            )
            .replace("OpDecorate %2 BuiltIn Position", block)
            .replace(
                "%15 = ",
                "%31 = OpTypeInt 32 0\n%32 = OpConstant %31 1\n%33 = OpTypeArray %12 %32
                 %30 = OpTypeStruct %13 %33\n%34 = OpTypePointer Output %30\n%15 = ",
            )
            .replace("%2 = OpVariable %15 Output", "%2 = OpVariable %34 Output")
            .replace("OpStore %2 %16", ""),
        "vulkan1.0",
    );
    common::validate(&words, "vulkan1.0");
    for lowered in
        [vertex::lower(&named(&words, "second")).unwrap(), compute_of(&words, "second").unwrap()]
    {
        common::validate(&lowered.words, "vulkan1.0");
    }
}

#[test]
fn a_function_may_be_two_entry_points() {
    let words = common::assemble(SHARED, "vulkan1.1");
    common::validate(&words, "vulkan1.1");
    for lowered in
        [vertex::lower(&named(&words, "second")).unwrap(), compute_of(&words, "second").unwrap()]
    {
        common::validate(&lowered.words, "vulkan1.1");
        let text = common::disassemble(&lowered.words);
        assert_eq!(text.matches("OpEntryPoint").count(), 1, "{text}");
    }
}

/// Float controls decide which bits a shader computes.
#[test]
fn execution_modes_go_with_the_shader() {
    let words = common::assemble(SHARED, "vulkan1.1");
    for (lowered, function) in [
        (vertex::lower(&named(&words, "first")).unwrap(), "%xfb_main"),
        (compute_of(&words, "first").unwrap(), "%xfb_compute"),
    ] {
        let text = common::disassemble(&lowered.words);
        assert!(
            text.contains(&format!("OpExecutionMode {function} DenormFlushToZero 32")),
            "{text}"
        );
        assert!(!text.contains(" Xfb"), "{text}");
    }
}

/// A module has one WorkgroupSize.
#[test]
fn a_workgroup_size_of_another_shader_is_dropped() {
    let words = common::assemble(SHARED, "vulkan1.1");
    let lowered = compute_of(&words, "first").unwrap();
    common::validate(&lowered.words, "vulkan1.1");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("BuiltIn WorkgroupSize").count(), 1, "{text}");
    assert!(text.contains("OpSpecConstant %uint 64"), "{text}");
}

/// A pipeline may set it: the constant for it, the lists of records and the loops follow.
#[test]
fn a_specialised_workgroup_size_is_in_the_module() {
    let words = common::compile(EVERYTHING, &[]);
    let reads = reflect::vertex_reads(&Shader::new(&words)).unwrap();
    let vertex_input = reads.packed_vertex_input();
    let target = compute::Target::default().staging(4096);
    let options = compute::Options::new(&vertex_input).target(target);
    let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
    let constant_id = lowered.spec_ids().unwrap().workgroup_size;
    for (size, listed) in [(32u32, 96), (64, 192), (128, 384)] {
        let data = size.to_ne_bytes();
        let constants = [SpecializationConstant { constant_id, data: &data }];
        let words = lowered.specialized(&constants).unwrap();
        common::validate(&words, "vulkan1.1");
        let text = common::disassemble(&words);
        assert_eq!(text.matches("BuiltIn WorkgroupSize").count(), 1, "{text}");
        for expected in [
            format!("OpConstantComposite %v3uint %uint_{size} %uint_1 %uint_1"),
            format!("OpTypeArray %uint %uint_{listed}"),
        ] {
            assert!(text.contains(&expected), "{expected}: {text}");
        }
    }
}

/// %5 has no location: were it in the interface, that would be an error.
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

/// Inputs that share a location are one attribute, as wide as its last component.
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

#[test]
fn a_workgroup_has_invocations() {
    let words = common::assemble(SHARED, "vulkan1.1");
    let vertex_input = &vertex_input(NumericClass::Float);
    let options = compute::Options::new(vertex_input)
        .target(compute::Target::default().workgroup_sizes(WorkgroupSizes::all(0)));
    assert_eq!(
        compute::lower(&Shader::new(&words), &options).unwrap_err(),
        LowerError::WorkgroupSize
    );
}

/// Debug info of an interface variable goes with it.
#[test]
fn debug_info_of_other_entry_points_is_removed() {
    const DEBUG: &str = "%30 = OpExtInstImport \"NonSemantic.Shader.DebugInfo.100\"";
    let words = common::assemble(
        &SEVERAL
            .replace(
                "OpMemoryModel",
                &format!("OpExtension \"SPV_KHR_non_semantic_info\"\n{DEBUG}\nOpMemoryModel"),
            )
            .replace("OpName %3", "%31 = OpString \"shader\"\nOpName %3")
            .replace(
                "%1 = OpFunction ",
                "%32 = OpTypeInt 32 0
                 %33 = OpConstant %32 0
                 %34 = OpConstant %32 4
                 %35 = OpConstant %32 2
                 %36 = OpConstant %32 32
                 %37 = OpConstant %32 3
                 %38 = OpExtInst %10 %30 DebugSource %31
                 %39 = OpExtInst %10 %30 DebugCompilationUnit %34 %34 %38 %35
                 %40 = OpExtInst %10 %30 DebugTypeBasic %31 %36 %37 %33
                 %41 = OpExtInst %10 %30 DebugGlobalVariable %31 %40 %38 %33 %33 %39 %31 %4 %33
                 %42 = OpExtInst %10 %30 DebugGlobalVariable %31 %40 %38 %33 %33 %39 %31 %7 %33
                 %1 = OpFunction ",
            ),
        "vulkan1.1",
    );
    common::validate(&words, "vulkan1.1");
    let lowered = compute_of(&words, "second").unwrap();
    common::validate(&lowered.words, "vulkan1.1");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("DebugGlobalVariable").count(), 1, "{text}");
}

/// An output and a storage buffer of one structure type: the layout is the buffer's.
#[test]
fn a_structure_that_a_buffer_shares_keeps_its_layout() {
    let words = common::assemble(
        r#"
        OpCapability Shader
        OpCapability TransformFeedback
        OpExtension "SPV_KHR_storage_buffer_storage_class"
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %1 "main" %2 %3
        OpExecutionMode %1 Xfb
        OpDecorate %2 Location 0
        OpDecorate %2 XfbBuffer 0
        OpDecorate %2 XfbStride 4
        OpDecorate %2 Offset 0
        OpDecorate %3 Location 1
        OpDecorate %4 DescriptorSet 0
        OpDecorate %4 Binding 0
        OpDecorate %5 Block
        OpMemberDecorate %5 0 Offset 0
        OpMemberDecorate %6 0 Offset 0
        OpMemberDecorate %6 1 Offset 8
        %10 = OpTypeVoid
        %11 = OpTypeFunction %10
        %12 = OpTypeFloat 32
        %6 = OpTypeStruct %12 %12
        %5 = OpTypeStruct %6
        %13 = OpTypePointer Output %12
        %14 = OpTypePointer Output %6
        %15 = OpTypePointer StorageBuffer %5
        %16 = OpTypePointer StorageBuffer %6
        %17 = OpTypeInt 32 1
        %18 = OpConstant %17 0
        %2 = OpVariable %13 Output
        %3 = OpVariable %14 Output
        %4 = OpVariable %15 StorageBuffer
        %1 = OpFunction %10 None %11
        %20 = OpLabel
        %21 = OpAccessChain %16 %4 %18
        %22 = OpLoad %6 %21
        %23 = OpCompositeExtract %12 %22 1
        OpStore %3 %22
        OpStore %2 %23
        OpReturn
        OpFunctionEnd
        "#,
        "vulkan1.0",
    );
    common::validate(&words, "vulkan1.0");
    for lowered in all(&words) {
        common::validate(&lowered.words, "vulkan1.0");
        let text = common::disassemble(&lowered.words);
        assert!(text.contains(" 1 Offset 8"), "{text}");
    }
}

/// A shader of one output and one input, of the type %9.
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

/// Types and numbers that no compiler emits cost neither memory nor time.
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

/// The set of the resource plan comes after all sets of the shader, and can be moved further.
#[test]
fn descriptors_in_the_way_are_named() {
    let words = common::compile(EVERYTHING, &[]);
    let vertex_input = vertex_input(NumericClass::Float);
    let lower = |reads, writes| {
        let resources = ResourcePlan::Descriptors { reads, writes };
        to_compute_by(resources, &words, &vertex_input)
    };
    let mut lowered = lower(12, 4).unwrap();
    let set = |lowered: &Lowered| lowered.compute().unwrap().descriptor_set;
    assert_eq!(set(&lowered), Some(1), "the shader uses nothing of set 1");
    let first = lowered.words.clone();
    lowered.move_descriptor_set(3).unwrap();
    assert_eq!(set(&lowered), Some(3));
    let sets = |words: &[u32]| {
        let text = common::disassemble(words);
        let sets = |set| text.matches(&format!("DescriptorSet {set}\n")).count();
        [0, 1, 3].map(sets)
    };
    let [own, of_plan, _] = sets(&first);
    assert!(own > 0 && of_plan > 0);
    assert_eq!(sets(&lowered.words), [own, 0, of_plan]);
    common::validate(&lowered.words, "vulkan1.0");
    let conflict = lowered.move_descriptor_set(0).unwrap_err();
    assert!(matches!(conflict, LowerError::DescriptorSet { used: 0, set: 0, .. }), "{conflict}");
    assert_eq!(set(&lowered), Some(3), "it is where it was");
    lowered.move_descriptor_set(1).unwrap();
    assert_eq!(lowered.words, first);
    for (reads, writes) in [(4, 4), (1, 0)] {
        assert_eq!(lower(reads, writes).unwrap_err(), LowerError::StorageBuffers { reads, writes });
    }
    let mut by_address = to_compute(&words, &vertex_input).unwrap();
    let before = by_address.words.clone();
    by_address.move_descriptor_set(0).unwrap();
    assert_eq!(by_address.words, before, "there is no such set");
}

/// The kernels that prepare captures are whole modules.
#[test]
fn kernels_are_valid() {
    use vkxfb::lower::kernel::{MIN_WORKGROUP_SIZE, Target, lower};
    for kernel in Kernel::ALL {
        for resources in [ResourcePlan::DeviceAddress, DESCRIPTORS] {
            for max_invocations in [MIN_WORKGROUP_SIZE, 255, 1024] {
                let target =
                    Target::default().resources(resources).max_invocations(max_invocations);
                for byte_loads in [false, true] {
                    let words = lower(kernel, &target.byte_loads(byte_loads)).unwrap();
                    common::validate(&words, "vulkan1.0");
                    let loads = common::disassemble(&words).contains("OpUConvert");
                    assert_eq!(loads, byte_loads && kernel == Kernel::Restart, "{kernel:?}");
                }
            }
        }
        let resources = ResourcePlan::Descriptors { reads: 0, writes: 0 };
        let error = lower(kernel, &Target::default().resources(resources)).unwrap_err();
        assert!(matches!(error, LowerError::StorageBuffers { .. }), "{error}");
    }
}

/// Shared memory would need availability and visibility operations there.
#[test]
fn modules_of_the_vulkan_memory_model_are_not_staged() {
    let source =
        common::assemble(&SHARED.replace("OpEntryPoint Vertex %1 \"second\" %2 %3", ""), "spv1.5");
    let mut module = Module::parse(&source).unwrap();
    module.add_capability(spirv::Capability::VulkanMemoryModel);
    module
        .edit(Section::MemoryModel, |_, operands| operands[1] = spirv::MemoryModel::Vulkan as u32);
    let vertex_input = vertex_input(NumericClass::Float);
    let target = compute::Target::default().staging(4096).shared_draws(true);
    let options = compute::Options::new(&vertex_input).target(target);
    let lower = |words: &[u32]| compute::lower(&Shader::new(words), &options).unwrap();
    let lowered = lower(&module.words());
    common::validate(&lowered.words, "vulkan1.2");
    assert_eq!(lowered.compute().unwrap().shared_memory, 0);
    assert_ne!(lower(&source).compute().unwrap().shared_memory, 0);
}
