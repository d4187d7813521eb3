//! What was captured, beside what the driver captures.

use super::device::Taken;
use super::plan::Plan;
use super::records::Number;

/// What of a capture the driver has otherwise, in words.
pub(super) fn difference(
    plan: &Plan,
    taken: &Taken,
    native: &Taken,
    per_primitive: u32,
) -> Option<String> {
    let (ours, theirs) = (taken.primitives_written, native.primitives_written);
    if ours != theirs {
        return Some(format!("{theirs} primitives, not {ours}"));
    }
    let ours = plan.records(taken, per_primitive);
    let theirs = plan.records(native, per_primitive);
    let bits = |numbers: &[Number]| -> Vec<String> {
        numbers.iter().map(|number| format!("{number:?}")).collect()
    };
    let differs = |vertex: usize| {
        plan.columns.iter().find_map(|column| {
            let (a, b) = (ours.numbers(vertex, column), theirs.numbers(vertex, column));
            (bits(&a) != bits(&b)).then_some((vertex, &column.name, a, b))
        })
    };
    let different: Vec<_> = (0..ours.vertices).filter_map(differs).collect();
    let (vertex, name, own, other) = different.first()?;
    let list =
        |numbers: &[Number]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let count = different.len();
    let vertices = ours.vertices;
    Some(format!(
        "{count} of {vertices} vertices, the first is vertex {vertex}, whose {name} is {} and not {}",
        list(other),
        list(own)
    ))
}
