//! Walks `pNext` chains, for all modules of the layer.
//!
//! The layer reads the structures that a program passes as input, and never writes to them. To pass a changed chain to
//! the layer or driver below, it makes a copy. The loader's own structures are an exception, as the loader's interface
//! requires: each layer advances the link for the layer below.

pub(crate) mod copy;

use std::ffi::c_void;
use std::ptr::NonNull;

use ash::vk;

use crate::error::Error;
use crate::interface::{LayerCreateInfo, LayerDeviceLink, LayerFunction, LayerInstanceLink};

/// Iterates over the structures of a chain, from the first to the last.
///
/// # Safety
/// The chain is valid, ends in null, and outlives the iterator.
pub(crate) unsafe fn structures(
    first: *const c_void,
) -> impl Iterator<Item = NonNull<vk::BaseInStructure<'static>>> {
    let node = |pointer: *const c_void| NonNull::new(pointer.cast_mut().cast());
    std::iter::successors(node(first), move |structure: &NonNull<vk::BaseInStructure<'_>>| {
        // SAFETY: the caller's contract: every structure of a chain begins with these members.
        node(unsafe { structure.as_ref() }.p_next.cast())
    })
}

/// Converts a pointer and a count, by which Vulkan passes an array, to a slice. The slice is empty if
/// the count is 0, whatever the pointer is, and if the pointer is null.
///
/// # Safety
/// The pointer is null or points to `count` elements.
pub(crate) unsafe fn slice<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if count == 0 || start.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(start, count as usize) }
    }
}

/// Iterates over the structures of type `T` in a chain, from the first to the last. Some extensions
/// allow several structures of one type.
///
/// # Safety
/// The contract of [`structures`]. The chain lives for `'a`, and nobody writes to it during `'a`.
pub(crate) unsafe fn all_of<'a, T: vk::TaggedStructure + 'a>(
    first: *const c_void,
) -> impl Iterator<Item = &'a T> {
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        structures(first)
            .filter(|structure| structure.as_ref().s_type == T::STRUCTURE_TYPE)
            .map(|structure| structure.cast::<T>().as_ref())
    }
}

/// Calls `call`, which fills in the structures behind `head`, while those of certain types are not linked into the chain.
/// After the call the chain is as it was before.
///
/// # Safety
/// `head` is null or begins a valid chain, whose structures may be written until this function returns, as those that a
/// program passes for results.
pub(crate) unsafe fn without<R>(
    head: *mut vk::BaseOutStructure<'_>,
    is_left_out: impl Fn(vk::StructureType) -> bool,
    call: impl FnOnce() -> R,
) -> R {
    let mut left_out = Vec::new();
    let mut last = head;
    // SAFETY: the caller's contract; the pointers are the program's, each to a structure of the chain.
    unsafe {
        while let Some(structure) = last.as_mut()
            && let Some(next) = structure.p_next.as_ref()
        {
            if is_left_out(next.s_type) {
                left_out.push((last, structure.p_next));
                structure.p_next = next.p_next;
            } else {
                last = structure.p_next;
            }
        }
        let result = call();
        for (structure, next) in left_out.into_iter().rev() {
            (*structure).p_next = next;
        }
        result
    }
}

/// This layer's link in the loader's list of layers, and the address of the loader's pointer to that link.
#[derive(Debug)]
pub(crate) struct OwnLink<L> {
    /// The member of the loader's structure that points to the link of the layer that is called
    /// next.
    next: NonNull<*mut L>,
    link: NonNull<L>,
}

/// A link of the list of layers that the loader passes to `vkCreateInstance` or to `vkCreateDevice`.
pub(crate) trait Link: Sized {
    /// The type of the loader's structure with the link.
    const CREATE_INFO: vk::StructureType;
    /// The structure in whose chain the loader's structure is.
    const CHAIN_OF: &'static str;

    /// The link of the layer below.
    fn below(&self) -> *mut Self;
}

impl Link for LayerInstanceLink {
    const CREATE_INFO: vk::StructureType = vk::StructureType::LOADER_INSTANCE_CREATE_INFO;
    const CHAIN_OF: &'static str = "VkInstanceCreateInfo";

    fn below(&self) -> *mut Self {
        self.p_next
    }
}

impl Link for LayerDeviceLink {
    const CREATE_INFO: vk::StructureType = vk::StructureType::LOADER_DEVICE_CREATE_INFO;
    const CHAIN_OF: &'static str = "VkDeviceCreateInfo";

    fn below(&self) -> *mut Self {
        self.p_next
    }
}

impl<L: Link> OwnLink<L> {
    /// Finds this layer's link in the chain of a `VkInstanceCreateInfo` or a `VkDeviceCreateInfo`.
    ///
    /// # Errors
    /// [`Error::NoLink`] if the chain contains no link, because no loader called the layer.
    ///
    /// # Safety
    /// The contract of [`structures`], for the chain of the create info. The result must not outlive
    /// the call of `vkCreateInstance` or `vkCreateDevice`.
    pub(crate) unsafe fn find(first: *const c_void) -> Result<Self, Error> {
        // SAFETY: the caller's contract; the type of a structure is what its sType says.
        unsafe {
            structures(first)
                .filter(|structure| structure.as_ref().s_type == L::CREATE_INFO)
                .map(|structure| structure.cast::<LayerCreateInfo<L>>())
                .find(|info| info.as_ref().function == LayerFunction::LINK_INFO)
                .and_then(|info| {
                    let next = NonNull::new(&raw mut (*info.as_ptr()).layer_info)?;
                    Some(Self { next, link: NonNull::new(next.read())? })
                })
        }
        .ok_or(Error::NoLink(L::CHAIN_OF))
    }

    pub(crate) fn link(&self) -> &L {
        // SAFETY: the loader's links live until the call that they were passed to returns.
        unsafe { self.link.as_ref() }
    }

    /// Makes the loader's structure point to the link of the layer below. Must be called before every call of the layer
    /// or driver below, because the layers below advance the pointer themselves.
    pub(crate) fn advance(&mut self) {
        // SAFETY: the loader's structure lives until the call returns, and the loader's interface
        // allows the layer that is called to write to it.
        unsafe { self.next.write(self.link.as_ref().below()) };
    }
}

#[cfg(test)]
mod tests;
