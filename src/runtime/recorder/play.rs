//! Records what was collected into a command buffer.
//!
//! The CPU first computes everything that it can: the [`Plan`]. Then the pipelines and kernels that do not
//! exist yet are created, all memory is taken, and only then commands are recorded. In case of an error the
//! command buffer and the capture are therefore unchanged.

use ash::vk;

use super::capture::{Attributes, Capture, DrawState, PendingDraw, Position, TargetBuffer};
use super::direct::Dispatch;
use super::gpu::GpuGroup;
use super::listed::listed_draws;
use super::order::{Accesses, CaptureOrder};
use super::plan::{CaptureStep, Draws, Size, Step, Touched, Way, When};
use super::queries::{Ends, operations_upload};
use super::restarts::RestartTables;
use super::sets::SetArguments;
use super::{Captured, Recorded};
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::{Suballocation, aligned};
use crate::runtime::descriptors::{LastSets, User};
use crate::runtime::fold::fold;
use crate::runtime::pipeline::Source;
use crate::runtime::{ArenaAccess, Barrier, Pipeline, RuntimeError};
use crate::sysval::setup::{BATCH_SIZE, Operation, WORKGROUPS_OFFSET, operation};
use crate::sysval::{Address, AttributeDescriptor, Batch, DrawSysvals, Sysvals, join, split};

/// What is computed from the collected draws when they are played. The memory is kept for the next
/// time.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What is recorded.
    pub(super) steps: Vec<Step>,
    /// Bytes of upload and scratch memory that its parameters take.
    pub(super) upload: u64,
    pub(super) scratch: u64,
    pub(super) operations: Vec<Operation>,
    pub(super) placed: Vec<DrawSysvals>,
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) groups: Vec<GpuGroup>,
    pub(super) restarts: RestartTables,
    /// What the next commands access.
    pub(super) accesses: Accesses,
    /// Memory that shaders can read where they have no address: each block of an arena has
    /// [`READABLE`] bytes at least.
    readable: Address,
    /// The [`DrawState`]s that captures use, each with the [table](Sysvals::table) that was written
    /// for it.
    pub(super) used_states: Vec<(usize, Address)>,
    /// Temporary memory for the descriptors in a table, and for all addresses that are reached.
    descriptors: Vec<AttributeDescriptor>,
    addresses: Vec<Address>,
}

impl Plan {
    /// Forgets everything but the states that are used.
    fn restart(&mut self) {
        self.steps.clear();
        (self.upload, self.scratch) = (0, 0);
        self.operations.clear();
        self.forget_placed();
        self.groups.clear();
        self.restarts.clear();
        self.accesses.clear();
        self.addresses.clear();
    }

    /// Forgets the placed draws and their dispatches.
    pub(super) fn forget_placed(&mut self) {
        self.placed.clear();
        self.dispatches.clear();
    }

    /// The address of the table of a state.
    pub(super) fn table_of(&self, state: usize) -> Address {
        let number = self.used_states.binary_search_by_key(&state, |(state, _)| *state);
        number.ok().and_then(|number| self.used_states.get(number)).map_or([0; 2], |(_, at)| *at)
    }
}

/// The memory of what the steps of a plan read and write.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The parameters of the finish, the resume or the setup kernel, or of a fused capture.
    pub(super) parameters: Option<Suballocation>,
    /// Those of the restart kernel and of the scan.
    pub(super) restarts: Option<Suballocation>,
    /// The batches that the captures read.
    pub(super) batches: Option<Suballocation>,
    /// The source and the destination, if an earlier state must be copied.
    pub(super) moved_state: Option<(Suballocation, Suballocation)>,
    ends: Option<Ends>,
    /// The descriptor sets of captures and of kernels.
    capture_set: Option<vk::DescriptorSet>,
    kernel_set: Option<vk::DescriptorSet>,
}

/// A command buffer that a capture is recorded into.
#[derive(Debug)]
pub(super) struct Playback<'a> {
    pub(super) arena: ArenaAccess<'a>,
    pub(super) cmd: vk::CommandBuffer,
    pub(super) recorded: Recorded,
    /// What earlier captures accessed, if this one must come after them.
    pub(super) order: Option<CaptureOrder>,
    /// Whether kernels, or sets of buffers, have disturbed the application's descriptor sets.
    pub(super) sets_disturbed: bool,
    /// The layout of the last pipeline, with which the set of the buffers was bound; `None` if it was
    /// not bound.
    pub(super) layout: Option<vk::PipelineLayout>,
    last_sets: LastSets,
    /// What is bound for the next dispatch.
    found: Found,
}

/// The known part of a command buffer's state since the first dispatch of a recording.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    pipeline: vk::Pipeline,
    /// The layout that the set of the buffers was bound with.
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
            last_sets: LastSets::default(),
            found: Found::default(),
        }
    }
}

/// The state of a capture after the recorded draws.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    pub(super) position: Position,
    pub(super) captured: Option<Captured>,
}

impl Capture {
    /// Records the draws, and the counters if there are any. The draws stay collected.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn record(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<After, RuntimeError> {
        self.check_begun()?;
        let mut after = After { position: self.position, captured: self.captured };
        if !self.is_empty() || counters != <[Address; _]>::default() {
            let mark = playback.arena.mark();
            // SAFETY: the caller's contract.
            let recorded = unsafe { self.record_planned(playback, counters) };
            self.plan.restart();
            self.plan.used_states.clear();
            match recorded {
                Ok(position) => after = position,
                Err(error) => {
                    playback.arena.rewind(mark);
                    playback.last_sets.clear();
                    return Err(error);
                }
            }
        }
        playback.recorded.captured = after.captured.map(|captured| Captured {
            positions: self
                .targets
                .map(|target| target.map_or(0, |target| after.position.in_buffer(&target))),
            ..captured
        });
        Ok(after)
    }

    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn record_planned(
        &mut self,
        playback: &mut Playback<'_>,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<After, RuntimeError> {
        // The application may have bound sets and a pipeline itself.
        self.pending.sets.forget_recorded();
        playback.found = Found::default();
        self.find_used_states();
        self.check_layouts(playback)?;
        let mark = playback.arena.mark();
        let mut way = self.make_plan(&counters, true)?;
        // SAFETY: the caller's contract.
        unsafe { self.prepare(playback, &counters) }?;
        let fits = self.ctx.table().is_none_or(|limits| self.table.fits_fused(limits));
        if let Way::Fused { .. } = way
            && !fits
        {
            playback.arena.rewind(mark);
            way = self.make_plan(&counters, false)?;
            // SAFETY: the caller's contract.
            unsafe { self.prepare(playback, &counters) }?;
        }
        let mut written = Written::default();
        let after = match &way {
            Way::Direct(after) => {
                self.write_direct(playback, &mut written)?;
                *after
            }
            Way::Fused { draw, known } => {
                self.write_fused(playback, draw, *known, &counters, &mut written)?
            }
            Way::Resumed(all) => self.write_resumed(playback, all, &counters, &mut written)?,
            Way::Setup => self.write_setup(playback, &counters, &mut written)?,
        };
        // SAFETY: the caller's contract.
        unsafe {
            written.ends = self.place_ends(playback)?;
            self.find_sets(playback, &way, &mut written)?;
            self.record_steps(playback, &written, &after, &counters)?;
            self.scarce_barrier(playback, self.is_scarce());
        }
        Ok(after)
    }

    /// Plans what is recorded.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`].
    pub(super) fn make_plan(
        &mut self,
        counters: &[Address; MAX_XFB_BUFFERS],
        may_fuse: bool,
    ) -> Result<Way, RuntimeError> {
        self.plan.restart();
        let fusible = self.fusible(counters).filter(|_| may_fuse);
        let all_known = self.pending.draws.iter().all(PendingDraw::is_known);
        let way = match self.position {
            Position::Known(record) if all_known => {
                let after = self.place_draws(record, counters)?;
                // Without operations or captures there is nothing to fuse.
                let may_fuse = !self.plan.operations.is_empty() && !self.plan.dispatches.is_empty();
                match fusible.filter(|_| may_fuse) {
                    Some(draw) => Way::Fused { draw, known: Some(after) },
                    None => Way::Direct(after),
                }
            }
            _ => match fusible {
                Some(draw) => Way::Fused { draw, known: None },
                None => self.resumable()?.map_or(Way::Setup, Way::Resumed),
            },
        };
        match &way {
            Way::Direct(_) => self.plan_direct()?,
            Way::Fused { draw, known } => {
                if known.is_none() {
                    // Whether a draw is refused does not depend on its size.
                    self.check_sets()?;
                }
                self.plan_fused(draw, known.is_some());
            }
            Way::Resumed(_) => self.plan_resumed(),
            Way::Setup => {
                // Kernels disturb the application's descriptor sets.
                self.check_sets()?;
                self.plan_setup()?;
            }
        }
        // Before what they count only where a test leaves out the barrier between them.
        let place = match self.ctx.omits(Barrier::ValuesToEnds) {
            true => 0,
            false => self.plan.steps.len(),
        };
        self.plan.steps.insert(place, Step::EndQueries);
        Ok(way)
    }

    /// Does what can fail: creates the pipelines and kernels that do not exist yet, and takes memory.
    ///
    /// # Errors
    /// Those of [`Pipeline::prepare`] and [`ArenaAccess::reserve`]; [`RuntimeError::DispatchTooLarge`].
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn prepare(
        &mut self,
        playback: &mut Playback<'_>,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Result<(), RuntimeError> {
        for step in &self.plan.steps {
            match step {
                Step::Kernel { kernel, .. } => {
                    // SAFETY: the caller's contract.
                    unsafe { self.make_kernels(&[*kernel]) }?;
                }
                Step::Capture(CaptureStep { key, state, size, .. }) => {
                    fold(size.direct().unwrap_or(1), self.ctx.max_workgroups_per_axis())?;
                    let state = self.pending.states.get(*state);
                    if let Some(pipeline) = state.and_then(|state| self.pipeline_of(state)) {
                        // SAFETY: the caller's contract.
                        unsafe { pipeline.recorded(&self.ctx, *key) }?;
                    }
                }
                Step::MoveState | Step::Barrier { .. } | Step::EndQueries => {}
            }
        }
        let (upload, scratch) = (self.plan.upload, self.plan.scratch);
        // SAFETY: the caller's contract.
        unsafe { self.place_memory(playback, upload, scratch, counters) }
    }

    /// Finds the descriptor sets of the steps.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn find_sets(
        &self,
        playback: &mut Playback<'_>,
        way: &Way,
        written: &mut Written,
    ) -> Result<(), RuntimeError> {
        let user = match way {
            Way::Direct(_) => User::DirectCaptures,
            Way::Fused { .. } => User::FusedCaptures,
            Way::Resumed(_) | Way::Setup => User::CapturesBySetup,
        };
        let has = |is_it: fn(&Step) -> bool| self.plan.steps.iter().any(is_it);
        // SAFETY: the caller's contract.
        unsafe {
            if has(|step| matches!(step, Step::Kernel { .. })) {
                written.kernel_set = self.descriptor_set(playback, User::Kernels)?;
            }
            if has(|step| matches!(step, Step::Capture(_))) {
                written.capture_set = self.descriptor_set(playback, user)?;
            }
        }
        Ok(())
    }

    /// Records the steps.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn record_steps(
        &mut self,
        playback: &mut Playback<'_>,
        written: &Written,
        after: &After,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Result<(), RuntimeError> {
        let ctx = self.ctx.clone();
        // SAFETY: the caller's contract.
        let _label = unsafe { ctx.label(playback.cmd, c"vkxfb capture") };
        let mut follows_capture = false;
        for number in 0..self.plan.steps.len() {
            let step = self.plan.steps[number];
            // SAFETY: the caller's contract.
            unsafe {
                match step {
                    Step::MoveState => {
                        if let Some((from, to)) = written.moved_state {
                            self.move_state(playback, from, to);
                        }
                    }
                    Step::Barrier { which, when, then } => {
                        self.find_touched(then, after, counters);
                        self.record_barrier(playback, which, when, then);
                    }
                    Step::Kernel { kernel, workgroups } => {
                        let parameters = match kernel {
                            Kernel::Restart | Kernel::RestartScan => written.restarts,
                            _ => written.parameters,
                        };
                        if let Some(parameters) = parameters {
                            let set = written.kernel_set;
                            self.dispatch_kernel(playback, set, kernel, parameters, workgroups)?;
                        }
                    }
                    Step::Capture(capture) => {
                        self.scarce_barrier(playback, follows_capture && self.captures_overlap());
                        self.record_capture(playback, written, &capture)?;
                    }
                    Step::EndQueries => self.record_ends(playback, written.ends)?,
                }
            }
            follows_capture = matches!(step, Step::Capture(_));
        }
        Ok(())
    }

    /// Finds what the steps behind a barrier access.
    fn find_touched(
        &mut self,
        touched: Touched,
        after: &After,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) {
        match touched {
            Touched::Unknown => {}
            Touched::Captured => self.find_captured(after.position),
            Touched::CapturedAndCounted => {
                self.find_captured(after.position);
                self.find_counted(counters);
            }
            Touched::Finished => self.find_finished(),
        }
    }

    /// Records a barrier, if one is needed.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn record_barrier(
        &self,
        playback: &mut Playback<'_>,
        which: Barrier,
        when: When,
        then: Touched,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            match when {
                When::Always => {
                    self.barrier(playback, which);
                    match then {
                        Touched::Unknown => playback.forget_order(),
                        _ => self.remember(playback),
                    }
                }
                When::InOrder if playback.order.is_none() => {
                    self.scarce_barrier(playback, self.is_scarce());
                }
                When::InOrder | When::Touched => self.barrier_before(playback, which),
            }
        }
    }

    /// Records a dispatch that captures.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn record_capture(
        &mut self,
        playback: &mut Playback<'_>,
        written: &Written,
        capture: &CaptureStep,
    ) -> Result<(), RuntimeError> {
        let CaptureStep { key, state, draws, size } = *capture;
        let Some(pipeline) = self.pipeline_of(&self.pending.states[state]).cloned() else {
            return Ok(());
        };
        let sysvals = self.sysvals_of(state, draws, written);
        let set = written.capture_set;
        // SAFETY: the caller's contract; the arguments lie in the scratch memory.
        unsafe {
            let raw = pipeline.recorded(&self.ctx, key)?;
            self.prepare_dispatch(playback, state, &pipeline, raw, set, &sysvals);
            let (device, cmd) = (self.ctx.device(), playback.cmd);
            match size {
                Size::Direct(workgroups) | Size::DirectUpTo(workgroups) => {
                    let [x, y] = fold(workgroups, self.ctx.max_workgroups_per_axis())?;
                    device.cmd_dispatch(cmd, x, y, 1);
                }
                Size::Indirect(number) => {
                    if let Some(batches) = written.batches {
                        let at = batches.offset + number as u64 * BATCH_SIZE + WORKGROUPS_OFFSET;
                        device.cmd_dispatch_indirect(cmd, batches.buffer, at);
                    }
                }
            }
        }
        playback.recorded.captures += 1;
        // As with kernels, so that whether a later draw is refused does not depend on the size of this one.
        playback.sets_disturbed |= set.is_some() && key.source == Source::Fused;
        Ok(())
    }

    /// The sysvals of a dispatch.
    fn sysvals_of(&self, state: usize, draws: Draws, written: &Written) -> Sysvals {
        let mut sysvals = self.sysvals(state);
        let listed = |number: usize| {
            let dispatch = &self.plan.dispatches[number];
            listed_draws(dispatch.listed, dispatch.count)
        };
        let batch = |number: usize, size: u64| {
            split(written.batches.map_or(0, |batches| batches.address + number as u64 * size))
        };
        let first = self.pending.draws.first();
        match draws {
            Draws::Pushed(number) => sysvals.draw = self.resolved_draw(self.plan.placed[number]),
            Draws::Listed(number) => sysvals.draw = listed(number),
            Draws::Resumed(number) => {
                if self.plan.dispatches[number].count > 1 {
                    sysvals.draw = listed(number);
                }
                sysvals.set_batch(batch(number, size_of::<Batch>() as u64));
            }
            Draws::Batch(number) => sysvals.set_batch(batch(number, BATCH_SIZE)),
            Draws::Fused => {
                if let (Some(draw), Some(parameters)) = (first, written.parameters) {
                    return self.fused_sysvals(draw, parameters.address);
                }
            }
            Draws::Restarted(draw) => {
                sysvals.draw = self.resolved_draw(draw);
                sysvals.batch = first.map_or([0; 2], |draw| draw.input.restart_table);
            }
        }
        sysvals
    }

    /// Finds the states that captures use. States are sorted: a draw never has an earlier state
    /// than the draw before it.
    fn find_used_states(&mut self) {
        if !self.captures() {
            return;
        }
        let used = self.pending.draws.iter().map(|draw| (draw.state, [0; 2]));
        self.plan.used_states.extend(used);
        self.plan.used_states.dedup_by_key(|(state, _)| *state);
    }

    /// Checks the pipeline layouts where the set of the buffers is bound, or was in an earlier
    /// recording. It comes after those of a pipeline. Binding it with another layout may disturb sets
    /// that the application bound itself.
    ///
    /// # Errors
    /// As [`check_sets`](Self::check_sets).
    fn check_layouts(&self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        if self.ctx.table().is_none() {
            return Ok(());
        }
        self.note_layouts(playback);
        if playback.sets_disturbed { self.refuse_unbound_sets() } else { Ok(()) }
    }

    /// Notes the pipeline layouts that the set of the buffers is bound with.
    fn note_layouts(&self, playback: &mut Playback<'_>) {
        for (state, _) in &self.plan.used_states {
            let pipeline = self.pending.states.get(*state).and_then(|s| self.pipeline_of(s));
            let layout = pipeline.map(Pipeline::raw_layout).unwrap_or_default();
            playback.sets_disturbed |=
                playback.layout.replace(layout).is_some_and(|last| last != layout);
        }
    }

    /// Whether anything is captured.
    pub(super) fn captures(&self) -> bool {
        self.bound.pipeline.is_some() && self.targets.iter().any(Option::is_some)
    }

    /// Reserves the memory of a plan, in addition to its tables and the ends of queries; assigns
    /// descriptors to everything that is reached; writes the tables.
    ///
    /// # Errors
    /// Those of [`ArenaAccess::reserve`].
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn place_memory(
        &mut self,
        playback: &mut Playback<'_>,
        upload: u64,
        scratch: u64,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Result<(), RuntimeError> {
        let mut last = None;
        let mut tables = 0;
        for (number, _) in &self.plan.used_states {
            let key = self.table_key(*number);
            if last != Some(key) {
                tables += self.table_size(*number);
                last = Some(key);
            }
        }
        let upload = upload + tables + operations_upload(self.pending.ends.len());
        // SAFETY: the caller's contract.
        unsafe { playback.arena.reserve(&self.ctx, upload, scratch) }?;
        self.plan.readable = split(playback.arena.upload_address());
        if self.ctx.table().is_some() {
            let [upload, scratch] = playback.arena.windows();
            self.table.set_arena(upload, scratch);
            self.assign(counters);
        }
        self.place_tables(playback)
    }

    /// States with the same key share a table.
    fn table_key(&self, state: usize) -> Option<(usize, usize, usize)> {
        let DrawState { pipeline, attributes, constants, .. } = *self.pending.states.get(state)?;
        Some((pipeline, attributes, constants))
    }

    /// The size of a state's table in bytes.
    fn table_size(&self, state: usize) -> u64 {
        let Some(state) = self.pending.states.get(state) else { return 0 };
        let constants = self.pipeline_of(state).map_or(0, |p| p.push_constants().len());
        let (_, others) = self.pending.attributes[state.attributes].others;
        aligned((constants + others * size_of::<AttributeDescriptor>()) as u64)
    }

    /// Writes what shaders read in addition to the sysvals: push constants of the application, and
    /// attribute descriptors beyond the inline ones.
    fn place_tables(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        let (mut last, mut address) = (None, [0; 2]);
        for used in 0..self.plan.used_states.len() {
            let (number, _) = self.plan.used_states[used];
            let key = self.table_key(number);
            if last != Some(key) {
                (last, address) = (Some(key), self.place_table(playback, number)?);
            }
            self.plan.used_states[used].1 = address;
        }
        Ok(())
    }

    fn place_table(
        &mut self,
        playback: &mut Playback<'_>,
        state: usize,
    ) -> Result<Address, RuntimeError> {
        if self.table_size(state) == 0 {
            return Ok([0; 2]);
        }
        let state = self.pending.states[state];
        let (first, count) = self.pending.attributes[state.attributes].others;
        let mut others = std::mem::take(&mut self.plan.descriptors);
        others.clear();
        let table = &self.pending.attribute_table[first..first + count];
        others.extend(table.iter().map(|attribute| self.readable_attribute(*attribute)));
        let len = self.pipeline_of(&state).map_or(0, |p| p.push_constants().len());
        let constants = self.bound.constants.bytes(state.constants, len);
        let place = playback.arena.upload().push_both(constants, bytemuck::cast_slice(&others));
        self.plan.descriptors = others;
        Ok(split(place?.address))
    }

    /// The pipeline of a state; `None` if draws are only counted.
    pub(super) fn pipeline_of(&self, state: &DrawState) -> Option<&Pipeline> {
        self.pending.pipelines.get(state.pipeline)
    }

    /// Assigns descriptors to everything that the pending draws and `counters` reach.
    fn assign(&mut self, counters: &[Address; MAX_XFB_BUFFERS]) {
        let Some(limits) = self.ctx.table() else { return };
        let begun = match self.position {
            Position::Counters => self.counters,
            Position::Known(_) | Position::State(_) => Default::default(),
        };
        let addresses = &mut self.plan.addresses;
        addresses.extend(counters.iter().chain(&begun));
        addresses.extend(self.targets.iter().flatten().map(|target| target.address));
        let pending = &self.pending;
        for draw in &pending.draws {
            let mut input = draw.input;
            addresses.extend(input.buffers_mut().map(|address| *address));
        }
        // All queries of a pool have the address of its buffer.
        addresses.extend(pending.ends.iter().map(|end| end.address));
        let mut last = None;
        for (state, _) in &self.plan.used_states {
            let number = pending.states[*state].attributes;
            if last.replace(number) == Some(number) {
                continue;
            }
            let Attributes { inline, others: (first, count), .. } = pending.attributes[number];
            let others = &pending.attribute_table[first..first + count];
            addresses.extend(inline.iter().chain(others).map(|attribute| attribute.address));
        }
        self.table.assign(limits, addresses.iter().copied().map(join));
    }

    /// The descriptor set for a user; `None` if the device uses addresses.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn descriptor_set(
        &self,
        playback: &mut Playback<'_>,
        user: User,
    ) -> Result<Option<vk::DescriptorSet>, RuntimeError> {
        let Some(limits) = self.ctx.table() else { return Ok(None) };
        let Playback { arena, last_sets, .. } = playback;
        // SAFETY: the caller's contract.
        unsafe { last_sets.get(&self.ctx, limits, &self.table, arena, user) }.map(Some)
    }

    /// Under the descriptor plan kernels disturb all sets. Checks that the recorder bound every set
    /// that a draw reads.
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetUnknown`].
    pub(super) fn check_sets(&self) -> Result<(), RuntimeError> {
        if self.ctx.table().is_none() { Ok(()) } else { self.refuse_unbound_sets() }
    }

    /// # Errors
    /// [`RuntimeError::DescriptorSetUnknown`] for a set that a draw reads and that the recorder did not
    /// bind.
    fn refuse_unbound_sets(&self) -> Result<(), RuntimeError> {
        match self.unbound_set() {
            Some(set) => Err(RuntimeError::DescriptorSetUnknown { set }),
            None => Ok(()),
        }
    }

    /// A set that a draw reads and that the recorder did not bind.
    fn unbound_set(&self) -> Option<u32> {
        self.plan.used_states.iter().find_map(|(number, _)| {
            let state = &self.pending.states[*number];
            let used = self.pipeline_of(state).map(Pipeline::used_sets).unwrap_or_default();
            let is_bound = |set: u32| self.pending.sets.is_set_bound(state.sets, set);
            used.iter().copied().find(|set| !is_bound(*set))
        })
    }

    /// The address by which shaders read something of which `limit` elements exist.
    pub(super) fn readable(&self, address: Address, limit: u32) -> Address {
        self.resolve(if limit == 0 { self.plan.readable } else { address })
    }

    /// The descriptor of an attribute as shaders read it.
    fn readable_attribute(&self, attribute: AttributeDescriptor) -> AttributeDescriptor {
        let address = self.readable(attribute.address, attribute.limit);
        AttributeDescriptor { address, ..attribute }
    }

    /// The sysvals of a state, without the members for a draw or a batch.
    pub(super) fn sysvals(&self, number: usize) -> Sysvals {
        let target =
            |t: Option<TargetBuffer>| t.map_or(Address::default(), |t| self.resolve(t.address));
        let attributes = self.pending.attributes[self.pending.states[number].attributes];
        Sysvals {
            draw: DrawSysvals::default(),
            xfb_address: self.targets.map(target),
            table: self.resolve(self.plan.table_of(number)),
            batch: self.readable(Address::default(), 0),
            attributes: attributes.inline.map(|a| self.readable_attribute(a)),
        }
    }

    /// Binds what a dispatch with a state needs, and sets its sysvals.
    ///
    /// # Safety
    /// As [`play`](Self::play); `set` is the set of the buffers, and `raw` is a pipeline of the
    /// state.
    pub(super) unsafe fn prepare_dispatch(
        &mut self,
        playback: &mut Playback<'_>,
        state: usize,
        pipeline: &Pipeline,
        raw: vk::Pipeline,
        set: Option<vk::DescriptorSet>,
        sysvals: &Sysvals,
    ) {
        tracing::trace!(?sysvals);
        let (device, cmd) = (self.ctx.device(), playback.cmd);
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, pipeline.raw_layout());
        let found = &mut playback.found;
        // SAFETY: the caller's contract; the layout has the set of the buffers after those of the
        // application, and that range of push constants for that stage.
        unsafe {
            if found.pipeline != raw {
                device.cmd_bind_pipeline(cmd, point, raw);
                found.pipeline = raw;
            }
            let (snapshot, count) = (self.pending.states[state].sets, pipeline.set_count());
            let sets = &mut self.pending.sets;
            let mut after = None;
            while let Some((number, arguments)) = sets.next_command(snapshot, count, after) {
                if arguments.layout != found.table_layout {
                    // The call may have disturbed the set of the buffers.
                    found.table_layout = vk::PipelineLayout::null();
                }
                arguments.record(device, cmd, point);
                after = Some(number);
            }
            if let Some(set) = set
                && found.table_layout != layout
            {
                SetArguments { layout, first: count, sets: &[set], dynamic_offsets: &[] }
                    .record(device, cmd, point);
                sets.disturb(layout, count as usize);
                found.table_layout = layout;
            }
            let bytes = bytemuck::bytes_of(sysvals);
            device.cmd_push_constants(cmd, layout, vk::ShaderStageFlags::COMPUTE, 0, bytes);
        }
    }

    /// Creates the pipelines of kernels that do not exist yet. It precedes the first command of a
    /// recording, because it may fail.
    ///
    /// # Errors
    /// As [`Kernels::prepare`](crate::runtime::Kernels::prepare).
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn make_kernels(&self, kernels: &[Kernel]) -> Result<(), RuntimeError> {
        let pipelines = self.kernels.pipelines()?;
        for kernel in kernels {
            // SAFETY: the caller's contract.
            unsafe { pipelines.get(&self.ctx, *kernel, vk::PipelineCache::null()) }?;
        }
        Ok(())
    }

    /// Dispatches a kernel.
    ///
    /// # Safety
    /// As [`play`](Self::play), and as the dispatch of [`Kernels`](crate::runtime::Kernels).
    pub(super) unsafe fn dispatch_kernel(
        &self,
        playback: &mut Playback<'_>,
        set: Option<vk::DescriptorSet>,
        kernel: Kernel,
        parameters: Suballocation,
        workgroups: [u32; 2],
    ) -> Result<(), RuntimeError> {
        let (kernels, cmd) = (self.kernels.pipelines()?, playback.cmd);
        // SAFETY: the caller's contract.
        unsafe { kernels.dispatch(&self.ctx, cmd, set, kernel, parameters.address, workgroups) }?;
        playback.found = Found::default();
        playback.sets_disturbed |= set.is_some();
        playback.recorded.kernels += 1;
        Ok(())
    }

    /// Records a barrier after everything recorded so far, if descriptors cover more bytes than are
    /// accessed.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn scarce_barrier(&self, playback: &mut Playback<'_>, is_needed: bool) {
        if is_needed {
            // SAFETY: the caller's contract.
            let barriers = unsafe { self.ctx.kernel_barrier(playback.cmd, Barrier::Scarce) };
            playback.recorded.barriers += barriers;
        }
    }

    /// Adds operations that write the counters whose values the CPU knows.
    pub(super) fn counter_operations(
        &mut self,
        after: &After,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) {
        for (target, address) in self.targets.iter().zip(counters) {
            if *address == Address::default() {
                continue;
            }
            let position = target.map_or(0, |target| after.position.in_buffer(&target));
            // A position is at most the end of the buffer, which is below 4 GiB.
            let values = [u32::try_from(position).unwrap_or(u32::MAX), 0, 0, 0];
            self.plan.operations.push(Operation {
                address: *address,
                kind: operation::STORE,
                reserved: 0,
                values,
            });
        }
    }
}
