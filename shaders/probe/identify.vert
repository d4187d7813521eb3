// Each record contains the numbers of its vertex and its instance, and a hash of both.
//
// One buffer, stride 16, no gaps, integers only:
//
//   offset 0   uint  VertexIndex
//   offset 4   uint  InstanceIndex
//   offset 8   uint  tag(InstanceIndex, VertexIndex)
//   offset 12  uint  0x00424658, the bytes "XFB\0", which show in a hex dump where records begin
//
// probe/src/shaders.rs implements the same formulas in Rust.
#version 450

layout(xfb_buffer = 0, xfb_stride = 16) out;

layout(location = 0, xfb_buffer = 0, xfb_offset = 0) flat out uvec4 id;

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
    id = uvec4(vertex, instance, tag(instance, vertex), 0x00424658u);
    // These outputs are not captured, although glslang decorates their block with XfbBuffer and XfbStride.
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
