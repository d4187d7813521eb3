//! What the layer needs of a physical device to capture on it, the extensions that it gives programs there, and the
//! `VkPhysicalDeviceTransformFeedbackPropertiesEXT` that it reports.

use std::ffi::CStr;

use ash::{ext, vk};
use vkxfb::runtime::WorkaroundEffect;
use vkxfb::runtime::{Capabilities, RequiredFeatures, Unavailable, required_features};
use vkxfb_rewriter::capture::{MAX_STREAMS, MAX_XFB_BUFFERS, MAX_XFB_STRIDE};
use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;
use vkxfb_rewriter::lower::Backend;

use crate::identity::DEVICE_EXTENSIONS;

/// The capabilities of a physical device on which the layer can capture, and what the layer enables
/// for that.
#[derive(Debug)]
pub(crate) struct CaptureSupport {
    pub(crate) capabilities: Capabilities,
    /// The features and extensions that the layer enables on devices for captures.
    pub(crate) required: RequiredFeatures,
    /// Whether the user asks the layer to draw stages that the driver lacks.
    draw_stages: bool,
}

impl CaptureSupport {
    /// Determines whether the layer can capture on a physical device, and what it must enable for
    /// that.
    ///
    /// # Errors
    /// [`Unavailable`] with what the physical device lacks.
    pub(crate) fn new(capabilities: Capabilities) -> Result<Self, Unavailable> {
        let mut required = required_features(&capabilities, &[Backend::Compute])?;
        // The layer rounds the sizes of index buffers up to multiples of 4 bytes. So no index buffer ends within a
        // dword, and captures need no loads of single bytes.
        required.byte_loads = false;
        Ok(Self { capabilities, required, draw_stages: false })
    }

    /// Sets whether the user asks the layer to draw stages that the driver lacks. Before this call nobody does.
    pub(crate) const fn set_draw_stages(&mut self, draw_stages: bool) {
        self.draw_stages = draw_stages;
    }

    /// Whether programs see the feature `geometryShader`, which the driver lacks: the layer draws pipelines with geometry
    /// shaders by vertex shaders. These read push constants and vertices from memory, so the device must have addresses.
    ///
    /// All that differs on such devices asks here, or asks whether a program [enables the
    /// feature](crate::creation::Wishes::draws_geometry) there.
    pub(crate) const fn draws_geometry(&self) -> bool {
        cfg!(feature = "drawn")
            && self.draw_stages
            && !self.capabilities.geometry_shader
            && self.required.address_source.is_some()
    }

    /// Whether captures leave as many descriptor sets as programs may count on (the minimum of
    /// `maxBoundDescriptorSets`). Under the descriptor plan they take one, and a program that has a layout with all sets
    /// would lose its captures.
    pub(crate) const fn leaves_sets(&self) -> bool {
        const OF_PROGRAMS: u32 = 4;
        !self.required.uses_descriptors()
            || self.capabilities.limits.max_descriptor_sets > OF_PROGRAMS
    }

    /// Whether the layer supports several vertex streams, which only geometry shaders can emit to. These must be the
    /// driver's: the shaders with which the layer [draws](Self::draws_geometry) geometry shaders only rasterize stream 0
    /// so far.
    pub(crate) const fn has_streams(&self) -> bool {
        self.capabilities.geometry_shader
    }

    /// Whether the layer gives programs `VK_EXT_primitives_generated_query`, because the driver does not have it.
    pub(crate) fn gives_generated_queries(&self) -> bool {
        !self.capabilities.extensions.contains(ext::primitives_generated_query::NAME)
    }

    /// Returns the names and versions of the extensions that the layer gives programs.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = (&'static CStr, u32)> {
        use ext::primitives_generated_query as generated;
        let queries =
            self.gives_generated_queries().then_some((generated::NAME, generated::SPEC_VERSION));
        DEVICE_EXTENSIONS.into_iter().chain(queries)
    }

    /// Whether structures of this type, with features or properties, are of an extension that the layer gives programs.
    /// The layer or driver below does not get them, since it need not know the extension.
    pub(crate) fn gives_structure(&self, s_type: vk::StructureType) -> bool {
        use vk::StructureType as Type;
        match s_type {
            Type::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT
            | Type::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT => true,
            Type::PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT => {
                self.gives_generated_queries()
            }
            _ => false,
        }
    }

    /// Returns the properties that programs see:
    /// [`VkPhysicalDeviceTransformFeedbackPropertiesEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceTransformFeedbackPropertiesEXT.html).
    /// The specification requires minimum values ([required
    /// limits](https://docs.vulkan.org/spec/latest/chapters/limits.html#limits-required)).
    pub(crate) fn properties(&self) -> vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'static> {
        let identity = self.capabilities.identity();
        let mut workarounds = identity.workarounds();
        vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default()
            // There are never more than 4 streams, because implementations of OpenGL on Vulkan have arrays of four
            // elements, indexed by stream.
            .max_transform_feedback_streams(if self.has_streams() { MAX_STREAMS } else { 1 })
            .transform_feedback_streams_lines_triangles(self.has_streams())
            .transform_feedback_rasterization_stream_select(self.has_streams())
            .max_transform_feedback_buffers(MAX_XFB_BUFFERS as u32)
            .max_transform_feedback_buffer_size(self.max_capture_buffer())
            // A captured vertex may fill the whole stride of a capture buffer.
            .max_transform_feedback_stream_data_size(MAX_XFB_STRIDE)
            .max_transform_feedback_buffer_data_size(MAX_XFB_STRIDE)
            .max_transform_feedback_buffer_data_stride(MAX_XFB_STRIDE)
            .transform_feedback_queries(true)
            // Programs may call `vkCmdDrawIndirectByteCountEXT`, unless a workaround turns indirect draws off: the
            // layer computes the arguments of an indirect draw from the byte count.
            .transform_feedback_draw(
                !workarounds.any(|w| w.effect == WorkaroundEffect::NoIndirectDraws),
            )
    }

    /// Returns the size in bytes that `Context::max_capture_buffer` of the runtime would return on
    /// a device: if captures use descriptors, the maximum range of a storage buffer limits it.
    fn max_capture_buffer(&self) -> u64 {
        if self.required.uses_descriptors() {
            self.capabilities.limits.max_storage_buffer_range.min(MAX_BUFFER_SIZE)
        } else {
            MAX_BUFFER_SIZE
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
