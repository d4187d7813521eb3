//! Features in the `pNext` chain of `VkDeviceCreateInfo`: finds the features that an application
//! enabled, and enables the features that captures need.
//!
//! A feature that was promoted to a Vulkan version is a member of two structures: the structure of its extension, and
//! `VkPhysicalDeviceVulkan1xFeatures`. A chain may contain only one of the two
//! ([VUID-VkDeviceCreateInfo-pNext-02829](https://docs.vulkan.org/refpages/latest/refpages/source/VkDeviceCreateInfo.html#VUID-VkDeviceCreateInfo-pNext-02829)
//! and the VUIDs after it).

use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;

use ash::vk;

/// A feature that a structure in the `pNext` chain of `VkDeviceCreateInfo` can enable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainedFeature {
    TransformFeedback,
    GeometryStreams,
    BufferDeviceAddress,
    ProvokingVertexLast,
    PreserveProvokingVertex,
    ShaderDrawParameters,
    VertexDivisor,
    VertexZeroDivisor,
    TriangleFans,
    TessellationIsolines,
    TessellationPointMode,
    AttributeAccessBeyondStride,
    /// Only `VkPhysicalDeviceVulkan12Features` contains this feature. If the chain has no such
    /// structure, `VK_KHR_draw_indirect_count` must be enabled instead.
    DrawIndirectCount,
    StorageBuffer8BitAccess,
    ShaderInt8,
    VulkanMemoryModel,
    VulkanMemoryModelDeviceScope,
    DynamicRendering,
    Synchronization2,
}

/// The place of a feature in a chain: the type of a structure that contains it, and the offset of the
/// `VkBool32` in the structure.
type FeaturePosition = (vk::StructureType, usize);

/// Makes the array of all [`FeaturePosition`]s of one feature. Each argument is a `Structure.member`. After `;
/// Vulkan14` comes the index of the member in `VkPhysicalDeviceVulkan14Features`.
macro_rules! positions {
    ($($structure:ident.$member:ident),+ $(; Vulkan14 $number:literal)?) => {
        const {
            &[
                $((
                    <vk::$structure<'static> as vk::TaggedStructure>::STRUCTURE_TYPE,
                    offset_of!(vk::$structure<'static>, $member),
                ),)+
                $(position_in_vulkan14($number))?
            ]
        }
    };
}

/// The type of `VkPhysicalDeviceVulkan14Features`. ash does not have that structure.
const VULKAN_1_4_FEATURES: vk::StructureType = vk::StructureType::from_raw(55);

/// Makes the [`FeaturePosition`] of a member of
/// [`VkPhysicalDeviceVulkan14Features`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceVulkan14Features.html).
/// `member` is the index of the member, counted from 0.
const fn position_in_vulkan14(member: usize) -> FeaturePosition {
    (VULKAN_1_4_FEATURES, size_of::<vk::BaseInStructure<'_>>() + member * size_of::<vk::Bool32>())
}

impl ChainedFeature {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TransformFeedback => "transformFeedback",
            Self::GeometryStreams => "geometryStreams",
            Self::BufferDeviceAddress => "bufferDeviceAddress",
            Self::ProvokingVertexLast => "provokingVertexLast",
            Self::PreserveProvokingVertex => "transformFeedbackPreservesProvokingVertex",
            Self::ShaderDrawParameters => "shaderDrawParameters",
            Self::VertexDivisor => "vertexAttributeInstanceRateDivisor",
            Self::VertexZeroDivisor => "vertexAttributeInstanceRateZeroDivisor",
            Self::TriangleFans => "triangleFans",
            Self::TessellationIsolines => "tessellationIsolines",
            Self::TessellationPointMode => "tessellationPointMode",
            Self::AttributeAccessBeyondStride => "vertexAttributeAccessBeyondStride",
            Self::DrawIndirectCount => "drawIndirectCount",
            Self::StorageBuffer8BitAccess => "storageBuffer8BitAccess",
            Self::ShaderInt8 => "shaderInt8",
            Self::VulkanMemoryModel => "vulkanMemoryModel",
            Self::VulkanMemoryModelDeviceScope => "vulkanMemoryModelDeviceScope",
            Self::DynamicRendering => "dynamicRendering",
            Self::Synchronization2 => "synchronization2",
        }
    }

    const fn positions(self) -> &'static [FeaturePosition] {
        match self {
            Self::TransformFeedback => {
                positions!(PhysicalDeviceTransformFeedbackFeaturesEXT.transform_feedback)
            }
            Self::GeometryStreams => {
                positions!(PhysicalDeviceTransformFeedbackFeaturesEXT.geometry_streams)
            }
            Self::BufferDeviceAddress => positions!(
                PhysicalDeviceBufferDeviceAddressFeatures.buffer_device_address,
                PhysicalDeviceVulkan12Features.buffer_device_address
            ),
            Self::ProvokingVertexLast => {
                positions!(PhysicalDeviceProvokingVertexFeaturesEXT.provoking_vertex_last)
            }
            Self::PreserveProvokingVertex => positions!(
                PhysicalDeviceProvokingVertexFeaturesEXT
                    .transform_feedback_preserves_provoking_vertex
            ),
            Self::ShaderDrawParameters => positions!(
                PhysicalDeviceShaderDrawParametersFeatures.shader_draw_parameters,
                PhysicalDeviceVulkan11Features.shader_draw_parameters
            ),
            Self::VertexDivisor => positions!(
                PhysicalDeviceVertexAttributeDivisorFeaturesKHR.vertex_attribute_instance_rate_divisor; Vulkan14 11
            ),
            Self::VertexZeroDivisor => positions!(
                PhysicalDeviceVertexAttributeDivisorFeaturesKHR.vertex_attribute_instance_rate_zero_divisor; Vulkan14 12
            ),
            Self::TriangleFans => {
                positions!(PhysicalDevicePortabilitySubsetFeaturesKHR.triangle_fans)
            }
            Self::TessellationIsolines => {
                positions!(PhysicalDevicePortabilitySubsetFeaturesKHR.tessellation_isolines)
            }
            Self::TessellationPointMode => {
                positions!(PhysicalDevicePortabilitySubsetFeaturesKHR.tessellation_point_mode)
            }
            Self::AttributeAccessBeyondStride => positions!(
                PhysicalDevicePortabilitySubsetFeaturesKHR.vertex_attribute_access_beyond_stride
            ),
            Self::DrawIndirectCount => {
                positions!(PhysicalDeviceVulkan12Features.draw_indirect_count)
            }
            Self::StorageBuffer8BitAccess => positions!(
                PhysicalDevice8BitStorageFeatures.storage_buffer8_bit_access,
                PhysicalDeviceVulkan12Features.storage_buffer8_bit_access
            ),
            Self::ShaderInt8 => positions!(
                PhysicalDeviceShaderFloat16Int8Features.shader_int8,
                PhysicalDeviceVulkan12Features.shader_int8
            ),
            Self::VulkanMemoryModel => positions!(
                PhysicalDeviceVulkanMemoryModelFeatures.vulkan_memory_model,
                PhysicalDeviceVulkan12Features.vulkan_memory_model
            ),
            Self::VulkanMemoryModelDeviceScope => positions!(
                PhysicalDeviceVulkanMemoryModelFeatures.vulkan_memory_model_device_scope,
                PhysicalDeviceVulkan12Features.vulkan_memory_model_device_scope
            ),
            Self::DynamicRendering => positions!(
                PhysicalDeviceDynamicRenderingFeatures.dynamic_rendering,
                PhysicalDeviceVulkan13Features.dynamic_rendering
            ),
            Self::Synchronization2 => positions!(
                PhysicalDeviceSynchronization2Features.synchronization2,
                PhysicalDeviceVulkan13Features.synchronization2
            ),
        }
    }

    /// Returns a pointer to the `VkBool32` of the feature in a chain, or `None` if the chain has no structure that
    /// contains the feature.
    ///
    /// # Safety
    /// The chain is valid.
    unsafe fn find(self, chain: *const c_void) -> Option<*mut vk::Bool32> {
        for &(s_type, offset) in self.positions() {
            if let Some(structure) = unsafe { find_structure(chain, s_type) } {
                // SAFETY: every structure of that type has the member at that offset.
                return Some(unsafe { structure.byte_add(offset) }.cast());
            }
        }
        None
    }

    /// Whether structures of the type `s_type` contain the feature.
    pub(super) fn is_in(self, s_type: vk::StructureType) -> bool {
        self.positions().iter().any(|(found, _)| *found == s_type)
    }

    /// Whether a chain enables the feature.
    ///
    /// # Safety
    /// The chain is valid.
    pub(crate) unsafe fn is_enabled(self, chain: *const c_void) -> bool {
        // SAFETY: the caller's contract; the member is a VkBool32.
        unsafe { self.find(chain).is_some_and(|member| *member != vk::FALSE) }
    }

    /// Enables the feature in a chain. Returns false if the chain has no structure that contains
    /// it.
    ///
    /// # Safety
    /// The chain is valid, and its structures may be written.
    pub(super) unsafe fn enable(self, chain: *const c_void) -> bool {
        let member = unsafe { self.find(chain) };
        if let Some(member) = member {
            // SAFETY: the caller's contract; the member is a VkBool32.
            unsafe { *member = vk::TRUE };
        }
        member.is_some()
    }
}

/// Returns the first structure of the type `s_type` in a chain, or `None`.
///
/// # Safety
/// The chain is valid.
pub(crate) unsafe fn find_structure(
    chain: *const c_void,
    s_type: vk::StructureType,
) -> Option<*mut c_void> {
    let mut next = chain.cast::<vk::BaseInStructure<'_>>();
    // SAFETY: the caller's contract; each structure of a chain begins with these members.
    while let Some(base) = unsafe { next.as_ref() } {
        if base.s_type == s_type {
            return Some(next.cast_mut().cast());
        }
        next = base.p_next;
    }
    None
}

/// Returns `VkPhysicalDeviceFeatures2::features` of a chain, or `None` if the chain does not contain that structure.
///
/// # Safety
/// The chain is valid.
pub(super) unsafe fn find_core_features(
    chain: *const c_void,
) -> Option<*mut vk::PhysicalDeviceFeatures> {
    // SAFETY: the caller's contract; the structure is of that type.
    unsafe {
        let structure = find_structure(chain, vk::StructureType::PHYSICAL_DEVICE_FEATURES_2)?;
        Some(&raw mut (*structure.cast::<vk::PhysicalDeviceFeatures2<'_>>()).features)
    }
}

/// The members of `VkPhysicalDeviceFeatures` that a device is created with: from the chain, or from `pEnabledFeatures`.
///
/// # Safety
/// `info` is valid.
pub(crate) unsafe fn core_features(info: &vk::DeviceCreateInfo<'_>) -> vk::PhysicalDeviceFeatures {
    unsafe {
        let chained = find_core_features(info.p_next).map(|features| *features);
        chained.or_else(|| info.p_enabled_features.as_ref().copied()).unwrap_or_default()
    }
}

/// The names of the extensions that a device is created with.
///
/// # Safety
/// `info` is valid, and its strings live as long as the result is used.
pub(crate) unsafe fn extension_names<'a>(info: &vk::DeviceCreateInfo<'a>) -> Vec<&'a CStr> {
    let count = info.enabled_extension_count as usize;
    if count == 0 || info.pp_enabled_extension_names.is_null() {
        return Vec::new();
    }
    let names: &[*const c_char] =
        unsafe { std::slice::from_raw_parts(info.pp_enabled_extension_names, count) };
    names.iter().map(|&name| unsafe { CStr::from_ptr(name) }).collect()
}
