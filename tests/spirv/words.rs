//! SPIR-V at word level: nothing is lost, and words that are not a module are refused.

use proptest::prelude::*;
use spirv::{Decoration, Op};
use vkxfb_rewriter::capture::Layout;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::emit::Code;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::spirv::{MAX_OPERANDS, Module, Section};
use vkxfb_rewriter::spirv::{ParseErrorKind, words_from_bytes};

use crate::common;

const SHADER: &str = r#"#version 450
layout(xfb_buffer = 0, xfb_stride = 32) out;
layout(location = 0) in vec4 position;
layout(location = 0, xfb_offset = 16) out vec4 colour;
out gl_PerVertex { layout(xfb_offset = 0) vec4 gl_Position; float gl_PointSize; };
vec4 twice(vec4 x) { return x * 2.0; }
void main() {
    gl_Position = twice(position);
    for (int i = 0; i < 3; i++) colour[i] = float(gl_VertexIndex + i);
    if (colour.x > 2.0) return;
    colour.w = 1.0;
}
"#;

fn identify() -> Vec<u32> {
    words_from_bytes(include_bytes!("../../shaders/probe/identify.spv")).unwrap()
}

/// Returns the first word of an instruction.
fn head(opcode: u16, count: u16) -> u32 {
    u32::from(count) << 16 | u32::from(opcode)
}

#[test]
fn round_trips_are_lossless() {
    for arguments in [
        &[][..],
        &["-g"],
        &["-gVS"],
        &["-Od"],
        &["--target-env", "vulkan1.1"],
        &["--target-env", "vulkan1.2", "-gVS"],
        &["--target-env", "vulkan1.3"],
    ] {
        let words = common::compile(SHADER, arguments);
        assert_eq!(Module::parse(&words).unwrap().words(), words, "{arguments:?}");
    }
}

#[test]
fn unknown_instructions_stay_where_they_are() {
    const UNKNOWN: u16 = 0xfff0;
    let mut words = identify();
    let mut at = 5;
    // One behind each instruction, so that every section has some.
    while at < words.len() {
        at += (words[at] >> 16) as usize;
        words.splice(at..at, [head(UNKNOWN, 3), 0xdead_beef, 7]);
        at += 3;
    }
    assert_eq!(Module::parse(&words).unwrap().words(), words);
}

#[test]
fn either_byte_order_is_read() {
    let words = identify();
    let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert_eq!(words_from_bytes(&big).unwrap(), words);
}

#[test]
fn errors_name_the_word() {
    let parse = |words: &[u32]| {
        let error = Module::parse(words).unwrap_err();
        (error.word, error.kind)
    };
    let words = identify();
    assert_eq!(
        words_from_bytes(&[3, 2, 35, 7, 0]).unwrap_err().kind,
        ParseErrorKind::PartialWord(5)
    );
    assert_eq!(parse(&words[..3]), (3, ParseErrorKind::TruncatedHeader(3)));

    let with = |at: usize, word: u32| {
        let mut words = words.clone();
        words[at] = word;
        words
    };
    assert_eq!(parse(&with(0, 0x1234)), (0, ParseErrorKind::Magic(0x1234)));
    assert_eq!(parse(&with(3, 0)), (3, ParseErrorKind::Bound(0)));
    assert_eq!(parse(&with(5, 17)), (5, ParseErrorKind::ZeroWordCount(17)));

    let mut cut = words.clone();
    cut.pop();
    cut.push(head(56, 4));
    let last = cut.len() - 1;
    assert_eq!(
        parse(&cut),
        (last, ParseErrorKind::TruncatedInstruction { opcode: 56, count: 4, left: 1 })
    );

    // OpTypeVoid with a result that exists, that is beyond the bound, and that is missing.
    let end = words.len();
    let append = |more: &[u32]| [words.as_slice(), more].concat();
    assert_eq!(parse(&append(&[head(19, 2), 4])), (end, ParseErrorKind::DuplicateResult(4)));
    assert_eq!(
        parse(&append(&[head(19, 2), 0x4000])),
        (end, ParseErrorKind::IdOutOfBound { id: 0x4000, bound: words[3] })
    );
    assert_eq!(parse(&append(&[head(19, 1)])), (end, ParseErrorKind::MissingResult(19)));
    assert_eq!(parse(&append(&[head(56, 1)])), (end, ParseErrorKind::FunctionNesting));
}

proptest! {
    /// Any words result in an error, or in a module that has the same words.
    #[test]
    fn mutated_modules_are_refused_or_kept(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..8),
        length in any::<prop::sample::Index>(),
    ) {
        let mut words = identify();
        for (at, word) in changes {
            let at = at.index(words.len());
            words[at] = word;
        }
        words.truncate(length.index(words.len()) + 1);
        if let Ok(module) = Module::parse(&words) {
            prop_assert_eq!(module.words(), words);
        }
    }
}

/// Line information, values and types of any kind may be the first declaration.
#[test]
fn declarations_begin_where_they_may() {
    for first in [
        "%5 = OpString \"a.vert\"\nOpLine %5 1 1",
        "OpNoLine",
        "%5 = OpTypeAccelerationStructureKHR",
    ] {
        let (string, first) = match first.split_once('\n') {
            Some((string, first)) => (string, first),
            None => ("", first),
        };
        let words = common::assemble(
            &format!(
                "OpCapability Shader
                 OpCapability RayQueryKHR
                 OpExtension \"SPV_KHR_ray_query\"
                 OpMemoryModel Logical GLSL450
                 OpEntryPoint Vertex %1 \"main\"
                 {string}
                 OpDecorate %2 SpecId 0
                 {first}
                 %3 = OpTypeBool
                 %2 = OpSpecConstantTrue %3
                 %4 = OpTypeVoid
                 %6 = OpTypeFunction %4
                 %1 = OpFunction %4 None %6
                 %7 = OpLabel
                 OpReturn
                 OpFunctionEnd"
            ),
            "vulkan1.2",
        );
        let mut module = Module::parse(&words).unwrap();
        assert_eq!(module.words(), words);
        module.push(Section::Annotations, Op::Decorate, &[2, Decoration::RelaxedPrecision as u32]);
        common::validate(&module.words(), "vulkan1.2");
    }
}

/// Decoration groups are replaced by separate decorations, as by spirv-opt.
#[test]
fn decoration_groups_are_written_out() {
    let words = common::assemble(
        r#"
        OpCapability Shader
        OpCapability TransformFeedback
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %1 "main" %2 %3 %4
        OpExecutionMode %1 Xfb
        OpName %20 "group"
        OpName %2 "colour"
        OpDecorate %2 Location 0
        OpDecorate %3 Location 1
        OpDecorate %4 Location 2
        OpDecorate %2 Offset 0
        OpDecorate %3 Offset 16
        OpDecorate %20 XfbBuffer 1
        OpDecorate %20 XfbStride 48
        OpDecorate %20 NoPerspective
        %20 = OpDecorationGroup
        OpDecorate %21 Offset 32
        %21 = OpDecorationGroup
        OpDecorate %22 NoPerspective
        %22 = OpDecorationGroup
        %23 = OpDecorationGroup
        OpMemberDecorate %9 0 RelaxedPrecision
        OpGroupDecorate %20 %2 %3 %4
        OpGroupDecorate %23 %2
        OpGroupMemberDecorate %21 %9 0
        OpGroupMemberDecorate %22 %9 0 %9 1
        OpDecorate %9 Block
        %5 = OpTypeVoid
        %6 = OpTypeFunction %5
        %7 = OpTypeFloat 32
        %8 = OpTypeVector %7 2
        %9 = OpTypeStruct %8 %8
        %10 = OpTypePointer Output %8
        %11 = OpTypePointer Output %9
        %2 = OpVariable %10 Output
        %3 = OpVariable %10 Output
        %4 = OpVariable %11 Output
        %1 = OpFunction %5 None %6
        %12 = OpLabel
        OpReturn
        OpFunctionEnd
        "#,
        "vulkan1.0",
    );
    let module = Module::parse(&words).unwrap();
    common::validate(&module.words(), "vulkan1.0");
    let sorted = |words: &[u32]| {
        let text = common::disassemble(words);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let flattened = common::optimize(&words, &["--flatten-decorations"]);
    assert_eq!(sorted(&module.words()), sorted(&flattened));
    assert!(!common::disassemble(&module.words()).contains("Group"));

    let declarations = Declarations::of(&module);
    let entry = find_vertex_shader(&module, None).unwrap();
    let layout = Layout::from_decorations(&module, &declarations, &entry).unwrap();
    assert_eq!(layout.strides, [None, Some(48), None, None]);
    let places: Vec<_> = layout.outputs.iter().map(|o| (o.offset, o.variable.0)).collect();
    assert_eq!(places, [(0, 2), (16, 3), (32, 4)]);
}

/// A group with thousands of decorations and thousands of targets is refused.
#[test]
fn decoration_groups_cannot_exhaust_memory() {
    let mut words = vec![spirv::MAGIC_NUMBER, 0x1_0000, 0, 10_000, 0];
    for _ in 0..5_000 {
        words.extend([3 << 16 | Op::Decorate as u32, 1, Decoration::Flat as u32]);
    }
    words.extend([2 << 16 | Op::DecorationGroup as u32, 1]);
    words.extend([5_002 << 16 | Op::GroupDecorate as u32, 1]);
    words.extend(2..5_002);
    let error = Module::parse(&words).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::DecorationGroups);
    assert_eq!(error.word, 5 + 3 * 5_000 + 2);
}

/// The number of words of an instruction has 16 bits, so further operands are left out.
#[test]
fn operands_are_as_many_as_can_be_counted() {
    let mut module = Module::parse(&identify()).unwrap();
    let before = module.words().len();
    let operands = vec![1; MAX_OPERANDS + 3];
    module.push(Section::Names, Op::Name, &operands);
    let mut code = Code::default();
    code.push(Op::Name, &operands);
    module.push_code(Section::Names, &code);
    assert_eq!(module.words().len(), before + 2 * (MAX_OPERANDS + 1));
    let again = Module::parse(&module.words()).unwrap();
    assert_eq!(again.section(Section::Names).filter(|i| i.operands() == &operands[3..]).count(), 2);
}
