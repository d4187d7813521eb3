//! A program that does not know the layer. It is a test that other tests start as a process, with a role in an environment
//! variable. Without a role it does nothing.

use ash::{Entry, ext, vk};
use serde_json::{Value, json};

use crate::device::{Program, create_instance};
use crate::violations;

/// The name of the test below.
pub const TEST: &str = "client::plays_its_role";
/// The environment variable that contains the role.
pub const ROLE: &str = "VKXFB_TEST_ROLE";
/// The beginning of the line of output that contains the report.
pub const REPORT: &str = "report: ";
/// The extensions that may be hidden.
pub const CAPTURES: [&str; 2] = ["VK_EXT_transform_feedback", "VK_EXT_primitives_generated_query"];

#[test]
#[ignore = "it is run by the other tests"]
fn plays_its_role() {
    let report = match std::env::var(ROLE).as_deref() {
        Ok("looks") => looks_around(),
        Ok("fails") => {
            // SAFETY: the loader is one.
            let entry = unsafe { Entry::load() }.unwrap();
            json!(format!("{:?}", create_instance(&entry).map(|_| ()).unwrap_err()))
        }
        Ok("draws") => json!(Program::new().draw()),
        Ok("violates") => json!(violations::commit(&Program::new())),
        Ok("tries") => json!(violations::try_some(&Program::new())),
        _ => return,
    };
    println!("\n{REPORT}{report}");
}

/// Checks that everything that the tests need is installed. The error names what is missing.
pub fn survey() -> Result<(), String> {
    // SAFETY: the loader is one, and what is created is destroyed.
    unsafe {
        let entry = Entry::load().map_err(|error| format!("no Vulkan loader: {error}"))?;
        let instance = create_instance(&entry).map_err(|e| format!("no Vulkan instance: {e}"))?;
        let devices = instance.enumerate_physical_devices().unwrap_or_default();
        instance.destroy_instance(None);
        if devices.is_empty() { Err("no Vulkan device".to_owned()) } else { Ok(()) }
    }
}

/// Reports what a device offers, in numbers which are 0 where all is hidden.
fn looks_around() -> Value {
    // SAFETY: the device is of the instance, which is destroyed at last.
    unsafe {
        let entry = Entry::load().unwrap();
        let instance = create_instance(&entry).unwrap();
        let device = instance.enumerate_physical_devices().unwrap()[0];
        let mut streams = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
        let mut multiview = vk::PhysicalDeviceMultiviewFeatures::default();
        let mut all = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut streams)
            .push_next(&mut generated)
            .push_next(&mut multiview);
        instance.get_physical_device_features2(device, &mut all);
        let mut features = instance.get_physical_device_features(device);
        assert_eq!(format!("{features:?}"), format!("{:?}", all.features));
        let mut vulkan_11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut vulkan_11);
        instance.get_physical_device_features2(device, &mut all);
        let own_features =
            [features.geometry_shader, features.shader_tessellation_and_geometry_point_size];
        features.geometry_shader = vk::FALSE;
        features.shader_tessellation_and_geometry_point_size = vk::FALSE;

        let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut all = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut subgroups)
            .push_next(&mut sizes);
        instance.get_physical_device_properties2(device, &mut all);
        let more = all.properties.limits;
        let mut limits = instance.get_physical_device_properties(device).limits;
        assert_eq!(format!("{limits:?}"), format!("{more:?}"));
        let own_limits = [
            &mut limits.max_geometry_shader_invocations,
            &mut limits.max_geometry_input_components,
            &mut limits.max_geometry_output_components,
            &mut limits.max_geometry_output_vertices,
            &mut limits.max_geometry_total_output_components,
        ]
        .map(std::mem::take);
        let stages = [subgroups.supported_stages, sizes.required_subgroup_size_stages]
            .map(|stages| (stages & vk::ShaderStageFlags::GEOMETRY).as_raw());
        let extensions = instance.enumerate_device_extension_properties(device).unwrap();
        let names: Vec<_> = extensions
            .iter()
            .map(|it| it.extension_name_as_c_str().unwrap().to_str().unwrap())
            .collect();
        let has_captures = names.contains(&ext::transform_feedback::NAME.to_str().unwrap());
        assert!(has_captures || streams.transform_feedback == vk::FALSE);
        let report = json!({
            "features": own_features,
            "other features": format!("{features:?}"),
            "limits": own_limits,
            "other limits": format!("{limits:?}"),
            "multiview": [multiview.multiview_geometry_shader, vulkan_11.multiview_geometry_shader],
            "streams": [
                streams.geometry_streams,
                generated.primitives_generated_query_with_non_zero_streams,
            ],
            "stages": stages,
            "extensions": names,
            "transform feedback": streams.transform_feedback | generated.primitives_generated_query,
        });
        instance.destroy_instance(None);
        report
    }
}
