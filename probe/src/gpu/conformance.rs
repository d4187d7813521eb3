//! The version of the conformance tests that a driver says it passes.

use ash::{Entry, Instance, khr, vk};
use vkxfb::runtime::Capabilities;

/// The driver's `conformanceVersion`, dotted, from Vulkan 1.2 or `VK_KHR_driver_properties`. It is 0.0.0.0 for drivers
/// that are not conformant.
///
/// # Safety
/// The device is of the instance, which is live and of the entry; the capabilities are the device's own.
pub(super) unsafe fn conformance_version(
    entry: &Entry,
    instance: &Instance,
    device: vk::PhysicalDevice,
    capabilities: &Capabilities,
) -> Option<String> {
    let has_driver = capabilities.api_version >= vk::API_VERSION_1_2
        || capabilities.has_extension(khr::driver_properties::NAME);
    let name = if capabilities.api_version >= vk::API_VERSION_1_1 {
        c"vkGetPhysicalDeviceProperties2"
    } else {
        c"vkGetPhysicalDeviceProperties2KHR"
    };
    // Loaded by name, because ash's function table panics if the function is missing.
    // SAFETY: the caller's contract; the name says the type.
    let get: Option<vk::PFN_vkGetPhysicalDeviceProperties2> = unsafe {
        entry
            .get_instance_proc_addr(instance.handle(), name.as_ptr())
            .map(|function| std::mem::transmute(function))
    };
    let get = get.filter(|_| has_driver)?;
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
    // SAFETY: the caller's contract; the device has the structure.
    unsafe { get(device, &mut properties) };
    let vk::ConformanceVersion { major, minor, subminor, patch } = driver.conformance_version;
    Some(format!("{major}.{minor}.{subminor}.{patch}"))
}
