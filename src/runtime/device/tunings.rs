//! Tunings: settings that are faster on some devices. They do not change the captured bytes, so a wrong tuning only
//! costs time. Each tuning says for which devices it is, and why these are faster.

#![forbid(unsafe_code)]

use std::fmt;

use ash::vk::{DriverId, PhysicalDeviceType};

use crate::runtime::device::identity::DeviceIdentity;

/// The setting that a tuning changes, see [`Tuning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TuningEffect {
    /// Captures do not test at run time whether accesses are aligned to their size.
    NarrowAccesses,
    /// Captures and kernels access pairs of dwords as 64-bit integers, where `shaderInt64` is enabled.
    Int64Accesses,
    /// The invocations of a workgroup load the parameters of their draw together.
    SharedDraws,
    /// Workgroups do not collect records in shared memory.
    NoStaging,
    /// Kernels that process draws have a single invocation, which needs neither barriers nor prefix sums.
    SerialKernels,
    /// Captures of draws with primitive restart, and of single draws without indices whose records have at most 16 bytes,
    /// have workgroups of 128 invocations.
    LargeWorkgroups,
    /// Elements of short arrays with unknown indices are selected.
    SelectedElements,
}

impl fmt::Display for TuningEffect {
    /// What the tuning changes, in words for users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NarrowAccesses => "accesses are not tested for their alignment",
            Self::Int64Accesses => "pairs of dwords are accessed as 64-bit integers",
            Self::SharedDraws => "a workgroup loads the parameters of its draw together",
            Self::SerialKernels => "kernels process draws one after the other",
            Self::NoStaging => "records are not collected in shared memory",
            Self::SelectedElements => "elements of short arrays are selected by comparisons",
            Self::LargeWorkgroups => {
                "workgroups of 128 invocations capture draws with primitive restart, and small records"
            }
        })
    }
}

/// A setting that is faster on some devices.
#[derive(Debug)]
pub struct Tuning {
    /// The name of the tuning.
    pub name: &'static str,
    /// The setting that the tuning changes.
    pub effect: TuningEffect,
    /// The devices that the tuning is for.
    pub devices: &'static str,
    /// Why the tuning makes these devices faster.
    pub reason: &'static str,
    applies: fn(&DeviceIdentity) -> bool,
}

/// All tunings.
pub(crate) static TUNINGS: &[Tuning] = &[
    Tuning {
        name: "mali-narrow-accesses",
        effect: TuningEffect::NarrowAccesses,
        devices: "Mali, with any driver",
        reason: "vectors of dwords are accessed whole in any case, and the test for alignment costs",
        applies: DeviceIdentity::is_mali,
    },
    Tuning {
        name: "mali-no-staging",
        effect: TuningEffect::NoStaging,
        devices: "Mali, with any driver",
        reason: "shared memory is in main memory, like what is captured to",
        applies: DeviceIdentity::is_mali,
    },
    Tuning {
        name: "llvmpipe-narrow-accesses",
        effect: TuningEffect::NarrowAccesses,
        devices: "llvmpipe, as lavapipe",
        reason: "vectors are taken apart in any case, and both sides of the test for alignment are run",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
    Tuning {
        name: "llvmpipe-int64-accesses",
        effect: TuningEffect::Int64Accesses,
        devices: "llvmpipe, as lavapipe",
        reason: "each component of a vector is accessed separately, for one lane after the other",
        applies: |device| device.driver_id == DriverId::MESA_LLVMPIPE,
    },
    Tuning {
        name: "llvmpipe-shared-draws",
        effect: TuningEffect::SharedDraws,
        devices: "llvmpipe before Mesa 25, as lavapipe",
        reason: "what all invocations load is loaded for one lane after the other, but for constant \
                 places in shared memory",
        applies: |device| {
            device.driver_id == DriverId::MESA_LLVMPIPE && device.is_mesa_before(25, 0)
        },
    },
    Tuning {
        name: "processor-no-staging",
        effect: TuningEffect::NoStaging,
        devices: "processors, with any driver",
        reason: "shared memory is in the caches of the processor, like what is captured to",
        applies: |device| device.device_type == PhysicalDeviceType::CPU,
    },
    Tuning {
        name: "processor-serial-kernels",
        effect: TuningEffect::SerialKernels,
        devices: "processors, with any driver",
        reason: "a workgroup has no more than one core in any case, and prefix sums take long to compile",
        applies: |device| device.device_type == PhysicalDeviceType::CPU,
    },
    Tuning {
        name: "nvidia-large-workgroups",
        effect: TuningEffect::LargeWorkgroups,
        devices: "NVIDIA GPUs, with NVIDIA's driver",
        reason: "what each workgroup loads before its vertices takes longer than its vertices do",
        applies: |device| device.driver_id == DriverId::NVIDIA_PROPRIETARY,
    },
    Tuning {
        name: "nvidia-selected-elements",
        effect: TuningEffect::SelectedElements,
        devices: "NVIDIA GPUs, with NVIDIA's driver",
        reason: "its compiler keeps arrays in memory that are read by an index which it does not know",
        applies: |device| device.driver_id == DriverId::NVIDIA_PROPRIETARY,
    },
];

impl DeviceIdentity {
    /// The tunings for the device.
    pub fn tunings(&self) -> impl Iterator<Item = &'static Tuning> {
        TUNINGS.iter().filter(|tuning| (tuning.applies)(self))
    }

    /// Whether one of the device's tunings has this effect.
    pub(crate) fn gains_from(&self, effect: TuningEffect) -> bool {
        self.tunings().any(|tuning| tuning.effect == effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tuning_says_where_and_why() {
        for (number, tuning) in TUNINGS.iter().enumerate() {
            assert!(
                [tuning.devices, tuning.reason].iter().all(|text| text.len() > 10),
                "{tuning:?}"
            );
            let others = &TUNINGS[number + 1..];
            assert!(others.iter().all(|other| other.name != tuning.name), "{tuning:?}");
        }
    }
}
