//! The Vulkan pipelines of a pipeline of the compute backend.

use std::ffi::CString;
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use rustc_hash::FxHashMap;

use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorPlace;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::lazy::LazyPipeline;
use crate::runtime::pipelines::pipeline::create::{
    ComputeResources, PipelineSpecialization, compute_pipeline, specialized,
};
use crate::runtime::pipelines::pipeline::{Key, Objects, Pipeline, PipelineDesc, Raw};
use vkxfb_rewriter::lower::Lowered;
use vkxfb_rewriter::topology::PrimitiveTopology;

impl Pipeline {
    /// Returns the `VkPipeline` that a recording binds, and creates it without a pipeline cache if it does not exist.
    ///
    /// # Errors
    /// The errors of [`prepare`](Self::prepare).
    ///
    /// # Safety
    /// The requirements of [`prepare`](Self::prepare) apply.
    pub(crate) unsafe fn recorded(
        &self,
        ctx: &Context,
        key: Key,
    ) -> Result<vk::Pipeline, RuntimeError> {
        unsafe { self.compiled(ctx, key, vk::PipelineCache::null()) }
    }

    /// Returns the `VkPipeline` for draws with the properties `key`, and creates it if it does not exist.
    ///
    /// # Errors
    /// The errors of [`prepare`](Self::prepare).
    ///
    /// # Safety
    /// The requirements of [`prepare`](Self::prepare) apply.
    pub(super) unsafe fn compiled(
        &self,
        ctx: &Context,
        key: Key,
        cache: vk::PipelineCache,
    ) -> Result<vk::Pipeline, RuntimeError> {
        let Objects { raw, layout } = &self.shared.objects;
        match raw {
            Raw::Graphics(raw) | Raw::Foreign(raw) => Ok(*raw),
            Raw::Compute(pipelines) => unsafe { pipelines.get(ctx, layout.raw, key, cache) },
        }
    }
}

/// The Vulkan pipelines of a [`Pipeline`] of the compute backend, and the data from which more of them
/// are created when a draw first needs them.
#[derive(Debug)]
pub(super) struct ComputePipelines {
    shader: Lowered,
    entry: CString,
    fixed_topology: Option<PrimitiveTopology>,
    primitive_restart: bool,
    set_count: u32,
    descriptors: DescriptorPlace,
    /// The Vulkan pipelines, by the properties of their draws. [`Key::normal`] makes the keys equal for draws that use
    /// the same Vulkan pipeline.
    pipelines: RwLock<FxHashMap<Key, Arc<LazyPipeline>>>,
}

impl ComputePipelines {
    /// Stores the data from which Vulkan pipelines will be created. Creates none.
    pub(super) fn new(
        desc: &PipelineDesc<'_>,
        fixed_topology: Option<PrimitiveTopology>,
        entry: CString,
    ) -> Self {
        Self {
            shader: desc.shader.clone(),
            entry,
            fixed_topology,
            primitive_restart: desc.primitive_restart,
            set_count: desc.set_count(),
            descriptors: desc.descriptors.clone(),
            pipelines: RwLock::default(),
        }
    }

    /// Where the application's descriptors are.
    pub(super) const fn descriptors(&self) -> &DescriptorPlace {
        &self.descriptors
    }

    /// Returns the Vulkan pipeline for draws with the properties `key`, and creates it if it does not exist.
    ///
    /// # Safety
    /// The device of `ctx` is live. `layout` was created for the description that `self` was made from, and `cache` is
    /// a pipeline cache of the device or null.
    unsafe fn get(
        &self,
        ctx: &Context,
        layout: vk::PipelineLayout,
        key: Key,
        cache: vk::PipelineCache,
    ) -> Result<vk::Pipeline, RuntimeError> {
        let key = key.normal(self.fixed_topology, self.primitive_restart);
        self.lazy(key).get_or_make(|| {
            let _span = tracing::info_span!("variant", %key).entered();
            let constants = PipelineSpecialization::new(ctx, &self.shader, &key);
            let words = specialized(ctx, &self.shader, &constants, self.set_count)?;
            let none = vk::SpecializationInfo::default();
            let made = unsafe {
                let resources = ComputeResources::of(&self.descriptors, layout);
                compute_pipeline(resources, ctx.device(), cache, &words, &self.entry, &none)
            }?;
            ctx.name(made, &key.to_string());
            Ok(made)
        })
    }

    /// Returns the element of `pipelines` for a key, and adds an element without a Vulkan pipeline if there is none.
    /// The caller creates the Vulkan pipeline after this call, so the map is not locked meanwhile.
    fn lazy(&self, key: Key) -> Arc<LazyPipeline> {
        let known = self.pipelines.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return Arc::clone(found);
        }
        drop(known);
        let mut known = self.pipelines.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_default())
    }

    /// All Vulkan pipelines. Pipelines that do not exist yet are null handles.
    pub(super) fn all(&self) -> Vec<vk::Pipeline> {
        let known = self.pipelines.read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|lazy| lazy.raw()).collect()
    }
}
