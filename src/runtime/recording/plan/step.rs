//! The steps that a plan consists of.

use crate::runtime::device::barrier::Barrier;
use crate::runtime::pipelines::pipeline::Key;
use crate::runtime::recording::plan::{BatchId, BlockId};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::DrawSysvals;

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
/// | `Emitted` | `Listed`; `General` for a single draw, or for draws of the setup kernel |
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
    /// Draws of a geometry or tessellation shader. Either the CPU `listed` these draws, or they are in a batch that the
    /// setup kernel wrote. For the emit pass, the `batch` that the place kernel wrote says where they are captured.
    Emitted {
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
