//! Hides that the driver supports a format for vertex buffers, if captures cannot decode that format.

use ash::vk;
use vkxfb_rewriter::vertex_input::VertexFormat;

use super::ask;
use crate::chain;

/// Removes the feature `VERTEX_BUFFER` from `features`, if captures cannot decode the format. `features` are the
/// features of the format that the layer or driver below reported.
fn hide(format: vk::Format, features: &mut vk::FormatFeatureFlags) {
    if VertexFormat::try_from(format).is_err() {
        *features &= !vk::FormatFeatureFlags::VERTEX_BUFFER;
    }
}

/// If captures cannot decode the format, removes the feature `VERTEX_BUFFER` from a `VkFormatProperties3` in the chain
/// of a `VkFormatProperties2`.
///
/// # Safety
/// The chain is valid, and may be written.
unsafe fn hide_chained(format: vk::Format, chain: *mut vk::BaseOutStructure<'_>) {
    if VertexFormat::try_from(format).is_ok() {
        return;
    }
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        for structure in chain::structures(chain.cast_const().cast()) {
            if structure.as_ref().s_type == vk::StructureType::FORMAT_PROPERTIES_3 {
                let properties = structure.cast::<vk::FormatProperties3<'_>>().as_mut();
                properties.buffer_features &= !vk::FormatFeatureFlags2::VERTEX_BUFFER;
            }
        }
    }
}

pub(crate) unsafe extern "system" fn get_format_properties(
    device: vk::PhysicalDevice,
    format: vk::Format,
    answer: *mut vk::FormatProperties,
) {
    unsafe {
        ask(
            "vkGetPhysicalDeviceFormatProperties",
            device,
            std::ptr::null_mut(),
            |instance| Some(instance.next.fp_v1_0().get_physical_device_format_properties),
            |next| next(device, format, answer),
            |_| {
                if let Some(answer) = answer.as_mut() {
                    hide(format, &mut answer.buffer_features);
                }
            },
        );
    }
}

/// Defines a hook for `vkGetPhysicalDeviceFormatProperties2`, under one of the command's names.
macro_rules! asks {
    ($function:ident $name:literal $next:ident) => {
        #[doc = concat!("`", $name, "`")]
        pub(crate) unsafe extern "system" fn $function(
            device: vk::PhysicalDevice,
            format: vk::Format,
            answer: *mut vk::FormatProperties2<'_>,
        ) {
            unsafe {
                ask(
                    $name,
                    device,
                    answer.cast(),
                    |instance| instance.optional.$next,
                    |next| next(device, format, answer),
                    |_| {
                        if let Some(answer) = answer.as_mut() {
                            hide(format, &mut answer.format_properties.buffer_features);
                            hide_chained(format, answer.p_next.cast());
                        }
                    },
                );
            }
        }
    };
}

asks!(get_format_properties2 "vkGetPhysicalDeviceFormatProperties2" format_properties2);
asks!(get_format_properties2_khr "vkGetPhysicalDeviceFormatProperties2KHR"
    format_properties2_khr);
