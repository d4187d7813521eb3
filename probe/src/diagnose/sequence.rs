//! The vertices of the primitives of a capture, in the order in which they are written.

use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

/// A patch that is divided into primitives. The vertices of an instance are those of its patches, one patch after the
/// other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The tessellation coordinates u and v of each vertex, in units of 1/[`UNITS`](Self::UNITS).
    pub places: Vec<[u32; 2]>,
    /// The number of primitives.
    pub primitives: u32,
}

impl Patch {
    /// The number of units from one side of the domain to the other. For levels that are whole numbers up to 4, the
    /// coordinates of all vertices are multiples of the unit.
    pub const UNITS: u32 = 1536;
}

/// The primitives of one instance of a draw.
#[derive(Debug, Clone, Copy)]
pub enum Sequence<'a> {
    /// The primitives that are assembled from a draw's vertices, if a vertex shader is captured.
    Assembled {
        /// The topology of the draw.
        topology: PrimitiveTopology,
        /// The provoking vertex of the pipeline.
        provoking: ProvokingVertex,
        /// The number of vertices of the instance. In an indexed draw, the number of indices.
        vertex_count: u32,
    },
    /// The primitives that a geometry shader emits to one vertex stream, or into which patches are divided. They are
    /// separate primitives, even if the shader emits strips.
    Emitted {
        /// The number of vertices of each primitive: 1, 2 or 3.
        vertices_per_primitive: u32,
        /// The number of vertices that are emitted. A vertex counts once even if several primitives
        /// have it.
        vertex_count: u32,
        /// The vertices of each primitive, as numbers below `vertex_count`, one primitive after the
        /// other.
        vertices: &'a [u32],
        /// The patches that were divided into these primitives, if the device chooses the order of the primitives of
        /// each patch. Empty if the order is the one of `vertices`.
        patches: &'a [Patch],
    },
}

impl Sequence<'_> {
    /// The number of vertices, and so of records, of each primitive: 1, 2 or 3.
    pub const fn vertices_per_primitive(&self) -> u32 {
        match self {
            Self::Assembled { topology, .. } => topology.vertices_per_primitive(),
            Self::Emitted { vertices_per_primitive, .. } => *vertices_per_primitive,
        }
    }

    /// The number of vertices. A vertex that several primitives share counts once.
    pub const fn vertex_count(&self) -> u32 {
        match self {
            Self::Assembled { vertex_count, .. } | Self::Emitted { vertex_count, .. } => {
                *vertex_count
            }
        }
    }

    /// The number of complete primitives.
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

    /// The number of records of all primitives.
    pub fn output_count(&self) -> u64 {
        self.primitive_count() * u64::from(self.vertices_per_primitive())
    }

    /// Returns the vertex that is written to a record. `output` is the number of the record, below
    /// [`output_count`](Self::output_count).
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
