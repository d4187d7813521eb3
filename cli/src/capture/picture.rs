//! A picture of what was captured.

use std::path::Path;

use anyhow::{Context, Result, bail};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::picture::{Drawing, wireframe};

use super::output::Shown;
use super::records::{Column, Number, Records, position};

/// Checks that a file is of the kind that is drawn.
pub(super) fn check_name(file: &Path) -> Result<()> {
    let extension = file.extension().and_then(|extension| extension.to_str());
    match extension.is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        true => Ok(()),
        false => bail!("{}: pictures are .svg", file.display()),
    }
}

/// Checks that these columns can be drawn.
pub(super) fn check(columns: &[Column]) -> Result<()> {
    place_of(columns).map(drop)
}

/// The column that says where vertices are.
fn place_of(columns: &[Column]) -> Result<&Column> {
    position(columns).context(
        "nothing that is captured is a position: the built-in, or a vector of three or four floats",
    )
}

/// The primitives, seen from the front: what the built-in position has is divided by its last component, of other
/// places the third one is left away.
pub(super) fn draw(shown: &Shown<'_>, title: &str) -> Result<String> {
    let records = shown.records;
    let position = place_of(records.columns)?;
    let per_primitive = shown.topology.vertices_per_primitive() as usize;
    let places: Vec<_> = (0..records.vertices).map(|v| place(records, v, position)).collect();
    let primitives = places.chunks(per_primitive).map(<[_]>::to_vec).collect();
    Ok(wireframe(&Drawing {
        title: title.to_owned(),
        note: note(shown.topology, position, shown),
        primitives,
    }))
}

fn note(topology: PrimitiveTopology, position: &Column, shown: &Shown<'_>) -> String {
    let Shown { backend, primitives_written, .. } = shown;
    format!("{}, {topology}, {primitives_written} primitives captured by {backend}", position.name)
}

/// Where a vertex is seen, to the right and downwards; nowhere behind the viewer, and where a number is none.
fn place(records: &Records<'_>, vertex: usize, column: &Column) -> Option<[f64; 2]> {
    let numbers = records.numbers(vertex, column).into_iter().map(Number::to_f64);
    let numbers: Vec<f64> = numbers.collect();
    let place = match numbers[..] {
        // In Vulkan y points downwards on the screen already.
        [x, y, _, w] if column.is_position => (w > 0.0).then(|| [x / w, y / w])?,
        [x, y, ..] => [x, -y],
        _ => return None,
    };
    place.iter().all(|number| number.is_finite()).then_some(place)
}
