//! Validates a vertex input state, and converts it to Vulkan structures for graphics pipelines.

#![forbid(unsafe_code)]

use ash::vk;

use crate::runtime::device::capabilities::Limits;
use crate::runtime::device::checks::check_limit;
use crate::runtime::device::error::RuntimeError;
use vkxfb_rewriter::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexInput};

/// Checks that a vertex input state is consistent: no binding and no location is described twice, and the binding of
/// each attribute is described.
pub(super) fn validate(input: &VertexInput) -> Result<(), RuntimeError> {
    for (i, binding) in input.bindings.iter().enumerate() {
        let number = binding.binding;
        if input.bindings.iter().take(i).any(|b| b.binding == number) {
            return Err(RuntimeError::DuplicateVertexInput { what: "binding", number });
        }
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

/// Checks a vertex input state against the limits of graphics pipelines, which do not apply to compute captures.
pub(super) fn check_limits(input: &VertexInput, limits: &Limits) -> Result<(), RuntimeError> {
    for b in &input.bindings {
        let n = b.binding;
        check_limit(
            || format!("the number of vertex binding {n}, plus one,"),
            u64::from(n) + 1,
            "maxVertexInputBindings",
            limits.max_vertex_bindings,
        )?;
        check_limit(
            || format!("the stride of vertex binding {n}"),
            b.stride,
            "maxVertexInputBindingStride",
            limits.max_vertex_binding_stride,
        )?;
    }
    for a in &input.attributes {
        let n = a.location;
        check_limit(
            || format!("the number of vertex attribute location {n}, plus one,"),
            u64::from(n) + 1,
            "maxVertexInputAttributes",
            limits.max_vertex_attributes,
        )?;
        check_limit(
            || format!("the offset of the attribute at location {n}"),
            a.offset,
            "maxVertexInputAttributeOffset",
            limits.max_vertex_attribute_offset,
        )?;
    }
    Ok(())
}

/// Returns the location and the binding of the first attribute that ends behind the stride of its binding, or `None`. A
/// device with `VK_KHR_portability_subset` may not support that
/// ([VUID-VkVertexInputAttributeDescription-vertexAttributeAccessBeyondStride-04457](https://docs.vulkan.org/refpages/latest/refpages/source/VkVertexInputAttributeDescription.html#VUID-VkVertexInputAttributeDescription-vertexAttributeAccessBeyondStride-04457)).
pub(super) fn beyond_stride(input: &VertexInput) -> Option<(u32, u32)> {
    let is_beyond = |a: &&VertexAttribute| {
        let end = u64::from(a.offset) + u64::from(a.format.size());
        input.binding(a.binding).is_some_and(|binding| end > u64::from(binding.stride))
    };
    input.attributes.iter().find(is_beyond).map(|a| (a.location, a.binding))
}

/// Checks that each stride is a multiple of `alignment` and not 0, which a device with `VK_KHR_portability_subset`
/// requires
/// ([VUID-VkVertexInputBindingDescription-stride-04456](https://docs.vulkan.org/refpages/latest/refpages/source/VkVertexInputBindingDescription.html#VUID-VkVertexInputBindingDescription-stride-04456)).
pub(super) fn check_strides(input: &VertexInput, alignment: u32) -> Result<(), RuntimeError> {
    let is_wrong =
        |b: &&VertexBinding| b.stride < alignment || !b.stride.is_multiple_of(alignment.max(1));
    match input.bindings.iter().find(is_wrong) {
        None => Ok(()),
        Some(b) => Err(RuntimeError::Limit {
            what: format!("the stride of vertex binding {}", b.binding),
            value: b.stride.into(),
            limit: "minVertexInputBindingStrideAlignment",
            max: alignment.into(),
        }),
    }
}

/// Returns the largest divisor other than 1, and whether any divisor is 0. Returns `None` if all divisors are 1.
pub(super) fn divisors(input: &VertexInput) -> Option<(u32, bool)> {
    let other = divisor_descriptions(input);
    let max = other.iter().map(|d| d.divisor).max()?;
    Some((max, other.iter().any(|d| d.divisor == 0)))
}

/// Returns the divisors other than 1 as Vulkan structures.
pub(super) fn divisor_descriptions(
    input: &VertexInput,
) -> Vec<vk::VertexInputBindingDivisorDescriptionKHR> {
    let divisor = |b: &VertexBinding| match b.input_rate {
        InputRate::Vertex | InputRate::Instance { divisor: 1 } => None,
        InputRate::Instance { divisor } => {
            Some(vk::VertexInputBindingDivisorDescriptionKHR { binding: b.binding, divisor })
        }
    };
    input.bindings.iter().filter_map(divisor).collect()
}

pub(super) fn descriptions(
    input: &VertexInput,
) -> (Vec<vk::VertexInputBindingDescription>, Vec<vk::VertexInputAttributeDescription>) {
    let bindings = input.bindings.iter().map(|b| vk::VertexInputBindingDescription {
        binding: b.binding,
        stride: b.stride,
        input_rate: match b.input_rate {
            InputRate::Vertex => vk::VertexInputRate::VERTEX,
            InputRate::Instance { .. } => vk::VertexInputRate::INSTANCE,
        },
    });
    let attributes = input.attributes.iter().map(|a| vk::VertexInputAttributeDescription {
        location: a.location,
        binding: a.binding,
        format: a.format.into(),
        offset: a.offset,
    });
    (bindings.collect(), attributes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::pipelines::pulling::tests::{input, with};
    use vkxfb_rewriter::vertex_input::VertexFormat;

    #[test]
    fn divisors_other_than_1_are_described() {
        let mut input = input();
        input.bindings[0].input_rate = InputRate::INSTANCE;
        assert_eq!(divisors(&input), None);
        input.bindings[1].input_rate = InputRate::Instance { divisor: 7 };
        assert_eq!(divisors(&input), Some((7, false)));
        input.bindings[0].input_rate = InputRate::Instance { divisor: 0 };
        assert_eq!(divisors(&input), Some((7, true)));
        let described = divisor_descriptions(&input);
        let pairs: Vec<_> = described.iter().map(|d| (d.binding, d.divisor)).collect();
        assert_eq!(pairs, [(0, 0), (5, 7)]);
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
        assert!(validate(&input()).is_ok());
    }

    #[test]
    fn portable_strides_hold_their_attributes() {
        for (stride, holds) in [(12, true), (11, false), (0, false)] {
            let input = with(VertexFormat::R32G32B32Sfloat, stride);
            assert_eq!(beyond_stride(&input).is_none(), holds, "{stride}");
        }
        let mut input = with(VertexFormat::R32G32B32Sfloat, 16);
        input.attributes[2].offset = 5;
        let attribute = input.attributes[2];
        assert_eq!(beyond_stride(&input), Some((attribute.location, attribute.binding)));

        for (stride, alignment, fits) in
            [(16, 4, true), (6, 4, false), (0, 4, false), (3, 1, true), (0, 1, false), (0, 0, true)]
        {
            let input = with(VertexFormat::R8Unorm, stride);
            let checked = check_strides(&input, alignment);
            assert_eq!(checked.is_ok(), fits, "{stride} {alignment}: {checked:?}");
        }
    }

    /// A value at the limit is accepted. The error for a larger value contains the limit of the device.
    #[test]
    fn limits_are_those_of_the_device() {
        type Set = fn(&mut VertexInput, u32);
        let limits = crate::runtime::device::capabilities::tests::full().limits;
        let cases: [(Set, u32, &str); 4] = [
            (
                |input, n| (input.bindings[1].binding, input.attributes[2].binding) = (n, n),
                limits.max_vertex_bindings - 1,
                "the number of vertex binding 32, plus one, is 33: maxVertexInputBindings is 32",
            ),
            (
                |input, n| input.bindings[1].stride = n,
                limits.max_vertex_binding_stride,
                "the stride of vertex binding 5 is 2049: maxVertexInputBindingStride is 2048",
            ),
            (
                |input, n| input.attributes[2].location = n,
                limits.max_vertex_attributes - 1,
                "the number of vertex attribute location 32, plus one, is 33: \
                 maxVertexInputAttributes is 32",
            ),
            (
                |input, n| input.attributes[2].offset = n,
                limits.max_vertex_attribute_offset,
                "the offset of the attribute at location 9 is 2048: \
                 maxVertexInputAttributeOffset is 2047",
            ),
        ];
        for (set, largest, message) in cases {
            let mut input = input();
            set(&mut input, largest);
            check_limits(&input, &limits).unwrap();
            set(&mut input, largest + 1);
            assert_eq!(check_limits(&input, &limits).unwrap_err().to_string(), message);
        }
    }
}
