//! What is wrong with a capture, in the words of the engineer who has to mend it.
//!
//! A capture is a sequence of *records*, one a vertex, `vertices_per_primitive` a primitive, the
//! primitives of all instances one behind the other. A record is split over the capture buffers, in
//! each of which it has a stride, runs of bytes that outputs cover, and gaps that nobody may touch.
//! [`Expectation`] says which records a draw writes, by the CPU twin
//! ([`PrimitiveTopology::gather`]); [`CapturedBuffer`] holds everything that came back, with the
//! guards on both sides of the bound range, all of which was filled with [`super::sentinel`] first.
//!
//! [`diagnose`] compares in two steps. First bytes with bytes, which is all that a right capture
//! costs. Only where they differ are records traced back to the vertices that they hold, and a
//! difference between two lists of vertices is a thing with a name: see [`Fault`]. The name given is
//! that of the first primitive that differs, unless memory outside the bound range was written: an
//! overrun is always named first. Before anything is traced, what came back is looked through for steps that
//! did nothing at all ([`missing_step`]).

#![forbid(unsafe_code)]

mod decode;
mod faults;
mod primitives;
mod spans;
mod steps;
mod surroundings;
#[cfg(test)]
mod tests;

use std::ops::Range;

use vkxfb::capture::{Layout, MAX_XFB_BUFFERS};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

pub use faults::{Fault, Mismatch, PrimitiveDiff, Slot, Verdict, VertexRef};
pub use steps::missing_step;

/// What a draw writes.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// Topology of the draw.
    pub topology: PrimitiveTopology,
    /// The convention of the pipeline.
    pub provoking: ProvokingVertex,
    /// Whether the capture promises the order within a primitive:
    /// `VkPhysicalDeviceProvokingVertexFeaturesEXT::transformFeedbackPreservesProvokingVertex` of the native backend
    /// (for fans `transformFeedbackPreservesTriangleFanProvokingVertex` as well), always true for ours. Without it a
    /// rotated triangle is legal.
    pub preserves_provoking_vertex: bool,
    /// Vertices of one instance, after the index buffer where there is one.
    pub vertex_count: u32,
    /// Instances of the draw.
    pub instance_count: u32,
    /// Where the outputs go.
    pub layout: &'a Layout,
    /// By capture buffer: the records of all vertices. That of vertex v of instance k starts at
    /// byte (k * `vertex_count` + v) * stride; bytes that no output covers mean nothing. Empty for
    /// buffers that are not captured or not bound.
    pub records: [&'a [u8]; MAX_XFB_BUFFERS],
    /// Indices in the layout of outputs that may hold anything, because the shader does not write them on
    /// every path ([`Lowered::unwritten`](vkxfb::lower::Lowered::unwritten)) and the backend does not define
    /// them either.
    pub undefined: &'a [usize],
    /// Primitives of all instances that fit the buffers, see [`vkxfb::counts::DrawCounts`].
    pub primitives_written: u64,
}

/// The whole allocation of a capture buffer as it was after the capture.
#[derive(Debug, Clone)]
pub struct CapturedBuffer<'a> {
    /// Number of the capture buffer.
    pub buffer: u32,
    /// The allocation: guard, bound range, guard.
    pub bytes: &'a [u8],
    /// The bound range in bytes of the allocation.
    pub bound: Range<u64>,
    /// Bytes from the start of the bound range at which the draw started to write: the counter's
    /// value at Begin. What lies before must not have changed.
    pub position: u64,
    /// The counter after End, where one was bound: bytes from the start of the bound range.
    pub counter: Option<u32>,
}

/// The inputs of [`diagnose`] contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiagnoseError {
    /// A buffer number is too high.
    #[error("capture buffer {0} does not exist: there are {MAX_XFB_BUFFERS}")]
    NoSuchBuffer(u32),
    /// Two allocations for one buffer.
    #[error("capture buffer {0} is given twice")]
    BufferTwice(u32),
    /// The bound range leaves the allocation.
    #[error("capture buffer {buffer}: the bound range {bound:?} leaves its {size} bytes")]
    BoundRange {
        /// The buffer.
        buffer: u32,
        /// The range, in bytes.
        bound: Range<u64>,
        /// Bytes of the allocation.
        size: u64,
    },
    /// What is to be written does not fit.
    #[error(
        "capture buffer {buffer}: {needed} bytes of records from byte {position} do not fit a bound \
         range of {size}"
    )]
    DoesNotFit {
        /// The buffer.
        buffer: u32,
        /// Where the draw starts to write, in bytes.
        position: u64,
        /// Bytes that the expected primitives take.
        needed: u64,
        /// Bytes of the bound range.
        size: u64,
    },
    /// The table of records is not one record a vertex.
    #[error("capture buffer {buffer}: {found} bytes of records, where the draw has {expected}")]
    Records {
        /// The buffer.
        buffer: u32,
        /// Bytes that vertices, instances and stride make.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// The draw does not have so many primitives.
    #[error("{written} primitives written, where the draw has {needed}")]
    Primitives {
        /// As given.
        written: u64,
        /// What the topology makes of the vertex and instance counts.
        needed: u64,
    },
    /// An output of the layout leaves its record.
    #[error("capture buffer {buffer}: an output ends at byte {end} of a stride of {stride}")]
    Output {
        /// The buffer.
        buffer: u32,
        /// The end of the output, in bytes of the record.
        end: u32,
        /// Bytes of a record.
        stride: u32,
    },
}

/// Compares a capture with what is expected of it and names the first difference.
///
/// Buffers of the layout that `captured` lacks count as unbound and are ignored, as transform
/// feedback does.
///
/// # Errors
/// [`DiagnoseError`] where the inputs contradict each other; nothing is compared then.
pub fn diagnose(
    expectation: &Expectation<'_>,
    captured: &[CapturedBuffer<'_>],
) -> Result<Verdict, DiagnoseError> {
    let capture = decode::Capture::new(expectation, captured)?;
    if capture.is_right() {
        return Ok(Verdict::Match);
    }
    if let Some(mismatch) = missing_step(expectation.primitives_written, captured) {
        return Ok(Verdict::Mismatch(Box::new(mismatch)));
    }
    Ok(faults::judge(&capture))
}

/// Up to `limit` primitives of an instance as they were expected and captured, right or wrong: what
/// [`super::picture`] draws.
///
/// # Errors
/// As [`diagnose`].
pub fn trace(
    expectation: &Expectation<'_>,
    captured: &[CapturedBuffer<'_>],
    first_primitive: u64,
    instance: u32,
    limit: usize,
) -> Result<Vec<PrimitiveDiff>, DiagnoseError> {
    let capture = decode::Capture::new(expectation, captured)?;
    let first = u64::from(instance) * capture.primitives_per_instance() + first_primitive;
    let mut traced = primitives::excerpt(&capture, first, limit);
    traced.retain(|diff| diff.instance == instance);
    Ok(traced)
}
