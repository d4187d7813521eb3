//! Has the layer's copies of descriptor set layouts and pipeline layouts.

use std::fmt;
use std::sync::Arc;

use ash::vk;

use crate::chain::slice;

/// A descriptor set layout as the application defined it.
///
/// Variants may be created when the application has already destroyed its layout: Vulkan allows that once a pipeline
/// layout has been created. So the layer creates a layout with the same definition, with which the application's
/// descriptor sets are compatible. If the application's layout is for push descriptors, the layer's is for allocated
/// sets, from which captures read the pushed descriptors.
pub(crate) struct SetLayout {
    pub(crate) raw: vk::DescriptorSetLayout,
    /// The number of descriptors in the set that have a dynamic offset.
    pub(crate) dynamic_count: u32,
    /// The bindings, sorted by their numbers.
    pub(crate) bindings: Box<[Binding]>,
    /// The flags that [`raw`](Self::raw) was created with.
    pub(crate) flags: vk::DescriptorSetLayoutCreateFlags,
    pub(crate) device: ash::Device,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) number: u32,
    pub(crate) ty: vk::DescriptorType,
    /// The number of descriptors, or the size in bytes of an inline uniform block.
    pub(crate) count: u32,
    pub(crate) has_immutable_samplers: bool,
}

impl SetLayout {
    /// Describes `raw`, which was created without bindings.
    pub(crate) fn empty(raw: vk::DescriptorSetLayout, device: ash::Device) -> Self {
        let flags = vk::DescriptorSetLayoutCreateFlags::empty();
        Self { raw, dynamic_count: 0, bindings: Box::default(), flags, device }
    }

    /// Describes `raw`, which was created with `info`.
    ///
    /// # Safety
    /// The structure is valid.
    pub(crate) unsafe fn new(
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
                // Vulkan ignores the pointer for other descriptor types.
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
        // SAFETY: the layout was created without allocation callbacks. Pipelines that were created
        // with it do not need it any more.
        unsafe { self.device.destroy_descriptor_set_layout(self.raw, None) };
    }
}

/// The set layouts of a pipeline layout.
pub(crate) struct PipelineLayout {
    /// The layout of each set. If a pipeline library leaves a set to other libraries, the set has
    /// the empty layout.
    pub(crate) sets: Vec<Arc<SetLayout>>,
}

impl PipelineLayout {
    /// Returns the pipeline layout for two shaders that are used together. Their layouts are
    /// compatible, but each may omit a set that only the other one uses: by having fewer sets, or
    /// the empty layout for that set.
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let (mut sets, rest) = (self.sets.clone(), other.sets.get(self.sets.len()..));
        for (set, other) in sets.iter_mut().zip(&other.sets) {
            if set.bindings.is_empty() {
                *set = Arc::clone(other);
            }
        }
        sets.extend(rest.unwrap_or_default().iter().cloned());
        Self { sets }
    }
}
