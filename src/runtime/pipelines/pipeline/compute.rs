//! The Vulkan pipelines of a pipeline of the compute backend, each of which is created when it is first needed
//! ([`LazyPipeline`]), and which of them a dispatch needs ([`Key`]).

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use ash::vk;
use rustc_hash::FxHashMap;

use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorPlace;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::create::{
    ComputeResources, PipelineSpecialization, compute_pipeline, specialized,
};
use crate::runtime::pipelines::pipeline::{Objects, Pipeline, PipelineDesc, Raw};
use vkxfb_rewriter::lower::Lowered;
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::topology::{PrimitiveTopology, XfbTopology};

/// The properties of draws for which a Vulkan pipeline is specialized. Any combination is allowed, but not every
/// combination has its own Vulkan pipeline: [`normal`](Self::normal) returns the key of the most specialized pipeline
/// that can capture the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) source: DrawSource,
    pub(crate) indexed: bool,
    /// Whether an index buffer may end within a dword of which shaders can read nothing but the indices. With device
    /// addresses few buffers do, because the memory of most buffers has the whole dword.
    pub(crate) partial_indices: bool,
    /// Whether primitive restart may be enabled. With [`DrawSource::Pushed`]: whether it is enabled.
    pub(crate) restart: bool,
    /// Whether elements of attributes may be missing, accesses may be unaligned, there may be several instances or
    /// indices, or a draw may have more workgroups than one axis of a dispatch. If this is false for a draw with
    /// [`DrawSource::Pushed`], its capture is called *unchecked* in the shaders.
    pub(crate) checked: bool,
    /// The topology of all draws, or `None` if they may have any topology. Dispatches of few workgroups have `None`, so
    /// that they share Vulkan pipelines.
    pub(crate) topology: Option<XfbTopology>,
}

/// Where a dispatch reads the parameters of its draws, and who placed the draws, that is, computed where they are
/// captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DrawSource {
    /// One draw for which the CPU computed where it is captured. Its parameters are push constants, and all elements of
    /// an attribute begin within 4 GiB.
    Pushed,
    /// Draws for which the CPU computed where they are captured. Their parameters are in memory, together with a list
    /// that contains the draw of each workgroup. All elements of an attribute begin within 4 GiB.
    Listed,
    /// Draws for which a kernel computed where they are captured, and whose parameters are in memory; or a single draw
    /// for which the CPU computed it, and whose parameters are push constants. Elements of attributes may begin
    /// anywhere.
    General,
    /// One draw for which the workgroups of its dispatch themselves compute where it is captured. Its parameters are
    /// push constants, and all elements of an attribute begin within 4 GiB.
    Fused,
}

impl Key {
    /// The key of a Vulkan pipeline for any draws without primitive restart, unless they have
    /// [`partial_indices`](field@Self::partial_indices).
    pub(crate) const ANY: Self = Self {
        source: DrawSource::General,
        indexed: true,
        partial_indices: false,
        restart: false,
        checked: true,
        topology: None,
    };

    /// Returns the key of a Vulkan pipeline for any draws from `source`, with the same exceptions as [`ANY`](Self::ANY).
    pub(crate) const fn of(source: DrawSource) -> Self {
        Self { source, ..Self::ANY }
    }

    /// Returns the key of the Vulkan pipeline to use. `fixed` is the topology of all draws of the
    /// [`Pipeline`](crate::runtime::Pipeline), or `None` if each draw chooses. `may_restart` says whether that
    /// [`Pipeline`](crate::runtime::Pipeline) was created with primitive restart.
    ///
    /// Only Vulkan pipelines for [`DrawSource::Pushed`] omit all code for indices, and checks. A dispatch with another
    /// [`DrawSource`] may mix draws with and without indices or checks, and compiling a pipeline for each mixture would
    /// cost more time than it saves.
    fn normal(self, fixed: Option<PrimitiveTopology>, may_restart: bool) -> Self {
        let restart = self.restart && may_restart;
        let indexed = self.indexed || restart || self.source != DrawSource::Pushed;
        let partial_indices = self.partial_indices && indexed;
        let checked = self.checked || indexed;
        let topology = fixed.map(PrimitiveTopology::xfb_topology).or(self.topology);
        Self { indexed, partial_indices, restart, checked, topology, ..self }
    }

    /// Whether the Vulkan pipeline for these draws has no checks: its captures are called *unchecked* in the shaders.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.source == DrawSource::Pushed && !(self.checked || self.indexed || self.restart)
    }

    pub(crate) const fn workgroup_size(&self, sizes: &WorkgroupSizes) -> u32 {
        match self.source {
            _ if self.restart => sizes.restarted,
            DrawSource::Pushed if !self.indexed => sizes.unindexed,
            _ => sizes.others,
        }
    }
}

/// Formats the name of the Vulkan pipeline, for debugging tools.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, indexed, partial_indices, restart, checked, topology } = self;
        write!(f, "vkxfb compute, {source:?}")?;
        for (is_so, what) in [
            (*indexed, "indexed"),
            (*partial_indices, "partial indices"),
            (*restart, "restart"),
            (*checked, "checked"),
        ] {
            if is_so {
                write!(f, ", {what}")?;
            }
        }
        match topology {
            Some(topology) => write!(f, ", {topology:?}"),
            None => Ok(()),
        }
    }
}

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

/// A pipeline that may not exist yet. The first thread that needs it creates it, while other threads that need it wait.
/// Once it exists, no thread takes the lock.
#[derive(Debug, Default)]
pub(crate) struct LazyPipeline {
    made: OnceLock<vk::Pipeline>,
    /// The lock that a thread holds while it creates the pipeline.
    making: Mutex<()>,
}

impl LazyPipeline {
    /// Returns the pipeline, and creates it if it does not exist.
    ///
    /// # Errors
    /// The error of `make`. It is not stored: the next call tries again.
    pub(crate) fn get_or_make(
        &self,
        make: impl FnOnce() -> Result<vk::Pipeline, RuntimeError>,
    ) -> Result<vk::Pipeline, RuntimeError> {
        if let Some(made) = self.made.get() {
            return Ok(*made);
        }
        // If an earlier `make` panicked, the lock is poisoned, but there is no pipeline, so this call tries again.
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.made.get() {
            return Ok(*made);
        }
        let made = make()?;
        Ok(*self.made.get_or_init(|| made))
    }

    /// The pipeline, or a null handle if it does not exist yet.
    pub(crate) fn raw(&self) -> vk::Pipeline {
        self.made.get().copied().unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use ash::vk::Handle;

    use super::*;

    #[test]
    fn one_of_many_threads_makes_it() {
        let (lazy, calls) = (LazyPipeline::default(), AtomicU32::new(0));
        let make = || {
            std::thread::yield_now();
            Ok(vk::Pipeline::from_raw(1 + u64::from(calls.fetch_add(1, Ordering::Relaxed))))
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(lazy.get_or_make(make).unwrap().as_raw(), 1));
            }
        });
        assert_eq!(calls.into_inner(), 1);
        assert_eq!(lazy.raw().as_raw(), 1);
    }

    #[test]
    fn the_call_after_an_error_tries_again() {
        let lazy = LazyPipeline::default();
        let result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        let fail = || Err(RuntimeError::Vulkan { call: "vkCreateComputePipelines", result });
        assert!(matches!(lazy.get_or_make(fail), Err(RuntimeError::Vulkan { .. })));
        assert_eq!(lazy.raw(), vk::Pipeline::null());
        assert_eq!(lazy.get_or_make(|| Ok(vk::Pipeline::from_raw(7))).unwrap().as_raw(), 7);
        assert_eq!(lazy.get_or_make(fail).unwrap().as_raw(), 7);
    }
}
