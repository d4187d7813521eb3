//! Reads `vk_layer_settings.txt`. Its lines are `layer.setting = value`; a comment begins with `#`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{GivenSettings, Origin, Problem, SettingValue, Sources, data_home};
use crate::identity::SETTINGS_NAME;

const FILE_NAME: &str = "vk_layer_settings.txt";

/// The path of a settings file that exists.
pub(super) struct SettingsFile(pub(super) PathBuf);

impl SettingsFile {
    /// Finds the settings file to read: the first one that exists, of the places that the head of [`super`] lists.
    /// `None` if there is none. If `VK_LAYER_SETTINGS_PATH` names no file, that is added to `problems`, and the other
    /// places are searched.
    pub(super) fn find(sources: &Sources<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        if let Some(named) = sources.variable("VK_LAYER_SETTINGS_PATH").map(PathBuf::from) {
            let file = if named.is_dir() { named.join(FILE_NAME) } else { named.clone() };
            if file.is_file() {
                return Some(Self(file));
            }
            problems.push(Problem::NoFile(named));
        }
        let of_user = data_home(|name| sources.variable(name))
            .map(|home| home.join("vulkan/settings.d").join(FILE_NAME));
        let here = sources.working_directory.join(FILE_NAME);
        let registered = sources.registered.iter().cloned();
        // Only regular files are read, because opening a pipe would block the program.
        registered.chain(of_user).chain([here]).find(|path| path.is_file()).map(Self)
    }

    /// Reads the lines for this layer. If several lines have the same setting, the last one is used, as in Khronos's
    /// layers.
    ///
    /// # Errors
    /// [`Problem::File`] if the file cannot be read.
    pub(super) fn read(&self) -> Result<GivenSettings, Problem> {
        let Self(path) = self;
        let bytes = fs::read(path);
        let bytes = bytes.map_err(|error| Problem::File { path: path.clone(), error })?;
        Ok(parse(&String::from_utf8_lossy(&bytes), path))
    }
}

fn parse(text: &str, path: &Path) -> GivenSettings {
    let mut found = GivenSettings::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        let Some((key, value)) = text.split_once('=') else { continue };
        let Some((layer, setting)) = key.trim().split_once('.') else { continue };
        if layer.eq_ignore_ascii_case(SETTINGS_NAME) {
            let origin = Origin::File { path: path.to_owned(), line };
            let value = SettingValue::Text(value.trim().to_owned());
            found.push((setting.trim().to_ascii_lowercase(), value, origin));
        }
    }
    // The caller uses the first of several values for a setting, but in a file the last one must be
    // used. So the order is reversed.
    found.reverse();
    found
}
