// A tessellation control shader for benchmarks. It follows record_32.vert, and copies the control points of a patch.
#version 450

layout(vertices = 4) out;

// The numbers of segments into which the sides of the patch are divided, horizontally and vertically.
layout(constant_id = 1) const float WIDE = 1.0;
layout(constant_id = 2) const float HIGH = 1.0;

layout(location = 0) in vec4 v0[];

layout(location = 0) out vec4 passed[];

void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    passed[gl_InvocationID] = v0[gl_InvocationID];
    gl_TessLevelInner[0] = WIDE;
    gl_TessLevelInner[1] = HIGH;
    gl_TessLevelOuter[0] = HIGH;
    gl_TessLevelOuter[1] = WIDE;
    gl_TessLevelOuter[2] = HIGH;
    gl_TessLevelOuter[3] = WIDE;
}
