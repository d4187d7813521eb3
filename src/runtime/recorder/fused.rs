//! Records fused captures: one small direct draw, with counters or queries. Its workgroups also do
//! what the setup kernel or the finish kernel does for other captures.
//!
//! ```text
//! barrier; capture
//! ```

use super::capture::{Capture, PendingDraw, Position};
use super::direct::unclamped_draw;
use super::gpu::STATE_SIZE;
use super::play::{After, Playback};
use super::queries::Order;
use crate::capture::MAX_XFB_BUFFERS;
use crate::runtime::arena::aligned;
use crate::runtime::descriptors::User;
use crate::runtime::fold::fold;
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, Pipeline, RuntimeError};
use crate::sysval::setup::Fused;
use crate::sysval::{Address, Sysvals, flags, join, split};

/// The most workgroups of a fused capture. Each of them finds out where the draw is captured: from about
/// 16 on, llvmpipe takes longer for that than for kernels.
const MOST_WORKGROUPS: u32 = 8;

/// The only draw of a capture.
pub(super) struct Fusible {
    draw: PendingDraw,
    pipeline: Pipeline,
    workgroups: u32,
    /// Whether the last workgroup to read counters writes counters, and not the first workgroup.
    last_writes: bool,
}

impl Capture {
    /// The draw, if its workgroups can do everything. `counters` are those to end with.
    pub(super) fn fusible(&self, counters: &[Address; MAX_XFB_BUFFERS]) -> Option<Fusible> {
        let [draw] = self.pending.draws[..] else { return None };
        let size = u64::from(self.workgroup_size_of(draw.state, &Key::of(Source::Fused)));
        let workgroups = draw.invocations.div_ceil(size.max(1));
        // A workgroup must not write a counter that another one has yet to read. Counters at other
        // addresses may have the same memory.
        let writes = counters.iter().any(|counter| *counter != Address::default());
        let reads = matches!(self.position, Position::Counters);
        let last_writes = reads && writes && workgroups > 1;
        // By descriptors, workgroups do not tell each other what they have read.
        let most = if last_writes && self.ctx.table().is_some() { 1 } else { MOST_WORKGROUPS };
        let workgroups = u32::try_from(workgroups).ok().filter(|n| (1..=most).contains(n))?;
        let pipeline = self.pipeline_of(self.pending.states.get(draw.state)?)?;
        let reaches_far = draw.input.flags & flags::FAR_ATTRIBUTES != 0;
        (draw.is_known() && !reaches_far && self.captures()).then(|| Fusible {
            draw,
            pipeline: pipeline.clone(),
            workgroups,
            last_writes,
        })
    }

    /// Records the draw. `known` is the state after it, if the CPU knows it. Returns `None`, and
    /// records nothing, if there are not enough descriptors.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    pub(super) unsafe fn record_fused(
        &mut self,
        playback: &mut Playback<'_>,
        Fusible { draw, pipeline, workgroups, last_writes }: Fusible,
        counters: &[Address; MAX_XFB_BUFFERS],
        known: Option<After>,
    ) -> Result<Option<After>, RuntimeError> {
        if known.is_none() {
            // Whether a draw is refused does not depend on its size.
            self.check_sets()?;
        }
        // Everything that can fail precedes the first command.
        let [x, y] = fold(workgroups.into(), self.ctx.max_workgroups_per_axis())?;
        let topology = Some(draw.topology.xfb_topology());
        let key = Key { topology, ..Key::of(Source::Fused) };
        // SAFETY: the caller's contract.
        let raw = unsafe { pipeline.recorded(&self.ctx, key) }?;
        let mark = playback.arena.mark();
        let (upload, states) = (aligned(size_of::<Fused>() as u64), u64::from(known.is_none()));
        // SAFETY: the caller's contract.
        unsafe { self.place_memory(playback, upload, 2 * states * STATE_SIZE, counters) }?;
        if self.ctx.table().is_some_and(|limits| !self.table.fits_fused(limits)) {
            playback.arena.rewind(mark);
            self.plan.forget_addresses();
            return Ok(None);
        }
        let (mut position, mut moved_state) = (self.position, None);
        let (after, new_state) = match known {
            Some(after) => (after, None),
            None => {
                let scratch = playback.arena.scratch();
                let new_state = scratch.take(STATE_SIZE)?;
                moved_state = self.moved_state(scratch, new_state)?;
                if let Some((_, to)) = moved_state {
                    position = Position::State(to);
                }
                (After { position: Position::State(new_state), captured: None }, Some(new_state))
            }
        };
        let fused = Fused {
            progress: self.progress(position, new_state, counters),
            stream_query: self.resolve(draw.input.stream_query),
            generated_query: self.resolve(draw.input.generated_query),
            arrived: 0,
            expected: if last_writes { workgroups } else { 0 },
            reserved: [0; 2],
        };
        let parameters = playback.arena.upload().push([fused].into_iter())?;
        // SAFETY: the caller's contract.
        let ends = unsafe { self.place_ends(playback) }?;
        // SAFETY: as above.
        let set = unsafe { self.descriptor_set(playback, User::FusedCaptures) }?;
        let mut sysvals = Sysvals {
            draw: self.resolved_draw(unclamped_draw(&draw.input)),
            batch: split(parameters.address),
            ..self.sysvals(draw.state)
        };
        if set.is_some() {
            let bound = sysvals.xfb_address.iter_mut().filter(|a| **a != Address::default());
            bound.for_each(|address| *address = split(self.table.behind_state(join(*address))));
        }
        // SAFETY: the caller's contract.
        unsafe {
            let _label = self.ctx.label(playback.cmd, c"vkxfb capture");
            if let Some((from, to)) = moved_state {
                self.move_state(playback, from, to);
            }
            self.record_ends(playback, &ends, Order::First)?;
            self.find_captured(after.position);
            self.find_counted(counters);
            self.barrier_before(playback, Barrier::BeforeFused);
            self.prepare_dispatch(playback, draw.state, &pipeline, raw, set, &sysvals);
            self.ctx.device().cmd_dispatch(playback.cmd, x, y, 1);
            playback.recorded.captures += 1;
            // As with kernels, so that whether a later draw is refused does not depend on the size
            // of this one.
            playback.sets_disturbed |= set.is_some();
            self.record_ends(playback, &ends, Order::Last)?;
        }
        Ok(Some(after))
    }
}
