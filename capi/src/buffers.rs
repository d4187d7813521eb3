//! Ranges of buffers, and counters in buffers.

use std::fmt;

use ash::vk;
use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::runtime::{CaptureBuffer, CounterBuffer};

use crate::context::Shared;
use crate::error::Error;

/// The size of a counter in bytes.
const COUNTER: u64 = 4;

/// The maximum number of capture buffers of a shader.
pub const VKXFB_MAX_BUFFERS: usize = 4;

const _: () = assert!(VKXFB_MAX_BUFFERS == MAX_XFB_BUFFERS);

/// A range of a buffer.
///
/// A range that ends past the end of its buffer is an error, and so is a counter or a draw command
/// there. The end is compared with the size of the buffer's memory
/// (`vkGetBufferMemoryRequirements`), which can be a little larger than the buffer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbBufferRange {
    /// The buffer, with the usage that `vkxfb_context_buffer_usage` returns.
    pub buffer: vk::Buffer,
    /// Offset in bytes from the start of the buffer.
    pub offset: vk::DeviceSize,
    /// Size in bytes. It must not be `VK_WHOLE_SIZE`.
    pub size: vk::DeviceSize,
}

/// The place of a counter: four bytes that say how many bytes of a capture buffer's range have been
/// written.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkxfbCounterBuffer {
    /// The buffer, with the usage that `vkxfb_context_buffer_usage` returns, or `VK_NULL_HANDLE`
    /// for no counter.
    pub buffer: vk::Buffer,
    /// Offset in bytes from the start of the buffer, a multiple of 4.
    pub offset: vk::DeviceSize,
}

impl VkxfbBufferRange {
    pub(crate) fn capture_buffer(&self) -> Option<CaptureBuffer> {
        let Self { buffer, offset, size } = *self;
        (buffer != vk::Buffer::null()).then_some(CaptureBuffer { buffer, offset, size })
    }
}

impl VkxfbCounterBuffer {
    /// Checks that the buffer has the counter, which `what` names.
    ///
    /// # Safety
    /// The buffer is null, or a live one of the device.
    pub(crate) unsafe fn check(
        &self,
        shared: &Shared,
        what: fmt::Arguments<'_>,
    ) -> Result<(), Error> {
        unsafe { shared.check_range(what, self.buffer, self.offset, COUNTER) }
    }

    /// Converts a counter. It is an error if the buffer is null.
    pub(crate) fn counter(self) -> Result<CounterBuffer, Error> {
        let Self { buffer, offset } = self;
        if buffer == vk::Buffer::null() {
            Err(Error::Null("counterBuffer"))
        } else {
            Ok(CounterBuffer { buffer, offset })
        }
    }
}
