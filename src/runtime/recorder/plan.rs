//! What is recorded of a capture: kernels, barriers and dispatches that capture, in order. A plan
//! contains no Vulkan handles and no addresses. It is made before memory is taken from the arena, and
//! nothing is recorded before all that can fail is done.
//!
//! There are four ways to make one:
//!
//! | way | when | steps |
//! |---|---|---|
//! | [`Direct`](Way::Direct) | the CPU knows everything | captures; finish kernel, with counters or queries |
//! | [`Fused`](Way::Fused) | one small draw with counters or queries, or that goes on where only the GPU knows | one capture |
//! | [`Resumed`](Way::Resumed) | only the GPU knows where captures begin | resume kernel; captures |
//! | [`Setup`](Way::Setup) | only the GPU knows counts | restart kernel and scan, with primitive restart; setup kernel; captures |

#![forbid(unsafe_code)]

use super::fused::Fusible;
use super::play::After;
use super::resumed::Resumable;
use crate::lower::kernel::Kernel;
use crate::runtime::Barrier;
use crate::runtime::pipeline::Key;
use crate::sysval::DrawSysvals;

/// How a plan was made, with what its parameters are written from.
#[derive(Debug)]
pub(super) enum Way {
    Direct(After),
    Fused {
        draw: Fusible,
        /// The state after the draw, if the CPU knows it.
        known: Option<After>,
    },
    Resumed(Resumable),
    Setup,
}

/// One thing that is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// Copies the position that an earlier recording left to where descriptors reach it, if they do not.
    MoveState,
    Barrier {
        which: Barrier,
        when: When,
        /// What the steps up to the next barrier access.
        then: Touched,
    },
    Kernel {
        kernel: Kernel,
        /// Along two axes.
        workgroups: [u32; 2],
    },
    Capture(CaptureStep),
    /// Makes queries available, with its barriers.
    EndQueries,
}

/// When a barrier is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// If the next steps touch what earlier captures touched, or if that is not known.
    Touched,
    /// The same, if the recording is [played in order](super::Capture::play_in_order).
    InOrder,
}

/// What steps access, apart from the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touched {
    /// The next recording has to be ordered after it.
    Unknown,
    /// What captures read and write.
    Captured,
    /// The same, and counters and queries.
    CapturedAndCounted,
    /// Counters and queries that the finish kernel writes.
    Finished,
}

/// One dispatch that captures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CaptureStep {
    pub(super) key: Key,
    /// The number of the state that the draws share.
    pub(super) state: usize,
    pub(super) draws: Draws,
    pub(super) size: Size,
}

/// Where a dispatch finds its draws. A workgroup never has two of them: `DrawIndex` may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Draws {
    /// In push constants: the placed draw with that number.
    Pushed(usize),
    /// In the list of the dispatch with that number, whose draws the CPU placed.
    Listed(usize),
    /// The same, of one draw or several, and the batch with that number says where they are captured.
    Resumed(usize),
    /// In the batch with that number, whose draws the setup kernel placed.
    Batch(usize),
    /// In push constants: the only draw, whose workgroups place it.
    Fused,
    /// In push constants: the only draw, of which the CPU knows everything but the restarts.
    Restarted(DrawSysvals),
}

/// The number of workgroups of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// As many as are needed.
    Direct(u64),
    /// The most that can be needed: those beyond the draws that the GPU placed do nothing.
    DirectUpTo(u64),
    /// As many as the setup kernel wrote to the batch with that number.
    Indirect(usize),
}

impl Size {
    /// The workgroups that the CPU knows of.
    pub(super) const fn direct(self) -> Option<u64> {
        match self {
            Self::Direct(workgroups) | Self::DirectUpTo(workgroups) => Some(workgroups),
            Self::Indirect(_) => None,
        }
    }
}
