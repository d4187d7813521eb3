//! Says what is wrong with a capture, in the words of an engineer who has to fix it.
//!
//! A capture is a sequence of *records*: one per vertex, `vertices_per_primitive` per primitive,
//! with the primitives of all instances one after the other. A record has a part in each capture
//! buffer, with a stride, ranges of bytes that outputs cover, and gaps that must not be written.
//! [`Expectation`] says which records a draw writes, according to the model on the CPU
//! ([`Sequence`]). [`CapturedBuffer`] contains all the memory that was read back,
//! including the guards on both sides of the bound range. All of it was filled with
//! [`super::sentinel`] before the capture.
//!
//! [`diagnose`] first compares bytes, which is enough for a right capture. If bytes differ, it
//! first looks for steps that did nothing at all ([`missing_step`]). Then it traces records back to
//! the vertices that they contain, and names the difference between the expected and the captured
//! vertices: see [`Fault`]. It reports the fault of the first primitive that differs, unless memory
//! outside the bound range was written: an overrun always comes first.

#![forbid(unsafe_code)]

mod decode;
mod faults;
mod primitives;
mod sequence;
mod spans;
mod steps;
mod streams;
mod surroundings;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use faults::{Fault, Mismatch, PrimitiveDiff, Slot, Verdict, VertexRef};
pub use sequence::Sequence;
pub use steps::missing_step;
pub use streams::verdict_of_streams;
use vkxfb::capture::{Layout, MAX_XFB_BUFFERS};

/// What a draw writes to the buffers of one stream.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// The primitives of one instance.
    pub sequence: Sequence<'a>,
    /// Whether the capture promises the order of the vertices within a primitive: for the native
    /// backend
    /// `VkPhysicalDeviceProvokingVertexFeaturesEXT::transformFeedbackPreservesProvokingVertex` (and
    /// for fans `transformFeedbackPreservesTriangleFanProvokingVertex`), always true for the other
    /// backends. If false, a rotated triangle is legal.
    pub preserves_provoking_vertex: bool,
    /// Instances of the draw, which all have the same primitives, but of vertices of their own.
    pub instance_count: u32,
    /// Where the outputs go.
    pub layout: &'a Layout,
    /// The records of all vertices, for each capture buffer. The record of vertex v of instance k
    /// starts at byte (k * [`Sequence::vertex_count`] + v) * stride. Bytes that no output covers are ignored.
    /// Empty for buffers that are not captured to or not bound.
    pub records: [&'a [u8]; MAX_XFB_BUFFERS],
    /// Indices in the layout of outputs with undefined values: the shader does not write them on
    /// every path ([`Lowered::unwritten`](vkxfb::lower::Lowered::unwritten)), and the backend does
    /// not define them either.
    pub undefined: &'a [usize],
    /// Primitives of all instances that fit the buffers, see [`vkxfb::counts::DrawCounts`].
    pub primitives_written: u64,
}

/// The whole allocation of a capture buffer, after the capture.
#[derive(Debug, Clone)]
pub struct CapturedBuffer<'a> {
    /// Number of the capture buffer.
    pub buffer: u32,
    /// The allocation: guard, bound range, guard.
    pub bytes: &'a [u8],
    /// The bound range in bytes of the allocation.
    pub bound: Range<u64>,
    /// Where the draw starts to write, in bytes from the start of the bound range: the counter's
    /// value at Begin. Bytes before it must not have changed.
    pub position: u64,
    /// The counter after End, if one was bound: bytes from the start of the bound range.
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
    /// The bound range is not within the allocation.
    #[error("capture buffer {buffer}: the bound range {bound:?} is not within its {size} bytes")]
    BoundRange {
        /// The buffer.
        buffer: u32,
        /// The range, in bytes.
        bound: Range<u64>,
        /// Bytes of the allocation.
        size: u64,
    },
    /// The records do not fit the bound range.
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
    /// The table of records does not have one record per vertex.
    #[error("capture buffer {buffer}: {found} bytes of records, but the draw has {expected}")]
    Records {
        /// The buffer.
        buffer: u32,
        /// Bytes for all vertices and instances.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// More primitives are written than the draw has.
    #[error("{written} primitives written, but the draw has {needed}")]
    Primitives {
        /// As given.
        written: u64,
        /// The number of primitives for the topology and the vertex and instance counts.
        needed: u64,
    },
    /// An output of the layout is not within its record.
    #[error("capture buffer {buffer}: an output ends at byte {end} of a stride of {stride}")]
    Output {
        /// The buffer.
        buffer: u32,
        /// The end of the output, in bytes of the record.
        end: u64,
        /// Bytes of a record.
        stride: u32,
    },
}

/// Compares a capture with the expectation, and names the first difference.
///
/// Buffers of the layout that `captured` lacks count as unbound and are ignored, as transform
/// feedback does.
///
/// # Errors
/// [`DiagnoseError`] if the inputs contradict each other; then nothing is compared.
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

/// Returns up to `limit` primitives of an instance as expected and as captured, right or wrong, for
/// [`super::picture`].
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
