//! Keeps the push descriptors of a command buffer, so that captured draws can read them, and so
//! that the layer can push them again after captures have disturbed them.
//!
//! [The
//! specification](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-push-descriptors)
//! lets a program push the descriptors of a set one by one. The descriptors stay valid until another set is bound at
//! the same set number, or descriptors are pushed to that number with another set layout. Variants do not use push
//! descriptors. So the layer allocates a descriptor set and writes the pushed descriptors into it, and captures read
//! that set.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::RuntimeError;

use super::Emulation;
use super::descriptor_pools::DescriptorPools;
use super::layouts::{Binding, SetLayout};
use crate::chain::{all_of, slice};
use crate::withheld::Template;

/// The value of a pushed descriptor.
#[derive(Debug, Clone, Copy)]
enum DescriptorValue {
    Buffer(vk::DescriptorBufferInfo),
    Image(vk::DescriptorImageInfo),
    TexelBuffer(vk::BufferView),
    AccelerationStructure(vk::AccelerationStructureKHR),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pushed {
    binding: u32,
    element: u32,
    ty: vk::DescriptorType,
    value: DescriptorValue,
}

impl Pushed {
    /// Returns what identifies the descriptor within its set: (binding, array element).
    const fn place(&self) -> (u32, u32) {
        (self.binding, self.element)
    }
}

/// The type of the value that Vulkan takes for a descriptor. The descriptor type determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DescriptorKind {
    Buffer,
    Image,
    TexelBuffer,
    AccelerationStructure,
    /// The type cannot be pushed, as for an inline uniform block
    /// (VUID-VkDescriptorSetLayoutCreateInfo-flags-02208), or captured shaders cannot read it, as
    /// for an acceleration structure of `VK_NV_ray_tracing`.
    Other,
}

impl DescriptorKind {
    const fn of(ty: vk::DescriptorType) -> Self {
        use vk::DescriptorType as Type;
        match ty {
            Type::UNIFORM_BUFFER
            | Type::STORAGE_BUFFER
            | Type::UNIFORM_BUFFER_DYNAMIC
            | Type::STORAGE_BUFFER_DYNAMIC => Self::Buffer,
            Type::UNIFORM_TEXEL_BUFFER | Type::STORAGE_TEXEL_BUFFER => Self::TexelBuffer,
            Type::ACCELERATION_STRUCTURE_KHR => Self::AccelerationStructure,
            Type::SAMPLER
            | Type::COMBINED_IMAGE_SAMPLER
            | Type::SAMPLED_IMAGE
            | Type::STORAGE_IMAGE
            | Type::INPUT_ATTACHMENT
            | Type::SAMPLE_WEIGHT_IMAGE_QCOM
            | Type::BLOCK_MATCH_IMAGE_QCOM => Self::Image,
            _ => Self::Other,
        }
    }

    /// Reads a value of this kind from the data of an update template, which need not be aligned.
    /// `None` for [`DescriptorKind::Other`].
    ///
    /// # Safety
    /// `data` points to a value of this kind.
    unsafe fn read(self, data: *const c_void) -> Option<DescriptorValue> {
        unsafe {
            Some(match self {
                Self::Buffer => DescriptorValue::Buffer(
                    data.cast::<vk::DescriptorBufferInfo>().read_unaligned(),
                ),
                Self::Image => {
                    DescriptorValue::Image(data.cast::<vk::DescriptorImageInfo>().read_unaligned())
                }
                Self::TexelBuffer => {
                    DescriptorValue::TexelBuffer(data.cast::<vk::BufferView>().read_unaligned())
                }
                Self::AccelerationStructure => DescriptorValue::AccelerationStructure(
                    data.cast::<vk::AccelerationStructureKHR>().read_unaligned(),
                ),
                Self::Other => return None,
            })
        }
    }
}

/// Iterates over (binding, array element), from the given one on, in the order of [consecutive
/// binding
/// updates](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-updates-consecutive):
/// the last element of a binding is followed by the first element of the next binding.
fn places(bindings: &[Binding], binding: u32, element: u32) -> impl Iterator<Item = (u32, u32)> {
    let first = bindings.partition_point(|known| known.number < binding);
    bindings[first..]
        .iter()
        .flat_map(|binding| (0..binding.count).map(|element| (binding.number, element)))
        .skip(element as usize)
}

/// Returns the descriptors that a `VkWriteDescriptorSet` of `vkCmdPushDescriptorSet` pushes.
///
/// # Safety
/// The structure is valid for `vkCmdPushDescriptorSet`.
pub(super) unsafe fn of_write(
    write: &vk::WriteDescriptorSet<'_>,
    bindings: &[Binding],
) -> Vec<Pushed> {
    let count = write.descriptor_count;
    // SAFETY: the caller's contract; only the array that belongs to the descriptor type is read.
    let values: Vec<DescriptorValue> = unsafe {
        match DescriptorKind::of(write.descriptor_type) {
            DescriptorKind::Buffer => slice(write.p_buffer_info, count)
                .iter()
                .copied()
                .map(DescriptorValue::Buffer)
                .collect(),
            DescriptorKind::Image => slice(write.p_image_info, count)
                .iter()
                .copied()
                .map(DescriptorValue::Image)
                .collect(),
            DescriptorKind::TexelBuffer => {
                let views = slice(write.p_texel_buffer_view, count).iter().copied();
                views.map(DescriptorValue::TexelBuffer).collect()
            }
            DescriptorKind::AccelerationStructure => {
                type Structures<'a> = vk::WriteDescriptorSetAccelerationStructureKHR<'a>;
                let structures = all_of::<Structures<'_>>(write.p_next).next();
                let structures = structures.map_or(&[][..], |s| {
                    slice(s.p_acceleration_structures, s.acceleration_structure_count)
                });
                structures.iter().copied().map(DescriptorValue::AccelerationStructure).collect()
            }
            DescriptorKind::Other => Vec::new(),
        }
    };
    let ty = write.descriptor_type;
    places(bindings, write.dst_binding, write.dst_array_element)
        .zip(values)
        .map(|((binding, element), value)| Pushed { binding, element, ty, value })
        .collect()
}

/// Returns the descriptors that an update template pushes with the values in `data`.
///
/// # Safety
/// The data is valid for the template.
pub(super) unsafe fn of_template(
    template: &Template,
    data: *const c_void,
    bindings: &[Binding],
) -> Vec<Pushed> {
    let mut pushed = Vec::new();
    for entry in &template.entries {
        let ty = entry.descriptor_type;
        let places = places(bindings, entry.dst_binding, entry.dst_array_element);
        for (number, (binding, element)) in (0..entry.descriptor_count as usize).zip(places) {
            let value = unsafe {
                DescriptorKind::of(ty).read(data.byte_add(entry.offset + number * entry.stride))
            };
            pushed.extend(value.map(|value| Pushed { binding, element, ty, value }));
        }
    }
    pushed
}

/// The pushed descriptors of one set number.
#[derive(Debug, Clone)]
pub(super) struct PushedSet {
    /// The pipeline layout of the last push.
    pub(super) layout: vk::PipelineLayout,
    set_layout: Arc<SetLayout>,
    /// The descriptors, sorted by [`Pushed::place`].
    descriptors: Vec<Pushed>,
    /// The sequence number of the last push. Binds and pushes of sets share one sequence, so that the numbers tell
    /// which came later.
    pub(super) order: u32,
    /// The descriptor set from which captures read the descriptors. Null if they were not written
    /// into a set since the last push.
    pub(super) written: vk::DescriptorSet,
}

/// The push descriptor sets of a bind point, by set number.
#[derive(Debug, Clone, Default)]
pub(super) struct PushedSets(BTreeMap<u32, PushedSet>);

impl PushedSets {
    pub(super) fn get(&self, number: u32) -> Option<&PushedSet> {
        self.0.get(&number)
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.0.remove(&number);
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// Stores descriptors that are pushed to a set number. If the set layout is defined differently from that of the
    /// last push to this number, the descriptors of earlier pushes become undefined and are removed.
    pub(super) fn push(
        &mut self,
        number: u32,
        layout: vk::PipelineLayout,
        set_layout: &Arc<SetLayout>,
        order: u32,
        descriptors: impl Iterator<Item = Pushed>,
    ) {
        let set = self.0.entry(number).or_insert_with(|| PushedSet {
            layout,
            set_layout: Arc::clone(set_layout),
            descriptors: Vec::new(),
            order,
            written: vk::DescriptorSet::null(),
        });
        if set.set_layout.bindings != set_layout.bindings {
            set.descriptors.clear();
        }
        if !Arc::ptr_eq(&set.set_layout, set_layout) {
            set.set_layout = Arc::clone(set_layout);
        }
        (set.layout, set.order, set.written) = (layout, order, vk::DescriptorSet::null());
        for pushed in descriptors {
            match set.descriptors.binary_search_by_key(&pushed.place(), Pushed::place) {
                Ok(found) => set.descriptors[found] = pushed,
                Err(before) => set.descriptors.insert(before, pushed),
            }
        }
    }

    /// Writes the pushed descriptors of a set number into an allocated descriptor set, which captures can read. Does
    /// nothing if no descriptors were pushed, or if they were written already since the last push.
    ///
    /// # Errors
    /// A Vulkan command fails.
    ///
    /// # Safety
    /// The device is live, and the pushed descriptors are valid.
    pub(super) unsafe fn write(
        &mut self,
        number: u32,
        device: &ash::Device,
        pools: &mut DescriptorPools,
    ) -> Result<(), RuntimeError> {
        let Some(set) = self.0.get_mut(&number) else { return Ok(()) };
        if set.written != vk::DescriptorSet::null() {
            return Ok(());
        }
        // SAFETY: the caller's contract; the set was just allocated, so nothing uses it.
        unsafe {
            set.written = pools.allocate(device, &set.set_layout)?;
            // Immutable samplers must not be written
            // (VUID-VkWriteDescriptorSet-descriptorType-02752).
            let is_immutable = |pushed: &Pushed| {
                pushed.ty == vk::DescriptorType::SAMPLER
                    && set.set_layout.bindings.iter().any(|binding| {
                        binding.number == pushed.binding && binding.has_immutable_samplers
                    })
            };
            let descriptors: Vec<Pushed> =
                set.descriptors.iter().filter(|p| !is_immutable(p)).copied().collect();
            with_writes(&descriptors, set.written, |writes| {
                device.update_descriptor_sets(writes, &[]);
            });
        }
        Ok(())
    }
}

/// The values of some descriptors, in arrays to which a `VkWriteDescriptorSet` can point.
#[derive(Default)]
struct Values {
    buffers: Vec<vk::DescriptorBufferInfo>,
    images: Vec<vk::DescriptorImageInfo>,
    texel_buffers: Vec<vk::BufferView>,
    structures: Vec<vk::AccelerationStructureKHR>,
}

impl Values {
    fn of(descriptors: &[Pushed]) -> Self {
        let mut values = Self::default();
        for pushed in descriptors {
            match pushed.value {
                DescriptorValue::Buffer(info) => values.buffers.push(info),
                DescriptorValue::Image(info) => values.images.push(info),
                DescriptorValue::TexelBuffer(view) => values.texel_buffers.push(view),
                DescriptorValue::AccelerationStructure(structure) => {
                    values.structures.push(structure)
                }
            }
        }
        values
    }
}

/// Calls `call` with structures that write the descriptors into `set`, or that push them if `set` is null.
/// `descriptors` is sorted by [`Pushed::place`]. One structure writes all consecutive elements of an array: lavapipe
/// 22.3 begins each pushed write at element 0, so separate writes of the elements would overwrite each other.
fn with_writes<R>(
    descriptors: &[Pushed],
    set: vk::DescriptorSet,
    call: impl FnOnce(&[vk::WriteDescriptorSet<'_>]) -> R,
) -> R {
    let are_together =
        |a: &Pushed, b: &Pushed| (a.binding, a.ty, a.element + 1) == (b.binding, b.ty, b.element);
    let arrays: Vec<(&[Pushed], Values)> =
        descriptors.chunk_by(are_together).map(|array| (array, Values::of(array))).collect();
    let structures = arrays.iter().map(|(_, values)| {
        vk::WriteDescriptorSetAccelerationStructureKHR::default()
            .acceleration_structures(&values.structures)
    });
    let mut structures: Vec<_> = structures.collect();
    let writes = arrays.iter().zip(&mut structures).map(|((array, values), structures)| {
        let first = array[0];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(first.binding)
            .dst_array_element(first.element)
            .descriptor_type(first.ty);
        match first.value {
            DescriptorValue::Buffer(_) => write.buffer_info(&values.buffers),
            DescriptorValue::Image(_) => write.image_info(&values.images),
            DescriptorValue::TexelBuffer(_) => write.texel_buffer_view(&values.texel_buffers),
            DescriptorValue::AccelerationStructure(_) => {
                write.descriptor_count(array.len() as u32).push_next(structures)
            }
        }
    });
    call(&writes.collect::<Vec<_>>())
}

impl PushedSet {
    /// Pushes all descriptors of the set again, because captures have disturbed them.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the pushed descriptors are valid there.
    pub(super) unsafe fn restore(
        &self,
        emulation: &Emulation,
        cmd: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        number: u32,
    ) {
        let Some(push) = emulation.push_descriptor_set() else { return };
        if self.descriptors.is_empty() {
            return;
        }
        with_writes(&self.descriptors, vk::DescriptorSet::null(), |writes| {
            unsafe { push(cmd, point, self.layout, number, writes.len() as u32, writes.as_ptr()) };
        });
    }
}

#[cfg(test)]
mod tests;
