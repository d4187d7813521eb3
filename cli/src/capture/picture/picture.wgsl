// Draws the captured primitives. The program puts three constants before this text. `PIXEL` is an
// `f32`: the size of a pixel in normalized device coordinates, in which the picture is 2 wide and
// high. `REACH` is an `f32`: how many pixels a point or a line extends to each side. `GROUND` is a
// `vec3f`: the background colour.

struct Drawn {
    @builtin(position) place: vec4f,
    @location(0) shape: vec4f,
    @location(1) colour: vec4f,
    /// The position within the square of a point: from -1 to 1 in both directions.
    @location(2) across: vec2f,
    /// The normal in the space of `shape`, with 1 as the fourth component. Four zeros if the triangle's own normal is
    /// used.
    @location(3) normal: vec4f,
}

const COUNTER_CLOCKWISE = vec3f(0.35, 0.53, 0.93);
const CLOCKWISE = vec3f(0.15, 0.62, 0.53);
// The direction towards the light. The axes point to the right, downwards, and away from the viewer. So the light comes
// from the left, from above and from behind the viewer.
const LIGHT = vec3f(-0.37, -0.56, -0.74);

@vertex fn triangle(
    @location(0) place: vec4f, @location(1) shape: vec4f, @location(2) colour: vec4f,
    @location(3) normal: vec4f,
) -> Drawn {
    return Drawn(place, shape, colour, vec2f(0.0), normal);
}

// Returns the place of a corner of a square, from -1 to 1. The square consists of two triangles,
// whose corners are numbered 0 to 5.
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
    return Drawn(place + reach, shape, colour, across, vec4f(0.0));
}

@vertex fn line(
    @location(0) place_a: vec4f, @location(1) shape_a: vec4f, @location(2) colour_a: vec4f,
    @location(4) place_b: vec4f, @location(5) shape_b: vec4f, @location(6) colour_b: vec4f,
    @builtin(vertex_index) number: u32,
) -> Drawn {
    // If an end is behind the viewer, it is moved along the line to a point in front of the viewer,
    // where its direction on the screen is defined.
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
    // The line is drawn a little longer than it is, so that there is no notch where lines meet.
    let reach = (vec2f(-direction.y, direction.x) * which.y + direction * which.x * 0.5) * REACH;
    return Drawn(
        place + vec4f(reach * PIXEL * place.w, 0.0, 0.0),
        mix(shape_a, shape_b, at),
        mix(colour_a, colour_b, at),
        vec2f(0.0),
        vec4f(0.0),
    );
}

fn faded(colour: vec3f, distance: f32) -> vec4f {
    return vec4f(mix(colour, GROUND, 0.35 * distance), 1.0);
}

@fragment fn lit(drawn: Drawn, @builtin(front_facing) counter_clockwise: bool) -> @location(0) vec4f {
    // The derivatives are along the screen's x and y axes, so the negated cross product points
    // towards the viewer, whichever side of the triangle is seen.
    let own = -cross(dpdx(drawn.shape.xyz), dpdy(drawn.shape.xyz));
    // A captured normal is reversed if it points away from the viewer.
    let turned = drawn.normal.xyz * sign(dot(drawn.normal.xyz, own));
    let normal = select(own, turned, drawn.normal.w > 0.99);
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
