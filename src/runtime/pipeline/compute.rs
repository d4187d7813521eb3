//! The Vulkan pipelines of a compute capture.

use std::ffi::CString;

use ash::vk;

use super::create::{PipelineSpecialization, compute_pipeline, specialized};
use super::{DrawClass, PipelineDesc};
use crate::lower::Lowered;
use crate::runtime::lazy::LazyPipeline;
use crate::runtime::{Context, RuntimeError};
use crate::topology::{PrimitiveTopology, XfbTopology};

/// The number of Vulkan pipelines: for some classes of draws one for each topology, and one for any.
const PIPELINES: usize = 8 * (1 + XfbTopology::COUNT);

/// The Vulkan pipelines of a compute capture, and what they are made from when a draw first needs
/// them.
#[derive(Debug)]
pub(super) struct ComputePipelines {
    shader: Lowered,
    entry: CString,
    topology: PrimitiveTopology,
    dynamic_topology: bool,
    primitive_restart: bool,
    /// By [`index`].
    pipelines: [LazyPipeline; PIPELINES],
}

/// The pipeline for a class of draws with a topology, or with any.
fn index(class: DrawClass, topology: Option<PrimitiveTopology>) -> usize {
    let class = match class {
        DrawClass::Every | DrawClass::OneTopology => 0,
        DrawClass::Restarted => 1,
        DrawClass::Single => 2,
        DrawClass::Indexed => 3,
        DrawClass::Plain => 4,
        DrawClass::Fused => 5,
        DrawClass::SingleRestarted => 6,
        DrawClass::Batched => 7,
    };
    let topology = topology.map_or(0, |topology| 1 + topology.xfb_topology() as usize);
    class * (1 + XfbTopology::COUNT) + topology
}

impl ComputePipelines {
    /// Creates no pipeline yet.
    pub(super) fn new(desc: &PipelineDesc<'_>, entry: CString) -> Self {
        Self {
            shader: desc.shader.clone(),
            entry,
            topology: desc.topology,
            dynamic_topology: desc.dynamic_topology,
            primitive_restart: desc.primitive_restart,
            pipelines: std::array::from_fn(|_| LazyPipeline::default()),
        }
    }

    /// Returns the pipeline for a class of draws, and creates it if it does not exist. The draws
    /// have that topology. `None` stands for any topology in the classes that take any, and for that
    /// of the description in the others.
    ///
    /// # Safety
    /// The device of `ctx` is live. `layout` was created for the description, and `cache` is a
    /// pipeline cache of the device or null.
    pub(super) unsafe fn get(
        &self,
        ctx: &Context,
        layout: vk::PipelineLayout,
        (class, topology): (DrawClass, Option<PrimitiveTopology>),
        cache: vk::PipelineCache,
    ) -> Result<vk::Pipeline, RuntimeError> {
        let class = match class {
            DrawClass::Restarted if !self.primitive_restart => DrawClass::Every,
            DrawClass::SingleRestarted if !self.primitive_restart => DrawClass::Indexed,
            class => class,
        };
        let topology = match class {
            _ if !self.dynamic_topology => Some(self.topology),
            DrawClass::Every => None,
            DrawClass::Batched | DrawClass::Restarted | DrawClass::SingleRestarted => topology,
            DrawClass::OneTopology
            | DrawClass::Single
            | DrawClass::Indexed
            | DrawClass::Plain
            | DrawClass::Fused => topology.or(Some(self.topology)),
        };
        self.pipelines[index(class, topology)].get_or_make(|| {
            let _span = tracing::debug_span!("variant", ?class, ?topology).entered();
            let constants = PipelineSpecialization::new(ctx, &self.shader, topology, class);
            let words = specialized(ctx, &self.shader, &constants)?;
            let none = vk::SpecializationInfo::default();
            // SAFETY: the caller's contract.
            let made = unsafe {
                compute_pipeline(ctx.device(), cache, layout, &words, &self.entry, &none)
            }?;
            let name = match class {
                DrawClass::Every => "vkxfb compute",
                DrawClass::OneTopology => "vkxfb compute of one topology",
                DrawClass::Batched => "vkxfb compute of several draws",
                DrawClass::Restarted => "vkxfb compute with restarts",
                DrawClass::Single => "vkxfb compute without indices",
                DrawClass::Indexed => "vkxfb compute of one indexed draw",
                DrawClass::SingleRestarted => "vkxfb compute of one draw with restarts",
                DrawClass::Plain => "vkxfb compute plain",
                DrawClass::Fused => "vkxfb compute fused",
            };
            ctx.name(made, name);
            Ok(made)
        })
    }

    /// The pipelines that were created; null handles for the others.
    pub(super) fn all(&self) -> [vk::Pipeline; PIPELINES] {
        self.pipelines.each_ref().map(LazyPipeline::raw)
    }
}
