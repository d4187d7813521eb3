//! Parameters of the kernel of `shaders/results.wgsl`, which copies query results.

use super::Address;

/// The number of invocations per workgroup. Each invocation copies the result of one query.
pub const RESULTS_WIDTH: u32 = 64;

/// Bits of [`Results::flags`].
pub mod flags {
    /// The results are written as 64-bit integers, otherwise as 32-bit integers.
    pub const RESULT_64: u32 = 1;
    /// The availability is written after the values.
    pub const WITH_AVAILABILITY: u32 = 2;
    /// Values are also copied for queries that are not available.
    pub const PARTIAL: u32 = 4;
}

/// Parameters of the kernel that copies the results of `count` queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Results {
    /// The address of the first [`Query`].
    pub queries: Address,
    /// The address to write the result of the first query to.
    pub copies: Address,
    /// Bytes from one result to the next.
    pub stride: u32,
    /// The number of queries.
    pub count: u32,
    /// The number of integers in the result of a query: 1 or 2.
    pub value_count: u32,
    /// Bits of [`flags`].
    pub flags: u32,
}

/// A query of a `vkxfb::runtime::QueryPool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Query {
    /// Two 64-bit integers, which kernels add to.
    pub values: [u32; 4],
    /// The dwords of `values` at the last end of the query, each followed by the number of that end: each end of a
    /// query gets another number. The query is available if the four numbers are equal and not 0.
    pub result: [[u32; 2]; 4],
}
