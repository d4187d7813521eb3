// The roofline kernel (roofline.glsl), which accesses memory by device addresses.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "roofline.glsl"
