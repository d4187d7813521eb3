// Takes lines with adjacency, and emits the vertices that emit.glsl describes.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(lines_adjacency, invocations = 2) in;

#define VERTICES 4u
#include "emit.glsl"
