// Divides patches (in the domain of quads) into triangles, and captures what evaluate.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(quads, equal_spacing, ccw) in;

#include "evaluate.glsl"
