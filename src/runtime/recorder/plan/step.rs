//! What is recorded.

use super::{BatchId, BlockId};
use crate::lower::kernel::Kernel;
use crate::runtime::Barrier;
use crate::runtime::pipeline::Key;
use crate::sysval::DrawSysvals;

/// One thing that is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Step {
    /// Copies the positions that an earlier recording left to a block, unless descriptors reach them where they
    /// are.
    MovePositions(BlockId),
    Barrier {
        which: Barrier,
        when: When,
        /// What the steps up to the next barrier access.
        then: Touched,
    },
    Kernel {
        kernel: Kernel,
        parameters: BlockId,
        /// Along two axes.
        workgroups: [u32; 2],
    },
    Capture(CaptureStep),
}

/// When a barrier is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum When {
    Always,
    /// If the next steps touch what earlier captures touched, or if that is not known.
    Touched,
    /// The same, if the recording is [played in order](super::super::Capture::play_in_order).
    InOrder,
}

/// What steps access, apart from the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Touched {
    /// The next recording has to be ordered after it.
    Unknown,
    /// What captures read and write.
    Captured,
    /// The same, and counters and queries.
    CapturedAndCounted,
    /// What the operations with these numbers write.
    Operations { first: usize, end: usize },
    /// Nothing: the barrier is for the host.
    Nothing,
}

/// One dispatch that captures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct CaptureStep {
    pub(in super::super) key: Key,
    /// The number of the state that the draws share.
    pub(in super::super) state: usize,
    pub(in super::super) draws: Draws,
    pub(in super::super) size: Size,
}

/// Where a dispatch finds its draws. A workgroup never has two of them: `DrawIndex` may differ.
///
/// The [`Source`](crate::runtime::pipeline::Source) of its key:
///
/// | draws | source |
/// |---|---|
/// | `Pushed` | `Pushed`; `Placed` if the draw is small and needs checks, or where accesses may be unaligned or far |
/// | `Restarted` | `Pushed`, with `restart` |
/// | `Listed` | `Listed` |
/// | `Resumed` | `Listed`; `Placed` of one draw |
/// | `Batch` | `Placed` |
/// | `Emitted` | `Listed`; `Placed` of one draw, or of those of the setup kernel |
/// | `Fused` | `Fused` |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Draws {
    /// In push constants: one, which the CPU placed.
    Pushed(DrawSysvals),
    /// So many, at least two, which the CPU placed, in a block of [`Upload::Listed`](super::Upload::Listed).
    Listed(BlockId, usize),
    /// The same, of one draw or several, and a batch of the resume kernel says where they are captured.
    Resumed(BlockId, usize, BatchId),
    /// Draws of a geometry shader: so many, which the CPU listed, or those of the batch, which the setup kernel
    /// found out. The batch of the place kernel says where they are captured.
    Emitted {
        listed: Option<(BlockId, usize)>,
        batch: BatchId,
        entries: BatchId,
        /// Whether primitives are counted, and not stored.
        is_counting: bool,
    },
    /// In a batch, whose draws the setup kernel placed.
    Batch(BatchId),
    /// In push constants: one draw, which is not clamped. Its workgroups place it, with [`Upload::Fused`](super::Upload::Fused).
    Fused(DrawSysvals, BlockId),
    /// In push constants: one draw, of which the CPU knows everything but the restarts, which are in a table.
    Restarted(DrawSysvals, BlockId),
}

/// The number of workgroups of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Size {
    /// As many as are needed, for draws of which the CPU knows that. A fused draw may turn out to need fewer.
    Direct(u64),
    /// The most that can be needed, each draw by itself: by its own count, or where only the GPU knows that, by the
    /// room in empty buffers. Workgroups beyond what is placed do nothing. For known draws that the setup kernel
    /// places, for all draws that it places where indirect dispatches do not work, and for [`Draws::Restarted`].
    DirectUpTo(u64),
    /// As many as the setup kernel wrote to the batch, for draws that are not known.
    Indirect(BatchId),
}

impl Size {
    /// The workgroups that the CPU knows of.
    pub(in super::super) const fn direct(self) -> Option<u64> {
        match self {
            Self::Direct(workgroups) | Self::DirectUpTo(workgroups) => Some(workgroups),
            Self::Indirect(_) => None,
        }
    }
}
