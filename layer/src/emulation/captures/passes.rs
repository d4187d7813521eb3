//! Passes, and where their captures are recorded.

use std::sync::{Arc, Once, PoisonError};

use ash::vk;
use vkxfb::runtime::{ByteCountDraw, ConditionalRendering, DrawCommands, LateDraws, RuntimeError};

use super::{Captures, Hoisted};
use crate::emulation::pipelines::PipelineError;
use crate::translate::{CaptureBarriers, Kind};

/// A pass that is being recorded.
#[derive(Default)]
pub(super) struct Pass {
    pub(super) placement: Placement,
    /// The barriers around captures that its render pass requires.
    pub(super) barriers: CaptureBarriers,
    /// Conditional rendering that is active when the pass begins.
    pub(super) condition: Option<ConditionalRendering>,
    /// Whether the pass is suspended after the part that is being recorded. No other commands are
    /// allowed between the parts of suspended and resumed dynamic rendering, so all parts count as
    /// one pass here.
    pub(super) suspends: bool,
    /// Whether queries of the driver are active when the pass begins.
    pub(super) is_counted: bool,
    /// Whether something was captured in the pass.
    pub(super) has_captures: bool,
    /// The kernel, recorded before the pass, that computes the arguments of the pass's
    /// `vkCmdDrawIndirectByteCountEXT`. Only present in a pass that was
    /// [settled](Captures::settle).
    pub(super) late_draws: Option<LateDraws>,
}

/// Where the captures of a pass are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Placement {
    /// Before the pass, because commands in the pass may read captured data, or are ordered after
    /// captures for another reason. The pass is withheld until it ends.
    #[default]
    BeforePass,
    /// After the pass, whose commands go to the driver immediately.
    AfterPass,
}

impl Captures {
    /// A render pass instance begins. `barriers` are those around captures that its render pass requires.
    pub(crate) fn begin_pass(&mut self, barriers: CaptureBarriers) {
        self.begin(Pass {
            placement: self.placement(barriers.orders_captures),
            barriers,
            ..Pass::default()
        });
    }

    /// Dynamic rendering begins, or is resumed.
    pub(crate) fn begin_rendering(&mut self, flags: vk::RenderingFlags) {
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
        let objects = self.emulation.objects();
        let byte_counts =
            self.emulation.context().has_indirect_draws() && objects.has_indirect_buffers();
        match orders_captures || objects.repeats_side_effects() || byte_counts {
            true => Placement::BeforePass,
            false => Placement::AfterPass,
        }
    }

    fn begin(&mut self, pass: Pass) {
        if pass.placement == Placement::BeforePass {
            self.state.disturbed.begin_pass();
        }
        let condition = self.state.conditional_rendering;
        self.pass = Some(Pass { condition, is_counted: self.other_queries > 0, ..pass });
    }

    /// Whether the pass is suspended after the part that is being recorded.
    pub(crate) fn suspends(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.suspends)
    }

    /// Whether the pass must be withheld, because its captures are recorded before it.
    pub(crate) fn withhold(&self) -> bool {
        self.pass.as_ref().is_none_or(|pass| pass.placement == Placement::BeforePass)
    }

    /// Tries to record captures after the pass, whose commands were withheld so far. That is
    /// possible if nothing was captured yet, and the pass is withheld only because it may contain a
    /// `vkCmdDrawIndirectByteCountEXT`. A kernel is recorded before the pass, to which such draws
    /// are added later. It is not possible if a query counts invocations of compute shaders,
    /// because it would count the kernel's although nothing may be captured at all. Returns whether
    /// it was possible.
    ///
    /// # Safety
    /// As [`end_pass`](Self::end_pass).
    pub(crate) unsafe fn settle(&mut self, cmd: vk::CommandBuffer) -> bool {
        let emulation = &self.emulation;
        let is_waiting = self.is_active() || !self.hoisted.is_empty();
        if is_waiting
            || emulation.objects().repeats_side_effects()
            || !emulation.context().has_addresses()
        {
            return false;
        }
        let settles = |pass: &mut Pass| {
            pass.placement == Placement::BeforePass
                && !pass.barriers.orders_captures
                && !pass.is_counted
                && !pass.suspends
        };
        let Some(mut pass) = self.pass.take_if(settles) else { return false };
        let mut late_draws = None;
        self.order.forget();
        // SAFETY: the caller's contract.
        unsafe {
            self.record_around(cmd, &pass, |this| {
                let recorded = this.with_arena(|emulation, arena| {
                    let (ctx, kernels) = (emulation.context(), emulation.kernels());
                    late_draws = Some(kernels.write_draw_commands_later(ctx, arena, cmd)?);
                    Ok(())
                });
                if let Err(error) = recorded {
                    this.refuse("a render pass instance", error);
                }
            });
        }
        let settled = late_draws.is_some();
        if settled {
            self.state.disturbed.end_pass();
            (pass.placement, pass.late_draws) = (Placement::AfterPass, late_draws);
        }
        self.pass = Some(pass);
        settled
    }

    /// A pass is about to end. Captures that must come before it are recorded, unless it is only
    /// suspended.
    ///
    /// # Safety
    /// The command buffer is being recorded. If the pass is withheld, no command of it has reached
    /// the driver.
    pub(crate) unsafe fn end_pass(&mut self, cmd: vk::CommandBuffer) {
        self.end_counting();
        let ends = |pass: &mut Pass| pass.placement == Placement::BeforePass && !pass.suspends;
        if let Some(mut pass) = self.pass.take_if(ends) {
            // SAFETY: the caller's contract.
            unsafe { self.play(cmd, &mut pass) };
            self.state.disturbed.end_pass();
            self.pass = Some(pass);
        }
    }

    /// A pass has ended. Captures that come after it are recorded, and then the barrier that its
    /// render pass requires after both.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(crate) unsafe fn leave_pass(&mut self, cmd: vk::CommandBuffer) {
        let Some(mut pass) = self.pass.take_if(|pass| !pass.suspends) else { return };
        // SAFETY: the caller's contract.
        unsafe {
            if pass.placement == Placement::AfterPass {
                self.play(cmd, &mut pass);
            }
            if pass.has_captures {
                let barrier = self.emulation.pipeline_barrier();
                pass.barriers.after_pass.record(Kind::AfterPass, barrier, cmd);
            }
        }
    }

    /// The command buffer ends with a suspended pass, which is resumed in another command buffer.
    /// Captures that must come before the pass are recorded.
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
        if pass.barriers.captures_wait_for_captures {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::warn!(
                    "captures are recorded before everything else of their pass: where a subpass \
                     waits for captures of another, draws may read what a later capture writes"
                );
            });
        }
        let placement = pass.placement;
        // SAFETY: the caller's contract.
        unsafe {
            self.record_around(cmd, pass, |this| {
                let hoisted = std::mem::take(&mut this.hoisted);
                let captures = hoisted.len();
                // A barrier within the pass may order a capture after any other capture, and it is
                // not known what shaders store.
                let is_ordered = pass.barriers.captures_wait_for_captures
                    || this.emulation.objects().repeats_side_effects();
                let mut barriers = 0;
                for item in &hoisted {
                    if is_ordered {
                        this.order.forget();
                    }
                    match this.play_one(cmd, item) {
                        Ok(more) => barriers += more,
                        Err(error) => {
                            this.refuse("a capture", error);
                            break;
                        }
                    }
                }
                match placement {
                    Placement::BeforePass => {
                        tracing::trace!(
                            captures,
                            barriers,
                            "captures are recorded before their pass"
                        );
                    }
                    Placement::AfterPass => {
                        tracing::trace!(
                            captures,
                            barriers,
                            "captures are recorded after their pass"
                        );
                    }
                }
                this.hoisted = hoisted;
                let barrier = this.emulation.pipeline_barrier();
                pass.barriers.after_captures.record(Kind::AfterCaptures, barrier, cmd);
            });
        }
        self.forget();
    }

    /// Records work before or after a pass: after the barrier that its render pass requires,
    /// without conditional rendering, and with the disturbed state restored afterwards.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass.
    unsafe fn record_around(
        &mut self,
        cmd: vk::CommandBuffer,
        pass: &Pass,
        work: impl FnOnce(&mut Self),
    ) {
        let emulation = Arc::clone(&self.emulation);
        // SAFETY: the caller's contract.
        unsafe {
            if pass.condition.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            pass.barriers.before.record(Kind::BeforeCaptures, emulation.pipeline_barrier(), cmd);
            work(self);
            self.state.disturbed.before().restore(&emulation, cmd);
            if let Some(condition) = &pass.condition {
                emulation.begin_conditional_rendering(cmd, condition);
            }
        }
    }

    /// Records one item. Returns the number of barriers, for a capture.
    ///
    /// # Safety
    /// As [`play`](Self::play).
    unsafe fn play_one(
        &mut self,
        cmd: vk::CommandBuffer,
        item: &Hoisted,
    ) -> Result<u32, RuntimeError> {
        let mut order = std::mem::take(&mut self.order);
        let mut barriers = 0;
        // SAFETY: the caller's contract; the program orders captures of different passes by its own
        // barriers, and captures of the same pass only as far as its render pass allows.
        let played = unsafe {
            self.with_arena(|emulation, arena| match item {
                Hoisted::Capture(capture) | Hoisted::Ends(capture) => {
                    let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
                    // The capture may continue in the buffers and counters of an earlier one.
                    let recorded = match Kind::BetweenCaptures.is_translated() {
                        true => capture.play_in_order(arena, cmd, &mut order),
                        false => capture.play(arena, cmd),
                    }?;
                    barriers = recorded.barriers;
                    Ok(())
                }
                Hoisted::Commands(draw, commands) => {
                    order.forget();
                    let (ctx, kernels) = (emulation.context(), emulation.kernels());
                    kernels.write_draw_commands(ctx, arena, cmd, &[*draw], commands)
                }
            })
        };
        self.order = order;
        played.map(|()| barriers)
    }

    /// Secondary command buffers are executed. Their captures become captures of this command
    /// buffer.
    ///
    /// # Safety
    /// What they capture is valid.
    pub(crate) unsafe fn execute(&mut self, hoisted: Vec<Hoisted>) {
        for hoisted in hoisted {
            match hoisted {
                // SAFETY: the caller's contract.
                Hoisted::Commands(draw, commands) => unsafe { self.hoist_draw(draw, commands) },
                // The work of a secondary command buffer belongs to it alone: nothing is added to
                // it.
                Hoisted::Capture(capture) | Hoisted::Ends(capture) => {
                    self.push(Hoisted::Capture(capture));
                }
            }
        }
    }

    /// Adds a `vkCmdDrawIndirectByteCountEXT`, whose arguments must be computed before the pass.
    /// Fails if captures come after the pass, unless the pass was [settled](Self::settle).
    ///
    /// # Safety
    /// The draw is valid, and so are the commands.
    pub(super) unsafe fn hoist_draw(&mut self, draw: ByteCountDraw, commands: DrawCommands) {
        let what = "vkCmdDrawIndirectByteCountEXT";
        let after = |pass: &&mut Pass| pass.placement == Placement::AfterPass;
        let Some(pass) = self.pass.as_mut().filter(after) else {
            self.push(Hoisted::Commands(draw, commands));
            return;
        };
        let Some(mut late_draws) = pass.late_draws.take() else {
            return self.refuse(what, PipelineError::LateByteCount);
        };
        tracing::trace!("{what}: its arguments are computed before the pass");
        // SAFETY: the caller's contract; the command buffer is being recorded.
        let added = unsafe {
            self.with_arena(|emulation, arena| {
                late_draws.push(emulation.context(), arena, &draw, &commands)
            })
        };
        if let Some(pass) = &mut self.pass {
            pass.late_draws = Some(late_draws);
        }
        if let Err(error) = added {
            self.refuse(what, error);
        }
    }

    /// The work to hoist by command buffers that execute this one.
    pub(crate) fn hoisted(&self) -> Vec<Hoisted> {
        self.hoisted.clone()
    }
}
