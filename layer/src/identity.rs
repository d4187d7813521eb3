//! Has the layer's name, description and versions. A test checks that the manifest has the same values.

use std::ffi::CStr;

use ash::ext;

use crate::registry;

/// The name by which programs and the environment variables of the loader enable the layer.
pub(crate) const NAME: &CStr = c"VK_LAYER_VKXFB_transform_feedback";

/// The layer's name in `vk_layer_settings.txt`: [`NAME`] without `VK_LAYER_`, in lower case.
pub(crate) const SETTINGS_NAME: &str = "vkxfb_transform_feedback";

/// The layer's description in the list of layers. It is one line.
pub(crate) const DESCRIPTION: &CStr = c"Transform feedback for every Vulkan device, by compute";

/// The version of Vulkan that the layer was written for.
pub(crate) const SPEC_VERSION: u32 = registry::VERSION;

/// The layer's own version. It is increased in every release that changes the layer's behaviour.
pub(crate) const IMPLEMENTATION_VERSION: u32 = 1;

/// Instance extensions that the layer implements.
pub(crate) const INSTANCE_EXTENSIONS: [(&CStr, u32); 1] =
    [(ext::layer_settings::NAME, ext::layer_settings::SPEC_VERSION)];

/// Device extensions that the layer implements on each device where it is active. The layer also answers
/// `VK_EXT_tooling_info`, but only on devices where the driver or another layer implements it, and gives
/// `VK_EXT_primitives_generated_query` where the driver has none. The manifest does not list that: the loader would add
/// it to those of each device, also of a device where the layer is dormant and the driver lacks it.
pub(crate) const DEVICE_EXTENSIONS: [(&CStr, u32); 1] =
    [(ext::transform_feedback::NAME, ext::transform_feedback::SPEC_VERSION)];

/// The first bytes of each shader binary of the layer (`vkGetShaderBinaryDataEXT`). If the format
/// of the binaries changes, this value must change. Then the `shaderBinaryUUID` that programs see
/// changes as well.
pub(crate) const SHADER_BINARY: [u8; 16] = *b"vkxfb shader 003";

#[cfg(test)]
mod tests {
    use ash::vk;
    use serde_json::Value;

    use super::*;

    fn manifest() -> Value {
        serde_json::from_str(include_str!("../../cli/src/layer/manifest.json")).unwrap()
    }

    fn extensions(list: &[(&CStr, u32)]) -> Vec<(String, String)> {
        list.iter().map(|(name, v)| (name.to_str().unwrap().to_owned(), v.to_string())).collect()
    }

    fn listed(layer: &Value, key: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = layer[key].as_array().map_or(&[][..], |list| list);
        list.iter().map(|e| (text(&e["name"]), text(&e["spec_version"]))).collect()
    }

    #[test]
    fn the_manifest_says_the_same() {
        let layer = &manifest()["layer"];
        assert_eq!(layer["name"], NAME.to_str().unwrap());
        assert_eq!(layer["description"], DESCRIPTION.to_str().unwrap());
        assert_eq!(layer["implementation_version"], IMPLEMENTATION_VERSION.to_string());
        let (major, minor, patch) = (
            vk::api_version_major(SPEC_VERSION),
            vk::api_version_minor(SPEC_VERSION),
            vk::api_version_patch(SPEC_VERSION),
        );
        assert_eq!(layer["api_version"], format!("{major}.{minor}.{patch}"));
        assert_eq!(listed(layer, "instance_extensions"), extensions(&INSTANCE_EXTENSIONS));
        assert_eq!(listed(layer, "device_extensions"), extensions(&DEVICE_EXTENSIONS));
    }

    #[test]
    fn the_manifest_lists_the_commands() {
        let manifest = manifest();
        let listed = manifest["layer"]["device_extensions"][0]["entrypoints"].as_array().unwrap();
        let listed: Vec<_> = listed.iter().map(|name| name.as_str().unwrap()).collect();
        let names = crate::hooks::EXTENSION_COMMANDS.map(|name| name.to_str().unwrap());
        assert_eq!(listed, names);
    }

    #[test]
    fn the_manifest_lists_the_settings() {
        let manifest = manifest();
        let listed = manifest["layer"]["features"]["settings"].as_array().unwrap();
        let keys: Vec<_> = listed.iter().map(|s| s["key"].as_str().unwrap()).collect();
        assert_eq!(keys, crate::settings::NAMES);
        for setting in listed {
            let variables =
                crate::settings::environment_variables(setting["key"].as_str().unwrap());
            assert_eq!(setting["env"], variables[0]);
        }
    }

    #[test]
    fn the_name_in_the_settings_file_follows_the_convention() {
        let short = NAME.to_str().unwrap().strip_prefix("VK_LAYER_").unwrap();
        assert_eq!(SETTINGS_NAME, short.to_lowercase());
    }
}
