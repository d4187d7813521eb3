//! Draws of pipelines with geometry shaders, on devices whose drivers have none: the driver gets pipelines whose vertex
//! shader is merged with the geometry shader ([`vkxfb_rewriter::lower::drawn`]), and draws lists. `pipelines` makes these
//! pipelines, `draws` replaces draws of the program.

mod draws;
mod pipelines;

use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::{DrawnList, DrawnShader};
use vkxfb_rewriter::topology::ProvokingVertex;
use vkxfb_rewriter::vertex_input::VertexInput;

pub(super) use self::pipelines::{Replaced, replaced};
use super::pipelines::{Dynamic, PipelineError};
use crate::capture_support::CaptureSupport;

/// What a device has on which the layer draws geometry shaders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawing {
    /// The vertex buffer binding for the parameters of draws: the last one of the device, which programs do not see.
    binding: u32,
    /// Whether vertex shaders may write `Layer` and `ViewportIndex`. Otherwise everything is drawn to layer 0.
    layer_outputs: bool,
}

impl Drawing {
    pub(super) const fn new(support: &CaptureSupport, layer_outputs: bool) -> Option<Self> {
        let binding = support.capabilities.limits.max_vertex_bindings.saturating_sub(1);
        Some(Self { binding, layer_outputs })
    }
}

/// A pipeline with a geometry shader, as the driver got it: with a merged vertex shader.
pub(super) struct DrawnPipeline {
    shader: DrawnShader,
    vertex_input: VertexInput,
    /// The topology of the program's draws, and that of the driver's.
    topology: vk::PrimitiveTopology,
    list: vk::PrimitiveTopology,
    restart: bool,
    provoking_vertex: ProvokingVertex,
    /// What was dynamic in the program's pipeline. `stride`, `topology` and `restart` are dynamic in the driver's, too.
    dynamic: Dynamic,
}

/// A pipeline with a geometry shader that is drawn, or the reason why it is not. `None` if it is not, and discards what it
/// draws.
pub(super) type FoundDrawn = Result<Option<Arc<DrawnPipeline>>, Arc<PipelineError>>;

/// A list that the driver draws in place of a draw of the program, with the dynamic state for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DrawnInstead {
    /// What to draw.
    pub(crate) list: DrawnList,
    /// The vertex buffer binding for the parameters.
    pub(crate) binding: u32,
    /// Whether strides of vertex buffers are dynamic.
    pub(crate) has_strides: bool,
    /// If the topology is dynamic: that of the list, and that of the program, which is set again behind it.
    pub(crate) topology: Option<[vk::PrimitiveTopology; 2]>,
    /// Whether primitive restart is dynamic and enabled: it is disabled for the list.
    pub(crate) restarts: bool,
}
