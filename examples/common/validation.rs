//! The validation layer, in debug builds where it is installed.

use std::ffi::{CStr, c_void};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};
use ash::{ext, vk};

const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// What the layer said.
type Messages = Mutex<Vec<String>>;

/// An instance, and what the validation layer says of its devices.
pub struct Validation {
    debug_utils: ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    /// In a box, as the messenger has its address.
    messages: Box<Messages>,
}

/// # Safety
/// Called by Vulkan alone, with `Messages` that live.
unsafe extern "system" fn collect(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the messenger's user data, which outlives it, and a valid structure.
    unsafe {
        let text = CStr::from_ptr((*data).p_message).to_string_lossy().into_owned();
        let messages = &*messages.cast::<Messages>();
        messages.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
    vk::FALSE
}

/// Whether there is a layer to look on. VKXFB_TEST_VALIDATION=0 does without it.
///
/// # Safety
/// The entry is of a live loader.
unsafe fn is_wanted(entry: &ash::Entry) -> Result<bool> {
    let is_off = std::env::var_os("VKXFB_TEST_VALIDATION").is_some_and(|value| value == "0");
    // SAFETY: the entry is loaded.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }?;
    let has_layer = layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(LAYER));
    Ok(cfg!(debug_assertions) && has_layer && !is_off)
}

/// An instance, under the validation layer if that is wanted.
///
/// # Safety
/// The validation is closed before the instance is destroyed.
pub unsafe fn create_instance(
    entry: &ash::Entry,
    application: &vk::ApplicationInfo<'_>,
) -> Result<(ash::Instance, Option<Validation>)> {
    let (flags, mut extensions) = unsafe { super::portability::enumeration(entry) }?;
    let info = vk::InstanceCreateInfo::default().flags(flags).application_info(application);
    // SAFETY: what is enabled is there, and the structures are valid.
    unsafe {
        if !is_wanted(entry)? {
            let info = info.enabled_extension_names(&extensions);
            return Ok((entry.create_instance(&info, None)?, None));
        }
        let messages = Box::<Messages>::default();
        let (layers, enables) =
            ([LAYER.as_ptr()], [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION]);
        extensions
            .extend([ext::debug_utils::NAME, ext::validation_features::NAME].map(CStr::as_ptr));
        let mut features =
            vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
        let info = info
            .enabled_layer_names(&layers)
            .enabled_extension_names(&extensions)
            .push_next(&mut features);
        let instance = entry.create_instance(&info, None)?;
        let debug_utils = ext::debug_utils::Instance::new(entry, &instance);
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(
                vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                    | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
            )
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
            .pfn_user_callback(Some(collect))
            .user_data((&raw const *messages).cast_mut().cast());
        let messenger = debug_utils.create_debug_utils_messenger(&info, None)?;
        Ok((instance, Some(Validation { debug_utils, messenger, messages })))
    }
}

impl Validation {
    /// Fails if the layer has said anything.
    ///
    /// # Safety
    /// The instance is live, and its devices are destroyed.
    pub unsafe fn close(self) -> Result<()> {
        unsafe { self.debug_utils.destroy_debug_utils_messenger(self.messenger, None) };
        let messages = self.messages.into_inner().unwrap_or_else(PoisonError::into_inner);
        ensure!(messages.is_empty(), "the validation layer says:\n{}", messages.join("\n"));
        Ok(())
    }
}
