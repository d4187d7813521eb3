//! Vertex input on the CPU, which tests compare captures with.

use super::format::{NumericFormat, VertexFormat};

impl VertexFormat {
    /// Returns the components of an element as a shader reads them, as guaranteed for
    /// `VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT` ([Vertex Input
    /// Extraction](https://docs.vulkan.org/spec/latest/chapters/fxvertex.html#fxvertex-input-extraction)).
    ///
    /// Each component contains the bits of an `f32`, `u32` or `i32`, as [`class`](Self::class)
    /// says, or of an `f64`, `u64` or `i64` if [`bits`](Self::bits) is 64. Missing components are
    /// (0, 0, 1). In 64-bit formats they are 0: Vulkan does not define them, and shaders must not
    /// read them.
    ///
    /// `element` begins at the attribute's first byte. An element shorter than [`size`](Self::size) is out of range and
    /// treated as zeros, as under
    /// [`robustBufferAccess2`](https://docs.vulkan.org/spec/latest/chapters/features.html#features-robustBufferAccess2).
    ///
    /// Normalized values are rounded to the nearest float. NaNs with 16, 11 and 10 bits keep their
    /// payload.
    pub fn decode(self, element: &[u8]) -> [u64; 4] {
        let mut bytes = [0; 32];
        let size = self.size() as usize;
        if let (Some(place), Some(element)) = (bytes.get_mut(..size), element.get(..size)) {
            place.copy_from_slice(element);
        }
        let mut components = [0; 4];
        if self.bits() == 32 {
            components[3] = self.one().into();
        }
        for (component, field) in components.iter_mut().zip(self.fields()) {
            let number = extract(&bytes, field.first_bit, field.width);
            *component = match field.width {
                64 => number,
                width => convert(self.numeric(), number as u32, width).into(),
            };
        }
        components
    }
}

/// Extracts `width` bits, from bit `first` on, from a little-endian number.
fn extract(bytes: &[u8; 32], first: u32, width: u32) -> u64 {
    let bit = |i: u32| u64::from(bytes[(i / 8) as usize] >> (i % 8) & 1);
    (0..width).map(|i| bit(first + i) << i).sum()
}

/// Converts a component of up to 32 bits to the bits that the shader reads.
fn convert(numeric: NumericFormat, number: u32, width: u32) -> u32 {
    let unused = 32 - width;
    let signed = (number << unused) as i32 >> unused;
    let maximum = |width: u32| f64::from(u32::MAX >> (32 - width));
    match numeric {
        NumericFormat::Uint => number,
        NumericFormat::Sint => signed as u32,
        NumericFormat::Uscaled => (number as f32).to_bits(),
        NumericFormat::Sscaled => (signed as f32).to_bits(),
        // Rounding twice, to `f64` and then to `f32`, gives the nearest float, because no quotient of these integers is
        // so close to the midpoint between two floats that the first rounding could reach it.
        NumericFormat::Unorm => ((f64::from(number) / maximum(width)) as f32).to_bits(),
        NumericFormat::Snorm => {
            ((f64::from(signed) / maximum(width - 1)).max(-1.0) as f32).to_bits()
        }
        NumericFormat::Sfloat if width == 32 => number,
        NumericFormat::Sfloat => widen(number & 0x7fff, 10) | (number & 0x8000) << 16,
        NumericFormat::Ufloat => widen(number, width - 5),
    }
}

/// Converts an unsigned float with 5 exponent bits to a 32-bit float.
fn widen(number: u32, mantissa_width: u32) -> u32 {
    let mantissa = number & ((1 << mantissa_width) - 1);
    let significand = f64::from(mantissa) / f64::from(1 << mantissa_width);
    let exponent = number >> mantissa_width;
    let value = match exponent {
        0 => significand * 2f64.powi(-14),
        31 => return 0xff << 23 | mantissa << (23 - mantissa_width),
        _ => (1.0 + significand) * 2f64.powi(exponent as i32 - 15),
    };
    (value as f32).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(format: VertexFormat, element: &[u8]) -> [f32; 4] {
        format.decode(element).map(|bits| f32::from_bits(bits as u32))
    }

    #[test]
    fn components_are_found_and_the_absent_ones_filled_in() {
        use VertexFormat::*;
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(R8G8Uint.decode(&bytes), [1, 2, 0, 1]);
        assert_eq!(B8G8R8A8Uint.decode(&bytes), [3, 2, 1, 4]);
        assert_eq!(floats(B8G8R8Uscaled, &bytes), [3.0, 2.0, 1.0, 1.0]);
        assert_eq!(R16G16B16Uint.decode(&bytes), [0x201, 0x403, 0x605, 1]);
        assert_eq!(R64Uint.decode(&bytes), [0x0807_0605_0403_0201, 0, 0, 0]);
        let number = (3u32 << 30 | 0x201 << 20 | 0x3ff << 10 | 5).to_le_bytes();
        assert_eq!(A2B10G10R10UintPack32.decode(&number), [5, 0x3ff, 0x201, 3]);
        assert_eq!(
            A2R10G10B10SscaledPack32.decode(&number).map(|b| f32::from_bits(b as u32)),
            [-511.0, -1.0, 5.0, -1.0]
        );
    }

    #[test]
    fn what_is_out_of_range_is_zero_by_component() {
        use VertexFormat::*;
        assert_eq!(R32G32Uint.decode(&[1; 7]), [0, 0, 0, 1]);
        assert_eq!(floats(R8G8B8Unorm, &[1; 2]), [0.0, 0.0, 0.0, 1.0]);
        // If the element is out of range, the fourth component of a format with four components is zero, too, instead
        // of one.
        assert_eq!(floats(R8G8B8A8Unorm, &[]), [0.0; 4]);
    }

    #[test]
    fn normalized_values_end_where_they_should() {
        use VertexFormat::*;
        assert_eq!(floats(R8G8B8A8Unorm, &[0, 255, 51, 85]), [0.0, 1.0, 0.2, 1.0 / 3.0]);
        assert_eq!(floats(R8G8B8A8Snorm, &[127, 0x81, 0x80, 0]), [1.0, -1.0, -1.0, 0.0]);
        assert_eq!(floats(R16G16Snorm, &[0, 0x80, 0xff, 0x7f]), [-1.0, 1.0, 0.0, 1.0]);
        assert_eq!(floats(A2B10G10R10SnormPack32, &[0, 0, 0, 0x80])[3], -1.0);
    }

    #[test]
    fn small_floats_keep_subnormals_infinities_and_nans() {
        use VertexFormat::*;
        let half = |h: u16| floats(R16Sfloat, &h.to_le_bytes())[0];
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(1), 2f32.powi(-24));
        assert_eq!(half(0x83ff), -1023.0 * 2f32.powi(-24));
        assert_eq!(half(0xfc00), f32::NEG_INFINITY);
        assert_eq!(half(0x7e01).to_bits(), 0x7fc0_2000);
        assert_eq!(half(0x8000).to_bits(), 0x8000_0000);
        let packed =
            floats(B10G11R11UfloatPack32, &(1u32 << 22 | 0x3c0 << 11 | 0x7c0).to_le_bytes());
        assert_eq!(packed, [f32::INFINITY, 1.0, 2f32.powi(-19), 1.0]);
    }
}
