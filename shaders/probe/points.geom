// Takes points, and emits the vertices that emit.glsl describes.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(points, invocations = 2) in;

#define VERTICES 1u
#include "emit.glsl"
