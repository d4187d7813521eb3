//! Has the active queries of a command buffer that the layer emulates, and implements the commands
//! for their query pools.
//!
//! One query of each kind can be active [for each vertex
//! stream](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginQueryIndexedEXT.html).
//! Primitives generated queries also count while transform feedback is not active. The driver
//! counts the primitives of stream 0, if it has such queries. To count those of other streams, or
//! all, the layer collects draws without transform feedback as a capture without buffers. Draws of
//! a vertex shader alone are counted without the shader, by their topology.

use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::{QueryKind, QueryPool, ResultTarget, RuntimeError};

use crate::emulation::captures::collect::Active;
use crate::emulation::captures::passes::Pass;
use crate::emulation::captures::{Captures, Forward, Hoisted, QueryCapture, SharedCapture, lock};
use crate::emulation::losses::ENDS;
use crate::emulation::queries::{EndedQueries, Queries};

/// An active query that the layer emulates.
pub(super) struct ActiveQuery {
    pub(super) queries: Arc<Queries>,
    pub(super) query: u32,
    pub(super) stream: u32,
    /// The number of queries that it takes, from `query` on: one for each view of the subpass in which it has begun.
    /// The first one has [the sum of all](https://docs.vulkan.org/spec/latest/chapters/queries.html#queries-multiview).
    pub(super) count: u32,
    pub(super) kind: QueryKind,
    /// Whether the active capture adds to the query.
    pub(super) is_counted: bool,
}

impl ActiveQuery {
    fn is(&self, queries: &Arc<Queries>, query: u32) -> bool {
        Arc::ptr_eq(&self.queries, queries) && self.query == query
    }
}

impl Captures {
    /// Begins a query, if the layer emulates it. Returns the command that replaces the program's.
    ///
    /// # Safety
    /// The contract of `vkCmdBeginQueryIndexedEXT`.
    pub(crate) unsafe fn query_begins(
        &mut self,
        pool: vk::QueryPool,
        query: u32,
        stream: u32,
    ) -> Forward {
        let queries = self.emulation().objects().queries.get(pool);
        let views = self.views();
        match queries.filter(|queries| queries.begins(query, views, stream)) {
            Some(queries) => {
                unsafe { self.begin_query(queries, query, stream) };
                Forward::No
            }
            None => {
                self.other_queries += 1;
                Forward::Yes
            }
        }
    }

    /// Ends a query, if the layer emulates it. Returns the command that replaces the program's.
    ///
    /// # Safety
    /// The contract of `vkCmdEndQueryIndexedEXT`.
    pub(crate) unsafe fn query_ends(
        &mut self,
        cmd: vk::CommandBuffer,
        pool: vk::QueryPool,
        query: u32,
    ) -> Forward {
        let queries = self.emulation().objects().queries.get(pool);
        // The driver may implement some queries of a pool of primitives generated queries, and the layer the others. A
        // query of such a pool begins and ends in the same command buffer. So the query is the layer's if it is among
        // the queries that the layer has begun in this command buffer.
        let is_own = |queries: &Arc<Queries>| {
            !queries.is_shared() || self.queries.iter().any(|active| active.is(queries, query))
        };
        match queries.filter(is_own) {
            Some(queries) => {
                unsafe { self.end_query(cmd, &queries, query) };
                Forward::No
            }
            None => {
                self.other_queries = self.other_queries.saturating_sub(1);
                Forward::Yes
            }
        }
    }

    /// Begins a query that the layer emulates. The active capture and captures that begin later add to the query,
    /// unless they add to another query of the same kind and stream.
    ///
    /// # Safety
    /// The contract of `vkCmdBeginQuery`.
    unsafe fn begin_query(&mut self, queries: Arc<Queries>, query: u32, stream: u32) {
        let Some(kind) = queries.pool().map(QueryPool::kind) else { return };
        let count = self.views();
        self.queries.push(ActiveQuery { queries, query, stream, count, kind, is_counted: false });
        if let Err(error) = unsafe { self.count() } {
            let drawn = self.drawn();
            self.lose("what a query counts", drawn, error);
        }
    }

    /// Makes the active capture add to the active queries. Does nothing if no capture is active, or if the active
    /// capture has not begun yet ([`Active::capture`] is `None`).
    ///
    /// # Errors
    /// The capture cannot begin a query.
    ///
    /// # Safety
    /// The contract of [`begin_query`](Self::begin_query).
    pub(super) unsafe fn count(&mut self) -> Result<(), RuntimeError> {
        let Some(Active { capture: Some(capture), only_counts, .. }) = &self.active else {
            return Ok(());
        };
        // If several queries of a kind and stream are active, a capture adds to only one of them: to the one that it
        // adds to already, or otherwise to the one that was begun last. Vulkan allows only one active query
        // (VUID-vkCmdBeginQuery-queryPool-01922), but wined3d begins several.
        for number in (0..self.queries.len()).rev() {
            let ActiveQuery { queries, query, stream, kind, is_counted, .. } =
                &self.queries[number];
            // Transform feedback queries count only while transform feedback is active.
            let is_of_it = *kind == QueryKind::PrimitivesGenerated || !only_counts;
            let Some(pool) = queries.pool().filter(|_| is_of_it && !is_counted) else { continue };
            let is_same = |other: &ActiveQuery| {
                other.is_counted && (other.kind, other.stream) == (*kind, *stream)
            };
            if self.queries.iter().any(is_same) {
                tracing::warn!("of two queries of a type, active at once, one counts nothing");
                continue;
            }
            unsafe { lock(capture).recorder().begin_query(pool, *query, *stream) }?;
            self.queries[number].is_counted = true;
        }
        Ok(())
    }

    /// Whether a primitives generated query that the layer emulates is active. Such a query also counts draws without
    /// transform feedback.
    pub(super) fn counts_draws(&self) -> bool {
        self.queries.iter().any(|query| query.kind == QueryKind::PrimitivesGenerated)
    }

    /// Notes that no capture adds to the active queries, because the active capture has ended.
    pub(super) fn forget_counts(&mut self) {
        self.queries.iter_mut().for_each(|query| query.is_counted = false);
    }

    /// Ends a query that the layer emulates. Outside of a pass the end is recorded at once. Inside of a pass it is
    /// recorded with the captures of the pass: before or after the pass.
    ///
    /// # Safety
    /// The contract of `vkCmdEndQuery`.
    unsafe fn end_query(&mut self, cmd: vk::CommandBuffer, queries: &Arc<Queries>, query: u32) {
        let place = self.queries.iter().position(|active| active.is(queries, query));
        let active = place.map(|place| self.queries.remove(place));
        if let Err(error) = unsafe { self.end_query_of(queries, query, active) } {
            let drawn = self.drawn();
            self.lose(ENDS, drawn, error);
        }
        self.end_counting();
        if !self.is_inside() {
            let condition = self.state.conditional_rendering;
            let mut here = Pass { condition, ..Pass::default() };
            unsafe { self.play(cmd, &mut here) };
        }
    }

    /// Ends a query: in the active capture, if that capture adds to the query, and otherwise by a capture without
    /// draws, which is recorded outside of the pass. The latter also ends the queries of other views, to which nothing is
    /// added. `found` is the query, or `None` if it was not begun in this command buffer.
    ///
    /// # Safety
    /// The contract of [`end_query`](Self::end_query).
    unsafe fn end_query_of(
        &mut self,
        queries: &Arc<Queries>,
        query: u32,
        found: Option<ActiveQuery>,
    ) -> Result<(), RuntimeError> {
        let Some(pool) = queries.pool() else { return Ok(()) };
        let kind = pool.kind();
        let mut ended = query..query.saturating_add(found.as_ref().map_or(1, |found| found.count));
        // Vulkan requires that the pool has a query for each view. A pool that has fewer must not make recording fail.
        ended.end = ended.end.min(pool.count()).max(query.saturating_add(1));
        if let Some(Active { capture: Some(capture), .. }) = &self.active
            && let Some(ActiveQuery { stream, is_counted: true, .. }) = found
        {
            let mut capture = lock(capture);
            capture.recorder().end_query(kind, stream)?;
            capture.note_end(queries, query, 1)?;
            ended.start += 1;
        }
        if ended.is_empty() {
            return Ok(());
        }
        // All captures that add to the query come earlier in the list `hoisted`, or are recorded already. Beginning and
        // ending the query without a draw makes its result available after them.
        let end = |capture: &SharedCapture| {
            let mut capture = lock(capture);
            ended.clone().try_for_each(|query| {
                unsafe { capture.recorder().begin_query(pool, query, 0) }?;
                capture.recorder().end_query(kind, 0)
            })?;
            capture.note_end(queries, ended.start, ended.len() as u32)
        };
        if let Some(Hoisted::Ends(ends)) = self.hoisted.last()
            && end(ends).is_ok()
        {
            return Ok(());
        }
        let capture = self.inactive_capture()?;
        end(&capture)?;
        self.hoisted.try_reserve(1)?;
        self.hoisted.push(Hoisted::Ends(capture));
        Ok(())
    }

    /// The queries of the layer that the command buffer ends.
    pub(crate) fn ended_queries(&self) -> &[EndedQueries] {
        &self.ended
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
        // SAFETY: the caller's contract. The command is recorded outside of a pass, because it is
        // not allowed inside of one.
        unsafe {
            let own = self.emulation().objects().queries.get(pool);
            if own.as_ref().is_none_or(|queries| queries.is_shared()) {
                let next = self.emulation().context().device().fp_v1_0().cmd_reset_query_pool;
                next(cmd, pool, first, count);
            }
            let Some(queries) = own else { return };
            let Some(queries) = queries.pool() else { return };
            self.record_outside("vkCmdResetQueryPool", cmd, |ctx, _, _| {
                queries.reset(ctx, cmd, first, count)
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
        // SAFETY: the caller's contract. The command is recorded outside of a pass, because it is
        // not allowed inside of one.
        unsafe {
            let Some(queries) = self.emulation().objects().queries.get(pool) else {
                let next = self.emulation().context().device().fp_v1_0();
                let ResultTarget { buffer, offset, stride } = target;
                return (next.cmd_copy_query_pool_results)(
                    cmd, pool, first, count, buffer, offset, stride, flags,
                );
            };
            let Some(own) = queries.pool() else { return };
            for (from, count, is_own) in queries.runs(first, count) {
                let before = u64::from(from - first) * target.stride;
                let target = ResultTarget { offset: target.offset + before, ..target };
                if !is_own {
                    let next = self.emulation().context().device().fp_v1_0();
                    let ResultTarget { buffer, offset, stride } = target;
                    (next.cmd_copy_query_pool_results)(
                        cmd, pool, from, count, buffer, offset, stride, flags,
                    );
                    continue;
                }
                self.record_outside("vkCmdCopyQueryPoolResults", cmd, |ctx, kernels, arena| {
                    own.copy_results(ctx, arena, kernels, cmd, from, count, &target, flags)
                });
            }
        }
    }
}

impl QueryCapture {
    /// Notes that the capture ends queries.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    fn note_end(
        &mut self,
        queries: &Arc<Queries>,
        first: u32,
        count: u32,
    ) -> Result<(), RuntimeError> {
        self.ended.try_reserve(1)?;
        self.ended.push(EndedQueries { queries: Arc::downgrade(queries), first, count });
        Ok(())
    }
}
