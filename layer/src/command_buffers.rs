//! What the layer knows of command buffers: whether a pass is withheld, and what was recorded in it.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Once, PoisonError, RwLock};

use ash::vk;

use crate::emulation::{Captures, Emulation, Hoisted};
use crate::guard::guard;
use crate::queue::{Commands, Functions, OutOfMemory, Queue, Templates};

/// Where a command buffer stands that is being recorded.
struct Recorded {
    functions: Arc<Functions>,
    /// Of the pass that is withheld; empty outside of one.
    queue: Queue,
    is_withheld: bool,
    is_secondary: bool,
    /// Of a secondary command buffer that is executed in a pass: all of it is in one.
    continues: bool,
    /// Where transform feedback is emulated.
    captures: Option<Box<Captures>>,
    /// Something of the pass is missing. The rest of it is dropped, and `vkEndCommandBuffer` returns the error.
    failed: Option<vk::Result>,
}

/// By handle. Who records into a command buffer has it alone, by Vulkan's rules: the lock is of the map.
static ALL: LazyLock<RwLock<All>> = LazyLock::new(RwLock::default);

type All = HashMap<vk::CommandBuffer, Box<CommandBuffer>>;

/// A command buffer, from its allocation to its end.
struct CommandBuffer {
    pool: vk::CommandPool,
    /// Those of its device, which tell devices apart.
    device: Arc<Functions>,
    recorded: UnsafeCell<Recorded>,
}

// SAFETY: what is in the cell is reached by commands of that command buffer alone, which Vulkan has the application
// synchronize.
unsafe impl Sync for CommandBuffer {}

/// How often command buffers were freed: then what a thread remembers may be of one that is gone.
static FREED: AtomicU64 = AtomicU64::new(0);

/// The command buffer that a thread recorded into last. Most commands go where the one before went.
#[derive(Clone, Copy)]
struct Last {
    handle: vk::CommandBuffer,
    freed: u64,
    found: NonNull<Recorded>,
}

thread_local! {
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
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
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    for handle in handles {
        let recorded = UnsafeCell::new(Recorded {
            functions: Arc::clone(functions),
            queue: Queue::new(Arc::clone(templates)),
            is_withheld: false,
            is_secondary,
            continues: false,
            captures: emulation.map(|emulation| Box::new(Captures::new(emulation))),
            failed: None,
        });
        let made = CommandBuffer { pool, device: Arc::clone(functions), recorded };
        if all.insert(*handle, Box::new(made)).is_some() {
            // The one before went without a word.
            FREED.fetch_add(1, Ordering::Release);
        }
    }
}

/// Command buffers are about to be freed.
pub(crate) fn freed(handles: &[vk::CommandBuffer]) {
    remove(|all| handles.iter().filter_map(|handle| all.remove(handle)).collect());
}

/// A pool is about to be destroyed, and with it its command buffers.
pub(crate) fn pool_destroyed(device: &Arc<Functions>, pool: vk::CommandPool) {
    remove_where(|found| found.pool == pool && Arc::ptr_eq(&found.device, device));
}

/// A device is about to be destroyed. Some programs leave it their pools.
pub(crate) fn device_destroyed(device: &Arc<Functions>) {
    remove_where(|found| Arc::ptr_eq(&found.device, device));
}

fn remove_where(is_removed: impl Fn(&CommandBuffer) -> bool) {
    remove(|all| all.extract_if(|_, found| is_removed(found)).map(|(_, found)| found).collect());
}

/// Removes command buffers. Their memory is freed once others may go on.
fn remove(which: impl FnOnce(&mut All) -> Vec<Box<CommandBuffer>>) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    FREED.fetch_add(1, Ordering::Release);
    let removed = which(&mut all);
    drop(all);
    drop(removed);
}

#[inline]
fn find(handle: vk::CommandBuffer) -> Option<NonNull<Recorded>> {
    let freed = FREED.load(Ordering::Acquire);
    if let Some(last) = LAST.get()
        && last.handle == handle
        && last.freed == freed
    {
        return Some(last.found);
    }
    search(handle, freed)
}

/// The same, where the thread recorded into another one last.
#[cold]
fn search(handle: vk::CommandBuffer, freed: u64) -> Option<NonNull<Recorded>> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let found = NonNull::new(all.get(&handle)?.recorded.get())?;
    LAST.set(Some(Last { handle, freed, found }));
    Some(found)
}

/// Does something with what is known of a command buffer. A panic fails the command buffer.
///
/// # Safety
/// The application synchronizes access to the command buffer.
unsafe fn with(handle: vk::CommandBuffer, command: impl FnOnce(&mut Recorded)) {
    let mut found = None;
    let done = guard("a command", false, || {
        found = find(handle);
        match found {
            // SAFETY: the caller's contract; it lives until the application frees it.
            Some(found) => command(unsafe { &mut *found.as_ptr() }),
            None => unknown(),
        }
        true
    });
    if !done && let Some(found) = found {
        // SAFETY: as above.
        unsafe { (*found.as_ptr()).failed = Some(vk::Result::ERROR_UNKNOWN) };
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

impl Recorded {
    /// Puts a command into the queue.
    fn withhold(&mut self, command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>) {
        if self.failed.is_none() && command(Commands::Queue(&mut self.queue)).is_err() {
            self.failed = Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        }
    }

    fn forget(&mut self) {
        self.queue.clear();
        self.is_withheld = false;
    }

    fn reset(&mut self, releases: bool) {
        self.forget();
        if let Some(captures) = &mut self.captures {
            captures.reset(false);
            if releases {
                captures.release();
            }
        }
    }
}

/// A pass begins: its commands are withheld from here on.
///
/// # Safety
/// As for the commands of which it is one: the application synchronizes access to the command buffer.
pub(crate) unsafe fn begin_pass(
    handle: vk::CommandBuffer,
    command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            found.is_withheld = true;
            found.withhold(command);
        });
    }
}

/// A command that may stand in a pass, and outside of one.
///
/// # Safety
/// As [`begin_pass`].
pub(crate) unsafe fn record(
    handle: vk::CommandBuffer,
    command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| match found.is_withheld {
            true => found.withhold(command),
            // What goes to the driver needs no memory.
            false => _ = command(Commands::Functions(&found.functions)),
        });
    }
}

/// A pass ends: all of it is recorded.
///
/// # Safety
/// As [`begin_pass`].
pub(crate) unsafe fn end_pass(
    handle: vk::CommandBuffer,
    command: impl FnOnce(Commands<'_>) -> Result<(), OutOfMemory>,
) {
    // SAFETY: the caller's contract; outside of a pass nothing was recorded since it began.
    unsafe {
        with(handle, |found| {
            if !found.is_withheld {
                // A secondary command buffer ends what it did not begin: that is not valid.
                _ = command(Commands::Functions(&found.functions));
                return;
            }
            found.withhold(command);
            tracing::trace!(commands = found.queue.len(), failed = ?found.failed, "a pass was withheld");
            if found.failed.is_none() {
                found.queue.replay(&found.functions, handle);
            }
            found.forget();
        });
    }
}

/// Recording begins, and what was recorded before is dropped.
///
/// # Safety
/// As [`begin_pass`].
pub(crate) unsafe fn reset(handle: vk::CommandBuffer, continues: bool) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            found.forget();
            // Of others the flag is ignored.
            found.continues = continues && found.is_secondary;
            found.failed = None;
            if let Some(captures) = &mut found.captures {
                captures.reset(found.continues);
            }
        });
    }
}

/// Does something with what is captured in a command buffer of a device whose transform feedback is emulated. What it
/// fails with, the command buffer's end returns.
///
/// # Safety
/// As [`begin_pass`].
pub(crate) unsafe fn captures(handle: vk::CommandBuffer, command: impl FnOnce(&mut Captures)) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            if let Some(captures) = &mut found.captures {
                command(captures);
                found.failed = found.failed.or(captures.failed());
            }
        });
    }
}

/// A command buffer is reset, and gives back its memory or keeps it for what is recorded next.
///
/// # Safety
/// As [`begin_pass`]; no submission of it is under way.
pub(crate) unsafe fn forget(handle: vk::CommandBuffer, releases: bool) {
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| found.reset(releases)) };
}

/// All command buffers of a pool are.
///
/// # Safety
/// As [`forget`], of all of them: the application synchronizes access to the pool.
pub(crate) unsafe fn pool_reset(device: &Arc<Functions>, pool: vk::CommandPool, releases: bool) {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    for found in all.values().filter(|f| f.pool == pool && Arc::ptr_eq(&f.device, device)) {
        // SAFETY: the caller's contract.
        unsafe { (*found.recorded.get()).reset(releases) };
    }
}

/// Whether what is recorded next is in a pass.
///
/// # Safety
/// As [`begin_pass`].
pub(crate) unsafe fn is_inside(handle: vk::CommandBuffer) -> bool {
    let mut is_inside = false;
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| is_inside = found.is_withheld || found.continues) };
    is_inside
}

/// A command could not be recorded: the command buffer's end returns the error.
///
/// # Safety
/// As [`begin_pass`].
pub(crate) unsafe fn fail(handle: vk::CommandBuffer, error: vk::Result) {
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| found.failed = Some(error)) };
}

/// What a secondary command buffer captures for those that execute it, of which there may be several at once.
///
/// # Safety
/// Recording of the command buffer has ended, and nothing changes it meanwhile.
pub(crate) unsafe fn hoisted(handle: vk::CommandBuffer) -> Vec<Hoisted> {
    let found = guard("vkCmdExecuteCommands", None, || find(handle));
    // SAFETY: the caller's contract: others read it, too, and nobody writes.
    let captures = found.and_then(|found| unsafe { found.as_ref() }.captures.as_ref());
    captures.map(|captures| captures.hoisted()).unwrap_or_default()
}

/// Recording ends: the error of the command buffer, if it has one.
///
/// # Safety
/// As [`begin_pass`].
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
