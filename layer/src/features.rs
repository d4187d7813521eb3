//! Has the features for which programs get the layer's values instead of the driver's.

use std::ffi::c_void;
use std::ptr::NonNull;

use ash::ext;

use crate::capture_support::CaptureSupport;
use crate::chain;
use crate::drawn;
use crate::error::Error;
use crate::registry::vk;

/// A feature in a structure of a `pNext` chain, with the value that the layer gives it.
struct Feature {
    /// The name of the feature in Vulkan.
    name: &'static str,
    /// The address of the feature's member in the structure.
    place: *mut vk::Bool32,
    /// The value that programs see.
    reported: bool,
    /// Whether programs may enable the feature even if it is not reported.
    is_tolerated: bool,
}

/// Returns the features of a structure for which the layer reports its own values.
fn features_of(
    structure: NonNull<vk::BaseInStructure<'_>>,
    support: &CaptureSupport,
) -> Vec<Feature> {
    use vk::StructureType as Type;
    macro_rules! feature {
        ($name:literal $ty:ty: $member:ident $reported:expr) => {{
            let structure = structure.cast::<$ty>().as_ptr();
            // SAFETY: the caller found a structure of that type. This only computes an address.
            let place = unsafe { &raw mut (*structure).$member };
            Feature { name: $name, place, reported: $reported, is_tolerated: false }
        }};
    }
    // SAFETY: every structure of a chain begins with its type.
    match unsafe { structure.as_ref() }.s_type {
        Type::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT => vec![
            feature!(
                "transformFeedback"
                vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'_>: transform_feedback true
            ),
            Feature {
                // DXVK 1.10 to 2.6 enable this feature without a query.
                is_tolerated: true,
                ..feature!(
                    "geometryStreams"
                    vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'_>: geometry_streams support.has_streams()
                )
            },
        ],
        // The driver need not support the last of these features: the layer counts the primitives of streams other than
        // 0. Of a driver without the extension it counts all.
        Type::PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT => {
            let mut features = vec![feature!(
                "primitivesGeneratedQueryWithNonZeroStreams"
                vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT<'_>:
                primitives_generated_query_with_non_zero_streams support.has_streams()
            )];
            if support.gives_generated_queries() {
                features.extend([
                    feature!(
                        "primitivesGeneratedQuery"
                        vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT<'_>:
                        primitives_generated_query true
                    ),
                    feature!(
                        "primitivesGeneratedQueryWithRasterizerDiscard"
                        vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT<'_>:
                        primitives_generated_query_with_rasterizer_discard true
                    ),
                ]);
            }
            features
        }
        // Not supported: a secondary command buffer does not know the predicate that it inherits,
        // so captures in it could not obey the predicate.
        Type::PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT => vec![feature!(
            "inheritedConditionalRendering"
            vk::PhysicalDeviceConditionalRenderingFeaturesEXT<'_>: inherited_conditional_rendering false
        )],
        // The layer reports this feature whatever the driver reports: for each provoking vertex mode, captures write
        // vertices in the order that the specification defines.
        Type::PHYSICAL_DEVICE_PROVOKING_VERTEX_FEATURES_EXT
            if support.capabilities.extensions.contains(ext::provoking_vertex::NAME) =>
        {
            vec![feature!(
                "transformFeedbackPreservesProvokingVertex"
                vk::PhysicalDeviceProvokingVertexFeaturesEXT<'_>:
                transform_feedback_preserves_provoking_vertex true
            )]
        }
        // Not supported: the driver's geometry shaders emit to the vertex stream that the pipeline
        // rasterizes, which is fixed when the pipeline is created.
        Type::PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT => vec![feature!(
            "extendedDynamicState3RasterizationStream"
            vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT<'_>:
            extended_dynamic_state3_rasterization_stream false
        )],
        // Not supported: captures read pushed descriptors from descriptor sets, which cannot be
        // used together with descriptor buffers.
        Type::PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT => vec![feature!(
            "descriptorBufferPushDescriptors"
            vk::PhysicalDeviceDescriptorBufferFeaturesEXT<'_>:
            descriptor_buffer_push_descriptors false
        )],
        // Not supported: the pipelines that the layer draws are not tested with several views. (No driver without
        // geometry shaders should report these.)
        Type::PHYSICAL_DEVICE_MULTIVIEW_FEATURES if support.draws_geometry() => vec![feature!(
            "multiviewGeometryShader"
            vk::PhysicalDeviceMultiviewFeatures<'_>: multiview_geometry_shader false
        )],
        Type::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES if support.draws_geometry() => vec![feature!(
            "multiviewGeometryShader"
            vk::PhysicalDeviceVulkan11Features<'_>: multiview_geometry_shader false
        )],
        s_type if s_type == <Generated as vk::TaggedStructure>::STRUCTURE_TYPE => {
            // Not supported: without a pipeline layout, captures would not know which push
            // constants and descriptors the generated commands set.
            vec![feature!(
                "dynamicGeneratedPipelineLayout" Generated: dynamic_generated_pipeline_layout false
            )]
        }
        _ => Vec::new(),
    }
}

/// Changes the features of Vulkan 1.0 that a program queries, after the layer or driver below has filled them in.
pub(crate) const fn put_core_features(
    features: &mut vk::PhysicalDeviceFeatures,
    support: &CaptureSupport,
) {
    if support.draws_geometry() {
        drawn::features::report(features);
    }
}

type Generated = vk::PhysicalDeviceDeviceGeneratedCommandsFeaturesEXT;

/// Changes the features that a program queries, after the layer or driver below has filled them in.
///
/// # Safety
/// The chain is valid, and may be written.
pub(crate) unsafe fn put_features(chain: *mut vk::BaseOutStructure<'_>, support: &CaptureSupport) {
    for structure in unsafe { chain::structures(chain.cast_const().cast()) } {
        for feature in features_of(structure, support) {
            unsafe { feature.place.write(feature.reported.into()) };
        }
    }
}

/// Checks the features for which the layer reports its own values. Of these, a program may enable only [those that are
/// reported](https://docs.vulkan.org/refpages/latest/refpages/source/vkCreateDevice.html) and those that
/// existing programs enable without asking (`is_tolerated`).
///
/// # Errors
/// [`Error::Feature`] with the first feature that the program must not enable.
///
/// # Safety
/// The chain is that of a valid `VkDeviceCreateInfo`.
pub(crate) unsafe fn check_features(
    chain: *const c_void,
    support: &CaptureSupport,
) -> Result<(), Error> {
    let all = unsafe { chain::structures(chain) };
    let mut refused = all.flat_map(|structure| features_of(structure, support)).filter(|feature| {
        let is_enabled = unsafe { feature.place.read() } != vk::FALSE;
        is_enabled && !feature.reported && !feature.is_tolerated
    });
    refused.next().map_or(Ok(()), |feature| Err(Error::Feature(feature.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture_support::tests::capabilities;

    /// The layer has all queries of generated primitives where the driver has none, and otherwise those of streams.
    #[test]
    fn queries_of_generated_primitives_are_reported() {
        for (has_queries, has_geometry) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut capabilities = capabilities();
            capabilities.geometry_shader = has_geometry;
            if has_queries {
                let name = ash::ext::primitives_generated_query::NAME;
                _ = capabilities.extensions.insert(name.to_owned());
            }
            let support = CaptureSupport::new(capabilities).unwrap();
            let mut queries = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
            assert_ne!(support.gives_structure(queries.s_type), has_queries);
            // SAFETY: the chain is valid.
            unsafe { put_features((&raw mut queries).cast(), &support) };
            let found = [
                queries.primitives_generated_query,
                queries.primitives_generated_query_with_rasterizer_discard,
                queries.primitives_generated_query_with_non_zero_streams,
            ];
            let expected = [!has_queries, !has_queries, has_geometry];
            assert_eq!(found, expected.map(vk::Bool32::from));
        }
    }

    /// Pipelines with several views have no geometry shaders that the layer draws.
    #[cfg(feature = "drawn")]
    #[test]
    fn drawn_geometry_shaders_have_one_view() {
        let support = crate::capture_support::tests::drawing();
        let mut multiview = vk::PhysicalDeviceMultiviewFeatures::default()
            .multiview(true)
            .multiview_geometry_shader(true);
        let mut vulkan11 = vk::PhysicalDeviceVulkan11Features::default()
            .multiview(true)
            .multiview_geometry_shader(true);
        // SAFETY: the chains are valid.
        unsafe {
            for first in [(&raw mut multiview).cast(), (&raw mut vulkan11).cast()] {
                let first: *mut vk::BaseOutStructure<'_> = first;
                let refused = Error::Feature("multiviewGeometryShader");
                let chain = first.cast_const().cast();
                assert_eq!(check_features(chain, &support), Err(refused));
                put_features(first, &support);
                assert_eq!(check_features(chain, &support), Ok(()));
            }
        }
        assert_eq!((multiview.multiview, multiview.multiview_geometry_shader), (1, 0));
        assert_eq!((vulkan11.multiview, vulkan11.multiview_geometry_shader), (1, 0));
    }

    /// Of the features for which the layer reports its own values, a program may enable the reported and the tolerated
    /// ones, and no others.
    #[test]
    fn what_is_reported_can_be_enabled() {
        let support = CaptureSupport::new(capabilities()).unwrap();
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
            .transform_feedback(true)
            .geometry_streams(true);
        let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default()
            .conditional_rendering(true)
            .inherited_conditional_rendering(true);
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
        // SAFETY: the chains are valid.
        unsafe {
            let first = (&raw const conditional).cast();
            let refused = Error::Feature("inheritedConditionalRendering");
            assert_eq!(check_features(first, &support), Err(refused));
            // `geometryStreams` is reported here. On other devices it is tolerated, because DXVK
            // enables it without a query.
            assert_eq!(check_features((&raw const feedback).cast(), &support), Ok(()));
            provoking.p_next = (&raw mut feedback).cast();
            conditional.p_next = (&raw mut provoking).cast();
            put_features((&raw mut conditional).cast(), &support);
            assert_eq!(check_features((&raw const conditional).cast(), &support), Ok(()));
        }
        assert_eq!(conditional.conditional_rendering, vk::TRUE);
        assert_eq!(provoking.transform_feedback_preserves_provoking_vertex, vk::TRUE);
    }
}
