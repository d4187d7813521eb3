//! Parameters of the kernels of `shaders/{setup,resume,restart,finish}.wgsl`, and of fused
//! captures.

use super::{Address, Batch, DrawSysvals};
use crate::capture::MAX_XFB_BUFFERS;

/// The source of a draw's arguments: [`DrawCommand::kind`].
pub mod kind {
    /// The [`DrawCommand`](super::DrawCommand) itself contains the arguments.
    pub const DIRECT: u32 = 0;
    /// `VkDrawIndirectCommand`s or `VkDrawIndexedIndirectCommand`s, one per draw.
    pub const INDIRECT: u32 = 1;
    /// A counter from which the number of vertices is computed.
    pub const BYTE_COUNT: u32 = 2;
}

/// A recorded draw command: one draw, or with [`kind::INDIRECT`] possibly several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawCommand {
    /// A value of [`kind`].
    pub kind: u32,
    /// An [`XfbTopology`](crate::topology::XfbTopology).
    pub topology: u32,
    /// Bits of [`flags`](super::flags).
    pub flags: u32,
    /// `DrawIndex` of the first draw.
    pub draw_index: u32,
    /// The number of vertices or indices, for [`kind::DIRECT`].
    pub count: u32,
    /// The number of instances.
    pub instance_count: u32,
    /// `firstIndex`, or `firstVertex` without indices; `counterOffset` for [`kind::BYTE_COUNT`].
    pub first: u32,
    /// `vertexOffset`; `vertexStride` for [`kind::BYTE_COUNT`].
    pub base_vertex: u32,
    /// `firstInstance`.
    pub first_instance: u32,
    /// The number of the group (consecutive recorded draw commands that one dispatch captures).
    pub group: u32,
    /// The number of indices in the bound range of the index buffer.
    pub index_limit: u32,
    /// The index that restarts primitives, if the flags enable it.
    pub restart_index: u32,
    /// The address of the bound index range.
    pub index_address: Address,
    /// The address of the first indirect command, or of a counter.
    pub arguments: Address,
    /// The address of a draw count, or 0. A draw exists if its index is below the count.
    pub count_address: Address,
    /// The address of the table of a [`RestartRange`], if primitive restart is enabled.
    pub restart_table: Address,
    /// The address of the active transform feedback query, or 0 if there is none.
    pub stream_query: Address,
    /// The address of the active primitives generated query, or 0 if there is none.
    pub generated_query: Address,
    /// The address of a predicate, or 0. The draws are discarded if the dword there is 0, or with
    /// [`INVERTED`](super::flags::INVERTED) if it is not 0.
    pub predicate: Address,
    /// The largest number of indirect draws. Only the first [`MAX_DRAWS`] are captured.
    pub draw_count: u32,
    /// Bytes from one indirect command to the next.
    pub stride: u32,
}

impl DrawCommand {
    /// The addresses in buffers outside of the arena: in buffers of the application, and in those of query pools.
    pub const fn buffers_mut(&mut self) -> [&mut Address; 6] {
        [
            &mut self.index_address,
            &mut self.arguments,
            &mut self.count_address,
            &mut self.stream_query,
            &mut self.generated_query,
            &mut self.predicate,
        ]
    }
}

/// The largest number of draws that the setup kernel processes for a [`DrawCommand`].
pub const MAX_DRAWS: u32 = (1 << 24) - 1;

/// The output of the setup kernel for a group, that is, for consecutive [`DrawCommand`]s that one dispatch captures. It
/// takes [`BATCH_SIZE`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GroupBatch {
    /// The batch that the push constants of the group's dispatch point to.
    pub batch: Batch,
    /// `VkDispatchIndirectCommand`.
    pub workgroups: [u32; 3],
    /// Padding.
    pub reserved: u32,
}

/// Bytes from one [`GroupBatch`] to the next.
pub const BATCH_SIZE: u64 = size_of::<GroupBatch>() as u64;

/// Bytes from the start of a [`GroupBatch`] to its workgroups.
pub const WORKGROUPS_OFFSET: u64 = std::mem::offset_of!(GroupBatch, workgroups) as u64;

/// Parameters of the setup kernel. For each draw it computes how many primitives the draw generates, how many of them
/// fit, and where in the capture buffers they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Setup {
    /// The address of an array of [`DrawCommand`].
    pub commands: Address,
    /// The address at which the [`DrawSysvals`] of the draws are written. If any [`DrawCommand`] may be several draws,
    /// and always by a serial kernel, only those of draws that have invocations and of the first draw of each group are
    /// written.
    pub draws: Address,
    /// The address of an array of dwords: for each group, the workgroup size of its pipeline.
    pub groups: Address,
    /// The address at which the [`GroupBatch`]es are written.
    pub batches: Address,
    /// Bytes from one draw to the next: the size of a [`DrawSysvals`], or of a [`RestartedDraw`] if
    /// any draw has primitive restart.
    pub draw_stride: u32,
    /// The number of elements of `commands`.
    pub command_count: u32,
    /// For a serial kernel, which works in turns: the largest number of draws that a turn processes. 2^32 - 1 for a
    /// kernel that has only one turn. Draws with geometry or tessellation shaders are processed twice.
    pub turn_draws: u32,
    /// The largest number of workgroups of a dispatch along one axis.
    pub workgroups_per_axis: u32,
    /// 1 if any [`DrawCommand`] has a query, otherwise 0. With geometry or tessellation shaders always 0, because the
    /// kernel `xfb_place_entries` adds to the queries later.
    pub has_queries: u32,
    /// The draws of geometry or tessellation shaders together are divided into at most 2^`entry_bits`
    /// [entries](super::entries), which are runs of primitives. In addition, each draw may have one more entry, because
    /// the last entry of a draw may have fewer primitives than its other entries.
    pub entry_bits: u32,
    /// For draws of geometry or tessellation shaders: the address of the [`EntryTables`](super::entries::EntryTables).
    /// Otherwise 0.
    pub entry_tables: Address,
    /// Where the capture begins in its buffers, and where the position after it is written.
    pub progress: Progress,
}

/// The positions where a capture begins in its buffers and where the buffers end, and the addresses at which
/// the position after the capture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Progress {
    /// The address of the positions that an earlier recording of the capture wrote to its `later_positions`, or 0.
    pub earlier_positions: Address,
    /// The address at which the positions after the last draw are written, or 0.
    pub later_positions: Address,
    /// The positions in bytes in each bound range, if there is neither `earlier_positions` nor a counter.
    pub positions: [u32; MAX_XFB_BUFFERS],
    /// The size of each bound range in bytes.
    pub sizes: [u32; MAX_XFB_BUFFERS],
    /// The size of a record in bytes, 0 for buffers that are not captured to. All are 0 only for a stream that is not
    /// captured: its primitives are only counted, and all of them as written. For a stream whose buffers are not bound
    /// the first is 4, so that nothing fits into its size of 0.
    pub strides: [u32; MAX_XFB_BUFFERS],
    /// The addresses of counters to begin with, or 0.
    pub counters: [Address; MAX_XFB_BUFFERS],
    /// The addresses of counters to write at the end, or 0.
    pub new_counters: [Address; MAX_XFB_BUFFERS],
}

/// Parameters of a fused capture: a capture of one small draw that is not indirect, whose workgroups also do the work
/// of kernels. The [`DrawSysvals`] of the draw are not clamped to the capture buffers: `item_count` is the number of
/// vertices or indices, `instance_count` the number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Fused {
    /// Where the capture begins in its buffers, and where the position after it is written.
    pub progress: Progress,
    /// The address of the active transform feedback query, or 0 if there is none.
    pub stream_query: Address,
    /// The address of the active primitives generated query, or 0 if there is none.
    pub generated_query: Address,
    /// The number of workgroups that have read the counters, if `expected` is not 0. It is 0 before and after each
    /// execution.
    pub arrived: u32,
    /// The number of workgroups that must have read the counters before the last of them writes counters; 0 if the
    /// first workgroup may write them at once.
    pub expected: u32,
    /// Padding.
    pub reserved: [u32; 2],
}

/// Parameters of the resume kernel. The kernel determines from `progress` where the capture begins in its buffers, and
/// how many records fit. It writes both to the [`Batch`] of each dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Resume {
    /// The address of an array of [`Batch`], one for each dispatch. Their `positions` and `record_limit` are not known
    /// yet.
    pub known: Address,
    /// The address at which the completed batches are written.
    pub batches: Address,
    /// The number of dispatches.
    pub count: u32,
    /// The number of vertices per primitive, which is the same for all draws.
    pub vertices: u32,
    /// The number of primitives of all draws together: 64 bits, low dword first.
    pub needed: [u32; 2],
    /// The address of the active transform feedback query, or 0 if there is none.
    pub stream_query: Address,
    /// The address of the active primitives generated query, or 0 if there is none.
    pub generated_query: Address,
    /// Where the capture begins in its buffers, and where the position after it is written.
    pub progress: Progress,
}

/// Parameters of the restart kernel, which makes tables of restarts, and of the scan kernel after it, which combines
/// the results of the restart kernel's workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Reduction {
    /// The address of an array of [`RestartRange`], sorted by `first_workgroup`.
    pub ranges: Address,
    /// The number of ranges, at least one.
    pub count: u32,
    /// The number of ranges that several workgroups process. They come first in the array, and the scan kernel combines
    /// the results of their workgroups.
    pub scan_count: u32,
}

/// A range of indices for which the restart kernel makes a table of restarts. The table says which of the indices
/// restart primitives, and from it shaders compute how many primitives precede an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RestartRange {
    /// The address of index 0 of the bound index range.
    pub index_address: Address,
    /// The address of the table, which has [`restart_table_size`] bytes.
    pub table: Address,
    /// The first index of the range.
    pub first: u32,
    /// The number of indices of the range.
    pub limit: u32,
    /// An [`XfbTopology`](crate::topology::XfbTopology).
    pub topology: u32,
    /// Bits of [`flags`](super::flags). Only the size of an index and the vertices per primitive
    /// are used.
    pub flags: u32,
    /// The index that restarts primitives.
    pub restart_index: u32,
    /// The number of the first workgroup that processes the range, in the dispatch of the restart kernel. The
    /// workgroups of the ranges before it have lower numbers.
    pub first_workgroup: u32,
    /// Padding.
    pub reserved: [u32; 2],
}

/// Where the indices of a draw are in a [`RestartRange`], and in the table of restarts that belongs to the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawRestarts {
    /// The position of the draw's first index in the range.
    pub first: u32,
    /// The number of indices of the range.
    pub limit: u32,
    /// The number of the draw's indices before its first restart, or 2^32 - 1 if it has none.
    pub head: u32,
    /// The table counts primitives from the start of the range. For positions after the draw's first restart, shaders
    /// subtract this number from the count, modulo 2^32, to get the count within the draw.
    pub before: u32,
    /// The address of the table.
    pub table: Address,
    /// Padding.
    pub reserved: [u32; 2],
}

/// An element of the array at [`Setup::draws`], if any of the draws has primitive restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RestartedDraw {
    /// The parameters of the draw, as its capture loads them.
    pub draw: DrawSysvals,
    /// Where the draw's restarts are in the table. Undefined for a draw without primitive restart.
    pub restarts: DrawRestarts,
}

/// The number of consecutive indices that form a block of a table of restarts.
pub const RESTART_BLOCK: u64 = 32;
/// The number of blocks that a workgroup of the restart kernel processes.
pub const RESTART_BLOCKS: u64 = 256;

/// The number of blocks in the table of restarts of a range of `indices` indices. The last block stands for all
/// positions beyond the range.
pub const fn restart_blocks(indices: u64) -> u64 {
    indices.div_ceil(RESTART_BLOCK) + 1
}

/// The size in bytes of a table of restarts with this number of blocks: 16 for each block, and 16
/// for each workgroup.
pub const fn restart_table_size(blocks: u64) -> u64 {
    16 * (blocks + blocks.div_ceil(RESTART_BLOCKS))
}

/// The most bytes that the tables of restarts of `draws` draws take, which have `indices` indices in all. For one draw it
/// is [`restart_table_size`].
pub const fn restart_tables_size(draws: u64, indices: u64) -> u64 {
    // The sum of the draws' numbers, each rounded up, is largest where each is one more than a multiple.
    const fn rounded_up(sum: u64, draws: u64, of: u64) -> u64 {
        sum.saturating_add(draws.saturating_mul(of - 1)) / of
    }
    let blocks = rounded_up(indices, draws, RESTART_BLOCK).saturating_add(draws);
    let workgroups = rounded_up(blocks, draws, RESTART_BLOCKS);
    blocks.saturating_add(workgroups).saturating_mul(16)
}

/// The operations of the finish kernel, which are executed in any order: [`Operation::kind`].
pub mod operation {
    /// Stores `values[0]` to the dword at the address.
    pub const STORE: u32 = 0;
    /// Adds the two 64-bit integers in `values` to those at the address.
    pub const ADD: u32 = 1;
    /// Makes the [`Query`](crate::sysval::results::Query) at the address available: increments the number of the
    /// query's last end, a dword at the address `values[..2]`, and writes
    /// [`Query::result`](crate::sysval::results::Query::result).
    pub const END: u32 = 2;
}

/// An operation of the finish kernel. Two operations of one dispatch have the same address only if they store the same
/// value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Operation {
    /// The address that the operation changes.
    pub address: Address,
    /// A value of [`operation`].
    pub kind: u32,
    /// Padding.
    pub reserved: u32,
    /// The operands, whose meaning depends on `kind`.
    pub values: [u32; 4],
}

impl Operation {
    /// How many bytes the operation changes at its address.
    pub const fn size(&self) -> u64 {
        let size = match self.kind {
            operation::STORE => size_of::<u32>(),
            operation::ADD => size_of::<[u64; 2]>(),
            _ => size_of::<super::results::Query>(),
        };
        size as u64
    }
}

/// Parameters of the finish kernel, which writes counters and query results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Finish {
    /// The address of an array of [`Operation`].
    pub operations: Address,
    /// The number of operations.
    pub count: u32,
    /// Padding.
    pub reserved: u32,
}
