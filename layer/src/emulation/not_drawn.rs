//! Takes the place of `drawn` in a layer that is built without the feature `drawn`: no geometry shader is drawn by the layer.

use ash::vk;
use vkxfb::runtime::{DirectDraw, IndexBuffer};

use super::Emulation;
use super::captures::{Captures, Forward};
use super::pipelines::PipelineError;
use crate::capture_support::CaptureSupport;

/// No device has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Drawing {}

impl Drawing {
    pub(super) const fn new(_: &CaptureSupport, _: bool) -> Option<Self> {
        None
    }
}

/// No pipeline has it.
#[derive(Clone)]
pub(super) enum FoundDrawn {}

/// No pipeline is replaced.
pub(super) type Replaced = (Option<FoundDrawn>, Drawing);

/// Changes nothing.
///
/// # Errors
/// None.
///
/// # Safety
/// There is nothing that must be valid.
pub(super) unsafe fn replaced(
    _: &Emulation,
    drawing: &Drawing,
    _: &vk::GraphicsPipelineCreateInfo<'static>,
    _: &mut vk::GraphicsPipelineCreateInfo<'static>,
    _: &mut Vec<vk::ShaderModule>,
) -> Result<Option<Replaced>, PipelineError> {
    match *drawing {}
}

impl Captures {
    /// Returns `forward`.
    ///
    /// # Safety
    /// There is nothing that must be valid.
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) unsafe fn replace_draw(
        &mut self,
        forward: Forward,
        _: impl FnOnce(Option<IndexBuffer>) -> Option<DirectDraw>,
    ) -> Forward {
        forward
    }

    /// Returns `forward`.
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn lose_draw(&mut self, forward: Forward, _: &'static str) -> Forward {
        forward
    }
}
