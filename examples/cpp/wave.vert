#version 450
// A flag that waves: what is drawn, and captured.
layout(location = 0) in vec2 place;

void main() {
    float height = place.y * 0.6 + 0.25 * sin(place.x * 3.0);
    gl_Position = vec4(place.x * 0.9, height, 0.0, 1.0);
}
