//! Formats for which a device reports `VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT`: each is decoded, or
//! refused with an error that names it. The Vulkan layer reports the bit only for formats that are
//! decoded.

use ash::{ext, khr, vk};
use vkxfb::vertex_input::VertexFormat;

use crate::common::{layer, portability};

/// Returns all formats that `ash` knows by name. Numbers of extensions begin at 10^9, in blocks of
/// 1000.
fn known() -> impl Iterator<Item = vk::Format> {
    let of_extensions = (0..600).flat_map(|extension| {
        let first = 1_000_000_000 + extension * 1000;
        first..first + 64
    });
    let all = (1..=184).chain(of_extensions).map(vk::Format::from_raw);
    all.filter(|format| format!("{format:?}").parse::<i32>().is_err())
}

/// Returns the formats for which each of the commands reports the bit.
fn reported() -> Vec<vk::Format> {
    // SAFETY: everything is used as Vulkan requires, and destroyed.
    unsafe {
        let entry = ash::Entry::load().unwrap();
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let (flags, mut names) = portability::enumeration(&entry).unwrap();
        names.push(khr::get_physical_device_properties2::NAME.as_ptr());
        let info = vk::InstanceCreateInfo::default().flags(flags);
        let info = info.application_info(&app).enabled_extension_names(&names);
        let instance = entry.create_instance(&info, None).unwrap();
        let device = instance.enumerate_physical_devices().unwrap()[0];
        let has_properties3 =
            instance.get_physical_device_properties(device).api_version >= vk::API_VERSION_1_3;
        let by_extension = khr::get_physical_device_properties2::Instance::new(&entry, &instance);
        let found = known().filter(|format| {
            let bit = vk::FormatFeatureFlags::VERTEX_BUFFER;
            let properties = instance.get_physical_device_format_properties(device, *format);
            let has_bit = properties.buffer_features.contains(bit);
            let ask = |ask: &dyn Fn(&mut vk::FormatProperties2<'_>)| {
                let mut properties3 = vk::FormatProperties3::default();
                let mut properties2 = vk::FormatProperties2::default().push_next(&mut properties3);
                ask(&mut properties2);
                let core = properties2.format_properties;
                assert_eq!(core.buffer_features, properties.buffer_features, "{format:?}");
                assert_eq!(core.linear_tiling_features, properties.linear_tiling_features);
                assert_eq!(core.optimal_tiling_features, properties.optimal_tiling_features);
                if has_properties3 {
                    let bit = vk::FormatFeatureFlags2::VERTEX_BUFFER;
                    assert_eq!(properties3.buffer_features.contains(bit), has_bit, "{format:?}");
                }
            };
            ask(&|p| instance.get_physical_device_format_properties2(device, *format, p));
            ask(&|p| by_extension.get_physical_device_format_properties2(device, *format, p));
            has_bit
        });
        let found = found.collect();
        if layer::is_there() {
            // Layers say by whom captures are when a device is created.
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let names = [ext::transform_feedback::NAME.as_ptr()];
            let mut feature =
                vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let info = info.enabled_extension_names(&names).push_next(&mut feature);
            instance.create_device(device, &info, None).unwrap().destroy_device(None);
        }
        instance.destroy_instance(None);
        found
    }
}

#[test]
fn formats_that_are_reported_are_decoded_or_named() {
    let reported = reported();
    // The specification requires more.
    assert!(reported.len() > 20, "{reported:?}");
    for format in reported {
        match VertexFormat::try_from(format) {
            Ok(decoded) => assert_eq!(vk::Format::from(decoded), format),
            Err(error) => {
                assert!(!layer::is_there(), "the layer reports {format:?}: {error}");
                assert!(error.to_string().contains(&format!("{format:?}")), "{format:?}: {error}");
                eprintln!("{format:?}: {error}");
            }
        }
    }
}

#[test]
fn formats_that_the_layer_reports_are_decoded() {
    layer::run_on_it(formats_that_are_reported_are_decoded_or_named, &[]);
}
