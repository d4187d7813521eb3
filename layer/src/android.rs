//! Exports the functions that Android's loader looks up by name, besides `vkGetInstanceProcAddr` and
//! `vkGetDeviceProcAddr`. This loader reads no manifests: it opens libraries named `libVkLayer*.so`, and asks them for
//! their layers before there is an instance or a physical device. See `layer/ANDROID.md`.

use std::ffi::c_char;

use ash::vk;

use crate::properties;

/// `vkEnumerateInstanceLayerProperties`
///
/// # Safety
/// Vulkan's contract.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkEnumerateInstanceLayerProperties(
    count: *mut u32,
    layers: *mut vk::LayerProperties,
) -> vk::Result {
    unsafe { properties::enumerate_instance_layer_properties(count, layers) }
}

/// `vkEnumerateInstanceExtensionProperties`
///
/// # Safety
/// Vulkan's contract.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkEnumerateInstanceExtensionProperties(
    layer: *const c_char,
    count: *mut u32,
    extensions: *mut vk::ExtensionProperties,
) -> vk::Result {
    unsafe { properties::enumerate_instance_extension_properties(layer, count, extensions) }
}

/// `vkEnumerateDeviceLayerProperties`
///
/// # Safety
/// Vulkan's contract, but the physical device may be null.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkEnumerateDeviceLayerProperties(
    physical_device: vk::PhysicalDevice,
    count: *mut u32,
    layers: *mut vk::LayerProperties,
) -> vk::Result {
    unsafe { properties::enumerate_device_layer_properties(physical_device, count, layers) }
}

/// `vkEnumerateDeviceExtensionProperties`
///
/// # Safety
/// Vulkan's contract, but the physical device may be null.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkEnumerateDeviceExtensionProperties(
    physical_device: vk::PhysicalDevice,
    layer: *const c_char,
    count: *mut u32,
    extensions: *mut vk::ExtensionProperties,
) -> vk::Result {
    unsafe {
        properties::enumerate_device_extension_properties(physical_device, layer, count, extensions)
    }
}
