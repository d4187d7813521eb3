//! The Vulkan pipelines of a compute capture.

use std::ffi::CString;

use ash::vk;

use super::create::{PipelineSpecialization, compute_pipeline, specialized};
use super::{DrawClass, PipelineDesc};
use crate::lower::Lowered;
use crate::runtime::lazy::LazyPipeline;
use crate::runtime::{Context, RuntimeError};

/// The Vulkan pipelines of a compute capture, one for each [`DrawClass`], and what they are made
/// from when a draw first needs them.
#[derive(Debug)]
pub(super) struct ComputePipelines {
    shader: Lowered,
    entry: CString,
    variants: [(PipelineSpecialization, LazyPipeline); DrawClass::ALL.len()],
}

impl ComputePipelines {
    /// Creates no pipeline yet.
    pub(super) fn new(ctx: &Context, desc: &PipelineDesc<'_>, entry: CString) -> Self {
        let variant =
            |class| (PipelineSpecialization::new(ctx, desc, class), LazyPipeline::default());
        Self { shader: desc.shader.clone(), entry, variants: DrawClass::ALL.map(variant) }
    }

    /// Returns the pipeline for a class of draws, and creates it if it does not exist.
    ///
    /// # Safety
    /// The device of `ctx` is live. `layout` was created for the description, and `cache` is a
    /// pipeline cache of the device or null.
    pub(super) unsafe fn get(
        &self,
        ctx: &Context,
        layout: vk::PipelineLayout,
        class: DrawClass,
        cache: vk::PipelineCache,
    ) -> Result<vk::Pipeline, RuntimeError> {
        let (constants, pipeline) = &self.variants[class as usize];
        pipeline.get_or_make(|| {
            let _span = tracing::debug_span!("variant", ?class).entered();
            let words = specialized(&self.shader, constants)?;
            let none = vk::SpecializationInfo::default();
            // SAFETY: the caller's contract.
            let made = unsafe {
                compute_pipeline(ctx.device(), cache, layout, &words, &self.entry, &none)
            }?;
            let name = match class {
                DrawClass::Every => "vkxfb compute",
                DrawClass::Single => "vkxfb compute without indices",
                DrawClass::Fused => "vkxfb compute fused",
            };
            ctx.name(made, name);
            Ok(made)
        })
    }

    /// The pipelines that were created; null handles for the others.
    pub(super) fn all(&self) -> [vk::Pipeline; DrawClass::ALL.len()] {
        self.variants.each_ref().map(|(_, pipeline)| pipeline.raw())
    }
}
