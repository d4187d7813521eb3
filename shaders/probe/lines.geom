// Takes lines, and emits the vertices that emit.glsl describes.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(lines, invocations = 2) in;

#define VERTICES 2u
#include "emit.glsl"
