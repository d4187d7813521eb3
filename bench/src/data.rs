//! The contents of vertex buffers, the shaders, and the records that they make of the vertices.

#![forbid(unsafe_code)]

use spirv::BuiltIn;
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, MAX_XFB_BUFFERS, Selector};
use vkxfb_rewriter::spirv::{ParseError, words_from_bytes};

use crate::case::{Case, Division, Emission, Record};
pub use crate::vertices::Vertices;
use crate::vertices::{FORMATS, model, position};

/// The ID of the specialization constant by which shaders differ, so that drivers do not find them
/// in a cache.
pub const SALT: u32 = 0;

/// Returns the SPIR-V of the vertex shader that captures records of this size.
///
/// # Errors
/// Only if the shader is invalid, which would be a defect of this crate.
pub fn shader(vertices: Vertices, record: Record) -> Result<Vec<u32>, ParseError> {
    words_from_bytes(match (vertices, record.bytes()) {
        (Vertices::Formats, _) => include_bytes!("../../shaders/bench/formats.spv"),
        (_, 16) => include_bytes!("../../shaders/bench/record_16.spv"),
        (_, 32) => include_bytes!("../../shaders/bench/record_32.spv"),
        (_, 64) => include_bytes!("../../shaders/bench/record_64.spv"),
        _ => include_bytes!("../../shaders/bench/record_256.spv"),
    })
}

/// Returns the SPIR-V of a geometry shader. The vertex shader for records of 32 bytes precedes it.
///
/// # Errors
/// Only if the shader is invalid, which would be a defect of this crate.
pub fn geometry_shader(emission: Emission) -> Result<Vec<u32>, ParseError> {
    words_from_bytes(match emission {
        Emission::PassThrough => include_bytes!("../../shaders/bench/pass_through.spv"),
        Emission::Cull => include_bytes!("../../shaders/bench/cull.spv"),
        Emission::Amplify => include_bytes!("../../shaders/bench/amplify.spv"),
    })
}

/// Returns the SPIR-V of the tessellation control shader and of the tessellation evaluation shader.
/// The vertex shader for records of 32 bytes precedes them. The levels are
/// [constants](level_constants).
///
/// # Errors
/// Only if a shader is invalid, which would be a defect of this crate.
pub fn tessellation_shaders() -> Result<[Vec<u32>; 2], ParseError> {
    Ok([
        words_from_bytes(include_bytes!("../../shaders/bench/patch_control.spv"))?,
        words_from_bytes(include_bytes!("../../shaders/bench/patch_evaluation.spv"))?,
    ])
}

/// Returns the IDs and the values of the control shader's specialization constants.
pub fn level_constants(division: Division) -> [(u32, [u8; 4]); 2] {
    let [wide, high] = division.levels().map(|level| (level as f32).to_le_bytes());
    [(1, wide), (2, high)]
}

/// Returns the list of outputs to capture from the last of the shaders: `gl_Position`, and
/// then the outputs with locations.
pub fn capture_list(record: Record) -> CaptureList {
    let capture = |quad: u32| {
        let buffer = (0..record.buffers()).rfind(|b| record.first_quad(*b) <= quad).unwrap_or(0);
        let selector = match quad {
            0 => Selector::BuiltIn { built_in: BuiltIn::Position, component: 0, components: 4 },
            _ => Selector::Location { location: quad - 1, component: 0, components: 4 },
        };
        CaptureEntry::new(selector, buffer, (quad - record.first_quad(buffer)) * 16)
    };
    let mut strides = [None; MAX_XFB_BUFFERS];
    for (buffer, stride) in (0..record.buffers()).zip(&mut strides) {
        *stride = Some(record.stride(buffer));
    }
    CaptureList::default()
        .captures((0..record.bytes() / 16).map(capture).collect())
        .strides(strides)
}

/// Writes the part of a vertex's record that is captured to `buffer`.
pub fn write_record(case: &Case, buffer: u32, vertex: u32, bytes: &mut [u8]) {
    let first = case.record.first_quad(buffer);
    let captured: [[u32; 4]; 4] = match case.workload.vertices() {
        Vertices::Formats => model_record(vertex),
        Vertices::Positions => Default::default(),
    };
    let [x, y, z, w] = position(vertex);
    for (quad, bytes) in (first..).zip(bytes.chunks_exact_mut(16)) {
        let value = match (case.workload.vertices(), quad) {
            (Vertices::Formats, quad) => captured.get(quad as usize).copied().unwrap_or_default(),
            (Vertices::Positions, 0) => [x, y, z, w].map(f32::to_bits),
            (Vertices::Positions, quad) => [y, z, w, x].map(|v| (v + quad as f32).to_bits()),
        };
        for (dword, bytes) in value.into_iter().zip(bytes.as_chunks_mut().0) {
            *bytes = dword.to_le_bytes();
        }
    }
}

/// Returns the outputs of `formats.vert` for a vertex.
fn model_record(vertex: u32) -> [[u32; 4]; 4] {
    let bytes = model(vertex);
    let [position, normal, [u, v, ..], colour] = FORMATS.map(|(format, offset)| {
        let element = bytes.get(offset as usize..).unwrap_or_default();
        format.decode(element).map(|component| component as u32)
    });
    [position, normal, [u, v, v, u], colour]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_values_are_exact_in_every_way_of_computing() {
        for vertex in (0..5000).chain([u32::MAX]) {
            for value in model_record(vertex).into_iter().flatten().map(f32::from_bits) {
                assert_eq!(value.fract(), 0.0);
            }
        }
    }
}
