//! Queries the properties and features of a physical device.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

use ash::{ext, khr, vk};

use crate::runtime::device::capabilities::{Capabilities, Limits};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::{
    AddressSource, PortabilitySupport, ProvokingVertexSupport, TransformFeedbackSupport,
    VertexDivisorSupport,
};

/// Adds each structure whose condition is true to a chain.
macro_rules! chain {
    ($head:ident, $($has:expr => $structure:ident,)*) => {
        $(if $has {
            $head = $head.push_next(&mut $structure);
        })*
    };
}

/// Converts a fixed array of C characters to a string. An array without a NUL gives an empty string.
fn text(chars: Result<&CStr, impl std::fmt::Debug>) -> String {
    chars.map(|c| c.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Calls the `...2` query commands of Vulkan 1.1, or those of `VK_KHR_get_physical_device_properties2` with the suffix
/// `2KHR`.
enum Query2<'a> {
    Core(&'a ash::Instance),
    Khr(khr::get_physical_device_properties2::Instance),
}

impl<'a> Query2<'a> {
    fn new(
        entry: &ash::Entry,
        instance: &'a ash::Instance,
        api_version: u32,
    ) -> Result<Self, RuntimeError> {
        if api_version >= vk::API_VERSION_1_1 {
            return Ok(Self::Core(instance));
        }
        // ash replaces a missing command by a function that panics, so check first whether the command exists. SAFETY:
        // `instance` is live, the name is a C string.
        let found = unsafe {
            entry.get_instance_proc_addr(
                instance.handle(),
                c"vkGetPhysicalDeviceProperties2KHR".as_ptr(),
            )
        };
        if found.is_none() {
            return Err(RuntimeError::MissingInstanceExtension {
                name: "VK_KHR_get_physical_device_properties2",
                api_version,
            });
        }
        Ok(Self::Khr(khr::get_physical_device_properties2::Instance::new(entry, instance)))
    }

    /// # Safety
    /// `pd` belongs to the instance, and the device supports every structure of the chain.
    unsafe fn features(&self, pd: vk::PhysicalDevice, out: &mut vk::PhysicalDeviceFeatures2<'_>) {
        unsafe {
            match self {
                Self::Core(instance) => instance.get_physical_device_features2(pd, out),
                Self::Khr(khr) => khr.get_physical_device_features2(pd, out),
            }
        }
    }

    /// # Safety
    /// The requirements of [`features`](Self::features) apply.
    unsafe fn properties(
        &self,
        pd: vk::PhysicalDevice,
        out: &mut vk::PhysicalDeviceProperties2<'_>,
    ) {
        unsafe {
            match self {
                Self::Core(instance) => instance.get_physical_device_properties2(pd, out),
                Self::Khr(khr) => khr.get_physical_device_properties2(pd, out),
            }
        }
    }
}

/// Queries all [`Capabilities`] of a physical device.
///
/// # Errors
/// The error of a failed enumeration, or [`RuntimeError::MissingInstanceExtension`].
///
/// # Safety
/// `pd` belongs to `instance`, which was created through `entry` with `instance_api_version` as its
/// `apiVersion`.
pub(crate) unsafe fn query(
    entry: &ash::Entry,
    instance: &ash::Instance,
    instance_api_version: u32,
    pd: vk::PhysicalDevice,
) -> Result<Capabilities, RuntimeError> {
    // SAFETY: `pd` belongs to `instance`.
    let properties = unsafe { instance.get_physical_device_properties(pd) };
    let api_version = properties.api_version.min(instance_api_version);
    // SAFETY: `pd` belongs to `instance`.
    let extensions: BTreeSet<CString> =
        unsafe { instance.enumerate_device_extension_properties(pd) }
            .map_err(RuntimeError::vulkan("vkEnumerateDeviceExtensionProperties"))?
            .iter()
            .filter_map(|e| e.extension_name_as_c_str().ok().map(CStr::to_owned))
            .collect();
    let query2 = Query2::new(entry, instance, api_version)?;
    let has = |name: &CStr| extensions.contains(name);

    let has_xfb = has(ext::transform_feedback::NAME);
    let has_provoking = has(ext::provoking_vertex::NAME);
    let has_divisor = has(ext::vertex_attribute_divisor::NAME);
    let has_portability = has(khr::portability_subset::NAME);
    let bda_core = api_version >= vk::API_VERSION_1_2;
    let has_bda = bda_core || has(khr::buffer_device_address::NAME);
    let has_8bit_storage = bda_core || has(khr::_8bit_storage::NAME);
    let has_memory_model = bda_core || has(khr::vulkan_memory_model::NAME);
    let has_int8 = bda_core || has(khr::shader_float16_int8::NAME);
    let has_rendering = api_version >= vk::API_VERSION_1_3 || has(khr::dynamic_rendering::NAME);
    let has_sync2 = api_version >= vk::API_VERSION_1_3 || has(khr::synchronization2::NAME);
    let has_driver = bda_core || has(khr::driver_properties::NAME);

    let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
    let mut divisor = vk::PhysicalDeviceVertexAttributeDivisorFeaturesKHR::default();
    let mut portability = vk::PhysicalDevicePortabilitySubsetFeaturesKHR::default();
    let mut bda = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
    let mut storage_8bit = vk::PhysicalDevice8BitStorageFeatures::default();
    let mut int8 = vk::PhysicalDeviceShaderFloat16Int8Features::default();
    let mut memory_model = vk::PhysicalDeviceVulkanMemoryModelFeatures::default();
    let mut draw_parameters = vk::PhysicalDeviceShaderDrawParametersFeatures::default();
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default();
    let mut sync2 = vk::PhysicalDeviceSynchronization2Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default();
    chain! { features,
        has_xfb => xfb,
        has_provoking => provoking,
        has_divisor => divisor,
        has_portability => portability,
        has_bda => bda,
        api_version >= vk::API_VERSION_1_1 => draw_parameters,
        has_8bit_storage => storage_8bit,
        has_int8 => int8,
        has_memory_model => memory_model,
        has_rendering => rendering,
        has_sync2 => sync2,
    }
    // SAFETY: the chain contains only structures of extensions and versions that the device has.
    unsafe { query2.features(pd, &mut features) };
    let features = features.features;

    let mut xfb_limits = vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default();
    let mut provoking_limits = vk::PhysicalDeviceProvokingVertexPropertiesEXT::default();
    let mut divisor_limits = vk::PhysicalDeviceVertexAttributeDivisorPropertiesEXT::default();
    let mut portability_limits = vk::PhysicalDevicePortabilitySubsetPropertiesKHR::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties2 = vk::PhysicalDeviceProperties2::default();
    // The loader also lists extensions that only the manifests of implicit layers promise. So a list is no proof that
    // the driver has an extension. The properties of one are queried only if its feature shows that the driver has it.
    chain! { properties2,
        xfb.transform_feedback == vk::TRUE => xfb_limits,
        has_provoking => provoking_limits,
        has_divisor => divisor_limits,
        has_portability => portability_limits,
        has_driver => driver,
    }
    // SAFETY: the chain contains only structures of extensions and versions that the device has.
    unsafe { query2.properties(pd, &mut properties2) };

    let limits = &properties.limits;
    Ok(Capabilities {
        device_name: text(properties.device_name_as_c_str()),
        api_version,
        device_api_version: properties.api_version,
        driver_version: properties.driver_version,
        vendor_id: properties.vendor_id,
        device_id: properties.device_id,
        device_type: properties.device_type,
        driver_id: driver.driver_id,
        driver_name: text(driver.driver_name_as_c_str()),
        driver_info: text(driver.driver_info_as_c_str()),
        transform_feedback: (xfb.transform_feedback == vk::TRUE).then_some(
            TransformFeedbackSupport {
                geometry_streams: xfb.geometry_streams == vk::TRUE,
                max_streams: xfb_limits.max_transform_feedback_streams,
                max_buffers: xfb_limits.max_transform_feedback_buffers,
                max_buffer_size: xfb_limits.max_transform_feedback_buffer_size,
                max_stream_data_size: xfb_limits.max_transform_feedback_stream_data_size,
                max_buffer_data_size: xfb_limits.max_transform_feedback_buffer_data_size,
                max_buffer_data_stride: xfb_limits.max_transform_feedback_buffer_data_stride,
                queries: xfb_limits.transform_feedback_queries == vk::TRUE,
                streams_lines_triangles: xfb_limits.transform_feedback_streams_lines_triangles
                    == vk::TRUE,
                rasterization_stream_select: xfb_limits
                    .transform_feedback_rasterization_stream_select
                    == vk::TRUE,
                draw: xfb_limits.transform_feedback_draw == vk::TRUE,
            },
        ),
        provoking_vertex: has_provoking.then_some(ProvokingVertexSupport {
            last: provoking.provoking_vertex_last == vk::TRUE,
            preserved: provoking.transform_feedback_preserves_provoking_vertex == vk::TRUE,
            mode_per_pipeline: provoking_limits.provoking_vertex_mode_per_pipeline == vk::TRUE,
            triangle_fan_preserved: provoking_limits
                .transform_feedback_preserves_triangle_fan_provoking_vertex
                == vk::TRUE,
        }),
        vertex_divisor: (divisor.vertex_attribute_instance_rate_divisor == vk::TRUE).then_some(
            VertexDivisorSupport {
                zero: divisor.vertex_attribute_instance_rate_zero_divisor == vk::TRUE,
                max: divisor_limits.max_vertex_attrib_divisor,
            },
        ),
        portability: has_portability.then_some(PortabilitySupport {
            triangle_fans: portability.triangle_fans == vk::TRUE,
            tessellation_isolines: portability.tessellation_isolines == vk::TRUE,
            tessellation_point_mode: portability.tessellation_point_mode == vk::TRUE,
            attribute_access_beyond_stride: portability.vertex_attribute_access_beyond_stride
                == vk::TRUE,
            min_binding_stride_alignment: portability_limits
                .min_vertex_input_binding_stride_alignment,
        }),
        buffer_device_address: (bda.buffer_device_address == vk::TRUE).then_some(if bda_core {
            AddressSource::Core
        } else {
            AddressSource::Extension
        }),
        byte_loads: (storage_8bit.storage_buffer8_bit_access & int8.shader_int8) == vk::TRUE,
        memory_model_device_scope: memory_model.vulkan_memory_model_device_scope == vk::TRUE,
        memory_model: false,
        shader_draw_parameters: if api_version >= vk::API_VERSION_1_1 {
            draw_parameters.shader_draw_parameters == vk::TRUE
        } else {
            has(khr::shader_draw_parameters::NAME)
        },
        dynamic_rendering: rendering.dynamic_rendering == vk::TRUE,
        synchronization2: sync2.synchronization2 == vk::TRUE,
        extensions,
        storage_buffer_indexing: features.shader_storage_buffer_array_dynamic_indexing == vk::TRUE,
        multi_draw_indirect: features.multi_draw_indirect == vk::TRUE,
        geometry_shader: features.geometry_shader == vk::TRUE,
        tessellation_shader: features.tessellation_shader == vk::TRUE,
        indirect_commands: true,
        vertex_stores: features.vertex_pipeline_stores_and_atomics == vk::TRUE,
        shader_int64: features.shader_int64 == vk::TRUE,
        shader_float64: features.shader_float64 == vk::TRUE,
        shader_clip_distance: features.shader_clip_distance == vk::TRUE,
        shader_cull_distance: features.shader_cull_distance == vk::TRUE,
        restricted: false,
        limits: Limits {
            max_workgroups: limits.max_compute_work_group_count,
            max_workgroup_size: limits.max_compute_work_group_size,
            max_workgroup_invocations: limits.max_compute_work_group_invocations,
            max_shared_memory: limits.max_compute_shared_memory_size,
            max_push_constants: limits.max_push_constants_size,
            max_descriptor_sets: limits.max_bound_descriptor_sets,
            max_vertex_attributes: limits.max_vertex_input_attributes,
            max_vertex_bindings: limits.max_vertex_input_bindings,
            max_vertex_attribute_offset: limits.max_vertex_input_attribute_offset,
            max_vertex_binding_stride: limits.max_vertex_input_binding_stride,
            max_vertex_output_components: limits.max_vertex_output_components,
            non_coherent_atom: limits.non_coherent_atom_size,
            max_storage_buffers: limits
                .max_per_stage_descriptor_storage_buffers
                .min(limits.max_descriptor_set_storage_buffers)
                .min(limits.max_per_stage_resources),
            max_storage_buffer_range: limits.max_storage_buffer_range.into(),
            min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
            max_draw_indirect_count: limits.max_draw_indirect_count,
        },
    })
}
