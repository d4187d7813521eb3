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
    "the points that it captures differ: output {output} of record {record} is {found:#x}, not {expected:#x}"
)]
pub struct RecordsDiffer {
    /// Name or id of the output.
    pub output: String,
    /// Number of the record.
    pub record: usize,
    /// Capture buffer.
    pub buffer: u32,
    /// Where the component lies, in bytes from the first record.
    pub byte_offset: u64,
    /// The component that was captured.
    pub found: u64,
    /// That of the other backend.
    pub expected: u64,
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
                let size = (output.bits / 8) as usize;
                let at = output.offset as usize + component as usize * size;
                let (found, expected) = (number(found, at, size), number(expected, at, size));
                if found == expected {
                    continue;
                }
                let distance = match output.class {
                    NumericClass::Float => ulp_distance(output.bits, found, expected),
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
                        return Err(RecordsDiffer {
                            output,
                            record,
                            buffer: buffer as u32,
                            byte_offset: record as u64 * u64::from(stride) + at as u64,
                            found,
                            expected,
                        });
                    }
                }
            }
        }
    }
    Ok((count > 0)
        .then(|| format!("differ in precision, by {largest} ULP at most, in {count} floats")))
}

/// A component at a byte of a record; 0 behind its end.
fn number(record: &[u8], at: usize, size: usize) -> u64 {
    let mut bytes = [0; 8];
    if let Some(component) = record.get(at..at + size) {
        bytes[..size].copy_from_slice(component);
    }
    u64::from_le_bytes(bytes)
}

/// Representable values between two floats of 32 or 64 bits, or `None` where only one is a number.
fn ulp_distance(bits: u32, a: u64, b: u64) -> Option<u64> {
    let is_nan = |value: u64| match bits {
        64 => f64::from_bits(value).is_nan(),
        _ => f32::from_bits(value as u32).is_nan(),
    };
    match (is_nan(a), is_nan(b)) {
        (true, true) => return Some(0),
        (false, false) => {}
        _ => return None,
    }
    // Floats in the order of their values.
    let sign = 1u64 << (bits - 1);
    let ordered = |value: u64| match value & sign {
        0 => i128::from(value),
        _ => -i128::from(value & !sign),
    };
    u64::try_from((ordered(a) - ordered(b)).unsigned_abs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_representable_values() {
        let ulp = |a: f32, b: f32| ulp_distance(32, a.to_bits().into(), b.to_bits().into());
        assert_eq!(ulp(1.0, 1.0 + f32::EPSILON), Some(1));
        assert_eq!(ulp(0.0, -0.0), Some(0));
        assert_eq!(ulp(f32::from_bits(1), -f32::from_bits(1)), Some(2));
        assert_eq!(ulp(f32::NAN, -f32::NAN), Some(0));
        assert_eq!(ulp(f32::NAN, 1.0), None);
        let ulp = |a: f64, b: f64| ulp_distance(64, a.to_bits(), b.to_bits());
        assert_eq!(ulp(1.0, 1.0 + f64::EPSILON), Some(1));
        assert_eq!(ulp(f64::MAX, -f64::MAX).map(|distance| distance >> 63), Some(1));
    }
}
