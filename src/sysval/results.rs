//! Parameters of the kernel of `shaders/results.wgsl`, which copies query results.

use super::Address;

/// Invocations per workgroup: each copies the result of one query.
pub const RESULTS_WIDTH: u32 = 64;

/// Bits of [`Results::flags`].
pub mod flags {
    /// 64-bit integers.
    pub const RESULT_64: u32 = 1;
    /// The availability follows the values.
    pub const WITH_AVAILABILITY: u32 = 2;
    /// Values are also copied for queries that are not available.
    pub const PARTIAL: u32 = 4;
}

/// Parameters of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Results {
    /// The address of the values of the first query: two 64-bit integers.
    pub values: Address,
    /// The address of its availability, a dword.
    pub availability: Address,
    /// The destination address of its result.
    pub copies: Address,
    /// Bytes from one result to the next.
    pub stride: u32,
    /// The number of queries.
    pub count: u32,
    /// The number of 64-bit integers in a query: 1 or 2.
    pub value_count: u32,
    /// Bits of [`flags`].
    pub flags: u32,
    /// Padding.
    pub reserved: [u32; 2],
}
