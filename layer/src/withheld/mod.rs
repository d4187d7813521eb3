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

use std::mem::MaybeUninit;
use std::sync::{Arc, LazyLock};

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

/// Records a withheld command. Returns its size in words.
type ReplayFn = unsafe fn(*const Word, &Functions, vk::CommandBuffer) -> usize;

/// What the stored commands consist of. Padding is not initialized.
type Word = MaybeUninit<u64>;

/// A withheld command.
#[repr(C)]
struct Withheld<T> {
    /// It comes first, because it says what follows.
    replay: ReplayFn,
    arguments: T,
}

impl<T> Withheld<T> {
    /// The size in words.
    const WORDS: usize = {
        assert!(align_of::<Self>() <= align_of::<Word>() && !std::mem::needs_drop::<T>());
        size_of::<Self>().div_ceil(size_of::<Word>())
    };
}

/// The withheld commands of a pass.
#[derive(Debug)]
pub(crate) struct WithheldCommands {
    /// The commands, one behind the other: [`Withheld`] of different arguments.
    words: Vec<Word>,
    /// What their arguments point to.
    memory: Memory,
    len: usize,
    /// At how many commands the pass [is long](Self::is_long).
    long: usize,
}

/// At how many commands a pass is long. To withhold a command costs about a quarter of what a driver
/// takes for a draw; what is recorded to withhold no more takes the CPU, and the GPU, as long as a
/// few hundred draws.
const LONG: usize = 256;

/// [`LONG`], or what tests want (`VKXFB_LONG_PASS`).
fn long() -> usize {
    static OF_TEST: LazyLock<Option<usize>> = LazyLock::new(|| {
        let commands = std::env::var("VKXFB_LONG_PASS").ok()?.parse().ok();
        tracing::warn!(?commands, "VKXFB_LONG_PASS is for tests");
        commands
    });
    OF_TEST.unwrap_or(LONG)
}

impl WithheldCommands {
    /// An empty list. `templates` are the descriptor update templates of the device.
    pub(crate) fn new(templates: Arc<Templates>) -> Self {
        Self { words: Vec::new(), memory: Memory::new(templates), len: 0, long: long() }
    }

    fn push<T: Replay>(&mut self, arguments: T) -> Result<(), OutOfMemory> {
        /// # Safety
        /// As for [`Replay::replay`]; the words are those of a `Withheld<T>`.
        unsafe fn replay<T: Replay>(
            words: *const Word,
            functions: &Functions,
            command_buffer: vk::CommandBuffer,
        ) -> usize {
            // SAFETY: the caller's contract.
            unsafe { (*words.cast::<Withheld<T>>()).arguments.replay(functions, command_buffer) };
            Withheld::<T>::WORDS
        }
        self.words.try_reserve(Withheld::<T>::WORDS).map_err(|_| OutOfMemory)?;
        let end = self.words.len();
        // SAFETY: there is room for the command, and words may be uninitialized.
        unsafe {
            let place = self.words.as_mut_ptr().add(end).cast::<Withheld<T>>();
            place.write(Withheld { replay: replay::<T>, arguments });
            self.words.set_len(end + Withheld::<T>::WORDS);
        }
        self.len += 1;
        Ok(())
    }

    /// The number of withheld commands.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are so many commands that it would be cheaper not to withhold more.
    pub(crate) const fn is_long(&self) -> bool {
        self.len >= self.long
    }

    /// The pass must be withheld until it ends, however long it is.
    pub(crate) const fn withhold_all(&mut self) {
        self.long = usize::MAX;
    }

    /// Records the withheld commands.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the first of the commands is valid there.
    pub(crate) unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
        let mut at = 0;
        while at < self.words.len() {
            // SAFETY: the caller's contract; a command begins here, and its function is first.
            at += unsafe {
                let words = self.words.as_ptr().add(at);
                (*words.cast::<ReplayFn>())(words, functions, command_buffer)
            };
        }
    }

    /// Removes all commands, and keeps the memory for the next pass.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
        self.long = long();
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
