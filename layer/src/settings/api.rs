//! Reads settings that the program passes with `VK_EXT_layer_settings` when it creates its
//! instance.

use std::ffi::{CStr, c_char, c_void};

use ash::vk;

use super::{GivenSettings, Origin, SettingValue};
use crate::chain;
use crate::identity::NAME;

/// Reads the settings for this layer from the chain of a `VkInstanceCreateInfo`.
///
/// # Safety
/// The chain is valid, and so are the settings in it.
pub(super) unsafe fn read(chain: *const c_void) -> GivenSettings {
    let mut found = GivenSettings::new();
    for info in unsafe { chain::all_of::<vk::LayerSettingsCreateInfoEXT<'_>>(chain) } {
        for setting in unsafe { chain::slice(info.p_settings, info.setting_count) } {
            let names = unsafe { (text(setting.p_layer_name), text(setting.p_setting_name)) };
            if let (Some(layer), Some(name)) = names
                && layer == NAME
            {
                let value = unsafe { value(setting) };
                found.push((name.to_string_lossy().into_owned(), value, Origin::Api));
            }
        }
    }
    found
}

/// Returns the value of a setting. If it is an array, or of a type that no setting has, the value
/// is [`SettingValue::Other`].
///
/// # Safety
/// The values have the number and type that the setting says.
unsafe fn value(setting: &vk::LayerSettingEXT<'_>) -> SettingValue {
    let other = SettingValue::Other { ty: setting.ty, count: setting.value_count };
    if setting.value_count != 1 || setting.p_values.is_null() {
        return other;
    }
    match setting.ty {
        vk::LayerSettingTypeEXT::BOOL32 => {
            SettingValue::Bool(unsafe { setting.p_values.cast::<vk::Bool32>().read() } != vk::FALSE)
        }
        vk::LayerSettingTypeEXT::STRING => {
            let text = unsafe { text(setting.p_values.cast::<*const c_char>().read()) };
            text.map_or(other, |text| SettingValue::Text(text.to_string_lossy().into_owned()))
        }
        _ => other,
    }
}

/// Returns the string that a pointer points to. `None` if the pointer is null.
///
/// # Safety
/// The pointer is null or to a null-terminated string that outlives the result.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}
