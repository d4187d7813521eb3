//! Tests the contents of descriptors and push constants: they have the size of the blocks, and each
//! made-up number has its type.

use vkxfb_probe::contents::{
    BufferContents, BufferKind, Contents, ContentsError, Given, GivenBytes, Missing,
};
use vkxfb_rewriter::lower::Shader;

use crate::common;

fn contents(declarations: &str, body: &str, given: &Given) -> Result<Contents, ContentsError> {
    let source = format!(
        "#version 460
         #extension GL_EXT_scalar_block_layout : require
         #extension GL_EXT_shader_explicit_arithmetic_types : require
         #extension GL_EXT_shader_16bit_storage : require
         #extension GL_EXT_shader_8bit_storage : require
         #extension GL_EXT_buffer_reference : require
         #extension GL_EXT_buffer_reference2 : require
         {declarations}
         void main() {{ gl_Position = vec4({body}); }}"
    );
    let words = common::compile(&source, &["--target-env", "vulkan1.2"]);
    Contents::of_stages(&[&Shader::new(&words)], given, Missing::MakeUp)
}

fn made_up(declarations: &str, body: &str) -> Contents {
    contents(declarations, body, &Given::default()).unwrap()
}

fn given(size: usize) -> Given {
    let bytes = GivenBytes { name: "file".to_owned(), bytes: vec![1; size], supplied: None };
    Given { buffers: [((0, 0), bytes)].into(), push_constants: None }
}

#[test]
fn blocks_have_the_bytes_of_their_layout() {
    for (block, body, size) in [
        ("uniform B { vec3 a; } b", "b.a, 1", 12),
        ("uniform B { vec3 a; float c; } b", "b.a, b.c", 16),
        ("uniform B { float a[3]; } b", "b.a[0]", 36),
        ("uniform B { mat3 a; } b", "b.a[0], 1", 44),
        ("layout(row_major) uniform B { mat4x2 a; } b", "b.a[0], 1, 1", 32),
        ("layout(scalar) readonly buffer B { mat3 a; } b", "b.a[0], 1", 36),
        (
            "layout(std430) readonly buffer B { double a; f16vec2 c; uint8_t d; } b",
            "b.a, b.c, b.d",
            16,
        ),
        ("uniform B { mat4 a[64]; layout(offset = 8192) vec4 c; } b", "b.c", 8208),
    ] {
        let block = format!("layout(set = 0, binding = 0) {block};");
        let found = made_up(&block, body);
        assert_eq!(found.buffers[0].bytes.len(), size, "{block}");
        assert_eq!(found.set_count(), 1);
        assert!(contents(&block, body, &given(size)).is_ok(), "{block}");
        assert!(contents(&block, body, &given(size.next_multiple_of(16))).is_ok(), "{block}");
        // Contents that are one byte too short are refused, even if the last dword of the block is
        // not complete.
        let exact = if block.contains("uint8_t") { 13 } else { size };
        let error = contents(&block, body, &given(exact - 1)).unwrap_err();
        assert!(matches!(error, ContentsError::Size { .. }), "{error}");
        let error = contents(&block, body, &given(size + 17)).unwrap_err();
        assert!(matches!(error, ContentsError::Size { .. }), "{error}");
    }
}

#[test]
fn an_array_without_a_length_has_as_many_elements_as_there_are_bytes() {
    let block = "layout(set = 0, binding = 0) readonly buffer B { uint n; vec2 a[]; } b;";
    let body = "b.a[gl_VertexIndex % b.n], 0, 1";
    assert_eq!(made_up(block, body).buffers[0].bytes.len(), 8 + 4096 * 8);
    for size in [16, 24, 8 + 8 * 100] {
        assert!(contents(block, body, &given(size)).is_ok(), "{size}");
    }
    // Contents without an element are refused, because the shader would read zeros. Contents with a
    // part of an element are refused, because they are probably for another layout.
    for size in [0, 1, 7, 8, 12, 15, 17, 20, 8 + 8 * 100 + 4] {
        let error = contents(block, body, &given(size)).unwrap_err();
        assert!(matches!(error, ContentsError::Size { .. }), "{size}: {error}");
        let text = error.to_string();
        assert!(text.contains("8 bytes and 8 for each element of its array"), "{text}");
    }
    // The last element may lack its padding.
    let block = "layout(set = 0, binding = 0) readonly buffer B { vec3 a[]; } b;";
    for (size, is_right) in
        [(8, false), (12, true), (16, true), (28, true), (32, true), (24, false)]
    {
        let found = contents(block, "b.a[gl_VertexIndex], 1", &given(size));
        assert_eq!(found.is_ok(), is_right, "{size}");
    }
}

/// If the shader reads an element by a constant index, the contents must have that element.
#[test]
fn an_array_without_a_length_has_what_the_shader_names() {
    let block = "layout(set = 0, binding = 0) readonly buffer B { uint n; vec2 a[]; } b[2];";
    for (size, is_right) in [(16, false), (8 + 8 * 5, false), (8 + 8 * 6, true), (8 + 8 * 7, true)]
    {
        let found = contents(block, "b[1].a[5] + b[0].a[3], 0, 1", &given(size));
        assert_eq!(found.is_ok(), is_right, "{size}");
        if let Err(error) = found {
            assert!(error.to_string().contains("at least 6"), "{error}");
        }
    }
}

#[test]
fn made_up_numbers_are_small_and_of_their_types() {
    let block = "layout(set = 2, binding = 5, scalar) readonly buffer B {
        float a[64]; int c[64]; double d[8]; f16vec4 e[4]; uvec2 f[]; } b[2];
        layout(push_constant) uniform P { layout(offset = 16) vec4 p; uint q; };";
    let body = "b[0].a[0], b[0].c[0], float(b[1].d[0]) + p.x + q, float(b[1].e[0].x) + b[0].f[1].y";
    let made = made_up(block, body);
    let [BufferContents { set: 2, binding: 5, kind: BufferKind::Storage, count: 2, bytes }] =
        &made.buffers[..]
    else {
        panic!("{:?}", made.buffers);
    };
    let floats = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let ints = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let is_small = |float: &f32| (0.25..1.0).contains(float);
    assert!(floats(&bytes[..256]).iter().all(is_small));
    assert!(ints(&bytes[256..512]).iter().all(|int| *int < 4));
    let doubles = bytes[512..576].chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    assert!(doubles.into_iter().all(|double| (0.25..1.0).contains(&double)));
    let halves = bytes[576..608].chunks(2).map(|b| u16::from_le_bytes(b.try_into().unwrap()));
    assert!(halves.into_iter().all(|half| (0x3400..0x3c00).contains(&half)));
    let rest = ints(&bytes[608..]);
    assert!(rest.iter().all(|int| *int < 4) && (0..4).all(|int| rest.contains(&int)));
    // The contents of push constants begin at byte 0, even if the block begins later.
    let constants = &made.push_constants;
    assert_eq!(constants.len(), 36);
    assert!(constants[..16].iter().all(|byte| *byte == 0));
    assert!(floats(&constants[16..32]).iter().all(is_small));
    assert!(ints(&constants[32..])[0] < 4);
    assert_eq!(made.made_up.len(), 2);
    assert_eq!(made, made_up(block, body));
}

/// Where some bytes are supplied, the others are those that would be made up of the whole block. A runtime array ends
/// with the last element of which something is supplied.
#[test]
fn what_is_not_supplied_is_made_up() {
    let block = "layout(set = 0, binding = 0) readonly buffer B { uint n; vec4 v; vec2 a[]; } b;";
    let body = "b.a[gl_VertexIndex % b.n] + b.v.xy, 0, 1";
    let whole = made_up(block, body).buffers[0].bytes.clone();
    let supplied = |bytes: usize, supplied: &[std::ops::Range<usize>]| {
        let (name, supplied) = ("--uniform 0.0".to_owned(), Some(supplied.to_vec()));
        let bytes = GivenBytes { name, bytes: vec![1; bytes], supplied };
        let given = Given { buffers: [((0, 0), bytes)].into(), push_constants: None };
        let contents = contents(block, body, &given).unwrap();
        assert_eq!(contents.made_up.len(), 1);
        contents.buffers[0].bytes.clone()
    };
    for (ranges, size) in [
        (&[(0, 4)][..], 32 + 4096 * 8),
        (&[(0, 4), (20, 24)], 32 + 4096 * 8),
        (&[(32, 40)], 32 + 4096 * 8),
        // A part of the third element.
        (&[(0, 4), (48, 52)], 32 + 4096 * 8),
    ] {
        let ranges: Vec<_> = ranges.iter().map(|(start, end)| *start..*end).collect();
        let found = supplied(56, &ranges);
        assert_eq!(found.len(), size, "{ranges:?}");
        for (at, byte) in found.iter().enumerate() {
            let is_given = ranges.iter().any(|range| range.contains(&at));
            assert_eq!(*byte, if is_given { 1 } else { whole[at] }, "{ranges:?}: {at}");
        }
    }
}

#[test]
fn what_cannot_be_made_up_is_refused() {
    let error = |block: &str, body: &str| contents(block, body, &Given::default()).unwrap_err();
    let reference = "layout(buffer_reference) readonly buffer R { vec4 v; };
        layout(set = 0, binding = 0) uniform B { R r; } b;";
    let refused = error(reference, "b.r.v");
    assert!(matches!(refused, ContentsError::Addresses { .. }), "{refused}");
    let refused =
        error("layout(set = 0, binding = 0) uniform samplerBuffer b;", "texelFetch(b, 0)");
    assert!(matches!(refused, ContentsError::Unsupported { .. }), "{refused}");
    let kinds = "layout(set = 0, binding = 0) uniform A { vec4 v; } a;
        layout(set = 0, binding = 0) readonly buffer B { vec4 v; } b;";
    let refused = error(kinds, "a.v + b.v").to_string();
    assert!(refused.starts_with("descriptor set 0 binding 0 is declared as a "), "{refused}");
    for part in ["a uniform buffer ('a'", "a storage buffer ('b'"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let huge =
        "layout(set = 0, binding = 0) readonly buffer B { layout(offset = 67108864) vec4 v; } b;";
    let refused = error(huge, "b.v");
    assert!(refused.to_string().contains("no more than"), "{refused}");
}

/// Returns the words of an instruction.
fn instruction(op: spirv::Op, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | op as u32];
    words.extend_from_slice(operands);
    words
}

/// Returns a module that computes `vec4 o = heap[2].member` with a descriptor heap. The assembler
/// of the tests does not know descriptor heaps.
fn heap() -> Vec<u32> {
    use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};
    let text = |text: &str| vkxfb_rewriter::spirv::string_words(text);
    let entry = [&[0, 1], &text("main")[..], &[2, 3]].concat();
    let extension = text("SPV_EXT_descriptor_heap");
    let (uniform, output) = (StorageClass::Uniform as u32, StorageClass::Output as u32);
    let constants = StorageClass::UniformConstant as u32;
    let body: &[(Op, &[u32])] = &[
        (Op::Capability, &[Capability::Shader as u32]),
        (Op::Capability, &[Capability::UntypedPointersKHR as u32]),
        (Op::Capability, &[Capability::DescriptorHeapEXT as u32]),
        (Op::Extension, &extension),
        (Op::MemoryModel, &[0, 1]),
        (Op::EntryPoint, &entry),
        (Op::Decorate, &[2, Decoration::Location as u32, 0]),
        (Op::Decorate, &[3, Decoration::BuiltIn as u32, BuiltIn::ResourceHeapEXT as u32]),
        (Op::DecorateId, &[4, Decoration::ArrayStrideIdEXT as u32, 5]),
        (Op::Decorate, &[6, Decoration::Block as u32]),
        (Op::MemberDecorate, &[6, 0, Decoration::Offset as u32, 0]),
        (Op::MemberDecorateIdEXT, &[25, 1, Decoration::OffsetIdEXT as u32, 26]),
        (Op::TypeVoid, &[7]),
        (Op::TypeFunction, &[8, 7]),
        (Op::TypeFloat, &[9, 32]),
        (Op::TypeVector, &[10, 9, 4]),
        (Op::TypeInt, &[11, 32, 0]),
        (Op::Constant, &[11, 12, 0]),
        (Op::Constant, &[11, 13, 2]),
        (Op::TypePointer, &[14, output, 10]),
        (Op::Variable, &[14, 2, output]),
        (Op::TypeUntypedPointerKHR, &[15, constants]),
        (Op::TypeBufferEXT, &[16, uniform]),
        (Op::ConstantSizeOfEXT, &[11, 5, 16]),
        (Op::ConstantSizeOfEXT, &[11, 26, 16]),
        (Op::TypeRuntimeArray, &[4, 16]),
        (Op::TypeStruct, &[25, 16, 16]),
        (Op::UntypedVariableKHR, &[15, 3, constants]),
        (Op::TypeStruct, &[6, 10]),
        (Op::TypePointer, &[17, uniform, 6]),
        (Op::TypePointer, &[18, uniform, 10]),
        (Op::Function, &[7, 1, 0, 8]),
        (Op::Label, &[19]),
        (Op::UntypedAccessChainKHR, &[15, 20, 4, 3, 13]),
        (Op::BufferPointerEXT, &[17, 21, 20]),
        (Op::AccessChain, &[18, 22, 21, 12]),
        (Op::Load, &[10, 23, 22]),
        (Op::Store, &[2, 23]),
    ];
    let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0600, 0, 27, 0];
    words.extend(body.iter().flat_map(|(op, operands)| instruction(*op, operands)));
    words.extend(instruction(Op::Return, &[]));
    words.extend(instruction(Op::FunctionEnd, &[]));
    words
}

/// The probe cannot supply a descriptor heap, so a shader that uses one is refused.
#[test]
fn a_descriptor_heap_is_refused_by_name() {
    let words = heap();
    for missing in [Missing::Refuse, Missing::MakeUp] {
        let (shader, given) = (Shader::new(&words), Given::default());
        let error = Contents::of_stages(&[&shader], &given, missing).unwrap_err();
        assert!(matches!(error, ContentsError::DescriptorHeap { .. }), "{error}");
        assert!(
            error.to_string().contains("ResourceHeapEXT %3, SPV_EXT_descriptor_heap"),
            "{error}"
        );
    }
}

/// Lowering keeps the types of a descriptor heap with their decorations, and every id that is used
/// is defined.
#[test]
fn a_descriptor_heap_is_lowered() {
    use spirv::Op;
    use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, Selector};
    use vkxfb_rewriter::lower::{compute, vertex};
    let words = heap();
    let selector = Selector::Location { location: 0, component: 0, components: 4 };
    let captures = vec![CaptureEntry::new(selector, 0, 0)];
    let list = CaptureList::default().captures(captures).strides([Some(16), None, None, None]);
    let shader = Shader::new(&words).captures(&list);
    let vertex_input = vkxfb_rewriter::vertex_input::VertexInput::default();
    let options = compute::Options::new(&vertex_input);
    for lowered in [compute::lower(&shader, &options).unwrap(), vertex::lower(&shader).unwrap()] {
        let module = vkxfb_rewriter::spirv::Module::parse(&lowered.words).unwrap();
        use vkxfb_rewriter::spirv::{Section, result_of};
        let declared = |op| module.section(Section::Declarations).find(|i| i.is(op));
        for kept in [Op::TypeBufferEXT, Op::ConstantSizeOfEXT, Op::UntypedVariableKHR] {
            assert!(declared(kept).is_some(), "{kept:?}");
        }
        // Instructions that nothing uses are removed together with their decorations.
        let is_defined = |id| {
            let declarations = module.section(Section::Declarations);
            declarations
                .chain(module.section(Section::Functions))
                .any(|i| result_of(i).1 == Some(id))
        };
        for i in module.section(Section::Annotations) {
            assert!(is_defined(i.id(0)), "{:?} of {}", i.op(), i.id(0));
            let parameters = match i.op() {
                Some(Op::DecorateId) => &i.operands()[2..],
                Some(Op::MemberDecorateIdEXT) => &i.operands()[3..],
                _ => &[],
            };
            assert!(
                parameters.iter().all(|id| is_defined(vkxfb_rewriter::spirv::Id(*id))),
                "{:?}",
                i.op()
            );
        }
    }
}
