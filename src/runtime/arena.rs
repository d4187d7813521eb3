//! Memory that recording takes from: what a capture needs beyond push constants.
//!
//! An arena is made ahead of recording. Recording takes from it front to back and never gives back; a
//! command buffer may be executed many times, so what it was recorded with stays until the command
//! buffer itself is reset. Then the application calls [`Arena::reset`].
//!
//! It has two parts: *upload* is written by the host while recording and read by the device; *scratch*
//! is written and read by the device alone, afresh at each execution. Where descriptors take the place of
//! device addresses, it has descriptor sets besides.

use std::fmt;

use ash::vk;

use super::checks::{check_limit, multiple_of};
use super::context::ContextId;
use super::descriptors::{Purpose, Sets, Table, User, Window};
use super::recorder::Pending;
use super::{Buffer, BufferDesc, Context, MemoryAllocator, MemoryLocation, RuntimeError};
use crate::sysval::{Address, join, split};

/// Alignment of everything in an arena, in bytes: that of a `vec4`.
const ALIGNMENT: u64 = 16;

/// What shaders read and write at least, in bytes.
const DWORD: u64 = 4;

/// How much an arena holds.
///
/// A capture takes 16 bytes of upload for each vertex attribute beyond
/// [`INLINE_ATTRIBUTES`](crate::sysval::INLINE_ATTRIBUTES), again for each time that vertex buffers are
/// bound between its draws, and for each draw that shares a dispatch
/// with others [`UPLOAD_PER_DRAW`](Self::UPLOAD_PER_DRAW). Counters, indirect arguments, primitive
/// restart and queries take [`UPLOAD_PER_SETUP`](Self::UPLOAD_PER_SETUP) and
/// [`SCRATCH_PER_SETUP`](Self::SCRATCH_PER_SETUP) a capture, and
/// [`SCRATCH_PER_DRAW`](Self::SCRATCH_PER_DRAW) a draw; primitive restart besides
/// [`restart_scratch`](Self::restart_scratch). The end of a query counts as a draw, a flush as a
/// capture, and each draw of an indirect or multi-draw for itself.
///
/// Where descriptors take the place of device addresses, a capture takes one descriptor set, and one more
/// for kernels; two again for each [`flush`](super::Recorder::flush), unless the draws reach the same as
/// those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArenaDesc {
    /// Bytes of host-visible memory.
    pub upload: u64,
    /// Bytes of device memory.
    pub scratch: u64,
    /// Descriptor sets. None are made where there are device addresses.
    pub descriptor_sets: u32,
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

    /// An arena for captures of so many draws in all, without attributes or primitive restart. More than can
    /// be said is the most that can be said.
    pub const fn for_draws(captures: u64, draws: u64) -> Self {
        const fn size(captures: u64, per_setup: u64, draws: u64, per_draw: u64) -> u64 {
            captures.saturating_mul(per_setup).saturating_add(draws.saturating_mul(per_draw))
        }
        let sets = captures.saturating_mul(2);
        Self {
            upload: size(captures, Self::UPLOAD_PER_SETUP, draws, Self::UPLOAD_PER_DRAW),
            scratch: size(captures, Self::SCRATCH_PER_SETUP, draws, Self::SCRATCH_PER_DRAW),
            descriptor_sets: if sets > u32::MAX as u64 { u32::MAX } else { sets as u32 },
        }
    }
}

/// Two bump allocators in buffers that shaders reach, and the descriptor sets by which they do.
#[derive(Debug)]
pub struct Arena {
    upload: Part,
    scratch: Part,
    /// What the record that is under way reaches; unused where there are device addresses.
    table: Table,
    sets: Option<Sets>,
    /// Draws that are not recorded yet; here so that its memory is used again.
    pub(super) pending: Pending,
}

/// A bump allocator in a buffer.
#[derive(Debug)]
pub(super) struct Part {
    name: &'static str,
    buffer: Buffer,
    /// Address of its first byte, or 0.
    address: u64,
    used: u64,
}

/// A place in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Address for shaders, a multiple of 16.
    pub(super) address: u64,
    /// Bytes from the start of [`Arena::scratch_buffer`], or of the upload buffer.
    pub(super) offset: u64,
}

impl Arena {
    /// Makes an arena.
    ///
    /// # Errors
    /// A failed command or allocation; [`RuntimeError::WrongMemory`] where the upload memory is not
    /// mapped and coherent, which every device has; [`RuntimeError::Limit`] for parts that no descriptor
    /// can hold.
    ///
    /// # Safety
    /// The device of `ctx` is live and is the allocator's, which was made as its implementation asks.
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
            // Of a size without such a multiple no device has the memory, which is the error then.
            let size = size.checked_next_multiple_of(ALIGNMENT).unwrap_or(size).max(ALIGNMENT);
            if let Some(limits) = ctx.table() {
                let what = || format!("the size of {name} in bytes");
                check_limit(what, size, "maxStorageBufferRange", limits.max_range)?;
            }
            let desc = BufferDesc {
                name,
                size,
                usage: addresses
                    | vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::INDIRECT_BUFFER,
                location,
            };
            // SAFETY: the caller's contract; the usages are valid where addresses are enabled.
            let buffer = unsafe { Buffer::new(ctx, allocator, &desc) }?;
            let address = buffer.address();
            Ok(Part { name, buffer, address, used: 0 })
        };
        let mut upload = part(allocator, "vkxfb upload", desc.upload, MemoryLocation::Upload)?;
        let mut scratch =
            match part(allocator, "vkxfb scratch", desc.scratch, MemoryLocation::Device) {
                Ok(scratch) => scratch,
                Err(error) => {
                    // SAFETY: the buffer was just made and nothing uses it.
                    unsafe { upload.buffer.destroy(ctx, allocator) };
                    return Err(error);
                }
            };
        let sets = match ctx.table() {
            None => None,
            Some(limits) => {
                // The places that `begin_record` gives them.
                upload.address = limits.first_address(Purpose::Read);
                scratch.address = limits.first_address(Purpose::State);
                // SAFETY: the caller's contract.
                match unsafe { Sets::new(ctx, limits, desc.descriptor_sets) } {
                    Ok(sets) => Some(sets),
                    Err(error) => {
                        // SAFETY: the buffers were just made and nothing uses them.
                        unsafe {
                            upload.buffer.destroy(ctx, allocator);
                            scratch.buffer.destroy(ctx, allocator);
                        }
                        return Err(error);
                    }
                }
            }
        };
        let (table, pending) = (Table::default(), Pending::default());
        Ok(Self { upload, scratch, table, sets, pending })
    }

    /// The context that it was made with.
    #[cfg_attr(
        not(feature = "probe"),
        allow(dead_code, reason = "the probe tells its own arenas by it")
    )]
    pub(crate) const fn context(&self) -> ContextId {
        self.upload.buffer.context()
    }

    /// What there is in all.
    pub fn capacity(&self) -> ArenaDesc {
        ArenaDesc {
            upload: self.upload.buffer.size(),
            scratch: self.scratch.buffer.size(),
            descriptor_sets: self.sets.as_ref().map_or(0, Sets::capacity),
        }
    }

    /// What is taken of it.
    pub fn used(&self) -> ArenaDesc {
        ArenaDesc {
            upload: self.upload.used,
            scratch: self.scratch.used,
            descriptor_sets: self.sets.as_ref().map_or(0, |sets| sets.used),
        }
    }

    /// Begins a record: it reaches nothing but the arena.
    pub(super) fn begin_record(&mut self) {
        let window =
            |part: &Part| Window { buffer: part.buffer.raw(), start: 0, end: part.buffer.size() };
        self.table.restart(window(&self.upload), window(&self.scratch));
        self.pending.forget();
    }

    /// The address for shaders of `size` bytes at `offset` of a buffer; `what` it is, in messages. It is for
    /// [`resolve`](Self::resolve).
    ///
    /// Shaders read whole dwords, also the one in which the range ends.
    ///
    /// # Errors
    /// [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`]; [`RuntimeError::NoAddress`] and
    /// [`RuntimeError::Misaligned`]; with descriptors [`RuntimeError::Limit`] and
    /// [`RuntimeError::TooManyBuffers`].
    ///
    /// # Safety
    /// The buffer is live, has the usage that [`Context`] names, and holds the range, rounded up to the next
    /// multiple of 4 bytes.
    pub(super) unsafe fn address(
        &mut self,
        ctx: &Context,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<u64, RuntimeError> {
        let past_the_end = || RuntimeError::PastTheEnd { what: what.to_string(), offset, size };
        let end = offset.checked_add(size).ok_or_else(past_the_end)?;
        if size > 0 && !end.is_multiple_of(DWORD) {
            // A handle does not tell how long its buffer is, but what memory it takes.
            // SAFETY: the caller's contract.
            let memory = unsafe { ctx.device().get_buffer_memory_requirements(buffer) }.size;
            let needed = end.checked_next_multiple_of(DWORD).ok_or_else(past_the_end)?;
            if needed > memory {
                return Err(RuntimeError::PartialDword { what: what.to_string(), end, memory });
            }
        }
        if let Some(limits) = ctx.table() {
            return self.table.address(limits, purpose, what, buffer, offset, size);
        }
        // SAFETY: the caller's contract.
        let start = unsafe { ctx.buffer_address(buffer) }?;
        multiple_of(DWORD, || format!("the device address of {what}"), start)?;
        start.checked_add(offset).ok_or_else(past_the_end)
    }

    /// Prepares for what the draws to record next reach: where there are no device addresses, descriptors are
    /// assigned to it.
    pub(super) fn assign(&mut self, ctx: &Context, addresses: &[Address]) {
        if let Some(limits) = ctx.table() {
            self.table.assign(limits, addresses.iter().copied().map(join));
        }
    }

    /// The address that shaders take for one that was [asked for](Self::address) and
    /// [assigned](Self::assign).
    pub(super) fn resolve(&self, ctx: &Context, address: Address) -> Address {
        match ctx.table() {
            Some(_) => split(self.table.resolve(join(address))),
            None => address,
        }
    }

    /// Whether captures are to be ordered behind each other: [`Table::captures_overlap`].
    pub(super) fn captures_overlap(&self, ctx: &Context) -> bool {
        ctx.table().is_some() && self.table.captures_overlap()
    }

    /// Whether all that is recorded is to be ordered with what is beside it: [`Table::is_scarce`].
    pub(super) fn is_scarce(&self, ctx: &Context) -> bool {
        ctx.table().is_some() && self.table.is_scarce()
    }

    /// The descriptor set with what was [assigned](Self::assign), where there are no device addresses.
    ///
    /// # Errors
    /// [`RuntimeError::NoDescriptorSet`].
    ///
    /// # Safety
    /// What was assigned still lives.
    pub(super) unsafe fn descriptor_set(
        &mut self,
        ctx: &Context,
        user: User,
    ) -> Result<Option<vk::DescriptorSet>, RuntimeError> {
        let (Some(limits), Some(sets)) = (ctx.table(), &mut self.sets) else { return Ok(None) };
        // SAFETY: the caller's contract.
        unsafe { self.table.set(ctx, limits, sets, user) }.map(Some)
    }

    /// Copies values into the upload memory.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] where shaders reach nothing.
    pub(super) fn push<T: bytemuck::NoUninit>(
        &mut self,
        values: &[T],
    ) -> Result<Place, RuntimeError> {
        self.upload.push(values.iter().copied())
    }

    /// The upload memory, the scratch memory, and the draws for which they are taken.
    pub(super) const fn parts(&mut self) -> (&mut Part, &mut Part, &mut Pending) {
        (&mut self.upload, &mut self.scratch, &mut self.pending)
    }

    /// The buffer that scratch memory lies in.
    pub(super) const fn scratch_buffer(&self) -> vk::Buffer {
        self.scratch.buffer.raw()
    }

    /// What is taken now, for [`rewind`](Self::rewind).
    pub(super) fn mark(&self) -> ArenaDesc {
        self.used()
    }

    /// Gives back what was taken since `mark`, of which nothing was recorded.
    pub(super) fn rewind(&mut self, mark: ArenaDesc) {
        self.upload.used = mark.upload;
        self.scratch.used = mark.scratch;
        if let Some(sets) = &mut self.sets
            && sets.used != mark.descriptor_sets
        {
            sets.used = mark.descriptor_sets;
            self.table.forget_sets();
        }
    }

    /// Takes everything back.
    ///
    /// # Safety
    /// Every command buffer that was recorded with the arena has been reset or freed.
    pub unsafe fn reset(&mut self) {
        self.rewind(ArenaDesc { upload: 0, scratch: 0, descriptor_sets: 0 });
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
            if let Some(sets) = self.sets {
                sets.destroy(ctx);
            }
        }
    }
}

impl Part {
    /// Takes memory.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] where shaders reach nothing.
    pub(super) fn take(&mut self, bytes: u64) -> Result<Place, RuntimeError> {
        if self.address == 0 {
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
        Ok(Place { address: self.address + offset, offset })
    }

    /// Copies values into upload memory.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn push<T: bytemuck::NoUninit>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
    ) -> Result<Place, RuntimeError> {
        let bytes = (values.len() * size_of::<T>()) as u64;
        let place = self.take(bytes)?;
        // SAFETY: the device reads only what was taken before, and that is not written again until
        // `reset`, whose contract is that the device is done with it.
        let target = unsafe { self.buffer.mapped_part_mut(place.offset, bytes) };
        for (target, value) in target.chunks_exact_mut(size_of::<T>()).zip(values) {
            target.copy_from_slice(bytemuck::bytes_of(&value));
        }
        Ok(place)
    }
}
