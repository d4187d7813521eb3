//! A case: the memory that it captures to, and the verdict after the capture.

use vkxfb::runtime::Draw;
use vkxfb_rewriter::capture::{MAX_STREAMS, MAX_XFB_BUFFERS};
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::diagnose::{
    CapturedBuffer, Expectation, Mismatch, diagnose, missing_step, trace, verdict_of_streams,
};
use crate::gpu::{CaptureResult, CaptureTarget, Gpu};
use crate::plan::CaseGroup;
use crate::report::ProbeReport;
use crate::run::error::BatchError;
use crate::run::record_table::{Expected, RecordTable};
use crate::sentinel;
use crate::shaders::{FIRST_INSTANCE, FIRST_VERTEX};
use crate::subject::range_size;

/// The size in bytes of each guard region, before and after a bound range.
pub(super) const GUARD: u64 = 256;

/// A number for each vertex stream.
pub(super) type ByStream = [u64; MAX_STREAMS as usize];

/// A case, with the memory that it captures to, and the number of primitives that it should write.
pub(super) struct Prepared {
    pub(super) draw: Draw,
    /// The number of vertices of an instance. In an indexed draw, the number of vertices that
    /// indices may select.
    pub(super) vertices: u32,
    pub(super) indices: Vec<u32>,
    /// For each vertex stream, the number of primitives of the draw that fit into the buffers of the stream.
    primitives_written: ByStream,
    /// The contents of the allocation of each capture buffer before the capture: guard region,
    /// bound range, guard region.
    allocations: [Option<Vec<u8>>; MAX_XFB_BUFFERS],
}

impl Prepared {
    /// Prepares a draw of a batch (draws that are submitted together). The batch must have been checked by
    /// [`CaseGroup::check`], so that sizes do not overflow.
    pub(super) fn new(group: &CaseGroup<'_>, table: &RecordTable, draw: (u32, u32)) -> Self {
        let overflowing = group.subject.overflowing_stream(draw.0, draw.1);
        let needed = std::array::from_fn(|stream| table.primitives(group, draw, stream as u32));
        Self::with_room(group, needed, overflowing, draw)
    }

    /// Prepares a draw that writes at most `primitives` primitives, all of which fit into the
    /// buffers.
    pub(super) fn of_at_most(group: &CaseGroup<'_>, primitives: u64, draw: (u32, u32)) -> Self {
        Self::with_room(group, [primitives; MAX_STREAMS as usize], None, draw)
    }

    fn with_room(
        group: &CaseGroup<'_>,
        needed: ByStream,
        overflowing: Option<u32>,
        (vertex_count, instance_count): (u32, u32),
    ) -> Self {
        let layout = &group.subject.layout;
        let per_primitive = group.subject.vertices_per_primitive(group.topology);
        let mut allocations = [const { None }; MAX_XFB_BUFFERS];
        let mut primitives_written = needed;
        for (buffer, stride) in layout.buffers() {
            let stream = layout.streams[buffer];
            let written = &mut primitives_written[stream as usize];
            let primitives = needed[stream as usize];
            let size = range_size(primitives, per_primitive * stride, overflowing == Some(stream));
            let bound = BoundBuffer { size, position: 0, stride };
            *written = bound.primitives_left(per_primitive).min(*written);
            let mut allocation = vec![0; (size + 2 * GUARD) as usize];
            sentinel::fill(buffer as u32, &mut allocation);
            allocations[buffer] = Some(allocation);
        }
        let draw = Draw {
            vertex_count,
            instance_count,
            first_vertex: FIRST_VERTEX,
            first_instance: FIRST_INSTANCE,
        };
        Self { draw, vertices: vertex_count, indices: Vec::new(), primitives_written, allocations }
    }

    pub(super) fn by_indices(mut self, indices: Vec<u32>) -> Self {
        self.draw.vertex_count = u32::try_from(indices.len()).unwrap_or(u32::MAX);
        self.indices = indices;
        self
    }

    /// The number of primitives that the draw writes to the buffers of a stream.
    pub(super) fn primitives(&self, stream: u32) -> u64 {
        self.primitives_written.get(stream as usize).copied().unwrap_or(0)
    }

    pub(super) fn targets(&self) -> [Option<CaptureTarget<'_>>; MAX_XFB_BUFFERS] {
        self.allocations.each_ref().map(|allocation| {
            allocation.as_deref().map(|initial| CaptureTarget {
                initial,
                offset: GUARD,
                size: initial.len() as u64 - 2 * GUARD,
            })
        })
    }

    /// Finds a step of the submission (a copy or the capture) that did nothing; see [`missing_step`]. `None` if each
    /// step had an effect.
    pub(super) fn missing_step(&self, buffers: &[Option<Vec<u8>>]) -> Option<Mismatch> {
        missing_step(self.primitives_written.iter().sum(), &captured(buffers, None))
    }

    /// Like [`missing_step`](Self::missing_step), but the draw may write no primitives, so a
    /// capture without effect is not a missing step.
    pub(super) fn missing_submission(&self, buffers: &[Option<Vec<u8>>]) -> Option<Mismatch> {
        missing_step(0, &captured(buffers, None))
    }

    /// Compares the bytes that were read back, for each vertex stream separately, and adds the
    /// verdict to the report.
    pub(super) fn judge(
        &self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        table: &RecordTable,
        result: &CaptureResult,
        specialized: bool,
        report: &mut ProbeReport,
    ) -> Result<(), BatchError> {
        let draw = (self.draw.vertex_count, self.draw.instance_count);
        let case = group.case(draw, specialized);
        let layout = &group.subject.layout;
        // Geometry shaders emit no fans, whatever they take.
        let emitted = match group.subject.geometry {
            None => group.topology,
            Some(_) => PrimitiveTopology::TriangleStrip,
        };
        let all_buffers = captured(&result.buffers, Some(&result.counters));
        let streams = layout.captured_streams();
        let mut verdicts = Vec::new();
        for &stream in &streams {
            let is_of_stream =
                |c: &&CapturedBuffer<'_>| layout.streams[c.buffer as usize] == stream;
            let captured: Vec<_> = all_buffers.iter().filter(is_of_stream).cloned().collect();
            let Expected { sequence, instance_count, records } = table.of(group, draw, stream);
            let expectation = Expectation {
                sequence,
                preserves_provoking_vertex: gpu.preserves_order(group.backend, emitted),
                instance_count,
                layout,
                records: records.each_ref().map(|r| &**r),
                undefined: group.subject.undefined(group.backend),
                primitives_written: self.primitives(stream),
            };
            verdicts.push((stream, diagnose(&expectation, &captured)?));
            let stream = (streams.len() > 1).then_some(stream);
            if report.wants_trace(group.backend, &case, stream) {
                let shown = case.pictured_primitives();
                let primitives = trace(&expectation, &captured, 0, 0, shown)?;
                report.trace(group.backend, &case, stream, primitives);
            }
        }
        report.record(group.backend, &case, verdict_of_streams(verdicts));
        Ok(())
    }
}

/// Combines the buffers that were read back with their bound ranges and counters.
fn captured<'a>(
    buffers: &'a [Option<Vec<u8>>],
    counters: Option<&[Option<u32>; MAX_XFB_BUFFERS]>,
) -> Vec<CapturedBuffer<'a>> {
    let buffers = (0u32..).zip(buffers);
    let bound = |bytes: &[u8]| GUARD..bytes.len() as u64 - GUARD;
    buffers
        .filter_map(|(buffer, bytes)| Some((buffer, bytes.as_deref()?)))
        .map(|(buffer, bytes)| CapturedBuffer {
            buffer,
            bytes,
            bound: bound(bytes),
            position: 0,
            counter: counters.and_then(|counters| counters.get(buffer as usize).copied().flatten()),
        })
        .collect()
}
