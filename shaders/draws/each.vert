// Each record contains an attribute with the input rate of instances, and push constants. The records have the
// same stride as those of objects.vert, so that one capture can alternate between pipelines of both shaders.
// objects.vert has descriptors and no vertex buffer; this shader has a vertex buffer and no descriptors, and
// its push constants are other ones.
//
// Binding 1, per instance, stride 8: location 2 uint at 4.
//
// One buffer, stride 32:
//
//   offset 0   gap
//   offset 4   uint  location 2
//   offset 8   uvec2  (VertexIndex, BaseInstance)
//   offset 16  uint  pushed
//   offset 20  gap
//   offset 28  uint  pushed
//
// tests/draws/shaders.rs implements the same in Rust.
#version 450
#extension GL_ARB_shader_draw_parameters : require

layout(push_constant) uniform Constants { layout(offset = 8) uint constants[5]; };

layout(xfb_buffer = 0, xfb_stride = 32) out;

layout(location = 2) in uint each;

layout(location = 0, xfb_buffer = 0, xfb_offset = 4) flat out uint out_each;
layout(location = 1, xfb_buffer = 0, xfb_offset = 8) flat out uvec2 place;
layout(location = 2, xfb_buffer = 0, xfb_offset = 16) flat out uint first;
layout(location = 3, xfb_buffer = 0, xfb_offset = 28) flat out uint last;

void main() {
    out_each = each;
    place = uvec2(gl_VertexIndex, gl_BaseInstanceARB);
    first = constants[0];
    last = constants[4];
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
