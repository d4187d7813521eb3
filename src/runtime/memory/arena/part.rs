//! A part of an arena (upload or scratch): a list of blocks, from which memory is taken from front to back.

use ash::vk;

use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::host_memory::TryPush;
use crate::runtime::memory::buffers::ALIGNMENT;
use crate::runtime::memory::buffers::{Buffer, BufferDesc, MemoryAllocator, MemoryLocation};
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::memory::descriptors::windows::Window;
use vkxfb_rewriter::sysval::READABLE;

/// The minimum size in bytes of a block that is added to a growing arena.
const MIN_GROWTH: u64 = 64 << 10;

/// A bump allocator over blocks, which are buffers. Each suballocation lies within one block.
#[derive(Debug)]
pub(crate) struct ArenaPart {
    kind: PartKind,
    blocks: Vec<ArenaBlock>,
    /// The index of the block that memory is taken from. Nothing is taken from later blocks.
    current: usize,
    /// Whether the arena was ever reset. Only the message of [`RuntimeError::ArenaFull`] depends on it.
    pub(super) was_reset: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// The host writes upload memory while recording, and shaders read it. Fused captures also count their workgroups
    /// in it.
    Upload,
    /// Shaders write and read scratch memory.
    Scratch,
}

#[derive(Debug)]
struct ArenaBlock {
    buffer: Buffer,
    /// The address of the first byte, as shaders use it; 0 if shaders cannot access the block.
    address: u64,
    used: u64,
}

/// Memory that was taken from an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suballocation {
    /// The address, as shaders use it, a multiple of 16.
    pub(crate) address: u64,
    pub(crate) buffer: vk::Buffer,
    /// The offset in bytes from the start of the buffer.
    pub(crate) offset: u64,
}

/// How much of a part (upload or scratch) was taken at some time, for [`ArenaPart::rewind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Level {
    current: usize,
    used: u64,
}

impl PartKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Upload => "vkxfb upload",
            Self::Scratch => "vkxfb scratch",
        }
    }

    const fn location(self) -> MemoryLocation {
        match self {
            Self::Upload => MemoryLocation::Upload,
            Self::Scratch => MemoryLocation::Device,
        }
    }

    const fn purpose(self) -> Purpose {
        match self {
            Self::Upload => Purpose::Read,
            Self::Scratch => Purpose::State,
        }
    }
}

impl ArenaBlock {
    /// # Safety
    /// The requirements of [`Arena::new`](crate::runtime::Arena::new) apply.
    unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        kind: PartKind,
        size: u64,
    ) -> Result<Self, RuntimeError> {
        let addresses = if ctx.has_addresses() {
            vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
        } else {
            // Without addresses, shaders access the arena through descriptors. If the context has neither addresses nor
            // the descriptor plan, shaders cannot access the arena.
            vk::BufferUsageFlags::empty()
        };
        // The parameters of a drawn list are read as a vertex attribute.
        let vertices = match kind {
            PartKind::Upload => vk::BufferUsageFlags::VERTEX_BUFFER,
            PartKind::Scratch => vk::BufferUsageFlags::empty(),
        };
        // Captures with descriptor heaps may read a copy of push data as uniform buffers.
        let uniform = match ctx.heap_commands() {
            Some(_) => vk::BufferUsageFlags::UNIFORM_BUFFER,
            None => vk::BufferUsageFlags::empty(),
        };
        let desc = BufferDesc {
            name: kind.name(),
            size,
            usage: addresses
                | uniform
                | vertices
                | vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::INDIRECT_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST,
            location: kind.location(),
        };
        // SAFETY: the caller's contract; the usages are valid where addresses are enabled.
        let buffer = unsafe { Buffer::new(ctx, allocator, &desc) }?;
        let address = match ctx.table() {
            // Under the descriptor plan an address consists of the number of a window (the part of a buffer that one
            // descriptor covers) and an offset in the window. The current block of the arena is always the first window
            // of its [`Purpose`].
            Some(limits) => limits.first_address(kind.purpose()),
            None => buffer.address(),
        };
        Ok(Self { buffer, address, used: 0 })
    }

    const fn left(&self) -> u64 {
        self.buffer.size() - self.used
    }
}

impl ArenaPart {
    /// What [`RuntimeError::ArenaFull`] calls scratch memory.
    pub(crate) const SCRATCH: &'static str = PartKind::Scratch.name();

    /// # Errors
    /// The errors of [`Arena::new`](crate::runtime::Arena::new).
    ///
    /// # Safety
    /// The requirements of [`Arena::new`](crate::runtime::Arena::new) apply.
    pub(super) unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        kind: PartKind,
        size: u64,
    ) -> Result<Self, RuntimeError> {
        // If rounding up overflows, the allocation of `size` bytes fails anyway: no device has that much memory.
        let size = size.checked_next_multiple_of(ALIGNMENT).unwrap_or(size).max(READABLE);
        check_size(ctx, kind, size)?;
        let block = unsafe { ArenaBlock::new(ctx, allocator, kind, size) }?;
        Ok(Self { kind, blocks: vec![block], current: 0, was_reset: false })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.blocks.iter().map(|block| block.buffer.size()).sum()
    }

    /// The number of bytes that are taken, including the unused ends of full blocks.
    pub(super) fn used(&self) -> u64 {
        let full = self.blocks.iter().take(self.current).map(|block| block.buffer.size());
        full.sum::<u64>() + self.taken()
    }

    pub(super) fn level(&self) -> Level {
        Level { current: self.current, used: self.taken() }
    }

    /// Returns to the part all memory that was taken after `level` was read.
    pub(super) fn rewind(&mut self, level: Level) {
        self.current = level.current;
        for (number, block) in self.blocks.iter_mut().enumerate().skip(level.current) {
            block.used = if number == level.current { level.used } else { 0 };
        }
    }

    /// The number of free bytes in the current block.
    pub(super) fn left(&self) -> u64 {
        self.blocks.get(self.current).map_or(0, ArenaBlock::left)
    }

    /// The current block as a range of its buffer, for descriptors.
    pub(super) fn window(&self) -> Window {
        self.blocks.get(self.current).map_or_else(Window::default, |block| Window {
            buffer: block.buffer.raw(),
            start: 0,
            end: block.buffer.size(),
        })
    }

    /// The address of the first byte of the current block, as shaders use it.
    pub(super) fn block_address(&self) -> u64 {
        self.blocks.get(self.current).map_or(0, |block| block.address)
    }

    /// Ensures that the current block has at least `bytes` free bytes. If it has fewer, this function makes a later
    /// block with enough free bytes the current block, or else allocates a new block.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] if the new block has no device address;
    /// [`RuntimeError::Limit`] if `bytes` exceeds the range that one descriptor can cover; the error of a failed
    /// command or allocation.
    ///
    /// # Safety
    /// The requirements of [`Arena::growing`](crate::runtime::Arena::growing) apply.
    pub(super) unsafe fn reserve(
        &mut self,
        ctx: &Context,
        allocator: Option<&mut (dyn MemoryAllocator + Send + Sync + '_)>,
        bytes: u64,
    ) -> Result<(), RuntimeError> {
        if bytes == 0 {
            return Ok(());
        }
        let behind = self.blocks.iter().enumerate().skip(self.current);
        if let Some((number, _)) = behind.clone().find(|(_, block)| block.left() >= bytes) {
            self.current = number;
            return Ok(());
        }
        let capacity = self.capacity();
        let Some(allocator) = allocator else {
            let left = behind.map(|(_, block)| block.left()).max().unwrap_or(0);
            return Err(self.full(bytes, left));
        };
        check_size(ctx, self.kind, bytes)?;
        // The new block is as large as all blocks so far together, so that repeated growth allocates few blocks. It has
        // at least `MIN_GROWTH` bytes, at least the `bytes` that are needed, and at most what one descriptor can cover.
        let most = ctx.table().map_or(u64::MAX, |limits| limits.max_range / ALIGNMENT * ALIGNMENT);
        let size = capacity.max(MIN_GROWTH).min(most).max(bytes);
        let size = size.checked_next_multiple_of(ALIGNMENT).unwrap_or(size);
        self.blocks.try_room(1)?;
        let mut block = unsafe { ArenaBlock::new(ctx, allocator, self.kind, size) };
        if block.is_err() && size > bytes {
            // The allocator may have fewer than `size` bytes left, but enough for the `bytes` that are needed.
            block = unsafe { ArenaBlock::new(ctx, allocator, self.kind, bytes.max(READABLE)) };
        }
        let block = block?;
        self.current = self.blocks.len();
        self.blocks.push(block);
        Ok(())
    }

    /// Takes `bytes` bytes from the current block.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`]; [`RuntimeError::NoAddress`] if shaders cannot access the block.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<Suballocation, RuntimeError> {
        let needed = aligned(bytes);
        let left = self.blocks.get(self.current).map_or(0, ArenaBlock::left);
        let Some(block) = self.blocks.get_mut(self.current).filter(|_| needed <= left) else {
            return Err(self.full(needed, left));
        };
        if block.address == 0 {
            return Err(RuntimeError::NoAddress { what: self.kind.name().to_owned() });
        }
        let offset = block.used;
        block.used += needed;
        Ok(Suballocation { address: block.address + offset, buffer: block.buffer.raw(), offset })
    }

    /// Returns the error [`RuntimeError::ArenaFull`]: the caller needs `needed` bytes, and no block has more than
    /// `left` bytes left.
    fn full(&self, needed: u64, left: u64) -> RuntimeError {
        RuntimeError::ArenaFull {
            part: self.kind.name(),
            needed,
            restarts: 0,
            left,
            capacity: self.capacity(),
            was_reset: self.was_reset,
        }
    }

    /// Copies values into upload memory.
    ///
    /// # Errors
    /// The errors of [`take`](Self::take).
    pub(crate) fn push<T: bytemuck::NoUninit>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
    ) -> Result<Suballocation, RuntimeError> {
        let size = size_of::<T>();
        self.push_with(values.len() * size, |target| {
            for (target, value) in target.chunks_exact_mut(size).zip(values) {
                target.copy_from_slice(bytemuck::bytes_of(&value));
            }
        })
    }

    /// Copies a value into upload memory.
    ///
    /// # Errors
    /// The errors of [`take`](Self::take).
    pub(crate) fn push_one<T: bytemuck::NoUninit>(
        &mut self,
        value: T,
    ) -> Result<Suballocation, RuntimeError> {
        self.push(std::iter::once(value))
    }

    /// The number of bytes that are taken of the current block.
    pub(crate) fn taken(&self) -> u64 {
        self.blocks.get(self.current).map_or(0, |block| block.used)
    }

    /// Copies `first` and, directly after it, `second` into upload memory.
    ///
    /// # Errors
    /// The errors of [`take`](Self::take).
    pub(crate) fn push_both(
        &mut self,
        first: &[u8],
        second: &[u8],
    ) -> Result<Suballocation, RuntimeError> {
        self.push_with(first.len() + second.len(), |target| {
            let sources = first.iter().chain(second);
            target.iter_mut().zip(sources).for_each(|(target, source)| *target = *source);
        })
    }

    /// Takes `bytes` bytes of upload memory and lets `write` fill them.
    ///
    /// # Errors
    /// The errors of [`take`](Self::take).
    pub(crate) fn push_with(
        &mut self,
        bytes: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Suballocation, RuntimeError> {
        let place = self.take(bytes as u64)?;
        if let Some(block) = self.blocks.get_mut(self.current) {
            // SAFETY: the memory was just taken, so no command accesses it yet: memory is returned to the arena only
            // when no command uses it any more (`Arena::reset` and `ArenaAccess::rewind`).
            write(unsafe { block.buffer.mapped_part_mut(place.offset, bytes as u64) });
        }
        Ok(place)
    }

    /// Writes `bytes` to memory that was taken from this part, `offset` bytes from its start.
    ///
    /// # Safety
    /// The device does not access these bytes meanwhile.
    pub(crate) unsafe fn write(&mut self, place: Suballocation, offset: usize, bytes: &[u8]) {
        let block = self.blocks.iter_mut().find(|block| block.buffer.raw() == place.buffer);
        let (start, size) = (place.offset + offset as u64, bytes.len() as u64);
        let target = match block {
            Some(block) => unsafe { block.buffer.mapped_part_mut(start, size) },
            None => &mut [],
        };
        target.iter_mut().zip(bytes).for_each(|(target, source)| *target = *source);
    }

    /// # Safety
    /// The requirements of [`Context::destroy`] apply.
    pub(super) unsafe fn destroy(
        self,
        ctx: &Context,
        allocator: &mut (impl MemoryAllocator + ?Sized),
    ) {
        for block in self.blocks {
            unsafe { ctx.destroy(block.buffer, allocator) };
        }
    }
}

/// The number of bytes that a suballocation of `bytes` bytes takes: the next multiple of [`ALIGNMENT`], or `u64::MAX`
/// on overflow.
pub(crate) const fn aligned(bytes: u64) -> u64 {
    match bytes.checked_next_multiple_of(ALIGNMENT) {
        Some(bytes) => bytes,
        None => u64::MAX,
    }
}

/// Under the descriptor plan, checks that one descriptor can cover a block of `size` bytes.
fn check_size(ctx: &Context, kind: PartKind, size: u64) -> Result<(), RuntimeError> {
    let Some(limits) = ctx.table() else { return Ok(()) };
    let what = || format!("the size of {} in bytes", kind.name());
    crate::runtime::device::checks::check_limit(
        what,
        size,
        "maxStorageBufferRange",
        limits.max_range,
    )
}
