//! Options for opening a device: which one, and which of its features.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ash::vk;
use vkxfb::runtime::Capabilities;

use super::GpuError;

/// Which features of a device are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// All features that the backends need or can use, with the highest Vulkan version that both the device and this
    /// crate support.
    #[default]
    Full,
    /// Only what the compute backend needs, on Vulkan 1.0, whatever the device supports: [`Capabilities::restrict_to_floor`].
    Bifrost,
}

/// How captures by compute access memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Resources {
    /// By device addresses if the device supports them, otherwise by descriptors.
    #[default]
    Best,
    /// By descriptors, as if the device had no device addresses. Then there is no vertex backend.
    Descriptors,
}

/// Which memory the host uses for uploads and for reading back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HostMemory {
    /// Coherent memory for uploads. For reading back, memory that is fast to read, coherent or not.
    #[default]
    Best,
    /// Behave as if no memory of the device were coherent: without a flush the device does not see what the host wrote, and
    /// without an invalidation the host does not see what the device wrote.
    NonCoherent,
}

/// Selects a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeviceSelector {
    /// The device with this index in the loader's order.
    Index(usize),
    /// The first device whose name contains this text, ignoring case.
    Name(String),
}

impl fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl FromStr for DeviceSelector {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Index))
    }
}

/// How to open a device.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Which device; the loader's first by default.
    pub device: Option<DeviceSelector>,
    /// The library of a driver to load instead of the Vulkan loader. Then there are no layers.
    pub driver: Option<PathBuf>,
    /// Which features of it are used.
    pub profile: Profile,
    /// How captures by compute access memory.
    pub resources: Resources,
    /// Which memory the host uses for uploads and for reading back.
    pub host_memory: HostMemory,
    /// The maximum number of storage buffers for captures by descriptors, as if it were the limit of the device;
    /// [`RequiredFeatures::storage_buffers`](vkxfb::runtime::RequiredFeatures::storage_buffers).
    pub storage_buffers: Option<u32>,
    /// The maximum number of invocations of a workgroup, as if it were the limit of the device:
    /// [`Limits::workgroup_invocations`](vkxfb::runtime::Limits::workgroup_invocations).
    pub workgroup_invocations: Option<u32>,
    /// The maximum number of workgroups of a draw that shares a dispatch with other draws:
    /// [`Context::set_max_shared_workgroups`](vkxfb::internal::overrides::set_max_shared_workgroups).
    pub max_shared_workgroups: Option<u32>,
    /// Whether lowered shaders are passed to the driver without optimization:
    /// [`Context::set_optimizes_shaders`](vkxfb::runtime::Context::set_optimizes_shaders).
    pub unoptimized: bool,
    /// The size in bytes of shared memory for the [staging](vkxfb::runtime::Capabilities::staging) of captures by compute,
    /// instead of the best size for the device.
    pub staging: Option<u32>,
    /// Whether to enable the validation layer, with synchronization validation.
    pub validation: bool,
    /// Whether to enable `robustBufferAccess`, and the features of `VK_EXT_robustness2` that the device has. Only on the
    /// profile [`Full`](Profile::Full): [`Gpu::robustness`](super::Gpu::robustness).
    pub robustness: bool,
    /// Whether `shaderTessellationAndGeometryPointSize` is enabled where the device has it, on the profile
    /// [`Full`](Profile::Full). It must not be for a geometry shader that emits points without a `PointSize`
    /// ([VUID-VkGraphicsPipelineCreateInfo-Geometry-07725](https://docs.vulkan.org/refpages/latest/refpages/source/VkGraphicsPipelineCreateInfo.html)),
    /// so only those ask for it that have a shader which writes one.
    pub geometry_point_size: bool,
}

/// A physical device.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    /// The index in the loader's order.
    pub index: usize,
    /// Its capabilities, restricted to the profile.
    pub capabilities: Capabilities,
    /// `VkPhysicalDeviceDriverProperties::conformanceVersion`, dotted, if the driver states one.
    pub conformance_version: Option<String>,
    /// Layers and tools between the program and the driver, as far as `VK_EXT_tooling_info` reports them.
    pub tools: Vec<Tool>,
}

/// A [`VkPhysicalDeviceToolProperties`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceToolProperties.html).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its description of itself.
    pub description: String,
    /// The name of its layer, or empty.
    pub layer: String,
}

/// The device that matches the selector; without a selector the first device.
pub(super) fn select(
    devices: Vec<(vk::PhysicalDevice, DeviceInfo)>,
    selector: Option<&DeviceSelector>,
) -> Result<(vk::PhysicalDevice, DeviceInfo), GpuError> {
    let names: Vec<String> = devices
        .iter()
        .map(|(_, d)| format!("{}: {}", d.index, d.capabilities.device_name))
        .collect();
    let index = match selector {
        None => Some(0),
        Some(DeviceSelector::Index(index)) => Some(*index),
        Some(DeviceSelector::Name(name)) => {
            let name = name.to_lowercase();
            devices
                .iter()
                .position(|(_, d)| d.capabilities.device_name.to_lowercase().contains(&name))
        }
    };
    index.and_then(|index| devices.into_iter().nth(index)).ok_or_else(|| GpuError::UnknownDevice {
        selector: selector.cloned().unwrap_or(DeviceSelector::Index(0)),
        available: names,
    })
}
