//! Loads the library of a driver directly, because some boards do not have the Vulkan loader.

use std::path::Path;

use ash::{StaticFn, vk};
use libloading::Library;

use super::GpuError;

/// The version of the loader-driver interface that is offered to the driver. From version 5 on,
/// drivers of Vulkan 1.0 must accept instances of later versions. Versions 6 and 7 add functions
/// that are not used here.
const INTERFACE_VERSION: u32 = 5;

/// `vk_icdNegotiateLoaderICDInterfaceVersion`
type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;

/// Loads a driver and initializes it as the loader would do. The driver stays loaded until the
/// process ends.
pub(super) fn load(file: &Path) -> Result<ash::Entry, GpuError> {
    let refused = |reason: String| GpuError::Driver { file: file.to_owned(), reason };
    // The path is made absolute, because the dynamic linker looks for a name without a directory only in the system's
    // library directories, not in the current directory. If there is no such file in the current directory, the linker
    // gets the unchanged name.
    let here = std::path::absolute(file).ok().filter(|path| path.exists());
    let path = here.as_deref().unwrap_or(file);
    // SAFETY: loading a driver runs its initializers, which also happens when the Vulkan loader
    // loads it.
    let library = unsafe { Library::new(path) }.map_err(|error| refused(error.to_string()))?;
    // Drivers that implement version 0 of the interface have `vkGetInstanceProcAddr`, and none of
    // the other functions.
    // SAFETY: the loader-driver interface defines the types of these functions.
    let (negotiate, get) = unsafe {
        let get = |name: &[u8]| library.get::<vk::PFN_vkGetInstanceProcAddr>(name).map(|get| *get);
        let negotiate = library.get::<Negotiate>(b"vk_icdNegotiateLoaderICDInterfaceVersion\0");
        let get = get(b"vk_icdGetInstanceProcAddr\0").or_else(|_| get(b"vkGetInstanceProcAddr\0"));
        (negotiate.ok().map(|negotiate| *negotiate), get)
    };
    let get_instance_proc_addr = get.map_err(|_| {
        refused("it is no Vulkan driver: it has no vk_icdGetInstanceProcAddr".to_owned())
    })?;
    if let Some(negotiate) = negotiate {
        let mut version = INTERFACE_VERSION;
        // SAFETY: the function takes a pointer to a number, and must be called before all other
        // functions.
        let result = unsafe { negotiate(&raw mut version) };
        if result != vk::Result::SUCCESS {
            let offered = INTERFACE_VERSION;
            return Err(refused(format!(
                "it refuses version {offered} of its interface: {result}"
            )));
        }
    }
    // The library must not be unloaded, because its functions are called until the process ends.
    std::mem::forget(library);
    // SAFETY: the function belongs to the driver, which stays loaded.
    Ok(unsafe { ash::Entry::from_static_fn(StaticFn { get_instance_proc_addr }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_driver_is_refused_by_name() {
        let refuse = |file: &str| load(Path::new(file)).err().unwrap().to_string();
        let missing = refuse("/missing/libvulkan_none.so");
        assert!(missing.contains("/missing/libvulkan_none.so"), "{missing}");
        #[cfg(target_os = "linux")]
        {
            // `Cargo.toml` is in the current directory, and is found there, although the dynamic
            // linker searches only the library directories for a name without a directory.
            let here = refuse("Cargo.toml");
            assert!(here.contains("ELF") && !here.contains("No such file"), "{here}");
            let other = refuse("libc.so.6");
            assert!(other.contains("libc.so.6: it is no Vulkan driver"), "{other}");
        }
    }
}
