// A tessellation evaluation shader for benchmarks. It follows patch_control.tesc, and captures 32 bytes per vertex:
// each vertex is a copy of the first control point, so that captures do not depend on the order of the vertices in a
// patch.
#version 450

layout(quads, equal_spacing, ccw) in;

layout(location = 0) in vec4 passed[];

layout(location = 0) out vec4 captured;

void main() {
    gl_Position = gl_in[0].gl_Position;
    captured = passed[0];
}
