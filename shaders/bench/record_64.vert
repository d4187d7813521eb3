// For benchmarks of captures of 64 bytes per vertex: pulls 16 bytes, and computes 64 bytes. The arithmetic is
// cheap, and exact for the values in use.
#version 450

// Benchmarks give each module another value, so that no driver finds the module in its cache.
layout(constant_id = 0) const float SALT = 1.0;

layout(location = 0) in vec4 position;

layout(location = 0) out vec4 v0;
layout(location = 1) out vec4 v1;
layout(location = 2) out vec4 v2;

void main() {
    gl_Position = position;
    gl_PointSize = SALT;
    v0 = position.yzwx + SALT;
    v1 = position.yzwx + (SALT + 1.0);
    v2 = position.yzwx + (SALT + 2.0);
}
