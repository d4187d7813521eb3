//! The last of three phases: records a [`Plan`] into a command buffer.
//!
//! First, missing Vulkan pipelines are created, and all memory is taken and written. Only after that commands are
//! recorded, so an error leaves the command buffer and the capture unchanged. The entry point is [`Player::record`].

mod memory;
mod order;
mod steps;

use ash::vk;

use self::order::Accesses;
pub use self::order::CaptureOrder;
use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorState;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::addresses::resolve;
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::memory::arena::Suballocation;
use crate::runtime::memory::window_table::{LastSets, User, WindowTable};
use crate::runtime::pipelines::kernels::Kernels;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::recording::capture_desc::{Captured, Recorded};
use crate::runtime::recording::collect::{Bindings, Collected, Position, RecordedSets};
use crate::runtime::recording::plan::{BatchId, BlockId, CaptureStep, Draws, Limits, Plan, Step};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::sysval::{Address, AttributeDescriptor, DrawSysvals};

/// The command buffer that captures are recorded into, the arena, and what is known about the state of the command
/// buffer.
#[derive(Debug)]
pub(super) struct Playback<'a> {
    pub(super) arena: ArenaAccess<'a>,
    pub(super) cmd: vk::CommandBuffer,
    pub(super) recorded: Recorded,
    /// The accesses of earlier captures. `None` unless captures are [played in
    /// order](crate::runtime::Capture::play_in_order).
    pub(super) order: Option<CaptureOrder>,
    /// Whether kernels, or sets of the descriptor plan, have disturbed the application's descriptor sets.
    pub(super) sets_disturbed: bool,
    /// The layout of the pipeline with which the set of the descriptor plan was bound last, or `None` if it was not
    /// bound.
    pub(super) layout: Option<vk::PipelineLayout>,
    /// Which descriptors are valid in the command buffer.
    pub(super) descriptors: DescriptorState,
    last_sets: LastSets,
    /// What the previous dispatch of the recording left bound.
    bound: BoundState,
}

/// What is bound in the command buffer. Null handles stand for unknown state, as at the start of a recording.
#[derive(Debug, Clone, Copy, Default)]
struct BoundState {
    pipeline: vk::Pipeline,
    /// The pipeline layout with which the set of the descriptor plan was bound.
    table_layout: vk::PipelineLayout,
}

impl<'a> Playback<'a> {
    pub(super) fn new(arena: ArenaAccess<'a>, cmd: vk::CommandBuffer) -> Self {
        Self {
            arena,
            cmd,
            recorded: Recorded::default(),
            order: None,
            sets_disturbed: false,
            layout: None,
            descriptors: DescriptorState::default(),
            last_sets: LastSets::default(),
            bound: BoundState::default(),
        }
    }
}

/// The state of a capture after a recording, with which the next recording continues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Continuation {
    pub(super) position: Position,
    /// The memory to which the GPU writes the positions in the capture buffers, if `position` is [`Position::Earlier`].
    pub(super) positions: Option<Suballocation>,
    pub(super) captured: Option<Captured>,
}

/// Records the plan of one capture, or of one vertex stream or [part](Collected::parts) of it.
pub(super) struct Player<'a> {
    pub(super) ctx: &'a Context,
    pub(super) kernels: &'a Kernels,
    pub(super) collected: &'a Collected,
    pub(super) bindings: &'a Bindings,
    pub(super) table: &'a mut WindowTable,
    pub(super) plan: &'a mut Plan,
    pub(super) places: &'a mut Places,
    /// For each capture buffer, the address of the counter that the end of the capture writes, or 0.
    pub(super) counters: &'a [Address; MAX_XFB_BUFFERS],
    /// The memory to which an earlier recording wrote the positions in the capture buffers, for [`Position::Earlier`].
    pub(super) earlier: Option<Suballocation>,
}

/// The memory and the descriptor sets that a plan takes. The value is reused for later recordings, so that its heap
/// memory is allocated once.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The memory of each block of the plan.
    blocks: Vec<Suballocation>,
    /// The Vulkan pipelines of the plan's captures, in the order of the steps.
    pipelines: Vec<vk::Pipeline>,
    /// The memory of the positions after the draws, or `None` if the GPU does not write them.
    positions: Option<Suballocation>,
    /// The application's descriptor sets that are bound in the command buffer.
    sets: RecordedSets,
    /// The states that captures use, by ascending index.
    states: Vec<PlacedState>,
    /// The address of readable memory. It replaces address 0 in the parameters of shaders, because shaders may load
    /// from an address whose contents they do not use. It is the start of an arena block, which has at least
    /// [`READABLE`](vkxfb_rewriter::sysval::READABLE) bytes.
    readable: Address,
    /// The descriptor sets for captures (`capture_set`) and for kernels (`kernel_set`). Both are `None` on a device
    /// with addresses.
    capture_set: Option<vk::DescriptorSet>,
    kernel_set: Option<vk::DescriptorSet>,
    /// Temporary lists, kept for their heap memory. `descriptors` are the attribute descriptors of a table, `addresses`
    /// all addresses that draws access, and `accesses` the accesses of the next commands.
    descriptors: Vec<AttributeDescriptor>,
    addresses: Vec<Address>,
    accesses: Accesses,
    /// The parameters of a capture with descriptor heaps, and the push data behind them.
    push_data: Vec<u8>,
}

/// Where the data of a state is that is not in its parameters.
#[derive(Debug, Clone, Copy, Default)]
struct PlacedState {
    /// The index of the state.
    state: usize,
    /// The address of the [table](vkxfb_rewriter::sysval::Sysvals::table).
    table: Address,
    /// The address of the first [copy](crate::runtime::device::descriptor_heaps::HeapInterface::addresses) of push
    /// data, or 0 if there is none.
    first_copy: u64,
}

impl Places {
    /// Removes what belongs to the last recording. The heap memory is kept.
    fn clear(&mut self) {
        self.blocks.clear();
        self.pipelines.clear();
        self.states.clear();
        self.positions = None;
        (self.capture_set, self.kernel_set) = (None, None);
    }

    /// The address by which shaders access a block of arena memory.
    fn address_of(&self, block: BlockId) -> u64 {
        self.blocks.get(block.0).map_or(0, |place| place.address)
    }

    /// The address by which shaders access a batch.
    fn address_in(&self, BatchId { block, number, size }: BatchId) -> u64 {
        self.address_of(block) + number as u64 * size
    }

    /// Where the data of a state is, whose index is `state`.
    fn placed(&self, state: usize) -> PlacedState {
        let number = self.states.binary_search_by_key(&state, |placed| placed.state);
        number.ok().and_then(|number| self.states.get(number)).copied().unwrap_or_default()
    }
}

/// Returns the limits and settings of a context on which plans depend.
pub(super) fn limits_of(ctx: &Context) -> Limits {
    Limits {
        workgroups_per_axis: ctx.settings().max_workgroups_per_axis,
        shared_workgroups: ctx.settings().max_shared_workgroups,
        entries: ctx.settings().max_entries,
        by_descriptors: ctx.table().is_some(),
        indirect_dispatch: ctx.settings().indirect_dispatch,
        serial_kernels: ctx.settings().serial_kernels,
        kernel_rounds: ctx.settings().kernel_rounds,
        tests_alignment: ctx.tests_alignment(),
        ends_first: ctx.omits(Barrier::ValuesToEnds),
    }
}

impl<'a> Player<'a> {
    /// Records the collected draws, and returns where the capture continues. In case of an error nothing is recorded.
    /// `is_planned` says whether [`plan`](Self::plan) is the plan of these draws. Otherwise it is made first.
    ///
    /// # Errors
    /// The errors of [`Capture::play`](crate::runtime::Capture::play).
    ///
    /// # Safety
    /// The requirements of [`Capture::play`](crate::runtime::Capture::play) apply.
    pub(super) unsafe fn record(
        &mut self,
        playback: &mut Playback<'_>,
        is_planned: bool,
    ) -> Result<Continuation, RuntimeError> {
        let mark = playback.arena.mark();
        let recorded = unsafe { self.record_planned(playback, is_planned) };
        if recorded.is_err() {
            playback.arena.rewind(mark);
            playback.last_sets.clear();
        }
        recorded
    }

    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    unsafe fn record_planned(
        &mut self,
        playback: &mut Playback<'_>,
        is_planned: bool,
    ) -> Result<Continuation, RuntimeError> {
        // Since the last recording, the application itself may have bound sets and a pipeline.
        self.places.sets.forget(&self.bindings.sets);
        playback.bound = BoundState::default();
        self.check_layouts(playback)?;
        let mark = playback.arena.mark();
        let limits = limits_of(self.ctx);
        if !is_planned {
            self.plan.make(&limits, self.collected, self.counters, true)?;
        }
        unsafe { self.prepare(playback) }?;
        let fits = self.ctx.table().is_none_or(|limits| self.table.fits_fused(limits));
        if self.user() == Some(User::FusedCaptures) && !fits {
            playback.arena.rewind(mark);
            self.plan.make(&limits, self.collected, self.counters, false)?;
            unsafe { self.prepare(playback) }?;
        }
        self.write_blocks(playback)?;
        unsafe {
            self.find_sets(playback)?;
            self.record_steps(playback)?;
            self.scarce_barrier(playback, self.is_scarce());
        }
        let Plan { after: position, captured, .. } = *self.plan;
        Ok(Continuation { position, positions: self.places.positions, captured })
    }

    /// Creates missing Vulkan pipelines, reserves memory, and writes the tables. Nothing is recorded.
    ///
    /// # Errors
    /// The errors of [`Pipeline::prepare`] and [`ArenaAccess::reserve`].
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    unsafe fn prepare(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        self.places.clear();
        // Kernels keep the kind of descriptors that is valid, which captures may change.
        let here = playback.descriptors.transport();
        let other = self.bindings.transports().find(|other| *other != here);
        // Most dispatches of a plan have the pipeline and key of the one before.
        let mut last = None;
        for step in &self.plan.steps {
            match step {
                Step::Kernel { kernel, .. } | Step::Turns { kernel, .. } => {
                    let pipelines = self.kernels.pipelines()?;
                    for transport in std::iter::once(here).chain(other) {
                        let none = vk::PipelineCache::null();
                        unsafe { pipelines.get(self.ctx, transport, *kernel, none) }?;
                    }
                }
                Step::Capture(CaptureStep { key, state, .. }) => {
                    let wanted =
                        (self.collected.states.get(*state).map(|state| state.pipeline), *key);
                    let raw = match (last, self.pipeline_of(*state)) {
                        (Some((found, raw)), _) if found == wanted => raw,
                        (_, Some(pipeline)) => unsafe { pipeline.recorded(self.ctx, *key) }?,
                        (_, None) => vk::Pipeline::null(),
                    };
                    last = Some((wanted, raw));
                    self.places.pipelines.push(raw);
                }
                Step::MovePositions(_) | Step::Barrier { .. } => {}
            }
        }
        unsafe { self.reserve(playback) }?;
        self.write_tables(playback)
    }

    /// Takes the descriptor sets that the steps need.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    unsafe fn find_sets(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        let is_kernel = |step: &Step| matches!(step, Step::Kernel { .. } | Step::Turns { .. });
        let has_kernels = self.plan.steps.iter().any(is_kernel);
        unsafe {
            if has_kernels {
                self.places.kernel_set = self.descriptor_set(playback, User::Kernels)?;
            }
            if let Some(user) = self.user() {
                self.places.capture_set = self.descriptor_set(playback, user)?;
            }
        }
        Ok(())
    }

    /// Which descriptor set the captures of the plan use under the descriptor plan. `None` if no capture writes
    /// records.
    fn user(&self) -> Option<User> {
        self.plan.steps.iter().find_map(|step| match step {
            Step::Capture(capture) => match capture.draws {
                Draws::Pushed(_) | Draws::Listed(..) => Some(User::DirectCaptures),
                Draws::Fused(..) => Some(User::FusedCaptures),
                // The count pass accesses the same buffers as the kernels, so it uses their set.
                Draws::Emitted { is_count_pass: true, .. } => None,
                Draws::Resumed(..)
                | Draws::Batch(_)
                | Draws::Emitted { .. }
                | Draws::Restarted(..) => Some(User::CapturesBySetup),
            },
            _ => None,
        })
    }

    /// Returns the descriptor set for a kind of command, or `None` if the device uses addresses.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    unsafe fn descriptor_set(
        &self,
        playback: &mut Playback<'_>,
        user: User,
    ) -> Result<Option<vk::DescriptorSet>, RuntimeError> {
        let Some(limits) = self.ctx.table() else { return Ok(None) };
        let Playback { arena, last_sets, .. } = playback;
        unsafe { last_sets.get(self.ctx, limits, self.table, arena, user) }.map(Some)
    }

    /// Checks the pipeline layouts with which the set of the descriptor plan will be bound, or was bound in an earlier
    /// recording. The number of this set follows the application's sets, so the layouts of two pipelines may be
    /// incompatible, and binding the set with one of them may disturb sets that the application bound itself.
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetUnknown`] if a draw may read such a set, which the recorder did not bind.
    fn check_layouts(&self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        if self.ctx.table().is_none() {
            return Ok(());
        }
        for state in self.collected.used_states() {
            let layout = self.pipeline_of(state).map(Pipeline::raw_layout).unwrap_or_default();
            playback.sets_disturbed |=
                playback.layout.replace(layout).is_some_and(|last| last != layout);
        }
        if !playback.sets_disturbed {
            return Ok(());
        }
        match self.collected.unbound_set() {
            Some(set) => Err(RuntimeError::DescriptorSetUnknown { set }),
            None => Ok(()),
        }
    }

    /// The pipeline of a state, or `None` if draws are only counted. `state` is the index of the state.
    fn pipeline_of(&self, state: usize) -> Option<&'a Pipeline> {
        self.collected.states.get(state).and_then(|state| self.bindings.pipeline_of(state))
    }

    /// Converts an address in [`Collected`] to the address that shaders use.
    fn resolve(&self, address: Address) -> Address {
        resolve(self.ctx, self.table, address)
    }

    /// Does what [`resolve`](Self::resolve) does, but returns the address of readable memory if `limit` is 0, which
    /// means that no element may be read.
    fn readable(&self, address: Address, limit: u32) -> Address {
        self.resolve(if limit == 0 { self.places.readable } else { address })
    }

    /// Returns the draw with the index buffer address that shaders use.
    fn resolved_draw(&self, draw: DrawSysvals) -> DrawSysvals {
        let index_address = self.readable(draw.index_address, draw.index_limit);
        DrawSysvals { index_address, ..draw }
    }

    /// Does what [`readable`](Self::readable) does, for the address in an attribute descriptor.
    fn readable_attribute(&self, attribute: AttributeDescriptor) -> AttributeDescriptor {
        let address = self.readable(attribute.address, attribute.limit);
        AttributeDescriptor { address, ..attribute }
    }

    /// Whether barriers must order captures after earlier captures: see [`WindowTable::captures_overlap`].
    fn captures_overlap(&self) -> bool {
        self.ctx.table().is_some() && self.table.captures_overlap()
    }

    /// Whether barriers must order all recorded commands with the commands before and after them: see
    /// [`WindowTable::is_scarce`].
    fn is_scarce(&self) -> bool {
        self.ctx.table().is_some() && self.table.is_scarce()
    }
}
