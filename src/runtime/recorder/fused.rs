//! Records fused captures: one small direct draw, with counters or queries. A single workgroup
//! captures it, and also does what the setup kernel or the finish kernel does for other captures.
//!
//! ```text
//! barrier; capture, one workgroup
//! ```

use super::capture::{Capture, PendingDraw, Position};
use super::direct::unclamped_draw;
use super::gpu::STATE_SIZE;
use super::play::{After, Playback};
use super::queries::Order;
use crate::capture::MAX_XFB_BUFFERS;
use crate::runtime::arena::aligned;
use crate::runtime::{Barrier, DrawClass, Pipeline, RuntimeError};
use crate::sysval::setup::Fused;
use crate::sysval::{Address, Sysvals, split};

impl Capture {
    /// The draw with its pipeline, if one workgroup can do everything.
    ///
    /// Under the descriptor plan it cannot: the descriptor set for captures has no descriptors of
    /// counters and queries.
    pub(super) fn fusible(&self) -> Option<(PendingDraw, Pipeline)> {
        let [draw] = self.pending.draws[..] else { return None };
        let size = u64::from(self.workgroup_size_of(draw.state));
        let is_fusible = self.ctx.table().is_none()
            && self.captures()
            && draw.is_known()
            && (1..=size).contains(&draw.invocations);
        let pipeline = self.pipeline_of(self.pending.states.get(draw.state)?)?;
        is_fusible.then(|| (draw, pipeline.clone()))
    }

    /// `known` is the state after the draw, if the CPU knows it.
    ///
    /// # Safety
    /// As [`play`](Self::play); the draw is [fusible](Self::fusible).
    pub(super) unsafe fn record_fused(
        &mut self,
        playback: &mut Playback<'_>,
        (draw, pipeline): (PendingDraw, Pipeline),
        counters: &[Address; MAX_XFB_BUFFERS],
        known: Option<After>,
    ) -> Result<After, RuntimeError> {
        // Everything that can fail precedes the first command.
        // SAFETY: the caller's contract.
        let raw = unsafe { pipeline.recorded(&self.ctx, DrawClass::Fused) }?;
        let scratch = if known.is_some() { 0 } else { STATE_SIZE };
        // SAFETY: the caller's contract.
        unsafe {
            self.place_memory(playback, aligned(size_of::<Fused>() as u64), scratch, counters)
        }?;
        let (after, new_state) = match known {
            Some(after) => (after, None),
            None => {
                let new_state = playback.arena.scratch().take(STATE_SIZE)?;
                (After { position: Position::State(new_state), captured: None }, Some(new_state))
            }
        };
        let fused = Fused {
            progress: self.progress(self.position, new_state, counters),
            stream_query: self.resolve(draw.input.stream_query),
            generated_query: self.resolve(draw.input.generated_query),
        };
        let parameters = playback.arena.upload().push([fused].into_iter())?;
        // SAFETY: the caller's contract.
        let ends = unsafe { self.place_ends(playback) }?;
        let sysvals = Sysvals {
            draw: self.resolved_draw(unclamped_draw(&draw.input)),
            batch: split(parameters.address),
            ..self.sysvals(draw.state)
        };
        // SAFETY: the caller's contract.
        unsafe {
            let _label = self.ctx.label(playback.cmd, c"vkxfb capture");
            self.record_ends(playback, &ends, Order::First)?;
            self.barrier(playback, Barrier::BeforeFused);
            self.prepare_dispatch(playback, draw.state, &pipeline, raw, None, &sysvals);
            self.ctx.device().cmd_dispatch(playback.cmd, 1, 1, 1);
            playback.recorded.captures += 1;
            self.record_ends(playback, &ends, Order::Last)?;
        }
        Ok(after)
    }
}
