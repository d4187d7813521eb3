//! Passes, and the place where their captures are recorded.

use std::sync::{Arc, Once, PoisonError};

use ash::vk;
use vkxfb::runtime::{ConditionalRendering, RuntimeError};

use super::{Captures, Hoisted};
use crate::emulation::pipelines::PipelineError;
use crate::translate::{Around, Kind};

/// A pass that is being recorded.
#[derive(Default)]
pub(super) struct Pass {
    pub(super) placement: Placement,
    /// The barriers around captures that its render pass asks for.
    pub(super) around: Around,
    /// Conditional rendering that is active when the pass begins.
    pub(super) condition: Option<ConditionalRendering>,
    /// Whether the pass is suspended at the end of the part that is being recorded. No other
    /// commands are allowed between the parts of suspended and resumed dynamic rendering, so all
    /// the parts are one pass here.
    pub(super) suspends: bool,
    /// Whether something was captured in the pass.
    pub(super) has_captures: bool,
}

/// Where the captures of a pass are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Placement {
    /// Before the pass, because commands in the pass may read what is captured, or be ordered after
    /// captures for another reason. The pass is withheld until it ends.
    #[default]
    BeforePass,
    /// After the pass, whose commands go to the driver as they come.
    AfterPass,
}

impl Captures {
    /// A render pass instance begins. `around` has the barriers that its render pass asks for.
    pub(in crate::emulation) fn begin_pass(&mut self, around: Around) {
        self.begin(Pass {
            placement: self.placement(around.orders_captures),
            around,
            ..Pass::default()
        });
    }

    /// Dynamic rendering begins, or is resumed.
    pub(in crate::emulation) fn begin_rendering(&mut self, flags: vk::RenderingFlags) {
        let resumes = flags.contains(vk::RenderingFlags::RESUMING);
        let suspends = flags.contains(vk::RenderingFlags::SUSPENDING);
        if let Some(pass) = self.pass.as_mut().filter(|_| resumes) {
            pass.suspends = suspends;
            return;
        }
        let placement = match (suspends, resumes) {
            // The pass was suspended in another command buffer.
            (_, true) => Placement::AfterPass,
            // The pass may be resumed in another command buffer.
            (true, false) => Placement::BeforePass,
            (false, false) => self.placement(false),
        };
        self.begin(Pass { placement, suspends, ..Pass::default() });
    }

    fn placement(&self, orders_captures: bool) -> Placement {
        match orders_captures || self.emulation.objects().order_captures() {
            true => Placement::BeforePass,
            false => Placement::AfterPass,
        }
    }

    fn begin(&mut self, pass: Pass) {
        if pass.placement == Placement::BeforePass {
            self.state.disturbed.begin_pass();
        }
        self.pass = Some(Pass { condition: self.state.conditional_rendering, ..pass });
    }

    /// Whether the pass is suspended at the end of the part that is being recorded.
    pub(crate) fn suspends(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.suspends)
    }

    /// Whether the pass has to be withheld, because captures come before it.
    pub(crate) fn withhold(&self) -> bool {
        self.pass.as_ref().is_none_or(|pass| pass.placement == Placement::BeforePass)
    }

    /// A pass is about to end. Captures that come before it are recorded, unless it is only
    /// suspended.
    ///
    /// # Safety
    /// The command buffer is being recorded. If the pass is withheld, no command of it has reached
    /// the driver.
    pub(in crate::emulation) unsafe fn end_pass(&mut self, cmd: vk::CommandBuffer) {
        let ends = |pass: &mut Pass| pass.placement == Placement::BeforePass && !pass.suspends;
        if let Some(mut pass) = self.pass.take_if(ends) {
            // SAFETY: the caller's contract.
            unsafe { self.play(cmd, &mut pass) };
            self.state.disturbed.end_pass();
            self.pass = Some(pass);
        }
    }

    /// A pass has ended. Captures that come after it are recorded, and then the barrier that its
    /// render pass asks for after both.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(in crate::emulation) unsafe fn leave_pass(&mut self, cmd: vk::CommandBuffer) {
        let Some(mut pass) = self.pass.take_if(|pass| !pass.suspends) else { return };
        // SAFETY: the caller's contract.
        unsafe {
            if pass.placement == Placement::AfterPass {
                self.play(cmd, &mut pass);
            }
            if pass.has_captures {
                let barrier = self.emulation.pipeline_barrier();
                pass.around.after_pass.record(Kind::AfterPass, barrier, cmd);
            }
        }
    }

    /// The command buffer ends with a suspended pass, which is resumed in another command buffer.
    /// Captures that come before the pass are recorded.
    ///
    /// # Safety
    /// As [`end_pass`](Self::end_pass).
    pub(crate) unsafe fn end_with_suspended_pass(&mut self, cmd: vk::CommandBuffer) {
        let Some(pass) = &mut self.pass else { return };
        pass.suspends = false;
        if pass.placement == Placement::AfterPass && !self.hoisted.is_empty() {
            self.refuse("a capture", PipelineError::SuspendedElsewhere);
            self.forget();
        }
        // SAFETY: the caller's contract.
        unsafe { self.end_pass(cmd) };
        self.pass = None;
    }

    /// Records the hoisted work.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass.
    pub(super) unsafe fn play(&mut self, cmd: vk::CommandBuffer, pass: &mut Pass) {
        pass.has_captures = !self.hoisted.is_empty();
        if self.hoisted.is_empty() || self.failed.is_some() {
            self.forget();
            return;
        }
        if pass.around.captures_wait_for_captures {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::warn!(
                    "captures are recorded before everything else of their pass: where a subpass \
                     waits for captures of another, draws may read what a later capture writes"
                );
            });
        }
        let emulation = Arc::clone(&self.emulation);
        let Pass { around, condition, .. } = pass;
        // SAFETY: the caller's contract.
        unsafe {
            if condition.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            around.before.record(Kind::BeforeCaptures, emulation.pipeline_barrier(), cmd);
            let hoisted = std::mem::take(&mut self.hoisted);
            match pass.placement {
                Placement::BeforePass => {
                    tracing::trace!(
                        captures = hoisted.len(),
                        "captures are recorded before their pass"
                    );
                }
                Placement::AfterPass => {
                    tracing::trace!(
                        captures = hoisted.len(),
                        "captures are recorded after their pass"
                    );
                }
            }
            for item in &hoisted {
                if matches!(item, Hoisted::Capture(_)) {
                    emulation.order_captures(cmd);
                }
                if let Err(error) = self.play_one(cmd, item) {
                    self.refuse("a capture", error);
                    break;
                }
            }
            self.hoisted = hoisted;
            around.after_captures.record(Kind::AfterCaptures, emulation.pipeline_barrier(), cmd);
            self.state.disturbed.before().restore(&emulation, cmd);
            if let Some(condition) = condition {
                emulation.begin_conditional_rendering(cmd, condition);
            }
        }
        self.forget();
    }

    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn play_one(
        &mut self,
        cmd: vk::CommandBuffer,
        item: &Hoisted,
    ) -> Result<(), RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe {
            self.with_arena(|emulation, arena| match item {
                Hoisted::Capture(capture) => {
                    let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
                    capture.play(arena, cmd).map(drop)
                }
                Hoisted::Commands(draw, commands) => {
                    let (ctx, kernels) = (emulation.context(), emulation.kernels());
                    kernels.write_draw_commands(ctx, arena, cmd, &[*draw], commands)
                }
            })
        }
    }

    /// Secondary command buffers are executed. Their captures become captures of this command
    /// buffer.
    pub(in crate::emulation) fn execute(&mut self, hoisted: Vec<Hoisted>) {
        if hoisted.iter().any(|hoisted| matches!(hoisted, Hoisted::Commands(..))) {
            self.refuse_after_pass();
        }
        self.hoisted.extend(hoisted);
    }

    /// Fails if captures come after the pass: `vkCmdDrawIndirectByteCountEXT` needs its arguments
    /// before the pass.
    pub(super) fn refuse_after_pass(&mut self) {
        if self.pass.as_ref().is_some_and(|pass| pass.placement == Placement::AfterPass) {
            self.refuse("vkCmdDrawIndirectByteCountEXT", PipelineError::LateByteCount);
        }
    }

    /// The work that command buffers have to hoist when they execute this one.
    pub(crate) fn hoisted(&self) -> Vec<Hoisted> {
        self.hoisted.clone()
    }
}
