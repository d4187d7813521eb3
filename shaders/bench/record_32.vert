// What captures of 32 bytes a vertex are measured with: pulls 16 bytes, writes twice as many by
// arithmetic that costs next to nothing and is exact for the values that there are.
#version 450

// One value a module, so that no driver has it in its cache.
layout(constant_id = 0) const float SALT = 1.0;

layout(location = 0) in vec4 position;

layout(location = 0) out vec4 v0;

void main() {
    gl_Position = position;
    gl_PointSize = SALT;
    v0 = position.yzwx + SALT;
}
