// A capture of lists as a programmer would write it by hand: pulls 16 bytes for each vertex, and stores the same 32
// bytes as record_32.vert. A benchmark compares how long it takes to create the pipeline of a capture, and to create a
// pipeline of this shader.
#version 450
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;

// Benchmarks give each module another value, so that no driver finds the module in its cache.
layout(constant_id = 0) const float SALT = 1.0;

struct Record {
    vec4 position;
    vec4 v0;
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Source {
    vec4 at[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Target {
    Record at[];
};

layout(push_constant) uniform Work {
    Source source;
    Target target;
    uint count;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        vec4 position = source.at[i];
        // The members are stored one by one, because glslang declares no alignment for the store of a whole
        // structure.
        target.at[i].position = position;
        target.at[i].v0 = position.yzwx + SALT;
    }
}
