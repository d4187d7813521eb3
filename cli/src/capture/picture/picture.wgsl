// Draws what was captured. Before it stands how long a pixel is in each direction, where the picture has a length of 2,
// and how many of them a point or a line reaches to each side:
// const PIXEL: vec2f; const REACH: f32;

struct Drawn {
    @builtin(position) place: vec4f,
    @location(0) shape: vec4f,
    @location(1) colour: vec4f,
    /// From -1 to 1 across a point.
    @location(2) across: vec2f,
}

const COUNTER_CLOCKWISE = vec3f(0.35, 0.53, 0.93);
const CLOCKWISE = vec3f(0.15, 0.62, 0.53);
// Of those who look: from the left, above and behind them.
const LIGHT = vec3f(-0.37, -0.56, -0.74);

@vertex fn triangle(
    @location(0) place: vec4f, @location(1) shape: vec4f, @location(2) colour: vec4f,
) -> Drawn {
    return Drawn(place, shape, colour, vec2f(0.0));
}

// Two triangles, whose corners are numbered 0 to 5.
fn corner(number: u32) -> vec2f {
    let which = select(number, 6u - number, number > 2u);
    return vec2f(f32(which & 1u), f32(which >> 1u)) * 2.0 - 1.0;
}

@vertex fn point(
    @location(0) place: vec4f, @location(1) shape: vec4f, @location(2) colour: vec4f,
    @builtin(vertex_index) number: u32,
) -> Drawn {
    let across = corner(number);
    let reach = vec4f(across * REACH * PIXEL * place.w, 0.0, 0.0);
    return Drawn(place + reach, shape, colour, across);
}

@vertex fn line(
    @location(0) place_a: vec4f, @location(1) shape_a: vec4f, @location(2) colour_a: vec4f,
    @location(3) place_b: vec4f, @location(4) shape_b: vec4f, @location(5) colour_b: vec4f,
    @builtin(vertex_index) number: u32,
) -> Drawn {
    // Ends behind the viewer come forward along the line, to where it still has a direction on the screen.
    let near = 1e-4 * max(abs(place_a.w), abs(place_b.w));
    let length_w = place_b.w - place_a.w;
    let along = (near - place_a.w) / select(length_w, 1.0, length_w == 0.0);
    let first = select(0.0, along, place_a.w < near && length_w != 0.0);
    let last = select(1.0, along, place_b.w < near && length_w != 0.0);
    let a = mix(place_a, place_b, first);
    let b = mix(place_a, place_b, last);
    let way = (b.xy / b.w - a.xy / a.w) / PIXEL;
    let direction = select(vec2f(1.0, 0.0), way / length(way), length(way) > 0.0);
    let which = corner(number);
    let at = select(first, last, which.x > 0.0);
    let place = mix(place_a, place_b, at);
    // A little longer than it is, so that lines that meet have no notch.
    let reach = (vec2f(-direction.y, direction.x) * which.y + direction * which.x * 0.5) * REACH;
    return Drawn(
        place + vec4f(reach * PIXEL * place.w, 0.0, 0.0),
        mix(shape_a, shape_b, at),
        mix(colour_a, colour_b, at),
        vec2f(0.0),
    );
}

fn faded(colour: vec3f, distance: f32) -> vec4f {
    return vec4f(mix(colour, GROUND, 0.35 * distance), 1.0);
}

@fragment fn lit(drawn: Drawn, @builtin(front_facing) counter_clockwise: bool) -> @location(0) vec4f {
    // To the right, then downwards: what that turns about points away from who looks, whichever side they see.
    let normal = -cross(dpdx(drawn.shape.xyz), dpdy(drawn.shape.xyz));
    let size = length(normal);
    let light = select(0.5, max(dot(normal / size, LIGHT), 0.0), size > 0.0);
    let side = select(CLOCKWISE, COUNTER_CLOCKWISE, counter_clockwise);
    let colour = mix(side, drawn.colour.rgb, drawn.colour.a);
    return faded(colour * (0.45 + 0.6 * light), drawn.shape.w);
}

@fragment fn plain(drawn: Drawn) -> @location(0) vec4f {
    return faded(mix(COUNTER_CLOCKWISE, drawn.colour.rgb, drawn.colour.a), drawn.shape.w);
}

@fragment fn disc(drawn: Drawn) -> @location(0) vec4f {
    let squared = dot(drawn.across, drawn.across);
    if squared > 1.0 {
        discard;
    }
    let colour = mix(COUNTER_CLOCKWISE, drawn.colour.rgb, drawn.colour.a);
    return faded(colour * (1.0 - 0.35 * squared), drawn.shape.w);
}
