// The common part of the probe's geometry shaders, which follow identify.vert in the pipeline.
//
// Captures to two buffers whose strides leave gaps. Buffer 0, stride 24:
//
//   offset 0   gap
//   offset 4   uvec4  (VertexIndex, PrimitiveId, InvocationId, n)
//   offset 20  gap
//
// Buffer 1, stride 12:
//
//   offset 0   uvec2  (InstanceIndex, mix32(tag ^ PrimitiveId << 8 ^ InvocationId << 4 ^ n))
//   offset 8   gap
//
// n is the number of vertices that the invocation has emitted before this one. The n-th emitted vertex has
// VertexIndex, InstanceIndex and tag of vertex (n + InvocationId) % VERTICES of the input primitive.
//
// Without CUT each invocation emits one strip, which has two vertices more than the input primitive. With CUT
// it emits two strips, whose lengths depend on PrimitiveId and InvocationId: some strips are too short for a
// primitive, and some are empty.
//
// The probe changes the output primitives that the module declares, and sets the constant CUT.
// probe/src/shaders/geometry.rs implements the same formulas in Rust.

layout(triangle_strip, max_vertices = 8) out;

layout(constant_id = 0) const bool CUT = false;

layout(xfb_buffer = 1, xfb_stride = 12) out;
layout(xfb_buffer = 0, xfb_stride = 24) out;

layout(location = 0) flat in uvec4 id[];
layout(location = 0, xfb_buffer = 0, xfb_offset = 4) flat out uvec4 emitted;
layout(location = 1, xfb_buffer = 1, xfb_offset = 0) flat out uvec2 checked;

uint mix32(uint x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

void emit(uint n) {
    uint primitive = uint(gl_PrimitiveIDIn);
    uint invocation = uint(gl_InvocationID);
    uvec4 taken = id[(n + invocation) % VERTICES];
    emitted = uvec4(taken.x, primitive, invocation, n);
    checked = uvec2(taken.y, mix32(taken.z ^ primitive << 8 ^ invocation << 4 ^ n));
    EmitVertex();
}

void main() {
    if (CUT) {
        uint primitive = uint(gl_PrimitiveIDIn);
        uint invocation = uint(gl_InvocationID);
        uint first = 1u + (primitive + 2u * invocation) % 4u;
        uint second = (primitive + invocation) % 4u;
        for (uint n = 0u; n < first; n++) emit(n);
        EndPrimitive();
        for (uint n = first; n < first + second; n++) emit(n);
    } else {
        for (uint n = 0u; n < VERTICES + 2u; n++) emit(n);
    }
}
