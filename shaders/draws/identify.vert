// Each record identifies its vertex, instance and draw.
//
// One buffer, stride 24, with a gap at its end:
//
//   offset 0   uint  VertexIndex
//   offset 4   uint  InstanceIndex
//   offset 8   uint  BaseVertex
//   offset 12  uint  BaseInstance
//   offset 16  uint  DrawIndex
//   offset 20  gap
//
// tests/draws/shaders.rs implements the same in Rust.
#version 450
#extension GL_ARB_shader_draw_parameters : require

layout(xfb_buffer = 0, xfb_stride = 24) out;

layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uvec4 id;
layout(location = 1, xfb_buffer = 0, xfb_offset = 16) flat out uint draw;

void main() {
    id = uvec4(gl_VertexIndex, gl_InstanceIndex, gl_BaseVertexARB, gl_BaseInstanceARB);
    draw = uint(gl_DrawIDARB);
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
