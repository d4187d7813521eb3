//! Where translated structures lie while the next in the chain is called.

use std::cell::Cell;
use std::ffi::c_void;

use ash::vk;
use bumpalo::Bump;

use super::sizes;

thread_local! {
    /// Kept from call to call. A call that is made within another one finds none, and makes one.
    static KEPT: Cell<Option<Bump>> = const { Cell::new(None) };
}

/// Memory for one call.
#[derive(Debug)]
pub(crate) struct Arena(Bump);

impl Arena {
    /// Calls something with memory that is gone when it returns. Where there is no memory it panics, which `guard`
    /// makes an error of.
    pub(crate) fn with<R>(call: impl FnOnce(&Self) -> R) -> R {
        // A thread that ends has it no longer, and may still call.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let mut arena = Self(kept.unwrap_or_default());
        let result = call(&arena);
        arena.0.reset();
        _ = KEPT.try_with(|kept| kept.set(Some(arena.0)));
        result
    }

    /// Keeps a value, which is never dropped.
    pub(crate) fn keep<T: Copy>(&self, value: T) -> &mut T {
        self.0.alloc(value)
    }

    /// An array of Vulkan, each element of which is translated.
    pub(crate) fn map<T: Copy>(&self, values: &[T], mut map: impl FnMut(&T) -> T) -> &[T] {
        self.0.alloc_slice_fill_iter(values.iter().map(&mut map))
    }

    /// As [`map`](Self::map), without those that are `None`.
    pub(crate) fn filter_map<T: Copy>(
        &self,
        values: &[T],
        map: impl FnMut(&T) -> Option<T>,
    ) -> &[T] {
        let kept: Vec<T> = values.iter().filter_map(map).collect();
        self.0.alloc_slice_copy(&kept)
    }

    /// A chain with another structure in place of one that it has: what comes before it is copied, and what comes
    /// behind stays where it is.
    ///
    /// How large a structure is, its type says. Where a type is not known the structure cannot be copied, and is left
    /// out: it is of an extension that is newer than what the layer knows, and those are hidden.
    ///
    /// # Safety
    /// The chain is valid, and has the structure.
    pub(crate) unsafe fn replaced<T: vk::TaggedStructure + Copy>(
        &self,
        chain: *const c_void,
        old: *const T,
        new: T,
    ) -> *const c_void {
        let new: *mut vk::BaseOutStructure<'_> = (&raw mut *self.keep(new)).cast();
        let (mut first, mut last) = (new, std::ptr::null_mut::<vk::BaseOutStructure<'_>>());
        let mut append = |copy: *mut vk::BaseOutStructure<'static>| {
            // SAFETY: copies are this call's alone, and begin as all structures of chains do.
            match unsafe { last.as_mut() } {
                Some(last) => last.p_next = copy,
                None => first = copy.cast(),
            }
            last = copy.cast();
        };
        // SAFETY: the caller's contract.
        for structure in unsafe { crate::chain::structures(chain) } {
            if std::ptr::eq(structure.as_ptr().cast(), old) {
                break;
            }
            // SAFETY: the caller's contract.
            let s_type = unsafe { structure.as_ref() }.s_type;
            let Some(layout) = sizes::layout(s_type) else {
                tracing::warn!(?s_type, "a structure that is not known is left out");
                continue;
            };
            let copy = self.0.alloc_layout(layout);
            // SAFETY: the structure is of that type, and there is room for it.
            unsafe {
                copy.copy_from_nonoverlapping(structure.cast(), layout.size());
            }
            append(copy.as_ptr().cast());
        }
        append(new.cast());
        first.cast_const().cast()
    }
}
