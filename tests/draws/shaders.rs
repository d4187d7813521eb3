//! Describes what the shaders in `shaders/draws` capture, independently of their code.

use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};

/// Bytes from one vertex of binding 0 to the next, which is a record of [`Shader::Identify`].
pub const VERTEX_STRIDE: u32 = 24;
/// Bytes from one instance of binding 1 to the next.
pub const INSTANCE_STRIDE: u32 = 8;
/// The number of dwords of push constants. No shader reads all of them, and no shader reads the
/// last.
pub const CONSTANTS: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shader {
    Identify,
    Spread,
    Fetch,
    Objects,
    Each,
}

/// A dword that a shader reads.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// A dword of an element of a vertex binding, `offset` bytes from the start of the element.
    Vertex { binding: usize, element: u32, offset: u32 },
    /// The first dword of a descriptor.
    Descriptor { set: usize, binding: usize },
    /// A push constant.
    Constant(usize),
}

/// The inputs of an invocation of a vertex shader.
#[derive(Debug, Clone, Copy)]
pub struct Vertex {
    pub vertex_index: u32,
    pub instance_index: u32,
    pub base_vertex: u32,
    pub base_instance: u32,
    pub draw_index: u32,
}

/// A captured dword.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub buffer: usize,
    /// Bytes from the start of the record.
    pub offset: u32,
}

impl Shader {
    pub const ALL: [Self; 5] =
        [Self::Identify, Self::Spread, Self::Fetch, Self::Objects, Self::Each];

    pub fn words(self) -> Vec<u32> {
        let bytes: &[u8] = match self {
            Self::Identify => include_bytes!("../../shaders/draws/identify.spv"),
            Self::Spread => include_bytes!("../../shaders/draws/spread.spv"),
            Self::Fetch => include_bytes!("../../shaders/draws/fetch.spv"),
            Self::Objects => include_bytes!("../../shaders/draws/objects.spv"),
            Self::Each => include_bytes!("../../shaders/draws/each.spv"),
        };
        vkxfb::spirv::words_from_bytes(bytes).unwrap()
    }

    /// Returns the stride of each buffer in bytes; `None` if nothing is captured to it.
    pub const fn strides(self) -> [Option<u32>; 4] {
        match self {
            Self::Identify => [Some(24), None, None, None],
            Self::Spread => [Some(8), Some(4), Some(20), Some(12)],
            Self::Fetch => [Some(20), None, Some(16), None],
            Self::Objects | Self::Each => [Some(32), None, None, None],
        }
    }

    /// Returns the captured dwords, in the order of [`evaluate`](Self::evaluate).
    pub fn outputs(self) -> Vec<Output> {
        let places: &[(usize, u32)] = match self {
            Self::Identify => &[(0, 0), (0, 4), (0, 8), (0, 12), (0, 16)],
            Self::Spread => &[(0, 4), (1, 0), (2, 0), (2, 12), (3, 4), (3, 8), (2, 4)],
            Self::Fetch => &[(0, 0), (0, 4), (0, 8), (0, 12), (0, 16), (2, 0), (2, 4), (2, 8)],
            Self::Objects => &[(0, 0), (0, 4), (0, 8), (0, 12), (0, 16), (0, 20), (0, 24)],
            Self::Each => &[(0, 4), (0, 8), (0, 12), (0, 16), (0, 28)],
        };
        places.iter().map(|&(buffer, offset)| Output { buffer, offset }).collect()
    }

    /// Returns the values of the captured dwords of a vertex.
    pub fn evaluate(self, v: &Vertex, mut read: impl FnMut(Read) -> u32) -> Vec<u32> {
        let mut fetch = |binding, element, offset| read(Read::Vertex { binding, element, offset });
        match self {
            Self::Identify => {
                vec![v.vertex_index, v.instance_index, v.base_vertex, v.base_instance, v.draw_index]
            }
            Self::Spread => vec![
                v.vertex_index,
                v.instance_index,
                v.base_vertex,
                v.base_instance,
                v.draw_index,
                v.vertex_index,
                read(Read::Constant(5)),
            ],
            Self::Fetch => {
                let head = [0, 4, 8, 12, 20].map(|at| fetch(0, v.vertex_index, at));
                let each = fetch(1, v.instance_index, 4);
                let constant = read(Read::Constant(7 + v.vertex_index as usize % 2));
                head.into_iter().chain([each, v.vertex_index, constant]).collect()
            }
            Self::Objects => {
                let places = [(0, 0), (1, 0), (1, 1)];
                let objects = places.map(|(set, binding)| read(Read::Descriptor { set, binding }));
                let constants = [0, 4, 7].map(|dword| read(Read::Constant(dword)));
                objects.into_iter().chain([v.vertex_index]).chain(constants).collect()
            }
            Self::Each => vec![
                fetch(1, v.instance_index, 4),
                v.vertex_index,
                v.base_instance,
                read(Read::Constant(2)),
                read(Read::Constant(6)),
            ],
        }
    }

    pub const fn reads_sets(self) -> bool {
        matches!(self, Self::Objects)
    }

    pub fn vertex_input(self) -> VertexInput {
        let attribute = |location, binding, format, offset| VertexAttribute {
            location,
            binding,
            format,
            offset,
        };
        let vertices =
            VertexBinding { binding: 0, stride: VERTEX_STRIDE, input_rate: InputRate::Vertex };
        let instances =
            VertexBinding { binding: 1, stride: INSTANCE_STRIDE, input_rate: InputRate::INSTANCE };
        let each = attribute(2, 1, VertexFormat::R32Uint, 4);
        let (bindings, attributes) = match self {
            Self::Identify | Self::Spread | Self::Objects => (vec![], vec![]),
            Self::Each => (vec![instances], vec![each]),
            Self::Fetch => {
                let head = attribute(0, 0, VertexFormat::R32G32B32A32Uint, 0);
                let tail = attribute(1, 0, VertexFormat::R32Uint, 20);
                (vec![vertices, instances], vec![head, tail, each])
            }
        };
        VertexInput { bindings, attributes }
    }
}
