//! The block of system values that the capture code reads: what Mesa calls sysvals, and
//! `shaders/sysvals.wgsl` declares as `Sysvals`. A test holds the two declarations against each other.
//!
//! The block is exactly the 128 bytes of push constants that every device has.

#![forbid(unsafe_code)]

use crate::capture::MAX_XFB_BUFFERS;

/// Attributes whose descriptors travel in the block; the others lie in memory at
/// [`Sysvals::attribute_table`].
pub const INLINE_ATTRIBUTES: usize = 3;

/// Bytes of push constants that a lowered shader declares.
pub const SYSVALS_SIZE: u32 = size_of::<Sysvals>() as u32;

/// Push constants of a capture, in the layout of `shaders/sysvals.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Sysvals {
    /// [`XfbTopology`](crate::topology::XfbTopology).
    pub xfb_topology: u32,
    /// Vertices that one instance writes: the decomposed output count.
    pub xfb_output_count: u32,
    /// Vertices that the whole draw may write.
    pub xfb_output_limit: u32,
    /// Items of an instance that contribute, see [`crate::topology`].
    pub item_count: u32,
    /// Instances that contribute.
    pub instance_count: u32,
    /// [`ProvokingVertex`](crate::topology::ProvokingVertex).
    pub provoking_vertex: u32,
    /// `firstVertex`: what `VertexIndex` starts at.
    pub first_vertex: u32,
    /// `firstInstance`: what `InstanceIndex` starts at, and `BaseInstance`.
    pub first_instance: u32,
    /// `BaseVertex`: `firstVertex` of a draw without indices.
    pub base_vertex: u32,
    /// `DrawIndex`.
    pub draw_index: u32,
    /// Device address of the descriptors of attributes [`INLINE_ATTRIBUTES`] and up, low dword
    /// first, or 0.
    pub attribute_table: [u32; 2],
    /// Device address of each buffer's next record, low dword first; 0 where none is bound.
    pub xfb_address: [[u32; 2]; MAX_XFB_BUFFERS],
    /// Descriptors of the first attributes.
    pub attributes: [AttributeDescriptor; INLINE_ATTRIBUTES],
}

/// Where the elements of one attribute lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AttributeDescriptor {
    /// Device address of element 0, the attribute's offset included, low dword first.
    pub address: [u32; 2],
    /// Elements that lie wholly within the binding; the others are extracted as zeros. At most
    /// 2^32 - 1: the element of that number never lies within.
    pub limit: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
}

impl AttributeDescriptor {
    /// Descriptor of an attribute of `size` bytes at `offset` in each element of a binding.
    ///
    /// `address` and `bound_size` are the binding's device address and its size in bytes.
    pub const fn new(address: u64, bound_size: u64, offset: u32, size: u32, stride: u32) -> Self {
        let end = offset as u64 + size as u64;
        let limit = match bound_size.checked_sub(end) {
            None => 0,
            Some(_) if stride == 0 => u32::MAX as u64,
            Some(room) => room / stride as u64 + 1,
        };
        Self {
            address: split(address.wrapping_add(offset as u64)),
            limit: if limit > u32::MAX as u64 { u32::MAX } else { limit as u32 },
            stride,
        }
    }
}

/// A device address as the shader takes it, low dword first.
pub const fn split(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_block_is_what_every_device_has() {
        assert_eq!(SYSVALS_SIZE, 128);
    }

    proptest! {
        #[test]
        fn the_limit_admits_exactly_the_elements_inside(
            bound_size in 0..5000u64,
            offset in 0..40u32,
            size in 1..=32u32,
            stride in prop_oneof![1 => Just(0), 9 => 1..64u32],
            element in 0..600u32,
        ) {
            let descriptor = AttributeDescriptor::new(0x1_0000_0000, bound_size, offset, size, stride);
            let end = u64::from(element) * u64::from(stride) + u64::from(offset + size);
            prop_assert_eq!(element < descriptor.limit, end <= bound_size);
        }
    }
}
