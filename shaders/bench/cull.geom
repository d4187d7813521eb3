// A geometry shader for benchmarks. It follows record_32.vert, captures 32 bytes per vertex, and emits nothing for
// every second triangle. The choice depends on the vertex data, so that no compiler can predict it.
#version 450

layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;

layout(location = 0) in vec4 v0[];

layout(location = 0) out vec4 captured;

// Emits a vertex with the outputs of the vertex shader.
void emit(uint slot) {
    gl_Position = gl_in[slot].gl_Position;
    captured = v0[slot];
    EmitVertex();
}

void main() {
    if ((uint(gl_in[0].gl_Position.x) & 1u) != 0) {
        return;
    }
    for (uint slot = 0; slot < 3; slot++) {
        emit(slot);
    }
    EndPrimitive();
}
