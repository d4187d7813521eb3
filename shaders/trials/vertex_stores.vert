// Counts how often it runs for each vertex. probe/src/gpu/trials/stores.rs compares the counts with the
// number of runs that Vulkan allows.
#version 450

layout(set = 0, binding = 0) buffer Counts {
    uint counts[];
};
layout(push_constant) uniform Draw {
    // The index in `counts` of the draw's first vertex.
    uint first;
    // 0, or a distance that moves all vertices out of the viewport: a shader has to store for clipped primitives, too.
    float shift;
};

void main() {
    atomicAdd(counts[first + uint(gl_VertexIndex)], 1u);
    vec2 corner = vec2(gl_VertexIndex & 1, (gl_VertexIndex >> 1) & 1);
    gl_Position = vec4(corner + shift, 0.0, 1.0);
    gl_PointSize = 1.0;
}
