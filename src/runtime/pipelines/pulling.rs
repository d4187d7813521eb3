//! The attributes that a pipeline reads from vertex buffers, and the attribute descriptors by which compute captures
//! read them.

#![forbid(unsafe_code)]

use ash::vk;

use crate::runtime::device::checks::{check_stride, multiple_of, not_whole_size};
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::VertexBuffer;
use vkxfb_rewriter::lower::{Backend, LoweredAttribute};
use vkxfb_rewriter::sysval::AttributeDescriptor;
use vkxfb_rewriter::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexInput};

/// An attribute that a pipeline reads, with the layout of its vertex buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PulledAttribute {
    pub(crate) location: u32,
    pub(crate) binding: u32,
    /// The offset in bytes from the start of an element.
    pub(crate) offset: u32,
    /// The size in bytes.
    pub(crate) size: u32,
    /// The required alignment in bytes of the attribute's address in every element: that of the shader on the compute
    /// backend, that of the format on the others.
    pub(crate) alignment: u32,
    /// The number of bytes from one element to the next, if the buffer is bound without a stride.
    pub(crate) stride: u32,
    pub(crate) input_rate: InputRate,
}

/// Returns the attributes that a shader was lowered to pull, as `input` describes them, in the order of `lowered`.
/// `input` must be valid. It is an error if `input` lacks one of the attributes, or describes it with another format or
/// input rate than the shader was lowered for, or with a stride that the shader cannot load from.
pub(crate) fn resolve(
    input: &VertexInput,
    lowered: &[LoweredAttribute],
) -> Result<Vec<PulledAttribute>, RuntimeError> {
    let resolve = |lowered: &LoweredAttribute| {
        let location = lowered.location;
        let (attribute, binding) = described(input, location)?;
        if attribute.format != lowered.format {
            return Err(RuntimeError::AttributeFormat {
                location,
                lowered: lowered.format,
                given: attribute.format,
            });
        }
        if binding.input_rate != lowered.input_rate {
            return Err(RuntimeError::AttributeRate {
                location,
                lowered: lowered.input_rate,
                given: binding.input_rate,
            });
        }
        PulledAttribute::new(attribute, binding, lowered.alignment)
    };
    lowered.iter().map(resolve).collect()
}

/// Returns all attributes of a valid vertex input state.
pub(crate) fn resolve_all(input: &VertexInput) -> Result<Vec<PulledAttribute>, RuntimeError> {
    let resolve = |attribute: &VertexAttribute| {
        let (attribute, binding) = described(input, attribute.location)?;
        PulledAttribute::new(attribute, binding, attribute.format.alignment())
    };
    input.attributes.iter().map(resolve).collect()
}

/// Returns the attribute at a location, and the description of its binding. Returns an error if `input` lacks one of
/// the two.
fn described(
    input: &VertexInput,
    location: u32,
) -> Result<(&VertexAttribute, &VertexBinding), RuntimeError> {
    let attribute = input.attribute(location).ok_or(RuntimeError::MissingAttribute { location })?;
    let binding = attribute.binding;
    let described =
        input.binding(binding).ok_or(RuntimeError::UnknownBinding { location, binding })?;
    Ok((attribute, described))
}

impl PulledAttribute {
    /// # Errors
    /// [`RuntimeError::Misaligned`] if the stride of the binding is not a multiple of the alignment.
    fn new(
        attribute: &VertexAttribute,
        binding: &VertexBinding,
        alignment: u32,
    ) -> Result<Self, RuntimeError> {
        let VertexAttribute { location, binding: number, format, offset } = *attribute;
        let VertexBinding { stride, input_rate, .. } = *binding;
        check_stride(number, location, stride, alignment)?;
        let size = format.size();
        Ok(Self { location, binding: number, offset, size, alignment, stride, input_rate })
    }

    /// The size in bytes of the widest access with which shaders may read the attribute, see
    /// [`WideAccesses`](vkxfb_rewriter::lower::WideAccesses).
    pub(crate) const fn access(&self) -> u32 {
        match (self.alignment, self.size) {
            // The attribute is loaded by bytes.
            (1, _) => 1,
            (_, 16..) => 16,
            (_, 8) => 8,
            (alignment, _) => alignment,
        }
    }
}

/// Checks vertex buffers independently of attributes: no binding has two buffers, and no size is `VK_WHOLE_SIZE`.
pub(crate) fn check_bound(buffers: &[VertexBuffer]) -> Result<(), RuntimeError> {
    for (i, buffer) in buffers.iter().enumerate() {
        let binding = buffer.binding;
        if buffers.iter().take(i).any(|b| b.binding == binding) {
            return Err(RuntimeError::DuplicateVertexBuffer { binding });
        }
        not_whole_size(|| format!("the vertex buffer of binding {binding}"), buffer.size)?;
    }
    Ok(())
}

/// Checks that every binding of `attributes` has a buffer, which may be null, and that the attributes in it are
/// aligned. On backends with graphics pipelines a buffer must also have the stride with which the pipeline was created.
pub(crate) fn check_buffers(
    backend: Backend,
    attributes: &[PulledAttribute],
    buffers: &[VertexBuffer],
) -> Result<(), RuntimeError> {
    for a in attributes {
        let buffer = buffer_of(a, buffers)?;
        let what =
            || format!("the offset of the attribute at location {} in its buffer", a.location);
        let offset = buffer.offset.saturating_add(a.offset.into());
        multiple_of(a.alignment, what, offset)?;
        let Some(stride) = buffer.stride.filter(|stride| *stride != a.stride) else { continue };
        if backend != Backend::Compute {
            let (binding, pipeline) = (a.binding, a.stride);
            return Err(RuntimeError::StaticStride { binding, stride, pipeline });
        }
        check_stride(a.binding, a.location, stride, a.alignment)?;
    }
    Ok(())
}

/// Returns the attribute descriptors of `attributes`, in the same order. `address_of` returns the address of the range
/// of a vertex buffer; it is not called for null buffers, whose attributes have empty descriptors.
pub(crate) fn descriptors(
    attributes: &[PulledAttribute],
    buffers: &[VertexBuffer],
    mut address_of: impl FnMut(&VertexBuffer) -> Result<u64, RuntimeError>,
) -> impl Iterator<Item = Result<AttributeDescriptor, RuntimeError>> {
    attributes.iter().map(move |a| {
        let buffer = buffer_of(a, buffers)?;
        if buffer.buffer == vk::Buffer::null() {
            return Ok(AttributeDescriptor::default());
        }
        let address = address_of(buffer)?;
        let what = || format!("the address of vertex binding {}", a.binding);
        multiple_of(a.alignment, what, address.wrapping_add(a.offset.into()))?;
        let stride = buffer.stride.unwrap_or(a.stride);
        Ok(AttributeDescriptor::new(address, buffer.size, a.offset, a.size, stride))
    })
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

#[cfg(test)]
pub(crate) mod tests {
    use ash::vk::Handle;

    use super::*;
    use vkxfb_rewriter::vertex_input::{InputRate, VertexFormat};

    const BUFFER: u64 = 0x7000_0000_1000;

    /// A vertex input state with three attributes in two bindings.
    pub(crate) fn input() -> VertexInput {
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

    /// Returns [`input`], but with `stride` for binding 5, and with `format` for the attribute that reads this binding.
    pub(crate) fn with(format: VertexFormat, stride: u32) -> VertexInput {
        let mut input = input();
        input.bindings[1].stride = stride;
        input.attributes[2].format = format;
        input
    }

    /// The attributes of a shader that was lowered to read `locations`, with the formats of `input`.
    fn lowered(input: &VertexInput, locations: &[u32]) -> Vec<LoweredAttribute> {
        let of = |&location: &u32| {
            let (attribute, binding) = described(input, location).unwrap();
            let (format, input_rate) = (attribute.format, binding.input_rate);
            let alignment = format.load_alignment();
            LoweredAttribute { location, format, input_rate, alignment }
        };
        locations.iter().map(of).collect()
    }

    fn bound(binding: u32, offset: u64, size: u64) -> VertexBuffer {
        VertexBuffer { binding, buffer: vk::Buffer::from_raw(1), offset, size, stride: None }
    }

    fn made(attributes: &[PulledAttribute], buffers: &[VertexBuffer]) -> Vec<AttributeDescriptor> {
        let all = descriptors(attributes, buffers, |b| Ok(BUFFER + b.offset));
        all.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn descriptors_follow_the_locations_of_the_shader() {
        let attributes = resolve(&input(), &lowered(&input(), &[9, 1])).unwrap();
        let buffers = [bound(5, 32, 20), bound(0, 4, 64)];
        check_buffers(Backend::Compute, &attributes, &buffers).unwrap();
        let made = made(&attributes, &buffers);
        assert_eq!(made[0], AttributeDescriptor::new(BUFFER + 32, 20, 0, 8, 8));
        assert_eq!(made[1], AttributeDescriptor::new(BUFFER + 4, 64, 8, 8, 16));
        assert_eq!((made[0].limit, made[1].limit), (2, 4));
    }

    #[test]
    fn null_buffers_and_strides_go_with_the_binding() {
        let attributes = resolve(&input(), &lowered(&input(), &[0, 9])).unwrap();
        let null = VertexBuffer { buffer: vk::Buffer::null(), ..bound(0, 0, 0) };
        let strided = VertexBuffer { stride: Some(12), ..bound(5, 4, 64) };
        let buffers = [null, strided];
        check_buffers(Backend::Compute, &attributes, &buffers).unwrap();
        let made = made(&attributes, &buffers);
        assert_eq!(made[0], AttributeDescriptor::default());
        assert_eq!(made[1], AttributeDescriptor::new(BUFFER + 4, 64, 0, 8, 12));

        let text = |backend, stride| {
            let buffers = [null, VertexBuffer { stride: Some(stride), ..strided }];
            check_buffers(backend, &attributes, &buffers).unwrap_err().to_string()
        };
        assert_eq!(
            text(Backend::Native, 12),
            "vertex binding 5 is bound with stride 12: the pipeline was made with 8, and only compute \
             captures take another"
        );
        assert_eq!(
            text(Backend::Compute, 10),
            "the stride of vertex binding 5, which location 9 is read from, is 10 bytes: it must be a \
             multiple of 4"
        );
    }

    #[test]
    fn components_decide_the_alignment() {
        for (format, stride) in [
            (VertexFormat::R8G8B8Snorm, 3),
            (VertexFormat::R16G16B16Sfloat, 6),
            (VertexFormat::R64Sfloat, 8),
            (VertexFormat::R64Sfloat, 0),
        ] {
            let input = with(format, stride);
            let attributes = resolve(&input, &lowered(&input, &[9])).unwrap();
            let alignment = u64::from(format.load_alignment());
            let buffers = |offset| [bound(5, offset, 64)];
            check_buffers(Backend::Compute, &attributes, &buffers(alignment)).unwrap();
            let made = made(&attributes, &buffers(alignment));
            let expected =
                AttributeDescriptor::new(BUFFER + alignment, 64, 0, format.size(), stride);
            assert_eq!(made, [expected]);
            if alignment > 1 {
                check_buffers(Backend::Compute, &attributes, &buffers(1)).unwrap_err();
                let odd = with(format, stride + 1);
                resolve(&odd, &lowered(&odd, &[9])).unwrap_err();
            }
        }
        // The other backends leave the loads to the driver, which may need what Vulkan requires.
        let strided = |stride| resolve_all(&with(VertexFormat::R64Sfloat, stride));
        assert_eq!(strided(8).unwrap()[2].alignment, 8);
        assert_eq!(
            strided(12).unwrap_err().to_string(),
            "the stride of vertex binding 5, which location 9 is read from, is 12 bytes: it must be a \
             multiple of 8"
        );
    }

    /// What is loaded by bytes takes any stride and offset, and no wide access.
    #[test]
    fn attributes_that_are_loaded_by_bytes_begin_anywhere() {
        let input = with(VertexFormat::R32G32B32A32Sfloat, 18);
        let mut by_bytes = lowered(&input, &[9]);
        by_bytes[0].alignment = 1;
        let attributes = resolve(&input, &by_bytes).unwrap();
        assert_eq!(attributes[0].access(), 1);
        let buffers = [VertexBuffer { stride: Some(19), ..bound(5, 3, 64) }];
        check_buffers(Backend::Compute, &attributes, &buffers).unwrap();
        let expected = AttributeDescriptor::new(BUFFER + 3, 64, 0, 16, 19);
        assert_eq!(made(&attributes, &buffers), [expected]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = |result: Result<(), RuntimeError>| result.unwrap_err().to_string();
        let attributes = resolve(&input(), &lowered(&input(), &[0, 9])).unwrap();
        assert_eq!(
            text(check_buffers(Backend::Compute, &attributes, &[bound(0, 0, 64)])),
            "no vertex buffer is bound to binding 5, which the attribute at location 9 reads"
        );
        assert_eq!(
            text(check_buffers(Backend::Compute, &attributes, &[bound(0, 0, 64), bound(5, 2, 64)])),
            "the offset of the attribute at location 9 in its buffer is 2 bytes: it must be a \
             multiple of 4"
        );
        assert_eq!(
            text(check_bound(&[bound(0, 0, 64), bound(0, 0, 64)])),
            "two vertex buffers are bound to binding 0"
        );
        assert_eq!(
            text(check_bound(&[bound(5, 0, vk::WHOLE_SIZE)])),
            "the size of the vertex buffer of binding 5 is VK_WHOLE_SIZE: captures need it in bytes"
        );
        let mut one = lowered(&input(), &[0]);
        one[0].location = 3;
        assert_eq!(
            resolve(&input(), &one).unwrap_err().to_string(),
            "the shader reads vertex attribute location 3, which the vertex input state does not \
             describe"
        );
    }
}
