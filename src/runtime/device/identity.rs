//! [`DeviceIdentity`]: identifies a device and its driver. Only [workarounds](crate::runtime::Workaround) and
//! [tunings](crate::runtime::Tuning) depend on it.

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
    pub(crate) fn is_mali(&self) -> bool {
        self.vendor_id == ARM || self.driver_id == DriverId::MESA_PANVK
    }

    /// The major version of the architecture of a Mali: 6 and 7 are Bifrost, 9 to 11 are Valhall. Arm's driver and
    /// panvk report it in the upper four bits of `deviceID`. Old versions of panvk report 0; they support no
    /// architecture above 7.
    pub(crate) const fn mali_architecture(&self) -> u32 {
        self.device_id >> 28
    }

    pub(crate) fn is_mesa_before(&self, major: u32, minor: u32) -> bool {
        // The driver version of a development version of Mesa is lower: 25.2.99 for 25.3.0-devel.
        self.driver_version < vk::make_api_version(0, major, minor, 0)
    }
}
