//! What the kernel of `shaders/draw_arguments.wgsl` is given, which writes commands that draw what was captured.

use super::Address;

/// A draw of which a counter says the vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CountedDraw {
    /// Of the counter.
    pub counter: Address,
    /// Bytes that are subtracted from it.
    pub counter_offset: u32,
    /// Bytes of a vertex, not 0.
    pub vertex_stride: u32,
    /// Instances.
    pub instance_count: u32,
    /// `firstInstance`.
    pub first_instance: u32,
    /// 0.
    pub reserved: [u32; 2],
}

/// Parameters of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DrawArguments {
    /// Of an array of [`CountedDraw`].
    pub draws: Address,
    /// Where the `VkDrawIndirectCommand` of the first goes.
    pub commands: Address,
    /// Bytes from there to the next.
    pub stride: u32,
    /// How many draws.
    pub count: u32,
    /// 0.
    pub reserved: [u32; 2],
}
