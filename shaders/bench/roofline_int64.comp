// The roofline kernel (roofline.glsl), which accesses memory by device addresses, as 64-bit integers.
#version 450
#extension GL_GOOGLE_include_directive : require

#define INT64
#include "roofline.glsl"
