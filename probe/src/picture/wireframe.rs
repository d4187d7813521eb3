//! Draws primitives at the positions that a shader computed.

use svg::node::element::path::Data;
use svg::node::element::{Group, Path, Style};

use crate::picture::panel::Panel;
use crate::picture::stage::{Placed, Point, Stage};
use crate::picture::{Head, Lettering, Lines, Usage, document};
use vkxfb_rewriter::topology::PrimitiveTopology;

/// Primitives whose vertices have known positions.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// The title above the picture.
    pub title: String,
    /// A note below the title.
    pub note: String,
    /// The positions of the vertices of each primitive, in order. x points to the right and y
    /// downwards. A primitive is not drawn if one of its vertices has no position.
    pub primitives: Vec<Vec<Option<[f64; 2]>>>,
}

/// The style sheet for edges, which is used in addition to [`STYLE`](super::STYLE).
const WIRES: &str = "
.xf-wire { fill: none; stroke-width: 1; stroke-linecap: round; stroke-linejoin: round; }
.xf-dots { stroke-width: 3; }
.xf-expected .xf-wire { stroke: #2563eb; }
.xf-captured .xf-wire { stroke: #0f766e; }
@media (prefers-color-scheme: dark) {
  .xf-expected .xf-wire { stroke: #60a5fa; }
  .xf-captured .xf-wire { stroke: #2dd4bf; }
}";

const DETAILED_KEY: &str = "Vertices are numbered as they were captured. The dot is the one written first, the \
    arrows lead to the next ones.";

/// The size of the picture in user units of SVG.
const WIDTH: f32 = 640.0;
const MAX_HEIGHT: f32 = 640.0;
const MIN_HEIGHT: f32 = 160.0;
const MARGIN: f32 = 36.0;
/// The maximum number of primitives that are drawn with the numbers of their vertices and with
/// arrows.
const DETAILED: usize = 40;
/// The minimum distance between vertices at which their numbers can be read.
const APART: f32 = 26.0;
/// The height of one line of the key below the primitives, in user units.
const KEY_HEIGHT: f32 = 18.0;

/// Draws primitives as a separate SVG file. If there are only a few, their vertices have numbers,
/// and arrows show the order in which vertices are written. Otherwise only the edges are drawn,
/// with a colour for each winding.
pub fn wireframe(drawing: &Drawing) -> String {
    let drawn: Vec<(u64, Vec<[f64; 2]>)> = (0..)
        .zip(&drawing.primitives)
        .filter_map(|(number, places)| {
            Some((number, places.iter().copied().collect::<Option<_>>()?))
        })
        .collect();
    let (height, scale) = fit(&drawn);
    let places = drawn.iter().map(|(number, places)| {
        let places = places.iter().map(|place| scale(*place)).collect();
        (*number, places)
    });
    let places: Vec<(u64, Vec<Point>)> = places.collect();
    let (panel, key) = match detailed(&places, height) {
        Some(panel) => (panel, DETAILED_KEY),
        None => (edges_only(&places), edges_key(&places)),
    };
    let hidden = match drawing.primitives.len() - drawn.len() {
        0 => String::new(),
        hidden => format!("; {hidden} are not seen"),
    };
    let note = format!("{}{hidden}", drawing.note);
    let head = Head::of(&drawing.title, &note, WIDTH);
    let key = Lines::of(Lettering::Note, key, WIDTH - 2.0 * super::MARGIN);
    let below = head.height() + height;
    document(WIDTH, below + key.extra() + KEY_HEIGHT, &drawing.title, Usage::File)
        .add(head.over(panel, head.height()))
        .add(key.draw(super::MARGIN, below + 4.0))
        .to_string()
}

/// Returns the height of the picture, and a function that maps positions of vertices to points in
/// the picture. The positions are scaled and moved so that they fill the picture and are centred.
fn fit(drawn: &[(u64, Vec<[f64; 2]>)]) -> (f32, impl Fn([f64; 2]) -> Point) {
    let all = || drawn.iter().flat_map(|(_, places)| places);
    let range = |axis: usize| {
        let low = all().map(|place| place[axis]).fold(f64::INFINITY, f64::min);
        let high = all().map(|place| place[axis]).fold(f64::NEG_INFINITY, f64::max);
        if low <= high { (low, high) } else { (0.0, 0.0) }
    };
    let (x, y) = (range(0), range(1));
    let (wide, high) = (x.1 - x.0, y.1 - y.0);
    let room = |length: f32| f64::from(length - 2.0 * MARGIN);
    let largest = |size: f64, room: f64| if size > 0.0 { room / size } else { f64::INFINITY };
    let factor = largest(wide, room(WIDTH)).min(largest(high, room(MAX_HEIGHT)));
    let factor = if factor.is_finite() { factor } else { 1.0 };
    let height = ((high * factor) as f32 + 2.0 * MARGIN).clamp(MIN_HEIGHT, MAX_HEIGHT);
    let middle = [x.0 + wide / 2.0, y.0 + high / 2.0];
    let scale = move |[x, y]: [f64; 2]| {
        let to = |from: f64, middle: f64, length: f32| {
            let at = ((from - middle) * factor) as f32 + length / 2.0;
            // The coordinates are rounded to make the file smaller.
            (at * 10.0).round() / 10.0
        };
        Point::new(to(x, middle[0], WIDTH), to(y, middle[1], height))
    };
    (height, scale)
}

/// Draws primitives with numbers and arrows. `None` if there are too many primitives, or if
/// vertices are too close to each other for numbers.
fn detailed(places: &[(u64, Vec<Point>)], height: f32) -> Option<Group> {
    if places.len() > DETAILED {
        return None;
    }
    let mut vertices: Vec<Placed> = Vec::new();
    let mut numbered = Vec::new();
    for (number, places) in places {
        let mut own = Vec::new();
        for (vertex, at) in (number * places.len() as u64..).zip(places) {
            // If several vertices are at the same position, the number of the first one is shown.
            let known = vertices.iter().find(|other| other.at == *at).map(|other| other.vertex);
            if known.is_none() {
                if vertices.iter().any(|other| other.at.distance(*at) < APART) {
                    return None;
                }
                vertices.push(Placed { vertex, at: *at, adjacency: false });
            }
            own.push(known.unwrap_or(vertex));
        }
        numbered.push((*number, own));
    }
    let stage = Stage {
        row: PrimitiveTopology::TriangleList.into(),
        first: 0,
        primitives: numbered.len() as u64,
        height,
        vertices,
        adjacency: Vec::new(),
    };
    let mut panel = Panel::new(&stage, "xf-captured");
    for (number, vertices) in &numbered {
        panel.right(*number, vertices);
    }
    Some(panel.finish())
}

/// Returns the text that explains the two colours of triangles' edges. Empty if there is no
/// triangle, because other primitives have no winding.
fn edges_key(places: &[(u64, Vec<Point>)]) -> &'static str {
    if places.iter().any(|(_, places)| places.len() == 3) {
        "Blue goes counter-clockwise, green clockwise."
    } else {
        ""
    }
}

/// Draws only the edges of primitives, in two colours for the two windings.
fn edges_only(places: &[(u64, Vec<Point>)]) -> Group {
    let mut data = [Data::new(), Data::new()];
    let mut is_used = [false; 2];
    for (_, places) in places {
        let [first, rest @ ..] = &places[..] else { continue };
        let colour = usize::from(is_clockwise(places));
        let mut path = std::mem::take(&mut data[colour]).move_to((first.x, first.y));
        for place in rest {
            path = path.line_to((place.x, place.y));
        }
        // A point is drawn as a line of almost no length, whose round ends make it visible. Some viewers draw
        // nothing for a line of length 0.
        let path = if rest.is_empty() { path.line_by((0.01, 0)) } else { path };
        let path = if rest.len() > 1 { path.close() } else { path };
        (data[colour], is_used[colour]) = (path, true);
    }
    let mut group = Group::new().add(Style::new(WIRES));
    for ((class, data), is_used) in
        ["xf-expected", "xf-captured"].into_iter().zip(data).zip(is_used)
    {
        if is_used {
            let are_points = places.iter().all(|(_, places)| places.len() == 1);
            let class_of_path = if are_points { "xf-wire xf-dots" } else { "xf-wire" };
            let path = Path::new().set("d", data).set("class", class_of_path);
            group = group.add(Group::new().set("class", class).add(path));
        }
    }
    group
}

/// Whether a triangle is clockwise on the screen, where y points downwards. `false` for points and lines.
fn is_clockwise(places: &[Point]) -> bool {
    let [a, b, c] = places else { return false };
    (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y) > 0.0
}
