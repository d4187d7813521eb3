//! Has the data that the layer keeps for objects of an application. The data of an object is found by the object's
//! handle.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ash::vk;
use rustc_hash::FxHashMap;
use vkxfb::runtime::RuntimeError;
use vkxfb_rewriter::lower::Effects;

use super::drawn::FoundDrawn;
use super::layouts::{OF_BUFFERS, PipelineLayout, SetLayout};
use super::pipelines::{Found, Parts};
use super::queries::Queries;
use super::shader_modules::{Identified, ShaderModule};
use super::shader_objects::{BoundShaders, ShaderObject};

/// The data of all live objects of one type.
pub(crate) struct Table<K, V>(RwLock<FxHashMap<K, V>>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K: Eq + Hash, V: Clone> Table<K, V> {
    /// Adds the data of an object. If there still is data for an earlier object with the same handle, because the layer
    /// did not see its destruction, returns that data, so that the caller drops it after the lock is released.
    /// Otherwise `None`.
    pub(crate) fn insert(&self, handle: K, value: V) -> Option<V> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(handle, value)
    }

    pub(crate) fn get(&self, handle: K) -> Option<V> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    pub(crate) fn remove(&self, handle: K) -> Option<V> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    /// Removes the data of all objects for whose handles `is_kept` is false.
    fn retain(&self, is_kept: impl Fn(&K) -> bool) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let removed: Vec<_> = table.extract_if(|handle, _| !is_kept(handle)).collect();
        drop(table);
        drop(removed);
    }

    fn clear(&self) {
        let all = std::mem::take(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}

/// The data of all objects of one device on which captures depend.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) buffers: Table<vk::Buffer, Buffer>,
    /// The number of live buffers with the usage `INDIRECT_BUFFER`.
    indirect_buffers: AtomicUsize,
    /// Whether a pipeline or shader object was ever created that stores to memory and may run both
    /// for a capture and for the draw itself.
    side_effects: AtomicBool,
    /// Whether a query pool was ever created that counts the invocations of compute shaders.
    counts_compute: AtomicBool,
    /// Whether a buffer was ever created whose memory may have another device address in another buffer.
    has_aliases: AtomicBool,
    pub(crate) set_layouts: Table<vk::DescriptorSetLayout, Arc<SetLayout>>,
    /// The layout without bindings for sets in descriptor buffers. `None` until a pipeline needs this layout.
    empty_of_buffers: Mutex<Option<Arc<SetLayout>>>,
    pub(crate) pipeline_layouts: Table<vk::PipelineLayout, Arc<PipelineLayout>>,
    /// The shader modules with transform feedback, or with a shader before rasterization. Other
    /// modules are not kept.
    pub(crate) shader_modules: Table<vk::ShaderModule, ShaderModule>,
    /// The shader modules by the identifiers that the program has queried.
    pub(crate) identified: Identified,
    /// For each graphics pipeline library, the parts that are needed for captures.
    pub(super) libraries: Table<vk::Pipeline, Parts>,
    /// The shader objects of stages before rasterization.
    pub(super) shaders: Table<vk::ShaderEXT, Arc<ShaderObject>>,
    /// For shader objects that are bound together, the pipeline with which their draws are captured. `None` if the last
    /// of these shaders neither captures nor emits to several vertex streams.
    pub(super) shader_pipelines: Table<BoundShaders, Option<Found>>,
    /// The graphics pipelines that capture, or whose primitives of streams other than 0 are counted, and those that
    /// cannot be captured.
    pub(super) pipelines: Table<vk::Pipeline, Found>,
    /// The graphics pipelines with geometry shaders that the layer draws, and those that cannot be drawn.
    pub(super) drawn: Table<vk::Pipeline, FoundDrawn>,
    /// The layer's queries for query pools in which the layer emulates queries.
    pub(crate) queries: Table<vk::QueryPool, Arc<Queries>>,
}

/// The layer's data of a buffer of the application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    /// The size of the buffer in bytes.
    pub(crate) size: u64,
    /// Whether the buffer was created with `VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT`.
    pub(crate) is_indirect: bool,
    /// Whether the buffer's memory may have another device address in another buffer: the buffer is sparse and aliased, or
    /// its memory is external, and may be imported more than once. Other buffers have the addresses of their memory.
    pub(crate) may_alias: bool,
}

/// The key in `set_layouts` of the empty layout, which stands for sets that are unknown or not
/// used.
const EMPTY: vk::DescriptorSetLayout = vk::DescriptorSetLayout::null();

impl Objects {
    /// Creates tables that contain only `empty`, the layout that stands for sets that are unknown
    /// or not used.
    pub(crate) fn new(empty: Arc<SetLayout>) -> Self {
        let this = Self::default();
        _ = this.set_layouts.insert(EMPTY, empty);
        this
    }

    pub(crate) fn buffer_created(&self, handle: vk::Buffer, buffer: Buffer) {
        if buffer.is_indirect {
            self.indirect_buffers.fetch_add(1, Ordering::Relaxed);
        }
        if buffer.may_alias {
            self.has_aliases.store(true, Ordering::Relaxed);
        }
        self.forget_indirect(self.buffers.insert(handle, buffer));
    }

    pub(crate) fn buffer_destroyed(&self, handle: vk::Buffer) {
        self.forget_indirect(self.buffers.remove(handle));
    }

    pub(super) fn pipeline_destroyed(&self, handle: vk::Pipeline) {
        _ = self.pipelines.remove(handle);
        _ = self.libraries.remove(handle);
        _ = self.drawn.remove(handle);
    }

    /// Removes a shader object that is about to be destroyed, and the pipelines that the layer made with this object.
    pub(super) fn shader_destroyed(&self, handle: vk::ShaderEXT) {
        if handle != vk::ShaderEXT::null() {
            _ = self.shaders.remove(handle);
            self.shader_pipelines.retain(|bound| !bound.has(handle));
        }
    }

    fn forget_indirect(&self, buffer: Option<Buffer>) {
        if buffer.is_some_and(|buffer| buffer.is_indirect) {
            self.indirect_buffers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Notes the side effects of a shader that may run more than once for a captured draw, and logs
    /// warnings about them. `entry_point` is the shader's name in the log.
    pub(crate) fn repeat_effects(&self, effects: Effects, entry_point: &str) {
        if effects.side_effects && !self.side_effects.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a shader that is captured stores to memory: where a draw also rasterizes, it does so \
                 for the capture and again for the draw"
            );
        }
        if effects.atomic_results {
            tracing::warn!(
                entry_point,
                "a shader that is captured uses the results of atomic operations: what a pipeline \
                 with it captures may differ from what it draws"
            );
        }
    }

    /// Notes the statistics that a query pool of the program counts, and logs a warning about those that captures add to.
    pub(crate) fn count_statistics(&self, statistics: vk::QueryPipelineStatisticFlags) {
        let compute = vk::QueryPipelineStatisticFlags::COMPUTE_SHADER_INVOCATIONS;
        if statistics.contains(compute) && !self.counts_compute.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a query of compute shader invocations also counts those of captures, where it is \
                 active around their render pass"
            );
        }
    }

    /// Whether any live buffer has the usage `INDIRECT_BUFFER`. The [counter
    /// buffer](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html) of a
    /// `vkCmdDrawIndirectByteCountEXT`, whose arguments the layer must compute before the pass, needs this usage. So
    /// passes cannot contain the command while no such buffer exists.
    pub(crate) fn has_indirect_buffers(&self) -> bool {
        self.indirect_buffers.load(Ordering::Relaxed) != 0
    }

    /// Whether captures may access the same memory by different addresses. If so, the addresses do not tell for which
    /// earlier captures a capture must wait.
    pub(crate) fn has_aliases(&self) -> bool {
        self.has_aliases.load(Ordering::Relaxed)
    }

    /// Whether a shader that stores to memory may run both for a capture and for the draw itself.
    /// The capture must then come first, so that its shader reads memory as it was before the
    /// draw's stores.
    pub(crate) fn repeats_side_effects(&self) -> bool {
        self.side_effects.load(Ordering::Relaxed)
    }

    /// Returns the layer's data of `layout`, or that of the empty layout if `layout` is unknown. `None` after
    /// [`clear`](Self::clear).
    pub(crate) fn set_layout(&self, layout: vk::DescriptorSetLayout) -> Option<Arc<SetLayout>> {
        self.set_layouts.get(layout).or_else(|| self.set_layouts.get(EMPTY))
    }

    /// Returns the descriptor set layout without bindings for sets in descriptor buffers, and creates it on first use.
    ///
    /// # Errors
    /// A failed command.
    ///
    /// # Safety
    /// The device is live, and has descriptor buffers.
    pub(super) unsafe fn empty_of_buffers(
        &self,
        device: &ash::Device,
    ) -> Result<Arc<SetLayout>, RuntimeError> {
        let mut known = self.empty_of_buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let made = unsafe { SetLayout::empty(device, OF_BUFFERS) };
        let call = "vkCreateDescriptorSetLayout";
        let made = made.map_err(|result| RuntimeError::Vulkan { call, result })?;
        Ok(Arc::clone(known.insert(Arc::new(made))))
    }

    /// Removes the data of all objects, because the device is about to be destroyed.
    pub(crate) fn clear(&self) {
        self.pipelines.clear();
        self.drawn.clear();
        self.libraries.clear();
        self.shader_pipelines.clear();
        self.shaders.clear();
        self.queries.clear();
        self.shader_modules.clear();
        self.identified.clear();
        self.pipeline_layouts.clear();
        self.set_layouts.clear();
        drop(self.empty_of_buffers.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.buffers.clear();
        self.indirect_buffers.store(0, Ordering::Relaxed);
    }
}
