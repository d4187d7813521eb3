//! Devices that lack parts of Vulkan, such as those of MoltenVK on macOS: the loader hides them from programs that do not
//! ask for them.

use std::ffi::c_char;

use ash::prelude::VkResult;
use ash::{khr, vk};

/// The flags of an instance, and the extensions for them, that show such devices. Both are empty where the loader hides
/// nothing.
///
/// # Safety
/// The entry is of a live loader.
pub unsafe fn enumeration(
    entry: &ash::Entry,
) -> VkResult<(vk::InstanceCreateFlags, Vec<*const c_char>)> {
    let name = khr::portability_enumeration::NAME;
    let found = unsafe { entry.enumerate_instance_extension_properties(None) }?;
    Ok(if found.iter().any(|found| found.extension_name_as_c_str() == Ok(name)) {
        (vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR, vec![name.as_ptr()])
    } else {
        Default::default()
    })
}
