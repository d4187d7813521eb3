//! The tessellator: divides a patch into points, lines or triangles by its tessellation levels
//! ([tessellation](https://docs.vulkan.org/spec/latest/chapters/tessellation.html)). The GPU counterpart is
//! `shaders/tessellate.wgsl`.
//!
//! It has random access: [`Patch`] computes each vertex of each primitive by itself, in constant time and without
//! memory. Coordinates are integers, multiples of 2^-24. They are therefore the same on every device and in every run
//! of a capture. They are also exact:
//!
//! * The coordinates of a point on an edge are p and 1 - p, and the point with 1 - p and p is on the same edge, too. So
//!   patches that share an edge have the same points there, whatever the direction in which they go along it.
//! * The three coordinates of a point in a triangle add up to 1.
//!
//! The specification leaves open the order of a patch's primitives, the connections between the points of two edges
//! with different levels, and the exact points of fractional spacing. These points are placed as in Direct3D 11.

/// The coordinate 1. All coordinates are multiples of 1 / `ONE`.
pub const ONE: u32 = 1 << 24;

/// The largest level: every device has at least this `maxTessellationGenerationLevel`.
pub const MAX_LEVEL: f32 = 64.0;

/// The bits of infinity. Compared as integers, the bits of all other positive numbers are smaller, and those of NaN
/// and of all negative numbers are greater.
const INFINITY: u32 = f32::INFINITY.to_bits();

/// The domain of a patch: an execution mode of SPIR-V.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Domain {
    /// `Triangles`
    Triangles = 0,
    /// `Quads`
    Quads = 1,
    /// `Isolines`
    Isolines = 2,
}

/// The spacing of the segments of an edge: an execution mode of SPIR-V.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Spacing {
    /// `SpacingEqual`
    Equal = 0,
    /// `SpacingFractionalEven`
    FractionalEven = 1,
    /// `SpacingFractionalOdd`
    FractionalOdd = 2,
}

/// How a pipeline's patches are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tessellator {
    /// The domain of the patches.
    pub domain: Domain,
    /// The spacing of edges.
    pub spacing: Spacing,
    /// Whether the second and third vertex of each triangle are swapped. If not, triangles are counter-clockwise in a
    /// plane where u points to the right and v points up.
    pub flipped: bool,
    /// `PointMode`: the primitives are points, one for each vertex.
    pub points: bool,
}

/// An edge that is divided into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Edge {
    segments: u32,
    /// Fractional spacing interpolates between two uniform divisions, whose numbers of segments are the even or odd
    /// numbers below and above the level. This is the number of segments of the coarser division: `segments - 2`, or
    /// `segments` if nothing is interpolated.
    coarse: u32,
    /// Where the level lies between the coarser division (0) and the finer one (1, which does not occur): the value
    /// is (level - coarse) / 2, and is stored as a multiple of 2^-16.
    fraction: u32,
}

/// A patch divided by its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    tessellator: Tessellator,
    outer: [Edge; 4],
    inner: [Edge; 2],
    /// The number of the ring that the inner levels divide: 1, the first ring within the outer edges, which are ring 0.
    /// It is 0 for a patch that is not divided at all, but is one triangle or one quad.
    inset: u32,
    /// The number of triangles between the outer edges and the first ring within them. The inner levels divide that
    /// ring.
    outer_triangles: u32,
    count: u32,
}

impl Tessellator {
    /// The number of vertices of a primitive.
    pub const fn primitive_vertices(self) -> u32 {
        match (self.points, self.domain) {
            (true, _) => 1,
            (false, Domain::Isolines) => 2,
            (false, Domain::Triangles | Domain::Quads) => 3,
        }
    }

    /// The largest number of primitives that a patch may be divided into.
    pub const fn most_primitives(self) -> u32 {
        let most = MAX_LEVEL as u32;
        match (self.points, self.domain) {
            (false, Domain::Isolines) => most * most,
            (true, Domain::Isolines) => most * (most + 1),
            (false, Domain::Triangles) => 3 * most * most / 2,
            (true, Domain::Triangles) => 3 * most / 2 * (most / 2 + 1) + 1,
            (false, Domain::Quads) => 2 * most * most,
            (true, Domain::Quads) => (most + 1) * (most + 1),
        }
    }

    /// Returns the tessellator as the number that `tessellator_bits()` gives to the shaders: `domain` in bits 0 and 1,
    /// `spacing` in bits 2 and 3, `flipped` in bit 4, and `points` in bit 5.
    pub const fn bits(self) -> u32 {
        self.domain as u32
            | (self.spacing as u32) << 2
            | (self.flipped as u32) << 4
            | (self.points as u32) << 5
    }

    /// Divides a patch by its tessellation levels. The patch has no primitives if an outer level that its domain uses
    /// is not a positive number.
    pub fn divide(self, outer: [f32; 4], inner: [f32; 2]) -> Patch {
        let spacing = self.spacing;
        let (outer, inner) = (outer.map(f32::to_bits), inner.map(f32::to_bits));
        let edges = match self.domain {
            Domain::Triangles => 3,
            Domain::Quads => 4,
            Domain::Isolines => 2,
        };
        let mut patch = Patch {
            tessellator: self,
            outer: Default::default(),
            inner: Default::default(),
            inset: 0,
            outer_triangles: 0,
            count: 0,
        };
        if outer[..edges].iter().any(|level| *level == 0 || *level > INFINITY) {
            return patch;
        }
        for (edge, level) in patch.outer.iter_mut().zip(outer).take(edges) {
            *edge = Edge::of(level, spacing);
        }
        let [a, b, c, d] = &mut patch.outer;
        match self.domain {
            Domain::Isolines => {
                // The first outer level is the number of lines, whose spacing is always equal.
                *a = Edge::of(outer[0], Spacing::Equal);
                patch.count = a.segments * (b.segments + u32::from(self.points));
            }
            Domain::Triangles => {
                patch.inner[0] = Edge::of(inner[0], spacing);
                let sum = a.segments + b.segments + c.segments;
                if sum + patch.inner[0].segments > 4 {
                    patch.inset = 1;
                    patch.inner[0] = patch.inner[0].divided(spacing);
                    patch.outer_triangles = sum + 3 * (patch.inner[0].segments - 2);
                }
                let across = patch.inner[0].segments - 2 * patch.inset;
                patch.count = if self.points {
                    sum + patch.inset * points_within(across)
                } else {
                    patch.outer_triangles + triangles_within(across)
                };
            }
            Domain::Quads => {
                patch.inner = inner.map(|level| Edge::of(level, spacing));
                let sum = a.segments + b.segments + c.segments + d.segments;
                if sum + patch.inner[0].segments + patch.inner[1].segments > 6 {
                    patch.inset = 1;
                    patch.inner = patch.inner.map(|edge| edge.divided(spacing));
                }
                let [columns, rows] = patch.inner.map(|edge| edge.segments - 2 * patch.inset);
                if patch.inset == 1 {
                    patch.outer_triangles = sum + 2 * (columns + rows);
                }
                patch.count = if self.points {
                    sum + patch.inset * (columns + 1) * (rows + 1)
                } else {
                    patch.outer_triangles + 2 * columns * rows
                };
            }
        }
        patch
    }
}

impl Edge {
    /// Clamps and rounds a level, given by its bits ([tessellation primitive
    /// spacing](https://docs.vulkan.org/spec/latest/chapters/tessellation.html#tessellation-tessellator-spacing)).
    ///
    /// Levels of fractional spacing are rounded to multiples of 2^-16, as in Direct3D 11, which devices implement. So a
    /// level that is less than 2^-17 above a whole number does not add two segments.
    fn of(bits: u32, spacing: Spacing) -> Self {
        let (least, most) = match spacing {
            Spacing::Equal => (1.0, MAX_LEVEL),
            Spacing::FractionalEven => (2.0, MAX_LEVEL),
            Spacing::FractionalOdd => (1.0, MAX_LEVEL - 1.0),
        };
        let bits = if bits > INFINITY { 0 } else { bits };
        let level = f32::from_bits(bits.max(f32::to_bits(least)).min(f32::to_bits(most)));
        if spacing == Spacing::Equal {
            let whole = level as u32;
            let segments = whole + u32::from(whole as f32 != level);
            return Self { segments, coarse: segments, fraction: 0 };
        }
        // The conversion is exact, because the result has at most 23 bits.
        let fixed = (level * 65536.0 + 0.5) as u32;
        let above = fixed.div_ceil(1 << 16);
        let is_odd = u32::from(spacing == Spacing::FractionalOdd);
        let segments = above + ((above ^ is_odd) & 1);
        let coarse = if segments << 16 == fixed { segments } else { segments - 2 };
        Self { segments, coarse, fraction: (fixed - (coarse << 16)) / 2 }
    }

    /// Returns the edge with at least one vertex between its ends: a level of 1 is replaced by the next greater
    /// level.
    fn divided(self, spacing: Spacing) -> Self {
        match (self.segments, spacing) {
            (1, Spacing::FractionalOdd) => Self { segments: 3, ..self },
            (1, _) => Self { segments: 2, coarse: 2, fraction: 0 },
            _ => self,
        }
    }

    /// The position of vertex `number` of the edge, as a multiple of 1 / [`ONE`].
    fn position(self, number: u32) -> u32 {
        let mirrored = self.segments - number;
        if 2 * number > self.segments {
            ONE - self.in_first_half(mirrored)
        } else {
            self.in_first_half(number)
        }
    }

    /// The position of a vertex in the first half of the edge. Fractional spacing interpolates between the vertex's
    /// positions in two uniform divisions (see [`Edge`]). In each half, the coarser division lacks one vertex of the
    /// finer one. For that vertex, the interpolation begins at the next vertex of the coarser division.
    fn in_first_half(self, number: u32) -> u32 {
        // The number of vertices in the first half of the coarser division, without the vertex in the middle or, if
        // there is none, without the first vertex.
        let half = self.coarse.div_ceil(2) - self.coarse % 2;
        let new = if half == 0 { 0 } else { 2 * without_highest_bit(half) + 1 };
        let is_behind = self.coarse != self.segments && number > new;
        let from = ratio(number - u32::from(is_behind), self.coarse);
        let to = ratio(number, self.segments);
        if to >= from {
            from + product(to - from, self.fraction)
        } else {
            from - product(from - to, self.fraction)
        }
    }
}

/// `number / count` as a multiple of 1 / [`ONE`], rounded to the nearest.
fn ratio(number: u32, count: u32) -> u32 {
    (number * ONE + count / 2) / count
}

/// `distance * fraction / 2^16`, rounded down. The distance is less than 2^23.
fn product(distance: u32, fraction: u32) -> u32 {
    let (high, low) = (distance >> 8, distance & 255);
    (high * fraction + ((low * fraction) >> 8)) >> 8
}

/// `number`, which must be less than 2^8, without its highest bit.
const fn without_highest_bit(number: u32) -> u32 {
    let mut ones = number | number >> 1;
    ones |= ones >> 2;
    ones |= ones >> 4;
    number & ones >> 1
}

/// The number of triangles within a ring (one of the nested triangles of a patch) that has `across` segments on each
/// side.
const fn triangles_within(across: u32) -> u32 {
    triangles_within_ring(across / 2, across % 2)
}

/// The number of triangles within a ring (a nested triangle) of `2 k + parity` segments on each side.
const fn triangles_within_ring(k: u32, parity: u32) -> u32 {
    6 * k * (k + parity) + parity
}

/// The number of points on the ring (nested triangle) that has `across` segments on each side, and on all rings within
/// it. Each ring within it has 2 segments less on each side than the ring around it.
const fn points_within(across: u32) -> u32 {
    points_within_ring(across / 2 + 1, across % 2)
}

/// The number of points on the `k` innermost rings (nested triangles). Ring j of these, counted from 0, has
/// `2 j + parity` segments on each side. A ring with 0 segments is a single point.
const fn points_within_ring(k: u32, parity: u32) -> u32 {
    match (parity, k) {
        (0, 0) => 0,
        (0, _) => 3 * k * (k - 1) + 1,
        _ => 3 * k * k,
    }
}

/// The ring (nested triangle) that contains the triangle or point `number`: the largest k for which `before(k)`, the
/// number of triangles or points within ring k, is at most `number`. `before(k)` is about `factor * k^2`.
fn ring_of(number: u32, before: impl Fn(u32) -> u32, factor: f32) -> u32 {
    // The estimate may be wrong by 1, so it is corrected. The shader corrects it, too, because square roots are not
    // exact on every device.
    let mut k = (number as f32 / factor).sqrt() as u32;
    if k > 0 && before(k) > number {
        k -= 1;
    }
    if before(k + 1) <= number {
        k += 1;
    }
    k
}

/// A vertex on a side. A side is an outer edge of a patch, or a side of a ring, which is a triangle or rectangle within
/// the outer edges.
#[derive(Debug, Clone, Copy)]
struct OnSide {
    side: u32,
    number: u32,
}

/// A triangle of the strip between two parallel sides.
#[derive(Debug, Clone, Copy)]
struct Stitch {
    /// The number of the triangle's first vertex on the outer side, and on the inner side.
    outer: u32,
    inner: u32,
    /// Whether two vertices of the triangle are on the outer side. Otherwise two are on the inner side.
    is_outer: bool,
}

/// Triangle `step` of the strip between a side of `outer` segments and one of `inner` segments. Each triangle
/// advances by one segment on one of the sides, and the segments of both sides alternate evenly.
fn stitch(step: u32, outer: u32, inner: u32) -> Stitch {
    let all = outer + inner;
    let steps = |step: u32| (2 * step * outer + all) / (2 * all);
    let before = steps(step);
    Stitch { outer: before, inner: step - before, is_outer: steps(step + 1) != before }
}

impl Patch {
    /// The number of primitives.
    pub const fn primitive_count(&self) -> u32 {
        self.count
    }

    /// The tessellation coordinates of a vertex. `slot` is its number in the primitive, counted from 0. The third
    /// coordinate is 0 except in the domain `Triangles`.
    pub fn coordinates(&self, primitive: u32, slot: u32) -> [f32; 3] {
        self.vertex(primitive, slot).map(|x| x as f32 / ONE as f32)
    }

    /// The tessellation coordinates of a vertex, as multiples of 1 / [`ONE`]. `slot` is its number in the primitive,
    /// counted from 0.
    pub fn vertex(&self, primitive: u32, slot: u32) -> [u32; 3] {
        let Tessellator { domain, flipped, points, .. } = self.tessellator;
        let turned = if flipped && slot > 0 { 3 - slot } else { slot };
        match (domain, points) {
            (Domain::Isolines, _) => self.of_line(primitive, slot),
            (Domain::Triangles, false) => self.of_triangle(primitive, turned),
            (Domain::Triangles, true) => self.point_of_triangle(primitive),
            (Domain::Quads, false) => self.of_quad(primitive, turned),
            (Domain::Quads, true) => self.point_of_quad(primitive),
        }
    }

    fn of_line(&self, primitive: u32, slot: u32) -> [u32; 3] {
        let [lines, along, ..] = self.outer;
        let each = along.segments + u32::from(self.tessellator.points);
        [along.position(primitive % each + slot), lines.position(primitive / each), 0]
    }

    /// The outer edge that contains vertex `number`, and the number of the vertex on that edge. `number` counts the
    /// vertices of all outer edges, one edge after the other.
    fn on_edges(&self, number: u32) -> OnSide {
        let mut on = OnSide { side: 0, number };
        while on.side < 3 && on.number >= self.outer[on.side as usize].segments {
            on.number -= self.outer[on.side as usize].segments;
            on.side += 1;
        }
        on
    }

    // -- Triangles. Coordinate k is 0 on side k, which goes from the corner where coordinate k + 1 is 1 to the corner
    // where coordinate k + 2 is 1. Ring 0 consists of the outer edges. Each further ring is a triangle within the
    // ring before it; the innermost ring may be a point.

    fn of_triangle(&self, primitive: u32, slot: u32) -> [u32; 3] {
        let across = self.inner[0].segments;
        if primitive < self.outer_triangles {
            // At each side, the strip has one triangle for each segment of the outer edge and of the first ring within.
            let (mut side, mut step) = (0, primitive);
            let steps = |side: u32| self.outer[side as usize].segments + across - 2;
            while side < 2 && step >= steps(side) {
                step -= steps(side);
                side += 1;
            }
            let outer = self.outer[side as usize].segments;
            return self.between_rings(stitch(step, outer, across - 2), side, 0, slot);
        }
        let number = primitive - self.outer_triangles;
        let parity = across % 2;
        if number < parity {
            // If the number of segments is odd, the innermost ring is a single triangle.
            return self.on_ring(OnSide { side: slot, number: 0 }, across / 2);
        }
        let before = |k| triangles_within_ring(k, parity);
        let k = ring_of(number, before, 6.0);
        let inner = 2 * k + parity;
        let within = number - before(k);
        let each = 2 * inner + 2;
        let stitch = stitch(within % each, inner + 2, inner);
        self.between_rings(stitch, within / each, (across - inner) / 2 - 1, slot)
    }

    /// The coordinates of vertex number `slot` of a triangle (`stitch`) between ring `ring` and the ring within it.
    /// Rings are nested triangles.
    fn between_rings(&self, stitch: Stitch, side: u32, ring: u32, slot: u32) -> [u32; 3] {
        let on = |number| OnSide { side, number };
        match (stitch.is_outer, slot) {
            (_, 0) => self.on_ring(on(stitch.outer), ring),
            (true, 1) => self.on_ring(on(stitch.outer + 1), ring),
            (false, 1) => self.on_ring(on(stitch.inner + 1), ring + 1),
            _ => self.on_ring(on(stitch.inner), ring + 1),
        }
    }

    fn on_ring(&self, OnSide { side, number }: OnSide, ring: u32) -> [u32; 3] {
        let edge = self.inner[0];
        let (along, height) = if ring < self.inset {
            (self.outer[side as usize].position(number), 0)
        } else if 2 * ring == edge.segments {
            // 1/3 is not a multiple of 2^-24. The three coordinates must add up to 1, so one of them is rounded up.
            return [ONE / 3, ONE / 3, ONE - 2 * (ONE / 3)];
        } else {
            // `3 * third` is the distance of the ring's corner from the corner of the patch.
            let third = edge.position(ring) / 3;
            let along = match number {
                0 => 3 * third,
                _ if number == edge.segments - 2 * ring => ONE - 3 * third,
                _ => edge.position(ring + number),
            };
            (along - third, 2 * third)
        };
        let mut vertex = [0; 3];
        vertex[side as usize] = height;
        vertex[(side as usize + 1) % 3] = ONE - along - height;
        vertex[(side as usize + 2) % 3] = along;
        vertex
    }

    fn point_of_triangle(&self, primitive: u32) -> [u32; 3] {
        let [a, b, c, _] = self.outer;
        let sum = a.segments + b.segments + c.segments;
        if primitive < sum {
            return self.on_ring(self.on_edges(primitive), 0);
        }
        let (number, across) = (primitive - sum, self.inner[0].segments);
        let parity = across % 2;
        let before = |k| points_within_ring(k, parity);
        let k = ring_of(number, before, 3.0);
        let of_ring = (2 * k + parity).max(1);
        let within = number - before(k);
        let on = OnSide { side: within / of_ring, number: within % of_ring };
        self.on_ring(on, (across - (2 * k + parity)) / 2)
    }

    // -- Quads. Sides 0 to 3 are where u is 0, v is 0, u is 1 and v is 1. Each side begins where the previous one
    // ends: side 1 goes from (0, 0) to (1, 0).

    fn of_quad(&self, primitive: u32, slot: u32) -> [u32; 3] {
        let [columns, rows] = self.inner.map(|edge| edge.segments - 2 * self.inset);
        if primitive < self.outer_triangles {
            let inner = |side: u32| if side.is_multiple_of(2) { rows } else { columns };
            let (mut side, mut step) = (0, primitive);
            let steps = |side: u32| self.outer[side as usize].segments + inner(side);
            while side < 3 && step >= steps(side) {
                step -= steps(side);
                side += 1;
            }
            let stitch = stitch(step, self.outer[side as usize].segments, inner(side));
            let on = |number| OnSide { side, number };
            return match (stitch.is_outer, slot) {
                (_, 0) => self.on_edge(on(stitch.outer)),
                (true, 1) => self.on_edge(on(stitch.outer + 1)),
                (false, 1) => self.on_inner_edge(on(stitch.inner + 1)),
                _ => self.on_inner_edge(on(stitch.inner)),
            };
        }
        let number = primitive - self.outer_triangles;
        let (cell, is_second) = (number / 2, number % 2);
        let [x, y] = match (slot, is_second) {
            (0, _) => [0, 0],
            (1, 0) => [1, 0],
            (2, 1) => [0, 1],
            _ => [1, 1],
        };
        self.on_grid(cell % columns + x, cell / columns + y)
    }

    fn on_edge(&self, OnSide { side, number }: OnSide) -> [u32; 3] {
        let along = self.outer[side as usize].position(number);
        match side {
            0 => [0, ONE - along, 0],
            1 => [along, 0, 0],
            2 => [ONE, along, 0],
            _ => [ONE - along, ONE, 0],
        }
    }

    /// A vertex on an edge of the rectangle within the outer edges.
    fn on_inner_edge(&self, OnSide { side, number }: OnSide) -> [u32; 3] {
        let [columns, rows] = self.inner.map(|edge| edge.segments - 2);
        match side {
            0 => self.on_grid(0, rows - number),
            1 => self.on_grid(number, 0),
            2 => self.on_grid(columns, number),
            _ => self.on_grid(columns - number, rows),
        }
    }

    /// A vertex of the grid within the outer edges, or of the whole patch if the patch is not divided.
    fn on_grid(&self, column: u32, row: u32) -> [u32; 3] {
        let [u, v] = self.inner;
        [u.position(column + self.inset), v.position(row + self.inset), 0]
    }

    fn point_of_quad(&self, primitive: u32) -> [u32; 3] {
        let sum: u32 = self.outer.iter().map(|edge| edge.segments).sum();
        if primitive < sum {
            return self.on_edge(self.on_edges(primitive));
        }
        let (number, columns) = (primitive - sum, self.inner[0].segments - 1);
        self.on_grid(number % columns, number / columns)
    }
}
