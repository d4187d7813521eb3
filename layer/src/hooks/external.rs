//! Hooks for the queries of the properties of external buffers, which belong to a physical device.

use ash::vk;

use crate::advertise::with_support;
use crate::instance::InstanceData;
use crate::translate::{Arena, Usages};

type Ask = vk::PFN_vkGetPhysicalDeviceExternalBufferProperties;

/// Asks the layer or driver below for the properties of an external buffer. If the layer is active on the physical
/// device, the query has the usage with which the layer would create the buffer.
///
/// # Safety
/// The device is live, and so are the structures.
unsafe fn ask(
    name: &'static str,
    device: vk::PhysicalDevice,
    next: impl Fn(&InstanceData) -> Option<Ask>,
    info: *const vk::PhysicalDeviceExternalBufferInfo<'_>,
    properties: *mut vk::ExternalBufferProperties<'_>,
) {
    unsafe {
        with_support(name, device, next, |next, support| match (support, info.as_ref()) {
            (Some(support), Some(given)) => Arena::with(|arena| {
                let usages = Usages::emulating(&support.required);
                let info = usages.external_buffer_info(given, arena);
                next(device, &raw const info, properties);
            }),
            _ => next(device, info, properties),
        });
    }
}

pub(crate) unsafe extern "system" fn buffer_properties(
    device: vk::PhysicalDevice,
    info: *const vk::PhysicalDeviceExternalBufferInfo<'_>,
    properties: *mut vk::ExternalBufferProperties<'_>,
) {
    let name = "vkGetPhysicalDeviceExternalBufferProperties";
    unsafe { ask(name, device, |instance| instance.optional.external_buffers, info, properties) };
}

pub(crate) unsafe extern "system" fn buffer_properties_khr(
    device: vk::PhysicalDevice,
    info: *const vk::PhysicalDeviceExternalBufferInfo<'_>,
    properties: *mut vk::ExternalBufferProperties<'_>,
) {
    let name = "vkGetPhysicalDeviceExternalBufferPropertiesKHR";
    unsafe {
        ask(name, device, |instance| instance.optional.external_buffers_khr, info, properties)
    };
}
