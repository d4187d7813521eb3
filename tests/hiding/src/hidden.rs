//! What the layer hides: what `VKXFB_HIDE` lists.

use std::sync::LazyLock;

use ash::vk;
use spirv::Capability;

/// The variable that lists what is hidden.
const VARIABLE: &str = "VKXFB_HIDE";

/// What the layer hides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// Geometry shaders, and all that only devices with them have.
    pub(crate) geometry: bool,
    /// `VK_EXT_transform_feedback` and what depends on it, so that vkxfb's layer is active because it is needed, not because
    /// it is forced.
    pub(crate) transform_feedback: bool,
}

impl Hidden {
    /// Reads a list, such as `geometry,transform_feedback`. Without one, geometry shaders are hidden.
    fn read(list: Option<&str>) -> Result<Self, String> {
        let mut hidden = Self::default();
        let names = list.unwrap_or("geometry").split(',').map(str::trim);
        for name in names.filter(|name| !name.is_empty()) {
            match name {
                "geometry" => hidden.geometry = true,
                "transform_feedback" => hidden.transform_feedback = true,
                _ => {
                    return Err(format!(
                        "{VARIABLE} lists {name}, which is none of geometry, transform_feedback"
                    ));
                }
            }
        }
        Ok(hidden)
    }

    /// Whether a mask names the stage. `ALL_GRAPHICS` and `ALL` contain its bit on every device, and name no stage.
    pub(crate) fn is_named(self, mask: vk::ShaderStageFlags) -> bool {
        self.geometry
            && mask.contains(vk::ShaderStageFlags::GEOMETRY)
            && !mask.contains(vk::ShaderStageFlags::ALL_GRAPHICS)
    }

    /// Returns the name of a hidden stage in a `VkPipelineStageFlags` or `VkPipelineStageFlags2`, whose bits for these stages
    /// are the same. Here `ALL_GRAPHICS` and the like are bits of their own.
    pub(crate) fn named_in(self, mask: u64) -> Option<&'static str> {
        let has = |stage: vk::PipelineStageFlags| mask & u64::from(stage.as_raw()) != 0;
        if self.geometry && has(vk::PipelineStageFlags::GEOMETRY_SHADER) {
            return Some("GEOMETRY_SHADER");
        }
        let captures = has(vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT);
        (self.transform_feedback && captures).then_some("TRANSFORM_FEEDBACK_EXT")
    }

    /// Whether no module may declare a capability. Those of points' sizes and of streams declare `Geometry` implicitly.
    /// `MultiViewport` does so, too, but has a feature of its own in Vulkan, without which it is not used.
    pub(crate) fn is_hidden(self, capability: Capability) -> bool {
        match capability {
            Capability::Geometry | Capability::GeometryPointSize | Capability::GeometryStreams => {
                self.geometry
            }
            Capability::TransformFeedback => self.transform_feedback,
            _ => false,
        }
    }
}

static HIDDEN: LazyLock<Result<Hidden, String>> =
    LazyLock::new(|| Hidden::read(std::env::var(VARIABLE).ok().as_deref()));

/// Returns what is hidden in this process. Nothing if the list is wrong, which `vkCreateInstance` says.
pub(crate) fn hidden() -> Hidden {
    HIDDEN.as_ref().copied().unwrap_or_default()
}

/// Returns what is wrong with the list.
pub(crate) fn problem() -> Option<&'static str> {
    HIDDEN.as_ref().err().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Hidden = Hidden { geometry: true, transform_feedback: false };

    #[test]
    fn lists_are_read() {
        assert_eq!(Hidden::read(None), Ok(GEOMETRY));
        assert_eq!(Hidden::read(Some("")), Ok(Hidden::default()));
        let both = Hidden { geometry: true, transform_feedback: true };
        assert_eq!(Hidden::read(Some("transform_feedback, geometry")), Ok(both));
        assert!(Hidden::read(Some("geometry,tessellation")).is_err());
    }

    #[test]
    fn masks_of_all_stages_name_none() {
        for (mask, is_named) in [
            (vk::ShaderStageFlags::GEOMETRY, true),
            (vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::GEOMETRY, true),
            (vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT, false),
            (vk::ShaderStageFlags::ALL_GRAPHICS, false),
            (vk::ShaderStageFlags::ALL_GRAPHICS | vk::ShaderStageFlags::COMPUTE, false),
            (vk::ShaderStageFlags::ALL, false),
        ] {
            assert_eq!(GEOMETRY.is_named(mask), is_named, "{mask:?}");
            assert!(!Hidden::default().is_named(mask));
        }
        let all = vk::PipelineStageFlags2::ALL_GRAPHICS | vk::PipelineStageFlags2::ALL_COMMANDS;
        let before = all | vk::PipelineStageFlags2::PRE_RASTERIZATION_SHADERS;
        assert_eq!(GEOMETRY.named_in(before.as_raw()), None);
        let geometry = before | vk::PipelineStageFlags2::GEOMETRY_SHADER;
        assert_eq!(GEOMETRY.named_in(geometry.as_raw()), Some("GEOMETRY_SHADER"));
    }
}
