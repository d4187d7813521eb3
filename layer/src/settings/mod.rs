//! Reads the user's settings for the layer.
//!
//! The layer looks for each setting in these places, in the order that Khronos's layers use. The
//! first value that it finds is used:
//!
//! 1. Environment variables: for the setting `force_enable`, `VKXFB_FORCE_ENABLE` or, in Khronos's
//!    convention, `VK_VKXFB_TRANSFORM_FEEDBACK_FORCE_ENABLE`. An empty variable is ignored.
//! 2. On Android, where apps have no environment: system properties such as
//!    `debug.vkxfb.force_enable`, which `adb shell setprop` sets.
//! 3. `vk_layer_settings.txt`, with lines such as `vkxfb_transform_feedback.force_enable = true`.
//!    The layer reads the first of these files that exists: the file that `VK_LAYER_SETTINGS_PATH`
//!    names (or the file in the directory that it names), on Windows the files that the registry
//!    names in `SOFTWARE\Khronos\Vulkan\Settings`, the file in `vulkan/settings.d` below
//!    `$XDG_DATA_HOME` (or `~/.local/share` if that is not set), and the file in the working
//!    directory.
//! 4. `VK_EXT_layer_settings`: the structures in the chain of `VkInstanceCreateInfo` that name the
//!    layer. The layer does not require that the program enables the extension, because the loader
//!    of Debian 12 does not allow it.
//!
//! An invalid value is logged with the name of the setting, and ignored.

mod api;
mod file;

use std::env;
use std::ffi::{OsString, c_void};
use std::fmt;
use std::path::PathBuf;

use ash::vk;

use self::file::SettingsFile;
use crate::identity::SETTINGS_NAME;
use crate::system;

/// The names of all settings, in the order of the manifest.
pub(crate) const NAMES: [&str; 8] = [
    DESCRIPTORS,
    DRAW_STAGES,
    FORCE_ENABLE,
    LOG,
    OPTIMIZE_SHADERS,
    REPLACE_PARTIAL,
    STRICT,
    WITHHOLD_PASSES,
];
const DESCRIPTORS: &str = "descriptors";
const DRAW_STAGES: &str = "draw_stages";
const FORCE_ENABLE: &str = "force_enable";
const LOG: &str = "log";
const OPTIMIZE_SHADERS: &str = "optimize_shaders";
const REPLACE_PARTIAL: &str = "replace_partial";
const STRICT: &str = "strict";
const WITHHOLD_PASSES: &str = "withhold_passes";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether captures access memory by descriptors even if the device has addresses.
    pub(crate) descriptors: bool,
    /// Whether programs get geometry shaders where the driver has none: the layer draws them with vertex shaders. This
    /// is experimental.
    pub(crate) draw_stages: bool,
    /// Whether the layer is active even if the driver has the extension, or captures take a descriptor set that programs
    /// may need.
    pub(crate) force_enable: bool,
    /// The filter for the log, in the syntax of `tracing_subscriber`. Only the first instance's
    /// setting in a process has an effect, because all instances share the log.
    pub(crate) log: String,
    /// Whether the shaders of captures are optimized before the driver compiles them.
    pub(crate) optimize_shaders: bool,
    /// Whether the layer is also active if the driver's extension lacks queries, indirect draws by
    /// byte count, or the streams of geometry shaders.
    pub(crate) replace_partial: bool,
    /// Whether commands fail where otherwise only a capture is lost.
    pub(crate) strict: bool,
    /// Whether the layer, where it is active, lets the driver capture, and only stores the commands of all passes until
    /// they end. This is for tests, and to measure what storing the commands costs.
    pub(crate) withhold_passes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            descriptors: false,
            draw_stages: false,
            force_enable: false,
            log: "warn".to_owned(),
            optimize_shaders: true,
            replace_partial: false,
            strict: false,
            withhold_passes: false,
        }
    }
}

/// A problem with the settings. The layer logs it and uses the other settings.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// A value has the wrong type, or cannot be parsed.
    #[error("{name} cannot be {value} ({origin}): it takes {expected}")]
    Value { name: &'static str, value: SettingValue, origin: Origin, expected: &'static str },
    /// A setting with the prefix of the layer has an unknown name.
    #[error("no setting {name} ({origin}); there are {}", NAMES.join(", "))]
    Name { name: String, origin: Origin },
    /// A settings file exists, but cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    /// `VK_LAYER_SETTINGS_PATH` names a settings file that does not exist.
    #[error("{}, which VK_LAYER_SETTINGS_PATH names, is not a settings file and does not contain one", .0.display())]
    NoFile(PathBuf),
}

/// The place where a value was found. Messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Environment(String),
    Property(String),
    File { path: PathBuf, line: usize },
    Api,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Property(name) => write!(f, "system property {name}"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Api => f.write_str("VK_EXT_layer_settings"),
        }
    }
}

/// The value of a setting before it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingValue {
    Text(String),
    Bool(bool),
    /// A value of another type, or an array. Only a program that uses `VK_EXT_layer_settings` can
    /// pass that.
    Other {
        ty: vk::LayerSettingTypeEXT,
        count: u32,
    },
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bool(value) => value.fmt(f),
            Self::Other { ty, count } => write!(f, "{count} of {ty:?}"),
        }
    }
}

/// A type into which values of settings are parsed.
trait FromValue: Sized {
    const EXPECTED: &'static str;

    fn from_value(value: &SettingValue) -> Option<Self>;
}

impl FromValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_value(value: &SettingValue) -> Option<Self> {
        match value {
            SettingValue::Bool(value) => Some(*value),
            SettingValue::Text(text) => match text.to_ascii_lowercase().as_str() {
                "true" | "1" => Some(true),
                "false" | "0" => Some(false),
                _ => None,
            },
            SettingValue::Other { .. } => None,
        }
    }
}

/// A filter for the log, in the syntax of `tracing_subscriber`.
struct Filter(String);

impl FromValue for Filter {
    const EXPECTED: &'static str =
        "off, error, warn, info, debug, trace, or a filter such as vkxfb_layer::device=debug";

    fn from_value(value: &SettingValue) -> Option<Self> {
        match value {
            SettingValue::Text(text) => crate::log::is_filter(text).then(|| Self(text.clone())),
            SettingValue::Bool(_) | SettingValue::Other { .. } => None,
        }
    }
}

/// The values that the user or the program gives to settings, each with the setting's name and the place where the
/// layer found it. If several have the same name, the first value that can be parsed is used.
type GivenSettings = Vec<(String, SettingValue, Origin)>;

/// The places from which settings are read.
pub(crate) struct Sources<'a> {
    /// Returns an environment variable. `None` if it is not set.
    environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// Returns a system property of Android. `None` or an empty text if it is not set.
    property: &'a dyn Fn(&str) -> Option<String>,
    /// The settings files that the registry of Windows names.
    registered: Vec<PathBuf>,
    /// The working directory. Empty if relative paths can be used as they are.
    working_directory: PathBuf,
    /// The settings that the program passes with `VK_EXT_layer_settings`.
    api: GivenSettings,
}

impl Sources<'static> {
    /// Returns the sources of this process, for `vkCreateInstance`.
    ///
    /// # Safety
    /// The chain belongs to a valid `VkInstanceCreateInfo`.
    pub(crate) unsafe fn of_process(chain: *const c_void) -> Self {
        let api = unsafe { api::read(chain) };
        Self {
            environment: &|name| env::var_os(name),
            property: &system::property,
            registered: system::registered_settings(),
            working_directory: PathBuf::new(),
            api,
        }
    }
}

impl Sources<'_> {
    /// Returns an environment variable. `None` if it is not set or empty.
    fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// Returns the settings in the environment and in system properties.
    fn variables(&self) -> GivenSettings {
        let mut found = GivenSettings::new();
        for name in NAMES {
            for variable in environment_variables(name) {
                if let Some(value) = self.variable(&variable) {
                    let value = SettingValue::Text(value.to_string_lossy().trim().to_owned());
                    found.push((name.to_owned(), value, Origin::Environment(variable)));
                }
            }
        }
        for name in NAMES {
            let property = property_name(name);
            if let Some(value) = (self.property)(&property).filter(|value| !value.is_empty()) {
                let value = SettingValue::Text(value.trim().to_owned());
                found.push((name.to_owned(), value, Origin::Property(property)));
            }
        }
        found
    }
}

/// Returns the names of the environment variables of a setting. If both variables are set, the
/// first one, which is shorter, is used.
pub(crate) fn environment_variables(setting: &str) -> [String; 2] {
    let setting = setting.to_uppercase();
    [format!("VKXFB_{setting}"), format!("VK_{}_{setting}", SETTINGS_NAME.to_uppercase())]
}

fn property_name(setting: &str) -> String {
    format!("debug.vkxfb.{setting}")
}

impl Settings {
    /// Reads the settings. Problems are returned, not logged, because the log can only start when its settings are
    /// known.
    pub(crate) fn read(sources: Sources<'_>) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut found = sources.variables();
        if let Some(file) = SettingsFile::find(&sources, &mut problems) {
            match file.read() {
                Ok(values) => found.extend(values),
                Err(problem) => problems.push(problem),
            }
        }
        found.extend(sources.api);
        for (name, _, origin) in &found {
            if !NAMES.contains(&name.as_str()) {
                problems.push(Problem::Name { name: name.clone(), origin: origin.clone() });
            }
        }
        let default = Self::default();
        let settings = Self {
            descriptors: first(&found, DESCRIPTORS, &mut problems).unwrap_or(default.descriptors),
            draw_stages: first(&found, DRAW_STAGES, &mut problems).unwrap_or(default.draw_stages),
            force_enable: first(&found, FORCE_ENABLE, &mut problems)
                .unwrap_or(default.force_enable),
            log: first(&found, LOG, &mut problems).map_or(default.log, |Filter(text)| text),
            optimize_shaders: first(&found, OPTIMIZE_SHADERS, &mut problems)
                .unwrap_or(default.optimize_shaders),
            replace_partial: first(&found, REPLACE_PARTIAL, &mut problems)
                .unwrap_or(default.replace_partial),
            strict: first(&found, STRICT, &mut problems).unwrap_or(default.strict),
            withhold_passes: first(&found, WITHHOLD_PASSES, &mut problems)
                .unwrap_or(default.withhold_passes),
        };
        (settings, problems)
    }
}

/// Returns the first of a setting's values that can be parsed; `None` if none can. Adds a problem for each value that
/// is tried and cannot be parsed.
fn first<T: FromValue>(
    found: &GivenSettings,
    name: &'static str,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    found.iter().filter(|(other, ..)| other == name).find_map(|(_, value, origin)| {
        let read = T::from_value(value);
        if read.is_none() {
            let (value, origin) = (value.clone(), origin.clone());
            problems.push(Problem::Value { name, value, origin, expected: T::EXPECTED });
        }
        read
    })
}

/// Returns the directory for the user's data files: `$XDG_DATA_HOME`, or `~/.local/share` if that variable is not an
/// absolute path. `None` if `$HOME` is not an absolute path either.
fn data_home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    variable("XDG_DATA_HOME").and_then(absolute).or_else(|| {
        let home = variable("HOME").and_then(absolute)?;
        Some(home.join(".local/share"))
    })
}

#[cfg(test)]
mod tests;
