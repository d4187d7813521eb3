//! The state that the layer keeps for each command buffer: whether a pass is withheld, and the
//! commands that were recorded in it.

mod table;

use std::sync::{Arc, Once};

use ash::vk;

use crate::emulation::Emulation;
use crate::emulation::captures::{Captures, Hoisted};
use crate::guard::guard;
use crate::translate::{Arena, OUT_OF_MEMORY};
use crate::withheld::{Commands, Functions, OutOfMemory, Templates, WithheldCommands};

/// The state of a command buffer that is being recorded.
pub(crate) struct Recorded {
    /// Where commands go that captures need not see, draws among them.
    destination: Destination,
    functions: Arc<Functions>,
    /// The commands of the pass that is withheld. Empty outside of such a pass.
    withheld: WithheldCommands,
    /// Whether a pass is being recorded.
    is_inside: bool,
    /// Whether that pass is withheld until it ends.
    is_withheld: bool,
    is_secondary: bool,
    /// Whether this is a secondary command buffer that is executed inside a pass
    /// (`VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT`).
    continues: bool,
    /// Present where transform feedback is emulated.
    captures: Option<Box<Captures>>,
    /// Why recording failed. Later commands are dropped, and `vkEndCommandBuffer` returns the
    /// error.
    failed: Option<vk::Result>,
}

/// Where commands go that captures need not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// To the driver.
    Driver,
    /// To the withheld commands of the pass.
    Withheld,
    /// To be decided for each command, because a capture is being recorded.
    Unsettled,
}

/// What the command buffers of a device share.
pub(crate) type Of<'a> = (&'a Arc<Functions>, &'a Arc<Templates>, Option<&'a Arc<Emulation>>);

/// Command buffers were allocated.
pub(crate) fn allocated(
    (functions, templates, emulation): Of<'_>,
    pool: vk::CommandPool,
    is_secondary: bool,
    handles: &[vk::CommandBuffer],
) {
    table::insert(functions, pool, handles, || Recorded {
        destination: Destination::Driver,
        functions: Arc::clone(functions),
        withheld: WithheldCommands::new(Arc::clone(templates)),
        is_inside: false,
        is_withheld: false,
        is_secondary,
        continues: false,
        captures: emulation.map(|emulation| Box::new(Captures::new(emulation))),
        failed: None,
    });
}

/// Command buffers are about to be freed.
pub(crate) fn freed(handles: &[vk::CommandBuffer]) {
    table::remove(handles);
}

/// A pool and its command buffers are about to be destroyed.
pub(crate) fn pool_destroyed(device: &Arc<Functions>, pool: vk::CommandPool) {
    table::remove_all_of(device, Some(pool));
}

/// A device is about to be destroyed. Some programs do not destroy their pools before.
pub(crate) fn device_destroyed(device: &Arc<Functions>) {
    table::remove_all_of(device, None);
}

/// Finds the state of a command buffer. If there is none, its commands are lost.
///
/// # Safety
/// The application synchronizes access to the command buffer.
#[inline]
unsafe fn find<'a>(handle: vk::CommandBuffer) -> Option<&'a mut Recorded> {
    // SAFETY: the caller's contract; the state lives until the application frees the command
    // buffer.
    let found = (unsafe { table::find(handle).as_mut() }).and_then(Option::as_mut);
    if found.is_none() {
        unknown();
    }
    found
}

/// Calls `command` with the state of a command buffer. If it panics, recording has failed.
///
/// # Safety
/// The application synchronizes access to the command buffer.
#[inline]
pub(crate) unsafe fn with(handle: vk::CommandBuffer, command: impl FnOnce(&mut Recorded)) {
    // SAFETY: the caller's contract.
    if let Some(recorded) = unsafe { find(handle) } {
        recorded.guarded(vk::Result::ERROR_UNKNOWN, command);
    }
}

/// As [`with`], for a command whose arguments are translated. If there is no memory for them,
/// recording has failed.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn with_arguments(
    handle: vk::CommandBuffer,
    command: impl FnOnce(&mut Recorded, &Arena),
) {
    // SAFETY: the caller's contract.
    if let Some(recorded) = unsafe { find(handle) } {
        recorded.guarded(OUT_OF_MEMORY, |recorded| {
            Arena::with(|arena| command(recorded, arena));
        });
    }
}

/// Has the captures of a command buffer `observe` a command, where transform feedback is emulated,
/// and then records it by `command`. A later command may have to end what it begins, so it is
/// recorded even if the captures fail: each of the two is called under a guard of its own.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn observe<R>(
    handle: vk::CommandBuffer,
    observe: impl FnOnce(&mut Captures) -> R,
    command: impl FnOnce(&mut Recorded, Option<R>),
) {
    let failure = vk::Result::ERROR_UNKNOWN;
    // SAFETY: the caller's contract.
    if let Some(recorded) = unsafe { find(handle) } {
        let observed = recorded.guarded(failure, |recorded| recorded.capture(observe)).flatten();
        recorded.guarded(failure, |recorded| command(recorded, observed));
    }
}

/// Changes state that captures use, and returns where the command goes.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn track<'a>(
    handle: vk::CommandBuffer,
    change: impl FnOnce(&mut Captures),
) -> Option<Commands<'a>> {
    // SAFETY: the caller's contract.
    let recorded = unsafe { find(handle) }?;
    recorded.guarded(vk::Result::ERROR_UNKNOWN, |recorded| {
        if let Some(captures) = &mut recorded.captures {
            change(captures);
        }
    });
    Some(match recorded.is_withheld {
        true => Commands::Withheld(&mut recorded.withheld),
        false => Commands::Functions(&recorded.functions),
    })
}

/// Where a command goes. It can be copied, so it cannot lend out the state of the command buffer,
/// which a command that is withheld [settles](Recorded::record).
#[derive(Clone, Copy)]
pub(crate) enum Straight<'a> {
    /// To the driver's function.
    Driver(&'a Functions),
    /// To the withheld commands.
    Withheld,
}

/// Returns where a command goes that captures need not see. `None` if the caller must look at the
/// state of the command buffer.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn straight<'a>(handle: vk::CommandBuffer) -> Option<Straight<'a>> {
    let found = table::find_recent(handle);
    // SAFETY: the caller's contract; the state lives until the application frees the command
    // buffer, and a slot with a handle that is not null, as Vulkan requires, is not free.
    let recorded = unsafe { found.as_ref()?.as_ref().unwrap_unchecked() };
    match recorded.destination {
        Destination::Driver => Some(Straight::Driver(&recorded.functions)),
        Destination::Withheld => Some(Straight::Withheld),
        Destination::Unsettled => None,
    }
}

/// Logs, once per process, that commands are lost.
#[cold]
fn unknown() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::error!(
            "a command buffer was not allocated through the layer: its commands are lost"
        );
    });
}

/// Recording. `command` either withholds a command or calls the driver, depending on its argument.
impl Recorded {
    /// A pass begins. If captures are to be recorded before it, its commands are withheld from here
    /// on.
    pub(crate) fn begin_pass(
        &mut self,
        handle: vk::CommandBuffer,
        command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
    ) {
        self.is_inside = true;
        // After a failure no pass reaches the driver: it might resume a pass that is missing.
        self.is_withheld = self.failed.is_some()
            || self.captures.as_ref().is_none_or(|captures| captures.withhold());
        self.update_destination();
        self.record(handle, command);
    }

    /// Records a command that is valid both inside and outside of a pass.
    #[inline]
    pub(crate) fn record(
        &mut self,
        handle: vk::CommandBuffer,
        command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
    ) {
        match self.is_withheld {
            true => {
                self.withhold(command);
                // So many commands are withheld that it is worth an attempt to withhold no more.
                if self.withheld.is_long() && self.destination == Destination::Withheld {
                    // SAFETY: the command buffer is being recorded, and the driver has not seen the
                    // pass, because it is withheld.
                    unsafe { self.settle(handle) };
                }
            }
            // Calling the driver needs no memory and does not fail.
            false => _ = command(Commands::Functions(&self.functions)),
        }
    }

    /// A pass ends. If it was withheld, it is recorded now, unless it is only suspended.
    ///
    /// # Safety
    /// As [`replay`](Self::replay).
    pub(crate) unsafe fn end_pass(
        &mut self,
        handle: vk::CommandBuffer,
        command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
    ) {
        self.is_inside = false;
        if !self.is_withheld {
            _ = command(Commands::Functions(&self.functions));
            return;
        }
        self.withhold(command);
        if !self.captures.as_ref().is_some_and(|captures| captures.suspends()) {
            // SAFETY: the caller's contract.
            unsafe { self.replay(handle) };
        }
    }

    /// Records the commands that were withheld.
    ///
    /// # Safety
    /// The command buffer is being recorded, and no command of the pass has been recorded by the
    /// driver so far.
    unsafe fn replay(&mut self, handle: vk::CommandBuffer) {
        tracing::trace!(commands = self.withheld.len(), failed = ?self.failed, "a pass was withheld");
        if self.failed.is_none() {
            // SAFETY: the caller's contract.
            unsafe { self.withheld.replay(&self.functions, handle) };
        }
        self.forget();
    }

    /// Lets the pass that is withheld go to the driver, with its captures after it, if that is
    /// possible.
    ///
    /// # Safety
    /// As [`replay`](Self::replay).
    #[cold]
    unsafe fn settle(&mut self, handle: vk::CommandBuffer) {
        // SAFETY: the caller's contract.
        let settle = |captures: &mut Captures| unsafe { captures.settle(handle) };
        let settled = self.failed.is_none() && self.capture(settle) == Some(true);
        if settled {
            tracing::trace!(commands = self.withheld.len(), "a long pass is not withheld further");
            // SAFETY: the caller's contract.
            unsafe { self.withheld.replay(&self.functions, handle) };
            self.withheld.clear();
            self.is_withheld = false;
            self.update_destination();
        } else {
            self.withheld.withhold_all();
        }
    }

    /// Records commands before the pass that is withheld. Does nothing if no pass is withheld or if
    /// recording has failed.
    pub(crate) fn before_pass(&mut self, commands: impl FnOnce(&mut Self)) {
        if self.is_withheld && self.failed.is_none() {
            self.is_withheld = false;
            commands(self);
            self.is_withheld = true;
        }
    }

    /// The guard of every command that is recorded. If `command` panics, recording has failed.
    #[inline]
    fn guarded<R>(
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

    /// Calls `command` with the captures, where transform feedback is emulated. If they fail,
    /// `vkEndCommandBuffer` returns the error.
    #[inline]
    pub(crate) fn capture<R>(&mut self, command: impl FnOnce(&mut Captures) -> R) -> Option<R> {
        let captures = self.captures.as_mut()?;
        let result = command(captures);
        if let Some(failed) = captures.failed() {
            self.failed.get_or_insert(failed);
        }
        Some(result)
    }

    /// Whether the next command is recorded inside a pass.
    pub(crate) const fn is_inside(&self) -> bool {
        self.is_inside || self.continues
    }

    /// Withholds a command.
    fn withhold(&mut self, command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>) {
        if self.failed.is_none() && command(Commands::Withheld(&mut self.withheld)).is_err() {
            self.failed = Some(OutOfMemory::RESULT);
        }
    }

    fn forget(&mut self) {
        self.withheld.clear();
        (self.is_inside, self.is_withheld) = (false, false);
        self.update_destination();
    }

    /// A pass or a capture began or ended.
    pub(crate) fn update_destination(&mut self) {
        let captures = self.captures.as_ref().is_some_and(|captures| captures.is_active());
        self.destination = match (captures, self.is_withheld) {
            (true, _) => Destination::Unsettled,
            (false, true) => Destination::Withheld,
            (false, false) => Destination::Driver,
        };
    }

    fn reset(&mut self, releases: bool) {
        if let Some(captures) = &mut self.captures {
            captures.reset(false, false);
            if releases {
                captures.release();
            }
        }
        self.forget();
    }
}

/// Recording begins, and everything that was recorded before is dropped. `info` says what a
/// secondary command buffer inherits.
///
/// # Safety
/// As [`with`], and `info` is valid, for a secondary command buffer with its inheritance info.
pub(crate) unsafe fn reset(handle: vk::CommandBuffer, info: &vk::CommandBufferBeginInfo<'_>) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            // Primary command buffers ignore the flag and the pointer, which may have any value.
            let flag = vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE;
            found.continues = info.flags.contains(flag) && found.is_secondary;
            found.failed = None;
            let inherited = match found.is_secondary {
                true => info.p_inheritance_info.as_ref(),
                false => None,
            };
            let is_counted = inherited.is_some_and(|inherited| {
                inherited.occlusion_query_enable == vk::TRUE
                    || !inherited.pipeline_statistics.is_empty()
            });
            if let Some(captures) = &mut found.captures {
                captures.reset(found.continues, is_counted);
            }
            found.forget();
        });
    }
}

/// A command buffer is reset. If `releases`, it frees its memory, otherwise it keeps it for the
/// next recording.
///
/// # Safety
/// As [`with`], and the command buffer is not pending execution.
pub(crate) unsafe fn forget(handle: vk::CommandBuffer, releases: bool) {
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| found.reset(releases)) };
}

/// As [`forget`], for all command buffers of a pool.
///
/// # Safety
/// As [`forget`], for each command buffer, and the application synchronizes access to the pool.
pub(crate) unsafe fn pool_reset(device: &Arc<Functions>, pool: vk::CommandPool, releases: bool) {
    // SAFETY: the caller's contract.
    unsafe { table::for_each_of(device, pool, |found| found.reset(releases)) };
}

/// A command could not be recorded: `vkEndCommandBuffer` returns the error.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn fail(handle: vk::CommandBuffer, error: vk::Result) {
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| found.failed = Some(error)) };
}

/// Returns what a secondary command buffer captures, for the command buffers that execute it.
/// Several threads may call this at the same time.
///
/// # Safety
/// Recording of the command buffer has ended, and no thread changes it during the call.
pub(crate) unsafe fn hoisted(handle: vk::CommandBuffer) -> Vec<Hoisted> {
    // SAFETY: the caller's contract: other threads may read the state, and no thread writes to it.
    let found = (unsafe { table::find(handle).as_ref() }).and_then(Option::as_ref);
    let captures = found.and_then(|found| found.captures.as_ref());
    captures.map(|captures| captures.hoisted()).unwrap_or_default()
}

/// Recording ends. Returns the error, if recording failed.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn failure(handle: vk::CommandBuffer) -> Option<vk::Result> {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            if found.is_inside && found.is_withheld {
                tracing::warn!(
                    "vkEndCommandBuffer inside of a render pass instance: its commands are lost"
                );
                found.forget();
            } else if !found.is_inside {
                found.capture(|captures| captures.end_with_suspended_pass(handle));
                if found.is_withheld {
                    found.replay(handle);
                }
            }
        });
        find(handle).and_then(|found| found.failed)
    }
}
