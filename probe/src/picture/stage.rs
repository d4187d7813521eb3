//! A stage is the part of a capture that a picture shows: a few vertices, and their places in the picture. They are the
//! vertices of a topology, or the vertices that a geometry shader emits or that patches are divided into.

use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::diagnose::{Patch, PrimitiveDiff};
use crate::picture::WIDTH;
use crate::row::Row;
use crate::shaders::ProbeGeometry;

/// A point in a panel, in user units. y points downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub x: f32,
    pub y: f32,
}

impl Point {
    pub const fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }

    /// Returns the point that is the fraction `t` of the way to `other`.
    pub fn towards(self, other: Self, t: f32) -> Self {
        Self::new(self.x + (other.x - self.x) * t, self.y + (other.y - self.y) * t)
    }

    pub fn distance(self, other: Self) -> f32 {
        (other.x - self.x).hypot(other.y - self.y)
    }

    /// Returns the point that is `by` user units nearer to `other`.
    pub fn nearer(self, other: Self, by: f32) -> Self {
        match self.distance(other) {
            0.0 => self,
            distance => self.towards(other, by / distance),
        }
    }
}

/// A vertex, and its place in the picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// The number of the vertex in the instance.
    pub vertex: u64,
    pub at: Point,
    /// Whether the vertex is an adjacency vertex, which none of the shown primitives captures.
    pub adjacency: bool,
}

/// The vertices of a few consecutive primitives, with their places.
#[derive(Debug)]
pub(super) struct Stage {
    pub row: Row,
    /// The number of the first primitive that is shown, which is even.
    pub first: u64,
    /// The number of primitives that are shown.
    pub primitives: u64,
    pub height: f32,
    pub vertices: Vec<Placed>,
    /// The lines that connect adjacency vertices to the edges or vertices that they belong to, as
    /// pairs of end points.
    pub adjacency: Vec<(Point, Point)>,
}

const MARGIN: f32 = 34.0;
const TOP: f32 = 34.0;
const BOTTOM: f32 = 144.0;

/// The size of each of two patches.
const PATCH: f32 = 144.0;

/// The maximum number of columns (different x coordinates of vertices) with which vertices do not overlap.
const MOST_COLUMNS: u64 = 12;

/// Returns the number of columns (different x coordinates) that strips beside each other need: one for each vertex, and
/// an empty one between two strips.
fn columns(strips: &[Vec<u64>]) -> u64 {
    let vertices: usize = strips.iter().map(Vec::len).sum();
    (vertices + strips.len().saturating_sub(1)) as u64
}

/// Returns the x coordinate of column `i` of `n`, from left to right.
fn column(i: u64, n: u64) -> f32 {
    MARGIN + (WIDTH - 2.0 * MARGIN) * i as f32 / (n.max(2) - 1) as f32
}

/// Returns the place of vertex `i` of a strip: alternately at the bottom and at the top.
fn zigzag(i: u64, n: u64) -> Point {
    Point::new(column(i, n), if i.is_multiple_of(2) { BOTTOM } else { TOP })
}

/// Divides the width of the picture into `n` equal parts, and returns the x coordinate of the middle of part `i`.
fn part(i: u64, n: u64) -> f32 {
    WIDTH * (i as f32 + 0.5) / n as f32
}

impl Stage {
    /// Places the vertices of a few primitives. `first` is the number of the first primitive, and
    /// must be even.
    pub fn new(topology: PrimitiveTopology, first: u64) -> Self {
        use PrimitiveTopology as T;
        let mut stage = Self {
            row: topology.into(),
            first,
            primitives: 0,
            height: BOTTOM + 30.0,
            vertices: Vec::new(),
            adjacency: Vec::new(),
        };
        match topology {
            T::PointList => stage.points(),
            T::LineList => stage.lines(),
            T::LineStrip => stage.strip(6, 7, 1),
            T::TriangleStrip => stage.strip(6, 8, 1),
            T::TriangleList => stage.triangles(),
            T::TriangleFan => stage.fan(),
            T::LineListWithAdjacency => stage.lines_with_adjacency(),
            T::LineStripWithAdjacency => stage.line_strip_with_adjacency(),
            T::TriangleListWithAdjacency => stage.triangles_with_adjacency(),
            T::TriangleStripWithAdjacency => stage.triangle_strip_with_adjacency(),
            // A patch list has no primitives before it is tessellated, so nothing is placed.
            T::PatchList => {}
        }
        stage
    }

    /// Places the vertices of the strips that a geometry shader emits, from left to right. Strips
    /// that do not fit are left out. Primitives that have a vertex in common are in the same strip.
    pub fn of_emitted(row: Row, diffs: &[&PrimitiveDiff]) -> Self {
        let expected = || diffs.iter().filter(|diff| !diff.expected.is_empty());
        let mut strips: Vec<Vec<u64>> = Vec::new();
        let mut primitives = 0;
        for diff in expected() {
            let vertices: Vec<_> = diff.expected.iter().map(|v| u64::from(v.vertex)).collect();
            let mut more = strips.clone();
            match more.last_mut().filter(|strip| strip.iter().any(|v| vertices.contains(v))) {
                Some(strip) => strip.extend(vertices),
                None => more.push(vertices),
            }
            for strip in &mut more {
                strip.sort_unstable();
                strip.dedup();
            }
            if primitives > 0 && columns(&more) > MOST_COLUMNS {
                break;
            }
            primitives += 1;
            strips = more;
        }
        let mut stage = Self {
            row,
            first: expected().map(|diff| diff.primitive).min().unwrap_or(0),
            primitives,
            height: BOTTOM + 30.0,
            vertices: Vec::new(),
            adjacency: Vec::new(),
        };
        let (all, mut before) = (columns(&strips), 0);
        for strip in &strips {
            for (i, vertex) in (0..).zip(strip) {
                stage.put(*vertex, Point::new(column(before + i, all), zigzag(i, 2).y));
            }
            before += columns(std::slice::from_ref(strip)) + 1;
        }
        stage
    }

    /// Places the vertices of up to two patches, which the probe's own tessellation shaders divide, at their
    /// tessellation coordinates. The primitives of further patches are left out.
    pub fn of_patches(row: Row, diffs: &[&PrimitiveDiff]) -> Self {
        let expected: Vec<_> = diffs.iter().filter(|diff| !diff.expected.is_empty()).collect();
        let mut stage = Self {
            row,
            first: expected.iter().map(|diff| diff.primitive).min().unwrap_or(0),
            primitives: 0,
            height: 0.0,
            vertices: Vec::new(),
            adjacency: Vec::new(),
        };
        let per_primitive = expected.first().map_or(0, |diff| diff.expected.len());
        let vertices = || expected.iter().flat_map(|diff| &diff.expected).map(|v| v.vertex);
        let (least, most) = (vertices().min().unwrap_or(0), vertices().max().unwrap_or(0));
        // Each patch, with the number of its first vertex.
        let mut shown: Vec<(u32, Patch)> = Vec::new();
        let mut first = 0;
        for patch in ProbeGeometry::patches(per_primitive) {
            let end = first + patch.places.len() as u32;
            if first > most || shown.len() == 2 {
                break;
            }
            if end > least && end > first {
                shown.push((first, patch));
            }
            first = end;
        }
        let side = if shown.len() > 1 { PATCH } else { WIDTH / 2.0 };
        for (column, (first, patch)) in (0..).zip(&shown) {
            let corner = Point::new(part(column, shown.len() as u64) - side / 2.0, TOP);
            let at = |[u, v]: [u32; 2]| {
                let [x, y] = [u, v].map(|units| units as f32 / Patch::UNITS as f32 * side);
                Point::new(corner.x + x, corner.y + y)
            };
            for (vertex, place) in (*first..).zip(&patch.places) {
                stage.put(vertex.into(), at(*place));
            }
        }
        let is_shown = |diff: &&&&PrimitiveDiff| {
            diff.expected.iter().all(|v| stage.place(v.vertex.into()).is_some())
        };
        stage.primitives = expected.iter().take_while(is_shown).count() as u64;
        stage.height = TOP + side + 30.0;
        stage
    }

    pub fn place(&self, vertex: u64) -> Option<Point> {
        self.vertices.iter().find(|v| v.vertex == vertex).map(|v| v.at)
    }

    /// Removes the vertices, other than adjacency vertices, for which `kept` is false, and the adjacency vertices and
    /// lines that are connected to them.
    pub fn keep(&mut self, kept: impl Fn(u64) -> bool) {
        let gone: Vec<_> = self
            .vertices
            .iter()
            .filter(|v| !v.adjacency && !kept(v.vertex))
            .map(|v| v.at)
            .collect();
        let lonely: Vec<_> =
            self.adjacency.iter().filter(|(_, to)| gone.contains(to)).map(|(at, _)| *at).collect();
        let goes = |at: &Point| gone.contains(at) || lonely.contains(at);
        self.vertices.retain(|v| !goes(&v.at));
        self.adjacency.retain(|(at, _)| !goes(at));
    }

    fn put(&mut self, vertex: u64, at: Point) {
        self.vertices.push(Placed { vertex, at, adjacency: false });
    }

    fn put_adjacency(&mut self, vertex: u64, at: Point, joined: &[Point]) {
        self.vertices.push(Placed { vertex, at, adjacency: true });
        self.adjacency.extend(joined.iter().map(|to| (at, *to)));
    }

    fn points(&mut self) {
        self.primitives = 8;
        self.height = 130.0;
        for i in 0..self.primitives {
            let y = if i % 2 == 0 { 92.0 } else { 58.0 };
            self.put(self.first + i, Point::new(column(i, self.primitives), y));
        }
    }

    fn lines(&mut self) {
        self.primitives = 4;
        for i in 0..self.primitives {
            let x = part(i, self.primitives);
            self.put((self.first + i) * 2, Point::new(x - 20.0, BOTTOM));
            self.put((self.first + i) * 2 + 1, Point::new(x + 20.0, TOP));
        }
    }

    /// Places `count` vertices in a zigzag. Consecutive primitives begin `step` vertices apart.
    fn strip(&mut self, primitives: u64, count: u64, step: u64) {
        self.primitives = primitives;
        for i in 0..count {
            self.put(self.first * step + i, zigzag(i, count));
        }
    }

    fn triangles(&mut self) {
        self.primitives = 3;
        for i in 0..self.primitives {
            let (x, first) = (part(i, self.primitives), (self.first + i) * 3);
            self.put(first, Point::new(x - 43.0, BOTTOM));
            self.put(first + 1, Point::new(x, TOP));
            self.put(first + 2, Point::new(x + 43.0, BOTTOM));
        }
    }

    fn fan(&mut self) {
        self.primitives = 6;
        self.height = 216.0;
        let hub = Point::new(WIDTH / 2.0, 186.0);
        self.put(0, hub);
        for i in 0..=self.primitives {
            let turn = i as f32 / self.primitives as f32;
            let angle = std::f32::consts::PI * (0.96 - 0.92 * turn);
            let at = Point::new(hub.x + 166.0 * angle.cos(), hub.y - 152.0 * angle.sin());
            self.put(self.first + 1 + i, at);
        }
    }

    fn lines_with_adjacency(&mut self) {
        self.primitives = 2;
        for i in 0..self.primitives {
            let (x, first) = (part(i, self.primitives), (self.first + i) * 4);
            let at = |dx: f32, y: f32| Point::new(x + dx, y);
            let (a, b) = (at(-30.0, BOTTOM - 6.0), at(30.0, TOP + 6.0));
            self.put_adjacency(first, at(-74.0, TOP + 32.0), &[a]);
            self.put(first + 1, a);
            self.put(first + 2, b);
            self.put_adjacency(first + 3, at(74.0, BOTTOM - 32.0), &[b]);
        }
    }

    fn line_strip_with_adjacency(&mut self) {
        self.strip(5, 8, 1);
        let last = self.vertices.len() - 1;
        for (end, next) in [(0, 1), (last, last - 1)] {
            self.vertices[end].adjacency = true;
            self.adjacency.push((self.vertices[end].at, self.vertices[next].at));
        }
    }

    fn triangles_with_adjacency(&mut self) {
        self.primitives = 2;
        self.height = 226.0;
        for i in 0..self.primitives {
            let (x, first) = (part(i, self.primitives), (self.first + i) * 6);
            let at = |dx: f32, y: f32| Point::new(x + dx, y);
            let (a, b, c) = (at(-56.0, 152.0), at(0.0, 42.0), at(56.0, 152.0));
            self.put(first, a);
            self.put_adjacency(first + 1, at(-74.0, 58.0), &[a, b]);
            self.put(first + 2, b);
            self.put_adjacency(first + 3, at(74.0, 58.0), &[b, c]);
            self.put(first + 4, c);
            self.put_adjacency(first + 5, at(0.0, 202.0), &[c, a]);
        }
    }

    /// The vertices with even numbers form a strip. The vertex 2i + 3 is adjacent to primitive i,
    /// at its outer edge, which connects the vertices 2i and 2i + 4. The first and the last odd
    /// vertex are beyond the ends of the strip.
    fn triangle_strip_with_adjacency(&mut self) {
        self.primitives = 4;
        self.height = 246.0;
        let items = self.primitives + 2;
        let (inset, first) = (62.0, self.first * 2);
        let at = |i: u64| {
            let x = inset + (WIDTH - 2.0 * inset) * i as f32 / (items - 1) as f32;
            Point::new(x, if i.is_multiple_of(2) { 168.0 } else { 70.0 })
        };
        for i in 0..items {
            self.put(first + 2 * i, at(i));
        }
        // If the stage begins in the middle of a strip, the first primitive that it shows shares the edge
        // from `at(0)` to `at(1)` with a primitive that is not shown, so no adjacency vertex belongs to
        // this edge.
        if self.first == 0 {
            self.put_adjacency(1, Point::new(30.0, 90.0), &[at(0), at(1)]);
        }
        for i in 0..self.primitives {
            let y = if i % 2 == 0 { 218.0 } else { 24.0 };
            let outer = Point::new(at(i + 1).x, y);
            self.put_adjacency(first + 2 * i + 3, outer, &[at(i), at(i + 2)]);
        }
        let end = Point::new(WIDTH - 30.0, 148.0);
        let last = [at(items - 2), at(items - 1)];
        self.put_adjacency(first + 2 * self.primitives + 3, end, &last);
    }
}
