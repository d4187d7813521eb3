//! The state that the layer keeps for a command buffer: its captures and, while the layer withholds a render pass, the
//! commands of the pass, which the driver gets when the pass ends.

use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::RuntimeError;
use vkxfb::runtime::descriptor_heaps::BoundHeaps;

use crate::emulation::Emulation;
use crate::emulation::captures::{Captures, Executed};
use crate::emulation::descriptor_heaps;
use crate::emulation::queries::EndedQueries;
use crate::guard::guard;
use crate::translate::Subpass;
use crate::translate::passes::RenderPasses;
use crate::withheld::{Command, CommandType, Functions, OutOfMemory, Templates, WithheldCommands};

pub(crate) struct CommandBufferState {
    /// The destination of commands that the captures need not see. Draws are such commands, too, unless [captures must
    /// observe draws](Captures::observes_draws).
    destination: Destination,
    functions: Arc<Functions>,
    /// The commands of the current pass, if the driver gets them only when the pass ends (the pass is *withheld*);
    /// empty otherwise. A secondary command buffer that is executed inside a pass stores its event waits here instead.
    /// The command buffers that execute it record these waits [before the pass](Self::before_pass).
    withheld: WithheldCommands,
    /// Whether a pass has begun in this command buffer and not ended.
    is_inside: bool,
    /// Whether the commands of the current pass are stored, and go to the driver only when the pass ends.
    is_withheld: bool,
    /// Whether all stored commands of the current pass, except those that begin and end it, only set state.
    only_sets_state: bool,
    is_secondary: bool,
    /// Whether this is a secondary command buffer that is executed inside a pass
    /// (`VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT`).
    continues: bool,
    /// The captures. `None` if transform feedback is not emulated.
    captures: Option<Box<Captures>>,
    /// The error with which recording has failed, or `None`. After a failure the commands of passes
    /// are dropped, and `vkEndCommandBuffer` returns the error.
    failed: Option<vk::Result>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// The commands go to the driver.
    Driver,
    /// The commands are added to those of the current pass, which are stored until the pass ends.
    Withheld,
    /// The destination is decided for each command, because [captures must observe draws](Captures::observes_draws), or
    /// because [deferred captures](Captures::has_deferred) may have to be recorded before the command.
    Unsettled,
}

/// The destination of a command that the captures need not see, for the fast path of hooks. It does not borrow the
/// `withheld` commands: the hook borrows them only when it [adds](CommandBufferState::record) the command.
#[derive(Clone, Copy)]
pub(crate) enum FastPath<'a> {
    /// The hook calls the driver's function.
    Driver(&'a Functions),
    /// The hook adds the command to those that are stored until the pass ends.
    Withheld,
}

/// The data that all command buffers of a device share: the driver's functions, the descriptor update templates, and
/// the emulation of transform feedback, which is `None` if the layer does not emulate it.
pub(crate) type DeviceTables<'a> =
    (&'a Arc<Functions>, &'a Arc<Templates>, Option<&'a Arc<Emulation>>);

impl CommandBufferState {
    pub(super) fn new(
        (functions, templates, emulation): DeviceTables<'_>,
        is_secondary: bool,
    ) -> Self {
        Self {
            destination: Destination::Driver,
            functions: Arc::clone(functions),
            withheld: WithheldCommands::new(Arc::clone(templates)),
            is_inside: false,
            is_withheld: false,
            only_sets_state: true,
            is_secondary,
            continues: false,
            captures: emulation.map(|emulation| Box::new(Captures::new(emulation))),
            failed: None,
        }
    }

    /// Begins recording: drops the captures and the stored commands of the previous recording. `passes` are the render
    /// passes of the device. `None` if transform feedback is not emulated.
    ///
    /// # Safety
    /// `info` is valid. For a secondary command buffer, its `pInheritanceInfo` is valid, too.
    pub(super) unsafe fn begin(
        &mut self,
        info: &vk::CommandBufferBeginInfo<'_>,
        passes: Option<&RenderPasses>,
    ) {
        // Primary command buffers ignore this flag and the pointer to the inheritance info, which
        // may have any value.
        let flag = vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE;
        self.continues = info.flags.contains(flag) && self.is_secondary;
        self.failed = None;
        let inherited =
            if self.is_secondary { unsafe { info.p_inheritance_info.as_ref() } } else { None };
        let is_counted = inherited.is_some_and(|inherited| {
            inherited.occlusion_query_enable == vk::TRUE
                || !inherited.pipeline_statistics.is_empty()
        });
        if let Some(captures) = &mut self.captures {
            let heaps =
                inherited.and_then(|inherited| unsafe { descriptor_heaps::inherited(inherited) });
            let subpass = inherited.filter(|_| self.continues).zip(passes);
            let subpass = subpass.map(|(info, passes)| unsafe { Subpass::inherited(passes, info) });
            captures.reset(self.continues.then(|| subpass.unwrap_or_default()), is_counted, heaps);
        }
        self.forget();
    }

    /// Ends recording. If the last pass was suspended, so that another command buffer resumes it, its captures are
    /// recorded, and the driver gets its stored commands. If a pass has neither ended nor been suspended, its stored
    /// commands are lost.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    pub(super) unsafe fn end(&mut self, handle: vk::CommandBuffer) {
        if self.is_inside && self.is_withheld {
            tracing::warn!(
                "vkEndCommandBuffer inside of a render pass instance: its commands are lost"
            );
            self.forget();
        } else if !self.is_inside {
            unsafe {
                self.play_deferred(handle);
                self.capture(|captures| captures.end_with_suspended_pass(handle));
                if self.is_withheld {
                    self.replay(handle, false);
                }
            }
        }
    }

    pub(super) const fn failure(&self) -> Option<vk::Result> {
        self.failed
    }

    /// The descriptor heaps that this command buffer inherits, if it is a secondary one.
    pub(super) fn inherited_heaps(&self) -> BoundHeaps {
        self.captures.as_ref().map(|captures| captures.inherited_heaps()).unwrap_or_default()
    }

    /// Returns what a secondary command buffer leaves to the command buffers that execute it.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    pub(super) fn executed(&self) -> Result<Executed, RuntimeError> {
        let captures = self.captures.as_ref();
        captures.map_or_else(|| Ok(Executed::default()), |captures| captures.executed())
    }

    /// The queries of the layer that the command buffer ends.
    pub(super) fn ended_queries(&self) -> &[EndedQueries] {
        self.captures.as_ref().map(|captures| captures.ended_queries()).unwrap_or_default()
    }

    /// Returns the driver's functions, after a call of `change` if transform feedback is emulated. If the commands of the
    /// current pass are stored, does nothing and returns `None`.
    #[inline]
    pub(super) fn track(&mut self, change: impl FnOnce(&mut Captures)) -> Option<&Functions> {
        if self.is_withheld {
            return None;
        }
        self.guarded(vk::Result::ERROR_UNKNOWN, |state| {
            if let Some(captures) = &mut state.captures {
                change(captures);
            }
        });
        Some(&self.functions)
    }

    /// Returns the destination of a command that the captures need not see. `None` while the destination is
    /// [decided for each command](Destination::Unsettled).
    #[inline]
    pub(super) fn fast_path(&self) -> Option<FastPath<'_>> {
        match self.destination {
            Destination::Driver => Some(FastPath::Driver(&self.functions)),
            Destination::Withheld => Some(FastPath::Withheld),
            Destination::Unsettled => None,
        }
    }
}

/// These methods record commands.
impl CommandBufferState {
    /// Records a command, as its [type](CommandType) says. The driver gets it or, while the commands of the pass are
    /// stored, it is stored. If recording has failed, commands of passes are dropped.
    ///
    /// # Safety
    /// The command buffer of `handle` is being recorded, and this is its state. The command may be recorded into it
    /// now.
    #[inline]
    pub(crate) unsafe fn record<C: Command>(&mut self, handle: vk::CommandBuffer, command: &C) {
        unsafe {
            match C::TYPE {
                CommandType::BeginPass => self.begin_pass(handle, command),
                CommandType::EndPass => self.end_pass(handle, command),
                CommandType::State => self.give(handle, command),
                CommandType::Synchronization | CommandType::Action => {
                    if C::TYPE == CommandType::Action {
                        self.play_deferred(handle);
                    }
                    self.only_sets_state = false;
                    self.give(handle, command);
                }
            }
        }
    }

    /// Gives a command to the driver or, while the commands of the pass are stored, stores it.
    ///
    /// # Safety
    /// The contract of [`record`](Self::record).
    #[inline]
    unsafe fn give(&mut self, handle: vk::CommandBuffer, command: &impl Command) {
        // SAFETY: the caller's contract; the driver has not seen a pass that is withheld.
        unsafe {
            if !self.is_withheld {
                return command.call(&self.functions, handle);
            }
            self.withhold(command);
            // The pass has many commands, so the layer tries to give them to the driver now, to use no more memory.
            if self.withheld.is_long() && self.destination == Destination::Withheld {
                self.settle(handle);
            }
        }
    }

    /// Begins a pass. In two cases the commands of the pass are stored until it ends: captures may have to be recorded
    /// before the pass, or the layer stores the commands of all passes and leaves captures to the driver (the setting
    /// `withhold_passes`).
    ///
    /// # Safety
    /// The contract of [`record`](Self::record).
    unsafe fn begin_pass(&mut self, handle: vk::CommandBuffer, command: &impl Command) {
        self.is_inside = true;
        // After a failure no pass goes to the driver, because it might resume a pass that the driver did not get. All
        // passes count as withheld then, and `withhold` drops their commands.
        self.is_withheld = self.failed.is_some()
            || self.captures.as_ref().is_none_or(|captures| captures.withhold());
        self.update_destination();
        unsafe { self.give(handle, command) };
        self.only_sets_state = true;
    }

    /// Ends a pass, and records its captures before or after it. If its commands were stored, the driver gets them now.
    /// If the pass is only suspended, they stay stored until it is resumed and ends.
    ///
    /// The pass ends even if the captures panic, so they have guards of their own.
    ///
    /// # Safety
    /// The contracts of [`record`](Self::record) and [`replay`](Self::replay).
    unsafe fn end_pass(&mut self, handle: vk::CommandBuffer, command: &impl Command) {
        let (failure, only_sets_state) = (vk::Result::ERROR_UNKNOWN, self.only_sets_state);
        let end = |captures: &mut Captures| unsafe { captures.end_pass(handle, only_sets_state) };
        let is_dropped = self.guarded(failure, |state| state.capture(end)).flatten();
        self.is_inside = false;
        unsafe {
            if self.is_withheld {
                self.withhold(command);
                if !self.captures.as_ref().is_some_and(|captures| captures.suspends()) {
                    self.replay(handle, is_dropped == Some(true));
                }
            } else {
                command.call(&self.functions, handle);
            }
        }
        // SAFETY: the caller's contract. The pass has ended.
        let leave = |captures: &mut Captures| unsafe { captures.leave_pass(handle) };
        self.guarded(failure, |state| state.capture(leave));
        self.update_destination();
    }

    /// Records the captures that were [deferred](Captures::has_deferred), if there are any.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    #[inline]
    pub(crate) unsafe fn play_deferred(&mut self, handle: vk::CommandBuffer) {
        if self.captures.as_ref().is_some_and(|captures| captures.has_deferred()) {
            self.capture(|captures| unsafe { captures.play_deferred(handle) });
            self.update_destination();
        }
    }

    /// Gives the stored commands of the pass to the driver, or drops them if recording has failed. If the pass itself is
    /// dropped, because it changes nothing, the driver gets all commands except those that begin and end it.
    ///
    /// # Safety
    /// The command buffer is being recorded, and no command of the pass has been recorded by the
    /// driver so far. If the pass is dropped, its other commands only set state.
    unsafe fn replay(&mut self, handle: vk::CommandBuffer, is_dropped: bool) {
        let commands = self.withheld.len();
        tracing::trace!(commands, failed = ?self.failed, is_dropped, "a pass was withheld");
        if self.failed.is_none() {
            unsafe {
                if is_dropped {
                    self.withheld.replay_inner(&self.functions, handle)
                } else {
                    self.withheld.replay(&self.functions, handle)
                }
            }
        }
        self.forget();
    }

    /// Tries to [settle](Captures::settle) a pass whose commands are stored. If this succeeds, the driver gets the
    /// commands that were stored so far at once, and all later commands of the pass directly. Otherwise the commands
    /// stay stored until the pass ends.
    ///
    /// # Safety
    /// The contract of [`replay`](Self::replay).
    #[cold]
    unsafe fn settle(&mut self, handle: vk::CommandBuffer) {
        let settle = |captures: &mut Captures| unsafe { captures.settle(handle) };
        let settled = self.failed.is_none() && self.capture(settle) == Some(true);
        if settled {
            tracing::trace!(commands = self.withheld.len(), "a long pass is not withheld further");
            unsafe { self.withheld.replay(&self.functions, handle) };
            self.withheld.clear();
            self.is_withheld = false;
            self.update_destination();
        } else {
            self.withheld.withhold_all();
        }
    }

    /// Records an event wait that must come before the pass. If the commands of the pass are stored until it ends, the
    /// driver gets the wait directly. In a secondary command buffer that is executed inside a pass, the wait is stored
    /// instead. In all other cases, and if recording has failed, does nothing.
    ///
    /// # Safety
    /// The contract of [`record`](Self::record).
    pub(crate) unsafe fn before_pass(&mut self, handle: vk::CommandBuffer, command: &impl Command) {
        if self.failed.is_none() && (self.continues || self.is_withheld) {
            self.is_withheld = !self.is_withheld;
            unsafe { self.record(handle, command) };
            self.is_withheld = !self.is_withheld;
        }
    }

    /// Returns the event waits of a secondary command buffer that is executed inside a pass, and `None` for other
    /// command buffers.
    pub(super) const fn waits(&self) -> Option<&WithheldCommands> {
        if self.continues { Some(&self.withheld) } else { None }
    }

    /// Records the event waits of a secondary command buffer that is about to be executed. They come before the pass,
    /// like those that [`before_pass`](Self::before_pass) records.
    ///
    /// # Safety
    /// This command buffer is being recorded, and the waits are valid in it.
    pub(crate) unsafe fn repeat_waits(
        &mut self,
        handle: vk::CommandBuffer,
        waits: &WithheldCommands,
    ) {
        if self.failed.is_some() {
            return;
        }
        if self.continues {
            // SAFETY: the waits are valid as long as the secondary command buffer is, without which this command buffer
            // is invalid, too.
            if unsafe { self.withheld.append(waits) }.is_err() {
                self.failed = Some(OutOfMemory::RESULT);
            }
        } else if self.is_withheld {
            unsafe { waits.replay(&self.functions, handle) };
        }
    }

    /// Calls `command` in a [guard](crate::guard). If `command` panics, recording fails with the
    /// result `failure`, and `None` is returned.
    #[inline]
    pub(super) fn guarded<R>(
        &mut self,
        failure: vk::Result,
        command: impl FnOnce(&mut Self) -> R,
    ) -> Option<R> {
        let done = guard("a command", None, || Some(command(self)));
        if done.is_none() {
            self.failed.get_or_insert(failure);
        }
        done
    }

    /// Calls `command` with the captures. `None` if transform feedback is not emulated. If the
    /// captures fail, recording fails.
    #[inline]
    pub(crate) fn capture<R>(&mut self, command: impl FnOnce(&mut Captures) -> R) -> Option<R> {
        let captures = self.captures.as_mut()?;
        let result = command(captures);
        if let Some(failed) = captures.failed() {
            self.failed.get_or_insert(failed);
        }
        Some(result)
    }

    /// Whether the next command is inside of a pass.
    pub(crate) const fn is_inside(&self) -> bool {
        self.is_inside || self.continues
    }

    /// Stores a command until the pass ends. After recording has failed, the command is dropped. If memory runs out,
    /// recording fails.
    ///
    /// # Safety
    /// The arguments are valid.
    unsafe fn withhold(&mut self, command: &impl Command) {
        if self.failed.is_none() && unsafe { self.withheld.push(command) }.is_err() {
            self.failed = Some(OutOfMemory::RESULT);
        }
    }

    fn forget(&mut self) {
        self.withheld.clear();
        (self.is_inside, self.is_withheld) = (false, false);
        self.update_destination();
    }

    /// Updates the destination of commands. Must be called when a pass, a capture or a query begins
    /// or ends, and when deferred captures have been recorded.
    pub(crate) fn update_destination(&mut self) {
        let captures = self
            .captures
            .as_ref()
            .is_some_and(|captures| captures.observes_draws() || captures.has_deferred());
        self.destination = match (captures, self.is_withheld) {
            (true, _) => Destination::Unsettled,
            (false, true) => Destination::Withheld,
            (false, false) => Destination::Driver,
        };
    }

    pub(super) fn reset(&mut self, releases: bool) {
        if let Some(captures) = &mut self.captures {
            captures.reset(None, false, None);
            if releases {
                // SAFETY: Vulkan requires that a command buffer that is reset is not pending execution.
                unsafe { captures.release() };
            }
        }
        self.forget();
    }
}
