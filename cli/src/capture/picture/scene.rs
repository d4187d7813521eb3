//! The scene to be rendered: vertices in clip space, with their colours.

use bytemuck::{Pod, Zeroable};
use glam::DVec3;

use super::colours::{BY_SIDE, colours};
use super::normals::normals;
use super::{Picture, View};
use crate::capture::output::Shown;

/// The fraction of the picture's width or height that the primitives fill, if they are seen from the front.
const FILLED: f64 = 0.92;

/// The tangent of half of the assumed field of view. Clip-space x and y are multiplied by it, which
/// approximately restores the shape in front of the viewer.
const LENS: f64 = 0.5;

/// A vertex of the scene, as the shaders read it.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Vertex {
    /// The position in clip space.
    pub(super) place: [f32; 4],
    /// The position without perspective. The axes point to the right, downwards, and away from the viewer. The shading
    /// is computed from it. The fourth component is the relative distance, from 0 for the nearest vertex to 1 for the
    /// farthest.
    pub(super) shape: [f32; 4],
    /// The normal in the space of `shape`, with 1 as the fourth component. Four zeros if the triangle's own normal is
    /// used.
    pub(super) normal: [f32; 4],
    pub(super) colour: [u8; 4],
}

pub(super) struct Scene {
    pub(super) vertices: Vec<Vertex>,
    pub(super) per_primitive: usize,
    /// Remarks for the user: what the colours of the picture stand for, and why triangles are flat.
    pub(super) remarks: Vec<String>,
}

impl Scene {
    /// Makes a scene of the captured primitives. Primitives with numbers that are not finite are
    /// left out.
    pub(super) fn of(shown: &Shown<'_>, picture: &Picture<'_>, view: View<'_>) -> Self {
        let records = shown.records;
        let per_primitive = shown.topology.vertices_per_primitive() as usize;
        let places = (0..records.vertices).map(|vertex| records.place(vertex, view.place));
        let mut seen: Vec<Seen> = if view.is_of_shader() {
            on_screen(places)
        } else {
            from_front(places.map(|place| view.seen(place)))
        };
        set_distances(&mut seen);
        let (colours, remark) = match picture.colour {
            Some(column) => (colours(records, column), None),
            None => (vec![BY_SIDE; records.vertices], Some(no_colour(per_primitive))),
        };
        let mut remarks: Vec<String> = remark.into_iter().collect();
        let normals = match per_primitive {
            3 => {
                let shapes = seen.iter().map(|Seen { shape: [x, y, z, _], .. }| [*x, *y, *z]);
                normals(shown, picture.normal, view, &shapes.collect::<Vec<_>>(), &mut remarks)
            }
            _ => None,
        };
        let normals = normals.unwrap_or_else(|| vec![DVec3::ZERO; records.vertices]);
        let normal = |normal: DVec3| {
            if normal == DVec3::ZERO { [0.0; 4] } else { normal.extend(1.0).as_vec4().to_array() }
        };
        let vertices: Vec<Vertex> = seen
            .iter()
            .zip(colours)
            .zip(normals)
            .map(|((seen, colour), own)| Vertex {
                normal: normal(own),
                place: seen.place.map(|number| number as f32),
                shape: seen.shape.map(|number| number as f32),
                colour,
            })
            .collect();
        let is_drawn = |primitive: &&[Vertex]| {
            let is_finite = |vertex: &Vertex| {
                vertex.place.iter().chain(&vertex.shape).all(|number| number.is_finite())
            };
            primitive.iter().all(is_finite)
        };
        let drawn = vertices.chunks_exact(per_primitive).filter(is_drawn);
        Self { vertices: drawn.flatten().copied().collect(), per_primitive, remarks }
    }
}

/// Says what the colours mean if no output is named as a colour.
fn no_colour(per_primitive: usize) -> String {
    let colours = match per_primitive {
        3 => "counter-clockwise triangles are blue, clockwise ones green",
        _ => "all is blue",
    };
    format!("no output is named as a colour: {colours}")
}

/// A vertex: `place` is its position in clip space. `shape` is its position without perspective, with the distance as
/// the fourth component.
struct Seen {
    place: [f64; 4],
    shape: [f64; 4],
}

/// Returns the vertices as the shader places them on the screen: `places` are positions in clip space.
fn on_screen(places: impl Iterator<Item = [f64; 4]>) -> Vec<Seen> {
    let places: Vec<[f64; 4]> = places.collect();
    let mut depths = places.iter().map(|[.., w]| *w).filter(|w| w.is_finite());
    let first = depths.next();
    // If the fourth component is the same for all vertices, there is no perspective.
    let is_even = depths.all(|w| Some(w) == first);
    let seen = |place: [f64; 4]| {
        let [x, y, z, w] = place;
        let shape = if is_even { [x, y, z, 0.0] } else { [x * LENS, y * LENS, w, 0.0] };
        Seen { place, shape }
    };
    places.into_iter().map(seen).collect()
}

/// Scales positions that are seen from the front so that they fill the picture.
fn from_front(places: impl Iterator<Item = Option<[f64; 3]>>) -> Vec<Seen> {
    let places: Vec<[f64; 3]> = places.map(|place| place.unwrap_or([f64::NAN; 3])).collect();
    let range = |axis: usize| {
        let finite = places.iter().map(|place| place[axis]).filter(|number| number.is_finite());
        let (low, high) = bounds(finite);
        if low <= high { (low, high) } else { (0.0, 0.0) }
    };
    let (x, y, depth) = (range(0), range(1), range(2));
    let largest = (x.1 - x.0).max(y.1 - y.0);
    let scale = if largest > 0.0 { 2.0 * FILLED / largest } else { 1.0 };
    let centred = |value: f64, (low, high): (f64, f64)| (value - low.midpoint(high)) * scale;
    let seen = |[right, down, away]: [f64; 3]| {
        let deep = if depth.1 > depth.0 { (away - depth.0) / (depth.1 - depth.0) } else { 0.5 };
        // The depth does not reach 0 or 1, where vertices might be clipped because of rounding.
        let place = [centred(right, x), centred(down, y), 0.01 + 0.98 * deep, 1.0];
        Seen { place, shape: [right, down, away, 0.0] }
    };
    places.into_iter().map(seen).collect()
}

/// Sets the fourth component of each `shape`: the distance of the vertex, from 0 for the nearest to 1 for the farthest
/// vertex in front of the viewer.
fn set_distances(seen: &mut [Seen]) {
    let before = seen.iter().filter(|seen| seen.place[3] > 0.0).map(|seen| seen.shape[2]);
    let (low, high) = bounds(before.filter(|away| away.is_finite()));
    for Seen { shape, .. } in seen {
        shape[3] = if high > low { ((shape[2] - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
    }
}

fn bounds(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)))
}
