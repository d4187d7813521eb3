//! Conversions between the enumerations of [`ash::vk`] and the types of this crate, and the flags of the stages that
//! captures run.

use ash::vk;
use spirv::ExecutionModel;

use crate::lower::compute::DomainOrigin;
use crate::topology::{PrimitiveTopology, ProvokingVertex, TopologyError};
use crate::vertex_input::{InputRate, UnsupportedFormat, VertexBinding, VertexFormat};

/// The stages that a capture may run, in the order in which they run: all stages before rasterization but those of mesh
/// shading, which the
/// [specification](https://docs.vulkan.org/spec/latest/chapters/vertexpostproc.html#vertexpostproc-transform-feedback)
/// does not capture.
pub const RUN_STAGES: [(ExecutionModel, vk::ShaderStageFlags); 4] = [
    (ExecutionModel::Vertex, vk::ShaderStageFlags::VERTEX),
    (ExecutionModel::TessellationControl, vk::ShaderStageFlags::TESSELLATION_CONTROL),
    (ExecutionModel::TessellationEvaluation, vk::ShaderStageFlags::TESSELLATION_EVALUATION),
    (ExecutionModel::Geometry, vk::ShaderStageFlags::GEOMETRY),
];

/// The flags of all [`RUN_STAGES`].
pub const RUN_STAGE_FLAGS: vk::ShaderStageFlags = {
    let mut flags = 0;
    let mut i = 0;
    while i < RUN_STAGES.len() {
        flags |= RUN_STAGES[i].1.as_raw();
        i += 1;
    }
    vk::ShaderStageFlags::from_raw(flags)
};

/// Returns the flag of a stage, if it is one of the [`RUN_STAGES`].
pub fn stage_flag(stage: ExecutionModel) -> Option<vk::ShaderStageFlags> {
    RUN_STAGES.iter().find(|(model, _)| *model == stage).map(|(_, flag)| *flag)
}

/// Returns the stage that has a flag, if it is one of the [`RUN_STAGES`]. `None` for several flags, too.
pub fn run_stage(flag: vk::ShaderStageFlags) -> Option<ExecutionModel> {
    RUN_STAGES.iter().find(|(_, one)| *one == flag).map(|(model, _)| *model)
}

impl TryFrom<vk::PrimitiveTopology> for PrimitiveTopology {
    type Error = TopologyError;

    /// # Errors
    /// [`TopologyError::UnknownValue`] for a value that is not in the enumeration.
    fn try_from(topology: vk::PrimitiveTopology) -> Result<Self, TopologyError> {
        let found = Self::every().find(|t| t.as_raw() == topology.as_raw());
        found.ok_or(TopologyError::UnknownValue(topology.as_raw()))
    }
}

impl From<PrimitiveTopology> for vk::PrimitiveTopology {
    fn from(topology: PrimitiveTopology) -> Self {
        Self::from_raw(topology.as_raw())
    }
}

impl From<vk::TessellationDomainOrigin> for DomainOrigin {
    /// A value that is not in the enumeration is converted to Vulkan's default, the upper left.
    fn from(origin: vk::TessellationDomainOrigin) -> Self {
        match origin {
            vk::TessellationDomainOrigin::LOWER_LEFT => Self::LowerLeft,
            _ => Self::UpperLeft,
        }
    }
}

impl TryFrom<vk::Format> for VertexFormat {
    type Error = UnsupportedFormat;

    /// # Errors
    /// [`UnsupportedFormat`] with the name of the format.
    fn try_from(format: vk::Format) -> Result<Self, UnsupportedFormat> {
        let found = Self::ALL.iter().copied().find(|f| f.as_raw() == format.as_raw());
        found.ok_or_else(|| UnsupportedFormat(format!("{format:?}")))
    }
}

impl From<VertexFormat> for vk::Format {
    fn from(format: VertexFormat) -> Self {
        Self::from_raw(format.as_raw())
    }
}

impl From<vk::VertexInputRate> for InputRate {
    /// Converts `INSTANCE` to the instance divisor 1, which is Vulkan's default.
    fn from(rate: vk::VertexInputRate) -> Self {
        match rate {
            vk::VertexInputRate::INSTANCE => Self::INSTANCE,
            _ => Self::Vertex,
        }
    }
}

impl From<vk::ProvokingVertexModeEXT> for ProvokingVertex {
    fn from(mode: vk::ProvokingVertexModeEXT) -> Self {
        match mode {
            vk::ProvokingVertexModeEXT::LAST_VERTEX => Self::Last,
            _ => Self::First,
        }
    }
}

impl From<&vk::VertexInputBindingDescription> for VertexBinding {
    /// The input rate `INSTANCE` gets the divisor 1, which is Vulkan's default.
    fn from(binding: &vk::VertexInputBindingDescription) -> Self {
        let &vk::VertexInputBindingDescription { binding, stride, input_rate } = binding;
        Self { binding, stride, input_rate: input_rate.into() }
    }
}

impl From<&vk::VertexInputBindingDescription2EXT<'_>> for VertexBinding {
    fn from(binding: &vk::VertexInputBindingDescription2EXT<'_>) -> Self {
        let input_rate = InputRate::from(binding.input_rate).with_divisor(binding.divisor);
        Self { binding: binding.binding, stride: binding.stride, input_rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topologies_are_vulkans() {
        for topology in PrimitiveTopology::ALL.into_iter().chain([PrimitiveTopology::PatchList]) {
            let raw = vk::PrimitiveTopology::from(topology);
            assert_eq!(PrimitiveTopology::try_from(raw), Ok(topology));
        }
        let of = |raw| PrimitiveTopology::try_from(vk::PrimitiveTopology::from_raw(raw));
        assert_eq!(of(3), Ok(PrimitiveTopology::TriangleList));
        assert_eq!(of(10), Ok(PrimitiveTopology::PatchList));
        assert_eq!(of(11), Err(TopologyError::UnknownValue(11)));
    }

    #[test]
    fn formats_are_vulkans_where_shaders_can_pull_them() {
        for &format in VertexFormat::ALL {
            assert_eq!(VertexFormat::try_from(vk::Format::from(format)), Ok(format));
        }
        let srgb = vk::Format::R8G8B8A8_SRGB;
        assert_eq!(
            VertexFormat::try_from(srgb),
            Err(UnsupportedFormat("R8G8B8A8_SRGB".to_owned()))
        );
    }

    #[test]
    fn rates_and_modes_are_vulkans() {
        assert_eq!(InputRate::from(vk::VertexInputRate::VERTEX), InputRate::Vertex);
        assert_eq!(InputRate::from(vk::VertexInputRate::INSTANCE), InputRate::INSTANCE);
        let mode = vk::ProvokingVertexModeEXT::LAST_VERTEX;
        assert_eq!(ProvokingVertex::from(mode), ProvokingVertex::Last);
        assert_eq!(
            ProvokingVertex::from(vk::ProvokingVertexModeEXT::FIRST_VERTEX),
            ProvokingVertex::First
        );
    }
}
