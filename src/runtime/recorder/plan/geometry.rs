//! Plans captures of geometry shaders. How much they emit is known only when they have run, so every
//! dispatch runs twice.
//!
//! ```text
//! barrier; captures that count
//! barrier; sums, one workgroup for each block of entries
//! barrier; place, one workgroup, which writes counters and queries
//! barrier; captures that store
//! ```
//!
//! An entry is a run of consecutive primitives of a draw: what one invocation takes. A dispatch has at most
//! [`MAX_ENTRIES`] of them, and a few more to fill workgroups, so the memory of a capture does not depend on
//! what is drawn or emitted.

use super::super::collect::CollectedDraw;
use super::place::{
    LISTED_BYTES, MAX_LISTED_DRAWS, joined_topology, listed_workgroups, shared_topology,
    unclamped_draw,
};
use super::{
    BatchId, BlockId, CaptureStep, Draws, Planner, Queries, Scratch, Size, Step, Touched, Upload,
    When,
};
use crate::lower::LoweredGeometry;
use crate::lower::kernel::Kernel;
use crate::runtime::fold::fold;
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::entries::{ENTRIES_PER_BLOCK, EntryBatch, EntryJob, EntrySums, PlaceEntries};
use crate::sysval::{DrawSysvals, reciprocal};
use crate::topology::XfbTopology;

/// The most entries of a dispatch, but for those that fill workgroups: each takes 8 bytes. Larger draws have
/// several primitives an entry.
pub(in crate::runtime) const MAX_ENTRIES: u64 = 1 << 18;

/// The most primitives of a draw, with all its instances.
const MAX_PRIMITIVES: u64 = 1 << 31;

/// Consecutive draws that share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct EntryGroup {
    state: usize,
    pub(in super::super) queries: Queries,
    /// The vertices of a primitive that is emitted.
    pub(in super::super) vertices: u32,
    /// The first draw and the number of draws, among those of the plan.
    first: usize,
    count: usize,
    /// The primitives of all draws.
    primitives: u64,
    /// The topology of the draws, if all are assembled alike.
    topology: Option<XfbTopology>,
    reaches_far: bool,
    /// The most primitives of an entry.
    pub(in super::super) length: u32,
    pub(in super::super) workgroups: u32,
    /// The number of entries, and how many the block of counts has room for.
    pub(in super::super) entries: u32,
    pub(in super::super) room: u32,
    /// The draws, what their entries emit, and the sums and the places of the blocks of entries.
    pub(in super::super) listed: BlockId,
    pub(in super::super) counts: BlockId,
    pub(in super::super) sums: BlockId,
    pub(in super::super) blocks: BlockId,
}

impl EntryGroup {
    /// The number of blocks of entries.
    pub(in super::super) const fn block_count(&self) -> u32 {
        self.room / ENTRIES_PER_BLOCK
    }

    /// The number of draws.
    pub(in super::super) const fn draw_count(&self) -> usize {
        self.count
    }

    fn key(&self, small: u32) -> Key {
        let source = if self.count > 1 { Source::Listed } else { Source::Placed };
        let topology = shared_topology(self.topology, self.workgroups.into(), small);
        Key { topology, ..Key::of(source) }
    }
}

impl Planner<'_> {
    /// Whether draws are of geometry shaders.
    ///
    /// # Errors
    /// [`RuntimeError::MixedStages`] if only some of them are.
    pub(super) fn has_geometry(&self) -> Result<bool, RuntimeError> {
        let mut draws = self.collected.draws.iter().map(|draw| self.geometry_of(draw).is_some());
        let Some(first) = draws.next() else { return Ok(false) };
        match draws.all(|other| other == first) {
            true => Ok(first),
            false => Err(RuntimeError::MixedStages),
        }
    }

    fn geometry_of(&self, draw: &CollectedDraw) -> Option<LoweredGeometry> {
        self.collected.traits_of(draw).geometry
    }

    /// Plans counting, placing and storing.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::TooManyPrimitives`].
    pub(super) fn plan_geometry(&mut self) -> Result<(), RuntimeError> {
        // Kernels disturb the application's descriptor sets.
        self.check_sets()?;
        self.group_entries()?;
        for number in 0..self.plan.entry_groups.len() {
            self.place_entries(number)?;
        }
        self.positions();
        let count = self.plan.entry_groups.len();
        let size = count * size_of::<EntryBatch>();
        let counting = self.plan.upload(Upload::EntryBatches, size);
        let storing = self.plan.scratch(Scratch::EntryBatches, size as u64);
        let jobs = Upload::EntryJobs { counting, storing };
        let jobs = self.plan.upload(jobs, count * size_of::<EntryJob>());
        let place = Upload::PlaceEntries { jobs, count: count as u32 };
        let place = self.plan.upload(place, size_of::<PlaceEntries>());

        let barrier = |which, then| Step::Barrier { which, when: When::Always, then };
        self.plan.steps.push(barrier(Barrier::BeforeCounting, Touched::Unknown));
        self.push_captures(counting, true);
        self.plan.steps.push(barrier(Barrier::CountsToSums, Touched::Unknown));
        for number in 0..count {
            let group = self.plan.entry_groups[number];
            let parameters = self.plan.upload(Upload::EntrySums(number), size_of::<EntrySums>());
            let per_axis = self.limits.workgroups_per_axis;
            let workgroups = fold(group.block_count().into(), per_axis)?;
            self.plan.steps.push(Step::Kernel {
                kernel: Kernel::EntrySums,
                parameters,
                workgroups,
            });
        }
        self.plan.steps.extend([
            barrier(Barrier::SumsToPlace, Touched::Unknown),
            Step::Kernel { kernel: Kernel::PlaceEntries, parameters: place, workgroups: [1, 1] },
        ]);
        if self.collected.has_targets() {
            self.plan.steps.push(barrier(Barrier::PlaceToCapture, Touched::Captured));
            self.push_captures(storing, false);
        }
        Ok(())
    }

    /// Captures of all groups, with their batches in a block.
    fn push_captures(&mut self, block: BlockId, is_counting: bool) {
        let small = self.limits.shared_workgroups;
        let plan = &mut *self.plan;
        plan.steps.extend(plan.entry_groups.iter().enumerate().map(|(number, group)| {
            let batch = BatchId { block, number, size: size_of::<EntryBatch>() as u64 };
            let draws = match is_counting {
                true => Draws::Counted(group.listed, group.count, batch),
                false => Draws::Resumed(group.listed, group.count, batch),
            };
            Step::Capture(CaptureStep {
                key: group.key(small),
                state: group.state,
                draws,
                size: Size::Direct(group.workgroups.into()),
            })
        }));
    }

    /// Groups consecutive draws with the same state and the same queries.
    ///
    /// # Errors
    /// [`RuntimeError::TooManyPrimitives`].
    fn group_entries(&mut self) -> Result<(), RuntimeError> {
        let none = BlockId(0);
        for draw in &self.collected.draws {
            let Some(geometry) = self.geometry_of(draw) else { continue };
            let placed = assembled_draw(draw)?;
            let primitives = u64::from(placed.item_count) * u64::from(placed.instance_count);
            let groups = &mut self.plan.entry_groups;
            let queries = Queries::of(&draw.input);
            // A draw that writes nothing is counted as nothing, too.
            if primitives == 0 {
                continue;
            }
            let first = self.plan.placed.len();
            self.plan.placed.push(placed);
            let last = groups.last_mut().filter(|last| {
                last.state == draw.state
                    && last.queries == queries
                    && last.count < MAX_LISTED_DRAWS
                    // A list has no elements that far apart.
                    && !last.reaches_far
                    && !draw.reaches_far()
            });
            match last {
                Some(last) => {
                    last.count += 1;
                    last.primitives += primitives;
                    last.topology = joined_topology(last.topology, draw.topology);
                }
                None => groups.push(EntryGroup {
                    state: draw.state,
                    queries,
                    vertices: geometry.output_vertices,
                    first,
                    count: 1,
                    primitives,
                    topology: Some(draw.topology.xfb_topology()),
                    reaches_far: draw.reaches_far(),
                    length: 0,
                    workgroups: 0,
                    entries: 0,
                    room: 0,
                    listed: none,
                    counts: none,
                    sums: none,
                    blocks: none,
                }),
            }
        }
        Ok(())
    }

    /// Divides the draws of a group into entries, and plans the memory that these need.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    fn place_entries(&mut self, number: usize) -> Result<(), RuntimeError> {
        let mut group = self.plan.entry_groups[number];
        let per_axis = self.limits.workgroups_per_axis;
        let traits = self.collected.states.get(group.state).map(|state| state.traits);
        let size = traits.unwrap_or_default().workgroup_size(&group.key(0));
        let length = group.primitives.div_ceil(self.limits.entries.max(1)).max(1);
        group.length = u32::try_from(length).unwrap_or(u32::MAX);
        let draws = group.first..group.first + group.count;
        for draw in self.plan.placed.get_mut(draws.clone()).unwrap_or_default() {
            let primitives = u64::from(draw.item_count) * u64::from(draw.instance_count);
            // A group has fewer primitives than that, if it has so long entries.
            draw.invocations = u32::try_from(primitives.div_ceil(length)).unwrap_or(u32::MAX);
            draw.first_workgroup = group.workgroups;
            group.workgroups += draw.invocations.div_ceil(size);
        }
        let workgroups = listed_workgroups(group.count, group.workgroups, per_axis)?;
        let bytes = draws.len() * size_of::<DrawSysvals>() + workgroups * LISTED_BYTES as usize;
        group.listed = self.plan.upload(Upload::Listed { draws, workgroups }, bytes);

        let [columns, rows] = fold(group.workgroups.into(), per_axis)?;
        group.entries = columns * rows * size;
        group.room = group.entries.next_multiple_of(ENTRIES_PER_BLOCK);
        let (room, blocks) = (u64::from(group.room), u64::from(group.block_count()));
        group.counts = self.plan.scratch(Scratch::EntryCounts, 8 * room);
        group.sums = self.plan.scratch(Scratch::EntrySums, 8 * blocks);
        group.blocks = self.plan.scratch(Scratch::EntryBlocks, 4 * blocks);
        self.plan.entry_groups[number] = group;
        Ok(())
    }
}

/// A draw as a geometry shader takes it: its items are primitives.
///
/// # Errors
/// [`RuntimeError::TooManyPrimitives`].
fn assembled_draw(draw: &CollectedDraw) -> Result<DrawSysvals, RuntimeError> {
    let unclamped = unclamped_draw(&draw.input);
    let primitives = draw.topology.primitive_count(draw.input.count);
    let all = primitives.saturating_mul(draw.input.instance_count.into());
    let item_count = match u32::try_from(primitives) {
        Ok(primitives) if all < MAX_PRIMITIVES => primitives,
        _ => {
            return Err(RuntimeError::TooManyPrimitives {
                primitives: all,
                max: MAX_PRIMITIVES - 1,
            });
        }
    };
    Ok(DrawSysvals {
        item_count,
        output_end: u32::MAX,
        reciprocal: reciprocal(item_count.max(1)),
        ..unclamped
    })
}
