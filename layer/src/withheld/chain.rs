//! Copies chains of structures, by the table of all of them.

use std::ffi::c_void;

use ash::vk;

use super::memory::{Memory, OutOfMemory};
use super::structures;

impl Memory {
    /// Copies a chain of structures. Structures of unknown types are left out. Returns null if no structure is left.
    ///
    /// # Safety
    /// The chain is valid.
    pub(super) unsafe fn chain(&self, chain: *const c_void) -> Result<*const c_void, OutOfMemory> {
        let mut next = chain.cast::<vk::BaseInStructure<'_>>();
        // SAFETY: the caller's contract; every structure of a chain begins with these members.
        unsafe {
            while let Some(structure) = next.as_ref() {
                // Copying a structure also copies the structures after it.
                if let Some(copied) = structures::copy(next, self)? {
                    return Ok(copied);
                }
                tracing::warn!(s_type = ?structure.s_type, "a structure of an unknown type is left out");
                next = structure.p_next;
            }
        }
        Ok(std::ptr::null())
    }

    /// Copies a chain like [`chain`](Self::chain), in a structure that a command could write.
    ///
    /// # Safety
    /// The chain is valid.
    pub(super) unsafe fn written_chain(
        &self,
        chain: *mut c_void,
    ) -> Result<*mut c_void, OutOfMemory> {
        unsafe { self.chain(chain) }.map(<*const c_void>::cast_mut)
    }
}
