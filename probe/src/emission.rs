//! What a geometry shader emits for a draw to one stream, in the order in which it is captured.

#![forbid(unsafe_code)]

use vkxfb::capture::MAX_XFB_BUFFERS;

use crate::diagnose::Sequence;

/// What is emitted for a draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emission {
    /// Vertices of a primitive: 1, 2 or 3.
    pub vertices_per_primitive: u32,
    /// Vertices that are emitted for an instance.
    pub vertex_count: u32,
    /// The vertices of each primitive of an instance, from 0, one primitive after the other.
    pub vertices: Vec<u32>,
    /// Instances for which the same is emitted, but with other records. 1, where that is not known: then everything is
    /// that of one instance.
    pub instance_count: u32,
    /// The records of all emitted vertices, as [`Expectation::records`](crate::diagnose::Expectation::records) takes
    /// them.
    pub records: [Vec<u8>; MAX_XFB_BUFFERS],
}

impl Emission {
    /// What was captured, of which nothing more is known: each record is a vertex of its own.
    pub fn listed(
        vertices_per_primitive: u32,
        primitives: u32,
        records: [Vec<u8>; MAX_XFB_BUFFERS],
    ) -> Self {
        let vertex_count = primitives.saturating_mul(vertices_per_primitive);
        Self {
            vertices_per_primitive,
            vertex_count,
            vertices: (0..vertex_count).collect(),
            instance_count: 1,
            records,
        }
    }

    /// The primitives of an instance.
    pub fn sequence(&self) -> Sequence<'_> {
        Sequence::Emitted {
            vertices_per_primitive: self.vertices_per_primitive,
            vertex_count: self.vertex_count,
            vertices: &self.vertices,
        }
    }

    /// Primitives of all instances.
    pub fn primitive_count(&self) -> u64 {
        self.sequence().primitive_count().saturating_mul(self.instance_count.into())
    }
}
