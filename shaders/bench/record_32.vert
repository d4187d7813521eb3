// For benchmarks of captures of 32 bytes per vertex: each vertex pulls 16 bytes and computes 32. The arithmetic
// is cheap, and exact for the values in use.
#version 450

// Benchmarks give each module another value, so that no driver finds the module in its cache.
layout(constant_id = 0) const float SALT = 1.0;

layout(location = 0) in vec4 position;

layout(location = 0) out vec4 v0;

void main() {
    gl_Position = position;
    gl_PointSize = SALT;
    v0 = position.yzwx + SALT;
}
