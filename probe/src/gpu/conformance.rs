//! The version of the conformance tests that a driver claims to pass.

use ash::{Entry, Instance, khr, vk};
use vkxfb::runtime::Capabilities;

/// Returns the driver's `conformanceVersion` as `MAJOR.MINOR.SUBMINOR.PATCH`. Drivers that do not conform report
/// 0.0.0.0. `None` without Vulkan 1.2 or `VK_KHR_driver_properties`, which define this property.
///
/// # Safety
/// `device` belongs to `instance`, which is live and was created with `entry`; `capabilities` are
/// those of `device`.
pub(super) unsafe fn conformance_version(
    entry: &Entry,
    instance: &Instance,
    device: vk::PhysicalDevice,
    capabilities: &Capabilities,
) -> Option<String> {
    let has_driver = capabilities.api_version >= vk::API_VERSION_1_2
        || capabilities.extensions.contains(khr::driver_properties::NAME);
    let name = if capabilities.api_version >= vk::API_VERSION_1_1 {
        c"vkGetPhysicalDeviceProperties2"
    } else {
        c"vkGetPhysicalDeviceProperties2KHR"
    };
    // The function is loaded by name, because the one in ash's function table panics if the driver
    // does not have it.
    // SAFETY: the caller's contract; the function has the type that belongs to its name.
    let get: Option<vk::PFN_vkGetPhysicalDeviceProperties2> = unsafe {
        entry
            .get_instance_proc_addr(instance.handle(), name.as_ptr())
            .map(|function| std::mem::transmute(function))
    };
    let get = get.filter(|_| has_driver)?;
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
    // SAFETY: the caller's contract; the device supports the structure.
    unsafe { get(device, &mut properties) };
    let vk::ConformanceVersion { major, minor, subminor, patch } = driver.conformance_version;
    Some(format!("{major}.{minor}.{subminor}.{patch}"))
}
