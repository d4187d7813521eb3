//! The steps that a plan consists of.

use super::{BatchId, BlockId};
use crate::lower::kernel::Kernel;
use crate::runtime::Barrier;
use crate::runtime::pipeline::Key;
use crate::sysval::DrawSysvals;

/// A step of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Step {
    /// Copies the positions of an earlier recording to a block. If the memory that has them is covered by
    /// descriptors, nothing is copied.
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
        /// The number of workgroups along two axes.
        workgroups: [u32; 2],
    },
    Capture(CaptureStep),
}

/// The condition for recording a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum When {
    Always,
    /// The barrier is recorded if the steps after it access memory that earlier captures accessed,
    /// or if it is not known whether they do.
    Touched,
    /// As for [`Touched`](Self::Touched), but the barrier is recorded only if the capture is [played in
    /// order](super::super::Capture::play_in_order).
    InOrder,
}

/// The memory that steps access, apart from the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Touched {
    /// The memory is not known: the next recording must be ordered after these steps.
    Unknown,
    /// The memory that captures read and write.
    Captured,
    /// The memory that captures read and write, and counters and queries.
    CapturedAndCounted,
    /// The memory that the operations of the finish kernel with these indices write.
    Operations { first: usize, end: usize },
    /// The steps access nothing: the barrier is for the host.
    Nothing,
}

/// A dispatch that captures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct CaptureStep {
    pub(in super::super) key: Key,
    /// The index of the state that the draws share.
    pub(in super::super) state: usize,
    pub(in super::super) draws: Draws,
    pub(in super::super) size: Size,
}

/// The source from which a dispatch reads its draws. A workgroup never has two draws, because their
/// `DrawIndex` may differ.
///
/// The table lists the [`Source`](crate::runtime::pipeline::Source) of the pipeline's key:
///
/// | draws | source |
/// |---|---|
/// | `Pushed` | `Pushed`; `General` if the draw is small and needs checks, or where accesses may be unaligned or far |
/// | `Restarted` | `Pushed`, with `restart` |
/// | `Listed` | `Listed` |
/// | `Resumed` | `Listed`; `General` of one draw |
/// | `Batch` | `General` |
/// | `Emitted` | `Listed`; `General` of one draw, or of those of the setup kernel |
/// | `Fused` | `Fused` |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Draws {
    /// A single draw in push constants, which the CPU placed.
    Pushed(DrawSysvals),
    /// At least two draws, which the CPU placed. They are in a block of
    /// [`Upload::Listed`](super::Upload::Listed); the second member is their number.
    Listed(BlockId, usize),
    /// Draws in a block of the same form as for [`Listed`](Self::Listed). There may be only one. A batch of
    /// the resume kernel says where they are captured.
    Resumed(BlockId, usize, BatchId),
    /// Draws of a geometry shader, which the CPU `listed`, or which are in a batch that the setup kernel
    /// wrote. The batch of the place kernel says where they are captured.
    Emitted {
        listed: Option<(BlockId, usize)>,
        batch: BatchId,
        entries: BatchId,
        /// Whether this is the counting run of the geometry shaders, which precedes the run that stores the
        /// records.
        is_counting: bool,
    },
    /// The draws of a batch, which the setup kernel placed.
    Batch(BatchId),
    /// A single draw in push constants that is not clamped. The workgroups of its own dispatch place it, with
    /// the parameters in [`Upload::Fused`](super::Upload::Fused).
    Fused(DrawSysvals, BlockId),
    /// A single draw in push constants. The CPU knows everything about it except its restarts, which are in
    /// the table in the block.
    Restarted(DrawSysvals, BlockId),
}

/// The number of workgroups of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Size {
    /// The exact number of workgroups, for draws whose counts the CPU knows. A fused draw may turn out to
    /// need fewer.
    Direct(u64),
    /// The largest number of workgroups that may be needed; surplus workgroups do nothing. For each draw it
    /// follows from the draw's count or, if only the GPU knows the count, from the size of the buffers. This
    /// is the size for known draws that the setup kernel places, for all draws that it places if indirect
    /// dispatches do not work, and for [`Draws::Restarted`].
    DirectUpTo(u64),
    /// The number of workgroups that the setup kernel wrote to the batch, for draws that are not known.
    Indirect(BatchId),
}

impl Size {
    /// The number of workgroups, if the CPU knows it.
    pub(in super::super) const fn direct(self) -> Option<u64> {
        match self {
            Self::Direct(workgroups) | Self::DirectUpTo(workgroups) => Some(workgroups),
            Self::Indirect(_) => None,
        }
    }
}
