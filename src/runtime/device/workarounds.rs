//! Workarounds for faults of drivers that a device does not report, such as a command that does nothing. Each
//! workaround says which devices it is for, where the fault is documented, and when the workaround can be removed.
//! Settings that are only faster on some devices are [tunings](crate::runtime::Tuning). `vkxfb info --verbose` lists the
//! workarounds and tunings of a device.

#![forbid(unsafe_code)]

use std::fmt;

use ash::vk::DriverId;

use crate::runtime::device::identity::DeviceIdentity;

/// The setting that a workaround changes. Only the default changes: an application may override it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkaroundEffect {
    /// Captures whose size only the GPU knows are dispatched directly, with the largest number of workgroups that they
    /// may need: [`Settings::indirect_dispatch`](crate::runtime::Settings::indirect_dispatch).
    DirectDispatch,
    /// The functions that write commands to draw captured vertices by `vkCmdDrawIndirect` return an error:
    /// [`Settings::indirect_draws`](crate::runtime::Settings::indirect_draws).
    NoIndirectDraws,
    /// The vertex backend is not preferred for shaders with side effects:
    /// [`RequiredFeatures::choose`](crate::runtime::RequiredFeatures::choose).
    SpeculativeVertices,
    /// The primitives of each patch of tessellation shaders are divided among several invocations, so that loops need
    /// fewer iterations per invocation.
    ShortLoops,
}

impl fmt::Display for WorkaroundEffect {
    /// What the workaround changes, in words for users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DirectDispatch => "captures are dispatched directly",
            Self::NoIndirectDraws => "commands for indirect draws are refused",
            Self::SpeculativeVertices => {
                "shaders with side effects are not captured by vertex shaders if compute can do it"
            }
            Self::ShortLoops => "patches are captured in at least 16 slices",
        })
    }
}

/// A setting that differs because of a driver's fault.
#[derive(Debug)]
pub struct Workaround {
    /// The name of the workaround.
    pub name: &'static str,
    /// The setting that the workaround changes.
    pub effect: WorkaroundEffect,
    /// The affected devices: drivers, their versions, and GPUs.
    pub devices: &'static str,
    /// What is wrong with the driver.
    pub reason: &'static str,
    /// The URL of a page that documents the fault.
    pub link: &'static str,
    /// When the workaround can be removed.
    pub removal: &'static str,
    applies: fn(&DeviceIdentity) -> bool,
}

impl Workaround {
    /// Whether the workaround applies to a device.
    pub(crate) fn applies_to(&self, device: &DeviceIdentity) -> bool {
        (self.applies)(device)
    }
}

/// All workarounds.
pub(crate) static WORKAROUNDS: &[Workaround] = &[
    Workaround {
        name: "panvk-direct-dispatch",
        effect: WorkaroundEffect::DirectDispatch,
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
        effect: WorkaroundEffect::NoIndirectDraws,
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
        effect: WorkaroundEffect::SpeculativeVertices,
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
        name: "llvmpipe-short-loops",
        effect: WorkaroundEffect::ShortLoops,
        devices: "llvmpipe, as lavapipe",
        reason: "an invocation leaves its loops after 65,535 iterations",
        link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
        removal: "no driver with LP_MAX_TGSI_LOOP_ITERATIONS is used: Mesa 22.3 has it, 25.0 does not",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
];

impl DeviceIdentity {
    /// The workarounds that apply to the device.
    pub fn workarounds(&self) -> impl Iterator<Item = &'static Workaround> {
        WORKAROUNDS.iter().filter(move |workaround| workaround.applies_to(self))
    }

    /// Whether one of the workarounds for the device has this effect.
    pub(crate) fn needs(&self, effect: WorkaroundEffect) -> bool {
        self.workarounds().any(|workaround| workaround.effect == effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workaround_says_where_why_and_until_when() {
        for (number, workaround) in WORKAROUNDS.iter().enumerate() {
            let texts = [workaround.devices, workaround.reason, workaround.removal];
            assert!(texts.iter().all(|text| text.len() > 10), "{workaround:?}");
            assert!(workaround.link.starts_with("https://"), "{workaround:?}");
            let others = &WORKAROUNDS[number + 1..];
            assert!(others.iter().all(|other| other.name != workaround.name), "{workaround:?}");
        }
    }
}
