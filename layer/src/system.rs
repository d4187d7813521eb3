//! Functions that differ between operating systems.

use std::path::PathBuf;

/// Returns a system property of Android, as `adb shell setprop` sets it. The text is empty if the property is not set.
/// `None` on other systems.
pub(crate) fn property(name: &str) -> Option<String> {
    #[cfg(target_os = "android")]
    {
        let name = std::ffi::CString::new(name).ok()?;
        let mut value = [0_u8; libc::PROP_VALUE_MAX as usize];
        // SAFETY: the name is terminated by zero, and the buffer has the size that Android asks for.
        unsafe { libc::__system_property_get(name.as_ptr(), value.as_mut_ptr().cast()) };
        let value = std::ffi::CStr::from_bytes_until_nul(&value).ok()?;
        Some(value.to_string_lossy().into_owned())
    }
    #[cfg(not(target_os = "android"))]
    {
        let _ = name;
        None
    }
}

/// Returns the settings files that the registry of Windows names: first those of the machine, then those of the user.
/// The name of a registry value is the path of a file, and the file is used if the value is the number 0. The Vulkan
/// Configurator writes such values. On other systems the result is empty.
pub(crate) fn registered_settings() -> Vec<PathBuf> {
    #[cfg(windows)]
    {
        use windows_registry::{CURRENT_USER, LOCAL_MACHINE};
        let mut files = Vec::new();
        for hive in [LOCAL_MACHINE, CURRENT_USER] {
            let Ok(key) = hive.open(r"SOFTWARE\Khronos\Vulkan\Settings") else { continue };
            let Ok(values) = key.values() else { continue };
            let counts = values.filter(|(_, value)| u32::try_from(value.clone()) == Ok(0));
            files.extend(counts.map(|(name, _)| PathBuf::from(name)));
        }
        files
    }
    #[cfg(not(windows))]
    {
        Vec::new()
    }
}

/// Keeps this library loaded until the process ends. Loaders close the library of a layer when the
/// last instance is destroyed, but the globals of the log and the destructors of thread-local
/// variables are used after that. On Linux and Android an option of the linker does the same
/// (`build.rs`); macOS keeps libraries with thread-local variables anyway.
pub(crate) fn keep_loaded() {
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::LibraryLoader::{
            GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN,
            GetModuleHandleExW,
        };
        let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
        let address = keep_loaded as *const () as *const u16;
        let mut module = std::ptr::null_mut();
        // SAFETY: with that flag the second argument is any address in the library.
        unsafe { GetModuleHandleExW(flags, address, &raw mut module) };
    }
}
