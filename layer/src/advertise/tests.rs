use std::ptr;

use super::*;
use crate::capture_support::tests::{capabilities, driver_support};
use crate::settings::Settings;

fn forced() -> Settings {
    Settings { force_enable: true, ..Settings::default() }
}

fn listed(names: &[&CStr]) -> Vec<vk::ExtensionProperties> {
    let extension =
        |name: &&CStr| vk::ExtensionProperties::default().spec_version(7).extension_name(name);
    names.iter().map(|name| extension(name).unwrap()).collect()
}

fn names(shown: &[vk::ExtensionProperties]) -> Vec<&CStr> {
    shown.iter().map(|extension| extension.extension_name_as_c_str().unwrap()).collect()
}

const ALL: [&CStr; 12] = [
    NAME,
    c"VK_KHR_swapchain",
    c"VK_EXT_buffer_device_address",
    c"VK_EXT_descriptor_buffer",
    c"VK_EXT_descriptor_heap",
    c"VK_EXT_legacy_vertex_attributes",
    c"VK_EXT_primitives_generated_query",
    c"VK_EXT_shader_module_identifier",
    c"VK_EXT_shader_object",
    c"VK_KHR_pipeline_binary",
    c"VK_EXT_of_tomorrow",
    NAME,
];

#[test]
fn an_active_layer_shows_the_extension_once_and_hides_what_does_not_go_with_it() {
    let mut capabilities = capabilities();
    let generated = c"VK_EXT_primitives_generated_query";
    _ = capabilities.extensions.insert(generated.to_owned());
    let active = Activity::of(capabilities.clone(), &Settings::default());
    let shown = super::shown(listed(&ALL), &active, false);
    let expected = [
        c"VK_KHR_swapchain",
        c"VK_EXT_descriptor_buffer",
        c"VK_EXT_descriptor_heap",
        c"VK_EXT_legacy_vertex_attributes",
        c"VK_EXT_primitives_generated_query",
        c"VK_EXT_shader_module_identifier",
        c"VK_EXT_shader_object",
        NAME,
    ];
    assert_eq!(names(&shown), expected);
    assert_eq!(shown[7].spec_version, 1);
    assert_eq!(names(&super::shown(Vec::new(), &active, false)), [NAME]);

    // Where the driver has no queries of generated primitives, the layer has.
    _ = capabilities.extensions.remove(generated);
    let active = Activity::of(capabilities.clone(), &Settings::default());
    assert_eq!(names(&super::shown(Vec::new(), &active, false)), [NAME, generated]);

    // Without device addresses, captures do not conflict with VK_EXT_buffer_device_address.
    capabilities.buffer_device_address = None;
    capabilities.limits.max_descriptor_sets = 5;
    let shown =
        super::shown(listed(&ALL), &Activity::of(capabilities, &Settings::default()), false);
    assert!(names(&shown).contains(&c"VK_EXT_buffer_device_address"));
    assert!(!names(&shown).contains(&c"VK_EXT_descriptor_buffer"));
    assert!(!names(&shown).contains(&c"VK_EXT_descriptor_heap"));
}

#[test]
fn descriptors_that_are_pushed_are_shown() {
    let found = listed(&[c"VK_KHR_push_descriptor", c"VK_KHR_maintenance6"]);
    let shown = super::shown(found, &Activity::of(capabilities(), &Settings::default()), false);
    assert_eq!(names(&shown)[..3], [c"VK_KHR_push_descriptor", c"VK_KHR_maintenance6", NAME]);
}

#[test]
fn a_test_of_passes_shows_the_drivers_own() {
    let forced = Activity::of(capabilities(), &forced());
    let shown = super::shown(listed(&ALL), &forced, true);
    assert_eq!(shown[0].spec_version, 7);
    assert_eq!(names(&shown).iter().filter(|name| **name == NAME).count(), 1);
    assert!(!names(&shown).contains(&c"VK_EXT_of_tomorrow"));
    assert!(!names(&super::shown(listed(&ALL[1..11]), &forced, true)).contains(&NAME));
}

#[test]
fn a_dormant_layer_shows_what_the_driver_has() {
    let mut capabilities = capabilities();
    capabilities.transform_feedback = Some(driver_support());
    let shown =
        super::shown(listed(&ALL), &Activity::of(capabilities, &Settings::default()), false);
    assert_eq!(names(&shown), ALL[..11]);
    let irreplaceable = Activity::Dormant(Reason::Irreplaceable(String::new()));
    assert_eq!(names(&super::shown(listed(&ALL), &irreplaceable, false)), ALL[..11]);
    let incapable = Activity::Dormant(Reason::Incapable(String::new()));
    let shown = super::shown(listed(&ALL), &incapable, false);
    assert_eq!(names(&shown), ALL[1..11]);
}

#[test]
fn only_the_structures_of_the_extension_are_filled_in() {
    let support = CaptureSupport::new(capabilities()).unwrap();
    let mut address = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
    let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
    let features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut provoking)
        .push_next(&mut feedback)
        .push_next(&mut address);
    // SAFETY: the chain is valid.
    unsafe { put_features(features.p_next.cast(), &support) };
    assert_eq!(address.buffer_device_address, vk::FALSE);
    assert_eq!((feedback.transform_feedback, feedback.geometry_streams), (vk::TRUE, vk::TRUE));
    assert_eq!(provoking.transform_feedback_preserves_provoking_vertex, vk::TRUE);
    assert_eq!(provoking.provoking_vertex_last, vk::FALSE);

    let mut behind = vk::PhysicalDeviceProvokingVertexPropertiesEXT::default();
    let mut limits = vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default();
    let mut shaders = vk::PhysicalDeviceShaderObjectPropertiesEXT::default();
    let properties = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut shaders)
        .push_next(&mut behind)
        .push_next(&mut limits);
    // SAFETY: the chain is valid.
    unsafe { put_properties(properties.p_next.cast(), &support) };
    assert_eq!(limits.max_transform_feedback_buffers, 4);
    // The driver's `shaderBinaryUUID` consists of zeros in this test.
    assert_ne!(shaders.shader_binary_uuid, [0; 16]);
    assert!(ptr::eq(limits.p_next.cast_const().cast(), &raw const behind));
    assert_eq!(behind.transform_feedback_preserves_triangle_fan_provoking_vertex, vk::TRUE);
    assert_eq!(behind.provoking_vertex_mode_per_pipeline, vk::FALSE);

    // SAFETY: an empty chain is valid.
    unsafe {
        put_features(ptr::null_mut(), &support);
        put_properties(ptr::null_mut(), &support);
    }
}

/// A device without geometry shaders has only one vertex stream.
#[test]
fn a_device_without_geometry_shaders_has_one_stream() {
    let mut capabilities = capabilities();
    capabilities.geometry_shader = false;
    let support = CaptureSupport::new(capabilities).unwrap();
    let mut feedback =
        vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().geometry_streams(true);
    // SAFETY: the chain is valid.
    unsafe { put_features((&raw mut feedback).cast(), &support) };
    assert_eq!(feedback.geometry_streams, vk::FALSE);
    let properties = support.properties();
    assert_eq!(properties.max_transform_feedback_streams, 1);
    assert_eq!(properties.transform_feedback_streams_lines_triangles, vk::FALSE);
    assert_eq!(properties.transform_feedback_rasterization_stream_select, vk::FALSE);
}

#[test]
fn a_device_without_choice_of_the_provoking_vertex_is_not_told_of_it() {
    let mut capabilities = capabilities();
    capabilities.extensions.clear();
    let support = CaptureSupport::new(capabilities).unwrap();
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
    // SAFETY: the chain is valid.
    unsafe { put_features((&raw mut provoking).cast(), &support) };
    assert_eq!(provoking.transform_feedback_preserves_provoking_vertex, vk::FALSE);
}

/// Where the layer draws geometry shaders, programs see the feature and its limits. Elsewhere they see the driver's.
#[test]
fn geometry_shaders_that_are_drawn_are_reported() {
    let mut capabilities = capabilities();
    capabilities.geometry_shader = false;
    let support = CaptureSupport::new(capabilities).unwrap();
    let (mut features, mut properties) =
        (vk::PhysicalDeviceFeatures::default(), vk::PhysicalDeviceProperties::default());
    features.pipeline_statistics_query = vk::TRUE;
    properties.limits.max_vertex_output_components = 64;
    properties.limits.max_fragment_input_components = 64;
    properties.limits.max_vertex_input_bindings = 16;
    let before = format!("{features:?} {properties:?}");
    put_core_features(&mut features, &support);
    put_core_properties(&mut properties, &support);
    assert_eq!(format!("{features:?} {properties:?}"), before);

    #[cfg(feature = "drawn")]
    {
        let support = crate::capture_support::tests::drawing();
        put_core_features(&mut features, &support);
        put_core_properties(&mut properties, &support);
        assert_eq!(features.geometry_shader, vk::TRUE);
        assert_eq!(features.shader_tessellation_and_geometry_point_size, vk::TRUE);
        assert_eq!(features.pipeline_statistics_query, vk::FALSE);
        assert_eq!(properties.limits.max_geometry_output_components, 60);
        assert_eq!(properties.limits.max_vertex_input_bindings, 15);
        let properties = support.properties();
        assert_eq!(properties.max_transform_feedback_streams, 1);
    }
}
