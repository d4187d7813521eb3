//! Plans captures if the CPU knows where all draws are captured, and how many primitives they generate.
//!
//! ```text
//! captures;
//! barrier; finish, which writes counters and queries
//! ```

use super::place::{LISTED_BYTES, listed_workgroups};
use super::{BlockId, CaptureStep, Draws, Planner, Size, Step, Touched, Upload, When};
use crate::runtime::{Barrier, RuntimeError};
use crate::sysval::DrawSysvals;

impl Planner<'_> {
    /// Plans captures of the placed draws, and the finish kernel if counters or queries are to be written.
    pub(super) fn plan_direct(&mut self) -> Result<(), RuntimeError> {
        if !self.plan.dispatches.is_empty() {
            self.plan.steps.push(Step::Barrier {
                which: Barrier::BetweenCaptures,
                when: When::InOrder,
                then: Touched::Captured,
            });
        }
        for number in 0..self.plan.dispatches.len() {
            let dispatch = self.plan.dispatches[number];
            let draws = match dispatch.count {
                1 => Draws::Pushed(self.plan.placed[dispatch.first]),
                count => Draws::Listed(self.list(number)?, count),
            };
            self.plan.steps.push(Step::Capture(CaptureStep {
                key: dispatch.key(self.limits.shared_workgroups),
                state: dispatch.state,
                draws,
                size: Size::Direct(self.workgroups_of(&dispatch).into()),
            }));
        }
        if let Some(kernel) = self.finish(0)? {
            let then = Touched::Operations { first: 0, end: self.plan.operations.len() };
            let (which, when) = (Barrier::BeforeFinish, When::Touched);
            self.plan.steps.extend([Step::Barrier { which, when, then }, kernel]);
        }
        Ok(())
    }

    /// Adds a block with the draws of a dispatch and the number of the draw of each workgroup. `number` is the index of
    /// the dispatch.
    pub(super) fn list(&mut self, number: usize) -> Result<BlockId, RuntimeError> {
        let dispatch = self.plan.dispatches[number];
        let per_axis = self.limits.workgroups_per_axis;
        let workgroups = listed_workgroups(dispatch.count, dispatch.workgroups, per_axis)?;
        let draws = dispatch.first..dispatch.first + dispatch.count;
        let size = draws.len() * size_of::<DrawSysvals>() + workgroups * LISTED_BYTES as usize;
        Ok(self.plan.upload(Upload::Listed { draws, workgroups }, size))
    }
}
