//! Parameters of geometry captures (`shaders/geometry.wgsl`) and of the kernels that compute where their records are
//! written (`shaders/entries.wgsl`).
//!
//! An *entry* is a run of consecutive primitives of a draw, which one invocation processes.

use super::Address;
use super::setup::Progress;

/// The number of consecutive entries (runs of primitives) that form a block. For each block the primitives that its
/// entries emit are added up, which tells where the records of the next block begin.
pub const ENTRIES_PER_BLOCK: u32 = 1024;

/// The size in bytes of the data of an entry: a dword with the number of primitives that the entry emits, which is later
/// replaced by the sum of these numbers over the entries before it in its block.
pub const ENTRY_SIZE: u64 = 4;

/// The size in bytes of the data of a block of entries: the number of primitives that its entries emit (64 bits), which
/// is later replaced by the number of the block's first record and the number of its primitives that fit (32 bits
/// each).
pub const ENTRY_BLOCK_SIZE: u64 = 8;

/// The memory of a dispatch for its entries: how many primitives each entry emits, and the number of the first record
/// of each block of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Entries {
    /// The address of [`ENTRY_SIZE`] bytes for each entry.
    pub counts: Address,
    /// The address of [`ENTRY_BLOCK_SIZE`] bytes for each block of entries.
    pub blocks: Address,
    /// The number of entries: a multiple of [`ENTRIES_PER_BLOCK`], except in the last dispatch of a list of draws.
    pub count: u32,
    /// Padding.
    pub reserved: [u32; 3],
}

/// The memory for the entries of all dispatches. An entry is a run of primitives. The setup kernel gives each dispatch
/// a part of this memory. No two dispatches share a block of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EntryTables {
    /// The address of the memory for the entries of all dispatches: [`Entries::counts`] of the first dispatch.
    pub counts: Address,
    /// The address of the memory for the blocks of all dispatches: [`Entries::blocks`] of the first dispatch.
    pub blocks: Address,
    /// The address at which the [`Entries`] of each dispatch are written.
    pub entries: Address,
    /// Padding.
    pub reserved: [u32; 2],
}

/// Parameters of the kernel `xfb_entry_sums`, which adds up the primitives of the entries in each
/// block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EntrySums {
    /// The address of the primitive counts of all entries: [`Entries::counts`] of the first dispatch.
    pub counts: Address,
    /// The address of the sums of all blocks: [`Entries::blocks`] of the first dispatch.
    pub blocks: Address,
    /// The address of the [`Entries`] of the last dispatch. Blocks after the last block of that dispatch are unused.
    pub last: Address,
    /// Padding.
    pub reserved: [u32; 2],
}

/// Parameters of the kernel `xfb_place_entries`, which computes the number of the first record of each block of
/// entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PlaceEntries {
    /// The address of an array of [`EntryJob`], one for each dispatch, in the order of the draws.
    pub jobs: Address,
    /// The number of jobs.
    pub job_count: u32,
    /// For the serial kernel, which works in turns: the largest number of jobs and blocks that a turn processes. It is
    /// 2^32 - 1 for a kernel that has only one turn.
    pub turn_steps: u32,
    /// Where the capture begins in its buffers, and where the position after it is written.
    pub progress: Progress,
}

/// The work of the kernel `xfb_place_entries` for one dispatch: it computes where the records of each block of entries
/// ([`ENTRIES_PER_BLOCK`] consecutive runs of primitives) begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EntryJob {
    /// The address of the [`Batch`](super::Batch) that the count pass reads.
    pub count_batch: Address,
    /// The address to which the kernel writes the [`Batch`](super::Batch) of the emit pass.
    pub emit_batch: Address,
    /// The address of the dispatch's [`Entries`].
    pub entries: Address,
    /// The number of vertices of an output primitive.
    pub vertices: u32,
    /// Padding.
    pub reserved: u32,
    /// The address of the active transform feedback query, or 0 if there is none.
    pub stream_query: Address,
    /// The address of the active primitives generated query, or 0 if there is none.
    pub generated_query: Address,
}
