//! The probe's tessellation shaders, with the formulas of `shaders/probe/patch.tesc` and `shaders/probe/evaluate.glsl`.

use vkxfb_rewriter::lower::GeometryInput;
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::tessellator::{Domain, ONE, Spacing, Tessellator};

use super::{Emitted, EmittedStrips, EmittedVertex, ProbeGeometry, Records, STRIDES, Strips};
use crate::diagnose::Patch;
use crate::shaders::FIRST_VERTEX;
use crate::shaders::{mix32, put, tag};

/// The number of control points of a patch in the probe's draws.
pub const PATCH_CONTROL_POINTS: u32 = 3;

/// The number of output control points of the control shader.
const PASSED: u32 = 2;

/// The shaders in the plan. A quick run captures only the first one.
pub(super) const ALL: [ProbeGeometry; 3] =
    [divided(Emitted::Triangles), divided(Emitted::Lines), divided(Emitted::Points)];

const fn divided(output: Emitted) -> ProbeGeometry {
    ProbeGeometry { input: GeometryInput::Patches, output, strips: Strips::Divided }
}

/// The name of the compiled module of an evaluation shader, and its bytes.
pub(super) const fn file(output: Emitted) -> (&'static str, &'static [u8]) {
    match output {
        Emitted::Points => {
            ("patch_points", include_bytes!("../../../../shaders/probe/patch_points.spv"))
        }
        Emitted::Lines => {
            ("patch_lines", include_bytes!("../../../../shaders/probe/patch_lines.spv"))
        }
        Emitted::Triangles => {
            ("patch_triangles", include_bytes!("../../../../shaders/probe/patch_triangles.spv"))
        }
    }
}

/// The name of the compiled module of the control shader, and its bytes.
pub(super) const CONTROL: (&str, &[u8]) =
    ("patch", include_bytes!("../../../../shaders/probe/patch.spv"));

pub(super) const fn control_constants(
    output: Emitted,
) -> &'static [SpecializationConstant<'static>] {
    match output {
        Emitted::Triangles => &[SpecializationConstant { constant_id: 0, data: &[0; 4] }],
        Emitted::Lines | Emitted::Points => {
            &[SpecializationConstant { constant_id: 0, data: &[1, 0, 0, 0] }]
        }
    }
}

/// The largest number of primitives that a patch is divided into: two triangles for each of 4 * 4 quads.
pub(super) const MOST_PRIMITIVES: u64 = 2 * 4 * 4;

/// The number of bits of a coordinate in a record.
const COORDINATE_BITS: u32 = 11;

/// How the evaluation shader declares that patches are divided. In Vulkan, the domain's origin is at the upper left
/// unless a pipeline says otherwise: v points down, so that what is counter-clockwise there is clockwise where v points
/// up.
pub(super) const fn tessellator(output: Emitted) -> Tessellator {
    let (domain, points) = match output {
        Emitted::Points => (Domain::Isolines, true),
        Emitted::Lines => (Domain::Isolines, false),
        Emitted::Triangles => (Domain::Quads, false),
    };
    Tessellator { domain, spacing: Spacing::Equal, flipped: true, points }
}

/// Divides a patch. Returns its vertices, and the vertices of each of its primitives, one primitive after the other, in
/// the order of the library's own tessellator. They are indices of [`Patch::places`].
fn divide(output: Emitted, patch: u32) -> (Patch, Vec<u32>) {
    let n = if patch % 5 == 3 { 0.0 } else { (1 + patch % 4) as f32 };
    let along = match output {
        Emitted::Points | Emitted::Lines => (1 + patch % 3) as f32,
        Emitted::Triangles => n,
    };
    let tessellator = tessellator(output);
    let divided = tessellator.divide([n, along, n, n], [n, n]);
    let slots = tessellator.primitive_vertices();
    let all = (0..divided.primitive_count()).flat_map(|p| (0..slots).map(move |slot| (p, slot)));
    let mut places: Vec<[u32; 2]> = Vec::new();
    let mut vertices = Vec::new();
    for (primitive, slot) in all {
        let units = |x: u32| (x as f32 / ONE as f32 * Patch::UNITS as f32 + 0.5) as u32;
        let [u, v, _] = divided.vertex(primitive, slot).map(units);
        let known = places.iter().position(|place| *place == [u, v]);
        vertices.push(known.unwrap_or(places.len()) as u32);
        if known.is_none() {
            places.push([u, v]);
        }
    }
    (Patch { places, primitives: divided.primitive_count() }, vertices)
}

/// Returns the patches of a draw that has any number of them.
pub(crate) fn patches(output: Emitted) -> impl Iterator<Item = Patch> {
    (0..).map(move |patch| divide(output, patch).0)
}

/// Adds the primitives into which the patches of a draw with `vertices` vertices are divided, and returns the patches.
pub(super) fn emit(output: Emitted, vertices: u32, emitted: &mut EmittedStrips) -> Vec<Patch> {
    let patches = 0..vertices / PATCH_CONTROL_POINTS;
    let emit = |patch| {
        let first = FIRST_VERTEX + patch * PATCH_CONTROL_POINTS;
        let last = first + PATCH_CONTROL_POINTS - 1;
        let (divided, primitives) = divide(output, patch);
        let vertex = |[u, v]: &[u32; 2]| [last, patch, u | v << COORDINATE_BITS, first];
        emitted.add_primitives(divided.places.iter().map(vertex), &primitives);
        divided
    };
    patches.map(emit).collect()
}

/// Appends the record of a vertex to the records of each buffer.
pub(super) fn write(instance: u32, emitted: EmittedVertex, records: &mut Records) {
    let [last, patch, place, first] = emitted;
    let mut record = [0; STRIDES[0]];
    put(&mut record, 4, emitted);
    records[0].extend(record);
    let mixed = mix32(place) ^ tag(instance, last) ^ patch << 8 ^ PASSED << 4 ^ first;
    let mut record = [0; STRIDES[1]];
    put(&mut record, 0, [instance, mix32(mixed)]);
    records[1].extend(record);
}

#[cfg(test)]
mod tests {
    use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

    use super::*;

    /// A vertex is captured with its place in the domain, and is the same in all primitives of its patch. The expected
    /// values were worked out by hand, for the patches 0 to 4 of two instances; one vertex of each instance belongs to
    /// no patch.
    #[test]
    fn the_vertices_of_a_patch_have_places() {
        let emitted = |output| {
            let shader = divided(output);
            let draw = (PrimitiveTopology::PatchList, ProvokingVertex::First);
            shader.emission(draw.0, draw.1, 16, 2)[&0].clone()
        };
        let lines = emitted(Emitted::Lines);
        // The patches are divided into 1, 2, 3, 0 and 1 lines of 1, 2, 3, 1 and 2 segments.
        assert_eq!((lines.vertex_count, lines.primitive_count()), (2 + 6 + 12 + 3, 2 * 16));
        assert_eq!(lines.vertices[..10], [0, 1, 2, 3, 3, 4, 5, 6, 6, 7]);
        let (words, _) = lines.records[0].as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        // The fourth vertex of patch 1 is the first of its second line, and so on.
        let (half, whole) = (768, 1536);
        assert_eq!(words[2 * 6..][..6], [0, 5 + 5, 1, 0, 5 + 3, 0]);
        assert_eq!(words[4 * 6..][..6], [0, 5 + 5, 1, whole, 5 + 3, 0]);
        assert_eq!(words[6 * 6..][..6], [0, 5 + 5, 1, half | half << 11, 5 + 3, 0]);
        assert_eq!(emitted(Emitted::Points).primitive_count(), 2 * (2 + 6 + 12 + 3));
        let triangles = emitted(Emitted::Triangles);
        assert_eq!(triangles.primitive_count(), 2 * 2 * (1 + 4 + 9 + 1));
        assert_eq!(triangles.vertex_count, 4 + 9 + 16 + 4);
        // All triangles are counter-clockwise as seen: v points down.
        let places: Vec<_> = triangles.patches.iter().flat_map(|patch| &patch.places).collect();
        for triangle in triangles.vertices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|slot| places[triangle[slot] as usize].map(i64::from));
            let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
            assert!(area < 0, "{a:?} {b:?} {c:?}");
        }
    }
}
