// For benchmarks of captures of 256 bytes per vertex: pulls 16 bytes, and computes 256 bytes. The arithmetic
// is cheap, and exact for the values in use.
#version 450

// Benchmarks give each module another value, so that no driver finds the module in its cache.
layout(constant_id = 0) const float SALT = 1.0;

layout(location = 0) in vec4 position;

layout(location = 0) out vec4 v0;
layout(location = 1) out vec4 v1;
layout(location = 2) out vec4 v2;
layout(location = 3) out vec4 v3;
layout(location = 4) out vec4 v4;
layout(location = 5) out vec4 v5;
layout(location = 6) out vec4 v6;
layout(location = 7) out vec4 v7;
layout(location = 8) out vec4 v8;
layout(location = 9) out vec4 v9;
layout(location = 10) out vec4 v10;
layout(location = 11) out vec4 v11;
layout(location = 12) out vec4 v12;
layout(location = 13) out vec4 v13;
layout(location = 14) out vec4 v14;

void main() {
    gl_Position = position;
    gl_PointSize = SALT;
    v0 = position.yzwx + SALT;
    v1 = position.yzwx + (SALT + 1.0);
    v2 = position.yzwx + (SALT + 2.0);
    v3 = position.yzwx + (SALT + 3.0);
    v4 = position.yzwx + (SALT + 4.0);
    v5 = position.yzwx + (SALT + 5.0);
    v6 = position.yzwx + (SALT + 6.0);
    v7 = position.yzwx + (SALT + 7.0);
    v8 = position.yzwx + (SALT + 8.0);
    v9 = position.yzwx + (SALT + 9.0);
    v10 = position.yzwx + (SALT + 10.0);
    v11 = position.yzwx + (SALT + 11.0);
    v12 = position.yzwx + (SALT + 12.0);
    v13 = position.yzwx + (SALT + 13.0);
    v14 = position.yzwx + (SALT + 14.0);
}
