//! Query pools whose queries the layer emulates: all queries of type
//! `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`, and those of type
//! `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT` that count a vertex stream other than 0, because a
//! driver without transform feedback has no such queries. If the driver has none of the second type,
//! the layer emulates all of these.
//!
//! The layer also creates each of these query pools in the driver, with a query type that the
//! driver supports. The program gets the handle of that pool, so that it is unique among the
//! driver's handles.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk;
use vkxfb::runtime::{Context, QueryKind, QueryPool, RuntimeError};

use super::memory::Memory;

/// Queries that a command buffer ends.
#[derive(Clone)]
pub(crate) struct EndedQueries {
    pub(super) queries: Weak<Queries>,
    pub(super) first: u32,
    pub(super) count: u32,
}

impl EndedQueries {
    /// Notes that the command buffer was submitted.
    pub(crate) fn submitted(&self) {
        if let Some(queries) = self.queries.upgrade() {
            queries.set_ended(self.first, self.count, true);
        }
    }
}

/// The layer's queries for one query pool of the program.
pub(crate) struct Queries {
    /// The layer's query pool. `None` only while this value is dropped.
    pool: Option<QueryPool>,
    /// In a pool of type `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT` whose queries the driver also
    /// implements: for each query, whether the layer emulated it when a command that begins it was
    /// last recorded. `None` if the layer emulates all queries of the pool.
    shared: Option<Box<[AtomicBool]>>,
    /// For each query, whether a command buffer that ends it was submitted since the pool was created or the host last
    /// reset the query. Otherwise nothing makes it available. Resets by command buffers are not taken into account,
    /// because semaphores may order them before an end that was submitted earlier.
    ended: Box<[AtomicBool]>,
    ctx: Context,
    memory: Memory,
}

impl Queries {
    /// Creates `count` queries of a kind. `is_shared` is whether the driver implements those of stream 0.
    ///
    /// # Errors
    /// A Vulkan command or an allocation fails.
    ///
    /// # Safety
    /// The device is live.
    pub(super) unsafe fn new(
        ctx: &Context,
        memory: &Memory,
        kind: QueryKind,
        count: u32,
        is_shared: bool,
    ) -> Result<Self, RuntimeError> {
        let pool = memory.with(|allocator| unsafe { QueryPool::new(ctx, allocator, kind, count) });
        let pool = pool.ok_or(RuntimeError::NoKernels)??;
        let flags = || (0..count).map(|_| AtomicBool::new(false)).collect();
        let shared = is_shared.then(flags);
        let (ctx, memory) = (ctx.clone(), memory.clone());
        Ok(Self { pool: Some(pool), shared, ended: flags(), ctx, memory })
    }

    pub(crate) fn pool(&self) -> Option<&QueryPool> {
        self.pool.as_ref()
    }

    /// Notes that `count` queries begin for a vertex stream: one for each view. Returns whether the layer emulates them.
    pub(super) fn begins(&self, query: u32, count: u32, stream: u32) -> bool {
        let Some(shared) = &self.shared else { return true };
        let own = shared.iter().skip(query as usize).take(count as usize);
        own.for_each(|own| own.store(stream != 0, Ordering::Relaxed));
        stream != 0
    }

    /// Whether the layer emulates a query. In a pool that is [shared](Self::is_shared) with the driver, it does so if
    /// the query was last begun for a stream other than 0.
    pub(super) fn has(&self, query: u32) -> bool {
        let own = self.shared.as_ref().and_then(|shared| shared.get(query as usize));
        own.is_none_or(|own| own.load(Ordering::Relaxed))
    }

    /// Notes that a command buffer that ends `count` queries was submitted or, if `ended` is false, that the host resets
    /// them.
    pub(crate) fn set_ended(&self, first: u32, count: u32, ended: bool) {
        let changed = self.ended.iter().skip(first as usize).take(count as usize);
        changed.for_each(|query| query.store(ended, Ordering::Relaxed));
    }

    /// Whether a query may become available if nothing else is submitted.
    pub(crate) fn may_end(&self, query: u32) -> bool {
        self.ended.get(query as usize).is_some_and(|ended| ended.load(Ordering::Relaxed))
    }

    /// Whether the driver may implement some of the queries of the pool.
    pub(crate) const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Splits a range of queries into runs of queries that all belong to the layer or all to the
    /// driver. Returns for each run the first query, the number of queries, and whether they are
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
            // SAFETY: the program has destroyed its query pool, or that pool could not be created. Vulkan requires that
            // no submission uses a pool that is destroyed.
            self.memory.with(|allocator| unsafe { self.ctx.destroy(pool, allocator) });
        }
    }
}

/// Returns the kind of the layer's queries for a query type. `None` if the layer emulates no
/// queries of that type.
pub(crate) const fn kind_of(ty: vk::QueryType) -> Option<QueryKind> {
    match ty {
        vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => Some(QueryKind::TransformFeedbackStream),
        vk::QueryType::PRIMITIVES_GENERATED_EXT => Some(QueryKind::PrimitivesGenerated),
        _ => None,
    }
}
