//! Compares a capture on another backend with the driver's own capture.

mod sets;

use super::device::Taken;
use super::plan::CapturePlan;
use super::records::Number;

pub(super) use self::sets::of_patches;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Compared {
    /// All bytes are equal.
    Equal,
    /// The same primitives were captured in an order that the driver may choose, with the differences that the text
    /// names.
    AsSets(String),
    /// The captures differ: a description of the first difference.
    Different(String),
}

/// Compares the capture `taken` with the driver's own capture `native`, byte by byte.
pub(super) fn in_order(
    plan: &CapturePlan,
    taken: &Taken,
    native: &Taken,
    per_primitive: u32,
) -> Compared {
    match difference(plan, taken, native, per_primitive) {
        Some(difference) => Compared::Different(difference),
        None => Compared::Equal,
    }
}

/// Describes the first difference between the capture `taken` and the driver's own capture `native`. `None` if they are
/// equal.
fn difference(
    plan: &CapturePlan,
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
    let differs = |vertex: usize| {
        plan.columns.iter().find_map(|column| {
            // The bits are compared, so that a NaN equals a NaN with the same bits.
            (ours.bytes(vertex, column) != theirs.bytes(vertex, column)).then_some((vertex, column))
        })
    };
    let different: Vec<_> = (0..ours.vertices).filter_map(differs).collect();
    let (vertex, column) = *different.first()?;
    let (own, other) = (ours.numbers(vertex, column), theirs.numbers(vertex, column));
    let list = |to_text: fn(&Number) -> String, numbers: &[Number]| {
        numbers.iter().map(to_text).collect::<Vec<_>>().join(" ")
    };
    let (mut own_text, mut other_text) =
        (list(Number::to_string, &own), list(Number::to_string, &other));
    if own_text == other_text {
        (own_text, other_text) = (list(Number::bits, &own), list(Number::bits, &other));
    }
    let name = &column.name;
    let count = different.len();
    let vertices = ours.vertices;
    Some(format!(
        "{count} of {vertices} vertices, the first is vertex {vertex}, whose {name} is {other_text} and not {own_text}"
    ))
}

#[cfg(test)]
mod tests {
    use vkxfb_rewriter::capture::{CapturedOutput, Layout};
    use vkxfb_rewriter::spirv::Id;
    use vkxfb_rewriter::spirv::NumericClass;

    use super::*;
    use crate::capture::records::columns;

    #[test]
    fn numbers_that_are_none_differ_in_their_bits() {
        let output = CapturedOutput {
            buffer: 0,
            offset: 0,
            components: 1,
            class: NumericClass::Float,
            bits: 32,
            variable: Id(1),
            path: Vec::new(),
            name: Some("depth".to_owned()),
            location: Some(0),
            component: 0,
        };
        let layout = Layout {
            strides: [Some(4), None, None, None],
            streams: [0; 4],
            outputs: vec![output],
            varyings: Vec::new(),
        };
        let columns = columns(&layout, &[]);
        let plan = CapturePlan { layout, stream: 0, other_streams: Vec::new(), columns };
        let taken = |bits: u32| Taken {
            buffers: [bits.to_le_bytes().to_vec(), Vec::new(), Vec::new(), Vec::new()],
            primitives_written: 1,
            primitives_needed: 1,
        };
        let (one, other) = (taken(0x7fc0_0000), taken(0x7fc0_0001));
        assert_eq!(in_order(&plan, &one, &one, 1), Compared::Equal);
        let found = difference(&plan, &one, &other, 1).unwrap();
        assert!(found.ends_with("depth is 0x7fc00001 and not 0x7fc00000"), "{found}");
    }
}
