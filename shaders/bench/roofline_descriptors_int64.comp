// The roofline kernel (roofline.glsl), which accesses memory by descriptors, as 64-bit integers.
#version 450
#extension GL_GOOGLE_include_directive : require

#define BY_DESCRIPTORS
#define INT64
#include "roofline.glsl"
