#version 450

// A hill over the square.
layout(quads, equal_spacing, ccw) in;
layout(location = 0) in vec2 corners[];
layout(location = 0) out vec3 position;

void main() {
    vec2 below = mix(corners[0], corners[1], gl_TessCoord.x);
    vec2 above = mix(corners[3], corners[2], gl_TessCoord.x);
    vec2 at = mix(below, above, gl_TessCoord.y);
    vec2 slope = at * (1.0 - at);
    position = vec3(at, 8.0 * slope.x * slope.y);
}
