//! The command buffers of all devices, by handle.
//!
//! Each command that is recorded begins with a search here. So the search takes no lock and no thread-local storage,
//! which a shared library reaches by a call: it looks first at what was found last for the hash of the handle. Another
//! thread may free that command buffer meanwhile, so the memory of a [`Place`] is never given back to the allocator,
//! only to the next command buffer that is allocated, and the place says whose it is.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ash::vk;
use ash::vk::Handle;

use super::Recorded;
use crate::queue::Functions;

/// Where what is known of a command buffer lies.
pub(super) struct Place {
    /// The command buffer's, or 0 while the place is free.
    handle: AtomicU64,
    recorded: UnsafeCell<Option<Recorded>>,
}

// SAFETY: what is in the cell is replaced while the lock of all places is held, and otherwise reached by commands of
// that command buffer alone, which Vulkan has the application synchronize.
unsafe impl Sync for Place {}

/// Of which device and pool a command buffer is.
struct Owned {
    /// Those of the device, which tell devices apart.
    device: Arc<Functions>,
    pool: vk::CommandPool,
    place: &'static Place,
}

#[derive(Default)]
struct All {
    by_handle: HashMap<vk::CommandBuffer, Owned>,
    free: Vec<&'static Place>,
}

static ALL: LazyLock<RwLock<All>> = LazyLock::new(RwLock::default);

/// The bits of a hash.
const HASH_BITS: u32 = 9;

/// What was found last for a handle of each hash: null, or a place.
static RECENT: [AtomicPtr<Place>; 1 << HASH_BITS] =
    [const { AtomicPtr::new(null_mut()) }; 1 << HASH_BITS];

/// What is known of a command buffer; null if it was not allocated through the layer.
#[inline]
pub(super) fn find(handle: vk::CommandBuffer) -> *mut Option<Recorded> {
    let (recent, found) = find_recent(handle);
    if found.is_null() { search(handle, recent) } else { found }
}

/// The same, and null unless it is what was found last for the hash of the handle, which is said, too.
#[inline]
pub(super) fn find_recent(
    handle: vk::CommandBuffer,
) -> (&'static AtomicPtr<Place>, *mut Option<Recorded>) {
    // Handles are addresses, whose low bits are all alike. The multiplication makes the high bits depend on all.
    let hash = handle.as_raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS);
    let recent = &RECENT[hash as usize];
    // SAFETY: it is null or a place, which lives forever.
    if let Some(place) = unsafe { recent.load(Ordering::Acquire).as_ref() }
        && place.handle.load(Ordering::Relaxed) == handle.as_raw()
    {
        return (recent, place.recorded.get());
    }
    (recent, null_mut())
}

/// The same, where another command buffer was found last.
#[cold]
fn search(handle: vk::CommandBuffer, recent: &AtomicPtr<Place>) -> *mut Option<Recorded> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = all.by_handle.get(&handle) else { return null_mut() };
    recent.store(std::ptr::from_ref(found.place).cast_mut(), Ordering::Release);
    found.place.recorded.get()
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
            let place = all.free.pop().unwrap_or_else(|| {
                let (handle, recorded) = (AtomicU64::new(0), UnsafeCell::new(None));
                Box::leak(Box::new(Place { handle, recorded }))
            });
            // SAFETY: nobody else has a place that was free, and the lock is held.
            unsafe { *place.recorded.get() = Some(new()) };
            place.handle.store(handle.as_raw(), Ordering::Release);
            all.by_handle.insert(*handle, Owned { device: Arc::clone(device), pool, place });
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
    for (_, found) in all.of(device, Some(pool)) {
        // SAFETY: the caller's contract; the lock keeps the command buffer from going.
        if let Some(recorded) = unsafe { &mut *found.place.recorded.get() } {
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

    /// Frees the place of a command buffer. Gives what was there.
    fn take(&mut self, handle: vk::CommandBuffer) -> Option<Recorded> {
        let Owned { place, .. } = self.by_handle.remove(&handle)?;
        place.handle.store(0, Ordering::Release);
        self.free.push(place);
        // SAFETY: by Vulkan's rules nothing is recorded in a command buffer that is freed, and the lock is held.
        unsafe { (*place.recorded.get()).take() }
    }
}
