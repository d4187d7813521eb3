//! Commands of a render pass instance that are withheld until it ends.
//!
//! If commands in a pass may read what was captured in it, captures are recorded before the pass.
//! Then the commands from the beginning to the end of the pass are stored in a
//! [`WithheldCommands`], with copies of all memory that their arguments point to, and replayed when
//! the pass ends.
//!
//! [`commands`] and [`structures`] are generated from the registry of Vulkan (tests/registry). An
//! unknown command would be recorded before the pass, so extensions with unknown commands are
//! hidden.

mod by_hand;
pub(crate) mod commands;
mod extensions;
pub(crate) mod macros;
mod memory;
mod structures;

use std::sync::Arc;

use ash::vk;

pub(crate) use self::commands::{Functions, hook};
pub(crate) use self::extensions::{KNOWN_COMMANDS, KNOWN_EXTENSIONS};
use self::memory::Memory;
pub(crate) use self::memory::{OutOfMemory, Template, Templates};

/// Arguments of a command that is withheld.
trait Replay {
    /// Records the command.
    ///
    /// # Safety
    /// The command is valid at this place in the command buffer.
    unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer);
}

/// The header of a withheld command: how it is recorded, and the next command.
#[derive(Debug)]
struct Entry {
    replay: unsafe fn(*const Self, &Functions, vk::CommandBuffer),
    next: *mut Self,
}

/// A withheld command. Commands form a linked list, so that withholding one takes a single
/// allocation.
#[repr(C)]
struct Withheld<T> {
    entry: Entry,
    arguments: T,
}

/// The withheld commands of a pass.
#[derive(Debug)]
pub(crate) struct WithheldCommands {
    /// The memory of the commands and their arguments.
    memory: Memory,
    /// The first command; null if there is none.
    first: *mut Entry,
    last: *mut Entry,
    len: usize,
}

// SAFETY: the pointers are into memory that the value owns.
unsafe impl Send for WithheldCommands {}

impl WithheldCommands {
    /// An empty list. `templates` are the descriptor update templates of the device.
    pub(crate) fn new(templates: Arc<Templates>) -> Self {
        let none = std::ptr::null_mut();
        Self { memory: Memory::new(templates), first: none, last: none, len: 0 }
    }

    fn push<T: Replay>(&mut self, arguments: T) -> Result<(), OutOfMemory> {
        /// # Safety
        /// As for [`Replay::replay`]; the entry is the header of a `Withheld<T>`.
        unsafe fn replay<T: Replay>(
            entry: *const Entry,
            functions: &Functions,
            command_buffer: vk::CommandBuffer,
        ) {
            // SAFETY: the caller's contract.
            unsafe { (*entry.cast::<Withheld<T>>()).arguments.replay(functions, command_buffer) }
        }
        const { assert!(!std::mem::needs_drop::<T>()) };
        let entry = Entry { replay: replay::<T>, next: std::ptr::null_mut() };
        let withheld = self.memory.keep(Withheld { entry, arguments })?.cast::<Entry>();
        // SAFETY: the last command is in `self.memory`, which nothing else refers to.
        match unsafe { self.last.as_mut() } {
            Some(last) => last.next = withheld,
            None => self.first = withheld,
        }
        self.last = withheld;
        self.len += 1;
        Ok(())
    }

    /// The number of withheld commands.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Records the withheld commands.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the first of the commands is valid there.
    pub(crate) unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
        let mut next = self.first.cast_const();
        // SAFETY: the caller's contract; each entry has the function for its type.
        while let Some(entry) = unsafe { next.as_ref() } {
            // SAFETY: as above.
            unsafe { (entry.replay)(next, functions, command_buffer) };
            next = entry.next;
        }
    }

    /// Removes all commands, and keeps the memory for the next pass.
    pub(crate) fn clear(&mut self) {
        (self.first, self.last) = (std::ptr::null_mut(), std::ptr::null_mut());
        self.len = 0;
        self.memory.reset();
    }
}

/// Where a command goes.
pub(crate) enum Commands<'a> {
    /// To the commands of the pass that is withheld.
    Withheld(&'a mut WithheldCommands),
    /// To the driver.
    Functions(&'a Functions),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They must be sorted for binary search.
    #[test]
    fn extensions_are_in_order() {
        assert!(KNOWN_EXTENSIONS.is_sorted() && KNOWN_COMMANDS.is_sorted());
        assert!(KNOWN_EXTENSIONS.contains(&c"VK_EXT_multi_draw"));
        for hidden in
            [c"VK_EXT_shader_object", c"VK_EXT_descriptor_buffer", c"VK_AMDX_shader_enqueue"]
        {
            assert!(!KNOWN_EXTENSIONS.contains(&hidden), "{hidden:?}");
        }
    }

    #[test]
    fn commands_have_hooks_by_all_their_names() {
        for name in [
            c"vkCmdDraw",
            c"vkCmdBeginRenderingKHR",
            c"vkCmdBindVertexBuffers2",
            c"vkCmdBindVertexBuffers2EXT",
            c"vkCmdPushConstants2",
            c"vkCmdPushConstants2KHR",
        ] {
            assert!(hook(name).is_some(), "{name:?}");
        }
        // Not allowed in passes.
        assert!(hook(c"vkCmdDispatch").is_none());
    }
}
