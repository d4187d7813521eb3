// Divides patches into lines, and captures what evaluate.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(isolines, equal_spacing) in;

#include "evaluate.glsl"
