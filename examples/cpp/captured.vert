#version 450
// Draws positions as they were captured.
layout(location = 0) in vec4 position;

void main() {
    gl_Position = position;
}
