//! Finds the manifests from which the loader would load the layer.

use std::env;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::{Kind, Manifest};
use super::registry;

/// A manifest of the layer that the loader finds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Installed {
    pub(crate) manifest: PathBuf,
    /// Whether the layer is implicit, which means that the loader can load it for programs that do
    /// not ask for it.
    pub(crate) implicit: bool,
    pub(crate) library: Option<PathBuf>,
    /// Whether the path of the library in the manifest does not exist. False if the manifest has no path, or only a
    /// name, which the dynamic linker looks up.
    pub(crate) library_missing: bool,
}

/// Returns the directory for the user's data files: `$XDG_DATA_HOME`, otherwise `~/.local/share`.
/// `None` if neither is an absolute path.
pub(super) fn data_home() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))
}

/// Returns the directories in which a loader looks for directories of manifests, in the order in which it looks, as
/// described in
/// [LoaderLayerInterface.md](https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderLayerInterface.md).
fn roots() -> Vec<PathBuf> {
    let listed = |name: &str, otherwise: &str| {
        let list = env::var_os(name).filter(|list| !list.is_empty());
        env::split_paths(&list.unwrap_or_else(|| otherwise.into())).collect::<Vec<_>>()
    };
    let home = env::var_os("HOME").map(PathBuf::from);
    let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let mut roots: Vec<PathBuf> =
        config.or_else(|| Some(home?.join(".config"))).into_iter().collect();
    roots.extend(listed("XDG_CONFIG_DIRS", "/etc/xdg"));
    roots.extend(["/usr/local/etc", "/etc"].map(PathBuf::from));
    roots.extend(data_home());
    roots.extend(listed("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
    roots
}

/// Returns the files in a directory that may be manifests.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = directory.read_dir() else { return Vec::new() };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// Returns the files in the directories of the [`roots`] that may be manifests, and whether each is in
/// a directory for implicit layers.
fn files_in_roots() -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for directory in Kind::DIRECTORIES {
        let implicit = directory == Kind::Always.directory();
        for root in roots() {
            let files = files_in(&root.join("vulkan").join(directory));
            found.extend(files.into_iter().map(|file| (file, implicit)));
        }
    }
    found
}

/// Returns the manifests of the layer, in the order in which the loader finds them.
pub(crate) fn installed() -> Vec<Installed> {
    let mut files = Vec::new();
    // The directories in these variables directly contain manifests of explicit layers.
    let named = |name: &str| env::var_os(name).filter(|list| !list.is_empty());
    let only = named("VK_LAYER_PATH");
    for list in [&only, &named("VK_ADD_LAYER_PATH")].into_iter().flatten() {
        for directory in env::split_paths(list) {
            files.extend(files_in(&directory).into_iter().map(|file| (file, false)));
        }
    }
    let mut others = match registry::of_system() {
        Some(registry) => registry::manifests(&*registry),
        None => files_in_roots(),
    };
    others.retain(|(_, implicit)| *implicit || only.is_none());
    files.extend(others);
    let mut found: Vec<Installed> = Vec::new();
    for (file, implicit) in files {
        let Ok(Some(manifest)) = Manifest::read(&file) else { continue };
        if found.iter().any(|other| other.manifest == file) {
            continue;
        }
        let library = manifest.library(&file);
        let library_missing =
            library.as_ref().is_some_and(|path| path.is_absolute() && !path.is_file());
        found.push(Installed { manifest: file, implicit, library, library_missing });
    }
    found
}
