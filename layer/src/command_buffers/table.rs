//! The command buffers of all devices, by handle.
//!
//! Each command that is recorded begins with a search here. So the search takes no lock and no thread-local storage,
//! which a shared library reaches by a call: it looks first at what was found last for the hash of the handle. Another
//! thread may free that command buffer meanwhile, so the memory of a [`Slot`] is never given back to the allocator,
//! only to the next command buffer that is allocated, and the slot says whose it is.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ash::vk;
use ash::vk::Handle;

use super::Recorded;
use crate::withheld::Functions;

/// Where what is known of a command buffer lies.
struct Slot {
    /// The command buffer's, or 0 while the slot is free.
    handle: AtomicU64,
    recorded: UnsafeCell<Option<Recorded>>,
}

// SAFETY: what is in the cell is replaced while the lock of all slots is held, and otherwise reached by commands of
// that command buffer, which Vulkan has the application synchronize, and by those that execute it when it is recorded:
// these read what it captures, which may be shared, and nothing else. What threads hand on so can be sent.
unsafe impl Sync for Slot {}

const _: () = {
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<Recorded>();
    const fn can_be_shared<T: Sync>() {}
    can_be_shared::<crate::emulation::Hoisted>();
};

/// Of which device and pool a command buffer is.
struct Owned {
    /// Those of the device, which tell devices apart.
    device: Arc<Functions>,
    pool: vk::CommandPool,
    slot: &'static Slot,
}

#[derive(Default)]
struct All {
    by_handle: HashMap<vk::CommandBuffer, Owned>,
    free: Vec<&'static Slot>,
}

static ALL: LazyLock<RwLock<All>> = LazyLock::new(RwLock::default);

/// The bits of a hash.
const HASH_BITS: u32 = 9;

/// What was found last for a handle of each hash: null, or a slot. The next one to it has what was found before, so
/// that two threads that record by turns into command buffers of one hash both find theirs.
static RECENT: [AtomicPtr<Slot>; 1 << HASH_BITS] =
    [const { AtomicPtr::new(null_mut()) }; 1 << HASH_BITS];

/// What is known of a command buffer; null if it was not allocated through the layer.
#[inline]
pub(super) fn find(handle: vk::CommandBuffer) -> *mut Option<Recorded> {
    let found = find_recent(handle);
    if found.is_null() { search(handle) } else { found }
}

/// The same, and null unless it is what was found last for the hash of the handle.
#[inline]
pub(super) fn find_recent(handle: vk::CommandBuffer) -> *mut Option<Recorded> {
    of_handle(&RECENT[hash(handle)], handle)
}

/// What is known of a command buffer, if that is what is remembered there.
#[inline]
fn of_handle(recent: &AtomicPtr<Slot>, handle: vk::CommandBuffer) -> *mut Option<Recorded> {
    // SAFETY: it is null or a slot, which lives forever.
    match unsafe { recent.load(Ordering::Acquire).as_ref() } {
        Some(slot) if slot.handle.load(Ordering::Relaxed) == handle.as_raw() => slot.recorded.get(),
        _ => null_mut(),
    }
}

/// Handles are addresses, whose low bits are all alike. The multiplication makes the high bits depend on all.
#[inline]
fn hash(handle: vk::CommandBuffer) -> usize {
    (handle.as_raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS)) as usize
}

/// What is known of a command buffer that is not what was found last for its hash.
#[cold]
fn search(handle: vk::CommandBuffer) -> *mut Option<Recorded> {
    let (recent, before) = (&RECENT[hash(handle)], &RECENT[hash(handle) ^ 1]);
    let found = of_handle(before, handle);
    if !found.is_null() {
        return found;
    }
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = all.by_handle.get(&handle) else { return null_mut() };
    let slot = std::ptr::from_ref(found.slot).cast_mut();
    before.store(recent.swap(slot, Ordering::AcqRel), Ordering::Release);
    found.slot.recorded.get()
}

/// Command buffers were allocated.
pub(super) fn insert(
    device: &Arc<Functions>,
    pool: vk::CommandPool,
    handles: &[vk::CommandBuffer],
    new: impl Fn() -> Recorded,
) {
    change(|all| {
        // A driver may reuse the handle of a command buffer whose end the layer was not told of.
        let before = handles.iter().filter_map(|handle| all.take(*handle)).collect();
        for handle in handles {
            let slot = all.free.pop().unwrap_or_else(|| {
                let (handle, recorded) = (AtomicU64::new(0), UnsafeCell::new(None));
                Box::leak(Box::new(Slot { handle, recorded }))
            });
            // SAFETY: nobody else has a slot that was free, and the lock is held.
            unsafe { *slot.recorded.get() = Some(new()) };
            slot.handle.store(handle.as_raw(), Ordering::Release);
            all.by_handle.insert(*handle, Owned { device: Arc::clone(device), pool, slot });
        }
        before
    });
}

/// Command buffers are about to be freed.
pub(super) fn remove(handles: &[vk::CommandBuffer]) {
    change(|all| handles.iter().filter_map(|handle| all.take(*handle)).collect());
}

/// The command buffers of a device, or of one of its pools, are about to go.
pub(super) fn remove_all_of(device: &Arc<Functions>, pool: Option<vk::CommandPool>) {
    change(|all| {
        let handles: Vec<_> = all.of(device, pool).map(|(handle, _)| *handle).collect();
        handles.into_iter().filter_map(|handle| all.take(handle)).collect()
    });
}

/// Changes what there is. What is removed is dropped when others may go on.
fn change(which: impl FnOnce(&mut All) -> Vec<Recorded>) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    let removed = which(&mut all);
    drop(all);
    drop(removed);
}

/// Does something with the command buffers of a pool.
///
/// # Safety
/// The application synchronizes access to all of them.
pub(super) unsafe fn for_each_of(
    device: &Arc<Functions>,
    pool: vk::CommandPool,
    mut f: impl FnMut(&mut Recorded),
) {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let slots: Vec<_> = all.of(device, Some(pool)).map(|(_, found)| found.slot).collect();
    // What is done may take its time, while others allocate.
    drop(all);
    for slot in slots {
        // SAFETY: the caller's contract.
        if let Some(recorded) = unsafe { &mut *slot.recorded.get() } {
            f(recorded);
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

    /// Frees the slot of a command buffer. Gives what was there.
    fn take(&mut self, handle: vk::CommandBuffer) -> Option<Recorded> {
        let Owned { slot, .. } = self.by_handle.remove(&handle)?;
        slot.handle.store(0, Ordering::Release);
        self.free.push(slot);
        // SAFETY: by Vulkan's rules nothing is recorded in a command buffer that is freed, and the lock is held.
        unsafe { (*slot.recorded.get()).take() }
    }
}
