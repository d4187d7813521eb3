//! Whether the layer is active on a physical device: the one decision that everything else hangs on.

use std::fmt;

use ash::{ext, vk};

use crate::instance::InstanceData;

/// Whether the layer is active on a physical device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It has something to do: to give programs the extension.
    Active(Cause),
    /// Programs see the driver as it is.
    Dormant(Reason),
}

/// Why it is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The driver has no transform feedback.
    Missing,
    /// The user wants it so, whatever the driver has.
    Forced,
}

/// Why it is dormant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The driver has the extension, and its feature.
    DriverHasIt,
    /// The driver could not be asked.
    Unknown(vk::Result),
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active(Cause::Missing) => {
                f.write_str("active: the driver has no VK_EXT_transform_feedback")
            }
            Self::Active(Cause::Forced) => f.write_str("active: by force_enable"),
            Self::Dormant(Reason::DriverHasIt) => {
                f.write_str("dormant: the driver has VK_EXT_transform_feedback")
            }
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
    /// The device is of the instance, which is live.
    pub(crate) unsafe fn decide(instance: &InstanceData, device: vk::PhysicalDevice) -> Self {
        if instance.settings.force_enable {
            return Self::Active(Cause::Forced);
        }
        // SAFETY: the caller's contract.
        match unsafe { driver_has_it(instance, device) } {
            Ok(true) => Self::Dormant(Reason::DriverHasIt),
            Ok(false) => Self::Active(Cause::Missing),
            Err(result) => Self::Dormant(Reason::Unknown(result)),
        }
    }
}

/// Whether the driver, or a layer below, has the extension.
///
/// The list alone does not tell: the loader adds to it what the manifests of implicit layers promise, this one's too.
/// The feature is the driver's word; it is asked for only where the extension is listed, as its structure may be.
///
/// # Safety
/// The device is of the instance, which is live.
unsafe fn driver_has_it(
    instance: &InstanceData,
    device: vk::PhysicalDevice,
) -> Result<bool, vk::Result> {
    // SAFETY: the caller's contract.
    let listed = unsafe { instance.next.enumerate_device_extension_properties(device) }?;
    let name = ext::transform_feedback::NAME;
    if !listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name)) {
        return Ok(false);
    }
    let Some(get_features2) = instance.get_physical_device_features2 else { return Ok(true) };
    let mut transform_feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut transform_feedback);
    // SAFETY: the caller's contract; the structures are valid, and the device has the extension of the second.
    unsafe { get_features2(device, &mut features) };
    Ok(transform_feedback.transform_feedback == vk::TRUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `VkPhysicalDeviceToolProperties` has 256 bytes for it, and the command shows it.
    #[test]
    fn every_activity_is_told_in_a_line() {
        for activity in [
            Activity::Active(Cause::Missing),
            Activity::Active(Cause::Forced),
            Activity::Dormant(Reason::DriverHasIt),
            Activity::Dormant(Reason::Unknown(vk::Result::ERROR_INITIALIZATION_FAILED)),
        ] {
            let text = activity.to_string();
            assert!(text.len() < 200 && !text.contains('\n'), "{text}");
        }
    }
}
