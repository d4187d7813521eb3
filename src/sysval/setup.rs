//! What the kernels of `shaders/{setup,restart,finish}.wgsl` are given: draws as they were recorded, where
//! the CPU could not compute their [`DrawSysvals`].

use super::{Address, Batch, DrawSysvals};
use crate::capture::MAX_XFB_BUFFERS;

/// Where the arguments of a draw come from: [`Input::kind`].
pub mod kind {
    /// From the input itself.
    pub const DIRECT: u32 = 0;
    /// From `VkDrawIndirectCommand`s, or `VkDrawIndexedIndirectCommand`s, a draw each.
    pub const INDIRECT: u32 = 1;
    /// The number of vertices from a counter.
    pub const BYTE_COUNT: u32 = 2;
}

/// A draw, or several of [`kind::INDIRECT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Input {
    /// One of [`kind`].
    pub kind: u32,
    /// [`XfbTopology`](crate::topology::XfbTopology).
    pub topology: u32,
    /// [`flags`](super::flags).
    pub flags: u32,
    /// `DrawIndex` of the first.
    pub draw_index: u32,
    /// Vertices or indices of a direct draw.
    pub count: u32,
    /// Instances.
    pub instance_count: u32,
    /// `firstIndex`, or `firstVertex` without indices; `counterOffset` of a byte count.
    pub first: u32,
    /// `vertexOffset`; `vertexStride` of a byte count.
    pub base_vertex: u32,
    /// `firstInstance`.
    pub first_instance: u32,
    /// Number of the dispatch that captures it.
    pub group: u32,
    /// Indices that the bound range holds.
    pub index_limit: u32,
    /// The index that restarts primitives, where the flags say so.
    pub restart_index: u32,
    /// Of the bound range.
    pub index_address: Address,
    /// Of the first indirect command, or of a counter.
    pub arguments: Address,
    /// Of a draw count that must be above the index of a draw, or 0.
    pub count_address: Address,
    /// With primitive restart: of the table of a [`RestartRange`].
    pub restart_table: Address,
    /// Query that counts primitives written and needed, or 0.
    pub stream_query: Address,
    /// Query that counts primitives generated, or 0.
    pub generated_query: Address,
    /// Of a dword that says whether the draws are discarded, or 0: where it is 0, or with
    /// [`INVERTED`](super::flags::INVERTED) where it is not.
    pub predicate: Address,
    /// Indirect draws, at most, of which the first [`MAX_DRAWS`] are made.
    pub draw_count: u32,
    /// Bytes from one indirect command to the next.
    pub stride: u32,
}

impl Input {
    /// Addresses in buffers of the application.
    pub(crate) const fn buffers_mut(&mut self) -> [&mut Address; 6] {
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

/// The most draws that the setup kernel makes of an [`Input`].
pub const MAX_DRAWS: u32 = (1 << 24) - 1;

/// What the setup kernel makes of a group of consecutive inputs that one dispatch captures, padded to [`BATCH_SIZE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GroupBatch {
    /// For the push constants.
    pub batch: Batch,
    /// `VkDispatchIndirectCommand`.
    pub workgroups: [u32; 3],
    /// 0.
    pub reserved: u32,
}

/// Bytes from one [`GroupBatch`] to the next.
pub const BATCH_SIZE: u64 = size_of::<GroupBatch>() as u64;

/// Of a [`GroupBatch`]: bytes to its workgroups.
pub const WORKGROUPS_OFFSET: u64 = std::mem::offset_of!(GroupBatch, workgroups) as u64;

/// Parameters of the setup kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Setup {
    /// Of an array of [`Input`].
    pub inputs: Address,
    /// Where their [`DrawSysvals`] go.
    pub draws: Address,
    /// Of the invocations of a workgroup of each group's pipeline, a dword each.
    pub groups: Address,
    /// Where their [`GroupBatch`]es go.
    pub batches: Address,
    /// Positions that an earlier setup wrote, or 0.
    pub state: Address,
    /// Where the positions behind the last draw go.
    pub new_state: Address,
    /// Bytes from one draw to the next: of a [`DrawSysvals`], or where any of them restarts of a
    /// [`RestartedDraw`].
    pub draw_stride: u32,
    /// Inputs.
    pub input_count: u32,
    /// 1 if any input may be several draws, otherwise 0. Then only those go to `draws` that write something, and one
    /// of each group.
    pub has_several: u32,
    /// The most workgroups of a dispatch along one axis.
    pub workgroups_per_axis: u32,
    /// 1 if any input has a query, otherwise 0.
    pub has_queries: u32,
    /// 0.
    pub reserved: [u32; 3],
    /// Bytes from the start of each bound range, where neither `state` nor a counter says.
    pub positions: [u32; MAX_XFB_BUFFERS],
    /// Bytes of each bound range.
    pub sizes: [u32; MAX_XFB_BUFFERS],
    /// Bytes of a record, 0 where nothing is captured.
    pub strides: [u32; MAX_XFB_BUFFERS],
    /// Counters to begin with, or 0.
    pub counters: [Address; MAX_XFB_BUFFERS],
    /// Counters to end in, or 0.
    pub new_counters: [Address; MAX_XFB_BUFFERS],
}

/// Parameters of the restart kernel, and of the scan behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Reduction {
    /// Of an array of [`RestartRange`], by rising `first_workgroup`.
    pub ranges: Address,
    /// How many, at least one.
    pub count: u32,
    /// Those of several workgroups, which come first and are scanned.
    pub scan_count: u32,
}

/// Indices of which a table is made of where they restart primitives, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RestartRange {
    /// Of index 0 of the buffer.
    pub index_address: Address,
    /// Of the table: [`restart_table_size`] bytes.
    pub table: Address,
    /// First index of the range.
    pub first: u32,
    /// Indices of the range.
    pub limit: u32,
    /// [`XfbTopology`](crate::topology::XfbTopology).
    pub topology: u32,
    /// [`flags`](super::flags), of which the size of an index and the vertices of a primitive count.
    pub flags: u32,
    /// The index that restarts primitives.
    pub restart_index: u32,
    /// Its first workgroup in the dispatch of the restart kernel.
    pub first_workgroup: u32,
    /// 0.
    pub reserved: [u32; 2],
}

/// Where a restarted draw stands in the table of a [`RestartRange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawRestarts {
    /// Position of its first index in the range.
    pub first: u32,
    /// Indices of the range.
    pub limit: u32,
    /// Its indices before the first restart, or 2^32 - 1.
    pub head: u32,
    /// What the states of the table behind that restart count beyond the draw's own primitives, modulo 2^32.
    pub before: u32,
}

/// What the setup kernel makes of a draw where any of a setup's draws restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RestartedDraw {
    /// The draw.
    pub draw: DrawSysvals,
    /// Undefined for a draw without restarts.
    pub restarts: DrawRestarts,
}

/// Indices that one block of the restart kernel stands for.
pub const RESTART_BLOCK: u64 = 32;
/// Blocks of one of its workgroups.
pub const RESTART_BLOCKS: u64 = 256;

/// Blocks of a range of so many indices.
pub const fn restart_blocks(indices: u64) -> u64 {
    indices.div_ceil(RESTART_BLOCK) + 1
}

/// Bytes of the table of that many blocks: 16 for each, and for each workgroup of them.
pub const fn restart_table_size(blocks: u64) -> u64 {
    16 * (blocks + blocks.div_ceil(RESTART_BLOCKS))
}

/// What the finish kernel does, in any order: [`Operation::kind`].
pub mod operation {
    /// `values[0]` becomes the dword at the address.
    pub const STORE: u32 = 0;
    /// Two 64-bit integers are added to those at the address.
    pub const ADD: u32 = 1;
    /// A query becomes available: the dword at the address becomes the number of its end, the next one behind
    /// that at the address in `values[..2]`.
    pub const END: u32 = 2;
}

/// One step of the finish kernel. No two have one address, unless they store the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Operation {
    /// Where.
    pub address: Address,
    /// One of [`operation`].
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// What.
    pub values: [u32; 4],
}

/// Parameters of the finish kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Finish {
    /// Of an array of [`Operation`].
    pub operations: Address,
    /// How many.
    pub count: u32,
    /// 0.
    pub reserved: u32,
}
