// The common part of the probe's geometry shaders with several vertex streams, which follow identify.vert in
// the pipeline and take points.
//
// Each of the STREAMS streams has a buffer of its own. Buffer s, stride 16 + 4 * s:
//
//   offset 0      gap, of s dwords
//   offset 4 * s  uvec4  (VertexIndex, PrimitiveId, InstanceIndex, mix32(tag ^ PrimitiveId << 8 ^ s << 4 ^ n))
//
// n counts the vertices that were emitted to the stream before, for the same point. Stream s gets 2 +
// (PrimitiveId + s) % 5 vertices, in strips of three; the last strip may be shorter, and too short for a
// primitive. The shader emits to the streams in turns.
//
// The module emits points; the probe changes the output primitives that it declares.
// probe/src/shaders/geometry/streams.rs implements the same formulas in Rust.

layout(points) in;
layout(points, max_vertices = 6 * STREAMS) out;

layout(location = 0) flat in uvec4 id[];
layout(stream = 0, location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) flat out uvec4 stream0;
layout(stream = 1, location = 1, xfb_buffer = 1, xfb_stride = 20, xfb_offset = 4) flat out uvec4 stream1;
#if STREAMS == 4
layout(stream = 2, location = 2, xfb_buffer = 2, xfb_stride = 24, xfb_offset = 8) flat out uvec4 stream2;
layout(stream = 3, location = 3, xfb_buffer = 3, xfb_stride = 28, xfb_offset = 12) flat out uvec4 stream3;
#endif

uint mix32(uint x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

uvec4 record(uint s, uint n) {
    uint primitive = uint(gl_PrimitiveIDIn);
    uvec4 taken = id[0];
    return uvec4(taken.x, primitive, taken.y, mix32(taken.z ^ primitive << 8 ^ s << 4 ^ n));
}

bool has(uint s, uint n) {
    return n < 2u + (uint(gl_PrimitiveIDIn) + s) % 5u;
}

// A macro, because GLSL requires constants for the numbers of streams.
#define EMIT(S, OUTPUT)                         \
    if (has(uint(S), n)) {                      \
        if (n == 3u) EndStreamPrimitive(S);     \
        OUTPUT = record(uint(S), n);            \
        EmitStreamVertex(S);                    \
    }

void main() {
    for (uint n = 0u; n < 6u; n++) {
        EMIT(0, stream0)
        EMIT(1, stream1)
#if STREAMS == 4
        EMIT(2, stream2)
        EMIT(3, stream3)
#endif
    }
}
