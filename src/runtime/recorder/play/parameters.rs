//! Writes the blocks of a plan.

use super::super::collect::{Collected, Position, Target};
use super::super::plan::{BlockId, Contents, ListedNumber, Plan, Written};
use super::{Placed, Playback, Player};
use crate::capture::MAX_XFB_BUFFERS;
use crate::counts::MAX_BUFFER_SIZE;
use crate::runtime::RuntimeError;
use crate::runtime::arena::{Part, Suballocation};
use crate::sysval::setup::{
    Finish, Fused, Input, Operation, Progress, Reduction, RestartRange, Resume, Setup, operation,
};
use crate::sysval::{Address, Batch, DrawSysvals, split};

impl Player<'_> {
    /// Takes the memory of all blocks, and writes those that the CPU writes.
    ///
    /// # Errors
    /// None, if the arena has reserved the memory.
    pub(super) fn write_blocks(&mut self, playback: &mut Playback<'_>) -> Result<(), RuntimeError> {
        for number in 0..self.plan.blocks.len() {
            let block = &self.plan.blocks[number];
            let place = match &block.contents {
                Contents::Written(_) => playback.arena.scratch().take(block.size)?,
                contents => self.write_block(playback.arena.upload(), contents)?,
            };
            match (&block.contents, self.earlier, self.placed.positions) {
                (Contents::Written(Written::Positions), ..) => self.placed.positions = Some(place),
                // Descriptors reach the block of the arena that has the new ones.
                (Contents::Written(Written::MovedPositions), Some(from), Some(new))
                    if from.buffer != new.buffer =>
                {
                    self.placed.moved = Some((from, place));
                }
                _ => {}
            }
            self.placed.blocks.push(place);
        }
        Ok(())
    }

    fn write_block(
        &self,
        upload: &mut Part,
        contents: &Contents,
    ) -> Result<Suballocation, RuntimeError> {
        let Plan { operations, groups, restarts, .. } = &*self.plan;
        let at = |block: &BlockId| split(self.placed.address_of(*block));
        match contents {
            // The GPU writes it.
            Contents::Written(_) => upload.take(0),
            Contents::Listed { draws, workgroups } => {
                let draws = self.plan.placed.get(draws.clone()).unwrap_or_default();
                self.write_list(upload, draws, *workgroups)
            }
            Contents::Batches { first, count } => {
                let blocks = first.0..first.0 + count;
                upload.push(blocks.map(|number| Batch {
                    draws: at(&BlockId(number)),
                    draw_count: self.listed_in(number) as u32,
                    ..Default::default()
                }))
            }
            Contents::Operations { first, end } => {
                let operations = operations.get(*first..*end).unwrap_or_default();
                upload.push(operations.iter().map(|operation| self.resolved_operation(*operation)))
            }
            Contents::Finish { operations, count } => {
                let finish = Finish { operations: at(operations), count: *count, reserved: 0 };
                upload.push(std::iter::once(finish))
            }
            Contents::Fused(fused) => upload.push(std::iter::once(Fused {
                progress: self.progress(),
                stream_query: self.resolve(fused.stream_query),
                generated_query: self.resolve(fused.generated_query),
                ..*fused
            })),
            Contents::Resume { known, batches, resume } => upload.push(std::iter::once(Resume {
                known: at(known),
                batches: at(batches),
                stream_query: self.resolve(resume.stream_query),
                generated_query: self.resolve(resume.generated_query),
                progress: self.progress(),
                ..*resume
            })),
            Contents::Inputs => self.write_inputs(upload),
            Contents::WorkgroupSizes => {
                upload.push(groups.iter().map(|group| group.workgroup_size))
            }
            Contents::Setup { inputs, draws, groups, batches, setup } => {
                upload.push(std::iter::once(Setup {
                    inputs: at(inputs),
                    draws: at(draws),
                    groups: at(groups),
                    batches: at(batches),
                    progress: self.progress(),
                    ..*setup
                }))
            }
            Contents::RestartRanges => {
                let size = restarts.range_count() * size_of::<RestartRange>();
                upload.push_with(size, |target| {
                    let targets = target.chunks_exact_mut(size_of::<RestartRange>());
                    for (target, (range, table)) in targets.zip(restarts.ranges()) {
                        let range = RestartRange {
                            index_address: self.readable(range.index_address, range.limit),
                            table: at(&table),
                            ..range
                        };
                        target.copy_from_slice(bytemuck::bytes_of(&range));
                    }
                })
            }
            Contents::Reduction { ranges, count, scan_count } => {
                upload.push(std::iter::once(Reduction {
                    ranges: at(ranges),
                    count: *count,
                    scan_count: *scan_count,
                }))
            }
        }
    }

    /// The number of the draws that are listed in the block with that number.
    fn listed_in(&self, block: usize) -> usize {
        match self.plan.blocks.get(block).map(|block| &block.contents) {
            Some(Contents::Listed { draws, .. }) => draws.len(),
            _ => 0,
        }
    }

    /// Writes draws, and for each of so many workgroups the number of its draw, so that none has to search for
    /// it.
    fn write_list(
        &self,
        upload: &mut Part,
        placed: &[DrawSysvals],
        workgroups: usize,
    ) -> Result<Suballocation, RuntimeError> {
        let draws_size = size_of_val(placed);
        upload.push_with(draws_size + workgroups * size_of::<ListedNumber>(), |target| {
            let (draws, list) = target.split_at_mut(draws_size.min(target.len()));
            let targets = draws.chunks_exact_mut(size_of::<DrawSysvals>());
            for (target, draw) in targets.zip(placed) {
                target.copy_from_slice(bytemuck::bytes_of(&self.resolved_draw(*draw)));
            }
            let mut number = 0;
            let targets = list.chunks_exact_mut(size_of::<ListedNumber>());
            for (workgroup, target) in (0..).zip(targets) {
                let next = placed.get(number + 1);
                if next.is_some_and(|next| next.first_workgroup == workgroup) {
                    number += 1;
                }
                // There are no more draws than numbers.
                target.copy_from_slice(&(number as ListedNumber).to_ne_bytes());
            }
        })
    }

    /// Writes the draws as the setup kernel reads them.
    fn write_inputs(&self, upload: &mut Part) -> Result<Suballocation, RuntimeError> {
        let Plan { groups, restarts, .. } = &*self.plan;
        let mut groups = (0..).zip(groups);
        let (mut group, mut left) = (0, 0);
        let mut restarted = 0;
        upload.push(self.collected.draws.iter().map(|draw| {
            if left == 0
                && let Some((number, next)) = groups.next()
            {
                (group, left) = (number, next.draws);
            }
            left -= 1;
            let mut input = Input { group, ..draw.input };
            for address in input.buffers_mut() {
                *address = self.resolve(*address);
            }
            // Draws without indices may share a pipeline with others.
            input.index_address = self.readable(draw.input.index_address, input.index_limit);
            if draw.is_restarted() {
                let table = restarts.table_of(restarted);
                input.restart_table = table.map_or([0; 2], |t| split(self.placed.address_of(t)));
                restarted += 1;
            }
            input
        }))
    }

    /// Returns the draw with a resolved index buffer address.
    pub(super) fn resolved_draw(&self, draw: DrawSysvals) -> DrawSysvals {
        let index_address = self.readable(draw.index_address, draw.index_limit);
        DrawSysvals { index_address, ..draw }
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

    /// From where to where the draws capture.
    fn progress(&self) -> Progress {
        let Collected { targets, position, .. } = self.collected;
        let of = |value: fn(&Target) -> u64| {
            let values = targets.map(|target| target.map_or(0, |target| value(&target)));
            // Buffers end below 4 GiB.
            values.map(|value| u32::try_from(value).unwrap_or(u32::MAX))
        };
        let positions = targets.map(|target| {
            let position = target.and_then(|target| position.in_buffer(&target));
            u32::try_from(position.unwrap_or_default()).unwrap_or(u32::MAX)
        });
        let Placed { positions: new, moved, .. } = *self.placed;
        let earlier = moved.map(|(_, to)| to).or(self.earlier);
        let address = |place: Option<Suballocation>| {
            place.map_or(Address::default(), |place| split(place.address))
        };
        let counters = match position {
            Position::Counters => self.collected.counters.map(|counter| self.resolve(counter)),
            Position::Known(_) | Position::Earlier => [Address::default(); MAX_XFB_BUFFERS],
        };
        Progress {
            state: address(earlier.filter(|_| *position == Position::Earlier)),
            new_state: address(new),
            positions,
            sizes: of(|target| target.buffer.size.min(MAX_BUFFER_SIZE)),
            strides: of(|target| target.buffer.stride.into()),
            counters,
            new_counters: self.counters.map(|counter| self.resolve(counter)),
        }
    }
}
