//! Reads the manifest of a driver, which the Vulkan loader reads elsewhere: a JSON file that names the driver's library.

#![forbid(unsafe_code)]

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The reason why the manifest of a driver leads to no driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// There is no file of that name.
    #[error(
        "there is no such file: name the driver's library, or its manifest, which on Linux is mostly in \
         /usr/share/vulkan/icd.d"
    )]
    Missing,
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    /// The file is not JSON.
    #[error(
        "it is no manifest of a driver, because it is no JSON: {0}; name the driver's library, or its manifest"
    )]
    NoJson(serde_json::Error),
    /// The file is the manifest of a layer.
    #[error(
        "it is the manifest of a layer, not of a driver: name the driver's library, or its manifest, which has an \
         object ICD"
    )]
    OfLayer,
    /// The manifest names no library.
    #[error(
        "it names no library: the manifest of a driver has a text library_path in its object ICD, as in \
         {{\"ICD\": {{\"library_path\": \"libvulkan_lvp.so\"}}}}"
    )]
    NoLibrary,
    /// The manifest has the path of a library that does not exist.
    #[error(
        "its library_path is {named}, but there is no file {}{}: correct the path, or name the driver's library instead",
        .path.display(),
        note_on_path(.named)
    )]
    LibraryMissing {
        /// The path in the manifest.
        named: String,
        /// The path of the library, which is relative to the directory of the manifest unless it is absolute.
        path: PathBuf,
    },
    /// The dynamic linker does not find the library, or it is no driver for this machine.
    #[error(
        "its library_path is {named}, which cannot be loaded: {reason}; {}, or name the driver's library instead",
        cure_of_loading(.named)
    )]
    Library {
        /// The path or the name in the manifest.
        named: String,
        /// The reason why the library cannot be used.
        reason: String,
    },
}

/// The library that a manifest names.
pub(super) struct Named {
    /// The path or the name in the manifest.
    pub(super) named: String,
    /// What the dynamic linker takes.
    pub(super) path: PathBuf,
}

/// Whether a file is the manifest of a driver, by its name.
pub(super) fn is_manifest(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Whether the dynamic linker looks a library up, as it does if there is no directory in its path.
fn is_name(library: &str) -> bool {
    !library.contains(std::path::is_separator)
}

/// Says where the path in a manifest begins, unless it is an absolute one.
fn note_on_path(named: &str) -> &'static str {
    if Path::new(named).is_absolute() {
        ""
    } else {
        " (such a path begins in the manifest's directory)"
    }
}

/// Says what to do about a library that the dynamic linker does not load.
fn cure_of_loading(named: &str) -> &'static str {
    if is_name(named) {
        "install the library where the dynamic linker finds that name (LD_LIBRARY_PATH), write its path there"
    } else {
        "take the manifest of a driver that is built for this machine"
    }
}

/// Returns the library that a manifest names: see the
/// [interface of the loader](https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md#driver-manifest-file-format).
pub(super) fn library(file: &Path) -> Result<Named, ManifestError> {
    let bytes = std::fs::read(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ManifestError::Missing,
        _ => ManifestError::Unreadable(error),
    })?;
    let manifest: Value = serde_json::from_slice(&bytes).map_err(ManifestError::NoJson)?;
    let Some(named) = manifest["ICD"]["library_path"].as_str() else {
        let is_of_layer = ["layer", "layers"].iter().any(|name| manifest.get(name).is_some());
        return Err(if is_of_layer { ManifestError::OfLayer } else { ManifestError::NoLibrary });
    };
    let named = named.to_owned();
    if is_name(&named) {
        let path = PathBuf::from(&named);
        return Ok(Named { named, path });
    }
    // The directory is made absolute, because the dynamic linker takes a name without a directory for another thing.
    let file = std::path::absolute(file).map_err(ManifestError::Unreadable)?;
    let path = file.parent().unwrap_or(Path::new("")).join(&named);
    if path.exists() {
        Ok(Named { named, path })
    } else {
        Err(ManifestError::LibraryMissing { named, path })
    }
}
