//! Queries the abilities of the device's own vertex input: supported formats, and robust access to vertex
//! buffers that are null or too short.

use ash::{ext, vk};
use vkxfb_rewriter::vertex_input::VertexFormat;

use super::instance::Instance;
use super::{DeviceInfo, Gpu, OpenOptions, Profile};

/// The features of
/// [`VK_EXT_robustness2`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_robustness2.html)
/// that are enabled on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Robustness {
    /// Whether `robustBufferAccess2` is enabled.
    pub buffer_access2: bool,
    /// Whether `nullDescriptor` is enabled.
    pub null_descriptor: bool,
}

impl Robustness {
    /// Returns the features that the device has. Returns none if the options do not ask for robustness, if the profile
    /// is not [`Full`](Profile::Full), or if the device has only Vulkan 1.0.
    ///
    /// # Safety
    /// The device is of the instance.
    pub(super) unsafe fn query(
        instance: &Instance,
        device: vk::PhysicalDevice,
        info: &DeviceInfo,
        options: &OpenOptions,
    ) -> Self {
        let caps = &info.capabilities;
        let is_there = caps.api_version >= vk::API_VERSION_1_1
            && caps.extensions.contains(ext::robustness2::NAME);
        if !is_there || !options.robustness || options.profile != Profile::Full {
            return Self::default();
        }
        let mut found = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut found);
        // SAFETY: the caller's contract; the device supports the extension.
        unsafe { instance.raw.get_physical_device_features2(device, &mut features) };
        Self {
            buffer_access2: found.robust_buffer_access2 == vk::TRUE,
            null_descriptor: found.null_descriptor == vk::TRUE,
        }
    }

    /// Whether any feature is enabled, so that the extension has to be enabled, too.
    pub(super) const fn is_any(self) -> bool {
        self.buffer_access2 || self.null_descriptor
    }

    /// Returns the structure for the `pNext` chain of the device's create info.
    pub(super) fn features(self) -> vk::PhysicalDeviceRobustness2FeaturesEXT<'static> {
        vk::PhysicalDeviceRobustness2FeaturesEXT::default()
            .robust_buffer_access2(self.buffer_access2)
            .null_descriptor(self.null_descriptor)
    }
}

impl Gpu {
    /// The features of `VK_EXT_robustness2` that are enabled; see
    /// [`OpenOptions::robustness`](super::OpenOptions::robustness).
    pub const fn robustness(&self) -> Robustness {
        self.robustness
    }

    /// Whether graphics pipelines can read the format from vertex buffers:
    /// `VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT`.
    pub fn has_vertex_format(&self, format: VertexFormat) -> bool {
        let (instance, format) = (&self.instance.raw, vk::Format::from(format));
        // SAFETY: the physical device belongs to the instance.
        let properties =
            unsafe { instance.get_physical_device_format_properties(self.physical_device, format) };
        properties.buffer_features.contains(vk::FormatFeatureFlags::VERTEX_BUFFER)
    }
}
