//! Creates the instance, with the loader or a driver, and lists its physical devices.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use ash::{ext, khr, vk};

use vkxfb::runtime::{Capabilities, RequiredFeatures, RuntimeError};

use super::conformance::conformance_version;
use super::messages::{Messages, messenger_info};
use super::tools::tools;
use super::{DeviceInfo, GpuError, OpenOptions, Profile, driver};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// The highest Vulkan version that is requested for the instance.
const MAX_API_VERSION: u32 = vk::API_VERSION_1_3;

/// An instance and the messenger of its validation layer, which are destroyed together.
pub(super) struct Instance {
    pub(super) entry: ash::Entry,
    pub(super) raw: ash::Instance,
    pub(super) api_version: u32,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    /// The messages of the validation layer. The messenger has a pointer to them, so they must
    /// outlive the messenger.
    pub(super) messages: Arc<Messages>,
    leaked: bool,
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.leaked {
            // The messenger points to `messages`, and the instance calls the driver's library. Both must stay
            // valid, so they are leaked, too.
            std::mem::forget((Arc::clone(&self.messages), self.entry.clone()));
            return;
        }
        // SAFETY: everything that was created from the instance has been destroyed.
        unsafe {
            if let Some((debug_utils, messenger)) = self.messenger.take() {
                debug_utils.destroy_debug_utils_messenger(messenger, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

/// Returns the names of the instance extensions that the implementation or a layer supports.
fn extensions(entry: &ash::Entry, layer: Option<&CStr>) -> Result<Vec<CString>, GpuError> {
    // SAFETY: the function has no precondition.
    let properties = unsafe { entry.enumerate_instance_extension_properties(layer) }
        .map_err(RuntimeError::vulkan("vkEnumerateInstanceExtensionProperties"))?;
    let names = properties.iter().filter_map(|p| p.extension_name_as_c_str().ok());
    Ok(names.map(CStr::to_owned).collect())
}

/// Loads the Vulkan loader.
fn load() -> Result<ash::Entry, GpuError> {
    // SAFETY: loading the Vulkan loader runs its initializers, which happens in every Vulkan program.
    unsafe { ash::Entry::load() }.map_err(|e| GpuError::NoLoader { reason: e.to_string() })
}

/// Returns the names of the layers that the loader finds, in the order in which it lists them.
///
/// # Errors
/// [`GpuError::NoLoader`], or a failed query.
pub fn layers() -> Result<Vec<String>, GpuError> {
    let text = |name: CString| name.to_string_lossy().into_owned();
    Ok(layer_names(&load()?)?.into_iter().map(text).collect())
}

fn layer_names(entry: &ash::Entry) -> Result<Vec<CString>, GpuError> {
    // SAFETY: the function has no precondition.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }
        .map_err(RuntimeError::vulkan("vkEnumerateInstanceLayerProperties"))?;
    let names = layers.iter().filter_map(|layer| layer.layer_name_as_c_str().ok());
    Ok(names.map(CStr::to_owned).collect())
}

fn has_layer(entry: &ash::Entry, name: &CStr) -> Result<bool, GpuError> {
    Ok(layer_names(entry)?.iter().any(|layer| layer.as_c_str() == name))
}

/// Whether the loader found a driver. A loader without a driver reports hardly any extensions, so that without this
/// check the error would name a missing extension.
fn has_driver(entry: &ash::Entry) -> bool {
    // SAFETY: nothing is enabled, and nothing is created from the instance before it is destroyed.
    unsafe {
        match entry.create_instance(&vk::InstanceCreateInfo::default(), None) {
            Ok(instance) => {
                instance.destroy_instance(None);
                true
            }
            Err(result) => result != vk::Result::ERROR_INCOMPATIBLE_DRIVER,
        }
    }
}

impl Instance {
    /// Creates an instance, with the validation layer if the options ask for it. The options say
    /// whether to use the loader or a driver directly.
    pub(super) fn new(options: &OpenOptions) -> Result<Self, GpuError> {
        let OpenOptions { profile, validation, .. } = *options;
        let entry = match &options.driver {
            // Without the loader there are no layers.
            Some(_) if validation => return Err(GpuError::NoValidationLayer),
            Some(file) => driver::load(file)?,
            None => load()?,
        };
        // SAFETY: the function has no precondition.
        let loader = unsafe { entry.try_enumerate_instance_version() }
            .map_err(RuntimeError::vulkan("vkEnumerateInstanceVersion"))?
            .unwrap_or(vk::API_VERSION_1_0);
        let api_version = match profile {
            Profile::Full => loader.min(MAX_API_VERSION),
            Profile::Bifrost => vk::API_VERSION_1_0,
        };

        let available = extensions(&entry, None)?;
        let has = |name: &CStr| available.iter().any(|a| a.as_c_str() == name);
        let mut names: Vec<&CStr> = RequiredFeatures::instance_extensions(api_version).to_vec();
        if let Some(missing) = names.iter().find(|name| !has(name)) {
            if !has_driver(&entry) {
                return Err(GpuError::NoDriver);
            }
            let name = missing.to_string_lossy().into_owned();
            return Err(GpuError::MissingInstanceExtension { name });
        }
        // Devices of Vulkan 1.0 need this extension even if the instance supports a later version.
        let properties2 = khr::get_physical_device_properties2::NAME;
        if has(properties2) && !names.contains(&properties2) {
            names.push(properties2);
        }
        let mut flags = vk::InstanceCreateFlags::empty();
        // This extension is enabled in every profile, because without it the loader hides devices that need
        // `VK_KHR_portability_subset`.
        if has(khr::portability_enumeration::NAME) {
            names.push(khr::portability_enumeration::NAME);
            flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
        }
        let mut layers = Vec::new();
        if validation {
            if !has_layer(&entry, VALIDATION_LAYER)? {
                return Err(GpuError::NoValidationLayer);
            }
            layers.push(VALIDATION_LAYER);
            let of_layer = extensions(&entry, Some(VALIDATION_LAYER))?;
            for name in [ext::debug_utils::NAME, ext::validation_features::NAME] {
                if !has(name) && !of_layer.iter().any(|a| a.as_c_str() == name) {
                    let name = name.to_string_lossy().into_owned();
                    return Err(GpuError::MissingInstanceExtension { name });
                }
                names.push(name);
            }
        }

        let messages = Arc::new(Messages::default());
        let mut messenger = messenger_info(&messages);
        let enables = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features =
            vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
        let app = vk::ApplicationInfo::default()
            .application_name(c"vkxfb")
            .engine_name(c"vkxfb")
            .api_version(api_version);
        let name_pointers: Vec<_> = names.iter().map(|n| n.as_ptr()).collect();
        let layer_pointers: Vec<_> = layers.iter().map(|n| n.as_ptr()).collect();
        let mut info = vk::InstanceCreateInfo::default()
            .flags(flags)
            .application_info(&app)
            .enabled_extension_names(&name_pointers)
            .enabled_layer_names(&layer_pointers);
        if validation {
            // The messenger's create info is in the `pNext` chain, so that messages about the creation and destruction
            // of the instance are collected, too.
            info = info.push_next(&mut features).push_next(&mut messenger);
        }
        // SAFETY: the layers and extensions were listed, and `messages` outlives the instance.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(|result| match result {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => GpuError::NoDriver,
            result => RuntimeError::Vulkan { call: "vkCreateInstance", result }.into(),
        })?;
        tracing::debug!(?profile, validation, extensions = ?names, "instance");
        let mut instance =
            Self { entry, raw, api_version, messenger: None, messages, leaked: false };
        if validation {
            let debug_utils = ext::debug_utils::Instance::new(&instance.entry, &instance.raw);
            let info = messenger_info(&instance.messages);
            // SAFETY: the extension is enabled, and `messages` outlives the messenger.
            let messenger = unsafe { debug_utils.create_debug_utils_messenger(&info, None) }
                .map_err(RuntimeError::vulkan("vkCreateDebugUtilsMessengerEXT"))?;
            instance.messenger = Some((debug_utils, messenger));
        }
        Ok(instance)
    }

    /// Makes `drop` leak the instance instead of destroying it.
    pub(super) const fn leak(&mut self) {
        self.leaked = true;
    }

    /// Returns the physical devices in the loader's order. Their capabilities are restricted to the
    /// profile.
    ///
    /// # Errors
    /// [`GpuError::NoDevice`], or a failed query.
    pub(super) fn devices(
        &self,
        profile: Profile,
    ) -> Result<Vec<(vk::PhysicalDevice, DeviceInfo)>, GpuError> {
        // SAFETY: the instance is live.
        let devices = match unsafe { self.raw.enumerate_physical_devices() } {
            Ok(devices) => devices,
            // The loader returns this if no driver could be initialized.
            Err(vk::Result::ERROR_INITIALIZATION_FAILED) => return Err(GpuError::NoDevice),
            Err(result) => {
                let call = "vkEnumeratePhysicalDevices";
                return Err(RuntimeError::Vulkan { call, result }.into());
            }
        };
        if devices.is_empty() {
            return Err(GpuError::NoDevice);
        }
        devices
            .into_iter()
            .enumerate()
            .map(|(index, device)| {
                // SAFETY: the device belongs to the instance, which was created with this version.
                let mut capabilities = unsafe {
                    Capabilities::query(&self.entry, &self.raw, self.api_version, device)
                }?;
                // SAFETY: the device belongs to the instance, which was created with this loader
                // and version.
                let tools = unsafe {
                    tools(&self.entry, &self.raw, self.api_version, device, &capabilities)
                };
                // SAFETY: the device belongs to the instance, and the capabilities are those of the
                // device.
                let conformance_version =
                    unsafe { conformance_version(&self.entry, &self.raw, device, &capabilities) };
                if profile == Profile::Bifrost {
                    capabilities.restrict_to(vkxfb::runtime::Profile::Bifrost);
                }
                Ok((device, DeviceInfo { index, capabilities, conformance_version, tools }))
            })
            .collect()
    }
}
