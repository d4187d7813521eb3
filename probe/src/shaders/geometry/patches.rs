//! The probe's tessellation shaders, with the formulas of `shaders/probe/patch.tesc` and `shaders/probe/evaluate.glsl`.

use vkxfb::internal::lower::GeometryInput;
use vkxfb::spirv::specialization::SpecializationConstant;

use super::{Emitted, EmittedStrips, ProbeGeometry, Strips};
use crate::subject::FIRST_VERTEX;

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

/// The number of primitives that a patch is divided into.
const fn primitives(output: Emitted, patch: u32) -> u32 {
    if patch % 5 == 3 {
        return 0;
    }
    let (n, m) = (1 + patch % 4, 1 + patch % 3);
    match output {
        Emitted::Points => n * (m + 1),
        Emitted::Lines => n * m,
        Emitted::Triangles => 2 * n * n,
    }
}

/// Adds the primitives into which the patches of a draw with `vertices` vertices are divided.
pub(super) fn emit(output: Emitted, vertices: u32, emitted: &mut EmittedStrips) {
    for patch in 0..vertices / PATCH_CONTROL_POINTS {
        let first = FIRST_VERTEX + patch * PATCH_CONTROL_POINTS;
        let last = first + PATCH_CONTROL_POINTS - 1;
        emitted.add_alike([last, patch, PASSED, first], primitives(output, patch));
    }
}

#[cfg(test)]
mod tests {
    use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

    use super::*;

    /// All vertices of the primitives that a patch is divided into have the same record. The expected values were
    /// worked out by hand, for the patches 0 to 4 of two instances; one vertex of each instance belongs to no patch.
    #[test]
    fn all_vertices_of_a_patch_are_alike() {
        let emitted = |output| {
            let shader = divided(output);
            let draw = (PrimitiveTopology::PatchList, ProvokingVertex::First);
            shader.emission(draw.0, draw.1, 16, 2)[&0].clone()
        };
        let lines = emitted(Emitted::Lines);
        // The patches are divided into 1, 4, 9, 0 and 2 lines.
        assert_eq!((lines.vertex_count, lines.primitive_count()), (4, 2 * 16));
        assert_eq!(lines.vertices[..10], [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(lines.vertices[30..], [3, 3]);
        let (words, _) = lines.records[0].as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(words[6..12], [0, 5 + 5, 1, 2, 5 + 3, 0]);
        assert_eq!(emitted(Emitted::Points).primitive_count(), 2 * (2 + 6 + 12 + 3));
        assert_eq!(emitted(Emitted::Triangles).primitive_count(), 2 * 2 * (1 + 4 + 9 + 1));
    }
}
