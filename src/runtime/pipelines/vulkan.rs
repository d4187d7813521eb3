//! Converts the Vulkan structures with which an application creates a graphics pipeline to the types of this crate.
//!
//! | part of the graphics pipeline | functions and types |
//! |---|---|
//! | vertex input state | [`vertex_input`], [`vertex_input_descriptions`], [`dynamic_vertex_input`] |
//! | tessellation state | [`tessellation`] |
//! | specialisation constants | [`specialization`] |
//! | descriptor set layouts | [`SetLayoutInfo`] makes them visible to the compute stage |
//! | pipeline layout | [`PipelineLayoutDesc`] compares it with the shader |
//! | push constant ranges of a pipeline that captures on the vertex backend | [`sysvals_place`], [`push_constant_ranges`] |
//! | topology, formats, index types, input rates | `TryFrom` and `From` for the types of [`ash::vk`] |

mod convert;
mod layout;

use ash::vk;

pub use self::convert::UnsupportedIndexType;
pub use self::layout::{
    PipelineLayoutDesc, PipelineLayoutError, SetLayoutInfo, push_constant_ranges, sysvals_place,
};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::find_structure;
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::vertex_input::{VertexAttribute, VertexBinding, VertexFormat, VertexInput};
use vkxfb_rewriter::vulkan::RUN_STAGE_FLAGS;

/// Converts the vertex input state of a graphics pipeline, with the divisors in its `pNext` chain
/// ([`VkPipelineVertexInputDivisorStateCreateInfo`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineVertexInputDivisorStateCreateInfo.html)).
///
/// # Errors
/// [`RuntimeError::VertexFormat`] for a format that this crate does not support.
///
/// # Safety
/// `info`, its pointers and its chain are valid, as for
/// [`vkCreateGraphicsPipelines`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineVertexInputStateCreateInfo.html).
pub unsafe fn vertex_input(
    info: &vk::PipelineVertexInputStateCreateInfo<'_>,
) -> Result<VertexInput, RuntimeError> {
    let (bindings, attributes, divisors) = unsafe {
        (
            slice(info.p_vertex_binding_descriptions, info.vertex_binding_description_count),
            slice(info.p_vertex_attribute_descriptions, info.vertex_attribute_description_count),
            divisors(info.p_next),
        )
    };
    let mut input = vertex_input_descriptions(bindings, attributes)?;
    for binding in &mut input.bindings {
        if let Some(described) = divisors.iter().find(|d| d.binding == binding.binding) {
            binding.input_rate = binding.input_rate.with_divisor(described.divisor);
        }
    }
    Ok(input)
}

/// Converts the binding and attribute descriptions that most applications have for their
/// [`VkPipelineVertexInputStateCreateInfo`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineVertexInputStateCreateInfo.html):
///
/// ```
/// use ash::vk;
/// use vkxfb::runtime::vulkan::vertex_input_descriptions;
///
/// let bindings = [vk::VertexInputBindingDescription { binding: 0, stride: 12, ..Default::default() }];
/// let attributes = [vk::VertexInputAttributeDescription {
///     location: 0,
///     binding: 0,
///     format: vk::Format::R32G32B32_SFLOAT,
///     offset: 0,
/// }];
/// let input = vertex_input_descriptions(&bindings, &attributes)?;
/// assert_eq!(input.bindings[0].stride, 12);
/// # Ok::<(), vkxfb::runtime::RuntimeError>(())
/// ```
///
/// Bindings with the rate `INSTANCE` get the divisor 1. For other divisors use [`vertex_input`], or set
/// [`VertexBinding::input_rate`].
///
/// # Errors
/// [`RuntimeError::VertexFormat`] for a format that this crate does not support.
pub fn vertex_input_descriptions(
    bindings: &[vk::VertexInputBindingDescription],
    attributes: &[vk::VertexInputAttributeDescription],
) -> Result<VertexInput, RuntimeError> {
    Ok(VertexInput {
        bindings: bindings.iter().map(VertexBinding::from).collect(),
        attributes: attributes.iter().map(vertex_attribute).collect::<Result<_, _>>()?,
    })
}

/// Converts the description of an attribute.
///
/// # Errors
/// [`RuntimeError::VertexFormat`] for a format that this crate does not support.
fn vertex_attribute(
    attribute: &vk::VertexInputAttributeDescription,
) -> Result<VertexAttribute, RuntimeError> {
    let &vk::VertexInputAttributeDescription { location, binding, format, offset } = attribute;
    let format = VertexFormat::try_from(format)
        .map_err(|source| RuntimeError::VertexFormat { location, source })?;
    Ok(VertexAttribute { location, binding, format, offset })
}

/// Converts the vertex input state that
/// [`vkCmdSetVertexInputEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdSetVertexInputEXT.html)
/// sets.
///
/// # Errors
/// [`RuntimeError::VertexFormat`] for a format that this crate does not support.
pub fn dynamic_vertex_input(
    bindings: &[vk::VertexInputBindingDescription2EXT<'_>],
    attributes: &[vk::VertexInputAttributeDescription2EXT<'_>],
) -> Result<VertexInput, RuntimeError> {
    Ok(VertexInput {
        bindings: bindings.iter().map(VertexBinding::from).collect(),
        attributes: attributes
            .iter()
            .map(|a| {
                vertex_attribute(&vk::VertexInputAttributeDescription {
                    location: a.location,
                    binding: a.binding,
                    format: a.format,
                    offset: a.offset,
                })
            })
            .collect::<Result<_, _>>()?,
    })
}

/// Returns the number of control points of a patch, and the origin of the tessellation domain: the one that the `pNext`
/// chain sets, or else the upper left
/// ([`VkPipelineTessellationStateCreateInfo`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineTessellationStateCreateInfo.html)).
/// They are the values for [`PipelineDesc::patch_control_points`](crate::runtime::PipelineDesc::patch_control_points)
/// and [`compute::Options::domain_origin`](vkxfb_rewriter::lower::compute::Options::domain_origin).
///
/// # Safety
/// The chain of `info` is valid.
pub unsafe fn tessellation(
    info: &vk::PipelineTessellationStateCreateInfo<'_>,
) -> (u32, DomainOrigin) {
    let s_type = vk::StructureType::PIPELINE_TESSELLATION_DOMAIN_ORIGIN_STATE_CREATE_INFO;
    // SAFETY: the caller's contract; the structure is of that type.
    let origin = unsafe {
        find_structure(info.p_next, s_type).map(|found| {
            let found = found.cast::<vk::PipelineTessellationDomainOriginStateCreateInfo<'_>>();
            (*found).domain_origin
        })
    };
    (info.patch_control_points, origin.map_or(DomainOrigin::UpperLeft, DomainOrigin::from))
}

/// Returns the values of specialisation constants, which borrow the data of `info`.
///
/// # Errors
/// [`RuntimeError::SpecializationData`] for an entry that exceeds the data.
///
/// # Safety
/// `info` and its pointers are valid, as for
/// [`VkPipelineShaderStageCreateInfo`](https://docs.vulkan.org/refpages/latest/refpages/source/VkSpecializationInfo.html).
pub unsafe fn specialization<'a>(
    info: &vk::SpecializationInfo<'a>,
) -> Result<Vec<SpecializationConstant<'a>>, RuntimeError> {
    let (entries, data): (&[vk::SpecializationMapEntry], &'a [u8]) = unsafe {
        let data = if info.p_data.is_null() {
            &[]
        } else {
            std::slice::from_raw_parts(info.p_data.cast(), info.data_size)
        };
        (slice(info.p_map_entries, info.map_entry_count), data)
    };
    let constant = |entry: &vk::SpecializationMapEntry| {
        let vk::SpecializationMapEntry { constant_id, offset, size } = *entry;
        let value = data.get(offset as usize..).and_then(|data| data.get(..size));
        let data = value.ok_or(RuntimeError::SpecializationData {
            constant_id,
            offset,
            size,
            data_size: data.len(),
        })?;
        Ok(SpecializationConstant { constant_id, data })
    };
    entries.iter().map(constant).collect()
}

/// Returns the stage flags that a descriptor set layout binding needs for compute captures: the compute stage is added
/// to bindings that are visible to the vertex stage, or to a tessellation or geometry stage.
/// [`SetLayoutInfo::with_compute`] does this for all bindings of a set layout. Push constant ranges need no change, see
/// [`PipelineLayoutDesc`].
pub const fn with_compute(stages: vk::ShaderStageFlags) -> vk::ShaderStageFlags {
    if stages.as_raw() & RUN_STAGE_FLAGS.as_raw() == 0 {
        return stages;
    }
    vk::ShaderStageFlags::from_raw(stages.as_raw() | vk::ShaderStageFlags::COMPUTE.as_raw())
}

/// Returns the divisors in the chain of a vertex input state. The slice is empty if there are none.
///
/// # Safety
/// The chain is valid.
unsafe fn divisors<'a>(
    chain: *const std::ffi::c_void,
) -> &'a [vk::VertexInputBindingDivisorDescriptionKHR] {
    let s_type = vk::StructureType::PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_KHR;
    // SAFETY: the caller's contract; the structure is of that type.
    unsafe {
        let Some(found) = find_structure(chain, s_type) else { return &[] };
        let divisors = &*found.cast::<vk::PipelineVertexInputDivisorStateCreateInfoKHR<'_>>();
        slice(divisors.p_vertex_binding_divisors, divisors.vertex_binding_divisor_count)
    }
}

/// Converts a Vulkan array to a slice, which is empty if the pointer is null. If `count` is 0, the pointer may be
/// invalid.
///
/// # Safety
/// `start` is null, or points to `count` values that live as long as the slice.
unsafe fn slice<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if count == 0 || start.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(start, count as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vkxfb_rewriter::vertex_input::{InputRate, VertexFormat};

    #[test]
    fn vertex_input_has_its_divisors() {
        let bindings = [
            vk::VertexInputBindingDescription::default().binding(3).stride(12),
            vk::VertexInputBindingDescription::default()
                .binding(1)
                .stride(8)
                .input_rate(vk::VertexInputRate::INSTANCE),
            vk::VertexInputBindingDescription::default()
                .binding(2)
                .input_rate(vk::VertexInputRate::INSTANCE),
        ];
        let attributes = [vk::VertexInputAttributeDescription::default()
            .location(7)
            .binding(1)
            .format(vk::Format::R32G32_SFLOAT)
            .offset(4)];
        let divisors =
            [vk::VertexInputBindingDivisorDescriptionKHR::default().binding(1).divisor(5)];
        let mut chained = vk::PipelineVertexInputDivisorStateCreateInfoKHR::default()
            .vertex_binding_divisors(&divisors);
        let info = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes)
            .push_next(&mut chained);
        // SAFETY: the structure is valid.
        let found = unsafe { vertex_input(&info) }.unwrap();
        let binding = |binding, stride, input_rate| VertexBinding { binding, stride, input_rate };
        let expected = VertexInput {
            bindings: vec![
                binding(3, 12, InputRate::Vertex),
                binding(1, 8, InputRate::Instance { divisor: 5 }),
                binding(2, 0, InputRate::INSTANCE),
            ],
            attributes: vec![VertexAttribute {
                location: 7,
                binding: 1,
                format: VertexFormat::R32G32Sfloat,
                offset: 4,
            }],
        };
        assert_eq!(found, expected);

        let bindings = expected.bindings.iter().map(|b| {
            let (rate, divisor) = match b.input_rate {
                InputRate::Vertex => (vk::VertexInputRate::VERTEX, 1),
                InputRate::Instance { divisor } => (vk::VertexInputRate::INSTANCE, divisor),
            };
            vk::VertexInputBindingDescription2EXT::default()
                .binding(b.binding)
                .stride(b.stride)
                .input_rate(rate)
                .divisor(divisor)
        });
        let attribute = vk::VertexInputAttributeDescription2EXT::default()
            .location(7)
            .binding(1)
            .format(vk::Format::R32G32_SFLOAT)
            .offset(4);
        let bindings: Vec<_> = bindings.collect();
        assert_eq!(dynamic_vertex_input(&bindings, &[attribute]).unwrap(), expected);
        let depth = attribute.format(vk::Format::D32_SFLOAT);
        let error = dynamic_vertex_input(&bindings, &[depth]).unwrap_err();
        assert!(error.to_string().contains("location 7"), "{error}");
    }

    #[test]
    fn tessellation_has_its_origin() {
        let of = |info: &vk::PipelineTessellationStateCreateInfo<'_>| {
            // SAFETY: the structure is valid.
            unsafe { tessellation(info) }
        };
        let info = vk::PipelineTessellationStateCreateInfo::default().patch_control_points(7);
        assert_eq!(of(&info), (7, DomainOrigin::UpperLeft));
        let mut chained = vk::PipelineTessellationDomainOriginStateCreateInfo::default()
            .domain_origin(vk::TessellationDomainOrigin::LOWER_LEFT);
        assert_eq!(of(&info.push_next(&mut chained)), (7, DomainOrigin::LowerLeft));
    }

    #[test]
    fn constants_lie_within_their_data() {
        let entry =
            |constant_id, offset, size| vk::SpecializationMapEntry { constant_id, offset, size };
        let (inside, outside) = ([entry(4, 1, 2), entry(0, 3, 1)], [entry(9, 2, 3)]);
        let data = [10, 11, 12, 13];
        let of = |entries| {
            let info = vk::SpecializationInfo::default().map_entries(entries).data(&data);
            // SAFETY: the structure is valid.
            unsafe { specialization(&info) }
        };
        let constant = |constant_id, data| SpecializationConstant { constant_id, data };
        assert_eq!(of(&inside).unwrap(), [constant(4, &data[1..3]), constant(0, &data[3..])]);
        let error = of(&outside).unwrap_err();
        assert!(error.to_string().contains("constant 9"), "{error}");
        assert_eq!(of(&[]).unwrap(), []);
    }
}
