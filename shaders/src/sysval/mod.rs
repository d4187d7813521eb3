//! The data that the CPU or the setup kernel passes to captures for each draw. Mesa calls such data sysvals (system
//! values). The submodules have the parameters of kernels. The structures match those with the same names in
//! `shaders/*.wgsl`; a test compares the declarations.
//!
//! A capture has [`Sysvals`] in push constants: exactly the 128 bytes that every device supports. They contain the
//! [`DrawSysvals`] of the draw to capture, or point to draws in memory: to a [`Batch`], in which each workgroup
//! searches for its draw, or to a list that contains the [`Sysvals`] of each draw and the draw of each workgroup.

pub mod draw_arguments;
pub mod entries;
pub mod results;
pub mod setup;

use crate::capture::MAX_XFB_BUFFERS;
use crate::topology::{PrimitiveTopology, ProvokingVertex};

/// The number of attributes whose descriptors are in the push constants. The descriptors of all other
/// attributes are in memory at [`Sysvals::table`].
pub const INLINE_ATTRIBUTES: usize = 1;

/// Bytes of push constants that a lowered shader declares.
pub const SYSVALS_SIZE: u32 = size_of::<Sysvals>() as u32;

/// The number of bytes that must be readable at an address that shaders get in place of address 0. It is the size of a
/// draw in a [`Batch`], which is larger than the widest attribute.
pub const READABLE: u64 = size_of::<setup::RestartedDraw>() as u64;

/// An address for shaders. The [`ResourcePlan`](crate::lower::ResourcePlan) determines its meaning:
/// a device address, low dword first, or an offset in bytes and the number of a storage buffer,
/// counted from 1. Both are used as 64-bit integers, and 0 means no address.
pub type Address = [u32; 2];

/// Push constants of a capture, and elements of a list of draws ([`set_listed`](Sysvals::set_listed)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Sysvals {
    /// The draw, if it is in the push constants. Otherwise the functions [`set_batch`](Self::set_batch),
    /// [`set_listed`](Self::set_listed) and [`set_entries`](Self::set_entries) say what these dwords contain.
    pub draw: DrawSysvals,
    /// The descriptors of the first attributes.
    pub attributes: [AttributeDescriptor; INLINE_ATTRIBUTES],
    /// The *table*: the address, a multiple of 16, of data for which there is no room here, or 0 if there is none. The
    /// table begins with the application's push constants in the range
    /// [`Lowered::push_constants`](crate::lower::Lowered::push_constants), followed by the descriptors of the
    /// attributes from [`INLINE_ATTRIBUTES`] on.
    pub table: Address,
    /// The address of each buffer's bound range; 0 if no buffer is bound there.
    pub xfb_address: [Address; MAX_XFB_BUFFERS],
    /// An address whose meaning depends on which function set it: [`set_batch`](Self::set_batch),
    /// [`set_fused`](Self::set_fused) or [`set_restart_table`](Self::set_restart_table). If none of them did, it is the
    /// address of [`READABLE`] readable bytes: a driver may execute a load in a branch that is not taken.
    pub source: Address,
}

impl Sysvals {
    /// Declares that the draws are in memory: an array of `count` [`Sysvals`], directly followed by a `u16` for each
    /// workgroup, the number of its draw. A workgroup never has two draws, because their `DrawIndex` may differ. The
    /// members of each element are those of its draw, which replace the ones here, except for `source`: it is not read.
    /// What is bound is read from each element only if `bound_per_draw` is true. Otherwise it is the same for all draws,
    /// and is read from here.
    pub fn set_listed(&mut self, draws: Address, count: u32, bound_per_draw: bool) {
        let flags = if bound_per_draw { flags::BOUND_PER_DRAW } else { 0 };
        let item_count = count;
        self.draw =
            DrawSysvals { index_address: draws, item_count, flags, ..DrawSysvals::default() };
    }

    /// Sets the [`Batch`] at this address. The batch says where the draws are captured. If the draws are not listed,
    /// the batch also says where they are in memory, and only the flags of the draw in the push constants are used.
    pub const fn set_batch(&mut self, batch: Address) {
        self.source = batch;
        self.draw.flags |= flags::HAS_BATCH;
    }

    /// Declares that the draws have a geometry or tessellation shader, with [`Entries`](entries::Entries) at this
    /// address. The dispatch is the count pass if `is_count_pass` is true, and otherwise the emit pass. Call this
    /// function after [`set_listed`](Self::set_listed), because `set_listed` overwrites the members that this function
    /// sets.
    pub const fn set_entries(&mut self, entries: Address, is_count_pass: bool) {
        [self.draw.base_record, self.draw.first_workgroup] = entries;
        if is_count_pass {
            self.draw.flags |= flags::COUNT_PASS;
        }
    }

    /// Sets the vertex stream that is captured. The shaders' side effects happen only if `has_effects` is true. Call
    /// this function after those that set the draw, because they overwrite the flags that it sets.
    pub const fn set_stream(&mut self, stream: u32, has_effects: bool) {
        self.draw.flags |= stream << flags::STREAM_SHIFT;
        if !has_effects {
            self.draw.flags |= flags::WITHOUT_EFFECTS;
        }
    }

    /// Replaces what [`set_entries`](Self::set_entries) sets, for a Vulkan pipeline without checks: it has no indices, so
    /// these members of the draw have the addresses that other pipelines load. Call this function after `set_entries`.
    pub const fn set_unchecked_entries(&mut self, entries: &entries::Entries) {
        [self.draw.base_record, self.draw.first_workgroup] = entries.counts;
        self.draw.index_address = entries.blocks;
    }

    /// Declares that the capture is fused: one small draw, whose workgroups also do the work of kernels. `parameters`
    /// is the address of the capture's parameters ([`Fused`](setup::Fused)).
    pub const fn set_fused(&mut self, parameters: Address) {
        self.source = parameters;
    }

    /// Declares that there is a single draw, which has primitive restart. `table` is the address of the draw's table of
    /// restarts, for a range ([`RestartRange`](setup::RestartRange)) that begins with the draw's first index.
    pub const fn set_restart_table(&mut self, table: Address) {
        self.source = table;
    }
}

/// The parameters for the capture of one draw (`Draw` in the shaders). The order of the members spares shaders a load,
/// see there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawSysvals {
    /// Bits of [`flags`].
    pub flags: u32,
    /// The number of vertices that one instance writes; with a geometry shader the number of input primitives (or
    /// slices of patches) per [entry](entries), which one invocation processes.
    pub output_count: u32,
    /// The number of the first record that the draw must not write, counted from the same record as `base_record`.
    pub output_end: u32,
    /// The number of items (vertices that contribute to the capture) per instance, see [`crate::topology`]; with a
    /// geometry shader it is the number of input primitives, with tessellation shaders the number of slices of patches,
    /// and with primitive restart the number of indices.
    pub item_count: u32,
    /// The number of instances that are captured.
    pub instance_count: u32,
    /// `BaseVertex`: `vertexOffset`, or `firstVertex` for a draw without indices. It is added to
    /// the index or the number of the vertex to get `VertexIndex`.
    pub base_vertex: u32,
    /// The number of the draw's first record. Record 0 is the first record of the capture, or with a [`Batch`] the
    /// record at [`Batch::positions`].
    pub base_record: u32,
    /// The number of the draw's first workgroup in its dispatch.
    pub first_workgroup: u32,
    /// The address of the first index of the draw. If there is none, the address of [`READABLE`] readable bytes.
    pub index_address: Address,
    /// The number of indices that can be read from `index_address` on; further indices are 0.
    pub index_limit: u32,
    /// (2^32 - 1) / n rounded down, where n is the number of invocations per instance, or with a
    /// geometry shader the number of items per instance, see [`reciprocal`].
    pub reciprocal: u32,
    /// An [`XfbTopology`](crate::topology::XfbTopology).
    pub xfb_topology: u32,
    /// `DrawIndex`.
    pub draw_index: u32,
    /// `firstInstance`: `BaseInstance`, and the first value of `InstanceIndex`.
    pub first_instance: u32,
    /// The number of invocations that capture the draw, at most 2^32 - 1. There is one for each
    /// item of each instance, two for each item of a fan, and with a geometry shader one for each
    /// [entry](entries). Workgroups after the last of these invocations store nothing.
    pub invocations: u32,
}

/// A factor that replaces the division by `divisor` in shaders: the high dword of its product with
/// the number of an invocation is the quotient, or 1 less.
pub const fn reciprocal(divisor: u32) -> u32 {
    match divisor {
        0 => 0,
        divisor => u32::MAX / divisor,
    }
}

/// Bits of [`DrawSysvals::flags`].
pub mod flags {
    /// The bits with the size of an index in bytes; 0 for a draw without indices.
    pub const INDEX_SIZE: u32 = 7;
    /// Primitive restart is enabled.
    pub const RESTART: u32 = 8;
    /// The last vertex of a primitive is its provoking vertex.
    pub const LAST_VERTEX: u32 = 16;
    /// For a [`DrawCommand`](super::setup::DrawCommand) with a predicate: the draws are discarded if the
    /// predicate is not 0.
    pub const INVERTED: u32 = 32;
    /// An attribute of the draw has elements that begin 4 GiB or more after the first one
    /// ([`reaches_far`](super::AttributeDescriptor::reaches_far)). Such a draw needs a Vulkan pipeline for draws of any
    /// kind (`DrawSource::General` in `src/runtime/pipelines/pipeline/compute.rs`).
    pub const FAR_ATTRIBUTES: u32 = 64;
    /// In push constants: the listed draws differ in what is bound.
    pub const BOUND_PER_DRAW: u32 = 256;
    /// The index buffer of the draw ends within a dword of which shaders can read nothing but the indices. Such a draw
    /// needs a Vulkan pipeline that loads single bytes (`Key::partial_indices` in
    /// `src/runtime/pipelines/pipeline/compute.rs`). Shaders do not read this bit.
    pub const PARTIAL_INDICES: u32 = 512;
    /// In push constants: the draws are in a [`Batch`](super::Batch).
    pub const HAS_BATCH: u32 = 128;
    /// In push constants: the dispatch is the count pass, which counts the primitives that shaders emit.
    pub const COUNT_PASS: u32 = 1024;
    /// In push constants: side effects of the shaders must not happen, because they happen in the dispatch that
    /// captures another vertex stream.
    pub const WITHOUT_EFFECTS: u32 = 8192;
    /// In push constants: the lowest of the two bits with the vertex stream that is captured.
    pub const STREAM_SHIFT: u32 = 11;
    /// The lowest of three bits with the binary logarithm of the number of slices of a patch. A slice consists of
    /// consecutive primitives that one invocation captures.
    pub const SLICE_SHIFT: u32 = 14;
    /// The lowest of six bits with the number of captured vertices per primitive; for patches the number of their
    /// control points.
    pub const VERTICES_PER_PRIMITIVE_SHIFT: u32 = 26;

    /// The binary logarithm of the number of slices of a patch.
    pub const fn slice_bits(flags: u32) -> u32 {
        flags >> SLICE_SHIFT & 7
    }
}

/// Returns the [`flags`] of a draw without indices: the provoking vertex, and the vertices per
/// primitive. `control_points` is the number of vertices of a patch.
pub const fn draw_flags(
    topology: PrimitiveTopology,
    control_points: u32,
    provoking: ProvokingVertex,
) -> u32 {
    let last = match provoking {
        ProvokingVertex::First => 0,
        ProvokingVertex::Last => flags::LAST_VERTEX,
    };
    let vertices = match topology {
        PrimitiveTopology::PatchList => control_points,
        _ => topology.vertices_per_primitive(),
    };
    last | vertices << flags::VERTICES_PER_PRIMITIVE_SHIFT
}

/// A bit of [`Batch::draw_count`], which is set if each draw is a
/// [`RestartedDraw`](setup::RestartedDraw). It is above the bits of the number of draws.
pub const RESTARTED_BATCH: u32 = 1 << 31;

/// The draws that one dispatch captures, and where they are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Batch {
    /// The address of an array of [`DrawSysvals`], sorted by `first_workgroup`.
    pub draws: Address,
    /// The number of draws, at least one. [`RESTARTED_BATCH`] is added if each is a
    /// [`RestartedDraw`](setup::RestartedDraw).
    pub draw_count: u32,
    /// The number of the first record that does not fit into the buffers, counted from the same record as
    /// `base_record`.
    pub record_limit: u32,
    /// Bytes from the start of each bound range to the record from which `base_record` counts.
    pub positions: [u32; MAX_XFB_BUFFERS],
}

/// Where the elements of an attribute are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AttributeDescriptor {
    /// The address of element 0, including the attribute's offset. If there is no element, the address of
    /// [`READABLE`] readable bytes.
    pub address: Address,
    /// The number of elements that lie completely within the binding. Elements from this number on are read as zeros.
    /// Larger numbers are clamped to 2^32 - 1, so element 2^32 - 1 is always read as zeros.
    pub limit: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
}

impl AttributeDescriptor {
    /// The descriptor of an attribute of `size` bytes at `offset` in each element of a binding.
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

    /// Whether there are elements that begin 4 GiB or more after the first one, so that shaders need
    /// 64 bits for their offsets.
    pub const fn reaches_far(&self) -> bool {
        self.limit.saturating_sub(1).checked_mul(self.stride).is_none()
    }
}

/// Splits a 64-bit address into the two dwords that shaders take, the low dword first.
pub const fn split(address: u64) -> Address {
    [address as u32, (address >> 32) as u32]
}

/// The address `bytes` bytes after `address`. Address 0 stays 0.
pub const fn offset(address: Address, bytes: u64) -> Address {
    match address {
        [0, 0] => address,
        address => split(join(address) + bytes),
    }
}

/// The inverse of [`split`].
pub const fn join([low, high]: Address) -> u64 {
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

        #[test]
        fn far_is_where_offsets_exceed_32_bits(
            bound_size in prop_oneof![0..5000u64, (1 << 32) - 99..(1u64 << 32) + 99, 0..1u64 << 40],
            size in 1..=32u32,
            stride in prop_oneof![1 => Just(0), 9 => 1..64u32],
        ) {
            let descriptor = AttributeDescriptor::new(0x1_0000_0000, bound_size, 0, size, stride);
            let last = u64::from(descriptor.limit).saturating_sub(1) * u64::from(stride);
            prop_assert_eq!(descriptor.reaches_far(), last >= 1 << 32);
        }

        /// The high dword of a number's product with the reciprocal of a divisor is the quotient, or 1 less.
        /// `instance_and_lane` of shaders/compute.wgsl relies on this rule.
        #[test]
        fn a_product_with_the_reciprocal_is_at_most_1_below_the_quotient(
            number in prop_oneof![any::<u32>(), 0..99u32, u32::MAX - 99..=u32::MAX],
            divisor in prop_oneof![1..=u32::MAX, 1..99u32, u32::MAX - 99..=u32::MAX],
        ) {
            let product = u64::from(number) * u64::from(reciprocal(divisor));
            let quotient = (product >> 32) as u32;
            prop_assert!([quotient, quotient.wrapping_add(1)].contains(&(number / divisor)));
        }
    }
}
