// What captures of 64 bytes a vertex are measured with: pulls 16 bytes, writes 4 times as many by
// arithmetic that costs next to nothing and is exact for the values that there are.
#version 450

// One value a module, so that no driver has it in its cache.
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
