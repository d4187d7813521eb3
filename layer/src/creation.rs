//! What the next in the chain creates a device with, where a program's own wishes are not the driver's to fulfil.

use std::ffi::{CStr, c_char};

use ash::{ext, vk};
use vkxfb::runtime::RequiredFeatures;

use crate::chain::{self, Chain};
use crate::error::Error;

/// The feature structures of what the layer gives.
type TransformFeedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'static>;
type ProvokingVertex = vk::PhysicalDeviceProvokingVertexFeaturesEXT<'static>;

/// What a program wants of its device.
pub(crate) struct Wishes<'a> {
    info: &'a vk::DeviceCreateInfo<'a>,
    /// The extensions that it enables.
    pub(crate) extensions: Vec<&'a CStr>,
}

impl<'a> Wishes<'a> {
    /// # Safety
    /// The create info is valid.
    pub(crate) unsafe fn new(info: &'a vk::DeviceCreateInfo<'a>) -> Self {
        let names =
            // SAFETY: the caller's contract.
            unsafe { chain::slice(info.pp_enabled_extension_names, info.enabled_extension_count) };
        // SAFETY: the caller's contract.
        let extensions = names.iter().map(|name| unsafe { CStr::from_ptr(*name) }).collect();
        Self { info, extensions }
    }

    /// Whether it enables the extension.
    pub(crate) fn has_extension(&self) -> bool {
        self.extensions.contains(&ext::transform_feedback::NAME)
    }

    /// Whether it captures: it enables the extension, and the feature.
    pub(crate) fn captures(&self) -> bool {
        // SAFETY: the contract of the function that made the wishes.
        let mut features = unsafe { chain::all_of::<TransformFeedback>(self.info.p_next) };
        self.has_extension() && features.any(|features| features.transform_feedback == vk::TRUE)
    }

    /// Whether there is nothing in it that the driver is not to see.
    fn is_the_drivers(&self) -> bool {
        // SAFETY: the contract of the function that made the wishes.
        let (features, mut provoking) = unsafe {
            (
                chain::all_of::<TransformFeedback>(self.info.p_next).count(),
                chain::all_of::<ProvokingVertex>(self.info.p_next),
            )
        };
        let preserves = |provoking: &ProvokingVertex| {
            provoking.transform_feedback_preserves_provoking_vertex == vk::TRUE
        };
        !self.has_extension() && features == 0 && !provoking.any(preserves)
    }
}

/// A `VkDeviceCreateInfo` in the program's stead. The program's own stays as it is.
pub(crate) struct Creation<'a> {
    info: vk::DeviceCreateInfo<'a>,
    extensions: Vec<*const c_char>,
    /// In place of `pEnabledFeatures`.
    features: Option<Box<vk::PhysicalDeviceFeatures>>,
    /// In place of `pNext`.
    chain: Option<Chain>,
}

impl<'a> Creation<'a> {
    /// Without what the layer gives, and with what captures require.
    ///
    /// # Errors
    /// [`Error::Behind`].
    ///
    /// # Safety
    /// The create info is valid, and outlives the result.
    pub(crate) unsafe fn new(
        wishes: &Wishes<'a>,
        required: Option<&RequiredFeatures>,
    ) -> Result<Self, Error> {
        let info = *wishes.info;
        let mut creation = Self { info, extensions: Vec::new(), features: None, chain: None };
        if required.is_none() && wishes.is_the_drivers() {
            return Ok(creation);
        }
        // SAFETY: the caller's contract.
        let mut chain = unsafe { Chain::copy(info.p_next) };
        let mut extensions = wishes.extensions.clone();
        // Another extension of the driver may depend on its own, which stays then, without its feature.
        let is_depended_on = extensions.contains(&ext::primitives_generated_query::NAME);
        extensions.retain(|name| *name != ext::transform_feedback::NAME || is_depended_on);
        chain.remove::<TransformFeedback>()?;
        // The driver has no captures that could preserve it.
        chain.set::<ProvokingVertex>(
            |features| &mut features.transform_feedback_preserves_provoking_vertex,
            false,
        )?;
        if let Some(required) = required {
            for name in required.extensions() {
                if !extensions.contains(&name) {
                    extensions.push(name);
                }
            }
            creation.require(required, &mut chain)?;
        }
        creation.extensions = extensions.iter().map(|name| name.as_ptr()).collect();
        creation.chain = Some(chain);
        Ok(creation)
    }

    /// Has the features be there that captures require: each in the program's own structure, where it has one, for a
    /// second of a kind is invalid (VUID-VkDeviceCreateInfo-pNext-02830).
    fn require(&mut self, required: &RequiredFeatures, chain: &mut Chain) -> Result<(), Error> {
        if required.address_source().is_some() {
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
            let is_there = chain.set::<vk::PhysicalDeviceFeatures2<'static>>(
                |features| &mut features.features.shader_storage_buffer_array_dynamic_indexing,
                true,
            )?;
            if !is_there {
                // SAFETY: where there is one, it is the program's.
                let features = unsafe { self.info.p_enabled_features.as_ref() };
                let features = features.copied().unwrap_or_default();
                self.features = Some(Box::new(required.core_features(&features)));
            }
        }
        Ok(())
    }

    /// What the next in the chain gets. It points into this.
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

    /// Whether it is the program's own, word for word.
    #[cfg(test)]
    fn is_unchanged(&self) -> bool {
        self.chain.is_none()
    }
}

#[cfg(test)]
mod tests;
