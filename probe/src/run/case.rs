//! One case: its memory before the capture, and its verdict after.

use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::counts::BoundBuffer;
use vkxfb::lower::Backend;
use vkxfb::runtime::Draw;
use vkxfb::topology::PrimitiveTopology;

use crate::diagnose::{CapturedBuffer, Expectation, Mismatch, diagnose, missing_step, trace};
use crate::gpu::{CaptureResult, CaptureTarget, Gpu};
use crate::plan::CaseGroup;
use crate::report::ProbeReport;
use crate::sentinel;
use crate::subject::{FIRST_INSTANCE, FIRST_VERTEX};

use super::reference::{Expected, RecordTable};
use super::{BatchError, case_of};

/// The size in bytes of each guard, before and after a bound range.
pub(super) const GUARD: u64 = 256;

/// A case, and the memory that it captures to.
pub(super) struct Prepared {
    pub(super) draw: Draw,
    /// The vertices of an instance: where there are indices, those that they choose from.
    pub(super) vertices: u32,
    pub(super) indices: Vec<u32>,
    primitives_written: u64,
    /// The allocation of each capture buffer: guard, bound range, guard.
    allocations: [Option<Vec<u8>>; MAX_XFB_BUFFERS],
}

impl Prepared {
    /// A draw that writes so many primitives in all. The batch must have been checked by [`CaseGroup::check`], so that
    /// the sizes do not overflow.
    pub(super) fn new(
        group: &CaseGroup<'_>,
        primitives: u64,
        (vertex_count, instance_count): (u32, u32),
    ) -> Self {
        let per_primitive = group.subject.vertices_per_primitive(group.topology);
        let mut allocations = [const { None }; MAX_XFB_BUFFERS];
        let mut bound = Vec::new();
        for (buffer, stride) in group.subject.layout.buffers() {
            // Room for one more primitive, which must not be written.
            let size = (primitives + 1) * u64::from(per_primitive) * u64::from(stride);
            let mut allocation = vec![0; (size + 2 * GUARD) as usize];
            sentinel::fill(buffer as u32, &mut allocation);
            allocations[buffer] = Some(allocation);
            bound.push(BoundBuffer { size, position: 0, stride });
        }
        let room = bound.iter().map(|buffer| buffer.primitives_left(per_primitive)).min();
        let draw = Draw {
            vertex_count,
            instance_count,
            first_vertex: FIRST_VERTEX,
            first_instance: FIRST_INSTANCE,
        };
        Self {
            draw,
            vertices: vertex_count,
            indices: Vec::new(),
            primitives_written: primitives.min(room.unwrap_or(primitives)),
            allocations,
        }
    }

    /// The same draw of the vertices that indices choose.
    pub(super) fn by_indices(mut self, indices: Vec<u32>) -> Self {
        self.draw.vertex_count = u32::try_from(indices.len()).unwrap_or(u32::MAX);
        self.indices = indices;
        self
    }

    /// Primitives that it writes.
    pub(super) const fn primitives(&self) -> u64 {
        self.primitives_written
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

    /// Finds a step that did nothing.
    pub(super) fn missing_step(&self, buffers: &[Option<Vec<u8>>]) -> Option<Mismatch> {
        missing_step(self.primitives_written, &captured(buffers, None))
    }

    /// The same, where it is not known whether anything is written.
    pub(super) fn missing_submission(&self, buffers: &[Option<Vec<u8>>]) -> Option<Mismatch> {
        missing_step(0, &captured(buffers, None))
    }

    /// Records the verdict on what was read back.
    pub(super) fn judge(
        &self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        table: &RecordTable,
        result: &CaptureResult,
        specialized: bool,
        report: &mut ProbeReport,
    ) -> Result<(), BatchError> {
        let Draw { vertex_count, instance_count, .. } = self.draw;
        let case = case_of(group, vertex_count, instance_count, specialized);
        let Expected { sequence, instance_count: instances, records } =
            table.of(group, (vertex_count, instance_count));
        let captured = captured(&result.buffers, Some(&result.counters));
        let expectation = Expectation {
            sequence,
            preserves_provoking_vertex: preserves_provoking_vertex(gpu, group),
            instance_count: instances,
            layout: &group.subject.layout,
            records: records.each_ref().map(|r| &**r),
            undefined: group.subject.undefined(group.backend),
            primitives_written: self.primitives_written,
        };
        report.record(group.backend, &case, diagnose(&expectation, &captured)?);
        if report.wants_trace(group.backend, &case) {
            let shown = case.pictured_primitives();
            let primitives = trace(&expectation, &captured, 0, 0, shown)?;
            report.trace(group.backend, &case, primitives);
        }
        Ok(())
    }
}

/// The buffers of a case that were read back, and their counters.
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

/// Whether the order within a primitive is promised.
fn preserves_provoking_vertex(gpu: &Gpu, group: &CaseGroup<'_>) -> bool {
    let fans = gpu
        .capabilities()
        .provoking_vertex
        .as_ref()
        .is_some_and(|support| support.triangle_fan_preserved);
    // No geometry shader emits fans.
    let is_fan =
        group.topology == PrimitiveTopology::TriangleFan && group.subject.geometry.is_none();
    group.backend != Backend::Native
        || (gpu.context().enabled().preserve_provoking_vertex && (fans || !is_fan))
}
