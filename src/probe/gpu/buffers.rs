//! Memory of a [`Gpu`]: buffers, and their way to and from the host.

use std::ops::Range;

use ash::vk;

use super::{Gpu, GpuError, State};
use crate::runtime::{
    Arena, ArenaDesc, Buffer, BufferDesc, Context, MemoryAllocator, MemoryLocation, Pipeline,
    QueryKind, QueryPool,
};

impl Gpu {
    /// The context with the allocator; both live until the device is dropped.
    fn parts(&mut self) -> Result<(&Context, &mut dyn MemoryAllocator), GpuError> {
        match &mut self.allocator {
            Some(allocator) => Ok((&self.context, allocator)),
            None => Err(GpuError::NoDevice),
        }
    }

    /// Creates a buffer. Those in device memory can always be copied from and to.
    ///
    /// # Errors
    /// A failed command or allocation.
    pub fn create_buffer(
        &mut self,
        size: u64,
        usage: vk::BufferUsageFlags,
        location: MemoryLocation,
    ) -> Result<Buffer, GpuError> {
        let copies = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let (ctx, allocator) = self.parts()?;
        let desc = BufferDesc { name: "vkxfb probe", size, usage: usage | copies, location };
        // SAFETY: the device is live and the allocator is its.
        Ok(unsafe { Buffer::new(ctx, allocator, &desc) }?)
    }

    /// Destroys a buffer of [`create_buffer`](Self::create_buffer).
    pub fn destroy_buffer(&mut self, buffer: Buffer) {
        if self.state == State::Hung {
            return;
        }
        if let Ok((ctx, allocator)) = self.parts() {
            // SAFETY: nothing is in flight.
            unsafe { buffer.destroy(ctx, allocator) };
        }
    }

    /// Lends a buffer of [`create_buffer`](Self::create_buffer) to `f`.
    pub(super) fn with_buffer<R>(
        &mut self,
        size: u64,
        usage: vk::BufferUsageFlags,
        location: MemoryLocation,
        f: impl FnOnce(&mut Self, &mut Buffer) -> Result<R, GpuError>,
    ) -> Result<R, GpuError> {
        let mut buffer = self.create_buffer(size, usage, location)?;
        let result = f(self, &mut buffer);
        self.destroy_buffer(buffer);
        result
    }

    /// Makes queries for captures on the compute backend.
    ///
    /// # Errors
    /// A failed command or allocation.
    pub fn create_query_pool(
        &mut self,
        kind: QueryKind,
        count: u32,
    ) -> Result<QueryPool, GpuError> {
        let (ctx, allocator) = self.parts()?;
        // SAFETY: the device is live and the allocator is its.
        Ok(unsafe { QueryPool::new(ctx, allocator, kind, count) }?)
    }

    /// Destroys queries of [`create_query_pool`](Self::create_query_pool).
    pub fn destroy_query_pool(&mut self, pool: QueryPool) {
        if self.state == State::Hung {
            return;
        }
        if let Ok((ctx, allocator)) = self.parts() {
            // SAFETY: nothing is in flight.
            unsafe { pool.destroy(ctx, allocator) };
        }
    }

    /// Makes an arena.
    ///
    /// # Errors
    /// A failed command or allocation.
    pub fn create_arena(&mut self, desc: &ArenaDesc) -> Result<Arena, GpuError> {
        let (ctx, allocator) = self.parts()?;
        // SAFETY: the device is live and the allocator is its.
        Ok(unsafe { Arena::new(ctx, allocator, desc) }?)
    }

    /// Destroys an arena of [`create_arena`](Self::create_arena).
    pub fn destroy_arena(&mut self, arena: Arena) {
        if self.state == State::Hung {
            return;
        }
        if let Ok((ctx, allocator)) = self.parts() {
            // SAFETY: nothing is in flight.
            unsafe { arena.destroy(ctx, allocator) };
        }
    }

    /// Destroys a pipeline that was made with [`context`](Self::context).
    pub fn destroy_pipeline(&self, pipeline: Pipeline) {
        if self.state == State::Hung {
            return;
        }
        // SAFETY: nothing is in flight.
        unsafe { pipeline.destroy(&self.context) };
    }

    /// Copies `bytes` to a buffer in device memory, from byte `offset` on.
    ///
    /// # Errors
    /// [`GpuError::OutOfRange`], or a failed command or allocation.
    pub fn write(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), GpuError> {
        let len = bytes.len() as u64;
        check_range(buffer, &(offset..offset.saturating_add(len)))?;
        if bytes.is_empty() {
            return Ok(());
        }
        let usage = vk::BufferUsageFlags::empty();
        self.with_buffer(len, usage, MemoryLocation::Upload, |gpu, staging| {
            // SAFETY: the device does not use it yet.
            copy_into(unsafe { staging.mapped_mut() }, 0, bytes);
            gpu.submit(|ctx, cmd| {
                let region = vk::BufferCopy { src_offset: 0, dst_offset: offset, size: len };
                let (from, to) = (staging.raw(), buffer.raw());
                // SAFETY: the range is inside both; later submissions wait for this one.
                unsafe { ctx.device().cmd_copy_buffer(cmd, from, to, &[region]) };
                Ok(())
            })
        })
    }

    /// Copies bytes out of a buffer in device memory.
    ///
    /// # Errors
    /// [`GpuError::OutOfRange`], or a failed command or allocation.
    pub fn read(&mut self, buffer: &Buffer, range: Range<u64>) -> Result<Vec<u8>, GpuError> {
        check_range(buffer, &range)?;
        let size = range.end - range.start;
        if size == 0 {
            return Ok(Vec::new());
        }
        let usage = vk::BufferUsageFlags::empty();
        self.with_buffer(size, usage, MemoryLocation::Readback, |gpu, readback| {
            gpu.submit(|ctx, cmd| {
                let region = vk::BufferCopy { src_offset: range.start, dst_offset: 0, size };
                let (from, to) = (buffer.raw(), readback.raw());
                // SAFETY: the range is inside both; earlier submissions are done.
                unsafe {
                    ctx.device().cmd_copy_buffer(cmd, from, to, &[region]);
                    transfer_to_host(ctx, cmd);
                }
                Ok(())
            })?;
            gpu.host_bytes(readback)
        })
    }

    /// What a readback buffer holds, once the submission that wrote it was waited for.
    pub(super) fn host_bytes(&self, readback: &Buffer) -> Result<Vec<u8>, GpuError> {
        // SAFETY: the buffer was made with the context; nothing is in flight.
        unsafe {
            readback.invalidate(&self.context)?;
            Ok(readback.mapped().to_vec())
        }
    }
}

/// Makes what copies wrote visible to the host.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
pub(super) unsafe fn transfer_to_host(ctx: &Context, cmd: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::HOST_READ);
    // SAFETY: the caller's contract.
    unsafe {
        ctx.device().cmd_pipeline_barrier(
            cmd,
            vk::PipelineStageFlags::TRANSFER,
            vk::PipelineStageFlags::HOST,
            vk::DependencyFlags::empty(),
            &[barrier],
            &[],
            &[],
        );
    }
}

/// Copies `bytes` to byte `start` of `target`, which holds them.
pub(super) fn copy_into(target: &mut [u8], start: u64, bytes: &[u8]) {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let range = start..start.saturating_add(bytes.len());
    match target.get_mut(range) {
        Some(range) => range.copy_from_slice(bytes),
        None => debug_assert!(false, "{} bytes do not fit at {start}", bytes.len()),
    }
}

fn check_range(buffer: &Buffer, range: &Range<u64>) -> Result<(), GpuError> {
    match range.start <= range.end && range.end <= buffer.size() {
        true => Ok(()),
        false => {
            Err(GpuError::OutOfRange { start: range.start, end: range.end, size: buffer.size() })
        }
    }
}
