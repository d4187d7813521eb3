//! Memory that is not coherent, on devices that have none: the host gets a copy, which meets the device's memory only
//! where the host flushes or invalidates. Who forgets it reads what was there before.

use std::ptr::NonNull;

use vkxfb::runtime::Allocation;

/// The copy that the host sees of an allocation.
struct Shadow {
    /// From [`Box::into_raw`].
    copy: NonNull<[u64]>,
    /// The mapped memory, of at least `size` bytes.
    mapped: NonNull<u8>,
    size: usize,
}

// SAFETY: nobody else has the copy but who was given its address, as with mapped memory.
unsafe impl Send for Shadow {}
// SAFETY: as above; nothing is written through a shared reference but what its functions ask for.
unsafe impl Sync for Shadow {}

impl Shadow {
    const fn start(&self) -> NonNull<u8> {
        self.copy.cast()
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and whose address it was no longer uses it.
        drop(unsafe { Box::from_raw(self.copy.as_ptr()) });
    }
}

/// The copies of all allocations that have one.
#[derive(Default)]
pub(super) struct Shadows(Vec<Shadow>);

impl Shadows {
    /// Gives a mapped allocation a copy, and takes its coherence.
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

    /// Destroys the copy of an allocation.
    pub(super) fn remove(&mut self, allocation: &Allocation) {
        self.0.retain(|shadow| Some(shadow.start()) != allocation.mapped);
    }

    fn of(&self, start: *const u8) -> Option<&Shadow> {
        self.0.iter().find(|shadow| std::ptr::eq(shadow.start().as_ptr(), start))
    }

    /// What a flush does: the device sees what the copy at `start` holds.
    ///
    /// # Safety
    /// Neither the host nor the device uses the allocation meanwhile.
    pub(super) unsafe fn flush(&self, start: *const u8) {
        if let Some(shadow) = self.of(start) {
            let (from, to) = (shadow.start(), shadow.mapped);
            // SAFETY: both are live and have that size.
            unsafe { from.copy_to_nonoverlapping(to, shadow.size) };
        }
    }

    /// What an invalidation does: the copy at `start` holds what the device wrote.
    ///
    /// # Safety
    /// As [`flush`](Self::flush).
    pub(super) unsafe fn invalidate(&self, start: *const u8) {
        if let Some(shadow) = self.of(start) {
            let (from, to) = (shadow.mapped, shadow.start());
            // SAFETY: as above.
            unsafe { from.copy_to_nonoverlapping(to, shadow.size) };
        }
    }
}
