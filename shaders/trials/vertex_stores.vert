// Counts how often it runs for each vertex: probe/src/gpu/trials/stores.rs compares the counts with what a draw may
// run.
#version 450

layout(set = 0, binding = 0) buffer Counts {
    uint counts[];
};
layout(push_constant) uniform Draw {
    // Where the counts of the draw begin.
    uint first;
    // Far outside of the viewport, or 0: what is clipped is stored, too.
    float shift;
};

void main() {
    atomicAdd(counts[first + uint(gl_VertexIndex)], 1u);
    vec2 corner = vec2(gl_VertexIndex & 1, (gl_VertexIndex >> 1) & 1);
    gl_Position = vec4(corner + shift, 0.0, 1.0);
    gl_PointSize = 1.0;
}
