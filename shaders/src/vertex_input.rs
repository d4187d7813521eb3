//! Vertex input state: the contents of
//! [`VkPipelineVertexInputStateCreateInfo`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineVertexInputStateCreateInfo.html)
//! without Vulkan's types. The compute backend uses it to pull attributes.

mod decode;
mod format;

pub(crate) use self::format::Field;
pub use crate::spirv::NumericClass;

pub use self::format::{NumericFormat, UnknownFormat, UnsupportedFormat, VertexFormat};

/// A `VkVertexInputRate` together with the divisor of a
/// [`VkVertexInputBindingDivisorDescription`](https://docs.vulkan.org/refpages/latest/refpages/source/VkVertexInputBindingDivisorDescription.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InputRate {
    /// The element number is the vertex index.
    #[default]
    Vertex,
    /// The element number is `firstInstance` + n / `divisor`, where n is the number of the instance
    /// in the draw. With divisor 0 it is `firstInstance`.
    Instance {
        /// The number of instances that share an element; 0 if all instances share one.
        divisor: u32,
    },
}

impl InputRate {
    /// One element per instance, which is Vulkan's default.
    pub const INSTANCE: Self = Self::Instance { divisor: 1 };

    /// Sets the divisor of an instance rate. Does not change a vertex rate.
    pub const fn with_divisor(self, divisor: u32) -> Self {
        match self {
            Self::Vertex => Self::Vertex,
            Self::Instance { .. } => Self::Instance { divisor },
        }
    }

    /// The number of the element that a shader invocation reads ([Vertex Input Address
    /// Calculation](https://docs.vulkan.org/spec/latest/chapters/fxvertex.html#fxvertex-input-address-calculation)).
    /// `vertex_index` and `instance_index` are its `VertexIndex` and `InstanceIndex`.
    pub const fn element(self, vertex_index: u32, first_instance: u32, instance_index: u32) -> u32 {
        match self {
            Self::Vertex => vertex_index,
            Self::Instance { divisor } => {
                let instance = instance_index.wrapping_sub(first_instance);
                match instance.checked_div(divisor) {
                    Some(steps) => first_instance.wrapping_add(steps),
                    None => first_instance,
                }
            }
        }
    }
}

/// A `VkVertexInputBindingDescription`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexBinding {
    /// The number of the binding.
    pub binding: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// The rate at which the element advances.
    pub input_rate: InputRate,
}

/// A `VkVertexInputAttributeDescription`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// The location of the shader's input.
    pub location: u32,
    /// The number of the binding that the attribute is read from.
    pub binding: u32,
    /// The format of the data.
    pub format: VertexFormat,
    /// Bytes from the start of the element.
    pub offset: u32,
}

impl VertexAttribute {
    /// Whether shaders of the compute backend can load the attribute by whole components from every element of a
    /// binding with this stride that begins at `start`, an address or an offset in a buffer. Otherwise they load it by
    /// bytes.
    pub const fn is_aligned(&self, start: u64, stride: u32) -> bool {
        let alignment = self.format.load_alignment();
        (start as u32).wrapping_add(self.offset).is_multiple_of(alignment)
            && stride.is_multiple_of(alignment)
    }
}

/// A `VkPipelineVertexInputStateCreateInfo`, as a value without Vulkan's structures.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct VertexInput {
    /// The bindings. No number may occur twice.
    pub bindings: Vec<VertexBinding>,
    /// The attributes. No location may occur twice.
    pub attributes: Vec<VertexAttribute>,
}

impl VertexInput {
    /// The attribute at `location`, or `None`.
    pub fn attribute(&self, location: u32) -> Option<&VertexAttribute> {
        self.attributes.iter().find(|a| a.location == location)
    }

    /// The binding with this number, or `None`.
    pub fn binding(&self, binding: u32) -> Option<&VertexBinding> {
        self.bindings.iter().find(|b| b.binding == binding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_follow_the_rate() {
        let of = |divisor, instance| InputRate::Instance { divisor }.element(7, 5, instance);
        assert_eq!(InputRate::Vertex.element(7, 5, 9), 7);
        assert_eq!([5, 6, 9].map(|i| of(1, i)), [5, 6, 9]);
        assert_eq!([5, 6, 7, 8, 11].map(|i| of(3, i)), [5, 5, 5, 6, 7]);
        assert_eq!([5, 6, 99].map(|i| of(0, i)), [5, 5, 5]);
    }
}
