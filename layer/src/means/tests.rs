use vkxfb::runtime::{AddressSource, Limits, TransformFeedbackSupport};

use super::*;

/// A device of Vulkan 1.3 that has addresses, and no transform feedback.
pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        device_name: "Test".to_owned(),
        driver_id: vk::DriverId::from_raw(0),
        driver_name: String::new(),
        driver_info: String::new(),
        api_version: vk::API_VERSION_1_3,
        device_api_version: vk::API_VERSION_1_3,
        driver_version: 0,
        vendor_id: 0,
        device_id: 0,
        device_type: vk::PhysicalDeviceType::OTHER,
        extensions: [ash::ext::provoking_vertex::NAME.to_owned()].into(),
        transform_feedback: None,
        provoking_vertex: None,
        vertex_divisor: None,
        buffer_device_address: Some(AddressSource::Core),
        storage_buffer_indexing: true,
        multi_draw_indirect: true,
        geometry_shader: true,
        vertex_stores: true,
        shader_int64: true,
        byte_loads: true,
        shader_float64: true,
        shader_clip_distance: true,
        shader_cull_distance: true,
        shader_draw_parameters: true,
        dynamic_rendering: true,
        synchronization2: true,
        restricted: false,
        limits: Limits {
            max_workgroups: [65535; 3],
            max_workgroup_size: [256; 3],
            max_workgroup_invocations: 256,
            max_shared_memory: 16 << 10,
            max_push_constants: 128,
            max_descriptor_sets: 4,
            max_vertex_attributes: 16,
            max_vertex_bindings: 16,
            max_vertex_attribute_offset: 2047,
            max_vertex_binding_stride: 2048,
            max_vertex_output_components: 64,
            non_coherent_atom: 64,
            max_storage_buffers: 16,
            max_storage_buffer_range: 1 << 27,
            min_storage_buffer_offset_alignment: 16,
            max_draw_indirect_count: 1,
        },
    }
}

/// Transform feedback of a driver.
pub(crate) fn support() -> TransformFeedbackSupport {
    TransformFeedbackSupport {
        geometry_streams: true,
        max_streams: 4,
        max_buffers: 4,
        max_buffer_size: u64::from(u32::MAX),
        max_stream_data_size: 512,
        max_buffer_data_size: 512,
        max_buffer_data_stride: 512,
        queries: true,
        streams_lines_triangles: true,
        rasterization_stream_select: true,
        draw: true,
    }
}

/// The specification requires these minimum values.
#[test]
fn properties_are_at_least_what_is_required() {
    for (addresses, size) in [(Some(AddressSource::Core), MAX_BUFFER_SIZE), (None, 1 << 27)] {
        let mut capabilities = capabilities();
        capabilities.buffer_device_address = addresses;
        let properties = Means::new(capabilities).unwrap().properties();
        assert!(properties.max_transform_feedback_streams >= 1);
        assert!(properties.max_transform_feedback_buffers >= 1);
        assert_eq!(properties.max_transform_feedback_buffer_size, size);
        assert!(size >= 1 << 27);
        assert!(properties.max_transform_feedback_stream_data_size >= 512);
        assert!(properties.max_transform_feedback_buffer_data_size >= 512);
        assert!(properties.max_transform_feedback_buffer_data_stride >= 512);
        assert_eq!(properties.transform_feedback_queries, vk::TRUE);
        assert_eq!(properties.transform_feedback_draw, vk::TRUE);
    }
}

#[test]
fn byte_counts_are_not_drawn_where_indirect_draws_do_nothing() {
    let mut capabilities = capabilities();
    capabilities.driver_id = vk::DriverId::MESA_PANVK;
    capabilities.driver_version = vk::make_api_version(0, 25, 0, 0);
    let properties = Means::new(capabilities).unwrap().properties();
    assert_eq!(properties.transform_feedback_draw, vk::FALSE);
}
