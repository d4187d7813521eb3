//! Determines which backends a device can run, and which capabilities it lacks for the other backends.

#![forbid(unsafe_code)]

use ash::{khr, vk};

use crate::runtime::device::capabilities::Capabilities;
use crate::runtime::device::table_limits::MIN_STORAGE_BUFFERS;
use crate::runtime::device::unavailable::Unavailable;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::lower::kernel::MIN_WORKGROUP_SIZE;
use vkxfb_rewriter::sysval::SYSVALS_SIZE;

impl Capabilities {
    /// Checks whether the device can run `backend`.
    ///
    /// # Errors
    /// [`Unavailable`] with all the reasons, not only the first.
    pub fn availability(&self, backend: Backend) -> Result<(), Unavailable> {
        let mut reasons = Vec::new();
        let mut need = |met: bool, reason: &str| {
            if !met {
                reasons.push(reason.to_owned());
            }
        };
        let addresses = "no feature bufferDeviceAddress \
                         (Vulkan 1.2 or VK_KHR_buffer_device_address)";
        match backend {
            Backend::Native => match &self.transform_feedback {
                Some(_) => {}
                None if self.extensions.contains(ash::ext::transform_feedback::NAME) => {
                    need(false, "no feature transformFeedback, though VK_EXT_transform_feedback");
                }
                None => need(false, "no extension VK_EXT_transform_feedback"),
            },
            Backend::Vertex => {
                need(self.vertex_stores, "no feature vertexPipelineStoresAndAtomics");
                need(self.buffer_device_address.is_some(), addresses);
            }
            Backend::Compute => {
                let obstacles = self.descriptor_obstacles();
                if self.buffer_device_address.is_none() && !obstacles.is_empty() {
                    let obstacles = obstacles.join(" and ");
                    reasons
                        .push(format!("{addresses}, and for descriptors in its place {obstacles}"));
                }
                // VUID-RuntimeSpirv-vulkanMemoryModel-06265: see `RequiredFeatures::add_to`.
                if self.memory_model && !self.memory_model_device_scope {
                    let reason = "the feature vulkanMemoryModel is enabled without \
                                  vulkanMemoryModelDeviceScope, which captures then need";
                    reasons.push(reason.to_owned());
                }
                // Every conforming device has workgroups of this size; a layer or an emulator may
                // not conform.
                let invocations = self.limits.workgroup_invocations();
                if invocations < MIN_WORKGROUP_SIZE {
                    reasons.push(format!(
                        "maxComputeWorkGroupInvocations is {invocations}, {MIN_WORKGROUP_SIZE} are needed"
                    ));
                }
            }
        }
        // Every conforming device has 128 bytes of push constants; a layer or an emulator may not conform.
        if backend != Backend::Native && self.limits.max_push_constants < SYSVALS_SIZE {
            reasons.push(format!(
                "maxPushConstantsSize is {}, {SYSVALS_SIZE} are needed",
                self.limits.max_push_constants
            ));
        }
        if reasons.is_empty() {
            return Ok(());
        }
        let (device, restricted) = (self.device_name.clone(), self.restricted);
        Err(Unavailable { backend, device, reasons, restricted })
    }

    /// The names of the capabilities that the device lacks for the descriptor plan, for [`Unavailable::reasons`].
    pub fn descriptor_obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
        if !self.storage_buffer_indexing {
            obstacles.push("no feature shaderStorageBufferArrayDynamicIndexing".to_owned());
        }
        if self.limits.max_storage_buffers < MIN_STORAGE_BUFFERS {
            obstacles.push(format!(
                "maxPerStageDescriptorStorageBuffers is {}, {MIN_STORAGE_BUFFERS} are needed",
                self.limits.max_storage_buffers
            ));
        }
        if self.api_version < vk::API_VERSION_1_1
            && !self.extensions.contains(khr::storage_buffer_storage_class::NAME)
        {
            obstacles.push(
                "no storage class StorageBuffer \
                 (Vulkan 1.1 or VK_KHR_storage_buffer_storage_class)"
                    .to_owned(),
            );
        }
        obstacles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::device::capabilities::tests::full;

    /// The compute backend is available if a workgroup can have 128 invocations, which Vulkan guarantees.
    #[test]
    fn compute_takes_the_workgroups_that_every_device_has() {
        let mut caps = full();
        for (invocations, size, available) in
            [(128, 128, true), (127, 1024, false), (1024, 64, false)]
        {
            caps.limits.max_workgroup_invocations = invocations;
            caps.limits.max_workgroup_size[0] = size;
            let found = caps.availability(Backend::Compute);
            assert_eq!(found.is_ok(), available, "{found:?}");
            assert!(caps.availability(Backend::Native).is_ok());
        }
        assert_eq!(
            caps.availability(Backend::Compute).unwrap_err().reasons,
            ["maxComputeWorkGroupInvocations is 64, 128 are needed"]
        );
    }

    #[test]
    fn every_reason_is_listed_by_name() {
        let mut caps = full();
        caps.vertex_stores = false;
        caps.buffer_device_address = None;
        caps.transform_feedback = None;
        caps.limits.max_push_constants = 64;
        let reasons = |backend| caps.availability(backend).unwrap_err().to_string();
        assert_eq!(
            reasons(Backend::Vertex),
            "the vertex backend is not available on Test: \
             no feature vertexPipelineStoresAndAtomics; \
             no feature bufferDeviceAddress (Vulkan 1.2 or VK_KHR_buffer_device_address); \
             maxPushConstantsSize is 64, 128 are needed"
        );
        assert_eq!(
            reasons(Backend::Native),
            "the native backend is not available on Test: \
             no feature transformFeedback, though VK_EXT_transform_feedback"
        );
        // Without addresses, the compute backend uses descriptors. It is unavailable if the device also lacks what
        // descriptors need.
        caps.limits.max_push_constants = 128;
        assert_eq!(caps.availability(Backend::Compute), Ok(()));
        caps.storage_buffer_indexing = false;
        caps.limits.max_storage_buffers = 3;
        caps.api_version = vk::API_VERSION_1_0;
        caps.extensions.clear();
        assert_eq!(
            caps.availability(Backend::Compute).unwrap_err().to_string(),
            "the compute backend is not available on Test: \
             no feature bufferDeviceAddress (Vulkan 1.2 or VK_KHR_buffer_device_address), \
             and for descriptors in its place no feature shaderStorageBufferArrayDynamicIndexing \
             and maxPerStageDescriptorStorageBuffers is 3, 4 are needed \
             and no storage class StorageBuffer (Vulkan 1.1 or VK_KHR_storage_buffer_storage_class)"
        );
        assert_eq!(
            caps.availability(Backend::Native).unwrap_err().reasons,
            ["no extension VK_EXT_transform_feedback"]
        );
    }
}
