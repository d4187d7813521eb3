//! `Effects`: what a shader does that a capture would repeat.

use vkxfb::lower::{Effects, Shader, native};

use crate::common;

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
