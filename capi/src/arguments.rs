//! Checks and converts arguments from C: pointers that may be null, arrays, and strings.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use ash::vk;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use crate::error::{Error, VkxfbResult, guard};

/// Returns a reference for a pointer that must not be null. `name` is the argument's name, for
/// messages.
///
/// # Safety
/// The pointer is null, or valid for as long as the reference is used.
pub(crate) unsafe fn required<'a, T>(
    pointer: *const T,
    name: &'static str,
) -> Result<&'a T, Error> {
    unsafe { pointer.as_ref() }.ok_or(Error::Null(name))
}

/// Like [`required`], for a pointer to memory that is written.
///
/// # Safety
/// The contract of [`required`], and nothing else uses the memory meanwhile.
pub(crate) unsafe fn required_mut<'a, T>(
    pointer: *mut T,
    name: &'static str,
) -> Result<&'a mut T, Error> {
    unsafe { pointer.as_mut() }.ok_or(Error::Null(name))
}

/// Returns an array as a slice. The pointer must not be null, unless `count` is 0. Then it may have
/// any value.
///
/// # Safety
/// The pointer is null, or to `count` elements that are valid for as long as the slice is used.
pub(crate) unsafe fn array<'a, T>(
    start: *const T,
    count: u32,
    name: &'static str,
) -> Result<&'a [T], Error> {
    match count {
        0 => Ok(&[]),
        _ if start.is_null() => Err(Error::Null(name)),
        _ => Ok(unsafe { std::slice::from_raw_parts(start, count as usize) }),
    }
}

/// Returns a string. `None` if the pointer is null.
///
/// # Safety
/// The pointer is null or to a null-terminated string, which is valid for as long as the result is
/// used.
pub(crate) unsafe fn string<'a>(
    start: *const c_char,
    name: &'static str,
) -> Result<Option<&'a str>, Error> {
    if start.is_null() {
        return Ok(None);
    }
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map(Some).map_err(|error| Error::Argument(format!("{name}: {error}")))
}

/// Returns an array of strings, none of which may be null.
///
/// # Safety
/// The contract of [`array()`], and its elements as [`string`].
pub(crate) unsafe fn strings<'a>(
    start: *const *const c_char,
    count: u32,
    name: &'static str,
) -> Result<Vec<&'a str>, Error> {
    let pointers = unsafe { array(start, count, name) }?;
    let text = |&start| unsafe { string(start, name) }?.ok_or(Error::NullElement(name));
    pointers.iter().map(text).collect()
}

/// Checks that all structures of a chain have a type. `name` is the name of the structure that points to the chain.
///
/// # Safety
/// The chain is valid.
pub(crate) unsafe fn typed_chain(chain: *const c_void, name: &'static str) -> Result<(), Error> {
    let mut next = chain.cast::<vk::BaseInStructure<'_>>();
    // SAFETY: the caller's contract; each structure of a chain begins with these members.
    while let Some(base) = unsafe { next.as_ref() } {
        // 0 is the type of VkApplicationInfo, which is in no chain.
        if base.s_type == vk::StructureType::APPLICATION_INFO {
            return Err(Error::NoType(name));
        }
        next = base.p_next;
    }
    Ok(())
}

/// Creates an object for a function of the C interface: calls `make`, and writes a pointer to the
/// object to `p_created`. If `make` fails, writes NULL.
///
/// # Safety
/// `p_created` is null, or to memory for a pointer.
pub(crate) unsafe fn create<T>(
    p_created: *mut *mut T,
    name: &'static str,
    make: impl FnOnce() -> Result<T, Error>,
) -> VkxfbResult {
    guard(|| {
        if p_created.is_null() {
            return Err(Error::Null(name));
        }
        unsafe {
            p_created.write(null_mut());
            p_created.write(Box::into_raw(Box::new(make()?)));
        }
        Ok(())
    })
}

/// Takes ownership of an object from its pointer, which `Box::into_raw` returned. `None` if the
/// pointer is null.
///
/// # Safety
/// The pointer is null, or was returned by `Box::into_raw` and is not used any more.
pub(crate) unsafe fn owned<T>(pointer: *mut T) -> Option<Box<T>> {
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

pub(crate) fn topology(topology: vk::PrimitiveTopology) -> Result<PrimitiveTopology, Error> {
    PrimitiveTopology::try_from(topology).map_err(|error| Error::Argument(error.to_string()))
}

pub(crate) fn provoking_vertex(mode: vk::ProvokingVertexModeEXT) -> Result<ProvokingVertex, Error> {
    match mode {
        vk::ProvokingVertexModeEXT::FIRST_VERTEX => Ok(ProvokingVertex::First),
        vk::ProvokingVertexModeEXT::LAST_VERTEX => Ok(ProvokingVertex::Last),
        mode => Err(Error::Argument(format!("provokingVertexMode is {}", mode.as_raw()))),
    }
}
