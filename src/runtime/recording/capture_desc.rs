//! What a capture begins with ([`CaptureDesc`]), and what it gave ([`Captured`], [`Recorded`]).

use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

use crate::runtime::device::parameters::{CaptureBuffer, CounterBuffer, VertexBuffer};
use crate::runtime::pipelines::pipeline::Pipeline;

/// The parameters of a new capture. Later versions may add members, so end a value of this type with
/// `..CaptureDesc::new(pipeline)`.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct CaptureDesc<'a> {
    /// The pipeline of the first draws.
    pub pipeline: &'a Pipeline,
    /// Capture buffers, by their `XfbBuffer` number. Outputs to a buffer that is not bound are discarded, and the other
    /// outputs are captured. Where no buffer is bound that a vertex stream is captured to, its primitives are needed,
    /// but not written ([limits](crate::guide::limits#drivers)). On the native backend all buffers should be bound:
    /// with NVIDIA's driver 580.159.04, outputs to an unbound buffer are written to the buffer that an earlier command
    /// buffer bound.
    pub buffers: &'a [Option<CaptureBuffer>],
    /// Vertex buffers, in any order.
    pub vertex_buffers: &'a [VertexBuffer],
    /// The counters to resume from, by the number of the capture buffer. A buffer without a counter is written from its
    /// start.
    pub counters: &'a [Option<CounterBuffer>],
}

impl<'a> CaptureDesc<'a> {
    /// Describes a capture whose first draws use `pipeline`, without buffers and counters.
    pub const fn new(pipeline: &'a Pipeline) -> Self {
        Self { pipeline, buffers: &[], vertex_buffers: &[], counters: &[] }
    }
}

/// The result of a capture, as the Vulkan specification defines it for queries. The counts wrap at 2^64, like query
/// results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Captured {
    /// The number of primitives written: the first integer of a `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT` query.
    pub primitives_written: u64,
    /// The number of primitives needed: the second integer of that query.
    pub primitives_needed: u64,
    /// For each capture buffer, the number of bytes from the start of the bound range to the end of the last record,
    /// which is the value of its counter.
    pub positions: [u64; MAX_XFB_BUFFERS],
}

/// What was recorded for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Recorded {
    /// The result of the capture, or `None` if it is not known during recording, because it depends on a counter,
    /// indirect arguments, a predicate, an index buffer with restarts or a geometry shader. Also `None` for several
    /// vertex streams, and for several captures in one [`Capture`](crate::runtime::Capture).
    pub captured: Option<Captured>,
    /// The number of dispatches that capture draws.
    pub capture_dispatches: u32,
    /// The number of dispatches of [`Kernels`](crate::runtime::Kernels).
    pub kernel_dispatches: u32,
    /// The number of pipeline barriers.
    pub barriers: u32,
}
