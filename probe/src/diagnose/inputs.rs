//! The inputs of a comparison: what a draw should write, and what was captured.

use std::ops::Range;

use vkxfb_rewriter::capture::{Layout, MAX_XFB_BUFFERS};

use crate::diagnose::sequence::Sequence;

/// The records that a draw should write to the buffers of one vertex stream.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// The primitives of each instance.
    pub sequence: Sequence<'a>,
    /// Whether the order of the vertices of a primitive is guaranteed. If not, a triangle may be
    /// rotated. The vertex and compute backends always guarantee the order. The native backend
    /// guarantees it if
    /// `VkPhysicalDeviceProvokingVertexFeaturesEXT::transformFeedbackPreservesProvokingVertex` is
    /// enabled and, for fans, the property `transformFeedbackPreservesTriangleFanProvokingVertex`
    /// is true.
    pub preserves_provoking_vertex: bool,
    /// The number of instances of the draw. All instances have the same primitives, but each has its own records.
    pub instance_count: u32,
    /// The layout of the captured outputs.
    pub layout: &'a Layout,
    /// For each capture buffer, the records of all vertices. The record of vertex v of instance k starts at byte (k *
    /// [`Sequence::vertex_count`] + v) * stride. Bytes that no output covers are ignored. A slice is empty if the
    /// buffer is not bound, or if nothing is captured to it.
    pub records: [&'a [u8]; MAX_XFB_BUFFERS],
    /// The indices, in [`Layout::outputs`], of outputs that may have undefined values, because the shader does not
    /// write them on every path ([`Lowered::unwritten`](vkxfb_rewriter::lower::Lowered::unwritten)) and the backend
    /// does not define them either.
    pub undefined: &'a [usize],
    /// The number of primitives of all instances that fit into the buffers; see
    /// [`vkxfb_rewriter::counts::DrawCounts`].
    pub primitives_written: u64,
}

/// The whole allocation of a capture buffer, after the capture.
#[derive(Debug, Clone)]
pub struct CapturedBuffer<'a> {
    /// The number of the capture buffer.
    pub buffer: u32,
    /// The bytes of the allocation: a guard region, the bound range, and another guard region.
    pub bytes: &'a [u8],
    /// The bound range, in bytes from the start of the allocation.
    pub bound: Range<u64>,
    /// The offset in bytes from the start of the bound range at which the draw starts to write. If a counter was bound
    /// at Begin, the offset is the counter's value. Bytes before the offset must not have changed.
    pub position: u64,
    /// The counter's value after End: bytes from the start of the bound range. `None` if no counter
    /// was bound.
    pub counter: Option<u32>,
}

/// The contradictions between the inputs of [`diagnose`](crate::diagnose::diagnose()).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiagnoseError {
    /// There is no capture buffer with this number.
    #[error("capture buffer {0} does not exist: there are {MAX_XFB_BUFFERS}")]
    NoSuchBuffer(u32),
    /// There are two allocations for this buffer.
    #[error("capture buffer {0} is given twice")]
    BufferTwice(u32),
    /// The bound range is not within the buffer's allocation.
    #[error("capture buffer {buffer}: the bound range {bound:?} is not within its {size} bytes")]
    BoundRange {
        /// The number of the buffer.
        buffer: u32,
        /// The bound range, in bytes.
        bound: Range<u64>,
        /// The size in bytes of the allocation.
        size: u64,
    },
    /// The expected records do not fit into the bound range.
    #[error(
        "capture buffer {buffer}: {needed} bytes of records from byte {position} do not fit a bound \
         range of {size}"
    )]
    DoesNotFit {
        /// The number of the buffer.
        buffer: u32,
        /// The offset in bytes at which the draw starts to write.
        position: u64,
        /// The size in bytes of the expected records.
        needed: u64,
        /// The size in bytes of the bound range.
        size: u64,
    },
    /// [`Expectation::records`] does not have one record for each vertex.
    #[error("capture buffer {buffer}: {found} bytes of records, but the draw has {expected}")]
    Records {
        /// The number of the buffer.
        buffer: u32,
        /// The size in bytes of the records of all vertices of all instances.
        expected: u64,
        /// The size in bytes of the given records.
        found: u64,
    },
    /// The expectation says that more primitives are written than the draw has.
    #[error("{written} primitives written, but the draw has {needed}")]
    Primitives {
        /// The number of primitives that are written, according to the expectation.
        written: u64,
        /// The number of primitives of the draw.
        needed: u64,
    },
    /// An output of the layout reaches beyond the end of its record.
    #[error("capture buffer {buffer}: an output ends at byte {end} of a stride of {stride}")]
    Output {
        /// The number of the buffer.
        buffer: u32,
        /// The end of the output, in bytes from the start of the record.
        end: u64,
        /// The size in bytes of a record.
        stride: u32,
    },
}

impl<'a> Expectation<'a> {
    /// Returns the expectation with the primitives of each instance in this order, if there is one.
    pub(super) const fn in_order<'b>(&self, order: Option<&'b [u32]>) -> Expectation<'b>
    where
        'a: 'b,
    {
        let mut ordered = *self;
        if let (Sequence::Emitted { vertices, .. }, Some(order)) = (&mut ordered.sequence, order) {
            *vertices = order;
        }
        ordered
    }
}
