//! What the layer knows of command buffers: whether a pass is withheld, and what was recorded in it.

mod table;

use std::sync::{Arc, Once};

use ash::vk;

use crate::emulation::{Captures, Emulation, Hoisted};
use crate::guard::guard;
use crate::withheld::{Commands, Functions, OutOfMemory, Templates, WithheldCommands};

/// Where a command buffer stands that is being recorded.
pub(crate) struct Recorded {
    /// Where draws go, and commands of which captures need to know nothing.
    destination: Destination,
    functions: Arc<Functions>,
    /// Of the pass that is withheld; empty outside of one.
    withheld: WithheldCommands,
    /// Whether a pass is being recorded.
    is_inside: bool,
    /// Whether that is withheld until it ends.
    is_withheld: bool,
    is_secondary: bool,
    /// Of a secondary command buffer that is executed in a pass: all of it is in one.
    continues: bool,
    /// Where transform feedback is emulated.
    captures: Option<Box<Captures>>,
    /// Something of the pass is missing. The rest of it is dropped, and `vkEndCommandBuffer` returns the error.
    failed: Option<vk::Result>,
}

/// Where commands go that captures need not know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// To the driver.
    Driver,
    /// To what is withheld of the pass.
    Withheld,
    /// That has to be found out: a capture is being recorded.
    Unsettled,
}

/// What the command buffers of a device have of it.
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

/// A pool is about to be destroyed, and with it its command buffers.
pub(crate) fn pool_destroyed(device: &Arc<Functions>, pool: vk::CommandPool) {
    table::remove_all_of(device, Some(pool));
}

/// A device is about to be destroyed. Some programs leave it their pools.
pub(crate) fn device_destroyed(device: &Arc<Functions>) {
    table::remove_all_of(device, None);
}

/// Does something with what is known of a command buffer. A panic fails the command buffer.
///
/// # Safety
/// The application synchronizes access to the command buffer.
#[inline]
pub(crate) unsafe fn with(handle: vk::CommandBuffer, command: impl FnOnce(&mut Recorded)) {
    let found = table::find(handle);
    // SAFETY: the caller's contract; it lives until the application frees the command buffer.
    let Some(recorded) = (unsafe { found.as_mut() }).and_then(Option::as_mut) else {
        unknown();
        return;
    };
    let done = guard("a command", false, || {
        command(recorded);
        true
    });
    if !done {
        // SAFETY: as above; the command is done with it.
        if let Some(recorded) = (unsafe { found.as_mut() }).and_then(Option::as_mut) {
            recorded.failed = Some(vk::Result::ERROR_UNKNOWN);
        }
    }
}

/// Changes state that captures see, and says where the command goes.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn track<'a>(
    handle: vk::CommandBuffer,
    change: impl FnOnce(&mut Captures),
) -> Option<Straight<'a>> {
    // SAFETY: the caller's contract; it lives until the application frees the command buffer.
    let Some(recorded) = (unsafe { table::find(handle).as_mut() }).and_then(Option::as_mut) else {
        unknown();
        return None;
    };
    if let Some(captures) = &mut recorded.captures
        && !guard("a change of state", false, || {
            change(captures);
            true
        })
    {
        recorded.failed.get_or_insert(vk::Result::ERROR_UNKNOWN);
    }
    Some(match recorded.is_withheld {
        true => Straight::Withheld(&mut recorded.withheld),
        false => Straight::Driver(&recorded.functions),
    })
}

/// Where a command goes.
pub(crate) enum Straight<'a> {
    /// The driver's function is called.
    Driver(&'a Functions),
    /// It is withheld.
    Withheld(&'a mut WithheldCommands),
}

/// Where a command goes that captures need not know of, unless that takes longer to find out.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn straight<'a>(handle: vk::CommandBuffer) -> Option<Straight<'a>> {
    let found = table::find_recent(handle);
    // SAFETY: the caller's contract; it lives until the application frees the command buffer.
    let recorded = unsafe { found.as_mut() }?.as_mut()?;
    match recorded.destination {
        Destination::Driver => Some(Straight::Driver(&recorded.functions)),
        Destination::Withheld => Some(Straight::Withheld(&mut recorded.withheld)),
        Destination::Unsettled => None,
    }
}

/// Says once that commands are lost.
#[cold]
fn unknown() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::error!(
            "a command buffer that was not allocated through the layer: its commands are lost"
        );
    });
}

/// How commands are recorded: `command` withholds one, or hands it to the driver.
impl Recorded {
    /// A pass begins: its commands are withheld from here on, if captures come before it.
    pub(crate) fn begin_pass(
        &mut self,
        handle: vk::CommandBuffer,
        command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
    ) {
        self.is_inside = true;
        // Nothing more of a command buffer that has failed reaches the driver: a pass may go on with one that is missing.
        self.is_withheld = self.failed.is_some()
            || self.captures.as_ref().is_none_or(|captures| captures.withhold());
        self.update_destination();
        self.record(handle, command);
    }

    /// A command that may stand in a pass, and outside of one.
    #[inline]
    pub(crate) fn record(
        &mut self,
        _: vk::CommandBuffer,
        command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
    ) {
        match self.is_withheld {
            true => self.withhold(command),
            // What goes to the driver needs no memory.
            false => _ = command(Commands::Functions(&self.functions)),
        }
    }

    /// A pass ends: all of it is recorded, unless it is only suspended.
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

    /// Records what was withheld.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands where the pass began: nothing of it was recorded so far.
    unsafe fn replay(&mut self, handle: vk::CommandBuffer) {
        tracing::trace!(commands = self.withheld.len(), failed = ?self.failed, "a pass was withheld");
        if self.failed.is_none() {
            // SAFETY: the caller's contract.
            unsafe { self.withheld.replay(&self.functions, handle) };
        }
        self.forget();
    }

    /// Records commands before a pass that is withheld, if one is, and nothing of what comes before it is missing.
    pub(crate) fn before_pass(&mut self, commands: impl FnOnce(&mut Self)) {
        if self.is_withheld && self.failed.is_none() {
            self.is_withheld = false;
            commands(self);
            self.is_withheld = true;
        }
    }

    /// Does something with what is captured, where transform feedback is emulated. What it fails with, the command
    /// buffer's end returns.
    #[inline]
    pub(crate) fn observe<R>(&mut self, command: impl FnOnce(&mut Captures) -> R) -> Option<R> {
        let captures = self.captures.as_mut()?;
        // The command itself is recorded whatever becomes of this: another one may have to end what it begins.
        let result = guard("a capture", None, || Some(command(captures)));
        if let Some(failed) = captures.failed() {
            self.failed.get_or_insert(failed);
        }
        if result.is_none() {
            self.failed.get_or_insert(vk::Result::ERROR_UNKNOWN);
        }
        result
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

/// Recording begins, and what was recorded before is dropped. Of a secondary command buffer there is said what it
/// inherits.
///
/// # Safety
/// As [`with`], and the structures of a secondary command buffer are valid.
pub(crate) unsafe fn reset(handle: vk::CommandBuffer, info: &vk::CommandBufferBeginInfo<'_>) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            // Primary command buffers ignore the flag and the pointer, which may be anything.
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

/// A command buffer is reset, and gives back its memory or keeps it for what is recorded next.
///
/// # Safety
/// As [`with`]; no submission of it is under way.
pub(crate) unsafe fn forget(handle: vk::CommandBuffer, releases: bool) {
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| found.reset(releases)) };
}

/// All command buffers of a pool are.
///
/// # Safety
/// As [`forget`], of all of them: the application synchronizes access to the pool.
pub(crate) unsafe fn pool_reset(device: &Arc<Functions>, pool: vk::CommandPool, releases: bool) {
    // SAFETY: the caller's contract.
    unsafe { table::for_each_of(device, pool, |found| found.reset(releases)) };
}

/// Whether what is recorded next is in a pass.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn is_inside(handle: vk::CommandBuffer) -> bool {
    let mut is_inside = false;
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| is_inside = found.is_inside || found.continues) };
    is_inside
}

/// A command could not be recorded: the command buffer's end returns the error.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn fail(handle: vk::CommandBuffer, error: vk::Result) {
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| found.failed = Some(error)) };
}

/// What a secondary command buffer captures for those that execute it, of which there may be several at once.
///
/// # Safety
/// Recording of the command buffer has ended, and nothing changes it meanwhile.
pub(crate) unsafe fn hoisted(handle: vk::CommandBuffer) -> Vec<Hoisted> {
    // SAFETY: the caller's contract: others read it, too, and nobody writes.
    let found = (unsafe { table::find(handle).as_ref() }).and_then(Option::as_ref);
    let captures = found.and_then(|found| found.captures.as_ref());
    captures.map(|captures| captures.hoisted()).unwrap_or_default()
}

/// Recording ends: the error of the command buffer, if it has one.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn failure(handle: vk::CommandBuffer) -> Option<vk::Result> {
    let mut failed = None;
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            if found.is_inside && found.is_withheld {
                tracing::warn!("vkEndCommandBuffer within a render pass instance, which is lost");
                found.forget();
            } else if !found.is_inside {
                found.observe(|captures| captures.end_with_suspended_pass(handle));
                if found.is_withheld {
                    found.replay(handle);
                }
            }
            failed = found.failed;
        });
    }
    failed
}

#[cfg(test)]
mod tests;
