use vkxfb::runtime::{AddressSource, Limits, TransformFeedbackSupport};

use super::*;

/// Returns the capabilities of a device of Vulkan 1.3 that has buffer device addresses and no
/// transform feedback.
pub(crate) fn capabilities() -> Capabilities {
    let mut limits = Limits::default();
    limits.max_workgroups = [65535; 3];
    limits.max_workgroup_size = [256; 3];
    limits.max_workgroup_invocations = 256;
    limits.max_shared_memory = 16 << 10;
    limits.max_push_constants = 128;
    limits.max_descriptor_sets = 4;
    limits.max_vertex_attributes = 16;
    limits.max_vertex_bindings = 16;
    limits.max_vertex_attribute_offset = 2047;
    limits.max_vertex_binding_stride = 2048;
    limits.max_vertex_output_components = 64;
    limits.non_coherent_atom = 64;
    limits.max_storage_buffers = 16;
    limits.max_storage_buffer_range = 1 << 27;
    limits.min_storage_buffer_offset_alignment = 16;
    limits.max_draw_indirect_count = 1;
    let mut capabilities = Capabilities::default();
    capabilities.device_name = "Test".to_owned();
    capabilities.api_version = vk::API_VERSION_1_3;
    capabilities.device_api_version = vk::API_VERSION_1_3;
    capabilities.extensions = [ash::ext::provoking_vertex::NAME.to_owned()].into();
    capabilities.buffer_device_address = Some(AddressSource::Core);
    capabilities.storage_buffer_indexing = true;
    capabilities.multi_draw_indirect = true;
    capabilities.geometry_shader = true;
    capabilities.vertex_stores = true;
    capabilities.shader_int64 = true;
    capabilities.byte_loads = true;
    capabilities.shader_float64 = true;
    capabilities.shader_clip_distance = true;
    capabilities.shader_cull_distance = true;
    capabilities.shader_draw_parameters = true;
    capabilities.dynamic_rendering = true;
    capabilities.synchronization2 = true;
    capabilities.limits = limits;
    capabilities
}

/// Returns the transform feedback capabilities of a driver with a complete extension.
pub(crate) fn driver_support() -> TransformFeedbackSupport {
    let mut support = TransformFeedbackSupport::default();
    support.geometry_streams = true;
    support.max_streams = 4;
    support.max_buffers = 4;
    support.max_buffer_size = u64::from(u32::MAX);
    support.max_stream_data_size = 512;
    support.max_buffer_data_size = 512;
    support.max_buffer_data_stride = 512;
    support.queries = true;
    support.streams_lines_triangles = true;
    support.rasterization_stream_select = true;
    support.draw = true;
    support
}

/// The properties are at least the minimum values that the specification requires.
#[test]
fn properties_are_at_least_what_is_required() {
    for (addresses, size) in [(Some(AddressSource::Core), MAX_BUFFER_SIZE), (None, 1 << 27)] {
        let mut capabilities = capabilities();
        capabilities.buffer_device_address = addresses;
        let properties = CaptureSupport::new(capabilities).unwrap().properties();
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
    let properties = CaptureSupport::new(capabilities).unwrap().properties();
    assert_eq!(properties.transform_feedback_draw, vk::FALSE);
}

/// The layer draws geometry shaders only if the user asks for it, the driver lacks them, and captures have addresses.
#[test]
fn geometry_shaders_are_drawn_where_they_are_missing() {
    for bits in 0..8 {
        let [is_asked, has_geometry, has_addresses] = [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
        let mut capabilities = capabilities();
        capabilities.geometry_shader = has_geometry;
        if !has_addresses {
            capabilities.buffer_device_address = None;
        }
        let mut support = CaptureSupport::new(capabilities).unwrap();
        assert!(!support.draws_geometry());
        support.set_draw_stages(is_asked);
        let expected = cfg!(feature = "drawn") && is_asked && !has_geometry && has_addresses;
        assert_eq!(support.draws_geometry(), expected);
        // Streams are only those of the driver's geometry shaders.
        assert_eq!(support.has_streams(), has_geometry);
    }
}

/// Returns the capture support of a device without geometry shaders, which the layer draws there.
#[cfg(feature = "drawn")]
pub(crate) fn drawing() -> CaptureSupport {
    let mut capabilities = capabilities();
    capabilities.geometry_shader = false;
    let mut support = CaptureSupport::new(capabilities).unwrap();
    support.set_draw_stages(true);
    support
}
