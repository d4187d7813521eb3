// The probe's tessellation control shader. It follows identify.vert in the pipeline; the evaluation shaders,
// which include evaluate.glsl, follow it.
//
// It takes patches of any size, and returns two control points: the last one of the input patch, then the first
// one. The levels are whole numbers, which depend on PrimitiveId. With LINES, they divide a patch into n
// isolines of m segments; without LINES into n * n quads. Every fifth patch is culled.
//
// probe/src/shaders/geometry/patches.rs implements the same formulas in Rust.
#version 450

layout(vertices = 2) out;

layout(constant_id = 0) const bool LINES = false;

layout(location = 0) flat in uvec4 id[];
layout(location = 0) out uvec4 passed[];

void main() {
    uint primitive = uint(gl_PrimitiveID);
    passed[gl_InvocationID] = id[gl_InvocationID == 0 ? gl_PatchVerticesIn - 1 : 0];
    float n = primitive % 5u == 3u ? 0.0 : float(1u + primitive % 4u);
    float m = float(1u + primitive % 3u);
    gl_TessLevelOuter[0] = n;
    gl_TessLevelOuter[1] = LINES ? m : n;
    gl_TessLevelOuter[2] = n;
    gl_TessLevelOuter[3] = n;
    gl_TessLevelInner[0] = n;
    gl_TessLevelInner[1] = n;
}
