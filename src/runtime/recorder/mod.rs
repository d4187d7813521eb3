//! Recording one capture: `vkCmdBeginTransformFeedbackEXT`, draws, `vkCmdEndTransformFeedbackEXT`,
//! on whichever backend the pipeline is for.
//!
//! | backend | a draw records |
//! |---|---|
//! | native | the Vulkan command that it stands for |
//! | vertex | `vkCmdDraw`, with the place of its records in push constants |
//! | compute | nothing: [`Recorder::end`], or [`Recorder::flush`], records all of them |
//!
//! What the compute backend collects is a value, [`Capture`], which the recorder borrows: state.rs and draw_commands.rs are
//! the commands, bind.rs and collect.rs what a capture makes of them, play.rs what it records, by direct.rs or gpu.rs.
//!
//! The compute backend collects draws because together they cost less. As long as the CPU knows
//! everything (direct draws into buffers that are written from a known position on), it computes all
//! counts, clamps and places itself, and records nothing but dispatches: one for each large draw, one
//! for all small draws between two large ones, no barrier. Otherwise one setup kernel does for the
//! whole lot what the CPU cannot, and then all draws are dispatched.

mod bind;
mod capture;
mod checks;
mod collect;
mod constants;
mod direct;
mod draw_commands;
mod gpu;
mod graphics;
mod play;
mod queries;
mod resources;
mod restarts;
mod sets;
mod state;

pub use self::capture::Capture;
pub(super) use self::checks::check_byte_count;
use self::graphics::Graphics;
use self::play::Playback;
pub(super) use self::resources::{address, resolve};
use super::Pipeline;
use super::parameters::{CaptureBuffer, CounterBuffer, VertexBuffer};
use crate::capture::MAX_XFB_BUFFERS;
use crate::counts::DrawCounts;

/// What a capture begins with: [`new`](Self::new) takes the pipeline, the other functions set the rest.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct CaptureDesc<'a> {
    /// The pipeline of the first draws.
    pub pipeline: &'a Pipeline,
    /// Capture buffers, by their `XfbBuffer` number. Outputs of a buffer that is not bound are
    /// ignored, which is no overflow. But of drivers' own captures, NVIDIA's (580.159.04) writes them to
    /// what an earlier command buffer bound, so that on the native backend all should be bound there.
    pub buffers: &'a [Option<CaptureBuffer>],
    /// Vertex buffers, in any order.
    pub vertex_buffers: &'a [VertexBuffer],
    /// Counters to resume from, by the number of the capture buffer. Without one a buffer is
    /// written from its start.
    pub counters: &'a [Option<CounterBuffer>],
}

impl<'a> CaptureDesc<'a> {
    /// A capture that begins with that pipeline, without buffers, at the start of each buffer that it is given.
    pub const fn new(pipeline: &'a Pipeline) -> Self {
        Self { pipeline, buffers: &[], vertex_buffers: &[], counters: &[] }
    }

    /// Sets [`buffers`](field@Self::buffers).
    pub const fn buffers(mut self, buffers: &'a [Option<CaptureBuffer>]) -> Self {
        self.buffers = buffers;
        self
    }

    /// Sets [`vertex_buffers`](field@Self::vertex_buffers).
    pub const fn vertex_buffers(mut self, vertex_buffers: &'a [VertexBuffer]) -> Self {
        self.vertex_buffers = vertex_buffers;
        self
    }

    /// Sets [`counters`](field@Self::counters).
    pub const fn counters(mut self, counters: &'a [Option<CounterBuffer>]) -> Self {
        self.counters = counters;
        self
    }
}

/// What a capture did, by the rules of the specification. Like results of queries its counts wrap at 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Captured {
    /// Primitives written: the first integer of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`.
    pub primitives_written: u64,
    /// Primitives needed: its second integer.
    pub primitives_needed: u64,
    /// Bytes from the start of each bound range that records fill: what the counters would hold.
    pub positions: [u64; MAX_XFB_BUFFERS],
}

impl Captured {
    const fn add(&mut self, counts: &DrawCounts) {
        self.primitives_written = self.primitives_written.wrapping_add(counts.primitives_written);
        self.primitives_needed = self.primitives_needed.wrapping_add(counts.primitives_needed);
    }
}

/// What was recorded for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Recorded {
    /// What the capture does, where that is known while recording: `None` once it depends on a
    /// counter, indirect arguments, a predicate or an index buffer with restarts.
    pub captured: Option<Captured>,
    /// Dispatches that capture.
    pub captures: u32,
    /// Dispatches of [`Kernels`](super::Kernels).
    pub kernels: u32,
    /// Pipeline barriers.
    pub barriers: u32,
}

/// A capture that is being recorded.
///
/// Between [`begin`](Self::begin) and [`end`](Self::end) the application binds no other pipeline at
/// the bind point of this one, and does not touch the push constants of its stage.
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
/// // What is bound from here on holds for the draws that follow. They append to what was captured before.
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
/// Sets that [`bind_descriptor_sets`](Self::bind_descriptor_sets) binds hold for the draws behind it, on every
/// backend. An application may also record `vkCmdBindDescriptorSets` itself, with [`Pipeline::raw_layout`], before
/// the capture or within. On the native and vertex backends that holds as in Vulkan. On the compute backend, where
/// draws are recorded at [`flush`](Self::flush) and [`end`](Self::end), all of them read what the command buffer
/// has bound by then, but for the set numbers that `bind_descriptor_sets` bound before the draw, where its sets
/// count whatever else was bound.
///
/// Where [`Context::resource_plan`](super::Context::resource_plan) is by descriptors, kernels that are recorded
/// before the draws take the place of all sets, and only those of `bind_descriptor_sets` are bound once more. So with
/// counters, indirect draws, predicates or primitive restart, or behind a flush with queries or counters, draws that
/// read others are refused ([`RuntimeError::DescriptorSetUnknown`](super::RuntimeError::DescriptorSetUnknown)).
///
/// # Memory
/// Draws are kept in memory of the [`Capture`], which grows to what its largest recording needed: once it has
/// collected as much, recording allocates nothing on the heap. Where descriptors take the place of device
/// addresses, a recording still takes a few dozen allocations and each [`flush`](Self::flush) up to 40, however
/// many draws there are. What the device reads lies in an [`Arena`](super::Arena), which is asked for all of it at
/// once, when draws are recorded: [`Arena::growing`](super::Arena::growing) lets it grow.
///
/// # Dropping
/// A recorder that is dropped without [`end`](Self::end), by a `?` for example, says so by `tracing::error!`. On the
/// compute backend the draws that were not recorded yet stay in its [`Capture`], which is not played before it is
/// [ended](Capture::end): [`RuntimeError::NotEnded`](super::RuntimeError::NotEnded). On the native backend
/// `vkCmdBeginTransformFeedbackEXT` stays without its end, and the command buffer cannot be ended validly. Recorders of
/// [`Capture::recorder`] come and go.
#[must_use = "a capture is open until `end`"]
pub struct Recorder<'a> {
    inner: Inner<'a>,
    /// Whether it is to be ended.
    is_open: bool,
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        match &mut self.inner {
            Inner::Graphics(_) => tracing::error!("a recorder is dropped without `end`"),
            Inner::Immediate(immediate) => {
                let draws = immediate.capture.abandon();
                tracing::error!(draws, "a recorder is dropped without `end`, and draws are lost");
            }
            Inner::Collect(_) => {}
        }
    }
}

enum Inner<'a> {
    /// Draws are recorded as they are drawn.
    Graphics(Graphics<'a>),
    /// Draws are collected, and recorded at the end.
    Immediate(Immediate<'a>),
    /// Draws are collected.
    Collect(&'a mut Capture),
}

/// A capture, and the command buffer that it is for.
struct Immediate<'a> {
    capture: &'a mut Capture,
    playback: Playback<'a>,
}
