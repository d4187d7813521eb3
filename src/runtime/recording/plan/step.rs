//! The steps that a plan consists of, and the blocks of arena memory that they read and write.

use std::ops::Range;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::pipelines::pipeline::Key;
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::setup::DrawCommand;
use vkxfb_rewriter::sysval::{Address, DrawSysvals};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::runtime::recording) enum Step {
    /// Copies the positions of an earlier recording to a block that descriptors cover. Does nothing if descriptors
    /// cover the memory that has these positions.
    MovePositions(BlockId),
    Barrier {
        which: Barrier,
        when: When,
        /// The memory that the steps up to the next barrier access.
        then: Touched,
    },
    Kernel {
        kernel: Kernel,
        parameters: BlockId,
        /// The number of workgroups along the axes x and y.
        workgroups: [u32; 2],
    },
    /// A kernel of a single invocation in several [turns](crate::runtime::recording::plan::turns), with barriers
    /// between them. They are one step, so that a plan takes no more host memory for a command of many draws.
    Turns {
        kernel: Kernel,
        parameters: BlockId,
        count: u64,
    },
    Capture(CaptureStep),
}

/// When a barrier of the plan is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) enum When {
    Always,
    /// The barrier is recorded if the steps after it access memory that earlier captures accessed, unless all these
    /// accesses are reads. It is also recorded if it is not known what was accessed.
    Touched,
    /// The barrier is recorded if the capture is [played in order](crate::runtime::Capture::play_in_order) and the
    /// condition of [`Touched`](Self::Touched) is true.
    InOrder,
}

/// The memory that steps access, except for arena memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) enum Touched {
    /// The memory is not known, so the next recording must be ordered after these steps.
    Unknown,
    /// The memory that the captures of this plan read and write, without counters and queries.
    Captured,
    /// The memory that the captures of this plan read and write, with counters and queries.
    CapturedAndCounted,
    /// The memory that the operations with these indices write, in the finish kernel.
    Operations { first: usize, end: usize },
    /// The steps access no memory, because the barrier is for the host.
    Nothing,
}

/// A dispatch that captures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::runtime::recording) struct CaptureStep {
    pub(in crate::runtime::recording) key: Key,
    /// The index of the draws' state. If the draws are listed, it is the first one's, and the state of each other draw
    /// [shares its dispatches](crate::runtime::recording::collect::Collected::share_dispatch).
    pub(in crate::runtime::recording) state: usize,
    pub(in crate::runtime::recording) draws: Draws,
    pub(in crate::runtime::recording) size: Size,
}

/// Where a dispatch reads its draws. A workgroup never processes two draws, because their `DrawIndex` may differ.
///
/// The [`DrawSource`](crate::runtime::pipelines::pipeline::DrawSource) in the key of the Vulkan pipeline depends on
/// this value:
///
/// | draws | source |
/// |---|---|
/// | `Pushed` | `Pushed`; `General` if the draw is small and needs checks, or if accesses may be unaligned or far |
/// | `Restarted` | `Pushed`, with `restart` |
/// | `Listed` | `Listed` |
/// | `Resumed` | `Listed`; `General` for a single draw |
/// | `Batch` | `General` |
/// | `Emitted` | `Pushed`; `Listed` for several draws; `General` for a small one, or for draws of the setup kernel |
/// | `Fused` | `Fused` |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::runtime::recording) enum Draws {
    /// A single draw that the CPU placed, in push constants.
    Pushed(DrawSysvals),
    /// At least two draws that the CPU placed, in a block of
    /// [`Upload::Listed`](crate::runtime::recording::plan::Upload::Listed). The second member is their number.
    Listed(BlockId, usize),
    /// One or more draws in a block of [`Upload::Listed`](crate::runtime::recording::plan::Upload::Listed); the second
    /// member is their number. A batch that the resume kernel wrote says where they are captured.
    Resumed(BlockId, usize, BatchId),
    /// Draws of a geometry or tessellation shader: a single draw that is `pushed` in push constants, draws that the CPU
    /// `listed`, or else draws in a batch that the setup kernel wrote. For the emit pass, the `batch` that the place
    /// kernel wrote says where they are captured.
    Emitted {
        pushed: Option<DrawSysvals>,
        listed: Option<(BlockId, usize)>,
        batch: BatchId,
        entries: BatchId,
        /// Whether this is the count pass, which counts the primitives that the shaders emit, and not the emit pass,
        /// in which they run again and their records are stored.
        is_count_pass: bool,
    },
    /// The draws of a batch that the setup kernel wrote. That kernel also placed them.
    Batch(BatchId),
    /// A single draw in push constants, which is not placed yet. The workgroups of its dispatch place the draw, with
    /// the parameters in a block of [`Upload::Fused`](crate::runtime::recording::plan::Upload::Fused).
    Fused(DrawSysvals, BlockId),
    /// A single draw with primitive restart in push constants. The CPU knows everything about the draw except its
    /// restarts, which are in the table in this block.
    Restarted(DrawSysvals, BlockId),
}

/// How many workgroups a dispatch has. A number that the CPU knows is [folded](crate::runtime::fold): distributed
/// over the axes x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) enum Size {
    /// The number of workgroups, for draws whose counts the CPU knows. A fused draw may turn out to need fewer, because
    /// only the GPU knows how much room is left. For [`Draws::Emitted`] the number is rounded up: the last block of
    /// entries (runs of primitives) of the dispatch has an invocation for each of its entries, including those without
    /// primitives.
    Direct([u32; 2]),
    /// The largest number of workgroups that may be needed; surplus workgroups do nothing. For each draw this number
    /// follows from its count or, if only the GPU knows the count, from the sizes of the capture buffers. This size is
    /// used for known draws that the setup kernel places, for all draws of the setup kernel if indirect dispatches do
    /// not work, and for [`Draws::Restarted`].
    DirectUpTo([u32; 2]),
    /// The number that the setup kernel writes to this batch, for draws whose counts the CPU does not know.
    Indirect(BatchId),
}

/// The index of a [`MemoryBlock`] in [`Plan::blocks`](crate::runtime::recording::plan::Plan::blocks).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) struct BlockId(pub(in crate::runtime::recording) usize);

/// One of several [`Batch`](vkxfb_rewriter::sysval::Batch)es of the same size in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) struct BatchId {
    pub(in crate::runtime::recording) block: BlockId,
    pub(in crate::runtime::recording) number: usize,
    /// The number of bytes from one batch to the next.
    pub(in crate::runtime::recording) size: u64,
}

/// A piece of arena memory that a recording takes, with its contents.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::runtime::recording) struct MemoryBlock {
    pub(in crate::runtime::recording) contents: Contents,
    /// The size in bytes.
    pub(in crate::runtime::recording) size: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::runtime::recording) enum Contents {
    /// The GPU writes the block.
    Scratch(Scratch),
    /// The CPU writes the block.
    Upload(Upload),
}

/// The contents of a block that the GPU writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) enum Scratch {
    /// The positions in the capture buffers after the last draw.
    Positions,
    /// A copy of the positions that an earlier recording of the capture wrote to another block of the arena.
    MovedPositions,
    /// The draws that the setup kernel has placed.
    PlacedDraws,
    /// The batches that the resume, setup or place kernel writes.
    Batches,
    /// The counts and positions of the entries (runs of primitives) of all
    /// [`EntryGroup`](crate::runtime::recording::plan::EntryGroup)s: first one element for each entry, then one for
    /// each [`ENTRIES_PER_BLOCK`](vkxfb_rewriter::sysval::entries::ENTRIES_PER_BLOCK) entries. Recordings into one
    /// command buffer share this memory.
    EntryCounts,
    /// For each group, the addresses of its entries (runs of primitives), if only the GPU knows how many entries there
    /// are.
    Entries,
    /// The table of restarts of a range of indices.
    RestartTable,
}

/// The contents of a block that the CPU writes. They refer only to blocks before this one, so that blocks can be
/// written in order.
///
/// When the parameters of the setup kernel (without `entry_setup`), the resume kernel, the place kernel and fused
/// captures are written, a [`Progress`](vkxfb_rewriter::sysval::setup::Progress) is added. Among other values it
/// contains the position where the capture begins, and the addresses of the counters that its end writes. It is not
/// stored here, because it is the same for all blocks of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::runtime::recording) enum Upload {
    /// Draws that the CPU placed. If there are several, a list follows that contains the number of the draw of each
    /// workgroup.
    Listed { draws: Range<usize>, workgroups: usize },
    /// A [`Batch`](vkxfb_rewriter::sysval::Batch) for each of `count` consecutive blocks that contain listed draws.
    Batches { first: BlockId, count: usize },
    /// The operations in this range of [`Plan::operations`](crate::runtime::recording::plan::Plan::operations), for the
    /// finish kernel.
    Operations(Range<usize>),
    /// The parameters of the finish kernel, which executes the `count` operations of a block.
    Finish { operations: BlockId, count: u32 },
    /// The parameters of a fused capture.
    Fused {
        queries: Queries,
        /// The value of [`Fused::expected`](vkxfb_rewriter::sysval::setup::Fused::expected).
        expected: u32,
    },
    /// The parameters of the resume kernel.
    Resume {
        known: BlockId,
        batches: BlockId,
        count: u32,
        /// The number of vertices per primitive, which is the same for all draws.
        vertices: u32,
        /// The number of primitives that all draws generate.
        needed: u64,
        queries: Queries,
    },
    /// The draws as they were collected, with their groups and tables of restarts, for the setup kernel.
    DrawCommands,
    /// The workgroup size of each group of draws.
    WorkgroupSizes,
    /// The parameters of the setup kernel.
    Setup {
        commands: BlockId,
        draws: BlockId,
        groups: BlockId,
        batches: BlockId,
        /// The number of bytes from one placed draw to the next.
        draw_stride: u32,
        turn_draws: u32,
        has_queries: bool,
        /// For draws of geometry or tessellation shaders, which the setup kernel does not place: the parameters with
        /// which it divides them into entries. `None` for other draws.
        entry_setup: Option<EntrySetup>,
    },
    /// The addresses at which the setup kernel writes the [`Entries`](vkxfb_rewriter::sysval::entries::Entries) of
    /// draws of geometry or tessellation shaders.
    EntryTables { counts: BlockId, entries: BlockId },
    /// For each [`EntryGroup`](crate::runtime::recording::plan::EntryGroup), the addresses of its entries.
    Entries { counts: BlockId },
    /// The parameters of the kernel that adds up the counts in each block of
    /// [`ENTRIES_PER_BLOCK`](vkxfb_rewriter::sysval::entries::ENTRIES_PER_BLOCK) entries.
    EntrySums { counts: BlockId, last: BatchId },
    /// For each group, the job of the place kernel, which computes where the records of the group's entries are
    /// written.
    EntryJobs { entries: BlockId, emit_batches: BlockId },
    /// The parameters of the place kernel.
    PlaceEntries { jobs: BlockId, count: u32, turn_steps: u32 },
    /// The ranges of indices whose tables of restarts are computed.
    RestartRanges,
    /// The parameters of the kernel that finds restarts, and of the kernel that scans over the results of the first
    /// kernel's workgroups.
    Reduction { ranges: BlockId, count: u32, scan_count: u32 },
}

/// The parameters with which the setup kernel divides draws of geometry or tessellation shaders into entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) struct EntrySetup {
    /// The value of [`Setup::entry_bits`](vkxfb_rewriter::sysval::setup::Setup::entry_bits).
    pub(in crate::runtime::recording) entry_bits: u32,
    pub(in crate::runtime::recording) tables: BlockId,
}

/// The addresses of the queries that draws add to. An address is 0 if there is no such query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::recording) struct Queries {
    /// The transform feedback query, which counts primitives written and needed.
    pub(in crate::runtime::recording) stream: Address,
    /// The query that counts primitives generated.
    pub(in crate::runtime::recording) generated: Address,
}

impl Queries {
    pub(super) const fn of(command: &DrawCommand) -> Self {
        Self { stream: command.stream_query, generated: command.generated_query }
    }

    pub(super) fn is_none(&self) -> bool {
        [self.stream, self.generated] == [Address::default(); 2]
    }
}
