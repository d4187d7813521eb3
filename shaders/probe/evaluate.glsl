// The common part of the probe's tessellation evaluation shaders, which follow patch.tesc in the pipeline.
//
// Captures to two buffers with the strides and offsets of emit.glsl. Buffer 0, stride 24:
//
//   offset 0   gap
//   offset 4   uvec4  (VertexIndex of the first control point, PrimitiveId, place, VertexIndex of the second)
//   offset 20  gap
//
// Buffer 1, stride 12:
//
//   offset 0   uvec2  (InstanceIndex, mix32(mix32(place) ^ tag ^ PrimitiveId << 8 ^ PatchVertices << 4 ^ VertexIndex of
//                     the second))
//   offset 8   gap
//
// place is TessCoord in units of 1/1536, eleven bits for each coordinate. Tessellators differ in the last bits of
// TessCoord. The levels are whole numbers up to 4, so all points are far enough from where the rounding changes.
//
// probe/src/shaders/geometry/patches.rs implements the same formulas in Rust.

layout(xfb_buffer = 1, xfb_stride = 12) out;
layout(xfb_buffer = 0, xfb_stride = 24) out;

layout(location = 0) flat in uvec4 passed[];
layout(location = 0, xfb_buffer = 0, xfb_offset = 4) flat out uvec4 emitted;
layout(location = 1, xfb_buffer = 1, xfb_offset = 0) flat out uvec2 checked;

uint mix32(uint x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

void main() {
    uint primitive = uint(gl_PrimitiveID);
    uint points = uint(gl_PatchVerticesIn);
    uvec3 units = uvec3(gl_TessCoord * 1536.0 + 0.5);
    uint place = units.x | units.y << 11 | units.z << 22;
    uvec4 taken = passed[0];
    uint other = passed[1].x;
    emitted = uvec4(taken.x, primitive, place, other);
    checked = uvec2(taken.y, mix32(mix32(place) ^ taken.z ^ primitive << 8 ^ points << 4 ^ other));
}
