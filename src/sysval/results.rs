//! What the kernel of `shaders/results.wgsl` is given, which copies results of queries.

use super::Address;

/// Invocations of its workgroup: each copies the result of one query.
pub const RESULTS_WIDTH: u32 = 64;

/// Bits of [`Results::flags`].
pub mod flags {
    /// 64-bit integers.
    pub const RESULT_64: u32 = 1;
    /// Behind the values goes the availability.
    pub const WITH_AVAILABILITY: u32 = 2;
    /// Queries that are unavailable have values, too.
    pub const PARTIAL: u32 = 4;
}

/// Parameters of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Results {
    /// Of the values of the first query: two 64-bit integers.
    pub values: Address,
    /// Of its availability, a dword.
    pub availability: Address,
    /// Where its result goes.
    pub copies: Address,
    /// Bytes from there to the next.
    pub stride: u32,
    /// Queries.
    pub count: u32,
    /// 64-bit integers that a query has: 1 or 2.
    pub value_count: u32,
    /// [`flags`].
    pub flags: u32,
    /// 0.
    pub reserved: [u32; 2],
}
