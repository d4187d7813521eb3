// The roofline kernel (roofline.glsl), which accesses memory by descriptors.
#version 450
#extension GL_GOOGLE_include_directive : require

#define BY_DESCRIPTORS
#include "roofline.glsl"
