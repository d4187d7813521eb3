//! Plans tables of restarts: each says which indices of a range end a primitive. Indirect draws with the same range of
//! indices share a table.

use std::collections::HashMap;

use crate::runtime::recording::plan::{
    BlockId, Contents, Plan, Planner, Scratch, Upload, push_block,
};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::setup::{
    DrawCommand, RESTART_BLOCKS, Reduction, RestartRange, kind, restart_blocks, restart_table_size,
};
use vkxfb_rewriter::sysval::{Address, flags};
use vkxfb_rewriter::topology::PrimitiveTopology;

#[derive(Debug, Default)]
pub(in crate::runtime::recording) struct RestartTables {
    tables: Vec<RestartTable>,
    /// For each draw with primitive restart, in the order of the draws: the index of its table.
    numbers: Vec<usize>,
    /// For the tables that indirect draws share: the range of indices, and the index of its table.
    shared: HashMap<RestartRange, usize>,
    /// Whether any draw with primitive restart is a patch list.
    has_patches: bool,
}

#[derive(Debug, Clone, Copy)]
struct RestartTable {
    /// The range of indices whose restarts are in the table.
    range: RestartRange,
    block: BlockId,
}

impl RestartTables {
    /// The kernel that finds restarts, and the kernel that scans over the results of its workgroups.
    pub(super) const fn kernels(&self) -> [Kernel; 2] {
        if self.has_patches {
            [Kernel::PatchRestart, Kernel::PatchRestartScan]
        } else {
            [Kernel::Restart, Kernel::RestartScan]
        }
    }

    /// Returns the block with the table of a draw. `number` is the index of the draw among the draws with primitive
    /// restart.
    pub(in crate::runtime::recording) fn table_of(&self, number: usize) -> Option<BlockId> {
        let number = self.numbers.get(number)?;
        self.tables.get(*number).map(|table| table.block)
    }

    /// The ranges for which tables are computed, each with the block of its table. Ranges for which the restart kernel
    /// needs several workgroups come first, because these need the scan.
    pub(in crate::runtime::recording) fn ranges(
        &self,
    ) -> impl Iterator<Item = (RestartRange, BlockId)> {
        let of = |is_scanned| {
            let tables = self.tables.iter();
            tables.filter(move |table| (workgroups_of(&table.range) > 1) == is_scanned)
        };
        let mut workgroups = 0;
        of(true).chain(of(false)).map(move |table| {
            // A dispatch has fewer than 2^32 workgroups, so the number fits.
            let first_workgroup = workgroups as u32;
            workgroups += workgroups_of(&table.range);
            (RestartRange { first_workgroup, ..table.range }, table.block)
        })
    }

    pub(in crate::runtime::recording) const fn range_count(&self) -> usize {
        self.tables.len()
    }

    /// The number of workgroups of the restart kernel, and of the scan after it. The scan has one workgroup for each
    /// range for which the restart kernel has several.
    pub(super) fn workgroups(&self) -> [u64; 2] {
        let workgroups = || self.tables.iter().map(|table| workgroups_of(&table.range));
        [workgroups().sum(), workgroups().filter(|count| *count > 1).count() as u64]
    }
}

impl Planner<'_> {
    /// Plans a table of restarts for each range of indices that is drawn with primitive restart. Returns the block with
    /// the parameters of the two kernels that compute the tables, or `None` if no draw has primitive restart.
    pub(super) fn plan_restarts(&mut self) -> Option<BlockId> {
        let Plan { blocks, restarts, .. } = &mut *self.plan;
        let RestartTables { tables, numbers, shared, has_patches } = restarts;
        // The tables of an earlier plan are still there, because `Plan::clear` keeps them.
        tables.clear();
        numbers.clear();
        shared.clear();
        *has_patches = false;
        for draw in self.collected.draws.iter().filter(|draw| draw.is_restarted()) {
            *has_patches |= draw.topology == PrimitiveTopology::PatchList;
            let range = range_of(&draw.command);
            let next = tables.len();
            // An indirect draw may use any index of the bound range, so it shares the table of other indirect draws
            // with the same range.
            let number = match draw.command.kind {
                kind::INDIRECT => *shared.entry(range).or_insert(next),
                _ => next,
            };
            if number == next {
                let contents = Contents::Scratch(Scratch::RestartTable);
                let block = push_block(blocks, contents, table_size(&range));
                tables.push(RestartTable { range, block });
            }
            numbers.push(number);
        }
        let count = tables.len();
        let [_, scanned] = restarts.workgroups();
        (count > 0).then(|| {
            let size = count * size_of::<RestartRange>();
            let ranges = self.plan.upload(Upload::RestartRanges, size);
            let (count, scan_count) = (count as u32, scanned as u32);
            let reduction = Upload::Reduction { ranges, count, scan_count };
            self.plan.upload(reduction, size_of::<Reduction>())
        })
    }
}

/// Returns the range of indices of a draw's table of restarts. The address of the table is still 0. If only the GPU
/// knows which indices are drawn, `first` and `count` of `command` have another meaning, and the range contains all
/// bound indices. `range_of_draw` in shaders/restart.wgsl implements the same rule.
fn range_of(command: &DrawCommand) -> RestartRange {
    let (first, limit) = match command.kind {
        kind::DIRECT => {
            let first = command.first.min(command.index_limit);
            (first, command.count.min(command.index_limit - first))
        }
        _ => (0, command.index_limit),
    };
    RestartRange {
        index_address: command.index_address,
        table: Address::default(),
        // If the range is empty, a small block of readable memory replaces the index buffer. Shaders may load the index
        // `first` from there, so it must be 0.
        first: if limit == 0 { 0 } else { first },
        limit,
        topology: command.topology,
        // These flags do not affect restarts, so draws that differ in them can share a table.
        flags: command.flags & !(flags::LAST_VERTEX | flags::INVERTED),
        restart_index: command.restart_index,
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
