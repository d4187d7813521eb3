// Each record contains push constants, and values from the vertex buffers, which tests also fill by captures.
//
// Binding 0, per vertex, stride 24, like the records of identify.vert: location 0 uvec4 at 0,
// location 1 uint at 20. Binding 1, per instance, stride 8: location 2 uint at 4.
//
// Two buffers, numbers 0 and 2:
//
//   Buffer 0, stride 20:  offset 0 uvec4 location 0, offset 16 uint location 1
//   Buffer 2, stride 16:  offset 0 uint location 2, offset 4 uint VertexIndex, offset 8 uint pushed, offset 12 gap
//
// tests/draws/shaders.rs implements the same in Rust.
#version 450

layout(push_constant) uniform Constants { layout(offset = 28) uint constants[2]; };

layout(xfb_buffer = 0, xfb_stride = 20) out;
layout(xfb_buffer = 2, xfb_stride = 16) out;

layout(location = 0) in uvec4 head;
layout(location = 1) in uint tail;
layout(location = 2) in uint each;

layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uvec4 out_head;
layout(location = 1, xfb_buffer = 0, xfb_offset = 16) flat out uint out_tail;
layout(location = 2, xfb_buffer = 2, xfb_offset = 0) flat out uvec2 out_each;
layout(location = 3, xfb_buffer = 2, xfb_offset = 8) flat out uint pushed;

void main() {
    out_head = head;
    out_tail = tail;
    out_each = uvec2(each, gl_VertexIndex);
    pushed = constants[gl_VertexIndex & 1];
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
