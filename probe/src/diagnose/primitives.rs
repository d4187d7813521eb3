//! Finds differences in the records of the primitives that a draw writes.

use crate::diagnose::decode::Capture;
use crate::diagnose::faults::{Fault, Finding, PrimitiveDiff, Slot, VertexRef};

/// The maximum number of primitives whose vertices are determined. Further primitives that differ are only counted, so
/// that diagnosing a completely wrong capture does not take long.
const TRACED: u64 = 1 << 16;

/// A sequence of primitives is recognized as displaced if it moved by up to this many primitives,
/// or by a whole instance.
const DISPLACED: u64 = 8;

/// The maximum number of primitives that are shown around a fault.
const SHOWN: usize = 8;

#[derive(Default)]
pub(super) struct Scan {
    /// The first finding of each kind of fault.
    pub findings: Vec<Finding>,
    /// The number of primitives that differ. Primitives that are rotated in a way that Vulkan allows are not counted.
    pub differing: u64,
    /// The number of primitives that are rotated in a way that Vulkan allows.
    pub rotated: u64,
    pub first_rotation: Option<PrimitiveDiff>,
}

pub(super) fn scan(capture: &Capture<'_>) -> Scan {
    let mut scan = Scan::default();
    if capture.buffers.is_empty() {
        return scan;
    }
    let mut displaced = false;
    for primitive in 0..capture.expectation.primitives_written {
        let expected = capture.expected(primitive);
        if holds(capture, primitive, &expected) {
            continue;
        }
        // Rotations that Vulkan allows are recognized for all primitives, even beyond the first [`TRACED`].
        if let Some(rotation) = legal_rotation(capture, primitive, &expected) {
            scan.rotated += 1;
            scan.first_rotation.get_or_insert(rotation);
            continue;
        }
        scan.differing += 1;
        if displaced || scan.differing > TRACED {
            continue;
        }
        let mut diff = trace(capture, primitive, expected);
        let mut fault = diff.fault.unwrap_or(Fault::WrongBytes);
        let mut note = describe(&diff, fault);
        if fault == Fault::WrongVertex
            && scan.differing == 1
            && let Some((named, text)) = displacement(capture, primitive)
        {
            (fault, note) = (named, Some(text));
            diff.fault = Some(named);
            displaced = true;
        }
        if scan.findings.iter().all(|f| f.fault != fault) {
            let (buffer, byte_offset) = first_wrong_byte(capture, primitive, &diff);
            scan.findings.push(Finding {
                fault,
                place: primitive,
                first: Some(diff),
                buffer,
                byte_offset,
                note,
            });
        }
    }
    scan
}

/// Returns up to `limit` primitives as they should be captured and as they were captured, right or wrong. The first is
/// primitive `first`, counted over all instances.
pub(super) fn excerpt(capture: &Capture<'_>, first: u64, limit: usize) -> Vec<PrimitiveDiff> {
    (first..capture.expectation.primitives_written)
        .take(limit)
        .map(|primitive| {
            let expected = capture.expected(primitive);
            let mut diff = trace(capture, primitive, expected);
            if !capture.expectation.preserves_provoking_vertex
                && diff.fault == Some(Fault::Rotation)
            {
                diff.fault = None;
            }
            diff
        })
        .collect()
}

/// Returns the primitives to show for a finding (a fault that was found in a capture). `place` is the number of the
/// finding's primitive, counted over all instances. The returned primitives are of the same instance, and the first has
/// an even number.
pub(super) fn around(
    capture: &Capture<'_>,
    place: u64,
    finding: Option<&PrimitiveDiff>,
) -> Vec<PrimitiveDiff> {
    let (instance, primitive) = capture.locate(place);
    let back = primitive - primitive.saturating_sub(2) / 2 * 2;
    let mut shown = excerpt(capture, place - back, SHOWN);
    shown.retain(|diff| diff.instance == instance);
    // The comparison in `finding` replaces the new comparison of the same primitive, because its fault may be more
    // exact: if the primitive moved, the fault in `finding` is a missing or an extra primitive, and that of the new
    // comparison is a wrong vertex. `shown` contains only primitives that are expected, so an extra primitive after the
    // last of these is added.
    if let Some(finding) = finding {
        match shown.iter_mut().find(|diff| diff.primitive == finding.primitive) {
            Some(diff) => diff.clone_from(finding),
            None => shown.push(finding.clone()),
        }
    }
    shown
}

/// Whether the records of a primitive contain these vertices, in this order.
pub(super) fn holds(capture: &Capture<'_>, primitive: u64, vertices: &[VertexRef]) -> bool {
    let first = primitive * capture.vertices_per_primitive();
    (first..).zip(vertices).all(|(record, vertex)| capture.holds(record, *vertex))
}

/// Determines which vertices the records of a primitive contain, and what is wrong with them.
pub(super) fn trace(
    capture: &Capture<'_>,
    primitive: u64,
    expected: Vec<VertexRef>,
) -> PrimitiveDiff {
    let m = capture.vertices_per_primitive();
    let captured: Vec<_> = (primitive * m..(primitive + 1) * m)
        .enumerate()
        .map(|(slot, record)| capture.decode(record, expected.get(slot).copied(), &expected))
        .collect();
    let (instance, primitive) = capture.locate(primitive);
    let fault = classify(&expected, &captured);
    PrimitiveDiff { instance, primitive, expected, captured, fault }
}

fn legal_rotation(
    capture: &Capture<'_>,
    primitive: u64,
    expected: &[VertexRef],
) -> Option<PrimitiveDiff> {
    if capture.expectation.preserves_provoking_vertex || expected.len() < 3 {
        return None;
    }
    let rotated = (1..expected.len()).find_map(|by| {
        let mut rotated = expected.to_vec();
        rotated.rotate_left(by);
        holds(capture, primitive, &rotated).then_some(rotated)
    })?;
    let (instance, primitive) = capture.locate(primitive);
    Some(PrimitiveDiff {
        instance,
        primitive,
        expected: expected.to_vec(),
        captured: rotated.into_iter().map(Slot::Vertex).collect(),
        fault: None,
    })
}

fn classify(expected: &[VertexRef], captured: &[Slot]) -> Option<Fault> {
    if expected.is_empty() {
        return Some(Fault::ExtraPrimitive);
    }
    let untouched = captured.iter().filter(|s| **s == Slot::Untouched).count();
    if untouched == captured.len() {
        return Some(Fault::MissingPrimitive);
    }
    if captured.iter().any(|s| matches!(s, Slot::Torn(_))) {
        return Some(Fault::TornBuffers);
    }
    if captured.iter().any(|s| matches!(s, Slot::Unknown { .. })) {
        return Some(Fault::WrongBytes);
    }
    if untouched > 0 {
        return Some(Fault::MissingVertex);
    }
    let vertices: Vec<_> = captured.iter().filter_map(Slot::vertex).collect();
    if vertices == expected {
        return None;
    }
    let rotates_to = |goal: &[VertexRef]| {
        (0..vertices.len()).any(|by| {
            let (head, tail) = vertices.split_at(by);
            tail.iter().chain(head).eq(goal)
        })
    };
    let reversed: Vec<_> = expected.iter().rev().copied().collect();
    // Only triangles can be rotated. If the two vertices of a line are in the wrong order, they are swapped.
    if expected.len() > 2 && rotates_to(expected) {
        Some(Fault::Rotation)
    } else if rotates_to(&reversed) {
        Some(Fault::FlippedWinding)
    } else {
        Some(Fault::WrongVertex)
    }
}

/// Determines whether the primitives from `first` on are the expected ones, but moved up, to earlier records, because
/// some primitives are missing, or down, to later records, because some were inserted. If so, returns the fault and a
/// description of the move, otherwise `None`.
fn displacement(capture: &Capture<'_>, first: u64) -> Option<(Fault, String)> {
    let (written, needed) = (capture.expectation.primitives_written, capture.primitives_needed());
    let m = capture.vertices_per_primitive();
    let steps = || (1..=DISPLACED).chain([capture.primitives_per_instance()]);
    let count = |by: u64| match by {
        1 => "one primitive is".to_owned(),
        _ => format!("{by} primitives are"),
    };
    for by in steps() {
        let moved_up = first + by < needed
            && (first..written).all(|p| {
                if p + by < needed {
                    holds(capture, p, &capture.expected(p + by))
                } else {
                    (p * m..(p + 1) * m).all(|record| capture.is_untouched(record))
                }
            });
        if moved_up {
            let text = format!("{} left out, and those behind moved up", count(by));
            return Some((Fault::MissingPrimitive, text));
        }
    }
    // If primitives moved down, the last ones must be written after the expected end, unless they
    // do not fit into the buffers.
    let pushed_out =
        !capture.has_room_for((written + 1) * m - 1) || !capture.is_untouched(written * m);
    for by in steps() {
        let moved_down = first + by < written
            && (first + by..written).all(|p| holds(capture, p, &capture.expected(p - by)));
        if moved_down && pushed_out {
            let text = format!("{} pushed in, and those behind moved down", count(by));
            return Some((Fault::ExtraPrimitive, text));
        }
    }
    None
}

fn first_wrong_byte(capture: &Capture<'_>, primitive: u64, diff: &PrimitiveDiff) -> (u32, i64) {
    let first = primitive * capture.vertices_per_primitive();
    (first..)
        .zip(&diff.expected)
        .find(|(record, vertex)| !capture.holds(*record, **vertex))
        .map_or((0, 0), |(record, vertex)| capture.first_wrong_byte(record, Some(*vertex)))
}

fn describe(diff: &PrimitiveDiff, fault: Fault) -> Option<String> {
    match fault {
        Fault::FlippedWinding if diff.expected.len() == 2 => {
            Some("the line is reversed".to_owned())
        }
        Fault::MissingPrimitive => Some("its records were never written".to_owned()),
        Fault::WrongBytes => {
            diff.captured.iter().enumerate().find_map(|(slot, captured)| match captured {
                Slot::Unknown { wrong_outputs } => {
                    let vertex = diff.expected.get(slot).map_or(0, |v| v.vertex);
                    Some(format!("{} of v{vertex} differs", list(wrong_outputs)))
                }
                _ => None,
            })
        }
        Fault::TornBuffers => diff.captured.iter().find_map(|captured| match captured {
            Slot::Torn(buffers) => {
                let parts: Vec<_> = buffers
                    .iter()
                    .map(|(buffer, vertex)| match vertex {
                        Some(v) => format!("buffer {buffer} has v{}", v.vertex),
                        None => format!("buffer {buffer} was never written"),
                    })
                    .collect();
                Some(parts.join(", "))
            }
            _ => None,
        }),
        _ => None,
    }
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 4;
    match names.len() {
        0 => "no output".to_owned(),
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}
