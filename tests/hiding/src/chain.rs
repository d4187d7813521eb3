//! Walks `pNext` chains and arrays.

use std::ffi::c_void;

use ash::vk;

/// Iterates over the structures of a chain, from the first to the last.
///
/// # Safety
/// The chain is valid, ends in null, and outlives the iterator.
pub(crate) unsafe fn structures(
    first: *const c_void,
) -> impl Iterator<Item = *mut vk::BaseOutStructure<'static>> {
    let node = |pointer: *const c_void| {
        (!pointer.is_null()).then_some(pointer.cast_mut().cast::<vk::BaseOutStructure<'_>>())
    };
    // SAFETY: the caller's contract: every structure of a chain begins with these members.
    std::iter::successors(node(first), move |it| node(unsafe { (**it).p_next }.cast()))
}

/// Finds the structure of type `T` in a chain.
///
/// # Safety
/// The contract of [`structures`]. The chain lives for `'a`, and nobody writes to it during `'a`.
pub(crate) unsafe fn find<'a, T: vk::TaggedStructure + 'a>(first: *const c_void) -> Option<&'a T> {
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        structures(first).find(|it| (**it).s_type == T::STRUCTURE_TYPE).map(|it| &*it.cast::<T>())
    }
}

/// Converts a pointer and a count, by which Vulkan passes an array, to a slice.
///
/// # Safety
/// The pointer is null or points to `count` elements, or the count is 0.
pub(crate) unsafe fn slice<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if count == 0 || start.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(start, count as usize) }
    }
}
