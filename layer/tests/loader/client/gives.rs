//! A program that enables transform feedback.

use std::ffi::CStr;
use std::ptr;

use ash::{Entry, Instance, ext, khr, vk};
use serde_json::{Value, json};

use super::names;
use crate::portability;

/// Queries everything about the extension, and creates devices with and without it. Returns a
/// report.
pub fn sees_the_extension(api_version: u32) -> Value {
    // SAFETY: everything is used as Vulkan requires, and destroyed.
    unsafe {
        let entry = Entry::load().unwrap();
        let app = vk::ApplicationInfo::default().api_version(api_version);
        let (flags, mut enabled_names) = portability::enumeration(&entry).unwrap();
        if api_version < vk::API_VERSION_1_1 {
            enabled_names.push(khr::get_physical_device_properties2::NAME.as_ptr());
        }
        let info = vk::InstanceCreateInfo::default().flags(flags).application_info(&app);
        let instance =
            entry.create_instance(&info.enabled_extension_names(&enabled_names), None).unwrap();
        let device = instance.enumerate_physical_devices().unwrap()[0];
        let extensions = extensions(&instance, device);
        let (features, properties) = asks(&entry, &instance, api_version, device);

        let feedback = ext::transform_feedback::NAME;
        let enabled =
            || vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let create = |extensions: &[&CStr], info: vk::DeviceCreateInfo<'_>| {
            create_device(&instance, device, extensions, info)
        };
        let plain = vk::DeviceCreateInfo::default;
        let mut alone = enabled();
        let mut together = enabled();
        let mut told = enabled();
        // The layer does not report these features. Programs may enable `geometryStreams`
        // nevertheless.
        let mut streams =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().geometry_streams(true);
        let mut inherited = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default()
            .inherited_conditional_rendering(true);
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut captures = plain().push_next(&mut alone);
        if api_version >= vk::API_VERSION_1_2 {
            captures = plain().push_next(&mut together).push_next(&mut vulkan12);
        }
        let report = json!({
            "extensions": names(&extensions),
            "features": features,
            "properties": properties,
            "external": external_buffer(&instance, api_version, device),
            "captures": create(&[feedback], captures),
            "without the feature": create(&[feedback], plain()),
            "without the extension": create(&[], plain()),
            // Some programs enable all features that are reported, but not the extension that they
            // belong to. That is invalid, so the validation layer must not see it.
            "told": match std::env::var("VK_INSTANCE_LAYERS").unwrap().contains("KHRONOS") {
                true => create(&[], plain()),
                false => create(&[], plain().push_next(&mut told)),
            },
            "streams": create(&[feedback], plain().push_next(&mut streams)),
            "inherited": create(&[ext::conditional_rendering::NAME], plain().push_next(&mut inherited)),
            "hidden": create(&[c"VK_KHR_pipeline_binary"], plain()),
            "unknown": create(&[c"VK_EXT_of_tomorrow"], plain()),
        });
        instance.destroy_instance(None);
        report
    }
}

/// Returns the extensions of a device. Also tests the enumeration with too little memory.
///
/// # Safety
/// Vulkan's contract.
unsafe fn extensions(
    instance: &Instance,
    device: vk::PhysicalDevice,
) -> Vec<vk::ExtensionProperties> {
    let call = |count: &mut u32, room: *mut vk::ExtensionProperties| {
        let enumerate = instance.fp_v1_0().enumerate_device_extension_properties;
        unsafe { enumerate(device, ptr::null(), count, room) }
    };
    let mut all = 0;
    assert_eq!(call(&mut all, ptr::null_mut()), vk::Result::SUCCESS);
    let mut found = Vec::new();
    for room in [0, 1, all - 1, all + 1, all] {
        found = vec![vk::ExtensionProperties::default(); room as usize + 1];
        let mut count = room;
        let result = call(&mut count, found.as_mut_ptr());
        assert_eq!(count, all.min(room));
        let expected = if room < all { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS };
        assert_eq!(result, expected, "room for {room} of {all}");
        assert_eq!(found[count as usize].extension_name_as_c_str(), Ok(c""));
        found.truncate(count as usize);
    }
    found
}

/// Returns the features and properties of the extension, and those of VK_EXT_provoking_vertex.
///
/// # Safety
/// Vulkan's contract.
unsafe fn asks(
    entry: &Entry,
    instance: &Instance,
    api_version: u32,
    device: vk::PhysicalDevice,
) -> (Value, Value) {
    let mut preserves = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
    let mut feedback =
        vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().geometry_streams(true);
    let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default();
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut feedback)
        .push_next(&mut preserves)
        .push_next(&mut conditional);
    let mut fans = vk::PhysicalDeviceProvokingVertexPropertiesEXT::default();
    let mut limits = vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default();
    let mut properties =
        vk::PhysicalDeviceProperties2::default().push_next(&mut limits).push_next(&mut fans);
    // SAFETY: the caller's contract; lavapipe has the extensions of the structures.
    unsafe {
        if api_version >= vk::API_VERSION_1_1 {
            instance.get_physical_device_features2(device, &mut features);
            instance.get_physical_device_properties2(device, &mut properties);
        } else {
            let khr = khr::get_physical_device_properties2::Instance::new(entry, instance);
            khr.get_physical_device_features2(device, &mut features);
            khr.get_physical_device_properties2(device, &mut properties);
        }
    }
    let features = json!([
        feedback.transform_feedback,
        feedback.geometry_streams,
        preserves.transform_feedback_preserves_provoking_vertex,
        conditional.conditional_rendering,
        conditional.inherited_conditional_rendering,
    ]);
    let properties = json!([
        limits.max_transform_feedback_streams,
        limits.max_transform_feedback_buffers,
        limits.max_transform_feedback_buffer_size,
        limits.max_transform_feedback_stream_data_size,
        limits.max_transform_feedback_buffer_data_size,
        limits.max_transform_feedback_buffer_data_stride,
        limits.transform_feedback_queries,
        limits.transform_feedback_streams_lines_triangles,
        limits.transform_feedback_rasterization_stream_select,
        limits.transform_feedback_draw,
        fans.transform_feedback_preserves_triangle_fan_provoking_vertex,
    ]);
    (features, properties)
}

/// Returns the compatible handle types of capture buffers with external memory. Vulkan 1.0 has no
/// such query; then the result is 0.
///
/// # Safety
/// Vulkan's contract.
unsafe fn external_buffer(
    instance: &Instance,
    api_version: u32,
    device: vk::PhysicalDevice,
) -> Value {
    let info = vk::PhysicalDeviceExternalBufferInfo::default()
        .usage(vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT)
        .handle_type(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD);
    let mut properties = vk::ExternalBufferProperties::default();
    if api_version >= vk::API_VERSION_1_1 {
        unsafe {
            instance.get_physical_device_external_buffer_properties(device, &info, &mut properties);
        }
    }
    json!(properties.external_memory_properties.compatible_handle_types.as_raw())
}

/// Creates a device. Reports whether it has a core command, and how many commands of the extension.
/// If the creation fails, reports the error.
///
/// # Safety
/// Vulkan's contract, except for the enabled features.
unsafe fn create_device(
    instance: &Instance,
    device: vk::PhysicalDevice,
    extensions: &[&CStr],
    info: vk::DeviceCreateInfo<'_>,
) -> Value {
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let info = info.queue_create_infos(&queues).enabled_extension_names(&names);
    unsafe {
        let device = match instance.create_device(device, &info, None) {
            Ok(device) => device,
            Err(error) => return json!(format!("{error:?}")),
        };
        let has =
            |name: &CStr| instance.get_device_proc_addr(device.handle(), name.as_ptr()).is_some();
        let commands = [
            c"vkCmdBeginQueryIndexedEXT",
            c"vkCmdBeginTransformFeedbackEXT",
            c"vkCmdBindTransformFeedbackBuffersEXT",
            c"vkCmdDrawIndirectByteCountEXT",
            c"vkCmdEndQueryIndexedEXT",
            c"vkCmdEndTransformFeedbackEXT",
        ];
        let found = commands.into_iter().filter(|name| has(name)).count();
        let report = json!([has(c"vkCmdDraw"), found]);
        device.device_wait_idle().unwrap();
        device.destroy_device(None);
        report
    }
}
