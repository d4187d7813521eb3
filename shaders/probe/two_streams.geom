// Takes points, and emits the vertices that streams.glsl describes to two vertex streams.
#version 450
#extension GL_GOOGLE_include_directive : require

#define STREAMS 2
#include "streams.glsl"
