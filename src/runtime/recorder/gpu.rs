//! Recording where the GPU has to find out what is drawn, or where it goes: a setup kernel for all draws,
//! then their captures.
//!
//! ```text
//! barrier; restarts of all index buffers, one dispatch;   (with primitive restart)
//! barrier; setup, one workgroup;
//! barrier; captures
//! ```

use ash::vk;

use super::compute::{Compute, Position};
use crate::capture::MAX_XFB_BUFFERS;
use crate::draw::MAX_BUFFER_SIZE;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::Place;
use crate::runtime::descriptors::User;
use crate::runtime::fold::fold;
use crate::runtime::{Barrier, Pipeline, RuntimeError};
use crate::sysval::setup::{
    BATCH_SIZE, Group, RESTART_BLOCKS, Reduction, ReductionEntry, Setup, WORKGROUPS_OFFSET,
    restart_blocks, restart_table_size,
};
use crate::sysval::{Address, DrawSysvals, split};

/// Consecutive draws that one dispatch captures.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct GpuGroup {
    group: Group,
    state: usize,
    /// Workgroups at most, or `None` where the GPU gives the size of the dispatch.
    workgroups: Option<u64>,
}

/// What was placed in the arena.
struct Placed {
    setup: Place,
    batches: Place,
    new_state: Place,
    /// Parameters of the restart kernel, and its workgroups.
    reduction: Option<(Place, [u32; 2])>,
}

impl Compute<'_> {
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn record_by_setup(
        &mut self,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<(), RuntimeError> {
        self.make_groups();
        // What is bound once stays, so that the first of them has the fewest sets.
        let first = self.arena.pending.groups.iter().find(|g| g.workgroups != Some(0)).copied();
        if let Some(group) = first {
            self.check_sets(group.state)?;
        }
        // Whatever may fail comes before the first command.
        for group in &self.arena.pending.groups {
            fold(group.workgroups.unwrap_or(1), self.ctx.max_workgroups_per_axis())?;
        }
        let placed = self.place_setup(counters)?;
        // SAFETY: the caller's contract.
        unsafe {
            let (ctx, cmd) = (self.ctx, self.cmd);
            let for_kernels = self.arena.descriptor_set(ctx, User::Kernels)?;
            let for_captures = match self.capturing() {
                Some(_) => self.arena.descriptor_set(ctx, User::CapturesBySetup)?,
                None => None,
            };
            self.recorded.barriers += ctx.kernel_barrier(cmd, Barrier::BeforeSetup);
            if let Some((parameters, workgroups)) = placed.reduction {
                self.dispatch_kernel(for_kernels, Kernel::Restart, parameters, workgroups);
                self.recorded.barriers += ctx.kernel_barrier(cmd, Barrier::RestartToSetup);
            }
            self.dispatch_kernel(for_kernels, Kernel::Setup, placed.setup, [1, 1]);
            if first.is_some()
                && let Some(pipeline) = self.capturing()
            {
                self.recorded.barriers += ctx.kernel_barrier(cmd, Barrier::SetupToCapture);
                self.record_groups(pipeline, for_captures, placed.batches)?;
            }
        }
        self.position = Position::State(placed.new_state.address);
        self.captured = None;
        Ok(())
    }

    /// Puts draws together that find the same bound, and whose dispatch is sized by the same side.
    fn make_groups(&mut self) {
        let per_axis = u64::from(self.ctx.max_workgroups_per_axis());
        let size = u64::from(self.pipeline.map_or(1, Pipeline::workgroup_size));
        let indirect = self.ctx.has_indirect_dispatch();
        let pending = &mut self.arena.pending;
        for (number, draw) in (0u32..).zip(&mut pending.draws) {
            let is_sized = draw.is_known() || !indirect;
            let workgroups = is_sized.then(|| draw.invocations.div_ceil(size));
            let joined = match pending.groups.last_mut() {
                Some(last) if last.state == draw.state || draw.is_query_end() => {
                    match (&mut last.workgroups, workgroups) {
                        _ if draw.is_query_end() => true,
                        (Some(sum), Some(more)) if *sum + more <= per_axis * per_axis / 2 => {
                            *sum += more;
                            true
                        }
                        (None, None) => true,
                        _ => false,
                    }
                }
                _ => false,
            };
            match pending.groups.last_mut() {
                Some(last) if joined => last.group.count += 1,
                _ => pending.groups.push(GpuGroup {
                    group: Group { first: number, count: 1 },
                    state: draw.state,
                    workgroups,
                }),
            }
            draw.input.group = pending.groups.len() as u32 - 1;
        }
    }

    fn place_setup(
        &mut self,
        new_counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<Placed, RuntimeError> {
        self.place_restart_tables()?;
        let (upload, scratch, pending) = self.arena.parts();
        let inputs = upload.push(pending.draws.iter().map(|draw| draw.input))?;
        let groups = upload.push(pending.groups.iter().map(|group| group.group))?;
        let scans = upload.push(pending.scans.iter().copied())?;
        let (input_count, group_count) = (pending.draws.len(), pending.groups.len());
        let scan_count = pending.scans.len();
        let has_queries = pending.draws.iter().any(|draw| {
            [draw.input.stream_query, draw.input.generated_query] != [Address::default(); 2]
        });
        let draws = scratch.take(input_count as u64 * size_of::<DrawSysvals>() as u64)?;
        let batches = scratch.take(group_count as u64 * BATCH_SIZE)?;
        let new_state = scratch.take(size_of::<[u32; MAX_XFB_BUFFERS]>() as u64)?;

        let (mut sizes, mut strides) = ([0; MAX_XFB_BUFFERS], [0; MAX_XFB_BUFFERS]);
        for (target, (size, stride)) in self.targets.iter().zip(sizes.iter_mut().zip(&mut strides))
        {
            if let Some(target) = target {
                let bytes = target.buffer.size.min(MAX_BUFFER_SIZE);
                (*size, *stride) = (bytes as u32, target.buffer.stride);
            }
        }
        let positions = self
            .targets
            .map(|t| u32::try_from(t.map_or(0, |t| self.position_of(&t))).unwrap_or(u32::MAX));
        let (state, counters) = match self.position {
            Position::Known(_) => (Address::default(), Default::default()),
            Position::Counters => (Address::default(), self.counters.map(|c| self.resolve(c))),
            Position::State(address) => (split(address), Default::default()),
        };
        let setup = self.arena.push(&[Setup {
            inputs: split(inputs.address),
            draws: split(draws.address),
            groups: split(groups.address),
            batches: split(batches.address),
            state,
            new_state: split(new_state.address),
            scans: split(scans.address),
            scan_count: scan_count as u32,
            input_count: input_count as u32,
            group_count: group_count as u32,
            workgroup_size: self.pipeline.map_or(1, Pipeline::workgroup_size),
            workgroups_per_axis: self.ctx.max_workgroups_per_axis(),
            has_queries: has_queries.into(),
            positions,
            sizes,
            strides,
            counters,
            new_counters,
        }])?;
        let (upload, _, pending) = self.arena.parts();
        let reduction = match pending.reductions.len() {
            0 => None,
            count => {
                let list = upload.push(pending.reductions.iter().copied())?;
                let workgroups = pending.reduction_workgroups;
                let parameters = self.arena.push(&[Reduction {
                    inputs: split(inputs.address),
                    list: split(list.address),
                    count: count as u32,
                    reserved: 0,
                }])?;
                Some((parameters, fold(workgroups, self.ctx.max_workgroups_per_axis())?))
            }
        };
        Ok(Placed { setup, batches, new_state, reduction })
    }

    /// Scratch for restarted draws, and what the restart kernel does for them.
    fn place_restart_tables(&mut self) -> Result<(), RuntimeError> {
        let (_, scratch, pending) = self.arena.parts();
        for (number, draw) in (0u32..).zip(&mut pending.draws) {
            if !draw.is_restarted() {
                continue;
            }
            let blocks = restart_blocks(draw.restart_indices, draw.restart_indices);
            draw.input.restart_table = split(scratch.take(restart_table_size(blocks))?.address);
            let workgroups = blocks.div_ceil(RESTART_BLOCKS);
            pending.reductions.push(ReductionEntry {
                input: number,
                first_workgroup: u32::try_from(pending.reduction_workgroups).unwrap_or(u32::MAX),
            });
            pending.reduction_workgroups += workgroups;
            if workgroups > 1 {
                pending.scans.push(number);
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush); `batches` is in the scratch memory.
    unsafe fn record_groups(
        &mut self,
        pipeline: &Pipeline,
        set: Option<vk::DescriptorSet>,
        batches: Place,
    ) -> Result<(), RuntimeError> {
        let scratch = self.arena.scratch_buffer();
        // SAFETY: the caller's contract.
        unsafe {
            let point = vk::PipelineBindPoint::COMPUTE;
            self.ctx.device().cmd_bind_pipeline(self.cmd, point, pipeline.raw());
            self.bind_table(pipeline, set);
        }
        for number in 0..self.arena.pending.groups.len() {
            let group = self.arena.pending.groups[number];
            if group.workgroups == Some(0) {
                continue;
            }
            let number = number as u64;
            let state = self.arena.pending.states[group.state];
            let mut sysvals = self.sysvals(&self.arena.pending.attributes[state.attributes]);
            sysvals.batch = split(batches.address + number * BATCH_SIZE);
            // SAFETY: the caller's contract; the arguments lie in the scratch memory.
            unsafe {
                self.order(number > 0 && self.arena.captures_overlap(self.ctx));
                self.bind_application_sets(pipeline, state.sets);
                self.push_constants(pipeline, &sysvals);
                let (device, cmd): (_, vk::CommandBuffer) = (self.ctx.device(), self.cmd);
                match group.workgroups {
                    Some(workgroups) => {
                        let [x, y] = fold(workgroups, self.ctx.max_workgroups_per_axis())?;
                        device.cmd_dispatch(cmd, x, y, 1);
                    }
                    None => {
                        let at = batches.offset + number * BATCH_SIZE + WORKGROUPS_OFFSET;
                        device.cmd_dispatch_indirect(cmd, scratch, at);
                    }
                }
            }
            self.recorded.captures += 1;
        }
        Ok(())
    }
}
