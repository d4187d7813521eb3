//! Adds required extensions and features to an application's `VkDeviceCreateInfo`.

use std::ffi::{CStr, c_char};
use std::ptr;

use ash::vk;
use vkxfb::runtime::RequiredFeatures;

use crate::arguments::array;
use crate::error::Error;

/// The memory that a `VkDeviceCreateInfo` points to after the additions.
#[derive(Default)]
pub(crate) struct Additions {
    names: Vec<*const c_char>,
    core: Box<vk::PhysicalDeviceFeatures>,
    addresses: Box<vk::PhysicalDeviceBufferDeviceAddressFeatures<'static>>,
}

/// The structures of a chain that contain features that may be required.
#[derive(Default)]
struct Found<'a> {
    core: Option<&'a mut vk::PhysicalDeviceFeatures>,
    buffer_device_address: Option<&'a mut vk::Bool32>,
}

impl Additions {
    /// Adds to `info`, which points to `self` afterwards.
    ///
    /// # Errors
    /// A null pointer to extension names.
    ///
    /// # Safety
    /// The structure and its chain are valid, and may be written to.
    pub(crate) unsafe fn add_to(
        &mut self,
        required: &RequiredFeatures,
        info: &mut vk::DeviceCreateInfo<'_>,
    ) -> Result<(), Error> {
        let (names, count) = (info.pp_enabled_extension_names, info.enabled_extension_count);
        // SAFETY: the caller's contract.
        let (names, found) = unsafe {
            (array(names, count, "ppEnabledExtensionNames")?, Found::in_chain(info.p_next))
        };
        let mut all = names.to_vec();
        for extension in required.extensions() {
            // SAFETY: the names are null-terminated strings.
            if !names.iter().any(|&name| unsafe { CStr::from_ptr(name) } == extension) {
                all.push(extension.as_ptr());
            }
        }
        self.names = all;
        info.enabled_extension_count = self.names.len() as u32;
        info.pp_enabled_extension_names = self.names.as_ptr();

        match found.core {
            Some(core) => *core = required.core_features(core),
            None => {
                // SAFETY: the caller's contract.
                let enabled = unsafe { info.p_enabled_features.as_ref() };
                *self.core = required.core_features(&enabled.copied().unwrap_or_default());
                info.p_enabled_features = &*self.core;
            }
        }
        if required.address_source().is_some() {
            match found.buffer_device_address {
                Some(enabled) => *enabled = vk::TRUE,
                None => {
                    self.addresses.buffer_device_address = vk::TRUE;
                    self.addresses.p_next = info.p_next.cast_mut();
                    info.p_next = ptr::from_ref(&*self.addresses).cast();
                }
            }
        }
        Ok(())
    }
}

impl Found<'_> {
    /// # Safety
    /// The chain is valid, its structures may be written to, and nothing else uses them meanwhile.
    unsafe fn in_chain(start: *const std::ffi::c_void) -> Self {
        use vk::StructureType as Type;
        let mut found = Self::default();
        let mut next = start.cast_mut().cast::<vk::BaseOutStructure<'_>>();
        // SAFETY: the caller's contract; every structure of a chain begins with these members, and
        // has the type that `sType` says.
        unsafe {
            while let Some(base) = next.as_ref() {
                match base.s_type {
                    Type::PHYSICAL_DEVICE_FEATURES_2 => {
                        let features = next.cast::<vk::PhysicalDeviceFeatures2<'_>>();
                        found.core = Some(&mut (*features).features);
                    }
                    Type::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => {
                        let features = next.cast::<vk::PhysicalDeviceVulkan12Features<'_>>();
                        found.buffer_device_address = Some(&mut (*features).buffer_device_address);
                    }
                    Type::PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES => {
                        let features =
                            next.cast::<vk::PhysicalDeviceBufferDeviceAddressFeatures<'_>>();
                        found.buffer_device_address = Some(&mut (*features).buffer_device_address);
                    }
                    _ => {}
                }
                next = base.p_next;
            }
        }
        found
    }
}
