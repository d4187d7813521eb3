//! The engine's own memory: blocks of a few megabytes, from which buffers take their pieces.

use std::ptr::NonNull;

use anyhow::{Context as _, Result, ensure};
use ash::vk;

use super::common::gpu::Gpu;

const BLOCK: u64 = 8 << 20;

/// All memory of buffers.
pub struct Memory<'a> {
    gpu: &'a Gpu,
    blocks: Vec<Block>,
    /// Pieces that were taken so far.
    pub taken: u64,
    /// Bytes of them that were not given back.
    pub in_use: u64,
}

/// Memory of one type, taken from front to back.
struct Block {
    memory: vk::DeviceMemory,
    type_index: u32,
    size: u64,
    used: u64,
    pieces: u32,
    mapped: Option<NonNull<u8>>,
}

// SAFETY: the address is of memory that stays mapped there, whichever thread has the block.
unsafe impl Send for Block {}

/// A part of a block.
#[derive(Clone, Copy)]
pub struct Piece {
    pub memory: vk::DeviceMemory,
    pub offset: u64,
    pub size: u64,
    /// Where it is mapped, if the host reaches it.
    pub mapped: Option<NonNull<u8>>,
    pub block: usize,
}

/// A buffer with its piece.
pub struct Buffer {
    pub raw: vk::Buffer,
    pub size: u64,
    piece: Piece,
}

impl<'a> Memory<'a> {
    pub fn new(gpu: &'a Gpu) -> Self {
        Self { gpu, blocks: Vec::new(), taken: 0, in_use: 0 }
    }

    /// Takes a piece, of coherent memory if it is to be mapped.
    ///
    /// # Safety
    /// The device is live.
    pub unsafe fn take(&mut self, needs: vk::MemoryRequirements, is_mapped: bool) -> Result<Piece> {
        let flags = if is_mapped {
            vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT
        } else {
            vk::MemoryPropertyFlags::DEVICE_LOCAL
        };
        let type_index =
            self.gpu.memory_type(needs.memory_type_bits, flags).context("no such memory")?;
        let fits = |block: &Block| {
            let is_alike = block.type_index == type_index && block.mapped.is_some() == is_mapped;
            is_alike && block.used.next_multiple_of(needs.alignment) + needs.size <= block.size
        };
        let index = match self.blocks.iter().position(fits) {
            Some(index) => index,
            None => {
                let block = unsafe { Block::new(self.gpu, type_index, is_mapped, needs.size) }?;
                self.blocks.push(block);
                self.blocks.len() - 1
            }
        };
        let block = &mut self.blocks[index];
        let (offset, size) = (block.used.next_multiple_of(needs.alignment), needs.size);
        block.used = offset + size;
        block.pieces += 1;
        self.taken += 1;
        self.in_use += size;
        // SAFETY: the piece lies within the block, all of which is mapped.
        let mapped = block.mapped.map(|start| unsafe { start.add(offset as usize) });
        Ok(Piece { memory: block.memory, offset, size, mapped, block: index })
    }

    /// Gives a piece of so many bytes back. A block without pieces is used afresh.
    pub fn give_back(&mut self, block: usize, size: u64) {
        self.in_use -= size;
        let block = &mut self.blocks[block];
        block.pieces -= 1;
        if block.pieces == 0 {
            block.used = 0;
        }
    }

    /// Makes a buffer.
    ///
    /// # Safety
    /// The device is live, and has features for the usage.
    pub unsafe fn buffer(
        &mut self,
        size: u64,
        usage: vk::BufferUsageFlags,
        is_mapped: bool,
    ) -> Result<Buffer> {
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        let device = &self.gpu.device;
        unsafe {
            let raw = device.create_buffer(&info, None)?;
            let piece = self.take(device.get_buffer_memory_requirements(raw), is_mapped)?;
            device.bind_buffer_memory(raw, piece.memory, piece.offset)?;
            Ok(Buffer { raw, size, piece })
        }
    }

    /// A buffer that the device reads, with what it holds.
    ///
    /// # Safety
    /// As [`buffer`](Self::buffer).
    pub unsafe fn filled_buffer(
        &mut self,
        usage: vk::BufferUsageFlags,
        bytes: &[u8],
    ) -> Result<Buffer> {
        // SAFETY: the caller's contract; nothing uses the buffer yet.
        unsafe {
            let mut buffer = self.buffer(bytes.len() as u64, usage, true)?;
            buffer.mapped().copy_from_slice(bytes);
            Ok(buffer)
        }
    }

    /// # Safety
    /// The device no longer uses the buffer.
    pub unsafe fn destroy_buffer(&mut self, buffer: Buffer) {
        unsafe { self.gpu.device.destroy_buffer(buffer.raw, None) };
        self.give_back(buffer.piece.block, buffer.piece.size);
    }

    /// Frees the blocks. Fails if there are pieces that nobody gave back.
    ///
    /// # Safety
    /// The device no longer uses them.
    pub unsafe fn destroy(self) -> Result<()> {
        for block in &self.blocks {
            unsafe { self.gpu.device.free_memory(block.memory, None) };
        }
        ensure!(self.in_use == 0, "{} bytes of device memory are leaked", self.in_use);
        Ok(())
    }
}

impl Block {
    /// # Safety
    /// The device is live.
    unsafe fn new(gpu: &Gpu, type_index: u32, is_mapped: bool, size: u64) -> Result<Self> {
        let mut flags = vk::MemoryAllocateFlagsInfo::default();
        if gpu.has_addresses() {
            flags = flags.flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        }
        let size = size.max(BLOCK);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(type_index)
            .push_next(&mut flags);
        // SAFETY: the caller's contract; what is mapped is visible to the host.
        unsafe {
            let memory = gpu.device.allocate_memory(&info, None)?;
            let flags = vk::MemoryMapFlags::empty();
            let mapped = if is_mapped {
                NonNull::new(gpu.device.map_memory(memory, 0, size, flags)?.cast())
            } else {
                None
            };
            Ok(Self { memory, type_index, size, used: 0, pieces: 0, mapped })
        }
    }
}

impl Buffer {
    /// What it holds; nothing where it is not mapped.
    ///
    /// # Safety
    /// The device neither writes it nor, where it is written here, reads it meanwhile.
    pub unsafe fn mapped(&mut self) -> &mut [u8] {
        match self.piece.mapped {
            // SAFETY: the piece is mapped, and nobody else has it.
            Some(start) => unsafe {
                std::slice::from_raw_parts_mut(start.as_ptr(), self.size as usize)
            },
            None => &mut [],
        }
    }
}
