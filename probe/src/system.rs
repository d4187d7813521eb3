//! Queries facts about the machine on Windows, Android and macOS. A fact is `None` if the system does not report it.

use std::ffi::CStr;
#[cfg(target_os = "macos")]
use std::ptr::null_mut;

/// Returns a value of the registry of Windows in `HKEY_LOCAL_MACHINE`, by its key and name. A number is converted to
/// decimal text. `None` on other systems, and if there is no such value.
pub(crate) fn registry_value(key: &str, name: &str) -> Option<String> {
    #[cfg(windows)]
    {
        let key = windows_registry::LOCAL_MACHINE.open(key).ok()?;
        key.get_string(name).ok().or_else(|| Some(key.get_u32(name).ok()?.to_string()))
    }
    #[cfg(not(windows))]
    {
        let _ = (key, name);
        None
    }
}

/// Returns the size of main memory in KiB, as Windows says it. `None` on other systems, and if the query fails.
pub(crate) fn windows_memory_kib() -> Option<u64> {
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
        let mut memory =
            MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
        // SAFETY: the structure says its size.
        let known = unsafe { GlobalMemoryStatusEx(&raw mut memory) } != 0;
        known.then_some(memory.ullTotalPhys / 1024)
    }
    #[cfg(not(windows))]
    None
}

/// Returns a system property of Android. `None` on other systems, and if the property is not set.
pub(crate) fn android_property(name: &CStr) -> Option<String> {
    #[cfg(target_os = "android")]
    {
        let mut value = [0_u8; libc::PROP_VALUE_MAX as usize];
        // SAFETY: the name is terminated by zero, and the buffer has the size that Android asks for.
        unsafe { libc::__system_property_get(name.as_ptr(), value.as_mut_ptr().cast()) };
        let value = CStr::from_bytes_until_nul(&value).ok()?.to_string_lossy();
        (!value.is_empty()).then(|| value.into_owned())
    }
    #[cfg(not(target_os = "android"))]
    {
        let _ = name;
        None
    }
}

/// Returns the bytes of a value of the kernel of macOS by its name, as `sysctlbyname` does: text that ends with a zero
/// byte, or a number in native byte order. `None` on other systems, and if there is no such value.
pub(crate) fn macos_value(name: &CStr) -> Option<Vec<u8>> {
    #[cfg(target_os = "macos")]
    {
        let mut size = 0;
        // SAFETY: the name is terminated by zero. Without a buffer, the size of the value is returned.
        let known = unsafe {
            libc::sysctlbyname(name.as_ptr(), null_mut(), &raw mut size, null_mut(), 0) == 0
        };
        if !known {
            return None;
        }
        let mut value = vec![0_u8; size];
        let buffer = value.as_mut_ptr().cast();
        // SAFETY: as before, and the buffer has the size that is given.
        let known =
            unsafe { libc::sysctlbyname(name.as_ptr(), buffer, &raw mut size, null_mut(), 0) == 0 };
        value.truncate(size);
        known.then_some(value)
    }
    #[cfg(not(target_os = "macos"))]
    {
        let _ = name;
        None
    }
}
