//! [`Recorder`]: records one capture (`vkCmdBeginTransformFeedbackEXT`, draws, `vkCmdEndTransformFeedbackEXT`) on the
//! backend of its pipeline.
//!
//! | backend | what a draw records |
//! |---|---|
//! | native | the corresponding Vulkan command |
//! | vertex | `vkCmdDraw`, with the sysvals in push constants that say where its records are written |
//! | compute | nothing: [`Recorder::end`] or [`Recorder::flush`] records all draws |
//!
//! The functions of [`Recorder`] are in state.rs and draw_commands.rs. graphics.rs implements the native and the vertex
//! backend.
//!
//! The compute backend has three phases. A [`Capture`] calls one after the other:
//!
//! | phase | input | result |
//! |---|---|---|
//! | collect | what the application binds and draws | the draws in order as values, with their states |
//! | plan | these values | the steps to record and the memory that they take, without Vulkan handles |
//! | play | the plan, and the handles that were collected beside the values | commands |
//!
//! Draws are collected because recording them together is cheaper. If the CPU knows everything (all draws are direct,
//! and the buffers are written from a known position on), it computes all counts and positions itself, and records only
//! dispatches without barriers between them: one for each large draw, and one for all small draws between two large
//! ones. Otherwise one dispatch of a setup kernel computes the counts and positions of all draws on the GPU, and after
//! it all draws are dispatched.

mod capture;
mod checks;
mod collect;
mod draw_commands;
mod graphics;
mod plan;
mod play;
mod set_arguments;
mod state;

pub use self::capture::Capture;
pub(super) use self::checks::check_byte_count;
pub(super) use self::collect::most_slices;
use self::graphics::Graphics;
pub(super) use self::plan::{LISTED_BYTES, MAX_ENTRIES, SMALL, most_entries};
pub use self::play::CaptureOrder;
use self::play::Playback;
pub use self::set_arguments::BufferSet;
use super::Pipeline;
use super::parameters::{CaptureBuffer, CounterBuffer, VertexBuffer};
use crate::capture::MAX_XFB_BUFFERS;
use crate::setters::setters;

/// The parameters of a new capture. [`new`](Self::new) takes the pipeline, and the other functions set the other
/// parameters.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct CaptureDesc<'a> {
    /// The pipeline of the first draws.
    pub pipeline: &'a Pipeline,
    /// Capture buffers, by their `XfbBuffer` number. Outputs to a buffer that is not bound are discarded, and the other
    /// outputs are captured. Where no buffer is bound that a vertex stream is captured to, its primitives are needed,
    /// but not written ([limits](crate::guide::limits#drivers)). On the native backend all buffers should be bound: with
    /// NVIDIA's driver 580.159.04, outputs to an unbound buffer are written to the buffer that an earlier command buffer
    /// bound.
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

    setters! {
        buffers: &'a [Option<CaptureBuffer>],
        vertex_buffers: &'a [VertexBuffer],
        counters: &'a [Option<CounterBuffer>],
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
    /// vertex streams, and for several captures in one [`Capture`].
    pub captured: Option<Captured>,
    /// The number of dispatches that capture draws.
    pub captures: u32,
    /// The number of dispatches of [`Kernels`](super::Kernels).
    pub kernels: u32,
    /// The number of pipeline barriers.
    pub barriers: u32,
}

/// A capture that is being recorded.
///
/// Between [`begin`](Self::begin) and [`end`](Self::end) the application must not bind another pipeline at the bind
/// point of the capture's pipeline, and must not change the push constants of that pipeline's stage.
///
/// ```no_run
/// # use ash::vk;
/// # use vkxfb::runtime::*;
/// # use vkxfb::topology::PrimitiveTopology;
/// # unsafe fn record(
/// #     capture: &mut Capture, arena: &mut Arena, cmd: vk::CommandBuffer, desc: &CaptureDesc<'_>,
/// #     indices: vk::Buffer, set: vk::DescriptorSet, colour: [u8; 16],
/// # ) -> Result<(), RuntimeError> { unsafe {
/// // `desc` has the pipeline, capture buffers and vertex buffers.
/// let mut recorder = Recorder::begin(capture, arena, cmd, desc)?;
/// recorder.draw(PrimitiveTopology::TriangleStrip, &Draw::new(5).instance_count(2))?;
/// // The state that is bound from here on applies to the draws that follow. Their records are appended.
/// recorder.bind_descriptor_sets(0, &[set], &[])?;
/// recorder.push_constants(0, &colour)?;
/// recorder.bind_index_buffer(&IndexBuffer::new(indices, 2 * 300, IndexType::Uint16))?;
/// recorder.draw_indexed(PrimitiveTopology::TriangleList, &DrawIndexed::new(300))?;
/// let recorded = recorder.end(&[])?;
/// println!("{:?}", recorded.captured.map(|captured| captured.primitives_written));
/// # Ok(())
/// # } }
/// ```
///
/// # Descriptor sets
/// Sets that [`bind_descriptor_sets`](Self::bind_descriptor_sets) binds are used by the draws after it, on every
/// backend. A draw whose shader reads a set that is not bound is refused
/// ([`RuntimeError::MissingDescriptorSet`](super::RuntimeError::MissingDescriptorSet)).
///
/// An application may also record `vkCmdBindDescriptorSets` itself, with [`Pipeline::raw_layout`], before or during the
/// capture. It must declare such sets by [`assume_descriptor_sets`](Self::assume_descriptor_sets). On the native and
/// vertex backends that works as in Vulkan. The compute backend records draws at [`flush`](Self::flush) and
/// [`end`](Self::end), so all draws use the sets that are bound in the command buffer at that time. For a set number
/// that `bind_descriptor_sets` bound before a draw, the draw uses that set.
///
/// Under the descriptor plan ([`Context::resource_plan`](super::Context::resource_plan)), kernels that are recorded
/// before the draws disturb all descriptor sets, and only the sets of `bind_descriptor_sets` are bound again. A draw
/// that reads other sets is therefore refused if kernels are needed
/// ([`RuntimeError::DescriptorSetUnknown`](super::RuntimeError::DescriptorSetUnknown)): for counters, indirect draws,
/// predicates or primitive restart, or for queries or counters after a flush.
///
/// # Memory
/// Draws are stored in the memory of the [`Capture`], which grows to the size of its largest recording. Later
/// recordings up to that size make no heap allocations, except under the [descriptor
/// plan](crate::guide::resource_plans): with descriptors a recording makes a few dozen allocations, and each
/// [`flush`](Self::flush) up to 40, independently of the number of draws.
///
/// Data for the device is stored in an [`Arena`](super::Arena). All the memory that a recording needs is reserved
/// before its commands are recorded; [`Arena::growing`](super::Arena::growing) lets the arena grow.
///
/// # Dropping
/// A recorder that is dropped without [`end`](Self::end), for example by `?`, logs a `tracing::error!`. On the compute
/// backend, draws that were not recorded yet stay in the [`Capture`]. Playing it returns
/// [`RuntimeError::NotEnded`](super::RuntimeError::NotEnded) until [`Capture::end`] is called. On the native backend
/// `vkCmdBeginTransformFeedbackEXT` is left without its end, so the command buffer cannot be ended validly. Recorders
/// that [`Capture::recorder`] returns may be dropped.
#[must_use = "a capture is open until `end`"]
pub struct Recorder<'a> {
    inner: Inner<'a>,
    /// Whether `end` has to be called before the recorder is dropped.
    is_open: bool,
}

enum Inner<'a> {
    /// Draws are recorded immediately, with a graphics pipeline.
    Graphics(Graphics<'a>),
    /// Draws are collected, and `end` or `flush` records them.
    Immediate(Immediate<'a>),
    /// Draws are collected, and the application plays the capture.
    Collect(&'a mut Capture),
}

/// A capture, and the command buffer that its draws will be recorded into.
struct Immediate<'a> {
    capture: &'a mut Capture,
    playback: Playback<'a>,
}
