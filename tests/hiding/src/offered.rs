//! What a physical device offers: features, properties and extensions without what is hidden.

use std::ffi::{CStr, c_void};

use ash::{ext, vk};

use crate::chain::structures;
use crate::hidden::Hidden;

/// The extensions that are hidden with transform feedback. The second depends on the first, so no driver has it alone.
const CAPTURES: [&CStr; 2] = [ext::transform_feedback::NAME, ext::primitives_generated_query::NAME];

/// Whether an extension is hidden.
pub(crate) fn is_hidden(hidden: Hidden, extension: &CStr) -> bool {
    hidden.transform_feedback && CAPTURES.contains(&extension)
}

/// Visits the members of Vulkan 1.0's features that are hidden.
///
/// # Safety
/// The visitor may do with the members what it does.
unsafe fn visit_core(
    hidden: Hidden,
    features: *mut vk::PhysicalDeviceFeatures,
    mut visit: impl FnMut(&'static str, *mut vk::Bool32),
) {
    if hidden.geometry && !features.is_null() {
        unsafe {
            visit("geometryShader", &raw mut (*features).geometry_shader);
            let points = &raw mut (*features).shader_tessellation_and_geometry_point_size;
            visit("shaderTessellationAndGeometryPointSize", points);
        }
    }
}

/// Visits the members of a chain's structures of features that are hidden.
///
/// # Safety
/// The chain is valid, and the visitor may do with the members what it does.
unsafe fn visit_chain(
    hidden: Hidden,
    first: *const c_void,
    mut visit: impl FnMut(&'static str, *mut vk::Bool32),
) {
    use vk::StructureType as Type;
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        for it in structures(first) {
            match (*it).s_type {
                Type::PHYSICAL_DEVICE_FEATURES_2 => {
                    let it = it.cast::<vk::PhysicalDeviceFeatures2<'_>>();
                    visit_core(hidden, &raw mut (*it).features, &mut visit);
                }
                Type::PHYSICAL_DEVICE_MULTIVIEW_FEATURES if hidden.geometry => {
                    let it = it.cast::<vk::PhysicalDeviceMultiviewFeatures<'_>>();
                    visit("multiviewGeometryShader", &raw mut (*it).multiview_geometry_shader);
                }
                Type::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES if hidden.geometry => {
                    let it = it.cast::<vk::PhysicalDeviceVulkan11Features<'_>>();
                    visit("multiviewGeometryShader", &raw mut (*it).multiview_geometry_shader);
                }
                Type::PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT => {
                    let it = it.cast::<vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT<'_>>();
                    if hidden.transform_feedback {
                        visit(
                            "primitivesGeneratedQuery",
                            &raw mut (*it).primitives_generated_query,
                        );
                        visit(
                            "primitivesGeneratedQueryWithRasterizerDiscard",
                            &raw mut (*it).primitives_generated_query_with_rasterizer_discard,
                        );
                    }
                    if hidden.transform_feedback || hidden.geometry {
                        visit(
                            "primitivesGeneratedQueryWithNonZeroStreams",
                            &raw mut (*it).primitives_generated_query_with_non_zero_streams,
                        );
                    }
                }
                Type::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT => {
                    let it = it.cast::<vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'_>>();
                    if hidden.transform_feedback {
                        visit("transformFeedback", &raw mut (*it).transform_feedback);
                    }
                    if hidden.transform_feedback || hidden.geometry {
                        visit("geometryStreams", &raw mut (*it).geometry_streams);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Sets the hidden features of a structure to false.
///
/// # Safety
/// The structure may be written.
pub(crate) unsafe fn hide_features(hidden: Hidden, features: *mut vk::PhysicalDeviceFeatures) {
    unsafe { visit_core(hidden, features, |_, feature| *feature = vk::FALSE) };
}

/// Sets the hidden features of a chain to false.
///
/// # Safety
/// The chain is valid, and may be written.
pub(crate) unsafe fn hide_features_2(hidden: Hidden, first: *mut vk::PhysicalDeviceFeatures2<'_>) {
    unsafe { visit_chain(hidden, first.cast(), |_, feature| *feature = vk::FALSE) };
}

/// Returns the hidden features that a device is created with.
///
/// # Safety
/// The create info is valid.
pub(crate) unsafe fn enabled(hidden: Hidden, info: &vk::DeviceCreateInfo<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    // SAFETY: the caller's contract; nothing is written.
    unsafe {
        let mut visit = |name, feature: *mut vk::Bool32| {
            if *feature != vk::FALSE {
                found.push(name);
            }
        };
        visit_core(hidden, info.p_enabled_features.cast_mut(), &mut visit);
        visit_chain(hidden, info.p_next, &mut visit);
    }
    found
}

/// Changes properties to what a driver without geometry shaders reports.
pub(crate) fn hide_properties(hidden: Hidden, properties: &mut vk::PhysicalDeviceProperties) {
    if hidden.geometry {
        let limits = &mut properties.limits;
        limits.max_geometry_shader_invocations = 0;
        limits.max_geometry_input_components = 0;
        limits.max_geometry_output_components = 0;
        limits.max_geometry_output_vertices = 0;
        limits.max_geometry_total_output_components = 0;
    }
}

/// Does that to the structures of a chain.
///
/// # Safety
/// The chain is valid, and may be written.
pub(crate) unsafe fn hide_properties_2(
    hidden: Hidden,
    first: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    use vk::StructureType as Type;
    let leave_out = |stages: &mut vk::ShaderStageFlags| {
        if hidden.geometry {
            *stages &= !vk::ShaderStageFlags::GEOMETRY;
        }
    };
    // SAFETY: the caller's contract; the type of a structure is what its sType says.
    unsafe {
        for it in structures(first.cast()) {
            match (*it).s_type {
                Type::PHYSICAL_DEVICE_PROPERTIES_2 => {
                    let it = it.cast::<vk::PhysicalDeviceProperties2<'_>>();
                    hide_properties(hidden, &mut (*it).properties);
                }
                Type::PHYSICAL_DEVICE_SUBGROUP_PROPERTIES => {
                    let it = it.cast::<vk::PhysicalDeviceSubgroupProperties<'_>>();
                    leave_out(&mut (*it).supported_stages);
                }
                Type::PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES => {
                    let it = it.cast::<vk::PhysicalDeviceVulkan11Properties<'_>>();
                    leave_out(&mut (*it).subgroup_supported_stages);
                }
                Type::PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES => {
                    let it = it.cast::<vk::PhysicalDeviceSubgroupSizeControlProperties<'_>>();
                    leave_out(&mut (*it).required_subgroup_size_stages);
                }
                Type::PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES => {
                    let it = it.cast::<vk::PhysicalDeviceVulkan13Properties<'_>>();
                    leave_out(&mut (*it).required_subgroup_size_stages);
                }
                Type::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT => {
                    let it = it.cast::<vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'_>>();
                    if hidden.transform_feedback {
                        let p_next = (*it).p_next;
                        *it = vk::PhysicalDeviceTransformFeedbackPropertiesEXT {
                            p_next,
                            ..Default::default()
                        };
                    } else if hidden.geometry {
                        (*it).max_transform_feedback_streams = 1;
                        (*it).transform_feedback_streams_lines_triangles = vk::FALSE;
                        (*it).transform_feedback_rasterization_stream_select = vk::FALSE;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Lists the extensions of a device without what is hidden, for a program that passes a count and perhaps an array.
///
/// # Safety
/// The contract of `vkEnumerateDeviceExtensionProperties`; `all` are those of the layer or driver below.
pub(crate) unsafe fn list(
    hidden: Hidden,
    mut all: Vec<vk::ExtensionProperties>,
    count: *mut u32,
    properties: *mut vk::ExtensionProperties,
) -> vk::Result {
    all.retain(|it| !it.extension_name_as_c_str().is_ok_and(|name| is_hidden(hidden, name)));
    let there_are = u32::try_from(all.len()).unwrap_or(u32::MAX);
    // SAFETY: the caller's contract: there is room for as many as are counted.
    unsafe {
        if properties.is_null() {
            *count = there_are;
            return vk::Result::SUCCESS;
        }
        *count = there_are.min(*count);
        all.as_ptr().copy_to_nonoverlapping(properties, *count as usize);
        if *count < there_are { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
    }
}
