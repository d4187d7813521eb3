// Takes triangles with adjacency, and emits what emit.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(triangles_adjacency, invocations = 2) in;

#define VERTICES 6u
#include "emit.glsl"
