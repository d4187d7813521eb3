// For the examples in C and Python: each vertex pulls 16 bytes, and captures 32.
#version 450

layout(location = 0) in vec4 position;

layout(location = 0, xfb_buffer = 0, xfb_stride = 32, xfb_offset = 0) out vec4 first;
layout(location = 1, xfb_buffer = 0, xfb_offset = 16) out vec4 second;

void main() {
    first = position;
    second = position.wzyx + vec4(1.0);
    gl_Position = position;
    gl_PointSize = 1.0;
}
