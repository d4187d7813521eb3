//! Changes which extensions, features, properties and formats of a physical device programs see, if
//! the layer is active on that device.

pub(crate) mod formats;

use std::collections::HashSet;
use std::ffi::CStr;

use ash::ext;

use crate::activity::{Activity, Reason};
use crate::capture_support::CaptureSupport;
use crate::chain;
use crate::drawn;
use crate::features::{put_core_features, put_features};
use crate::guard::guard;
use crate::instance::InstanceData;
use crate::registry::{HIDDEN, SHOWN, vk};

const NAME: &CStr = ext::transform_feedback::NAME;

/// Returns the reason why programs do not see an extension of the driver on a physical device where
/// the layer is active. `None` if they see the extension.
fn why_hidden(name: &CStr, support: &CaptureSupport) -> Option<&'static str> {
    // Captures use the feature bufferDeviceAddress, together with which VK_EXT_buffer_device_address must not be
    // enabled (VUID-VkDeviceCreateInfo-pNext-04748 and VUID-VkDeviceCreateInfo-ppEnabledExtensionNames-03328). Programs
    // can use that feature instead of the extension.
    if name == ext::buffer_device_address::NAME && support.required.address_source.is_some() {
        return Some(
            "captures use VK_KHR_buffer_device_address, with which it must not be enabled",
        );
    }
    // Without device addresses captures use descriptor sets. Vulkan does not allow such sets to be
    // bound together with descriptor buffers.
    if name == ext::descriptor_buffer::NAME && support.required.address_source.is_none() {
        return Some("captures use descriptors of their own, for lack of bufferDeviceAddress");
    }
    // The same is true of descriptor heaps.
    if name == c"VK_EXT_descriptor_heap" && support.required.address_source.is_none() {
        return Some("captures use descriptors of their own, for lack of bufferDeviceAddress");
    }
    // The merged shader of a pipeline is made when it is created, of all that it depends on.
    let needs_late_shaders = [
        ext::graphics_pipeline_library::NAME,
        ext::shader_module_identifier::NAME,
        ext::shader_object::NAME,
        ext::vertex_input_dynamic_state::NAME,
    ];
    if support.draws_geometry() && needs_late_shaders.contains(&name) {
        return Some("the layer draws geometry shaders only of whole pipelines");
    }
    // The layer does not see the draws that such commands generate.
    let generates = [c"VK_EXT_device_generated_commands", c"VK_NV_device_generated_commands"];
    if support.draws_geometry() && generates.contains(&name) {
        return Some("the layer does not draw geometry shaders by generated commands");
    }
    if SHOWN.binary_search(&name).is_ok() {
        return None;
    }
    let hidden = HIDDEN.binary_search_by_key(&name, |(name, _)| name);
    Some(hidden.map_or("the layer does not know it", |found| HIDDEN[found].1))
}

/// Returns the extensions that programs see. `found` are the extensions that the layer or driver below lists.
pub(crate) fn extensions(
    found: Vec<vk::ExtensionProperties>,
    instance: &InstanceData,
    activity: &Activity,
) -> Vec<vk::ExtensionProperties> {
    let withholds = instance.withholds(activity);
    shown(found, activity, withholds)
}

fn shown(
    mut found: Vec<vk::ExtensionProperties>,
    activity: &Activity,
    withholds: bool,
) -> Vec<vk::ExtensionProperties> {
    // Duplicates are removed: the loader adds the extensions that the manifests of implicit layers
    // promise, even if they are listed already.
    let mut names = HashSet::new();
    found.retain(|extension| {
        extension.extension_name_as_c_str().is_ok_and(|name| names.insert(name.to_owned()))
    });
    let mut keep = |keep: &dyn Fn(&CStr) -> bool| {
        found.retain(|extension| extension.extension_name_as_c_str().is_ok_and(keep));
    };
    match activity {
        // The setting `withhold_passes`, which is for tests, leaves captures to the driver. So the driver's own
        // `VK_EXT_transform_feedback` stays visible.
        Activity::Active(..) if withholds => {
            keep(&|name| SHOWN.binary_search(&name).is_ok());
        }
        Activity::Active(_, support) => {
            keep(&|name| {
                let hidden = why_hidden(name, support);
                if let Some(reason) = hidden {
                    tracing::debug!("{} is hidden: {reason}", name.to_string_lossy());
                }
                hidden.is_none() && support.extensions().all(|(given, _)| given != name)
            });
            // The names are short enough, so this does not fail.
            found.extend(support.extensions().filter_map(|(name, version)| {
                let extension = vk::ExtensionProperties::default().spec_version(version);
                extension.extension_name(name).ok()
            }));
        }
        Activity::Dormant(Reason::DriverHasIt(_) | Reason::Irreplaceable(_)) => {}
        // The driver does not have the extension here. If it is listed, the loader took it from the layer's manifest,
        // so it is removed.
        Activity::Dormant(_) => keep(&|name| name != NAME),
    }
    found
}

/// Changes the properties that a program queries, after the layer or driver below has filled them in.
///
/// # Safety
/// The chain is valid, and may be written.
unsafe fn put_properties(chain: *mut vk::BaseOutStructure<'_>, support: &CaptureSupport) {
    let has_provoking = support.capabilities.extensions.contains(ext::provoking_vertex::NAME);
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        for structure in chain::structures(chain.cast_const().cast()) {
            match structure.as_ref().s_type {
                vk::StructureType::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT => {
                    let properties = structure
                        .cast::<vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'_>>()
                        .as_mut();
                    let p_next = properties.p_next;
                    *properties = support.properties();
                    properties.p_next = p_next;
                }
                // The other properties of this structure are about the provoking vertex modes of
                // rasterization, so the driver's values stay.
                vk::StructureType::PHYSICAL_DEVICE_PROVOKING_VERTEX_PROPERTIES_EXT
                    if has_provoking =>
                {
                    let properties = structure
                        .cast::<vk::PhysicalDeviceProvokingVertexPropertiesEXT<'_>>()
                        .as_mut();
                    properties.transform_feedback_preserves_triangle_fan_provoking_vertex =
                        vk::TRUE;
                }
                // Programs see a `shaderBinaryUUID` that differs from the driver's, because the
                // layer's shader binaries are not valid for the driver alone: each contains the
                // driver's binary after a header.
                vk::StructureType::PHYSICAL_DEVICE_SHADER_OBJECT_PROPERTIES_EXT => {
                    let properties = structure
                        .cast::<vk::PhysicalDeviceShaderObjectPropertiesEXT<'_>>()
                        .as_mut();
                    let own = crate::identity::SHADER_BINARY;
                    for (byte, own) in properties.shader_binary_uuid.iter_mut().zip(own) {
                        *byte ^= own;
                    }
                }
                // The layer does not capture draws that the device generates (`VK_EXT_device_generated_commands`), so
                // it reports false.
                s_type if s_type == <Generated as vk::TaggedStructure>::STRUCTURE_TYPE => {
                    let properties = structure.cast::<Generated>().as_mut();
                    properties.device_generated_commands_transform_feedback = vk::FALSE;
                }
                _ => {}
            }
        }
    }
}

type Generated = vk::PhysicalDeviceDeviceGeneratedCommandsPropertiesEXT;

/// Changes the properties of Vulkan 1.0 that a program queries, after the layer or driver below has filled them in.
fn put_core_properties(properties: &mut vk::PhysicalDeviceProperties, support: &CaptureSupport) {
    if support.draws_geometry() {
        drawn::features::report_limits(&mut properties.limits);
    }
}

/// Calls `call` with a function of the layer or driver below, and with the capture support if the layer gives transform
/// feedback on the physical device.
///
/// # Safety
/// The physical device is live.
pub(crate) unsafe fn with_support<F>(
    name: &'static str,
    device: vk::PhysicalDevice,
    next: impl Fn(&InstanceData) -> Option<F>,
    call: impl FnOnce(F, Option<&CaptureSupport>),
) {
    guard(name, (), || {
        let Some(instance) = (unsafe { InstanceData::of(device) }) else {
            return tracing::error!("{name}: nothing is known of the physical device");
        };
        let Some(next) = next(&instance) else {
            return tracing::error!("{name}: the layer or driver below has none");
        };
        let activity = unsafe { instance.activity(device) };
        call(next, instance.capture_support(&activity).map(AsRef::as_ref));
    });
}

/// Calls the layer or driver below to answer a query. If the layer gives transform feedback on the physical device,
/// the structures that [only the layer knows](CaptureSupport::gives_structure) are not linked into the chain during the
/// call, and `put` then changes the answer.
///
/// # Safety
/// The physical device is live, and `call` and `put` write to the chain that `answer` begins.
unsafe fn ask<F>(
    name: &'static str,
    device: vk::PhysicalDevice,
    answer: *mut vk::BaseOutStructure<'_>,
    next: impl Fn(&InstanceData) -> Option<F>,
    call: impl FnOnce(F),
    put: impl FnOnce(&CaptureSupport),
) {
    unsafe {
        with_support(name, device, next, |next, support| {
            let Some(support) = support else { return call(next) };
            chain::without(answer, |s_type| support.gives_structure(s_type), || call(next));
            put(support);
        });
    }
}

/// Defines a hook for a command that queries features or properties, under one of the command's
/// names.
macro_rules! asks {
    ($function:ident $name:literal $next:ident $put:ident $ty:ty: $put_core:ident $core:ident) => {
        #[doc = concat!("`", $name, "`")]
        pub(crate) unsafe extern "system" fn $function(
            device: vk::PhysicalDevice,
            answer: *mut $ty,
        ) {
            unsafe {
                ask(
                    $name,
                    device,
                    answer.cast(),
                    |instance| instance.optional.$next,
                    |next| next(device, answer),
                    |support| {
                        if let Some(answer) = answer.as_mut() {
                            $put_core(&mut answer.$core, support);
                            $put(answer.p_next.cast(), support);
                        }
                    },
                );
            }
        }
    };
}

asks!(get_features2 "vkGetPhysicalDeviceFeatures2"
    features2 put_features vk::PhysicalDeviceFeatures2<'_>: put_core_features features);
asks!(get_features2_khr "vkGetPhysicalDeviceFeatures2KHR"
    features2_khr put_features vk::PhysicalDeviceFeatures2<'_>: put_core_features features);
asks!(get_properties2 "vkGetPhysicalDeviceProperties2"
    properties2 put_properties vk::PhysicalDeviceProperties2<'_>: put_core_properties properties);
asks!(get_properties2_khr "vkGetPhysicalDeviceProperties2KHR"
    properties2_khr put_properties vk::PhysicalDeviceProperties2<'_>: put_core_properties properties);

/// Defines a hook for a command of Vulkan 1.0 that queries features or properties. Nothing in the answer is the layer's
/// unless it draws stages. So it does not look at the device, and logs nothing, unless the user asks for that.
macro_rules! asks_core {
    ($function:ident $name:literal $next:ident $put:ident $ty:ident) => {
        #[doc = concat!("`", $name, "`")]
        pub(crate) unsafe extern "system" fn $function(
            device: vk::PhysicalDevice,
            answer: *mut vk::$ty,
        ) {
            guard($name, (), || {
                let Some(instance) = (unsafe { InstanceData::of(device) }) else {
                    return tracing::error!("{}: nothing is known of the physical device", $name);
                };
                unsafe { (instance.next.fp_v1_0().$next)(device, answer) };
                if !instance.settings.draw_stages {
                    return;
                }
                let activity = unsafe { instance.activity(device) };
                // SAFETY: the layer or driver below has just written to the pointer.
                let answer = unsafe { answer.as_mut() };
                if let (Some(answer), Some(support)) = (answer, instance.capture_support(&activity))
                {
                    $put(answer, support);
                }
            });
        }
    };
}

asks_core!(get_features "vkGetPhysicalDeviceFeatures"
    get_physical_device_features put_core_features PhysicalDeviceFeatures);
asks_core!(get_properties "vkGetPhysicalDeviceProperties"
    get_physical_device_properties put_core_properties PhysicalDeviceProperties);

#[cfg(test)]
mod tests;
