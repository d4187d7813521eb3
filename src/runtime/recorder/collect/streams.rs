//! [`Streams`]: the vertex streams of a capture.

use std::collections::HashSet;

use super::super::CaptureDesc;
use super::super::draw_commands::Arguments;
use super::Collector;
use super::queries::QueryName;
use crate::capture::{MAX_STREAMS, MAX_XFB_BUFFERS};
use crate::lower::Backend;
use crate::runtime::parameters::CounterBuffer;
use crate::runtime::{Context, Pipeline, QueryKind, QueryPool, RuntimeError};
use crate::sysval::Address;
use crate::topology::PrimitiveTopology;

/// Collects the draws of a capture separately for each vertex stream. The streams are independent, because no buffer
/// captures two streams. So a capture with several streams is planned and played stream by stream.
#[derive(Debug)]
pub(in super::super) struct Streams {
    /// The collectors, by stream. The capture uses the first `count`; the others keep their heap memory for later
    /// captures.
    collectors: Vec<Collector>,
    /// The number of streams of the capture. It includes the streams that the first pipeline may emit to, and all
    /// streams up to the last one that has a query.
    count: usize,
    /// The number of streams that the first pipeline may emit to. Only the collectors of these streams get bindings and
    /// draws.
    bound: usize,
    ended_queries: HashSet<QueryName>,
}

impl Streams {
    pub(in super::super) fn new(ctx: &Context) -> Self {
        let collectors = vec![Collector::new(ctx, 0)];
        Self { collectors, count: 1, bound: 1, ended_queries: HashSet::new() }
    }

    pub(in super::super) const fn bound(&self) -> usize {
        self.bound
    }

    pub(in super::super) fn all(&self) -> &[Collector] {
        &self.collectors[..self.count]
    }

    pub(in super::super) fn all_mut(&mut self) -> &mut [Collector] {
        &mut self.collectors[..self.count]
    }

    /// Calls `f` for each stream that the first pipeline may emit to.
    ///
    /// # Errors
    /// The first error of `f`.
    pub(in super::super) fn each(
        &mut self,
        f: impl FnMut(&mut Collector) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        self.collectors[..self.bound].iter_mut().try_for_each(f)
    }

    /// Ensures that the capture has at least `count` streams, and adds collectors if necessary.
    fn widen(&mut self, count: usize) {
        for stream in self.collectors.len()..count {
            let collector = Collector::new(&self.collectors[0].ctx, stream as u32);
            self.collectors.push(collector);
        }
        self.count = self.count.max(count);
    }

    /// Begins a capture: calls [`Collector::begin`] for each stream.
    ///
    /// # Errors
    /// The errors of [`Collector::begin`].
    ///
    /// # Safety
    /// The requirements of [`Collector::begin`] apply.
    pub(in super::super) unsafe fn begin(
        &mut self,
        desc: &CaptureDesc<'_>,
    ) -> Result<(), RuntimeError> {
        self.bound = desc.pipeline.stream_count() as usize;
        self.widen(self.bound);
        // SAFETY: the caller's contract.
        self.each(|collector| unsafe { collector.begin(desc) })?;
        // The vertex and geometry shaders run once for each stream. Their side effects must happen only once, so only
        // the run that stores the records of the first captured stream has them.
        let mut is_first = true;
        for collector in self.all_mut() {
            let collected = &mut collector.collected;
            collected.has_effects = is_first || !collected.has_targets();
            is_first &= !collected.has_targets();
        }
        Ok(())
    }

    /// Begins counting draws that are not captured.
    pub(in super::super) fn begin_inactive(&mut self) {
        self.all_mut().iter_mut().for_each(Collector::begin_inactive);
    }

    /// Checks the counters that the end of the capture writes, and stores their addresses. After an error the
    /// previously stored addresses stay.
    ///
    /// # Errors
    /// The errors of [`Collector::end`].
    ///
    /// # Safety
    /// The requirements of [`Collector::end`] apply.
    pub(in super::super) unsafe fn end(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<(), RuntimeError> {
        let mut all = [[Address::default(); MAX_XFB_BUFFERS]; MAX_STREAMS as usize];
        for (collector, found) in self.collectors[..self.bound].iter_mut().zip(&mut all) {
            // SAFETY: the caller's contract.
            *found = unsafe { collector.end(counters) }?;
        }
        for (collector, counters) in self.all_mut().iter_mut().zip(all) {
            collector.end_counters = counters;
        }
        Ok(())
    }

    /// Removes all draws and bindings. The heap memory is kept.
    pub(in super::super) fn clear(&mut self) {
        self.all_mut().iter_mut().for_each(Collector::clear);
        (self.count, self.bound) = (1, 1);
        self.ended_queries.clear();
    }

    /// # Errors
    /// [`RuntimeError::NotBegun`].
    pub(in super::super) fn check_begun(&self) -> Result<(), RuntimeError> {
        self.all().iter().try_for_each(Collector::check_begun)
    }

    /// Forgets which queries have ended. Must be called when their ends have been recorded.
    pub(in super::super) fn forget_ended(&mut self) {
        self.ended_queries.clear();
    }

    /// # Errors
    /// The errors of [`Recorder::bind_pipeline`](super::super::Recorder::bind_pipeline).
    pub(in super::super) fn bind_pipeline(
        &mut self,
        pipeline: &Pipeline,
    ) -> Result<(), RuntimeError> {
        if pipeline.stream_count() as usize > self.bound {
            let what = "a pipeline that emits to more vertex streams than that of Begin";
            return Err(RuntimeError::Unsupported { backend: Backend::Compute, what });
        }
        self.each(|collector| collector.bind_pipeline(pipeline))
    }

    /// # Safety
    /// The requirements of [`Recorder::draw`](super::super::Recorder::draw) apply.
    pub(in super::super) unsafe fn push(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        let mut before = [0; MAX_STREAMS as usize];
        for (before, collector) in before.iter_mut().zip(self.all()) {
            *before = collector.collected.draws.len();
        }
        // SAFETY: the caller's contract.
        let pushed =
            self.each(|collector| unsafe { collector.push(topology, arguments, draw_index) });
        if pushed.is_err() {
            // If the draw failed for one stream, it is removed from all streams.
            for (collector, before) in self.all_mut().iter_mut().zip(before) {
                collector.collected.draws.truncate(before);
            }
        }
        pushed
    }

    /// # Errors
    /// The errors of [`Recorder::begin_query_indexed`](super::super::Recorder::begin_query_indexed).
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin_query_indexed`](super::super::Recorder::begin_query_indexed) apply.
    pub(in super::super) unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        query: u32,
        stream: u32,
    ) -> Result<(), RuntimeError> {
        if stream >= MAX_STREAMS {
            return Err(RuntimeError::QueryStream { stream });
        }
        self.check_begun()?;
        pool.check_context(&self.collectors[0].ctx)?;
        pool.check_range(query, 1)?;
        let name = (pool.buffer().raw(), query);
        if self.all().iter().any(|collector| collector.has_active(name)) {
            return Err(RuntimeError::QueryActive);
        }
        if self.ended_queries.contains(&name) {
            return Err(RuntimeError::QueryUsed { query });
        }
        let (stream, first) = (stream as usize, self.count);
        if stream >= first {
            // No draw of the capture emits to the streams that are added here, so the query counts 0.
            self.widen(stream + 1);
            self.all_mut()[first..].iter_mut().for_each(Collector::begin_inactive);
        }
        // SAFETY: the caller's contract.
        unsafe { self.collectors[stream].begin_query(pool, query) }
    }

    /// # Errors
    /// The errors of [`Recorder::end_query_indexed`](super::super::Recorder::end_query_indexed).
    pub(in super::super) fn end_query(
        &mut self,
        kind: QueryKind,
        stream: u32,
    ) -> Result<(), RuntimeError> {
        let collector = self.all_mut().get_mut(stream as usize);
        let ended = collector.ok_or(RuntimeError::NoQuery)?.end_query(kind)?;
        self.ended_queries.insert(ended);
        Ok(())
    }
}
