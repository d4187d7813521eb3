//! What the layer knows of command buffers: whether a pass is withheld, and what was recorded in it.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ash::vk;

use crate::queue::{Commands, Functions, OutOfMemory, Queue, Templates};

/// A command buffer, from its allocation to its end.
struct CommandBuffer {
    functions: Arc<Functions>,
    pool: vk::CommandPool,
    /// Of the pass that is withheld; empty outside of one.
    queue: Queue,
    is_withheld: bool,
    /// Something of the pass is missing. The rest of it is dropped, and `vkEndCommandBuffer` returns the error.
    failed: Option<vk::Result>,
}

/// By handle. Who records into a command buffer has it alone, by Vulkan's rules: the lock is of the map.
static ALL: LazyLock<RwLock<HashMap<vk::CommandBuffer, Box<Entry>>>> =
    LazyLock::new(RwLock::default);

struct Entry(UnsafeCell<CommandBuffer>);

// SAFETY: what is in the cell is reached by commands of that command buffer alone, which Vulkan has the application
// synchronize.
unsafe impl Sync for Entry {}

/// How often command buffers were freed: then what a thread remembers may be of one that is gone.
static FREED: AtomicU64 = AtomicU64::new(0);

/// The command buffer that a thread recorded into last. Most commands go where the one before went.
#[derive(Clone, Copy)]
struct Last {
    handle: vk::CommandBuffer,
    freed: u64,
    found: NonNull<CommandBuffer>,
}

thread_local! {
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
}

/// Command buffers were allocated.
pub(crate) fn allocated(
    functions: &Arc<Functions>,
    templates: &Arc<Templates>,
    pool: vk::CommandPool,
    handles: &[vk::CommandBuffer],
) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    for handle in handles {
        let functions = Arc::clone(functions);
        let queue = Queue::new(Arc::clone(templates));
        let made = CommandBuffer { functions, pool, queue, is_withheld: false, failed: None };
        if all.insert(*handle, Box::new(Entry(UnsafeCell::new(made)))).is_some() {
            // The one before went without a word.
            FREED.fetch_add(1, Ordering::Release);
        }
    }
}

/// Command buffers are about to be freed.
pub(crate) fn freed(handles: &[vk::CommandBuffer]) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    FREED.fetch_add(1, Ordering::Release);
    for handle in handles {
        all.remove(handle);
    }
}

/// A pool is about to be destroyed, and with it its command buffers.
///
/// # Safety
/// It is of the device whose functions those are, and nothing is recorded into its command buffers any more.
pub(crate) unsafe fn pool_destroyed(functions: &Arc<Functions>, pool: vk::CommandPool) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    FREED.fetch_add(1, Ordering::Release);
    all.retain(|_, entry| {
        // SAFETY: pool and device do not change after the allocation.
        let (of, device) = unsafe { ((*entry.0.get()).pool, &(*entry.0.get()).functions) };
        of != pool || !Arc::ptr_eq(device, functions)
    });
}

#[inline]
fn find(handle: vk::CommandBuffer) -> Option<NonNull<CommandBuffer>> {
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
fn search(handle: vk::CommandBuffer, freed: u64) -> Option<NonNull<CommandBuffer>> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let found = NonNull::new(all.get(&handle)?.0.get())?;
    LAST.set(Some(Last { handle, freed, found }));
    Some(found)
}

/// Does something with what is known of a command buffer. A panic fails the command buffer.
///
/// # Safety
/// The application synchronizes access to the command buffer.
unsafe fn with(handle: vk::CommandBuffer, command: impl FnOnce(&mut CommandBuffer)) {
    let Some(found) = find(handle) else { return };
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's contract; it lives until the application frees it.
        command(unsafe { &mut *found.as_ptr() });
    }));
    if done.is_err() {
        // SAFETY: as above.
        unsafe { (*found.as_ptr()).failed = Some(vk::Result::ERROR_UNKNOWN) };
    }
}

impl CommandBuffer {
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
}

/// A pass begins: its commands are withheld from here on.
///
/// # Safety
/// As for the commands of which it is one: the application synchronizes access to the command buffer.
pub(crate) unsafe fn begin(
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
/// As [`begin`].
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
/// As [`begin`].
pub(crate) unsafe fn end(
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

/// A command buffer begins anew: what was recorded is gone.
///
/// # Safety
/// As [`begin`].
pub(crate) unsafe fn reset(handle: vk::CommandBuffer) {
    // SAFETY: the caller's contract.
    unsafe {
        with(handle, |found| {
            found.forget();
            found.failed = None;
        });
    }
}

/// What is wrong with a command buffer, whose recording ends.
///
/// # Safety
/// As [`begin`].
pub(crate) unsafe fn failure(handle: vk::CommandBuffer) -> Option<vk::Result> {
    let mut failed = None;
    // SAFETY: the caller's contract.
    unsafe { with(handle, |found| failed = found.failed) };
    failed
}

#[cfg(test)]
mod tests;
