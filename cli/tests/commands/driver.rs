//! Finds the software driver lavapipe, where the Vulkan loader would find it.

use std::path::{Path, PathBuf};

/// The directories in which the loader looks for drivers.
const DIRECTORIES: [&str; 3] =
    ["/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/// Returns the manifest of this machine's lavapipe. There may be others, for other architectures.
pub fn lavapipe() -> PathBuf {
    let found = DIRECTORIES.iter().find_map(|directory| lavapipe_in(Path::new(directory)));
    found.unwrap_or_else(|| panic!("no lavapipe (tests/setup.sh installs it)"))
}

/// Returns the first manifest of lavapipe in a directory whose driver this process can load.
pub fn lavapipe_in(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut manifests: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    manifests.sort();
    manifests.into_iter().find(|manifest| {
        let name = manifest.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("lvp_icd") && name.ends_with(".json") && loads(manifest)
    })
}

/// The library that a manifest names.
pub fn library(manifest: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(manifest).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let library = json["ICD"]["library_path"].as_str()?;
    // A path is relative to the manifest; the dynamic linker looks up a name.
    Some(if library.contains('/') {
        manifest.parent().unwrap_or(Path::new("")).join(library)
    } else {
        PathBuf::from(library)
    })
}

/// Whether the library that a manifest names can be loaded.
fn loads(manifest: &Path) -> bool {
    let Some(library) = library(manifest) else { return false };
    // SAFETY: the library is a Vulkan driver, which the loader would load, too.
    unsafe { libloading::Library::new(library) }.is_ok()
}
