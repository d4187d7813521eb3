//! Describes the device for a report.

use ash::vk;
use vkxfb::runtime::Capabilities;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::gpu::Gpu;
use crate::report::{BackendSupport, DeviceInfo};
use crate::run::supported::has_topology;

/// Describes the device under test.
pub fn device_info(gpu: &Gpu) -> DeviceInfo {
    let capabilities = gpu.capabilities();
    let limits = &capabilities.limits;
    let memory = gpu.memory_limits();
    let yes_no = |value: bool| if value { "yes" } else { "no" }.to_owned();
    let xfb = capabilities.transform_feedback.as_ref();
    let provoking = capabilities.provoking_vertex.as_ref();
    let list = |values: [u32; 3]| values.map(|value| value.to_string()).join(" x ");
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let limits = [
        ("maxComputeWorkGroupCount", list(limits.max_workgroups)),
        ("maxComputeWorkGroupSize", list(limits.max_workgroup_size)),
        ("maxComputeWorkGroupInvocations", limits.max_workgroup_invocations.to_string()),
        ("maxComputeSharedMemorySize", limits.max_shared_memory.to_string()),
        ("maxStorageBufferRange", limits.max_storage_buffer_range.to_string()),
        ("storage buffers of a stage and set", limits.max_storage_buffers.to_string()),
        ("minStorageBufferOffsetAlignment", limits.min_storage_buffer_offset_alignment.to_string()),
        ("nonCoherentAtomSize", limits.non_coherent_atom.to_string()),
        ("maxDrawIndirectCount", limits.max_draw_indirect_count.to_string()),
        ("largest DEVICE_LOCAL heap", memory.device_heap.to_string()),
        ("maxPushConstantsSize", limits.max_push_constants.to_string()),
        ("maxBoundDescriptorSets", limits.max_descriptor_sets.to_string()),
        ("maxTransformFeedbackBuffers", number(xfb.map(|x| x.max_buffers.into()))),
        ("maxTransformFeedbackBufferSize", number(xfb.map(|x| x.max_buffer_size))),
        (
            "maxTransformFeedbackBufferDataStride",
            number(xfb.map(|x| x.max_buffer_data_stride.into())),
        ),
        ("bufferDeviceAddress", yes_no(capabilities.buffer_device_address.is_some())),
        ("geometryShader", yes_no(capabilities.geometry_shader)),
        ("tessellationShader", yes_no(capabilities.tessellation_shader)),
        ("vertexPipelineStoresAndAtomics", yes_no(capabilities.vertex_stores)),
        ("provokingVertexLast", yes_no(provoking.is_some_and(|p| p.last))),
        (
            "transformFeedbackPreservesProvokingVertex",
            yes_no(provoking.is_some_and(|p| p.preserved)),
        ),
        (
            "transformFeedbackPreservesTriangleFanProvokingVertex",
            yes_no(provoking.is_some_and(|p| p.triangle_fan_preserved)),
        ),
        (
            "workgroups per axis that captures use",
            gpu.context().settings().max_workgroups_per_axis.to_string(),
        ),
    ];
    DeviceInfo {
        index: (gpu.device_count() > 1).then_some(gpu.device_index()),
        name: capabilities.device_name.clone(),
        driver: driver(capabilities),
        driver_version: format!("{:#x}", capabilities.driver_version),
        conformance_version: gpu.conformance_version(),
        api_version: version_string(capabilities.device_api_version),
        vendor_id: capabilities.vendor_id,
        device_id: capabilities.device_id,
        backends: Backend::ALL.map(|backend| backend_support(gpu, backend)).into(),
        limits: limits.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

fn backend_support(gpu: &Gpu, backend: Backend) -> BackendSupport {
    let missing = match gpu.capabilities().availability(backend) {
        Err(unavailable) => unavailable.reasons,
        Ok(()) if gpu.backends().contains(&backend) => Vec::new(),
        Ok(()) => vec!["the profile does not include it".to_owned()],
    };
    let topologies = PrimitiveTopology::ALL.into_iter();
    let captured =
        |topology: &PrimitiveTopology| missing.is_empty() && has_topology(gpu, backend, *topology);
    let topologies = topologies.filter(captured).collect();
    BackendSupport { backend, missing, topologies }
}

/// Formats a packed Vulkan version, for example "1.3.230".
pub fn version_string(version: u32) -> String {
    let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
    format!("{major}.{minor}.{}", vk::api_version_patch(version))
}

/// The name and version of the driver, as the driver reports them.
pub fn driver(capabilities: &Capabilities) -> String {
    format!("{} {}", capabilities.driver_name, capabilities.driver_info).trim().to_owned()
}
