// A tube around a knot, made of vertex numbers alone: 600 rings of 60 squares.
// vkxfb capture examples/knot.wgsl --vertices 216000 --picture knot.png

struct Knot {
    @builtin(position) position: vec4f,
    @location(0) worldPosition: vec3f,
    @location(1) colour: vec3f,
}

const RINGS = 600u;
const SQUARES = 60u;
const TURN = 6.2831853;

fn middle(along: f32) -> vec3f {
    let out = 2.0 + cos(3.0 * along);
    return vec3f(out * cos(2.0 * along), out * sin(2.0 * along), -sin(3.0 * along));
}

@vertex fn main(@builtin(vertex_index) vertex: u32) -> Knot {
    // Two triangles: corners 0 1 2 and 3 2 1.
    let number = vertex % 6u;
    let corner = select(number, 6u - number, number > 2u);
    let square = vertex / 6u;
    let along = TURN * f32(square / SQUARES + (corner & 1u)) / f32(RINGS);
    let around = TURN * f32(square % SQUARES + (corner >> 1u)) / f32(SQUARES);
    let centre = middle(along);
    let ahead = normalize(middle(along + 0.001) - centre);
    let side = normalize(cross(ahead, centre + middle(along + 0.001)));
    let place = centre + 0.45 * (cos(around) * side + sin(around) * cross(ahead, side));
    let colour = 0.55 + 0.4 * cos(2.0 * along + vec3f(0.0, 2.1, 4.2));
    return Knot(vec4f(place / 4.0, 1.0), place, colour);
}
