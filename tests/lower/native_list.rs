//! Block splitting and native emission: compares the modules from which the driver captures a list
//! with that list and, on a device, with the other backends.

use spirv::{BuiltIn, ExecutionModel};
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, CapturedOutput, Layout, Selector};
use vkxfb_rewriter::lower::native::{self, Emitted};
use vkxfb_rewriter::lower::{LowerError, Shader};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_entry_point;
use vkxfb_translators::split_blocks::{self, Split, SplitError, split_blocks};

use crate::common;

const VERTEX: ExecutionModel = ExecutionModel::Vertex;
const CONTROL: ExecutionModel = ExecutionModel::TessellationControl;
const EVALUATION: ExecutionModel = ExecutionModel::TessellationEvaluation;

/// The arguments of glslang, and the target for which its output is valid: SPIR-V 1.0, 1.4 and 1.5.
const TARGETS: [(&[&str], &str); 5] = [
    (&[], "vulkan1.0"),
    (&["-g"], "vulkan1.0"),
    (&["-Od"], "vulkan1.0"),
    (&["--target-env", "spirv1.4"], "vulkan1.1spv1.4"),
    (&["--target-env", "vulkan1.2", "-gVS"], "vulkan1.2"),
];

/// An example from practice: 62 captured components in 18 locations.
const GOKU: &str = "
    struct TestStruct { dmat3x4 a; double b; float c; dvec2 d; };
    struct OuterStruct { TestStruct inner_struct_a, inner_struct_b; };
    layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out OuterStruct goku;
    out gl_PerVertex { float gl_PointSize; };
    void main() {
        gl_PointSize = 1.0;
        goku.inner_struct_a.a = dmat3x4(2.0);
        goku.inner_struct_a.a[2] = dvec4(7.0LF, 8.0LF, 9.0LF, 10.0LF);
        goku.inner_struct_a.b = 3.0LF;
        goku.inner_struct_a.c = 4.0;
        goku.inner_struct_a.d = dvec2(5.0LF, 6.0LF);
        goku.inner_struct_b = goku.inner_struct_a;
        goku.inner_struct_b.a[1].yz = dvec2(11.0LF, 12.0LF);
        OuterStruct copy = goku;
        copy.inner_struct_b.c = 13.0;
        goku = copy;
    }";

fn worked_case(stage: ExecutionModel, arguments: &[&str]) -> Vec<u32> {
    match stage {
        EVALUATION => common::compile_stage(
            "tese",
            &format!("#version 450\nlayout(isolines, point_mode) in;\n{GOKU}"),
            arguments,
        ),
        _ => common::compile(&format!("#version 450\n{GOKU}"), arguments),
    }
}

/// Returns stream-output records of up to four dwords for that example, as an API translator
/// provides them.
fn records() -> CaptureList {
    let mut captures = Vec::new();
    for (first_location, base) in [(0, 0), (9, 128)] {
        let sizes = [4, 4, 4, 4, 4, 4, 2, 1, 4];
        let offsets = [0, 16, 32, 48, 64, 80, 96, 104, 112];
        for (index, (components, offset)) in (0..).zip(sizes.into_iter().zip(offsets)) {
            let location = first_location + index;
            let selector = Selector::Location { location, component: 0, components };
            captures.push(CaptureEntry::new(selector, 0, base + offset));
        }
    }
    CaptureList::default().captures(captures).strides([Some(256), None, None, None])
}

fn emit(
    words: &[u32],
    stage: ExecutionModel,
    list: &CaptureList,
    max_output_components: u32,
) -> Result<Emitted, LowerError> {
    let options = native::EmitOptions::new(list).stage(stage);
    native::emit(words, &options.max_output_components(max_output_components))
}

fn split(words: &[u32], stage: ExecutionModel) -> Result<Split, SplitError> {
    split_blocks(words, &split_blocks::SplitOptions::default().stage(stage))
}

fn layout(words: &[u32], stage: ExecutionModel) -> Layout {
    let module = Module::parse(words).unwrap();
    let entry = find_entry_point(&module, stage, None).unwrap();
    Layout::from_decorations(&module, &Declarations::of(&module), &entry).unwrap()
}

/// Returns (buffer, offset, bytes, bits, location, component) of each output, which is everything
/// but the name.
fn places(layout: &Layout) -> Vec<(u32, u32, u32, u32, Option<u32>, u32)> {
    let place =
        |o: &CapturedOutput| (o.buffer, o.offset, o.size(), o.bits, o.location, o.component);
    layout.outputs.iter().map(place).collect()
}

/// Returns the buffer and the offset of each captured dword.
fn dwords(layout: &Layout) -> Vec<(u32, u32)> {
    let of = |o: &CapturedOutput| {
        (0..o.dwords()).map(|d| (o.buffer, o.offset + d * 4)).collect::<Vec<_>>()
    };
    layout.outputs.iter().flat_map(of).collect()
}

#[test]
fn the_worked_case_is_inlined_once_it_is_split() {
    for stage in [VERTEX, EVALUATION] {
        for (arguments, target) in TARGETS {
            let words = worked_case(stage, arguments);
            let before = emit(&words, stage, &records(), 256).unwrap();
            common::validate(&before.lowered.words, target);
            assert_eq!((before.inlined, before.explicit), (0, 16));
            assert_eq!(before.locations, (18..34).collect::<Vec<_>>());
            assert_eq!(before.output_components, 34 * 4 + 1);
            assert_eq!(dwords(&layout(&before.lowered.words, stage)).len(), 62);

            // 32 locations, of which point size leaves 31, and the structure takes 18.
            let error = emit(&words, stage, &records(), 128).unwrap_err();
            let expected =
                LowerError::LocationBudget { needed: 16, left: 13, max_output_components: 128 };
            assert_eq!(error, expected);

            let split = split(&words, stage).unwrap();
            common::validate(&split.words, target);
            let locations: Vec<u32> = split.members.iter().map(|m| m.location).collect();
            assert_eq!(locations, [0, 6, 7, 8, 9, 15, 16, 17]);
            assert_eq!(places(&layout(&words, stage)), places(&layout(&split.words, stage)));

            let after = emit(&split.words, stage, &records(), 128).unwrap();
            common::validate(&after.lowered.words, target);
            assert_eq!((after.inlined, after.explicit), (8, 0));
            assert_eq!((after.locations.len(), after.output_components), (0, 18 * 4 + 1));
            assert_eq!(
                places(&layout(&words, stage)),
                places(&layout(&after.lowered.words, stage))
            );
        }
    }
}

/// Structures and blocks, and operations on them.
const STRUCTURES: &str = "#version 450
    struct Inner { mat2x3 matrix; float list[2]; };
    struct Light { vec3 position; Inner inner[2]; uint power; };
    layout(xfb_buffer = 0, xfb_stride = 160) out;
    layout(location = 0, xfb_offset = 8) flat out Light light;
    layout(xfb_buffer = 1, xfb_stride = 64) out;
    layout(location = 12) out Block {
        layout(xfb_offset = 16) vec4 a;
        flat uvec2 b;
        layout(location = 20, component = 1, xfb_offset = 4) noperspective vec2 c;
    } block;
    layout(location = 23, xfb_buffer = 1, xfb_offset = 32) out vec2 plain;
    Inner made(float x) { return Inner(mat2x3(x), float[2](x, -x)); }
    void main() {
        float x = float(gl_VertexIndex) + 0.5;
        int i = gl_VertexIndex & 1;
        gl_Position = vec4(x);
        light.position = vec3(x, 2.0, 3.0);
        light.inner[0] = made(x);
        light.inner[1] = light.inner[0];
        light.inner[1].list[i] += 4.0;
        light.inner[0].matrix[1].y = 5.0;
        light.inner[1].matrix[i][2 - i] = 6.0;
        light.power = gl_InstanceIndex;
        Light copy = light;
        copy.power += 3;
        if (i == 0) light = copy;
        block.a = vec4(x, 1.0, 2.0, 3.0);
        block.a.zw = light.position.xy;
        block.b = uvec2(i, 9);
        block.c = vec2(7.0, x);
        plain = block.c.yx;
    }";

#[test]
fn splitting_moves_no_captured_byte() {
    for (arguments, target) in TARGETS {
        let words = common::compile(STRUCTURES, arguments);
        let split = split(&words, VERTEX).unwrap();
        common::validate(&split.words, target);
        assert_eq!(places(&layout(&words, VERTEX)), places(&layout(&split.words, VERTEX)));
        let text = common::disassemble(&split.words);
        if arguments.is_empty() {
            for name in ["light_position", "light_inner_1_matrix", "light_power", "block_c"] {
                assert!(text.contains(&format!("OpName %{name} ")), "{name}: {text}");
            }
            assert!(text.contains("OpDecorate %light_inner_0_list Flat"), "{text}");
            assert!(text.contains("OpDecorate %block_c NoPerspective"), "{text}");
            assert!(text.contains("OpDecorate %block_c Component 1"), "{text}");
            assert!(!text.contains("%light = ") && !text.contains("%block = "), "{text}");
        }
        let again = split_blocks(&split.words, &split_blocks::SplitOptions::default()).unwrap();
        assert_eq!((again.words, again.members.len()), (split.words, 0));
    }
}

#[test]
fn what_cannot_be_split_is_named() {
    let source = |declarations: &str, body: &str| {
        let source = format!("#version 450\n{declarations}\nvoid main() {{ {body} }}");
        split(&common::compile(&source, &[]), VERTEX).unwrap_err()
    };
    let lights = "struct Light { vec3 position; }; layout(location = 0) out Light lights[2];";
    assert!(matches!(
        source(lights, "lights[gl_VertexIndex].position.x = 1.0;"),
        SplitError::DynamicIndex { .. }
    ));
    assert!(matches!(
        source("layout(location = 0) out Block { vec4 a; } blocks[2];", "blocks[1].a.x = 1.0;"),
        SplitError::ArrayOfBlocks { .. }
    ));
    let words = common::compile(STRUCTURES, &[]);
    assert!(matches!(split(&words, EVALUATION), Err(SplitError::EntryPoint(_))));
    let control = "#version 450\nlayout(vertices = 1) out; void main() {}";
    let (words, stage) = (common::compile_stage("tesc", control, &[]), CONTROL);
    assert_eq!(split(&words, stage).unwrap_err(), SplitError::Stage(stage));
    assert_eq!(emit(&words, stage, &records(), 64).unwrap_err(), LowerError::Stage(stage));
}

/// Initialisers, access chains of access chains, and memory copies, which glslang does not emit.
#[test]
fn initialisers_and_copies_are_taken_apart() {
    let words = common::assemble(
        r#"
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %1 "main" %2 %3 %4
        OpName %2 "whole"
        OpDecorate %2 Location 3
        OpDecorate %3 Location 8
        OpDecorate %4 Location 12
        %10 = OpTypeVoid
        %11 = OpTypeFunction %10
        %12 = OpTypeFloat 32
        %13 = OpTypeVector %12 4
        %14 = OpTypeInt 32 0
        %15 = OpTypeStruct %13 %12
        %16 = OpTypeStruct %15 %12
        %17 = OpConstant %12 1.5
        %18 = OpConstantNull %13
        %19 = OpConstantComposite %15 %18 %17
        %20 = OpConstantComposite %16 %19 %17
        %21 = OpConstantNull %16
        %22 = OpConstant %14 0
        %23 = OpConstant %14 1
        %24 = OpTypePointer Output %16
        %25 = OpTypePointer Output %15
        %26 = OpTypePointer Output %13
        %27 = OpTypePointer Output %12
        %28 = OpTypePointer Function %15
        %2 = OpVariable %24 Output %20
        %3 = OpVariable %24 Output %21
        %4 = OpVariable %27 Output
        %1 = OpFunction %10 None %11
        %30 = OpLabel
        %31 = OpVariable %28 Function
        %32 = OpAccessChain %25 %2 %22
        %33 = OpAccessChain %26 %32 %22
        %34 = OpAccessChain %27 %33 %23
        OpStore %34 %17
        %35 = OpCopyObject %25 %32
        OpCopyMemory %31 %35
        %36 = OpAccessChain %25 %3 %22
        OpCopyMemory %36 %31
        OpCopyMemory %3 %2
        %37 = OpAccessChain %27 %36 %23
        OpCopyMemory %4 %37
        OpReturn
        OpFunctionEnd
        "#,
        "vulkan1.0",
    );
    common::validate(&words, "vulkan1.0");
    let split = split(&words, VERTEX).unwrap();
    common::validate(&split.words, "vulkan1.0");
    let text = common::disassemble(&split.words);
    assert_eq!(split.members.len(), 6);
    let locations: Vec<u32> = split.members.iter().map(|m| m.location).collect();
    assert_eq!(locations, [3, 4, 5, 8, 9, 10]);
    let initialised = text.lines().filter(|l| l.contains("OpVariable") && l.contains("Output %"));
    assert_eq!(initialised.count(), 6, "{text}");
}

#[test]
fn captures_are_inlined_where_they_can_be() {
    let words = common::compile(
        "#version 450
         layout(location = 0) out vec4 colour;
         layout(location = 1) out mat2x3 matrix;
         layout(location = 3) flat out dvec3 wide;
         layout(location = 5) out Block { vec2 a; float b[3]; } block;
         out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[2]; };
         void main() {
             gl_Position = vec4(1.0); gl_PointSize = 1.0; gl_ClipDistance[1] = 2.0;
             colour = vec4(3.0); matrix = mat2x3(4.0); wide = dvec3(5.0LF); block.b[2] = 6.0;
         }",
        &[],
    );
    let built_in =
        |built_in, component, components| Selector::BuiltIn { built_in, component, components };
    let at =
        |location, component, components| Selector::Location { location, component, components };
    let capture = |selector: &Selector, offset| CaptureEntry::new(selector.clone(), 0, offset);
    let counts = |captures: &[(Selector, u32)]| {
        let list = CaptureList::default()
            .captures(captures.iter().map(|(s, offset)| capture(s, *offset)).collect())
            .strides([Some(128), None, None, None]);
        let emitted = emit(&words, VERTEX, &list, 64).unwrap();
        common::validate(&emitted.lowered.words, "vulkan1.0");
        // The decorations of the module are equivalent to the list.
        assert_eq!(
            dwords(&layout(&emitted.lowered.words, VERTEX)),
            dwords(&emitted.lowered.layout)
        );
        (emitted.inlined, emitted.explicit, emitted.locations)
    };
    let name = |name: &str| Selector::Name(name.to_owned());
    let position = || built_in(BuiltIn::Position, 0, 4);
    assert_eq!(counts(&[(position(), 0)]), (1, 0, vec![]));
    assert_eq!(counts(&[(built_in(BuiltIn::ClipDistance, 0, 2), 4)]), (1, 0, vec![]));
    assert_eq!(counts(&[(built_in(BuiltIn::ClipDistance, 1, 1), 4)]), (0, 1, vec![9]));
    // Pieces of one variable, side by side and not.
    assert_eq!(counts(&[(at(0, 2, 2), 8), (at(0, 0, 2), 0)]), (1, 0, vec![]));
    assert_eq!(counts(&[(at(0, 2, 2), 0), (at(0, 0, 2), 8)]), (0, 1, vec![9]));
    assert_eq!(counts(&[(at(1, 0, 3), 4), (at(2, 0, 3), 16)]), (1, 0, vec![]));
    assert_eq!(counts(&[(at(1, 0, 3), 4), (at(2, 0, 3), 20)]), (0, 2, vec![9, 10]));
    // 64-bit components need an alignment of 8 bytes; as dwords they can be anywhere.
    assert_eq!(counts(&[(at(3, 0, 6), 8)]), (1, 0, vec![]));
    assert_eq!(counts(&[(at(3, 0, 6), 4)]), (0, 2, vec![9, 10]));
    assert_eq!(counts(&[(name("block.a"), 0), (name("block.b"), 12)]), (2, 0, vec![]));
    assert_eq!(counts(&[(name("block.b[1]"), 12), (name("colour"), 16)]), (1, 1, vec![9]));
    // Twice: the second time it needs an output of its own.
    assert_eq!(counts(&[(name("colour"), 0), (name("colour"), 32)]), (1, 1, vec![9]));
    // Narrow ones share a location.
    let narrow = [(at(0, 0, 3), 0), (at(0, 3, 1), 16), (position(), 32)];
    assert_eq!(counts(&narrow), (1, 2, vec![9]));
}

/// Structures without padding need no separate output. Structures with a gap before a 64-bit member
/// do.
#[test]
fn structures_are_inlined_where_they_have_no_padding() {
    let words = common::compile(
        "#version 450
         struct Inner { vec3 a; float list[2]; };
         struct Outer { vec2 b; Inner inner[2]; };
         struct Wide { dvec2 a; double b; };
         struct Padded { float a; double b; };
         layout(location = 0) out Outer outer;
         layout(location = 9) flat out Wide wide;
         layout(location = 12) flat out Padded padded;
         layout(location = 14) out Block { Inner inner; float f; } block;
         layout(location = 20) out Inner several[2];
         void main() {
             gl_Position = vec4(1.0); outer.b = vec2(2.0); outer.inner[1].a = vec3(3.0);
             outer.inner[0] = outer.inner[1]; wide.b = 4.0LF; padded.b = 5.0LF;
             block.inner = outer.inner[0]; block.f = 6.0; several[1] = block.inner;
         }",
        &[],
    );
    let counts = |names: &[(&str, u32)]| {
        let captures = names.iter().map(|(name, offset)| {
            CaptureEntry::new(Selector::Name((*name).to_owned()), 0, *offset)
        });
        let strides = [Some(256), None, None, None];
        let list = CaptureList::default().captures(captures.collect()).strides(strides);
        let emitted = emit(&words, VERTEX, &list, 256).unwrap();
        common::validate(&emitted.lowered.words, "vulkan1.0");
        assert_eq!(
            dwords(&layout(&emitted.lowered.words, VERTEX)),
            dwords(&emitted.lowered.layout)
        );
        (emitted.inlined, emitted.explicit)
    };
    assert_eq!(counts(&[("outer", 4)]), (1, 0));
    assert_eq!(counts(&[("wide", 8)]), (1, 0));
    assert_eq!(counts(&[("padded", 8)]), (0, 2));
    assert_eq!(counts(&[("block.inner", 0), ("block.f", 24)]), (2, 0));
    assert_eq!(counts(&[("several", 0)]), (1, 0));
    assert_eq!(counts(&[("outer.inner[1]", 0)]), (0, 2), "a part of a variable");
    // By parts, in their order.
    assert_eq!(counts(&[("several[1]", 20), ("several[0]", 0)]), (1, 0));
    assert_eq!(counts(&[("several[1]", 0), ("several[0]", 20)]), (0, 3));
}

/// The `Offset` decorations of the members apply to the buffer. In an output they would be read as
/// offsets of captures.
#[test]
fn structures_of_buffers_are_not_inlined() {
    let words = common::assemble(
        r#"
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %main "main" %out
        OpName %out "out"
        OpDecorate %out Location 0
        OpDecorate %storage DescriptorSet 0
        OpDecorate %storage Binding 0
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpMemberDecorate %pair 0 Offset 0
        OpMemberDecorate %pair 1 Offset 16
        %void = OpTypeVoid
        %procedure = OpTypeFunction %void
        %float = OpTypeFloat 32
        %vec4 = OpTypeVector %float 4
        %int = OpTypeInt 32 1
        %zero = OpConstant %int 0
        %pair = OpTypeStruct %vec4 %vec4
        %block = OpTypeStruct %pair
        %to_block = OpTypePointer Uniform %block
        %to_stored = OpTypePointer Uniform %pair
        %to_out = OpTypePointer Output %pair
        %storage = OpVariable %to_block Uniform
        %out = OpVariable %to_out Output
        %main = OpFunction %void None %procedure
        %entry = OpLabel
        %pointer = OpAccessChain %to_stored %storage %zero
        %value = OpLoad %pair %pointer
        OpStore %out %value
        OpReturn
        OpFunctionEnd
        "#,
        "vulkan1.0",
    );
    let captures = vec![CaptureEntry::new(Selector::Name("out".to_owned()), 0, 4)];
    let list = CaptureList::default().captures(captures).strides([Some(36), None, None, None]);
    let emitted = emit(&words, VERTEX, &list, 64).unwrap();
    common::validate(&emitted.lowered.words, "vulkan1.0");
    assert_eq!((emitted.inlined, emitted.explicit), (0, 2));
}

#[test]
fn lower_takes_lists_and_strips_what_was_decorated() {
    let words = common::compile(STRUCTURES, &[]);
    let list = CaptureList::default()
        .captures(vec![CaptureEntry::new(Selector::Name("plain".to_owned()), 2, 4)])
        .strides([None, None, Some(12), None]);
    let lowered = native::lower(&Shader::new(&words).captures(&list)).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    let found = layout(&lowered.words, VERTEX);
    assert_eq!(places(&found), [(2, 4, 8, 32, Some(23), 0)]);
    assert_eq!(found.strides, list.strides);
}

/// Damaged modules result in errors or in a module, but never in a panic.
#[test]
fn damaged_modules_do_not_panic() {
    let mut state = 7u32;
    let mut random = |bound: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % bound
    };
    for words in [common::compile(STRUCTURES, &[]), worked_case(VERTEX, &["-gVS"])] {
        for _ in 0..1500 {
            let mut damaged = words.clone();
            for _ in 0..1 + random(3) {
                let at = 5 + random(words.len() as u32 - 5) as usize;
                // Mostly another id or literal, now and then anything.
                damaged[at] = match random(4) {
                    0 => damaged[at] ^ (1 << random(32)),
                    _ => random(200),
                };
            }
            let split = split(&damaged, VERTEX).map(|split| split.words);
            for words in split.iter().chain([&damaged]) {
                let _ = emit(words, VERTEX, &records(), 128);
            }
        }
    }
}
