//! What captures by compute take of a device: found out for a physical device, made ready on a device.

use std::ffi::CStr;

use ash::vk;
use vkxfb::capture::{MAX_XFB_BUFFERS, MAX_XFB_STRIDE};
use vkxfb::draw::MAX_BUFFER_SIZE;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Capabilities, Context, Effect, RequiredFeatures, Unavailable, required_features,
};

use crate::error::Error;
use crate::instance::InstanceData;

/// The commands of `VK_EXT_transform_feedback`, in order. Programs find them where they enabled it.
pub(crate) const COMMANDS: [&CStr; 6] = [
    c"vkCmdBeginQueryIndexedEXT",
    c"vkCmdBeginTransformFeedbackEXT",
    c"vkCmdBindTransformFeedbackBuffersEXT",
    c"vkCmdDrawIndirectByteCountEXT",
    c"vkCmdEndQueryIndexedEXT",
    c"vkCmdEndTransformFeedbackEXT",
];

/// The function behind one of [`COMMANDS`] on a device whose transform feedback is emulated. There is none yet.
pub(crate) fn hook(_name: &CStr) -> vk::PFN_vkVoidFunction {
    None
}

/// By what captures work on a physical device.
#[derive(Debug)]
pub(crate) struct Means {
    /// What it can do.
    pub(crate) capabilities: Capabilities,
    /// What its devices are created with.
    pub(crate) required: RequiredFeatures,
}

impl Means {
    /// # Errors
    /// What is missing.
    pub(crate) fn new(capabilities: Capabilities) -> Result<Self, Unavailable> {
        let required = required_features(&capabilities, &[Backend::Compute])?;
        Ok(Self { capabilities, required })
    }

    /// What programs are told of transform feedback, all of it:
    /// [`VkPhysicalDeviceTransformFeedbackPropertiesEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceTransformFeedbackPropertiesEXT.html),
    /// whose least values are among the
    /// [required limits](https://docs.vulkan.org/spec/latest/chapters/limits.html#limits-required).
    pub(crate) fn properties(&self) -> vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'static> {
        let identity = self.capabilities.identity();
        let mut workarounds = identity.workarounds();
        vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default()
            // Others than stream 0 are written by geometry shaders, which are not captured.
            .max_transform_feedback_streams(1)
            .transform_feedback_streams_lines_triangles(false)
            .transform_feedback_rasterization_stream_select(false)
            .max_transform_feedback_buffers(MAX_XFB_BUFFERS as u32)
            .max_transform_feedback_buffer_size(self.max_capture_buffer())
            // A record may be as long as what is reserved for it, in each of the buffers.
            .max_transform_feedback_stream_data_size(MAX_XFB_STRIDE)
            .max_transform_feedback_buffer_data_size(MAX_XFB_STRIDE)
            .max_transform_feedback_buffer_data_stride(MAX_XFB_STRIDE)
            .transform_feedback_queries(true)
            // The byte count becomes the arguments of an indirect draw.
            .transform_feedback_draw(!workarounds.any(|w| w.effect == Effect::NoIndirectDraws))
    }

    /// As [`Context::max_capture_buffer`] says of devices: a storage buffer's range where there are no addresses.
    fn max_capture_buffer(&self) -> u64 {
        match self.required.uses_descriptors() {
            true => self.capabilities.limits.max_storage_buffer_range.min(MAX_BUFFER_SIZE),
            false => MAX_BUFFER_SIZE,
        }
    }
}

/// What a device has whose transform feedback is emulated.
pub(crate) struct Emulation {
    /// What captures are made with: by [`Context::capabilities`] what the device can do, with the version of Vulkan in
    /// effect, by [`Context::enabled`] what it was created with beside what the program wants, and by
    /// [`Context::resource_plan`] how captures reach memory.
    pub(crate) context: Context,
}

impl Emulation {
    /// # Errors
    /// A command is missing that comes with what the device was created with.
    ///
    /// # Safety
    /// The device was created with what the means require by the next in the chain, whose function it is, and outlives
    /// the emulation.
    pub(crate) unsafe fn load(
        instance: &InstanceData,
        device: vk::Device,
        get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
        means: &Means,
    ) -> Result<Self, Error> {
        let next = &instance.next;
        // Commands of the device come from the link of its own chain.
        let functions = ash::InstanceFnV1_0 { get_device_proc_addr, ..next.fp_v1_0().clone() };
        let next = ash::Instance::from_parts_1_3(
            next.handle(),
            functions,
            next.fp_v1_1().clone(),
            next.fp_v1_3().clone(),
        );
        // SAFETY: the caller's contract.
        let context = unsafe {
            let device = ash::Device::load(next.fp_v1_0(), device);
            Context::new(&next, &device, means.capabilities.clone(), means.required.clone())
        };
        Ok(Self { context: context.map_err(|error| Error::Runtime(error.to_string()))? })
    }
}

#[cfg(test)]
pub(crate) mod tests;
