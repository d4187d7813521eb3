//! Tables of the restarts in index buffers. Draws of the same indices share a table.

use std::collections::HashMap;

use super::capture::{Capture, PendingDraw};
use super::play::Playback;
use crate::runtime::RuntimeError;
use crate::runtime::arena::{Suballocation, aligned};
use crate::sysval::setup::{
    Input, RESTART_BLOCKS, Reduction, RestartRange, kind, restart_blocks, restart_table_size,
};
use crate::sysval::{Address, flags, split};

/// The tables of a plan.
#[derive(Debug, Default)]
pub(super) struct RestartTables {
    /// The ranges of indices that the tables are for.
    ranges: Vec<RestartRange>,
    /// The number of the range for each draw with restarts, in the order of the draws.
    numbers: Vec<u32>,
    /// The numbers of the ranges that indirect draws share.
    shared: HashMap<RestartRange, u32>,
}

impl RestartTables {
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.numbers.clear();
        self.shared.clear();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Finds the range of each draw.
    pub(super) fn find(&mut self, draws: &[PendingDraw]) {
        for draw in draws.iter().filter(|draw| draw.is_restarted()) {
            let range = range_of(&draw.input);
            let next = self.ranges.len() as u32;
            // An indirect draw may use any index of the bound range, and other draws often bind the
            // same range.
            let number = match draw.input.kind {
                kind::INDIRECT => *self.shared.entry(range).or_insert(next),
                _ => next,
            };
            if number == next {
                self.ranges.push(range);
            }
            self.numbers.push(number);
        }
    }

    /// Workgroups of the restart kernel, and of the scan after it: one for each range of several.
    pub(super) fn workgroups(&self) -> [u64; 2] {
        let workgroups = || self.ranges.iter().map(workgroups_of);
        [workgroups().sum(), workgroups().filter(|count| *count > 1).count() as u64]
    }

    /// Bytes of scratch memory that the tables take.
    pub(super) fn scratch(&self) -> u64 {
        self.ranges.iter().map(|range| aligned(table_size(range))).sum()
    }

    /// Bytes of upload memory for the descriptions of the tables.
    pub(super) fn upload(&self) -> u64 {
        match self.ranges.len() {
            0 => 0,
            count => {
                aligned((count * size_of::<RestartRange>()) as u64)
                    + aligned(size_of::<Reduction>() as u64)
            }
        }
    }
}

impl Capture {
    /// Reserves the tables, and writes the position of its table to each draw. Returns the parameters of the
    /// kernels that compute them.
    pub(super) fn place_restart_tables(
        &mut self,
        playback: &mut Playback<'_>,
    ) -> Result<Option<Suballocation>, RuntimeError> {
        // Resolving addresses borrows the rest of the capture, so the tables are taken out
        // meanwhile.
        let mut made = std::mem::take(&mut self.plan.restarts);
        let placed = self.place_tables_of(&mut made, playback);
        self.plan.restarts = made;
        placed
    }

    fn place_tables_of(
        &mut self,
        made: &mut RestartTables,
        playback: &mut Playback<'_>,
    ) -> Result<Option<Suballocation>, RuntimeError> {
        if made.is_empty() {
            return Ok(None);
        }
        for range in &mut made.ranges {
            range.table = split(playback.arena.scratch().take(table_size(range))?.address);
            range.index_address = self.readable(range.index_address, range.limit);
        }
        let draws = self.pending.draws.iter_mut().filter(|draw| draw.is_restarted());
        for (draw, number) in draws.zip(&made.numbers) {
            draw.input.restart_table = made.ranges[*number as usize].table;
        }
        // The scan processes ranges of several workgroups, which must come first.
        made.ranges.sort_unstable_by_key(|range| workgroups_of(range) == 1);
        let scan_count = made.ranges.partition_point(|range| workgroups_of(range) > 1);
        let mut workgroups = 0;
        for range in &mut made.ranges {
            // A dispatch has fewer than 2^32 workgroups.
            range.first_workgroup = workgroups as u32;
            workgroups += workgroups_of(range);
        }

        let upload = playback.arena.upload();
        let ranges = upload.push(made.ranges.iter().copied())?;
        let reduction = Reduction {
            ranges: split(ranges.address),
            count: made.ranges.len() as u32,
            scan_count: scan_count as u32,
        };
        Ok(Some(upload.push([reduction].into_iter())?))
    }
}

/// The range of a draw's table, without an address. That of an indirect draw consists of all bound
/// indices, because only the GPU knows which of them it uses. `restarts_of` in shaders/restart.wgsl
/// relies on that.
fn range_of(input: &Input) -> RestartRange {
    let (first, limit) = match input.kind {
        kind::INDIRECT => (0, input.index_limit),
        _ => {
            let first = input.first.min(input.index_limit);
            (first, input.count.min(input.index_limit - first))
        }
    };
    RestartRange {
        index_address: input.index_address,
        table: Address::default(),
        // Without an index in the range, its address is that of other memory.
        first: if limit == 0 { 0 } else { first },
        limit,
        topology: input.topology,
        // The provoking vertex and predicates do not affect restarts.
        flags: input.flags & !(flags::LAST_VERTEX | flags::INVERTED),
        restart_index: input.restart_index,
        first_workgroup: 0,
        reserved: [0; 2],
    }
}

fn table_size(range: &RestartRange) -> u64 {
    restart_table_size(restart_blocks(range.limit.into()))
}

fn workgroups_of(range: &RestartRange) -> u64 {
    restart_blocks(range.limit.into()).div_ceil(RESTART_BLOCKS)
}
