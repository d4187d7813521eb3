//! Counts the primitives that a draw generates, and the primitives that fit into the capture buffers. The CPU computes
//! this when it records draws for which it knows how many vertices they have and where they are captured.
//! `shaders/counts.wgsl` and `shaders/placing.wgsl` compute the same on the GPU.
//!
//! A primitive that does not fit overflows as a whole ([transform
//! feedback](https://docs.vulkan.org/spec/latest/chapters/vertexpostproc.html#vertexpostproc-transform-feedback)): a
//! primitive is written to every buffer or to none, and the first one that does not fit ends the draw. The number of
//! primitives that fit therefore determines all other counts of what fits. All arithmetic uses 64 bits. The counts of
//! what fits need only 32 bits, because a bound range has at most [`MAX_BUFFER_SIZE`] bytes and a record at least 4.

use crate::topology::{PrimitiveTopology, Shape};

/// The largest bound range of a capture buffer in bytes: the largest multiple of 4 that a 32-bit
/// counter can have.
pub const MAX_BUFFER_SIZE: u64 = u32::MAX as u64 - 3;

impl PrimitiveTopology {
    /// The number of complete primitives of one instance with `vertex_count` vertices; 0 for a patch list, which has
    /// none before it is tessellated.
    pub const fn primitive_count(self, vertex_count: u32) -> u64 {
        let n = vertex_count as u64;
        match self {
            Self::PointList => n,
            Self::LineList => n / 2,
            Self::LineStrip => n.saturating_sub(1),
            Self::TriangleList => n / 3,
            Self::TriangleStrip | Self::TriangleFan => n.saturating_sub(2),
            Self::LineListWithAdjacency => n / 4,
            Self::LineStripWithAdjacency => n.saturating_sub(3),
            Self::TriangleListWithAdjacency => n / 6,
            Self::TriangleStripWithAdjacency => n.saturating_sub(4) / 2,
            Self::PatchList => 0,
        }
    }

    /// The number of records of one instance with `vertex_count` vertices.
    pub const fn output_count(self, vertex_count: u32) -> u64 {
        self.primitive_count(vertex_count) * self.vertices_per_primitive() as u64
    }

    /// The number of items (vertices that contribute to the capture, see [`crate::topology`]) in the first `primitives`
    /// primitives of an instance.
    pub const fn item_count(self, primitives: u64) -> u64 {
        if primitives == 0 {
            return 0;
        }
        match self.shape() {
            Shape::List => primitives * self.vertices_per_primitive() as u64,
            Shape::LineStrip | Shape::TriFan => primitives + 1,
            Shape::TriStrip => primitives + 2,
        }
    }
}

/// A capture buffer that is bound and that the shader captures to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundBuffer {
    /// Size of the bound range in bytes, at most [`MAX_BUFFER_SIZE`].
    pub size: u64,
    /// Write position: bytes from the start of the range. May exceed `size`.
    pub position: u64,
    /// Size of a vertex's record in bytes, a positive multiple of 4.
    pub stride: u32,
}

impl BoundBuffer {
    /// The number of whole primitives of `vertices_per_primitive` vertices that fit behind the write position.
    pub const fn primitives_left(&self, vertices_per_primitive: u32) -> u64 {
        let size = if self.size < MAX_BUFFER_SIZE { self.size } else { MAX_BUFFER_SIZE };
        let primitive = self.stride as u64 * vertices_per_primitive as u64;
        match size.saturating_sub(self.position).checked_div(primitive) {
            Some(primitives) => primitives,
            None => 0,
        }
    }
}

/// The counts of one draw. All of them except `primitives_needed` are clamped to what fits into the capture buffers.
///
/// ```
/// use vkxfb_rewriter::topology::PrimitiveTopology;
/// use vkxfb_rewriter::counts::{BoundBuffer, DrawCounts};
///
/// // Two instances of a strip of 5 vertices are 6 triangles. Behind the first 100 bytes there is room for 4.
/// let buffer = BoundBuffer { size: 100 + 4 * 3 * 16, position: 100, stride: 16 };
/// let counts = DrawCounts::new(PrimitiveTopology::TriangleStrip, 5, 2, [buffer]);
/// assert_eq!((counts.primitives_needed, counts.primitives_written), (6, 4));
/// assert_eq!(counts.bytes_written(buffer.stride), 4 * 3 * 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DrawCounts {
    /// Primitives of all instances: the second integer of
    /// `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`.
    pub primitives_needed: u64,
    /// Primitives that fit: the first integer of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`.
    pub primitives_written: u64,
    /// Vertices that are written, in all instances: the number of records of the draw.
    pub output_limit: u32,
    /// Vertices that one instance writes. The last instance may write fewer; `output_limit` is the exact number for all
    /// instances together.
    pub output_count: u32,
    /// Items per instance (see [`crate::topology`]): the input vertices that contribute to the written vertices. The
    /// hub of a fan (its first vertex) is not counted.
    pub item_count: u32,
    /// The number of instances that write anything.
    pub instance_count: u32,
}

impl DrawCounts {
    /// Computes the counts of a draw whose vertex shader is captured into `buffers`. This is for parameters that the
    /// CPU knows: indirect draws are counted on the GPU.
    ///
    /// If no buffer is bound, nothing is written. All counts but `primitives_needed` are 0 then: a primitive counts as
    /// written if outputs of it are captured to a buffer ([transform feedback
    /// queries](https://docs.vulkan.org/spec/latest/chapters/queries.html#queries-transform-feedback)).
    pub fn new(
        topology: PrimitiveTopology,
        vertex_count: u32,
        instance_count: u32,
        buffers: impl IntoIterator<Item = BoundBuffer>,
    ) -> Self {
        let primitives = topology.primitive_count(vertex_count);
        let vertices = topology.vertices_per_primitive();
        let items = |primitives| topology.item_count(primitives);
        Self::of(primitives, vertices, instance_count, buffers, items)
    }

    /// Computes the counts for a geometry shader that emits `each` primitives of `vertices` vertices for each input
    /// primitive. Items are input primitives. For triangle strips with adjacency, there is one item more than the
    /// written records need, unless all input primitives are needed: the last triangle of a strip has other adjacent
    /// vertices than it would have if another triangle followed.
    pub fn emitted(
        topology: PrimitiveTopology,
        vertex_count: u32,
        instance_count: u32,
        [each, vertices]: [u32; 2],
        buffers: impl IntoIterator<Item = BoundBuffer>,
    ) -> Self {
        let taken = topology.primitive_count(vertex_count);
        let primitives = taken * u64::from(each);
        let more = u64::from(topology == PrimitiveTopology::TriangleStripWithAdjacency);
        let items = |primitives: u64| taken.min(primitives.div_ceil(each.into()) + more);
        Self::of(primitives, vertices, instance_count, buffers, items)
    }

    /// Computes the counts of `instance_count` instances, each of which has `primitives` primitives of `vertices`
    /// vertices. `items(n)` is the number of items in the first `n` primitives of an instance.
    fn of(
        primitives: u64,
        vertices: u32,
        instance_count: u32,
        buffers: impl IntoIterator<Item = BoundBuffer>,
        items: impl Fn(u64) -> u64,
    ) -> Self {
        let primitives_needed = primitives.saturating_mul(instance_count.into());
        let room = buffers.into_iter().map(|b| b.primitives_left(vertices)).min().unwrap_or(0);
        let primitives_written = primitives_needed.min(room);
        if primitives_written == 0 {
            return Self { primitives_needed, ..Self::default() };
        }
        let instances = primitives_written.div_ceil(primitives);
        let instance_primitives = primitives.min(primitives_written);
        let m = u64::from(vertices);
        Self {
            primitives_needed,
            primitives_written,
            output_limit: narrow(primitives_written * m),
            output_count: narrow(instance_primitives * m),
            item_count: narrow(items(instance_primitives)),
            instance_count: narrow(instances),
        }
    }

    /// The bytes that the draw writes to a buffer whose records are `stride` bytes long.
    pub const fn bytes_written(&self, stride: u32) -> u64 {
        self.output_limit as u64 * stride as u64
    }
}

/// Converts a number of records, items or instances to 32 bits. 32 bits are enough for the numbers that fit into the
/// capture buffers, because capture buffers are smaller than 4 GiB.
fn narrow(count: u64) -> u32 {
    debug_assert!(u32::try_from(count).is_ok());
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_buffer() -> impl Strategy<Value = BoundBuffer> {
        (
            prop_oneof![0..100_000u64, (MAX_BUFFER_SIZE - 10_000)..=MAX_BUFFER_SIZE],
            prop_oneof![0..100_000u64, 0..=u64::from(u32::MAX)],
            (1u32..=512).prop_map(|dwords| dwords * 4),
        )
            .prop_map(|(size, position, stride)| BoundBuffer { size, position, stride })
    }

    proptest! {
        /// A primitive is written if it and all primitives before it fit into every buffer. The counts of what fits
        /// (`output_limit` to `instance_count`) select exactly the records of these primitives.
        #[test]
        fn a_primitive_is_written_where_it_fits_every_buffer(
            topology in proptest::sample::select(&PrimitiveTopology::ALL[..]),
            n in prop_oneof![0..500u32, any::<u32>()],
            instances in prop_oneof![0..5u32, any::<u32>()],
            buffers in proptest::collection::vec(any_buffer(), 1..4),
            probe in any::<u64>(),
        ) {
            let counts = DrawCounts::new(topology, n, instances, buffers.iter().copied());
            let m = u64::from(topology.vertices_per_primitive());
            let needed = topology.primitive_count(n) * u64::from(instances);
            prop_assert_eq!(counts.primitives_needed, needed);
            let fits = |primitive: u64| buffers.iter().all(|b| {
                u128::from(b.position) + (u128::from(primitive) + 1) * u128::from(m * u64::from(b.stride))
                    <= u128::from(b.size)
            });
            let written = counts.primitives_written;
            prop_assert!(written == needed || !fits(written));
            prop_assert!(written == 0 || fits(written - 1));
            prop_assert_eq!(u64::from(counts.output_limit), written * m);
            for b in &buffers {
                prop_assert!(written == 0 || b.position + counts.bytes_written(b.stride) <= b.size);
            }
            // The shader derives its limits from `output_count`, `item_count` and `instance_count`: together they
            // select every written record, and no index overflows.
            if written > 0 {
                let record = probe % (written * m);
                let per_instance = u64::from(counts.output_count);
                prop_assert_eq!(per_instance, topology.output_count(n).min(written * m));
                prop_assert!(record / per_instance < u64::from(counts.instance_count));
                let vertex = topology.gather(Default::default(), record % per_instance);
                match topology.item_of_vertex(u32::try_from(vertex).unwrap()) {
                    Some(item) => prop_assert!(item < counts.item_count),
                    None => prop_assert_eq!(vertex, 0),
                }
                prop_assert!(u64::from(counts.instance_count) * per_instance + m < 1 << 32);
                prop_assert!(2 * u64::from(counts.instance_count) * u64::from(counts.item_count) < 1 << 32);
            }
        }
    }

    #[test]
    fn what_is_emitted_needs_the_primitives_that_it_is_emitted_for() {
        let buffer = BoundBuffer { size: 5 * 2 * 16, position: 0, stride: 16 };
        let items =
            |topology, count| DrawCounts::emitted(topology, count, 1, [2, 2], [buffer]).item_count;
        assert_eq!(items(PrimitiveTopology::TriangleList, 12), 3);
        assert_eq!(items(PrimitiveTopology::TriangleStrip, 12), 3);
        // No record of the fourth triangle fits. It is an item nevertheless, because the third triangle would
        // have other adjacent vertices if it were the last one.
        assert_eq!(items(PrimitiveTopology::TriangleStripWithAdjacency, 12), 4);
        assert_eq!(items(PrimitiveTopology::TriangleStripWithAdjacency, 10), 3);
    }

    #[test]
    fn nothing_fits_where_no_record_can_be() {
        let left = |size, stride| BoundBuffer { size, position: 0, stride }.primitives_left(1);
        assert_eq!(left(100, 0), 0);
        assert_eq!(left(u64::MAX, 4), MAX_BUFFER_SIZE / 4);
    }

    #[test]
    fn without_a_bound_buffer_nothing_is_written() {
        let counts = DrawCounts::new(PrimitiveTopology::TriangleStrip, 10, 3, []);
        assert_eq!(counts, DrawCounts { primitives_needed: 24, ..DrawCounts::default() });
    }
}
