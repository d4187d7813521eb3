//! Tests the broadcast of fragment colours: renders to 1 to 8 attachments and reads all of them
//! back.

use std::sync::LazyLock;

use ash::vk;
use vkxfb_rewriter::spirv::Module;
use vkxfb_translators::broadcast::{Broadcast, BroadcastError, BroadcastOptions, broadcast_color};

use crate::common;
use crate::common::render::{Renderer, SIZE, Scene, Texels};
use crate::common::settings::ways_of;

const FLOAT: vk::Format = vk::Format::R32G32B32A32_SFLOAT;

/// The colour to which attachments are cleared.
const CLEAR: [f32; 4] = [0.5, 0.25, 0.125, 64.0];

/// The options of compilers for the versions of SPIR-V, each with the environment in which the
/// result is valid.
const TARGETS: [(&[&str], &str); 6] = [
    (&[], "vulkan1.0"),
    (&["-g"], "vulkan1.0"),
    (&["-Od"], "vulkan1.0"),
    (&["--target-env", "spirv1.4"], "vulkan1.1spv1.4"),
    (&["--target-env", "vulkan1.2"], "vulkan1.2"),
    (&["--target-env", "vulkan1.3", "-gVS"], "vulkan1.3"),
];

const fn options(attachments: u32) -> BroadcastOptions<'static> {
    BroadcastOptions::new(attachments, 8).max_dual_source_attachments(1)
}

fn compile(source: &str) -> Vec<u32> {
    compile_for(source, &[])
}

fn compile_for(source: &str, arguments: &[&str]) -> Vec<u32> {
    common::compile_stage("frag", &format!("#version 450\n{source}"), arguments)
}

fn broadcast(words: &[u32], attachments: u32) -> Result<Broadcast, BroadcastError> {
    broadcast_color(words, &options(attachments))
}

/// Returns the texels to which `color` maps their coordinates. `None` stands for the cleared
/// colour.
fn texels(color: impl Fn(u32, u32) -> Option<[f32; 4]>) -> Texels {
    (0..SIZE * SIZE).map(|i| color(i % SIZE, i / SIZE).unwrap_or(CLEAR).map(f32::to_bits)).collect()
}

/// A fragment shader, with the colour that it writes to a texel at given coordinates.
struct Case {
    name: &'static str,
    source: &'static str,
    color: fn(u32, u32) -> Option<[f32; 4]>,
    /// The number of components that are written.
    components: usize,
}

const CASES: &[Case] = &[
    Case {
        name: "the whole vector",
        source: "layout(location = 0) out vec4 color;
            void main() { color = vec4(floor(gl_FragCoord.xy), 3.0, 4.0); }",
        color: |x, y| Some([x as f32, y as f32, 3.0, 4.0]),
        components: 4,
    },
    Case {
        name: "write masks over a value",
        source: "layout(location = 0) out vec4 color;
            void main() {
                color = vec4(1.0, 2.0, 3.0, 4.0);
                color.xz = floor(gl_FragCoord.xy);
                color.w = 9.0;
            }",
        color: |x, y| Some([x as f32, 2.0, y as f32, 9.0]),
        components: 4,
    },
    Case {
        name: "write masks that leave components unwritten",
        source: "layout(location = 0) out vec4 color;
            void main() { color.xy = floor(gl_FragCoord.xy); }",
        color: |x, y| Some([x as f32, y as f32, 0.0, 0.0]),
        components: 2,
    },
    Case {
        name: "a component by a variable index, read back",
        source: "layout(location = 0) out vec4 color;
            void main() {
                color = vec4(1.0, 2.0, 3.0, 4.0);
                color[int(gl_FragCoord.x) & 3] += 8.0;
            }",
        color: |x, _| {
            let mut color = [1.0, 2.0, 3.0, 4.0];
            color[x as usize & 3] += 8.0;
            Some(color)
        },
        components: 4,
    },
    Case {
        name: "conditional stores",
        source: "layout(location = 0) out vec4 color;
            void main() {
                color = vec4(1.0);
                if (gl_FragCoord.x > 2.0) color.y = 2.0;
                else if (gl_FragCoord.y > 2.0) color = vec4(5.0, 6.0, 7.0, 8.0);
                for (int i = 0; i < int(gl_FragCoord.y); i++) color.w += 1.0;
            }",
        color: |x, y| {
            let mut color = match (x, y) {
                (2.., _) => [1.0, 2.0, 1.0, 1.0],
                (_, 2..) => [5.0, 6.0, 7.0, 8.0],
                _ => [1.0; 4],
            };
            color[3] += y as f32;
            Some(color)
        },
        components: 4,
    },
    Case {
        name: "stores in called functions",
        source: "layout(location = 0) out vec4 color;
            void inner() { color.w = floor(gl_FragCoord.x); }
            void outer() { color.xyz = vec3(1.0, 2.0, 3.0); inner(); }
            void main() { outer(); color.y = 7.0; }",
        color: |x, _| Some([1.0, 7.0, 3.0, x as f32]),
        components: 4,
    },
    Case {
        name: "out and inout parameters",
        source: "layout(location = 0) out vec4 color;
            void set(out vec4 c) { c = vec4(1.0, 2.0, 3.0, 4.0); }
            void add(inout float c) { c += floor(gl_FragCoord.y); }
            void main() { set(color); add(color.z); }",
        color: |_, y| Some([1.0, 2.0, 3.0 + y as f32, 4.0]),
        components: 4,
    },
    Case {
        name: "early returns",
        source: "layout(location = 0) out vec4 color;
            bool left() { if (gl_FragCoord.x < 2.0) { color = vec4(1.0); return true; } return false; }
            void main() {
                if (left()) return;
                color = vec4(2.0);
                if (gl_FragCoord.y < 2.0) return;
                color.x = 3.0;
            }",
        color: |x, y| {
            Some(match (x, y) {
                (0..2, _) => [1.0; 4],
                (_, 0..2) => [2.0; 4],
                _ => [3.0, 2.0, 2.0, 2.0],
            })
        },
        components: 4,
    },
    Case {
        name: "discard, in a called function too",
        source: "layout(location = 0) out vec4 color;
            void right() { if (gl_FragCoord.x > 3.0) discard; }
            void main() {
                color = vec4(1.0);
                if (gl_FragCoord.y < 1.0) discard;
                right();
                color.y = 2.0;
            }",
        color: |x, y| (x < 3 && y > 0).then_some([1.0, 2.0, 1.0, 1.0]),
        components: 4,
    },
    Case {
        name: "an array of one, element and component by index",
        source: "layout(location = 0) out vec4 color[1];
            void main() {
                int zero = int(gl_FragCoord.x) / 8;
                color[0] = vec4(1.0, 2.0, 3.0, 4.0);
                color[zero].y = floor(gl_FragCoord.x);
                color[zero][2] = 6.0;
            }",
        color: |x, _| Some([1.0, x as f32, 6.0, 4.0]),
        components: 4,
    },
    Case {
        name: "fewer components than the attachment, with reduced precision",
        source: "layout(location = 0) out mediump vec3 color;
            void main() { color = vec3(1.0, 2.0, floor(gl_FragCoord.y)); }",
        color: |_, y| Some([1.0, 2.0, y as f32, 0.0]),
        components: 3,
    },
    Case {
        name: "beside a depth",
        source: "layout(location = 0) out float color;
            void main() { gl_FragDepth = 0.5; color = floor(gl_FragCoord.x); }",
        color: |x, _| Some([x as f32, 0.0, 0.0, 0.0]),
        components: 1,
    },
];

/// A shader that fills eight attachments with values that differ from those of all cases.
const POISON: &str = "layout(location = 0) out vec4 colors[8];
    void main() { for (int i = 0; i < 8; i++) colors[i] = vec4(-77.0 - i) - gl_FragCoord; }";

/// Renders with [`POISON`], and then with the shader. lavapipe keeps outputs on the stack, so an
/// output that is not written would otherwise have the right value, left by an earlier case.
fn render(renderer: &Renderer, words: &[u32], format: vk::Format, attachments: u32) -> Vec<Texels> {
    static POISONED: LazyLock<Vec<u32>> = LazyLock::new(|| compile(POISON));
    let clear = CLEAR.map(f32::to_bits);
    renderer.render(&Scene {
        fragment: &POISONED,
        format: FLOAT,
        attachments: 8,
        clear,
        dual_source: false,
    });
    renderer.render(&Scene { fragment: words, format, attachments, clear, dual_source: false })
}

fn assert_texels(found: &[Texels], expected: &Texels, components: usize, what: &str) {
    for (attachment, texels) in found.iter().enumerate() {
        for (at, (found, expected)) in texels.iter().zip(expected).enumerate() {
            let as_floats = |texel: &[u32; 4]| texel.map(f32::from_bits);
            assert_eq!(
                found[..components],
                expected[..components],
                "{what}: attachment {attachment}, texel {at}: {:?}, not {:?}",
                as_floats(found),
                as_floats(expected),
            );
        }
    }
}

#[test]
fn what_glslang_emits_becomes_a_valid_module() {
    for (number, case) in CASES.iter().enumerate() {
        for (arguments, target) in ways_of(&TARGETS, number) {
            let words = compile_for(case.source, arguments);
            let result = broadcast(&words, 8).unwrap();
            common::validate(&result.words, target);
            assert_eq!((result.entry_point.as_str(), result.dual_source), ("main", false));
            let locations: Vec<u32> = result.added.iter().map(|output| output.location).collect();
            assert_eq!(locations, [1, 2, 3, 4, 5, 6, 7], "{}", case.name);
            let text = common::disassemble(&result.words);
            for location in 1..8 {
                let store = format!("OpStore %gl_FragData_{location}_ ");
                assert_eq!(text.matches(&store).count(), 1, "{}: {store}", case.name);
            }
            assert_eq!(broadcast(&words, 8).unwrap(), result, "{}: deterministic", case.name);
        }
    }
}

#[test]
fn every_attachment_holds_the_colour() {
    let renderer = Renderer::open();
    for case in CASES {
        let words = compile(case.source);
        let expected = texels(case.color);
        for attachments in 1..=8 {
            let lowered = broadcast(&words, attachments).unwrap();
            let found = render(&renderer, &lowered.words, FLOAT, attachments);
            assert_eq!(found.len(), attachments as usize);
            let what = format!("{} to {attachments}", case.name);
            assert_texels(&found, &expected, case.components, &what);
        }
    }
    // Newer versions of SPIR-V list all global variables in the interface.
    for (arguments, _) in TARGETS {
        let lowered = broadcast(&compile_for(CASES[5].source, arguments), 8).unwrap();
        let found = render(&renderer, &lowered.words, FLOAT, 8);
        assert_texels(&found, &texels(CASES[5].color), 4, &format!("{arguments:?}"));
    }
}

#[test]
fn integers_are_broadcast() {
    let renderer = Renderer::open();
    for (ty, format) in
        [("uvec4", vk::Format::R32G32B32A32_UINT), ("ivec4", vk::Format::R32G32B32A32_SINT)]
    {
        let words = compile(&format!(
            "layout(location = 0) out {ty} color;
             void main() {{
                 color = {ty}(0x80000001u, gl_FragCoord.x, gl_FragCoord.y, 3);
                 if (gl_FragCoord.x < 1.0) color.w = color.x;
             }}"
        ));
        let expected: Texels = (0..SIZE * SIZE)
            .map(|i| (i % SIZE, i / SIZE))
            .map(|(x, y)| [0x8000_0001, x, y, if x == 0 { 0x8000_0001 } else { 3 }])
            .collect();
        for attachments in 1..=8 {
            let lowered = broadcast(&words, attachments).unwrap();
            common::validate(&lowered.words, "vulkan1.0");
            for texels in render(&renderer, &lowered.words, format, attachments) {
                assert_eq!(texels, expected, "{ty} to {attachments}");
            }
        }
    }
}

/// Several outputs share location 0, with different components.
#[test]
fn components_are_kept() {
    let words = compile(
        "layout(location = 0) out vec2 first;
         layout(location = 0, component = 2) out float second;
         layout(location = 0, component = 3) out float third;
         void main() { first = floor(gl_FragCoord.xy); second = 5.0; third = 6.0; }",
    );
    let lowered = broadcast(&words, 3).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    let places: Vec<_> = lowered.added.iter().map(|o| (o.location, o.component)).collect();
    assert_eq!(places, [(1, 0), (1, 2), (1, 3), (2, 0), (2, 2), (2, 3)]);
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches(" Component 2\n").count(), 3, "{text}");

    let renderer = Renderer::open();
    let found = render(&renderer, &lowered.words, FLOAT, 3);
    let expected = texels(|x, y| Some([x as f32, y as f32, 5.0, 6.0]));
    assert_texels(&found, &expected, 4, "components");
}

/// A module that no GLSL compiler emits: with an initializer, a copy of memory, and a copy of the
/// output's pointer, in a called function that discards fragments.
const POINTERS: &str = r#"
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint Fragment %1 "main" %2 %3
    OpEntryPoint Fragment %4 "other" %5
    OpExecutionMode %1 OriginUpperLeft
    OpExecutionMode %4 OriginUpperLeft
    OpDecorate %2 Location 0
    OpDecorate %3 BuiltIn FragCoord
    OpDecorate %5 Location 1
    %10 = OpTypeVoid
    %11 = OpTypeFunction %10
    %12 = OpTypeFloat 32
    %13 = OpTypeVector %12 4
    %14 = OpTypePointer Output %13
    %15 = OpTypePointer Input %13
    %16 = OpTypePointer Private %13
    %18 = OpTypePointer Input %12
    %19 = OpTypeInt 32 0
    %20 = OpTypeBool
    %21 = OpConstant %19 0
    %22 = OpConstant %19 3
    %23 = OpConstant %12 1
    %24 = OpConstant %12 2
    %25 = OpConstant %12 3
    %26 = OpConstantComposite %13 %23 %23 %23 %23
    %27 = OpConstantComposite %13 %24 %24 %24 %24
    %28 = OpTypePointer Output %12
    %2 = OpVariable %14 Output %26
    %3 = OpVariable %15 Input
    %5 = OpVariable %14 Output
    %29 = OpVariable %16 Private %27
    %1 = OpFunction %10 None %11
    %30 = OpLabel
    %31 = OpAccessChain %18 %3 %21
    %32 = OpLoad %12 %31
    %33 = OpFOrdLessThan %20 %32 %23
    OpSelectionMerge %35 None
    OpBranchConditional %33 %34 %35
    %34 = OpLabel
    OpReturn
    %35 = OpLabel
    OpCopyMemory %2 %29
    %36 = OpFOrdLessThan %20 %32 %24
    OpSelectionMerge %38 None
    OpBranchConditional %36 %37 %38
    %37 = OpLabel
    OpReturn
    %38 = OpLabel
    %39 = OpFunctionCall %10 %50
    OpReturn
    OpFunctionEnd
    %50 = OpFunction %10 None %11
    %52 = OpLabel
    %51 = OpCopyObject %14 %2
    %53 = OpAccessChain %28 %51 %22
    OpStore %53 %25
    %54 = OpAccessChain %18 %3 %21
    %55 = OpLoad %12 %54
    %56 = OpFOrdLessThan %20 %55 %25
    OpSelectionMerge %58 None
    OpBranchConditional %56 %58 %57
    %57 = OpLabel
    OpKill
    %58 = OpLabel
    OpReturn
    OpFunctionEnd
    %4 = OpFunction %10 None %11
    %60 = OpLabel
    OpStore %5 %27
    OpReturn
    OpFunctionEnd
"#;

#[test]
fn pointers_copies_and_initializers_are_followed() {
    let words = common::assemble(POINTERS, "vulkan1.0");
    common::validate(&words, "vulkan1.0");
    let named = |name| options(8).entry_point(name);
    let lowered = broadcast_color(&words, &named("main")).unwrap();
    common::validate(&lowered.words, "vulkan1.0");

    let renderer = Renderer::open();
    let found = render(&renderer, &lowered.words, FLOAT, 8);
    let expected = texels(|x, _| match x {
        0 => Some([1.0; 4]),
        1 => Some([2.0; 4]),
        2 => Some([2.0, 2.0, 2.0, 3.0]),
        _ => None,
    });
    assert_texels(&found, &expected, 4, "pointers");

    // The other entry point is not changed. Its interface is checked, too.
    let entry_points = |words: &[u32]| -> Vec<String> {
        let text = common::disassemble(words);
        text.lines().filter(|l| l.contains("OpEntryPoint")).map(str::to_owned).collect()
    };
    let [before, after] = [&words, &lowered.words].map(|words| entry_points(words));
    assert_eq!((before.len(), after.len(), &before[1]), (2, 2, &after[1]));
    let error = broadcast_color(&words, &named("other")).unwrap_err();
    assert_eq!(error, BroadcastError::FragData { variable: "%5".to_owned(), location: 1 });

    let shared = POINTERS.replace(
        "OpEntryPoint Fragment %4 \"other\" %5",
        "OpEntryPoint Fragment %1 \"other\" %2 %3",
    );
    let shared = common::assemble(&shared, "vulkan1.0");
    let error = broadcast_color(&shared, &named("main")).unwrap_err();
    assert_eq!(error.to_string(), "entry point 'other' has the same function as 'main'");
    let ambiguous = broadcast(&words, 8).unwrap_err().to_string();
    assert!(ambiguous.contains("several fragment shaders"), "{ambiguous}");
}

const DUAL_SOURCE: &str = "
    layout(location = 0, index = 0) out vec4 color;
    layout(location = 0, index = 1) out vec4 factor;
    void main() { color = vec4(floor(gl_FragCoord.xy), 3.0, 4.0); factor = vec4(2.0, 4.0, 8.0, 0.0); }";

#[test]
fn a_second_source_is_kept_and_goes_no_further_than_the_device_allows() {
    let words = compile(DUAL_SOURCE);
    let one = broadcast(&words, 1).unwrap();
    assert_eq!((&one.words, one.dual_source, one.added.len()), (&words, true, 0));
    assert!(broadcast_color(&words, &options(1).max_dual_source_attachments(0)).is_ok());
    let error = broadcast(&words, 2).unwrap_err();
    let limits = (2, 1);
    assert!(
        matches!(
            &error,
            BroadcastError::DualSource { attachments, max_dual_source_attachments, .. }
                if (*attachments, *max_dual_source_attachments) == limits
        ),
        "{error}"
    );
    assert!(error.to_string().starts_with("output 'factor' (%"), "{error}");
    assert!(error.to_string().contains("supports 1 attachments, not 2"), "{error}");

    for (arguments, target) in TARGETS {
        let options = options(2).max_dual_source_attachments(2);
        let two = broadcast_color(&compile_for(DUAL_SOURCE, arguments), &options).unwrap();
        common::validate(&two.words, target);
        let places: Vec<_> = two.added.iter().map(|o| (o.location, o.index)).collect();
        assert_eq!(places, [(1, 0), (1, 1)]);
    }

    let renderer = Renderer::open();
    let found = renderer.render(&Scene {
        fragment: &one.words,
        format: FLOAT,
        attachments: 1,
        clear: CLEAR.map(f32::to_bits),
        dual_source: true,
    });
    let expected = texels(|x, y| Some([x as f32 + 1.0, y as f32 + 1.0, 4.0, 4.0]));
    assert_texels(&found, &expected, 4, "dual source");
    // Renders to two attachments without blending. lavapipe 22.3 claims to support dual-source
    // blending with two attachments, but uses the output at location 1 as the second source.
    let options = options(2).max_dual_source_attachments(2);
    let two = broadcast_color(&words, &options).unwrap();
    let found = render(&renderer, &two.words, FLOAT, 2);
    let expected = texels(|x, y| Some([x as f32, y as f32, 3.0, 4.0]));
    assert_texels(&found, &expected, 4, "two sources, not blended");
}

#[test]
fn what_cannot_be_broadcast_is_named() {
    let error = |source: &str| broadcast(&compile(source), 4).unwrap_err();

    let data = error(
        "layout(location = 0) out vec4 a; layout(location = 3) out vec4 b;
         void main() { a = b = vec4(1); }",
    );
    assert!(matches!(data, BroadcastError::FragData { location: 3, .. }), "{data}");
    assert!(data.to_string().starts_with("output 'b' (%"), "{data}");
    let data = error("layout(location = 0) out vec4 a[2]; void main() { a[1] = a[0] = vec4(1); }");
    assert!(matches!(data, BroadcastError::FragData { location: 1, .. }), "{data}");

    for none in ["void main() { }", "void main() { gl_FragDepth = 0.5; }"] {
        let none = error(none);
        assert_eq!(none.to_string(), "fragment shader 'main' has no output at location 0");
    }

    let words = compile(CASES[0].source);
    for attachments in [0, 9, u32::MAX] {
        let error = broadcast(&words, attachments).unwrap_err();
        assert_eq!(error, BroadcastError::Attachments { attachments, max_attachments: 8 });
    }
    let vertex = common::compile("#version 450\nvoid main() { gl_Position = vec4(0); }", &[]);
    assert_eq!(
        broadcast(&vertex, 2).unwrap_err().to_string(),
        "the module has no fragment shader; it has: Vertex 'main'"
    );
    assert!(matches!(broadcast(&[1, 2, 3], 2), Err(BroadcastError::Parse(_))));

    let assemble = |old: &str, new: &str| {
        let source = POINTERS.replace("OpEntryPoint Fragment %4 \"other\" %5\n", "\n");
        let source = source.replace("OpExecutionMode %4 OriginUpperLeft", "");
        broadcast(&common::assemble(&source.replace(old, new), "vulkan1.0"), 2)
    };
    assert!(assemble("", "").is_ok());
    assert_eq!(
        assemble("OpDecorate %2 Location 0", ""),
        Err(BroadcastError::NoLocation { variable: "%2".to_owned() })
    );
    assert_eq!(
        assemble("%13 = OpTypeVector %12 4", "%13 = OpTypeStruct %12 %12 %12 %12"),
        Err(BroadcastError::Type { variable: "%2".to_owned(), ty: "struct".to_owned() })
    );
}

/// The snapshot was reviewed: names, decorations, and the new entry point.
#[test]
fn the_result_reads_as_reviewed() {
    let words = compile(CASES[0].source);
    let lowered = broadcast(&words, 3).unwrap();
    assert!(Module::parse(&lowered.words).is_ok());
    insta::assert_snapshot!("broadcast", common::disassemble(&lowered.words));
}
