//! Emulates memory that is not coherent. The host writes and reads a copy of the mapped memory. A flush writes the copy
//! to the memory, and an invalidation updates the copy. If a flush or an invalidation is forgotten, the device or the
//! host reads old contents.

use std::ptr::NonNull;

use vkxfb::runtime::Allocation;

/// The copy of an allocation that the host uses.
struct Shadow {
    /// The copy, from [`Box::into_raw`].
    copy: NonNull<[u64]>,
    /// The mapped memory of the device. It has at least `size` bytes.
    mapped: NonNull<u8>,
    size: usize,
}

// SAFETY: the copy is only accessed by the code that got its address, as mapped memory is.
unsafe impl Send for Shadow {}
// SAFETY: the copy is only accessed by the code that got its address. Through a shared reference,
// memory is written only by functions whose callers promise that nothing else accesses it.
unsafe impl Sync for Shadow {}

impl Shadow {
    const fn start(&self) -> NonNull<u8> {
        self.copy.cast()
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw`, and the code that got the address no
        // longer uses it.
        drop(unsafe { Box::from_raw(self.copy.as_ptr()) });
    }
}

/// The copies of all mapped allocations.
#[derive(Default)]
pub(super) struct Shadows(Vec<Shadow>);

impl Shadows {
    /// Replaces `mapped` of a mapped allocation by separate memory for the host, filled with zeros, and marks the
    /// allocation as not coherent.
    pub(super) fn add(&mut self, allocation: &mut Allocation) {
        let (Some(mapped), Ok(size)) = (allocation.mapped, usize::try_from(allocation.size)) else {
            return;
        };
        let copy = vec![0_u64; size.div_ceil(size_of::<u64>())].into_boxed_slice();
        let Some(copy) = NonNull::new(Box::into_raw(copy)) else { return };
        let shadow = Shadow { copy, mapped, size };
        allocation.mapped = Some(shadow.start());
        allocation.coherent = false;
        self.0.push(shadow);
    }

    pub(super) fn remove(&mut self, allocation: &Allocation) {
        self.0.retain(|shadow| Some(shadow.start()) != allocation.mapped);
    }

    fn of(&self, start: *const u8) -> Option<&Shadow> {
        self.0.iter().find(|shadow| std::ptr::eq(shadow.start().as_ptr(), start))
    }

    /// Emulates a flush: writes the copy at `start` to the device's memory.
    ///
    /// # Safety
    /// Neither the host nor the device uses the allocation during the call.
    pub(super) unsafe fn flush(&self, start: *const u8) {
        if let Some(shadow) = self.of(start) {
            let (from, to) = (shadow.start(), shadow.mapped);
            // SAFETY: both memory areas are live and have at least this size.
            unsafe { from.copy_to_nonoverlapping(to, shadow.size) };
        }
    }

    /// Emulates an invalidation: updates the copy at `start` from the device's memory.
    ///
    /// # Safety
    /// Neither the host nor the device uses the allocation during the call.
    pub(super) unsafe fn invalidate(&self, start: *const u8) {
        if let Some(shadow) = self.of(start) {
            let (from, to) = (shadow.mapped, shadow.start());
            // SAFETY: both memory areas are live and have at least this size.
            unsafe { from.copy_to_nonoverlapping(to, shadow.size) };
        }
    }
}
