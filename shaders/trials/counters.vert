// Writes a different value to each of four outputs. probe/src/run/counters.rs captures some of the outputs,
// each to another buffer.
#version 450

layout(location = 0) flat out uint first;
layout(location = 1) flat out uint second;
layout(location = 2) flat out uint third;
layout(location = 3) flat out uint fourth;

void main() {
    uint value = 4u * uint(gl_VertexIndex);
    first = value;
    second = value + 1u;
    third = value + 2u;
    fourth = value + 3u;
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
}
