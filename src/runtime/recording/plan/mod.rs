//! The second of three phases: makes a [`Plan`] of what was [collected](crate::runtime::recording::collect). The plan
//! is a value without Vulkan handles. It contains the steps to record and the memory that they take, before memory is
//! taken and before anything is recorded. (The phase [play](crate::runtime::recording::play) adds the tables of push
//! constants and attributes, and barriers if descriptors cover more bytes than are accessed.) The entry point is
//! [`Plan::make`].
//!
//! # The choice of steps
//! A draw is *known* if the CPU knows its counts: it is direct (neither indirect nor a byte-count draw), has no
//! predicate, and primitive restart is disabled. The position of the first draw is *known* unless the capture began
//! with counters, or the GPU wrote the position in an earlier recording of the capture.
//!
//! A plan is for one vertex stream: each stream that a capture captures or counts has its own plan, and the plans are
//! played one after the other. The draws of a plan either all have geometry or tessellation shaders, or none has: a
//! recording with both kinds is [cut](crate::runtime::recording::collect::Collected::parts), and has a plan for each
//! part. All draws of a plan are planned in the same way, by the first row whose condition is true:
//!
//! | file | condition | steps |
//! |---|---|---|
//! | place.rs | geometry shaders that always emit the same number of primitives, and position and draws are known | as place.rs below |
//! | geometry.rs | other draws of geometry shaders, and all draws of tessellation shaders | as setup.rs, unless the draws are known; barrier; count pass; barrier; sums kernel; barrier; place kernel, which writes counters and queries; if something is captured: barrier; emit pass |
//! | fused.rs | one known draw of at most [8 workgroups](fused::MOST_WORKGROUPS), with a counter or a query to write, or at a position that is not known | barrier; one capture, which writes counters and queries itself |
//! | place.rs | position and draws are known | barrier; captures; with counters or queries: barrier; finish kernel, which writes them |
//! | resumed.rs | known draws at a position that is not known, with the same queries and vertices per primitive, that would all fit into empty buffers; not under the descriptor plan | barrier; resume kernel, which writes counters and queries; barrier; captures |
//! | setup.rs | otherwise | barrier; setup kernel, which writes counters and queries; barrier; captures |
//!
//! The barriers before a fused capture and before the finish kernel are recorded only if the steps after them touch
//! memory of earlier captures ([`When`]). The first barrier of place.rs is recorded only if, in addition, the captures
//! are [played in order](crate::runtime::Capture::play_in_order). All other barriers are always recorded.
//!
//! Draws with primitive restart are not known. Between the first barrier and the setup kernel (or the kernel in its
//! place) these steps are added: the restart kernel; if a range has more than 8,192 indices, a barrier and a scan
//! kernel; and one more barrier.
//!
//! A single direct draw with primitive restart, of one instance, without a predicate, whose indices are within the
//! bound range, and at a position that is known, depends only on the added kernels ([`Draws::Restarted`]). So with
//! device addresses there is no barrier between the setup kernel and this capture. The setup kernel then writes
//! counters, queries and the position after the draw.
//!
//! Queries that have ended need further steps at the end: barrier; finish kernel; barrier. Under the descriptor plan,
//! if an earlier recording wrote the position, a first step copies the position.
//!
//! On processors, the setup kernel and the place kernel have a single invocation. For very many draws they are
//! dispatched several times, with barriers between (turns.rs).
//!
//! Several captures that were begun in one [`Capture`](crate::runtime::Capture) are planned together, as in place.rs,
//! if all their positions and draws are known, and if no capture accesses bytes that another one writes
//! ([`Plan::make_joined`]). Otherwise each part of each capture has its own plan.
//!
//! # The choice of dispatches
//! A draw needs one invocation for each vertex or index, and in a fan two. In a strip, one invocation may capture its
//! vertex several times.
//!
//! * If the CPU places draws (place.rs, resumed.rs), consecutive draws with the same pipeline and descriptor sets share
//!   a dispatch if each needs at most [`MAX_SHARED_WORKGROUPS`] workgroups
//!   ([`share_dispatch`](crate::runtime::recording::collect::Collected::share_dispatch)). Every other draw has its own dispatch. Draws that
//!   write nothing, because they are empty or the buffers are full, are omitted.
//! * If the setup kernel places draws, consecutive draws with one state share a dispatch, whatever their size is,
//!   provided that they agree on primitive restart, and that all need a direct dispatch or all an indirect one
//!   ([`Size`]).
//! * Consecutive draws of geometry and tessellation shaders share a dispatch, whatever their size is, if they have the
//!   same queries, and the same pipeline and descriptor sets, or one state if the setup kernel divides them into
//!   entries. An invocation processes an entry: a run of their primitives or patches.

#![forbid(unsafe_code)]

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
mod turns;

use std::ops::Range;

pub(super) use self::geometry::EntryGroup;
pub(crate) use self::geometry::most_entries;
use self::place::Dispatch;
pub(crate) use self::place::LISTED_BYTES;
pub(super) use self::place::{ListedNumber, Placed};
pub(super) use self::restarts::RestartTables;
pub(super) use self::setup::Group;
pub(super) use self::step::{
    BatchId, BlockId, CaptureStep, Contents, Draws, EntrySetup, MemoryBlock, Queries, Scratch,
    Size, Step, Touched, Upload, When,
};
pub(super) use self::turns::TURN_WORKGROUPS;
use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::fold;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::recording::capture_desc::Captured;
use crate::runtime::recording::collect::{Collected, Position};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::setup::{Finish, Operation};
use vkxfb_rewriter::sysval::{Address, Sysvals};

/// The size in bytes of the positions that one recording writes for the next recording of the capture.
pub(super) const POSITIONS_SIZE: u64 = size_of::<[u32; MAX_XFB_BUFFERS]>() as u64;

/// The steps to record for a [`Collected`] (the draws of one vertex stream), and the memory of these steps. Addresses
/// must be [resolved](crate::runtime::memory::addresses::resolve) before shaders use them. A `Plan` is reused for later
/// recordings, so that its heap memory is allocated once.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// The memory that the steps read and write, in the order in which it is taken from the arena.
    pub(super) blocks: Vec<MemoryBlock>,
    /// The ranges of addresses in the capture buffers that are written, if `after` is [`Position::Known`]. Otherwise
    /// only the GPU knows them, and the list is empty or has no meaning.
    pub(super) written: Vec<Range<u64>>,
    /// The draws that the CPU placed.
    pub(super) placed: Vec<Placed>,
    /// The operations of the finish kernel: first writes of counters and queries whose values the CPU knows, then ends
    /// of queries.
    pub(super) operations: Vec<Operation>,
    /// The groups of draws that the setup kernel places. One dispatch captures each group.
    pub(super) groups: Vec<Group>,
    /// The groups of draws with geometry or tessellation shaders. One dispatch captures each group.
    pub(super) entry_groups: Vec<EntryGroup>,
    /// The number of blocks of entries (runs of primitives) that all `entry_groups` take together.
    pub(super) entry_blocks: u32,
    pub(super) restarts: RestartTables,
    /// Where the next recording of the capture begins.
    pub(super) after: Position,
    /// The result of the capture after the draws of this plan. `None` if the CPU does not know it, and for several
    /// captures that are planned together.
    pub(super) captured: Option<Captured>,
    /// The dispatches of the `placed` draws.
    dispatches: Vec<Dispatch>,
}

/// The properties and settings of a context that a plan depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The largest number of workgroups of a dispatch along one axis.
    pub(super) workgroups_per_axis: u32,
    /// The number of workgroups up to which a draw shares a dispatch with other draws: [`MAX_SHARED_WORKGROUPS`],
    /// except in tests.
    pub(super) shared_workgroups: u32,
    /// The number of entries (runs of primitives) that all draws of a plan share, a power of two: [`MAX_ENTRIES`],
    /// except in tests.
    pub(super) entries: u64,
    /// Whether shaders access buffers by descriptors instead of addresses.
    pub(super) by_descriptors: bool,
    /// Whether dispatches may be indirect.
    pub(super) indirect_dispatch: bool,
    /// Whether a single invocation of a kernel processes the draws.
    pub(super) serial_kernels: bool,
    /// The number of rounds of loops that such an invocation may take: [`MAX_KERNEL_ROUNDS`], except in tests.
    pub(super) kernel_rounds: u64,
    /// Whether Vulkan pipelines for one draw test the alignment of accesses.
    pub(super) tests_alignment: bool,
    /// Whether a test omits [`Barrier::ValuesToEnds`]. In that case the ends of queries are recorded before the
    /// commands that write the values, so that the results are certainly wrong.
    pub(super) ends_first: bool,
}

/// The data with which a plan is made from collected draws.
struct Planner<'a> {
    limits: &'a Limits,
    collected: &'a Collected,
    /// For each capture buffer, the address of the counter that the end of the capture writes, or 0.
    counters: &'a [Address; MAX_XFB_BUFFERS],
    plan: &'a mut Plan,
}

impl Plan {
    /// Plans the recording of `collected`. `counters` are the addresses of the counters that the end of the capture
    /// writes, or 0. If `may_fuse` is false, no fused capture is planned.
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
        let mut planner = Planner { limits, collected, counters, plan: self };
        planner.plan_draws(may_fuse)?;
        planner.plan_ends()
    }

    /// Plans all captures of `collected` ([`Collected::ended`]) together, so that they share barriers and the finish
    /// kernel: they run at the same time. Returns `false` if they must be recorded one after the other, because the CPU
    /// does not know the draws of the current one, or because a capture accesses bytes that another one writes.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`].
    pub(super) fn make_joined(
        &mut self,
        limits: &Limits,
        collected: &Collected,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Result<bool, RuntimeError> {
        self.clear();
        let Position::Known(record) = collected.position else { return Ok(false) };
        if !collected.knows_draws() {
            return Ok(false);
        }
        let mut planner = Planner { limits, collected, counters, plan: self };
        planner.place_draws(record)?;
        if !planner.are_apart() {
            return Ok(false);
        }
        planner.plan_direct()?;
        planner.plan_finish()?;
        planner.plan_ends()?;
        Ok(true)
    }

    /// Removes the previous plan, except for `restarts`, which [`plan_restarts`](Planner::plan_restarts) clears. The
    /// heap memory is kept.
    fn clear(&mut self) {
        self.steps.clear();
        self.blocks.clear();
        self.written.clear();
        self.forget_placed();
        self.operations.clear();
        self.groups.clear();
        self.entry_groups.clear();
        self.entry_blocks = 0;
    }

    fn forget_placed(&mut self) {
        self.placed.clear();
        self.dispatches.clear();
    }

    /// Adds a block of `size` bytes that the GPU writes.
    fn scratch(&mut self, contents: Scratch, size: u64) -> BlockId {
        push_block(&mut self.blocks, Contents::Scratch(contents), size)
    }

    /// Adds a block with the placed draws in the range `draws`, and a list of `workgroups` numbers.
    fn upload_list(&mut self, draws: Range<usize>, workgroups: usize) -> BlockId {
        let size = draws.len() * size_of::<Sysvals>() + workgroups * size_of::<ListedNumber>();
        self.upload(Upload::Listed { draws, workgroups }, size)
    }

    /// Adds a block of `size` bytes that the CPU writes.
    fn upload(&mut self, contents: Upload, size: usize) -> BlockId {
        push_block(&mut self.blocks, Contents::Upload(contents), size as u64)
    }
}

impl Planner<'_> {
    fn plan_draws(&mut self, may_fuse: bool) -> Result<(), RuntimeError> {
        let all_known = self.collected.draws.iter().all(|draw| draw.is_known());
        let has_geometry = self.collected.has_geometry();
        let may_fuse = may_fuse && !has_geometry;
        if let Position::Known(record) = self.collected.position
            && all_known
            && (!has_geometry || self.emits_always())
        {
            self.place_draws(record)?;
            // A capture is fused only if that saves the finish kernel: there must be counters or queries to write, and
            // a dispatch that can write them instead.
            let saves_kernel = !self.plan.operations.is_empty() && !self.plan.dispatches.is_empty();
            if may_fuse
                && saves_kernel
                && let Some(draw) = self.fusible()
            {
                return self.plan_fused(&draw, true);
            }
            self.plan_direct()?;
            return self.plan_finish();
        }
        if has_geometry {
            return self.plan_geometry();
        }
        if may_fuse && let Some(draw) = self.fusible() {
            return self.plan_fused(&draw, false);
        }
        match self.resumable()? {
            Some(all) => self.plan_resumed(&all),
            None => self.plan_setup(),
        }
    }

    /// Plans the finish kernel, if the draws have counters or queries to write.
    fn plan_finish(&mut self) -> Result<(), RuntimeError> {
        if let Some(kernel) = self.finish(0)? {
            let then = Touched::Operations { first: 0, end: self.plan.operations.len() };
            let (which, when) = (Barrier::BeforeFinish, When::Touched);
            self.plan.steps.extend([Step::Barrier { which, when, then }, kernel]);
        }
        Ok(())
    }

    /// Plans a finish kernel that makes the ended queries available, and barriers around it. Plans nothing if no query
    /// has ended.
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

    /// Returns the step of a finish kernel for the operations from index `first` on, or `None` if there are none.
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

    /// Adds a block for the positions in the capture buffers after the draws. Under the descriptor plan, descriptors
    /// might not cover positions that an earlier recording wrote, so a block for a copy of them is added, too.
    fn positions(&mut self) {
        self.plan.scratch(Scratch::Positions, POSITIONS_SIZE);
        if self.limits.by_descriptors && self.collected.position == Position::Earlier {
            let moved = self.plan.scratch(Scratch::MovedPositions, POSITIONS_SIZE);
            self.plan.steps.push(Step::MovePositions(moved));
        }
        (self.plan.after, self.plan.captured) = (Position::Earlier, None);
    }

    /// Under the descriptor plan, kernels disturb the application's descriptor sets. Checks that the recorder itself
    /// bound every set that draws read, so that these can be bound again.
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

fn push_block(blocks: &mut Vec<MemoryBlock>, contents: Contents, size: u64) -> BlockId {
    blocks.push(MemoryBlock { contents, size });
    BlockId(blocks.len() - 1)
}
