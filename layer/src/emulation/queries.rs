//! Query pools of `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`, whose queries are the layer's.
//!
//! The handle is of a pool of the driver's own, of a type that it has: so it is as unique as all of its handles.

use ash::vk;
use vkxfb::runtime::{Context, QueryKind, QueryPool, RuntimeError};

use super::memory::Memory;

/// The queries behind a handle.
pub(super) struct Queries {
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

    pub(super) fn pool(&self) -> Option<&QueryPool> {
        self.pool.as_ref()
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            // SAFETY: by Vulkan's rules no submission uses the pool any more.
            self.memory.with(|allocator| unsafe { pool.destroy(&self.ctx, allocator) });
        }
    }
}

/// Which of a command buffer's active queries one of the type is.
pub(super) const fn kind_of(ty: vk::QueryType) -> Option<QueryKind> {
    match ty {
        vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => Some(QueryKind::TransformFeedbackStream),
        _ => None,
    }
}
