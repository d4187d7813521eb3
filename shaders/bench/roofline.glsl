// The reference for the speed of captures: reads and writes as many bytes as a capture must, and
// does nothing else. All stored values depend on the loaded values.
//
// Every 16 bytes are loaded once and by one instruction, and neighbouring invocations access
// neighbouring 16 bytes. Counts are in units of 16 bytes (a uvec4).
//
// A shader that includes this file may define BY_DESCRIPTORS, to access memory by storage-buffer descriptors
// instead of device addresses, and INT64, to access each unit as two 64-bit integers instead of four dwords.
#ifdef INT64
#extension GL_ARB_gpu_shader_int64 : require
#define UNIT u64vec2
#else
#define UNIT uvec4
#endif

#ifdef BY_DESCRIPTORS

layout(set = 0, binding = 0, std430) readonly buffer Source {
    UNIT source[];
};
layout(set = 0, binding = 1, std430) readonly buffer Indices {
    UNIT indices[];
};
layout(set = 0, binding = 2, std430) writeonly buffer Target0 {
    UNIT target_0[];
};
layout(set = 0, binding = 3, std430) writeonly buffer Target1 {
    UNIT target_1[];
};
layout(set = 0, binding = 4, std430) writeonly buffer Target2 {
    UNIT target_2[];
};
layout(set = 0, binding = 5, std430) writeonly buffer Target3 {
    UNIT target_3[];
};

// The members have the same offsets as in the shaders with device addresses, whose push constants begin with 48 bytes
// of addresses.
layout(push_constant) uniform Work {
    layout(offset = 48) uint source_count;
    uint index_count;
    uint target_counts[4];
};

#define SOURCE(k) source[k]
#define INDEX(k) indices[k]
#define TARGET_0(k) target_0[k]
#define TARGET_1(k) target_1[k]
#define TARGET_2(k) target_2[k]
#define TARGET_3(k) target_3[k]

#else
#extension GL_EXT_buffer_reference : require

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Source {
    UNIT at[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Target {
    UNIT at[];
};

layout(push_constant) uniform Work {
    Source source;
    Source indices;
    Target targets[4];
    uint source_count;
    uint index_count;
    uint target_counts[4];
};

#define SOURCE(k) source.at[k]
#define INDEX(k) indices.at[k]
#define TARGET_0(k) targets[0].at[k]
#define TARGET_1(k) targets[1].at[k]
#define TARGET_2(k) targets[2].at[k]
#define TARGET_3(k) targets[3].at[k]

#endif

#ifdef INT64
uvec4 from_unit(u64vec2 unit) {
    return uvec4(unpackUint2x32(unit.x), unpackUint2x32(unit.y));
}
u64vec2 to_unit(uvec4 value) {
    return u64vec2(packUint2x32(value.xy), packUint2x32(value.zw));
}
#else
uvec4 from_unit(uvec4 unit) {
    return unit;
}
uvec4 to_unit(uvec4 value) {
    return value;
}
#endif

layout(local_size_x_id = 0) in;

// The number of units (16 bytes) that each invocation loads from the source and from the indices, and stores to each
// buffer.
layout(constant_id = 1) const uint SOURCE_LOADS = 1;
layout(constant_id = 2) const uint INDEX_LOADS = 0;
layout(constant_id = 3) const uint STORES_0 = 1;
layout(constant_id = 4) const uint STORES_1 = 0;
layout(constant_id = 5) const uint STORES_2 = 0;
layout(constant_id = 6) const uint STORES_3 = 0;
// Adjacency topologies have vertices that no capture reads. The number of the k-th vertex that the capture
// reads is k / 2 * PAIR + k % 2 * NEXT + FIRST.
layout(constant_id = 7) const uint PAIR = 2;
layout(constant_id = 8) const uint NEXT = 1;
layout(constant_id = 9) const uint FIRST = 0;
// True if the accesses of one invocation are contiguous, which is faster on CPUs. False if the accesses that
// the invocations of a workgroup make at the same time are contiguous.
layout(constant_id = 10) const bool TOGETHER = false;

// The index of the unit for access `i` of the `count` accesses that this invocation makes.
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
            value += from_unit(SOURCE(k / 2 * PAIR + k % 2 * NEXT + FIRST));
        }
    }
    for (uint i = 0; i < INDEX_LOADS; i++) {
        uint k = place(i, INDEX_LOADS);
        if (k < index_count) {
            value += from_unit(INDEX(k));
        }
    }
    for (uint i = 0; i < STORES_0; i++) {
        uint k = place(i, STORES_0);
        if (k < target_counts[0]) {
            TARGET_0(k) = to_unit(value + i);
        }
    }
    for (uint i = 0; i < STORES_1; i++) {
        uint k = place(i, STORES_1);
        if (k < target_counts[1]) {
            TARGET_1(k) = to_unit(value + i);
        }
    }
    for (uint i = 0; i < STORES_2; i++) {
        uint k = place(i, STORES_2);
        if (k < target_counts[2]) {
            TARGET_2(k) = to_unit(value + i);
        }
    }
    for (uint i = 0; i < STORES_3; i++) {
        uint k = place(i, STORES_3);
        if (k < target_counts[3]) {
            TARGET_3(k) = to_unit(value + i);
        }
    }
}
