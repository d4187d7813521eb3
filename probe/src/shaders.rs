//! The probe's own shaders, and formulas for the records that they write: vertex shaders, and [geometry
//! shaders](ProbeGeometry) that follow one of these vertex shaders.
//!
//! A record (the bytes of one vertex in one capture buffer) depends only on `VertexIndex`,
//! `InstanceIndex` and the vertex buffers, whose contents are given by formulas, too. So each
//! record can be computed independently ([`ProbeShader::record`]). Most records identify their
//! vertex and instance, so the diagnosis can say what a driver wrote instead of the right vertex.
//! All operations are exact on every device, so records are compared
//! byte by byte.
//!
//! In these modules, `vertex` and `instance` are the values of the built-ins in the shader, which
//! include `firstVertex` and `firstInstance`. All offsets and strides are in bytes.

#![forbid(unsafe_code)]

mod geometry;

pub use self::geometry::{Emitted, PATCH_CONTROL_POINTS, ProbeGeometry, Strips};

use std::fmt;

use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// `firstVertex` of the probe's draws. It is not 0, so that drivers that ignore it are found.
pub const FIRST_VERTEX: u32 = 5;
/// `firstInstance` of the probe's draws. It is not 0, so that drivers that ignore it are found.
pub const FIRST_INSTANCE: u32 = 2;

/// A vertex shader whose records are given by formulas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeShader {
    /// The name of its files in `shaders/probe/`, without extension.
    pub name: &'static str,
    /// The module: SPIR-V 1.0 for Vulkan 1.0 with transform feedback decorations. Its entry point
    /// is `main`.
    pub spirv: &'static [u8],
    /// The attributes that the shader reads, and their bindings, whose contents are made by
    /// [`fill_binding`](Self::fill_binding).
    pub vertex_input: VertexInput,
    /// The layout of each capture buffer, by its number.
    pub buffers: &'static [ProbeBuffer],
    formulas: Formulas,
}

/// A capture buffer of a [`ProbeShader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeBuffer {
    /// The stride: the size of a record in bytes, including gaps.
    pub stride: u32,
    /// The captured outputs, sorted by offset. The bytes between them are gaps.
    pub fields: &'static [ProbeField],
}

/// A captured output of a [`ProbeShader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeField {
    /// The name of the output in the shader.
    pub name: &'static str,
    /// The offset in the record, in bytes.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Formulas {
    Identify,
    TwoBuffers,
    Attributes,
}

/// The last dword of a record of `identify`: `"XFB\0"`.
const IDENTIFY_MARK: u32 = 0x0042_4658;

const fn field(name: &'static str, offset: u32, size: u32) -> ProbeField {
    ProbeField { name, offset, size }
}

const IDENTIFY_BUFFERS: &[ProbeBuffer] =
    &[ProbeBuffer { stride: 16, fields: &[field("id", 0, 16)] }];

const TWO_BUFFERS_BUFFERS: &[ProbeBuffer] = &[
    ProbeBuffer { stride: 32, fields: &[field("gl_Position", 0, 16), field("checksum", 20, 4)] },
    ProbeBuffer { stride: 20, fields: &[field("id", 4, 12)] },
];

const ATTRIBUTES_BUFFERS: &[ProbeBuffer] = &[ProbeBuffer {
    stride: 60,
    fields: &[
        field("gl_Position", 0, 16),
        field("out_key", 16, 8),
        field("out_weight", 24, 4),
        field("out_offset", 28, 12),
        field("out_bits", 40, 4),
        field("out_position_zw", 48, 8),
        field("out_serial", 56, 4),
    ],
}];

impl ProbeShader {
    /// Returns all vertex shaders of the probe.
    pub fn all() -> [Self; 3] {
        [Self::identify(), Self::two_buffers(), Self::attributes()]
    }

    /// Returns the shader with that name, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|s| s.name == name)
    }

    /// A shader without attributes that captures to one buffer, without gaps (bytes that no output covers). Each record
    /// identifies its vertex and instance.
    pub fn identify() -> Self {
        Self {
            name: "identify",
            spirv: include_bytes!("../../shaders/probe/identify.spv"),
            vertex_input: VertexInput::default(),
            buffers: IDENTIFY_BUFFERS,
            formulas: Formulas::Identify,
        }
    }

    /// A shader without attributes that captures to two buffers, with gaps (bytes that no output covers). It also
    /// captures `gl_Position`.
    pub fn two_buffers() -> Self {
        Self {
            name: "two_buffers",
            spirv: include_bytes!("../../shaders/probe/two_buffers.spv"),
            vertex_input: VertexInput::default(),
            buffers: TWO_BUFFERS_BUFFERS,
            formulas: Formulas::TwoBuffers,
        }
    }

    /// A shader with five attributes from three bindings, with both input rates. The binding
    /// numbers are not consecutive, the attributes are not in the order of their locations, and
    /// elements contain bytes that no attribute reads.
    pub fn attributes() -> Self {
        let attribute = |location, binding, format, offset| VertexAttribute {
            location,
            binding,
            format,
            offset,
        };
        let binding = |binding, stride, input_rate| VertexBinding { binding, stride, input_rate };
        Self {
            name: "attributes",
            spirv: include_bytes!("../../shaders/probe/attributes.spv"),
            vertex_input: VertexInput {
                bindings: vec![
                    binding(0, 28, InputRate::Vertex),
                    binding(1, 16, InputRate::INSTANCE),
                    binding(3, 8, InputRate::Vertex),
                ],
                attributes: vec![
                    attribute(0, 0, VertexFormat::R32G32B32A32Sfloat, 8),
                    attribute(1, 0, VertexFormat::R32G32Uint, 0),
                    attribute(2, 1, VertexFormat::R32G32B32Sint, 4),
                    attribute(3, 3, VertexFormat::R32Sfloat, 0),
                    attribute(4, 3, VertexFormat::R32Sint, 4),
                ],
            },
            buffers: ATTRIBUTES_BUFFERS,
            formulas: Formulas::Attributes,
        }
    }

    /// Returns the module as words.
    pub fn words(&self) -> Vec<u32> {
        let (words, _) = self.spirv.as_chunks();
        words.iter().map(|w| u32::from_le_bytes(*w)).collect()
    }

    /// Returns the stride of a capture buffer, or `None` if the shader does not capture to it.
    pub fn stride(&self, buffer: usize) -> Option<u32> {
        Some(self.buffers.get(buffer)?.stride)
    }

    /// Writes the record of one vertex in `buffer` into `record`, without changing the gaps (bytes that no output
    /// covers).
    ///
    /// # Panics
    /// If `record` is shorter than the buffer's stride.
    pub fn record(&self, buffer: usize, instance: u32, vertex: u32, record: &mut [u8]) {
        match (self.formulas, buffer) {
            (Formulas::Identify, 0) => {
                put(record, 0, [vertex, instance, tag(instance, vertex), IDENTIFY_MARK]);
            }
            (Formulas::TwoBuffers, 0) => {
                let position = [vertex & 0xffff, vertex >> 16, instance & 0xffff, instance >> 16];
                put(record, 0, position.map(exact_float));
                put(record, 20, [exact_float(tag(instance, vertex) & 0x00ff_ffff)]);
            }
            (Formulas::TwoBuffers, 1) => {
                put(record, 4, [vertex, instance, tag(instance, vertex)]);
            }
            (Formulas::Attributes, 0) => {
                let a = Attributes::of(instance, vertex);
                put(record, 0, a.position.map(|x| (x + a.weight).to_bits()));
                put(record, 16, a.key);
                put(record, 24, [(a.weight + (instance & 255) as f32).to_bits()]);
                let [x, y, z] = a.offset;
                let serial = a.serial;
                let offset = [x, y.wrapping_sub(serial), z.wrapping_mul(3).wrapping_add(serial)];
                put(record, 28, offset.map(i32::cast_unsigned));
                let bits = a.position[0].to_bits() ^ a.key[1];
                put(record, 40, [bits.wrapping_add(tag(instance, vertex))]);
                put(record, 48, [a.position[2].to_bits(), a.position[3].to_bits()]);
                put(record, 56, [serial.cast_unsigned()]);
            }
            _ => {} // The shader does not capture to this buffer.
        }
    }

    /// Fills the elements of a vertex buffer that are completely within `bytes`, which starts at
    /// element `first`. Each element is a vertex or an instance, depending on the input rate of the
    /// binding. Does not change bytes that no attribute reads. Does nothing if the shader has no
    /// such binding.
    pub fn fill_binding(&self, binding: u32, first: u32, bytes: &mut [u8]) {
        let Some(stride) = self.vertex_input.binding(binding).map(|b| b.stride as usize) else {
            return;
        };
        for (element, bytes) in (first..=u32::MAX).zip(bytes.chunks_exact_mut(stride)) {
            // Of the probe's shaders, only `attributes` has bindings.
            match binding {
                0 => {
                    let (position, key) = (position_of(element), key_of(element));
                    put(bytes, 0, key);
                    put(bytes, 8, position.map(f32::to_bits));
                }
                1 => put(bytes, 4, offset_of(element).map(i32::cast_unsigned)),
                _ => put(
                    bytes,
                    0,
                    [weight_of(element).to_bits(), serial_of(element).cast_unsigned()],
                ),
            }
        }
    }

    /// Returns a vertex buffer with elements `0..elements`, or `None` if the shader has no such
    /// binding. Bytes that no attribute reads are 0xcd.
    ///
    /// A draw needs `firstVertex + vertexCount` elements of a binding with [`InputRate::Vertex`] and `firstInstance +
    /// instanceCount` elements of a binding with [`InputRate::Instance`].
    pub fn vertex_buffer(&self, binding: u32, elements: u32) -> Option<Vec<u8>> {
        let stride = self.vertex_input.binding(binding)?.stride;
        let mut bytes = vec![0xcd; stride as usize * elements as usize];
        self.fill_binding(binding, 0, &mut bytes);
        Some(bytes)
    }
}

impl fmt::Display for ProbeShader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// The attribute values that the shader `attributes` reads for one vertex.
struct Attributes {
    position: [f32; 4],
    key: [u32; 2],
    offset: [i32; 3],
    weight: f32,
    serial: i32,
}

impl Attributes {
    fn of(instance: u32, vertex: u32) -> Self {
        Self {
            position: position_of(vertex),
            key: key_of(vertex),
            offset: offset_of(instance),
            weight: weight_of(vertex),
            serial: serial_of(vertex),
        }
    }
}

// With these salts, the attributes of one element differ from each other, and those of element 0
// differ from zeroed memory.
const KEY_SALT: u32 = 0x4b45_5931;
const OFFSET_SALT: u32 = 0x4f46_4653;
const POSITION_SALT: u32 = 0x504f_5331;
const WEIGHT_SALT: u32 = 0x5745_4947;
const SERIAL_SALT: u32 = 0x5345_5249;

/// Returns four integers from -8192 to 8191, as floats.
fn position_of(vertex: u32) -> [f32; 4] {
    let (a, b) = (mix32(vertex ^ POSITION_SALT), mix32(vertex ^ !POSITION_SALT));
    [a, a >> 16, b, b >> 16].map(small_float)
}

/// Returns two numbers: `vertex` combined with a salt, and a hash of the first number.
fn key_of(vertex: u32) -> [u32; 2] {
    [vertex ^ KEY_SALT, mix32(vertex ^ KEY_SALT)]
}

/// Returns three numbers: `instance` combined with a salt, a hash of the first number, and the same hash rotated.
fn offset_of(instance: u32) -> [i32; 3] {
    let hash = mix32(instance ^ OFFSET_SALT);
    [instance ^ OFFSET_SALT, hash, hash.rotate_left(11)].map(u32::cast_signed)
}

/// Returns an integer from -8192 to 8191, as a float.
fn weight_of(vertex: u32) -> f32 {
    small_float(mix32(vertex ^ WEIGHT_SALT))
}

fn serial_of(vertex: u32) -> i32 {
    mix32(vertex ^ SERIAL_SALT).cast_signed()
}

/// Returns the low 14 bits minus 8192: an integer from -8192 to 8191, as a float. Sums of a few such floats are exact.
fn small_float(bits: u32) -> f32 {
    ((bits & 0x3fff) as f32) - 8192.0
}

/// Returns the bits of the float that equals an integer of at most 24 bits.
fn exact_float(integer: u32) -> u32 {
    (integer as f32).to_bits()
}

/// The function `tag` of the shaders: a hash of instance and vertex.
fn tag(instance: u32, vertex: u32) -> u32 {
    mix32(vertex ^ mix32(instance.wrapping_add(0x9e37_79b9)))
}

/// The function `mix32` of the shaders: a bijection in which each output bit depends on all input
/// bits.
fn mix32(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

fn put<const N: usize>(bytes: &mut [u8], offset: usize, words: [u32; N]) {
    let (target, _) = bytes[offset..offset + 4 * N].as_chunks_mut();
    for (bytes, word) in target.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

#[cfg(test)]
mod tests;
