//! Query pools whose queries the layer emulates: all queries of type `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`;
//! and of type `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT` those of vertex streams other than 0, which the driver does
//! not have.
//!
//! The handle is that of a pool of the driver, of a query type that the driver supports, so it is unique among the
//! driver's handles.

use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk;
use vkxfb::runtime::{Context, QueryKind, QueryPool, RuntimeError};

use super::memory::Memory;

/// The queries of a handle.
pub(crate) struct Queries {
    /// `None` only while it is dropped.
    pool: Option<QueryPool>,
    /// For a pool that the driver shares: which queries were the layer's when they were last begun in a command
    /// buffer.
    shared: Option<Box<[AtomicBool]>>,
    ctx: Context,
    memory: Memory,
}

impl Queries {
    /// # Errors
    /// A failed command or allocation.
    ///
    /// # Safety
    /// The device is live.
    pub(super) unsafe fn new(
        ctx: &Context,
        memory: &Memory,
        kind: QueryKind,
        count: u32,
    ) -> Result<Self, RuntimeError> {
        // SAFETY: the caller's contract.
        let pool = memory.with(|allocator| unsafe { QueryPool::new(ctx, allocator, kind, count) });
        let pool = pool.ok_or(RuntimeError::NoKernels)??;
        let own = || (0..count).map(|_| AtomicBool::new(false)).collect();
        let shared = (kind == QueryKind::PrimitivesGenerated).then(own);
        Ok(Self { pool: Some(pool), shared, ctx: ctx.clone(), memory: memory.clone() })
    }

    pub(crate) fn pool(&self) -> Option<&QueryPool> {
        self.pool.as_ref()
    }

    /// A query begins for a vertex stream. Returns whether it is the layer's.
    pub(super) fn begins(&self, query: u32, stream: u32) -> bool {
        let own = self.shared.as_ref().and_then(|shared| shared.get(query as usize));
        own.is_none_or(|own| {
            own.store(stream != 0, Ordering::Relaxed);
            stream != 0
        })
    }

    /// Whether a query is the layer's.
    pub(super) fn has(&self, query: u32) -> bool {
        let own = self.shared.as_ref().and_then(|shared| shared.get(query as usize));
        own.is_none_or(|own| own.load(Ordering::Relaxed))
    }

    /// Whether the driver has some of the queries.
    pub(crate) const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Splits a range of queries into runs: for each run the first query, the number of queries, and whether they are
    /// the layer's.
    pub(crate) fn runs(&self, first: u32, count: u32) -> Vec<(u32, u32, bool)> {
        let mut runs: Vec<(u32, u32, bool)> = Vec::new();
        if self.shared.is_none() {
            return vec![(first, count, true)];
        }
        for query in first..first.saturating_add(count) {
            let own = self.has(query);
            match runs.last_mut() {
                Some((_, length, of)) if *of == own => *length += 1,
                _ => runs.push((query, 1, own)),
            }
        }
        runs
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            // SAFETY: Vulkan requires that no submission uses the pool any more.
            self.memory.with(|allocator| unsafe { self.ctx.destroy(pool, allocator) });
        }
    }
}

/// Returns the kind of the layer's queries of a query type. `None` for types that only the driver has.
pub(crate) const fn kind_of(ty: vk::QueryType) -> Option<QueryKind> {
    match ty {
        vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => Some(QueryKind::TransformFeedbackStream),
        vk::QueryType::PRIMITIVES_GENERATED_EXT => Some(QueryKind::PrimitivesGenerated),
        _ => None,
    }
}
