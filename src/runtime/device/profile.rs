//! [`Profile`]: what of a device is used.

use crate::runtime::device::capabilities::Capabilities;

/// What of a device's capabilities is used. With less than all of them a program can try on one device what its
/// captures do on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Profile {
    /// All that captures can use.
    #[default]
    Full,
    /// No buffer device addresses: captures access memory [by descriptors](crate::guide::resource_plans).
    NoAddresses,
    /// What the least capable supported device has, called the *floor*: the open driver of a Mali-G52. That is Vulkan
    /// 1.0 with `VK_KHR_buffer_device_address`, push descriptors, dynamic rendering and synchronization2 as extensions
    /// and `shaderInt64`; 65535 workgroups per axis, 256 invocations per workgroup, 128 bytes of push constants, 4
    /// descriptor sets; no indirect commands, no vertex stores, no geometry or tessellation shader, no transform
    /// feedback, no choice of provoking vertex, no instance divisors, no `multiDrawIndirect`, no
    /// `shaderDrawParameters`, no `shaderFloat64`, no `vulkanMemoryModelDeviceScope`, no loads of single bytes from
    /// buffers.
    Bifrost,
}

impl Capabilities {
    /// Removes all capabilities that a profile lacks. Adds nothing: a capability that the device lacks is still missing
    /// afterwards.
    pub fn restrict_to(&mut self, profile: Profile) {
        match profile {
            Profile::Full => {}
            Profile::NoAddresses => self.buffer_device_address = None,
            Profile::Bifrost => self.restrict_to_floor(),
        }
    }
}
