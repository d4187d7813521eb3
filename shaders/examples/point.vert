#version 450

// Passes on a point, and how many frames old it is.
layout(location = 0) in vec2 position;
layout(location = 1) in uint age;
layout(location = 0) out vec2 passed_position;
layout(location = 1) flat out uint passed_age;

void main() {
    passed_position = position;
    passed_age = age;
}
