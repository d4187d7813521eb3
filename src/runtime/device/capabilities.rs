//! [`Capabilities`]: the properties, features and limits of a physical device that matter for captures.

mod availability;
mod query;
mod restrict;

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

use ash::{khr, vk};

use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::{
    AddressSource, PortabilitySupport, ProvokingVertexSupport, TransformFeedbackSupport,
    VertexDivisorSupport,
};
use crate::runtime::device::identity::DeviceIdentity;
use crate::runtime::device::tunings::TuningEffect;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::lower::compute::WorkgroupSizes;

/// The extensions of the least capable supported device, see [`Profile::Bifrost`](crate::runtime::Profile::Bifrost).
const FLOOR_EXTENSIONS: [&CStr; 8] = [
    khr::buffer_device_address::NAME,
    khr::device_group::NAME,
    khr::storage_buffer_storage_class::NAME,
    khr::push_descriptor::NAME,
    khr::dynamic_rendering::NAME,
    khr::synchronization2::NAME,
    khr::driver_properties::NAME,
    khr::portability_subset::NAME,
];

/// The members of
/// [`VkPhysicalDeviceLimits`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceLimits.html)
/// that captures depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Limits {
    /// `maxComputeWorkGroupCount`.
    pub max_workgroups: [u32; 3],
    /// `maxComputeWorkGroupSize`.
    pub max_workgroup_size: [u32; 3],
    /// `maxComputeWorkGroupInvocations`.
    pub max_workgroup_invocations: u32,
    /// `maxComputeSharedMemorySize` in bytes.
    pub max_shared_memory: u32,
    /// `maxPushConstantsSize` in bytes.
    pub max_push_constants: u32,
    /// `maxBoundDescriptorSets`.
    pub max_descriptor_sets: u32,
    /// `maxVertexInputAttributes`.
    pub max_vertex_attributes: u32,
    /// `maxVertexInputBindings`.
    pub max_vertex_bindings: u32,
    /// `maxVertexInputAttributeOffset` in bytes.
    pub max_vertex_attribute_offset: u32,
    /// `maxVertexInputBindingStride` in bytes.
    pub max_vertex_binding_stride: u32,
    /// `maxVertexOutputComponents`, to be passed to
    /// [`native::Options::max_output_components`](vkxfb_rewriter::lower::native::Options::max_output_components).
    pub max_vertex_output_components: u32,
    /// `nonCoherentAtomSize` in bytes.
    pub non_coherent_atom: u64,
    /// The largest number of storage buffers in a descriptor set for one stage: the minimum of
    /// `maxPerStageDescriptorStorageBuffers`, `maxDescriptorSetStorageBuffers` and `maxPerStageResources`.
    pub max_storage_buffers: u32,
    /// `maxStorageBufferRange` in bytes.
    pub max_storage_buffer_range: u64,
    /// `minStorageBufferOffsetAlignment` in bytes.
    pub min_storage_buffer_offset_alignment: u64,
    /// `maxDrawIndirectCount`: the largest number of draws of one indirect command.
    pub max_draw_indirect_count: u32,
}

impl Limits {
    /// The largest number of invocations of a one-dimensional workgroup.
    pub(crate) const fn workgroup_invocations(&self) -> u32 {
        let [x, ..] = self.max_workgroup_size;
        if x < self.max_workgroup_invocations { x } else { self.max_workgroup_invocations }
    }
}

/// What a physical device reports about itself: its properties, extensions, features and limits. A `bool` says whether
/// the device supports a feature. The default is a device without any capability.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// `deviceName`.
    pub device_name: String,
    /// `driverID`, or 0 if the device does not report it.
    pub driver_id: vk::DriverId,
    /// `driverName`, or empty if the device does not report it.
    pub driver_name: String,
    /// `driverInfo`, or empty if the device does not report it.
    pub driver_info: String,
    /// The effective Vulkan version: the lower of the instance's and the device's.
    pub api_version: u32,
    /// `apiVersion` of the device, whatever version the instance has.
    pub device_api_version: u32,
    /// `driverVersion`, in the vendor's own encoding.
    pub driver_version: u32,
    /// `vendorID`.
    pub vendor_id: u32,
    /// `deviceID`.
    pub device_id: u32,
    /// `deviceType`.
    pub device_type: vk::PhysicalDeviceType,
    /// The names of the device extensions.
    pub extensions: BTreeSet<CString>,
    /// The properties of `VK_EXT_transform_feedback`, or `None` if the device lacks the extension or its feature
    /// `transformFeedback`.
    pub transform_feedback: Option<TransformFeedbackSupport>,
    /// The features and properties of `VK_EXT_provoking_vertex`, or `None` if the device lacks the extension.
    pub provoking_vertex: Option<ProvokingVertexSupport>,
    /// The features and properties of `VK_EXT_vertex_attribute_divisor`, or `None` if the device lacks the extension or
    /// its feature `vertexAttributeInstanceRateDivisor`. The compute backend does not need them.
    pub vertex_divisor: Option<VertexDivisorSupport>,
    /// The features and properties of `VK_KHR_portability_subset`, or `None` if the device lacks the extension, and
    /// thus supports everything that the extension makes optional.
    pub portability: Option<PortabilitySupport>,
    /// Where the feature `bufferDeviceAddress` comes from. If `None`, the device has no addresses and the compute
    /// backend uses descriptors. An application that wants descriptors may set it to `None` before it calls
    /// [`required_features`](crate::runtime::required_features).
    pub buffer_device_address: Option<AddressSource>,
    /// The feature `shaderStorageBufferArrayDynamicIndexing`, which the compute backend needs if
    /// the device has no device addresses.
    pub storage_buffer_indexing: bool,
    /// The feature `multiDrawIndirect`, which native indirect draws with a `draw_count` above 1 need.
    pub multi_draw_indirect: bool,
    /// The feature `geometryShader`, which graphics pipelines with an adjacency topology or with a geometry shader
    /// need.
    pub geometry_shader: bool,
    /// The feature `tessellationShader`, which graphics pipelines with tessellation shaders need.
    pub tessellation_shader: bool,
    /// The feature `vertexPipelineStoresAndAtomics`.
    pub vertex_stores: bool,
    /// Whether `vkCmdDispatchIndirect` and `vkCmdDrawIndirect` work, as far as nothing but a driver's fault says otherwise:
    /// [`Settings::indirect_dispatch`](crate::runtime::Settings::indirect_dispatch).
    pub indirect_commands: bool,
    /// The feature `shaderInt64`. No generated shader needs it, but captures are faster with it on some devices. An
    /// application's own shader may need it.
    pub shader_int64: bool,
    /// The features `storageBuffer8BitAccess` and `shaderInt8` (Vulkan 1.2, or `VK_KHR_8bit_storage` and
    /// `VK_KHR_shader_float16_int8`). The compute backend works without them, but then an index buffer must be readable
    /// up to the end of its last dword, because shaders read whole dwords.
    pub byte_loads: bool,
    /// The feature `vulkanMemoryModelDeviceScope`, which the barriers and atomics of captures need if the application
    /// enables `vulkanMemoryModel`.
    pub memory_model_device_scope: bool,
    /// Whether an existing device was created with the feature `vulkanMemoryModel`, as [`restrict`](Self::restrict)
    /// found. Before a device is created this is false, because [`RequiredFeatures`](crate::runtime::RequiredFeatures)
    /// then adds `vulkanMemoryModelDeviceScope` where it is needed.
    pub(crate) memory_model: bool,
    /// The feature `shaderFloat64`. No generated shader needs it; an application's own shader may need it.
    pub shader_float64: bool,
    /// The feature `shaderClipDistance`. No generated shader needs it; an application's own shader may need it.
    pub shader_clip_distance: bool,
    /// The feature `shaderCullDistance`. No generated shader needs it; an application's own shader may need it.
    pub shader_cull_distance: bool,
    /// The feature `shaderDrawParameters`.
    pub shader_draw_parameters: bool,
    /// The feature `dynamicRendering`.
    pub dynamic_rendering: bool,
    /// The feature `synchronization2`.
    pub synchronization2: bool,
    /// The limits that captures depend on.
    pub limits: Limits,
    /// Whether [`restrict`](Self::restrict) was called, which removes the capabilities that an existing device was
    /// created without. The physical device itself may have them.
    pub restricted: bool,
}

impl Capabilities {
    /// The identity of the device and its driver, which [workarounds](DeviceIdentity::workarounds)
    /// depend on.
    pub const fn identity(&self) -> DeviceIdentity {
        DeviceIdentity {
            driver_id: self.driver_id,
            driver_version: self.driver_version,
            vendor_id: self.vendor_id,
            device_id: self.device_id,
            device_type: self.device_type,
        }
    }

    /// Whether captures with device addresses test at run time whether accesses are aligned to their size, and then
    /// declare that alignment to the driver. Most GPUs split a vector access that is declared as aligned to 4 bytes
    /// only: an NVIDIA H200 captures three times as fast with the larger alignment. A
    /// [tuning](TuningEffect::NarrowAccesses) disables the test for devices that do not gain from it. Accesses that are
    /// always aligned are declared so without a test.
    pub(crate) fn wide_accesses(&self) -> bool {
        !self.identity().gains_from(TuningEffect::NarrowAccesses)
    }

    /// Whether captures and kernels access pairs of dwords as 64-bit integers, which needs `shaderInt64`. Only llvmpipe
    /// becomes faster by it (captures 1.2 to 1.5 times, and it compiles kernels 1.3 times as fast), so a
    /// [tuning](TuningEffect::Int64Accesses) enables it there only.
    pub(crate) fn int64_accesses(&self) -> bool {
        self.shader_int64 && self.identity().gains_from(TuningEffect::Int64Accesses)
    }

    /// Whether the invocations of a workgroup load the parameters of their draw together. llvmpipe of Mesa 22.3
    /// captures a thousand small draws up to three times as fast in this way, that of Mesa 26.2 takes up to twice as
    /// long. So a [tuning](TuningEffect::SharedDraws) enables it for old versions only.
    pub(crate) fn shared_draws(&self) -> bool {
        self.identity().gains_from(TuningEffect::SharedDraws)
    }

    /// Whether kernels that process draws have a single invocation.
    pub(crate) fn serial_kernels(&self) -> bool {
        self.identity().gains_from(TuningEffect::SerialKernels)
    }

    /// The bytes of shared memory in which a workgroup collects its records before it stores them, or 0 for devices
    /// that a [tuning](TuningEffect::NoStaging) excludes because they do not gain from it. An NVIDIA H200 captures
    /// strips three times as fast in this way; other GPUs are assumed to gain, too. To override the number, set another
    /// one in [`Target`](vkxfb_rewriter::lower::compute::Target).
    pub(crate) fn staging(&self) -> u32 {
        // The minimum of `maxComputeSharedMemorySize` that Vulkan guarantees.
        const MOST: u32 = 16 << 10;
        if self.identity().gains_from(TuningEffect::NoStaging) {
            0
        } else {
            self.limits.max_shared_memory.min(MOST)
        }
    }

    /// Whether shaders select elements of short arrays. A [tuning](TuningEffect::SelectedElements) enables it: an NVIDIA
    /// H200 captures a geometry shader that emits `input[i % 3]` at 1.2 times the speed then.
    pub(crate) fn selects_elements(&self) -> bool {
        self.identity().gains_from(TuningEffect::SelectedElements)
    }

    /// The number of invocations per workgroup for each kind of draw: 64, except for draws that are faster with another
    /// number.
    ///
    /// Some draws use [128 on some devices](TuningEffect::LargeWorkgroups). An NVIDIA H200 then captures those with
    /// primitive restart at 0.90 of the speed of a copy, instead of 0.84 with 64 invocations, and lists without indices
    /// whose records have 16 bytes at 1.00 instead of 0.80. Other draws keep 64, because some become slower with 128: an
    /// indexed draw of a grid is captured at 0.80 instead of 0.89, a list of 64 bytes in 3 buffers at 0.82 instead of
    /// 0.91.
    pub(crate) fn workgroup_sizes(&self) -> WorkgroupSizes {
        let mut sizes = WorkgroupSizes::default();
        if self.identity().gains_from(TuningEffect::LargeWorkgroups) {
            (sizes.restarted, sizes.unindexed) = (128, 128);
        }
        sizes
    }

    /// Queries a physical device.
    ///
    /// `instance_api_version` is the `apiVersion` that the instance was created with (0 stands for
    /// 1.0, as in `VkApplicationInfo`). Below Vulkan 1.1 the instance must have
    /// `VK_KHR_get_physical_device_properties2` enabled.
    ///
    /// # Errors
    /// [`RuntimeError::MissingInstanceExtension`], or the error of a failed enumeration.
    ///
    /// # Safety
    /// `physical_device` belongs to `instance`, which was created through `entry` with the version
    /// `instance_api_version`.
    #[tracing::instrument(name = "capabilities", level = "debug", skip_all)]
    pub unsafe fn query(
        entry: &ash::Entry,
        instance: &ash::Instance,
        instance_api_version: u32,
        physical_device: vk::PhysicalDevice,
    ) -> Result<Self, RuntimeError> {
        let version = instance_api_version.max(vk::API_VERSION_1_0);
        let capabilities = unsafe { query::query(entry, instance, version, physical_device) }?;
        tracing::debug!(
            device = capabilities.device_name,
            driver = capabilities.driver_info,
            native = capabilities.availability(Backend::Native).is_ok(),
            vertex = capabilities.availability(Backend::Vertex).is_ok(),
            compute = capabilities.availability(Backend::Compute).is_ok(),
            "device capabilities"
        );
        tracing::trace!(?capabilities);
        Ok(capabilities)
    }

    /// Removes all capabilities that [`Profile::Bifrost`](crate::runtime::Profile::Bifrost) lacks.
    pub(crate) fn restrict_to_floor(&mut self) {
        self.api_version = vk::API_VERSION_1_0;
        self.extensions.retain(|name| FLOOR_EXTENSIONS.contains(&name.as_c_str()));
        self.transform_feedback = None;
        self.provoking_vertex = None;
        self.vertex_divisor = None;
        self.multi_draw_indirect = false;
        self.geometry_shader = false;
        self.tessellation_shader = false;
        self.vertex_stores = false;
        self.indirect_commands = false;
        self.shader_float64 = false;
        self.byte_loads = false;
        self.memory_model_device_scope = false;
        self.shader_draw_parameters = false;
        self.dynamic_rendering &= self.extensions.contains(khr::dynamic_rendering::NAME);
        self.synchronization2 &= self.extensions.contains(khr::synchronization2::NAME);
        if self.buffer_device_address.is_some() {
            self.buffer_device_address = self
                .extensions
                .contains(khr::buffer_device_address::NAME)
                .then_some(AddressSource::Extension);
        }
        let limits = &mut self.limits;
        for max in &mut limits.max_workgroups {
            *max = (*max).min(65535);
        }
        for max in &mut limits.max_workgroup_size {
            *max = (*max).min(256);
        }
        limits.max_workgroup_invocations = limits.max_workgroup_invocations.min(256);
        limits.max_push_constants = limits.max_push_constants.min(128);
        limits.max_descriptor_sets = limits.max_descriptor_sets.min(4);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A device that has every capability.
    pub(crate) fn full() -> Capabilities {
        let names = [
            ash::ext::transform_feedback::NAME,
            ash::ext::provoking_vertex::NAME,
            ash::ext::vertex_attribute_divisor::NAME,
            khr::buffer_device_address::NAME,
            khr::device_group::NAME,
            khr::storage_buffer_storage_class::NAME,
            khr::shader_draw_parameters::NAME,
            khr::draw_indirect_count::NAME,
        ];
        Capabilities {
            device_name: "Test".to_owned(),
            api_version: vk::API_VERSION_1_3,
            device_api_version: vk::make_api_version(0, 1, 3, 230),
            extensions: names.into_iter().map(CStr::to_owned).collect(),
            transform_feedback: Some(TransformFeedbackSupport {
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
            }),
            provoking_vertex: Some(ProvokingVertexSupport {
                last: true,
                preserved: true,
                mode_per_pipeline: true,
                triangle_fan_preserved: true,
            }),
            vertex_divisor: Some(VertexDivisorSupport { zero: true, max: u32::MAX }),
            buffer_device_address: Some(AddressSource::Core),
            storage_buffer_indexing: true,
            multi_draw_indirect: true,
            geometry_shader: true,
            tessellation_shader: true,
            vertex_stores: true,
            indirect_commands: true,
            shader_int64: true,
            byte_loads: true,
            memory_model_device_scope: true,
            shader_float64: true,
            shader_clip_distance: true,
            shader_cull_distance: true,
            shader_draw_parameters: true,
            dynamic_rendering: true,
            synchronization2: true,
            limits: Limits {
                max_workgroups: [u32::MAX, 65535, 65535],
                max_workgroup_size: [1024, 1024, 64],
                max_workgroup_invocations: 1024,
                max_shared_memory: 32 << 10,
                max_push_constants: 256,
                max_descriptor_sets: 8,
                max_vertex_attributes: 32,
                max_vertex_bindings: 32,
                max_vertex_attribute_offset: 2047,
                max_vertex_binding_stride: 2048,
                max_vertex_output_components: 128,
                non_coherent_atom: 64,
                max_storage_buffers: 32,
                max_storage_buffer_range: 1 << 27,
                min_storage_buffer_offset_alignment: 16,
                max_draw_indirect_count: u32::MAX,
            },
            ..Capabilities::default()
        }
    }

    pub(super) fn available(caps: &Capabilities) -> Vec<Backend> {
        Backend::ALL.into_iter().filter(|backend| caps.availability(*backend).is_ok()).collect()
    }

    #[test]
    fn the_floor_is_compute_alone() {
        let mut caps = full();
        assert_eq!(available(&caps), [Backend::Native, Backend::Vertex, Backend::Compute]);
        caps.restrict_to_floor();
        assert_eq!(available(&caps), [Backend::Compute]);
        assert_eq!(caps.buffer_device_address, Some(AddressSource::Extension));
        assert_eq!(caps.limits.max_workgroups, [65535; 3]);
        assert_eq!(caps.limits.max_workgroup_size, [256, 256, 64]);
        assert_eq!(caps.limits.max_push_constants, 128);
        assert!(!caps.extensions.contains(ash::ext::transform_feedback::NAME));
        // The floor (the least capable supported device) has dynamic rendering as an extension, but not as a core
        // feature.
        assert!(!caps.dynamic_rendering);
        // Properties that identify the device are not restricted.
    }
}
