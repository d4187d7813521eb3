//! The options for opening a device: which device to open, and which of its features to use.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ash::vk;
use clap::ValueEnum;
use vkxfb::runtime::Capabilities;

use super::GpuError;

/// Selects the features of a device that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ValueEnum)]
pub enum Profile {
    /// All features that the backends can use
    ///
    /// With the highest Vulkan version that both the device and this crate support.
    #[default]
    Full,
    /// The features of a Bifrost Mali: Vulkan 1.0 with buffer device addresses, but without
    /// geometry shaders, stores in the vertex stage, and indirect commands
    ///
    /// [`Profile::Bifrost`](vkxfb::runtime::Profile::Bifrost), whatever else the device supports.
    Bifrost,
}

/// The way in which the compute backend accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ValueEnum)]
pub enum Resources {
    /// By device addresses if the device supports them, otherwise by descriptors
    #[default]
    Best,
    /// By storage buffer descriptors
    ///
    /// As if the device did not support device addresses. Then the vertex backend is not available.
    Descriptors,
}

/// The kind of memory with which the host writes to the device and reads from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HostMemory {
    /// Coherent memory for writing. For reading, memory that is fast to read, coherent or not.
    #[default]
    Best,
    /// Memory that behaves as if it were not coherent: without a flush the device does not see what
    /// the host wrote, and without an invalidation the host does not see what the device wrote.
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

/// The options for opening a device.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The device. `None` for the first one in the loader's order.
    pub device: Option<DeviceSelector>,
    /// The library of a driver, or its manifest (a file `.json`), to load directly, instead of the Vulkan loader. Then
    /// there are no layers. `None` for the loader.
    pub driver: Option<PathBuf>,
    /// Selects the features of the device that are used.
    pub profile: Profile,
    /// The way in which the compute backend accesses memory.
    pub resources: Resources,
    /// The kind of memory with which the host writes to the device and reads from it.
    pub host_memory: HostMemory,
    /// The maximum number of storage buffers that captures by descriptors may use, as if it were
    /// the limit of the device:
    /// [`RequiredFeatures::storage_buffers`](vkxfb::runtime::RequiredFeatures::storage_buffers).
    /// `None` for the device's own limit.
    pub storage_buffers: Option<u32>,
    /// The maximum number of invocations of a workgroup, as if it were the limit of the device:
    /// [`Limits::workgroup_invocations`](vkxfb::runtime::Limits::workgroup_invocations). `None` for
    /// the device's own limit.
    pub workgroup_invocations: Option<u32>,
    /// The maximum number of workgroups of a draw that shares a dispatch with other draws:
    /// [`Settings::max_shared_workgroups`](vkxfb::runtime::Settings::max_shared_workgroups).
    /// `None` for the default.
    pub max_shared_workgroups: Option<u32>,
    /// Whether kernels process draws with whole workgroups, as on GPUs, on processors, too:
    /// [`Settings::serial_kernels`](vkxfb::runtime::Settings::serial_kernels).
    pub parallel_kernels: bool,
    /// The number of rounds of loops after which the kernels of processors end a turn:
    /// [`Settings::kernel_rounds`](vkxfb::runtime::Settings::kernel_rounds). `None` for the default.
    pub kernel_rounds: Option<u64>,
    /// Whether lowered shaders are passed to the driver without optimization:
    /// [`Settings::optimizes_shaders`](vkxfb::runtime::Settings::optimizes_shaders).
    pub unoptimized: bool,
    /// The size in bytes of shared memory for the [staging](vkxfb::runtime::Capabilities::staging)
    /// of the compute backend. `None` for the best size for the device.
    pub staging: Option<u32>,
    /// Whether to enable the validation layer, with synchronization validation.
    pub validation: bool,
    /// Whether to enable `robustBufferAccess`, and the features of `VK_EXT_robustness2` that the
    /// device has. It has an effect only on the profile [`Full`](Profile::Full): see
    /// [`Gpu::robustness`](super::Gpu::robustness).
    pub robustness: bool,
    /// Whether to enable `shaderTessellationAndGeometryPointSize`, if the device has that feature and the profile is
    /// [`Full`](Profile::Full). Set it only for geometry and tessellation shaders that write `PointSize`: with the
    /// feature, such a shader is invalid if it makes points and does not write a `PointSize`
    /// ([VUID-VkGraphicsPipelineCreateInfo-Geometry-07725](https://docs.vulkan.org/refpages/latest/refpages/source/VkGraphicsPipelineCreateInfo.html)).
    pub later_point_size: bool,
}

/// A physical device, with its capabilities and tools.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    /// The index in the loader's order.
    pub index: usize,
    /// The capabilities of the device, restricted to the profile.
    pub capabilities: Capabilities,
    /// `VkPhysicalDeviceDriverProperties::conformanceVersion` as `MAJOR.MINOR.SUBMINOR.PATCH`.
    /// `None` if the driver does not report it.
    pub conformance_version: Option<String>,
    /// The layers and tools between the program and the driver that `VK_EXT_tooling_info` reports.
    pub tools: Vec<Tool>,
}

/// The contents of a
/// [`VkPhysicalDeviceToolProperties`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceToolProperties.html).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tool {
    /// The name of the tool.
    pub name: String,
    /// The tool's description of itself.
    pub description: String,
    /// The name of the tool's layer. Empty if it is not in a layer.
    pub layer: String,
}

/// Returns the device that matches the selector, or the first device if there is no selector.
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
