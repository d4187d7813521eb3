//! Lists layers and tools between the program and the driver.

use std::ffi::CStr;

use ash::{Entry, Instance, ext, vk};
use vkxfb::runtime::Capabilities;

use super::Tool;

/// Returns the tools of a device, from Vulkan 1.3 or `VK_EXT_tooling_info`. Empty if the device has
/// neither, or if the query fails.
///
/// # Safety
/// `device` belongs to `instance`, which is live and was created with `entry` for `api_version`;
/// `capabilities` are those of `device`.
pub(super) unsafe fn tools(
    entry: &Entry,
    instance: &Instance,
    api_version: u32,
    device: vk::PhysicalDevice,
    capabilities: &Capabilities,
) -> Vec<Tool> {
    let name = if api_version.min(capabilities.device_api_version) >= vk::API_VERSION_1_3 {
        c"vkGetPhysicalDeviceToolProperties"
    } else if capabilities.extensions.contains(ext::tooling_info::NAME) {
        c"vkGetPhysicalDeviceToolPropertiesEXT"
    } else {
        return Vec::new();
    };
    // The function is loaded by name, because the function in ash's table panics if the driver does
    // not have it.
    // SAFETY: the caller's contract; the function has the type that belongs to its name.
    let get: Option<vk::PFN_vkGetPhysicalDeviceToolProperties> = unsafe {
        entry
            .get_instance_proc_addr(instance.handle(), name.as_ptr())
            .map(|function| std::mem::transmute(function))
    };
    let Some(get) = get else { return Vec::new() };
    let mut count = 0;
    // SAFETY: the caller's contract; the vector has room for `count` structures.
    let found = unsafe {
        if get(device, &mut count, std::ptr::null_mut()) != vk::Result::SUCCESS {
            return Vec::new();
        }
        let mut found = vec![vk::PhysicalDeviceToolProperties::default(); count as usize];
        if get(device, &mut count, found.as_mut_ptr()) != vk::Result::SUCCESS {
            return Vec::new();
        }
        found.truncate(count as usize);
        found
    };
    found.iter().map(Tool::from).collect()
}

impl From<&vk::PhysicalDeviceToolProperties<'_>> for Tool {
    fn from(tool: &vk::PhysicalDeviceToolProperties<'_>) -> Self {
        let text = |text: Result<&CStr, _>| text.unwrap_or_default().to_string_lossy().into_owned();
        Self {
            name: text(tool.name_as_c_str()),
            description: text(tool.description_as_c_str()),
            layer: text(tool.layer_as_c_str()),
        }
    }
}
