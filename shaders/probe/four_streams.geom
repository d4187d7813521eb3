// Takes points, and emits to four vertex streams what streams.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require

#define STREAMS 4
#include "streams.glsl"
