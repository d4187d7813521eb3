//! Memory that recording writes to: what a capture needs beyond push constants.
//!
//! An arena is one host-visible, coherent buffer, made ahead of recording. Recording takes from it
//! front to back and never gives back; a command buffer may be executed many times, so what it was
//! recorded with stays until the command buffer itself is reset. Then the application calls
//! [`Arena::reset`].

use ash::vk;

use super::{Buffer, BufferDesc, Context, MemoryAllocator, MemoryLocation, RuntimeError};

/// Alignment of everything in an arena, in bytes: that of a `vec4`.
const ALIGNMENT: u64 = 16;

/// A bump allocator in a host-visible buffer with a device address.
#[derive(Debug)]
pub struct Arena {
    buffer: Buffer,
    used: u64,
}

impl Arena {
    /// Makes an arena of `capacity` bytes.
    ///
    /// A capture takes 16 bytes for each vertex attribute beyond
    /// [`INLINE_ATTRIBUTES`](crate::sysval::INLINE_ATTRIBUTES), and nothing without such.
    ///
    /// # Errors
    /// A failed command or allocation; [`RuntimeError::WrongMemory`] where the memory is not mapped
    /// and coherent, which every device has; [`RuntimeError::NoAddress`].
    ///
    /// # Safety
    /// The device of `ctx` is live and is the allocator's.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        capacity: u64,
    ) -> Result<Self, RuntimeError> {
        let addresses = match ctx.has_addresses() {
            true => vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
            // A native capture takes nothing from its arena.
            false => vk::BufferUsageFlags::empty(),
        };
        let desc = BufferDesc {
            name: "vkxfb arena",
            size: capacity.next_multiple_of(ALIGNMENT).max(ALIGNMENT),
            usage: addresses | vk::BufferUsageFlags::STORAGE_BUFFER,
            location: MemoryLocation::Upload,
        };
        // SAFETY: the caller's contract; both usages are valid where addresses are enabled.
        let buffer = unsafe { Buffer::new(ctx, allocator, &desc) }?;
        Ok(Self { buffer, used: 0 })
    }

    /// Bytes in all.
    pub const fn capacity(&self) -> u64 {
        self.buffer.size()
    }

    /// Bytes that are taken.
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// Copies `bytes` into the arena and returns their device address, a multiple of 16.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] where the device has none.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<u64, RuntimeError> {
        if self.buffer.address() == 0 {
            return Err(RuntimeError::NoAddress { what: "arena".to_owned() });
        }
        let needed = (bytes.len() as u64).next_multiple_of(ALIGNMENT);
        let left = self.capacity() - self.used;
        let full = RuntimeError::ArenaFull { needed, left, capacity: self.capacity() };
        let start = self.used;
        let Ok(at) = usize::try_from(start) else { return Err(full) };
        // SAFETY: the device reads only what was taken before, and that is not written again until
        // `reset`, whose contract is that the device is done with it.
        let mapped = unsafe { self.buffer.mapped_mut() };
        let Some(target) = at.checked_add(bytes.len()).and_then(|end| mapped.get_mut(at..end))
        else {
            return Err(full);
        };
        target.copy_from_slice(bytes);
        self.used += needed;
        Ok(self.buffer.address() + start)
    }

    /// Takes everything back.
    ///
    /// # Safety
    /// Every command buffer that was recorded with the arena has been reset or freed.
    pub unsafe fn reset(&mut self) {
        self.used = 0;
    }

    /// Destroys the arena.
    ///
    /// # Safety
    /// No command buffer that was recorded with the arena is executed any more; `ctx` and
    /// `allocator` are those that it was made with.
    pub unsafe fn destroy(self, ctx: &Context, allocator: &mut dyn MemoryAllocator) {
        // SAFETY: the caller's contract.
        unsafe { self.buffer.destroy(ctx, allocator) };
    }
}
