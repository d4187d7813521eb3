//! The vertices and primitives that a geometry shader emits to one vertex stream, in the order in which they are captured.

#![forbid(unsafe_code)]

use vkxfb::capture::MAX_XFB_BUFFERS;

use crate::diagnose::Sequence;

/// What a geometry shader emits to one vertex stream for a draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emission {
    /// Vertices of a primitive: 1, 2 or 3.
    pub vertices_per_primitive: u32,
    /// Vertices that are emitted for an instance.
    pub vertex_count: u32,
    /// The vertices of each primitive of an instance, from 0, one primitive after the other.
    pub vertices: Vec<u32>,
    /// The number of instances. All have the same primitives, but their own records. If instances may differ, this is 1, and
    /// `vertices` has the primitives of the whole draw.
    pub instance_count: u32,
    /// The records of all emitted vertices, as [`Expectation::records`](crate::diagnose::Expectation::records) takes
    /// them.
    pub records: [Vec<u8>; MAX_XFB_BUFFERS],
}

impl Emission {
    /// The emission according to captured records. Each record is a separate vertex, because it is not known which records
    /// are of the same vertex.
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
