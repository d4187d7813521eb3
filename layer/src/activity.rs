//! Decides whether the layer is active on a physical device. Everything else depends on this
//! decision.

use std::fmt;
use std::sync::Arc;

use ash::{ext, vk};
use vkxfb::runtime::{Capabilities, RuntimeError};

use crate::emulation::Means;
use crate::instance::InstanceData;

/// Whether the layer is active on a physical device.
#[derive(Debug, Clone)]
pub(crate) enum Activity {
    /// The layer gives programs the extension.
    Active(Cause, Arc<Means>),
    /// Programs see the driver as it is.
    Dormant(Reason),
}

/// Why the layer is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The driver has no transform feedback.
    Missing,
    /// The user forces it, whether or not the driver has the extension.
    Forced,
}

/// Why the layer is dormant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The driver has the extension, and its feature.
    DriverHasIt,
    /// The device lacks something that captures need, which the text names.
    Incapable(String),
    /// The driver could not be asked.
    Unknown(vk::Result),
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active(Cause::Missing, _) => {
                f.write_str("active: the driver has no VK_EXT_transform_feedback")
            }
            Self::Active(Cause::Forced, _) => f.write_str("active: by force_enable"),
            Self::Dormant(Reason::DriverHasIt) => {
                f.write_str("dormant: the driver has VK_EXT_transform_feedback")
            }
            Self::Dormant(Reason::Incapable(missing)) => write!(f, "dormant: {missing}"),
            Self::Dormant(Reason::Unknown(result)) => {
                write!(f, "dormant: the driver's extensions cannot be listed ({result})")
            }
        }
    }
}

impl Activity {
    /// Decides for a physical device.
    ///
    /// # Safety
    /// The physical device belongs to the instance, which is live.
    pub(crate) unsafe fn decide(instance: &InstanceData, device: vk::PhysicalDevice) -> Self {
        let forced = instance.settings.force_enable;
        // SAFETY: the caller's contract.
        let asked = match unsafe { instance.capabilities(device) } {
            Ok(capabilities) => Ok(capabilities),
            Err(RuntimeError::Vulkan { result, .. }) => Err(Reason::Unknown(result)),
            // SAFETY: the caller's contract.
            Err(error) => Err(match unsafe { lists_it(instance, device) } {
                Ok(true) if !forced => Reason::DriverHasIt,
                Ok(_) => Reason::Incapable(error.to_string()),
                Err(result) => Reason::Unknown(result),
            }),
        };
        match asked {
            Ok(capabilities) => Self::of(capabilities, forced),
            Err(reason) => Self::Dormant(reason),
        }
    }

    /// Decides from the answers of the driver.
    ///
    /// The list of extensions alone is not enough: the loader adds the extensions that the
    /// manifests of implicit layers promise, including this layer's. The feature is what the driver
    /// reports.
    pub(crate) fn of(mut capabilities: Capabilities, forced: bool) -> Self {
        let cause = match (forced, &capabilities.transform_feedback) {
            (true, _) => Cause::Forced,
            (false, Some(_)) => return Self::Dormant(Reason::DriverHasIt),
            (false, None) => Cause::Missing,
        };
        // Tests use this to capture with descriptors: synchronization validation does not see
        // accesses by device address.
        if std::env::var_os("VKXFB_HIDE_ADDRESSES").is_some() {
            tracing::warn!("VKXFB_HIDE_ADDRESSES is for tests");
            capabilities.buffer_device_address = None;
        }
        match Means::new(capabilities) {
            Ok(means) => Self::Active(cause, Arc::new(means)),
            Err(unavailable) => Self::Dormant(Reason::Incapable(unavailable.reasons.join("; "))),
        }
    }

    /// Returns the means by which the layer gives transform feedback to programs. `None` where the
    /// layer is dormant, or where a test withholds passes to exercise the driver's own captures.
    pub(crate) fn means(&self, instance: &InstanceData) -> Option<&Arc<Means>> {
        match self {
            Self::Active(_, means) if !instance.withholds(self) => Some(means),
            _ => None,
        }
    }
}

/// Whether the driver, or a layer below, lists the extension.
///
/// # Safety
/// The physical device belongs to the instance, which is live.
unsafe fn lists_it(
    instance: &InstanceData,
    device: vk::PhysicalDevice,
) -> Result<bool, vk::Result> {
    // SAFETY: the caller's contract.
    let listed = unsafe { instance.next.enumerate_device_extension_properties(device) }?;
    let name = ext::transform_feedback::NAME;
    Ok(listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name)))
}

#[cfg(test)]
mod tests;
