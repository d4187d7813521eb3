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
use super::listed::listed_draws;
use super::play::{After, Playback};
use super::queries::Order;
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::aligned;
use crate::runtime::fold::fold;
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

    /// Records the placed draws.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn record_resumed(
        &mut self,
        playback: &mut Playback<'_>,
        all: Resumable,
        counters: &[Address; MAX_XFB_BUFFERS],
    ) -> Result<After, RuntimeError> {
        // Everything that can fail precedes the first command.
        let per_axis = self.ctx.max_workgroups_per_axis();
        for dispatch in &self.plan.dispatches {
            fold(dispatch.workgroups.into(), per_axis)?;
            let key = dispatch.key_by_kernel(self.ctx.max_shared_workgroups());
            if let Some(pipeline) = self.pipeline_of(&self.pending.states[dispatch.state]) {
                // SAFETY: the caller's contract.
                unsafe { pipeline.recorded(&self.ctx, key) }?;
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.make_kernels(&[Kernel::Resume]) }?;
        let count = self.plan.dispatches.len() as u64;
        let batches = aligned(count * size_of::<Batch>() as u64);
        let upload = self.plan.dispatches.iter().map(|d| self.listed_upload(d)).sum::<u64>()
            + batches
            + aligned(size_of::<Resume>() as u64);
        let scratch = batches + aligned(STATE_SIZE);
        // SAFETY: the caller's contract.
        unsafe { self.place_memory(playback, upload, scratch, counters) }?;
        let (batches, new_state) = {
            let scratch = playback.arena.scratch();
            (scratch.take(count * size_of::<Batch>() as u64)?, scratch.take(STATE_SIZE)?)
        };
        let upload = playback.arena.upload();
        for i in 0..self.plan.dispatches.len() {
            let listed = self.push_listed(upload, &self.plan.dispatches[i])?;
            self.plan.dispatches[i].listed = split(listed.address);
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
        let parameters = upload.push([resume].into_iter())?;
        let after = After { position: Position::State(new_state), captured: None };
        // SAFETY: the caller's contract.
        unsafe {
            let ends = self.place_ends(playback)?;
            let _label = self.ctx.label(playback.cmd, c"vkxfb capture");
            self.record_ends(playback, &ends, Order::First)?;
            self.barrier(playback, Barrier::BeforeSetup);
            self.dispatch_kernel(playback, None, Kernel::Resume, parameters, [1, 1])?;
            playback.forget_order();
            self.barrier(playback, Barrier::SetupToCapture);
            self.find_captured(after.position);
            self.remember(playback);
            for number in 0..self.plan.dispatches.len() {
                let dispatch = self.plan.dispatches[number];
                let Some(pipeline) =
                    self.pipeline_of(&self.pending.states[dispatch.state]).cloned()
                else {
                    continue;
                };
                let mut sysvals = self.sysvals(dispatch.state);
                if dispatch.count > 1 {
                    sysvals.draw = listed_draws(dispatch.listed, dispatch.count);
                }
                let offset = (number * size_of::<Batch>()) as u64;
                sysvals.set_batch(split(batches.address + offset));
                let key = dispatch.key_by_kernel(self.ctx.max_shared_workgroups());
                let raw = pipeline.recorded(&self.ctx, key)?;
                let [x, y] = fold(dispatch.workgroups.into(), per_axis)?;
                self.prepare_dispatch(playback, dispatch.state, &pipeline, raw, None, &sysvals);
                self.ctx.device().cmd_dispatch(playback.cmd, x, y, 1);
                playback.recorded.captures += 1;
            }
            self.record_ends(playback, &ends, Order::Last)?;
        }
        Ok(after)
    }
}
