//! Loads the library of a driver directly, because some boards do not have the Vulkan loader.

use std::path::Path;

use ash::{StaticFn, vk};
use libloading::Library;

use super::GpuError;

mod manifest;

pub use manifest::ManifestError;
use manifest::Named;

/// The version of the loader-driver interface that is offered to the driver. From version 5 on,
/// drivers of Vulkan 1.0 must accept instances of later versions. Versions 6 and 7 add functions
/// that are not used here.
const INTERFACE_VERSION: u32 = 5;

/// `vk_icdNegotiateLoaderICDInterfaceVersion`
type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;

/// Loads a driver and initializes it as the loader would do. The file is the driver's library or its manifest. The driver
/// stays loaded until the process ends.
pub(super) fn load(file: &Path) -> Result<ash::Entry, GpuError> {
    if manifest::is_manifest(file) {
        let refused = |reason| GpuError::Manifest { file: file.to_owned(), reason };
        let Named { named, path } = manifest::library(file).map_err(refused)?;
        return load_library(&path)
            .map_err(|reason| refused(ManifestError::Library { named, reason }));
    }
    // The path is made absolute, because the dynamic linker looks for a name without a directory only in the system's
    // library directories, not in the current directory. If there is no such file in the current directory, the linker
    // gets the unchanged name.
    let here = std::path::absolute(file).ok().filter(|path| path.exists());
    load_library(here.as_deref().unwrap_or(file))
        .map_err(|reason| GpuError::Driver { file: file.to_owned(), reason })
}

/// Loads a library, of which the dynamic linker gets the path. Returns the reason if it is no driver.
fn load_library(path: &Path) -> Result<ash::Entry, String> {
    // SAFETY: loading a driver runs its initializers, which also happens when the Vulkan loader
    // loads it.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    // Drivers that implement version 0 of the interface have `vkGetInstanceProcAddr`, and none of
    // the other functions.
    // SAFETY: the loader-driver interface defines the types of these functions.
    let (negotiate, get) = unsafe {
        let get = |name: &[u8]| library.get::<vk::PFN_vkGetInstanceProcAddr>(name).map(|get| *get);
        let negotiate = library.get::<Negotiate>(b"vk_icdNegotiateLoaderICDInterfaceVersion\0");
        let get = get(b"vk_icdGetInstanceProcAddr\0").or_else(|_| get(b"vkGetInstanceProcAddr\0"));
        (negotiate.ok().map(|negotiate| *negotiate), get)
    };
    let get_instance_proc_addr =
        get.map_err(|_| "it is no Vulkan driver: it has no vk_icdGetInstanceProcAddr".to_owned())?;
    if let Some(negotiate) = negotiate {
        let mut version = INTERFACE_VERSION;
        // SAFETY: the function takes a pointer to a number, and must be called before all other
        // functions.
        let result = unsafe { negotiate(&raw mut version) };
        if result != vk::Result::SUCCESS {
            let offered = INTERFACE_VERSION;
            return Err(format!("it refuses version {offered} of its interface: {result}"));
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

    /// The error names the file, what is wrong with it, and what to do.
    #[test]
    fn a_manifest_that_leads_to_no_driver_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("some_icd.json");
        let refuse = |contents: &str| {
            std::fs::write(&file, contents).unwrap();
            let error = load(&file).err().unwrap();
            assert!(matches!(error, GpuError::Manifest { .. }), "{error:?}");
            let (begin, text) = (format!("{}: ", file.display()), error.to_string());
            text.strip_prefix(&begin).unwrap_or_else(|| panic!("{text}")).to_owned()
        };
        let missing = directory.path().join("missing.json");
        let error = load(&missing).err().unwrap().to_string();
        assert!(error.starts_with(&format!("{}: there is no such file: ", missing.display())));
        assert!(error.contains("/usr/share/vulkan/icd.d"), "{error}");

        let error = refuse("ELF");
        assert!(error.contains("no JSON") && error.contains("line 1 column 1"), "{error}");
        assert!(error.contains("name the driver's library, or its manifest"), "{error}");
        let error = refuse(r#"{"layer": {"library_path": "x"}}"#);
        assert!(error.starts_with("it is the manifest of a layer"), "{error}");
        for none in ["{}", "[]", r#"{"ICD": 1}"#, r#"{"ICD": {"library_path": 1}}"#] {
            let error = refuse(none);
            assert!(error.starts_with("it names no library: "), "{error}");
            assert!(error.ends_with(r#"{"ICD": {"library_path": "libvulkan_lvp.so"}}"#), "{error}");
        }

        let error = refuse(r#"{"ICD": {"library_path": "./libvulkan_none.so"}}"#);
        let path = directory.path().join("./libvulkan_none.so");
        let begin = format!(
            "its library_path is ./libvulkan_none.so, but there is no file {} (",
            path.display()
        );
        assert!(error.starts_with(&begin) && error.contains("manifest's directory"), "{error}");
        assert!(
            error.ends_with("correct the path, or name the driver's library instead"),
            "{error}"
        );
        let error = refuse(r#"{"ICD": {"library_path": "/none/libvulkan_none.so"}}"#);
        assert!(error.contains("there is no file /none/libvulkan_none.so: correct"), "{error}");
        let error = refuse(r#"{"ICD": {"library_path": "libvulkan_none.so"}}"#);
        assert!(error.contains("libvulkan_none.so, which cannot be loaded: "), "{error}");
        assert!(error.contains("where the dynamic linker finds that name"), "{error}");
        // A library beside the manifest is there, but is no driver.
        std::fs::write(directory.path().join("text.so"), "text").unwrap();
        let error = refuse(r#"{"ICD": {"library_path": "./text.so"}}"#);
        assert!(error.contains("./text.so, which cannot be loaded: "), "{error}");
        assert!(error.contains("built for this machine"), "{error}");
    }
}
