//! Has the commands that enumerate layers, extensions and tools. This layer is among their results.

use std::ffi::{CStr, CString, c_char};

use ash::vk;

use crate::advertise;
use crate::error::Error;
use crate::guard::guard;
use crate::identity;
use crate::instance::InstanceData;

/// Answers an enumeration as Vulkan defines it. If `items` is null, writes the number of items to `count`. Otherwise
/// writes at most as many items as `count` allows, with `put`, and then their number to `count`. The result is
/// `INCOMPLETE` if there are more items.
///
/// # Safety
/// `count` can be written; `items` is null or has room for `count` items.
unsafe fn enumerate<S, T>(
    found: &[S],
    count: *mut u32,
    items: *mut T,
    put: impl Fn(&S, *mut T),
) -> vk::Result {
    let Some(count) = (unsafe { count.as_mut() }) else {
        return Error::Null("the count").report("an enumeration");
    };
    let all = u32::try_from(found.len()).unwrap_or(u32::MAX);
    if items.is_null() {
        *count = all;
        return vk::Result::SUCCESS;
    }
    *count = all.min(*count);
    for (at, item) in found.iter().take(*count as usize).enumerate() {
        put(item, unsafe { items.add(at) });
    }
    if *count < all { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
}

/// Whether a name is that of this layer.
///
/// # Safety
/// The pointer is null or to a null-terminated string.
unsafe fn names_the_layer(name: *const c_char) -> bool {
    !name.is_null() && unsafe { CStr::from_ptr(name) } == identity::NAME
}

/// # Safety
/// The contract of [`enumerate`].
unsafe fn enumerate_layers(count: *mut u32, properties: *mut vk::LayerProperties) -> vk::Result {
    let layer = vk::LayerProperties::default()
        .spec_version(identity::SPEC_VERSION)
        .implementation_version(identity::IMPLEMENTATION_VERSION)
        .layer_name(identity::NAME)
        .and_then(|layer| layer.description(identity::DESCRIPTION));
    // This fails only if a text is too long. A test checks that none is.
    let layers: Vec<_> = layer.into_iter().collect();
    unsafe { enumerate(&layers, count, properties, |layer, place| place.write(*layer)) }
}

/// # Safety
/// The contract of [`enumerate`].
unsafe fn enumerate_extensions(
    extensions: &[(&CStr, u32)],
    count: *mut u32,
    properties: *mut vk::ExtensionProperties,
) -> vk::Result {
    let extension = |(name, version): &(&CStr, u32)| {
        let extension = vk::ExtensionProperties::default().spec_version(*version);
        extension.extension_name(name).ok()
    };
    let extensions: Vec<_> = extensions.iter().filter_map(extension).collect();
    unsafe { enumerate(&extensions, count, properties, |item, place| place.write(*item)) }
}

/// `vkEnumerateInstanceLayerProperties`: the loader's interface says that a layer returns only
/// itself.
pub(crate) unsafe extern "system" fn enumerate_instance_layer_properties(
    count: *mut u32,
    properties: *mut vk::LayerProperties,
) -> vk::Result {
    guard("vkEnumerateInstanceLayerProperties", vk::Result::ERROR_OUT_OF_HOST_MEMORY, || unsafe {
        enumerate_layers(count, properties)
    })
}

/// `vkEnumerateDeviceLayerProperties`, which is deprecated in Vulkan. It also returns only this
/// layer.
pub(crate) unsafe extern "system" fn enumerate_device_layer_properties(
    _physical_device: vk::PhysicalDevice,
    count: *mut u32,
    properties: *mut vk::LayerProperties,
) -> vk::Result {
    guard("vkEnumerateDeviceLayerProperties", vk::Result::ERROR_OUT_OF_HOST_MEMORY, || unsafe {
        enumerate_layers(count, properties)
    })
}

/// `vkEnumerateInstanceExtensionProperties` for this layer's name: returns only the extensions of
/// this layer, not those of other layers or of the driver.
pub(crate) unsafe extern "system" fn enumerate_instance_extension_properties(
    layer: *const c_char,
    count: *mut u32,
    properties: *mut vk::ExtensionProperties,
) -> vk::Result {
    guard(
        "vkEnumerateInstanceExtensionProperties",
        vk::Result::ERROR_OUT_OF_HOST_MEMORY,
        || unsafe {
            if names_the_layer(layer) {
                enumerate_extensions(&identity::INSTANCE_EXTENSIONS, count, properties)
            } else {
                vk::Result::ERROR_LAYER_NOT_PRESENT
            }
        },
    )
}

/// `vkEnumerateDeviceExtensionProperties`: for this layer's name, returns the extensions of this layer; without a name,
/// the extensions that programs see; and for other names, what the layer or driver below returns.
pub(crate) unsafe extern "system" fn enumerate_device_extension_properties(
    physical_device: vk::PhysicalDevice,
    layer: *const c_char,
    count: *mut u32,
    properties: *mut vk::ExtensionProperties,
) -> vk::Result {
    const NAME: &str = "vkEnumerateDeviceExtensionProperties";
    guard(NAME, vk::Result::ERROR_OUT_OF_HOST_MEMORY, || unsafe {
        if names_the_layer(layer) {
            return enumerate_extensions(&identity::DEVICE_EXTENSIONS, count, properties);
        }
        let Some(instance) = InstanceData::of(physical_device) else {
            return Error::Unknown("the physical device").report(NAME);
        };
        if !layer.is_null() {
            let next = instance.next.fp_v1_0().enumerate_device_extension_properties;
            return next(physical_device, layer, count, properties);
        }
        match instance.next.enumerate_device_extension_properties(physical_device) {
            Ok(found) => {
                let activity = instance.activity(physical_device);
                let shown = advertise::extensions(found, &instance, &activity);
                enumerate(&shown, count, properties, |item, place| place.write(*item))
            }
            Err(result) => result,
        }
    })
}

pub(crate) unsafe extern "system" fn get_tool_properties(
    physical_device: vk::PhysicalDevice,
    count: *mut u32,
    properties: *mut vk::PhysicalDeviceToolProperties<'_>,
) -> vk::Result {
    guard("vkGetPhysicalDeviceToolProperties", vk::Result::ERROR_OUT_OF_HOST_MEMORY, || unsafe {
        tools(physical_device, count, properties, |i| i.optional.tool_properties)
    })
}

pub(crate) unsafe extern "system" fn get_tool_properties_ext(
    physical_device: vk::PhysicalDevice,
    count: *mut u32,
    properties: *mut vk::PhysicalDeviceToolProperties<'_>,
) -> vk::Result {
    guard("vkGetPhysicalDeviceToolPropertiesEXT", vk::Result::ERROR_OUT_OF_HOST_MEMORY, || unsafe {
        tools(physical_device, count, properties, |i| i.optional.tool_properties_ext)
    })
}

/// Answers the query with this layer as the first tool, followed by the tools of the layer or driver below.
///
/// # Safety
/// The contract of `vkGetPhysicalDeviceToolProperties`.
unsafe fn tools(
    physical_device: vk::PhysicalDevice,
    count: *mut u32,
    properties: *mut vk::PhysicalDeviceToolProperties<'_>,
    next: impl Fn(&InstanceData) -> Option<vk::PFN_vkGetPhysicalDeviceToolProperties>,
) -> vk::Result {
    let instance = unsafe { InstanceData::of(physical_device) };
    let Some(instance) = instance else {
        return Error::Unknown("the physical device").report("vkGetPhysicalDeviceToolProperties");
    };
    let mut tools: Vec<_> = unsafe { this_tool(&instance, physical_device) }.into_iter().collect();
    if let Some(next) = next(&instance) {
        // The layer or driver below gets memory of this layer with room for all tools, because the validation layer of
        // Debian 12 writes its entry even if the program's memory has no room for it.
        match unsafe { tools_below(next, physical_device) } {
            Ok(below) => tools.extend(below),
            Err(result) => return result,
        }
    }
    let put = |tool: &vk::PhysicalDeviceToolProperties<'_>,
               place: *mut vk::PhysicalDeviceToolProperties<'_>| {
        // SAFETY: the caller's contract. `pNext` of the caller's structure is not changed.
        unsafe {
            (*place).name = tool.name;
            (*place).version = tool.version;
            (*place).purposes = tool.purposes;
            (*place).description = tool.description;
            (*place).layer = tool.layer;
        }
    };
    unsafe { enumerate(&tools, count, properties, put) }
}

/// Describes the layer as a tool for a physical device. `None` if a text is too long for its member of the structure.
///
/// # Safety
/// The device is of the instance, which is live.
unsafe fn this_tool(
    instance: &InstanceData,
    physical_device: vk::PhysicalDevice,
) -> Option<vk::PhysicalDeviceToolProperties<'static>> {
    let activity = unsafe { instance.activity(physical_device) };
    let version = CString::new(env!("CARGO_PKG_VERSION")).ok()?;
    // The description has room for 255 bytes, and the text of the activity may be longer.
    let description: String = activity.to_string().chars().take(200).collect();
    let description = CString::new(description).ok()?;
    let tool = vk::PhysicalDeviceToolProperties::default()
        .purposes(vk::ToolPurposeFlags::ADDITIONAL_FEATURES);
    let tool = tool.name(c"vkxfb").and_then(|t| t.version(&version));
    let tool = tool.and_then(|t| t.description(&description)).and_then(|t| t.layer(identity::NAME));
    tool.ok()
}

/// # Safety
/// The contract of `vkGetPhysicalDeviceToolProperties`; `next` is that command of the layer or driver below.
unsafe fn tools_below(
    next: vk::PFN_vkGetPhysicalDeviceToolProperties,
    physical_device: vk::PhysicalDevice,
) -> Result<Vec<vk::PhysicalDeviceToolProperties<'static>>, vk::Result> {
    let mut count = 0;
    unsafe { next(physical_device, &mut count, std::ptr::null_mut()) }.result()?;
    let mut tools = vec![vk::PhysicalDeviceToolProperties::default(); count as usize];
    if count > 0 {
        // SAFETY: the caller's contract; `tools` has room for `count` elements.
        match unsafe { next(physical_device, &mut count, tools.as_mut_ptr()) } {
            vk::Result::SUCCESS | vk::Result::INCOMPLETE => tools.truncate(count as usize),
            result => return Err(result),
        }
    }
    Ok(tools)
}

#[cfg(test)]
mod tests;
