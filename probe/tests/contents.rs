//! What descriptors and push constants hold: as many bytes as the blocks have, each number of its type.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../tests/common/mod.rs"]
mod common;

use vkxfb::lower::Shader;
use vkxfb_probe::contents::{
    BufferContents, BufferKind, Contents, ContentsError, Given, GivenBytes, Missing,
};

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
    Contents::of(&Shader::new(&words), given, Missing::MakeUp)
}

fn made_up(declarations: &str, body: &str) -> Contents {
    contents(declarations, body, &Given::default()).unwrap()
}

fn given(size: usize) -> Given {
    let bytes = GivenBytes { name: "file".to_owned(), bytes: vec![1; size] };
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
        // One byte less is missing even where the last dword is not whole.
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
    for size in [8, 12, 8 + 8 * 100] {
        assert!(contents(block, body, &given(size)).is_ok(), "{size}");
    }
    assert!(contents(block, body, &given(7)).is_err());
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
    // Push constants begin with byte 0, whatever the block begins with.
    let constants = &made.push_constants;
    assert_eq!(constants.len(), 36);
    assert!(constants[..16].iter().all(|byte| *byte == 0));
    assert!(floats(&constants[16..32]).iter().all(is_small));
    assert!(ints(&constants[32..])[0] < 4);
    assert_eq!(made.made_up.len(), 2);
    assert_eq!(made, made_up(block, body));
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
    let huge =
        "layout(set = 0, binding = 0) readonly buffer B { layout(offset = 67108864) vec4 v; } b;";
    let refused = error(huge, "b.v");
    assert!(refused.to_string().contains("no more than"), "{refused}");
}
