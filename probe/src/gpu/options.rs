//! Which device, and how much of it.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ash::vk;
use vkxfb::runtime::Capabilities;

use super::GpuError;

/// How much of a device is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Everything that the device has of what the backends need or profit from, on the newest Vulkan
    /// that both sides know.
    #[default]
    Full,
    /// A Vulkan 1.0 device with nothing enabled but what the compute backend needs, whatever the
    /// device could do: [`Capabilities::restrict_to_floor`].
    Bifrost,
}

/// How captures by compute reach memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Resources {
    /// By device address where the device has them, by descriptors otherwise.
    #[default]
    Best,
    /// By descriptors, as if there were no device addresses. The vertex backend is not available then.
    Descriptors,
}

/// Through what the host uploads, and reads back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HostMemory {
    /// Uploads through coherent memory; what is read back through memory that the host reads fast, coherent or not.
    #[default]
    Best,
    /// As if no memory of the device were coherent, whatever it is: what the host does not flush the device does not
    /// see, and what it does not invalidate it does not see itself.
    NonCoherent,
}

/// Which device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeviceSelector {
    /// By its place in the loader's order.
    Index(usize),
    /// The first whose name contains this, in whatever case.
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
    /// Which; the loader's first by default.
    pub device: Option<DeviceSelector>,
    /// A driver's library, which is loaded in place of the Vulkan loader. There are no layers then.
    pub driver: Option<PathBuf>,
    /// How much of it.
    pub profile: Profile,
    /// How captures by compute reach memory.
    pub resources: Resources,
    /// Through what the host uploads, and reads back.
    pub host_memory: HostMemory,
    /// Storage buffers that captures by descriptors take at most, as if the device had no more;
    /// [`RequiredFeatures::storage_buffers`](vkxfb::runtime::RequiredFeatures::storage_buffers).
    pub storage_buffers: Option<u32>,
    /// Invocations of a workgroup at most, as if the device took no more:
    /// [`Limits::workgroup_invocations`](vkxfb::runtime::Limits::workgroup_invocations).
    pub workgroup_invocations: Option<u32>,
    /// Workgroups of a draw that shares a dispatch at most:
    /// [`Context::set_max_shared_workgroups`](vkxfb::internal::overrides::set_max_shared_workgroups).
    pub max_shared_workgroups: Option<u32>,
    /// Whether shaders go to the driver as they were lowered:
    /// [`Context::set_optimizes_shaders`](vkxfb::runtime::Context::set_optimizes_shaders).
    pub unoptimized: bool,
    /// Bytes of shared memory in which captures by compute collect records, in place of
    /// [what pays](vkxfb::runtime::Capabilities::staging) on the device.
    pub staging: Option<u32>,
    /// Whether the validation layer looks on, with synchronization validation.
    pub validation: bool,
    /// Whether `robustBufferAccess` is enabled, and of `VK_EXT_robustness2` what the device has, on the
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
    /// Place in the loader's order.
    pub index: usize,
    /// What it can do, by the profile.
    pub capabilities: Capabilities,
    /// `VkPhysicalDeviceDriverProperties::conformanceVersion`, dotted, if the driver states one.
    pub conformance_version: Option<String>,
    /// Layers and tools between the program and the driver that say so, by `VK_EXT_tooling_info`.
    pub tools: Vec<Tool>,
}

/// A [`VkPhysicalDeviceToolProperties`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceToolProperties.html).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it says of itself and of the device.
    pub description: String,
    /// The layer that it is, or nothing.
    pub layer: String,
}

/// The device that answers the selector; the first without one.
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
