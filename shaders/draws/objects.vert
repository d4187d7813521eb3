// Each record contains push constants, and the values that the shader reads from the bound descriptor sets.
// Each descriptor has a dynamic offset, which selects the value.
//
//   Set 0, binding 0: uniform buffer
//   Set 1, binding 0: storage buffer; binding 1: uniform buffer
//
// One buffer, stride 32, with a gap at its end:
//
//   offset 0   uint  of set 0
//   offset 4   uint  of set 1, binding 0
//   offset 8   uint  of set 1, binding 1
//   offset 12  uint  VertexIndex
//   offset 16  uvec3  pushed
//   offset 28  gap
//
// tests/draws/shaders.rs implements the same in Rust.
#version 450

layout(set = 0, binding = 0) uniform Frame { uint frame; };
layout(set = 1, binding = 0) readonly buffer Object { uint object; };
layout(set = 1, binding = 1) uniform Material { uint material; };

layout(push_constant) uniform Constants { uint head; layout(offset = 16) uvec4 tail; };

layout(xfb_buffer = 0, xfb_stride = 32) out;

layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uvec4 read;
layout(location = 1, xfb_buffer = 0, xfb_offset = 16) flat out uvec3 pushed;

void main() {
    read = uvec4(frame, object, material, gl_VertexIndex);
    pushed = uvec3(head, tail.xw);
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
