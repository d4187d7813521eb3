//! The set layouts and push constant ranges of an application's pipeline layout: what captures require of them, and how
//! to change them.

use std::ops::Range;

use ash::vk;

use crate::runtime::pipelines::vulkan::{slice, with_compute};
use vkxfb_rewriter::lower::reflect::{
    DescriptorCount, DescriptorUse, ResourceInterface, ResourceType,
};
use vkxfb_rewriter::lower::{Backend, SysvalsPlace};
use vkxfb_rewriter::sysval::SYSVALS_SIZE;

const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;

/// A descriptor set layout of the application, with the compute stage added to each binding that is visible to the
/// vertex stage, or to a tessellation or geometry stage.
///
/// The application must create the layout from [`info`](Self::info) instead of its own structure, and use it
/// everywhere: to allocate descriptor sets, in the pipeline layouts of its graphics pipelines, and in
/// [`PipelineDesc::set_layouts`](crate::runtime::PipelineDesc::set_layouts). Sets with the unchanged layout cannot be
/// bound for captures, because
/// [compatible](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-compatibility) layouts
/// must be defined identically, including the stages.
///
/// The descriptors of these bindings then also count against the device's `maxPerStageDescriptor*` limits for the
/// compute stage, together with the descriptors of the same pipeline layout that the application's own compute shaders
/// use. Captures do not support set layouts for descriptor buffers
/// (`VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT`).
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
    /// The application's structure.
    info: vk::DescriptorSetLayoutCreateInfo<'a>,
    bindings: Vec<vk::DescriptorSetLayoutBinding<'a>>,
}

impl<'a> SetLayoutInfo<'a> {
    /// Copies the application's structure, and adds the compute stage to its bindings. Flags, the `pNext` chain and
    /// immutable samplers stay the same. The order of the bindings stays the same, too, because structures of the chain
    /// refer to bindings by their index in the list.
    ///
    /// # Safety
    /// The array of bindings is valid, as for
    /// [`vkCreateDescriptorSetLayout`](https://docs.vulkan.org/refpages/latest/refpages/source/VkDescriptorSetLayoutCreateInfo.html).
    /// The chain and the immutable samplers are not read; [`info`](Self::info) contains the pointers to them.
    pub unsafe fn with_compute(info: &vk::DescriptorSetLayoutCreateInfo<'a>) -> Self {
        let bindings = unsafe { slice(info.p_bindings, info.binding_count) };
        let visible =
            |binding: &vk::DescriptorSetLayoutBinding<'a>| vk::DescriptorSetLayoutBinding {
                stage_flags: with_compute(binding.stage_flags),
                ..*binding
            };
        Self { info: *info, bindings: bindings.iter().map(visible).collect() }
    }

    /// The Vulkan structure, which borrows the bindings.
    pub fn info(&self) -> vk::DescriptorSetLayoutCreateInfo<'_> {
        self.info.bindings(&self.bindings)
    }

    /// The bindings with the added stages, for a [`PipelineLayoutDesc`].
    pub fn bindings(&self) -> &[vk::DescriptorSetLayoutBinding<'a>] {
        &self.bindings
    }
}

/// The [pipeline layout](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineLayoutCreateInfo.html) of
/// the application's graphics pipeline whose vertex shader is captured.
///
/// All members have defaults, so a value of this type ends with `..Default::default()`.
///
/// # Pipeline layouts of captures
/// [`Pipeline::new`](crate::runtime::Pipeline::new) creates a pipeline layout with the same set layouts, but with only
/// one push constant range, [`PipelineDesc::push_constant_range`](crate::runtime::PipelineDesc::push_constant_range).
/// On the compute and the vertex backend the shader reads the application's push constants from memory, to which
/// [`Recorder::push_constants`](crate::runtime::Recorder::push_constants) copies them. So the application's ranges do
/// not need the compute stage, and should not have it: `vkCmdPushConstants` must name all stages of the ranges that it
/// writes
/// ([VUID-vkCmdPushConstants-offset-01796](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdPushConstants.html)),
/// and the application's calls do not name the compute stage.
///
/// # Descriptor sets that the application bound
/// Pipeline layouts are [compatible for a
/// set](https://docs.vulkan.org/spec/latest/chapters/descriptorsets.html#descriptorsets-compatibility) if the set
/// layouts up to that set and all push constant ranges are identical, and either both layouts or none have
/// `VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT`. Pipeline layouts of captures have other ranges and do not have
/// that flag. So sets that the application bound with its own pipeline layout are not bound for captures; on the
/// compute backend the bind point differs, too. Bind them with
/// [`Recorder::bind_descriptor_sets`](crate::runtime::Recorder::bind_descriptor_sets), or with
/// `vkCmdBindDescriptorSets` and [`Pipeline::raw_layout`](crate::runtime::Pipeline::raw_layout). After a capture on the
/// native or vertex backend the application must bind its own sets again. Compute captures do not disturb the sets of
/// the graphics bind point.
#[derive(Debug, Clone, Copy, Default)]
pub struct PipelineLayoutDesc<'a> {
    /// The bindings of each set layout, by set number; an empty slice stands for a null handle. Immutable samplers are
    /// not read.
    pub set_layouts: &'a [&'a [vk::DescriptorSetLayoutBinding<'a>]],
    /// The push constant ranges.
    pub push_constant_ranges: &'a [vk::PushConstantRange],
}

/// Why a pipeline layout does not match a shader. The messages name the set, the binding and the variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineLayoutError {
    /// The pipeline layout has no set layout for a set that the shader uses.
    #[error(
        "descriptor set {set} binding {binding} is {variable}: the pipeline layout has {set_layouts} set layouts"
    )]
    MissingSet {
        /// The number of the set.
        set: u32,
        /// The number of the binding.
        binding: u32,
        /// The name of the shader's variable.
        variable: String,
        /// The number of set layouts in the pipeline layout.
        set_layouts: usize,
    },
    /// The set layout does not contain a binding that the shader uses.
    #[error(
        "descriptor set {set} binding {binding} is {variable}: the set layout has no such binding"
    )]
    MissingBinding {
        /// The number of the set.
        set: u32,
        /// The number of the binding.
        binding: u32,
        /// The name of the shader's variable.
        variable: String,
    },
    /// The descriptor type of a binding does not match the shader's variable.
    #[error(
        "descriptor set {set} binding {binding} is {variable}, {resource}: the set layout has {found:?}"
    )]
    DescriptorType {
        /// The number of the set.
        set: u32,
        /// The number of the binding.
        binding: u32,
        /// The name of the shader's variable.
        variable: String,
        /// The type of the variable.
        resource: ResourceType,
        /// The descriptor type of the binding.
        found: vk::DescriptorType,
    },
    /// A binding has fewer descriptors than the shader's array, or none at all.
    #[error(
        "descriptor set {set} binding {binding} is {variable} with {needed} descriptors: the set layout has {found}"
    )]
    DescriptorCount {
        /// The number of the set.
        set: u32,
        /// The number of the binding.
        binding: u32,
        /// The name of the shader's variable.
        variable: String,
        /// The number of descriptors of the shader's array. For an array without a length this is 1.
        needed: u32,
        /// The number of descriptors in the binding.
        found: u32,
    },
    /// The shader has an array of uniform blocks, but the binding is an inline uniform block, which cannot be an array.
    #[error(
        "descriptor set {set} binding {binding} is {variable}, an array: the set layout has an inline uniform block"
    )]
    InlineUniformBlockArray {
        /// The number of the set.
        set: u32,
        /// The number of the binding.
        binding: u32,
        /// The name of the shader's variable.
        variable: String,
    },
    /// A binding is not visible to the stage that captures. [`SetLayoutInfo::with_compute`] makes it visible.
    #[error(
        "descriptor set {set} binding {binding} is {variable}: the set layout has it for the stages {found:?}, and \
         the {backend} backend reads it in {needed:?}"
    )]
    NotVisible {
        /// The number of the set.
        set: u32,
        /// The number of the binding.
        binding: u32,
        /// The name of the shader's variable.
        variable: String,
        /// The backend that captures.
        backend: Backend,
        /// The stage that captures.
        needed: vk::ShaderStageFlags,
        /// The stages to which the set layout makes the binding visible.
        found: vk::ShaderStageFlags,
    },
    /// The shader's push constants are not completely in push constant ranges for the vertex stage.
    #[error(
        "the shader has push constants in bytes {} to {}: no range for the vertex stage has byte {missing}",
        .bytes.start, .bytes.end
    )]
    MissingPushConstants {
        /// The bytes of the shader's push constant block.
        bytes: Range<u32>,
        /// The first byte that no range contains.
        missing: u32,
    },
    /// The push constant range for the sysvals of the vertex backend overlaps a range of another stage.
    /// [`sysvals_place`] finds another place for the sysvals.
    #[error(
        "captures use {size} bytes of push constants from byte {offset} on, which overlap a range of the \
         stages {stages:?}"
    )]
    SharedPushConstants {
        /// The offset in bytes of the range for the sysvals.
        offset: u32,
        /// The size in bytes of the range for the sysvals.
        size: u32,
        /// The stages of the range that the sysvals overlap.
        stages: vk::ShaderStageFlags,
    },
}

impl PipelineLayoutDesc<'_> {
    /// Checks that the pipeline layout has everything that a shader uses when `backend` captures it. `shader` is what
    /// [`resource_interface`](vkxfb_rewriter::lower::reflect::resource_interface) finds in it ([Descriptor Set
    /// Interface](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-descset)).
    /// Sets and bindings that the shader does not use are not checked.
    ///
    /// | if the shader has | the set layout may have |
    /// |---|---|
    /// | a uniform buffer | a uniform buffer, dynamic or not, or an inline uniform block of any size |
    /// | a storage buffer | a storage buffer, dynamic or not |
    /// | a sampler | a sampler, or a combined image sampler |
    /// | a sampled image | a sampled image, a combined image sampler, or a type of `VK_QCOM_image_processing` |
    /// | an acceleration structure | an acceleration structure, with the suffix `KHR` or `NV` |
    /// | a resource of a type that this crate does not know | any type |
    /// | a resource of any other type | the same type |
    /// | a resource of any type | a mutable type |
    ///
    /// A binding must have at least as many descriptors as the shader's array. For a binding with a variable descriptor
    /// count, the maximum count in its layout is used.
    ///
    /// # Errors
    /// The first mismatch in the order of sets and bindings. If there is none: push constants that are not in a range
    /// for the vertex stage.
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
            // The descriptor count of an inline uniform block is its size in bytes.
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

/// Whether descriptors of the type `ty` match a shader's variable of the type `resource`, by the table of
/// [correspondence](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-correspondence).
fn is_of_type(resource: ResourceType, ty: vk::DescriptorType) -> bool {
    use vk::DescriptorType as D;
    if ty == D::MUTABLE_EXT {
        return true;
    }
    let types: &[D] = match resource {
        ResourceType::Sampler => &[D::SAMPLER, D::COMBINED_IMAGE_SAMPLER],
        // The last two types are for images that only instructions of `VK_QCOM_image_processing` read.
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

/// The push constant ranges that are visible to stages other than the vertex stage, with the vertex stage removed from
/// their stages.
fn of_other_stages(
    ranges: &[vk::PushConstantRange],
) -> impl Iterator<Item = vk::PushConstantRange> {
    let without_vertex = |range: &vk::PushConstantRange| {
        let stages = match range.stage_flags {
            // `ALL` also has bits that stand for no stage, and is valid only as a whole. `ALL_GRAPHICS` without the
            // vertex stage is valid.
            vk::ShaderStageFlags::ALL => vk::ShaderStageFlags::ALL_GRAPHICS,
            stages => stages,
        };
        vk::PushConstantRange { stage_flags: stages & !VERTEX, ..*range }
    };
    ranges.iter().map(without_vertex).filter(|range| !range.stage_flags.is_empty())
}

/// Returns where to put the sysvals of the vertex backend in a pipeline of the application
/// ([`Pipeline::from_raw`](crate::runtime::Pipeline::from_raw)) whose other stages also have push constants. Pass the
/// result to [`vertex::lower_at`](vkxfb_rewriter::lower::vertex::lower_at). `ranges` are the ranges of the
/// application's pipeline layout, and `max_push_constants` is `maxPushConstantsSize`
/// ([`Limits::max_push_constants`](crate::runtime::Limits::max_push_constants)).
///
/// Ranges that only the vertex stage has do not matter, because captures read the push constants of the vertex stage
/// from memory. The sysvals are placed in push constants if there is enough room beside the other ranges. Otherwise
/// they are in memory, and only their address is in push constants. Returns `None` if there is not even room for the 8
/// bytes of the address.
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

/// Returns the push constant ranges for an application's own pipeline that captures on the vertex backend
/// ([`Pipeline::from_raw`](crate::runtime::Pipeline::from_raw)). These are the application's `ranges` without the
/// vertex stage, whose push constants are read from memory, and the range `own`, which is
/// [`PipelineDesc::push_constant_range`](crate::runtime::PipelineDesc::push_constant_range).
///
/// The application must pass the push constants of the vertex stage to
/// [`Recorder::push_constants`](crate::runtime::Recorder::push_constants), and must name only the remaining stages of
/// its ranges in `vkCmdPushConstants`. In place of `VK_SHADER_STAGE_ALL` these are the stages of
/// `VK_SHADER_STAGE_ALL_GRAPHICS` other than the vertex stage.
///
/// # Errors
/// [`PipelineLayoutError::SharedPushConstants`] if `own` overlaps a range of another stage, which captures would
/// overwrite. In that case lower the shader for another [place](sysvals_place).
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
    const CONTROL: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_CONTROL;

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
            binding(5, CONTROL),
        ];
        let flags = [vk::DescriptorBindingFlags::PARTIALLY_BOUND; 5];
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
        let control = CONTROL | COMPUTE;
        assert_eq!(stages, [VERTEX | FRAGMENT | COMPUTE, FRAGMENT, all_graphics, all, control]);

        // The pointer of an empty array may be invalid.
        let none = vk::DescriptorSetLayoutCreateInfo::default();
        // SAFETY: the structure is valid.
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
                "captures use 128 bytes of push constants from byte 32 on, which overlap a range of the \
                 stages FRAGMENT"
            );
        }
    }
}
