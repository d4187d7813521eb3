//! A capture as a value: its initial state, what is bound, and the collected draws.

use std::collections::HashSet;

use ash::vk;

use super::checks::{check_capture_buffers, check_counters, check_distinct};
use super::constants::Constants;
use super::order::{CaptureOrder, Ranges};
use super::play::{After, Plan, Playback};
use super::queries::ActiveQuery;
use super::sets::BoundSets;
use super::{CaptureDesc, Captured, Inner, Recorded, Recorder};
use crate::capture::MAX_XFB_BUFFERS;
use crate::counts::BoundBuffer;
use crate::lower::Backend;
use crate::runtime::arena::Suballocation;
use crate::runtime::descriptors::{MAX_ACCESS, Purpose, Table};
use crate::runtime::parameters::{CounterBuffer, VertexBuffer};
use crate::runtime::pipeline::Key;
use crate::runtime::{ArenaAccess, Context, Kernels, Pipeline, RuntimeError};
use crate::sysval::setup::{Input, MAX_DRAWS, Operation, kind};
use crate::sysval::{Address, AttributeDescriptor, INLINE_ATTRIBUTES, flags, split};
use crate::topology::{PrimitiveTopology, ProvokingVertex};

/// A compute capture as a value: what is bound, and the draws since Begin.
///
/// It borrows nothing, so an application can keep it with the other state of a command buffer, and
/// collect draws between any other commands. [`recorder`](Self::recorder) returns a recorder that
/// binds and draws, [`end`](Self::end) sets the counters, and [`play`](Self::play) records
/// everything into a command buffer, any number of times.
///
/// A [`Recorder`] of the compute backend plays its capture when it ends. In both cases nothing is
/// lost in case of an error: the collected draws stay, and can be played with more memory.
///
/// The capture keeps its memory: when it is begun again, it makes no heap allocations for as many
/// draws as before.
#[derive(Debug)]
pub struct Capture {
    pub(super) ctx: Context,
    pub(super) kernels: Kernels,
    pub(super) targets: [Option<TargetBuffer>; MAX_XFB_BUFFERS],
    /// The record strides of all capture buffers.
    pub(super) strides: [Option<u32>; MAX_XFB_BUFFERS],
    /// The counters to begin with and to end with, by capture buffer.
    pub(super) counters: [Address; MAX_XFB_BUFFERS],
    pub(super) end_counters: [Address; MAX_XFB_BUFFERS],
    pub(super) position: Position,
    /// What was captured by the flushed draws, if it is known.
    pub(super) captured: Option<Captured>,
    /// Whether the capture was begun.
    begun: bool,
    /// Whether the recorder was dropped without `end`.
    is_abandoned: bool,
    /// Where the first draws were flushed to, if any were.
    pub(super) flushed: Option<Flushed>,
    pub(super) bound: Bound,
    pub(super) table: Table,
    pub(super) pending: Pending,
    /// The device addresses of everything that was bound to be read since Begin, except for the
    /// application's descriptors.
    pub(super) reached: Ranges,
    pub(super) plan: Plan,
}

/// The state that a flush leaves in its command buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flushed {
    pub(super) cmd: vk::CommandBuffer,
    pub(super) recorded: Recorded,
    pub(super) sets_disturbed: bool,
    /// The layout of the last pipeline.
    pub(super) layout: Option<vk::PipelineLayout>,
}

/// The state for the next draw.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// `None` if draws are only counted.
    pub(super) pipeline: Option<Pipeline>,
    pub(super) provoking_vertex: ProvokingVertex,
    pub(super) indices: Option<BoundIndices>,
    pub(super) restart: bool,
    pub(super) constants: Constants,
    /// Whether the attributes correspond to the current pipeline and vertex buffers.
    pub(super) has_attributes: bool,
    /// By [`QueryKind`](crate::runtime::QueryKind).
    pub(super) queries: [ActiveQuery; 2],
    /// The predicate of conditional rendering.
    pub(super) predicate: Option<Predicate>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BoundIndices {
    pub(super) address: u64,
    pub(super) limit: u32,
    pub(super) size: u32,
    /// The index that restarts primitives.
    pub(super) restart_index: u32,
    /// If shaders that cannot load single bytes would read beyond the buffer: where the range ends in it, and the
    /// bytes of memory that the buffer has.
    pub(super) partial_end: Option<(u64, u64)>,
}

/// The value that decides whether draws are discarded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Predicate {
    pub(super) address: Address,
    pub(super) inverted: bool,
}

/// Collected draws, and the states that they share.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) draws: Vec<PendingDraw>,
    /// Ends of queries, which are executed after all draws.
    pub(super) ends: Vec<Operation>,
    /// The states of the draws, in the order of the draws.
    pub(super) states: Vec<DrawState>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) attributes: Vec<Attributes>,
    /// The descriptors beyond the inline ones of all [`Attributes`].
    pub(super) attribute_table: Vec<AttributeDescriptor>,
    /// The descriptor sets of the application.
    pub(super) sets: BoundSets,
    pub(super) vertex_buffers: Vec<VertexBuffer>,
    /// Scratch memory for the descriptors of the attributes that are bound last.
    pub(super) descriptors: Vec<AttributeDescriptor>,
    /// The addresses of the queries that ended.
    pub(super) ended_queries: HashSet<u64>,
}

/// A draw that was collected.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingDraw {
    pub(super) topology: PrimitiveTopology,
    /// The input of the setup kernel, except that addresses must be [resolved](Capture::resolve).
    pub(super) input: Input,
    /// The number of its [`DrawState`].
    pub(super) state: usize,
    /// The most invocations that the draw can need.
    pub(super) invocations: u64,
}

impl PendingDraw {
    /// Whether the CPU knows what is drawn.
    pub(super) fn is_known(&self) -> bool {
        self.input.kind == kind::DIRECT
            && !self.is_restarted()
            && self.input.predicate == Address::default()
    }

    /// The most draws that it can be.
    pub(super) fn count(&self) -> u64 {
        self.input.draw_count.clamp(1, MAX_DRAWS).into()
    }

    pub(super) const fn is_restarted(&self) -> bool {
        self.input.flags & flags::RESTART != 0
    }

    /// The key of a pipeline that takes the draw whatever else is drawn.
    pub(super) const fn any_key(&self) -> Key {
        Key { restart: self.is_restarted(), ..Key::ANY }
    }
}

/// The state that a draw uses. Draws with the same state may share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DrawState {
    /// The number of the pipeline, if there is one.
    pub(super) pipeline: usize,
    /// The number of the [`Attributes`].
    pub(super) attributes: usize,
    /// The position in [`Constants`] of the push constants that the shader reads.
    pub(super) constants: usize,
    /// The number of the snapshot in [`Pending::sets`].
    pub(super) sets: usize,
}

/// The vertex buffers, as attribute descriptors.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) inline: [AttributeDescriptor; INLINE_ATTRIBUTES],
    /// The first of the other descriptors in [`Pending::attribute_table`], and their number.
    pub(super) others: (usize, usize),
    /// Whether any of them [reaches far](AttributeDescriptor::reaches_far).
    pub(super) reach_far: bool,
    /// Whether every element is aligned to [what it is accessed by](crate::runtime::pulling::PulledAttribute::access).
    pub(super) are_aligned: bool,
    /// The number of vertices and of instances for which all elements exist.
    pub(super) vertices: u32,
    pub(super) instances: u32,
}

/// A capture buffer that the capture writes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetBuffer {
    /// Its position is that of record 0 of the capture, if known.
    pub(super) buffer: BoundBuffer,
    /// The address of the bound range, which must be [resolved](Capture::resolve).
    pub(super) address: Address,
}

impl TargetBuffer {
    /// Whether every record is as aligned as its size allows, up to 16 bytes.
    pub(super) const fn is_aligned(&self) -> bool {
        let bits = self.buffer.stride | MAX_ACCESS as u32;
        self.address[0].trailing_zeros() >= bits.trailing_zeros()
    }
}

/// Where the position of the next record is known from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Position {
    /// The CPU knows the position: the number of records after record 0.
    Known(u32),
    /// The GPU reads the position from the counters that the capture was begun with.
    Counters,
    /// The GPU reads the position from where an earlier setup kernel wrote it.
    State(Suballocation),
}

impl Capture {
    /// A capture that has not begun.
    pub fn new(ctx: &Context, kernels: &Kernels) -> Self {
        Self {
            ctx: ctx.clone(),
            kernels: kernels.clone(),
            targets: [None; MAX_XFB_BUFFERS],
            strides: [None; MAX_XFB_BUFFERS],
            counters: Default::default(),
            end_counters: Default::default(),
            position: Position::Known(0),
            captured: Some(Captured::default()),
            begun: false,
            is_abandoned: false,
            flushed: None,
            bound: Bound::default(),
            table: Table::default(),
            pending: Pending::default(),
            reached: Ranges::default(),
            plan: Plan::default(),
        }
    }

    /// Begins a capture, as [`Recorder::begin`] does, without recording anything. Discards what was
    /// collected before.
    ///
    /// # Errors
    /// As [`Recorder::begin`]; [`RuntimeError::Unsupported`] for pipelines of other backends, which
    /// record draws immediately.
    ///
    /// # Safety
    /// As [`Recorder::begin`], for all command buffers that the capture is [played](Self::play)
    /// into.
    pub unsafe fn begin(&mut self, desc: &CaptureDesc<'_>) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        let begun = unsafe { self.begin_checked(desc) };
        if begun.is_err() {
            self.clear();
        }
        begun
    }

    /// # Safety
    /// As [`begin`](Self::begin).
    unsafe fn begin_checked(&mut self, desc: &CaptureDesc<'_>) -> Result<(), RuntimeError> {
        let pipeline = desc.pipeline;
        self.begin_inactive()?;
        self.check_pipeline(pipeline)?;
        check_capture_buffers(&self.ctx, pipeline, desc.buffers)?;
        check_counters(&self.ctx, Backend::Compute, desc.counters)?;
        self.strides = pipeline.layout().strides;
        for (number, (bound, stride)) in desc.buffers.iter().zip(self.strides).enumerate() {
            let (Some(bound), Some(stride)) = (bound, stride) else { continue };
            let what = format_args!("capture buffer {number}");
            // Records consist of whole dwords.
            let size = bound.size / 4 * 4;
            // SAFETY: the usage and the memory are the caller's contract.
            let address =
                unsafe { self.address(Purpose::Capture, what, bound.buffer, bound.offset, size) }?;
            let buffer = BoundBuffer { size: bound.size, position: 0, stride };
            self.targets[number] = Some(TargetBuffer { buffer, address: split(address) });
        }
        // SAFETY: the caller's contract.
        self.counters = unsafe { self.counter_addresses(desc.counters) }?;
        if desc.counters.iter().any(Option::is_some) {
            self.position = Position::Counters;
            self.captured = None;
        }
        self.set_pipeline(pipeline);
        self.bind_vertex_buffers(desc.vertex_buffers)?;
        // SAFETY: the caller's contract.
        unsafe { self.find_attributes() }
    }

    /// Begins counting draws that are not captured, as [`Recorder::begin_inactive`] does.
    ///
    /// # Errors
    /// As [`Recorder::begin_inactive`].
    pub fn begin_inactive(&mut self) -> Result<(), RuntimeError> {
        self.clear();
        self.kernels.pipelines()?;
        self.begun = true;
        Ok(())
    }

    /// Discards what was collected. The capture must be begun again.
    pub fn clear(&mut self) {
        self.begun = false;
        self.is_abandoned = false;
        self.flushed = None;
        self.targets = [None; MAX_XFB_BUFFERS];
        self.strides = [None; MAX_XFB_BUFFERS];
        self.counters = Default::default();
        self.end_counters = Default::default();
        self.position = Position::Known(0);
        self.captured = Some(Captured::default());
        let constants = std::mem::take(&mut self.bound.constants);
        self.bound = Bound { constants, ..Bound::default() };
        self.bound.constants.clear();
        self.table.restart();
        self.reached.clear();
        self.pending.clear();
    }

    /// Whether no draws and no ends of queries were collected since Begin, or since the last
    /// [`Recorder::flush`].
    pub fn is_empty(&self) -> bool {
        self.pending.draws.is_empty() && self.pending.ends.is_empty()
    }

    /// Returns a recorder that binds and draws. It has no command buffer:
    /// [`flush`](Recorder::flush) returns an error, and [`end`](Recorder::end) does what
    /// [`end`](Self::end) of the capture does.
    pub fn recorder(&mut self) -> Recorder<'_> {
        Recorder { inner: Inner::Collect(self), is_open: false }
    }

    /// Ends the capture and sets the counters to write, as [`Recorder::end`] does. If it is not
    /// called, no counters are written.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::TooManyCounters`],
    /// [`RuntimeError::DuplicateCounter`], [`RuntimeError::Misaligned`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`].
    ///
    /// # Safety
    /// As [`Recorder::end`].
    pub unsafe fn end(&mut self, counters: &[Option<CounterBuffer>]) -> Result<(), RuntimeError> {
        self.check_begun()?;
        check_counters(&self.ctx, Backend::Compute, counters)?;
        check_distinct(counters)?;
        // SAFETY: the caller's contract.
        self.end_counters = unsafe { self.counter_addresses(counters) }?;
        self.is_abandoned = false;
        Ok(())
    }

    /// Called if the recorder is dropped without `end`. Returns the number of draws that were not
    /// recorded.
    pub(super) fn abandon(&mut self) -> usize {
        self.is_abandoned = self.begun;
        self.pending.draws.len()
    }

    /// Records what was collected. A capture can be played several times, into the same command
    /// buffer or different ones. It always begins with its initial state; counters are read when
    /// the commands are executed. If queries are not [reset](crate::runtime::QueryPool::reset)
    /// between two executions, their values add up, and by descriptors and on a processor a host that
    /// polls may see parts of both results.
    ///
    /// [Synchronization](crate::guide::synchronization) lists the state that is disturbed and the
    /// barriers that are recorded. The application must record barriers between this and other
    /// captures to the same buffers, including earlier plays of the same capture. Descriptor sets
    /// that were not bound by [`Recorder::bind_descriptor_sets`] are those that `cmd` has bound.
    ///
    /// If a recorder flushed some draws of the capture, playing continues after these draws, in the
    /// same command buffer.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::NotEnded`], [`RuntimeError::FlushedElsewhere`];
    /// [`RuntimeError::ArenaFull`], [`RuntimeError::NoDescriptorSet`] (neither if the arena is
    /// [growing](crate::runtime::Arena::growing)), [`RuntimeError::NoAddress`],
    /// [`RuntimeError::Limit`], [`RuntimeError::DispatchTooLarge`],
    /// [`RuntimeError::DescriptorSetUnknown`], a failed allocation. In case of an error nothing is
    /// recorded, and nothing is lost.
    ///
    /// # Safety
    /// As [`Recorder::begin`]. The arena that draws were flushed with has not been reset or
    /// destroyed since.
    pub unsafe fn play<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
    ) -> Result<Recorded, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe { self.play_with(&mut Playback::new(arena.into(), cmd)) }
    }

    /// As [`play`](Self::play), after all earlier captures by compute: it may capture to the same
    /// bytes, count for the same queries and resume from their counters, and may pull vertices,
    /// indices and arguments of draws that they captured. Barriers are recorded only where they are
    /// needed for that, also in captures with counters and queries: before the first capture after
    /// [`CaptureOrder::new`] or [`forget`](CaptureOrder::forget), between captures that touch the same
    /// bytes, and before captures by descriptors.
    ///
    /// Buffers that alias the same memory, and what shaders reach by the application's descriptors
    /// and addresses, are not known: where it depends on earlier captures, the application records a
    /// barrier or calls `forget`.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    ///
    /// # Safety
    /// As [`play`](Self::play). All captures since `forget` were played into `cmd` with `order`,
    /// and no other function of this crate has recorded into `cmd` since. Barriers of the
    /// application order the captures with its own commands.
    pub unsafe fn play_in_order<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        order: &mut CaptureOrder,
    ) -> Result<Recorded, RuntimeError> {
        if self.flushed.is_some() {
            order.forget();
        }
        let mut playback = Playback::new(arena.into(), cmd);
        playback.order = Some(std::mem::take(order));
        // SAFETY: the caller's contract.
        let recorded = unsafe { self.play_with(&mut playback) };
        *order = playback.order.unwrap_or_default();
        recorded
    }

    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn play_with(&mut self, playback: &mut Playback<'_>) -> Result<Recorded, RuntimeError> {
        if self.is_abandoned {
            return Err(RuntimeError::NotEnded);
        }
        let cmd = playback.cmd;
        if let Some(flushed) = self.flushed {
            if flushed.cmd != cmd {
                return Err(RuntimeError::FlushedElsewhere);
            }
            playback.recorded = flushed.recorded;
            playback.sets_disturbed = flushed.sets_disturbed;
            playback.layout = flushed.layout;
        }
        // SAFETY: the caller's contract.
        unsafe { self.record(playback, self.end_counters) }?;
        Ok(playback.recorded)
    }

    /// # Errors
    /// [`RuntimeError::NotBegun`].
    pub(super) const fn check_begun(&self) -> Result<(), RuntimeError> {
        if self.begun { Ok(()) } else { Err(RuntimeError::NotBegun) }
    }

    /// Removes the draws, which were recorded, and continues after them.
    pub(super) fn advance(&mut self, after: &After, flushed: Flushed) {
        self.position = after.position;
        self.captured = after.captured;
        self.flushed = Some(flushed);
        let pending = &mut self.pending;
        pending.draws.clear();
        pending.ends.clear();
        pending.states.clear();
        pending.ended_queries.clear();
        // The states of the next draw are collected anew.
        pending.pipelines.drain(..pending.pipelines.len().saturating_sub(1));
        pending.attributes.clear();
        pending.attribute_table.clear();
        self.bound.has_attributes = false;
        self.bound.constants.forget_snapshots();
    }

    /// # Errors
    /// [`RuntimeError::Unsupported`], [`RuntimeError::OtherContext`].
    pub(super) fn check_pipeline(&self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        if pipeline.context() != self.ctx.id() {
            return Err(RuntimeError::OtherContext { what: "the pipeline" });
        }
        match pipeline.backend() {
            Backend::Compute => Ok(()),
            backend => {
                let what = "a pipeline among the draws of a capture by compute";
                Err(RuntimeError::Unsupported { backend, what })
            }
        }
    }

    /// # Safety
    /// The counters are live buffers with the usage that
    /// [`Context::counter_buffer_usage`](crate::runtime::Context::counter_buffer_usage) names.
    unsafe fn counter_addresses(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        let mut addresses = [Address::default(); MAX_XFB_BUFFERS];
        for (number, (address, counter)) in addresses.iter_mut().zip(counters).enumerate() {
            if let Some(counter) = counter {
                let what = format_args!("counter {number}");
                // SAFETY: the caller's contract.
                let start = unsafe {
                    self.address(Purpose::State, what, counter.buffer, counter.offset, 4)
                }?;
                *address = split(start);
            }
        }
        Ok(addresses)
    }
}

impl Position {
    /// Bytes from the start of the bound range to the next record, if known.
    pub(super) fn in_buffer(&self, target: &TargetBuffer) -> u64 {
        match self {
            Self::Known(records) => {
                target.buffer.position + u64::from(*records) * u64::from(target.buffer.stride)
            }
            Self::Counters | Self::State(_) => 0,
        }
    }
}

impl Pending {
    /// Removes everything.
    fn clear(&mut self) {
        self.draws.clear();
        self.ends.clear();
        self.states.clear();
        self.pipelines.clear();
        self.attributes.clear();
        self.attribute_table.clear();
        self.sets.restart();
        self.vertex_buffers.clear();
        self.ended_queries.clear();
    }
}
