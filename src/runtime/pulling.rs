//! Vertex input: its validation, and the descriptors by which a compute capture pulls attributes.

#![forbid(unsafe_code)]

use ash::vk;

use super::{Limits, RuntimeError, VertexBuffer};
use crate::sysval::AttributeDescriptor;
use crate::vertex_input::{InputRate, VertexInput};

/// An attribute that a compute capture reads: its place in the elements of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PulledAttribute {
    pub(super) location: u32,
    pub(super) binding: u32,
    /// Bytes from the start of the element.
    pub(super) offset: u32,
    /// Bytes.
    pub(super) size: u32,
    /// Bytes from one element to the next.
    pub(super) stride: u32,
}

/// Holds a vertex input state against itself: no number twice, no attribute without its binding,
/// and every component on a multiple of 4, which is the size of all components.
pub(super) fn validate(input: &VertexInput) -> Result<(), RuntimeError> {
    for (i, binding) in input.bindings.iter().enumerate() {
        let number = binding.binding;
        if input.bindings.iter().take(i).any(|b| b.binding == number) {
            return Err(RuntimeError::DuplicateVertexInput { what: "binding", number });
        }
        multiple_of_4(|| format!("the stride of vertex binding {number}"), binding.stride.into())?;
    }
    for (i, attribute) in input.attributes.iter().enumerate() {
        let (location, binding) = (attribute.location, attribute.binding);
        if input.attributes.iter().take(i).any(|a| a.location == location) {
            return Err(RuntimeError::DuplicateVertexInput {
                what: "attribute location",
                number: location,
            });
        }
        if input.binding(binding).is_none() {
            return Err(RuntimeError::UnknownBinding { location, binding });
        }
    }
    Ok(())
}

/// Holds a vertex input state against the limits of graphics pipelines. A compute capture has none.
pub(super) fn check_limits(input: &VertexInput, limits: &Limits) -> Result<(), RuntimeError> {
    let below = |what: String, value: u32, limit, max: u32| match value < max {
        true => Ok(()),
        false => Err(RuntimeError::Limit { what, value: value.into(), limit, max: max.into() }),
    };
    for b in &input.bindings {
        let n = b.binding;
        below(
            format!("vertex binding {n}"),
            n,
            "maxVertexInputBindings",
            limits.max_vertex_bindings,
        )?;
        let max = limits.max_vertex_binding_stride.saturating_add(1);
        below(
            format!("the stride of vertex binding {n}"),
            b.stride,
            "maxVertexInputBindingStride",
            max,
        )?;
    }
    for a in &input.attributes {
        let n = a.location;
        below(
            format!("vertex attribute location {n}"),
            n,
            "maxVertexInputAttributes",
            limits.max_vertex_attributes,
        )?;
        let max = limits.max_vertex_attribute_offset.saturating_add(1);
        below(
            format!("the offset of the attribute at location {n}"),
            a.offset,
            "maxVertexInputAttributeOffset",
            max,
        )?;
    }
    Ok(())
}

/// The attributes at `locations`, in that order, of a valid vertex input state.
pub(super) fn resolve(
    input: &VertexInput,
    locations: &[u32],
) -> Result<Vec<PulledAttribute>, RuntimeError> {
    locations
        .iter()
        .map(|&location| {
            let attribute =
                input.attribute(location).ok_or(RuntimeError::MissingAttribute { location })?;
            let binding = attribute.binding;
            let described =
                input.binding(binding).ok_or(RuntimeError::UnknownBinding { location, binding })?;
            Ok(PulledAttribute {
                location,
                binding,
                offset: attribute.offset,
                size: attribute.format.size(),
                stride: described.stride,
            })
        })
        .collect()
}

/// Checks that every binding of `attributes` has exactly one buffer, with its components aligned.
pub(super) fn check_buffers(
    attributes: &[PulledAttribute],
    buffers: &[VertexBuffer],
) -> Result<(), RuntimeError> {
    for (i, buffer) in buffers.iter().enumerate() {
        let binding = buffer.binding;
        if buffers.iter().take(i).any(|b| b.binding == binding) {
            return Err(RuntimeError::DuplicateVertexBuffer { binding });
        }
        if buffer.size == vk::WHOLE_SIZE {
            let what = format!("the vertex buffer of binding {binding}");
            return Err(RuntimeError::WholeSize { what });
        }
    }
    for a in attributes {
        let buffer = buffer_of(a, buffers)?;
        let what =
            || format!("the offset of the attribute at location {} in its buffer", a.location);
        multiple_of_4(what, buffer.offset.saturating_add(a.offset.into()))?;
    }
    Ok(())
}

/// The descriptors of `attributes`, in their order.
pub(super) fn descriptors(
    attributes: &[PulledAttribute],
    buffers: &[VertexBuffer],
    mut address_of: impl FnMut(vk::Buffer) -> Result<u64, RuntimeError>,
) -> Result<Vec<AttributeDescriptor>, RuntimeError> {
    attributes
        .iter()
        .map(|a| {
            let buffer = buffer_of(a, buffers)?;
            let address = address_of(buffer.buffer)?.wrapping_add(buffer.offset);
            let what = || format!("the device address of vertex binding {}", a.binding);
            multiple_of_4(what, address.wrapping_add(a.offset.into()))?;
            Ok(AttributeDescriptor::new(address, buffer.size, a.offset, a.size, a.stride))
        })
        .collect()
}

fn buffer_of<'a>(
    attribute: &PulledAttribute,
    buffers: &'a [VertexBuffer],
) -> Result<&'a VertexBuffer, RuntimeError> {
    buffers.iter().find(|b| b.binding == attribute.binding).ok_or(
        RuntimeError::MissingVertexBuffer {
            binding: attribute.binding,
            location: attribute.location,
        },
    )
}

/// Checks an offset or a size in bytes.
pub(super) fn multiple_of_4(what: impl FnOnce() -> String, value: u64) -> Result<(), RuntimeError> {
    match value % 4 {
        0 => Ok(()),
        _ => Err(RuntimeError::Misaligned { what: what(), value, alignment: 4 }),
    }
}

/// The state as Vulkan takes it.
pub(super) fn descriptions(
    input: &VertexInput,
) -> (Vec<vk::VertexInputBindingDescription>, Vec<vk::VertexInputAttributeDescription>) {
    let bindings = input.bindings.iter().map(|b| vk::VertexInputBindingDescription {
        binding: b.binding,
        stride: b.stride,
        input_rate: match b.input_rate {
            InputRate::Vertex => vk::VertexInputRate::VERTEX,
            InputRate::Instance => vk::VertexInputRate::INSTANCE,
        },
    });
    let attributes = input.attributes.iter().map(|a| vk::VertexInputAttributeDescription {
        location: a.location,
        binding: a.binding,
        format: vk::Format::from_raw(a.format.as_raw()),
        offset: a.offset,
    });
    (bindings.collect(), attributes.collect())
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;

    use super::*;
    use crate::vertex_input::{VertexAttribute, VertexBinding, VertexFormat};

    const BUFFER: u64 = 0x7000_0000_1000;

    fn input() -> VertexInput {
        let binding =
            |binding, stride| VertexBinding { binding, stride, input_rate: InputRate::Vertex };
        let attribute = |location, binding, offset| VertexAttribute {
            location,
            binding,
            format: VertexFormat::R32G32Sfloat,
            offset,
        };
        VertexInput {
            bindings: vec![binding(0, 16), binding(5, 8)],
            attributes: vec![attribute(0, 0, 0), attribute(1, 0, 8), attribute(9, 5, 0)],
        }
    }

    fn bound(binding: u32, offset: u64, size: u64) -> VertexBuffer {
        VertexBuffer { binding, buffer: vk::Buffer::from_raw(1), offset, size }
    }

    #[test]
    fn descriptors_follow_the_locations_of_the_shader() {
        let attributes = resolve(&input(), &[9, 1]).unwrap();
        let buffers = [bound(5, 32, 20), bound(0, 4, 64)];
        check_buffers(&attributes, &buffers).unwrap();
        let made = descriptors(&attributes, &buffers, |_| Ok(BUFFER)).unwrap();
        assert_eq!(made[0], AttributeDescriptor::new(BUFFER + 32, 20, 0, 8, 8));
        assert_eq!(made[1], AttributeDescriptor::new(BUFFER + 4, 64, 8, 8, 16));
        assert_eq!((made[0].limit, made[1].limit), (2, 4));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = |result: Result<(), RuntimeError>| result.unwrap_err().to_string();
        let mut bad = input();
        bad.attributes[2].binding = 6;
        assert_eq!(
            text(validate(&bad)),
            "the vertex attribute at location 9 reads binding 6, which the vertex input state does \
             not describe"
        );
        let mut bad = input();
        bad.attributes[2].location = 1;
        assert_eq!(text(validate(&bad)), "vertex input attribute location 1 is described twice");
        let mut bad = input();
        bad.bindings[1].stride = 6;
        assert_eq!(
            text(validate(&bad)),
            "the stride of vertex binding 5 is 6 bytes: it must be a multiple of 4"
        );
        assert!(validate(&input()).is_ok());

        let attributes = resolve(&input(), &[0, 9]).unwrap();
        assert_eq!(
            text(check_buffers(&attributes, &[bound(0, 0, 64)])),
            "no vertex buffer is bound to binding 5, which the attribute at location 9 reads"
        );
        assert_eq!(
            text(check_buffers(&attributes, &[bound(0, 0, 64), bound(5, 2, 64)])),
            "the offset of the attribute at location 9 in its buffer is 2 bytes: it must be a \
             multiple of 4"
        );
        assert_eq!(
            text(check_buffers(&attributes, &[bound(0, 0, 64), bound(0, 0, 64)])),
            "two vertex buffers are bound to binding 0"
        );
        assert_eq!(
            text(check_buffers(&attributes, &[bound(5, 0, vk::WHOLE_SIZE)])),
            "the size of the vertex buffer of binding 5 is VK_WHOLE_SIZE: captures need it in bytes"
        );
        assert_eq!(
            resolve(&input(), &[3]).unwrap_err().to_string(),
            "the shader reads vertex attribute location 3, which the vertex input state does not \
             describe"
        );
    }
}
