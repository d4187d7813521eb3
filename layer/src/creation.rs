//! Makes the `VkDeviceCreateInfo` that the layer passes to the layer or driver below. It differs from the program's if
//! the layer gives the program a feature, or captures require one.

use std::ffi::{CStr, c_char};

use ash::{ext, vk};
use vkxfb::runtime::RequiredFeatures;

use crate::capture_support::CaptureSupport;
use crate::chain;
use crate::chain::copy::Chain;
use crate::drawn;
use crate::error::Error;

/// The structures with features that the layer gives to programs. The driver does not get the structure
/// `TransformFeedback`, and `PrimitivesGenerated` only if it has the extension. In the structures that the driver gets,
/// the features that the layer gives are false.
type TransformFeedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'static>;
type ProvokingVertex = vk::PhysicalDeviceProvokingVertexFeaturesEXT<'static>;
type PrimitivesGenerated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT<'static>;

/// The program's `VkDeviceCreateInfo`, with its extensions as strings.
pub(crate) struct Wishes<'a> {
    info: &'a vk::DeviceCreateInfo<'a>,
    pub(crate) extensions: Vec<&'a CStr>,
}

impl<'a> Wishes<'a> {
    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn new(info: &'a vk::DeviceCreateInfo<'a>) -> Self {
        let names =
            unsafe { chain::slice(info.pp_enabled_extension_names, info.enabled_extension_count) };
        let extensions = names.iter().map(|name| unsafe { CStr::from_ptr(*name) }).collect();
        Self { info, extensions }
    }

    /// Whether the program enables `VK_EXT_transform_feedback`.
    pub(crate) fn has_extension(&self) -> bool {
        self.extensions.contains(&ext::transform_feedback::NAME)
    }

    /// Whether captures and queries are the layer's, because the program enables an extension that the layer gives; or
    /// geometry shaders are.
    pub(crate) fn are_emulated(&self, support: &CaptureSupport) -> bool {
        support.extensions().any(|(name, _)| self.extensions.contains(&name))
            || self.draws_geometry(support)
    }

    /// Whether the layer draws geometry shaders on the device, because the program enables the feature `geometryShader`,
    /// which the driver lacks.
    pub(crate) fn draws_geometry(&self, support: &CaptureSupport) -> bool {
        support.draws_geometry()
            && self.features().any(|features| features.geometry_shader == vk::TRUE)
    }

    /// The features of Vulkan 1.0 that the program enables: in `pEnabledFeatures` or in its chain.
    fn features(&self) -> impl Iterator<Item = &'a vk::PhysicalDeviceFeatures> {
        // SAFETY: the contract of [`Self::new`]; the pointer is null or valid.
        let (given, chained) = unsafe {
            (
                self.info.p_enabled_features.as_ref(),
                chain::all_of::<vk::PhysicalDeviceFeatures2<'static>>(self.info.p_next),
            )
        };
        given.into_iter().chain(chained.map(|chained| &chained.features))
    }

    /// Whether the program enables `VK_EXT_primitives_generated_query`.
    pub(crate) fn has_generated_queries(&self) -> bool {
        self.extensions.contains(&ext::primitives_generated_query::NAME)
    }

    /// Whether the create info can go to the driver unchanged, because the program enables nothing that the layer
    /// gives.
    fn is_the_drivers(&self, support: &CaptureSupport) -> bool {
        // SAFETY: the contract of [`Self::new`].
        let (mut all, mut provoking) = unsafe {
            (
                chain::structures(self.info.p_next),
                chain::all_of::<ProvokingVertex>(self.info.p_next),
            )
        };
        // SAFETY: the contract of [`Self::new`].
        let gives = all.any(|found| support.gives_structure(unsafe { found.as_ref() }.s_type));
        let preserves = |provoking: &ProvokingVertex| {
            provoking.transform_feedback_preserves_provoking_vertex == vk::TRUE
        };
        let enables_ours =
            support.draws_geometry() && self.features().any(drawn::features::enables_ours);
        !self.are_emulated(support) && !gives && !provoking.any(preserves) && !enables_ours
    }
}

/// The `VkDeviceCreateInfo` that the layer passes on instead of the program's, which stays
/// unchanged.
pub(crate) struct Creation<'a> {
    info: vk::DeviceCreateInfo<'a>,
    extensions: Vec<*const c_char>,
    /// Replaces `pEnabledFeatures`. `None` if that pointer stays.
    features: Option<Box<vk::PhysicalDeviceFeatures>>,
    /// Replaces the `pNext` chain and the extensions. `None` if they stay.
    chain: Option<Chain>,
    /// Whether `drawIndirectFirstInstance` is enabled for captures.
    has_first_instances: bool,
    /// Whether the program enables `VK_EXT_primitives_generated_query`, which the layer gives.
    counts_generated: bool,
    /// Whether the program enables `geometryShader`, which the layer gives.
    draws_geometry: bool,
    /// Whether vertex shaders may write `Layer` and `ViewportIndex`, as the layer needs to draw geometry shaders that do.
    has_layer_outputs: bool,
}

impl<'a> Creation<'a> {
    /// Removes the extensions and the features that the layer gives. If [they are
    /// emulated](Wishes::are_emulated), adds those that captures require and, if `first_instances` is true,
    /// `drawIndirectFirstInstance`.
    ///
    /// # Errors
    /// [`Error::Behind`] if a structure that has to be changed cannot be copied.
    ///
    /// # Safety
    /// The create info is valid, and outlives the result.
    pub(crate) unsafe fn new(
        wishes: &Wishes<'a>,
        support: &CaptureSupport,
        first_instances: bool,
    ) -> Result<Self, Error> {
        let required = wishes.are_emulated(support).then_some(&support.required);
        let info = *wishes.info;
        let mut creation = Self {
            info,
            extensions: Vec::new(),
            features: None,
            chain: None,
            has_first_instances: false,
            counts_generated: wishes.has_generated_queries() && support.gives_generated_queries(),
            draws_geometry: wishes.draws_geometry(support),
            has_layer_outputs: false,
        };
        if wishes.is_the_drivers(support) {
            return Ok(creation);
        }
        let mut chain = unsafe { Chain::copy(info.p_next) };
        let mut extensions = wishes.extensions.clone();
        // VK_EXT_primitives_generated_query depends on VK_EXT_transform_feedback, so a driver that has the query
        // extension also has transform feedback. If the program enables both extensions, the driver's transform
        // feedback stays enabled as an extension, but its feature is not enabled.
        let are_given = support.gives_generated_queries();
        let is_depended_on = wishes.has_generated_queries() && !are_given;
        extensions.retain(|name| {
            let stays = *name == ext::transform_feedback::NAME && is_depended_on;
            stays || support.extensions().all(|(given, _)| given != *name)
        });
        chain.remove::<TransformFeedback>()?;
        if are_given {
            chain.remove::<PrimitivesGenerated>()?;
        }
        // This feature has a meaning only with transform feedback, whose feature is not enabled in the driver.
        chain.set::<ProvokingVertex>(
            |features| &mut features.transform_feedback_preserves_provoking_vertex,
            false,
        )?;
        // The layer counts primitives of streams other than 0, so the driver need not.
        chain.set::<PrimitivesGenerated>(
            |features| &mut features.primitives_generated_query_with_non_zero_streams,
            false,
        )?;
        if support.draws_geometry() {
            creation.remove_drawn(&mut chain)?;
        }
        if let Some(required) = required {
            for name in required.extensions() {
                if !extensions.contains(&name) {
                    extensions.push(name);
                }
            }
            creation.require(required, &mut chain)?;
            creation.prefer(required, first_instances, &mut chain);
        }
        let name = ext::shader_viewport_index_layer::NAME;
        if creation.draws_geometry && support.capabilities.extensions.contains(name) {
            let enabled = Self::enable_layer_outputs(&mut chain);
            creation.has_layer_outputs = enabled.inspect_err(report).is_ok();
            if creation.has_layer_outputs && !extensions.contains(&name) {
                extensions.push(name);
            }
        }
        creation.extensions = extensions.iter().map(|name| name.as_ptr()).collect();
        creation.chain = Some(chain);
        Ok(creation)
    }

    /// Enables the features of `VK_EXT_shader_viewport_index_layer`, which a device with the extension has. They must be
    /// enabled where the chain has their structure and the extension is enabled
    /// (VUID-VkDeviceCreateInfo-ppEnabledExtensionNames-02831).
    ///
    /// # Errors
    /// [`Error::Behind`] if the structure cannot be copied.
    fn enable_layer_outputs(chain: &mut Chain) -> Result<(), Error> {
        type Features = vk::PhysicalDeviceVulkan12Features<'static>;
        chain.set::<Features>(|features| &mut features.shader_output_layer, true)?;
        chain.set::<Features>(|features| &mut features.shader_output_viewport_index, true)?;
        Ok(())
    }

    /// Enables the features that captures require. If the program's chain has a structure with such a feature, the
    /// feature is set in the copy of that structure, because a chain must not contain the feature twice
    /// (VUID-VkDeviceCreateInfo-pNext-02830).
    fn require(&mut self, required: &RequiredFeatures, chain: &mut Chain) -> Result<(), Error> {
        if required.address_source.is_some() {
            let is_there = chain.set::<vk::PhysicalDeviceVulkan12Features<'static>>(
                |features| &mut features.buffer_device_address,
                true,
            )? || chain
                .set::<vk::PhysicalDeviceBufferDeviceAddressFeatures<'static>>(
                    |features| &mut features.buffer_device_address,
                    true,
                )?;
            if !is_there {
                chain.push(
                    &vk::PhysicalDeviceBufferDeviceAddressFeatures::default()
                        .buffer_device_address(true),
                );
            }
        }
        if required.uses_descriptors() {
            self.enable(chain, |f| &mut f.shader_storage_buffer_array_dynamic_indexing)?;
        }
        if required.shader_int64 {
            self.enable(chain, |f| &mut f.shader_int64)?;
        }
        Ok(())
    }

    /// Enables features that captures use, but do not require. A feature is left out if it belongs into a structure of
    /// the program that cannot be copied.
    fn prefer(&mut self, required: &RequiredFeatures, first_instances: bool, chain: &mut Chain) {
        // Captures and kernels have barriers and atomics with the scope Device. If the program enables the Vulkan
        // memory model, that scope needs the feature `vulkanMemoryModelDeviceScope`
        // (VUID-RuntimeSpirv-vulkanMemoryModel-06265).
        if required.memory_model_device_scope {
            self.complete::<vk::PhysicalDeviceVulkan12Features<'static>>(
                chain,
                |features| features.vulkan_memory_model,
                |features| &mut features.vulkan_memory_model_device_scope,
            );
            self.complete::<vk::PhysicalDeviceVulkanMemoryModelFeatures<'static>>(
                chain,
                |features| features.vulkan_memory_model,
                |features| &mut features.vulkan_memory_model_device_scope,
            );
        }
        if first_instances {
            let enabled = self.enable(chain, |f| &mut f.draw_indirect_first_instance);
            self.has_first_instances = enabled.inspect_err(report).is_ok();
        }
    }

    /// Enables the feature `member` in the structure of type `T`, if the program's chain contains one for which
    /// `needs_it` is true. If that structure cannot be copied, a warning is logged instead.
    fn complete<T: vk::TaggedStructure + Copy + 'static>(
        &self,
        chain: &mut Chain,
        needs_it: fn(&T) -> vk::Bool32,
        member: fn(&mut T) -> &mut vk::Bool32,
    ) {
        // SAFETY: the contract of [`Wishes::new`].
        let mut all = unsafe { chain::all_of::<T>(self.info.p_next) };
        if all.any(|features| needs_it(features) == vk::TRUE) {
            _ = chain.set::<T>(member, true).inspect_err(report);
        }
    }

    /// Removes the features of geometry shaders, which the driver lacks, in the copy of the chain's
    /// `VkPhysicalDeviceFeatures2` or of `pEnabledFeatures`.
    fn remove_drawn(&mut self, chain: &mut Chain) -> Result<(), Error> {
        chain.change::<vk::PhysicalDeviceFeatures2<'static>>(
            |chained| drawn::features::enables_ours(&chained.features),
            |chained| drawn::features::remove_ours(&mut chained.features),
        )?;
        // SAFETY: the program's pointer is null or valid.
        let given = unsafe { self.info.p_enabled_features.as_ref() };
        if let Some(given) = given.filter(|given| drawn::features::enables_ours(given)) {
            drawn::features::remove_ours(self.features.insert(Box::new(*given)));
        }
        Ok(())
    }

    /// Enables a feature of Vulkan 1.0: in the copy of the chain's `VkPhysicalDeviceFeatures2` or, if the chain has
    /// none, in a copy of `pEnabledFeatures`.
    fn enable(
        &mut self,
        chain: &mut Chain,
        member: fn(&mut vk::PhysicalDeviceFeatures) -> &mut vk::Bool32,
    ) -> Result<(), Error> {
        let is_there =
            chain.set::<vk::PhysicalDeviceFeatures2<'static>>(|f| member(&mut f.features), true)?;
        if !is_there {
            // SAFETY: the program's pointer is null or valid.
            let given = unsafe { self.info.p_enabled_features.as_ref() };
            let given = || Box::new(given.copied().unwrap_or_default());
            *member(self.features.get_or_insert_with(given)) = vk::TRUE;
        }
        Ok(())
    }

    /// Whether indirect draws may have a `firstInstance` other than 0.
    pub(crate) const fn has_first_instances(&self) -> bool {
        self.has_first_instances
    }

    /// Whether the layer counts the primitives of all queries of generated primitives.
    pub(crate) const fn counts_generated(&self) -> bool {
        self.counts_generated
    }

    /// Whether the layer draws geometry shaders on the device.
    pub(crate) const fn draws_geometry(&self) -> bool {
        self.draws_geometry
    }

    /// Whether vertex shaders may write `Layer` and `ViewportIndex`.
    pub(crate) const fn has_layer_outputs(&self) -> bool {
        self.has_layer_outputs
    }

    /// Returns the create info for the layer or driver below. It points into `self`.
    pub(crate) fn info(&mut self) -> vk::DeviceCreateInfo<'_> {
        let mut info = self.info;
        if let Some(chain) = &mut self.chain {
            info.p_next = chain.link();
            info.enabled_extension_count = self.extensions.len() as u32;
            info.pp_enabled_extension_names = self.extensions.as_ptr();
        }
        if let Some(features) = &self.features {
            info.p_enabled_features = &raw const **features;
        }
        info
    }

    /// Whether the create info for the layer or driver below equals the program's.
    #[cfg(test)]
    fn is_unchanged(&self) -> bool {
        self.chain.is_none()
    }
}

fn report(error: &Error) {
    tracing::warn!("a feature that captures use is not enabled: {error}");
}

#[cfg(test)]
mod tests;
