//! The extensions and features that an application must enable when it creates its device.

use std::ffi::CStr;

use ash::{ext, khr, vk};

use crate::runtime::device::capabilities::Capabilities;
use crate::runtime::device::extensions;
use crate::runtime::device::extensions::{
    AddressSource, ChainedFeature, CreateInfoAdditions, PortabilitySupport,
};
use crate::runtime::device::unavailable::Unavailable;
use crate::runtime::device::workarounds::WorkaroundEffect;
use vkxfb_rewriter::lower::{Backend, ResourcePlan};

/// Returns a reference to one member of `VkPhysicalDeviceFeatures`.
type CoreFeature = fn(&mut vk::PhysicalDeviceFeatures) -> &mut vk::Bool32;

/// The required and optional extensions and features for a set of backends.
///
/// The backends determine which of them are required. Each public field except
/// [`address_source`](Self::address_source), [`memory_model_device_scope`](Self::memory_model_device_scope) and
/// [`storage_buffers`](Self::storage_buffers) stands for an optional feature: the field is set if the device has the
/// feature and one of the backends uses it, and the application may clear the field. These three it may not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredFeatures {
    backends: Vec<Backend>,
    /// Where the feature `bufferDeviceAddress` and its command come from, or `None` if no backend uses device addresses.
    pub address_source: Option<AddressSource>,
    descriptors: bool,
    below_1_1: bool,
    below_1_2: bool,
    storage_buffer_storage_class: bool,
    portability_subset: bool,
    /// Whether the device has `VK_KHR_draw_indirect_count`, so that
    /// [`draw_indirect_count`](Self::draw_indirect_count) enables this extension.
    has_draw_indirect_count: bool,
    /// Whether the device has `vulkanMemoryModelDeviceScope`, which a device with `vulkanMemoryModel` needs for captures.
    pub memory_model_device_scope: bool,
    /// Whether the driver may run vertex shaders for vertices that are not in the draw.
    pub(crate) speculative_vertices: bool,
    /// `provokingVertexLast`, which native pipelines with [`ProvokingVertex::Last`] need.
    ///
    /// [`ProvokingVertex::Last`]: vkxfb_rewriter::topology::ProvokingVertex::Last
    pub provoking_vertex_last: bool,
    /// `transformFeedbackPreservesProvokingVertex`. Without this feature a native capture may rotate the vertices of
    /// each primitive.
    pub preserve_provoking_vertex: bool,
    /// `geometryShader`, which the native and vertex backends need for adjacency topologies, and the native backend for
    /// geometry shaders. The compute backend does not need it.
    pub geometry_shader: bool,
    /// `tessellationShader`, which the native backend needs for tessellation shaders. The compute backend does not need
    /// it.
    pub tessellation_shader: bool,
    /// `geometryStreams`, which the native backend needs for geometry shaders that emit to vertex streams other than 0.
    /// The compute backend does not need it.
    pub geometry_streams: bool,
    /// `shaderDrawParameters`, which the native and vertex backends need for shaders that use `BaseVertex`,
    /// `BaseInstance` or `DrawIndex`. The compute backend does not need it.
    pub shader_draw_parameters: bool,
    /// `vertexAttributeInstanceRateDivisor`, which the native and vertex backends need for instance divisors other than
    /// 1. The compute backend does not need it.
    pub vertex_divisor: bool,
    /// `vertexAttributeInstanceRateZeroDivisor`, which the native and vertex backends need for the instance divisor 0.
    /// It has no effect without [`vertex_divisor`](Self::vertex_divisor). The compute backend does not need it.
    pub vertex_zero_divisor: bool,
    /// `triangleFans`, which the native and vertex backends need for triangle fans. The compute backend does not need
    /// it.
    ///
    /// A device without `VK_KHR_portability_subset` always has this feature and the features of the next three fields,
    /// so for such a device the four fields enable nothing.
    pub triangle_fans: bool,
    /// `tessellationIsolines`, which the native backend needs for tessellation shaders that make isolines. The compute
    /// backend does not need it.
    pub tessellation_isolines: bool,
    /// `tessellationPointMode`, which the native backend needs for tessellation shaders that make points. The compute
    /// backend does not need it.
    pub tessellation_point_mode: bool,
    /// `vertexAttributeAccessBeyondStride`, which the native and vertex backends need for vertex attributes that end
    /// after the stride of their binding. The compute backend does not need it.
    pub attribute_access_beyond_stride: bool,
    /// `multiDrawIndirect`, which the native backend needs for indirect draws with a `draw_count` above 1. The compute
    /// backend does not need it.
    pub multi_draw_indirect: bool,
    /// `VK_KHR_draw_indirect_count`, which the native backend needs for indirect draws whose draw count is in a buffer.
    /// The compute backend does not need it. If the device lacks the extension, an application that enables
    /// `drawIndirectCount` of Vulkan 1.2 itself must set this field.
    pub draw_indirect_count: bool,
    /// `shaderInt64`, which the compute backend uses where captures are faster with 64-bit accesses
    /// ([`Int64Accesses`](crate::runtime::TuningEffect::Int64Accesses)). The backend also works without it.
    pub shader_int64: bool,
    /// `storageBuffer8BitAccess` and `shaderInt8`, which the compute backend needs to read index buffers that end
    /// within a dword. Without these features it reads whole dwords, so an index buffer must contain its last dword
    /// completely.
    pub byte_loads: bool,
    /// The number of storage buffers that a compute capture can access under the descriptor plan, 4 to 24, or 0 if the
    /// device uses addresses. A quarter of them is for capture buffers, another quarter for buffers that kernels write
    /// (the scratch memory of the arena, counters, queries), and the rest for buffers that are only read (the upload
    /// memory of the arena, vertices, indices, arguments of draws).
    ///
    /// These storage buffers count against `maxPerStageDescriptorStorageBuffers`, together with the
    /// storage buffers in the application's set layouts. An application that exceeds the limit must
    /// lower this number.
    pub storage_buffers: u32,
}

/// The extensions and features that a device must be created with to run `backends`.
///
/// # Errors
/// [`Unavailable`] for the first of `backends` that the device cannot run.
pub fn required_features(
    caps: &Capabilities,
    backends: &[Backend],
) -> Result<RequiredFeatures, Unavailable> {
    for &backend in backends {
        caps.availability(backend)?;
    }
    let mut backends = backends.to_vec();
    backends.sort_unstable();
    backends.dedup();
    let native = backends.contains(&Backend::Native);
    let graphics = native || backends.contains(&Backend::Vertex);
    let addresses = backends.iter().any(|&b| b != Backend::Native);
    let provoking = caps.provoking_vertex.as_ref().filter(|_| native);
    let divisor = caps.vertex_divisor.as_ref().filter(|_| graphics);
    let descriptors = backends.contains(&Backend::Compute) && caps.buffer_device_address.is_none();
    let below_1_1 = caps.api_version < vk::API_VERSION_1_1;
    let portability =
        |has: fn(&PortabilitySupport) -> bool| caps.portability.as_ref().is_none_or(has);
    let has_draw_indirect_count = caps.extensions.contains(khr::draw_indirect_count::NAME);
    Ok(RequiredFeatures {
        address_source: caps.buffer_device_address.filter(|_| addresses),
        descriptors,
        below_1_1,
        below_1_2: caps.api_version < vk::API_VERSION_1_2,
        storage_buffer_storage_class: below_1_1
            && addresses
            && caps.extensions.contains(khr::storage_buffer_storage_class::NAME),
        portability_subset: caps.extensions.contains(khr::portability_subset::NAME),
        has_draw_indirect_count,
        memory_model_device_scope: caps.memory_model_device_scope,
        speculative_vertices: caps.identity().needs(WorkaroundEffect::SpeculativeVertices),
        provoking_vertex_last: provoking.is_some_and(|p| p.last),
        preserve_provoking_vertex: provoking.is_some_and(|p| p.preserved),
        geometry_shader: graphics && caps.geometry_shader,
        tessellation_shader: native && caps.tessellation_shader,
        geometry_streams: native
            && caps.transform_feedback.as_ref().is_some_and(|support| support.geometry_streams),
        shader_draw_parameters: graphics && caps.shader_draw_parameters,
        vertex_divisor: divisor.is_some(),
        vertex_zero_divisor: divisor.is_some_and(|d| d.zero),
        triangle_fans: graphics && portability(|p| p.triangle_fans),
        tessellation_isolines: native && portability(|p| p.tessellation_isolines),
        tessellation_point_mode: native && portability(|p| p.tessellation_point_mode),
        attribute_access_beyond_stride: graphics
            && portability(|p| p.attribute_access_beyond_stride),
        multi_draw_indirect: native && caps.multi_draw_indirect,
        draw_indirect_count: native && has_draw_indirect_count,
        shader_int64: backends.contains(&Backend::Compute) && caps.int64_accesses(),
        byte_loads: backends.contains(&Backend::Compute) && caps.byte_loads,
        storage_buffers: if descriptors {
            caps.limits.max_storage_buffers.min(ResourcePlan::MAX_STORAGE_BUFFERS)
        } else {
            0
        },
        backends,
    })
}

impl RequiredFeatures {
    /// The backends, sorted.
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// Whether `backend` is included.
    pub(crate) fn has(&self, backend: Backend) -> bool {
        self.backends.contains(&backend)
    }

    /// Whether the compute backend uses the descriptor plan.
    pub const fn uses_descriptors(&self) -> bool {
        self.descriptors
    }

    /// The instance extensions that the device extensions depend on. They are needed only if `api_version`, the version
    /// of the instance, is below 1.1.
    pub fn instance_extensions(api_version: u32) -> &'static [&'static CStr] {
        if api_version >= vk::API_VERSION_1_1 {
            return &[];
        }
        &[khr::get_physical_device_properties2::NAME, khr::device_group_creation::NAME]
    }

    /// The device extensions to enable, including the extensions that these depend on.
    pub fn extensions(&self) -> Vec<&'static CStr> {
        let mut names = Vec::new();
        if self.has(Backend::Native) {
            names.push(ext::transform_feedback::NAME);
        }
        if self.address_source == Some(AddressSource::Extension) {
            names.push(khr::buffer_device_address::NAME);
            if self.below_1_1 {
                names.push(khr::device_group::NAME);
            }
        }
        // SPIR-V before version 1.3 needs SPV_KHR_storage_buffer_storage_class, which this Vulkan extension allows.
        if self.storage_buffer_storage_class {
            names.push(khr::storage_buffer_storage_class::NAME);
        }
        if self.byte_loads && self.below_1_2 {
            names.extend([khr::_8bit_storage::NAME, khr::shader_float16_int8::NAME]);
        }
        if self.provoking_vertex_last || self.preserve_provoking_vertex {
            names.push(ext::provoking_vertex::NAME);
        }
        if self.shader_draw_parameters && self.below_1_1 {
            names.push(khr::shader_draw_parameters::NAME);
        }
        if self.vertex_divisor {
            names.push(ext::vertex_attribute_divisor::NAME);
        }
        if self.draw_indirect_count && self.has_draw_indirect_count {
            names.push(khr::draw_indirect_count::NAME);
        }
        // Vulkan requires that an application enables VK_KHR_portability_subset if the device has it.
        if self.portability_subset {
            names.push(khr::portability_subset::NAME);
        }
        names
    }

    /// Returns `features` with the required core features enabled.
    pub(crate) fn core_features(
        &self,
        features: &vk::PhysicalDeviceFeatures,
    ) -> vk::PhysicalDeviceFeatures {
        let mut features = *features;
        for (_, member) in self.needed_core_features() {
            *member(&mut features) = vk::TRUE;
        }
        features
    }

    /// The Vulkan names of the features to enable, for an application that builds its `pNext` chain itself. An example
    /// is `bufferDeviceAddress`, which is a member of `VkPhysicalDeviceVulkan12Features` and of
    /// `VkPhysicalDeviceBufferDeviceAddressFeatures`. An application that calls [`add_to`](Self::add_to) does not need
    /// this list.
    ///
    /// The list does not contain `vulkanMemoryModelDeviceScope`. An application that enables `vulkanMemoryModel` must
    /// also enable that feature: without it
    /// [VUID-RuntimeSpirv-vulkanMemoryModel-06265](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html#VUID-RuntimeSpirv-vulkanMemoryModel-06265)
    /// forbids the scope `Device`, which captures use.
    pub fn features(&self) -> Vec<&'static str> {
        let core = self.needed_core_features().map(|(name, _)| name);
        core.chain(self.chained_features().into_iter().map(ChainedFeature::name)).collect()
    }

    /// The members of `VkPhysicalDeviceFeatures` to enable, with their names.
    fn needed_core_features(&self) -> impl Iterator<Item = (&'static str, CoreFeature)> {
        let features: [(bool, &str, CoreFeature); 6] = [
            (self.has(Backend::Vertex), "vertexPipelineStoresAndAtomics", |features| {
                &mut features.vertex_pipeline_stores_and_atomics
            }),
            (self.shader_int64, "shaderInt64", |features| &mut features.shader_int64),
            (self.geometry_shader, "geometryShader", |features| &mut features.geometry_shader),
            (self.tessellation_shader, "tessellationShader", |features| {
                &mut features.tessellation_shader
            }),
            (self.multi_draw_indirect, "multiDrawIndirect", |features| {
                &mut features.multi_draw_indirect
            }),
            (self.descriptors, "shaderStorageBufferArrayDynamicIndexing", |features| {
                &mut features.shader_storage_buffer_array_dynamic_indexing
            }),
        ];
        features.into_iter().filter(|(needed, ..)| *needed).map(|(_, name, member)| (name, member))
    }

    /// The features to enable in the `pNext` chain.
    fn chained_features(&self) -> Vec<ChainedFeature> {
        let draw_parameters = self.shader_draw_parameters && !self.below_1_1;
        let portability = |wanted: bool| wanted && self.portability_subset;
        let features = [
            (self.has(Backend::Native), ChainedFeature::TransformFeedback),
            (self.geometry_streams, ChainedFeature::GeometryStreams),
            (self.address_source.is_some(), ChainedFeature::BufferDeviceAddress),
            (self.provoking_vertex_last, ChainedFeature::ProvokingVertexLast),
            (self.preserve_provoking_vertex, ChainedFeature::PreserveProvokingVertex),
            (draw_parameters, ChainedFeature::ShaderDrawParameters),
            (self.vertex_divisor, ChainedFeature::VertexDivisor),
            (self.vertex_divisor && self.vertex_zero_divisor, ChainedFeature::VertexZeroDivisor),
            (portability(self.triangle_fans), ChainedFeature::TriangleFans),
            (portability(self.tessellation_isolines), ChainedFeature::TessellationIsolines),
            (portability(self.tessellation_point_mode), ChainedFeature::TessellationPointMode),
            (
                portability(self.attribute_access_beyond_stride),
                ChainedFeature::AttributeAccessBeyondStride,
            ),
            (self.draw_indirect_count, ChainedFeature::DrawIndirectCount),
            (self.byte_loads, ChainedFeature::StorageBuffer8BitAccess),
            (self.byte_loads, ChainedFeature::ShaderInt8),
        ];
        features.into_iter().filter(|(needed, _)| *needed).map(|(_, feature)| feature).collect()
    }

    /// Adds the required extensions and features to `info`, with which the application creates its device.
    ///
    /// `info` contains the application's own queues, extensions, features and `pNext` chain. The required extensions
    /// are added to its extensions. A required feature is set in the structure of the chain that contains it, such as
    /// `VkPhysicalDeviceFeatures2`, `VkPhysicalDeviceVulkan12Features` or the structure of an extension. If the chain
    /// has no such structure, a structure of `additions` is put before the chain.
    ///
    /// ```no_run
    /// use ash::vk;
    /// # use vkxfb::runtime::{CreateInfoAdditions, RequiredFeatures};
    ///
    /// # unsafe fn create(
    /// #     instance: &ash::Instance, physical_device: vk::PhysicalDevice, required: &RequiredFeatures,
    /// #     queues: &[vk::DeviceQueueCreateInfo<'_>],
    /// # ) -> Result<ash::Device, vk::Result> { unsafe {
    /// let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    /// let info = vk::DeviceCreateInfo::default().queue_create_infos(queues).push_next(&mut vulkan12);
    /// let mut additions = CreateInfoAdditions::default();
    /// let info = required.add_to(info, &mut additions);
    /// instance.create_device(physical_device, &info, None)
    /// # } }
    /// ```
    ///
    /// # Safety
    /// `info`, its pointers and its chain are valid, as for
    /// [`vkCreateDevice`](https://docs.vulkan.org/refpages/latest/refpages/source/VkDeviceCreateInfo.html). Nothing
    /// else accesses the structures of the chain while the result is in use; ash's `push_next` guarantees that.
    pub unsafe fn add_to<'a>(
        &self,
        info: vk::DeviceCreateInfo<'a>,
        additions: &'a mut CreateInfoAdditions,
    ) -> vk::DeviceCreateInfo<'a> {
        let mut all: Vec<&CStr> = self.extensions();
        let core = unsafe {
            all.extend(extensions::extension_names(&info));
            self.core_features(&extensions::core_features(&info))
        };
        all.sort_unstable();
        all.dedup();
        let mut chained = self.chained_features();
        // Captures and kernels have barriers and atomics with the scope Device. If `vulkanMemoryModel` is enabled, this
        // scope needs vulkanMemoryModelDeviceScope, even in modules that declare another memory model
        // (VUID-RuntimeSpirv-vulkanMemoryModel-06265). SAFETY: the caller's contract.
        let has_memory_model = unsafe { ChainedFeature::VulkanMemoryModel.is_enabled(info.p_next) };
        if self.memory_model_device_scope && has_memory_model {
            chained.push(ChainedFeature::VulkanMemoryModelDeviceScope);
        }
        tracing::debug!(extensions = ?all, ?chained, "device creation");
        unsafe { additions.add_to(info, &all, &core, &chained) }
    }

    /// Calls `f`, which creates the device, with the structure that [`add_to`](Self::add_to) returns for `info`.
    ///
    /// ```no_run
    /// # use ash::vk;
    /// # use vkxfb::runtime::RequiredFeatures;
    /// # unsafe fn create(
    /// #     instance: &ash::Instance, physical_device: vk::PhysicalDevice, required: &RequiredFeatures,
    /// #     info: vk::DeviceCreateInfo<'_>,
    /// # ) -> Result<ash::Device, vk::Result> { unsafe {
    /// required.with_create_info(info, |info| instance.create_device(physical_device, info, None))
    /// # } }
    /// ```
    ///
    /// # Safety
    /// The requirements of [`add_to`](Self::add_to) apply.
    pub unsafe fn with_create_info<R>(
        &self,
        info: vk::DeviceCreateInfo<'_>,
        f: impl FnOnce(&vk::DeviceCreateInfo<'_>) -> R,
    ) -> R {
        let mut additions = CreateInfoAdditions::default();
        f(&unsafe { self.add_to(info, &mut additions) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::device::capabilities::tests::full;

    #[test]
    fn the_floor_needs_device_addresses_and_what_they_depend_on() {
        let mut caps = full();
        caps.restrict_to_floor();
        let required = required_features(&caps, &[Backend::Compute]).unwrap();
        assert_eq!(
            required.extensions(),
            [
                khr::buffer_device_address::NAME,
                khr::device_group::NAME,
                khr::storage_buffer_storage_class::NAME,
            ]
        );
        let core = required.core_features(&vk::PhysicalDeviceFeatures::default());
        assert_eq!(core.geometry_shader | core.vertex_pipeline_stores_and_atomics, vk::FALSE);
        assert!(required_features(&caps, &[Backend::Compute, Backend::Native]).is_err());
    }

    #[test]
    fn without_addresses_there_are_descriptors() {
        let mut caps = full();
        let required = required_features(&caps, &[Backend::Compute]).unwrap();
        assert!(!required.uses_descriptors() && required.storage_buffers == 0);
        caps.restrict_to_floor();
        caps.buffer_device_address = None;
        caps.limits.max_storage_buffers = 9;
        let required = required_features(&caps, &[Backend::Compute]).unwrap();
        assert!(required.uses_descriptors() && required.address_source.is_none());
        assert_eq!(required.storage_buffers, 9);
        assert_eq!(required.extensions(), [khr::storage_buffer_storage_class::NAME]);
        let core = required.core_features(&vk::PhysicalDeviceFeatures::default());
        assert_eq!(core.shader_storage_buffer_array_dynamic_indexing, vk::TRUE);
        assert!(required_features(&caps, &[Backend::Vertex]).is_err());
    }

    /// Returns the capabilities of a device that has `VK_KHR_portability_subset`, but none of the features that this
    /// extension makes optional.
    fn portable() -> Capabilities {
        let mut caps = full();
        caps.extensions.insert(khr::portability_subset::NAME.to_owned());
        caps.portability = Some(PortabilitySupport::default());
        caps
    }

    /// The features that `VK_KHR_portability_subset` makes optional are enabled if the device has them, and only for
    /// the backends that use them.
    #[test]
    fn a_portable_device_has_what_it_says() {
        type Get = fn(&RequiredFeatures) -> bool;
        type Set = fn(&mut PortabilitySupport);
        let features: [(&str, Set, Get); 4] = [
            ("triangleFans", |p| p.triangle_fans = true, |r| r.triangle_fans),
            (
                "tessellationIsolines",
                |p| p.tessellation_isolines = true,
                |r| r.tessellation_isolines,
            ),
            (
                "tessellationPointMode",
                |p| p.tessellation_point_mode = true,
                |r| r.tessellation_point_mode,
            ),
            (
                "vertexAttributeAccessBeyondStride",
                |p| p.attribute_access_beyond_stride = true,
                |r| r.attribute_access_beyond_stride,
            ),
        ];
        for (name, set, get) in features {
            let all = &Backend::ALL;
            let of = |caps: &Capabilities, backends| required_features(caps, backends).unwrap();
            let whole = of(&full(), all);
            assert!(get(&whole) && !whole.features().contains(&name), "{name}");
            let mut caps = portable();
            let without = of(&caps, all);
            assert!(!get(&without) && !without.features().contains(&name), "{name}");
            set(caps.portability.as_mut().unwrap());
            let with = of(&caps, all);
            assert!(get(&with) && with.features().contains(&name), "{name}");
            let compute = of(&caps, &[Backend::Compute]);
            assert!(!compute.features().contains(&name), "{name}");
            assert!(compute.extensions().contains(&khr::portability_subset::NAME));

            // A device that was created with the feature has it, and a device that was created without the feature
            // lacks it.
            // SAFETY: the structures are valid.
            let restrict = |info: &vk::DeviceCreateInfo<'_>| unsafe {
                let mut caps = caps.clone();
                caps.restrict(info);
                caps
            };
            // SAFETY: the structures are valid.
            let created =
                unsafe { with.with_create_info(vk::DeviceCreateInfo::default(), restrict) };
            assert_eq!(of(&created, all), with, "{name}");
            // SAFETY: the structures are valid.
            let created =
                unsafe { compute.with_create_info(vk::DeviceCreateInfo::default(), restrict) };
            assert_eq!(created.portability, Some(PortabilitySupport::default()), "{name}");
        }
    }

    #[test]
    fn cleared_options_are_not_enabled() {
        let backends = [Backend::Compute, Backend::Native, Backend::Compute];
        let mut required = required_features(&full(), &backends).unwrap();
        assert_eq!(required.backends(), [Backend::Native, Backend::Compute]);
        assert_eq!(
            required.extensions(),
            [
                ext::transform_feedback::NAME,
                ext::provoking_vertex::NAME,
                ext::vertex_attribute_divisor::NAME,
                khr::draw_indirect_count::NAME,
            ]
        );
        required.provoking_vertex_last = false;
        required.preserve_provoking_vertex = false;
        required.geometry_shader = false;
        required.tessellation_shader = false;
        required.vertex_divisor = false;
        required.multi_draw_indirect = false;
        required.draw_indirect_count = false;
        assert_eq!(required.extensions(), [ext::transform_feedback::NAME]);
        let core = required.core_features(&vk::PhysicalDeviceFeatures::default());
        let all = core.geometry_shader | core.tessellation_shader | core.multi_draw_indirect;
        assert_eq!(all, vk::FALSE);
    }

    #[test]
    fn native_indirect_draws_have_what_the_device_has() {
        let native = |caps: &Capabilities| required_features(caps, &[Backend::Native]).unwrap();
        let core = |required: &RequiredFeatures| {
            required.core_features(&vk::PhysicalDeviceFeatures::default()).multi_draw_indirect
        };
        let mut caps = full();
        let required = native(&caps);
        assert!(required.multi_draw_indirect && required.draw_indirect_count);
        assert_eq!(core(&required), vk::TRUE);
        assert!(required.extensions().contains(&khr::draw_indirect_count::NAME));
        let compute = required_features(&caps, &[Backend::Compute]).unwrap();
        assert!(!compute.multi_draw_indirect && !compute.draw_indirect_count);

        caps.multi_draw_indirect = false;
        caps.extensions.remove(khr::draw_indirect_count::NAME);
        let mut required = native(&caps);
        assert!(!required.multi_draw_indirect && !required.draw_indirect_count);
        assert_eq!(core(&required), vk::FALSE);
        // If the application enables `drawIndirectCount` of Vulkan 1.2 itself, the extension is not requested.
        required.draw_indirect_count = true;
        assert!(!required.extensions().contains(&khr::draw_indirect_count::NAME));
    }

    /// Returns what the create info contains after the required features were added: the extensions, the core features,
    /// and the types of the structures in the chain.
    fn created(
        required: &RequiredFeatures,
        info: vk::DeviceCreateInfo<'_>,
    ) -> (Vec<String>, vk::PhysicalDeviceFeatures, Vec<vk::StructureType>) {
        // SAFETY: the tests' structures are valid.
        unsafe {
            required.with_create_info(info, |info| {
                let names = extensions::extension_names(info);
                let names = names.iter().map(|name| name.to_string_lossy().into_owned());
                let mut types = Vec::new();
                let mut next = info.p_next.cast::<vk::BaseInStructure<'_>>();
                while let Some(base) = next.as_ref() {
                    types.push(base.s_type);
                    next = base.p_next;
                }
                (names.collect(), extensions::core_features(info), types)
            })
        }
    }

    #[test]
    fn the_applications_own_extensions_and_features_stay() {
        let required = required_features(&full(), &[Backend::Vertex]).unwrap();
        let own = vk::PhysicalDeviceFeatures::default().wide_lines(true);
        let names = [khr::swapchain::NAME.as_ptr(); 2];
        let info =
            vk::DeviceCreateInfo::default().enabled_extension_names(&names).enabled_features(&own);
        let (names, core, types) = created(&required, info);
        assert_eq!(names, ["VK_EXT_vertex_attribute_divisor", "VK_KHR_swapchain"]);
        assert_eq!(core.wide_lines & core.vertex_pipeline_stores_and_atomics, vk::TRUE);
        assert_eq!(own.vertex_pipeline_stores_and_atomics, vk::FALSE);
        assert_eq!(
            types,
            [
                vk::StructureType::PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_FEATURES_KHR,
                vk::StructureType::PHYSICAL_DEVICE_SHADER_DRAW_PARAMETERS_FEATURES,
                vk::StructureType::PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
            ]
        );
    }

    #[test]
    fn features_are_set_in_the_structures_of_the_application() {
        let required = required_features(&full(), &Backend::ALL).unwrap();
        let mut features2 = vk::PhysicalDeviceFeatures2::default();
        features2.features.wide_lines = vk::TRUE;
        let mut vulkan11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut provoking =
            vk::PhysicalDeviceProvokingVertexFeaturesEXT::default().provoking_vertex_last(true);
        let info = vk::DeviceCreateInfo::default()
            .push_next(&mut features2)
            .push_next(&mut vulkan11)
            .push_next(&mut vulkan12)
            .push_next(&mut provoking);
        let (_, core, types) = created(&required, info);
        // Each structure that the chain lacks is added, but not a second structure with the same feature.
        assert_eq!(
            types,
            [
                vk::StructureType::PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_FEATURES_KHR,
                vk::StructureType::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT,
                vk::StructureType::PHYSICAL_DEVICE_PROVOKING_VERTEX_FEATURES_EXT,
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                vk::StructureType::PHYSICAL_DEVICE_FEATURES_2,
            ]
        );
        assert_eq!(core.wide_lines & core.geometry_shader & core.multi_draw_indirect, vk::TRUE);
        assert_eq!(core.tessellation_shader, vk::TRUE);
        assert_eq!(vulkan11.shader_draw_parameters, vk::TRUE);
        let all = [
            vulkan12.timeline_semaphore,
            vulkan12.buffer_device_address,
            vulkan12.draw_indirect_count,
            vulkan12.storage_buffer8_bit_access,
            vulkan12.shader_int8,
            provoking.provoking_vertex_last,
            provoking.transform_feedback_preserves_provoking_vertex,
        ];
        assert_eq!(all, [vk::TRUE; 7]);
    }

    /// Features are set in `VkPhysicalDeviceVulkan14Features`, although ash does not have that structure. A chain with
    /// this structure must not also contain the structures of the extensions that were promoted to Vulkan 1.4.
    #[test]
    fn features_of_vulkan_1_4_are_set_in_its_structure() {
        #[repr(C)]
        struct Vulkan14Features {
            s_type: vk::StructureType,
            p_next: *const std::ffi::c_void,
            members: [vk::Bool32; 21],
        }
        let s_type = vk::StructureType::from_raw(55);
        let mut vulkan14 = Vulkan14Features { s_type, p_next: std::ptr::null(), members: [0; 21] };
        let required = required_features(&full(), &[Backend::Native]).unwrap();
        assert!(required.vertex_divisor && required.vertex_zero_divisor);
        let p_next = (&raw mut vulkan14).cast_const().cast();
        let info = vk::DeviceCreateInfo { p_next, ..Default::default() };
        let (_, _, types) = created(&required, info);
        assert_eq!(types.iter().filter(|found| **found == s_type).count(), 1);
        let divisor = vk::StructureType::PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_FEATURES_KHR;
        assert!(!types.contains(&divisor), "{types:?}");
        // SAFETY: the structure is live; it may have been written through pointers.
        let members = unsafe { (&raw const vulkan14.members).read_volatile() };
        let set: Vec<_> = (0..members.len()).filter(|member| members[*member] != 0).collect();
        // 11 and 12 are vertexAttributeInstanceRateDivisor and vertexAttributeInstanceRateZeroDivisor.
        assert_eq!(set, [11, 12]);
    }

    /// If the application enables `vulkanMemoryModel`, `vulkanMemoryModelDeviceScope` is enabled, too.
    #[test]
    fn the_memory_model_of_the_application_gets_the_scope_of_the_device() {
        let scope = |caps: &Capabilities, model: bool| {
            let required = required_features(caps, &[Backend::Compute]).unwrap();
            let mut memory_model =
                vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(model);
            let info = vk::DeviceCreateInfo::default().push_next(&mut memory_model);
            drop(created(&required, info));
            memory_model.vulkan_memory_model_device_scope == vk::TRUE
        };
        let mut caps = full();
        assert_eq!([true, false].map(|model| scope(&caps, model)), [true, false]);
        caps.memory_model_device_scope = false;
        assert!(!scope(&caps, true), "the device does not have it");
    }

    #[test]
    fn features_are_listed_by_name() {
        let required = required_features(&full(), &[Backend::Compute]).unwrap();
        assert_eq!(
            required.features(),
            ["bufferDeviceAddress", "storageBuffer8BitAccess", "shaderInt8"]
        );
        let mut required = required_features(&full(), &[Backend::Vertex]).unwrap();
        required.vertex_divisor = false;
        assert_eq!(
            required.features(),
            [
                "vertexPipelineStoresAndAtomics",
                "geometryShader",
                "bufferDeviceAddress",
                "shaderDrawParameters"
            ]
        );
    }
}
