//! The features and limits that programs see where the layer draws geometry shaders.

use ash::vk;

/// The most components of a vertex that a geometry shader emits. Captures and drawn shaders are tested with no more.
const MAX_OUTPUT_COMPONENTS: u32 = 128;

/// The components that drawn shaders pass to fragment shaders for themselves: one vector, in which the built-in inputs are
/// that a vertex shader cannot write, such as `PrimitiveId`.
const OWN_COMPONENTS: u32 = 4;

/// Changes the features that a program queries, after the driver has reported its own.
///
/// Where the driver has tessellation shaders, `shaderTessellationAndGeometryPointSize` stays the driver's, because that
/// feature is also about them. Otherwise the layer gives it: it is about geometry shaders alone, and vertex shaders may
/// always write `PointSize`. Pipeline statistics are not supported, because the driver would count what the layer draws with.
pub(crate) const fn report(features: &mut vk::PhysicalDeviceFeatures) {
    features.geometry_shader = vk::TRUE;
    if features.tessellation_shader == vk::FALSE {
        features.shader_tessellation_and_geometry_point_size = vk::TRUE;
    }
    features.pipeline_statistics_query = vk::FALSE;
}

/// Whether a program enables a feature that only the layer gives, so that the driver must not see it. See [`report`].
pub(crate) const fn enables_ours(features: &vk::PhysicalDeviceFeatures) -> bool {
    features.geometry_shader == vk::TRUE || enables_our_point_size(features)
}

const fn enables_our_point_size(features: &vk::PhysicalDeviceFeatures) -> bool {
    features.shader_tessellation_and_geometry_point_size == vk::TRUE
        && features.tessellation_shader == vk::FALSE
}

/// Removes the features that only the layer gives from those that a program enables.
pub(crate) const fn remove_ours(features: &mut vk::PhysicalDeviceFeatures) {
    features.geometry_shader = vk::FALSE;
    if enables_our_point_size(features) {
        features.shader_tessellation_and_geometry_point_size = vk::FALSE;
    }
}

/// Changes the limits that a program queries, after the driver has reported its own.
///
/// The limits of geometry shaders are those that common drivers have. The outputs are vertex shader outputs of the driver,
/// which fragment shaders read. The last vertex input binding is the layer's: by it drawn shaders get their parameters. So a
/// driver with the least number of bindings (16) seems to have one less than Vulkan requires.
pub(crate) fn report_limits(limits: &mut vk::PhysicalDeviceLimits) {
    let outputs = limits.max_vertex_output_components.min(limits.max_fragment_input_components);
    limits.max_geometry_shader_invocations = 32;
    limits.max_geometry_input_components = 128;
    limits.max_geometry_output_components =
        outputs.saturating_sub(OWN_COMPONENTS).min(MAX_OUTPUT_COMPONENTS);
    limits.max_geometry_output_vertices = 256;
    limits.max_geometry_total_output_components = 1024;
    limits.max_vertex_input_bindings = limits.max_vertex_input_bindings.saturating_sub(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_those_of_geometry_shaders() {
        let mut features =
            vk::PhysicalDeviceFeatures::default().wide_lines(true).pipeline_statistics_query(true);
        report(&mut features);
        let expected = vk::PhysicalDeviceFeatures::default()
            .wide_lines(true)
            .geometry_shader(true)
            .shader_tessellation_and_geometry_point_size(true);
        assert_eq!(format!("{features:?}"), format!("{expected:?}"));
        assert!(enables_ours(&features));
        remove_ours(&mut features);
        let expected = vk::PhysicalDeviceFeatures::default().wide_lines(true);
        assert_eq!(format!("{features:?}"), format!("{expected:?}"));
        assert!(!enables_ours(&features));
    }

    /// Point sizes of tessellation shaders are the driver's.
    #[test]
    fn point_sizes_of_tessellation_shaders_stay() {
        for has_sizes in [false, true] {
            let driver = vk::PhysicalDeviceFeatures::default()
                .tessellation_shader(true)
                .shader_tessellation_and_geometry_point_size(has_sizes);
            let mut features = driver;
            report(&mut features);
            assert_eq!(features.geometry_shader, vk::TRUE);
            remove_ours(&mut features);
            assert_eq!(format!("{features:?}"), format!("{driver:?}"));
            assert!(!enables_ours(&features));
        }
    }

    #[test]
    fn limits_are_those_of_vertex_shaders() {
        for (vertex, fragment, expected) in
            [(128, 128, 124), (64, 128, 60), (128, 60, 56), (256, 256, 128), (2, 2, 0)]
        {
            let mut limits = vk::PhysicalDeviceLimits {
                max_vertex_output_components: vertex,
                max_fragment_input_components: fragment,
                max_vertex_input_bindings: 32,
                max_vertex_input_attributes: 30,
                ..Default::default()
            };
            report_limits(&mut limits);
            assert_eq!(limits.max_geometry_output_components, expected);
            assert_eq!(limits.max_geometry_shader_invocations, 32);
            assert_eq!(limits.max_geometry_input_components, 128);
            assert_eq!(limits.max_geometry_output_vertices, 256);
            assert_eq!(limits.max_geometry_total_output_components, 1024);
            assert_eq!(limits.max_vertex_input_bindings, 31);
            assert_eq!(limits.max_vertex_input_attributes, 30);
            assert_eq!(limits.max_vertex_output_components, vertex);
        }
    }
}
