// Each record contains five attributes from three bindings with both input rates, combined by exact operations
// only: moves, integer arithmetic, bitcasts, and additions of floats that are small integers.
//
// One buffer, stride 60:
//
//   offset 0   vec4   gl_Position = position + weight
//   offset 16  uvec2  key
//   offset 24  float  weight + (InstanceIndex & 255)
//   offset 28  ivec3  (offset.x, offset.y - serial, offset.z * 3 + serial)
//   offset 40  uint   (bits of position.x ^ key.y) + tag(InstanceIndex, VertexIndex)
//   offset 44  gap
//   offset 48  vec2   position.zw
//   offset 56  int    serial
//
// The contents of the vertex buffers, and the same formulas in Rust, are in probe/src/shaders.rs.
#version 450

layout(location = 0) in vec4 position;
layout(location = 1) in uvec2 key;
layout(location = 2) in ivec3 offset; // per instance
layout(location = 3) in float weight;
layout(location = 4) in int serial;

layout(xfb_buffer = 0, xfb_stride = 60) out;

out gl_PerVertex {
    layout(xfb_buffer = 0, xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
};

layout(location = 0, xfb_buffer = 0, xfb_offset = 16) flat out uvec2 out_key;
layout(location = 1, xfb_buffer = 0, xfb_offset = 24) flat out float out_weight;
layout(location = 2, xfb_buffer = 0, xfb_offset = 28) flat out ivec3 out_offset;
layout(location = 3, xfb_buffer = 0, xfb_offset = 40) flat out uint out_bits;
layout(location = 4, xfb_buffer = 0, xfb_offset = 48) flat out vec2 out_position_zw;
layout(location = 5, xfb_buffer = 0, xfb_offset = 56) flat out int out_serial;

uint mix32(uint x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

uint tag(uint instance, uint vertex) {
    return mix32(vertex ^ mix32(instance + 0x9e3779b9u));
}

void main() {
    uint vertex = uint(gl_VertexIndex);
    uint instance = uint(gl_InstanceIndex);
    gl_Position = position + vec4(weight);
    gl_PointSize = 1.0;
    out_key = key;
    out_weight = weight + float(instance & 255u);
    out_offset = ivec3(offset.x, offset.y - serial, offset.z * 3 + serial);
    out_bits = (floatBitsToUint(position.x) ^ key.y) + tag(instance, vertex);
    out_position_zw = position.zw;
    out_serial = serial;
}
