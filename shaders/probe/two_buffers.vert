// Captures to two buffers whose strides leave gaps; one of them captures a built-in.
//
// Buffer 0, stride 32:
//
//   offset 0   vec4   gl_Position = (VertexIndex & 0xffff, VertexIndex >> 16,
//                                    InstanceIndex & 0xffff, InstanceIndex >> 16)
//   offset 16  gap
//   offset 20  float  tag(InstanceIndex, VertexIndex) & 0xffffff
//   offset 24  gap of 8
//
// Buffer 1, stride 20:
//
//   offset 0   gap
//   offset 4   uvec3  (VertexIndex, InstanceIndex, tag(InstanceIndex, VertexIndex))
//   offset 16  gap
//
// The floats are integers of at most 24 bits, which every device converts exactly.
// probe/src/shaders.rs implements the same formulas in Rust.
#version 450

layout(xfb_buffer = 1, xfb_stride = 20) out;
layout(xfb_buffer = 0, xfb_stride = 32) out; // last, so that it is the default buffer of the declarations below

out gl_PerVertex {
    layout(xfb_buffer = 0, xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
};

layout(location = 0, xfb_buffer = 0, xfb_offset = 20) flat out float checksum;
layout(location = 1, xfb_buffer = 1, xfb_offset = 4) flat out uvec3 id;

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
    uint hash = tag(instance, vertex);
    gl_Position = vec4(uvec4(vertex & 0xffffu, vertex >> 16, instance & 0xffffu, instance >> 16));
    gl_PointSize = 1.0;
    checksum = float(hash & 0xffffffu);
    id = uvec3(vertex, instance, hash);
}
