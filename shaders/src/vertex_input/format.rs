//! The formats of vertex attributes, in a table with one row for each format.

use super::NumericClass;

/// The interpretation of a component's bits: Vulkan's [numeric
/// format](https://docs.vulkan.org/spec/latest/chapters/formats.html#formats-numericformat).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumericFormat {
    /// Unsigned normalized: 0 to 1.
    Unorm,
    /// Signed normalized: -1 to 1. The two lowest integers both encode -1.
    Snorm,
    /// Unsigned integers that the shader reads as floats.
    Uscaled,
    /// Signed integers that the shader reads as floats.
    Sscaled,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
    /// Floats with 16, 32 or 64 bits.
    Sfloat,
    /// Floats with 10 or 11 bits, without sign.
    Ufloat,
}

/// The bits of a component in an element, which is read as a little-endian number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// The number of the lowest bit.
    pub(crate) first_bit: u32,
    pub(crate) width: u32,
}

/// The layout of a format's components.
#[derive(Debug, Clone, Copy)]
struct Packing {
    /// Size of an element in bytes.
    size: u32,
    /// The alignment in bytes that the address of every element must have.
    alignment: u32,
    components: u32,
    /// The bits of each component, red first.
    fields: [Field; 4],
}

impl Packing {
    const fn new(size: u32, alignment: u32, places: &[(u32, u32)]) -> Self {
        let mut fields = [Field { first_bit: 0, width: 0 }; 4];
        let mut i = 0;
        while i < places.len() {
            fields[i] = Field { first_bit: places[i].0, width: places[i].1 };
            i += 1;
        }
        Self { size, alignment, components: places.len() as u32, fields }
    }
}

/// Makes the layout of components with the same width, in the memory order R G B A.
const fn rgba(width: u32, components: u32) -> Packing {
    let places = [(0, width), (width, width), (2 * width, width), (3 * width, width)];
    let (places, _) = places.split_at(components as usize);
    Packing::new(components * width / 8, width / 8, places)
}

/// Makes the layout of components with the same width, in the memory order B G R A.
const fn bgra(width: u32, components: u32) -> Packing {
    let places = [(2 * width, width), (width, width), (0, width), (3 * width, width)];
    let (places, _) = places.split_at(components as usize);
    Packing::new(components * width / 8, width / 8, places)
}

/// Returns the packing of a [packed](https://docs.vulkan.org/spec/latest/chapters/formats.html#formats-packed) format
/// of `size` bytes. `places` contains the first bit and the width of each component, red first.
const fn packed(size: u32, places: &[(u32, u32)]) -> Packing {
    Packing::new(size, size, places)
}

macro_rules! formats {
    ($($name:ident = $raw:literal, $numeric:ident, $packing:expr;)*) => {
        /// `VkFormat` of a vertex attribute, with the same values.
        ///
        /// These are the formats for which the specification
        /// [requires](https://docs.vulkan.org/spec/latest/chapters/formats.html#features-required-format-support)
        /// `VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT`, and others that some devices support. sRGB
        /// formats are not included, because their conversion in vertex input is up to the device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        #[allow(missing_docs, reason = "the names are Vulkan's")]
        pub enum VertexFormat {
            $($name = $raw,)*
        }

        impl VertexFormat {
            /// Every supported format, in the order of `VkFormat`.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            const fn row(self) -> (NumericFormat, Packing) {
                match self {
                    $(Self::$name => const { (NumericFormat::$numeric, $packing) },)*
                }
            }
        }
    };
}

formats! {
    B4G4R4A4UnormPack16 = 3, Unorm, packed(2, &[(4, 4), (8, 4), (12, 4), (0, 4)]);
    R5G6B5UnormPack16 = 4, Unorm, packed(2, &[(11, 5), (5, 6), (0, 5)]);
    B5G6R5UnormPack16 = 5, Unorm, packed(2, &[(0, 5), (5, 6), (11, 5)]);
    R5G5B5A1UnormPack16 = 6, Unorm, packed(2, &[(11, 5), (6, 5), (1, 5), (0, 1)]);
    B5G5R5A1UnormPack16 = 7, Unorm, packed(2, &[(1, 5), (6, 5), (11, 5), (0, 1)]);
    A1R5G5B5UnormPack16 = 8, Unorm, packed(2, &[(10, 5), (5, 5), (0, 5), (15, 1)]);
    R8Unorm = 9, Unorm, rgba(8, 1);
    R8Snorm = 10, Snorm, rgba(8, 1);
    R8Uscaled = 11, Uscaled, rgba(8, 1);
    R8Sscaled = 12, Sscaled, rgba(8, 1);
    R8Uint = 13, Uint, rgba(8, 1);
    R8Sint = 14, Sint, rgba(8, 1);
    R8G8Unorm = 16, Unorm, rgba(8, 2);
    R8G8Snorm = 17, Snorm, rgba(8, 2);
    R8G8Uscaled = 18, Uscaled, rgba(8, 2);
    R8G8Sscaled = 19, Sscaled, rgba(8, 2);
    R8G8Uint = 20, Uint, rgba(8, 2);
    R8G8Sint = 21, Sint, rgba(8, 2);
    R8G8B8Unorm = 23, Unorm, rgba(8, 3);
    R8G8B8Snorm = 24, Snorm, rgba(8, 3);
    R8G8B8Uscaled = 25, Uscaled, rgba(8, 3);
    R8G8B8Sscaled = 26, Sscaled, rgba(8, 3);
    R8G8B8Uint = 27, Uint, rgba(8, 3);
    R8G8B8Sint = 28, Sint, rgba(8, 3);
    B8G8R8Unorm = 30, Unorm, bgra(8, 3);
    B8G8R8Snorm = 31, Snorm, bgra(8, 3);
    B8G8R8Uscaled = 32, Uscaled, bgra(8, 3);
    B8G8R8Sscaled = 33, Sscaled, bgra(8, 3);
    B8G8R8Uint = 34, Uint, bgra(8, 3);
    B8G8R8Sint = 35, Sint, bgra(8, 3);
    R8G8B8A8Unorm = 37, Unorm, rgba(8, 4);
    R8G8B8A8Snorm = 38, Snorm, rgba(8, 4);
    R8G8B8A8Uscaled = 39, Uscaled, rgba(8, 4);
    R8G8B8A8Sscaled = 40, Sscaled, rgba(8, 4);
    R8G8B8A8Uint = 41, Uint, rgba(8, 4);
    R8G8B8A8Sint = 42, Sint, rgba(8, 4);
    B8G8R8A8Unorm = 44, Unorm, bgra(8, 4);
    B8G8R8A8Snorm = 45, Snorm, bgra(8, 4);
    B8G8R8A8Uscaled = 46, Uscaled, bgra(8, 4);
    B8G8R8A8Sscaled = 47, Sscaled, bgra(8, 4);
    B8G8R8A8Uint = 48, Uint, bgra(8, 4);
    B8G8R8A8Sint = 49, Sint, bgra(8, 4);
    A8B8G8R8UnormPack32 = 51, Unorm, packed(4, &[(0, 8), (8, 8), (16, 8), (24, 8)]);
    A8B8G8R8SnormPack32 = 52, Snorm, packed(4, &[(0, 8), (8, 8), (16, 8), (24, 8)]);
    A8B8G8R8UscaledPack32 = 53, Uscaled, packed(4, &[(0, 8), (8, 8), (16, 8), (24, 8)]);
    A8B8G8R8SscaledPack32 = 54, Sscaled, packed(4, &[(0, 8), (8, 8), (16, 8), (24, 8)]);
    A8B8G8R8UintPack32 = 55, Uint, packed(4, &[(0, 8), (8, 8), (16, 8), (24, 8)]);
    A8B8G8R8SintPack32 = 56, Sint, packed(4, &[(0, 8), (8, 8), (16, 8), (24, 8)]);
    A2R10G10B10UnormPack32 = 58, Unorm, packed(4, &[(20, 10), (10, 10), (0, 10), (30, 2)]);
    A2R10G10B10SnormPack32 = 59, Snorm, packed(4, &[(20, 10), (10, 10), (0, 10), (30, 2)]);
    A2R10G10B10UscaledPack32 = 60, Uscaled, packed(4, &[(20, 10), (10, 10), (0, 10), (30, 2)]);
    A2R10G10B10SscaledPack32 = 61, Sscaled, packed(4, &[(20, 10), (10, 10), (0, 10), (30, 2)]);
    A2R10G10B10UintPack32 = 62, Uint, packed(4, &[(20, 10), (10, 10), (0, 10), (30, 2)]);
    A2R10G10B10SintPack32 = 63, Sint, packed(4, &[(20, 10), (10, 10), (0, 10), (30, 2)]);
    A2B10G10R10UnormPack32 = 64, Unorm, packed(4, &[(0, 10), (10, 10), (20, 10), (30, 2)]);
    A2B10G10R10SnormPack32 = 65, Snorm, packed(4, &[(0, 10), (10, 10), (20, 10), (30, 2)]);
    A2B10G10R10UscaledPack32 = 66, Uscaled, packed(4, &[(0, 10), (10, 10), (20, 10), (30, 2)]);
    A2B10G10R10SscaledPack32 = 67, Sscaled, packed(4, &[(0, 10), (10, 10), (20, 10), (30, 2)]);
    A2B10G10R10UintPack32 = 68, Uint, packed(4, &[(0, 10), (10, 10), (20, 10), (30, 2)]);
    A2B10G10R10SintPack32 = 69, Sint, packed(4, &[(0, 10), (10, 10), (20, 10), (30, 2)]);
    R16Unorm = 70, Unorm, rgba(16, 1);
    R16Snorm = 71, Snorm, rgba(16, 1);
    R16Uscaled = 72, Uscaled, rgba(16, 1);
    R16Sscaled = 73, Sscaled, rgba(16, 1);
    R16Uint = 74, Uint, rgba(16, 1);
    R16Sint = 75, Sint, rgba(16, 1);
    R16Sfloat = 76, Sfloat, rgba(16, 1);
    R16G16Unorm = 77, Unorm, rgba(16, 2);
    R16G16Snorm = 78, Snorm, rgba(16, 2);
    R16G16Uscaled = 79, Uscaled, rgba(16, 2);
    R16G16Sscaled = 80, Sscaled, rgba(16, 2);
    R16G16Uint = 81, Uint, rgba(16, 2);
    R16G16Sint = 82, Sint, rgba(16, 2);
    R16G16Sfloat = 83, Sfloat, rgba(16, 2);
    R16G16B16Unorm = 84, Unorm, rgba(16, 3);
    R16G16B16Snorm = 85, Snorm, rgba(16, 3);
    R16G16B16Uscaled = 86, Uscaled, rgba(16, 3);
    R16G16B16Sscaled = 87, Sscaled, rgba(16, 3);
    R16G16B16Uint = 88, Uint, rgba(16, 3);
    R16G16B16Sint = 89, Sint, rgba(16, 3);
    R16G16B16Sfloat = 90, Sfloat, rgba(16, 3);
    R16G16B16A16Unorm = 91, Unorm, rgba(16, 4);
    R16G16B16A16Snorm = 92, Snorm, rgba(16, 4);
    R16G16B16A16Uscaled = 93, Uscaled, rgba(16, 4);
    R16G16B16A16Sscaled = 94, Sscaled, rgba(16, 4);
    R16G16B16A16Uint = 95, Uint, rgba(16, 4);
    R16G16B16A16Sint = 96, Sint, rgba(16, 4);
    R16G16B16A16Sfloat = 97, Sfloat, rgba(16, 4);
    R32Uint = 98, Uint, rgba(32, 1);
    R32Sint = 99, Sint, rgba(32, 1);
    R32Sfloat = 100, Sfloat, rgba(32, 1);
    R32G32Uint = 101, Uint, rgba(32, 2);
    R32G32Sint = 102, Sint, rgba(32, 2);
    R32G32Sfloat = 103, Sfloat, rgba(32, 2);
    R32G32B32Uint = 104, Uint, rgba(32, 3);
    R32G32B32Sint = 105, Sint, rgba(32, 3);
    R32G32B32Sfloat = 106, Sfloat, rgba(32, 3);
    R32G32B32A32Uint = 107, Uint, rgba(32, 4);
    R32G32B32A32Sint = 108, Sint, rgba(32, 4);
    R32G32B32A32Sfloat = 109, Sfloat, rgba(32, 4);
    R64Uint = 110, Uint, rgba(64, 1);
    R64Sint = 111, Sint, rgba(64, 1);
    R64Sfloat = 112, Sfloat, rgba(64, 1);
    R64G64Uint = 113, Uint, rgba(64, 2);
    R64G64Sint = 114, Sint, rgba(64, 2);
    R64G64Sfloat = 115, Sfloat, rgba(64, 2);
    R64G64B64Uint = 116, Uint, rgba(64, 3);
    R64G64B64Sint = 117, Sint, rgba(64, 3);
    R64G64B64Sfloat = 118, Sfloat, rgba(64, 3);
    R64G64B64A64Uint = 119, Uint, rgba(64, 4);
    R64G64B64A64Sint = 120, Sint, rgba(64, 4);
    R64G64B64A64Sfloat = 121, Sfloat, rgba(64, 4);
    B10G11R11UfloatPack32 = 122, Ufloat, packed(4, &[(0, 11), (11, 11), (22, 10)]);
}

/// The error for a format that is not supported as a vertex attribute: the format's name in Vulkan
/// without `VK_FORMAT_`, or its value if the name is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("VkFormat {0} is not supported as a vertex attribute")]
pub struct UnsupportedFormat(pub String);

/// The error for a text that is not the name of a supported format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no vertex format is named '{0}'; they are named as in Vulkan: R32G32B32_SFLOAT, R8G8B8A8_UNORM, \
     A2B10G10R10_SNORM_PACK32"
)]
pub struct UnknownFormat(pub String);

impl std::str::FromStr for VertexFormat {
    type Err = UnknownFormat;

    /// Parses Vulkan's name, with or without `VK_FORMAT_`, in upper or lower case.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let upper = name.trim().to_ascii_uppercase();
        let wanted = upper.strip_prefix("VK_FORMAT_").unwrap_or(&upper);
        let found = Self::ALL.iter().copied().find(|format| format.to_string() == wanted);
        found.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// Writes Vulkan's name without `VK_FORMAT_`: `R8G8B8A8_UNORM`.
impl std::fmt::Display for VertexFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, numeric) = (format!("{self:?}"), format!("{:?}", self.numeric()));
        let separated = name.replace(&numeric, &format!("_{numeric}")).replace("Pack", "_Pack");
        f.pad(&separated.to_ascii_uppercase())
    }
}

impl VertexFormat {
    /// The value of `VkFormat`.
    pub const fn as_raw(self) -> i32 {
        self as i32
    }

    /// Returns the format with `components` (1 to 4) components of `bits` (32 or 64) bits, which a
    /// shader reads without a conversion; `None` for other numbers.
    pub fn of(class: NumericClass, bits: u32, components: u32) -> Option<Self> {
        let is_asked = |f: &Self| {
            let width = f.fields().first().map_or(0, |field| field.width);
            f.class() == class && (f.bits(), width) == (bits, bits) && f.components() == components
        };
        Self::ALL.iter().copied().find(is_asked)
    }

    /// The number of components, 1 to 4.
    pub const fn components(self) -> u32 {
        self.row().1.components
    }

    /// The size of an attribute in bytes.
    pub const fn size(self) -> u32 {
        self.row().1.size
    }

    /// The alignment in bytes of every attribute's address: the size of a component, or of the
    /// whole element in a packed format ([Vertex Input
    /// Extraction](https://docs.vulkan.org/spec/latest/chapters/fxvertex.html#fxvertex-input-extraction)).
    pub const fn alignment(self) -> u32 {
        self.row().1.alignment
    }

    /// The largest alignment in bytes with which shaders of the compute backend load attributes: they load dwords.
    pub const MAX_LOAD_ALIGNMENT: u32 = 4;

    /// The alignment in bytes with which shaders of the compute backend load an attribute, which is less than
    /// [`alignment`](Self::alignment) where that is larger than a [dword](Self::MAX_LOAD_ALIGNMENT).
    pub const fn load_alignment(self) -> u32 {
        let alignment = self.alignment();
        if alignment < Self::MAX_LOAD_ALIGNMENT { alignment } else { Self::MAX_LOAD_ALIGNMENT }
    }

    /// The interpretation of a component's bits.
    pub const fn numeric(self) -> NumericFormat {
        self.row().0
    }

    /// The numeric class of the values that the format decodes to.
    ///
    /// Vulkan requires that the shader's input has the same class (VUID-VkGraphicsPipelineCreateInfo-Input-08733). Not
    /// all programs obey, and drivers do not check it. Which value an input of another class gets is up to the
    /// implementation. Captures do what lavapipe does: the input gets the bits that the format decodes to, and for
    /// missing components those of the format's class.
    pub const fn class(self) -> NumericClass {
        match self.numeric() {
            NumericFormat::Uint => NumericClass::Uint,
            NumericFormat::Sint => NumericClass::Sint,
            _ => NumericClass::Float,
        }
    }

    /// The component size in bits as the shader reads it: 64 for formats with 64-bit components,
    /// otherwise 32.
    pub const fn bits(self) -> u32 {
        match self.row().1.fields[0].width {
            64 => 64,
            _ => 32,
        }
    }

    /// The bits of the number 1 as the shader reads it, which is the value of a missing fourth
    /// component.
    pub const fn one(self) -> u32 {
        match self.class() {
            NumericClass::Float => 1f32.to_bits(),
            NumericClass::Uint | NumericClass::Sint => 1,
        }
    }

    /// The bits of each component, red first.
    pub(crate) fn fields(self) -> Vec<Field> {
        let packing = self.row().1;
        packing.fields.into_iter().take(packing.components as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses the letters and widths in the name of a format. Returns them, and the part of the name after
    /// them: `[('A', 2), ..]`, "SnormPack32".
    fn parse(name: &str) -> (Vec<(char, u32)>, &str) {
        let mut components = Vec::new();
        let mut rest = name;
        while let Some(letter) = rest.chars().next().filter(|c| "RGBA".contains(*c)) {
            let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap() + 1;
            components.push((letter, rest[1..digits].parse().unwrap()));
            rest = &rest[digits..];
        }
        (components, rest)
    }

    /// Each row of the table agrees with Vulkan's name of the format. The name lists the components in memory order, in
    /// packed formats from the highest bits down.
    #[test]
    fn formats_are_what_their_names_say() {
        for &format in VertexFormat::ALL {
            let name = format!("{format:?}");
            let (mut components, rest) = parse(&name);
            let numeric = format!("{:?}", format.numeric());
            let packed = rest.strip_prefix(&numeric).unwrap_or_else(|| panic!("{name}"));
            let bits: u32 = components.iter().map(|(_, width)| width).sum();
            assert_eq!(bits, format.size() * 8, "{name}");
            if packed.is_empty() {
                assert_eq!(format.alignment() * 8, components[0].1, "{name}");
            } else {
                assert_eq!(packed, format!("Pack{bits}"), "{name}");
                assert_eq!(format.alignment(), format.size(), "{name}");
                components.reverse();
            }
            let mut at = 0;
            let mut fields = Vec::new();
            for (letter, width) in components {
                fields.push(("RGBA".find(letter).unwrap(), Field { first_bit: at, width }));
                at += width;
            }
            fields.sort_by_key(|(place, _)| *place);
            let fields: Vec<_> = fields.into_iter().map(|(_, field)| field).collect();
            assert_eq!(format.fields(), fields, "{name}");
            assert_eq!(format.components() as usize, fields.len(), "{name}");
            // The conversions require that each field lies within one dword.
            let parted =
                |f: &Field| f.width < 32 && f.first_bit / 32 != (f.first_bit + f.width - 1) / 32;
            assert!(!fields.iter().any(parted), "{name}");
        }
    }

    #[test]
    fn names_are_vulkans() {
        for (format, name) in [
            (VertexFormat::R8G8B8A8Unorm, "R8G8B8A8_UNORM"),
            (VertexFormat::R16G16Sscaled, "R16G16_SSCALED"),
            (VertexFormat::A2B10G10R10SnormPack32, "A2B10G10R10_SNORM_PACK32"),
            (VertexFormat::B10G11R11UfloatPack32, "B10G11R11_UFLOAT_PACK32"),
        ] {
            assert_eq!(format.to_string(), name);
        }
        for &format in VertexFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert_eq!(format!("vk_format_{format}").to_lowercase().parse(), Ok(format));
        }
        for wrong in ["", "R8G8B8A8", "R8G8B8A8_SRGB", "R8G8B8A8UNORM"] {
            assert_eq!(wrong.parse::<VertexFormat>(), Err(UnknownFormat(wrong.to_owned())));
        }
    }

    #[test]
    fn raw_values_are_distinct() {
        assert!(VertexFormat::ALL.is_sorted_by(|a, b| a.as_raw() < b.as_raw()));
    }

    #[test]
    fn raw_values_are_vulkans() {
        for (format, raw) in [
            (VertexFormat::A1R5G5B5UnormPack16, ash::vk::Format::A1R5G5B5_UNORM_PACK16),
            (VertexFormat::R8Sint, ash::vk::Format::R8_SINT),
            (VertexFormat::B8G8R8Uscaled, ash::vk::Format::B8G8R8_USCALED),
            (VertexFormat::B8G8R8A8Snorm, ash::vk::Format::B8G8R8A8_SNORM),
            (VertexFormat::A8B8G8R8SintPack32, ash::vk::Format::A8B8G8R8_SINT_PACK32),
            (VertexFormat::A2R10G10B10SintPack32, ash::vk::Format::A2R10G10B10_SINT_PACK32),
            (VertexFormat::A2B10G10R10UnormPack32, ash::vk::Format::A2B10G10R10_UNORM_PACK32),
            (VertexFormat::R16G16B16Sfloat, ash::vk::Format::R16G16B16_SFLOAT),
            (VertexFormat::R16G16B16A16Unorm, ash::vk::Format::R16G16B16A16_UNORM),
            (VertexFormat::R32G32B32Sfloat, ash::vk::Format::R32G32B32_SFLOAT),
            (VertexFormat::R64G64B64A64Sfloat, ash::vk::Format::R64G64B64A64_SFLOAT),
            (VertexFormat::B10G11R11UfloatPack32, ash::vk::Format::B10G11R11_UFLOAT_PACK32),
        ] {
            assert_eq!(format.as_raw(), raw.as_raw(), "{format:?}");
        }
    }

    #[test]
    fn formats_are_found_by_what_a_shader_reads() {
        let of = VertexFormat::of;
        assert_eq!(of(NumericClass::Float, 32, 3), Some(VertexFormat::R32G32B32Sfloat));
        assert_eq!(of(NumericClass::Sint, 32, 1), Some(VertexFormat::R32Sint));
        assert_eq!(of(NumericClass::Uint, 64, 4), Some(VertexFormat::R64G64B64A64Uint));
        assert_eq!(of(NumericClass::Uint, 16, 1), None);
        assert_eq!(of(NumericClass::Uint, 32, 5), None);
    }
}
