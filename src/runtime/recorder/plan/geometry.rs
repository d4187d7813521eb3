//! Plans captures of geometry shaders. How much they emit is known only when they have run, so every
//! dispatch runs twice.
//!
//! ```text
//! barrier; restarts, scan, setup, as in setup.rs             (unless the CPU knows all draws)
//! barrier; captures that count
//! barrier; sums, one workgroup for each block of entries
//! barrier; place, one workgroup, which writes counters and queries
//! barrier; captures that store
//! ```
//!
//! An entry is a run of consecutive primitives of a draw: what one invocation takes. All draws together have
//! at most [`MAX_ENTRIES`] of them, and a few more to fill workgroups, so the memory of a capture does not
//! depend on what is drawn or emitted.

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
use crate::runtime::arena::aligned;
use crate::runtime::fold::fold;
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::entries::{ENTRIES_PER_BLOCK, Entries, EntryJob, EntrySums, PlaceEntries};
use crate::sysval::setup::BATCH_SIZE;
use crate::sysval::{Batch, DrawSysvals, reciprocal};

/// The most entries of all draws, but for those that fill workgroups: each takes 8 bytes. Larger draws have
/// several primitives an entry.
pub(in crate::runtime) const MAX_ENTRIES: u64 = 1 << 18;

/// The most primitives of a draw, with all its instances.
const MAX_PRIMITIVES: u64 = 1 << 31;

/// The most draws of a recording, of which an indirect command may have many. Each takes a workgroup.
const MAX_DRAWS: u64 = 1 << 16;

/// Consecutive draws that share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct EntryGroup {
    state: usize,
    key: Key,
    pub(in super::super) queries: Queries,
    /// The vertices of a primitive that is emitted.
    pub(in super::super) vertices: u32,
    /// Where the CPU listed the draws, and their number.
    listed: Option<(BlockId, usize)>,
    /// The batch that it counts with.
    pub(in super::super) counting: BatchId,
    size: Size,
    /// The number of entries; of a workgroup if its size is indirect.
    pub(in super::super) count: u32,
    /// How many entries there is room for.
    pub(in super::super) room: u32,
    /// Bytes from the start of [`Scratch::EntryCounts`]: what the entries emit, and the sums and the places of
    /// their blocks.
    pub(in super::super) counts: u64,
    pub(in super::super) sums: u64,
    pub(in super::super) blocks: u64,
}

impl EntryGroup {
    /// The number of blocks of entries.
    pub(in super::super) const fn block_count(&self) -> u32 {
        self.room / ENTRIES_PER_BLOCK
    }

    /// The batch of the dispatch, if only the GPU knows how many workgroups that has.
    pub(in super::super) const fn workgroups(&self) -> Option<BatchId> {
        match self.size {
            Size::Indirect(batch) => Some(batch),
            Size::Direct(_) | Size::DirectUpTo(_) => None,
        }
    }
}

impl Planner<'_> {
    /// Whether the draws are of geometry shaders, as all draws of a [part](super::super::collect::Collected::parts)
    /// are, or none.
    pub(super) fn has_geometry(&self) -> bool {
        let first = self.collected.draws.first();
        first.is_some_and(|draw| self.geometry_of(draw).is_some())
    }

    fn geometry_of(&self, draw: &CollectedDraw) -> Option<LoweredGeometry> {
        self.collected.traits_of(draw).geometry
    }

    /// Plans counting, placing and storing.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::TooManyPrimitives`],
    /// [`RuntimeError::TooManyDraws`].
    pub(super) fn plan_geometry(&mut self) -> Result<(), RuntimeError> {
        // Kernels disturb the application's descriptor sets.
        self.check_sets()?;
        match self.collected.draws.iter().all(CollectedDraw::is_known) {
            true => self.list_entries()?,
            false => self.assemble_entries()?,
        }
        self.positions();
        let groups = self.plan.entry_groups.len();
        let sized = |size: usize| groups * size;
        let counts = self.plan.scratch(Scratch::EntryCounts, self.plan.entry_memory);
        let entries = self.plan.upload(Upload::Entries { counts }, sized(size_of::<Entries>()));
        let storing = self.plan.scratch(Scratch::Batches, sized(size_of::<Batch>()) as u64);
        let jobs = Upload::EntryJobs { counts, entries, storing };
        let jobs = self.plan.upload(jobs, sized(size_of::<EntryJob>()));
        let place = Upload::PlaceEntries { jobs, count: groups as u32 };
        let place = self.plan.upload(place, size_of::<PlaceEntries>());

        self.push_captures(entries, None);
        self.push_barrier(Barrier::CountsToSums, Touched::Unknown);
        for number in 0..groups {
            let parameters =
                self.plan.upload(Upload::EntrySums { counts, number }, size_of::<EntrySums>());
            let blocks = self.plan.entry_groups[number].block_count();
            let workgroups = fold(blocks.into(), self.limits.workgroups_per_axis)?;
            let kernel = Kernel::EntrySums;
            self.part_by_descriptors(number, Barrier::CountsToSums);
            self.plan.steps.push(Step::Kernel { kernel, parameters, workgroups });
        }
        self.push_barrier(Barrier::SumsToPlace, Touched::Unknown);
        let (kernel, workgroups) = (Kernel::PlaceEntries, [1, 1]);
        self.plan.steps.push(Step::Kernel { kernel, parameters: place, workgroups });
        if self.collected.has_targets() && groups > 0 {
            self.push_barrier(Barrier::PlaceToCapture, Touched::Captured);
            self.push_captures(entries, Some(storing));
        }
        Ok(())
    }

    fn push_barrier(&mut self, which: Barrier, then: Touched) {
        self.plan.steps.push(Step::Barrier { which, when: When::Always, then });
    }

    /// Captures of all groups: those that count, or those that store with batches in a block.
    fn push_captures(&mut self, entries: BlockId, storing: Option<BlockId>) {
        for number in 0..self.plan.entry_groups.len() {
            let group = self.plan.entry_groups[number];
            let at = |block, size: usize| BatchId { block, number, size: size as u64 };
            let draws = Draws::Emitted {
                listed: group.listed,
                batch: storing.map_or(group.counting, |block| at(block, size_of::<Batch>())),
                entries: at(entries, size_of::<Entries>()),
                is_counting: storing.is_none(),
            };
            if storing.is_none() {
                self.part_by_descriptors(number, Barrier::BeforeCounting);
            }
            let EntryGroup { key, state, size, .. } = group;
            self.plan.steps.push(Step::Capture(CaptureStep { key, state, draws, size }));
        }
    }

    /// By descriptors, what writes scratch memory may write all of it: adds a barrier before step `number` of
    /// several that do.
    fn part_by_descriptors(&mut self, number: usize, barrier: Barrier) {
        if number > 0 && self.limits.by_descriptors {
            self.push_barrier(barrier, Touched::Unknown);
        }
    }

    /// Lists draws that the CPU knows, in groups with the same state and the same queries.
    ///
    /// # Errors
    /// [`RuntimeError::TooManyPrimitives`], [`RuntimeError::DispatchTooLarge`].
    fn list_entries(&mut self) -> Result<(), RuntimeError> {
        let small = self.limits.shared_workgroups;
        let (mut draws, mut primitives) = (Vec::new(), 0);
        for draw in &self.collected.draws {
            let placed = assembled_draw(draw)?;
            let count = u64::from(placed.item_count) * u64::from(placed.instance_count);
            // A list has no draws without workgroups.
            if count > 0 {
                primitives += count;
                self.plan.placed.push(placed);
                draws.push(draw);
            }
        }
        let length = primitives.div_ceil(self.limits.entries.max(1)).max(1);
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let (mut first, mut listed) = (0, Vec::new());
        while let Some(head) = draws.get(first).copied() {
            // A list has no elements that are far apart.
            let joins = |draw: &&&CollectedDraw| {
                is_of_group(head, draw) && !head.reaches_far() && !draw.reaches_far()
            };
            let others = draws[first + 1..].iter().take(MAX_LISTED_DRAWS - 1).take_while(joins);
            let range = first..first + 1 + others.count();
            first = range.end;
            let traits = self.collected.traits_of(head);
            let source = if range.len() > 1 { Source::Listed } else { Source::Placed };
            let size = traits.workgroup_size(&Key::of(source));
            let mut workgroups = 0;
            for draw in &mut self.plan.placed[range.clone()] {
                draw.output_count = length;
                draw.invocations = (draw.item_count * draw.instance_count).div_ceil(length);
                draw.first_workgroup = workgroups;
                workgroups += draw.invocations.div_ceil(size);
            }
            let topologies = draws[range.clone()].iter().map(|draw| draw.topology);
            let topology = topologies.fold(Some(head.topology.xfb_topology()), joined_topology);
            let topology = shared_topology(topology, workgroups.into(), small);
            listed.push((range, Key { topology, ..Key::of(source) }, size, workgroups));
        }
        let block = BlockId(self.plan.blocks.len());
        let per_axis = self.limits.workgroups_per_axis;
        for (range, _, _, workgroups) in &listed {
            let workgroups = listed_workgroups(range.len(), *workgroups, per_axis)?;
            let size = range.len() * size_of::<DrawSysvals>() + workgroups * LISTED_BYTES as usize;
            self.plan.upload(Upload::Listed { draws: range.clone(), workgroups }, size);
        }
        let count = listed.len();
        let size = count * size_of::<Batch>();
        let batches = self.plan.upload(Upload::Batches { first: block, count }, size);
        for (number, (range, key, size, workgroups)) in listed.into_iter().enumerate() {
            let counting = BatchId { block: batches, number, size: size_of::<Batch>() as u64 };
            let listed = Some((BlockId(block.0 + number), range.len()));
            let [columns, rows] = fold(workgroups.into(), per_axis)?;
            let entries = u64::from(columns) * u64::from(rows) * u64::from(size);
            let size = Size::Direct(workgroups.into());
            let head = draws[range.start];
            self.add_group(head, key, listed, counting, size, entries as u32, entries);
        }
        self.push_barrier(Barrier::BeforeCounting, Touched::Unknown);
        Ok(())
    }

    /// Plans a setup kernel that finds out what is drawn.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::TooManyDraws`].
    fn assemble_entries(&mut self) -> Result<(), RuntimeError> {
        let draws = &self.collected.draws;
        let all = draws.iter().map(CollectedDraw::count).fold(0, u64::saturating_add);
        if all > MAX_DRAWS {
            return Err(RuntimeError::TooManyDraws { draws: all, max: MAX_DRAWS });
        }
        let entries = (self.limits.entries / all.max(1)).max(1);
        let batches = self.plan_assembly(entries as u32)?;
        let (per_axis, mut first) = (u64::from(self.limits.workgroups_per_axis), 0);
        for number in 0..self.plan.groups.len() {
            let group = self.plan.groups[number];
            let range = first..first + group.draws;
            first = range.end;
            let of_group = self.collected.draws[range.clone()].iter().map(CollectedDraw::count);
            let size = u64::from(group.workgroup_size);
            let most = of_group.sum::<u64>() * entries.div_ceil(size);
            let counting = BatchId { block: batches, number, size: BATCH_SIZE };
            // Folded over two axes there is at most one workgroup a row more than needed.
            let room = (most + most.div_ceil(per_axis)) * size;
            let (size, count) = match self.limits.indirect_dispatch {
                true => (Size::Indirect(counting), group.workgroup_size),
                false => {
                    let [columns, rows] = fold(most, self.limits.workgroups_per_axis)?;
                    (Size::DirectUpTo(most), columns * rows * group.workgroup_size)
                }
            };
            let key = group.key(false, self.limits.shared_workgroups);
            let head = &self.collected.draws[range.start];
            self.add_group(head, key, None, counting, size, count, room);
        }
        self.push_barrier(Barrier::SetupToCapture, Touched::Unknown);
        Ok(())
    }

    /// Adds a group with the memory for its entries.
    #[allow(clippy::too_many_arguments, reason = "of a private function with two callers")]
    fn add_group(
        &mut self,
        draw: &CollectedDraw,
        key: Key,
        listed: Option<(BlockId, usize)>,
        counting: BatchId,
        size: Size,
        count: u32,
        room: u64,
    ) {
        let Some(geometry) = self.geometry_of(draw) else { return };
        let room = room.next_multiple_of(ENTRIES_PER_BLOCK.into());
        let blocks = room / u64::from(ENTRIES_PER_BLOCK);
        let group = EntryGroup {
            state: draw.state,
            key,
            queries: Queries::of(&draw.input),
            vertices: geometry.output_vertices,
            listed,
            counting,
            size,
            count,
            room: room as u32,
            counts: self.plan.entry_memory,
            sums: self.plan.entry_memory + 8 * room,
            blocks: self.plan.entry_memory + 8 * room + 8 * blocks,
        };
        self.plan.entry_memory = aligned(group.blocks + 4 * blocks);
        self.plan.entry_groups.push(group);
    }
}

/// Whether draws of geometry shaders can share a dispatch.
pub(super) fn is_of_group(first: &CollectedDraw, draw: &CollectedDraw) -> bool {
    first.state == draw.state && Queries::of(&first.input) == Queries::of(&draw.input)
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
