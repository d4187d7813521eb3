//! Restricts the capabilities of a physical device to what an existing device was created with.

use ash::{ext, khr, vk};

use crate::runtime::device::capabilities::Capabilities;
use crate::runtime::device::extensions;
use crate::runtime::device::extensions::{AddressSource, ChainedFeature};

impl Capabilities {
    /// Removes all capabilities that an existing device was created without.
    ///
    /// `info` is the structure that the device was created with, or an equivalent one: it has the enabled extensions,
    /// and the enabled features in `pEnabledFeatures`, in `VkPhysicalDeviceFeatures2` or in other structures of the
    /// chain. Afterwards [`availability`](Self::availability) and
    /// [`required_features`](crate::runtime::required_features) consider only what is enabled. A device with the
    /// feature `vulkanMemoryModel` and without `vulkanMemoryModelDeviceScope` cannot capture by compute, so a device
    /// that has the former must not be described without it.
    ///
    /// ```no_run
    /// use ash::{khr, vk};
    /// use vkxfb::lower::Backend;
    /// use vkxfb::runtime::{Capabilities, Context, RuntimeError, required_features};
    ///
    /// # unsafe fn adopt(
    /// #     entry: &ash::Entry, instance: &ash::Instance, physical_device: vk::PhysicalDevice, device: &ash::Device,
    /// # ) -> Result<Context, RuntimeError> { unsafe {
    /// // The structure that the engine created the device with.
    /// let extensions = [khr::swapchain::NAME.as_ptr()];
    /// let mut features = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
    /// let info = vk::DeviceCreateInfo::default()
    ///     .enabled_extension_names(&extensions)
    ///     .push_next(&mut features);
    ///
    /// let mut capabilities =
    ///     Capabilities::query(entry, instance, vk::API_VERSION_1_2, physical_device)?;
    /// capabilities.restrict(&info);
    /// let required = required_features(&capabilities, &[Backend::Compute])?;
    /// let context = Context::new(instance, device, capabilities, required)?;
    /// # Ok(context)
    /// # } }
    /// ```
    ///
    /// # Safety
    /// `info`, its pointers and its chain are valid, as for
    /// [`vkCreateDevice`](https://docs.vulkan.org/refpages/latest/refpages/source/VkDeviceCreateInfo.html). Its queue
    /// create infos are not read.
    pub unsafe fn restrict(&mut self, info: &vk::DeviceCreateInfo<'_>) {
        let (names, core) =
            unsafe { (extensions::extension_names(info), extensions::core_features(info)) };
        let has = |feature: ChainedFeature| unsafe { feature.is_enabled(info.p_next) };
        self.restricted = true;
        self.extensions.retain(|name| names.contains(&name.as_c_str()));

        if !has(ChainedFeature::TransformFeedback)
            || !self.extensions.contains(ext::transform_feedback::NAME)
        {
            self.transform_feedback = None;
        }
        if !self.extensions.contains(ext::provoking_vertex::NAME) {
            self.provoking_vertex = None;
        }
        if let Some(provoking) = &mut self.provoking_vertex {
            provoking.last &= has(ChainedFeature::ProvokingVertexLast);
            provoking.preserved &= has(ChainedFeature::PreserveProvokingVertex);
        }
        if !has(ChainedFeature::VertexDivisor) {
            self.vertex_divisor = None;
        }
        if let Some(divisor) = &mut self.vertex_divisor {
            divisor.zero &= has(ChainedFeature::VertexZeroDivisor);
        }
        if let Some(portability) = &mut self.portability {
            portability.triangle_fans &= has(ChainedFeature::TriangleFans);
            portability.tessellation_isolines &= has(ChainedFeature::TessellationIsolines);
            portability.tessellation_point_mode &= has(ChainedFeature::TessellationPointMode);
            portability.attribute_access_beyond_stride &=
                has(ChainedFeature::AttributeAccessBeyondStride);
        }
        let has_address_extension = self.extensions.contains(khr::buffer_device_address::NAME);
        self.buffer_device_address = self.buffer_device_address.filter(|source| {
            has(ChainedFeature::BufferDeviceAddress)
                && (*source == AddressSource::Core || has_address_extension)
        });
        self.shader_draw_parameters &= if self.api_version < vk::API_VERSION_1_1 {
            self.extensions.contains(khr::shader_draw_parameters::NAME)
        } else {
            has(ChainedFeature::ShaderDrawParameters)
        };
        self.byte_loads &= has(ChainedFeature::StorageBuffer8BitAccess)
            && has(ChainedFeature::ShaderInt8)
            && (self.api_version >= vk::API_VERSION_1_2
                || self.extensions.contains(khr::_8bit_storage::NAME)
                    && self.extensions.contains(khr::shader_float16_int8::NAME));
        // A structure without the extension that defines it has no effect.
        let has_memory_model = self.api_version >= vk::API_VERSION_1_2
            || self.extensions.contains(khr::vulkan_memory_model::NAME);
        self.memory_model = has_memory_model && has(ChainedFeature::VulkanMemoryModel);
        // Without the feature vulkanMemoryModel, nothing needs the scope.
        if self.memory_model {
            self.memory_model_device_scope &= has(ChainedFeature::VulkanMemoryModelDeviceScope);
        }
        self.dynamic_rendering &= has(ChainedFeature::DynamicRendering);
        self.synchronization2 &= has(ChainedFeature::Synchronization2);
        for (feature, enabled) in [
            (&mut self.storage_buffer_indexing, core.shader_storage_buffer_array_dynamic_indexing),
            (&mut self.multi_draw_indirect, core.multi_draw_indirect),
            (&mut self.geometry_shader, core.geometry_shader),
            (&mut self.tessellation_shader, core.tessellation_shader),
            (&mut self.vertex_stores, core.vertex_pipeline_stores_and_atomics),
            (&mut self.shader_int64, core.shader_int64),
            (&mut self.shader_float64, core.shader_float64),
            (&mut self.shader_clip_distance, core.shader_clip_distance),
            (&mut self.shader_cull_distance, core.shader_cull_distance),
        ] {
            *feature &= enabled == vk::TRUE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::device::capabilities::tests::{available, full};
    use crate::runtime::device::features::required_features;
    use vkxfb_rewriter::lower::Backend;

    fn restricted(info: &vk::DeviceCreateInfo<'_>) -> Capabilities {
        let mut caps = full();
        // SAFETY: the tests' structures are valid.
        unsafe { caps.restrict(info) };
        caps
    }

    #[test]
    fn a_device_without_anything_runs_nothing() {
        let caps = restricted(&vk::DeviceCreateInfo::default());
        assert_eq!(available(&caps), []);
        assert_eq!(
            Backend::ALL
                .into_iter()
                .filter_map(|backend| caps.availability(backend).err())
                .map(|error| error.to_string())
                .collect::<Vec<_>>(),
            [
                "the native backend is not available on Test as the device was created: no extension VK_EXT_transform_feedback",
                "the vertex backend is not available on Test as the device was created: \
                 no feature vertexPipelineStoresAndAtomics; \
                 no feature bufferDeviceAddress (Vulkan 1.2 or VK_KHR_buffer_device_address)",
                "the compute backend is not available on Test as the device was created: \
                 no feature bufferDeviceAddress (Vulkan 1.2 or VK_KHR_buffer_device_address), \
                 and for descriptors in its place no feature shaderStorageBufferArrayDynamicIndexing",
            ]
        );
    }

    /// The compute backend is available with device addresses, which
    /// `VkPhysicalDeviceVulkan12Features` enables, and with descriptors, which
    /// `VkPhysicalDeviceFeatures` enables.
    #[test]
    fn what_is_enabled_stays() {
        let mut vulkan12 =
            vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        let caps = restricted(&vk::DeviceCreateInfo::default().push_next(&mut vulkan12));
        assert_eq!(available(&caps), [Backend::Compute]);
        assert!(!caps.dynamic_rendering && !caps.geometry_shader && caps.extensions.is_empty());

        let core = vk::PhysicalDeviceFeatures::default()
            .shader_storage_buffer_array_dynamic_indexing(true);
        let caps = restricted(&vk::DeviceCreateInfo::default().enabled_features(&core));
        let required = required_features(&caps, &[Backend::Compute]).unwrap();
        assert!(required.uses_descriptors());
        assert_eq!(required.features(), ["shaderStorageBufferArrayDynamicIndexing"]);
    }

    /// Loads of single bytes need two features, and below Vulkan 1.2 two extensions.
    #[test]
    fn bytes_are_loaded_with_both_features() {
        let both = |storage, int8| {
            let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default()
                .storage_buffer8_bit_access(storage)
                .shader_int8(int8);
            restricted(&vk::DeviceCreateInfo::default().push_next(&mut vulkan12)).byte_loads
        };
        assert_eq!([both(true, true), both(true, false), both(false, true)], [true, false, false]);
        let names = [khr::_8bit_storage::NAME, khr::shader_float16_int8::NAME];
        for (count, is_enough) in [(2, true), (1, false)] {
            let mut caps = full();
            caps.api_version = vk::API_VERSION_1_1;
            caps.extensions.extend(names.map(ToOwned::to_owned));
            let names = names.map(std::ffi::CStr::as_ptr);
            let mut storage =
                vk::PhysicalDevice8BitStorageFeatures::default().storage_buffer8_bit_access(true);
            let mut int8 = vk::PhysicalDeviceShaderFloat16Int8Features::default().shader_int8(true);
            let info = vk::DeviceCreateInfo::default()
                .enabled_extension_names(&names[..count])
                .push_next(&mut storage)
                .push_next(&mut int8);
            // SAFETY: the structures are valid.
            unsafe { caps.restrict(&info) };
            assert_eq!(caps.byte_loads, is_enough);
        }
    }

    /// Compute shaders have barriers with the scope Device, which a device with `vulkanMemoryModel` allows only with
    /// `vulkanMemoryModelDeviceScope`.
    #[test]
    fn the_memory_model_needs_the_scope_of_the_device() {
        let available = |model, scope| {
            let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default()
                .buffer_device_address(true)
                .vulkan_memory_model(model)
                .vulkan_memory_model_device_scope(scope);
            let info = vk::DeviceCreateInfo::default().push_next(&mut vulkan12);
            restricted(&info).availability(Backend::Compute)
        };
        for (model, scope) in [(false, false), (false, true), (true, true)] {
            assert_eq!(available(model, scope), Ok(()));
        }
        assert_eq!(
            available(true, false).unwrap_err().to_string(),
            "the compute backend is not available on Test as the device was created: \
             the feature vulkanMemoryModel is enabled without vulkanMemoryModelDeviceScope, \
             which captures then need"
        );
        // Below Vulkan 1.2, the structure has an effect only with its extension.
        for (names, is_available) in
            [(&[][..], true), (&[khr::vulkan_memory_model::NAME.as_ptr()], false)]
        {
            let mut caps = full();
            caps.api_version = vk::API_VERSION_1_1;
            caps.extensions.insert(khr::vulkan_memory_model::NAME.to_owned());
            let core = vk::PhysicalDeviceFeatures::default()
                .shader_storage_buffer_array_dynamic_indexing(true);
            let mut model =
                vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(true);
            let info = vk::DeviceCreateInfo::default()
                .enabled_extension_names(names)
                .enabled_features(&core)
                .push_next(&mut model);
            // SAFETY: the structures are valid.
            unsafe { caps.restrict(&info) };
            assert_eq!(caps.availability(Backend::Compute).is_ok(), is_available);
        }
    }

    /// A device that was created with the required features of all backends supports all backends.
    #[test]
    fn what_is_required_is_enough() {
        let required = required_features(&full(), &Backend::ALL).unwrap();
        let mut rendering =
            vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut memory_model =
            vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(true);
        let info =
            vk::DeviceCreateInfo::default().push_next(&mut rendering).push_next(&mut memory_model);
        // SAFETY: the structures are valid.
        let caps = unsafe { required.with_create_info(info, restricted) };
        assert_eq!(available(&caps), Backend::ALL);
        assert_eq!(required_features(&caps, &Backend::ALL).unwrap(), required);
        assert!(caps.dynamic_rendering && !caps.synchronization2 && !caps.shader_int64);

        // A feature structure has no effect if the extension that defines it is not enabled.
        let mut xfb =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let caps = restricted(&vk::DeviceCreateInfo::default().push_next(&mut xfb));
        assert_eq!(caps.transform_feedback, None);
    }
}
