//! Compares the records that two backends captured from the same shader.
//!
//! The original vertex shader and the compute shader that replaces it must produce the same bits for integers and
//! copied values. Other floating-point results must agree within the precision of the [SPIR-V
//! environment](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html#spirvenv-precision-operation). The probe
//! does not know what a shader from a file computes, so it allows floats to differ by up to a fixed distance. Outputs
//! that the shader does not write are undefined if the driver captures them, and 0 on the other backends
//! ([`Lowered::unwritten`](vkxfb_rewriter::lower::Lowered::unwritten)).

#![forbid(unsafe_code)]

use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::vertex_input::NumericClass;

use crate::subject::Subject;

/// The maximum distance between the floats of two backends, in units in the last place. The precision table of the
/// SPIR-V environment allows up to 16 ULP for a single operation, and shaders combine operations.
const MAX_ULP: u64 = 256;

/// A difference between the records of two backends that neither precision nor undefined values
/// explain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordsDiffer {
    /// A component of an output has different values.
    #[error(
        "the captured vertices differ: output {output} of record {record} is {found:#x}, not {expected:#x}"
    )]
    Component {
        /// The name or id of the output.
        output: String,
        /// The number of the record, from 0.
        record: usize,
        /// The capture buffer.
        buffer: u32,
        /// The offset of the component, in bytes from the first record.
        byte_offset: u64,
        /// The bits of the component in `found`, an argument of [`compare`].
        found: u64,
        /// The bits of the component in `expected`, an argument of [`compare`].
        expected: u64,
    },
    /// The numbers of records differ, because the geometry shader emitted different numbers of
    /// vertices.
    #[error("{found} vertices are captured, not {expected}")]
    Count {
        /// The capture buffer.
        buffer: u32,
        /// The end of the records that both backends captured, in bytes from the first record.
        byte_offset: u64,
        /// The number of records in `found`, an argument of [`compare`].
        found: usize,
        /// The number of records in `expected`, an argument of [`compare`].
        expected: usize,
    },
}

impl RecordsDiffer {
    /// Returns where the difference is: the capture buffer, and the offset in bytes from the first record in this
    /// buffer.
    pub const fn place(&self) -> (u32, u64) {
        match self {
            Self::Component { buffer, byte_offset, .. }
            | Self::Count { buffer, byte_offset, .. } => (*buffer, *byte_offset),
        }
    }
}

/// The records of a shader that a backend captured.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a> {
    /// The backend that captured them.
    pub backend: Backend,
    /// The records, for each capture buffer.
    pub buffers: &'a [Vec<u8>; MAX_XFB_BUFFERS],
}

/// The allowed differences between the records of two backends: imprecise floats and undefined
/// components.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// The number of floats that differ, but by no more than the allowed distance.
    pub imprecise: u64,
    /// The largest distance between two such floats, in units in the last place.
    pub largest_ulp: u64,
    /// The number of components that differ because their value on at least one of the backends is undefined.
    pub undefined: u64,
    /// The name or id of the first output with an undefined component that differs.
    pub first_undefined: Option<String>,
}

impl Differences {
    /// Adds the differences of other records.
    pub(crate) fn add(&mut self, other: Self) {
        self.imprecise += other.imprecise;
        self.largest_ulp = self.largest_ulp.max(other.largest_ulp);
        self.undefined += other.undefined;
        self.first_undefined = self.first_undefined.take().or(other.first_undefined);
    }

    /// Describes the differences. Each text is a predicate such as "differ in precision". The caller puts the names of
    /// both backends before it.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.imprecise > 0 {
            notes.push(format!(
                "differ in precision, by {} ULP at most, in {} floats",
                self.largest_ulp, self.imprecise
            ));
        }
        if let Some(first) = &self.first_undefined {
            notes.push(format!(
                "differ in {} components that the shader leaves undefined, the first of {first}",
                self.undefined
            ));
        }
        notes
    }
}

/// Compares the records that two backends captured from the same shader.
///
/// # Errors
/// [`RecordsDiffer`]
pub fn compare(
    subject: &Subject,
    found: &Records<'_>,
    expected: &Records<'_>,
) -> Result<Differences, RecordsDiffer> {
    let layout = &subject.layout;
    let mut differences = Differences::default();
    for (buffer, stride) in layout.buffers() {
        let [found, expected] =
            [found, expected].map(|of| of.buffers[buffer].len() / stride as usize);
        if found != expected {
            let byte_offset = found.min(expected) as u64 * u64::from(stride);
            return Err(RecordsDiffer::Count {
                buffer: buffer as u32,
                byte_offset,
                found,
                expected,
            });
        }
    }
    for (index, output) in layout.outputs.iter().enumerate() {
        let buffer = output.buffer as usize;
        let Some(stride) = layout.strides.get(buffer).copied().flatten() else { continue };
        let name = || output.name.clone().unwrap_or_else(|| output.variable.to_string());
        let may_be_undefined = subject.reads_undefined || subject.unwritten.contains(&index);
        let pairs = found.buffers[buffer]
            .chunks_exact(stride as usize)
            .zip(expected.buffers[buffer].chunks_exact(stride as usize));
        for (record, (found_record, expected_record)) in pairs.enumerate() {
            for component in 0..output.components {
                let size = (output.bits / 8) as usize;
                let at = output.offset as usize + component as usize * size;
                let found_number = number(found_record, at, size);
                let expected_number = number(expected_record, at, size);
                if found_number == expected_number {
                    continue;
                }
                let distance = match output.class {
                    NumericClass::Float => ulp_distance(output.bits, found_number, expected_number),
                    NumericClass::Uint | NumericClass::Sint => None,
                };
                // The vertex and compute backends store 0 for unwritten outputs, so a value other
                // than 0 from them was written, and is not undefined.
                let is_undefined = may_be_undefined
                    && match (found.backend, expected.backend) {
                        (Backend::Native, Backend::Native) => true,
                        (Backend::Native, _) => expected_number == 0,
                        (_, Backend::Native) => found_number == 0,
                        _ => false,
                    };
                match distance {
                    Some(ulp) if ulp <= MAX_ULP => {
                        differences.imprecise += 1;
                        differences.largest_ulp = differences.largest_ulp.max(ulp);
                    }
                    _ if is_undefined => {
                        differences.undefined += 1;
                        differences.first_undefined.get_or_insert_with(name);
                    }
                    _ => {
                        return Err(RecordsDiffer::Component {
                            output: name(),
                            record,
                            buffer: buffer as u32,
                            byte_offset: record as u64 * u64::from(stride) + at as u64,
                            found: found_number,
                            expected: expected_number,
                        });
                    }
                }
            }
        }
    }
    Ok(differences)
}

/// Returns the bits of the component at an offset in bytes of a record; 0 past the end of the
/// record.
fn number(record: &[u8], at: usize, size: usize) -> u64 {
    let mut bytes = [0; 8];
    if let Some(component) = record.get(at..at + size) {
        bytes[..size].copy_from_slice(component);
    }
    u64::from_le_bytes(bytes)
}

/// Returns the distance between two floats of 32 or 64 bits, in steps from one representable value to the next. 0 if
/// both are NaN, `None` if only one is.
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
    // Maps the bits of floats to integers that are ordered like the floats.
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
    use crate::shaders::ProbeShader;

    #[test]
    fn another_number_of_records_is_a_difference() {
        let subject = Subject::built_in(ProbeShader::identify()).unwrap();
        let of = |records: usize| [vec![7; 16 * records], Vec::new(), Vec::new(), Vec::new()];
        let (few, many) = (of(2), of(3));
        let by = |backend, buffers| Records { backend, buffers };
        let differ = compare(&subject, &by(Backend::Compute, &few), &by(Backend::Native, &many))
            .unwrap_err();
        assert_eq!(differ.place(), (0, 32));
        assert_eq!(differ.to_string(), "2 vertices are captured, not 3");
    }

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
