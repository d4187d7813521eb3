//! Takes the memory of a plan, and writes the parts of it that the CPU writes: the upload blocks of the plan, and the
//! tables of its states. A table has the data for which the sysvals have no room: push constants of the application,
//! and attribute descriptors beyond the inline ones. Also assigns descriptors to buffers.

use std::ops::Range;

use crate::runtime::device::descriptor_heaps::HeapInterface;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::arena::{ArenaPart, Suballocation, aligned};
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::recording::collect::{
    Attributes, BoundCaptureBuffer, Collected, Position, State,
};
use crate::runtime::recording::plan::{
    BatchId, BlockId, Contents, ListedNumber, MemoryBlock, Placed, Plan, Scratch, Step, Upload,
};
use crate::runtime::recording::play::{PlacedState, Playback, Player};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;
use vkxfb_rewriter::sysval::entries::{
    ENTRIES_PER_BLOCK, ENTRY_BLOCK_SIZE, ENTRY_SIZE, Entries, EntryJob, EntrySums, EntryTables,
    PlaceEntries,
};
use vkxfb_rewriter::sysval::setup::{
    DrawCommand, Finish, Fused, Operation, Progress, Reduction, RestartRange, Resume, Setup,
    operation,
};
use vkxfb_rewriter::sysval::{Address, AttributeDescriptor, Batch, Sysvals, join, split};

impl Player<'_> {
    /// Reserves the memory of the plan and of its tables, and assigns descriptors to all buffers that the plan
    /// accesses.
    ///
    /// # Errors
    /// The errors of [`ArenaAccess::reserve`](crate::runtime::ArenaAccess).
    ///
    /// # Safety
    /// The requirements of [`record`](Self::record) apply.
    pub(super) unsafe fn reserve(
        &mut self,
        playback: &mut Playback<'_>,
    ) -> Result<(), RuntimeError> {
        let states = self.collected.used_states();
        let placed = |state| PlacedState { state, ..PlacedState::default() };
        self.places.states.extend(states.map(placed));
        let (mut upload, mut scratch, mut reused) = (0, 0, 0);
        for MemoryBlock { contents, size } in &self.plan.blocks {
            match contents {
                Contents::Upload(_) => upload += aligned(*size),
                Contents::Scratch(contents) => {
                    scratch += aligned(*size);
                    if *contents == Scratch::EntryCounts {
                        reused = *size;
                    }
                }
            }
        }
        let scratch = playback.arena.without_reused(playback.cmd, scratch, reused);
        let mut last = None;
        let mut tables = 0;
        for PlacedState { state: number, .. } in &self.places.states {
            let key = self.table_key(*number);
            if last != Some(key) {
                tables += self.table_size(*number)
                    + self
                        .copied(*number)
                        .map_or(0, |(interface, _)| aligned(interface.copies_size()));
                last = Some(key);
            }
        }
        let reserved = unsafe { playback.arena.reserve(self.ctx, upload + tables, scratch) };
        reserved.map_err(|error| self.with_restarts(error))?;
        self.places.readable = split(playback.arena.upload_address());
        if self.ctx.table().is_some() {
            let [upload, scratch] = playback.arena.windows();
            self.table.set_arena(upload, scratch);
            self.assign();
        }
        Ok(())
    }

    /// Adds to an error about scratch memory how much of it is for primitive restart.
    fn with_restarts(&self, mut error: RuntimeError) -> RuntimeError {
        if let RuntimeError::ArenaFull { part, restarts, .. } = &mut error
            && *part == ArenaPart::SCRATCH
        {
            let is_table =
                |block: &&MemoryBlock| block.contents == Contents::Scratch(Scratch::RestartTable);
            *restarts = self.plan.blocks.iter().filter(is_table).map(|b| aligned(b.size)).sum();
        }
        error
    }

    /// Writes the tables of all states that captures use.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`], but not if the memory was reserved.
    pub(super) fn write_tables(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        let (mut last, mut placed) = (None, PlacedState::default());
        for used in 0..self.places.states.len() {
            let state = self.places.states[used].state;
            let key = self.table_key(state);
            if last != Some(key) {
                let table = self.place_table(playback, state)?;
                let first_copy = match self.copied(state) {
                    None => 0,
                    Some((interface, data)) => {
                        let taken = playback.arena.upload().taken();
                        let address = playback.arena.upload_address() + taken;
                        let write = |target: &mut [u8]| {
                            interface.write_copies(data, address, target);
                        };
                        let size = interface.copies_size() as usize;
                        playback.arena.upload().push_with(size, write)?;
                        HeapInterface::first_copy(address)
                    }
                };
                (last, placed) = (Some(key), PlacedState { state, table, first_copy });
            }
            self.places.states[used] = PlacedState { state, ..placed };
        }
        Ok(())
    }

    /// The push data of which the descriptors of a state need copies in memory. `None` if they need none.
    fn copied(&self, state: usize) -> Option<(&HeapInterface, &[u8])> {
        let interface = self.pipeline_of(state)?.heaps()?;
        let data = || self.pushed_bytes(state, &(0..interface.copied));
        (interface.copied > 0).then(|| (&**interface, data()))
    }

    /// The bytes of the application's push constants, or push data, in a range of those that a state
    /// [depends on](crate::runtime::Pipeline::pushed).
    pub(super) fn pushed_bytes(&self, state: usize, range: &Range<u32>) -> &[u8] {
        let Some(pipeline) = self.pipeline_of(state) else { return &[] };
        let pushed = pipeline.pushed();
        let bytes =
            self.bindings.constants.bytes(self.collected.states[state].constants, pushed.len());
        let first = range.start.saturating_sub(pushed.start) as usize;
        bytes.get(first..first + range.len()).unwrap_or_default()
    }

    /// Returns the indices of a state's pipeline, attributes and push constants, on which its table depends. States
    /// with the same indices share a table.
    fn table_key(&self, state: usize) -> Option<(usize, usize, usize)> {
        let State { pipeline, attributes, constants, .. } = *self.collected.states.get(state)?;
        Some((pipeline, attributes, constants))
    }

    /// The size in bytes of the table of a state.
    fn table_size(&self, number: usize) -> u64 {
        let Some(state) = self.collected.states.get(number) else { return 0 };
        let constants = self.pipeline_of(number).map_or(0, |p| p.push_constants().len());
        let (_, others) = self.bindings.attributes[state.attributes].others;
        aligned((constants + others * size_of::<AttributeDescriptor>()) as u64)
    }

    fn place_table(
        &mut self,
        playback: &mut Playback<'_>,
        number: usize,
    ) -> Result<Address, RuntimeError> {
        if self.table_size(number) == 0 {
            return Ok([0; 2]);
        }
        let state = self.collected.states[number];
        let (first, count) = self.bindings.attributes[state.attributes].others;
        let mut others = std::mem::take(&mut self.places.descriptors);
        others.clear();
        let table = &self.bindings.attribute_table[first..first + count];
        others.extend(table.iter().map(|attribute| self.readable_attribute(*attribute)));
        let read = self.pipeline_of(number).map_or(&(0..0), Pipeline::push_constants);
        let constants = self.pushed_bytes(number, read);
        let place = playback.arena.upload().push_both(constants, bytemuck::cast_slice(&others));
        self.places.descriptors = others;
        Ok(split(place?.address))
    }

    /// Assigns descriptors to all buffers that the draws access, and to counters and queries.
    fn assign(&mut self) {
        let Some(limits) = self.ctx.table() else { return };
        let collected = self.collected;
        let addresses = &mut self.places.addresses;
        addresses.clear();
        addresses.extend(self.counters);
        if collected.position == Position::Counters {
            addresses.extend(&collected.counters);
        }
        addresses.extend(collected.bound_targets().map(|target| target.address));
        for draw in &collected.draws {
            let mut command = draw.command;
            addresses.extend(command.buffers_mut().map(|address| *address));
        }
        // The operation that ends a query has two addresses: `address`, and another one in `values`. Both are in the
        // buffer of the query's pool. One descriptor covers this whole buffer, so it is enough to add `address` here.
        addresses.extend(collected.ends.iter().map(|end| end.address));
        let mut last = None;
        for PlacedState { state, .. } in &self.places.states {
            let number = collected.states[*state].attributes;
            if last.replace(number) == Some(number) {
                continue;
            }
            let Attributes { inline, others: (first, count), .. } =
                self.bindings.attributes[number];
            let others = &self.bindings.attribute_table[first..first + count];
            addresses.extend(inline.iter().chain(others).map(|attribute| attribute.address));
        }
        self.table.assign(limits, addresses.iter().copied().map(join));
    }

    /// Takes the memory of all blocks, and writes the blocks in upload memory.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`], but not if the memory was reserved in the arena.
    pub(super) fn write_blocks(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        for number in 0..self.plan.blocks.len() {
            let MemoryBlock { contents, size } = &self.plan.blocks[number];
            let place = match contents {
                Contents::Scratch(Scratch::EntryCounts) => {
                    playback.arena.take_reused(playback.cmd, *size)?
                }
                Contents::Scratch(_) => playback.arena.scratch().take(*size)?,
                Contents::Upload(upload) => {
                    let part = playback.arena.upload();
                    let before = part.taken();
                    let place = self.write(part, upload)?;
                    debug_assert_eq!(part.taken() - before, aligned(*size), "{upload:?}");
                    place
                }
            };
            if *contents == Contents::Scratch(Scratch::Positions) {
                self.places.positions = Some(place);
            }
            self.places.blocks.push(place);
        }
        Ok(())
    }

    fn write(&self, part: &mut ArenaPart, upload: &Upload) -> Result<Suballocation, RuntimeError> {
        let Plan { placed, operations, groups, entry_groups, restarts, .. } = &*self.plan;
        let at = |block: BlockId| split(self.places.address_of(block));
        match *upload {
            Upload::Listed { ref draws, workgroups } => {
                let draws = placed.get(draws.clone()).unwrap_or_default();
                self.write_list(part, draws, workgroups)
            }
            Upload::Batches { first, count } => {
                let blocks = first.0..first.0 + count;
                part.push(blocks.map(|number| Batch {
                    draws: at(BlockId(number)),
                    draw_count: self.listed_in(number) as u32,
                    ..Default::default()
                }))
            }
            Upload::Operations(ref numbers) => {
                let operations = operations.get(numbers.clone()).unwrap_or_default();
                part.push(operations.iter().map(|operation| self.resolved_operation(*operation)))
            }
            Upload::Finish { operations, count } => {
                part.push_one(Finish { operations: at(operations), count, reserved: 0 })
            }
            Upload::Fused { queries, expected } => part.push_one(Fused {
                progress: self.progress(),
                stream_query: self.resolve(queries.stream),
                generated_query: self.resolve(queries.generated),
                expected,
                ..Default::default()
            }),
            Upload::Resume { known, batches, count, vertices, needed, queries } => {
                part.push_one(Resume {
                    known: at(known),
                    batches: at(batches),
                    count,
                    vertices,
                    needed: split(needed),
                    stream_query: self.resolve(queries.stream),
                    generated_query: self.resolve(queries.generated),
                    progress: self.progress(),
                })
            }
            Upload::DrawCommands => self.write_commands(part),
            Upload::WorkgroupSizes if groups.is_empty() => part.push_one(0_u32),
            Upload::WorkgroupSizes => part.push(groups.iter().map(|group| group.workgroup_size)),
            Upload::Setup {
                commands,
                draws,
                groups,
                batches,
                draw_stride,
                turn_draws,
                has_queries,
                entry_setup,
            } => part.push_one(Setup {
                commands: at(commands),
                draws: at(draws),
                groups: at(groups),
                batches: at(batches),
                draw_stride,
                command_count: self.collected.draws.len() as u32,
                turn_draws,
                workgroups_per_axis: self.ctx.settings().max_workgroups_per_axis,
                has_queries: has_queries.into(),
                entry_bits: entry_setup.map_or(0, |entry_setup| entry_setup.entry_bits),
                entry_tables: entry_setup.map_or([0; 2], |entry_setup| at(entry_setup.tables)),
                // Draws of geometry shaders are not placed by the setup kernel, so it needs no position.
                progress: entry_setup.map_or_else(|| self.progress(), |_| Progress::default()),
            }),
            Upload::EntryTables { counts, entries } => {
                let Entries { counts, blocks, .. } = self.entries(counts, [0; 2]);
                part.push_one(EntryTables {
                    counts,
                    blocks,
                    entries: at(entries),
                    reserved: [0; 2],
                })
            }
            Upload::Entries { counts } => part.push(
                entry_groups
                    .iter()
                    .map(|group| self.entries(counts, group.entries.unwrap_or_default())),
            ),
            Upload::EntrySums { counts, last } => {
                let Entries { counts, blocks, .. } = self.entries(counts, [0; 2]);
                let last = split(self.places.address_in(last));
                part.push_one(EntrySums { counts, blocks, last, reserved: [0; 2] })
            }
            Upload::EntryJobs { entries, emit_batches } => {
                let of = |block, number, size: usize| {
                    split(self.places.address_in(BatchId { block, number, size: size as u64 }))
                };
                part.push(entry_groups.iter().enumerate().map(|(number, group)| EntryJob {
                    count_batch: split(self.places.address_in(group.count_batch)),
                    emit_batch: of(emit_batches, number, size_of::<Batch>()),
                    entries: of(entries, number, size_of::<Entries>()),
                    vertices: group.vertices,
                    reserved: 0,
                    stream_query: self.resolve(group.queries.stream),
                    generated_query: self.resolve(group.queries.generated),
                }))
            }
            Upload::PlaceEntries { jobs, count, turn_steps } => part.push_one(PlaceEntries {
                jobs: at(jobs),
                job_count: count,
                turn_steps,
                progress: self.progress(),
            }),
            Upload::RestartRanges => {
                let size = restarts.range_count() * size_of::<RestartRange>();
                part.push_with(size, |target| {
                    let targets = target.chunks_exact_mut(size_of::<RestartRange>());
                    for (target, (range, table)) in targets.zip(restarts.ranges()) {
                        let range = RestartRange {
                            index_address: self.readable(range.index_address, range.limit),
                            table: at(table),
                            ..range
                        };
                        target.copy_from_slice(bytemuck::bytes_of(&range));
                    }
                })
            }
            Upload::Reduction { ranges, count, scan_count } => {
                part.push_one(Reduction { ranges: at(ranges), count, scan_count })
            }
        }
    }

    /// Returns the [`Entries`] of a dispatch whose draws the CPU listed. `entries` is where the GPU reads them.
    pub(super) fn entries_of_group(&self, entries: BatchId) -> Option<Entries> {
        let block = self.plan.blocks.get(entries.block.0)?;
        let Contents::Upload(Upload::Entries { counts }) = block.contents else { return None };
        let group = self.plan.entry_groups.get(entries.number)?;
        Some(self.entries(counts, group.entries?))
    }

    /// Returns the addresses of `count` entries (runs of primitives) from block number `first` on. `counts` is the memory
    /// that all entries share.
    fn entries(&self, counts: BlockId, [first, count]: [u32; 2]) -> Entries {
        let start = self.places.address_of(counts);
        let entries = |blocks: u32| u64::from(blocks) * u64::from(ENTRIES_PER_BLOCK);
        let end = start + entries(self.plan.entry_blocks) * ENTRY_SIZE;
        Entries {
            counts: split(start + entries(first) * ENTRY_SIZE),
            blocks: split(end + u64::from(first) * ENTRY_BLOCK_SIZE),
            count,
            reserved: [0; 3],
        }
    }

    /// The number of draws that a block lists. `block` is its index.
    fn listed_in(&self, block: usize) -> usize {
        match self.plan.blocks.get(block).map(|block| &block.contents) {
            Some(Contents::Upload(Upload::Listed { draws, .. })) => draws.len(),
            _ => 0,
        }
    }

    /// Writes the sysvals of draws, and behind them a list of `workgroups` numbers: the number of the draw of each
    /// workgroup, so that no workgroup has to search for its draw.
    fn write_list(
        &self,
        part: &mut ArenaPart,
        placed: &[Placed],
        workgroups: usize,
    ) -> Result<Suballocation, RuntimeError> {
        let draws_size = size_of::<Sysvals>() * placed.len();
        part.push_with(draws_size + workgroups * size_of::<ListedNumber>(), |target| {
            let (draws, list) = target.split_at_mut(draws_size.min(target.len()));
            let targets = draws.chunks_exact_mut(size_of::<Sysvals>());
            let mut last = None;
            for (target, Placed { draw, state }) in targets.zip(placed) {
                let bound = match last {
                    Some((number, bound)) if number == *state => bound,
                    _ => self.sysvals_of_state(*state),
                };
                last = Some((*state, bound));
                let sysvals = Sysvals { draw: self.resolved_draw(*draw), ..bound };
                target.copy_from_slice(bytemuck::bytes_of(&sysvals));
            }
            let mut number = 0;
            let targets = list.chunks_exact_mut(size_of::<ListedNumber>());
            for (workgroup, target) in (0..).zip(targets) {
                let next = placed.get(number + 1);
                if next.is_some_and(|next| next.draw.first_workgroup == workgroup) {
                    number += 1;
                }
                // The number fits: a list has at most `MAX_LISTED_DRAWS` draws, the number of values of `ListedNumber`.
                target.copy_from_slice(&(number as ListedNumber).to_ne_bytes());
            }
        })
    }

    /// Writes the commands of the setup kernel, one for each collected draw.
    fn write_commands(&self, part: &mut ArenaPart) -> Result<Suballocation, RuntimeError> {
        let Plan { groups, entry_groups, restarts, .. } = &*self.plan;
        // The primitives that geometry shaders emit are counted later, by the place kernel.
        let is_counted = entry_groups.is_empty();
        let mut groups = (0..).zip(groups);
        let (mut group, mut left) = (0, 0);
        let mut restarted = 0;
        if self.collected.draws.is_empty() {
            return part.push_one(DrawCommand::default());
        }
        part.push(self.collected.draws.iter().map(|draw| {
            if left == 0
                && let Some((number, next)) = groups.next()
            {
                (group, left) = (number, next.draws);
            }
            left -= 1;
            let mut command = DrawCommand { group, ..draw.command };
            if !is_counted {
                (command.stream_query, command.generated_query) = Default::default();
            }
            for address in command.buffers_mut() {
                *address = self.resolve(*address);
            }
            // A draw without indices may share a Vulkan pipeline with indexed draws. That pipeline may load from the
            // index address of every draw, so this address must be readable.
            command.index_address = self.readable(draw.command.index_address, command.index_limit);
            if draw.is_restarted() {
                let table = restarts.table_of(restarted);
                command.restart_table = table.map_or([0; 2], |t| split(self.places.address_of(t)));
                restarted += 1;
            }
            command
        }))
    }

    fn resolved_operation(&self, operation: Operation) -> Operation {
        let Operation { address, kind, mut values, .. } = operation;
        if kind == operation::END {
            let [low, high, ..] = values;
            let [low, high] = self.resolve([low, high]);
            values = [low, high, 0, 0];
        }
        Operation { address: self.resolve(address), values, ..operation }
    }

    /// Returns the source and the destination of the copy of an earlier recording's positions, or `None` if nothing has
    /// to be copied. The destination is in the arena's current block, which descriptors cover.
    pub(super) fn moved(&self) -> Option<(Suballocation, Suballocation)> {
        let to = self.plan.steps.iter().find_map(|step| match step {
            Step::MovePositions(block) => self.places.blocks.get(block.0),
            _ => None,
        })?;
        let from = self.earlier?;
        (from.buffer != to.buffer).then_some((from, *to))
    }

    /// Returns the position where the capture begins, and the counters that its end writes, in the form that kernels
    /// and fused captures read.
    fn progress(&self) -> Progress {
        let Collected { targets, position, .. } = self.collected;
        let of = |value: fn(&BoundCaptureBuffer) -> u64| {
            let values = targets.map(|target| target.map_or(0, |target| value(&target)));
            // The end of a capture buffer is below 4 GiB, so each position fits into 32 bits.
            values.map(|value| u32::try_from(value).unwrap_or(u32::MAX))
        };
        let mut strides = of(|target| target.buffer.stride.into());
        // Kernels take strides of 0 for a stream that is not captured. Where no buffer is bound that the stream is
        // captured to, any other stride says that no record fits, because the sizes are 0.
        if self.collected.is_captured && !self.collected.has_targets() {
            strides[0] = 4;
        }
        let positions = targets.map(|target| {
            let position = target.and_then(|target| position.in_buffer(&target));
            u32::try_from(position.unwrap_or_default()).unwrap_or(u32::MAX)
        });
        let earlier = self.moved().map(|(_, to)| to).or(self.earlier);
        let address = |place: Option<Suballocation>| {
            place.map_or(Address::default(), |place| split(place.address))
        };
        let counters = match position {
            Position::Counters => self.collected.counters.map(|counter| self.resolve(counter)),
            Position::Known(_) | Position::Earlier => [Address::default(); MAX_XFB_BUFFERS],
        };
        Progress {
            earlier_positions: address(earlier.filter(|_| *position == Position::Earlier)),
            later_positions: address(self.places.positions),
            positions,
            sizes: of(|target| target.buffer.size.min(MAX_BUFFER_SIZE)),
            strides,
            counters,
            new_counters: self.counters.map(|counter| self.resolve(counter)),
        }
    }
}
