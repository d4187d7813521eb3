//! The second of three rooms: what was [collected](super::collect) becomes a [`Plan`], a value without Vulkan
//! handles. It says everything that is recorded and all memory that it takes, before memory is taken and
//! before anything is recorded. The door is [`Plan::make`].
//!
//! # Which way
//! A draw is *known* if the CPU knows its counts: it is not indirect, has no byte count, no predicate, and no
//! primitive restart. The position is known unless the capture began with counters, or an earlier recording of it
//! left the position to the GPU. All draws of a recording go the same way, the first one whose condition holds:
//!
//! | file | condition | steps |
//! |---|---|---|
//! | fused.rs | one known draw of at most [8 workgroups](fused::MOST_WORKGROUPS), with a counter or a query to write, or at a position that is not known | barrier; one capture, which writes counters and queries itself |
//! | direct.rs | position and draws are known | barrier, which is recorded where captures are played in order; captures; with counters or queries: barrier; finish kernel, which writes them |
//! | resumed.rs | known draws at a position that is not known, with the same queries and vertices per primitive, that would all fit into empty buffers; not by descriptors | barrier; resume kernel, which writes counters and queries; barrier; captures |
//! | setup.rs | otherwise | barrier; setup kernel, which writes counters and queries; barrier; captures |
//!
//! Primitive restart always goes by setup.rs: between the first barrier and the setup kernel stand the restart kernel,
//! with a range of more than 8,192 indices a barrier and a scan, and one more barrier. The capture of a single direct
//! draw with restart and without a predicate, whose position is known, needs only these kernels
//! ([`Draws::Restarted`]), so by addresses there is no barrier between the setup kernel and it. The setup kernel then
//! writes counters, queries and the position after the draw.
//!
//! The ends of queries follow, as a finish kernel of their own: barrier; finish kernel; barrier. By descriptors, at a
//! position that an earlier recording left, the positions are moved before everything.
//!
//! # Which dispatches
//! A draw needs one invocation for each vertex or index that it draws (of a strip, too, however many copies of it are
//! captured), and two for each of a fan.
//!
//! * The CPU places draws (direct.rs, resumed.rs): consecutive ones with one [`State`](super::collect::State) share a
//!   dispatch if each needs at most [`SMALL`] workgroups. Any other has a dispatch of its own. Draws that write
//!   nothing, for their count or for want of room, are left out.
//! * The setup kernel places draws: consecutive ones with one state share a dispatch, whatever their size, unless they
//!   differ in primitive restart or in the variant of their [`Size`].

#![forbid(unsafe_code)]

mod direct;
mod fused;
mod place;
mod restarts;
mod resumed;
mod setup;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

use std::ops::Range;

use self::place::Dispatch;
pub(super) use self::place::ListedNumber;
pub(in crate::runtime) use self::place::{LISTED_BYTES, SMALL};
pub(super) use self::restarts::RestartTables;
pub(super) use self::setup::Group;
use super::Captured;
use super::collect::{Collected, Position};
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::aligned;
use crate::runtime::fold::fold;
use crate::runtime::pipeline::Key;
use crate::runtime::{Barrier, Context, RuntimeError};
use crate::sysval::setup::{Fused, Operation, Resume, Setup};
use crate::sysval::{Address, DrawSysvals};

/// Bytes of the positions that one recording leaves for the next one.
pub(super) const POSITIONS_SIZE: u64 = size_of::<[u32; MAX_XFB_BUFFERS]>() as u64;

/// Everything that is recorded of what was collected. Addresses are those of [`Collected`], which must be
/// [resolved](super::collect::resolve). Its memory is kept for the next plan.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What is recorded, in order.
    pub(super) steps: Vec<Step>,
    /// The memory that the steps read and write, in the order in which it is taken from the arena.
    pub(super) blocks: Vec<Block>,
    /// The draws that the CPU placed.
    pub(super) placed: Vec<DrawSysvals>,
    /// What the finish kernel does: first for counters and queries whose values the CPU knows, then the ends
    /// of queries.
    pub(super) operations: Vec<Operation>,
    /// The draws of each dispatch that the setup kernel places draws for.
    pub(super) groups: Vec<Group>,
    pub(super) restarts: RestartTables,
    /// Where the next capture begins.
    pub(super) after: Position,
    /// The result of the capture, if the CPU knows it.
    pub(super) captured: Option<Captured>,
    /// The dispatches of the placed draws.
    dispatches: Vec<Dispatch>,
}

/// One thing that is recorded.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Copies the positions that an earlier recording left to a block, where descriptors reach them, if they
    /// do not reach them where they are.
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
    /// What the operations with these numbers write.
    Operations { first: usize, end: usize },
    /// Nothing: the barrier is for the host.
    Nothing,
}

/// One dispatch that captures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CaptureStep {
    pub(super) key: Key,
    /// The number of the state that the draws share.
    pub(super) state: usize,
    pub(super) draws: Draws,
    pub(super) size: Size,
}

/// Where a dispatch finds its draws. A workgroup never has two of them: `DrawIndex` may differ.
///
/// The [`Source`](crate::runtime::pipeline::Source) of its key:
///
/// | draws | source |
/// |---|---|
/// | `Pushed` | `Pushed`; `Placed` where accesses may be unaligned or far |
/// | `Restarted` | `Pushed`, with `restart` |
/// | `Listed` | `Listed` |
/// | `Resumed` | `Listed`; `Placed` of one draw |
/// | `Batch` | `Placed` |
/// | `Fused` | `Fused` |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Draws {
    /// In push constants: one, which the CPU placed.
    Pushed(DrawSysvals),
    /// So many, at least two, which the CPU placed, in a block of [`Contents::Listed`].
    Listed(BlockId, usize),
    /// The same, of one draw or several, and a batch of the resume kernel says where they are captured.
    Resumed(BlockId, usize, BatchId),
    /// In a batch, whose draws the setup kernel placed.
    Batch(BatchId),
    /// In push constants: one draw, which is not clamped. Its workgroups place it, with [`Contents::Fused`].
    Fused(DrawSysvals, BlockId),
    /// In push constants: one draw, of which the CPU knows everything but the restarts, which are in a table.
    Restarted(DrawSysvals, BlockId),
}

/// The number of workgroups of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
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
    pub(super) const fn direct(self) -> Option<u64> {
        match self {
            Self::Direct(workgroups) | Self::DirectUpTo(workgroups) => Some(workgroups),
            Self::Indirect(_) => None,
        }
    }
}

/// The number of a [`Block`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockId(pub(super) usize);

/// One of several equally large batches in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchId {
    pub(super) block: BlockId,
    pub(super) number: usize,
    /// Bytes from one batch to the next.
    pub(super) size: u64,
}

/// Memory of the arena.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) contents: Contents,
    /// Bytes.
    pub(super) size: u64,
}

/// What a block contains. It refers to earlier blocks only, so that blocks can be written in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Contents {
    /// What the GPU writes: scratch memory.
    Written(Written),
    /// Draws that the CPU placed, followed by the number of the draw of each workgroup, where there are
    /// several.
    Listed { draws: Range<usize>, workgroups: usize },
    /// A [`Batch`](crate::sysval::Batch) for each of so many consecutive blocks of listed draws.
    Batches { first: BlockId, count: usize },
    /// Operations of the finish kernel.
    Operations { first: usize, end: usize },
    /// The parameters of the finish kernel, for a block of operations.
    Finish { operations: BlockId, count: u32 },
    /// The parameters of a fused capture, but for its progress.
    Fused(Fused),
    /// The parameters of the resume kernel, but for its progress.
    Resume { known: BlockId, batches: BlockId, resume: Resume },
    /// The draws as they were collected, for the setup kernel.
    Inputs,
    /// The workgroup size of each group.
    WorkgroupSizes,
    /// The parameters of the setup kernel, but for its progress.
    Setup { inputs: BlockId, draws: BlockId, groups: BlockId, batches: BlockId, setup: Setup },
    /// The ranges of indices that tables of restarts are made for.
    RestartRanges,
    /// The parameters of the restart kernel and of its scan.
    Reduction { ranges: BlockId, count: u32, scan_count: u32 },
}

/// What the GPU writes to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// The positions after the last draw.
    Positions,
    /// A copy of the positions of an earlier recording.
    MovedPositions,
    /// The draws that the setup kernel places.
    PlacedDraws,
    /// The batches of the resume kernel or of the setup kernel.
    Batches,
    /// The table of the restarts in a range of indices.
    RestartTable,
}

/// What plans depend on, beside what was collected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most workgroups of a dispatch along one axis.
    pub(super) workgroups_per_axis: u32,
    /// The most workgroups of a draw that shares a dispatch with others: [`SMALL`], but in tests.
    pub(super) shared_workgroups: u32,
    /// Whether shaders reach buffers by descriptors, and not by addresses.
    pub(super) by_descriptors: bool,
    /// Whether dispatches may be indirect.
    pub(super) indirect_dispatch: bool,
    /// Whether pipelines for one draw test the alignment of accesses.
    pub(super) tests_alignment: bool,
    /// Whether the barrier before the ends of queries is left out. They then precede what they count, so that a
    /// test notices.
    pub(super) ends_first: bool,
}

impl Limits {
    pub(super) fn of(ctx: &Context) -> Self {
        Self {
            workgroups_per_axis: ctx.max_workgroups_per_axis(),
            shared_workgroups: ctx.max_shared_workgroups(),
            by_descriptors: ctx.table().is_some(),
            indirect_dispatch: ctx.has_indirect_dispatch(),
            tests_alignment: ctx.tests_alignment(),
            ends_first: ctx.omits(Barrier::ValuesToEnds),
        }
    }
}

/// Makes a plan.
struct Planner<'a> {
    limits: &'a Limits,
    collected: &'a Collected,
    /// The counters to end with, by capture buffer.
    counters: &'a [Address; MAX_XFB_BUFFERS],
    plan: &'a mut Plan,
}

impl Plan {
    /// Plans what is recorded of `collected`. `counters` are those to end with. A plan that is not fused is
    /// made where `may_fuse` is false.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`].
    pub(super) fn make(
        &mut self,
        limits: &Limits,
        collected: &Collected,
        counters: &[Address; MAX_XFB_BUFFERS],
        may_fuse: bool,
    ) -> Result<(), RuntimeError> {
        self.clear();
        (self.after, self.captured) = (collected.position, collected.captured);
        let mut planner = Planner { limits, collected, counters, plan: self };
        planner.plan_draws(may_fuse)?;
        planner.plan_ends()
    }

    /// Forgets everything. The memory is kept.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.blocks.clear();
        self.forget_placed();
        self.operations.clear();
        self.groups.clear();
        self.restarts.clear();
    }

    /// Forgets the placed draws and their dispatches.
    fn forget_placed(&mut self) {
        self.placed.clear();
        self.dispatches.clear();
    }

    fn block(&mut self, contents: Contents, size: u64) -> BlockId {
        self.blocks.push(Block { contents, size });
        BlockId(self.blocks.len() - 1)
    }

    /// The bytes of upload and of scratch memory that all blocks take.
    pub(super) fn memory(&self) -> (u64, u64) {
        let of = |block: &Block| match block.contents {
            Contents::Written(_) => (0, aligned(block.size)),
            _ => (aligned(block.size), 0),
        };
        self.blocks.iter().map(of).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    }

    pub(super) fn captures(&self) -> impl Iterator<Item = &CaptureStep> {
        self.steps.iter().filter_map(|step| match step {
            Step::Capture(capture) => Some(capture),
            _ => None,
        })
    }

    pub(super) fn is_fused(&self) -> bool {
        self.captures().any(|capture| matches!(capture.draws, Draws::Fused(..)))
    }
}

impl Planner<'_> {
    fn plan_draws(&mut self, may_fuse: bool) -> Result<(), RuntimeError> {
        let fusible = self.fusible().filter(|_| may_fuse);
        let all_known = self.collected.draws.iter().all(|draw| draw.is_known());
        match self.collected.position {
            Position::Known(record) if all_known => {
                self.place_draws(record)?;
                // Without operations or captures there is nothing to fuse.
                let fused = !self.plan.operations.is_empty() && !self.plan.dispatches.is_empty();
                match fusible.filter(|_| fused) {
                    Some(draw) => self.plan_fused(&draw, true),
                    None => self.plan_direct(),
                }
            }
            _ => match fusible {
                Some(draw) => self.plan_fused(&draw, false),
                None => match self.resumable()? {
                    Some(all) => self.plan_resumed(&all),
                    None => self.plan_setup(),
                },
            },
        }
    }

    /// Plans the ends of queries.
    fn plan_ends(&mut self) -> Result<(), RuntimeError> {
        let first = self.plan.operations.len();
        self.plan.operations.extend_from_slice(&self.collected.ends);
        let Some(kernel) = self.finish(first)? else { return Ok(()) };
        let steps = [
            Step::Barrier {
                which: Barrier::ValuesToEnds,
                when: When::Always,
                then: Touched::Operations { first, end: self.plan.operations.len() },
            },
            kernel,
            Step::Barrier {
                which: Barrier::EndsToHost,
                when: When::Always,
                then: Touched::Nothing,
            },
        ];
        let place = if self.limits.ends_first { 0 } else { self.plan.steps.len() };
        self.plan.steps.splice(place..place, steps);
        Ok(())
    }

    /// A finish kernel for the operations from number `first` on, if there are any.
    fn finish(&mut self, first: usize) -> Result<Option<Step>, RuntimeError> {
        let end = self.plan.operations.len();
        let count = end - first;
        if count == 0 {
            return Ok(None);
        }
        let workgroups = fold(count as u64, self.limits.workgroups_per_axis)?;
        let size = count * size_of::<Operation>();
        let operations = self.plan.block(Contents::Operations { first, end }, size as u64);
        let finish = Contents::Finish { operations, count: count as u32 };
        let size = size_of::<crate::sysval::setup::Finish>();
        let parameters = self.plan.block(finish, size as u64);
        Ok(Some(Step::Kernel { kernel: Kernel::Finish, parameters, workgroups }))
    }

    /// Blocks for the positions after the draws, and for those of an earlier recording where descriptors may
    /// not reach them.
    fn positions(&mut self) {
        self.plan.block(Contents::Written(Written::Positions), POSITIONS_SIZE);
        if self.limits.by_descriptors && self.collected.position == Position::Earlier {
            let moved = Contents::Written(Written::MovedPositions);
            let moved = self.plan.block(moved, POSITIONS_SIZE);
            self.plan.steps.push(Step::MovePositions(moved));
        }
        (self.plan.after, self.plan.captured) = (Position::Earlier, None);
    }

    /// Kernels disturb the descriptor sets of the application where they have some themselves: checks that the
    /// recorder bound every set that draws read.
    ///
    /// # Errors
    /// [`RuntimeError::DescriptorSetUnknown`].
    fn check_sets(&self) -> Result<(), RuntimeError> {
        match self.collected.unbound_set().filter(|_| self.limits.by_descriptors) {
            Some(set) => Err(RuntimeError::DescriptorSetUnknown { set }),
            None => Ok(()),
        }
    }
}
