// The reference for the speed of captures: reads and writes as many bytes as a capture must, and
// does nothing else. All stored values depend on the loaded values.
//
// Every 16 bytes are loaded once and by one instruction, and neighbouring invocations access
// neighbouring 16 bytes. Counts are in units of 16 bytes (a uvec4).
#version 450
#extension GL_EXT_buffer_reference : require

layout(local_size_x_id = 0) in;

// Loads and stores per invocation.
layout(constant_id = 1) const uint SOURCE_LOADS = 1;
layout(constant_id = 2) const uint INDEX_LOADS = 0;
layout(constant_id = 3) const uint STORES_0 = 1;
layout(constant_id = 4) const uint STORES_1 = 0;
layout(constant_id = 5) const uint STORES_2 = 0;
layout(constant_id = 6) const uint STORES_3 = 0;
// The k-th source that contributes is k / 2 * PAIR + k % 2 * NEXT + FIRST.
layout(constant_id = 7) const uint PAIR = 2;
layout(constant_id = 8) const uint NEXT = 1;
layout(constant_id = 9) const uint FIRST = 0;
// Whether the accesses of an invocation are contiguous, which is faster on CPUs, or the accesses of
// a workgroup at a time.
layout(constant_id = 10) const bool TOGETHER = false;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Source {
    uvec4 at[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Target {
    uvec4 at[];
};

layout(push_constant) uniform Work {
    Source source;
    Source indices;
    Target targets[4];
    uint source_count;
    uint index_count;
    uint target_counts[4];
};

// The i-th of `count` accesses of this invocation.
uint place(uint i, uint count) {
    uint workgroup = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint first = workgroup * gl_WorkGroupSize.x * count;
    uint local = gl_LocalInvocationIndex;
    return first + (TOGETHER ? local * count + i : i * gl_WorkGroupSize.x + local);
}

void main() {
    uvec4 value = uvec4(0);
    for (uint i = 0; i < SOURCE_LOADS; i++) {
        uint k = place(i, SOURCE_LOADS);
        if (k < source_count) {
            value += source.at[k / 2 * PAIR + k % 2 * NEXT + FIRST];
        }
    }
    for (uint i = 0; i < INDEX_LOADS; i++) {
        uint k = place(i, INDEX_LOADS);
        if (k < index_count) {
            value += indices.at[k];
        }
    }
    for (uint i = 0; i < STORES_0; i++) {
        uint k = place(i, STORES_0);
        if (k < target_counts[0]) {
            targets[0].at[k] = value + i;
        }
    }
    for (uint i = 0; i < STORES_1; i++) {
        uint k = place(i, STORES_1);
        if (k < target_counts[1]) {
            targets[1].at[k] = value + i;
        }
    }
    for (uint i = 0; i < STORES_2; i++) {
        uint k = place(i, STORES_2);
        if (k < target_counts[2]) {
            targets[2].at[k] = value + i;
        }
    }
    for (uint i = 0; i < STORES_3; i++) {
        uint k = place(i, STORES_3);
        if (k < target_counts[3]) {
            targets[3].at[k] = value + i;
        }
    }
}
