#version 450

// Divides a patch of four corners into 5 by 3 squares.
layout(vertices = 4) out;
layout(location = 0) in vec2 corner[];
layout(location = 0) out vec2 corners[];

void main() {
    corners[gl_InvocationID] = corner[gl_InvocationID];
    if (gl_InvocationID == 0) {
        gl_TessLevelInner[0] = 5.0;
        gl_TessLevelInner[1] = 3.0;
        gl_TessLevelOuter[0] = 3.0;
        gl_TessLevelOuter[1] = 5.0;
        gl_TessLevelOuter[2] = 3.0;
        gl_TessLevelOuter[3] = 5.0;
    }
}
