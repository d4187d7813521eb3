//! The registry of Windows, from which the loader learns where manifests are, as described in
//! [LoaderLayerInterface.md](https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderLayerInterface.md#windows-layer-discovery):
//! a key for explicit layers and one for implicit layers, with a value for each manifest. The name of the value is the
//! path of the manifest. The loader reads the manifest if the value is the number 0.

use std::io::Result;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hive {
    /// `HKEY_LOCAL_MACHINE`, for all users. Only administrators may write to it.
    Machine,
    /// `HKEY_CURRENT_USER`. The loader does not read it for programs that run as administrator.
    User,
}

impl Hive {
    /// Returns the full path of the key of explicit or of implicit layers, for messages.
    pub(super) fn path(self, implicit: bool) -> String {
        let hive = match self {
            Self::Machine => "HKEY_LOCAL_MACHINE",
            Self::User => "HKEY_CURRENT_USER",
        };
        format!(r"{hive}\{}", key(implicit))
    }
}

/// The data of a registry value whose name is the path of a manifest that the loader is to read. With any other number
/// the loader ignores the manifest.
const ENABLED: u32 = 0;

/// The part of a registry that the loader reads: values that are numbers.
pub(super) trait Registry {
    /// Returns the values of a key, with their names. There are none if the key does not exist.
    fn values(&self, hive: Hive, key: &str) -> Result<Vec<(String, u32)>>;

    /// Sets a value. Creates the key if it does not exist.
    fn set(&mut self, hive: Hive, key: &str, name: &str, value: u32) -> Result<()>;

    /// Removes a value that exists.
    fn remove(&mut self, hive: Hive, key: &str, name: &str) -> Result<()>;
}

const fn key(implicit: bool) -> &'static str {
    if implicit {
        r"SOFTWARE\Khronos\Vulkan\ImplicitLayers"
    } else {
        r"SOFTWARE\Khronos\Vulkan\ExplicitLayers"
    }
}

/// Returns the manifests that the loader reads, in the order in which it reads them, and for each whether its layer is
/// implicit. The loader reads a manifest if the registry value for it has the data [`ENABLED`]. A hive that cannot be
/// read counts as empty.
pub(super) fn manifests(registry: &dyn Registry) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for implicit in [false, true] {
        for hive in [Hive::Machine, Hive::User] {
            let values = registry.values(hive, key(implicit)).unwrap_or_default();
            let enabled = values.into_iter().filter(|(_, value)| *value == ENABLED);
            found.extend(enabled.map(|(name, _)| (PathBuf::from(name), implicit)));
        }
    }
    found
}

/// Adds the registry value whose name is the path of a manifest, so that the loader reads the manifest.
pub(super) fn add(
    registry: &mut dyn Registry,
    hive: Hive,
    implicit: bool,
    manifest: &Path,
) -> Result<()> {
    registry.set(hive, key(implicit), &manifest.to_string_lossy(), ENABLED)
}

/// Removes the registry value whose name is the path of a manifest, so that the loader no longer reads the manifest.
/// Returns whether there was such a value. On Windows, paths that differ only in the case of letters are the same.
pub(super) fn remove(
    registry: &mut dyn Registry,
    hive: Hive,
    implicit: bool,
    manifest: &Path,
) -> Result<bool> {
    let key = key(implicit);
    let manifest = manifest.to_string_lossy();
    let mut values = registry.values(hive, key)?;
    values.retain(|(name, _)| name.eq_ignore_ascii_case(&manifest));
    for (name, _) in &values {
        registry.remove(hive, key, name)?;
    }
    Ok(!values.is_empty())
}

/// Returns the registry of this machine. `None` on other systems than Windows.
pub(super) fn of_system() -> Option<Box<dyn Registry>> {
    #[cfg(windows)]
    let registry: Option<Box<dyn Registry>> = Some(Box::new(SystemRegistry));
    #[cfg(not(windows))]
    let registry = None;
    registry
}

#[cfg(windows)]
struct SystemRegistry;

#[cfg(windows)]
impl Hive {
    const fn root(self) -> &'static windows_registry::Key {
        match self {
            Self::Machine => windows_registry::LOCAL_MACHINE,
            Self::User => windows_registry::CURRENT_USER,
        }
    }
}

/// Converts an error of the registry so that the standard library can tell its `ErrorKind`.
#[cfg(windows)]
fn io_error(error: impl Into<std::io::Error>) -> std::io::Error {
    let error = error.into();
    let code = error.raw_os_error().map(system_error);
    code.map_or(error, std::io::Error::from_raw_os_error)
}

/// Returns the error of the system that an `HRESULT` contains, or the `HRESULT` if it contains none.
#[cfg(any(windows, test))]
const fn system_error(result: i32) -> i32 {
    // `FACILITY_WIN32`, with the bit that means failure.
    match result as u32 >> 16 {
        0x8007 => result & 0xFFFF,
        _ => result,
    }
}

#[cfg(windows)]
impl Registry for SystemRegistry {
    fn values(&self, hive: Hive, key: &str) -> Result<Vec<(String, u32)>> {
        let key = match hive.root().open(key).map_err(io_error) {
            Ok(key) => key,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let values = key.values().map_err(io_error)?;
        Ok(values.filter_map(|(name, value)| Some((name, value.try_into().ok()?))).collect())
    }

    fn set(&mut self, hive: Hive, key: &str, name: &str, value: u32) -> Result<()> {
        let key = hive.root().create(key).map_err(io_error)?;
        key.set_u32(name, value).map_err(io_error)
    }

    fn remove(&mut self, hive: Hive, key: &str, name: &str) -> Result<()> {
        let key = hive.root().options().read().write().open(key).map_err(io_error)?;
        key.remove_value(name).map_err(io_error)
    }
}

#[cfg(test)]
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FakeRegistry(pub(super) std::collections::BTreeMap<(Hive, String, String), u32>);

#[cfg(test)]
impl Registry for FakeRegistry {
    fn values(&self, hive: Hive, key: &str) -> Result<Vec<(String, u32)>> {
        let of_key = self.0.iter().filter(|((other, path, _), _)| *other == hive && path == key);
        Ok(of_key.map(|((.., name), value)| (name.clone(), *value)).collect())
    }

    fn set(&mut self, hive: Hive, key: &str, name: &str, value: u32) -> Result<()> {
        self.0.insert((hive, key.to_owned(), name.to_owned()), value);
        Ok(())
    }

    fn remove(&mut self, hive: Hive, key: &str, name: &str) -> Result<()> {
        let removed = self.0.remove(&(hive, key.to_owned(), name.to_owned()));
        removed.map(drop).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r"C:\Program Files\vkxfb\layer.json";

    #[test]
    fn the_loader_reads_values_of_zero_of_the_machine_first() {
        let mut registry = FakeRegistry::default();
        let explicit = r"SOFTWARE\Khronos\Vulkan\ExplicitLayers";
        let implicit = r"SOFTWARE\Khronos\Vulkan\ImplicitLayers";
        registry.set(Hive::Machine, implicit, "implicit", 0).unwrap();
        registry.set(Hive::User, explicit, "user", 0).unwrap();
        registry.set(Hive::User, explicit, "disabled", 1).unwrap();
        registry.set(Hive::Machine, explicit, "machine", 0).unwrap();
        registry.set(Hive::Machine, r"SOFTWARE\Khronos\Vulkan\Drivers", "driver", 0).unwrap();
        let expected = [("machine", false), ("user", false), ("implicit", true)];
        let expected = expected.map(|(name, implicit)| (PathBuf::from(name), implicit));
        assert_eq!(manifests(&registry), expected);
    }

    #[test]
    fn errors_of_the_system_are_found_in_results() {
        // The error codes are `ERROR_FILE_NOT_FOUND`, as an `HRESULT`, and `E_NOTIMPL`.
        assert_eq!(system_error(0x8007_0002_u32 as i32), 2);
        assert_eq!(system_error(0x8000_4001_u32 as i32), 0x8000_4001_u32 as i32);
    }

    #[test]
    fn what_is_added_is_removed_and_nothing_else() {
        let mut registry = FakeRegistry::default();
        let key = r"SOFTWARE\Khronos\Vulkan\ExplicitLayers";
        registry.set(Hive::User, key, r"C:\other.json", 0).unwrap();
        let manifest = Path::new(MANIFEST);
        add(&mut registry, Hive::User, false, manifest).unwrap();
        assert_eq!(registry.0.get(&(Hive::User, key.to_owned(), MANIFEST.to_owned())), Some(&0));
        // The manifest was added neither to the other hive nor to the other key.
        assert!(!remove(&mut registry, Hive::Machine, false, manifest).unwrap());
        assert!(!remove(&mut registry, Hive::User, true, manifest).unwrap());
        let spelled = MANIFEST.to_uppercase();
        assert!(remove(&mut registry, Hive::User, false, Path::new(&spelled)).unwrap());
        assert!(!remove(&mut registry, Hive::User, false, manifest).unwrap());
        assert_eq!(manifests(&registry), [(PathBuf::from(r"C:\other.json"), false)]);
    }
}
