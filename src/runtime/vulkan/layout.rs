//! Set layouts and push constant ranges: those of an application's pipeline layout, and what captures need of them.

use std::ops::Range;

use ash::vk;

use super::{slice, with_compute};
use crate::lower::reflect::{DescriptorCount, DescriptorUse, ResourceInterface, ResourceType};
use crate::lower::{Backend, SysvalsPlace};
use crate::sysval::SYSVALS_SIZE;

const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;

/// A descriptor set layout of the application, with the compute stage added to each binding that the vertex stage sees.
///
/// Where the application would create the one, [`info`](Self::info) creates this one in its place, for all that it uses
/// it for: its sets are allocated from it, and it is in the pipeline layouts of its graphics pipelines as in
/// [`PipelineDesc::set_layouts`](crate::runtime::PipelineDesc::set_layouts). Sets of the other layout could not be bound
/// to captures, as
/// [compatible](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-compatibility) layouts
/// are defined identically, stages included.
///
/// The descriptors then count for the compute stage too, against the device's `maxPerStageDescriptor*`, beside those of
/// the same pipeline layout that the application's own compute shaders see. Set layouts for descriptor buffers
/// (`VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT`) stay what they are, and captures take none of them.
///
/// ```
/// # use ash::vk;
/// # use vkxfb::runtime::vulkan::SetLayoutInfo;
/// # unsafe fn create(
/// #     device: &ash::Device, info: &vk::DescriptorSetLayoutCreateInfo<'_>,
/// # ) -> ash::prelude::VkResult<vk::DescriptorSetLayout> { unsafe {
/// let visible = SetLayoutInfo::with_compute(info);
/// device.create_descriptor_set_layout(&visible.info(), None)
/// # } }
/// ```
#[derive(Debug, Clone)]
pub struct SetLayoutInfo<'a> {
    /// The application's.
    info: vk::DescriptorSetLayoutCreateInfo<'a>,
    bindings: Vec<vk::DescriptorSetLayoutBinding<'a>>,
}

impl<'a> SetLayoutInfo<'a> {
    /// Of the application's structure. Flags, the `pNext` chain and immutable samplers stay: what a chain says of each
    /// binding is said by its place in the list, and all places stay.
    ///
    /// # Safety
    /// The array of bindings is valid, as for
    /// [`vkCreateDescriptorSetLayout`](https://docs.vulkan.org/refpages/latest/refpages/source/VkDescriptorSetLayoutCreateInfo.html).
    /// Nothing else is read; the chain and the immutable samplers are those of [`info`](Self::info) too.
    pub unsafe fn with_compute(info: &vk::DescriptorSetLayoutCreateInfo<'a>) -> Self {
        // SAFETY: the caller's contract.
        let bindings = unsafe { slice(info.p_bindings, info.binding_count) };
        let visible =
            |binding: &vk::DescriptorSetLayoutBinding<'a>| vk::DescriptorSetLayoutBinding {
                stage_flags: with_compute(binding.stage_flags),
                ..*binding
            };
        Self { info: *info, bindings: bindings.iter().map(visible).collect() }
    }

    /// The structure of Vulkan, which borrows the bindings.
    pub fn info(&self) -> vk::DescriptorSetLayoutCreateInfo<'_> {
        self.info.bindings(&self.bindings)
    }

    /// The bindings, for a [`PipelineLayoutDesc`].
    pub fn bindings(&self) -> &[vk::DescriptorSetLayoutBinding<'a>] {
        &self.bindings
    }
}

/// An application's
/// [pipeline layout](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineLayoutCreateInfo.html): the one
/// of the graphics pipeline whose vertex shader is captured.
///
/// # What a capture makes of it
/// [`Pipeline::new`](crate::runtime::Pipeline::new) makes a pipeline layout of its own, of the same set layouts, and of
/// one push constant range of its own:
/// [`PipelineDesc::push_constant_range`](crate::runtime::PipelineDesc::push_constant_range). On the compute and the vertex
/// backend the shader reads the application's push constants from memory, where
/// [`Recorder::push_constants`](crate::runtime::Recorder::push_constants) puts them. So the application's ranges need no
/// compute stage, and are better left without: `vkCmdPushConstants` names all stages of the ranges that it writes
/// ([VUID-vkCmdPushConstants-offset-01796](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdPushConstants.html)),
/// and the application's calls would not name it.
///
/// # What is bound already
/// [Compatible for a set](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-compatibility)
/// are pipeline layouts with identical set layouts up to that set and identical push constant ranges, both with
/// `VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT` or both without. Those of captures have ranges of their own, and
/// not that flag. So sets that the application bound with its own pipeline layout do not hold for them,
/// on the compute backend already as they are bound at another bind point: bind them by
/// [`Recorder::bind_descriptor_sets`](crate::runtime::Recorder::bind_descriptor_sets), or with
/// [`Pipeline::raw_layout`](crate::runtime::Pipeline::raw_layout). After a capture on the native or vertex backend the
/// application binds its own again; captures by compute leave those of the graphics bind point alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct PipelineLayoutDesc<'a> {
    /// The bindings of each set layout, by set number; none in place of a null handle. Immutable samplers are not read.
    pub set_layouts: &'a [&'a [vk::DescriptorSetLayoutBinding<'a>]],
    /// The push constant ranges.
    pub push_constant_ranges: &'a [vk::PushConstantRange],
}

/// Why a pipeline layout does not do for a shader. Messages name the set, the binding and the variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineLayoutError {
    /// There is no set layout of that number.
    #[error(
        "descriptor set {set} binding {binding} is {variable}: the pipeline layout has {set_layouts} set layouts"
    )]
    MissingSet {
        /// Number of the set.
        set: u32,
        /// Number of the binding.
        binding: u32,
        /// The shader's variable.
        variable: String,
        /// Set layouts that there are.
        set_layouts: usize,
    },
    /// The set layout does not have the binding.
    #[error(
        "descriptor set {set} binding {binding} is {variable}: the set layout has no such binding"
    )]
    MissingBinding {
        /// Number of the set.
        set: u32,
        /// Number of the binding.
        binding: u32,
        /// The shader's variable.
        variable: String,
    },
    /// A descriptor type that does not go with the shader's variable.
    #[error(
        "descriptor set {set} binding {binding} is {variable}, {resource}: the set layout has {found:?}"
    )]
    DescriptorType {
        /// Number of the set.
        set: u32,
        /// Number of the binding.
        binding: u32,
        /// The shader's variable.
        variable: String,
        /// What it is.
        resource: ResourceType,
        /// The binding's type.
        found: vk::DescriptorType,
    },
    /// Fewer descriptors than the shader has in an array, or none at all.
    #[error(
        "descriptor set {set} binding {binding} is {variable} with {needed} descriptors: the set layout has {found}"
    )]
    DescriptorCount {
        /// Number of the set.
        set: u32,
        /// Number of the binding.
        binding: u32,
        /// The shader's variable.
        variable: String,
        /// Descriptors of the shader; of an array without a length at least 1.
        needed: u32,
        /// The binding's count.
        found: u32,
    },
    /// An array, where the set layout has a block of uniforms inline, of which there are no arrays.
    #[error(
        "descriptor set {set} binding {binding} is {variable}, an array: the set layout has an inline uniform block"
    )]
    InlineUniformBlockArray {
        /// Number of the set.
        set: u32,
        /// Number of the binding.
        binding: u32,
        /// The shader's variable.
        variable: String,
    },
    /// A binding that the stage which captures does not see. [`SetLayoutInfo::with_compute`] makes one that it sees.
    #[error(
        "descriptor set {set} binding {binding} is {variable}: the set layout has it for the stages {found:?}, and \
         the {backend} backend reads it in {needed:?}"
    )]
    NotVisible {
        /// Number of the set.
        set: u32,
        /// Number of the binding.
        binding: u32,
        /// The shader's variable.
        variable: String,
        /// Who is to capture.
        backend: Backend,
        /// The stage that captures.
        needed: vk::ShaderStageFlags,
        /// The binding's stages.
        found: vk::ShaderStageFlags,
    },
    /// Push constants of the shader outside of the ranges.
    #[error(
        "the shader has push constants in bytes {} to {}: no range for the vertex stage has byte {missing}",
        .bytes.start, .bytes.end
    )]
    MissingPushConstants {
        /// Bytes of the shader's block.
        bytes: Range<u32>,
        /// The first of them that no range has.
        missing: u32,
    },
    /// The range of a shader that was lowered for the vertex backend has bytes of other stages: see [`sysvals_place`].
    #[error(
        "push constants from byte {offset} on, {size} in all, are the captures', and of the stages {stages:?} too"
    )]
    SharedPushConstants {
        /// The first byte of the captures' range.
        offset: u32,
        /// Its bytes.
        size: u32,
        /// The stages of a range that shares some.
        stages: vk::ShaderStageFlags,
    },
}

impl PipelineLayoutDesc<'_> {
    /// Holds the pipeline layout against what a shader uses that is to be captured by `backend`
    /// ([Descriptor Set Interface](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-descset)).
    /// Sets and bindings that the shader does not use may be anything.
    ///
    /// | the shader has | the set layout may have |
    /// |---|---|
    /// | a uniform buffer | one, a dynamic one, or an inline uniform block of any size |
    /// | a storage buffer | one, or a dynamic one |
    /// | a sampler, a sampled image | one, or a combined image sampler |
    /// | anything else | the same |
    /// | anything | a mutable type |
    ///
    /// Bindings have as many descriptors as the shader's array, or more. Of one with a variable count it is the largest
    /// that counts, which its layout has.
    ///
    /// # Errors
    /// The first thing that is wrong, by set and binding; then push constants that no range for the vertex stage has.
    pub fn check(
        &self,
        shader: &ResourceInterface,
        backend: Backend,
    ) -> Result<(), PipelineLayoutError> {
        shader.descriptors.iter().try_for_each(|used| self.check_descriptor(used, backend))?;
        self.check_push_constants(&shader.push_constants)
    }

    fn check_descriptor(
        &self,
        used: &DescriptorUse,
        backend: Backend,
    ) -> Result<(), PipelineLayoutError> {
        let &DescriptorUse { set, binding, resource, count, .. } = used;
        let variable = || used.variable.clone();
        let Some(bindings) = self.set_layouts.get(set as usize) else {
            let set_layouts = self.set_layouts.len();
            return Err(PipelineLayoutError::MissingSet {
                set,
                binding,
                variable: variable(),
                set_layouts,
            });
        };
        let Some(found) = bindings.iter().find(|found| found.binding == binding) else {
            return Err(PipelineLayoutError::MissingBinding { set, binding, variable: variable() });
        };
        if !is_of_type(resource, found.descriptor_type) {
            return Err(PipelineLayoutError::DescriptorType {
                set,
                binding,
                variable: variable(),
                resource,
                found: found.descriptor_type,
            });
        }
        let mut needed = match count {
            DescriptorCount::One | DescriptorCount::RuntimeArray => 1,
            DescriptorCount::Array(count) => count,
        };
        if found.descriptor_type == vk::DescriptorType::INLINE_UNIFORM_BLOCK {
            if count != DescriptorCount::One {
                let variable = variable();
                return Err(PipelineLayoutError::InlineUniformBlockArray {
                    set,
                    binding,
                    variable,
                });
            }
            // The count is that of its bytes.
            needed = 1;
        }
        if found.descriptor_count < needed {
            return Err(PipelineLayoutError::DescriptorCount {
                set,
                binding,
                variable: variable(),
                needed,
                found: found.descriptor_count,
            });
        }
        let needed = match backend {
            Backend::Native | Backend::Vertex => VERTEX,
            Backend::Compute => vk::ShaderStageFlags::COMPUTE,
        };
        if !found.stage_flags.contains(needed) {
            return Err(PipelineLayoutError::NotVisible {
                set,
                binding,
                variable: variable(),
                backend,
                needed,
                found: found.stage_flags,
            });
        }
        Ok(())
    }

    fn check_push_constants(&self, bytes: &Range<u32>) -> Result<(), PipelineLayoutError> {
        let mut missing = bytes.start;
        while missing < bytes.end {
            let range = self.push_constant_ranges.iter().find(|range| {
                range.stage_flags.contains(VERTEX) && bytes_of(range).contains(&missing)
            });
            let Some(range) = range else {
                let bytes = bytes.clone();
                return Err(PipelineLayoutError::MissingPushConstants { bytes, missing });
            };
            missing = bytes_of(range).end;
        }
        Ok(())
    }
}

/// Whether descriptors of that type are what a shader has
/// ([correspondence](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-correspondence)).
fn is_of_type(resource: ResourceType, ty: vk::DescriptorType) -> bool {
    use vk::DescriptorType as D;
    if ty == D::MUTABLE_EXT {
        return true;
    }
    let types: &[D] = match resource {
        ResourceType::Sampler => &[D::SAMPLER, D::COMBINED_IMAGE_SAMPLER],
        // The last two only extensions' instructions read.
        ResourceType::SampledImage => &[
            D::SAMPLED_IMAGE,
            D::COMBINED_IMAGE_SAMPLER,
            D::SAMPLE_WEIGHT_IMAGE_QCOM,
            D::BLOCK_MATCH_IMAGE_QCOM,
        ],
        ResourceType::CombinedImageSampler => &[D::COMBINED_IMAGE_SAMPLER],
        ResourceType::StorageImage => &[D::STORAGE_IMAGE],
        ResourceType::UniformTexelBuffer => &[D::UNIFORM_TEXEL_BUFFER],
        ResourceType::StorageTexelBuffer => &[D::STORAGE_TEXEL_BUFFER],
        ResourceType::UniformBuffer => {
            &[D::UNIFORM_BUFFER, D::UNIFORM_BUFFER_DYNAMIC, D::INLINE_UNIFORM_BLOCK]
        }
        ResourceType::StorageBuffer => &[D::STORAGE_BUFFER, D::STORAGE_BUFFER_DYNAMIC],
        ResourceType::AccelerationStructure => {
            &[D::ACCELERATION_STRUCTURE_KHR, D::ACCELERATION_STRUCTURE_NV]
        }
        ResourceType::Other => return true,
    };
    types.contains(&ty)
}

const fn bytes_of(range: &vk::PushConstantRange) -> Range<u32> {
    range.offset..range.offset.saturating_add(range.size)
}

/// The ranges of an application that other stages than the vertex stage see, with these stages.
fn of_other_stages(
    ranges: &[vk::PushConstantRange],
) -> impl Iterator<Item = vk::PushConstantRange> {
    let without_vertex = |range: &vk::PushConstantRange| {
        let stages = match range.stage_flags {
            // Bits of no stage are set in it, and may not be without the others.
            vk::ShaderStageFlags::ALL => vk::ShaderStageFlags::ALL_GRAPHICS,
            stages => stages,
        };
        vk::PushConstantRange { stage_flags: stages & !VERTEX, ..*range }
    };
    ranges.iter().map(without_vertex).filter(|range| !range.stage_flags.is_empty())
}

/// Where the sysvals of the vertex backend find room beside the push constants of an application's other stages: for
/// [`vertex::lower_at`](crate::lower::vertex::lower_at), where the pipeline is to be the application's own
/// ([`Pipeline::from_raw`](crate::runtime::Pipeline::from_raw)). `ranges` are those of its pipeline layout, and
/// `max_push_constants` is `maxPushConstantsSize`
/// ([`Limits::max_push_constants`](crate::runtime::Limits::max_push_constants)).
///
/// Those of the vertex stage are not in the way: they are in memory from then on. The sysvals themselves are in push
/// constants where all of them have room, and otherwise their address is. `None` where not even its 8 bytes have any.
pub fn sysvals_place(
    ranges: &[vk::PushConstantRange],
    max_push_constants: u32,
) -> Option<SysvalsPlace> {
    let others: Vec<Range<u32>> = of_other_stages(ranges).map(|range| bytes_of(&range)).collect();
    let offset_of = |size: u32| {
        let behind = others
            .iter()
            .filter_map(|bytes| bytes.end.checked_next_multiple_of(SysvalsPlace::ALIGNMENT));
        let has_room = |offset: &u32| {
            let end = offset.saturating_add(size);
            let is_apart = |other: &Range<u32>| other.end <= *offset || end <= other.start;
            end <= max_push_constants && others.iter().all(is_apart)
        };
        std::iter::once(0).chain(behind).filter(has_room).min()
    };
    let in_push_constants = offset_of(SYSVALS_SIZE);
    in_push_constants.map(|offset| SysvalsPlace::PushConstants { offset }).or_else(|| {
        let size = SysvalsPlace::Memory { offset: 0 }.size();
        offset_of(size).map(|offset| SysvalsPlace::Memory { offset })
    })
}

/// The push constant ranges of an application's own pipeline that captures on the vertex backend
/// ([`Pipeline::from_raw`](crate::runtime::Pipeline::from_raw)): those of its pipeline layout without the vertex stage,
/// whose push constants are in memory now, and in its place `own`, which is
/// [`PipelineDesc::push_constant_range`](crate::runtime::PipelineDesc::push_constant_range).
///
/// What the application pushes for the vertex stage it gives to
/// [`Recorder::push_constants`](crate::runtime::Recorder::push_constants), and its `vkCmdPushConstants` names the stages
/// that are left to its ranges: of `VK_SHADER_STAGE_ALL` those are the other stages of `VK_SHADER_STAGE_ALL_GRAPHICS`.
///
/// # Errors
/// [`PipelineLayoutError::SharedPushConstants`] where `own` has bytes of another stage, which captures would overwrite:
/// the shader is to be lowered for another [place](sysvals_place).
pub fn push_constant_ranges(
    ranges: &[vk::PushConstantRange],
    own: vk::PushConstantRange,
) -> Result<Vec<vk::PushConstantRange>, PipelineLayoutError> {
    let mut all = Vec::with_capacity(ranges.len() + 1);
    let own_bytes = bytes_of(&own);
    for range in of_other_stages(ranges) {
        let bytes = bytes_of(&range);
        if bytes.start < own_bytes.end && own_bytes.start < bytes.end {
            let vk::PushConstantRange { offset, size, .. } = own;
            let stages = range.stage_flags;
            return Err(PipelineLayoutError::SharedPushConstants { offset, size, stages });
        }
        all.push(range);
    }
    all.push(own);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;
    const COMPUTE: vk::ShaderStageFlags = vk::ShaderStageFlags::COMPUTE;

    fn range(stage_flags: vk::ShaderStageFlags, bytes: Range<u32>) -> vk::PushConstantRange {
        let (offset, size) = (bytes.start, bytes.end - bytes.start);
        vk::PushConstantRange { stage_flags, offset, size }
    }

    fn parts(ranges: &[vk::PushConstantRange]) -> Vec<(vk::ShaderStageFlags, Range<u32>)> {
        ranges.iter().map(|range| (range.stage_flags, bytes_of(range))).collect()
    }

    #[test]
    fn the_vertex_stage_becomes_visible_to_compute_and_the_rest_stays() {
        let samplers = [vk::Sampler::null(); 2];
        let binding = |binding, stages| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(vk::DescriptorType::SAMPLER)
                .immutable_samplers(&samplers)
                .stage_flags(stages)
        };
        let bindings = [
            binding(7, VERTEX | FRAGMENT),
            binding(2, FRAGMENT),
            binding(4, vk::ShaderStageFlags::ALL_GRAPHICS),
            binding(3, vk::ShaderStageFlags::ALL),
        ];
        let flags = [vk::DescriptorBindingFlags::PARTIALLY_BOUND; 4];
        let mut chained =
            vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL)
            .bindings(&bindings)
            .push_next(&mut chained);
        // SAFETY: the structure is valid.
        let visible = unsafe { SetLayoutInfo::with_compute(&info) };
        let made = visible.info();
        assert_eq!(
            (made.flags, made.p_next, made.binding_count),
            (info.flags, info.p_next, info.binding_count)
        );
        let parts = |b: &vk::DescriptorSetLayoutBinding<'_>| {
            (b.binding, b.descriptor_type, b.descriptor_count, b.p_immutable_samplers)
        };
        // SAFETY: the structure is valid.
        let found = unsafe { slice(made.p_bindings, made.binding_count) };
        assert!(found.iter().map(parts).eq(bindings.iter().map(parts)));
        let stages: Vec<_> = found.iter().map(|binding| binding.stage_flags).collect();
        let all_graphics = vk::ShaderStageFlags::ALL_GRAPHICS | COMPUTE;
        let all = vk::ShaderStageFlags::ALL;
        assert_eq!(stages, [VERTEX | FRAGMENT | COMPUTE, FRAGMENT, all_graphics, all]);

        // An array without elements may be anywhere.
        let none = vk::DescriptorSetLayoutCreateInfo::default();
        // SAFETY: as above.
        let visible = unsafe { SetLayoutInfo::with_compute(&none) };
        assert_eq!(visible.info().binding_count, 0);
        assert!(visible.bindings().is_empty());
    }

    #[test]
    fn sysvals_lie_beside_other_stages() {
        let place = |ranges: &[vk::PushConstantRange], max| sysvals_place(ranges, max);
        let at = |offset| Some(SysvalsPlace::PushConstants { offset });
        let address_at = |offset| Some(SysvalsPlace::Memory { offset });
        assert_eq!(place(&[], 128), at(0));
        assert_eq!(place(&[], 4), None);
        assert_eq!(place(&[range(VERTEX, 0..128)], 128), at(0));
        assert_eq!(place(&[range(FRAGMENT, 0..20)], 256), at(24));
        assert_eq!(place(&[range(VERTEX | FRAGMENT, 0..20)], 128), address_at(24));
        assert_eq!(place(&[range(VERTEX, 0..16), range(FRAGMENT, 16..32)], 128), address_at(0));
        assert_eq!(place(&[range(FRAGMENT, 128..160)], 160), at(0));
        assert_eq!(place(&[range(FRAGMENT, 4..120)], 128), address_at(120));
        assert_eq!(place(&[range(FRAGMENT, 4..124)], 128), None);
        assert_eq!(place(&[range(vk::ShaderStageFlags::ALL, 0..64)], 192), at(64));
        assert_eq!(place(&[range(FRAGMENT, 4..u32::MAX)], 256), None);
    }

    #[test]
    fn the_vertex_stage_has_the_sysvals_alone() {
        let own = range(VERTEX, 32..160);
        let all = [range(VERTEX | FRAGMENT, 0..32), range(COMPUTE, 160..192)];
        let made = push_constant_ranges(&all, own).unwrap();
        assert_eq!(parts(&made), [(FRAGMENT, 0..32), (COMPUTE, 160..192), (VERTEX, 32..160)]);
        let made = push_constant_ranges(&[range(VERTEX, 0..128)], own).unwrap();
        assert_eq!(parts(&made), [(VERTEX, 32..160)]);
        let made = push_constant_ranges(&[range(vk::ShaderStageFlags::ALL, 0..16)], own).unwrap();
        assert_eq!(made[0].stage_flags, vk::ShaderStageFlags::ALL_GRAPHICS & !VERTEX);
        for bytes in [0..36, 156..160, 40..44] {
            let error = push_constant_ranges(&[range(FRAGMENT, bytes)], own).unwrap_err();
            assert_eq!(
                error.to_string(),
                "push constants from byte 32 on, 128 in all, are the captures', and of the stages FRAGMENT too"
            );
        }
    }
}
