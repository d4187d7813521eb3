// For benchmarks of captures of 16 bytes per vertex: pulls 16 bytes, and computes as many with
// arithmetic that is cheap, and exact for the values in use.
#version 450

// A different value in each module, so that no driver finds it in its cache.
layout(constant_id = 0) const float SALT = 1.0;

layout(location = 0) in vec4 position;

void main() {
    gl_Position = position;
    gl_PointSize = SALT;
}
