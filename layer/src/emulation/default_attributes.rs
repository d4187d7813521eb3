//! Gives values to vertex shader inputs for which a pipeline describes no vertex attribute. With
//! `VK_KHR_maintenance9` the driver defines [a default
//! value](https://docs.vulkan.org/refpages/latest/refpages/source/VkDefaultVertexAttributeValueKHR.html)
//! for them.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::reflect::{AttributeUse, vertex_reads};
use vkxfb_rewriter::spirv::NumericClass;
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

use crate::instance::InstanceData;
use crate::registry::vk;

/// The value of a vertex shader input without an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefaultAttribute {
    Zeros,
    /// The value (0, 0, 0, 1).
    ZerosAndOne,
}

/// The value that a device gives to vertex shader inputs without an attribute.
pub(super) struct DefaultAttributes {
    physical_device: vk::PhysicalDevice,
    /// The command that queries the value. `None` without `VK_KHR_maintenance9`: then the device
    /// has `VK_EXT_vertex_attribute_robustness`, which allows either value.
    ask: Option<vk::PFN_vkGetPhysicalDeviceProperties2>,
    /// The value, once it was queried. It is queried only if a shader has an input without an
    /// attribute, because a validation layer below may not know the structure that returns it.
    value: OnceLock<DefaultAttribute>,
}

impl DefaultAttributes {
    /// Prepares to query the value. `None` if the device does not allow inputs without an
    /// attribute. `has` returns whether the device has an extension.
    pub(super) fn new(
        instance: &InstanceData,
        physical_device: vk::PhysicalDevice,
        has: impl Fn(&CStr) -> bool,
    ) -> Option<Self> {
        let (newer, older) =
            (has(c"VK_KHR_maintenance9"), has(c"VK_EXT_vertex_attribute_robustness"));
        let ask = instance.optional.properties2.or(instance.optional.properties2_khr);
        let ask = ask.filter(|_| newer);
        (newer || older).then_some(Self { physical_device, ask, value: OnceLock::new() })
    }

    fn value(&self) -> DefaultAttribute {
        *self.value.get_or_init(|| {
            let Some(ask) = self.ask else { return DefaultAttribute::ZerosAndOne };
            type Properties = vk::PhysicalDeviceMaintenance9PropertiesKHR;
            let mut properties = Properties {
                s_type: <Properties as vk::TaggedStructure>::STRUCTURE_TYPE,
                p_next: std::ptr::null(),
                image2_d_view_of3_d_sparse: 0,
                default_vertex_attribute_value: 0,
            };
            let p_next = (&raw mut properties).cast();
            let mut all = vk::PhysicalDeviceProperties2 { p_next, ..Default::default() };
            // SAFETY: the device, and so its instance, is live; the chain is valid.
            unsafe { ask(self.physical_device, &raw mut all) };
            match properties.default_vertex_attribute_value {
                0 => DefaultAttribute::Zeros,
                _ => DefaultAttribute::ZerosAndOne,
            }
        })
    }
}

impl DefaultAttribute {
    /// Returns a vertex format for which a read out of bounds returns this value.
    const fn format(self, class: NumericClass) -> VertexFormat {
        match (self, class) {
            (Self::Zeros, NumericClass::Uint) => VertexFormat::R32G32B32A32Uint,
            (Self::Zeros, NumericClass::Sint) => VertexFormat::R32G32B32A32Sint,
            (Self::Zeros, NumericClass::Float) => VertexFormat::R32G32B32A32Sfloat,
            (Self::ZerosAndOne, NumericClass::Uint) => VertexFormat::R32Uint,
            (Self::ZerosAndOne, NumericClass::Sint) => VertexFormat::R32Sint,
            (Self::ZerosAndOne, NumericClass::Float) => VertexFormat::R32Sfloat,
        }
    }
}

/// The inputs of a vertex shader, and their value if they have no attribute. Empty if the device
/// does not allow inputs without an attribute.
#[derive(Default)]
pub(super) struct Inputs {
    reads: Vec<AttributeUse>,
    defaults: Option<Arc<DefaultAttributes>>,
}

impl Inputs {
    pub(super) fn new(shader: &Shader<'_>, defaults: Option<&Arc<DefaultAttributes>>) -> Self {
        // An invalid shader is no error here, because its error is returned when it is lowered.
        let reads = defaults.and_then(|_| vertex_reads(shader).ok());
        let reads = reads.map_or_else(Vec::new, |reads| reads.attributes);
        Self { reads, defaults: defaults.cloned() }
    }

    /// Adds an attribute for each shader input of 32-bit components for which the pipeline describes no attribute. No
    /// buffer is bound to the binding of these attributes, so all reads are out of bounds and return the default value.
    pub(super) fn complete<'a>(&self, input: &'a VertexInput) -> Cow<'a, VertexInput> {
        let Some(defaults) = &self.defaults else { return Cow::Borrowed(input) };
        let is_described = |location: u32| {
            // A format of more than 16 bytes also takes the next location.
            let before = location.checked_sub(1).and_then(|before| input.attribute(before));
            input.attribute(location).is_some() || before.is_some_and(|a| a.format.size() > 16)
        };
        let missing = |read: &&AttributeUse| read.bits == 32 && !is_described(read.location);
        let missing: Vec<_> = self.reads.iter().filter(missing).collect();
        if missing.is_empty() {
            return Cow::Borrowed(input);
        }
        let Some(binding) = (0..u32::MAX).find(|number| input.binding(*number).is_none()) else {
            return Cow::Borrowed(input);
        };
        let default = defaults.value();
        let mut input = input.clone();
        input.bindings.push(VertexBinding { binding, stride: 0, input_rate: InputRate::Vertex });
        input.attributes.extend(missing.into_iter().map(|read| VertexAttribute {
            location: read.location,
            binding,
            format: default.format(read.class),
            offset: 0,
        }));
        Cow::Owned(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_without_an_attribute_have_the_default() {
        // Decoding no bytes returns the value of a read out of bounds.
        for (default, value) in
            [(DefaultAttribute::Zeros, [0, 0, 0, 0]), (DefaultAttribute::ZerosAndOne, [0, 0, 0, 1])]
        {
            for class in [NumericClass::Uint, NumericClass::Sint] {
                assert_eq!(default.format(class).class(), class);
                assert_eq!(default.format(class).decode(&[]), value);
            }
            let float = default.format(NumericClass::Float).decode(&[]);
            assert_eq!(float.map(|bits| f32::from_bits(bits as u32) as u64), value);
        }
    }
}
