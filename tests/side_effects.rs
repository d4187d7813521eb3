//! Shaders that change memory beside what they give on.

mod common;

use vkxfb::lower::side_effects::has_side_effects;

fn shader(body: &str) -> Vec<u32> {
    let source = format!(
        "#version 450
        layout(binding = 0) buffer Storage {{ uint count; uint values[]; }} storage;
        layout(binding = 1, r32ui) uniform uimage2D image;
        layout(location = 0) out flat uint captured;
        uint own;
        void add(inout uint to) {{ to += 1; }}
        void main() {{
            uint local[4];
            local[gl_VertexIndex & 3] = storage.values[gl_VertexIndex];
            own = local[1] + imageLoad(image, ivec2(0)).x;
            add(own);
            captured = own;
            gl_Position = vec4(0);
            {body}
        }}"
    );
    common::compile(&source, &["--target-env", "vulkan1.1"])
}

#[test]
fn what_others_see_is_an_effect() {
    for (body, expected) in [
        ("", false),
        ("storage.values[1] = 2;", true),
        ("add(storage.count);", true),
        ("captured = atomicAdd(storage.count, 1);", true),
        ("imageStore(image, ivec2(0), uvec4(1));", true),
        ("imageAtomicAdd(image, ivec2(0), 1);", true),
    ] {
        assert_eq!(has_side_effects(&shader(body)), Ok(expected), "{body}");
    }
    assert!(has_side_effects(&[1, 2, 3]).is_err());
}
