//! Plans captures that resume where only the GPU knows, of draws whose counts the CPU knows: a small
//! kernel finds out how many records fit, and then all draws are captured.
//!
//! ```text
//! barrier; resume, one workgroup;
//! barrier; captures
//! ```

use super::super::collect::CollectedDraw;
use super::place::Cursor;
use super::{
    BatchId, BlockId, CaptureStep, Contents, Draws, Planner, Size, Step, Touched, When, Written,
};
use crate::lower::kernel::Kernel;
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::setup::{Input, Resume};
use crate::sysval::{Address, Batch, split};

/// What all draws have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resumable {
    vertices: u32,
    needed: u64,
    stream_query: Address,
    generated_query: Address,
}

impl Planner<'_> {
    /// Places the draws one after the other, and returns what they have in common, or `None` if that
    /// is not enough: they must have the same queries and the same number of vertices per primitive,
    /// and all must fit into empty buffers, so that they are clamped by one number.
    pub(super) fn resumable(&mut self) -> Result<Option<Resumable>, RuntimeError> {
        let Some(first) = self.collected.draws.first() else { return Ok(None) };
        let Input { stream_query, generated_query, .. } = first.input;
        let vertices = first.topology.vertices_per_primitive();
        let is_like_first = |draw: &CollectedDraw| {
            draw.is_known()
                && draw.topology.vertices_per_primitive() == vertices
                && draw.input.stream_query == stream_query
                && draw.input.generated_query == generated_query
        };
        // Captures by descriptors read either what the CPU or what kernels wrote.
        if self.limits.by_descriptors
            || !self.collected.captures()
            || !self.collected.draws.iter().all(is_like_first)
        {
            return Ok(None);
        }
        let mut cursor = Cursor::for_queries(stream_query, generated_query);
        self.place_from(&mut cursor)?;
        let [written, needed] = cursor.counted();
        if written != needed || self.plan.dispatches.is_empty() {
            self.plan.forget_placed();
            return Ok(None);
        }
        Ok(Some(Resumable { vertices, needed, stream_query, generated_query }))
    }

    /// Plans captures of the placed draws.
    pub(super) fn plan_resumed(&mut self, all: &Resumable) -> Result<(), RuntimeError> {
        let count = self.plan.dispatches.len();
        let size = (count * size_of::<Batch>()) as u64;
        let batches = self.plan.block(Contents::Written(Written::Batches), size);
        self.positions();
        let first = BlockId(self.plan.blocks.len());
        for number in 0..count {
            self.list(number)?;
        }
        let known = self.plan.block(Contents::Batches { first, count }, size);
        let resume = Resume {
            count: count as u32,
            vertices: all.vertices,
            needed: split(all.needed),
            stream_query: all.stream_query,
            generated_query: all.generated_query,
            ..Default::default()
        };
        let resume = Contents::Resume { known, batches, resume };
        let parameters = self.plan.block(resume, size_of::<Resume>() as u64);
        let barrier = |which, then| Step::Barrier { which, when: When::Always, then };
        let small = self.limits.shared_workgroups;
        let plan = &mut *self.plan;
        plan.steps.extend([
            barrier(Barrier::BeforeSetup, Touched::Unknown),
            Step::Kernel { kernel: Kernel::Resume, parameters, workgroups: [1, 1] },
            barrier(Barrier::SetupToCapture, Touched::Captured),
        ]);
        plan.steps.extend(plan.dispatches.iter().enumerate().map(|(number, dispatch)| {
            let batch = BatchId { block: batches, number, size: size_of::<Batch>() as u64 };
            Step::Capture(CaptureStep {
                key: dispatch.key_by_kernel(small),
                state: dispatch.state,
                draws: Draws::Resumed(BlockId(first.0 + number), dispatch.count, batch),
                size: Size::Direct(dispatch.workgroups.into()),
            })
        }));
        Ok(())
    }
}
