//! Plans fused captures: one small direct draw, with counters or queries. Its workgroups also do the work of
//! the setup and finish kernels.
//!
//! ```text
//! barrier; capture
//! ```

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::fold;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::{DrawSource, Key};
use crate::runtime::recording::collect::{CollectedDraw, Position};
use crate::runtime::recording::plan::place::unclamped_draw;
use crate::runtime::recording::plan::{
    CaptureStep, Draws, Planner, Queries, Size, Step, Touched, Upload, When,
};
use vkxfb_rewriter::sysval::Address;
use vkxfb_rewriter::sysval::setup::Fused;

/// The largest number of workgroups of a fused capture. Each of its workgroups computes where the draw is captured.
/// From about 16 workgroups on, llvmpipe takes longer for that than for separate kernels.
pub(super) const MOST_WORKGROUPS: u32 = 8;

/// The only draw of a capture, whose workgroups can do the work of kernels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fusible {
    draw: CollectedDraw,
    workgroups: u32,
    /// Whether counters and queries are written by the workgroup that is the last to read the counters. Otherwise
    /// workgroup 0 writes them, whether or not the others have read the counters.
    last_writes: bool,
}

impl Planner<'_> {
    /// Returns the draw of the collected capture if it is the only one and its workgroups can do the work of kernels.
    /// Otherwise returns `None`.
    pub(super) fn fusible(&self) -> Option<Fusible> {
        let [draw] = self.collected.draws[..] else { return None };
        let size = self.collected.properties_of(&draw).workgroup_size(&Key::of(DrawSource::Fused));
        let workgroups = draw.invocations.div_ceil(size.into());
        // A workgroup must not overwrite a counter that another workgroup has yet to read. Two counters may share
        // memory even if their addresses differ.
        let writes = self.counters.iter().any(|counter| *counter != Address::default());
        let reads = self.collected.position == Position::Counters;
        let last_writes = reads && writes && workgroups > 1;
        // Under the descriptor plan, a workgroup cannot find out whether it is the last one to read the counters,
        // because the workgroups count themselves by an atomic operation that needs a device address.
        let most = if last_writes && self.limits.by_descriptors { 1 } else { MOST_WORKGROUPS };
        let workgroups = u32::try_from(workgroups).ok().filter(|n| (1..=most).contains(n))?;
        (draw.is_known() && !draw.reaches_far() && self.collected.has_targets())
            .then_some(Fusible { draw, workgroups, last_writes })
    }

    /// Plans the capture of the draw. `is_known` says whether the CPU knows the position after it.
    pub(super) fn plan_fused(
        &mut self,
        fusible: &Fusible,
        is_known: bool,
    ) -> Result<(), RuntimeError> {
        let Fusible { draw, workgroups, last_writes } = *fusible;
        if !is_known {
            // Checks the sets although this capture does not need that, because a larger draw would not be fused and
            // would return the error. Whether there is an error must not depend on the size of the draw.
            self.check_sets()?;
            self.positions();
        }
        let fused = Upload::Fused {
            queries: Queries::of(&draw.command),
            expected: if last_writes { workgroups } else { 0 },
        };
        let block = self.plan.upload(fused, size_of::<Fused>());
        let topology = Some(draw.topology.xfb_topology());
        let partial_indices = draw.has_partial_indices();
        let size = fold(workgroups.into(), self.limits.workgroups_per_axis)?;
        self.plan.steps.extend([
            Step::Barrier {
                which: Barrier::BeforeFused,
                when: When::Touched,
                then: Touched::CapturedAndCounted,
            },
            Step::Capture(CaptureStep {
                key: Key { topology, partial_indices, ..Key::of(DrawSource::Fused) },
                state: draw.state,
                draws: Draws::Fused(unclamped_draw(&draw.command), block),
                size: Size::Direct(size),
            }),
        ]);
        Ok(())
    }
}
