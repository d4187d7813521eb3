#version 450

// Each point moves to the right and becomes older. A point of every third age also leaves a spark behind, and a point of
// every second age splits into two, as long as it is young.
layout(points) in;
layout(points, max_vertices = 3) out;
layout(location = 0) in vec2 passed_position[];
layout(location = 1) flat in uint passed_age[];

// Vertex stream 0, captured to buffer 0: the points of the next frame.
layout(stream = 0, location = 0) out vec2 position;
layout(stream = 0, location = 1) flat out uint age;
// Vertex stream 1, captured to buffer 1: sparks.
layout(stream = 1, location = 2) out vec2 spark;

void main() {
    vec2 at = passed_position[0];
    uint old = passed_age[0];
    uint count = old % 2 == 1 && old < 8 ? 2 : 1;
    for (uint i = 0; i < count; i++) {
        position = at + vec2(1, i);
        age = old + 1 + i;
        EmitStreamVertex(0);
        EndStreamPrimitive(0);
    }
    if (old % 3 == 2) {
        spark = at;
        EmitStreamVertex(1);
        EndStreamPrimitive(1);
    }
}
