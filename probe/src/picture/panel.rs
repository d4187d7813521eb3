//! Draws one panel of a picture: the vertices, and the primitives over them.

use svg::node::element::path::Data;
use svg::node::element::{Circle, Group, Line, Path, Rectangle, Text};

use crate::diagnose::Fault;
use crate::picture::stage::{Point, Stage};
use crate::picture::{PrimitiveDiff, Slot, text, vertex_of};

/// The radius of a vertex in user units.
const VERTEX: f32 = 11.5;
/// The distance of the arrows of a triangle from its centroid, as a fraction of the distance from the
/// centroid to the vertices.
const INSET: f32 = 0.56;
/// The distance of the outline of a wrong triangle from its centroid, as a fraction of the distance
/// from the centroid to the vertices. The outline is just inside of the edges.
const OUTLINE: f32 = 0.9;
const HEAD_LENGTH: f32 = 8.0;
const HEAD_WIDTH: f32 = 4.2;

/// One vertex of a captured primitive, as it is drawn.
#[derive(Clone)]
struct Corner {
    at: Point,
    /// The text to draw in place of the vertex, if the record does not contain a vertex that can be
    /// drawn. `None` if the vertex is drawn.
    hole: Option<String>,
}

/// A panel to which primitives are added one by one.
pub(super) struct Panel<'a> {
    stage: &'a Stage,
    areas: Group,
    arrows: Group,
    /// The areas of primitives that differ. These areas are drawn over the areas of right primitives, and under the
    /// vertices.
    wrong_areas: Group,
    /// The arrows of primitives that differ. They are drawn over everything else.
    wrong: Group,
    vertices: Group,
    class: &'static str,
    /// The places of the primitive numbers that were drawn so far.
    numbers: Vec<Point>,
}

impl<'a> Panel<'a> {
    pub fn new(stage: &'a Stage, class: &'static str) -> Self {
        let mut vertices = Group::new();
        for (from, to) in &stage.adjacency {
            vertices = vertices.add(segment(*from, *to, "xf-adjacency"));
        }
        for v in &stage.vertices {
            let (class, label) = if v.adjacency {
                ("xf-vertex-grey", "xf-label-grey")
            } else {
                ("xf-vertex", "xf-label")
            };
            let name = v.vertex.to_string();
            let radius = if v.adjacency { VERTEX - 2.0 } else { VERTEX };
            let outline = pill(v.at, radius, &name, 3.6).set("class", class);
            vertices = vertices.add(outline).add(text(v.at.x, v.at.y + 3.9, label, &name));
        }
        Self {
            stage,
            areas: Group::new(),
            arrows: Group::new(),
            wrong_areas: Group::new().set("class", "xf-wrong"),
            wrong: Group::new().set("class", "xf-wrong"),
            vertices,
            class,
            numbers: Vec::new(),
        }
    }

    /// Draws a right primitive. Draws nothing if one of its vertices has no place in the picture.
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

    /// Draws a primitive as it was captured, right or wrong. Draws nothing if for one of its records neither the
    /// captured nor the expected vertex has a place in the picture.
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
                // A record without a vertex that can be drawn gets a mark at the place of its
                // expected vertex.
                let hole = shown.is_none().then(|| mark(content));
                let at = shown.or_else(|| expected.get(slot).copied().flatten())?;
                Some(Corner { at, hole })
            })
            .collect();
        let Some(corners) = corners else { return };
        let nothing = diff.captured.iter().all(|slot| *slot == Slot::Untouched);
        let number = self.number(diff.primitive, &corners);
        let mut areas = std::mem::take(&mut self.wrong_areas);
        if nothing || diff.fault == Some(Fault::MissingPrimitive) {
            areas = areas.add(area(&inset(&corners, OUTLINE), "xf-ghost"));
        }
        let mut group = std::mem::take(&mut self.wrong);
        if !nothing {
            areas = areas.add(area(&inset(&corners, OUTLINE), "xf-area"));
            group = group.add(arrows(&corners));
        }
        self.wrong_areas = areas;
        self.wrong = group.add(number);
    }

    pub fn finish(self) -> Group {
        Group::new()
            .set("class", self.class)
            .add(self.areas)
            .add(self.arrows)
            .add(self.wrong_areas)
            .add(self.vertices)
            .add(self.wrong)
    }

    /// Draws the number of a primitive. The number is moved down if another number is already at its
    /// place.
    fn number(&mut self, primitive: u64, corners: &[Corner]) -> Text {
        let mut at = match corners {
            [point] => Point::new(point.at.x, point.at.y - 24.0),
            [a, b] => {
                // The number is to the left of the line, so that each valley of a zigzag has only
                // one number.
                let (middle, length) = (a.at.towards(b.at, 0.5), a.at.distance(b.at).max(1.0));
                let normal = ((b.at.y - a.at.y) / length, (a.at.x - b.at.x) / length);
                let side = if normal.0 > 0.0 { -14.0 } else { 14.0 };
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

/// Returns the text that is drawn in place of a vertex, for a record that contains no vertex of the picture.
fn mark(slot: &Slot) -> String {
    match slot {
        Slot::Untouched => "–".to_owned(),
        Slot::Torn(_) => "≠".to_owned(),
        Slot::Unknown { .. } => "?".to_owned(),
        Slot::Vertex(v) => v.vertex.to_string(),
    }
}

fn centroid(corners: &[Corner]) -> Point {
    let n = corners.len().max(1) as f32;
    let sum = corners.iter().fold((0.0, 0.0), |(x, y), c| (x + c.at.x, y + c.at.y));
    Point::new(sum.0 / n, sum.1 / n)
}

/// Moves the vertices of a triangle towards their centroid, to the fraction `by` of their distances from it. The
/// vertices of points and lines stay in their places.
fn inset(corners: &[Corner], by: f32) -> Vec<Corner> {
    let centre = centroid(corners);
    let by = if corners.len() > 2 { by } else { 1.0 };
    corners.iter().map(|c| Corner { at: centre.towards(c.at, by), ..c.clone() }).collect()
}

/// Draws the area of a primitive: a ring for a point, a thick line for a line, and a polygon for a triangle.
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

/// Draws a dot at the first vertex, and arrows from each vertex to the next.
fn arrows(corners: &[Corner]) -> Group {
    let mut group = Group::new();
    let path: Vec<_> = match corners {
        [] => return group,
        // The dot of a point is beside the vertex. A mark in place of the vertex needs more room.
        [point] => {
            let beside = if point.hole.is_some() { 27.0 } else { VERTEX + 4.5 };
            vec![Corner { at: Point::new(point.at.x + beside, point.at.y), ..point.clone() }]
        }
        [a, b] => {
            let clear = VERTEX + 5.0;
            vec![
                Corner { at: a.at.nearer(b.at, clear), ..a.clone() },
                Corner { at: b.at.nearer(a.at, clear), ..b.clone() },
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
    for corner in &path {
        let Some(hole) = &corner.hole else { continue };
        let Point { x, y } = corner.at;
        group = group.add(pill(corner.at, 7.5, hole, 3.2).set("class", "xf-hole")).add(text(
            x,
            y + 3.6,
            "xf-hole-label",
            hole,
        ));
    }
    group
}

/// Draws the head of an arrow that ends at `tip`.
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

/// Draws a circle, or a pill if the text inside is too long for a circle.
fn pill(at: Point, radius: f32, inside: &str, half_letter: f32) -> Rectangle {
    let half = radius.max(half_letter * inside.chars().count() as f32 + 4.0);
    Rectangle::new()
        .set("x", at.x - half)
        .set("y", at.y - radius)
        .set("width", half * 2.0)
        .set("height", radius * 2.0)
        .set("rx", radius)
}

fn segment(from: Point, to: Point, class: &str) -> Line {
    Line::new()
        .set("class", class)
        .set("x1", from.x)
        .set("y1", from.y)
        .set("x2", to.x)
        .set("y2", to.y)
}
