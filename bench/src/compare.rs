//! Compares captured bytes with those that the model on the CPU expects.

#![forbid(unsafe_code)]

use std::ops::Range;

use crate::case::Case;
use crate::contestant::Contestant;
use crate::data::write_record;
use crate::roofline::{self, Spread};

/// The maximum size in bytes of a buffer that is compared completely.
const WHOLE: u64 = 1 << 20;

/// The number of bytes that are compared at the start, in the middle and at the end of a larger
/// buffer.
const PART: u64 = 1 << 16;

/// The first difference between a capture and the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{by} is wrong at byte {at} of buffer {buffer} ({case}): {found:02x?}, not {expected:02x?}"
)]
pub struct Mismatch {
    /// The contestant that captured.
    pub by: Contestant,
    /// A description of the case.
    pub case: String,
    /// The number of the capture buffer.
    pub buffer: u32,
    /// The offset of the difference in bytes from the start of the buffer.
    pub at: u64,
    /// The expected bytes.
    pub expected: Vec<u8>,
    /// The captured bytes.
    pub found: Vec<u8>,
}

/// Returns the ranges of bytes of a buffer that are compared. They contain only whole primitives.
pub(super) fn parts(case: &Case, buffer: u32) -> Vec<Range<u64>> {
    let size = case.buffer_size(buffer);
    if size <= WHOLE {
        return std::iter::once(0..size).collect();
    }
    let primitive = primitive_size(case, buffer);
    let aligned = |at: u64| at / primitive * primitive;
    let [middle, last] = [aligned(size / 2), aligned(size - PART)];
    vec![0..aligned(PART).max(primitive), middle..middle + aligned(PART).max(primitive), last..size]
}

fn primitive_size(case: &Case, buffer: u32) -> u64 {
    u64::from(case.topology.vertices_per_primitive() * case.record.stride(buffer))
}

/// Compares a part of a buffer with the bytes that a capture should write there.
///
/// `rotated` allows rotated triangles, which native captures may contain on devices that do not
/// guarantee the order of vertices.
pub(super) fn capture(
    case: &Case,
    by: Contestant,
    buffer: u32,
    part: &Range<u64>,
    found: &[u8],
    rotated: bool,
) -> Result<(), Mismatch> {
    let stride = case.record.stride(buffer) as usize;
    let mut expected = vec![0; found.len()];
    let first = part.start / stride as u64;
    for (record, bytes) in (first..).zip(expected.chunks_exact_mut(stride)) {
        write_record(case, buffer, case.vertex_of_record(record), bytes);
    }
    let primitive = primitive_size(case, buffer) as usize;
    let pairs = found.chunks(primitive).zip(expected.chunks_mut(primitive));
    for (number, (found, expected)) in (0u64..).zip(pairs) {
        let turns = if rotated && expected.len() == primitive { primitive / stride } else { 1 };
        let is_equal = (0..turns).any(|_| {
            let equal = found == &*expected;
            if !equal && turns > 1 {
                expected.rotate_left(stride);
            }
            equal
        });
        if !is_equal {
            let at = part.start + number * primitive as u64;
            return Err(first_difference(case, by, buffer, at, found, expected));
        }
    }
    Ok(())
}

/// Compares a part of a buffer with the bytes that the roofline kernel should write there.
pub(super) fn roofline(
    case: &Case,
    spread: Spread,
    buffer: u32,
    part: &Range<u64>,
    found: &[u8],
) -> Result<(), Mismatch> {
    let first = part.start / super::case::QUAD;
    for (quad, found) in (first..).zip(found.chunks_exact(16)) {
        let expected = roofline::expected(case, spread, buffer as usize, quad);
        let expected = expected.map(u32::to_le_bytes);
        if found != expected.as_flattened() {
            let (by, at) = (Contestant::Roofline, quad * 16);
            return Err(first_difference(case, by, buffer, at, found, expected.as_flattened()));
        }
    }
    Ok(())
}

fn first_difference(
    case: &Case,
    by: Contestant,
    buffer: u32,
    start: u64,
    found: &[u8],
    expected: &[u8],
) -> Mismatch {
    let byte = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(0) / 4 * 4;
    let excerpt = |bytes: &[u8]| bytes.iter().skip(byte).take(16).copied().collect();
    Mismatch {
        by,
        case: case.to_string(),
        buffer,
        at: start + byte as u64,
        expected: excerpt(expected),
        found: excerpt(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Record, Workload};
    use vkxfb_rewriter::topology::PrimitiveTopology;

    fn fan(vertices: u32) -> Case {
        let (workload, topology) = (Workload::Draw, PrimitiveTopology::TriangleFan);
        Case { workload, topology, record: Record::new(64, 3).unwrap(), vertices }
    }

    fn captured(case: &Case, buffer: u32) -> Vec<u8> {
        let stride = case.record.stride(buffer) as usize;
        let mut bytes = vec![0; case.buffer_size(buffer) as usize];
        for (record, bytes) in (0..).zip(bytes.chunks_exact_mut(stride)) {
            write_record(case, buffer, case.vertex_of_record(record), bytes);
        }
        bytes
    }

    #[test]
    fn one_byte_is_enough_to_differ() {
        let case = fan(9);
        for buffer in 0..3 {
            let right = captured(&case, buffer);
            let part = 0..right.len() as u64;
            let compare =
                |found: &[u8]| capture(&case, Contestant::Native, buffer, &part, found, true);
            assert_eq!(compare(&right), Ok(()));
            for at in 0..right.len() {
                let mut wrong = right.clone();
                wrong[at] ^= 1;
                assert_eq!(compare(&wrong).unwrap_err().at, at as u64 / 4 * 4, "byte {at}");
            }
        }
    }

    #[test]
    fn rotations_are_right_only_where_they_are_allowed() {
        let case = fan(5);
        let mut bytes = captured(&case, 1);
        let (stride, part) = (case.record.stride(1) as usize, 0..bytes.len() as u64);
        bytes[..3 * stride].rotate_left(stride);
        let compare = |bytes: &[u8], rotated| {
            capture(&case, Contestant::Native, 1, &part, bytes, rotated).is_ok()
        };
        assert!(compare(&bytes, true) && !compare(&bytes, false));
        let [a, b] = [0, stride].map(|at| bytes[at..at + stride].to_vec());
        bytes[..stride].copy_from_slice(&b);
        bytes[stride..2 * stride].copy_from_slice(&a);
        assert!(!compare(&bytes, true), "a flip is no rotation");
    }

    #[test]
    fn large_buffers_are_compared_at_both_ends() {
        let case = fan(1 << 20);
        for buffer in 0..3 {
            let parts = parts(&case, buffer);
            assert_eq!(parts.len(), 3);
            assert_eq!((parts[0].start, parts[2].end), (0, case.buffer_size(buffer)));
            for part in parts {
                let size = primitive_size(&case, buffer);
                assert_eq!((part.start % size, part.end % size), (0, 0));
            }
        }
    }
}
