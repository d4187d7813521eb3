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
