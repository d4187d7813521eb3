//! The state that the layer keeps for an application's objects, by handle.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use vkxfb::lower::Effects;

use super::pipelines::{Parts, Pipeline};
use super::queries::Queries;
use crate::chain::slice;

/// Objects of a kind, from their creation to their destruction.
pub(super) struct Table<K, V>(RwLock<HashMap<K, V>>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K: Eq + Hash, V: Clone> Table<K, V> {
    /// Returns the value that the handle had before, for an object whose destruction the layer did
    /// not see. The caller drops it, after the lock is released.
    pub(super) fn insert(&self, handle: K, value: V) -> Option<V> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(handle, value)
    }

    pub(super) fn get(&self, handle: K) -> Option<V> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    pub(super) fn remove(&self, handle: K) -> Option<V> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    fn clear(&self) {
        let all = std::mem::take(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}

/// The objects of a device.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) buffers: Table<vk::Buffer, Buffer>,
    /// The number of buffers with indirect usage.
    indirect_buffers: AtomicUsize,
    /// Whether there was a pipeline that captures, rasterizes, and stores to memory.
    side_effects: AtomicBool,
    pub(super) set_layouts: Table<vk::DescriptorSetLayout, Arc<SetLayout>>,
    pub(super) pipeline_layouts: Table<vk::PipelineLayout, Arc<PipelineLayout>>,
    /// The words of modules with transform feedback, as the application gave them.
    pub(super) shader_modules: Table<vk::ShaderModule, Arc<[u32]>>,
    /// Libraries of graphics pipelines.
    pub(super) libraries: Table<vk::Pipeline, Parts>,
    /// Graphics pipelines that capture.
    pub(super) pipelines: Table<vk::Pipeline, Arc<Pipeline>>,
    /// Query pools that the layer emulates.
    pub(super) queries: Table<vk::QueryPool, Arc<Queries>>,
}

/// A buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffer {
    /// In bytes.
    pub(super) size: u64,
    /// Whether it has indirect usage.
    pub(super) is_indirect: bool,
}

/// The key in `set_layouts` for sets that are unknown or not used.
const EMPTY: vk::DescriptorSetLayout = vk::DescriptorSetLayout::null();

impl Objects {
    /// `empty` is the layout for sets that are unknown or not used.
    pub(super) fn new(empty: Arc<SetLayout>) -> Self {
        let this = Self::default();
        _ = this.set_layouts.insert(EMPTY, empty);
        this
    }

    /// A buffer was created.
    pub(super) fn buffer_created(&self, handle: vk::Buffer, buffer: Buffer) {
        if buffer.is_indirect {
            self.indirect_buffers.fetch_add(1, Ordering::Relaxed);
        }
        self.forget_indirect(self.buffers.insert(handle, buffer));
    }

    /// A buffer is about to be destroyed.
    pub(super) fn buffer_destroyed(&self, handle: vk::Buffer) {
        self.forget_indirect(self.buffers.remove(handle));
    }

    fn forget_indirect(&self, buffer: Option<Buffer>) {
        if buffer.is_some_and(|buffer| buffer.is_indirect) {
            self.indirect_buffers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A pipeline was created that captures and rasterizes, and whose shader, of that entry point, has these
    /// effects.
    pub(super) fn repeat_effects(&self, effects: Effects, entry_point: &str) {
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

    /// Whether a draw may take the count of its vertices [from a
    /// buffer](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html)
    /// for indirect draws. Its arguments are computed before its pass, among the captures.
    pub(super) fn has_indirect_buffers(&self) -> bool {
        self.indirect_buffers.load(Ordering::Relaxed) != 0
    }

    /// Whether a vertex shader that stores to memory may run for a capture and for the draw itself.
    /// The capture has to come first, so that it sees memory as it was before.
    pub(super) fn repeats_side_effects(&self) -> bool {
        self.side_effects.load(Ordering::Relaxed)
    }

    /// Returns a set layout, or the empty layout if it is unknown.
    pub(super) fn set_layout(&self, layout: vk::DescriptorSetLayout) -> Option<Arc<SetLayout>> {
        self.set_layouts.get(layout).or_else(|| self.set_layouts.get(EMPTY))
    }

    /// Forgets all objects, because the device is about to be destroyed.
    pub(super) fn clear(&self) {
        self.pipelines.clear();
        self.libraries.clear();
        self.queries.clear();
        self.shader_modules.clear();
        self.pipeline_layouts.clear();
        self.set_layouts.clear();
        self.buffers.clear();
        self.indirect_buffers.store(0, Ordering::Relaxed);
    }
}

/// A descriptor set layout as the application defined it.
///
/// The application may destroy its layout as soon as it has created a pipeline layout with it, and
/// variants are made later. So the layer creates an identically defined layout of its own, with
/// which descriptor sets are compatible, too. For push descriptors, the layer's layout is for
/// allocated sets: captures read pushed descriptors from those.
pub(super) struct SetLayout {
    pub(super) raw: vk::DescriptorSetLayout,
    /// The number of descriptors with a dynamic offset.
    pub(super) dynamic_count: u32,
    /// Sorted by number.
    pub(super) bindings: Box<[Binding]>,
    /// The flags of [`raw`](Self::raw).
    pub(super) flags: vk::DescriptorSetLayoutCreateFlags,
    pub(super) device: ash::Device,
}

/// A binding of a descriptor set layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) number: u32,
    pub(super) ty: vk::DescriptorType,
    /// The number of descriptors, or the size in bytes of an inline uniform block.
    pub(super) count: u32,
    pub(super) has_immutable_samplers: bool,
}

impl SetLayout {
    /// A layout without bindings.
    pub(super) fn empty(raw: vk::DescriptorSetLayout, device: ash::Device) -> Self {
        let flags = vk::DescriptorSetLayoutCreateFlags::empty();
        Self { raw, dynamic_count: 0, bindings: Box::default(), flags, device }
    }

    /// A layout that was created with that structure.
    ///
    /// # Safety
    /// The structure is valid.
    pub(super) unsafe fn new(
        raw: vk::DescriptorSetLayout,
        info: &vk::DescriptorSetLayoutCreateInfo<'_>,
        device: ash::Device,
    ) -> Self {
        use vk::DescriptorType as Type;
        // SAFETY: the caller's contract.
        let bindings = unsafe { slice(info.p_bindings, info.binding_count) };
        let mut bindings: Box<[Binding]> = bindings
            .iter()
            .map(|binding| Binding {
                number: binding.binding,
                ty: binding.descriptor_type,
                count: binding.descriptor_count,
                // For other types the pointer is ignored.
                has_immutable_samplers: !binding.p_immutable_samplers.is_null()
                    && [Type::SAMPLER, Type::COMBINED_IMAGE_SAMPLER]
                        .contains(&binding.descriptor_type),
            })
            .collect();
        bindings.sort_unstable_by_key(|binding| binding.number);
        let is_dynamic =
            |ty| [Type::UNIFORM_BUFFER_DYNAMIC, Type::STORAGE_BUFFER_DYNAMIC].contains(&ty);
        let dynamic = bindings.iter().filter(|binding| is_dynamic(binding.ty));
        let dynamic_count = dynamic.map(|binding| binding.count).sum();
        Self { raw, dynamic_count, bindings, flags: info.flags, device }
    }
}

impl fmt::Debug for SetLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SetLayout").field(&self.raw).finish()
    }
}

impl Drop for SetLayout {
    fn drop(&mut self) {
        // SAFETY: the layout was created without callbacks. Pipelines that were created with it do
        // not need it any more.
        unsafe { self.device.destroy_descriptor_set_layout(self.raw, None) };
    }
}

/// A pipeline layout.
pub(super) struct PipelineLayout {
    /// The layout of each set. A set that a pipeline library leaves to other libraries has the
    /// empty layout.
    pub(super) sets: Vec<Arc<SetLayout>>,
}
