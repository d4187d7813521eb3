//! One panel: the vertices of a stage, and primitives drawn over them.

use svg::node::element::path::Data;
use svg::node::element::{Circle, Group, Line, Path, Rectangle, Text};

use super::stage::{Point, Stage};
use super::{PrimitiveDiff, Slot, text, vertex_of};
use crate::probe::diagnose::Fault;

/// Radius of a vertex in user units.
const VERTEX: f32 = 11.5;
/// What of the way from the centroid to its corners the arrows of a triangle take.
const INSET: f32 = 0.56;
const HEAD_LENGTH: f32 = 8.0;
const HEAD_WIDTH: f32 = 4.2;

/// One slot of a primitive, on its way into the picture.
#[derive(Clone, Copy)]
struct Corner {
    at: Point,
    /// What stands in the place of a vertex that cannot be drawn.
    hole: Option<char>,
}

/// A panel under construction.
pub(super) struct Panel<'a> {
    stage: &'a Stage,
    areas: Group,
    arrows: Group,
    /// What differs, above all else.
    wrong: Group,
    vertices: Group,
    class: &'static str,
    /// Where numbers stand already.
    numbers: Vec<Point>,
}

impl<'a> Panel<'a> {
    pub fn new(stage: &'a Stage, class: &'static str) -> Self {
        let mut vertices = Group::new();
        for (from, to) in &stage.adjacency {
            vertices = vertices.add(segment(*from, *to, "xf-adjacency"));
        }
        for v in &stage.vertices {
            let (class, label) = match v.adjacency {
                true => ("xf-vertex-grey", "xf-label-grey"),
                false => ("xf-vertex", "xf-label"),
            };
            let name = v.vertex.to_string();
            let radius = if v.adjacency { VERTEX - 2.0 } else { VERTEX };
            // Long numbers stretch the circle into a pill.
            let half = radius.max(3.6 * name.len() as f32 + 4.0);
            let pill = Rectangle::new()
                .set("class", class)
                .set("x", v.at.x - half)
                .set("y", v.at.y - radius)
                .set("width", half * 2.0)
                .set("height", radius * 2.0)
                .set("rx", radius);
            vertices = vertices.add(pill).add(text(v.at.x, v.at.y + 3.9, label, &name));
        }
        Self {
            stage,
            areas: Group::new(),
            arrows: Group::new(),
            wrong: Group::new().set("class", "xf-wrong"),
            vertices,
            class,
            numbers: Vec::new(),
        }
    }

    /// A primitive that is as it should be.
    pub fn right(&mut self, primitive: u64, vertices: &[u64]) {
        let places: Option<Vec<_>> = vertices.iter().map(|v| self.stage.place(*v)).collect();
        let Some(places) = places else { return };
        let corners: Vec<_> = places.into_iter().map(|at| Corner { at, hole: None }).collect();
        let class = if primitive.is_multiple_of(2) { "xf-area" } else { "xf-area xf-odd" };
        self.areas = std::mem::take(&mut self.areas)
            .add(area(&corners, class))
            .add(area(&corners, "xf-edge"));
        let number = self.number(primitive, &corners);
        self.arrows = std::mem::take(&mut self.arrows).add(arrows(&corners)).add(number);
    }

    /// A primitive as it was captured.
    pub fn captured(&mut self, diff: &PrimitiveDiff) {
        let vertices: Vec<_> =
            diff.captured.iter().map(|slot| vertex_of(slot, diff.instance)).collect();
        if diff.fault.is_none() {
            let vertices: Vec<_> = vertices.into_iter().flatten().collect();
            return self.right(diff.primitive, &vertices);
        }
        let expected: Vec<_> =
            diff.expected.iter().map(|v| self.stage.place(u64::from(v.vertex))).collect();
        let corners: Option<Vec<_>> = vertices
            .iter()
            .zip(&diff.captured)
            .enumerate()
            .map(|(slot, (vertex, content))| {
                let shown = vertex.and_then(|v| self.stage.place(v));
                // What cannot be shown stands where it should have gone.
                let hole = shown.is_none().then(|| mark(content));
                let at = shown.or_else(|| expected.get(slot).copied().flatten())?;
                Some(Corner { at, hole })
            })
            .collect();
        let Some(corners) = corners else { return };
        let nothing = diff.captured.iter().all(|slot| *slot == Slot::Untouched);
        let number = self.number(diff.primitive, &corners);
        let mut group = Group::new();
        if nothing || diff.fault == Some(Fault::MissingPrimitive) {
            group = group.add(area(&inset(&corners, 0.86), "xf-ghost"));
        }
        if !nothing {
            group = group.add(area(&inset(&corners, 0.86), "xf-area")).add(arrows(&corners));
        }
        self.wrong = std::mem::take(&mut self.wrong).add(group.add(number));
    }

    pub fn finish(self) -> Group {
        Group::new()
            .set("class", self.class)
            .add(self.areas)
            .add(self.arrows)
            .add(self.vertices)
            .add(self.wrong)
    }

    /// The number of a primitive, moved aside where another one stands already.
    fn number(&mut self, primitive: u64, corners: &[Corner]) -> Text {
        let mut at = match corners {
            [point] => Point::new(point.at.x, point.at.y - 24.0),
            [a, b] => {
                // Beside the line, on its left hand where that is above it.
                let (middle, length) = (a.at.towards(b.at, 0.5), a.at.distance(b.at).max(1.0));
                let normal = ((b.at.y - a.at.y) / length, (a.at.x - b.at.x) / length);
                let side = if normal.1 > 0.0 { -14.0 } else { 14.0 };
                Point::new(middle.x + normal.0 * side, middle.y + normal.1 * side)
            }
            _ => centroid(corners),
        };
        while self.numbers.iter().any(|n| n.distance(at) < 15.0) {
            at.y += 15.0;
        }
        self.numbers.push(at);
        let name = primitive.to_string();
        let class = if name.len() > 3 { "xf-number xf-long" } else { "xf-number" };
        text(at.x, at.y + 4.6, class, &name)
    }
}

/// What a record that is no vertex of the picture is marked with.
fn mark(slot: &Slot) -> char {
    match slot {
        Slot::Untouched => '–',
        Slot::Torn(_) => '≠',
        Slot::Unknown { .. } => '?',
        Slot::Vertex(_) => '!',
    }
}

fn centroid(corners: &[Corner]) -> Point {
    let n = corners.len().max(1) as f32;
    let sum = corners.iter().fold((0.0, 0.0), |(x, y), c| (x + c.at.x, y + c.at.y));
    Point::new(sum.0 / n, sum.1 / n)
}

/// The corners, moved towards their centroid.
fn inset(corners: &[Corner], by: f32) -> Vec<Corner> {
    let centre = centroid(corners);
    let by = if corners.len() > 2 { by } else { 1.0 };
    corners.iter().map(|c| Corner { at: centre.towards(c.at, by), ..*c }).collect()
}

/// The outline of a primitive: for a point a ring, for a line its segment.
fn area(corners: &[Corner], class: &str) -> Group {
    let group = Group::new();
    match corners {
        [] => group,
        [point] => {
            let ring = Circle::new().set("cx", point.at.x).set("cy", point.at.y);
            group.add(ring.set("r", VERTEX + 4.5).set("class", class))
        }
        [first, rest @ ..] => {
            let mut data = Data::new().move_to((first.at.x, first.at.y));
            for corner in rest {
                data = data.line_to((corner.at.x, corner.at.y));
            }
            group.add(Path::new().set("d", data.close()).set("class", class))
        }
    }
}

/// A dot at the first vertex, and an arrow to each of the others.
fn arrows(corners: &[Corner]) -> Group {
    let mut group = Group::new();
    let path: Vec<_> = match corners {
        [] => return group,
        // Beside the vertex, under its number.
        [point] => vec![Corner { at: Point::new(point.at.x + 15.0, point.at.y), ..*point }],
        [a, b] => {
            let clear = VERTEX + 5.0;
            vec![
                Corner { at: a.at.nearer(b.at, clear), ..*a },
                Corner { at: b.at.nearer(a.at, clear), ..*b },
            ]
        }
        _ => inset(corners, INSET),
    };
    for pair in path.windows(2) {
        let (from, to) = (pair[0].at, pair[1].at);
        let clear = if path.len() > 2 { 2.5 } else { 0.0 };
        let tip = to.nearer(from, clear);
        group = group
            .add(segment(from, tip.nearer(from, HEAD_LENGTH * 0.8), "xf-arrow"))
            .add(head(from, tip));
    }
    if let Some(first) = path.first() {
        let dot = Circle::new().set("cx", first.at.x).set("cy", first.at.y).set("r", 3.8);
        group = group.add(dot.set("class", "xf-head"));
    }
    for (corner, hole) in path.iter().filter_map(|c| Some((c, c.hole?))) {
        let ring = Circle::new().set("cx", corner.at.x).set("cy", corner.at.y).set("r", 7.5);
        group = group.add(ring.set("class", "xf-hole")).add(text(
            corner.at.x,
            corner.at.y + 3.6,
            "xf-hole-label",
            hole.encode_utf8(&mut [0; 4]),
        ));
    }
    group
}

/// The head of an arrow that ends at `tip`.
fn head(from: Point, tip: Point) -> Path {
    let length = from.distance(tip).max(1.0);
    let (dx, dy) = ((tip.x - from.x) / length, (tip.y - from.y) / length);
    let back = (tip.x - dx * HEAD_LENGTH, tip.y - dy * HEAD_LENGTH);
    let data = Data::new()
        .move_to((tip.x, tip.y))
        .line_to((back.0 - dy * HEAD_WIDTH, back.1 + dx * HEAD_WIDTH))
        .line_to((back.0 + dy * HEAD_WIDTH, back.1 - dx * HEAD_WIDTH))
        .close();
    Path::new().set("d", data).set("class", "xf-head")
}

fn segment(from: Point, to: Point, class: &str) -> Line {
    Line::new()
        .set("class", class)
        .set("x1", from.x)
        .set("y1", from.y)
        .set("x2", to.x)
        .set("y2", to.y)
}
