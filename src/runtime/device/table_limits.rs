//! [`TableLimits`]: how many storage buffers the descriptor sets of the descriptor plan have on a device.

use vkxfb_rewriter::lower::ResourcePlan;

/// The smallest number of storage buffers with which captures work: both parts of the arena, one capture buffer, and
/// one buffer that shaders read.
pub(crate) const MIN_STORAGE_BUFFERS: u32 = 4;

/// The minimum alignment of windows, even if the device allows a smaller one. It is the size of the largest access, so
/// that an offset in a window has the same alignment as the offset in the buffer.
const MIN_ALIGNMENT: u64 = MAX_ACCESS;

/// The size in bytes of the largest access of a shader.
pub(crate) const MAX_ACCESS: u64 = 16;

/// The numbers of descriptors in a set, and the limits of the device for the range of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableLimits {
    /// The number of array elements of binding 0.
    pub(crate) reads: u32,
    /// The number of array elements of binding 1.
    pub(crate) writes: u32,
    /// `maxStorageBufferRange` in bytes.
    pub(crate) max_range: u64,
    /// `minStorageBufferOffsetAlignment` in bytes, but at least [`MIN_ALIGNMENT`].
    pub(crate) alignment: u64,
}

impl TableLimits {
    /// The limits for `storage_buffers` storage buffers in all, a quarter of which are in binding 1.
    pub(crate) fn new(storage_buffers: u32, max_range: u64, alignment: u64) -> Self {
        let all = storage_buffers.clamp(MIN_STORAGE_BUFFERS, ResourcePlan::MAX_STORAGE_BUFFERS);
        let writes = all / 4;
        Self { reads: all - writes, writes, max_range, alignment: alignment.max(MIN_ALIGNMENT) }
    }

    /// The resource plan for which shaders have to be lowered.
    pub(crate) const fn plan(&self) -> ResourcePlan {
        ResourcePlan::Descriptors { reads: self.reads, writes: self.writes }
    }
}
