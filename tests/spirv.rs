//! SPIR-V at word level: nothing is lost, and nothing that is no module gets through.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use proptest::prelude::*;
use spirv::{Decoration, Op};
use vkxfb::spirv::{Module, ParseErrorKind, Section, words_from_bytes};

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
    words_from_bytes(include_bytes!("../shaders/probe/identify.spv")).unwrap()
}

/// A word as the first of an instruction.
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
    /// Whatever the words are, the answer is an error or a module that gives them back.
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

/// Line information, values and types of any kind may come first among the declarations.
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
