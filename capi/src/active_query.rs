//! Queries that are active in a capture.

use vkxfb::runtime::QueryPool;

/// A query that was begun and has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActiveQuery {
    /// The address of the pool. It is only compared, so that a capture may move to another thread.
    pool: usize,
    query: u32,
    index: u32,
}

impl ActiveQuery {
    pub(crate) fn new(pool: &QueryPool, query: u32, index: u32) -> Self {
        Self { pool: (&raw const *pool).addr(), query, index }
    }
}
