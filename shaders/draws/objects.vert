// Every record says which objects the descriptor sets are bound at: each descriptor has a dynamic offset.
//
//   Set 0, binding 0: uniform buffer
//   Set 1, binding 0: storage buffer; binding 1: uniform buffer
//
// One buffer, stride 20, with a gap at its end:
//
//   offset 0   uint  of set 0
//   offset 4   uint  of set 1, binding 0
//   offset 8   uint  of set 1, binding 1
//   offset 12  uint  VertexIndex
//   offset 16  gap
//
// tests/draws/shaders.rs states the same in Rust.
#version 450

layout(set = 0, binding = 0) uniform Frame { uint frame; };
layout(set = 1, binding = 0) readonly buffer Object { uint object; };
layout(set = 1, binding = 1) uniform Material { uint material; };

layout(xfb_buffer = 0, xfb_stride = 20) out;

layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uvec4 read;

void main() {
    read = uvec4(frame, object, material, gl_VertexIndex);
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
