// Takes points, and emits the vertices that streams.glsl describes to four vertex streams.
#version 450
#extension GL_GOOGLE_include_directive : require

#define STREAMS 4
#include "streams.glsl"
