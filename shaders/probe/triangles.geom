// Takes triangles, and emits the vertices that emit.glsl describes.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(triangles, invocations = 2) in;

#define VERTICES 3u
#include "emit.glsl"
