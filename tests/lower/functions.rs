//! Functions that are linked into lowered modules, and the bodies that are generated for stubs.

use vkxfb::lower::{ResourcePlan, Shader, compute};
use vkxfb::spirv::words_from_bytes;
use vkxfb::vertex_input::{InputRate, NumericClass, VertexFormat};

use super::shaders::{DESCRIPTORS, all, one_attribute, to_compute, vertex_input};
use crate::common;

/// The module contains only the functions that its formats and rates need, and no capability of
/// theirs.
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

/// Aligned accesses load and store 64-bit integers if the target has them. Other accesses never do.
#[test]
fn aligned_accesses_may_be_64_bit_integers() {
    let words = words_from_bytes(include_bytes!("../../shaders/probe/two_buffers.spv")).unwrap();
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

/// Single bytes are loaded if the target has 8-bit loads, and only from index buffers: with one
/// load for an index of one byte and for the low byte of a two-byte index, and another for the high
/// byte.
#[test]
fn indices_at_the_end_may_be_loaded_by_bytes() {
    let words = words_from_bytes(include_bytes!("../../shaders/probe/two_buffers.spv")).unwrap();
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

#[test]
fn probe_shaders_read_as_reviewed() {
    let words = words_from_bytes(include_bytes!("../../shaders/probe/two_buffers.spv")).unwrap();
    let names = ["vertex", "compute", "compute-descriptors", "compute-staged"];
    for (name, lowered) in names.into_iter().zip(all(&words)) {
        common::validate(&lowered.words, "vulkan1.0");
        let name = format!("two_buffers.{name}");
        insta::assert_snapshot!(name, generated(&common::disassemble(&lowered.words)));
    }
}

/// Returns the part of a module that lowering generates: the instructions that determine how it is
/// executed, and the functions that are stubs in the shader library. Ids without a name are
/// numbered anew in each function, so that a diff shows where a change was made.
fn generated(text: &str) -> String {
    const HOW: [&str; 5] =
        ["OpCapability", "OpExtension", "OpMemoryModel", "OpEntryPoint", "OpExecutionMode"];
    let stubs = include_str!("../../shaders/stubs.wgsl");
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
