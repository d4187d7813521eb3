//! Memory that recording takes from: what a capture needs beyond push constants.
//!
//! An arena is made ahead of recording. Recording takes from it front to back and never gives back; a
//! command buffer may be executed many times, so what it was recorded with stays until the command
//! buffer itself is reset. Then the application calls [`Arena::reset`].
//!
//! It has two parts: *upload* is written by the host while recording and read by the device; *scratch*
//! is written and read by the device alone, afresh at each execution.

use ash::vk;

use super::recorder::Pending;
use super::{Buffer, BufferDesc, Context, MemoryAllocator, MemoryLocation, RuntimeError};

/// Alignment of everything in an arena, in bytes: that of a `vec4`.
const ALIGNMENT: u64 = 16;

/// How much an arena holds, in bytes.
///
/// A capture takes 16 bytes of upload for each vertex attribute beyond
/// [`INLINE_ATTRIBUTES`](crate::sysval::INLINE_ATTRIBUTES), and for each draw that shares a dispatch
/// with others [`UPLOAD_PER_DRAW`](Self::UPLOAD_PER_DRAW). Counters, indirect arguments, primitive
/// restart and queries take [`UPLOAD_PER_SETUP`](Self::UPLOAD_PER_SETUP) and
/// [`SCRATCH_PER_SETUP`](Self::SCRATCH_PER_SETUP) a capture, and
/// [`SCRATCH_PER_DRAW`](Self::SCRATCH_PER_DRAW) a draw; primitive restart besides
/// [`restart_scratch`](Self::restart_scratch). The end of a query counts as a draw, a flush as a
/// capture, and each draw of an indirect or multi-draw for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArenaDesc {
    /// Bytes of host-visible memory.
    pub upload: u64,
    /// Bytes of device memory.
    pub scratch: u64,
}

impl ArenaDesc {
    /// Upload of a draw, at most.
    pub const UPLOAD_PER_DRAW: u64 = 128;
    /// Scratch of a draw, at most.
    pub const SCRATCH_PER_DRAW: u64 = 112;
    /// Upload of a capture, at most.
    pub const UPLOAD_PER_SETUP: u64 = 512;
    /// Scratch of a capture, at most.
    pub const SCRATCH_PER_SETUP: u64 = 64;

    /// Scratch of a draw with primitive restart whose `index_count` indices lie in the bound range.
    /// For an indirect draw take all indices of the range.
    pub fn restart_scratch(index_count: u64) -> u64 {
        use crate::sysval::setup::{restart_blocks, restart_table_size};
        restart_table_size(restart_blocks(index_count, index_count))
    }

    /// An arena for captures of so many draws in all, without attributes or primitive restart.
    pub const fn for_draws(captures: u64, draws: u64) -> Self {
        Self {
            upload: captures * Self::UPLOAD_PER_SETUP + draws * Self::UPLOAD_PER_DRAW,
            scratch: captures * Self::SCRATCH_PER_SETUP + draws * Self::SCRATCH_PER_DRAW,
        }
    }
}

/// Two bump allocators in buffers with device addresses.
#[derive(Debug)]
pub struct Arena {
    upload: Part,
    scratch: Part,
    /// Draws that are not recorded yet; here so that its memory is used again.
    pub(super) pending: Pending,
}

#[derive(Debug)]
struct Part {
    name: &'static str,
    buffer: Buffer,
    used: u64,
}

/// A place in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Device address, a multiple of 16.
    pub(super) address: u64,
    /// Bytes from the start of [`Arena::scratch_buffer`], or of the upload buffer.
    pub(super) offset: u64,
}

impl Arena {
    /// Makes an arena.
    ///
    /// # Errors
    /// A failed command or allocation; [`RuntimeError::WrongMemory`] where the upload memory is not
    /// mapped and coherent, which every device has.
    ///
    /// # Safety
    /// The device of `ctx` is live and is the allocator's.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        desc: &ArenaDesc,
    ) -> Result<Self, RuntimeError> {
        let part = |allocator: &mut dyn MemoryAllocator, name, size: u64, location| {
            let addresses = match ctx.has_addresses() {
                true => vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
                // A native capture takes nothing from its arena.
                false => vk::BufferUsageFlags::empty(),
            };
            let desc = BufferDesc {
                name,
                size: size.next_multiple_of(ALIGNMENT).max(ALIGNMENT),
                usage: addresses
                    | vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::INDIRECT_BUFFER,
                location,
            };
            // SAFETY: the caller's contract; the usages are valid where addresses are enabled.
            let buffer = unsafe { Buffer::new(ctx, allocator, &desc) }?;
            Ok(Part { name, buffer, used: 0 })
        };
        let upload = part(allocator, "vkxfb upload", desc.upload, MemoryLocation::Upload)?;
        match part(allocator, "vkxfb scratch", desc.scratch, MemoryLocation::Device) {
            Ok(scratch) => Ok(Self { upload, scratch, pending: Pending::default() }),
            Err(error) => {
                // SAFETY: the buffer was just made and nothing uses it.
                unsafe { upload.buffer.destroy(ctx, allocator) };
                Err(error)
            }
        }
    }

    /// Bytes in all.
    pub const fn capacity(&self) -> ArenaDesc {
        ArenaDesc { upload: self.upload.buffer.size(), scratch: self.scratch.buffer.size() }
    }

    /// Bytes that are taken.
    pub const fn used(&self) -> ArenaDesc {
        ArenaDesc { upload: self.upload.used, scratch: self.scratch.used }
    }

    /// Copies values into the upload memory.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] where the device has none.
    pub(super) fn push<T: bytemuck::NoUninit>(
        &mut self,
        values: &[T],
    ) -> Result<Place, RuntimeError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let place = self.upload.take(bytes.len() as u64)?;
        // SAFETY: the device reads only what was taken before, and that is not written again until
        // `reset`, whose contract is that the device is done with it.
        let mapped = unsafe { self.upload.buffer.mapped_mut() };
        // `take` checked the range, and the buffer is mapped.
        if let Ok(start) = usize::try_from(place.offset)
            && let Some(target) = mapped.get_mut(start..start + bytes.len())
        {
            target.copy_from_slice(bytes);
        }
        Ok(place)
    }

    /// Takes scratch memory.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(super) fn scratch(&mut self, bytes: u64) -> Result<Place, RuntimeError> {
        self.scratch.take(bytes)
    }

    /// The buffer that scratch memory lies in.
    pub(super) const fn scratch_buffer(&self) -> vk::Buffer {
        self.scratch.buffer.raw()
    }

    /// What is taken now, for [`rewind`](Self::rewind).
    pub(super) const fn mark(&self) -> ArenaDesc {
        self.used()
    }

    /// Gives back what was taken since `mark`, of which nothing was recorded.
    pub(super) const fn rewind(&mut self, mark: ArenaDesc) {
        self.upload.used = mark.upload;
        self.scratch.used = mark.scratch;
    }

    /// Takes everything back.
    ///
    /// # Safety
    /// Every command buffer that was recorded with the arena has been reset or freed.
    pub unsafe fn reset(&mut self) {
        self.upload.used = 0;
        self.scratch.used = 0;
    }

    /// Destroys the arena.
    ///
    /// # Safety
    /// No command buffer that was recorded with the arena is executed any more; `ctx` and
    /// `allocator` are those that it was made with.
    pub unsafe fn destroy(self, ctx: &Context, allocator: &mut dyn MemoryAllocator) {
        // SAFETY: the caller's contract.
        unsafe {
            self.upload.buffer.destroy(ctx, allocator);
            self.scratch.buffer.destroy(ctx, allocator);
        }
    }
}

impl Part {
    fn take(&mut self, bytes: u64) -> Result<Place, RuntimeError> {
        if self.buffer.address() == 0 {
            return Err(RuntimeError::NoAddress { what: self.name.to_owned() });
        }
        let needed = bytes.next_multiple_of(ALIGNMENT);
        let capacity = self.buffer.size();
        let left = capacity - self.used;
        if needed > left {
            return Err(RuntimeError::ArenaFull { part: self.name, needed, left, capacity });
        }
        let offset = self.used;
        self.used += needed;
        Ok(Place { address: self.buffer.address() + offset, offset })
    }
}
