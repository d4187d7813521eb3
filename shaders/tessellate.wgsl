// The tessellator: divides a patch into points, lines or triangles by its tessellation levels. It generates no lists of
// vertices or indices: the coordinates of each vertex of each primitive are computed from the number of the primitive,
// in constant time. src/tessellator.rs implements the same in Rust, and says why coordinates are integers.

// The number that stands for the coordinate 1: coordinates and positions on edges are fixed-point numbers with 24 bits
// after the point.
const TESSELLATED_ONE: u32 = 0x1000000u;
const MOST_LEVEL: u32 = 64u;

// The bits of infinity, as an integer: those of NaN and of all negative numbers are greater.
const INFINITY_BITS: u32 = 0x7f800000u;

// The values of the domain and of the spacing in tessellator_bits().
const TRIANGLES: u32 = 0u;
const QUADS: u32 = 1u;
const ISOLINES: u32 = 2u;
const EQUAL: u32 = 0u;
const FRACTIONAL_EVEN: u32 = 1u;
const FRACTIONAL_ODD: u32 = 2u;

// An edge of the patch (or, for an inner level, a line across it), and how its level divides it.
struct Edge {
    // The number of segments that the edge is divided into.
    segments: u32,
    // Fractional spacing interpolates between two divisions into equal segments: a coarser one of `coarse` segments and
    // a finer one of `segments`. These are the even (or odd) numbers below and above the level, so `coarse` is 2 less
    // than `segments`; both are equal if the level is such a number.
    coarse: u32,
    // Where the level lies between both: (level - coarse) / 2, which is less than 1, in units of 2^-16.
    fraction: u32,
}

// An edge in a dword: its fraction has 16 bits, and its numbers of segments are at most MOST_LEVEL.
fn packed_edge(edge: Edge) -> u32 {
    return edge.fraction | (edge.coarse << 16u) | (edge.segments << 24u);
}

fn unpacked_edge(packed: u32) -> Edge {
    return Edge(packed >> 24u, (packed >> 16u) & 255u, packed & 0xffffu);
}

// A patch that is divided. A triangle or quad consists of nested rings. Ring 0 consists of the outer edges, which the
// outer levels divide; the inner levels divide what is within.
struct Patch {
    // The edges, each packed into a dword (packed_edge): they take registers while the evaluation shader runs.
    outer: array<u32, 4>,
    inner: array<u32, 2>,
    // 1, the number of the first ring within the outer edges. 0 if all levels are 1, so that the patch is one triangle
    // or one quad, and has no inner ring.
    inset: u32,
    // The number of triangles between the outer edges and the first ring within.
    outer_triangles: u32,
    // The number of primitives of the patch.
    count: u32,
}

var<private> divided: Patch;

fn tessellated_domain() -> u32 { return tessellator_bits() & 3u; }
fn tessellated_spacing() -> u32 { return (tessellator_bits() >> 2u) & 3u; }
fn are_triangles_flipped() -> bool { return (tessellator_bits() & 16u) != 0u; }
fn are_points_tessellated() -> bool { return (tessellator_bits() & 32u) != 0u; }

// Sets `divided` for a patch with these tessellation levels, which are given by the bits of their floats. A patch with
// an outer level that is not a positive number is discarded: it has no primitives.
fn divide_patch(outer: vec4<u32>, inner: vec2<u32>) {
    let domain = tessellated_domain();
    let spacing = tessellated_spacing();
    divided.inset = 0u;
    divided.outer_triangles = 0u;
    divided.count = 0u;
    // The test finds NaN and negative numbers, whose bits are greater than those of infinity, and 0, which the
    // subtraction wraps around to the largest number.
    let beyond = outer - vec4<u32>(1u) >= vec4<u32>(INFINITY_BITS);
    if beyond.x | beyond.y | (beyond.z & (domain != ISOLINES)) | (beyond.w & (domain == QUADS)) {
        return;
    }
    let points = select(0u, 1u, are_points_tessellated());
    divided.outer[0] = packed_edge(edge_of_level(outer.x, select(spacing, EQUAL, domain == ISOLINES)));
    divided.outer[1] = packed_edge(edge_of_level(outer.y, spacing));
    if domain == ISOLINES {
        divided.count = outer_edge(0u).segments * (outer_edge(1u).segments + points);
        return;
    }
    divided.outer[2] = packed_edge(edge_of_level(outer.z, spacing));
    divided.inner[0] = packed_edge(edge_of_level(inner.x, spacing));
    var sum = outer_edge(0u).segments + outer_edge(1u).segments + outer_edge(2u).segments;
    if domain == TRIANGLES {
        if sum + inner_edge(0u).segments > 4u {
            divided.inset = 1u;
            divided.inner[0] = packed_edge(with_middle(inner_edge(0u), spacing));
            divided.outer_triangles = sum + 3u * (inner_edge(0u).segments - 2u);
        }
        let across = inner_edge(0u).segments - 2u * divided.inset;
        divided.count = divided.outer_triangles + triangles_within(across);
        if points == 1u {
            divided.count = sum + divided.inset * points_within(across);
        }
        return;
    }
    divided.outer[3] = packed_edge(edge_of_level(outer.w, spacing));
    divided.inner[1] = packed_edge(edge_of_level(inner.y, spacing));
    sum += outer_edge(3u).segments;
    if sum + inner_edge(0u).segments + inner_edge(1u).segments > 6u {
        divided.inset = 1u;
        divided.inner[0] = packed_edge(with_middle(inner_edge(0u), spacing));
        divided.inner[1] = packed_edge(with_middle(inner_edge(1u), spacing));
    }
    let columns = segments_within(inner_edge(0u));
    let rows = segments_within(inner_edge(1u));
    if divided.inset == 1u {
        divided.outer_triangles = sum + 2u * (columns + rows);
    }
    divided.count = divided.outer_triangles + 2u * columns * rows;
    if points == 1u {
        divided.count = sum + divided.inset * (columns + 1u) * (rows + 1u);
    }
}

// Returns the edge that a level divides, after clamping and rounding as the spacing requires. The level is given by the
// bits of its float.
fn edge_of_level(bits: u32, spacing: u32) -> Edge {
    let least = select(1u, 2u, spacing == FRACTIONAL_EVEN);
    let most = select(MOST_LEVEL, MOST_LEVEL - 1u, spacing == FRACTIONAL_ODD);
    let positive = select(bits, 0u, bits > INFINITY_BITS);
    let level = bitcast<f32>(min(max(positive, bitcast<u32>(f32(least))), bitcast<u32>(f32(most))));
    if spacing == EQUAL {
        let whole = u32(level);
        let segments = whole + select(0u, 1u, f32(whole) != level);
        return Edge(segments, segments, 0u);
    }
    // The conversion is exact, because the result has at most 23 bits.
    let fixed = u32(level * 65536.0 + 0.5);
    let above = (fixed + 0xffffu) >> 16u;
    let segments = above + ((above ^ select(0u, 1u, spacing == FRACTIONAL_ODD)) & 1u);
    let coarse = select(segments - 2u, segments, (segments << 16u) == fixed);
    return Edge(segments, coarse, (fixed - (coarse << 16u)) / 2u);
}

// Returns `edge` with at least one vertex between its ends: a level of 1 is replaced by the next greater level.
fn with_middle(edge: Edge, spacing: u32) -> Edge {
    if edge.segments != 1u {
        return edge;
    }
    if spacing == FRACTIONAL_ODD {
        return Edge(3u, edge.coarse, edge.fraction);
    }
    return Edge(2u, 2u, 0u);
}

// The position of vertex `number` on an edge. The second half of an edge mirrors the first one, so that two patches
// with a common edge divide it alike, whichever of its ends is first.
fn position_on_edge(edge: Edge, number: u32) -> u32 {
    let is_mirrored = 2u * number > edge.segments;
    let position = position_in_first_half(edge, select(number, edge.segments - number, is_mirrored));
    return select(position, TESSELLATED_ONE - position, is_mirrored);
}

// The position of a vertex in the first half of an edge. Fractional spacing interpolates between the vertex's positions
// in the coarser and in the finer division (see Edge). In each half the finer division has one vertex more, number
// `new_number`: it begins where the coarser division has the vertex after it. The numbers of the vertices behind it are
// one less in the coarser division.
fn position_in_first_half(edge: Edge, number: u32) -> u32 {
    if tessellated_spacing() == EQUAL {
        return ratio_of_one(number, edge.segments);
    }
    let half = (edge.coarse + 1u) / 2u - (edge.coarse & 1u);
    let new_number = select(2u * without_highest_bit(half) + 1u, 0u, half == 0u);
    let is_behind = (edge.coarse != edge.segments) & (number > new_number);
    let position = ratio_of_one(number - select(0u, 1u, is_behind), edge.coarse);
    let finer = ratio_of_one(number, edge.segments);
    if finer >= position {
        return position + scaled(finer - position, edge.fraction);
    }
    return position - scaled(position - finer, edge.fraction);
}

// `number / count` in units of 1 / TESSELLATED_ONE, rounded.
fn ratio_of_one(number: u32, count: u32) -> u32 {
    return (number * TESSELLATED_ONE + count / 2u) / count;
}

// `distance * fraction / 2^16`, rounded down. The distance is less than 2^23.
fn scaled(distance: u32, fraction: u32) -> u32 {
    return ((distance >> 8u) * fraction + (((distance & 255u) * fraction) >> 8u)) >> 8u;
}

// `number`, which must be less than 2^8, without its highest bit.
fn without_highest_bit(number: u32) -> u32 {
    var ones = number | (number >> 1u);
    ones |= ones >> 2u;
    ones |= ones >> 4u;
    return number & (ones >> 1u);
}

// The number of triangles within a ring (a nested triangle of the patch) of `across` segments on each side.
fn triangles_within(across: u32) -> u32 {
    return triangles_within_ring(across / 2u, across & 1u);
}

// The number of triangles within a ring (a nested triangle) of `2 * k + parity` segments on each side.
fn triangles_within_ring(k: u32, parity: u32) -> u32 {
    return 6u * k * (k + parity) + parity;
}

// The number of points on the ring (nested triangle) that has `across` segments on each side, and on all rings within
// it. Each ring within it has 2 segments less on each side than the ring around it.
fn points_within(across: u32) -> u32 {
    return points_within_ring(across / 2u + 1u, across & 1u);
}

// The number of points on the `k` innermost rings (nested triangles). Ring j of these, counted from 0, has
// `2 * j + parity` segments on each side. A ring with 0 segments is a single point.
fn points_within_ring(k: u32, parity: u32) -> u32 {
    return select(select(3u * k * (k - 1u) + 1u, 0u, k == 0u), 3u * k * k, parity == 1u);
}

// The number of columns or rows of quads within the strips of triangles along the outer edges. `inner` is the edge of
// the first or second inner level.
fn segments_within(inner: Edge) -> u32 {
    return inner.segments - 2u * divided.inset;
}

// The outer edge with the number `side`. Without an index that may vary, compilers keep the edges in registers.
fn outer_edge(side: u32) -> Edge {
    var edge = divided.outer[0];
    if side == 1u {
        edge = divided.outer[1];
    }
    if side == 2u {
        edge = divided.outer[2];
    }
    if tessellated_domain() == QUADS && side == 3u {
        edge = divided.outer[3];
    }
    return unpacked_edge(edge);
}

// The line across the patch that the inner level with the number `level` divides.
fn inner_edge(level: u32) -> Edge {
    return unpacked_edge(select(divided.inner[0], divided.inner[1], level == 1u));
}

// A side (an outer edge of a patch, or a side of a ring within it), and the number of a vertex on this side, or of a
// triangle in the strip of triangles along it.
struct OnSide {
    side: u32,
    number: u32,
}

// A triangle of the strip between two parallel sides: the number of its first vertex on the outer side and on the inner
// side, and whether two of its vertices are on the outer side. Otherwise two vertices are on the inner side.
struct Stitch {
    outer: u32,
    inner: u32,
    is_outer: bool,
}

// Triangle `step` of the strip between a side of `outer` segments and one of `inner` segments. Each triangle
// advances by one segment on one of the sides, and the segments of both sides alternate evenly.
fn stitch_of_step(step: u32, outer: u32, inner: u32) -> Stitch {
    let all = outer + inner;
    let before = (2u * step * outer + all) / (2u * all);
    let after = (2u * (step + 1u) * outer + all) / (2u * all);
    return Stitch(before, step - before, after != before);
}

fn tessellated_coordinates(primitive: u32, slot: u32) -> vec3<f32> {
    // The factor is 2^-24. A division is not exact on every device, but this multiplication is.
    return vec3<f32>(tessellated_vertex(primitive, slot)) * 5.9604644775390625e-8;
}

fn tessellated_vertex(primitive: u32, slot: u32) -> vec3<u32> {
    let turned = select(slot, 3u - slot, are_triangles_flipped() & (slot > 0u));
    let domain = tessellated_domain();
    if domain == ISOLINES {
        return vertex_of_line(primitive, slot);
    }
    if domain == TRIANGLES {
        if are_points_tessellated() {
            return point_of_triangle(primitive);
        }
        return vertex_of_triangle(primitive, turned);
    }
    if are_points_tessellated() {
        return point_of_quad(primitive);
    }
    return vertex_of_quad(primitive, turned);
}

fn vertex_of_line(primitive: u32, slot: u32) -> vec3<u32> {
    let each = outer_edge(1u).segments + select(0u, 1u, are_points_tessellated());
    let line = primitive / each;
    let number = primitive - line * each + slot;
    return vec3<u32>(
        position_on_edge(outer_edge(1u), number),
        position_on_edge(outer_edge(0u), line),
        0u,
    );
}

// Returns the outer edge that has vertex `number`, and the number of the vertex on this edge. `number` counts the
// vertices of all outer edges, one edge after the other. The last vertex of an edge counts as the first of the next
// edge.
fn side_of_vertex(number: u32) -> OnSide {
    var on = OnSide(0u, number);
    for (var side = 0u; side < 3u; side++) {
        let segments = outer_edge(side).segments;
        if on.side == side && on.number >= segments {
            on = OnSide(side + 1u, on.number - segments);
        }
    }
    return on;
}

// The outer edge along which triangle `primitive` of the outermost strip of triangles lies, and the number of the
// triangle at this edge. `inner` has the number of segments on the inner side of the strip: x at even edges, y at odd
// edges.
fn side_of_outer_triangle(primitive: u32, inner: vec2<u32>) -> OnSide {
    var on = OnSide(0u, primitive);
    let last = select(3u, 2u, tessellated_domain() == TRIANGLES);
    for (var side = 0u; side < last; side++) {
        let steps = outer_edge(side).segments + inner[side & 1u];
        if on.side == side && on.number >= steps {
            on = OnSide(side + 1u, on.number - steps);
        }
    }
    return on;
}

// -- Triangles. Coordinate k is 0 on side k, which goes from the corner where coordinate k + 1 (modulo 3) is 1 to the
// corner where coordinate k + 2 (modulo 3) is 1. Ring 0 consists of the outer edges. Each further ring is a triangle
// within the ring before it; the innermost ring may be a point.

// Where they can, the functions below compute the arguments for all cases first, and then call another function in one
// place: compilers inline every call, and where the driver runs on a processor each inlined division is long code.

fn vertex_of_triangle(primitive: u32, slot: u32) -> vec3<u32> {
    let across = inner_edge(0u).segments;
    let parity = across & 1u;
    let number = primitive - divided.outer_triangles;
    // The strip of triangles between two sides, the numbers of their segments, and the ring of the outer one.
    var on = OnSide();
    var outer = 0u;
    var inner = across - 2u;
    var ring = 0u;
    if primitive < divided.outer_triangles {
        on = side_of_outer_triangle(primitive, vec2<u32>(inner));
        outer = outer_edge(on.side).segments;
    } else {
        // Square roots are not exact on every device, so `k` may be wrong by 1.
        var k = u32(sqrt(f32(number) / 6.0));
        if k > 0u && triangles_within_ring(k, parity) > number {
            k -= 1u;
        }
        if triangles_within_ring(k + 1u, parity) <= number {
            k += 1u;
        }
        inner = 2u * k + parity;
        outer = inner + 2u;
        ring = (across - inner) / 2u - 1u;
        let within = number - triangles_within_ring(k, parity);
        let each = 2u * inner + 2u;
        let side = within / each;
        on = OnSide(side, within - side * each);
    }
    let stitch = stitch_of_step(on.number, outer, inner);
    let is_inner = (slot == 2u) | ((slot == 1u) & !stitch.is_outer);
    on.number = select(stitch.outer, stitch.inner, is_inner) + select(0u, 1u, slot == 1u);
    ring += select(0u, 1u, is_inner);
    if primitive >= divided.outer_triangles && number < parity {
        // The innermost ring of an odd number of segments is a single triangle.
        on = OnSide(slot, 0u);
        ring = across / 2u;
    }
    return vertex_on_ring(on, ring);
}

fn vertex_on_ring(on: OnSide, ring: u32) -> vec3<u32> {
    let inner = inner_edge(0u);
    let is_outer = ring < divided.inset;
    var edge = inner;
    var number = ring + on.number;
    if is_outer {
        edge = outer_edge(on.side);
        number = on.number;
    }
    var side = on.side;
    var along = position_on_edge(edge, number);
    var height = 0u;
    if !is_outer {
        // `3 * third` is the distance of the ring's corner from the corner of the patch.
        let third = position_on_edge(inner, ring) / 3u;
        let last = inner.segments - 2u * ring;
        along = select(along, TESSELLATED_ONE - 3u * third, on.number == last);
        along = select(along, 3u * third, on.number == 0u) - third;
        height = 2u * third;
        if last == 0u {
            // The three coordinates add up to 1, and a third is not a multiple of 2^-24.
            height = TESSELLATED_ONE / 3u;
            along = TESSELLATED_ONE - 2u * height;
            side = 0u;
        }
    }
    let before = TESSELLATED_ONE - along - height;
    let first = select(before, along, side == 1u);
    let second = select(along, height, side == 1u);
    let third = select(height, before, side == 1u);
    return select(vec3<u32>(first, second, third), vec3<u32>(height, before, along), side == 0u);
}

fn point_of_triangle(primitive: u32) -> vec3<u32> {
    let sum = outer_edge(0u).segments + outer_edge(1u).segments + outer_edge(2u).segments;
    var on = OnSide();
    var ring = 0u;
    if primitive < sum {
        on = side_of_vertex(primitive);
    } else {
        let number = primitive - sum;
        let across = inner_edge(0u).segments;
        let parity = across & 1u;
        var k = u32(sqrt(f32(number) / 3.0));
        if k > 0u && points_within_ring(k, parity) > number {
            k -= 1u;
        }
        if points_within_ring(k + 1u, parity) <= number {
            k += 1u;
        }
        let of_side = max(2u * k + parity, 1u);
        let within = number - points_within_ring(k, parity);
        let side = within / of_side;
        on = OnSide(side, within - side * of_side);
        ring = (across - (2u * k + parity)) / 2u;
    }
    return vertex_on_ring(on, ring);
}

// -- Quads. Sides 0 to 3 are where u is 0, v is 0, u is 1 and v is 1. Each side begins where the previous one
// ends: side 1 goes from (0, 0) to (1, 0).

fn vertex_of_quad(primitive: u32, slot: u32) -> vec3<u32> {
    let columns = segments_within(inner_edge(0u));
    let rows = segments_within(inner_edge(1u));
    var on = OnSide();
    var place = vec2<u32>();
    var is_on_grid = true;
    if primitive < divided.outer_triangles {
        on = side_of_outer_triangle(primitive, vec2<u32>(rows, columns));
        let inner = select(columns, rows, (on.side & 1u) == 0u);
        let stitch = stitch_of_step(on.number, outer_edge(on.side).segments, inner);
        is_on_grid = (slot == 2u) | ((slot == 1u) & !stitch.is_outer);
        on.number = select(stitch.outer, stitch.inner, is_on_grid) + select(0u, 1u, slot == 1u);
        place = place_on_inner_edge(on, columns, rows);
    } else {
        let number = primitive - divided.outer_triangles;
        let cell = number / 2u;
        let is_second = (number & 1u) == 1u;
        let row = cell / columns;
        let x = select(0u, 1u, (slot == 1u) | ((slot == 2u) & !is_second));
        let y = select(0u, 1u, (slot == 2u) | ((slot == 1u) & is_second));
        place = vec2<u32>(cell - row * columns + x, row + y);
    }
    if is_on_grid {
        return vertex_on_grid(place);
    }
    return vertex_on_outer_edge(on);
}

fn vertex_on_outer_edge(on: OnSide) -> vec3<u32> {
    let along = position_on_edge(outer_edge(on.side), on.number);
    // Sides 0 and 1 touch the corner (0, 0), sides 2 and 3 do not.
    let is_far = on.side >= 2u;
    let other = select(0u, TESSELLATED_ONE, is_far);
    if (on.side & 1u) == 0u {
        return vec3<u32>(other, select(TESSELLATED_ONE - along, along, is_far), 0u);
    }
    return vec3<u32>(select(along, TESSELLATED_ONE - along, is_far), other, 0u);
}

// The column and row of a vertex on an edge of the rectangle within the outer edges.
fn place_on_inner_edge(on: OnSide, columns: u32, rows: u32) -> vec2<u32> {
    let is_far = on.side >= 2u;
    if (on.side & 1u) == 0u {
        return vec2<u32>(select(0u, columns, is_far), select(rows - on.number, on.number, is_far));
    }
    return vec2<u32>(select(on.number, columns - on.number, is_far), select(0u, rows, is_far));
}

// The vertex in a column and row of the grid within the outer edges, or of the whole patch if the patch is not divided.
fn vertex_on_grid(place: vec2<u32>) -> vec3<u32> {
    return vec3<u32>(
        position_on_edge(inner_edge(0u), place.x + divided.inset),
        position_on_edge(inner_edge(1u), place.y + divided.inset),
        0u,
    );
}

fn point_of_quad(primitive: u32) -> vec3<u32> {
    let sum = outer_edge(0u).segments + outer_edge(1u).segments + outer_edge(2u).segments
        + outer_edge(3u).segments;
    if primitive < sum {
        return vertex_on_outer_edge(side_of_vertex(primitive));
    }
    let number = primitive - sum;
    let columns = inner_edge(0u).segments - 1u;
    let row = number / columns;
    return vertex_on_grid(vec2<u32>(number - row * columns, row));
}
