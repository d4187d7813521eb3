// A capture of a triangle strip as a programmer would write it by hand: pulls 16 bytes for each vertex, and stores 32
// bytes to each of the three triangles that the vertex belongs to. Two vertices of each odd triangle are swapped, which
// keeps the winding.
#version 450
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;

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

// The members are stored one by one, because glslang declares no alignment for the store of a whole
// structure.
void store(uint number, Record record) {
    target.at[number].position = record.position;
    target.at[number].v0 = record.v0;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        vec4 position = source.at[i];
        Record record = Record(position, position.yzwx + SALT);
        uint triangles = count - 2;
        uint odd = i & 1;
        if (i < triangles) {
            store(3 * i, record);
        }
        if (i - 1 < triangles) {
            store(3 * (i - 1) + 2 - odd, record);
        }
        if (i - 2 < triangles) {
            store(3 * (i - 2) + 2 - odd, record);
        }
    }
}
