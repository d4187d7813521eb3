//! Commands of a render pass instance that are withheld until it ends.
//!
//! Captures come before the pass that contains them where something in it may consume what was captured there. Then
//! what is recorded between the beginning and the end of the pass goes into a [`WithheldCommands`], with all that its arguments
//! point to, and is replayed as the pass ends.
//!
//! [`commands`] and [`structures`] are generated from the registry of Vulkan (tests/registry): a command that they do
//! not know would land outside of its pass, so extensions that have such commands are hidden.

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
    /// The command is valid there, but for its arguments' memory.
    unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer);
}

/// What the arguments of a withheld command begin with: how it is recorded, and the next one.
#[derive(Debug)]
struct Entry {
    replay: unsafe fn(*const Self, &Functions, vk::CommandBuffer),
    next: *mut Self,
}

/// A withheld command. Commands are linked, so that one allocation is all that it takes to withhold one.
#[repr(C)]
struct Withheld<T> {
    entry: Entry,
    arguments: T,
}

/// The commands of a pass so far.
#[derive(Debug)]
pub(crate) struct WithheldCommands {
    /// What the arguments are in.
    memory: Memory,
    /// The commands, first to last; null where there are none.
    first: *mut Entry,
    last: *mut Entry,
    len: usize,
}

// SAFETY: the pointers are into memory of its own.
unsafe impl Send for WithheldCommands {}

impl WithheldCommands {
    /// An empty one, of a device with those descriptor update templates.
    pub(crate) fn new(templates: Arc<Templates>) -> Self {
        let none = std::ptr::null_mut();
        Self { memory: Memory::new(templates), first: none, last: none, len: 0 }
    }

    fn push<T: Replay>(&mut self, arguments: T) -> Result<(), OutOfMemory> {
        /// # Safety
        /// As for [`Replay::replay`]; the arguments are of that type.
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
        // SAFETY: the last one is in that memory, which nobody else has.
        match unsafe { self.last.as_mut() } {
            Some(last) => last.next = withheld,
            None => self.first = withheld,
        }
        self.last = withheld;
        self.len += 1;
        Ok(())
    }

    /// Commands that are withheld.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Records what was withheld.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands where the first of the commands was recorded.
    pub(crate) unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
        let mut next = self.first.cast_const();
        // SAFETY: the caller's contract; each is of the type that it was pushed with that function of.
        while let Some(entry) = unsafe { next.as_ref() } {
            // SAFETY: as above.
            unsafe { (entry.replay)(next, functions, command_buffer) };
            next = entry.next;
        }
    }

    /// Forgets all, and keeps the memory for the next pass.
    pub(crate) fn clear(&mut self) {
        (self.first, self.last) = (std::ptr::null_mut(), std::ptr::null_mut());
        self.len = 0;
        self.memory.reset();
    }
}

/// Where a command goes.
pub(crate) enum Commands<'a> {
    /// To those of the pass that is withheld.
    Withheld(&'a mut WithheldCommands),
    /// To the driver.
    Functions(&'a Functions),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They are searched by halves.
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
        // Outside of passes.
        assert!(hook(c"vkCmdDispatch").is_none());
    }
}
