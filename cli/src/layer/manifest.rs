//! The manifest of the layer, from which the loader learns the path of the layer's library. It is made from
//! `manifest.json`, with the path of the library and, for an implicit layer, the environment variables that enable and
//! disable the layer.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "VK_LAYER_VKXFB_transform_feedback";

/// The file name of an installed manifest.
pub(super) const FILE_NAME: &str = "VkLayer_vkxfb_transform_feedback.json";

/// The environment variable that enables an implicit layer on request, if it is set to 1.
pub(super) const ENABLE: &str = "ENABLE_VKXFB_TRANSFORM_FEEDBACK";

/// The environment variable that disables an implicit layer, if it is set to 1.
pub(super) const DISABLE: &str = "DISABLE_VKXFB_TRANSFORM_FEEDBACK";

/// The manifest without library path and variables. Tests of the layer compare it with what the
/// layer reports.
const TEMPLATE: &str = include_str!("manifest.json");

/// The programs for which the loader loads the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Programs that ask for the layer (an explicit layer).
    Explicit,
    /// Programs that run with the variable [`ENABLE`] (an implicit layer).
    OnRequest,
    /// Every program that does not run with [`DISABLE`] (an implicit layer).
    Always,
}

impl Kind {
    /// The names of the directories with manifests of explicit and of implicit layers. They are in
    /// the directories in which the loader looks.
    pub(super) const DIRECTORIES: [&str; 2] = ["explicit_layer.d", "implicit_layer.d"];

    pub(super) const fn directory(self) -> &'static str {
        Self::DIRECTORIES[self.is_implicit() as usize]
    }

    pub(super) const fn other_directory(self) -> &'static str {
        Self::DIRECTORIES[!self.is_implicit() as usize]
    }

    pub(super) const fn is_implicit(self) -> bool {
        !matches!(self, Self::Explicit)
    }
}

#[derive(Debug)]
pub(crate) struct Manifest(Value);

impl Manifest {
    pub(super) fn new(kind: Kind, library: &Path) -> Result<Self> {
        let Some(library) = library.to_str() else {
            bail!("a manifest cannot contain {}, which is not UTF-8", library.display());
        };
        let mut manifest: Value = serde_json::from_str(TEMPLATE)?;
        let layer = &mut manifest["layer"];
        layer["library_path"] = library.into();
        layer["platforms"] = json!([platform(std::env::consts::OS)]);
        if kind.is_implicit() {
            layer["disable_environment"] = json!({ DISABLE: "1" });
        }
        if kind == Kind::OnRequest {
            layer["enable_environment"] = json!({ ENABLE: "1" });
        }
        Ok(Self(manifest))
    }

    /// Reads a manifest file. Returns `None` if the manifest is that of another layer.
    pub(crate) fn read(file: &Path) -> std::io::Result<Option<Self>> {
        let bytes = std::fs::read(file)?;
        let manifest: Option<Value> = serde_json::from_slice(&bytes).ok();
        Ok(manifest.filter(|manifest| manifest["layer"]["name"] == NAME).map(Self))
    }

    /// Returns the path of the library in the manifest, which was read from `file`. `None` if there
    /// is none.
    pub(crate) fn library(&self, file: &Path) -> Option<PathBuf> {
        let library = Path::new(self.0["layer"]["library_path"].as_str()?);
        // A name without a directory is looked up by the dynamic linker, so it stays as it is.
        let is_name = library.components().count() == 1;
        let directory = file.parent().filter(|_| !is_name);
        Some(directory.map_or(library.to_owned(), |directory| directory.join(library)))
    }

    pub(super) fn text(&self) -> Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(&self.0)?))
    }
}

/// Returns the name of a system in manifests.
fn platform(os: &str) -> &'static str {
    match os {
        "windows" => "WINDOWS",
        "macos" => "MACOS",
        "android" => "ANDROID",
        _ => "LINUX",
    }
}

/// Returns the file name of the layer's library on this system.
pub(super) fn library_name() -> String {
    format!("{}vkxfb_layer{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// Returns the path of the library for the manifest of a package. The path is only a name, which the dynamic linker
/// looks up. But in packages for Windows the library is beside the manifest, where the dynamic linker does not look, so
/// the path includes the directory.
pub(super) fn packaged_library() -> PathBuf {
    let directory = if cfg!(windows) { r".\" } else { "" };
    PathBuf::from(directory.to_owned() + &library_name())
}

/// The directories for libraries, relative to the parent of `bin`. The last is Debian's.
fn library_directories() -> [String; 4] {
    let debian = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    ["lib".to_owned(), "lib/vkxfb".to_owned(), "lib64".to_owned(), debian]
}

/// Finds the library of the layer near the command: in the same directory, where cargo builds both,
/// or in one of the [`library_directories`].
pub(super) fn find_library(command: &Path) -> Result<PathBuf> {
    let name = library_name();
    // If the command was run through a link, the library is near the target of the link.
    let command = dunce::canonicalize(command).unwrap_or_else(|_| command.to_owned());
    let mut places = Vec::new();
    if let Some(directory) = command.parent() {
        places.push(directory.join(&name));
        if let Some(prefix) = directory.parent() {
            places.extend(library_directories().map(|lib| prefix.join(lib).join(&name)));
        }
    }
    match places.iter().find(|place| place.is_file()) {
        Some(place) => Ok(place.clone()),
        None => {
            let places: Vec<_> = places.iter().map(|p| format!("  {}", p.display())).collect();
            bail!(
                "the layer's library is not there; cargo build makes it, --library names it. \
                 Looked for\n{}",
                places.join("\n")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(kind: Kind) -> Value {
        let text = Manifest::new(kind, Path::new("/lib/layer.so")).unwrap().text().unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["layer"].take()
    }

    #[test]
    fn it_is_the_layers() {
        let explicit = layer(Kind::Explicit);
        assert_eq!(explicit["name"], NAME);
        assert_eq!(explicit["library_path"], "/lib/layer.so");
        assert!(explicit["enable_environment"].is_null());
        assert!(explicit["disable_environment"].is_null());
        let request = layer(Kind::OnRequest);
        assert_eq!(request["enable_environment"], json!({ ENABLE: "1" }));
        assert_eq!(request["disable_environment"], json!({ DISABLE: "1" }));
        let always = layer(Kind::Always);
        assert!(always["enable_environment"].is_null());
        assert_eq!(always["disable_environment"], json!({ DISABLE: "1" }));
    }

    #[test]
    fn it_names_the_platform() {
        let platforms = &layer(Kind::Explicit)["platforms"];
        assert_eq!(*platforms, json!([platform(std::env::consts::OS)]));
        let all = ["linux", "freebsd", "windows", "macos", "android"].map(platform);
        assert_eq!(all, ["LINUX", "LINUX", "WINDOWS", "MACOS", "ANDROID"]);
    }

    /// What the Vulkan Configurator shows is complete: it leaves out what it does not understand. That the settings are
    /// those of the layer, a test of the layer holds.
    #[test]
    fn the_configurator_understands_it() {
        let layer = layer(Kind::Explicit);
        let one_of = |value: &Value, names: &[&str]| {
            let name = value.as_str().unwrap_or_default();
            assert!(names.contains(&name), "{value} is none of {names:?}");
        };
        let is_said = |value: &Value| assert!(value.as_str().is_some_and(|text| !text.is_empty()));
        let status = ["ALPHA", "BETA", "STABLE", "DEPRECATED"];
        one_of(&layer["status"], &status);
        // The address of a page that does not exist would be worse than none.
        assert!(
            layer["url"].is_null(),
            "there is a public repository now: README.md should link to it, too"
        );
        let settings = layer["features"]["settings"].as_array().unwrap();
        for setting in settings {
            for field in ["key", "env", "label", "description"] {
                is_said(&setting[field]);
            }
            one_of(&setting["view"], &["STANDARD", "ADVANCED", "HIDDEN"]);
            one_of(&setting["type"], &["BOOL", "STRING"]);
            assert_eq!(setting["default"].is_boolean(), setting["type"] == "BOOL", "{setting}");
        }
        let presets = layer["features"]["presets"].as_array().unwrap();
        assert!(!presets.is_empty());
        for preset in presets {
            is_said(&preset["label"]);
            is_said(&preset["description"]);
            one_of(&preset["status"], &status);
            for value in preset["settings"].as_array().unwrap() {
                let of_key = settings.iter().find(|setting| setting["key"] == value["key"]);
                let default = &of_key.unwrap_or_else(|| panic!("no setting {value}"))["default"];
                let is_alike = (value["value"].is_boolean(), value["value"].is_string())
                    == (default.is_boolean(), default.is_string());
                assert!(is_alike, "{value}");
            }
        }
    }

    #[test]
    fn a_library_is_relative_to_its_manifest() {
        let library = |path: &str| {
            let manifest = Manifest::new(Kind::Explicit, Path::new(path)).unwrap();
            manifest.library(Path::new("/etc/vulkan/a.json")).unwrap()
        };
        assert_eq!(library("/lib/a.so"), Path::new("/lib/a.so"));
        assert_eq!(library("../a.so"), Path::new("/etc/vulkan/../a.so"));
        assert_eq!(library("a.so"), Path::new("a.so"));
    }

    #[test]
    fn the_library_is_beside_the_command_or_in_lib() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        // The directories are filled in reverse order, so that each new library is found before the
        // others.
        let mut directories = library_directories().map(|lib| root.path().join(lib)).to_vec();
        directories.reverse();
        directories.push(bin.clone());
        for directory in &directories {
            std::fs::create_dir_all(directory).unwrap();
        }
        let command = bin.join("vkxfb");
        std::fs::write(&command, "").unwrap();
        let error = find_library(&command).unwrap_err().to_string();
        for directory in &directories {
            let place = directory.join(library_name());
            assert!(error.contains(place.to_str().unwrap()), "{error}");
        }
        for directory in &directories {
            let place = directory.join(library_name());
            std::fs::write(&place, "").unwrap();
            let found = find_library(&command).unwrap();
            assert_eq!(found, place.canonicalize().unwrap());
        }
    }
}
