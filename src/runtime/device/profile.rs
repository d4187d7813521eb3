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
    /// What the open driver of a Bifrost Mali has: [`Capabilities::restrict_to_floor`].
    Bifrost,
}

impl Capabilities {
    /// Removes all capabilities that a profile lacks.
    pub fn restrict_to(&mut self, profile: Profile) {
        match profile {
            Profile::Full => {}
            Profile::NoAddresses => self.buffer_device_address = None,
            Profile::Bifrost => self.restrict_to_floor(),
        }
    }
}
