//! Query pools of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`, whose queries the layer emulates.
//!
//! The handle is that of a pool of the driver, of a query type that the driver has. So it is as
//! unique as the driver's other handles.

use ash::vk;
use vkxfb::runtime::{Context, QueryKind, QueryPool, RuntimeError};

use super::memory::Memory;

/// The queries that a handle stands for.
pub(crate) struct Queries {
    /// `None` only while it is dropped.
    pool: Option<QueryPool>,
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
        Ok(Self { pool: Some(pool), ctx: ctx.clone(), memory: memory.clone() })
    }

    pub(crate) fn pool(&self) -> Option<&QueryPool> {
        self.pool.as_ref()
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            // SAFETY: Vulkan requires that no submission uses the pool any more.
            self.memory.with(|allocator| unsafe { pool.destroy(&self.ctx, allocator) });
        }
    }
}

/// Returns the kind of the layer's queries of a type. `None` for types that are the driver's.
pub(crate) const fn kind_of(ty: vk::QueryType) -> Option<QueryKind> {
    match ty {
        vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => Some(QueryKind::TransformFeedbackStream),
        _ => None,
    }
}
