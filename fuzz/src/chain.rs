//! Reads what pointers of Vulkan point to.

use std::ffi::c_void;

use ash::vk;

/// Iterates over the structures of a chain.
///
/// # Safety
/// The chain is valid.
pub unsafe fn structures(
    first: *const c_void,
) -> impl Iterator<Item = *const vk::BaseInStructure<'static>> {
    let first: *const vk::BaseInStructure<'static> = first.cast();
    let next = |at: &*const vk::BaseInStructure<'static>| unsafe { (**at).p_next };
    std::iter::successors(Some(first).filter(|first| !first.is_null()), move |at| {
        Some(next(at)).filter(|next| !next.is_null())
    })
}

/// Returns the elements of an array.
///
/// # Safety
/// There are `count` elements.
pub unsafe fn slice<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if count == 0 || start.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(start, count as usize) }
    }
}
