//! Conversions between Vulkan's index types and [`IndexType`]. Those of the other enumerations are beside the types, in
//! [`vkxfb_rewriter`].

use ash::vk;

use crate::runtime::device::parameters::IndexType;

/// An index type that this crate does not support: `VK_INDEX_TYPE_NONE_KHR`, or a value that is not in
/// [`VkIndexType`](https://docs.vulkan.org/refpages/latest/refpages/source/VkIndexType.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("index type {0:?} is none of UINT8, UINT16 and UINT32")]
pub struct UnsupportedIndexType(pub vk::IndexType);

impl TryFrom<vk::IndexType> for IndexType {
    type Error = UnsupportedIndexType;

    /// # Errors
    /// [`UnsupportedIndexType`] with the value.
    fn try_from(index_type: vk::IndexType) -> Result<Self, UnsupportedIndexType> {
        let found = Self::ALL.into_iter().find(|&t| vk::IndexType::from(t) == index_type);
        found.ok_or(UnsupportedIndexType(index_type))
    }
}

impl From<IndexType> for vk::IndexType {
    fn from(index_type: IndexType) -> Self {
        match index_type {
            IndexType::Uint8 => Self::UINT8_EXT,
            IndexType::Uint16 => Self::UINT16,
            IndexType::Uint32 => Self::UINT32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_types_are_vulkans() {
        for index_type in IndexType::ALL {
            assert_eq!(IndexType::try_from(vk::IndexType::from(index_type)), Ok(index_type));
        }
        let none = vk::IndexType::NONE_KHR;
        assert_eq!(IndexType::try_from(none), Err(UnsupportedIndexType(none)));
    }
}
