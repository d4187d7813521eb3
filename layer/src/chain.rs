//! Walking `pNext` chains, in the one place that does.
//!
//! Chains of a program are read and never written: what the next in the chain is to see otherwise goes into a copy.
//! The loader's own structures in them are an exception by its rules: each layer moves the link on for the one
//! below.

mod copy;
mod sizes;

use std::ffi::c_void;
use std::ptr::NonNull;

use ash::vk;

pub(crate) use self::copy::Chain;
use crate::error::Error;
use crate::interface::{
    LayerDeviceCreateInfo, LayerDeviceLink, LayerFunction, LayerInstanceCreateInfo,
    LayerInstanceLink,
};

/// The structures of a chain, first to last.
///
/// # Safety
/// The chain is valid, ends in null, and outlives the iterator.
pub(crate) unsafe fn structures(
    first: *const c_void,
) -> impl Iterator<Item = NonNull<vk::BaseInStructure<'static>>> {
    let node = |pointer: *const c_void| NonNull::new(pointer.cast_mut().cast());
    std::iter::successors(node(first), move |structure: &NonNull<vk::BaseInStructure<'_>>| {
        // SAFETY: the caller's contract: every structure of a chain begins so.
        node(unsafe { structure.as_ref() }.p_next.cast())
    })
}

/// An array of Vulkan, whose pointer may be anything where it is empty. Null is an empty one, too.
///
/// # Safety
/// There are so many at the pointer, or it is null.
pub(crate) unsafe fn slice<'a, T>(start: *const T, count: u32) -> &'a [T] {
    match count == 0 || start.is_null() {
        true => &[],
        // SAFETY: the caller's contract.
        false => unsafe { std::slice::from_raw_parts(start, count as usize) },
    }
}

/// The structures of one type in a chain, first to last: extensions may allow several.
///
/// # Safety
/// As [`structures`]; `'a` is no longer than the chain lives, and nobody writes to it.
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

/// This layer's link in the loader's chain, and where the chain says whose link is next.
#[derive(Debug)]
pub(crate) struct OwnLink<L> {
    /// Where the loader's structure has the link.
    next: NonNull<*mut L>,
    /// This layer's.
    link: NonNull<L>,
}

/// A link of either kind.
pub(crate) trait Link: Sized {
    /// That of the layer below.
    fn below(&self) -> *mut Self;
}

impl Link for LayerInstanceLink {
    fn below(&self) -> *mut Self {
        self.p_next
    }
}

impl Link for LayerDeviceLink {
    fn below(&self) -> *mut Self {
        self.p_next
    }
}

impl<L: Link> OwnLink<L> {
    /// This layer's link.
    pub(crate) fn link(&self) -> &L {
        // SAFETY: the loader's links live as long as the call that they are for.
        unsafe { self.link.as_ref() }
    }

    /// Lets the layer below find its own link; before each call of the next in the chain, for those below move it
    /// on in their turn.
    pub(crate) fn advance(&mut self) {
        // SAFETY: the loader's structure lives as long as the call that it is for, and by the loader's rules it is
        // the called layer that may write there.
        unsafe { self.next.write(self.link.as_ref().below()) };
    }
}

/// The link in the chain of `vkCreateInstance`.
///
/// # Safety
/// As [`structures`], of the create info's chain; it does not outlive the call.
pub(crate) unsafe fn instance_link(
    first: *const c_void,
) -> Result<OwnLink<LayerInstanceLink>, Error> {
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        structures(first)
            .filter(|s| s.as_ref().s_type == vk::StructureType::LOADER_INSTANCE_CREATE_INFO)
            .map(|s| s.cast::<LayerInstanceCreateInfo>())
            .find(|info| info.as_ref().function == LayerFunction::LINK_INFO)
            .and_then(|info| own_link(NonNull::new(&raw mut (*info.as_ptr()).layer_info)?))
    }
    .ok_or(Error::NoLink("VkInstanceCreateInfo"))
}

/// The link in the chain of `vkCreateDevice`.
///
/// # Safety
/// As [`instance_link`].
pub(crate) unsafe fn device_link(first: *const c_void) -> Result<OwnLink<LayerDeviceLink>, Error> {
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        structures(first)
            .filter(|s| s.as_ref().s_type == vk::StructureType::LOADER_DEVICE_CREATE_INFO)
            .map(|s| s.cast::<LayerDeviceCreateInfo>())
            .find(|info| info.as_ref().function == LayerFunction::LINK_INFO)
            .and_then(|info| own_link(NonNull::new(&raw mut (*info.as_ptr()).layer_info)?))
    }
    .ok_or(Error::NoLink("VkDeviceCreateInfo"))
}

/// # Safety
/// It is readable.
unsafe fn own_link<L>(next: NonNull<*mut L>) -> Option<OwnLink<L>> {
    // SAFETY: the caller's contract.
    let link = NonNull::new(unsafe { next.read() })?;
    Some(OwnLink { next, link })
}

#[cfg(test)]
mod tests;
