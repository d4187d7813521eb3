#version 450

// The corners of a square, in turn.
layout(location = 0) out vec2 corner;

void main() {
    corner = vec2(gl_VertexIndex == 1 || gl_VertexIndex == 2, gl_VertexIndex >= 2);
}
