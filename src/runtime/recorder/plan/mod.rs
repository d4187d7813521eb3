//! The second of three phases: what was [collected](super::collect) becomes a [`Plan`], a value without Vulkan
//! handles. It says what is recorded and the memory that this takes, before memory is taken and before anything is
//! recorded. (Whoever [plays](super::play) it adds the tables of push constants and attributes, and barriers where
//! descriptors cover more bytes than are accessed.) The entry point is [`Plan::make`].
//!
//! # Which way
//! A draw is *known* if the CPU knows its counts: it is not indirect, has no byte count, no predicate, and no
//! primitive restart. The position is known unless the capture began with counters, or an earlier recording of it
//! left the position to the GPU. All draws of a recording go the same way, the first one whose condition holds:
//!
//! | file | condition | steps |
//! |---|---|---|
//! | fused.rs | one known draw of at most [8 workgroups](fused::MOST_WORKGROUPS), with a counter or a query to write, or at a position that is not known | barrier; one capture, which writes counters and queries itself |
//! | direct.rs | position and draws are known, also those of geometry shaders that always emit as much | barrier, which is recorded where captures are played in order; captures; with counters or queries: barrier; finish kernel, which writes them |
//! | resumed.rs | known draws at a position that is not known, with the same queries and vertices per primitive, that would all fit into empty buffers; not by descriptors | barrier; resume kernel, which writes counters and queries; barrier; captures |
//! | geometry.rs | other draws of geometry shaders | as setup.rs unless the draws are known; barrier; captures that count; barrier; sums kernel; barrier; place kernel, which writes counters and queries; barrier; captures that store |
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

mod block;
mod direct;
mod fused;
mod geometry;
mod place;
mod restarts;
mod resumed;
mod setup;
mod step;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

pub(super) use self::block::{
    Assembly, BatchId, Block, BlockId, Contents, Queries, Scratch, Upload,
};
pub(super) use self::geometry::EntryGroup;
pub(in crate::runtime) use self::geometry::{MAX_ENTRIES, most_entries};
use self::place::Dispatch;
pub(super) use self::place::ListedNumber;
pub(in crate::runtime) use self::place::{LISTED_BYTES, SMALL};
pub(super) use self::restarts::RestartTables;
pub(super) use self::setup::Group;
pub(super) use self::step::{CaptureStep, Draws, Size, Step, Touched, When};
use super::Captured;
use super::collect::{Collected, Position};
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::aligned;
use crate::runtime::fold::fold;
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::setup::{Finish, Operation};
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
    /// The draws of each dispatch of geometry shaders.
    pub(super) entry_groups: Vec<EntryGroup>,
    /// The number of blocks that their entries have room for.
    pub(super) entry_blocks: u32,
    pub(super) restarts: RestartTables,
    /// Where the next capture begins.
    pub(super) after: Position,
    /// The result of the capture, if the CPU knows it.
    pub(super) captured: Option<Captured>,
    /// The dispatches of the placed draws.
    dispatches: Vec<Dispatch>,
}

/// What plans depend on, beside what was collected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most workgroups of a dispatch along one axis.
    pub(super) workgroups_per_axis: u32,
    /// The most workgroups of a draw that shares a dispatch with others: [`SMALL`], but in tests.
    pub(super) shared_workgroups: u32,
    /// The entries that all draws of a plan share, a power of two: [`MAX_ENTRIES`], but in tests.
    pub(super) entries: u64,
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
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::DescriptorSetUnknown`],
    /// [`RuntimeError::TooManyPrimitives`], [`RuntimeError::TooManyDraws`].
    pub(super) fn make(
        &mut self,
        limits: &Limits,
        collected: &Collected,
        counters: &[Address; MAX_XFB_BUFFERS],
        may_fuse: bool,
    ) -> Result<(), RuntimeError> {
        self.clear();
        let mut planner = Planner { limits, collected, counters, plan: self };
        planner.plan_draws(may_fuse)?;
        planner.plan_ends()
    }

    /// Forgets everything. The memory is kept.
    fn clear(&mut self) {
        self.steps.clear();
        self.blocks.clear();
        self.forget_placed();
        self.operations.clear();
        self.groups.clear();
        self.entry_groups.clear();
        self.entry_blocks = 0;
        self.restarts.clear();
    }

    /// Forgets the placed draws and their dispatches.
    fn forget_placed(&mut self) {
        self.placed.clear();
        self.dispatches.clear();
    }

    /// Adds a block of `size` bytes that the GPU writes.
    fn scratch(&mut self, contents: Scratch, size: u64) -> BlockId {
        push_block(&mut self.blocks, Contents::Scratch(contents), size)
    }

    /// Adds a block of `size` bytes that the CPU writes.
    fn upload(&mut self, contents: Upload, size: usize) -> BlockId {
        push_block(&mut self.blocks, Contents::Upload(contents), size as u64)
    }

    /// The bytes of upload and of scratch memory that all blocks take.
    pub(super) fn memory(&self) -> (u64, u64) {
        let of = |block: &Block| match block.contents {
            Contents::Scratch(_) => (0, aligned(block.size)),
            Contents::Upload(_) => (aligned(block.size), 0),
        };
        self.blocks.iter().map(of).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    }

    /// The bytes of scratch memory that every recording into a command buffer may take again.
    pub(super) fn reused_memory(&self) -> u64 {
        let is_reused = |block: &&Block| block.contents == Contents::Scratch(Scratch::EntryCounts);
        self.blocks.iter().find(is_reused).map_or(0, |block| block.size)
    }

    pub(super) fn capture_steps(&self) -> impl Iterator<Item = &CaptureStep> {
        self.steps.iter().filter_map(|step| match step {
            Step::Capture(capture) => Some(capture),
            _ => None,
        })
    }

    pub(super) fn is_fused(&self) -> bool {
        self.capture_steps().any(|capture| matches!(capture.draws, Draws::Fused(..)))
    }
}

impl Planner<'_> {
    fn plan_draws(&mut self, may_fuse: bool) -> Result<(), RuntimeError> {
        let all_known = self.collected.draws.iter().all(|draw| draw.is_known());
        if self.has_geometry() {
            return match self.collected.position {
                Position::Known(record) if all_known && self.emits_always() => {
                    self.place_draws(record)?;
                    self.plan_direct()
                }
                _ => self.plan_geometry(),
            };
        }
        let fusible = self.fusible().filter(|_| may_fuse);
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
        let operations = self.plan.upload(Upload::Operations(first..end), size);
        let finish = Upload::Finish { operations, count: count as u32 };
        let parameters = self.plan.upload(finish, size_of::<Finish>());
        Ok(Some(Step::Kernel { kernel: Kernel::Finish, parameters, workgroups }))
    }

    /// Blocks for the positions after the draws, and for those of an earlier recording where descriptors may
    /// not reach them.
    fn positions(&mut self) {
        self.plan.scratch(Scratch::Positions, POSITIONS_SIZE);
        if self.limits.by_descriptors && self.collected.position == Position::Earlier {
            let moved = self.plan.scratch(Scratch::MovedPositions, POSITIONS_SIZE);
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
        if !self.limits.by_descriptors {
            return Ok(());
        }
        match self.collected.unbound_set() {
            Some(set) => Err(RuntimeError::DescriptorSetUnknown { set }),
            None => Ok(()),
        }
    }
}

fn push_block(blocks: &mut Vec<Block>, contents: Contents, size: u64) -> BlockId {
    blocks.push(Block { contents, size });
    BlockId(blocks.len() - 1)
}
