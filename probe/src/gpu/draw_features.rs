//! Optional features that applications use in draws. The compute and vertex backends do not need them. A native capture
//! needs the features that the captured draw uses. Other optional features, which the runtime uses, are in
//! [`RequiredFeatures`](vkxfb::runtime::RequiredFeatures).

use std::ffi::CStr;

use ash::{ext, vk};

use super::DeviceInfo;

/// The optional features for draws that are enabled: all that the device has on the profile
/// [`Full`](super::Profile::Full), and none on other profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DrawFeatures {
    /// Whether `fullDrawIndexUint32` is enabled: draws may have indices above 2^24.
    pub full_draw_index_uint32: bool,
    /// Whether `drawIndirectFirstInstance` is enabled: `firstInstance` in the arguments of indirect
    /// draws may be other than 0.
    pub indirect_first_instance: bool,
    /// Whether `indexTypeUint8` of
    /// [`VK_EXT_index_type_uint8`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_index_type_uint8.html)
    /// is enabled.
    pub index_type_uint8: bool,
    /// Whether `multiDraw` of
    /// [`VK_EXT_multi_draw`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_multi_draw.html)
    /// is enabled.
    pub multi_draw: bool,
    /// Whether `primitiveTopologyListRestart` of
    /// [`VK_EXT_primitive_topology_list_restart`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_primitive_topology_list_restart.html)
    /// is enabled.
    pub list_restart: bool,
    /// Whether `primitiveTopologyPatchListRestart` of `VK_EXT_primitive_topology_list_restart` is
    /// enabled.
    pub patch_list_restart: bool,
    /// Whether `primitivesGeneratedQuery` and `primitivesGeneratedQueryWithRasterizerDiscard` of
    /// [`VK_EXT_primitives_generated_query`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_primitives_generated_query.html)
    /// are enabled.
    pub primitives_generated_query: bool,
    /// Whether `conditionalRendering` of
    /// [`VK_EXT_conditional_rendering`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_conditional_rendering.html)
    /// is enabled.
    pub conditional_rendering: bool,
    /// Whether `dynamicRendering` of
    /// [`VK_KHR_dynamic_rendering`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_KHR_dynamic_rendering.html)
    /// is enabled. It is enabled only on devices of Vulkan 1.3, which includes the extension.
    pub dynamic_rendering: bool,
    /// Whether `pipelineStatisticsQuery` is enabled.
    pub pipeline_statistics_query: bool,
}

impl DrawFeatures {
    /// Returns the features that a device has.
    ///
    /// # Safety
    /// The device is of the instance.
    pub(super) unsafe fn query(
        instance: &ash::Instance,
        device: vk::PhysicalDevice,
        info: &DeviceInfo,
    ) -> Self {
        let caps = &info.capabilities;
        if caps.api_version < vk::API_VERSION_1_1 {
            return Self::default();
        }
        let mut uint8 = vk::PhysicalDeviceIndexTypeUint8FeaturesEXT::default();
        let mut multi = vk::PhysicalDeviceMultiDrawFeaturesEXT::default();
        let mut restart = vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT::default();
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
        let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default();
        let mut features = vk::PhysicalDeviceFeatures2::default();
        let chained: [(_, &mut dyn vk::ExtendsPhysicalDeviceFeatures2); 5] = [
            (ext::index_type_uint8::NAME, &mut uint8),
            (ext::multi_draw::NAME, &mut multi),
            (ext::primitive_topology_list_restart::NAME, &mut restart),
            (ext::primitives_generated_query::NAME, &mut generated),
            (ext::conditional_rendering::NAME, &mut conditional),
        ];
        for (name, structure) in chained {
            if caps.extensions.contains(name) {
                features = features.push_next(structure);
            }
        }
        // SAFETY: the caller's contract; the chain contains only structures of extensions that the
        // device supports.
        unsafe { instance.get_physical_device_features2(device, &mut features) };
        let core = features.features;
        Self {
            full_draw_index_uint32: core.full_draw_index_uint32 == vk::TRUE,
            indirect_first_instance: core.draw_indirect_first_instance == vk::TRUE,
            index_type_uint8: uint8.index_type_uint8 == vk::TRUE,
            multi_draw: multi.multi_draw == vk::TRUE,
            list_restart: restart.primitive_topology_list_restart == vk::TRUE,
            patch_list_restart: restart.primitive_topology_patch_list_restart == vk::TRUE
                && caps.tessellation_shader,
            primitives_generated_query: generated.primitives_generated_query == vk::TRUE
                && generated.primitives_generated_query_with_rasterizer_discard == vk::TRUE,
            conditional_rendering: conditional.conditional_rendering == vk::TRUE,
            dynamic_rendering: caps.api_version >= vk::API_VERSION_1_3 && caps.dynamic_rendering,
            pipeline_statistics_query: core.pipeline_statistics_query == vk::TRUE,
        }
    }

    /// Enables the features that are members of `VkPhysicalDeviceFeatures`.
    pub(super) fn core(self, features: vk::PhysicalDeviceFeatures) -> vk::PhysicalDeviceFeatures {
        features
            .full_draw_index_uint32(self.full_draw_index_uint32)
            .draw_indirect_first_instance(self.indirect_first_instance)
            .pipeline_statistics_query(self.pipeline_statistics_query)
    }

    /// Adds the feature structures to the chain of `info`, and the extensions of these features to
    /// `extensions`. Then calls `f` with both.
    pub(super) fn with_create_info<R>(
        self,
        info: vk::DeviceCreateInfo<'_>,
        extensions: &[&'static CStr],
        f: impl FnOnce(vk::DeviceCreateInfo<'_>, &[&CStr]) -> R,
    ) -> R {
        let mut names: Vec<&CStr> = extensions.to_vec();
        let mut uint8 =
            vk::PhysicalDeviceIndexTypeUint8FeaturesEXT::default().index_type_uint8(true);
        let mut multi = vk::PhysicalDeviceMultiDrawFeaturesEXT::default().multi_draw(true);
        let mut restart = vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT::default()
            .primitive_topology_list_restart(self.list_restart)
            .primitive_topology_patch_list_restart(self.patch_list_restart);
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
            .primitives_generated_query(true)
            .primitives_generated_query_with_rasterizer_discard(true);
        let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default()
            .conditional_rendering(true);
        let mut rendering =
            vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut info = info;
        if self.dynamic_rendering {
            info = info.push_next(&mut rendering);
        }
        let restarts = self.list_restart || self.patch_list_restart;
        let chained: [(bool, _, &mut dyn vk::ExtendsDeviceCreateInfo); 5] = [
            (self.index_type_uint8, ext::index_type_uint8::NAME, &mut uint8),
            (self.multi_draw, ext::multi_draw::NAME, &mut multi),
            (restarts, ext::primitive_topology_list_restart::NAME, &mut restart),
            (
                self.primitives_generated_query,
                ext::primitives_generated_query::NAME,
                &mut generated,
            ),
            (self.conditional_rendering, ext::conditional_rendering::NAME, &mut conditional),
        ];
        for (_, name, structure) in chained.into_iter().filter(|(is_enabled, ..)| *is_enabled) {
            names.push(name);
            info = info.push_next(structure);
        }
        f(info, &names)
    }
}
