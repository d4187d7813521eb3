//! Which vertices the primitives of a capture have, in the order in which they are written.

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

/// The primitives of one instance.
#[derive(Debug, Clone, Copy)]
pub enum Sequence<'a> {
    /// The primitives that a draw assembles, for a vertex shader.
    Assembled {
        /// Topology of the draw.
        topology: PrimitiveTopology,
        /// The convention of the pipeline.
        provoking: ProvokingVertex,
        /// Vertices of the instance. With an index buffer, the number of indices.
        vertex_count: u32,
    },
    /// The primitives that a geometry shader emits to one stream, as a list.
    Emitted {
        /// Vertices of a primitive: 1, 2 or 3.
        vertices_per_primitive: u32,
        /// Vertices that are emitted, each counted once however many primitives have it.
        vertex_count: u32,
        /// The vertices of each primitive, from 0, one primitive after the other.
        vertices: &'a [u32],
    },
}

impl Sequence<'_> {
    /// Vertices of a primitive, and so its records: 1, 2 or 3.
    pub const fn vertices_per_primitive(&self) -> u32 {
        match self {
            Self::Assembled { topology, .. } => topology.vertices_per_primitive(),
            Self::Emitted { vertices_per_primitive, .. } => *vertices_per_primitive,
        }
    }

    /// The different vertices that primitives may have.
    pub const fn vertex_count(&self) -> u32 {
        match self {
            Self::Assembled { vertex_count, .. } | Self::Emitted { vertex_count, .. } => {
                *vertex_count
            }
        }
    }

    /// Complete primitives.
    pub fn primitive_count(&self) -> u64 {
        match self {
            Self::Assembled { topology, vertex_count, .. } => {
                topology.primitive_count(*vertex_count)
            }
            Self::Emitted { vertices_per_primitive, vertices, .. } => {
                (vertices.len() as u64).checked_div((*vertices_per_primitive).into()).unwrap_or(0)
            }
        }
    }

    /// Records of all primitives.
    pub fn output_count(&self) -> u64 {
        self.primitive_count() * u64::from(self.vertices_per_primitive())
    }

    /// The vertex that is written to a record below [`output_count`](Self::output_count).
    pub fn gather(&self, output: u64) -> u32 {
        let vertex = match self {
            Self::Assembled { topology, provoking, .. } => topology.gather(*provoking, output),
            Self::Emitted { vertices, .. } => {
                let vertex = usize::try_from(output).ok().and_then(|output| vertices.get(output));
                vertex.map_or(u64::MAX, |vertex| u64::from(*vertex))
            }
        };
        u32::try_from(vertex).unwrap_or(u32::MAX)
    }
}
