//! Buffers with memory for the runtime. The application provides the memory through the trait [`MemoryAllocator`].
//!
//! With the cargo feature `gpu-allocator`, [`gpu_allocator::vulkan::Allocator`] implements that trait.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use ash::vk;

use crate::runtime::device::context::{Context, ContextId, Made};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::CaptureBuffer;
use crate::runtime::memory::destroy::DestroyObject;

/// A range of a buffer: the buffer, the offset and the size, both in bytes.
pub(crate) type BufferRange = (vk::Buffer, u64, u64);

/// The alignment in bytes of all memory that shaders access, which is the alignment of a `vec4`.
pub(crate) const ALIGNMENT: u64 = 16;

const DWORD: u64 = size_of::<AtomicU32>() as u64;

/// Who accesses the memory, and the memory properties that this requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryLocation {
    /// Only the device accesses it: `DEVICE_LOCAL`.
    Device,
    /// The host writes it and the device reads it: `HOST_VISIBLE`, `HOST_COHERENT` and mapped.
    Upload,
    /// The device writes it and the host reads it: `HOST_VISIBLE` and mapped, and `HOST_CACHED` if there is such
    /// memory. The memory need not be coherent.
    Readback,
}

/// A request for the memory of one buffer, which the runtime makes and a [`MemoryAllocator`] reads.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AllocationRequest<'a> {
    /// The name of the buffer, for messages and debug tools.
    pub name: &'a str,
    /// The result of `vkGetBufferMemoryRequirements`, with a larger alignment and size if the runtime needs them.
    pub requirements: vk::MemoryRequirements,
    /// Who accesses the memory.
    pub location: MemoryLocation,
    /// Whether the memory must be allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
    pub device_address: bool,
}

/// Memory that an allocator returned.
pub struct Allocation {
    /// The memory object.
    pub memory: vk::DeviceMemory,
    /// The offset in bytes from the start of the memory object.
    pub offset: u64,
    /// The size of the allocation in bytes, at least the requested size.
    pub size: u64,
    /// The host address of the first byte, or `None` if the memory is not mapped. The memory must be mapped for
    /// [`MemoryLocation::Upload`] and [`MemoryLocation::Readback`].
    pub mapped: Option<NonNull<u8>>,
    /// Whether the memory type is `HOST_COHERENT`.
    pub coherent: bool,
    /// Whatever the allocator needs to free the memory.
    pub backing: Box<dyn Any + Send + Sync>,
}

// SAFETY: the pointer is to memory that stays mapped at that address as long as the allocation lives, on any thread.
// The memory is accessed only through `&mut` or unsafe code.
unsafe impl Send for Allocation {}
// SAFETY: a shared reference to an allocation does not give safe write access to its memory.
unsafe impl Sync for Allocation {}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocation")
            .field("memory", &self.memory)
            .field("offset", &self.offset)
            .field("size", &self.size)
            .field("mapped", &self.mapped)
            .field("coherent", &self.coherent)
            .finish_non_exhaustive()
    }
}

/// Provides device memory for buffers.
///
/// # Safety
/// Until it is freed, an [`Allocation`] that [`allocate`](Self::allocate) returned meets these conditions:
/// * its memory belongs to the allocator's device, has a type in `memoryTypeBits`, the requested alignment and at least
///   the requested size, and belongs to no other allocation;
/// * `mapped` is `None`, or the host address of its first byte; all its bytes stay mapped from this address on, and
///   nobody else accesses them;
/// * `coherent` is set only if the memory type is `HOST_COHERENT`.
pub unsafe trait MemoryAllocator {
    /// Allocates memory for one buffer, mapped if the location requires it.
    ///
    /// # Errors
    /// The allocator's own error, which becomes the source of [`RuntimeError::Allocation`].
    ///
    /// # Safety
    /// The device of the allocator is live, and the allocator was created as its implementation requires.
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, Box<dyn Error + Send + Sync>>;

    /// Frees an allocation.
    ///
    /// # Safety
    /// `allocation` came from this allocator, and the device no longer uses it.
    unsafe fn free(&mut self, allocation: Allocation);
}

/// If buffers need device addresses, the allocator must have been created with `buffer_device_address: true`, because
/// it allocates all of its memory with the same flags.
#[cfg(feature = "gpu-allocator")]
// SAFETY: while an allocation lives, this allocator gives its memory to no other allocation. It keeps host-visible
// memory mapped, and reports the properties of the memory type that it took.
unsafe impl MemoryAllocator for gpu_allocator::vulkan::Allocator {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, Box<dyn Error + Send + Sync>> {
        use gpu_allocator::MemoryLocation as Location;
        let allocation = self.allocate(&gpu_allocator::vulkan::AllocationCreateDesc {
            name: request.name,
            requirements: request.requirements,
            location: match request.location {
                MemoryLocation::Device => Location::GpuOnly,
                MemoryLocation::Upload => Location::CpuToGpu,
                MemoryLocation::Readback => Location::GpuToCpu,
            },
            linear: true,
            allocation_scheme: gpu_allocator::vulkan::AllocationScheme::GpuAllocatorManaged,
        })?;
        Ok(Allocation {
            // SAFETY: the memory is freed only through the allocator.
            memory: unsafe { allocation.memory() },
            offset: allocation.offset(),
            size: allocation.size(),
            mapped: allocation.mapped_ptr().map(NonNull::cast),
            coherent: allocation
                .memory_properties()
                .contains(vk::MemoryPropertyFlags::HOST_COHERENT),
            backing: Box::new(allocation),
        })
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        match allocation.backing.downcast::<gpu_allocator::vulkan::Allocation>() {
            Ok(backing) => {
                if let Err(error) = self.free(*backing) {
                    tracing::warn!(%error, "device memory is leaked");
                }
            }
            Err(_) => tracing::warn!("device memory of another allocator is leaked"),
        }
    }
}

/// Describes a [`Buffer`] that is to be created. No member has a default, so that it has no `new` and is written with all
/// of them.
#[derive(Debug, Clone, Copy)]
pub struct BufferDesc<'a> {
    /// The name of the buffer, for messages and debug tools.
    pub name: &'a str,
    /// The size in bytes. 0 counts as 1.
    pub size: u64,
    /// The usage. With `SHADER_DEVICE_ADDRESS` the buffer has an address.
    pub usage: vk::BufferUsageFlags,
    /// Who accesses the buffer.
    pub location: MemoryLocation,
}

/// A buffer that has its own memory allocation.
#[derive(Debug)]
pub struct Buffer {
    raw: vk::Buffer,
    whole: [Option<CaptureBuffer>; 1],
    size: u64,
    address: u64,
    allocation: Allocation,
    usage: vk::BufferUsageFlags,
    context: ContextId,
}

impl Made for Buffer {
    fn is_of(&self, context: &Context) -> bool {
        self.context == context.id()
    }
}

impl Buffer {
    /// Creates a buffer and binds it to memory of `allocator`.
    ///
    /// # Errors
    /// The error of a failed command or allocation, or [`RuntimeError::WrongMemory`] if the allocator returned memory
    /// without the properties that the location requires.
    ///
    /// # Safety
    /// The device of `ctx` is live, and `allocator` belongs to that device and was created as its implementation
    /// requires. `desc` is valid for the device.
    pub unsafe fn new(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        desc: &BufferDesc<'_>,
    ) -> Result<Self, RuntimeError> {
        let device = ctx.device();
        let info = vk::BufferCreateInfo::default()
            .size(desc.size.max(1))
            .usage(desc.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        let raw = unsafe { device.create_buffer(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreateBuffer"))?;
        // SAFETY: `raw` was just created and is not used elsewhere.
        match unsafe { Self::with_memory(ctx, allocator, desc, raw) } {
            Ok(buffer) => Ok(buffer),
            Err(error) => {
                // SAFETY: `raw` was just created and is not used elsewhere.
                unsafe { device.destroy_buffer(raw, None) };
                Err(error)
            }
        }
    }

    /// # Safety
    /// The requirements of [`new`](Self::new) apply. `raw` was created from `desc` and is not bound to memory.
    unsafe fn with_memory(
        ctx: &Context,
        allocator: &mut dyn MemoryAllocator,
        desc: &BufferDesc<'_>,
        raw: vk::Buffer,
    ) -> Result<Self, RuntimeError> {
        let device = ctx.device();
        // SAFETY: `raw` is live.
        let mut requirements = unsafe { device.get_buffer_memory_requirements(raw) };
        // Shaders load the parameters of captures and kernels 16 bytes at a time.
        requirements.alignment = requirements.alignment.max(ALIGNMENT);
        if desc.location == MemoryLocation::Readback {
            // Invalidating memory affects whole atoms (`nonCoherentAtomSize`), so no other buffer may share an atom
            // with this one.
            let atom = ctx.capabilities().limits.non_coherent_atom.max(1);
            requirements.alignment = requirements.alignment.max(atom);
            let size = requirements.size;
            requirements.size = size.checked_next_multiple_of(atom).unwrap_or(size);
        }
        let device_address = desc.usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        let request = AllocationRequest {
            name: desc.name,
            requirements,
            location: desc.location,
            device_address,
        };
        let allocation = unsafe { allocator.allocate(&request) }.map_err(|source| {
            let (name, size) = (desc.name.to_owned(), requirements.size);
            RuntimeError::Allocation { name, size, source }
        })?;
        let wrong = |property| RuntimeError::WrongMemory { name: desc.name.to_owned(), property };
        let checked = match desc.location {
            MemoryLocation::Device => Ok(()),
            _ if allocation.mapped.is_none() => Err(wrong("mapped")),
            MemoryLocation::Upload if !allocation.coherent => Err(wrong("HOST_COHERENT")),
            MemoryLocation::Upload | MemoryLocation::Readback => Ok(()),
        };
        let bound = checked.and_then(|()| {
            // SAFETY: both are live, and the allocator met the requirements.
            unsafe { device.bind_buffer_memory(raw, allocation.memory, allocation.offset) }
                .map_err(RuntimeError::vulkan("vkBindBufferMemory"))?;
            if !device_address {
                return Ok(0);
            }
            // SAFETY: the buffer has the usage and is bound to memory for addresses.
            unsafe { ctx.buffer_address(raw) }
        });
        match bound {
            Ok(address) => {
                tracing::debug!(name = desc.name, size = desc.size, location = ?desc.location, "buffer");
                ctx.name(raw, desc.name);
                let (size, context) = (desc.size.max(1), ctx.id());
                let whole = [Some(CaptureBuffer::new(raw, size))];
                Ok(Self { raw, whole, size, address, allocation, usage: desc.usage, context })
            }
            Err(error) => {
                // SAFETY: the memory came from this allocator and nothing uses it.
                unsafe { allocator.free(allocation) };
                Err(error)
            }
        }
    }

    /// The usage that the buffer was created with.
    pub const fn usage(&self) -> vk::BufferUsageFlags {
        self.usage
    }

    /// The Vulkan handle.
    pub const fn raw(&self) -> vk::Buffer {
        self.raw
    }

    /// The size in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The whole buffer as the only capture buffer, number 0: for
    /// [`CaptureDesc::buffers`](crate::runtime::CaptureDesc::buffers).
    pub const fn as_capture_buffers(&self) -> &[Option<CaptureBuffer>] {
        &self.whole
    }

    /// Whether the memory is `HOST_COHERENT`.
    pub(crate) const fn is_coherent(&self) -> bool {
        self.allocation.coherent
    }

    /// The device address, or 0 without the usage `SHADER_DEVICE_ADDRESS`.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// The contents of the buffer in host memory, or an empty slice if the memory is not mapped.
    ///
    /// # Safety
    /// The device does not write the bytes while the slice lives. If the memory is not coherent,
    /// [`invalidate`](Self::invalidate) was called after the device wrote the bytes.
    pub unsafe fn mapped(&self) -> &[u8] {
        unsafe { self.mapped_part(0, self.size) }
    }

    /// The `size` bytes of [`mapped`](Self::mapped) from `offset` on, or an empty slice if the memory is not mapped or
    /// the buffer is too short.
    ///
    /// # Safety
    /// The requirements of [`mapped`](Self::mapped) apply to these bytes.
    pub(crate) unsafe fn mapped_part(&self, offset: u64, size: u64) -> &[u8] {
        match self.pointer_to(offset, size) {
            // SAFETY: the allocator mapped these bytes; nothing writes them.
            Some((start, size)) => unsafe { std::slice::from_raw_parts(start, size) },
            None => &[],
        }
    }

    /// The contents of the buffer in host memory, or an empty slice if the memory is not mapped.
    ///
    /// # Safety
    /// The device does not access the bytes while the slice lives.
    pub unsafe fn mapped_mut(&mut self) -> &mut [u8] {
        unsafe { self.mapped_part_mut(0, self.size) }
    }

    /// The `size` bytes of [`mapped_mut`](Self::mapped_mut) from `offset` on, or an empty slice if the memory is not
    /// mapped or the buffer is too short.
    ///
    /// # Safety
    /// The requirements of [`mapped_mut`](Self::mapped_mut) apply to these bytes.
    pub(crate) unsafe fn mapped_part_mut(&mut self, offset: u64, size: u64) -> &mut [u8] {
        match self.pointer_to(offset, size) {
            // SAFETY: the allocator mapped these bytes, and `self` is borrowed exclusively.
            Some((start, size)) => unsafe { std::slice::from_raw_parts_mut(start, size) },
            None => &mut [],
        }
    }

    /// The contents of the buffer as dwords that may be written while the slice lives. The slice is empty if the memory
    /// is not mapped.
    ///
    /// # Safety
    /// The device is live, and no slice that [`mapped`](Self::mapped) or a similar function returned lives at the same
    /// time.
    pub(crate) unsafe fn mapped_dwords(&self) -> &[AtomicU32] {
        let dwords = self.size / DWORD;
        match self.pointer_to(0, dwords * DWORD) {
            Some((start, size)) if start.cast::<AtomicU32>().is_aligned() => {
                // SAFETY: the allocator mapped these bytes; atomics may be written while borrowed.
                unsafe { std::slice::from_raw_parts(start.cast(), size / size_of::<AtomicU32>()) }
            }
            _ => &[],
        }
    }

    /// The host address of a range of the buffer, and the size of the range. `None` if the memory is not mapped or the
    /// buffer does not contain the range.
    fn pointer_to(&self, offset: u64, size: u64) -> Option<(*mut u8, usize)> {
        let is_within = offset.checked_add(size).is_some_and(|end| end <= self.size);
        let start = self.allocation.mapped.filter(|_| is_within)?;
        let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
        // The whole range lies within the mapped bytes.
        Some((start.as_ptr().wrapping_add(offset), size))
    }

    /// Makes writes of the device visible to the host, which reads them with [`mapped`](Self::mapped). Does nothing for
    /// coherent memory.
    ///
    /// # Errors
    /// The error of a failed `vkInvalidateMappedMemoryRanges`.
    ///
    /// # Safety
    /// `ctx` is the context that the buffer was created with. The location of the buffer is not
    /// [`MemoryLocation::Device`].
    pub unsafe fn invalidate(&self, ctx: &Context) -> Result<(), RuntimeError> {
        if self.allocation.coherent {
            return Ok(());
        }
        // SAFETY: the range is mapped. Its offset and size are multiples of the atom, because the allocation was
        // requested with such an alignment and size.
        unsafe { ctx.device().invalidate_mapped_memory_ranges(&[self.mapped_range(ctx)]) }
            .map_err(RuntimeError::vulkan("vkInvalidateMappedMemoryRanges"))
    }

    /// Makes bytes that the host wrote with [`mapped_mut`](Self::mapped_mut) available to the device. Does nothing for
    /// coherent memory.
    ///
    /// # Errors
    /// The error of a failed `vkFlushMappedMemoryRanges`.
    ///
    /// # Safety
    /// The requirements of [`invalidate`](Self::invalidate) apply.
    pub unsafe fn flush(&self, ctx: &Context) -> Result<(), RuntimeError> {
        if self.allocation.coherent {
            return Ok(());
        }
        // SAFETY: the range is mapped, and its offset and size are multiples of the atom, as in `invalidate`.
        unsafe { ctx.device().flush_mapped_memory_ranges(&[self.mapped_range(ctx)]) }
            .map_err(RuntimeError::vulkan("vkFlushMappedMemoryRanges"))
    }

    /// The memory range of the buffer, with the size rounded up to a multiple of `nonCoherentAtomSize`.
    fn mapped_range(&self, ctx: &Context) -> vk::MappedMemoryRange<'static> {
        let atom = ctx.capabilities().limits.non_coherent_atom.max(1);
        vk::MappedMemoryRange::default()
            .memory(self.allocation.memory)
            .offset(self.allocation.offset)
            .size(self.size.next_multiple_of(atom))
    }
}

impl<A: MemoryAllocator + ?Sized> DestroyObject<A> for Buffer {
    unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
        unsafe {
            ctx.device().destroy_buffer(self.raw, None);
            allocator.free(self.allocation);
        }
    }
}
