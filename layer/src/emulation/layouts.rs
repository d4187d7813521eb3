//! Has the layer's copies of descriptor set layouts and pipeline layouts.

use std::fmt;
use std::sync::Arc;

use ash::vk;

use crate::chain::slice;

/// The flag of layouts whose sets are in descriptor buffers.
pub(super) const OF_BUFFERS: vk::DescriptorSetLayoutCreateFlags =
    vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT;

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
    /// Creates a layout without bindings.
    ///
    /// # Errors
    /// The result of the command.
    ///
    /// # Safety
    /// The device is live, and allows these flags.
    pub(crate) unsafe fn empty(
        device: &ash::Device,
        flags: vk::DescriptorSetLayoutCreateFlags,
    ) -> Result<Self, vk::Result> {
        let info = vk::DescriptorSetLayoutCreateInfo::default().flags(flags);
        let raw = unsafe { device.create_descriptor_set_layout(&info, None) }?;
        let device = device.clone();
        Ok(Self { raw, dynamic_count: 0, bindings: Box::default(), flags, device })
    }

    /// Whether the descriptors of sets with this layout are in descriptor buffers.
    pub(super) const fn is_of_buffers(&self) -> bool {
        self.flags.contains(OF_BUFFERS)
    }

    /// Makes the layer's data of `raw`, a layout that was created with `info`.
    ///
    /// # Safety
    /// The structure is valid.
    pub(crate) unsafe fn new(
        raw: vk::DescriptorSetLayout,
        info: &vk::DescriptorSetLayoutCreateInfo<'_>,
        device: ash::Device,
    ) -> Self {
        use vk::DescriptorType as Type;
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

#[derive(Default)]
pub(crate) struct PipelineLayout {
    /// The layout of each set. If a pipeline library leaves a set to other libraries, the set has
    /// the empty layout.
    pub(crate) sets: Vec<Arc<SetLayout>>,
}

impl PipelineLayout {
    /// Returns the pipeline layout for two shaders that are used together. Their layouts are compatible, but each may
    /// lack a set that only the other shader uses: it has fewer sets, or the empty layout in place of that set.
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

    /// Returns the layout of a pipeline whose sets are in descriptor buffers. [All its set
    /// layouts](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineLayoutCreateInfo.html#VUID-VkPipelineLayoutCreateInfo-pSetLayouts-08008)
    /// must have the flag `DESCRIPTOR_BUFFER_BIT_EXT`. The layouts that stand for unused sets have no such flag, so
    /// `empty` replaces them: an empty layout with the flag.
    pub(super) fn of_buffers(&self, empty: &Arc<SetLayout>) -> Self {
        let sets = self.sets.iter().map(|set| if set.is_of_buffers() { set } else { empty });
        Self { sets: sets.cloned().collect() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A layout that belongs to a device whose functions do nothing.
    pub(in crate::emulation) fn layout(
        bindings: &[Binding],
        flags: vk::DescriptorSetLayoutCreateFlags,
    ) -> Arc<SetLayout> {
        unsafe extern "system" fn destroy(
            _: vk::Device,
            _: vk::DescriptorSetLayout,
            _: *const vk::AllocationCallbacks<'_>,
        ) {
        }
        let find = |name: &std::ffi::CStr| {
            if name == c"vkDestroyDescriptorSetLayout" {
                destroy as *const std::ffi::c_void
            } else {
                std::ptr::null()
            }
        };
        // SAFETY: the only function has the type that belongs to its name.
        let device = unsafe { ash::Device::load_with(find, vk::Device::null()) };
        let raw = vk::DescriptorSetLayout::null();
        Arc::new(SetLayout { raw, dynamic_count: 0, bindings: bindings.into(), flags, device })
    }

    #[test]
    fn shaders_leave_sets_to_each_other() {
        let binding = |number| Binding {
            number,
            ty: vk::DescriptorType::UNIFORM_BUFFER,
            count: 1,
            has_immutable_samplers: false,
        };
        let [a, b, c] = [0, 1, 2].map(|number| layout(&[binding(number)], Default::default()));
        let empty = layout(&[], Default::default());
        let of = |sets: &[&Arc<SetLayout>]| PipelineLayout {
            sets: sets.iter().map(|set| Arc::clone(set)).collect(),
        };
        for (one, other) in [
            (of(&[&a, &empty, &c]), of(&[&empty, &b])),
            (of(&[&a]), of(&[&empty, &b, &c])),
            (of(&[&empty, &b]), of(&[&a, &b, &c])),
            (of(&[]), of(&[&a, &b, &c])),
        ] {
            for merged in [one.merged(&other), other.merged(&one)] {
                let numbers: Vec<u32> =
                    merged.sets.iter().map(|set| set.bindings[0].number).collect();
                assert_eq!(numbers, [0, 1, 2]);
            }
        }
    }

    #[test]
    fn all_sets_of_a_pipeline_are_in_buffers() {
        let [unused, used, empty] =
            [Default::default(), OF_BUFFERS, OF_BUFFERS].map(|flags| layout(&[], flags));
        let sets = vec![Arc::clone(&used), unused, used];
        let found = PipelineLayout { sets: sets.clone() }.of_buffers(&empty);
        assert!(found.sets.iter().all(|set| set.is_of_buffers()));
        let same = |number: usize| Arc::ptr_eq(&found.sets[number], &sets[number]);
        assert!(same(0) && Arc::ptr_eq(&found.sets[1], &empty) && same(2));
    }
}
