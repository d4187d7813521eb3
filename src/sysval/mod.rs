//! The blocks of system values that the capture code reads: what Mesa calls sysvals. The structures of
//! `shaders/*.wgsl` of the same names are the same; a test holds the declarations against each other.
//!
//! A capture is given [`Sysvals`] in push constants, exactly the 128 bytes that every device has. They
//! hold the one [`DrawSysvals`] that it captures, or point to a [`Batch`] of them in memory.

#![forbid(unsafe_code)]

pub mod draw_arguments;
pub mod results;
pub mod setup;

use crate::capture::MAX_XFB_BUFFERS;
use crate::topology::{PrimitiveTopology, ProvokingVertex};

/// Attributes whose descriptors travel in the block; the others lie in memory at [`Sysvals::table`].
pub const INLINE_ATTRIBUTES: usize = 1;

/// Bytes of push constants that a lowered shader declares.
pub const SYSVALS_SIZE: u32 = size_of::<Sysvals>() as u32;

/// An address as the shader takes it. What it is, the [`ResourcePlan`](crate::lower::ResourcePlan) decides:
/// a device address, low dword first, or an offset in bytes and the number of a storage buffer from 1 on. Both
/// are computed with as one 64-bit integer, and 0 is nothing's address.
pub type Address = [u32; 2];

/// Push constants of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Sysvals {
    /// The draw, unless there is a batch.
    pub draw: DrawSysvals,
    /// Each buffer's bound range; 0 where none is bound.
    pub xfb_address: [Address; MAX_XFB_BUFFERS],
    /// What has no room here, at a multiple of 16, or 0 where there is nothing: the application's push constants,
    /// of which byte 0 is that at the start of [`Lowered::push_constants`](crate::lower::Lowered::push_constants),
    /// and behind the end of that range the descriptors of the attributes [`INLINE_ATTRIBUTES`] and up.
    pub table: Address,
    /// A [`Batch`], or 0.
    pub batch: Address,
    /// Descriptors of the first attributes.
    pub attributes: [AttributeDescriptor; INLINE_ATTRIBUTES],
}

/// What the capture of one draw needs to know (`Draw` in the shaders).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawSysvals {
    /// [`XfbTopology`](crate::topology::XfbTopology).
    pub xfb_topology: u32,
    /// [`flags`].
    pub flags: u32,
    /// Vertices that one instance writes: the decomposed output count.
    pub output_count: u32,
    /// Vertices that the whole draw may write.
    pub output_limit: u32,
    /// Items of an instance that contribute, see [`crate::topology`]; with primitive restart all of
    /// its indices.
    pub item_count: u32,
    /// Instances that contribute.
    pub instance_count: u32,
    /// `BaseVertex`: `vertexOffset`, or `firstVertex` of a draw without indices. `VertexIndex` is the
    /// index, or the number of the vertex, on top of it.
    pub base_vertex: u32,
    /// `firstInstance`: what `InstanceIndex` starts at, and `BaseInstance`.
    pub first_instance: u32,
    /// `DrawIndex`.
    pub draw_index: u32,
    /// Records between record 0 and the draw's first: of the capture, or with a [`Batch`] of what its
    /// positions stand for.
    pub base_record: u32,
    /// Number of the draw's first workgroup in its dispatch.
    pub first_workgroup: u32,
    /// Indices that can be read from `index_address` on; the others are 0.
    pub index_limit: u32,
    /// First index of the draw.
    pub index_address: Address,
    /// With primitive restart: where `shaders/restart.wgsl` keeps what it found out.
    pub restart_table: Address,
}

/// Bits of [`DrawSysvals::flags`].
pub mod flags {
    /// Bytes of an index in the three lowest bits, 0 for a draw without indices.
    pub const INDEX_SIZE: u32 = 7;
    /// Primitive restart is enabled.
    pub const RESTART: u32 = 8;
    /// The last vertex of a primitive is its provoking vertex.
    pub const LAST_VERTEX: u32 = 16;
    /// Of an [`Input`](super::setup::Input) with a predicate: the draws are discarded where that is not 0.
    pub const INVERTED: u32 = 32;
    /// Vertices that a primitive is captured as, from this bit on.
    pub const VERTICES_PER_PRIMITIVE_SHIFT: u32 = 8;
}

/// The flags of draws without indices.
pub const fn draw_flags(topology: PrimitiveTopology, provoking: ProvokingVertex) -> u32 {
    let last = match provoking {
        ProvokingVertex::First => 0,
        ProvokingVertex::Last => flags::LAST_VERTEX,
    };
    last | topology.vertices_per_primitive() << flags::VERTICES_PER_PRIMITIVE_SHIFT
}

/// Draws that one dispatch captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Batch {
    /// Of an array of [`DrawSysvals`], by rising `first_workgroup`.
    pub draws: Address,
    /// How many, at least one.
    pub draw_count: u32,
    /// Bytes from one to the next: of a [`DrawSysvals`], or of a [`RestartedDraw`](setup::RestartedDraw).
    pub draw_stride: u32,
    /// Bytes from the start of each bound range to the record that the draws' `base_record` counts from.
    pub positions: [u32; MAX_XFB_BUFFERS],
}

/// Where the elements of one attribute lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AttributeDescriptor {
    /// Address of element 0, the attribute's offset included.
    pub address: Address,
    /// Elements that lie wholly within the binding; the others are extracted as zeros. At most
    /// 2^32 - 1: the element of that number never lies within.
    pub limit: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
}

impl AttributeDescriptor {
    /// Descriptor of an attribute of `size` bytes at `offset` in each element of a binding.
    ///
    /// `address` and `bound_size` are the binding's address and its size in bytes.
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

/// An address as the shader takes it.
pub const fn split(address: u64) -> Address {
    [address as u32, (address >> 32) as u32]
}

/// An address behind another one, or none behind none.
pub(crate) const fn offset(address: Address, bytes: u64) -> Address {
    match address {
        [0, 0] => address,
        address => split(join(address) + bytes),
    }
}

/// What is [`split`].
pub(crate) const fn join([low, high]: Address) -> u64 {
    (high as u64) << 32 | low as u64
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
