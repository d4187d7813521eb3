// Each record contains the values of identify.vert, distributed over all four buffers, and a push constant.
//
// Buffer 0, stride 8:   offset 0 gap, offset 4 uint VertexIndex
// Buffer 1, stride 4:   offset 0 uint InstanceIndex
// Buffer 2, stride 20:  offset 0 uint BaseVertex, offset 4 uint pushed, offset 8 gap, offset 12 uint BaseInstance, gap
// Buffer 3, stride 12:  offset 0 gap, offset 4 uvec2 (DrawIndex, VertexIndex)
//
// tests/draws/shaders.rs implements the same in Rust.
#version 450
#extension GL_ARB_shader_draw_parameters : require

layout(push_constant) uniform Constants { layout(offset = 20) uint constant; };

layout(xfb_buffer = 0, xfb_stride = 8) out;
layout(xfb_buffer = 1, xfb_stride = 4) out;
layout(xfb_buffer = 2, xfb_stride = 20) out;
layout(xfb_buffer = 3, xfb_stride = 12) out;

layout(location = 0, xfb_buffer = 0, xfb_offset = 4) flat out uint vertex;
layout(location = 1, xfb_buffer = 1, xfb_offset = 0) flat out uint instance;
layout(location = 2, xfb_buffer = 2, xfb_offset = 0) flat out uint base_vertex;
layout(location = 3, xfb_buffer = 2, xfb_offset = 12) flat out uint base_instance;
layout(location = 4, xfb_buffer = 3, xfb_offset = 4) flat out uvec2 draw;
layout(location = 5, xfb_buffer = 2, xfb_offset = 4) flat out uint pushed;

void main() {
    vertex = uint(gl_VertexIndex);
    instance = uint(gl_InstanceIndex);
    base_vertex = uint(gl_BaseVertexARB);
    base_instance = uint(gl_BaseInstanceARB);
    draw = uvec2(gl_DrawIDARB, gl_VertexIndex);
    pushed = constant;
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
