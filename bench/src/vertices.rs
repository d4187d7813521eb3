//! The contents of vertex buffers.
//!
//! Devices compute all these values exactly: they are small integers, or normalized values that are
//! -1, 0 or 1.

#![forbid(unsafe_code)]

use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// The contents of a vertex buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vertices {
    /// A position of four floats.
    Positions,
    /// Position, normal, texture coordinates and colour, in formats of real models.
    Formats,
}

/// The formats of the attributes of [`Vertices::Formats`], with their offsets in bytes.
pub(crate) const FORMATS: [(VertexFormat, u32); 4] = [
    (VertexFormat::R32G32B32Sfloat, 0),
    (VertexFormat::A2B10G10R10SnormPack32, 12),
    (VertexFormat::R16G16Sfloat, 16),
    (VertexFormat::R8G8B8A8Unorm, 20),
];

/// The size in bytes of the largest vertex.
const MAX_SIZE: usize = 24;

impl Vertices {
    /// The size in bytes of a vertex.
    pub const fn size(self) -> u32 {
        match self {
            Self::Positions => 16,
            Self::Formats => MAX_SIZE as u32,
        }
    }

    /// The vertex input of a pipeline. It has one binding.
    pub fn vertex_input(self) -> VertexInput {
        let positions = [(VertexFormat::R32G32B32A32Sfloat, 0)];
        let formats: &[_] = match self {
            Self::Positions => &positions,
            Self::Formats => &FORMATS,
        };
        let attribute = |(location, &(format, offset))| VertexAttribute {
            location,
            binding: 0,
            format,
            offset,
        };
        let rate = InputRate::Vertex;
        VertexInput {
            bindings: vec![VertexBinding { binding: 0, stride: self.size(), input_rate: rate }],
            attributes: (0..).zip(formats).map(attribute).collect(),
        }
    }

    /// Writes as many vertices into `bytes` as fit, beginning with vertex `first`.
    pub fn fill(self, first: u32, bytes: &mut [u8]) {
        for (vertex, bytes) in (first..).zip(bytes.chunks_exact_mut(self.size() as usize)) {
            match self {
                Self::Positions => {
                    for (value, bytes) in position(vertex).into_iter().zip(bytes.as_chunks_mut().0)
                    {
                        *bytes = value.to_le_bytes();
                    }
                }
                Self::Formats => bytes.copy_from_slice(&model(vertex)),
            }
        }
    }

    /// Returns a unit of 16 bytes of the vertex buffer.
    pub fn quad(self, quad: u64) -> [u32; 4] {
        let size = u64::from(self.size());
        let (first, start) = (quad * 16 / size, (quad * 16 % size) as usize);
        let mut bytes = [0; 2 * MAX_SIZE];
        let two = 2 * self.size() as usize;
        self.fill(first as u32, bytes.get_mut(..two).unwrap_or_default());
        std::array::from_fn(|i| {
            let dword = bytes.get(start + 4 * i..).and_then(|rest| rest.first_chunk());
            u32::from_le_bytes(dword.copied().unwrap_or_default())
        })
    }
}

/// Returns the position of a vertex. It is different for each vertex.
pub(crate) fn position(vertex: u32) -> [f32; 4] {
    let hash = vertex.wrapping_mul(0x9e37_79b1) >> 16;
    [(vertex & 0xffff) as f32, (vertex >> 16) as f32, hash as f32, 1.0]
}

/// Returns the bytes of a vertex with the attributes [`FORMATS`].
pub(crate) fn model(vertex: u32) -> [u8; MAX_SIZE] {
    let mut bytes = [0; MAX_SIZE];
    let [x, y, z, _] = position(vertex);
    // Each component of the normal is -1, 0 or 1 in ten bits. The fourth component is 0 or 1 in two bits.
    let normal = |i: u32| [0, 511, 513][(vertex / 3u32.pow(i) % 3) as usize];
    let normal = normal(0) | normal(1) << 10 | normal(2) << 20 | (vertex & 1) << 30;
    let texel = half(vertex % 2048) | half(vertex / 2048 % 2048) << 16;
    let colour = (0..4).fold(0, |colour, i| colour | ((vertex >> i & 1) * 0xff) << (8 * i));
    let dwords = [x.to_bits(), y.to_bits(), z.to_bits(), normal, texel, colour];
    for (dword, bytes) in dwords.into_iter().zip(bytes.as_chunks_mut().0) {
        *bytes = dword.to_le_bytes();
    }
    bytes
}

/// Returns the bits of the 16-bit float that equals an integer up to 2048.
const fn half(number: u32) -> u32 {
    if number == 0 {
        return 0;
    }
    let exponent = number.ilog2();
    (exponent + 15) << 10 | (number << 10 >> exponent) & 0x3ff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_whole_numbers() {
        for number in 0..2048u32 {
            let bytes = half(number).to_le_bytes();
            let [decoded, ..] = VertexFormat::R16Sfloat.decode(&bytes[..2]);
            assert_eq!(f32::from_bits(decoded as u32), number as f32);
        }
    }

    #[test]
    fn quads_are_the_bytes_of_the_vertex_buffer() {
        for vertices in [Vertices::Positions, Vertices::Formats] {
            let mut bytes = vec![0; 48 * 20];
            vertices.fill(0, &mut bytes);
            for (quad, expected) in bytes.chunks_exact(16).enumerate() {
                let found = vertices.quad(quad as u64).map(u32::to_le_bytes);
                assert_eq!(found.as_flattened(), expected, "{vertices:?} {quad}");
            }
        }
    }
}
