//! Draws the edges of primitives as SVG.

use vkxfb_probe::picture::{Drawing, wireframe};
use vkxfb_rewriter::topology::PrimitiveTopology;

use super::view::View;
use crate::capture::output::Shown;
use crate::capture::records::Column;
use crate::capture::space::Axes;

/// Draws the primitives so that they fill the picture. In a view from outside, hidden primitives
/// are drawn as well.
pub(super) fn draw(
    shown: &Shown<'_>,
    place: &Column,
    (view, axes): (View, Axes),
    title: &str,
) -> String {
    let records = shown.records;
    let per_primitive = shown.topology.vertices_per_primitive() as usize;
    let places: Vec<_> = (0..records.vertices)
        .map(|vertex| flat(records.place(vertex, place), view, axes))
        .collect();
    let primitives = places.chunks(per_primitive).map(<[_]>::to_vec).collect();
    wireframe(&Drawing {
        title: title.to_owned(),
        note: note(shown.topology, place, shown),
        primitives,
    })
}

fn note(topology: PrimitiveTopology, place: &Column, shown: &Shown<'_>) -> String {
    let Shown { backend, primitives_written, .. } = shown;
    format!("{}, {topology}, {primitives_written} primitives captured by {backend}", place.name)
}

/// Returns the position of a vertex in the picture, as distances to the right and downwards. `None` if the vertex is
/// behind the viewer, or if a number is not finite.
fn flat(place: [f64; 4], view: View, axes: Axes) -> Option<[f64; 2]> {
    let seen = match view {
        // In Vulkan's clip space y points downwards, as it does in SVG.
        View::Shader => {
            let [x, y, _, w] = place;
            (w > 0.0).then(|| [x / w, y / w])?
        }
        View::From { .. } => {
            let [right, down, _] = view.seen(place, axes)?;
            [right, down]
        }
    };
    seen.iter().all(|number| number.is_finite()).then_some(seen)
}
