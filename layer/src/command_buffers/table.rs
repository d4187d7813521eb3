//! Finds the state of a command buffer of any device by its handle.
//!
//! The hooks of most recorded commands begin with a lookup here. The lookup takes no lock if the command buffer was
//! looked up recently. It uses no thread-local storage, because in a shared library each access to that costs a
//! function call. The lookup first examines the slot that was last found for the hash of the handle. Another thread may
//! free the command buffer of that slot at the same time. So the memory of a [`Slot`] is never freed, but is reused for
//! a command buffer that is allocated later. Each slot contains the handle of its command buffer, so that the lookup
//! notices if the slot now belongs to another command buffer.

use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ash::vk;
use ash::vk::Handle;
use rustc_hash::FxHashMap;

use super::state::CommandBufferState;
use crate::withheld::Functions;

/// Memory for the state of one command buffer.
struct Slot {
    /// The handle of the command buffer, or 0 while the slot is free.
    handle: AtomicU64,
    /// The state. `None` while the slot is free.
    state: UnsafeCell<Option<CommandBufferState>>,
}

impl Slot {
    const fn free() -> Self {
        Self { handle: AtomicU64::new(0), state: UnsafeCell::new(None) }
    }
}

// SAFETY: the value in the cell is replaced only while the lock of all slots is held. Otherwise only two kinds of
// commands access it: those that are recorded into the command buffer, which the application must synchronize, and
// those that execute or submit the command buffer after it was recorded. The latter only read its hoisted captures and
// changes of queries, which are `Sync`, and the words of its waits for events. The values that are moved between threads
// in this way are `Send`.
unsafe impl Sync for Slot {}

const _: () = {
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<CommandBufferState>();
    const fn can_be_shared<T: Sync>() {}
    can_be_shared::<crate::emulation::captures::Executed>();
};

struct Owned {
    /// The functions of the device. Their address identifies the device.
    device: Arc<Functions>,
    pool: vk::CommandPool,
    slot: &'static Slot,
}

#[derive(Default)]
struct All {
    by_handle: FxHashMap<vk::CommandBuffer, Owned>,
    free: Vec<&'static Slot>,
}

static ALL: LazyLock<RwLock<All>> = LazyLock::new(RwLock::default);

const HASH_BITS: u32 = 9;

/// For each hash of a handle: the slot of the command buffer that was looked up last; initially `NONE`, which is always
/// free. A slot that is replaced here moves to the neighbouring element (index ^ 1). So two threads that alternately
/// record into command buffers with the same hash both find their slots.
static RECENT: [AtomicPtr<Slot>; 1 << HASH_BITS] =
    [const { AtomicPtr::new(std::ptr::from_ref(&NONE).cast_mut()) }; 1 << HASH_BITS];

static NONE: Slot = Slot::free();

/// Returns a pointer to the state of a command buffer, or null if the command buffer was not
/// allocated through the layer.
#[inline]
pub(super) fn find(handle: vk::CommandBuffer) -> *mut Option<CommandBufferState> {
    let found = find_recent(handle);
    if found.is_null() { search(handle) } else { found }
}

/// Like [`find`], but looks only into [`RECENT`]. So the result is also null if the command buffer was not looked up
/// yet, or if others with its place in the table were looked up later.
#[inline]
pub(super) fn find_recent(handle: vk::CommandBuffer) -> *mut Option<CommandBufferState> {
    let hash = hash(handle);
    let found = of_handle(&RECENT[hash], handle);
    if found.is_null() { of_handle(&RECENT[hash ^ 1], handle) } else { found }
}

/// Returns the state of a command buffer if `recent` points to its slot, and null otherwise.
#[inline]
fn of_handle(
    recent: &AtomicPtr<Slot>,
    handle: vk::CommandBuffer,
) -> *mut Option<CommandBufferState> {
    // SAFETY: the pointer is to a slot, and the memory of slots is never freed.
    let slot = unsafe { &*recent.load(Ordering::Acquire) };
    if slot.handle.load(Ordering::Relaxed) == handle.as_raw() {
        slot.state.get()
    } else {
        null_mut()
    }
}

/// Hashes a handle. Handles are addresses, whose low bits are equal. The multiplication makes the
/// high bits depend on all bits.
#[inline]
fn hash(handle: vk::CommandBuffer) -> usize {
    (handle.as_raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS)) as usize
}

/// Looks up a command buffer that [`find_recent`] did not find in the table of all command buffers, and puts its slot into
/// [`RECENT`].
#[cold]
fn search(handle: vk::CommandBuffer) -> *mut Option<CommandBufferState> {
    let (recent, before) = (&RECENT[hash(handle)], &RECENT[hash(handle) ^ 1]);
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = all.by_handle.get(&handle) else { return null_mut() };
    let slot = std::ptr::from_ref(found.slot).cast_mut();
    before.store(recent.swap(slot, Ordering::AcqRel), Ordering::Release);
    found.slot.state.get()
}

/// Adds states, which `new` returns, for command buffers that were allocated.
pub(super) fn insert(
    device: &Arc<Functions>,
    pool: vk::CommandPool,
    handles: &[vk::CommandBuffer],
    new: impl Fn() -> CommandBufferState,
) {
    change(|all| {
        // Removes old states with the same handles. If the layer did not see that a command buffer
        // was destroyed, the driver may have used its handle again.
        let before = handles.iter().filter_map(|handle| all.take(*handle)).collect();
        for handle in handles {
            let slot = all.free.pop().unwrap_or_else(|| Box::leak(Box::new(Slot::free())));
            // SAFETY: the lock is held, and no other thread uses a slot that was free.
            unsafe { *slot.state.get() = Some(new()) };
            slot.handle.store(handle.as_raw(), Ordering::Release);
            all.by_handle.insert(*handle, Owned { device: Arc::clone(device), pool, slot });
        }
        before
    });
}

pub(super) fn remove(handles: &[vk::CommandBuffer]) {
    change(|all| handles.iter().filter_map(|handle| all.take(*handle)).collect());
}

/// Removes the state of all command buffers of a pool, or of the whole device if `pool` is `None`.
pub(super) fn remove_all_of(device: &Arc<Functions>, pool: Option<vk::CommandPool>) {
    change(|all| {
        let handles: Vec<_> = all.of(device, pool).map(|(handle, _)| *handle).collect();
        handles.into_iter().filter_map(|handle| all.take(handle)).collect()
    });
}

/// Calls `which`, which changes the table and returns the states that it removed. The lock is released before these
/// states are dropped.
fn change(which: impl FnOnce(&mut All) -> Vec<CommandBufferState>) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    let removed = which(&mut all);
    drop(all);
    drop(removed);
}

/// Calls `f` with the state of each command buffer of a pool.
///
/// # Safety
/// The application synchronizes access to all of these command buffers.
pub(super) unsafe fn for_each_of(
    device: &Arc<Functions>,
    pool: vk::CommandPool,
    mut f: impl FnMut(&mut CommandBufferState),
) {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let slots: Vec<_> = all.of(device, Some(pool)).map(|(_, found)| found.slot).collect();
    // The lock is released first, because `f` may take long, and other threads may allocate command
    // buffers meanwhile.
    drop(all);
    for slot in slots {
        if let Some(state) = unsafe { &mut *slot.state.get() } {
            f(state);
        }
    }
}

impl All {
    fn of<'a>(
        &'a self,
        device: &'a Arc<Functions>,
        pool: Option<vk::CommandPool>,
    ) -> impl Iterator<Item = (&'a vk::CommandBuffer, &'a Owned)> {
        self.by_handle.iter().filter(move |(_, found)| {
            Arc::ptr_eq(&found.device, device) && pool.is_none_or(|pool| found.pool == pool)
        })
    }

    /// Frees the slot (the memory for the state) of a command buffer, and returns the state. `None` if the command
    /// buffer is unknown.
    fn take(&mut self, handle: vk::CommandBuffer) -> Option<CommandBufferState> {
        let Owned { slot, .. } = self.by_handle.remove(&handle)?;
        slot.handle.store(0, Ordering::Release);
        self.free.push(slot);
        // SAFETY: the lock is held, and no other thread may record into a command buffer that is
        // being freed.
        unsafe { (*slot.state.get()).take() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::withheld::Templates;

    #[test]
    fn two_with_the_same_hash_are_both_recent() {
        // SAFETY: there are no functions.
        let functions = Arc::new(unsafe { Functions::load(|_| None) });
        let templates = Arc::new(Templates::new(vk::Device::null(), None));
        let handle = |number: u64| vk::CommandBuffer::from_raw((1 << 40) + 64 * number);
        let is_like_the_first = |other: &vk::CommandBuffer| hash(*other) == hash(handle(0));
        let both: Vec<_> = (0..).map(handle).filter(is_like_the_first).take(2).collect();
        let new = || CommandBufferState::new((&functions, &templates, None), false);
        insert(&functions, vk::CommandPool::null(), &both, new);
        let found: Vec<_> = both.iter().map(|handle| find(*handle)).collect();
        let recent: Vec<_> = both.iter().map(|handle| find_recent(*handle)).collect();
        assert!(!found.contains(&null_mut()) && found[0] != found[1]);
        assert_eq!(recent, found);
        remove(&both);
        assert!(both.iter().all(|handle| find(*handle).is_null()));
    }
}
