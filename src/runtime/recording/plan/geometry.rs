//! Plans captures of geometry shaders, and of tessellation shaders, whose input primitives are patches. How many
//! primitives these shaders emit is known only after they have run, so every pipeline is dispatched twice: the *count
//! pass* counts the primitives, the *emit pass* stores their records. (Shaders that always emit the same number of
//! primitives need no count pass; see place.rs.)
//!
//! ```text
//! barrier; restarts, scan, setup, as in setup.rs             (unless the CPU knows all draws)
//! barrier; count pass
//! barrier; sums of each block of entries, one dispatch
//! barrier; place, one workgroup, which writes counters and queries
//! barrier; emit pass
//! ```
//!
//! An entry is a run of consecutive primitives of a draw, which one invocation processes. All draws share
//! [`MAX_ENTRIES`] entries. In addition, the entries of each draw are rounded up to whole workgroups, and the memory for
//! those of each dispatch to whole blocks of [`ENTRIES_PER_BLOCK`] entries. So the memory of a plan does not depend on how
//! much is emitted: it is 4 bytes per input primitive, up to 16 MiB, and a little for each draw. A
//! [part](crate::runtime::recording::collect::Collected::parts) has a limited number of draws.

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::fold;
use crate::runtime::device::context::MAX_ENTRIES;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::{DrawSource, Key};
use crate::runtime::recording::collect::{CollectedDraw, Position};
use crate::runtime::recording::plan::place::{
    MAX_LISTED_DRAWS, Placed, joined_topology, listed_workgroups, shared_topology, unclamped_draw,
};
use crate::runtime::recording::plan::turns::Turns;
use crate::runtime::recording::plan::{
    BatchId, BlockId, CaptureStep, Draws, EntrySetup, Planner, Queries, Scratch, Size, Step,
    Touched, Upload, When,
};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::entries::{
    ENTRIES_PER_BLOCK, ENTRY_BLOCK_SIZE, ENTRY_SIZE, Entries, EntryJob, EntrySums, EntryTables,
    PlaceEntries,
};
use vkxfb_rewriter::sysval::setup::{BATCH_SIZE, kind};
use vkxfb_rewriter::sysval::{Batch, DrawSysvals, flags, reciprocal};

/// Like [`MAX_ENTRIES`], if only the GPU knows the number of primitives. In that case, memory is taken for all these
/// entries.
const MAX_UNKNOWN_ENTRIES: u64 = 1 << 18;

/// The largest number of entries of draws that have `primitives` primitives. `u64::MAX` stands for a number that only
/// the GPU knows.
pub(crate) const fn most_entries(primitives: u64) -> u64 {
    match primitives {
        u64::MAX => MAX_UNKNOWN_ENTRIES,
        ..=MAX_ENTRIES => primitives,
        _ => MAX_ENTRIES,
    }
}

/// The largest number of workgroups that add up the counts of entries: enough for a large GPU.
const MAX_SUM_WORKGROUPS: u32 = 4096;

/// Like [`MAX_SUM_WORKGROUPS`], if only the GPU knows the number of blocks of entries. A workgroup without a block
/// costs 20 microseconds on a CPU.
const MAX_UNKNOWN_SUM_WORKGROUPS: u32 = 128;

/// Consecutive draws of geometry or tessellation shaders that share a dispatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::runtime::recording) struct EntryGroup {
    state: usize,
    key: Key,
    pub(in crate::runtime::recording) queries: Queries,
    /// The number of vertices of an output primitive.
    pub(in crate::runtime::recording) vertices: u32,
    /// The block in which the CPU listed the draws, and the number of draws. `None` if the setup kernel divides the
    /// draws into entries.
    listed: Option<(BlockId, usize)>,
    /// The draw, if the group has a single one whose parameters are passed as push constants.
    pushed: Option<DrawSysvals>,
    /// The batch that the count pass reads.
    pub(in crate::runtime::recording) count_batch: BatchId,
    size: Size,
    /// The index of the group's first block of entries, and the number of its entries. `None` if only the GPU knows them.
    pub(in crate::runtime::recording) entries: Option<[u32; 2]>,
}

impl Planner<'_> {
    /// Whether the shaders of all draws always emit the same number of primitives per input primitive, so that no
    /// count pass is needed.
    pub(super) fn emits_always(&self) -> bool {
        let mut draws = self.collected.draws.iter();
        draws.all(|draw| self.collected.properties_of(draw).emission().is_some())
    }

    /// Plans the count pass, the kernels that compute where each entry's records are written, and the emit pass.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`].
    pub(super) fn plan_geometry(&mut self) -> Result<(), RuntimeError> {
        // Under the descriptor plan, kernels disturb the application's descriptor sets.
        self.check_sets()?;
        let [counts, entries] = if self.collected.draws.iter().all(CollectedDraw::is_known) {
            self.list_entries()?
        } else {
            self.set_up_entries()?
        };
        self.positions();
        let groups = self.plan.entry_groups.len();
        let sized = |size: usize| groups * size;
        let steps = groups as u64 + u64::from(self.plan.entry_blocks);
        let turns = Turns::of_entries(self.limits, steps);
        let emit_batches = self.plan.scratch(Scratch::Batches, sized(size_of::<Batch>()) as u64);
        let jobs = Upload::EntryJobs { entries, emit_batches };
        let jobs = self.plan.upload(jobs, sized(size_of::<EntryJob>()));
        let place = Upload::PlaceEntries { jobs, count: groups as u32, turn_steps: turns.steps };
        let place = self.plan.upload(place, size_of::<PlaceEntries>());

        self.push_captures(entries, None);
        self.push_barrier(Barrier::CountsToSums, Touched::Unknown);
        let kernel =
            |kernel, parameters, workgroups| Step::Kernel { kernel, parameters, workgroups };
        if let Some(last) = self.plan.entry_groups.last() {
            let workgroups = match last.entries {
                Some([first, count]) => (first + blocks_of(count)).min(MAX_SUM_WORKGROUPS),
                None => self.plan.entry_blocks.min(MAX_UNKNOWN_SUM_WORKGROUPS),
            };
            let size = size_of::<Entries>() as u64;
            let last = BatchId { block: entries, number: groups - 1, size };
            let sums = Upload::EntrySums { counts, last };
            let sums = self.plan.upload(sums, size_of::<EntrySums>());
            self.plan.steps.push(kernel(Kernel::EntrySums, sums, [workgroups, 1]));
        }
        self.push_barrier(Barrier::SumsToPlace, Touched::Unknown);
        let is_serial = self.limits.serial_kernels;
        self.plan.push_turns(Kernel::PlaceEntries { is_serial }, place, turns);
        if self.collected.has_targets() && groups > 0 {
            self.push_barrier(Barrier::PlaceToCapture, Touched::Captured);
            self.push_captures(entries, Some(emit_batches));
        }
        Ok(())
    }

    /// Adds a block of memory for the counts of all entries. Its size is rounded up, so that recordings into one
    /// command buffer can share the memory even if they need different amounts.
    fn entry_counts(&mut self) -> BlockId {
        self.plan.entry_blocks = self.plan.entry_blocks.next_power_of_two();
        let blocks = u64::from(self.plan.entry_blocks);
        let block = u64::from(ENTRIES_PER_BLOCK) * ENTRY_SIZE + ENTRY_BLOCK_SIZE;
        self.plan.scratch(Scratch::EntryCounts, blocks * block)
    }

    fn push_barrier(&mut self, which: Barrier, then: Touched) {
        self.plan.steps.push(Step::Barrier { which, when: When::Always, then });
    }

    /// Adds the dispatches of all groups for one pass. For the emit pass, `emit_batches` is the block of its batches;
    /// for the count pass it is `None`.
    fn push_captures(&mut self, entries: BlockId, emit_batches: Option<BlockId>) {
        for number in 0..self.plan.entry_groups.len() {
            let group = self.plan.entry_groups[number];
            let at = |block, size: usize| BatchId { block, number, size: size as u64 };
            let draws = Draws::Emitted {
                pushed: group.pushed,
                listed: group.listed,
                batch: emit_batches
                    .map_or(group.count_batch, |block| at(block, size_of::<Batch>())),
                entries: at(entries, size_of::<Entries>()),
                is_count_pass: emit_batches.is_none(),
            };
            // Under the descriptor plan, the count pass may write any scratch memory, so a barrier orders its
            // dispatches.
            if emit_batches.is_none() && number > 0 && self.limits.by_descriptors {
                self.push_barrier(Barrier::BeforeCountPass, Touched::Unknown);
            }
            let EntryGroup { key, state, size, .. } = group;
            self.plan.steps.push(Step::Capture(CaptureStep { key, state, draws, size }));
        }
    }

    /// Divides draws into entries on the CPU, which knows their input primitives, and lists them in groups with the
    /// same pipeline, descriptor sets and queries. Returns the memory block of the entries' counts, and the block with
    /// the addresses of the entries of each group.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    fn list_entries(&mut self) -> Result<[BlockId; 2], RuntimeError> {
        let small = self.limits.shared_workgroups;
        let (mut draws, mut primitives) = (Vec::new(), 0);
        for draw in &self.collected.draws {
            let placed = draw_of_items(draw);
            let count = u64::from(placed.item_count) * u64::from(placed.instance_count);
            // Draws without input primitives are not listed.
            if count > 0 {
                primitives += count;
                self.plan.placed.push(Placed { draw: placed, state: draw.state });
                draws.push(draw);
            }
        }
        let length = primitives.div_ceil(self.limits.entries.max(1)).max(1);
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let (mut first, mut listed) = (0, Vec::new());
        while let Some(head) = draws.get(first).copied() {
            // A draw has a dispatch of its own if an element of one of its attributes may begin 4 GiB or more after the
            // attribute's first element (`reaches_far`).
            let joins = |draw: &&&CollectedDraw| {
                self.collected.share_dispatch(head.state, draw.state)
                    && Queries::of(&head.command) == Queries::of(&draw.command)
                    && !head.reaches_far()
                    && !draw.reaches_far()
            };
            let others = draws[first + 1..].iter().take(MAX_LISTED_DRAWS - 1).take_while(joins);
            let range = first..first + 1 + others.count();
            first = range.end;
            let properties = self.collected.properties_of(head);
            let source = if range.len() > 1 { DrawSource::Listed } else { DrawSource::General };
            let size = properties.workgroup_size(&Key::of(source));
            let mut workgroups = 0;
            for Placed { draw, .. } in &mut self.plan.placed[range.clone()] {
                draw.output_count = length;
                draw.invocations = (draw.item_count * draw.instance_count).div_ceil(length);
                draw.first_workgroup = workgroups;
                workgroups += draw.invocations.div_ceil(size);
            }
            // In the last dispatch, the sums kernel counts what is left of the last block as 0.
            let mut entries = workgroups * size;
            if first < draws.len() {
                entries = blocks_of(entries) * ENTRIES_PER_BLOCK;
                workgroups = entries.div_ceil(size);
            }
            let topologies = draws[range.clone()].iter().map(|draw| draw.topology);
            let topology = topologies.fold(Some(head.topology.xfb_topology()), joined_topology);
            let topology = shared_topology(topology, workgroups.into(), small);
            let partial_indices =
                draws[range.clone()].iter().any(|draw| draw.has_partial_indices());
            let mut key = Key { topology, partial_indices, ..Key::of(source) };
            // Counters may have the capture begin at any multiple of 4 bytes, where a Vulkan pipeline for a single draw
            // needs to test the alignment.
            let is_known = matches!(self.collected.position, Position::Known(_));
            // For a small draw, a Vulkan pipeline of its own would cost more time to compile than it saves.
            if workgroups > small
                && (is_known || self.limits.tests_alignment)
                && let (1, Some(state)) = (range.len(), self.collected.states.get(head.state))
            {
                let own = self.key_of(head, state, entries, None);
                // An unchecked capture has exactly one entry for each invocation, and one item for each entry.
                let is_whole = entries == workgroups * size && length == 1;
                if own.source == DrawSource::Pushed {
                    key = Key { checked: own.checked || !is_known || !is_whole, ..own };
                }
            }
            listed.push((range, key, entries, workgroups));
        }
        let block = BlockId(self.plan.blocks.len());
        let per_axis = self.limits.workgroups_per_axis;
        for (range, _, _, workgroups) in &listed {
            let workgroups = listed_workgroups(range.len(), *workgroups, per_axis)?;
            self.plan.upload_list(range.clone(), workgroups);
        }
        let count = listed.len();
        let size = count * size_of::<Batch>();
        let batches = self.plan.upload(Upload::Batches { first: block, count }, size);
        for (number, (range, key, entries, workgroups)) in listed.into_iter().enumerate() {
            let count_batch = BatchId { block: batches, number, size: size_of::<Batch>() as u64 };
            let listed = Some((BlockId(block.0 + number), range.len()));
            let first = self.plan.entry_blocks;
            self.plan.entry_blocks += blocks_of(entries);
            let size = Size::Direct(fold(workgroups.into(), per_axis)?);
            let entries = Some([first, entries]);
            self.add_group(draws[range.start], key, listed, count_batch, size, entries);
            if let Some(group) = self.plan.entry_groups.last_mut()
                && key.source == DrawSource::Pushed
            {
                group.pushed = self.plan.placed.get(range.start).map(|placed| placed.draw);
            }
        }
        self.push_barrier(Barrier::BeforeCountPass, Touched::Unknown);
        let counts = self.entry_counts();
        let size = self.plan.entry_groups.len() * size_of::<Entries>();
        Ok([counts, self.plan.upload(Upload::Entries { counts }, size)])
    }

    /// Plans a setup kernel that counts the input primitives of the draws and divides them into entries. Returns the
    /// same two blocks as [`list_entries`](Self::list_entries).
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    fn set_up_entries(&mut self) -> Result<[BlockId; 2], RuntimeError> {
        let draws = &self.collected.draws;
        let all = draws.iter().map(CollectedDraw::count).fold(0, u64::saturating_add);
        let items_of =
            |draws: &[CollectedDraw]| draws.iter().map(most_items).fold(0, u64::saturating_add);
        let entries = self.limits.entries.min(most_entries(items_of(draws)));
        let entry_bits = entries.max(1).next_power_of_two().ilog2();
        let most_of = |draws: &[CollectedDraw]| items_of(draws).min(1 << entry_bits);
        self.make_groups();
        let groups = self.plan.groups.len();
        let largest = self.plan.groups.iter().map(|group| group.workgroup_size).max();
        let largest = u64::from(largest.unwrap_or(1));
        // In addition to the entries that all draws share, each draw may have one more. The entries of each draw are
        // rounded up to a whole workgroup, and the entries of each group to a whole block of entries.
        let blocks =
            (most_of(draws) + all * largest) / u64::from(ENTRIES_PER_BLOCK) + groups as u64;
        self.plan.entry_blocks = blocks as u32;
        let counts = self.entry_counts();
        let entries = (groups * size_of::<Entries>()) as u64;
        let entries = self.plan.scratch(Scratch::Entries, entries);
        let tables = Upload::EntryTables { counts, entries };
        let tables = self.plan.upload(tables, size_of::<EntryTables>());
        let batches = self.plan_entry_setup(EntrySetup { entry_bits, tables })?;
        let mut first = 0;
        for number in 0..groups {
            let group = self.plan.groups[number];
            let draws = &self.collected.draws[first..first + group.draws];
            first += group.draws;
            let count_batch = BatchId { block: batches, number, size: BATCH_SIZE };
            let size = u64::from(group.workgroup_size);
            let count: u64 = draws.iter().map(CollectedDraw::count).sum();
            let entries = most_of(draws) + count * size;
            let most = entries.next_multiple_of(ENTRIES_PER_BLOCK.into());
            let size = if self.limits.indirect_dispatch {
                Size::Indirect(count_batch)
            } else {
                Size::DirectUpTo(fold(most.div_ceil(size), self.limits.workgroups_per_axis)?)
            };
            let key = group.key(false, self.limits.shared_workgroups);
            self.add_group(&draws[0], key, None, count_batch, size, None);
        }
        self.push_barrier(Barrier::SetupToCapture, Touched::Unknown);
        Ok([counts, entries])
    }

    /// Adds a group whose first draw is `draw`.
    fn add_group(
        &mut self,
        draw: &CollectedDraw,
        key: Key,
        listed: Option<(BlockId, usize)>,
        count_batch: BatchId,
        size: Size,
        entries: Option<[u32; 2]>,
    ) {
        let Some(geometry) = self.collected.properties_of(draw).geometry else { return };
        self.plan.entry_groups.push(EntryGroup {
            state: draw.state,
            key,
            queries: Queries::of(&draw.command),
            vertices: geometry.output_vertices,
            listed,
            pushed: None,
            count_batch,
            size,
            entries,
        });
    }
}

const fn blocks_of(entries: u32) -> u32 {
    entries.div_ceil(ENTRIES_PER_BLOCK)
}

/// The largest number of items (input primitives or slices) of a draw, in all its instances. `u64::MAX` if only the GPU
/// knows it.
fn most_items(draw: &CollectedDraw) -> u64 {
    let command = &draw.command;
    let items = match (command.kind, draw.is_restarted()) {
        (kind::DIRECT, false) => draw.primitives(),
        (kind::DIRECT, true) => u64::from(command.count) << flags::slice_bits(command.flags),
        _ => return u64::MAX,
    };
    items.saturating_mul(command.instance_count.into())
}

/// Makes the sysvals of a draw with geometry or tessellation shaders. Its items are input primitives, or slices of
/// patches.
fn draw_of_items(draw: &CollectedDraw) -> DrawSysvals {
    // A draw with more items has no instances: `CollectedDraw::check_geometry` refuses others.
    let item_count = u32::try_from(draw.primitives()).unwrap_or(u32::MAX);
    DrawSysvals {
        item_count,
        output_end: u32::MAX,
        reciprocal: reciprocal(item_count.max(1)),
        ..unclamped_draw(&draw.command)
    }
}
