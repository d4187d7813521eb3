// Divides patches into the points of isolines, and captures what evaluate.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(isolines, equal_spacing, point_mode) in;

#include "evaluate.glsl"
