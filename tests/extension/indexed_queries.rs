//! Queries of several vertex streams at the same time, natively and with the Vulkan layer. A vertex
//! shader writes to stream 0, so queries of the other streams count nothing.

use ash::{ext, vk};

use super::program::{self, Program};
use crate::common;
use crate::common::bare::BareInstance;
use crate::common::commands::query_pool;
use crate::common::native::WRITES;
use crate::common::{attachment, discard, layer};

/// The number of vertex streams. A query of overflow in any of them asks for all streams.
const STREAMS: u32 = 4;
/// The number of draws of a case, and the number of points of a draw.
const DRAWS: u32 = 3;
const POINTS: u32 = 2;
/// The size of the record of a point in bytes.
const POINT: u64 = 4;

/// The first draw that a query counts, and the draw at which it ends.
type Interval = (u32, u32);

/// What an OpenGL translator records for two queries of a program.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// The query of primitives written, for stream 0.
    written: Interval,
    /// The query of overflow in any stream, for all streams.
    overflow: Interval,
    /// The number of points for which the capture buffer has room.
    room: u32,
    /// Whether queries begin and end in the pass, with a single capture. Otherwise each draw is a
    /// capture in a separate pass, which continues where the previous capture ended.
    is_inside: bool,
}

/// A query that has ended: its number, its stream, and the draws that it counted.
struct Ended {
    query: u32,
    stream: u32,
    interval: Interval,
}

impl Case {
    fn all() -> Vec<Self> {
        let intervals = || (0..DRAWS).flat_map(|from| (from..DRAWS).map(move |to| (from, to)));
        let mut all = Vec::new();
        for written in intervals() {
            for overflow in intervals() {
                for room in [3, POINTS * DRAWS] {
                    let case = |is_inside| Self { written, overflow, room, is_inside };
                    all.extend([true, false].map(case));
                }
            }
        }
        all
    }

    /// Returns the result that a query must have: primitives written and primitives needed.
    fn expected(&self, ended: &Ended) -> [u64; 2] {
        let (from, to) = ended.interval;
        let before = |draw: u32| (draw * POINTS).min(self.room);
        let counts = [before(to + 1) - before(from), (to + 1 - from) * POINTS];
        counts.map(|count| if ended.stream == 0 { count.into() } else { 0 })
    }
}

/// The queries of a case while it is recorded. A stream can have only one active query, so it is
/// divided where a query of the program begins or ends, as Mesa's zink does it.
struct Recording<'a> {
    functions: &'a ext::transform_feedback::DeviceFn,
    cmd: vk::CommandBuffer,
    pool: vk::QueryPool,
    next: &'a mut u32,
    /// For each stream, the active query, and the first draw that it counts.
    active: [Option<(u32, u32)>; STREAMS as usize],
    ended: Vec<Ended>,
}

impl Recording<'_> {
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn begin(&mut self, stream: u32, draw: u32) {
        let (query, flags) = (*self.next, vk::QueryControlFlags::empty());
        *self.next += 1;
        unsafe {
            let begin = self.functions.cmd_begin_query_indexed_ext;
            begin(self.cmd, self.pool, query, flags, stream);
        }
        self.active[stream as usize] = Some((query, draw));
    }

    /// # Safety
    /// As [`begin`](Self::begin).
    unsafe fn end(&mut self, stream: u32, draw: u32) {
        let Some((query, from)) = self.active[stream as usize].take() else { return };
        unsafe { (self.functions.cmd_end_query_indexed_ext)(self.cmd, self.pool, query, stream) };
        self.ended.push(Ended { query, stream, interval: (from, draw) });
    }

    /// Ends queries after a draw, and begins those of the next draw.
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    unsafe fn between(&mut self, case: &Case, draw: Option<u32>) {
        let next = draw.map_or(0, |draw| draw + 1);
        let counts = |interval: Interval, draw: u32| (interval.0..=interval.1).contains(&draw);
        let streams = |draw: u32| match (counts(case.written, draw), counts(case.overflow, draw)) {
            (written, true) => (0..STREAMS, written),
            (true, false) => (0..1, true),
            (false, false) => (0..0, false),
        };
        let before = draw.map_or((0..0, false), streams);
        let after = streams(next);
        if before == after {
            return;
        }
        unsafe {
            if let Some(draw) = draw {
                // Streams other than 0 are not divided.
                for stream in before.0.filter(|s| *s == 0 || !after.0.contains(s)) {
                    self.end(stream, draw);
                }
            }
            // The order does not matter, so each case has another one.
            let begun = after.0.filter(|stream| self.active[*stream as usize].is_none());
            let mut begun: Vec<u32> = begun.collect();
            if case.written.0.is_multiple_of(2) {
                begun.reverse();
            }
            for stream in begun {
                self.begin(stream, next);
            }
        }
    }
}

/// A program, and what it captures with.
struct Captures {
    program: Program,
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    target: vk::Buffer,
    counter: vk::Buffer,
}

/// Whether queries can count the primitives of each vertex stream. If not, the test is skipped.
fn has_streams() -> bool {
    if !program::has(&[ext::primitives_generated_query::NAME]) {
        return false;
    }
    let instance = BareInstance::open_newer();
    let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut generated);
    instance.features(&mut features);
    let features = features.features;
    let has = generated.primitives_generated_query_with_non_zero_streams == vk::TRUE;
    if !has {
        let gives = features.geometry_shader == vk::TRUE;
        layer::skip_without("primitivesGeneratedQueryWithNonZeroStreams", gives);
    }
    has
}

impl Captures {
    fn new() -> Self {
        let mut feedback =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
            .primitives_generated_query(true)
            .primitives_generated_query_with_rasterizer_discard(true)
            .primitives_generated_query_with_non_zero_streams(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut feedback)
            .push_next(&mut rendering)
            .push_next(&mut generated);
        let extensions = [ext::transform_feedback::NAME, ext::primitives_generated_query::NAME];
        let extensions = extensions.map(std::ffi::CStr::as_ptr);
        let mut program = Program::on(BareInstance::open().into_device(&mut features, &extensions));
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let (target, _) = program.buffer((POINTS * DRAWS) as usize, usage);
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let (counter, _) = program.buffer(1, usage);
        // SAFETY: the device is live.
        let (layout, pipeline) = unsafe {
            let layout = program.raw.create_pipeline_layout(&Default::default(), None).unwrap();
            let words = common::compile(common::CAPTURES, &[]);
            (layout, discard::pipeline(&program.raw, layout, &words))
        };
        Self { program, pipeline, layout, target, counter }
    }

    fn close(self) {
        // SAFETY: nothing is in flight.
        unsafe {
            self.program.raw.destroy_pipeline(self.pipeline, None);
            self.program.raw.destroy_pipeline_layout(self.layout, None);
        }
    }

    /// Records commands with new queries. Returns the results of the queries, `values` integers for
    /// each.
    fn query(
        &self,
        ty: vk::QueryType,
        count: u32,
        values: usize,
        record: impl FnOnce(vk::CommandBuffer, vk::QueryPool),
    ) -> Vec<u64> {
        let raw = &self.program.raw;
        // SAFETY: the device is live, and the submission is waited for.
        unsafe {
            let pool = query_pool(raw, ty, count);
            self.program.submit(WRITES, |cmd| {
                raw.cmd_reset_query_pool(cmd, pool, 0, count);
                raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
                record(cmd, pool);
            });
            let mut found = vec![0_u64; count as usize * values];
            let (stride, size) = (8 * values as u64, size_of_val(&found[..]));
            let flags = vk::QueryResultFlags::TYPE_64;
            let get = raw.fp_v1_0().get_query_pool_results;
            let data = found.as_mut_ptr().cast();
            let result = get(raw.handle(), pool, 0, count, size, data, stride, flags);
            assert_eq!(result, vk::Result::SUCCESS, "a query has not ended");
            raw.destroy_query_pool(pool, None);
            found
        }
    }

    /// Records a pass with a capture.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    unsafe fn capture(
        &self,
        cmd: vk::CommandBuffer,
        room: u32,
        [begin, end]: [bool; 2],
        draws: impl FnOnce(),
    ) {
        let (raw, functions) = (&self.program.raw, self.program.xfb());
        let (counter, zero, size) = (self.counter, 0, POINT * u64::from(room));
        unsafe {
            functions.bind_target(cmd, self.target, zero, size);
            attachment::begin_rendering(raw, cmd);
            let command = functions.cmd_begin_transform_feedback_ext;
            command(cmd, 0, begin.into(), &raw const counter, &raw const zero);
            draws();
            let command = functions.cmd_end_transform_feedback_ext;
            command(cmd, 0, end.into(), &raw const counter, &raw const zero);
            raw.cmd_end_rendering(cmd);
        }
    }

    /// Records a barrier that orders captures.
    ///
    /// # Safety
    /// As [`capture`](Self::capture).
    unsafe fn barrier(&self, cmd: vk::CommandBuffer) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let counts = Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT
            | Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT;
        let all = Access::TRANSFORM_FEEDBACK_WRITE_EXT | counts;
        let from = Stage::TRANSFORM_FEEDBACK_EXT;
        // Drivers read the counter where indirect commands are read.
        unsafe { self.program.barrier(cmd, (from, all), (from | Stage::DRAW_INDIRECT, all)) };
    }

    /// # Safety
    /// As [`capture`](Self::capture), in a pass.
    unsafe fn draw(&self, cmd: vk::CommandBuffer) {
        unsafe { self.program.raw.cmd_draw(cmd, POINTS, 1, 0, 0) };
    }

    /// Records a case.
    ///
    /// # Safety
    /// As [`capture`](Self::capture).
    unsafe fn record(&self, case: &Case, recording: &mut Recording<'_>) {
        let cmd = recording.cmd;
        unsafe {
            self.barrier(cmd);
            if case.is_inside {
                self.capture(cmd, case.room, [false; 2], || {
                    recording.between(case, None);
                    for draw in 0..DRAWS {
                        self.draw(cmd);
                        recording.between(case, Some(draw));
                    }
                });
                return;
            }
            recording.between(case, None);
            for draw in 0..DRAWS {
                self.capture(cmd, case.room, [draw > 0, true], || self.draw(cmd));
                self.barrier(cmd);
                recording.between(case, Some(draw));
            }
        }
    }
}

#[test]
fn queries_of_all_streams_count_beside_each_other() {
    if !has_streams() {
        return;
    }
    let captures = Captures::new();
    let cases = Case::all();
    let mut ended = Vec::new();
    let mut next = 0;
    // A case has at most three queries of stream 0, and one of each other stream.
    let count = cases.len() as u32 * (3 + STREAMS - 1);
    let ty = vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT;
    // Queries that no case uses end, too, so that all have results.
    let found = captures.query(ty, count, 2, |cmd, pool| {
        // SAFETY: the command buffer is being recorded.
        unsafe {
            for case in &cases {
                let active = [None; STREAMS as usize];
                let functions = captures.program.xfb();
                let (next, own) = (&mut next, Vec::new());
                let mut recording = Recording { functions, cmd, pool, next, active, ended: own };
                captures.record(case, &mut recording);
                assert_eq!(recording.active, active, "{case:?}");
                ended.push(recording.ended);
            }
            for query in next..count {
                captures.program.raw.cmd_begin_query(cmd, pool, query, Default::default());
                captures.program.raw.cmd_end_query(cmd, pool, query);
            }
        }
    });
    let mut wrong = Vec::new();
    for (case, ended) in cases.iter().zip(&ended) {
        for ended in ended {
            let at = ended.query as usize * 2;
            let (found, expected) = (&found[at..at + 2], case.expected(ended));
            if found != expected {
                let (stream, interval) = (ended.stream, ended.interval);
                wrong.push(format!(
                    "{case:?}: stream {stream}, draws {interval:?}: {found:?}, not {expected:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} queries: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
    captures.close();
}

/// The start of the line with the results.
const GENERATED: &str = "primitives generated: ";

/// The layer leaves queries of primitives that stream 0 generates to the driver if it has them.
#[test]
fn primitives_of_all_streams_are_generated() {
    if !has_streams() {
        return;
    }
    let captures = Captures::new();
    let ty = vk::QueryType::PRIMITIVES_GENERATED_EXT;
    let found = captures.query(ty, 2 * STREAMS + 2, 1, |cmd, pool| {
        // SAFETY: the command buffer is being recorded.
        unsafe {
            let flags = vk::QueryControlFlags::empty();
            for (query, stream) in (0..2 * STREAMS).map(|query| (query, query % STREAMS)) {
                let (begin, end) = (
                    captures.program.xfb().cmd_begin_query_indexed_ext,
                    captures.program.xfb().cmd_end_query_indexed_ext,
                );
                let info =
                    vk::RenderingInfo::default().render_area(attachment::area(1)).layer_count(1);
                begin(cmd, pool, query, flags, stream);
                // Two of them at once.
                let other = 2 * STREAMS + query / STREAMS;
                if stream == 1 {
                    begin(cmd, pool, other, flags, 0);
                }
                if query < STREAMS {
                    captures.program.raw.cmd_begin_rendering(cmd, &info);
                    captures.draw(cmd);
                    captures.program.raw.cmd_end_rendering(cmd);
                } else {
                    captures.barrier(cmd);
                    captures.capture(cmd, POINTS, [false; 2], || captures.draw(cmd));
                }
                if stream == 1 {
                    end(cmd, pool, other, 0);
                }
                end(cmd, pool, query, stream);
            }
        }
    });
    captures.close();
    eprintln!("{GENERATED}{found:?}");
    if layer::is_there() {
        return;
    }
    for variables in [&[][..], &[layer::COUNTS_GENERATED]] {
        let on_layer = layer::run_on_it(primitives_of_all_streams_are_generated, variables);
        let Some(said) = on_layer else { return };
        let layered = said.lines().find_map(|line| line.strip_prefix(GENERATED));
        assert_eq!(layered, Some(&*format!("{found:?}")), "{variables:?}");
    }
}

#[test]
fn queries_of_all_streams_count_beside_each_other_on_the_layer() {
    layer::run_on_it(queries_of_all_streams_count_beside_each_other, &[]);
}
