//! A query that counts the primitives that a geometry shader emits. Only the device knows their
//! number.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use ash::{ext, vk};
use vkxfb::runtime::{Context, QueryKind, QueryPool, Recorder, RuntimeError};
use vkxfb_probe::gpu::Gpu;
use vkxfb_rewriter::lower::Backend;

/// A query of type `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT` for a vertex stream, or vkxfb's
/// replacement for it.
pub(super) struct CountQuery {
    pool: Pool,
    stream: u32,
}

enum Pool {
    /// A query pool of vkxfb, whose query counts the primitives of captures on the compute backend.
    Own(QueryPool),
    /// A query pool of the driver, for captures on the native backend.
    Driver(vk::QueryPool, ext::transform_feedback::Device),
}

/// The time limit for reading the result. The result should be available at once, because the submission has already
/// finished.
const PATIENCE: Duration = Duration::from_secs(10);

impl CountQuery {
    pub(super) fn new(gpu: &mut Gpu, backend: Backend, stream: u32) -> Result<Self> {
        if backend != Backend::Native {
            let pool = gpu.create_query_pool(QueryKind::TransformFeedbackStream, 1)?;
            return Ok(Self { pool: Pool::Own(pool), stream });
        }
        if !gpu.capabilities().transform_feedback.as_ref().is_some_and(|support| support.queries) {
            bail!(
                "the device has no transformFeedbackQueries, which count what a geometry shader emits"
            );
        }
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
            .query_count(1);
        // SAFETY: the device is live, and supports queries of this type.
        let pool = unsafe { gpu.context().device().create_query_pool(&info, None) };
        let pool = pool.context("vkCreateQueryPool")?;
        let device = gpu.context().device();
        let functions = ext::transform_feedback::Device::new(gpu.instance(), device);
        Ok(Self { pool: Pool::Driver(pool, functions), stream })
    }

    /// Resets a query of the driver. A query of vkxfb needs no reset before its only use.
    ///
    /// # Safety
    /// `cmd` is being recorded, outside of a render pass.
    pub(super) unsafe fn reset(&self, context: &Context, cmd: vk::CommandBuffer) {
        if let Pool::Driver(pool, _) = &self.pool {
            unsafe { context.device().cmd_reset_query_pool(cmd, *pool, 0, 1) };
        }
    }

    /// Begins the query.
    ///
    /// # Safety
    /// `recorder` records to `cmd`, in which [`reset`](Self::reset) was called.
    pub(super) unsafe fn begin(
        &self,
        cmd: vk::CommandBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), RuntimeError> {
        let none = vk::QueryControlFlags::empty();
        match &self.pool {
            Pool::Own(pool) => unsafe { recorder.begin_query(pool, 0, self.stream) },
            Pool::Driver(pool, functions) => {
                let begin = functions.fp().cmd_begin_query_indexed_ext;
                unsafe { begin(cmd, *pool, 0, none, self.stream) };
                Ok(())
            }
        }
    }

    /// Ends the query.
    ///
    /// # Safety
    /// `recorder` records to `cmd`, in which [`begin`](Self::begin) began the query.
    pub(super) unsafe fn end(
        &self,
        cmd: vk::CommandBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), RuntimeError> {
        match &self.pool {
            Pool::Own(_) => recorder.end_query(QueryKind::TransformFeedbackStream, self.stream),
            Pool::Driver(pool, functions) => {
                let end = functions.fp().cmd_end_query_indexed_ext;
                unsafe { end(cmd, *pool, 0, self.stream) };
                Ok(())
            }
        }
    }

    /// Returns the number of primitives that were emitted. The submission with the query must have
    /// finished.
    pub(super) fn needed(&self, gpu: &Gpu) -> Result<u64> {
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // The results are the primitives written and the primitives needed.
        let mut values = [0u64; 2];
        match &self.pool {
            Pool::Own(pool) => {
                let bytes = bytemuck::bytes_of_mut(&mut values);
                // SAFETY: the submission in which the query ended has finished.
                unsafe { pool.results(0, 1, bytes, 16, flags, PATIENCE) }?;
            }
            Pool::Driver(pool, _) => {
                let mut all = [values];
                // SAFETY: the submission in which the query ended has finished.
                unsafe { gpu.context().device().get_query_pool_results(*pool, 0, &mut all, flags) }
                    .context("vkGetQueryPoolResults")?;
                [values] = all;
            }
        }
        Ok(values[1])
    }

    pub(super) fn destroy(self, gpu: &mut Gpu) {
        match self.pool {
            Pool::Own(pool) => gpu.destroy_query_pool(pool),
            // SAFETY: nothing is in flight.
            Pool::Driver(pool, _) => unsafe {
                gpu.context().device().destroy_query_pool(pool, None);
            },
        }
    }
}
