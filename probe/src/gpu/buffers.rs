//! Creates and destroys the buffers of a [`Gpu`], and copies between them and the host.

use std::ops::Range;

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaSize, Buffer, BufferDesc, Context, Destroy, MemoryAllocator, MemoryLocation,
    Pipeline, QueryKind, QueryPool, RuntimeError,
};
use vkxfb_rewriter::lower::Backend;

use super::allocator::OwnAllocator;
use super::{Gpu, GpuError, HostMemory, State, Step};

/// Checks that a value is at most a limit of the device.
pub(super) fn check_limit(
    what: String,
    value: u64,
    limit: &'static str,
    max: u64,
) -> Result<(), GpuError> {
    if value <= max { Ok(()) } else { Err(RuntimeError::Limit { what, value, limit, max }.into()) }
}

impl Gpu {
    /// Returns the context and the allocator, which live until the device is dropped.
    fn parts(&mut self) -> Result<(&Context, &mut dyn MemoryAllocator), GpuError> {
        match &mut self.allocator {
            Some(allocator) => Ok((&self.context, allocator)),
            None => Err(GpuError::NoDevice),
        }
    }

    /// Whether an object can be destroyed: it was created with this device (`owns`), and the device is not hung, so
    /// that no submission still uses it. Logs a warning if the object is of another device.
    fn destroys(&self, owns: bool) -> bool {
        if !owns {
            tracing::warn!("an object of another device is leaked");
        }
        owns && self.state != State::Hung
    }

    /// Destroys an object, or leaks it if it is of another device: see [`destroys`](Self::destroys).
    ///
    /// # Safety
    /// The object was made with this device if `owns` is true.
    unsafe fn destroy(&mut self, owns: bool, object: impl Destroy<OwnAllocator>) {
        if self.destroys(owns)
            && let Some(allocator) = &mut self.allocator
        {
            unsafe { self.context.destroy(object, allocator) };
        }
    }

    fn check_usage(&self, usage: vk::BufferUsageFlags) -> Result<(), GpuError> {
        use vk::BufferUsageFlags as Usage;
        let mut known = Usage::TRANSFER_SRC
            | Usage::TRANSFER_DST
            | Usage::UNIFORM_TEXEL_BUFFER
            | Usage::STORAGE_TEXEL_BUFFER
            | Usage::UNIFORM_BUFFER
            | Usage::STORAGE_BUFFER
            | Usage::INDEX_BUFFER
            | Usage::VERTEX_BUFFER
            | Usage::INDIRECT_BUFFER;
        if self.context.has_addresses() {
            known |= Usage::SHADER_DEVICE_ADDRESS;
        }
        if self.backends().contains(&Backend::Native) {
            known |=
                Usage::TRANSFORM_FEEDBACK_BUFFER_EXT | Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        }
        if self.draw_features.conditional_rendering {
            known |= Usage::CONDITIONAL_RENDERING_EXT;
        }
        if known.contains(usage) {
            Ok(())
        } else {
            Err(GpuError::BufferUsage { usage: usage & !known })
        }
    }

    fn check_size(&self, what: &str, size: u64) -> Result<(), GpuError> {
        let max = self.memory_limits().max_buffer;
        let limit = "the lesser of maxBufferSize and maxMemoryAllocationSize";
        check_limit(format!("the size of {what} in bytes"), size, limit, max)
    }

    /// Creates a buffer. `TRANSFER_SRC` and `TRANSFER_DST` are added to its usage.
    ///
    /// # Errors
    /// [`GpuError::BufferUsage`] for a usage that the device was not opened for;
    /// [`GpuError::Runtime`] if the buffer is too large for the device, or if a command or an
    /// allocation fails.
    pub fn create_buffer(
        &mut self,
        size: u64,
        usage: vk::BufferUsageFlags,
        location: MemoryLocation,
    ) -> Result<Buffer, GpuError> {
        self.check_usage(usage)?;
        self.check_size("a buffer", size)?;
        let copies = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let (ctx, allocator) = self.parts()?;
        let desc = BufferDesc { name: "vkxfb probe", size, usage: usage | copies, location };
        // SAFETY: the device is live, the allocator is the device's, and usage and size were
        // checked.
        Ok(unsafe { Buffer::new(ctx, allocator, &desc) }?)
    }

    /// Destroys a buffer. A buffer of another device is leaked, with a warning.
    pub fn destroy_buffer(&mut self, buffer: Buffer) {
        // SAFETY: the context knows what was made with it.
        unsafe { self.destroy(self.context.made(&buffer), buffer) };
    }

    /// Creates a buffer as [`create_buffer`](Self::create_buffer) does, calls `f` with it, and
    /// destroys it.
    pub(crate) fn with_buffer<R>(
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

    /// Creates a query pool for captures on the compute backend.
    ///
    /// # Errors
    /// [`GpuError::Runtime`] if there is no compute backend, if the pool is too large for the
    /// device, or if a command or an allocation fails.
    pub fn create_query_pool(
        &mut self,
        kind: QueryKind,
        count: u32,
    ) -> Result<QueryPool, GpuError> {
        self.check_size("a query pool", QueryPool::size(count))?;
        let (ctx, allocator) = self.parts()?;
        // SAFETY: the device is live, and the allocator is the device's.
        Ok(unsafe { QueryPool::new(ctx, allocator, kind, count) }?)
    }

    /// Destroys a query pool. A pool of another device is leaked, with a warning.
    pub fn destroy_query_pool(&mut self, pool: QueryPool) {
        // SAFETY: the context knows what was made with it.
        unsafe { self.destroy(self.context.made(&pool), pool) };
    }

    /// Creates an arena.
    ///
    /// # Errors
    /// [`GpuError::Runtime`] if the arena is too large for the device, or if a command or an
    /// allocation fails.
    pub fn create_arena(&mut self, size: impl Into<ArenaSize>) -> Result<Arena, GpuError> {
        let size = size.into();
        self.check_size("the arena's upload memory", size.upload)?;
        self.check_size("the arena's scratch memory", size.scratch)?;
        let (ctx, allocator) = self.parts()?;
        // SAFETY: the device is live, and the allocator is the device's.
        Ok(unsafe { Arena::new(ctx, allocator, size) }?)
    }

    /// Destroys an arena. An arena of another device is leaked, with a warning.
    pub fn destroy_arena(&mut self, arena: Arena) {
        // SAFETY: the context knows what was made with it.
        unsafe { self.destroy(self.context.made(&arena), arena) };
    }

    /// Destroys a pipeline that was created with [`context`](Self::context). Any other pipeline is
    /// leaked, with a warning.
    pub fn destroy_pipeline(&self, pipeline: Pipeline) {
        if !self.destroys(self.context.made(&pipeline)) {
            return;
        }
        // SAFETY: the pipeline belongs to this device, and no submission is in flight.
        unsafe { self.context.destroy(pipeline, &mut ()) };
    }

    /// Copies `bytes` to a buffer in device memory, from byte `offset` on.
    ///
    /// # Errors
    /// [`GpuError::OutOfRange`], [`GpuError::ForeignBuffer`], [`GpuError::BufferUsage`], or a
    /// failed command or allocation.
    pub fn write(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), GpuError> {
        let len = bytes.len() as u64;
        let range = offset..offset.saturating_add(len);
        self.check_copy(buffer, vk::BufferUsageFlags::TRANSFER_DST, &range)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let usage = vk::BufferUsageFlags::empty();
        self.with_buffer(len, usage, self.upload_location(), |gpu, staging| {
            // SAFETY: the buffer was not submitted yet, so the device does not use it.
            copy_into(unsafe { staging.mapped_mut() }, 0, bytes);
            gpu.flush(staging)?;
            gpu.submit(|ctx, cmd| {
                let region = vk::BufferCopy { src_offset: 0, dst_offset: offset, size: len };
                let (from, to) = (staging.raw(), buffer.raw());
                // SAFETY: the range is within both buffers, and later submissions wait for this
                // one.
                unsafe { ctx.device().cmd_copy_buffer(cmd, from, to, &[region]) };
                Ok(())
            })
        })
    }

    /// Copies bytes out of a buffer in device memory, and returns them.
    ///
    /// # Errors
    /// [`GpuError::OutOfRange`], [`GpuError::ForeignBuffer`], [`GpuError::BufferUsage`], or a
    /// failed command or allocation.
    pub fn read(&mut self, buffer: &Buffer, range: Range<u64>) -> Result<Vec<u8>, GpuError> {
        self.check_copy(buffer, vk::BufferUsageFlags::TRANSFER_SRC, &range)?;
        let size = range.end - range.start;
        if size == 0 {
            return Ok(Vec::new());
        }
        let usage = vk::BufferUsageFlags::empty();
        self.with_buffer(size, usage, MemoryLocation::Readback, |gpu, readback| {
            gpu.submit(|ctx, cmd| {
                let region = vk::BufferCopy { src_offset: range.start, dst_offset: 0, size };
                let (from, to) = (buffer.raw(), readback.raw());
                // SAFETY: the range is within both buffers, and earlier submissions have finished.
                unsafe {
                    ctx.device().cmd_copy_buffer(cmd, from, to, &[region]);
                    transfer_to_host(ctx, cmd);
                }
                Ok(())
            })?;
            gpu.host_bytes(readback)
        })
    }

    /// Checks that a buffer belongs to this device, has the usage, and contains the range.
    fn check_copy(
        &self,
        buffer: &Buffer,
        usage: vk::BufferUsageFlags,
        range: &Range<u64>,
    ) -> Result<(), GpuError> {
        if !self.context.made(buffer) {
            return Err(GpuError::ForeignBuffer);
        }
        if !buffer.usage().contains(usage) {
            return Err(GpuError::BufferUsage { usage });
        }
        if range.start <= range.end && range.end <= buffer.size() {
            Ok(())
        } else {
            let Range { start, end } = *range;
            Err(GpuError::OutOfRange { start, end, size: buffer.size() })
        }
    }

    /// The memory location of buffers that the host fills. The host must [flush](Self::flush) them
    /// afterwards.
    pub(super) const fn upload_location(&self) -> MemoryLocation {
        match self.host_memory {
            HostMemory::Best => MemoryLocation::Upload,
            // The runtime's upload memory is always coherent, but its readback memory need not be.
            HostMemory::NonCoherent => MemoryLocation::Readback,
        }
    }

    /// Makes the host's writes to a buffer visible to the device.
    pub(super) fn flush(&self, buffer: &Buffer) -> Result<(), GpuError> {
        if self.omitted == Some(Step::Flush) {
            return Ok(());
        }
        // SAFETY: the buffer was created with this context, and is coherent or for readback. No
        // submission is in flight.
        unsafe {
            if let Some(shadows) = self.allocator.as_ref().and_then(OwnAllocator::shadows) {
                shadows.flush(buffer.mapped().as_ptr());
            }
            buffer.flush(&self.context)?;
        }
        Ok(())
    }

    /// Returns the contents of a readback buffer, after the submission that wrote to it.
    pub(super) fn host_bytes(&self, readback: &Buffer) -> Result<Vec<u8>, GpuError> {
        // SAFETY: the buffer was created with this context, and no submission is in flight.
        unsafe {
            if self.omitted != Some(Step::Invalidation) {
                readback.invalidate(&self.context)?;
                if let Some(shadows) = self.allocator.as_ref().and_then(OwnAllocator::shadows) {
                    shadows.invalidate(readback.mapped().as_ptr());
                }
            }
            Ok(readback.mapped().to_vec())
        }
    }
}

/// Records the barrier that makes the results of copies visible to the host.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
pub(super) unsafe fn transfer_to_host(ctx: &Context, cmd: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::HOST_READ);
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

/// Copies `bytes` into `target` from byte `start` on. `target` must be large enough.
pub(super) fn copy_into(target: &mut [u8], start: u64, bytes: &[u8]) {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let range = start..start.saturating_add(bytes.len());
    match target.get_mut(range) {
        Some(range) => range.copy_from_slice(bytes),
        None => debug_assert!(false, "{} bytes do not fit at {start}", bytes.len()),
    }
}
