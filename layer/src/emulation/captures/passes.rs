//! Passes, and where their captures are recorded.

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
    /// What its render pass asks of captures.
    pub(super) around: Around,
    /// Conditional rendering that was begun before it.
    pub(super) condition: Option<ConditionalRendering>,
    /// Whether it is suspended where the part ends that is being recorded. Nothing may stand between the parts of
    /// dynamic rendering that is suspended and resumed, so all of them are one pass here.
    pub(super) suspends: bool,
    /// Whether it captured something.
    pub(super) has_captures: bool,
}

/// Where the captures of a pass are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Placement {
    /// Before it, for something in the pass may consume what is captured, or may be ordered with it otherwise. The pass
    /// is withheld until it ends.
    #[default]
    BeforePass,
    /// After it: the pass is recorded as its commands come.
    AfterPass,
}

impl Captures {
    /// A render pass instance begins. What its render pass asks of captures comes with it.
    pub(in crate::emulation) fn begin_pass(&mut self, around: Around) {
        self.begin(Pass {
            placement: self.placement(around.orders_captures),
            around,
            ..Pass::default()
        });
    }

    /// Dynamic rendering begins, or goes on.
    pub(in crate::emulation) fn begin_rendering(&mut self, flags: vk::RenderingFlags) {
        let resumes = flags.contains(vk::RenderingFlags::RESUMING);
        let suspends = flags.contains(vk::RenderingFlags::SUSPENDING);
        if let Some(pass) = self.pass.as_mut().filter(|_| resumes) {
            pass.suspends = suspends;
            return;
        }
        let placement = match (suspends, resumes) {
            // It was suspended in another command buffer.
            (_, true) => Placement::AfterPass,
            // It may be resumed in another one.
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

    /// Whether the pass is suspended where what is being recorded of it ends.
    pub(crate) fn suspends(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.suspends)
    }

    /// Whether the pass has to be withheld: captures come before it.
    pub(crate) fn withhold(&self) -> bool {
        self.pass.as_ref().is_none_or(|pass| pass.placement == Placement::BeforePass)
    }

    /// A pass is about to end: captures that come before it are recorded, unless it is only suspended.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands before the pass if that is withheld.
    pub(in crate::emulation) unsafe fn end_pass(&mut self, cmd: vk::CommandBuffer) {
        let ends = |pass: &mut Pass| pass.placement == Placement::BeforePass && !pass.suspends;
        if let Some(mut pass) = self.pass.take_if(ends) {
            // SAFETY: the caller's contract.
            unsafe { self.play(cmd, &mut pass) };
            self.state.disturbed.end_pass();
            self.pass = Some(pass);
        }
    }

    /// A pass has ended: captures that come behind it are recorded, and what its render pass asks behind both.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands behind the pass.
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

    /// The command buffer ends with a pass that is suspended, and resumed in another one: what comes before it is
    /// recorded.
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

    /// Records what was hoisted.
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
                    "captures come before all else of their pass: where a subpass waits for captures of another, \
                     draws may read what a later capture writes"
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

    /// What secondary command buffers captured is captured by this one.
    pub(in crate::emulation) fn execute(&mut self, hoisted: Vec<Hoisted>) {
        if hoisted.iter().any(|hoisted| matches!(hoisted, Hoisted::Commands(..))) {
            self.refuse_after_pass();
        }
        self.hoisted.extend(hoisted);
    }

    /// A draw of what was captured needs its arguments before the pass.
    pub(super) fn refuse_after_pass(&mut self) {
        if self.pass.as_ref().is_some_and(|pass| pass.placement == Placement::AfterPass) {
            self.refuse("vkCmdDrawIndirectByteCountEXT", PipelineError::LateByteCount);
        }
    }

    /// What is captured where this command buffer is executed.
    pub(crate) fn hoisted(&self) -> Vec<Hoisted> {
        self.hoisted.clone()
    }
}
