//! Parameters of the kernel of `shaders/draw_arguments.wgsl`, which writes indirect commands that
//! draw captured vertices.

use super::Address;

/// A draw whose vertex count is computed from a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CountedDraw {
    /// The address of the counter.
    pub counter: Address,
    /// The address at which the `VkDrawIndirectCommand` is written.
    pub command: Address,
    /// Bytes that are subtracted from the counter.
    pub counter_offset: u32,
    /// Size of a vertex in bytes, not 0.
    pub vertex_stride: u32,
    /// The number of instances.
    pub instance_count: u32,
    /// `firstInstance`.
    pub first_instance: u32,
}

/// Parameters of the kernel that writes the indirect commands of `count` draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawArguments {
    /// The address of an array of [`CountedDraw`].
    pub draws: Address,
    /// The number of draws.
    pub count: u32,
    /// Padding.
    pub reserved: u32,
}
