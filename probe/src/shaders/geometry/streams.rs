//! The probe's geometry shaders that emit to several vertex streams, with the formulas of
//! `shaders/probe/streams.glsl`.

use vkxfb_rewriter::lower::GeometryInput;

use super::{Emitted, EmittedStrips, EmittedVertex, ProbeGeometry, Records, Strips};
use crate::shaders::FIRST_VERTEX;
use crate::shaders::{mix32, put, tag};

/// The shaders in the plan. A quick run captures only the first one for each number of streams:
/// triangle strips in two streams, and points in four.
pub(super) const ALL: [ProbeGeometry; 3] = [
    to_streams(Emitted::Triangles, 2),
    to_streams(Emitted::Points, 4),
    to_streams(Emitted::Lines, 4),
];

/// The number of vertices of each strip. The last strip for a point may be shorter.
const STRIP: u32 = 3;

const fn to_streams(output: Emitted, count: u32) -> ProbeGeometry {
    ProbeGeometry { input: GeometryInput::Points, output, strips: Strips::Streams(count) }
}

/// The name of the compiled module for this number of streams, and its bytes.
pub(super) const fn file(count: u32) -> (&'static str, &'static [u8]) {
    match count {
        2 => ("two_streams", include_bytes!("../../../../shaders/probe/two_streams.spv")),
        _ => ("four_streams", include_bytes!("../../../../shaders/probe/four_streams.spv")),
    }
}

/// Adds the strips that are emitted to a stream for `points` points.
pub(super) fn emit(stream: u32, points: u64, strips: &mut EmittedStrips) {
    for point in 0..u32::try_from(points).unwrap_or(u32::MAX) {
        let count = 2 + (point + stream) % 5;
        for start in (0..count).step_by(STRIP as usize) {
            let end = count.min(start + STRIP);
            strips.add((start..end).map(|n| [FIRST_VERTEX + point, point, n, 0]));
        }
    }
}

/// Appends the record of a vertex to the records of the stream's buffer.
pub(super) fn write(stream: u32, instance: u32, emitted: EmittedVertex, records: &mut Records) {
    let [vertex, point, n, _] = emitted;
    let mixed = tag(instance, vertex) ^ point << 8 ^ stream << 4 ^ n;
    let gap = 4 * stream as usize;
    let mut record = vec![0; gap + 16];
    put(&mut record, gap, [vertex, point, instance, mix32(mixed)]);
    if let Some(records) = records.get_mut(stream as usize) {
        records.extend(record);
    }
}

#[cfg(test)]
mod tests {
    use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

    use super::*;

    /// The emission of each vertex stream has only the strips of that stream. The expected values
    /// were worked out by hand, for two points, each of which emits 2 to 6 vertices to each stream.
    #[test]
    fn each_stream_has_strips_of_its_own() {
        let geometry = ProbeGeometry::by_name("points_to_triangles_2_streams").unwrap();
        let topology = PrimitiveTopology::PointList;
        let emission = geometry.emission(topology, ProvokingVertex::First, 2, 3);
        // Stream 0 gets a strip of 2 vertices for the first point, and a strip of 3 for the second. Stream 1 gets a
        // strip of 3 for the first point, and strips of 3 and 1 for the second.
        let of_stream = |stream| {
            let emission = &emission[&stream];
            (emission.vertex_count, emission.vertices.as_slice(), emission.primitive_count())
        };
        assert_eq!(of_stream(0), (5, &[2, 3, 4][..], 3));
        assert_eq!(of_stream(1), (7, &[0, 1, 2, 3, 4, 5][..], 6));
        let records = &emission[&1].records;
        assert_eq!(records.each_ref().map(Vec::len), [0, 3 * 7 * 20, 0, 0]);
        // Record 6 is the last one of the first instance.
        let (words, _) = records[1][6 * 20..7 * 20].as_chunks();
        let words: Vec<_> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(words, [0, 5 + 1, 1, 2, mix32(tag(2, 6) ^ 1 << 8 ^ 1 << 4 ^ 3)]);
    }
}
