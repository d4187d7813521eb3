//! Records the steps of a plan.

use ash::vk;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::descriptor_heaps::{BoundHeaps, DescriptorState, ParameterTransport};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::arena::Suballocation;
use crate::runtime::pipelines::kernels::Dispatch;
use crate::runtime::pipelines::pipeline::{DrawSource, Key, Pipeline};
use crate::runtime::recording::collect::BoundCaptureBuffer;
use crate::runtime::recording::plan::{
    BatchId, BlockId, CaptureStep, Contents, Draws, Group, POSITIONS_SIZE, Size, Step,
    TURN_WORKGROUPS, Touched, Upload, When,
};
use crate::runtime::recording::play::{BoundState, Playback, Player};
use crate::runtime::recording::set_arguments::SetArguments;
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::setup::WORKGROUPS_OFFSET;
use vkxfb_rewriter::sysval::{Address, DrawSysvals, Sysvals, join, split};

impl Player<'_> {
    /// Records the steps.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    pub(super) unsafe fn record_steps(
        &mut self,
        playback: &mut Playback<'_>,
    ) -> Result<(), RuntimeError> {
        let _label = unsafe { self.ctx.label(playback.cmd, c"vkxfb capture") };
        let (mut follows_capture, mut captures) = (false, 0);
        for number in 0..self.plan.steps.len() {
            let step = self.plan.steps[number];
            unsafe {
                match step {
                    Step::MovePositions(_) => {
                        if let Some((from, to)) = self.moved() {
                            self.move_positions(playback, from, to);
                        }
                    }
                    Step::Barrier { which, when, then } => {
                        self.record_barrier(playback, which, when, then);
                    }
                    Step::Kernel { kernel, parameters, workgroups } => {
                        self.record_kernel(playback, kernel, parameters, workgroups)?;
                    }
                    Step::Turns { kernel, parameters, count } => {
                        let [first, later] = TURN_WORKGROUPS;
                        self.record_kernel(playback, kernel, parameters, first)?;
                        for _ in 1..count {
                            let (which, when) = (Barrier::BetweenTurns, When::Always);
                            self.record_barrier(playback, which, when, Touched::Unknown);
                            self.record_kernel(playback, kernel, parameters, later)?;
                        }
                    }
                    Step::Capture(capture) => {
                        self.scarce_barrier(playback, follows_capture && self.captures_overlap());
                        if let Some(raw) = self.places.pipelines.get(captures).copied() {
                            self.record_capture(playback, &capture, raw);
                        }
                        captures += 1;
                    }
                }
            }
            follows_capture = matches!(step, Step::Capture(_));
        }
        Ok(())
    }

    /// Copies the positions of an earlier recording, with a barrier before and after the copy.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply. Both suballocations contain positions.
    unsafe fn move_positions(
        &self,
        playback: &mut Playback<'_>,
        from: Suballocation,
        to: Suballocation,
    ) {
        let region =
            vk::BufferCopy { src_offset: from.offset, dst_offset: to.offset, size: POSITIONS_SIZE };
        // SAFETY: the caller's contract; the blocks of an arena have the transfer usages.
        unsafe {
            self.barrier(playback, Barrier::BeforeMove);
            let device = self.ctx.device();
            device.cmd_copy_buffer(playback.cmd, from.buffer, to.buffer, &[region]);
            self.barrier(playback, Barrier::AfterMove);
        }
    }

    /// Records the barrier of a step, if it is needed.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    unsafe fn record_barrier(
        &mut self,
        playback: &mut Playback<'_>,
        which: Barrier,
        when: When,
        then: Touched,
    ) {
        if playback.order.is_some() {
            self.find_touched(then);
        }
        unsafe {
            match when {
                When::Always => {
                    self.barrier(playback, which);
                    self.remember(playback, then);
                }
                When::InOrder if playback.order.is_none() => {
                    self.scarce_barrier(playback, self.is_scarce());
                }
                When::InOrder | When::Touched => self.barrier_before(playback, which),
            }
        }
    }

    /// Records a barrier, whether it is needed or not.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    pub(super) unsafe fn barrier(&self, playback: &mut Playback<'_>, which: Barrier) {
        let is_indirect = self.plan.groups.iter().any(Group::is_indirect);
        playback.recorded.barriers +=
            unsafe { self.ctx.kernel_barrier(playback.cmd, which, is_indirect) };
    }

    /// If `is_needed`, records a barrier after everything recorded so far. It is needed if descriptors cover more bytes
    /// than are accessed.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    pub(super) unsafe fn scarce_barrier(&self, playback: &mut Playback<'_>, is_needed: bool) {
        if is_needed {
            unsafe { self.barrier(playback, Barrier::Scarce) };
        }
    }

    /// Records the dispatch of a kernel.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) and of
    /// [`Pipelines::dispatch`](crate::runtime::pipelines::kernels::Pipelines::dispatch) apply.
    unsafe fn record_kernel(
        &mut self,
        playback: &mut Playback<'_>,
        kernel: Kernel,
        parameters: BlockId,
        workgroups: [u32; 2],
    ) -> Result<(), RuntimeError> {
        let (kernels, cmd) = (self.kernels.pipelines()?, playback.cmd);
        let (set, transport) = (self.places.kernel_set, playback.descriptors.transport());
        let parameters = self.places.address_of(parameters);
        let dispatch = Dispatch { kernel, parameters, workgroups };
        unsafe { kernels.dispatch(self.ctx, cmd, transport, set, &dispatch) }?;
        playback.bound = BoundState::default();
        if set.is_some() {
            // The kernel's set replaces a set of the application, so the next dispatch binds the application's sets
            // again.
            self.places.sets.forget(&self.bindings.sets);
            playback.sets_disturbed = true;
        }
        playback.recorded.kernel_dispatches += 1;
        Ok(())
    }

    /// Records a dispatch that captures draws.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply. `raw` is the Vulkan pipeline of the capture's key.
    unsafe fn record_capture(
        &mut self,
        playback: &mut Playback<'_>,
        capture: &CaptureStep,
        raw: vk::Pipeline,
    ) {
        let CaptureStep { key, state, draws, size } = *capture;
        let Some(pipeline) = self.pipeline_of(state) else { return };
        let sysvals = self.sysvals_of(key, state, draws);
        // SAFETY: the caller's contract; the arguments of an indirect dispatch are in scratch memory.
        unsafe {
            // The count pass writes scratch memory, like kernels, but no capture buffer.
            let set = match draws {
                Draws::Emitted { is_count_pass: true, .. } => self.places.kernel_set,
                _ => self.places.capture_set,
            };
            self.bind(playback, state, pipeline, raw, set, &sysvals);
            let (device, cmd) = (self.ctx.device(), playback.cmd);
            match size {
                Size::Direct([x, y]) | Size::DirectUpTo([x, y]) => {
                    device.cmd_dispatch(cmd, x, y, 1);
                }
                Size::Indirect(BatchId { block, number, size }) => {
                    if let Some(batches) = self.places.blocks.get(block.0) {
                        let at = batches.offset + number as u64 * size + WORKGROUPS_OFFSET;
                        device.cmd_dispatch_indirect(cmd, batches.buffer, at);
                    }
                }
            }
        }
        playback.recorded.capture_dispatches += 1;
        // For a larger draw, kernels would be used instead of a fused capture, and they disturb the sets. A fused
        // capture counts as disturbing them, too. Otherwise the size of this draw would decide whether a later draw is
        // an error.
        playback.sets_disturbed |=
            self.places.capture_set.is_some() && key.source == DrawSource::Fused;
    }

    /// Returns the sysvals with which a dispatch captures `draws`.
    fn sysvals_of(&self, key: Key, state: usize, draws: Draws) -> Sysvals {
        let at = |block| split(self.places.address_of(block));
        let batch_at = |batch| split(self.places.address_in(batch));
        let mut sysvals = self.sysvals_of_state(state);
        match draws {
            Draws::Pushed(draw) => sysvals.draw = self.resolved_draw(draw),
            Draws::Listed(block, count) => {
                sysvals.set_listed(at(block), count as u32, self.differ_in_bound(block));
            }
            Draws::Emitted { pushed, listed, batch, entries, is_count_pass } => {
                if let Some(draw) = pushed {
                    sysvals.draw = self.resolved_draw(draw);
                } else if let Some((block, count)) = listed.filter(|(_, count)| *count > 1) {
                    sysvals.set_listed(at(block), count as u32, self.differ_in_bound(block));
                }
                sysvals.set_batch(batch_at(batch));
                sysvals.set_entries(batch_at(entries), is_count_pass);
                if key.is_unchecked()
                    && let Some(entries) = self.entries_of_group(entries)
                {
                    sysvals.set_unchecked_entries(&entries);
                }
            }
            Draws::Resumed(block, count, batch) => {
                if count > 1 {
                    sysvals.set_listed(at(block), count as u32, self.differ_in_bound(block));
                }
                sysvals.set_batch(batch_at(batch));
            }
            Draws::Batch(batch) => sysvals.set_batch(batch_at(batch)),
            Draws::Fused(draw, block) => {
                sysvals.draw = self.resolved_draw(draw);
                sysvals.set_fused(at(block));
                if self.ctx.table().is_some() {
                    let bound = sysvals.xfb_address.iter_mut();
                    for address in bound.filter(|address| **address != Address::default()) {
                        *address = split(self.table.behind_state(join(*address)));
                    }
                }
            }
            Draws::Restarted(draw, table) => {
                sysvals.draw = self.resolved_draw(draw);
                sysvals.set_restart_table(at(table));
            }
        }
        sysvals.set_stream(self.collected.stream, self.collected.has_effects);
        sysvals
    }

    /// Whether the draws that a block lists differ in what is bound or set for them.
    fn differ_in_bound(&self, block: BlockId) -> bool {
        let Some(Contents::Upload(Upload::Listed { draws, .. })) =
            self.plan.blocks.get(block.0).map(|block| &block.contents)
        else {
            return true;
        };
        let listed = self.plan.placed.get(draws.clone()).unwrap_or_default();
        listed.windows(2).any(|pair| pair[0].state != pair[1].state)
    }

    /// Returns the sysvals of the state with index `number`. Their `draw` is the default, and
    /// [`sysvals_of`](Self::sysvals_of) sets what depends on the draws.
    pub(super) fn sysvals_of_state(&self, number: usize) -> Sysvals {
        let target = |t: Option<BoundCaptureBuffer>| {
            t.map_or(Address::default(), |t| self.resolve(t.address))
        };
        let state = self.collected.states[number];
        let attributes = self.bindings.attributes[state.attributes];
        Sysvals {
            draw: DrawSysvals::default(),
            xfb_address: self.collected.targets_of(&state).map(target),
            table: self.resolve(self.places.placed(number).table),
            source: self.readable(Address::default(), 0),
            attributes: attributes.inline.map(|a| self.readable_attribute(a)),
        }
    }

    /// Binds the pipeline and the descriptors of a dispatch, and passes its sysvals.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply. `raw` is a Vulkan pipeline of the state, and `set` is a set
    /// of the descriptor plan.
    unsafe fn bind(
        &mut self,
        playback: &mut Playback<'_>,
        state: usize,
        pipeline: &Pipeline,
        raw: vk::Pipeline,
        set: Option<vk::DescriptorSet>,
        sysvals: &Sysvals,
    ) {
        tracing::trace!(?sysvals);
        let sysvals = bytemuck::bytes_of(sysvals);
        // SAFETY: the caller's contract. A layout has a range for the compute stage with the push constants that are
        // written, and push data has room for them everywhere.
        unsafe {
            if playback.bound.pipeline != raw {
                let device = self.ctx.device();
                device.cmd_bind_pipeline(playback.cmd, vk::PipelineBindPoint::COMPUTE, raw);
                playback.bound.pipeline = raw;
            }
            let (cmd, layout) = (playback.cmd, pipeline.raw_layout());
            match pipeline.heaps() {
                None => {
                    self.bind_sets(playback, state, pipeline, set);
                    let transport = ParameterTransport::PushConstants;
                    self.ctx.push_parameters(transport, cmd, layout, sysvals);
                }
                Some(interface) => {
                    self.bind_heaps(playback, state);
                    let mut data = std::mem::take(&mut self.places.push_data);
                    data.clear();
                    data.extend_from_slice(sysvals);
                    let read = self.pushed_bytes(state, &interface.read());
                    interface.push_behind(&mut data, read, self.places.placed(state).first_copy);
                    let transport = ParameterTransport::PushData;
                    self.ctx.push_parameters(transport, cmd, layout, &data);
                    self.places.push_data = data;
                }
            }
        }
    }

    /// Binds the descriptor heaps of a state that are not bound already.
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    unsafe fn bind_heaps(&self, playback: &mut Playback<'_>, state: usize) {
        let wanted = self.bindings.heaps_of(&self.collected.states[state]);
        let bound = match playback.descriptors {
            DescriptorState::Sets | DescriptorState::SetsAfterHeaps => BoundHeaps::default(),
            DescriptorState::Heaps(bound) => bound,
        };
        let missing = wanted.without(bound);
        if let Some(commands) = self.ctx.heap_commands()
            && missing != BoundHeaps::default()
        {
            unsafe { commands.bind(playback.cmd, &missing) };
        }
        playback.descriptors = DescriptorState::Heaps(missing.or(bound));
    }

    /// Binds the descriptor sets of a state that are not bound already, and `set` behind them.
    ///
    /// # Safety
    /// The requirements of [`bind`](Self::bind) apply.
    unsafe fn bind_sets(
        &mut self,
        playback: &mut Playback<'_>,
        state: usize,
        pipeline: &Pipeline,
        set: Option<vk::DescriptorSet>,
    ) {
        let (device, cmd) = (self.ctx.device(), playback.cmd);
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, pipeline.raw_layout());
        let bound = &mut playback.bound;
        if let DescriptorState::Heaps(_) = playback.descriptors {
            // Heaps and sets invalidate each other, so no set is bound any more.
            playback.descriptors = DescriptorState::SetsAfterHeaps;
            self.places.sets.forget(&self.bindings.sets);
            bound.table_layout = vk::PipelineLayout::null();
        }
        // SAFETY: the caller's contract; the layout has the set of the descriptor plan behind the application's sets.
        unsafe {
            let (snapshot, count) = (self.collected.states[state].sets, pipeline.set_count());
            let (sets, recorded) = (&self.bindings.sets, &mut self.places.sets);
            let mut after = None;
            while let Some((number, arguments)) = recorded.next(sets, snapshot, count, after) {
                if arguments.layout != bound.table_layout {
                    // Binding the application's sets may have disturbed the set of the descriptor plan.
                    bound.table_layout = vk::PipelineLayout::null();
                }
                arguments.record(device, cmd, point);
                after = Some(number);
            }
            if let Some(set) = set
                && bound.table_layout != layout
            {
                SetArguments::new(layout, count, &[set], &[]).record(device, cmd, point);
                recorded.disturb(sets, layout, count as usize);
                bound.table_layout = layout;
            }
        }
    }
}
