//! Commands of a render pass instance that are withheld until it ends.
//!
//! Captures come before the pass that contains them, as nothing in it can consume what was captured there. So what is
//! recorded between the beginning and the end of a pass goes into a [`Queue`], with all that its arguments point to,
//! and is replayed as the pass ends.
//!
//! [`commands`] and [`structures`] are generated from the registry of Vulkan (tests/registry): a command that they do
//! not know would land outside of its pass, so extensions that have such commands are hidden.

mod by_hand;
mod commands;
mod extensions;
mod macros;
mod memory;
mod structures;

use std::sync::Arc;

use ash::vk;

pub(crate) use self::commands::{Functions, hook};
pub(crate) use self::extensions::KNOWN_EXTENSIONS;
use self::memory::Memory;
pub(crate) use self::memory::{OutOfMemory, Templates};
use crate::command_buffers::{begin, end, record};

/// Arguments of a command that is withheld.
trait Replay {
    /// Records the command.
    ///
    /// # Safety
    /// The command is valid there, but for its arguments' memory.
    unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer);
}

/// A withheld command: how it is recorded, and its arguments.
#[derive(Debug, Clone, Copy)]
struct Entry {
    replay: unsafe fn(*const (), &Functions, vk::CommandBuffer),
    arguments: *const (),
}

/// The commands of a pass so far.
#[derive(Debug)]
pub(crate) struct Queue {
    /// What the arguments are in.
    memory: Memory,
    entries: Vec<Entry>,
}

// SAFETY: the pointers are into the queue's own memory.
unsafe impl Send for Queue {}

impl Queue {
    /// An empty one, of a device with those descriptor update templates.
    pub(crate) fn new(templates: Arc<Templates>) -> Self {
        Self { memory: Memory::new(templates), entries: Vec::new() }
    }

    fn push<T: Replay>(&mut self, arguments: T) -> Result<(), OutOfMemory> {
        /// # Safety
        /// As for [`Replay::replay`]; the arguments are of that type.
        unsafe fn replay<T: Replay>(
            arguments: *const (),
            functions: &Functions,
            command_buffer: vk::CommandBuffer,
        ) {
            // SAFETY: the caller's contract.
            unsafe { (*arguments.cast::<T>()).replay(functions, command_buffer) }
        }
        const { assert!(!std::mem::needs_drop::<T>()) };
        self.entries.try_reserve(1).map_err(|_| OutOfMemory)?;
        let arguments = self.memory.keep(arguments)?.cast_const().cast();
        self.entries.push(Entry { replay: replay::<T>, arguments });
        Ok(())
    }

    /// Commands that are withheld.
    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Records what was withheld.
    ///
    /// # Safety
    /// The command buffer is being recorded, and stands where the first of the commands was recorded.
    pub(crate) unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
        for entry in &self.entries {
            // SAFETY: the caller's contract; the arguments are those that were pushed with that function.
            unsafe { (entry.replay)(entry.arguments, functions, command_buffer) };
        }
    }

    /// Forgets all, and keeps the memory for the next pass.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.memory.reset();
    }
}

/// Where a command goes.
pub(crate) enum Commands<'a> {
    /// Into the queue of the pass that is withheld.
    Queue(&'a mut Queue),
    /// To the driver.
    Functions(&'a Functions),
}
