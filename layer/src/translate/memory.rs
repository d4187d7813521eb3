//! Allocates memory for translated structures. The memory is used only during a call to the layer or driver below.

use std::cell::Cell;
use std::ffi::c_void;

use ash::vk;
use bumpalo::Bump;

use crate::chain;

/// The result of a command if the memory for its translated arguments cannot be allocated.
pub(crate) const OUT_OF_MEMORY: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;

thread_local! {
    /// The memory that the next call on this thread uses again. `None` while a call uses it: a call
    /// within that call creates memory of its own.
    static KEPT: Cell<Option<Bump>> = const { Cell::new(None) };
}

/// Memory for translated arguments, which is valid during one call of the layer or driver below. (The *arena* of the
/// library `vkxfb`, from which captures take memory, is something else.)
///
/// 0 bytes must never be allocated here: in an empty arena, bumpalo (3.20) then writes to a static
/// that all threads share, without synchronization.
#[derive(Debug)]
pub(crate) struct Arena(Bump);

impl Arena {
    /// Calls `call` with an arena, whose memory is freed when `call` returns. If memory cannot be
    /// allocated, `call` panics, and the guard of the hook turns that into an error.
    pub(crate) fn with<R>(call: impl FnOnce(&Self) -> R) -> R {
        // A thread that is ending may still make calls after its thread-local value was destroyed.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let mut arena = Self(kept.unwrap_or_default());
        let result = call(&arena);
        arena.0.reset();
        _ = KEPT.try_with(|kept| kept.set(Some(arena.0)));
        result
    }

    /// Copies a value into the arena. Its destructor never runs.
    pub(crate) fn keep<T: Copy>(&self, value: T) -> &mut T {
        self.0.alloc(value)
    }

    /// Copies an array into the arena, with each element translated by `map`.
    pub(crate) fn map<T: Copy>(&self, values: &[T], mut map: impl FnMut(&T) -> T) -> &[T] {
        if values.is_empty() {
            &[]
        } else {
            self.0.alloc_slice_fill_iter(values.iter().map(&mut map))
        }
    }

    /// Like [`map`](Self::map), but leaves out the elements for which `map` returns `None`.
    pub(crate) fn filter_map<T: Copy>(
        &self,
        values: &[T],
        map: impl FnMut(&T) -> Option<T>,
    ) -> &[T] {
        let kept: Vec<T> = values.iter().filter_map(map).collect();
        if kept.is_empty() { &[] } else { self.0.alloc_slice_copy(&kept) }
    }

    /// Returns a chain in which `new` replaces the structure `old`. The structures before `old` are
    /// copied. Those after `old` are not: the new chain points to them.
    ///
    /// Structures of unknown types before `old` are left out, because they cannot be copied without
    /// knowing their size. They belong to extensions that the layer does not know. The layer hides
    /// such extensions, so valid programs have no such structures.
    ///
    /// # Safety
    /// The chain is valid, and contains `old`.
    pub(crate) unsafe fn replaced<T: vk::TaggedStructure + Copy>(
        &self,
        chain: *const c_void,
        old: *const T,
        new: T,
    ) -> *const c_void {
        let new: *mut vk::BaseOutStructure<'_> = (&raw mut *self.keep(new)).cast();
        let (mut first, mut last) = (new, std::ptr::null_mut::<vk::BaseOutStructure<'_>>());
        let mut append = |copy: *mut vk::BaseOutStructure<'static>| {
            // SAFETY: only this call uses the copies, and every structure of a chain begins with
            // the members of `VkBaseOutStructure`.
            match unsafe { last.as_mut() } {
                Some(last) => last.p_next = copy,
                None => first = copy.cast(),
            }
            last = copy.cast();
        };
        for structure in unsafe { chain::structures(chain) } {
            if std::ptr::eq(structure.as_ptr().cast(), old) {
                break;
            }
            let s_type = unsafe { structure.as_ref() }.s_type;
            let Some(layout) = chain::copy::layout(s_type) else {
                tracing::warn!(?s_type, "a structure of an unknown type is left out");
                continue;
            };
            let copy = self.0.alloc_layout(layout);
            // SAFETY: the layout is that of the structure's type, and the copy was allocated with
            // it.
            unsafe {
                copy.copy_from_nonoverlapping(structure.cast(), layout.size());
            }
            append(copy.as_ptr().cast());
        }
        append(new.cast());
        first.cast_const().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty array allocates nothing, so threads that make empty arrays write to no shared memory. If they did, the
    /// thread sanitizer (`.ci/sanitize`) would make this test fail.
    #[test]
    fn empty_arrays_of_threads_share_nothing() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for size in [0, 3] {
                        let values = &[1, 2, 3][..size];
                        Arena::with(|arena| assert!(arena.filter_map(values, |_| None).is_empty()));
                        Arena::with(|arena| assert_eq!(arena.map(values, |v| *v), values));
                    }
                });
            }
        });
    }
}
