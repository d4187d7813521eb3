//! Plans captures whose counts or positions only the GPU knows: a setup kernel for all draws, and after it their
//! captures.
//!
//! ```text
//! barrier; restarts of all index buffers, one dispatch;   (with primitive restart)
//! barrier; scan over the restarts;                        (of more than 8,192 indices)
//! barrier; setup, one workgroup;                          (on processors, and for many draws, in turns)
//! barrier; captures
//! ```
//!
//! A single direct draw with primitive restart, whose position the CPU knows, depends only on the restarts. So with
//! device addresses there is no barrier between the setup kernel and its capture.

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::fold;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::{DrawSource, Key};
use crate::runtime::recording::collect::{
    Collected, CollectedDraw, Position, invocations_per_item,
};
use crate::runtime::recording::plan::place::{joined_topology, shared_topology, unclamped_draw};
use crate::runtime::recording::plan::turns::Turns;
use crate::runtime::recording::plan::{
    BatchId, BlockId, CaptureStep, Draws, EntrySetup, Planner, Queries, Scratch, Size, Step,
    Touched, Upload, When,
};
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::lower::kernel::{self, Kernel, SetupDraws};
use vkxfb_rewriter::sysval::setup::{BATCH_SIZE, DrawCommand, RestartedDraw, Setup, kind};
use vkxfb_rewriter::sysval::{Address, DrawSysvals};
use vkxfb_rewriter::topology::XfbTopology;

/// Consecutive draws that the setup kernel places, and that share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) struct Group {
    pub(in crate::runtime::recording) workgroup_size: u32,
    /// The number of recorded draws in the group. An indirect command counts once, whatever its number of draws.
    pub(in crate::runtime::recording) draws: usize,
    state: usize,
    /// Whether primitive restart is enabled for the draws.
    is_restarted: bool,
    /// Whether the index buffer of any draw ends within a dword ([`Key::partial_indices`]).
    partial_indices: bool,
    /// With geometry or tessellation shaders: the queries that all draws of the group add to. `None` for other draws.
    queries: Option<Queries>,
    /// The topology of the draws, or `None` if they have different decompositions.
    topology: Option<XfbTopology>,
    /// The largest number of workgroups that the draws may need. With geometry or tessellation shaders the dispatch has
    /// another number, but this one still determines the Vulkan pipeline, and which draws share a group.
    most: u64,
    /// Whether the dispatch is indirect. Otherwise `most` workgroups are dispatched.
    is_indirect: bool,
}

impl Group {
    /// The key of the Vulkan pipeline. `is_known` says whether the group has a single draw that does not depend on the
    /// setup kernel. `small` is [`Context::max_shared_workgroups`](crate::runtime::Context::max_shared_workgroups).
    pub(super) fn key(&self, is_known: bool, small: u32) -> Key {
        let source = if is_known { DrawSource::Pushed } else { DrawSource::General };
        let topology = shared_topology(self.topology, self.most, small);
        let Self { is_restarted: restart, partial_indices, .. } = *self;
        Key { restart, partial_indices, topology, ..Key::of(source) }
    }

    /// Whether a draw can join the group: it must have the same state and the same setting of primitive restart, and
    /// with geometry or tessellation shaders the same queries.
    fn takes(&self, draw: &CollectedDraw) -> bool {
        self.state == draw.state
            && self.is_restarted == draw.is_restarted()
            && self.queries.is_none_or(|queries| queries == Queries::of(&draw.command))
    }

    /// Whether the dispatch is indirect, unless it captures a single draw that does not depend on the setup kernel.
    pub(in crate::runtime::recording) const fn is_indirect(&self) -> bool {
        self.is_indirect
    }

    /// Whether the draws need no dispatch, because they write nothing.
    const fn is_empty(&self) -> bool {
        !self.is_indirect && self.most == 0
    }
}

/// A draw with primitive restart about which the CPU knows everything except the restarts.
#[derive(Debug, Clone, Copy)]
struct KnownDraw {
    draw: DrawSysvals,
    workgroups: [u32; 2],
}

impl Planner<'_> {
    /// Plans a setup kernel, and captures of the draws that it places.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    pub(super) fn plan_setup(&mut self) -> Result<(), RuntimeError> {
        // Under the descriptor plan, kernels disturb the application's descriptor sets.
        self.check_sets()?;
        self.make_groups();
        let known = self.known_restarted_draw();
        let restarts = self.plan_restarts();
        self.positions();
        let batches = self.push_setup(None, restarts, known.is_some())?;
        let barrier = |which, then| Step::Barrier { which, when: When::Always, then };
        if !self.collected.has_targets() || self.plan.groups.iter().all(Group::is_empty) {
            return Ok(());
        }
        if known.is_none() {
            self.plan.steps.push(barrier(Barrier::SetupToCapture, Touched::Captured));
        }
        let (small, per_axis) = (self.limits.shared_workgroups, self.limits.workgroups_per_axis);
        let table = self.plan.restarts.table_of(0);
        let plan = &mut *self.plan;
        let groups = plan.groups.iter().enumerate().filter(|(_, group)| !group.is_empty());
        for (number, group) in groups {
            let batch = BatchId { block: batches, number, size: BATCH_SIZE };
            let (draws, size) = match (known, table) {
                (Some(KnownDraw { draw, workgroups }), Some(table)) => {
                    (Draws::Restarted(draw, table), Size::DirectUpTo(workgroups))
                }
                _ if group.is_indirect => (Draws::Batch(batch), Size::Indirect(batch)),
                _ => (Draws::Batch(batch), Size::DirectUpTo(fold(group.most, per_axis)?)),
            };
            let key = group.key(known.is_some(), small);
            let state = group.state;
            plan.steps.push(Step::Capture(CaptureStep { key, state, draws, size }));
        }
        Ok(())
    }

    /// Plans a setup kernel that counts the input primitives of draws with geometry or tessellation shaders, without
    /// placing the draws. Returns the block that contains a batch for each group of draws.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    pub(super) fn plan_entry_setup(
        &mut self,
        entry_setup: EntrySetup,
    ) -> Result<BlockId, RuntimeError> {
        let restarts = self.plan_restarts();
        self.push_setup(Some(entry_setup), restarts, false)
    }

    /// Adds a setup kernel, and before it the kernels that find restarts. If the draws have geometry or tessellation
    /// shaders, the kernel divides them into entries, as `entry_setup` says. If `is_known` is true, the captures after
    /// the setup kernel do not depend on its results. Returns the block that contains a batch for each group of draws.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    fn push_setup(
        &mut self,
        entry_setup: Option<EntrySetup>,
        restarts: Option<BlockId>,
        is_known: bool,
    ) -> Result<BlockId, RuntimeError> {
        // The kernel processes draws of geometry and tessellation shaders twice.
        let times = if entry_setup.is_some() { 2 } else { 1 };
        let draws = self.most_draws().saturating_mul(times);
        let turns = Turns::of_draws(self.limits, draws, restarts.is_some());
        let batches = self.plan.groups.len() as u64 * BATCH_SIZE;
        let batches = self.plan.scratch(Scratch::Batches, batches);
        let parameters = self.setup_parameters(batches, restarts.is_some(), turns, entry_setup);
        let setup = Kernel::Setup(kernel::Setup {
            restarts: restarts.is_some(),
            makes_entries: entry_setup.is_some(),
            draws: match (self.limits.serial_kernels, self.has_several()) {
                (true, _) => SetupDraws::Serial,
                (false, true) => SetupDraws::Several,
                (false, false) => SetupDraws::One,
            },
        });
        let barrier = |which, then| Step::Barrier { which, when: When::Always, then };
        self.plan.steps.push(barrier(Barrier::BeforeSetup, Touched::Unknown));
        if let Some(parameters) = restarts {
            let per_axis = self.limits.workgroups_per_axis;
            let [restart, scan] = self.plan.restarts.workgroups();
            let [restarts, scans] = self.plan.restarts.kernels();
            let kernel = |kernel, workgroups| Step::Kernel { kernel, parameters, workgroups };
            let steps = &mut self.plan.steps;
            steps.push(kernel(restarts, fold(restart, per_axis)?));
            if scan > 0 {
                steps.push(barrier(Barrier::RestartToScan, Touched::Unknown));
                steps.push(kernel(scans, fold(scan, per_axis)?));
            }
            let then = if is_known { Touched::CapturedAndCounted } else { Touched::Unknown };
            steps.push(barrier(Barrier::RestartToSetup, then));
        }
        self.plan.push_turns(setup, parameters, turns);
        Ok(batches)
    }

    /// Adds a block for the parameters of the setup kernel, and blocks for its inputs and outputs. Returns the block of
    /// the parameters.
    fn setup_parameters(
        &mut self,
        batches: BlockId,
        has_restarts: bool,
        turns: Turns,
        entry_setup: Option<EntrySetup>,
    ) -> BlockId {
        let Collected { draws: commands, .. } = self.collected;
        // The primitives that geometry shaders emit are counted later, by the place kernel.
        let has_queries = entry_setup.is_none()
            && commands.iter().any(|draw| !Queries::of(&draw.command).is_none());
        let draw_stride =
            if has_restarts { size_of::<RestartedDraw>() } else { size_of::<DrawSysvals>() };
        let most = match entry_setup {
            Some(_) => self.most_draws(),
            None => self.most_placed_draws(),
        };
        let placed = most * draw_stride as u64;
        let plan = &mut *self.plan;
        let draws = plan.scratch(Scratch::PlacedDraws, placed);
        // One without draws, too: a driver may execute the loads of a loop that has no round.
        let commands =
            plan.upload(Upload::DrawCommands, commands.len().max(1) * size_of::<DrawCommand>());
        let groups = plan.groups.len().max(1) * size_of::<u32>();
        let groups = plan.upload(Upload::WorkgroupSizes, groups);
        let draw_stride = draw_stride as u32;
        let setup = Upload::Setup {
            commands,
            draws,
            groups,
            batches,
            draw_stride,
            turn_draws: turns.steps,
            has_queries,
            entry_setup,
        };
        plan.upload(setup, size_of::<Setup>())
    }

    /// Groups consecutive draws that can share a dispatch. [`Group::takes`] must accept the draws of a group, and
    /// either all of them need an indirect dispatch, or all need a direct one whose workgroups do not exceed the limit
    /// of a dispatch.
    pub(super) fn make_groups(&mut self) {
        let per_axis = u64::from(self.limits.workgroups_per_axis);
        let groups = &mut self.plan.groups;
        for draw in &self.collected.draws {
            let properties = self.collected.properties_of(draw);
            let size = properties.workgroup_size(&draw.any_key());
            let queries = properties.geometry.map(|_| Queries::of(&draw.command));
            let is_indirect = !draw.is_known() && self.limits.indirect_dispatch;
            let most = draw.most_workgroups(size);
            let last = groups.last_mut().filter(|last| {
                last.takes(draw)
                    && last.is_indirect == is_indirect
                    && (is_indirect || last.most + most <= most_joined(per_axis, size))
            });
            if let Some(last) = last {
                last.draws += 1;
                last.most = last.most.saturating_add(most);
                last.topology = joined_topology(last.topology, draw.topology);
                last.partial_indices |= draw.has_partial_indices();
            } else {
                groups.push(Group {
                    workgroup_size: size,
                    draws: 1,
                    state: draw.state,
                    is_restarted: draw.is_restarted(),
                    partial_indices: draw.has_partial_indices(),
                    queries,
                    topology: Some(draw.topology.xfb_topology()),
                    most,
                    is_indirect,
                });
            }
        }
    }

    /// Whether any indirect command may have several draws.
    fn has_several(&self) -> bool {
        self.collected.draws.iter().any(|draw| draw.count() > 1)
    }

    /// The largest number of draws that the setup kernel writes.
    fn most_placed_draws(&self) -> u64 {
        let draws = &self.collected.draws;
        if !self.has_several() {
            return draws.len() as u64;
        }
        let buffers = self.collected.bound_targets().map(|target| target.buffer);
        most_placed(self.most_draws(), self.plan.groups.len() as u64, buffers)
    }

    /// The largest number of draws of all commands.
    fn most_draws(&self) -> u64 {
        self.collected.draws.iter().map(CollectedDraw::count).fold(0, u64::saturating_add)
    }

    /// Returns the draw of the collected capture if it is the only one, has primitive restart, and the CPU knows
    /// everything but its restarts, including the position and the number of records that fit. Otherwise returns
    /// `None`.
    fn known_restarted_draw(&self) -> Option<KnownDraw> {
        let Collected { draws, position: at @ Position::Known(record), .. } = self.collected else {
            return None;
        };
        let [draw] = draws[..] else { return None };
        let state = self.collected.states.get(draw.state).copied().unwrap_or_default();
        let DrawCommand { kind, count, instance_count, predicate, .. } = draw.command;
        let unclamped = unclamped_draw(&draw.command);
        let invocations = count.checked_mul(invocations_per_item(draw.topology))?;
        // Under the descriptor plan the capture may access all scratch memory, to which the setup kernel writes at the
        // same time.
        if self.limits.by_descriptors
            || !draw.is_restarted()
            || !self.is_single(&draw, &state)
            || kind != kind::DIRECT
            || predicate != Address::default()
            || instance_count != 1
            // An empty draw is excluded, because a workgroup would be dispatched for it and would run the shader.
            || count == 0
            || count > unclamped.index_limit
        {
            return None;
        }
        let vertices = draw.topology.vertices_per_primitive();
        let left = self.collected.bound_targets().map(|target| {
            let position = at.in_buffer(target).unwrap_or_default();
            BoundBuffer { position, ..target.buffer }.primitives_left(vertices)
        });
        let room = u32::try_from(left.min()?).ok()?.checked_mul(vertices)?;
        let known = DrawSysvals {
            output_count: room,
            output_end: record.checked_add(room)?,
            base_record: *record,
            invocations,
            ..unclamped
        };
        let key = Key { restart: true, ..Key::of(DrawSource::Pushed) };
        let workgroups = u64::from(invocations.div_ceil(state.properties.workgroup_size(&key)));
        let workgroups = fold(workgroups, self.limits.workgroups_per_axis).ok()?;
        Some(KnownDraw { draw: known, workgroups })
    }
}

/// An upper bound for the number of draws that the setup kernel keeps: the first draw of each group, and the draws that
/// write records. The number of the latter is at most the number of records that fit into the buffers.
fn most_placed(draws: u64, groups: u64, buffers: impl Iterator<Item = BoundBuffer>) -> u64 {
    // This is the largest value that `room_at` in shaders/placing.wgsl can compute, for any initial position.
    let captured = buffers.filter(|buffer| buffer.stride != 0);
    let room = captured.map(|buffer| buffer.size / u64::from(buffer.stride)).min();
    draws.min(room.unwrap_or(0).saturating_add(groups))
}

/// The largest number of workgroups of a dispatch that several draws can share. It is at most half the number that the
/// axes x and y allow, and the numbers of the invocations must be below 2^32.
fn most_joined(per_axis: u64, workgroup_size: u32) -> u64 {
    (per_axis * per_axis / 2).min((1 << 32) / u64::from(workgroup_size.max(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    struct TestDraw {
        primitives: u64,
        /// The number of vertices per primitive.
        vertices: u64,
        /// Whether the previous draw belongs to another group than this draw.
        starts_group: bool,
    }

    fn draws() -> impl Strategy<Value = Vec<TestDraw>> {
        // The range of `primitives` is chosen so that many draws write nothing, and a few draws fill the buffers.
        let primitives = prop_oneof![Just(0u64), 0..4u64, 0..100u64];
        let draw = (primitives, 1..=3u64, proptest::bool::weighted(0.1));
        let draw = draw.prop_map(|(primitives, vertices, starts_group)| TestDraw {
            primitives,
            vertices,
            starts_group,
        });
        proptest::collection::vec(draw, 1..60)
    }

    /// The number of draws that shaders/setup.wgsl keeps (in `place`, and in `is_kept` of `xfb_setup`). Each draw is
    /// placed after the previous ones, and is clamped to the remaining room.
    fn kept(draws: &[TestDraw], buffers: &[BoundBuffer]) -> u64 {
        // If no buffer is captured to, no draw is placed.
        let mut room = room_at(buffers).unwrap_or(0);
        let mut kept = 0;
        for (number, draw) in draws.iter().enumerate() {
            let written = draw.primitives.min(room / draw.vertices);
            room -= written * draw.vertices;
            kept += u64::from(written != 0 || draw.starts_group || number == 0);
        }
        kept
    }

    /// Returns the number of records that fit into the buffers, or `None` if no buffer is captured to, as `room_at` in
    /// shaders/placing.wgsl does. Positions are offsets in bytes from the start of each bound range.
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
            // The first draw always starts a group, even if `starts_group` is false.
            let starts = draws.iter().skip(1).filter(|draw| draw.starts_group);
            let groups = 1 + starts.count() as u64;
            let bound = most_placed(draws.len() as u64, groups, buffers.iter().copied());
            prop_assert!(kept(&draws, &buffers) <= bound);
        }
    }

    /// The bound is reached if the first draw of each group writes nothing, and every other draw writes one record.
    #[test]
    fn as_many_draws_may_be_kept_as_the_bound() {
        let draw = |primitives, starts_group| TestDraw { primitives, vertices: 1, starts_group };
        let mut draws = vec![draw(0, true)];
        draws.extend([draw(1, false); 7]);
        draws.extend([draw(0, true), draw(0, false), draw(9, true), draw(9, false)]);
        let buffer = BoundBuffer { size: 8 * 7 + 4, position: 0, stride: 8 };
        assert_eq!(kept(&draws, &[buffer]), 10);
        assert_eq!(most_placed(draws.len() as u64, 3, [buffer].into_iter()), 10);
    }
}
