//! Records fused captures: one small direct draw, with counters or queries. Its workgroups also do
//! what the setup kernel or the finish kernel does for other captures.
//!
//! ```text
//! barrier; capture
//! ```

use super::capture::{Capture, PendingDraw, Position};
use super::direct::unclamped_draw;
use super::gpu::STATE_SIZE;
use super::plan::{CaptureStep, Draws, Size, Step, Touched, When};
use super::play::{After, Playback, Written};
use crate::capture::MAX_XFB_BUFFERS;
use crate::runtime::arena::aligned;
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::setup::Fused;
use crate::sysval::{Address, Sysvals, flags, join, split};

/// The most workgroups of a fused capture. Each of them finds out where the draw is captured: from about
/// 16 on, llvmpipe takes longer for that than for kernels.
const MOST_WORKGROUPS: u32 = 8;

/// The only draw of a capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fusible {
    draw: PendingDraw,
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
        let reaches_far = draw.input.flags & flags::FAR_ATTRIBUTES != 0;
        (draw.is_known() && !reaches_far && self.captures()).then_some(Fusible {
            draw,
            workgroups,
            last_writes,
        })
    }

    /// Plans the capture of the draw. `is_known` is whether the CPU knows the state after it.
    pub(super) fn plan_fused(&mut self, fusible: &Fusible, is_known: bool) {
        let Fusible { draw, workgroups, .. } = fusible;
        let topology = Some(draw.topology.xfb_topology());
        self.plan_moved_state();
        self.plan.steps.extend([
            Step::Barrier {
                which: Barrier::BeforeFused,
                when: When::Touched,
                then: Touched::CapturedAndCounted,
            },
            Step::Capture(CaptureStep {
                key: Key { topology, ..Key::of(Source::Fused) },
                state: draw.state,
                draws: Draws::Fused,
                size: Size::Direct((*workgroups).into()),
            }),
        ]);
        self.plan.upload = aligned(size_of::<Fused>() as u64);
        self.plan.scratch = if is_known { 0 } else { 2 * STATE_SIZE };
    }

    /// Writes what [`plan_fused`](Self::plan_fused) planned. Returns the state after the draw.
    pub(super) fn write_fused(
        &mut self,
        playback: &mut Playback<'_>,
        fusible: &Fusible,
        known: Option<After>,
        counters: &[Address; MAX_XFB_BUFFERS],
        written: &mut Written,
    ) -> Result<After, RuntimeError> {
        let mut position = self.position;
        let (after, new_state) = match known {
            Some(after) => (after, None),
            None => {
                let scratch = playback.arena.scratch();
                let new_state = scratch.take(STATE_SIZE)?;
                written.moved_state = self.moved_state(scratch, new_state)?;
                if let Some((_, to)) = written.moved_state {
                    position = Position::State(to);
                }
                (After { position: Position::State(new_state), captured: None }, Some(new_state))
            }
        };
        let Fusible { draw, workgroups, last_writes } = *fusible;
        let fused = Fused {
            progress: self.progress(position, new_state, counters),
            stream_query: self.resolve(draw.input.stream_query),
            generated_query: self.resolve(draw.input.generated_query),
            arrived: 0,
            expected: if last_writes { workgroups } else { 0 },
            reserved: [0; 2],
        };
        written.parameters = Some(playback.arena.upload().push([fused].into_iter())?);
        Ok(after)
    }

    /// The sysvals of the draw.
    pub(super) fn fused_sysvals(&self, draw: &PendingDraw, parameters: u64) -> Sysvals {
        let mut sysvals = Sysvals {
            draw: self.resolved_draw(unclamped_draw(&draw.input)),
            batch: split(parameters),
            ..self.sysvals(draw.state)
        };
        if self.ctx.table().is_some() {
            let bound = sysvals.xfb_address.iter_mut().filter(|a| **a != Address::default());
            bound.for_each(|address| *address = split(self.table.behind_state(join(*address))));
        }
        sysvals
    }
}
