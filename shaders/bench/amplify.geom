// For benchmarks of captures of 32 bytes per vertex, behind record_32.vert: of every second triangle
// four, in one strip that goes twice around it; of the others one, and a strip that is too short for
// another. Which ones is in the data, so that no compiler knows.
#version 450

layout(triangles) in;
layout(triangle_strip, max_vertices = 6) out;

layout(location = 0) in vec4 v0[];

layout(location = 0) out vec4 captured;

// Hands on what the vertex shader has made of a vertex.
void emit(uint slot) {
    gl_Position = gl_in[slot].gl_Position;
    captured = v0[slot];
    EmitVertex();
}

void main() {
    bool is_even = (uint(gl_in[0].gl_Position.x) & 1u) == 0;
    uint count = is_even ? 6 : 3;
    for (uint i = 0; i < count; i++) {
        emit(i % 3);
    }
    EndPrimitive();
    if (!is_even) {
        emit(0);
        emit(1);
        EndPrimitive();
    }
}
