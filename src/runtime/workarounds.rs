//! What is done differently on some devices, and why. No other code depends on the vendor or the
//! driver.
//!
//! The runtime relies on the features and properties that a device reports. Workarounds are for
//! what a device does not report: a command that does not work, or a default that is slow. Each
//! entry says which devices it applies to, where the problem is documented, and when the entry can
//! be removed. `vkxfb info` lists the workarounds that apply to a device.

#![forbid(unsafe_code)]

use ash::vk;
use ash::vk::DriverId;

/// The identity of a device and its driver, from `VkPhysicalDeviceProperties` and
/// `VkPhysicalDeviceDriverProperties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// `driverID`; 0 if the device does not report it.
    pub driver_id: DriverId,
    /// `driverVersion`, in the vendor's own encoding.
    pub driver_version: u32,
    /// `vendorID`.
    pub vendor_id: u32,
    /// `deviceID`.
    pub device_id: u32,
    /// `deviceType`.
    pub device_type: vk::PhysicalDeviceType,
}

/// `vendorID` of Arm.
const ARM: u32 = 0x13b5;

impl DeviceIdentity {
    /// Whether the device is a Mali, with any driver. Old versions of panvk report vendor 0.
    fn is_mali(&self) -> bool {
        self.vendor_id == ARM || self.driver_id == DriverId::MESA_PANVK
    }

    /// The major version of a Mali's architecture: 6 and 7 are Bifrost, 9 to 11 Valhall. Arm's
    /// driver and panvk report it in the upper four bits of `deviceID`. Old versions of panvk
    /// report 0; they support no architecture after 7.
    const fn mali_architecture(&self) -> u32 {
        self.device_id >> 28
    }

    fn is_mesa_before(&self, major: u32, minor: u32) -> bool {
        // A development version counts as the last version of the release before.
        self.driver_version < vk::make_api_version(0, major, minor, 0)
    }
}

/// What a workaround changes. Each is a default that an application may override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Captures whose size only the GPU knows are dispatched directly, with the largest number of
    /// invocations possible:
    /// [`Context::set_indirect_dispatch`](super::Context::set_indirect_dispatch).
    DirectDispatch,
    /// Captured vertices are not drawn by indirect draws:
    /// [`Context::set_indirect_draws`](super::Context::set_indirect_draws).
    NoIndirectDraws,
    /// Shaders with side effects are captured by compute rather than by the vertex backend:
    /// [`RequiredFeatures::choose`](super::RequiredFeatures::choose).
    SpeculativeVertices,
    /// Captures do not test at run time whether accesses are aligned to their size:
    /// [`Capabilities::wide_accesses`](super::Capabilities::wide_accesses).
    NarrowAccesses,
    /// Captures access pairs of dwords as 64-bit integers, where `shaderInt64` is enabled:
    /// [`Capabilities::int64_accesses`](super::Capabilities::int64_accesses).
    Int64Accesses,
    /// The invocations of a workgroup load the parameters of their draw together:
    /// [`Capabilities::shared_draws`](super::Capabilities::shared_draws).
    SharedDraws,
    /// Workgroups do not collect records in shared memory:
    /// [`Capabilities::staging`](super::Capabilities::staging).
    NoStaging,
    /// Captures of draws with primitive restart have workgroups of 128 invocations:
    /// [`Capabilities::workgroup_sizes`](super::Capabilities::workgroup_sizes).
    LargeRestartedWorkgroups,
    /// Captures of several small draws in one dispatch have workgroups of 32 invocations:
    /// [`Capabilities::workgroup_sizes`](super::Capabilities::workgroup_sizes).
    SmallBatchedWorkgroups,
}

impl Effect {
    /// A description for users.
    pub const fn description(self) -> &'static str {
        match self {
            Self::DirectDispatch => "captures are dispatched directly",
            Self::NoIndirectDraws => "commands for indirect draws are refused",
            Self::SpeculativeVertices => {
                "shaders with side effects are not captured by vertex shaders if compute can do it"
            }
            Self::NarrowAccesses => "accesses are not tested for their alignment",
            Self::Int64Accesses => "pairs of dwords are accessed as 64-bit integers",
            Self::SharedDraws => "a workgroup loads the parameters of its draw together",
            Self::NoStaging => "records are not collected in shared memory",
            Self::SmallBatchedWorkgroups => {
                "workgroups of 32 invocations capture several small draws"
            }
            Self::LargeRestartedWorkgroups => {
                "workgroups of 128 invocations capture draws with primitive restart"
            }
        }
    }
}

/// Something that is done differently on some devices.
#[derive(Debug)]
pub struct Workaround {
    /// The name of the workaround.
    pub name: &'static str,
    /// What it changes.
    pub effect: Effect,
    /// The devices that it applies to: drivers, their versions, and GPUs.
    pub devices: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Where the problem is documented.
    pub link: &'static str,
    /// When it can be removed.
    pub removal: &'static str,
    applies: fn(&DeviceIdentity) -> bool,
}

impl Workaround {
    /// Whether the workaround applies to a device.
    pub fn applies_to(&self, device: &DeviceIdentity) -> bool {
        (self.applies)(device)
    }
}

/// All workarounds.
pub static WORKAROUNDS: [Workaround; 11] = [
    Workaround {
        name: "panvk-direct-dispatch",
        effect: Effect::DirectDispatch,
        devices: "panvk before Mesa 25.2, on Mali before v10 (G31, G51, G52, G57, G71, G72, G76)",
        reason: "vkCmdDispatchIndirect does nothing",
        link: "https://docs.mesa3d.org/relnotes/25.2.0.html",
        removal: "Mesa 25.1 is no longer in use",
        applies: |device| {
            device.driver_id == DriverId::MESA_PANVK
                && device.mali_architecture() < 10
                && device.is_mesa_before(25, 2)
        },
    },
    Workaround {
        name: "panvk-no-indirect-draws",
        effect: Effect::NoIndirectDraws,
        devices: "panvk before Mesa 26.0, on Mali before v10 (G31, G51, G52, G57, G71, G72, G76)",
        reason: "vkCmdDrawIndirect and vkCmdDrawIndexedIndirect do nothing, or may",
        link: "https://docs.mesa3d.org/relnotes/26.0.0.html",
        removal: "Mesa 25.3 is no longer in use",
        applies: |device| {
            device.driver_id == DriverId::MESA_PANVK
                && device.mali_architecture() < 10
                && device.is_mesa_before(26, 0)
        },
    },
    Workaround {
        name: "panvk-speculative-vertices",
        effect: Effect::SpeculativeVertices,
        devices: "panvk, on Mali before v13 (G31 to G720)",
        reason: "pan_force_enable_shader_atomics gives vertexPipelineStoresAndAtomics, and vertices may be shaded \
                 that do not exist",
        link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-26.0.0/src/util/driconf.h",
        removal: "panvk no longer has that driconf setting",
        applies: |device| {
            device.driver_id == DriverId::MESA_PANVK && device.mali_architecture() < 13
        },
    },
    Workaround {
        name: "mali-narrow-accesses",
        effect: Effect::NarrowAccesses,
        devices: "Mali, with any driver",
        reason: "vectors of dwords are accessed whole in any case, and the test for alignment costs",
        link: "https://docs.mesa3d.org/drivers/panfrost.html",
        removal: "a Mali captures faster with accesses that are declared to be aligned",
        applies: DeviceIdentity::is_mali,
    },
    Workaround {
        name: "mali-no-staging",
        effect: Effect::NoStaging,
        devices: "Mali, with any driver",
        reason: "shared memory is in main memory, like what is captured to",
        link: "https://developer.arm.com/documentation/101897/latest/",
        removal: "a Mali captures faster with staging",
        applies: DeviceIdentity::is_mali,
    },
    Workaround {
        name: "llvmpipe-narrow-accesses",
        effect: Effect::NarrowAccesses,
        devices: "llvmpipe, as lavapipe",
        reason: "vectors are taken apart in any case, and both sides of the test for alignment are run",
        link: "https://docs.mesa3d.org/drivers/llvmpipe.html",
        removal: "lavapipe captures faster with accesses that are declared to be aligned",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
    Workaround {
        name: "llvmpipe-int64-accesses",
        effect: Effect::Int64Accesses,
        devices: "llvmpipe, as lavapipe",
        reason: "each component of a vector is accessed separately, for one lane after the other",
        link: "https://docs.mesa3d.org/drivers/llvmpipe.html",
        removal: "lavapipe captures as fast with vectors of dwords",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
    Workaround {
        name: "llvmpipe-shared-draws",
        effect: Effect::SharedDraws,
        devices: "llvmpipe, as lavapipe",
        reason: "what all invocations load is loaded for one lane after the other, but for constant \
                 places in shared memory",
        link: "https://docs.mesa3d.org/drivers/llvmpipe.html",
        removal: "lavapipe loads once what all lanes load from the same address",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
    Workaround {
        name: "llvmpipe-small-batched-workgroups",
        effect: Effect::SmallBatchedWorkgroups,
        devices: "llvmpipe, as lavapipe",
        reason: "all invocations of a workgroup are executed, also those that a small draw does not have",
        link: "https://docs.mesa3d.org/drivers/llvmpipe.html",
        removal: "lavapipe captures small draws as fast with workgroups of 64 invocations",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
    Workaround {
        name: "processor-no-staging",
        effect: Effect::NoStaging,
        devices: "processors, with any driver",
        reason: "shared memory is in the caches of the processor, like what is captured to",
        link: "https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceType.html",
        removal: "a processor captures faster with staging",
        applies: |device| device.device_type == vk::PhysicalDeviceType::CPU,
    },
    Workaround {
        name: "nvidia-large-restarted-workgroups",
        effect: Effect::LargeRestartedWorkgroups,
        devices: "NVIDIA GPUs, with NVIDIA's driver",
        reason: "what each workgroup loads before its vertices takes longer than its vertices do",
        link: "https://docs.nvidia.com/cuda/hopper-tuning-guide/index.html",
        removal: "an NVIDIA GPU captures restarted draws as fast with workgroups of 64 invocations",
        applies: |device| device.driver_id == DriverId::NVIDIA_PROPRIETARY,
    },
];

impl DeviceIdentity {
    /// The workarounds that apply to the device.
    pub fn workarounds(&self) -> impl Iterator<Item = &'static Workaround> {
        WORKAROUNDS.iter().filter(move |workaround| workaround.applies_to(self))
    }

    /// Whether a workaround with this effect applies to the device.
    pub(super) fn needs(&self, effect: Effect) -> bool {
        self.workarounds().any(|workaround| workaround.effect == effect)
    }
}
