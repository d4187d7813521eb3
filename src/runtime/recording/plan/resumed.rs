//! Plans captures of known draws at a position that only the GPU knows. A small kernel computes how many records fit,
//! and after it all draws are captured.
//!
//! ```text
//! barrier; resume, one workgroup;
//! barrier; captures
//! ```

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::fold;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::recording::collect::CollectedDraw;
use crate::runtime::recording::plan::place::Cursor;
use crate::runtime::recording::plan::{
    BatchId, BlockId, CaptureStep, Draws, Planner, Queries, Scratch, Size, Step, Touched, Upload,
    When,
};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::Batch;
use vkxfb_rewriter::sysval::setup::Resume;

/// What the resume kernel needs to know of the draws: the number of vertices per primitive and the queries, which are
/// the same for all draws, and the number of primitives of all draws.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resumable {
    vertices: u32,
    needed: u64,
    queries: Queries,
}

impl Planner<'_> {
    /// Places the draws as if the position were 0, and returns what the resume kernel needs to know of them. Returns
    /// `None` unless the draws have the same queries and the same number of vertices per primitive, and all fit into
    /// empty buffers: the kernel adds to one query of each kind, and clamps all draws by the same number of records.
    pub(super) fn resumable(&mut self) -> Result<Option<Resumable>, RuntimeError> {
        let Some(first) = self.collected.draws.first() else { return Ok(None) };
        let queries = Queries::of(&first.command);
        let vertices = first.topology.vertices_per_primitive();
        let is_like_first = |draw: &CollectedDraw| {
            draw.is_known()
                && draw.topology.vertices_per_primitive() == vertices
                && Queries::of(&draw.command) == queries
        };
        // Under the descriptor plan a capture reads draws either from upload memory or from scratch memory, but not
        // from both.
        if self.limits.by_descriptors
            || !self.collected.has_targets()
            || !self.collected.draws.iter().all(is_like_first)
        {
            return Ok(None);
        }
        let mut cursor = Cursor::for_queries(&queries);
        self.place_from(&mut cursor)?;
        let [written, needed] = cursor.counted();
        if written != needed || self.plan.dispatches.is_empty() {
            self.plan.forget_placed();
            return Ok(None);
        }
        Ok(Some(Resumable { vertices, needed, queries }))
    }

    /// Plans the resume kernel, and captures of the draws that `resumable` placed.
    pub(super) fn plan_resumed(&mut self, all: &Resumable) -> Result<(), RuntimeError> {
        let Resumable { vertices, needed, queries } = *all;
        let count = self.plan.dispatches.len();
        let size = count * size_of::<Batch>();
        let batches = self.plan.scratch(Scratch::Batches, size as u64);
        self.positions();
        let first = BlockId(self.plan.blocks.len());
        for number in 0..count {
            self.list(number)?;
        }
        let known = self.plan.upload(Upload::Batches { first, count }, size);
        let count = count as u32;
        let resume = Upload::Resume { known, batches, count, vertices, needed, queries };
        let parameters = self.plan.upload(resume, size_of::<Resume>());
        let barrier = |which, then| Step::Barrier { which, when: When::Always, then };
        let (small, per_axis) = (self.limits.shared_workgroups, self.limits.workgroups_per_axis);
        let plan = &mut *self.plan;
        plan.steps.extend([
            barrier(Barrier::BeforeSetup, Touched::Unknown),
            Step::Kernel { kernel: Kernel::Resume, parameters, workgroups: [1, 1] },
            barrier(Barrier::SetupToCapture, Touched::Captured),
        ]);
        for (number, dispatch) in plan.dispatches.iter().enumerate() {
            let batch = BatchId { block: batches, number, size: size_of::<Batch>() as u64 };
            plan.steps.push(Step::Capture(CaptureStep {
                key: dispatch.key_by_kernel(small),
                state: plan.placed[dispatch.first].state,
                draws: Draws::Resumed(BlockId(first.0 + number), dispatch.count, batch),
                size: Size::Direct(fold(dispatch.workgroups.into(), per_axis)?),
            }));
        }
        Ok(())
    }
}
