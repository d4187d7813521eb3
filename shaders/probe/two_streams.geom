// Takes points, and emits to two vertex streams what streams.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require

#define STREAMS 2
#include "streams.glsl"
