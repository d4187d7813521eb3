// For benchmarks of vertices in formats that models use: each vertex pulls 24 bytes, and captures 64.
#version 450

layout(constant_id = 0) const float SALT = 1.0;

layout(location = 0) in vec3 position; // R32G32B32_SFLOAT
layout(location = 1) in vec4 normal; // A2B10G10R10_SNORM_PACK32
layout(location = 2) in vec2 texel; // R16G16_SFLOAT
layout(location = 3) in vec4 colour; // R8G8B8A8_UNORM

layout(location = 0) out vec4 v0;
layout(location = 1) out vec4 v1;
layout(location = 2) out vec4 v2;

void main() {
    gl_Position = vec4(position, 1.0);
    gl_PointSize = SALT;
    v0 = normal;
    v1 = texel.xyyx;
    v2 = colour;
}
