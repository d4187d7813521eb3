//! Commands of extensions, loaded for a device.

use std::ffi::CStr;

use ash::{ext, khr, vk};

use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::AddressSource;
use crate::runtime::device::parameters::{ByteCountDraw, CounterBuffer};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

/// `vkGetBufferDeviceAddress`, or `vkGetBufferDeviceAddressKHR` if the feature comes from the extension.
#[derive(Clone)]
pub(crate) struct AddressFn {
    device: vk::Device,
    function: vk::PFN_vkGetBufferDeviceAddress,
}

impl AddressFn {
    pub(crate) fn load(
        instance: &ash::Instance,
        device: &ash::Device,
        source: AddressSource,
    ) -> Result<Self, RuntimeError> {
        let function = match source {
            AddressSource::Core => {
                let (name, needs) = (c"vkGetBufferDeviceAddress", "bufferDeviceAddress");
                check_loaded(instance, device, name, needs)?;
                device.fp_v1_2().get_buffer_device_address
            }
            AddressSource::Extension => {
                let (name, needs) =
                    (c"vkGetBufferDeviceAddressKHR", "VK_KHR_buffer_device_address");
                check_loaded(instance, device, name, needs)?;
                let khr = khr::buffer_device_address::Device::new(instance, device);
                khr.fp().get_buffer_device_address_khr
            }
        };
        Ok(Self { device: device.handle(), function })
    }

    /// # Safety
    /// `buffer` is a live buffer of the device with the usage `SHADER_DEVICE_ADDRESS`, bound to
    /// memory that was allocated with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
    pub(crate) unsafe fn get(&self, buffer: vk::Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        unsafe { (self.function)(self.device, &info) }
    }
}

/// The commands of `VK_EXT_transform_feedback`. ash has only function pointers for them, no methods.
#[derive(Clone)]
pub(crate) struct TransformFeedbackFn(ext::transform_feedback::Device);

impl TransformFeedbackFn {
    pub(crate) fn load(
        instance: &ash::Instance,
        device: &ash::Device,
    ) -> Result<Self, RuntimeError> {
        check_loaded(
            instance,
            device,
            c"vkCmdBeginTransformFeedbackEXT",
            "VK_EXT_transform_feedback",
        )?;
        Ok(Self(ext::transform_feedback::Device::new(instance, device)))
    }

    /// Records
    /// [`vkCmdBindTransformFeedbackBuffersEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindTransformFeedbackBuffersEXT.html)
    /// for one buffer.
    ///
    /// # Safety
    /// The valid usage of the command.
    pub(crate) unsafe fn bind(
        &self,
        cmd: vk::CommandBuffer,
        index: u32,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) {
        // SAFETY: the caller's contract; the pointers are to single live values.
        unsafe {
            (self.0.fp().cmd_bind_transform_feedback_buffers_ext)(
                cmd, index, 1, &buffer, &offset, &size,
            );
        }
    }

    /// Records
    /// [`vkCmdBeginTransformFeedbackEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginTransformFeedbackEXT.html).
    ///
    /// # Safety
    /// The valid usage of the command.
    pub(crate) unsafe fn begin(&self, cmd: vk::CommandBuffer, counters: &[Option<CounterBuffer>]) {
        let (count, buffers, offsets) = handles(counters);
        // SAFETY: the caller's contract; both arrays have at least `count` elements.
        unsafe {
            (self.0.fp().cmd_begin_transform_feedback_ext)(
                cmd,
                0,
                count,
                buffers.as_ptr(),
                offsets.as_ptr(),
            );
        }
    }

    /// Records
    /// [`vkCmdEndTransformFeedbackEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdEndTransformFeedbackEXT.html).
    ///
    /// # Safety
    /// The valid usage of the command.
    pub(crate) unsafe fn end(&self, cmd: vk::CommandBuffer, counters: &[Option<CounterBuffer>]) {
        let (count, buffers, offsets) = handles(counters);
        // SAFETY: the caller's contract; both arrays have at least `count` elements.
        unsafe {
            (self.0.fp().cmd_end_transform_feedback_ext)(
                cmd,
                0,
                count,
                buffers.as_ptr(),
                offsets.as_ptr(),
            );
        }
    }

    /// Records
    /// [`vkCmdDrawIndirectByteCountEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html).
    ///
    /// # Safety
    /// The valid usage of the command.
    pub(crate) unsafe fn draw_byte_count(&self, cmd: vk::CommandBuffer, draw: &ByteCountDraw) {
        unsafe {
            (self.0.fp().cmd_draw_indirect_byte_count_ext)(
                cmd,
                draw.instance_count,
                draw.first_instance,
                draw.counter.buffer,
                draw.counter.offset,
                draw.counter_offset,
                draw.vertex_stride,
            );
        }
    }
}

/// Converts counters to the arguments of Vulkan's commands: the number of counters up to the last `Some`, and their
/// buffers and offsets. The buffer of a `None` is null.
fn handles(
    counters: &[Option<CounterBuffer>],
) -> (u32, [vk::Buffer; MAX_XFB_BUFFERS], [vk::DeviceSize; MAX_XFB_BUFFERS]) {
    let mut buffers = [vk::Buffer::null(); MAX_XFB_BUFFERS];
    let mut offsets = [0; MAX_XFB_BUFFERS];
    let mut count = 0;
    for (number, counter) in counters.iter().enumerate().take(MAX_XFB_BUFFERS) {
        if let Some(CounterBuffer { buffer, offset }) = *counter {
            (buffers[number], offsets[number]) = (buffer, offset);
            count = number as u32 + 1;
        }
    }
    (count, buffers, offsets)
}

/// `vkCmdDrawIndirectCount` and `vkCmdDrawIndexedIndirectCount`, with or without the suffix `KHR`.
#[derive(Clone, Copy)]
pub(crate) struct DrawIndirectCountFn {
    pub(crate) direct: vk::PFN_vkCmdDrawIndirectCount,
    pub(crate) indexed: vk::PFN_vkCmdDrawIndexedIndirectCount,
}

impl DrawIndirectCountFn {
    /// Loads the commands. The device must have been created with `VK_KHR_draw_indirect_count`, or with the feature
    /// `drawIndirectCount` of Vulkan 1.2.
    ///
    /// # Errors
    /// [`RuntimeError::MissingFunction`] if neither form of the commands can be loaded.
    pub(crate) fn load(
        instance: &ash::Instance,
        device: &ash::Device,
    ) -> Result<Self, RuntimeError> {
        let check = |name| {
            check_loaded(instance, device, name, "VK_KHR_draw_indirect_count or drawIndirectCount")
        };
        // The KHR command is tried first: it can be loaded only if the extension is enabled. The core command of Vulkan
        // 1.2 can be loaded even if the feature `drawIndirectCount` is not enabled.
        if check(c"vkCmdDrawIndirectCountKHR").is_ok() {
            let extension = khr::draw_indirect_count::Device::new(instance, device);
            return Ok(Self {
                direct: extension.fp().cmd_draw_indirect_count_khr,
                indexed: extension.fp().cmd_draw_indexed_indirect_count_khr,
            });
        }
        check(c"vkCmdDrawIndirectCount")?;
        let core = device.fp_v1_2();
        Ok(Self {
            direct: core.cmd_draw_indirect_count,
            indexed: core.cmd_draw_indexed_indirect_count,
        })
    }
}

/// Returns an error if a command cannot be loaded, because ash would replace it by a function that panics. `needs`
/// names what provides the command.
fn check_loaded(
    instance: &ash::Instance,
    device: &ash::Device,
    function: &'static CStr,
    needs: &'static str,
) -> Result<(), RuntimeError> {
    // SAFETY: both handles are live, the name is a C string.
    match unsafe { instance.get_device_proc_addr(device.handle(), function.as_ptr()) } {
        Some(_) => Ok(()),
        None => Err(RuntimeError::MissingFunction {
            function: function.to_str().unwrap_or_default(),
            needs,
        }),
    }
}
