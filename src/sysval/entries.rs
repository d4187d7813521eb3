//! Parameters of geometry captures (`shaders/geometry.wgsl`) and of the kernels that place what they emit
//! (`shaders/entries.wgsl`).
//!
//! An entry is a run of consecutive primitives of a draw, which one invocation takes.

use super::Address;
use super::setup::Progress;

/// The entries of a block.
pub const ENTRIES_PER_BLOCK: u32 = 512;

/// Where the entries of a dispatch are counted, and placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Entries {
    /// The address of a dword for each entry: the number of primitives that it emits. Behind them as many
    /// dwords: those of the entries before it in its block.
    pub counts: Address,
    /// The address of a dword for each block: the record that it begins with.
    pub blocks: Address,
    /// The number of entries that there is room for, a multiple of [`ENTRIES_PER_BLOCK`].
    pub room: u32,
    /// Padding.
    pub reserved: [u32; 3],
}

/// Parameters of the kernel that adds up the entries of each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EntrySums {
    /// [`Entries::counts`]
    pub counts: Address,
    /// The address of two dwords for each block: the primitives of all its entries.
    pub sums: Address,
    /// The address of the number of workgroups of the dispatch, along two axes, if only the GPU knows it;
    /// otherwise 0.
    pub workgroups: Address,
    /// The number of entries; of a workgroup if there are `workgroups`.
    pub count: u32,
    /// [`Entries::room`]
    pub room: u32,
}

/// Parameters of the kernel that places the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PlaceEntries {
    /// The address of an array of [`EntryJob`], one for each dispatch, in the order of the draws.
    pub jobs: Address,
    /// The number of jobs.
    pub job_count: u32,
    /// Padding.
    pub reserved: u32,
    /// From where to where the draws capture.
    pub progress: Progress,
}

/// The blocks of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EntryJob {
    /// The address of the [`Batch`](super::Batch) that the dispatch counts with.
    pub counting: Address,
    /// The address at which that is written which it stores with.
    pub storing: Address,
    /// The address of its [`Entries`].
    pub entries: Address,
    /// [`EntrySums::sums`]
    pub sums: Address,
    /// The number of blocks.
    pub block_count: u32,
    /// The vertices of a primitive that is emitted.
    pub vertices: u32,
    /// Padding.
    pub reserved: [u32; 2],
    /// The address of the query that counts primitives written and needed, or 0.
    pub stream_query: Address,
    /// The address of the query that counts primitives generated, or 0.
    pub generated_query: Address,
}
