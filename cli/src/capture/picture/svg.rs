//! Draws the edges of primitives as SVG.

use vkxfb_probe::picture::{Drawing, wireframe};
use vkxfb_rewriter::topology::PrimitiveTopology;

use super::View;
use crate::capture::output::Shown;

/// Draws the primitives so that they fill the picture. Hidden primitives are drawn as well.
pub(super) fn draw(shown: &Shown<'_>, view: View<'_>, title: &str) -> String {
    let records = shown.records;
    let per_primitive = shown.topology.vertices_per_primitive() as usize;
    let places: Vec<_> =
        (0..records.vertices).map(|vertex| flat(records.place(vertex, view.place), view)).collect();
    let primitives = places.chunks(per_primitive).map(<[_]>::to_vec).collect();
    wireframe(&Drawing {
        title: title.to_owned(),
        note: note(shown.topology, &view.place.name, shown),
        primitives,
    })
}

fn note(topology: PrimitiveTopology, place: &str, shown: &Shown<'_>) -> String {
    let Shown { backend, primitives_written, .. } = shown;
    format!("{place}, {topology}, {primitives_written} primitives captured by {backend}")
}

/// Returns the position of a vertex in the picture, as distances to the right and downwards. `None` if the vertex is
/// behind the viewer, or if a number is not finite.
fn flat(place: [f64; 4], view: View<'_>) -> Option<[f64; 2]> {
    let [right, down, _] = view.seen(place)?;
    (right.is_finite() && down.is_finite()).then_some([right, down])
}
