//! Tables of where index buffers restart primitives, of which draws of the same indices share one.

use std::collections::HashMap;

use super::capture::{Capture, PendingDraw};
use super::play::Playback;
use crate::runtime::RuntimeError;
use crate::runtime::arena::{Place, aligned};
use crate::runtime::fold::fold;
use crate::sysval::setup::{
    Input, RESTART_BLOCKS, Reduction, RestartTable, kind, restart_blocks, restart_table_size,
};
use crate::sysval::{Address, flags, split};

/// The tables of a plan.
#[derive(Debug, Default)]
pub(super) struct RestartTables {
    tables: Vec<RestartTable>,
    /// Number of each restarted draw's table, in the order of the draws.
    numbers: Vec<u32>,
    /// Numbers of the tables of whole index buffers.
    shared: HashMap<RestartTable, u32>,
}

/// What makes the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct RestartDispatches {
    pub(super) parameters: Place,
    /// Workgroups of the restart kernel, and of the scan behind it where there is one.
    pub(super) restart: [u32; 2],
    pub(super) scan: Option<[u32; 2]>,
}

impl RestartTables {
    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.numbers.clear();
        self.shared.clear();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Finds the table of each draw.
    pub(super) fn find(&mut self, draws: &[PendingDraw]) {
        for draw in draws.iter().filter(|draw| draw.is_restarted()) {
            let table = table_of(&draw.input);
            let next = self.tables.len() as u32;
            // The indices of an indirect draw may be any that are bound, and other draws of a frame often have them
            // bound, too.
            let number = match draw.input.kind {
                kind::INDIRECT => *self.shared.entry(table).or_insert(next),
                _ => next,
            };
            if number == next {
                self.tables.push(table);
            }
            self.numbers.push(number);
        }
    }

    /// Bytes of scratch memory that the tables take.
    pub(super) fn scratch(&self) -> u64 {
        self.tables.iter().map(|table| aligned(size_of_table(table))).sum()
    }

    /// Bytes of upload memory that describe them.
    pub(super) fn upload(&self) -> u64 {
        match self.tables.len() {
            0 => 0,
            count => {
                aligned((count * size_of::<RestartTable>()) as u64)
                    + aligned(size_of::<Reduction>() as u64)
            }
        }
    }
}

impl Capture {
    /// Places the tables, and tells each draw where its own is.
    pub(super) fn place_restart_tables(
        &mut self,
        playback: &mut Playback<'_>,
    ) -> Result<Option<RestartDispatches>, RuntimeError> {
        let mut made = std::mem::take(&mut self.plan.restarts);
        let placed = self.place_tables_of(&mut made, playback);
        self.plan.restarts = made;
        placed
    }

    fn place_tables_of(
        &mut self,
        made: &mut RestartTables,
        playback: &mut Playback<'_>,
    ) -> Result<Option<RestartDispatches>, RuntimeError> {
        if made.is_empty() {
            return Ok(None);
        }
        for table in &mut made.tables {
            table.table = split(playback.arena.scratch().take(size_of_table(table))?.address);
            table.index_address = self.resolve(table.index_address);
        }
        let draws = self.pending.draws.iter_mut().filter(|draw| draw.is_restarted());
        for (draw, number) in draws.zip(&made.numbers) {
            draw.input.restart_table = made.tables[*number as usize].table;
        }
        // The scan takes those of several workgroups, which come first.
        made.tables.sort_unstable_by_key(|table| workgroups_of(table) == 1);
        let mut workgroups = 0;
        for table in &mut made.tables {
            table.first_workgroup = u32::try_from(workgroups).unwrap_or(u32::MAX);
            workgroups += workgroups_of(table);
        }
        let scanned = made.tables.partition_point(|table| workgroups_of(table) > 1);

        let upload = playback.arena.upload();
        let tables = upload.push(made.tables.iter().copied())?;
        let count = made.tables.len() as u32;
        let reduction = Reduction { tables: split(tables.address), count, reserved: 0 };
        let parameters = upload.push([reduction].into_iter())?;
        let per_axis = self.ctx.max_workgroups_per_axis();
        Ok(Some(RestartDispatches {
            parameters,
            restart: fold(workgroups, per_axis)?,
            scan: if scanned > 0 { Some(fold(scanned as u64, per_axis)?) } else { None },
        }))
    }
}

/// A table that is not placed. An indirect draw's is of all indices that are bound, as only the GPU knows which of them
/// it draws.
fn table_of(input: &Input) -> RestartTable {
    let (first, limit) = match input.kind {
        kind::INDIRECT => (0, input.index_limit),
        _ => {
            let first = input.first.min(input.index_limit);
            (first, input.count.min(input.index_limit - first))
        }
    };
    RestartTable {
        index_address: input.index_address,
        table: Address::default(),
        first,
        limit,
        topology: input.topology,
        // Which vertex provokes, and a predicate, make no difference to it.
        flags: input.flags & !(flags::LAST_VERTEX | flags::INVERTED),
        restart_index: input.restart_index,
        first_workgroup: 0,
        reserved: [0; 2],
    }
}

fn size_of_table(table: &RestartTable) -> u64 {
    restart_table_size(restart_blocks(table.limit.into()))
}

fn workgroups_of(table: &RestartTable) -> u64 {
    restart_blocks(table.limit.into()).div_ceil(RESTART_BLOCKS)
}
