//! Methods of `Captures` that decide whether captures of a pass are recorded before it, after it, or together with
//! those of later passes, and record them.

use std::sync::{Arc, Once};

use ash::vk;
use vkxfb::runtime::descriptor_heaps::DescriptorState;
use vkxfb::runtime::{ByteCountDraw, ConditionalRendering, DrawCommands, LateDraws, RuntimeError};

use crate::emulation::captures::{Captures, Executed, Hoisted, ReadFrom, lock};
use crate::emulation::descriptor_buffers;
use crate::emulation::losses::{A_BYTE_COUNT, A_CAPTURE, Drawn, ENDS};
use crate::emulation::pipelines::PipelineError;
use crate::emulation::state::Left;
use crate::translate::{Barrier, CaptureBarriers, Kind, RenderPass, Subpass, Views};

/// A render pass instance that is being recorded.
#[derive(Default)]
pub(super) struct Pass {
    pub(super) placement: Placement,
    /// The barriers that the render pass object requires for captures, which are recorded before or after the pass, and
    /// whether the pass is [neutral](crate::translate::neutral).
    pub(super) barriers: CaptureBarriers,
    /// The conditional rendering that was active when the pass began. `None` if none was active.
    pub(super) condition: Option<ConditionalRendering>,
    /// Whether the dynamic rendering that is being recorded has the flag `SUSPENDING`. Vulkan allows no action or
    /// synchronization commands between suspended dynamic rendering and its resumption, so the layer treats all parts
    /// as one pass.
    pub(super) suspends: bool,
    /// Whether the driver had active queries when the pass began.
    pub(super) is_counted: bool,
    /// Whether the layer recorded captures or other computations before or after the pass.
    pub(super) has_captures: bool,
    /// Whether captures of earlier passes were [deferred](Captures::defers) when the pass began, and have not been
    /// recorded: the placement that the pass would have without them. The pass is withheld as long as they are deferred.
    pub(super) follows_deferred: Option<Placement>,
    /// The kernel that computes the arguments of the pass's `vkCmdDrawIndirectByteCountEXT` commands. It was recorded
    /// before the pass, and reads the parameters of these commands from memory that the host writes when they are
    /// recorded. `None` unless the pass was [settled](Captures::settle).
    pub(super) late_draws: Option<LateDraws>,
}

/// Whether the captures of a pass are recorded before or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Placement {
    /// The captures are recorded before the pass, whose commands are stored until it ends. This is needed, for example,
    /// if commands in the pass may read captured data, or if the render pass orders commands after captures.
    #[default]
    BeforePass,
    /// The captures are recorded after the pass, whose commands go to the driver as soon as the program records them.
    AfterPass,
}

impl Captures {
    /// Begins a render pass instance. Captures are recorded before or after it, with the barriers that its render pass
    /// object requires.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(crate) unsafe fn begin_pass(&mut self, cmd: vk::CommandBuffer, render_pass: RenderPass) {
        let RenderPass { barriers, views } = render_pass;
        self.subpass = Subpass::first(views);
        let pass = Pass {
            placement: self.placement(barriers.orders_captures),
            barriers,
            ..Pass::default()
        };
        unsafe { self.begin(cmd, pass) };
    }

    /// Begins dynamic rendering, or resumes it.
    ///
    /// # Safety
    /// The contract of [`begin_pass`](Self::begin_pass).
    pub(crate) unsafe fn begin_rendering(
        &mut self,
        cmd: vk::CommandBuffer,
        flags: vk::RenderingFlags,
        views: Views,
        is_neutral: bool,
    ) {
        self.subpass = Subpass::first(views);
        let resumes = flags.contains(vk::RenderingFlags::RESUMING);
        let suspends = flags.contains(vk::RenderingFlags::SUSPENDING);
        if let Some(pass) = self.pass.as_mut().filter(|_| resumes) {
            pass.suspends = suspends;
            return;
        }
        let placement = match (suspends, resumes) {
            // The pass began in another command buffer, so nothing can be recorded before it in
            // this one.
            (_, true) => Placement::AfterPass,
            // The pass may end in another command buffer, so nothing can be recorded after it in
            // this one.
            (true, false) => Placement::BeforePass,
            (false, false) => self.placement(false),
        };
        let is_neutral = is_neutral && !suspends && !resumes;
        let barriers = CaptureBarriers { is_neutral, ..CaptureBarriers::default() };
        unsafe { self.begin(cmd, Pass { placement, barriers, suspends, ..Pass::default() }) };
    }

    fn placement(&self, orders_captures: bool) -> Placement {
        let objects = self.emulation.objects();
        let byte_counts =
            self.emulation.context().settings().indirect_draws && objects.has_indirect_buffers();
        if orders_captures || objects.repeats_side_effects() || byte_counts {
            Placement::BeforePass
        } else {
            Placement::AfterPass
        }
    }

    /// # Safety
    /// The contract of [`begin_pass`](Self::begin_pass).
    unsafe fn begin(&mut self, cmd: vk::CommandBuffer, mut pass: Pass) {
        if self.has_deferred() {
            if pass.barriers.is_neutral {
                pass.follows_deferred = Some(pass.placement);
                pass.placement = Placement::BeforePass;
            } else {
                unsafe { self.play_deferred(cmd) };
            }
        }
        if pass.placement == Placement::BeforePass {
            self.state.begin_pass(self.emulation.heaps.is_some());
        }
        let condition = self.state.conditional_rendering;
        self.pass = Some(Pass { condition, is_counted: self.other_queries > 0, ..pass });
    }

    /// Whether the captures of a pass that ends here are *deferred*: they are recorded later, so that captures of the
    /// passes that follow can [join](Self::join_last) them. A program that pauses transform feedback, for example, ends
    /// the pass and resumes in another one.
    ///
    /// While captures are deferred, the program may set state, record barriers [that make memory visible only to
    /// captures](crate::translate::barriers::Dependency::is_for_captures), and record [neutral](crate::translate::neutral)
    /// passes in which nothing but captures happens, which are dropped. Before any other barrier, draw or dispatch, and
    /// before queries, events and the end of the command buffer, the captures are recorded, and behind them [a
    /// barrier](Barrier::AFTER_DEFERRED) if they come after one of the program. Only commands that cannot wait for
    /// captures without another barrier, such as copies, do not end the deferral.
    fn defers(&self, pass: &Pass) -> bool {
        matches!(self.hoisted[..], [Hoisted::Capture(_, ReadFrom::Sets | ReadFrom::Heaps)])
            && self.joins_last
            && self.failed.is_none()
            && pass.barriers.is_empty()
            && pass.condition.is_none()
            && self.state.conditional_rendering.is_none()
            && !pass.is_counted
            && self.other_queries == 0
            && self.queries.is_empty()
            && self.emulation.context().has_addresses()
            && !self.emulation.objects().repeats_side_effects()
            && !self.emulation.objects().has_aliases()
    }

    /// Notes that the program records a barrier [for captures](crate::translate::barriers::Dependency::is_for_captures).
    /// Deferred captures stay deferred.
    pub(crate) const fn pass_barrier(&mut self) {
        self.passed_barrier |= self.has_deferred();
    }

    /// Whether captures of earlier passes are deferred, and no pass is being recorded.
    pub(crate) const fn has_deferred(&self) -> bool {
        !self.hoisted.is_empty() && self.pass.is_none() && !self.continues
    }

    /// Records the deferred captures, if there are any.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(crate) unsafe fn play_deferred(&mut self, cmd: vk::CommandBuffer) {
        if self.has_deferred() {
            let mut here = Pass { placement: Placement::AfterPass, ..Pass::default() };
            unsafe { self.play(cmd, &mut here) };
        }
    }

    /// Whether the dynamic rendering that is being recorded will be suspended.
    pub(crate) fn suspends(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.suspends)
    }

    /// Whether the commands of the pass must be stored until it ends, because its captures are recorded before it. Also
    /// true if no pass is being recorded.
    pub(crate) fn withhold(&self) -> bool {
        self.pass.as_ref().is_none_or(|pass| pass.placement == Placement::BeforePass)
    }

    /// Tries to stop storing the commands of the pass before it ends: changes its placement to
    /// [`Placement::AfterPass`]. Returns whether the placement was changed.
    ///
    /// This is possible if nothing is being captured or counted, the pass has no captures so far and will not be
    /// suspended, and its commands are stored only because one of them may be a `vkCmdDrawIndirectByteCountEXT`. A
    /// kernel for such draws is recorded before the pass, and the draws are added to the kernel's data later, which
    /// needs device addresses. The placement cannot be changed if a query of the driver was active when the pass began:
    /// a query that counts invocations of compute shaders would count those of the kernel, although the pass may
    /// capture nothing.
    ///
    /// Captures of earlier passes that were deferred are recorded now. If the commands are stored only because of them,
    /// the placement is changed, too.
    ///
    /// # Safety
    /// The contract of [`end_pass`](Self::end_pass).
    pub(crate) unsafe fn settle(&mut self, cmd: vk::CommandBuffer) -> bool {
        if !self.is_active()
            && let Some(mut pass) = self.pass.take_if(|pass| pass.follows_deferred.is_some())
        {
            unsafe { self.play(cmd, &mut pass) };
            let settles = pass.follows_deferred.take() == Some(Placement::AfterPass);
            if settles {
                self.state.restorable.end_pass();
                pass.placement = Placement::AfterPass;
            }
            self.pass = Some(pass);
            if settles {
                return true;
            }
        }
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
        self.order.reset();
        unsafe {
            self.record_around(cmd, &pass, |this| {
                let descriptors = this.descriptors;
                let recorded = this.with_arena(|emulation, arena| {
                    let (ctx, kernels) = (emulation.context_for(descriptors), emulation.kernels());
                    late_draws = Some(kernels.write_draw_commands_later(ctx, arena, cmd)?);
                    Ok(())
                });
                // The pass is not settled then.
                if let Err(error) = recorded {
                    this.lose("a kernel for draws of byte counts", Drawn::default(), error);
                }
            });
        }
        let settled = late_draws.is_some();
        if settled {
            self.state.restorable.end_pass();
            (pass.placement, pass.late_draws) = (Placement::AfterPass, late_draws);
        }
        self.pass = Some(pass);
        settled
    }

    /// Ends the active capture if its draws are only counted for queries. Then records the captures that must come
    /// before the pass, unless the pass is only suspended or its captures come after it. After that the caller records
    /// the end of the pass.
    ///
    /// `only_sets_state` is whether all commands of the pass that were stored only set state. Returns whether the
    /// driver need not execute the pass, because it changes nothing. Its captures are deferred then, and the caller
    /// only records the commands that set state.
    ///
    /// # Safety
    /// The command buffer is being recorded. If the pass is withheld, no command of it has reached
    /// the driver.
    pub(crate) unsafe fn end_pass(
        &mut self,
        cmd: vk::CommandBuffer,
        only_sets_state: bool,
    ) -> bool {
        self.end_counting();
        let ends = |pass: &mut Pass| pass.placement == Placement::BeforePass && !pass.suspends;
        let Some(mut pass) = self.pass.take_if(ends) else { return false };
        let is_dropped = only_sets_state && pass.barriers.is_neutral && self.defers(&pass);
        if !is_dropped {
            unsafe { self.play(cmd, &mut pass) };
        }
        self.state.restorable.end_pass();
        self.pass = Some(pass);
        is_dropped
    }

    /// Records the captures that come after the pass, and then the barrier that its render pass requires after
    /// captures. The caller must have recorded the end of the pass before.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(crate) unsafe fn leave_pass(&mut self, cmd: vk::CommandBuffer) {
        let Some(mut pass) = self.pass.take_if(|pass| !pass.suspends) else { return };
        unsafe {
            if pass.placement == Placement::AfterPass && !self.defers(&pass) {
                self.play(cmd, &mut pass);
            }
            if pass.has_captures {
                let barrier = self.emulation.pipeline_barrier();
                pass.barriers.after_pass.record(Kind::AfterPass, barrier, cmd);
            }
        }
    }

    /// Ends a command buffer whose last pass is suspended, and is resumed in another command
    /// buffer. Records the captures that must come before the pass. If captures would have to come
    /// after the pass, they are lost, and so are the ends of queries.
    ///
    /// # Safety
    /// The contract of [`end_pass`](Self::end_pass).
    pub(crate) unsafe fn end_with_suspended_pass(&mut self, cmd: vk::CommandBuffer) {
        let Some(pass) = &mut self.pass else { return };
        pass.suspends = false;
        if pass.placement == Placement::AfterPass && !self.hoisted.is_empty() {
            let drawn = self.hoisted.iter().find_map(|hoisted| match hoisted {
                Hoisted::Capture(capture, _) => Some(lock(capture).drawn),
                _ => None,
            });
            self.lose(A_CAPTURE, drawn.unwrap_or_default(), PipelineError::SuspendedElsewhere);
            self.forget();
        }
        unsafe { self.end_pass(cmd, false) };
        self.pass = None;
    }

    /// Whether a barrier must be recorded before each capture of a pass: the render pass orders captures after other
    /// captures, or shaders store to memory, or buffers alias, so the layer does not know for which earlier captures a
    /// capture must wait.
    pub(super) fn orders_captures(&self, pass: &Pass) -> bool {
        let objects = self.emulation.objects();
        pass.barriers.captures_wait_for_captures
            || objects.repeats_side_effects()
            || objects.has_aliases()
    }

    /// Records the captures and computations in the list `hoisted`, unless recording has failed, and clears the list.
    /// Sets [`Pass::has_captures`].
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
        unsafe {
            self.record_around(cmd, pass, |this| {
                let hoisted = std::mem::take(&mut this.hoisted);
                let captures = hoisted.len();
                let is_ordered = this.orders_captures(pass);
                let mut barriers = 0;
                for item in &hoisted {
                    if is_ordered {
                        this.order.reset();
                    }
                    match this.play_one(cmd, item) {
                        Ok(more) => barriers += more,
                        Err(error) => {
                            if !this.lose_hoisted(cmd, item, error) {
                                break;
                            }
                        }
                    }
                    // The deferred captures are the first element.
                    if std::mem::take(&mut this.passed_barrier) {
                        let barrier = this.emulation.pipeline_barrier();
                        Barrier::AFTER_DEFERRED.record(Kind::AfterCaptures, barrier, cmd);
                        barriers += 1;
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

    /// Calls `work`, which records commands before or after a pass. Before them, ends conditional rendering and records
    /// the barrier that the render pass object requires before captures. After them, restores the state that they
    /// disturb and begins conditional rendering again.
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
        unsafe {
            if pass.condition.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            pass.barriers.before.record(Kind::BeforeCaptures, emulation.pipeline_barrier(), cmd);
            self.descriptors = self.state.restorable.before().descriptors();
            work(self);
            let are_buffers_rebound = self.rebound.take().is_some();
            let left = Left { are_buffers_rebound, descriptors: self.descriptors };
            self.state.restore(&emulation, cmd, left);
            if let Some(condition) = &pass.condition {
                emulation.begin_conditional_rendering(cmd, condition);
            }
        }
    }

    /// Records one element of the list `hoisted`. Returns the number of barriers that were recorded between it and
    /// earlier captures.
    ///
    /// # Safety
    /// The contract of [`play`](Self::play).
    unsafe fn play_one(
        &mut self,
        cmd: vk::CommandBuffer,
        item: &Hoisted,
    ) -> Result<u32, RuntimeError> {
        if let Hoisted::Capture(_, ReadFrom::Buffers(buffers)) = item {
            let before = &self.state.restorable.before().descriptor_buffers;
            let are_invalid = self.descriptors != DescriptorState::Sets;
            if are_invalid || self.rebound.as_ref().or(before.bound.as_ref()) != Some(buffers) {
                unsafe { descriptor_buffers::bind(buffers, &self.emulation, cmd) };
                self.rebound = Some(Arc::clone(buffers));
                if are_invalid {
                    self.descriptors = DescriptorState::SetsAfterHeaps;
                }
            }
        }
        let mut order = std::mem::take(&mut self.order);
        let mut descriptors = self.descriptors;
        let mut barriers = 0;
        // SAFETY: the caller's contract. The program's own barriers, and `Barrier::AFTER_DEFERRED`, order captures of
        // different passes. Captures of the same pass are ordered here as far as its render pass allows.
        let played = unsafe {
            self.with_arena(|emulation, arena| match item {
                Hoisted::Capture(capture, ..) | Hoisted::Ends(capture) => {
                    let mut capture = lock(capture);
                    // The capture may continue in buffers and counters that an earlier capture
                    // wrote, so a barrier may be needed before it.
                    let order = Kind::BetweenCaptures.is_translated().then_some(&mut order);
                    let recorded = capture.play_in_state(arena, cmd, order, &mut descriptors)?;
                    barriers = recorded.barriers;
                    Ok(())
                }
                Hoisted::Commands(draw, commands) => {
                    order.reset();
                    let (ctx, kernels) = (emulation.context_for(descriptors), emulation.kernels());
                    kernels.write_draw_commands(ctx, arena, cmd, &[*draw], commands)
                }
            })
        };
        (self.order, self.descriptors) = (order, descriptors);
        played?;
        if let Hoisted::Capture(capture, ..) | Hoisted::Ends(capture) = item {
            extend(&mut self.ended, &lock(capture).ended)?;
        }
        Ok(barriers)
    }

    /// An element of the list `hoisted` is lost, because recording it has failed with this error: of a capture only the
    /// ends of its queries and [counters that become 0](vkxfb::runtime::Capture::discard_all) are recorded, and the
    /// arguments of a draw become those of an empty draw. Returns whether recording goes on.
    ///
    /// # Safety
    /// The contract of [`play`](Self::play).
    unsafe fn lose_hoisted(
        &mut self,
        cmd: vk::CommandBuffer,
        item: &Hoisted,
        error: RuntimeError,
    ) -> bool {
        match item {
            Hoisted::Capture(capture, _) => {
                let drawn = lock(capture).drawn;
                let goes_on = self.lose(A_CAPTURE, drawn, error);
                {
                    let mut capture = lock(capture);
                    // Other command buffers may play it, too, and not where draws of it are recorded already.
                    if goes_on || capture.is_recorded_in_part() {
                        capture.discard_all();
                    }
                }
                if !goes_on {
                    return false;
                }
                self.order.reset();
                match unsafe { self.play_one(cmd, item) } {
                    Ok(_) => true,
                    Err(error) => self.lose(ENDS, drawn, error),
                }
            }
            Hoisted::Ends(_) => self.lose(ENDS, Drawn::default(), error),
            Hoisted::Commands(_, commands) => {
                if !self.lose(A_BYTE_COUNT, Drawn::default(), error) {
                    return false;
                }
                let (buffer, offset) = (commands.buffer, commands.offset);
                let size = size_of::<vk::DrawIndirectCommand>() as u64;
                let barrier = vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                    .dst_access_mask(vk::AccessFlags::INDIRECT_COMMAND_READ);
                let (from, to) =
                    (vk::PipelineStageFlags::TRANSFER, vk::PipelineStageFlags::DRAW_INDIRECT);
                let (device, flags) =
                    (self.emulation.context().device(), vk::DependencyFlags::empty());
                // SAFETY: the caller's contract; the arguments are in a buffer of the layer.
                unsafe {
                    device.cmd_fill_buffer(cmd, buffer, offset, size, 0);
                    device.cmd_pipeline_barrier(cmd, from, to, flags, &[barrier], &[], &[]);
                }
                true
            }
        }
    }

    /// This command buffer is about to execute a secondary command buffer: adds its hoisted captures and computations of
    /// draw arguments, and the queries that it ends, to its own.
    ///
    /// # Safety
    /// The buffers and other objects that the captures use are valid.
    pub(crate) unsafe fn execute(&mut self, executed: Result<Executed, RuntimeError>) {
        let added = executed.and_then(|executed| {
            extend(&mut self.ended, &executed.ended)?;
            Ok(executed.hoisted)
        });
        let hoisted = match added {
            Ok(hoisted) => hoisted,
            Err(error) => return self.refuse("vkCmdExecuteCommands", error),
        };
        for hoisted in hoisted {
            match hoisted {
                Hoisted::Commands(draw, commands) => unsafe {
                    // The secondary command buffer has the indirect draw, which must not find any arguments.
                    if let Err(error) = self.hoist_draw(draw, commands) {
                        self.refuse(A_BYTE_COUNT, error);
                    }
                },
                capture @ Hoisted::Capture(..) => self.push(capture),
                // This capture belongs to the secondary command buffer, so nothing may be added to it. `end_query_of`
                // would add the ends of this command buffer's own queries to a `Hoisted::Ends`, so the capture is added
                // as a `Hoisted::Capture`.
                Hoisted::Ends(capture) => self.push(Hoisted::Capture(capture, ReadFrom::Sets)),
            }
        }
    }

    /// Adds a `vkCmdDrawIndirectByteCountEXT`, whose arguments must be computed before the pass.
    ///
    /// # Errors
    /// The captures of the pass come after it, and [`settle`](Self::settle) has not prepared the pass for such draws; or
    /// the arguments cannot be computed.
    ///
    /// # Safety
    /// The draw is valid, and so are the commands.
    pub(super) unsafe fn hoist_draw(
        &mut self,
        draw: ByteCountDraw,
        commands: DrawCommands,
    ) -> Result<(), PipelineError> {
        let after = |pass: &&mut Pass| pass.placement == Placement::AfterPass;
        let Some(pass) = self.pass.as_mut().filter(after) else {
            self.push(Hoisted::Commands(draw, commands));
            return Ok(());
        };
        let mut late_draws = pass.late_draws.take().ok_or(PipelineError::LateByteCount)?;
        tracing::trace!("{A_BYTE_COUNT}: its arguments are computed before the pass");
        // SAFETY: the caller's contract; the command buffer is being recorded.
        let added = unsafe {
            self.with_arena(|emulation, arena| {
                late_draws.push(emulation.context(), arena, &draw, &commands)
            })
        };
        if let Some(pass) = &mut self.pass {
            pass.late_draws = Some(late_draws);
        }
        Ok(added?)
    }

    /// Returns the captures and computations that a secondary command buffer cannot record itself, because the command
    /// buffers that execute it record them, and the queries that it ends.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    pub(crate) fn executed(&self) -> Result<Executed, RuntimeError> {
        let mut executed = Executed::default();
        extend(&mut executed.hoisted, &self.hoisted)?;
        extend(&mut executed.ended, &self.ended)?;
        Ok(executed)
    }
}

/// Adds copies of elements to a list.
///
/// # Errors
/// [`RuntimeError::HostMemory`], and nothing is added.
fn extend<T: Clone>(list: &mut Vec<T>, elements: &[T]) -> Result<(), RuntimeError> {
    list.try_reserve(elements.len())?;
    list.extend_from_slice(elements);
    Ok(())
}
