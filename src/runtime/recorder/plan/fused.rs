//! Plans fused captures: one small direct draw, with counters or queries. Its workgroups also do what the setup
//! kernel or the finish kernel does for other captures.
//!
//! ```text
//! barrier; capture
//! ```

use super::super::collect::{CollectedDraw, Position};
use super::place::unclamped_draw;
use super::{CaptureStep, Draws, Planner, Queries, Size, Step, Touched, Upload, When};
use crate::runtime::pipeline::{Key, Source};
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::Address;
use crate::sysval::setup::Fused;

/// The most workgroups of a fused capture. Each of them finds out where the draw is captured: from about
/// 16 on, llvmpipe takes longer for that than for kernels.
pub(super) const MOST_WORKGROUPS: u32 = 8;

/// The only draw of a capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fusible {
    draw: CollectedDraw,
    workgroups: u32,
    /// Whether the last workgroup to read counters writes counters, and not the first workgroup.
    last_writes: bool,
}

impl Planner<'_> {
    /// The draw, if its workgroups can do everything.
    pub(super) fn fusible(&self) -> Option<Fusible> {
        let [draw] = self.collected.draws[..] else { return None };
        let size = self.collected.traits_of(&draw).workgroup_size(&Key::of(Source::Fused));
        let workgroups = draw.invocations.div_ceil(size.into());
        // A workgroup must not write a counter that another one has yet to read. Counters at other
        // addresses may have the same memory.
        let writes = self.counters.iter().any(|counter| *counter != Address::default());
        let reads = self.collected.position == Position::Counters;
        let last_writes = reads && writes && workgroups > 1;
        // By descriptors, workgroups do not tell each other what they have read.
        let most = if last_writes && self.limits.by_descriptors { 1 } else { MOST_WORKGROUPS };
        let workgroups = u32::try_from(workgroups).ok().filter(|n| (1..=most).contains(n))?;
        (draw.is_known() && !draw.reaches_far() && self.collected.has_targets())
            .then_some(Fusible { draw, workgroups, last_writes })
    }

    /// Plans the capture of the draw. `is_known` is whether the CPU knows the position after it.
    pub(super) fn plan_fused(
        &mut self,
        fusible: &Fusible,
        is_known: bool,
    ) -> Result<(), RuntimeError> {
        let Fusible { draw, workgroups, last_writes } = *fusible;
        if !is_known {
            // Whether a draw is refused does not depend on its size.
            self.check_sets()?;
            self.positions();
        }
        let fused = Upload::Fused {
            queries: Queries::of(&draw.input),
            expected: if last_writes { workgroups } else { 0 },
        };
        let block = self.plan.upload(fused, size_of::<Fused>());
        let topology = Some(draw.topology.xfb_topology());
        self.plan.steps.extend([
            Step::Barrier {
                which: Barrier::BeforeFused,
                when: When::Touched,
                then: Touched::CapturedAndCounted,
            },
            Step::Capture(CaptureStep {
                key: Key { topology, ..Key::of(Source::Fused) },
                state: draw.state,
                draws: Draws::Fused(unclamped_draw(&draw.input), block),
                size: Size::Direct(workgroups.into()),
            }),
        ]);
        Ok(())
    }
}
