//! The layer's queries in a command buffer: which are active, and commands for their pools.
//!
//! One query of a kind can be active [for each vertex
//! stream](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginQueryIndexedEXT.html).
//! Captures write to stream 0, so they count for its query alone. Queries of other streams count
//! nothing, and become available when they end.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use vkxfb::runtime::{Capture, QueryPool, ResultTarget, RuntimeError};

use super::passes::Pass;
use super::{Captures, Forward, Hoisted};
use crate::emulation::queries::Queries;

/// The vertex stream that captures write to.
const CAPTURED_STREAM: u32 = 0;

/// An active query of the stream that captures write to.
pub(super) struct ActiveQuery {
    pub(super) queries: Arc<Queries>,
    pub(super) query: u32,
}

impl ActiveQuery {
    fn is(&self, queries: &Arc<Queries>, query: u32) -> bool {
        Arc::ptr_eq(&self.queries, queries) && self.query == query
    }
}

impl Captures {
    /// # Safety
    /// The contract of `vkCmdBeginQueryIndexedEXT`.
    pub(crate) unsafe fn query_begins(
        &mut self,
        pool: vk::QueryPool,
        query: u32,
        stream: u32,
    ) -> Forward {
        match self.emulation().objects().queries.get(pool) {
            Some(queries) => {
                if stream == CAPTURED_STREAM {
                    // SAFETY: the caller's contract.
                    unsafe { self.begin_query(queries, query) };
                }
                Forward::No
            }
            None => {
                self.other_queries += 1;
                Forward::Yes
            }
        }
    }

    /// # Safety
    /// The contract of `vkCmdEndQueryIndexedEXT`.
    pub(crate) unsafe fn query_ends(
        &mut self,
        cmd: vk::CommandBuffer,
        pool: vk::QueryPool,
        query: u32,
    ) -> Forward {
        match self.emulation().objects().queries.get(pool) {
            Some(queries) => {
                // SAFETY: the caller's contract.
                unsafe { self.end_query(cmd, &queries, query) };
                Forward::No
            }
            None => {
                self.other_queries = self.other_queries.saturating_sub(1);
                Forward::Yes
            }
        }
    }

    /// One of the layer's queries begins, which captures count for.
    ///
    /// # Safety
    /// The contract of `vkCmdBeginQuery`.
    unsafe fn begin_query(&mut self, queries: Arc<Queries>, query: u32) {
        let Some(pool) = queries.pool() else { return };
        let kind = pool.kind() as usize;
        let mut result = Ok(());
        if let Some(active) = self.active.as_mut().filter(|active| active.is_begun) {
            // SAFETY: the caller's contract.
            result = unsafe { active.capture.recorder().begin_query(pool, query) };
            active.counts[kind] = true;
        }
        self.queries[kind] = Some(ActiveQuery { queries, query });
        if let Err(error) = result {
            self.refuse("vkCmdBeginQuery", error);
        }
    }

    /// One of the layer's queries ends. Outside of a pass its results are recorded at once.
    ///
    /// # Safety
    /// The contract of `vkCmdEndQuery`.
    unsafe fn end_query(&mut self, cmd: vk::CommandBuffer, queries: &Arc<Queries>, query: u32) {
        let Some(pool) = queries.pool() else { return };
        let kind = pool.kind();
        let active = self.queries[kind as usize].take_if(|active| active.is(queries, query));
        // SAFETY: the caller's contract.
        let result = unsafe { self.end_query_of(pool, query, active.is_some()) };
        if let Err(error) = result {
            self.refuse("vkCmdEndQuery", error);
        }
        if !self.is_inside() {
            let condition = self.state.conditional_rendering;
            let mut here = Pass { condition, ..Pass::default() };
            // SAFETY: the caller's contract.
            unsafe { self.play(cmd, &mut here) };
        }
    }

    /// `is_counted`: whether captures count for the query.
    ///
    /// # Safety
    /// As [`end_query`](Self::end_query).
    unsafe fn end_query_of(
        &mut self,
        pool: &QueryPool,
        query: u32,
        is_counted: bool,
    ) -> Result<(), RuntimeError> {
        let kind = pool.kind();
        if let Some(active) = self.active.as_mut().filter(|_| is_counted)
            && std::mem::take(&mut active.counts[kind as usize])
        {
            return active.capture.recorder().end_query(kind);
        }
        // All captures that count for the query were recorded before. The query must become
        // available after them.
        let end = |capture: &mut Capture| {
            // SAFETY: the caller's contract.
            unsafe { capture.recorder().begin_query(pool, query) }?;
            capture.recorder().end_query(kind)
        };
        if let Some(Hoisted::Ends(ends)) = self.hoisted.last()
            && end(&mut ends.lock().unwrap_or_else(PoisonError::into_inner)).is_ok()
        {
            return Ok(());
        }
        let mut capture = self.spare_capture();
        capture.begin_inactive()?;
        end(&mut capture)?;
        self.hoisted.push(Hoisted::Ends(Arc::new(Mutex::new(capture))));
        Ok(())
    }

    /// `vkCmdResetQueryPool`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn reset_query_pool(
        &mut self,
        cmd: vk::CommandBuffer,
        pool: vk::QueryPool,
        first: u32,
        count: u32,
    ) {
        // SAFETY: the caller's contract: the command is not allowed inside of a pass.
        unsafe {
            let Some(queries) = self.emulation().objects().queries.get(pool) else {
                let next = self.emulation().context().device().fp_v1_0().cmd_reset_query_pool;
                return next(cmd, pool, first, count);
            };
            let Some(queries) = queries.pool() else { return };
            self.record_outside("vkCmdResetQueryPool", cmd, |emulation, _| {
                queries.reset(emulation.context(), cmd, first, count)
            });
        }
    }

    /// `vkCmdCopyQueryPoolResults`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn copy_query_pool_results(
        &mut self,
        cmd: vk::CommandBuffer,
        pool: vk::QueryPool,
        [first, count]: [u32; 2],
        target: ResultTarget,
        flags: vk::QueryResultFlags,
    ) {
        // SAFETY: the caller's contract: the command is not allowed inside of a pass.
        unsafe {
            let Some(queries) = self.emulation().objects().queries.get(pool) else {
                let next = self.emulation().context().device().fp_v1_0();
                let ResultTarget { buffer, offset, stride } = target;
                return (next.cmd_copy_query_pool_results)(
                    cmd, pool, first, count, buffer, offset, stride, flags,
                );
            };
            let Some(queries) = queries.pool() else { return };
            self.record_outside("vkCmdCopyQueryPoolResults", cmd, |emulation, arena| {
                let (ctx, kernels) = (emulation.context(), emulation.kernels());
                queries.copy_results(ctx, arena, kernels, cmd, first, count, &target, flags)
            });
        }
    }
}
