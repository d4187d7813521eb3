//! Encodes numbers in the formats of vertex attributes.

use anyhow::{Context, Result, bail};
use half::f16;
use vkxfb_rewriter::vertex_input::{NumericFormat, VertexFormat};

use crate::capture::mesh::Values;

/// Returns the bytes of `elements` elements, tightly packed, in a format of the type that a shader reads. `parts` has
/// the values of each component. Components that are not in `parts` are 0, except that a fourth component is 1. Fails
/// if the format cannot represent a value.
pub(super) fn encode(parts: &[&Values], elements: usize, format: VertexFormat) -> Result<Vec<u8>> {
    let width = format.size() * 8 / format.components();
    let mut bytes = Vec::with_capacity(elements * format.size() as usize);
    for element in 0..elements {
        for part in 0..format.components() as usize {
            let number = number(parts.get(part).copied(), element, part, format.numeric(), width);
            let number = number.with_context(|| format!("vertex {element}, as {format}"))?;
            bytes.extend(&number.to_le_bytes()[..width as usize / 8]);
        }
    }
    Ok(bytes)
}

/// Returns the bits of the component with number `part` of an element. Without `values`, the component is 0, or 1 if it
/// is the fourth.
fn number(
    values: Option<&Values>,
    vertex: usize,
    part: usize,
    numeric: NumericFormat,
    width: u32,
) -> Result<u64> {
    let absent = if part == 3 { 1 } else { 0 };
    let float = || values.map_or(f64::from(absent), |values| values.float(vertex));
    Ok(match numeric {
        NumericFormat::Sfloat => match width {
            16 => f16::from_f64(float()).to_bits().into(),
            32 => (float() as f32).to_bits().into(),
            _ => float().to_bits(),
        },
        _ => {
            let int = match values {
                None => Some(i128::from(absent)),
                Some(values) => values.int(vertex),
            };
            let int = int.with_context(|| format!("{} is no integer", float()))?;
            let is_signed = numeric == NumericFormat::Sint;
            let range = if is_signed {
                -(1i128 << (width - 1))..1i128 << (width - 1)
            } else {
                0..1i128 << width
            };
            if !range.contains(&int) {
                bail!("{int} is out of range");
            }
            int as u64
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_formats_have_them() {
        let bits =
            |values: &Values, numeric, width| number(Some(values), 0, 0, numeric, width).ok();
        let float = |value| Values::Float(vec![value]);
        let byte = |value| Values::Int { values: vec![value], one: 255 };
        assert_eq!(bits(&float(0.5), NumericFormat::Sfloat, 16), Some(0x3800));
        assert_eq!(bits(&float(-2.0), NumericFormat::Sfloat, 32), Some(0xc000_0000));
        assert_eq!(bits(&byte(200), NumericFormat::Uint, 8), Some(200));
        assert_eq!(bits(&byte(-1), NumericFormat::Sint, 32).map(|b| b as u32), Some(u32::MAX));
        assert_eq!(bits(&float(3.0), NumericFormat::Sint, 16), Some(3));
        assert_eq!(bits(&float(0.5), NumericFormat::Uint, 32), None);
        assert_eq!(bits(&byte(256), NumericFormat::Uint, 8), None);
        assert_eq!(bits(&byte(-1), NumericFormat::Uint, 32), None);
        assert_eq!(number(None, 0, 3, NumericFormat::Uint, 32).ok(), Some(1));
        assert_eq!(number(None, 0, 2, NumericFormat::Sfloat, 32).ok(), Some(0));
    }
}
