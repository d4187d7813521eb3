//! The vertices and primitives that a geometry shader emits to one vertex stream, or into which tessellation shaders
//! divide patches, in the order in which they should be captured.

#![forbid(unsafe_code)]

use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

use crate::diagnose::{Patch, Sequence};

/// The vertices and primitives that a geometry shader emits to one vertex stream in a draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emission {
    /// The number of vertices of each primitive: 1, 2 or 3.
    pub vertices_per_primitive: u32,
    /// The number of vertices that are emitted for an instance.
    pub vertex_count: u32,
    /// The vertices of each primitive of an instance, one primitive after the other. They are
    /// indices below `vertex_count`.
    pub vertices: Vec<u32>,
    /// The number of instances. All instances have the same primitives, but each has its own records. If the primitives
    /// of instances may differ, this number is 1, and the other fields describe the whole draw as one instance.
    pub instance_count: u32,
    /// For each capture buffer, the records of all emitted vertices of all instances, in the form
    /// of [`Expectation::records`](crate::diagnose::Expectation::records).
    pub records: [Vec<u8>; MAX_XFB_BUFFERS],
    /// The patches of an instance, if the device chooses the order of the primitives of each patch. Empty otherwise.
    pub patches: Vec<Patch>,
}

impl Emission {
    /// Makes the emission that corresponds to captured records. Each record becomes a vertex of its
    /// own, because it is not known which records belong to the same vertex.
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
            patches: Vec::new(),
        }
    }

    /// Returns the primitives of an instance.
    pub fn sequence(&self) -> Sequence<'_> {
        Sequence::Emitted {
            vertices_per_primitive: self.vertices_per_primitive,
            vertex_count: self.vertex_count,
            vertices: &self.vertices,
            patches: &self.patches,
        }
    }

    /// Returns the number of primitives of all instances.
    pub fn primitive_count(&self) -> u64 {
        self.sequence().primitive_count().saturating_mul(self.instance_count.into())
    }
}
