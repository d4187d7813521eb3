//! What the layer knows of command buffers: whether a pass is withheld, and what was recorded in it.

mod table;

use std::sync::{Arc, Once};

use ash::vk;

use crate::emulation::{Captures, Emulation, Hoisted};
use crate::guard::guard;
use crate::withheld::{Commands, Functions, OutOfMemory, Templates, WithheldCommands};

/// Where a command buffer stands that is being recorded.
pub(crate) struct Recorded {
    /// Whether draws, and commands of which captures need to know nothing, go straight to the driver: there is no
    /// capture that is being recorded, and no pass that is withheld.
    is_direct: bool,
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
        is_direct: true,
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

/// The driver's function for a command that needs no more than that: one of those of which [`Recorded::is_direct`] is.
///
/// # Safety
/// As [`with`].
#[inline]
pub(crate) unsafe fn direct<F>(
    handle: vk::CommandBuffer,
    function: impl FnOnce(&Functions) -> Option<F>,
) -> Option<F> {
    let found = table::find_recent(handle);
    // SAFETY: the caller's contract.
    let recorded = unsafe { found.as_ref() }?.as_ref()?;
    if recorded.is_direct { function(&recorded.functions) } else { None }
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
        self.update_direct();
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

    /// A pass ends: all of it is recorded.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands where the pass began: nothing of it was recorded so far.
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
        tracing::trace!(commands = self.withheld.len(), failed = ?self.failed, "a pass was withheld");
        if self.failed.is_none() {
            // SAFETY: the caller's contract.
            unsafe { self.withheld.replay(&self.functions, handle) };
        }
        self.forget();
    }

    /// Records commands before a pass that is withheld, if one is, and nothing of what comes before it is missing.
    pub(crate) fn before_pass(&mut self, commands: impl FnOnce(&mut Self)) {
        let resumes = self.captures.as_ref().is_some_and(|captures| captures.resumes());
        if self.is_withheld && self.failed.is_none() && !resumes {
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
            self.failed = Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        }
    }

    fn forget(&mut self) {
        self.withheld.clear();
        (self.is_inside, self.is_withheld) = (false, false);
        self.update_direct();
    }

    /// A pass or a capture began or ended.
    pub(crate) fn update_direct(&mut self) {
        let captures = self.captures.as_ref().is_some_and(|captures| captures.is_active());
        self.is_direct = !self.is_withheld && !captures;
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
            if std::mem::take(&mut found.is_withheld) {
                tracing::warn!("vkEndCommandBuffer within a render pass instance, which is lost");
                found.forget();
            }
            failed = found.failed;
        });
    }
    failed
}

#[cfg(test)]
mod tests;
