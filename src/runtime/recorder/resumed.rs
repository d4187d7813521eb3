//! Records captures that resume where only the GPU knows, of draws whose counts the CPU knows: a small
//! kernel finds out how many records fit, and then all draws are captured.
//!
//! ```text
//! barrier; resume, one workgroup;
//! barrier; captures
//! ```

use super::capture::{Capture, PendingDraw, Position};
use super::direct::Cursor;
use super::gpu::STATE_SIZE;
use super::plan::{CaptureStep, Draws, Size, Step, Touched, When};
use super::play::{After, Playback, Written};
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::aligned;
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

impl Capture {
    /// Places the draws one after the other, and returns what they have in common, or `None` if that
    /// is not enough: they must have the same queries and the same number of vertices per primitive,
    /// and all must fit into empty buffers, so that they are clamped by one number.
    pub(super) fn resumable(&mut self) -> Result<Option<Resumable>, RuntimeError> {
        let Some(first) = self.pending.draws.first() else { return Ok(None) };
        let Input { stream_query, generated_query, .. } = first.input;
        let vertices = first.topology.vertices_per_primitive();
        let is_like_first = |draw: &PendingDraw| {
            draw.is_known()
                && draw.topology.vertices_per_primitive() == vertices
                && draw.input.stream_query == stream_query
                && draw.input.generated_query == generated_query
        };
        // Captures by descriptors read either what the CPU or what kernels wrote.
        if self.ctx.table().is_some()
            || !self.captures()
            || !self.pending.draws.iter().all(is_like_first)
        {
            return Ok(None);
        }
        let mut cursor = Cursor::for_queries(stream_query, generated_query);
        for number in 0..self.pending.draws.len() {
            let draw = self.pending.draws[number];
            self.place_draw(&draw, &mut cursor)?;
        }
        let [written, needed] = cursor.counted();
        if written != needed || self.plan.dispatches.is_empty() {
            self.plan.forget_placed();
            return Ok(None);
        }
        Ok(Some(Resumable { vertices, needed, stream_query, generated_query }))
    }

    /// Plans captures of the placed draws.
    pub(super) fn plan_resumed(&mut self) {
        let small = self.ctx.max_shared_workgroups();
        let plan = &mut self.plan;
        plan.steps.extend([
            Step::Barrier {
                which: Barrier::BeforeSetup,
                when: When::Always,
                then: Touched::Unknown,
            },
            Step::Kernel { kernel: Kernel::Resume, workgroups: [1, 1] },
            Step::Barrier {
                which: Barrier::SetupToCapture,
                when: When::Always,
                then: Touched::Captured,
            },
        ]);
        plan.steps.extend(plan.dispatches.iter().enumerate().map(|(number, dispatch)| {
            Step::Capture(CaptureStep {
                key: dispatch.key_by_kernel(small),
                state: dispatch.state,
                draws: Draws::Resumed(number),
                size: Size::Direct(dispatch.workgroups.into()),
            })
        }));
        let batches = aligned((self.plan.dispatches.len() * size_of::<Batch>()) as u64);
        let lists = self.plan.dispatches.iter().map(|dispatch| self.listed_upload(dispatch));
        self.plan.upload = lists.sum::<u64>() + batches + aligned(size_of::<Resume>() as u64);
        self.plan.scratch = batches + aligned(STATE_SIZE);
    }

    /// Writes what [`plan_resumed`](Self::plan_resumed) planned. Returns the state after the draws.
    pub(super) fn write_resumed(
        &mut self,
        playback: &mut Playback<'_>,
        all: &Resumable,
        counters: &[Address; MAX_XFB_BUFFERS],
        written: &mut Written,
    ) -> Result<After, RuntimeError> {
        let count = self.plan.dispatches.len();
        let scratch = playback.arena.scratch();
        let batches = scratch.take((count * size_of::<Batch>()) as u64)?;
        let new_state = scratch.take(STATE_SIZE)?;
        let upload = playback.arena.upload();
        for number in 0..count {
            self.write_listed(upload, number)?;
        }
        let known = upload.push(self.plan.dispatches.iter().map(|dispatch| Batch {
            draws: dispatch.listed,
            draw_count: dispatch.count as u32,
            ..Default::default()
        }))?;
        let resume = Resume {
            known: split(known.address),
            batches: split(batches.address),
            count: count as u32,
            vertices: all.vertices,
            needed: split(all.needed),
            stream_query: self.resolve(all.stream_query),
            generated_query: self.resolve(all.generated_query),
            progress: self.progress(self.position, Some(new_state), counters),
        };
        written.parameters = Some(upload.push([resume].into_iter())?);
        written.batches = Some(batches);
        Ok(After { position: Position::State(new_state), captured: None })
    }
}
