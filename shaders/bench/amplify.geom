// A geometry shader for benchmarks. It follows record_32.vert, and captures 32 bytes per vertex. For every second input
// triangle the shader emits four triangles, in one strip that repeats the three vertices. For each of the others it
// emits one triangle, and a strip of two vertices, which is too short for a triangle. The choice depends on the vertex
// data, so that no compiler can predict it.
#version 450

layout(triangles) in;
layout(triangle_strip, max_vertices = 6) out;

layout(location = 0) in vec4 v0[];

layout(location = 0) out vec4 captured;

// Emits a vertex with the outputs of the vertex shader.
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
