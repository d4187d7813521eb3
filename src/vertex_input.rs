//! Vertex input state: what
//! [`VkPipelineVertexInputStateCreateInfo`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineVertexInputStateCreateInfo.html)
//! says, without Vulkan's types, for the compute backend to pull attributes by itself.

#![forbid(unsafe_code)]

/// `VkFormat` of a vertex attribute; the discriminants are Vulkan's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs, reason = "the names are Vulkan's")]
pub enum VertexFormat {
    R32Uint = 98,
    R32Sint = 99,
    R32Sfloat = 100,
    R32G32Uint = 101,
    R32G32Sint = 102,
    R32G32Sfloat = 103,
    R32G32B32Uint = 104,
    R32G32B32Sint = 105,
    R32G32B32Sfloat = 106,
    R32G32B32A32Uint = 107,
    R32G32B32A32Sint = 108,
    R32G32B32A32Sfloat = 109,
}

/// Numeric class of a format or of a shader's variable; the two must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumericClass {
    /// `UINT` formats, `OpTypeInt` without sign.
    Uint,
    /// `SINT` formats, `OpTypeInt` with sign.
    Sint,
    /// `SFLOAT` formats, `OpTypeFloat`.
    Float,
}

/// A format that the compute backend cannot pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "VkFormat {0} is not supported as a vertex attribute: \
     only the 32-bit UINT, SINT and SFLOAT formats of 1 to 4 components are"
)]
pub struct UnsupportedFormat(pub i32);

impl VertexFormat {
    /// Every supported format, in the order of `VkFormat`.
    pub const ALL: [Self; 12] = [
        Self::R32Uint,
        Self::R32Sint,
        Self::R32Sfloat,
        Self::R32G32Uint,
        Self::R32G32Sint,
        Self::R32G32Sfloat,
        Self::R32G32B32Uint,
        Self::R32G32B32Sint,
        Self::R32G32B32Sfloat,
        Self::R32G32B32A32Uint,
        Self::R32G32B32A32Sint,
        Self::R32G32B32A32Sfloat,
    ];

    /// The raw `VkFormat`.
    pub const fn as_raw(self) -> i32 {
        self as i32
    }

    /// From a raw `VkFormat`.
    ///
    /// # Errors
    /// [`UnsupportedFormat`] with the value.
    pub fn from_raw(raw: i32) -> Result<Self, UnsupportedFormat> {
        Self::ALL.into_iter().find(|f| f.as_raw() == raw).ok_or(UnsupportedFormat(raw))
    }

    /// The 32-bit format of `components` (1 to 4) components, or `None` for another number.
    pub fn of(class: NumericClass, components: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.class() == class && f.components() == components)
    }

    /// Components, 1 to 4.
    pub const fn components(self) -> u32 {
        (self as i32 - Self::R32Uint as i32) as u32 / 3 + 1
    }

    /// Bytes of one attribute.
    pub const fn size(self) -> u32 {
        self.components() * 4
    }

    /// Numeric class.
    pub const fn class(self) -> NumericClass {
        match (self as i32 - Self::R32Uint as i32) % 3 {
            0 => NumericClass::Uint,
            1 => NumericClass::Sint,
            _ => NumericClass::Float,
        }
    }
}

/// `VkVertexInputRate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InputRate {
    /// The element is the vertex index.
    #[default]
    Vertex,
    /// The element is the instance index.
    Instance,
}

/// `VkVertexInputBindingDescription`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexBinding {
    /// Binding number.
    pub binding: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// What advances the element.
    pub input_rate: InputRate,
}

/// `VkVertexInputAttributeDescription`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// Location of the shader's input.
    pub location: u32,
    /// Number of the binding that it is read from.
    pub binding: u32,
    /// Format of the data.
    pub format: VertexFormat,
    /// Bytes from the start of the element.
    pub offset: u32,
}

/// `VkPipelineVertexInputStateCreateInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct VertexInput {
    /// Bindings, each number at most once.
    pub bindings: Vec<VertexBinding>,
    /// Attributes, each location at most once.
    pub attributes: Vec<VertexAttribute>,
}

impl VertexInput {
    /// The attribute at `location`.
    pub fn attribute(&self, location: u32) -> Option<&VertexAttribute> {
        self.attributes.iter().find(|a| a.location == location)
    }

    /// The binding of that number.
    pub fn binding(&self, binding: u32) -> Option<&VertexBinding> {
        self.bindings.iter().find(|b| b.binding == binding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_properties_follow_the_names() {
        for format in VertexFormat::ALL {
            let name = format!("{format:?}");
            assert_eq!(name.matches("32").count() as u32, format.components(), "{name}");
            let class = match format.class() {
                NumericClass::Uint => "Uint",
                NumericClass::Sint => "Sint",
                NumericClass::Float => "Sfloat",
            };
            assert!(name.ends_with(class), "{name}");
            assert_eq!(VertexFormat::from_raw(format.as_raw()), Ok(format));
            assert_eq!(VertexFormat::of(format.class(), format.components()), Some(format));
        }
        assert_eq!(VertexFormat::from_raw(37), Err(UnsupportedFormat(37)));
    }
}
