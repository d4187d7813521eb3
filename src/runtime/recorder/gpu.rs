//! Records captures whose counts or positions only the GPU knows: a setup kernel for all draws, and
//! then their captures.
//!
//! ```text
//! barrier; restarts of all index buffers, one dispatch;   (with primitive restart)
//! barrier; scan over them;                                (of more than 8,192 indices)
//! barrier; setup, one workgroup;
//! barrier; captures
//! ```
//!
//! A single direct draw with primitive restart, whose place the CPU knows, is captured beside the setup,
//! without a barrier between them (with device addresses): it needs nothing but the restarts.

use ash::vk;

use super::capture::{Capture, PendingDraw, Position};
use super::collect::most_workgroups;
use super::direct::{invocations_per_item, joined_topology, shared_topology, unclamped_draw};
use super::plan::{CaptureStep, Draws, Size, Step, Touched, When};
use super::play::{After, Playback, Written};
use crate::capture::MAX_XFB_BUFFERS;
use crate::counts::{BoundBuffer, MAX_BUFFER_SIZE};
use crate::lower::kernel::Kernel;
use crate::runtime::arena::{Part, Suballocation, aligned};
use crate::runtime::fold::fold;
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::setup::{BATCH_SIZE, Input, Progress, RestartedDraw, Setup, kind};
use crate::sysval::{Address, DrawSysvals, split};
use crate::topology::XfbTopology;

/// Bytes of the positions that one setup writes for the next one.
pub(super) const STATE_SIZE: u64 = size_of::<[u32; MAX_XFB_BUFFERS]>() as u64;

/// Consecutive draws that share a dispatch.
#[derive(Debug, Clone, Copy)]
pub(super) struct GpuGroup {
    workgroup_size: u32,
    state: usize,
    /// Whether primitive restart is enabled for the draws.
    is_restarted: bool,
    /// The topology of the draws, if all are decomposed alike.
    topology: Option<XfbTopology>,
    /// The most workgroups needed.
    most: u64,
    size: Size,
}

impl GpuGroup {
    /// What the pipeline is compiled for. `is_known` is whether its only draw needs nothing from the setup;
    /// `small` is [`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups).
    fn key(&self, is_known: bool, small: u32) -> Key {
        let source = if is_known { Source::Pushed } else { Source::Placed };
        let topology = shared_topology(self.topology, self.most, small);
        Key { restart: self.is_restarted, topology, ..Key::of(source) }
    }

    /// Whether a draw can be captured by the same pipeline with the same state.
    fn takes(&self, draw: &PendingDraw) -> bool {
        self.state == draw.state && self.is_restarted == draw.is_restarted()
    }
}

/// A draw with primitive restart of which the CPU knows everything but the restarts.
#[derive(Debug, Clone, Copy)]
struct KnownDraw {
    draw: DrawSysvals,
    workgroups: u64,
}

impl Capture {
    /// Plans a setup and captures of the draws that it places.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    pub(super) fn plan_setup(&mut self) -> Result<(), RuntimeError> {
        self.make_groups();
        self.plan.restarts.find(&self.pending.draws);
        let known = self.known_restarted_draw();
        let barrier = |which, then| Step::Barrier { which, when: When::Always, then };
        let kernel = |kernel, workgroups| Step::Kernel { kernel, workgroups };
        let per_axis = self.ctx.max_workgroups_per_axis();
        self.plan_moved_state();
        let steps = &mut self.plan.steps;
        steps.push(barrier(Barrier::BeforeSetup, Touched::Unknown));
        let mut setup = Kernel::Setup;
        if !self.plan.restarts.is_empty() {
            setup = Kernel::RestartedSetup;
            let [restart, scan] = self.plan.restarts.workgroups();
            steps.push(kernel(Kernel::Restart, fold(restart, per_axis)?));
            if scan > 0 {
                steps.push(barrier(Barrier::RestartToScan, Touched::Unknown));
                steps.push(kernel(Kernel::RestartScan, fold(scan, per_axis)?));
            }
            // Of a known draw, the captures behind the setup kernel need nothing that it writes.
            let then = if known.is_some() { Touched::CapturedAndCounted } else { Touched::Unknown };
            steps.push(barrier(Barrier::RestartToSetup, then));
        }
        steps.push(kernel(setup, [1, 1]));
        let is_empty = |group: &GpuGroup| group.size == Size::DirectUpTo(0);
        if self.captures() && !self.plan.groups.iter().all(is_empty) {
            let steps = &mut self.plan.steps;
            if known.is_none() {
                steps.push(barrier(Barrier::SetupToCapture, Touched::Captured));
            }
            let small = self.ctx.max_shared_workgroups();
            for (number, group) in self.plan.groups.iter().enumerate() {
                let (draws, size) = match known {
                    Some(KnownDraw { draw, workgroups }) => {
                        (Draws::Restarted(draw), Size::DirectUpTo(workgroups))
                    }
                    None => (Draws::Batch(number), group.size),
                };
                if !is_empty(group) {
                    let key = group.key(known.is_some(), small);
                    let state = group.state;
                    steps.push(Step::Capture(CaptureStep { key, state, draws, size }));
                }
            }
        }
        (self.plan.upload, self.plan.scratch) = self.setup_memory();
        Ok(())
    }

    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn barrier(&self, playback: &mut Playback<'_>, which: Barrier) {
        // SAFETY: the caller's contract.
        playback.recorded.barriers += unsafe { self.ctx.kernel_barrier(playback.cmd, which) };
    }

    /// Copies the state of an earlier setup to the block of the current one, where descriptors
    /// reach it.
    ///
    /// # Safety
    /// As [`play`](Self::play); both places contain a state.
    pub(super) unsafe fn move_state(
        &self,
        playback: &mut Playback<'_>,
        from: Suballocation,
        to: Suballocation,
    ) {
        let region =
            vk::BufferCopy { src_offset: from.offset, dst_offset: to.offset, size: STATE_SIZE };
        // SAFETY: the caller's contract; the blocks of an arena have the usages.
        unsafe {
            self.barrier(playback, Barrier::BeforeMove);
            let device = self.ctx.device();
            device.cmd_copy_buffer(playback.cmd, from.buffer, to.buffer, &[region]);
            self.barrier(playback, Barrier::AfterMove);
        }
    }

    /// Groups consecutive draws that have the same state, the same pipeline and the same kind of
    /// dispatch, direct or indirect.
    fn make_groups(&mut self) {
        let per_axis = u64::from(self.ctx.max_workgroups_per_axis());
        let indirect = self.ctx.has_indirect_dispatch();
        for number in 0..self.pending.draws.len() {
            let draw = self.pending.draws[number];
            let size = self.workgroup_size_of(draw.state, &draw.any_key());
            let is_sized = draw.is_known() || !indirect;
            let most = most_workgroups(&draw, size);
            let groups = &mut self.plan.groups;
            let joined = match groups.last_mut() {
                Some(last) if last.takes(&draw) => match &mut last.size {
                    Size::DirectUpTo(sum)
                        if is_sized && *sum + most <= most_joined(per_axis, size) =>
                    {
                        *sum += most;
                        true
                    }
                    Size::Indirect(_) => !is_sized,
                    Size::DirectUpTo(_) | Size::Direct(_) => false,
                },
                _ => false,
            };
            let next = groups.len();
            match groups.last_mut() {
                Some(last) if joined => {
                    last.most = last.most.saturating_add(most);
                    last.topology = joined_topology(last.topology, draw.topology);
                }
                _ => groups.push(GpuGroup {
                    workgroup_size: size,
                    state: draw.state,
                    is_restarted: draw.is_restarted(),
                    topology: Some(draw.topology.xfb_topology()),
                    most,
                    size: if is_sized { Size::DirectUpTo(most) } else { Size::Indirect(next) },
                }),
            }
            self.pending.draws[number].input.group = groups.len() as u32 - 1;
        }
    }

    /// Whether an indirect draw may consist of several draws.
    fn has_several(&self) -> bool {
        self.pending.draws.iter().any(|draw| draw.count() > 1)
    }

    /// The most draws that the setup kernel can write.
    fn most_placed_draws(&self) -> u64 {
        let inputs = self.pending.draws.len() as u64;
        if !self.has_several() {
            return inputs;
        }
        let all = self.pending.draws.iter().map(PendingDraw::count).fold(0, u64::saturating_add);
        let buffers = self.targets.iter().flatten().map(|target| target.buffer);
        most_placed(all, self.plan.groups.len() as u64, buffers)
    }

    /// Bytes from one placed draw to the next.
    const fn draw_stride(&self) -> u32 {
        let size = match self.plan.restarts.is_empty() {
            true => size_of::<DrawSysvals>(),
            false => size_of::<RestartedDraw>(),
        };
        size as u32
    }

    /// The upload and scratch memory of a setup.
    fn setup_memory(&self) -> (u64, u64) {
        let (draws, groups) = (self.pending.draws.len() as u64, self.plan.groups.len() as u64);
        let size = |count: u64, size: usize| aligned(count * size as u64);
        let upload = size(draws, size_of::<Input>())
            + size(groups, size_of::<u32>())
            + size(1, size_of::<Setup>())
            + self.plan.restarts.upload();
        let scratch = size(self.most_placed_draws(), self.draw_stride() as usize)
            + groups * BATCH_SIZE
            + 2 * STATE_SIZE
            + self.plan.restarts.scratch();
        (upload, scratch)
    }

    /// Writes what [`plan_setup`](Self::plan_setup) planned. Returns the state after the draws.
    pub(super) fn write_setup(
        &mut self,
        playback: &mut Playback<'_>,
        new_counters: &[Address; MAX_XFB_BUFFERS],
        written: &mut Written,
    ) -> Result<After, RuntimeError> {
        written.restarts = self.place_restart_tables(playback)?;
        let scratch = playback.arena.scratch();
        let (input_count, group_count) = (self.pending.draws.len(), self.plan.groups.len());
        let draws = scratch.take(self.most_placed_draws() * u64::from(self.draw_stride()))?;
        let batches = scratch.take(group_count as u64 * BATCH_SIZE)?;
        let new_state = scratch.take(STATE_SIZE)?;
        written.moved_state = self.moved_state(scratch, new_state)?;

        let upload = playback.arena.upload();
        let inputs =
            upload.push(self.pending.draws.iter().map(|draw| self.resolved_input(draw.input)))?;
        let groups = upload.push(self.plan.groups.iter().map(|group| group.workgroup_size))?;
        let has_queries = self.pending.draws.iter().any(|draw| {
            [draw.input.stream_query, draw.input.generated_query] != [Address::default(); 2]
        });
        let position = match written.moved_state {
            Some((_, to)) => Position::State(to),
            None => self.position,
        };
        let setup = Setup {
            inputs: split(inputs.address),
            draws: split(draws.address),
            groups: split(groups.address),
            batches: split(batches.address),
            draw_stride: self.draw_stride(),
            input_count: input_count as u32,
            has_several: self.has_several().into(),
            workgroups_per_axis: self.ctx.max_workgroups_per_axis(),
            has_queries: has_queries.into(),
            reserved: [0; 3],
            progress: self.progress(position, Some(new_state), new_counters),
        };
        written.parameters = Some(upload.push([setup].into_iter())?);
        written.batches = Some(batches);
        Ok(After { position: Position::State(new_state), captured: None })
    }

    /// The only draw, if it has primitive restart and the CPU knows everything else that its capture
    /// needs: where it begins, and how much fits.
    fn known_restarted_draw(&self) -> Option<KnownDraw> {
        let (&[draw], Position::Known(record)) = (&self.pending.draws[..], self.position) else {
            return None;
        };
        let Input { kind, count, instance_count, predicate, .. } = draw.input;
        let unclamped = unclamped_draw(&draw.input);
        let invocations = count.checked_mul(invocations_per_item(draw.topology))?;
        // By descriptors both reach the whole scratch memory, which the setup writes to.
        if self.ctx.table().is_some()
            || !draw.is_restarted()
            || !self.is_single(&draw)
            || kind != kind::DIRECT
            || predicate != Address::default()
            || instance_count != 1
            // It would have one workgroup all the same, which would run the shader.
            || count == 0
            || count > unclamped.index_limit
        {
            return None;
        }
        let vertices = draw.topology.vertices_per_primitive();
        let left = self.targets.iter().flatten().map(|target| {
            let position = Position::Known(record).in_buffer(target);
            BoundBuffer { position, ..target.buffer }.primitives_left(vertices)
        });
        let room = u32::try_from(left.min()?).ok()?.checked_mul(vertices)?;
        let known = DrawSysvals {
            output_count: room,
            output_end: record.checked_add(room)?,
            base_record: record,
            invocations,
            ..unclamped
        };
        let key = Key { restart: true, ..Key::of(Source::Pushed) };
        let size = u64::from(self.workgroup_size_of(draw.state, &key).max(1));
        let workgroups = u64::from(invocations).div_ceil(size);
        fold(workgroups, self.ctx.max_workgroups_per_axis()).ok()?;
        Some(KnownDraw { draw: known, workgroups })
    }

    /// Plans that the state of an earlier recording is copied, if descriptors may not reach it.
    pub(super) fn plan_moved_state(&mut self) {
        if self.ctx.table().is_some() && matches!(self.position, Position::State(_)) {
            self.plan.steps.push(Step::MoveState);
        }
    }

    /// Where the state of an earlier setup is copied from and to, if descriptors do not reach it.
    /// `new_state` is in the current block.
    pub(super) fn moved_state(
        &self,
        scratch: &mut Part,
        new_state: Suballocation,
    ) -> Result<Option<(Suballocation, Suballocation)>, RuntimeError> {
        match self.position {
            Position::State(state)
                if self.ctx.table().is_some() && state.buffer != new_state.buffer =>
            {
                Ok(Some((state, scratch.take(STATE_SIZE)?)))
            }
            _ => Ok(None),
        }
    }

    /// From where to where draws capture that begin at `position`.
    pub(super) fn progress(
        &self,
        position: Position,
        new_state: Option<Suballocation>,
        new_counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Progress {
        let (mut sizes, mut strides) = ([0; MAX_XFB_BUFFERS], [0; MAX_XFB_BUFFERS]);
        for (target, (size, stride)) in self.targets.iter().zip(sizes.iter_mut().zip(&mut strides))
        {
            if let Some(target) = target {
                let bytes = target.buffer.size.min(MAX_BUFFER_SIZE);
                (*size, *stride) = (bytes as u32, target.buffer.stride);
            }
        }
        let positions = self.targets.map(|target| {
            let position = target.map_or(0, |target| position.in_buffer(&target));
            u32::try_from(position).unwrap_or(u32::MAX)
        });
        let (state, counters) = match position {
            Position::Known(_) => (Address::default(), Default::default()),
            Position::Counters => (Address::default(), self.counters.map(|c| self.resolve(c))),
            Position::State(state) => (split(state.address), Default::default()),
        };
        Progress {
            state,
            new_state: new_state.map_or(Address::default(), |state| split(state.address)),
            positions,
            sizes,
            strides,
            counters,
            new_counters: new_counters.map(|counter| self.resolve(counter)),
        }
    }

    /// Returns an input with resolved addresses.
    fn resolved_input(&self, mut input: Input) -> Input {
        let index_address = input.index_address;
        for address in input.buffers_mut() {
            *address = self.resolve(*address);
        }
        // Draws without indices may share a pipeline with others.
        input.index_address = self.readable(index_address, input.index_limit);
        input
    }
}

/// An upper bound for the number of draws that the setup kernel keeps: the draws that write
/// something (at most as many as records fit), and the first draw of each group.
fn most_placed(draws: u64, groups: u64, buffers: impl Iterator<Item = BoundBuffer>) -> u64 {
    // The same as room_at in shaders/setup.wgsl, for any initial position.
    let captured = buffers.filter(|buffer| buffer.stride != 0);
    let room = captured.map(|buffer| buffer.size / u64::from(buffer.stride)).min();
    draws.min(room.unwrap_or(0).saturating_add(groups))
}

/// The most workgroups of a dispatch that several draws can share: limited by two axes, and by 2^32
/// invocation numbers.
fn most_joined(per_axis: u64, workgroup_size: u32) -> u64 {
    (per_axis * per_axis / 2).min((1 << 32) / u64::from(workgroup_size.max(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A draw as the setup kernel reads it.
    #[derive(Debug, Clone, Copy)]
    struct Found {
        primitives: u64,
        /// Vertices per primitive.
        vertices: u64,
        /// Whether the draw before it belongs to another group.
        starts_group: bool,
    }

    fn draws() -> impl Strategy<Value = Vec<Found>> {
        // Many draws write nothing, and few do not fit.
        let primitives = prop_oneof![Just(0u64), 0..4u64, 0..100u64];
        let draw = (primitives, 1..=3u64, proptest::bool::weighted(0.1));
        let draw = draw.prop_map(|(primitives, vertices, starts_group)| Found {
            primitives,
            vertices,
            starts_group,
        });
        proptest::collection::vec(draw, 1..60)
    }

    /// The number of draws that shaders/setup.wgsl keeps (`place`, and `is_kept` in `xfb_setup`).
    /// Each draw is placed after those before it and clamped to the remaining room.
    fn kept(draws: &[Found], buffers: &[BoundBuffer]) -> u64 {
        // If nothing is captured, no draw is placed.
        let mut room = room_at(buffers).unwrap_or(0);
        let mut kept = 0;
        for (number, draw) in draws.iter().enumerate() {
            let written = draw.primitives.min(room / draw.vertices);
            room -= written * draw.vertices;
            kept += u64::from(written != 0 || draw.starts_group || number == 0);
        }
        kept
    }

    /// The same as `room_at` in shaders/setup.wgsl. Positions are bytes from the start of each
    /// bound range.
    fn room_at(buffers: &[BoundBuffer]) -> Option<u64> {
        let captured = buffers.iter().filter(|buffer| buffer.stride != 0);
        let left = |b: &BoundBuffer| (b.size - b.size.min(b.position)) / u64::from(b.stride);
        captured.map(left).min()
    }

    proptest! {
        #[test]
        fn no_more_draws_are_kept_than_the_bound(
            draws in draws(),
            raw in proptest::collection::vec((0..400u64, 0..100u64, 0..4u32), 0..=4),
        ) {
            let buffers = raw.into_iter().map(|(size, position, stride)| BoundBuffer {
                size: 4 * size,
                position: 4 * position,
                stride: 4 * stride,
            });
            let buffers: Vec<BoundBuffer> = buffers.collect();
            // The first draw always starts a group.
            let starts = draws.iter().skip(1).filter(|draw| draw.starts_group);
            let groups = 1 + starts.count() as u64;
            let bound = most_placed(draws.len() as u64, groups, buffers.iter().copied());
            prop_assert!(kept(&draws, &buffers) <= bound);
        }
    }

    /// One draw of each group writes nothing; the others write one record each.
    #[test]
    fn as_many_draws_may_be_kept_as_the_bound() {
        let draw = |primitives, starts_group| Found { primitives, vertices: 1, starts_group };
        let mut draws = vec![draw(0, true)];
        draws.extend([draw(1, false); 7]);
        draws.extend([draw(0, true), draw(0, false), draw(9, true), draw(9, false)]);
        let buffer = BoundBuffer { size: 8 * 7 + 4, position: 0, stride: 8 };
        assert_eq!(kept(&draws, &[buffer]), 10);
        assert_eq!(most_placed(draws.len() as u64, 3, [buffer].into_iter()), 10);
    }
}
