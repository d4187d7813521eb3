//! The `pNext` chains and extension function tables of the runtime, because `ash` changes their spelling between
//! releases. Only the chains that query a physical device are elsewhere, beside the
//! [`Capabilities`](crate::runtime::Capabilities) that they fill.
//!
//! This file builds the chains that the runtime passes to Vulkan. `chain` reads and changes the chain of an
//! application's `VkDeviceCreateInfo`, and `functions` loads commands.

mod chain;
mod functions;

use std::ffi::{CStr, c_char};
use std::fmt;

use ash::vk;

pub(crate) use self::chain::{ChainedFeature, core_features, extension_names, find_structure};
pub(crate) use self::functions::{AddressFn, DrawIndirectCountFn, TransformFeedbackFn};
use vkxfb_rewriter::topology::ProvokingVertex;

/// Where the feature `bufferDeviceAddress` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSource {
    /// Vulkan 1.2.
    Core,
    /// The extension
    /// [`VK_KHR_buffer_device_address`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_KHR_buffer_device_address.html).
    Extension,
}

///
/// [`VkPhysicalDeviceTransformFeedbackPropertiesEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceTransformFeedbackPropertiesEXT.html)
/// of a device that has the feature `transformFeedback`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TransformFeedbackSupport {
    /// Feature `geometryStreams`.
    pub geometry_streams: bool,
    /// `maxTransformFeedbackStreams`.
    pub max_streams: u32,
    /// `maxTransformFeedbackBuffers`.
    pub max_buffers: u32,
    /// `maxTransformFeedbackBufferSize` in bytes.
    pub max_buffer_size: u64,
    /// `maxTransformFeedbackStreamDataSize` in bytes.
    pub max_stream_data_size: u32,
    /// `maxTransformFeedbackBufferDataSize` in bytes.
    pub max_buffer_data_size: u32,
    /// `maxTransformFeedbackBufferDataStride` in bytes.
    pub max_buffer_data_stride: u32,
    /// `transformFeedbackQueries`.
    pub queries: bool,
    /// `transformFeedbackStreamsLinesTriangles`.
    pub streams_lines_triangles: bool,
    /// `transformFeedbackRasterizationStreamSelect`.
    pub rasterization_stream_select: bool,
    /// `transformFeedbackDraw`.
    pub draw: bool,
}

/// Features and properties of
/// [`VK_EXT_provoking_vertex`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_provoking_vertex.html).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProvokingVertexSupport {
    /// Feature `provokingVertexLast`.
    pub last: bool,
    /// Feature `transformFeedbackPreservesProvokingVertex`.
    pub preserved: bool,
    /// Property `provokingVertexModePerPipeline`.
    pub mode_per_pipeline: bool,
    /// Property `transformFeedbackPreservesTriangleFanProvokingVertex`.
    pub triangle_fan_preserved: bool,
}

/// Features and properties of
/// [`VK_EXT_vertex_attribute_divisor`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_vertex_attribute_divisor.html)
/// of a device that has the feature `vertexAttributeInstanceRateDivisor`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VertexDivisorSupport {
    /// Feature `vertexAttributeInstanceRateZeroDivisor`.
    pub zero: bool,
    /// `maxVertexAttribDivisor`.
    pub max: u32,
}

/// Features and properties of
/// [`VK_KHR_portability_subset`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_KHR_portability_subset.html)
/// that graphics pipelines of captures depend on. A device with this extension, such as one of MoltenVK, may lack them,
/// although every other device has them. The compute backend needs none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortabilitySupport {
    /// Feature `triangleFans`.
    pub triangle_fans: bool,
    /// Feature `tessellationIsolines`.
    pub tessellation_isolines: bool,
    /// Feature `tessellationPointMode`.
    pub tessellation_point_mode: bool,
    /// Feature `vertexAttributeAccessBeyondStride`.
    pub attribute_access_beyond_stride: bool,
    /// Property `minVertexInputBindingStrideAlignment` in bytes.
    pub min_binding_stride_alignment: u32,
}

/// Owns what the result of [`RequiredFeatures::add_to`](crate::runtime::RequiredFeatures::add_to) points to: the
/// extension names, and the feature structures that the application's own chain does not contain.
#[derive(Default)]
pub struct CreateInfoAdditions {
    names: Vec<*const c_char>,
    /// The structures are boxed, so that the chain stays valid if the additions are moved.
    structures: Box<Structures>,
}

// SAFETY: like ash's structures, the additions hold pointers but do not dereference them.
unsafe impl Send for CreateInfoAdditions {}
// SAFETY: the additions hold pointers but do not dereference them.
unsafe impl Sync for CreateInfoAdditions {}

impl fmt::Debug for CreateInfoAdditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateInfoAdditions").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Structures {
    core: vk::PhysicalDeviceFeatures,
    transform_feedback: vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'static>,
    buffer_device_address: vk::PhysicalDeviceBufferDeviceAddressFeatures<'static>,
    provoking_vertex: vk::PhysicalDeviceProvokingVertexFeaturesEXT<'static>,
    storage_8bit: vk::PhysicalDevice8BitStorageFeatures<'static>,
    int8: vk::PhysicalDeviceShaderFloat16Int8Features<'static>,
    draw_parameters: vk::PhysicalDeviceShaderDrawParametersFeatures<'static>,
    vertex_divisor: vk::PhysicalDeviceVertexAttributeDivisorFeaturesKHR<'static>,
    portability: vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>,
}

impl CreateInfoAdditions {
    /// Returns `info` with these extensions and features enabled. A feature is set in the structure of the chain that
    /// contains the feature. If the chain has no such structure, a structure that `self` owns is put before the chain.
    ///
    /// # Safety
    /// `info` is valid, and the structures of its chain may be written.
    pub(crate) unsafe fn add_to<'a>(
        &'a mut self,
        info: vk::DeviceCreateInfo<'a>,
        extensions: &[&CStr],
        core: &vk::PhysicalDeviceFeatures,
        features: &[ChainedFeature],
    ) -> vk::DeviceCreateInfo<'a> {
        self.names = extensions.iter().map(|name| name.as_ptr()).collect();
        let mut info = info.enabled_extension_names(&self.names);
        let chained_core = unsafe { chain::find_core_features(info.p_next) };
        let is_missing = |feature: &&ChainedFeature| !unsafe { feature.enable(info.p_next) };
        let missing: Vec<ChainedFeature> = features.iter().filter(is_missing).copied().collect();

        let structures = &mut *self.structures;
        match chained_core {
            Some(chained) => unsafe { *chained = *core },
            None => {
                structures.core = *core;
                info = info.enabled_features(&structures.core);
            }
        }
        macro_rules! chain {
            ($($structure:ident)*) => {
                // A structure that is missing in this chain is reset first, because an earlier call may have linked it
                // into another chain. Structures that are not missing must not be reset: after an earlier call this
                // chain may contain them.
                $(if missing.iter().any(|feature| feature.is_in(structures.$structure.s_type)) {
                    structures.$structure = Default::default();
                    info = info.push_next(&mut structures.$structure);
                })*
            };
        }
        chain! { transform_feedback buffer_device_address provoking_vertex draw_parameters }
        chain! { storage_8bit int8 vertex_divisor portability }
        for feature in missing {
            // SAFETY: the caller's contract; the added structures may be written, too.
            unsafe { feature.enable(info.p_next) };
        }
        info
    }
}

/// Calls `f` with the vertex input state that consists of these descriptions.
pub(crate) fn with_vertex_input_state<R>(
    bindings: &[vk::VertexInputBindingDescription],
    attributes: &[vk::VertexInputAttributeDescription],
    divisors: &[vk::VertexInputBindingDivisorDescriptionKHR],
    f: impl FnOnce(&vk::PipelineVertexInputStateCreateInfo<'_>) -> R,
) -> R {
    let mut divisor_state = vk::PipelineVertexInputDivisorStateCreateInfoKHR::default()
        .vertex_binding_divisors(divisors);
    let mut state = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(bindings)
        .vertex_attribute_descriptions(attributes);
    // Divisor 1 is Vulkan's default and needs no extension.
    if !divisors.is_empty() {
        state = state.push_next(&mut divisor_state);
    }
    f(&state)
}

/// Calls `f` with a rasterization state that enables rasterizer discard and has the given provoking vertex.
pub(crate) fn with_discard_state<R>(
    provoking: ProvokingVertex,
    f: impl FnOnce(&vk::PipelineRasterizationStateCreateInfo<'_>) -> R,
) -> R {
    let mut mode = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
        .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
    let mut state = vk::PipelineRasterizationStateCreateInfo::default()
        .rasterizer_discard_enable(true)
        .polygon_mode(vk::PolygonMode::FILL)
        .line_width(1.0);
    // The first vertex is Vulkan's default and needs no extension.
    if provoking == ProvokingVertex::Last {
        state = state.push_next(&mut mode);
    }
    f(&state)
}
