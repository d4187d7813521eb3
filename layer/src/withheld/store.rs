//! Stores the commands of a render pass instance until it ends, and replays them.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use super::arguments::{Command, Functions};
use super::memory::{Memory, OutOfMemory, Templates};
use crate::registry::vk;

/// A function that records a stored command, and returns the size of the stored command in words.
type ReplayFn = unsafe fn(*const Word, &Functions, vk::CommandBuffer) -> usize;

/// A word of a stored command. Padding in the arguments is not initialized.
type Word = MaybeUninit<u64>;

#[repr(C)]
struct Withheld<T> {
    /// The function comes first, because it determines the type of the arguments.
    replay: ReplayFn,
    arguments: T,
}

impl<T> Withheld<T> {
    /// The size of a stored command in words.
    const WORDS: usize = {
        assert!(align_of::<Self>() <= align_of::<Word>() && !std::mem::needs_drop::<T>());
        size_of::<Self>().div_ceil(size_of::<Word>())
    };
}

/// The commands of a pass that are stored until it ends.
#[derive(Debug)]
pub(crate) struct WithheldCommands {
    /// The commands, one after the other. Each is a [`Withheld`] with the arguments of its command.
    words: Vec<Word>,
    /// The memory that the arguments of the commands point to.
    memory: Memory,
    len: usize,
    /// The index of the word after the first command, and of the first word of the last command.
    inner: Range<usize>,
    /// The number of commands with which the pass becomes [long](Self::is_long).
    long: usize,
}

/// From this number of commands on, a pass is long: the layer tries to *settle* it, which means that the driver gets
/// the commands at once and not only when the pass ends. Storing a command costs about a quarter of the driver's time
/// for a draw. Settling a pass records a dispatch that costs the CPU and the GPU as much as a few hundred draws.
const LONG: usize = 256;

/// Returns [`LONG`], or the value of a test switch.
fn long() -> usize {
    #[cfg(feature = "test-switches")]
    if let Some(commands) = crate::test_switches::long_pass() {
        return commands;
    }
    LONG
}

impl WithheldCommands {
    /// Creates an empty list. `templates` are the descriptor update templates of the device.
    pub(crate) fn new(templates: Arc<Templates>) -> Self {
        Self {
            words: Vec::new(),
            memory: Memory::new(templates),
            len: 0,
            inner: 0..0,
            long: long(),
        }
    }

    /// Copies a command, and adds it to the list.
    ///
    /// # Errors
    /// [`OutOfMemory`]: nothing is added.
    ///
    /// # Safety
    /// The arguments are valid for the command.
    pub(crate) unsafe fn push<C: Command>(&mut self, command: &C) -> Result<(), OutOfMemory> {
        /// # Safety
        /// The contract of [`Command::call`]; the words are those of a `Withheld<C>`.
        unsafe fn replay<C: Command>(
            words: *const Word,
            functions: &Functions,
            command_buffer: vk::CommandBuffer,
        ) -> usize {
            unsafe { (*words.cast::<Withheld<C>>()).arguments.call(functions, command_buffer) };
            Withheld::<C>::WORDS
        }
        let arguments = unsafe { command.copied(&self.memory) }?;
        self.words.try_reserve(Withheld::<C>::WORDS).map_err(|_| OutOfMemory)?;
        let end = self.words.len();
        // SAFETY: there is room for the command, and words may be uninitialized.
        unsafe {
            let place = self.words.as_mut_ptr().add(end).cast::<Withheld<C>>();
            place.write(Withheld { replay: replay::<C>, arguments });
            self.words.set_len(end + Withheld::<C>::WORDS);
        }
        if self.len == 0 {
            self.inner.start = self.words.len();
        }
        self.inner.end = end;
        self.len += 1;
        Ok(())
    }

    /// Adds the commands of another list. Their arguments stay in the memory of that list.
    ///
    /// # Errors
    /// [`OutOfMemory`]: nothing is added.
    ///
    /// # Safety
    /// The other list is neither changed nor dropped while this one has the commands.
    pub(crate) unsafe fn append(&mut self, other: &Self) -> Result<(), OutOfMemory> {
        self.words.try_reserve(other.words.len()).map_err(|_| OutOfMemory)?;
        self.words.extend_from_slice(&other.words);
        self.len += other.len;
        Ok(())
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the pass has so many commands that giving them to the driver now, which costs a dispatch, is cheaper
    /// than storing more of them.
    pub(crate) const fn is_long(&self) -> bool {
        self.len >= self.long
    }

    /// Makes [`is_long`](Self::is_long) return false until the pass ends, because all its commands must be stored.
    pub(crate) const fn withhold_all(&mut self) {
        self.long = usize::MAX;
    }

    /// Records the stored commands into a command buffer. They also stay in the list.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the first of the commands is valid there.
    pub(crate) unsafe fn replay(&self, functions: &Functions, command_buffer: vk::CommandBuffer) {
        unsafe { self.replay_range(0..self.words.len(), functions, command_buffer) };
    }

    /// Records the stored commands of a pass except the first and the last, which begin and end the pass.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the other commands are valid there.
    pub(crate) unsafe fn replay_inner(
        &self,
        functions: &Functions,
        command_buffer: vk::CommandBuffer,
    ) {
        unsafe { self.replay_range(self.inner.clone(), functions, command_buffer) };
    }

    /// Records the commands whose words are in a range.
    ///
    /// # Safety
    /// The command buffer is being recorded, the commands are valid there, and a command begins at each end of the range.
    unsafe fn replay_range(
        &self,
        words: Range<usize>,
        functions: &Functions,
        command_buffer: vk::CommandBuffer,
    ) {
        let mut at = words.start;
        while at < words.end {
            // SAFETY: the caller's contract; a command begins here, and its function is first.
            at += unsafe {
                let words = self.words.as_ptr().add(at);
                (*words.cast::<ReplayFn>())(words, functions, command_buffer)
            };
        }
    }

    /// Removes all commands. The memory is kept for the next pass.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
        self.long = long();
        self.memory.reset();
    }
}
