//! A capture as a value: what it began with, what is bound, and the draws that were collected.

use std::collections::HashSet;

use ash::vk;

use super::checks::{check_capture_buffers, check_counters, check_distinct};
use super::constants::Constants;
use super::play::{After, Plan, Playback};
use super::queries::ActiveQuery;
use super::sets::BoundSets;
use super::{CaptureDesc, Captured, Inner, Recorded, Recorder};
use crate::capture::MAX_XFB_BUFFERS;
use crate::counts::BoundBuffer;
use crate::lower::Backend;
use crate::runtime::arena::Suballocation;
use crate::runtime::descriptors::{Purpose, Table};
use crate::runtime::parameters::{CounterBuffer, VertexBuffer};
use crate::runtime::{ArenaAccess, Context, Kernels, Pipeline, RuntimeError};
use crate::sysval::setup::{Input, MAX_DRAWS, Operation, kind};
use crate::sysval::{Address, AttributeDescriptor, INLINE_ATTRIBUTES, flags, split};
use crate::topology::{PrimitiveTopology, ProvokingVertex};

/// A capture by compute as a value: what is bound, and what was drawn since Begin.
///
/// It borrows nothing, so it can be kept wherever an application keeps what belongs to a command buffer, and be
/// collected between any other commands. [`recorder`](Self::recorder) binds and draws, [`end`](Self::end) names the
/// counters, and [`play`](Self::play) records all of it into a command buffer, as often as needed.
///
/// A [`Recorder`] of the compute backend is a capture that is played as it ends. Whichever way, an error loses
/// nothing: what was collected stays, and can be played with more memory.
///
/// The memory of what is collected is kept for the next capture: once a value has collected as many draws,
/// collecting allocates nothing on the heap.
#[derive(Debug)]
pub struct Capture {
    pub(super) ctx: Context,
    pub(super) kernels: Kernels,
    pub(super) targets: [Option<TargetBuffer>; MAX_XFB_BUFFERS],
    /// Strides of all records.
    pub(super) strides: [Option<u32>; MAX_XFB_BUFFERS],
    /// Counters to begin with and to end in, by buffer.
    pub(super) counters: [Address; MAX_XFB_BUFFERS],
    pub(super) end_counters: [Address; MAX_XFB_BUFFERS],
    pub(super) position: Position,
    /// What was captured up to there, where it is known.
    pub(super) captured: Option<Captured>,
    /// Whether it was begun.
    begun: bool,
    /// Whether its recorder was dropped without an end.
    is_abandoned: bool,
    /// Where its first draws were flushed to, if any were.
    pub(super) flushed: Option<Flushed>,
    pub(super) bound: Bound,
    pub(super) table: Table,
    pub(super) pending: Pending,
    pub(super) plan: Plan,
}

/// What a flush leaves behind in its command buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flushed {
    pub(super) cmd: vk::CommandBuffer,
    pub(super) recorded: Recorded,
    pub(super) sets_disturbed: bool,
    /// That of the last pipeline.
    pub(super) layout: Option<vk::PipelineLayout>,
}

/// What the next draw finds.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// `None` where draws are counted only.
    pub(super) pipeline: Option<Pipeline>,
    pub(super) provoking_vertex: ProvokingVertex,
    pub(super) indices: Option<BoundIndices>,
    pub(super) restart: bool,
    pub(super) constants: Constants,
    /// Whether the pipeline's attributes are those of the vertex buffers that are bound.
    pub(super) has_attributes: bool,
    /// By [`QueryKind`](crate::runtime::QueryKind).
    pub(super) queries: [ActiveQuery; 2],
    /// Of conditional rendering.
    pub(super) predicate: Option<Predicate>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BoundIndices {
    pub(super) address: u64,
    pub(super) limit: u32,
    pub(super) size: u32,
    /// The index that restarts primitives.
    pub(super) restart_index: u32,
}

/// What says whether draws are discarded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Predicate {
    pub(super) address: Address,
    pub(super) inverted: bool,
}

/// Draws that are collected, and what of them changes seldom.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) draws: Vec<PendingDraw>,
    /// Ends of queries, which come behind all draws.
    pub(super) ends: Vec<Operation>,
    /// What draws find bound, in the order of the draws.
    pub(super) states: Vec<DrawState>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) attributes: Vec<Attributes>,
    /// Of all [`Attributes`], those beyond the inline ones.
    pub(super) attribute_table: Vec<AttributeDescriptor>,
    /// Those of the application.
    pub(super) sets: BoundSets,
    pub(super) vertex_buffers: Vec<VertexBuffer>,
    /// Room for the descriptors of the attributes that are bound last.
    pub(super) descriptors: Vec<AttributeDescriptor>,
    /// Addresses of the queries that ended.
    pub(super) ended_queries: HashSet<u64>,
}

/// A draw that waits to be recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingDraw {
    pub(super) topology: PrimitiveTopology,
    /// As the setup kernel takes it, but for addresses, which are to be [resolved](Capture::resolve).
    pub(super) input: Input,
    /// Number of its [`DrawState`].
    pub(super) state: usize,
    /// Invocations, at most.
    pub(super) invocations: u64,
}

impl PendingDraw {
    /// Whether the CPU knows what is drawn.
    pub(super) fn is_known(&self) -> bool {
        self.input.kind == kind::DIRECT
            && !self.is_restarted()
            && self.input.predicate == Address::default()
    }

    /// How many draws it may be.
    pub(super) fn count(&self) -> u64 {
        self.input.draw_count.clamp(1, MAX_DRAWS).into()
    }

    pub(super) const fn is_restarted(&self) -> bool {
        self.input.flags & flags::RESTART != 0
    }
}

/// What a draw finds bound. Draws of one state may share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DrawState {
    /// Number of the pipeline, if there is any.
    pub(super) pipeline: usize,
    /// Number of the [`Attributes`].
    pub(super) attributes: usize,
    /// Where the push constants that the shader reads are in [`Constants`].
    pub(super) constants: usize,
    /// Number of the snapshot in [`Pending::sets`].
    pub(super) sets: usize,
}

/// Vertex buffers, as the sysvals name them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) inline: [AttributeDescriptor; INLINE_ATTRIBUTES],
    /// The first of the others in [`Pending::attribute_table`], and how many they are.
    pub(super) others: (usize, usize),
}

/// A capture buffer that something is captured to.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetBuffer {
    /// The position is that of record 0 of the capture, where it is known.
    pub(super) buffer: BoundBuffer,
    /// Address of the bound range, to be [resolved](Capture::resolve).
    pub(super) address: Address,
}

/// Who knows where the next record goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Position {
    /// The CPU: records behind record 0.
    Known(u32),
    /// The counters that the capture was begun with.
    Counters,
    /// An earlier setup kernel, there.
    State(Suballocation),
}

impl Capture {
    /// A capture that is not begun.
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
            plan: Plan::default(),
        }
    }

    /// Begins anew, as [`Recorder::begin`] does, and records nothing. What was collected is forgotten.
    ///
    /// # Errors
    /// As [`Recorder::begin`]; [`RuntimeError::Unsupported`] for pipelines of other backends, whose draws are
    /// recorded as they are drawn.
    ///
    /// # Safety
    /// As [`Recorder::begin`], of the command buffers that it is [played](Self::play) into.
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
            // Records are of whole dwords.
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
    /// As there.
    pub fn begin_inactive(&mut self) -> Result<(), RuntimeError> {
        self.clear();
        self.kernels.pipelines()?;
        self.begun = true;
        Ok(())
    }

    /// Forgets what was collected: it is to be begun again.
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
        self.pending.clear();
    }

    /// Whether nothing was drawn and no query ended since Begin, or since the last [`Recorder::flush`].
    pub fn is_empty(&self) -> bool {
        self.pending.draws.is_empty() && self.pending.ends.is_empty()
    }

    /// What binds and draws. It has no command buffer: its [`flush`](Recorder::flush) is refused, and its
    /// [`end`](Recorder::end) is [that](Self::end) of the capture.
    pub fn recorder(&mut self) -> Recorder<'_> {
        Recorder { inner: Inner::Collect(self), is_open: false }
    }

    /// Says where the counters go, as [`Recorder::end`] does. Without it none is written.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::TooManyCounters`], [`RuntimeError::DuplicateCounter`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::NoAddress`], [`RuntimeError::Limit`],
    /// [`RuntimeError::TooManyBuffers`].
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

    /// The recorder was dropped without an end. Returns how many draws it did not record.
    pub(super) fn abandon(&mut self) -> usize {
        self.is_abandoned = self.begun;
        self.pending.draws.len()
    }

    /// Records what was collected. It can be played again, into the same command buffer or another one: each time it
    /// begins where it began. So with counters it begins where they stand as the commands are executed. Queries
    /// are [reset](crate::runtime::QueryPool::reset) between, or add up what each time counts: a host that polls may
    /// then see a value of which the first part is of one time and the second of another.
    ///
    /// What is disturbed and which barriers are recorded is said in [synchronization](crate::guide::synchronization); those towards other captures
    /// of the same buffers, also of the same capture played before, are the application's. Descriptor sets that were
    /// not bound by [`Recorder::bind_descriptor_sets`] are those that `cmd` has bound.
    ///
    /// A capture of which a recorder flushed some draws goes on behind them, in the same command buffer.
    ///
    /// # Errors
    /// [`RuntimeError::NotBegun`], [`RuntimeError::NotEnded`], [`RuntimeError::FlushedElsewhere`];
    /// [`RuntimeError::ArenaFull`],
    /// [`RuntimeError::NoDescriptorSet`] (neither where the arena is [growing](crate::runtime::Arena::growing)),
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`], a failed allocation. Nothing is
    /// recorded then, and nothing is lost.
    ///
    /// # Safety
    /// As [`Recorder::begin`]. The arena that draws were flushed with was neither reset nor destroyed since.
    pub unsafe fn play<'a>(
        &mut self,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
    ) -> Result<Recorded, RuntimeError> {
        if self.is_abandoned {
            return Err(RuntimeError::NotEnded);
        }
        let mut playback = Playback::new(arena.into(), cmd);
        if let Some(flushed) = self.flushed {
            if flushed.cmd != cmd {
                return Err(RuntimeError::FlushedElsewhere);
            }
            playback.recorded = flushed.recorded;
            playback.sets_disturbed = flushed.sets_disturbed;
            playback.layout = flushed.layout;
        }
        // SAFETY: the caller's contract.
        unsafe { self.record(&mut playback, self.end_counters) }?;
        Ok(playback.recorded)
    }

    /// # Errors
    /// [`RuntimeError::NotBegun`].
    pub(super) const fn check_begun(&self) -> Result<(), RuntimeError> {
        if self.begun { Ok(()) } else { Err(RuntimeError::NotBegun) }
    }

    /// Forgets the draws, which were recorded, and goes on behind them.
    pub(super) fn advance(&mut self, after: &After, flushed: Flushed) {
        self.position = after.position;
        self.captured = after.captured;
        self.flushed = Some(flushed);
        let pending = &mut self.pending;
        pending.draws.clear();
        pending.ends.clear();
        pending.states.clear();
        pending.ended_queries.clear();
        // What the next draw finds is put together again.
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
    /// Bytes to where the next record of a capture buffer goes, where that is known.
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
    /// Forgets all.
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
