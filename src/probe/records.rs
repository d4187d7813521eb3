//! Comparing the records that two backends capture of one shader.
//!
//! The same source owes equal bits as a vertex and as a compute shader for integers and moves, and
//! equality within the precision of the
//! [SPIR-V environment](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html#spirvenv-precision-operation)
//! for the rest of floating point. A probe does not know what a shader computes, so it allows floats a
//! stated distance.

#![forbid(unsafe_code)]

use crate::capture::{Layout, MAX_XFB_BUFFERS};
use crate::vertex_input::NumericClass;

/// Units in the last place by which floats of two backends may differ. The environment's table allows
/// single operations up to 16; shaders chain them.
const MAX_ULP: u64 = 256;

/// Records that differ by more than precision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the points that it captures differ: output {output} of record {record} is {found:#010x}, not {expected:#010x}"
)]
pub struct RecordsDiffer {
    /// Name or id of the output.
    pub output: String,
    /// Number of the record.
    pub record: usize,
    /// The dword that was captured.
    pub found: u32,
    /// The dword of the other backend.
    pub expected: u32,
}

/// Compares records, and says in words where they differ only in precision.
///
/// # Errors
/// [`RecordsDiffer`]
pub fn compare(
    layout: &Layout,
    found: &[Vec<u8>; MAX_XFB_BUFFERS],
    expected: &[Vec<u8>; MAX_XFB_BUFFERS],
) -> Result<Option<String>, RecordsDiffer> {
    let (mut count, mut largest) = (0u64, 0);
    for output in &layout.outputs {
        let buffer = output.buffer as usize;
        let Some(stride) = layout.strides.get(buffer).copied().flatten() else { continue };
        let pairs = found[buffer]
            .chunks_exact(stride as usize)
            .zip(expected[buffer].chunks_exact(stride as usize));
        for (record, (found, expected)) in pairs.enumerate() {
            for component in 0..output.components {
                let at = (output.offset + component * 4) as usize;
                let dword = |bytes: &[u8]| {
                    let word = bytes.get(at..).and_then(|b| b.first_chunk::<4>());
                    word.map_or(0, |word| u32::from_le_bytes(*word))
                };
                let (found, expected) = (dword(found), dword(expected));
                if found == expected {
                    continue;
                }
                let distance = match output.class {
                    NumericClass::Float => ulp_distance(found, expected),
                    NumericClass::Uint | NumericClass::Sint => None,
                };
                match distance {
                    Some(ulp) if ulp <= MAX_ULP => {
                        count += 1;
                        largest = largest.max(ulp);
                    }
                    _ => {
                        let output =
                            output.name.clone().unwrap_or_else(|| output.variable.to_string());
                        return Err(RecordsDiffer { output, record, found, expected });
                    }
                }
            }
        }
    }
    Ok((count > 0)
        .then(|| format!("differ in precision, by {largest} ULP at most, in {count} floats")))
}

/// Representable values between two floats, or `None` where only one is a number.
fn ulp_distance(a: u32, b: u32) -> Option<u64> {
    match (f32::from_bits(a).is_nan(), f32::from_bits(b).is_nan()) {
        (true, true) => return Some(0),
        (false, false) => {}
        _ => return None,
    }
    // Floats in the order of their values.
    let ordered = |bits: u32| match bits >> 31 {
        0 => i64::from(bits),
        _ => -i64::from(bits & 0x7fff_ffff),
    };
    Some(ordered(a).abs_diff(ordered(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_representable_values() {
        let ulp = |a: f32, b: f32| ulp_distance(a.to_bits(), b.to_bits());
        assert_eq!(ulp(1.0, 1.0 + f32::EPSILON), Some(1));
        assert_eq!(ulp(0.0, -0.0), Some(0));
        assert_eq!(ulp(f32::from_bits(1), -f32::from_bits(1)), Some(2));
        assert_eq!(ulp(f32::NAN, -f32::NAN), Some(0));
        assert_eq!(ulp(f32::NAN, 1.0), None);
    }
}
