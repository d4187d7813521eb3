// For benchmarks of captures of 32 bytes per vertex, behind record_32.vert: of every second triangle
// nothing. Which ones is in the data, so that no compiler knows.
#version 450

layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;

layout(location = 0) in vec4 v0[];

layout(location = 0) out vec4 captured;

// Hands on what the vertex shader has made of a vertex.
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
