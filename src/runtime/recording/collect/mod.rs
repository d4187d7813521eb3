//! The first of three phases: checks the application's bindings, draws and queries, and collects them as values.
//! Nothing is recorded, and this phase does not decide how the draws will be captured.
//!
//! The entry point is [`Streams`], with a [`Collector`] for each vertex stream. The next phase,
//! [plan](crate::runtime::recording::plan), uses only [`Collected`], which contains no Vulkan handles. The last phase,
//! [play](crate::runtime::recording::play), also uses the [`Bindings`] and the descriptors of the buffers.

mod bind;
mod draws;
mod queries;
mod snapshots;
mod values;

use std::collections::HashSet;

#[cfg(test)]
pub(super) use self::draws::most_invocations;
pub(crate) use self::draws::most_slices;
use self::queries::{ActiveQuery, QueryName};
pub(super) use self::snapshots::{Constants, RecordedSets, SetNumbers};
pub(super) use self::values::{
    Attributes, Bindings, BoundCaptureBuffer, Collected, CollectedDraw, EndedCapture, Part,
    Position, Ranges, State, StateProperties, Targets, invocations_per_item,
};
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::host_memory::TryPush;
use crate::runtime::device::parameters::{Arguments, CounterBuffer, VertexBuffer};
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::memory::window_table::WindowTable;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::pipelines::pulling;
use crate::runtime::recording::capture_desc::{CaptureDesc, Captured};
use crate::runtime::recording::checks::{check_capture_buffers, check_counters, check_distinct};
use crate::runtime::recording::queries::{QueryKind, QueryPool};
use vkxfb_rewriter::capture::{Layout, MAX_STREAMS, MAX_XFB_BUFFERS};
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::sysval::{Address, AttributeDescriptor, split};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

/// Collects the draws of a capture separately for each vertex stream. The streams are independent, because no buffer
/// captures two streams. So a capture with several streams is planned and played stream by stream.
#[derive(Debug)]
pub(super) struct Streams {
    /// The collectors, by stream. The capture uses the first `count`; the others keep their heap memory for later
    /// captures.
    collectors: Vec<Collector>,
    /// The number of streams of the capture. It includes the streams that the first pipeline may emit to, and all
    /// streams up to the last one that has a query.
    count: usize,
    /// The number of streams that the first pipeline may emit to. Only the collectors of these streams get bindings and
    /// draws.
    bound: usize,
    begun: bool,
    /// The queries that have ended in this recording. They must not be begun again in it.
    ended_queries: HashSet<QueryName>,
}

/// Collects the draws of one vertex stream of a capture. Without geometry shaders there is only stream 0.
#[derive(Debug)]
pub(super) struct Collector {
    pub(super) ctx: Context,
    pub(super) collected: Collected,
    pub(super) bindings: Bindings,
    /// The buffers that draws access, from which the descriptors are written under the descriptor plan. Unused on a
    /// device with addresses.
    pub(super) table: WindowTable,
    /// For each capture buffer, the address of the counter that the end of the capture writes, or 0.
    pub(super) end_counters: [Address; MAX_XFB_BUFFERS],
    bound: Bound,
    /// The attribute descriptors that are computed when attributes are bound. This temporary list is a member so that
    /// its heap memory is reused.
    descriptors: Vec<AttributeDescriptor>,
}

/// What is bound and set for the next draw.
#[derive(Debug, Default)]
struct Bound {
    /// The bound pipeline, or `None` if draws are only counted.
    pipeline: Option<Pipeline>,
    vertex_buffers: Vec<VertexBuffer>,
    /// Whether the last element of [`Bindings::attributes`] belongs to the bound pipeline and vertex buffers.
    has_attributes: bool,
    indices: Option<BoundIndices>,
    provoking_vertex: ProvokingVertex,
    patch_control_points: u32,
    restart: bool,
    /// For each capture buffer: the record stride, and in `streams` the vertex stream that it captures.
    strides: [Option<u32>; MAX_XFB_BUFFERS],
    streams: [u32; MAX_XFB_BUFFERS],
    /// The active query of each [`QueryKind`].
    queries: [ActiveQuery; 2],
    /// The predicate of conditional rendering, or `None` if conditional rendering is not active.
    predicate: Option<Predicate>,
}

#[derive(Debug, Clone, Copy)]
struct BoundIndices {
    address: u64,
    limit: u32,
    size: u32,
    restart_index: u32,
    /// The end of the bound range in the buffer, and the size of the buffer's memory, both in bytes. `Some` only if
    /// shaders that cannot load single bytes would read beyond that memory, or beyond the range's descriptor.
    partial_end: Option<(u64, u64)>,
}

/// The dword in a buffer that decides whether conditional rendering discards draws.
#[derive(Debug, Clone, Copy)]
struct Predicate {
    address: Address,
    inverted: bool,
}

impl Streams {
    pub(super) fn new(ctx: &Context) -> Self {
        let collectors = vec![Collector::new(ctx, 0)];
        Self { collectors, count: 1, bound: 1, begun: false, ended_queries: HashSet::new() }
    }

    fn ctx(&self) -> &Context {
        &self.collectors[0].ctx
    }

    pub(super) const fn bound(&self) -> usize {
        self.bound
    }

    pub(super) fn all(&self) -> &[Collector] {
        &self.collectors[..self.count]
    }

    pub(super) fn all_mut(&mut self) -> &mut [Collector] {
        &mut self.collectors[..self.count]
    }

    /// Calls `f` for each stream that the first pipeline may emit to.
    ///
    /// # Errors
    /// The first error of `f`.
    pub(super) fn each(
        &mut self,
        f: impl FnMut(&mut Collector) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        self.collectors[..self.bound].iter_mut().try_for_each(f)
    }

    /// Ensures that the capture has at least `count` streams, and adds collectors if necessary.
    fn widen(&mut self, count: usize) {
        for stream in self.collectors.len()..count {
            let collector = Collector::new(self.ctx(), stream as u32);
            self.collectors.push(collector);
        }
        self.count = self.count.max(count);
    }

    /// Begins a capture without draws. After an error [`clear`](Self::clear) must be called.
    ///
    /// # Errors
    /// The errors of [`Recorder::begin`](crate::runtime::Recorder::begin); [`RuntimeError::Unsupported`] for pipelines
    /// of other backends.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    pub(super) unsafe fn begin(&mut self, desc: &CaptureDesc<'_>) -> Result<(), RuntimeError> {
        self.check_pipeline(desc.pipeline)?;
        check_capture_buffers(self.ctx(), desc.pipeline, desc.buffers)?;
        check_counters(self.ctx(), Backend::Compute, desc.counters)?;
        self.bound = desc.pipeline.stream_count() as usize;
        self.widen(self.bound);
        self.each(|collector| unsafe { collector.begin(desc) })?;
        // The vertex and geometry shaders run once for each stream. Their side effects must happen only once, so only
        // the run that stores the records of the first captured stream has them.
        let mut is_first = true;
        for collector in self.all_mut() {
            let collected = &mut collector.collected;
            collected.has_effects = is_first || !collected.has_targets();
            is_first &= !collected.has_targets();
        }
        self.begun = true;
        Ok(())
    }

    /// Does what [`Capture::begin_next`](crate::runtime::Capture::begin_next) does, for a capture that has ended and
    /// of which nothing was recorded.
    ///
    /// # Errors
    /// The errors of [`begin`](Self::begin).
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply.
    pub(super) unsafe fn begin_next(
        &mut self,
        desc: &CaptureDesc<'_>,
    ) -> Result<bool, RuntimeError> {
        let [collector] = self.all_mut() else { return Ok(false) };
        let is_same = |pipeline: &Pipeline| pipeline.is(desc.pipeline);
        if !collector.bound.pipeline.as_ref().is_some_and(is_same)
            || desc.pipeline.geometry().is_some()
            || collector.ctx.table().is_some()
        {
            return Ok(false);
        }
        check_capture_buffers(&collector.ctx, desc.pipeline, desc.buffers)?;
        check_counters(&collector.ctx, Backend::Compute, desc.counters)?;
        unsafe { collector.begin_next(desc) }
    }

    /// Begins counting draws that are not captured.
    pub(super) const fn begin_inactive(&mut self) {
        self.begun = true;
    }

    /// Checks the counters that the end of the capture writes, and stores their addresses. After an error the
    /// previously stored addresses stay.
    ///
    /// # Errors
    /// The errors of [`Capture::end`](crate::runtime::Capture::end).
    ///
    /// # Safety
    /// The requirements of [`Recorder::end`](crate::runtime::Recorder::end) apply.
    pub(super) unsafe fn end(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<(), RuntimeError> {
        self.check_begun()?;
        check_counters(self.ctx(), Backend::Compute, counters)?;
        check_distinct(counters)?;
        let mut all = [[Address::default(); MAX_XFB_BUFFERS]; MAX_STREAMS as usize];
        for (collector, found) in self.collectors[..self.bound].iter_mut().zip(&mut all) {
            *found = unsafe { collector.counter_addresses(counters) }?;
        }
        for (collector, counters) in self.all_mut().iter_mut().zip(all) {
            collector.end_counters = counters;
        }
        Ok(())
    }

    /// Removes all draws and bindings. The heap memory is kept.
    pub(super) fn clear(&mut self) {
        self.all_mut().iter_mut().for_each(Collector::clear);
        (self.count, self.bound, self.begun) = (1, 1, false);
        self.ended_queries.clear();
    }

    /// Discards the draws of the current capture, so that only the ends of queries are recorded, and the counters that
    /// the next [`end`](Self::end) sets.
    pub(super) fn discard_current(&mut self) {
        for collector in self.all_mut() {
            collector.end_counters = Default::default();
            collector.collected.discard_current();
        }
    }

    /// Discards the draws of all captures, so that only the ends of queries are recorded, and counters that become 0.
    pub(super) fn discard_all(&mut self) {
        for Collector { collected, end_counters, .. } in self.all_mut() {
            collected.discard_all(end_counters);
        }
    }

    /// # Errors
    /// [`RuntimeError::NotBegun`].
    pub(super) const fn check_begun(&self) -> Result<(), RuntimeError> {
        if self.begun { Ok(()) } else { Err(RuntimeError::NotBegun) }
    }

    /// # Errors
    /// [`RuntimeError::Unsupported`], [`RuntimeError::OtherContext`].
    fn check_pipeline(&self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        self.ctx().check_made(pipeline, "the pipeline")?;
        match pipeline.backend() {
            Backend::Compute => Ok(()),
            backend => {
                let what = "a pipeline among the draws of a capture by compute";
                Err(RuntimeError::Unsupported { backend, what })
            }
        }
    }

    /// # Errors
    /// The errors of [`Recorder::bind_pipeline`](crate::runtime::Recorder::bind_pipeline).
    pub(super) fn bind_pipeline(&mut self, pipeline: &Pipeline) -> Result<(), RuntimeError> {
        if pipeline.stream_count() as usize > self.bound {
            let what = "a pipeline that emits to more vertex streams than that of Begin";
            return Err(RuntimeError::Unsupported { backend: Backend::Compute, what });
        }
        self.check_pipeline(pipeline)?;
        self.each(|collector| collector.bind_pipeline(pipeline))
    }

    /// # Safety
    /// The requirements of [`Recorder::draw`](crate::runtime::Recorder::draw) apply.
    pub(super) unsafe fn push(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        self.check_begun()?;
        let mut before = [0; MAX_STREAMS as usize];
        for (before, collector) in before.iter_mut().zip(self.all()) {
            *before = collector.collected.draws.len();
        }
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
    /// The errors of [`Recorder::begin_query`](crate::runtime::Recorder::begin_query).
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin_query`](crate::runtime::Recorder::begin_query) apply.
    pub(super) unsafe fn begin_query(
        &mut self,
        pool: &QueryPool,
        query: u32,
        stream: u32,
    ) -> Result<(), RuntimeError> {
        if stream >= MAX_STREAMS {
            return Err(RuntimeError::QueryStream { stream });
        }
        self.check_begun()?;
        pool.check_context(self.ctx())?;
        pool.check_range(query, 1)?;
        let name = (pool.buffer().raw(), query);
        if self.all().iter().any(|collector| collector.has_active(name)) {
            return Err(RuntimeError::QueryActive);
        }
        if self.ended_queries.contains(&name) {
            return Err(RuntimeError::QueryUsed { query });
        }
        let stream = stream as usize;
        // No draw of the capture emits to streams that are added here, so the query counts 0.
        self.widen(stream + 1);
        unsafe { self.collectors[stream].begin_query(pool, query) }
    }

    /// # Errors
    /// The errors of [`Recorder::end_query`](crate::runtime::Recorder::end_query).
    pub(super) fn end_query(&mut self, kind: QueryKind, stream: u32) -> Result<(), RuntimeError> {
        let collector = self.all_mut().get_mut(stream as usize);
        let ended = collector.ok_or(RuntimeError::NoQuery)?.end_query(kind)?;
        self.ended_queries.insert(ended);
        Ok(())
    }
}

impl Collector {
    fn new(ctx: &Context, stream: u32) -> Self {
        Self {
            ctx: ctx.clone(),
            collected: Collected { stream, ..Collected::default() },
            bindings: Bindings::default(),
            table: WindowTable::default(),
            end_counters: Default::default(),
            bound: Bound::default(),
            descriptors: Vec::new(),
        }
    }

    /// Binds what a capture begins with: the buffers and counters of this stream, the pipeline and the vertex buffers.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    unsafe fn begin(&mut self, desc: &CaptureDesc<'_>) -> Result<(), RuntimeError> {
        let pipeline = desc.pipeline;
        let Layout { strides, streams, .. } = *pipeline.layout();
        (self.bound.strides, self.bound.streams) = (strides, streams);
        let mut captured = pipeline.layout().buffers().map(|(buffer, _)| streams[buffer]);
        self.collected.is_captured = captured.any(|stream| stream == self.collected.stream);
        self.collected.targets = unsafe { self.targets(desc) }?;
        self.collected.counters = unsafe { self.counter_addresses(desc.counters) }?;
        if self.collected.counters != <[Address; _]>::default() {
            self.collected.position = Position::Counters;
            self.collected.captured = None;
        }
        self.set_pipeline(pipeline)?;
        self.bind_vertex_buffers(desc.vertex_buffers)?;
        unsafe { self.find_attributes() }
    }

    /// Ends the current capture and begins another one with the same pipeline. What is bound stays bound, except for
    /// the capture buffers; dynamic state is reset to the pipeline's state, and no query is active. Returns `false`,
    /// and changes nothing, if the captures could not be planned together.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    unsafe fn begin_next(&mut self, desc: &CaptureDesc<'_>) -> Result<bool, RuntimeError> {
        // The calls that can fail come first, so that their errors leave the current capture as it is.
        let (targets, counters) =
            unsafe { (self.targets(desc)?, self.counter_addresses(desc.counters)?) };
        pulling::check_bound(desc.vertex_buffers)?;
        self.collected.ended.try_room(1)?;
        if !self.collected.begin_next(&self.end_counters, &counters, targets) {
            return Ok(false);
        }
        self.end_counters = Default::default();
        self.bound.queries = Default::default();
        self.set_pipeline(desc.pipeline)?;
        self.bind_vertex_buffers(desc.vertex_buffers)?;
        Ok(true)
    }

    /// Returns the capture buffers of a description that capture the stream.
    ///
    /// # Safety
    /// The requirements of [`Recorder::begin`](crate::runtime::Recorder::begin) apply.
    unsafe fn targets(&mut self, desc: &CaptureDesc<'_>) -> Result<Targets, RuntimeError> {
        let Bound { strides, streams, .. } = self.bound;
        let mut targets = Targets::default();
        for (number, (bound, stride)) in desc.buffers.iter().zip(strides).enumerate() {
            let (Some(bound), Some(stride)) = (bound, stride) else { continue };
            if streams[number] != self.collected.stream {
                continue;
            }
            let what = format_args!("capture buffer {number}");
            // Records consist of whole dwords, so no record is written to a partial dword at the end of the range.
            let size = bound.size / 4 * 4;
            // SAFETY: the usage and the memory are the caller's contract.
            let address = unsafe {
                self.address(Purpose::Capture, what, (bound.buffer, bound.offset, size))
            }?;
            let buffer = BoundBuffer { size: bound.size, position: 0, stride };
            targets[number] = Some(BoundCaptureBuffer { buffer, address: split(address) });
        }
        Ok(targets)
    }

    fn clear(&mut self) {
        self.end_counters = Default::default();
        self.collected.clear();
        self.bindings.clear();
        self.table.restart();
        let mut vertex_buffers = std::mem::take(&mut self.bound.vertex_buffers);
        vertex_buffers.clear();
        self.bound = Bound { vertex_buffers, ..Bound::default() };
    }

    /// Removes the draws, because they were recorded. The capture continues at `position`.
    pub(super) fn advance(&mut self, position: Position, captured: Option<Captured>) {
        self.collected.advance(position, captured);
        // The attributes of the removed draws are dropped, too, so the next draw has to compute its attributes again.
        self.bindings.advance();
        self.bound.has_attributes = false;
    }

    /// Returns the addresses of the counters of those buffers that capture the stream. For other buffers the address is
    /// 0.
    ///
    /// # Safety
    /// The counters are in live buffers with the usage
    /// [`BufferUsages::counter`](crate::runtime::BufferUsages::counter).
    unsafe fn counter_addresses(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        let mut addresses = [Address::default(); MAX_XFB_BUFFERS];
        for (number, (address, counter)) in addresses.iter_mut().zip(counters).enumerate() {
            if let Some(counter) = counter
                && self.bound.streams[number] == self.collected.stream
            {
                let what = format_args!("counter {number}");
                let range = (counter.buffer, counter.offset, 4);
                let start = unsafe { self.address(Purpose::State, what, range) }?;
                *address = split(start);
            }
        }
        Ok(addresses)
    }
}
