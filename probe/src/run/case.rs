//! One case: its memory before the capture, and its verdict after.

use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::counts::{BoundBuffer, DrawCounts};
use vkxfb::lower::Backend;
use vkxfb::runtime::Draw;
use vkxfb::topology::PrimitiveTopology;

use crate::diagnose::{CapturedBuffer, Expectation, Mismatch, diagnose, missing_step, trace};
use crate::gpu::{CaptureTarget, Gpu};
use crate::plan::CaseGroup;
use crate::report::ProbeReport;
use crate::sentinel;
use crate::subject::{FIRST_INSTANCE, FIRST_VERTEX};

use super::reference::RecordTable;
use super::{BatchError, case_of};

/// The size in bytes of each guard, before and after a bound range.
pub(super) const GUARD: u64 = 256;

/// A case, and the memory that it captures to.
pub(super) struct Prepared {
    pub(super) draw: Draw,
    primitives_written: u64,
    /// The allocation of each capture buffer: guard, bound range, guard.
    allocations: [Option<Vec<u8>>; MAX_XFB_BUFFERS],
}

impl Prepared {
    /// The batch must have been checked by [`CaseGroup::check`], so that the sizes do not overflow.
    pub(super) fn new(group: &CaseGroup<'_>, vertex_count: u32, instance_count: u32) -> Self {
        let primitives = group.topology.primitive_count(vertex_count) * u64::from(instance_count);
        let per_primitive = group.topology.vertices_per_primitive();
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
        let counts = DrawCounts::new(group.topology, vertex_count, instance_count, bound);
        let draw = Draw {
            vertex_count,
            instance_count,
            first_vertex: FIRST_VERTEX,
            first_instance: FIRST_INSTANCE,
        };
        Self { draw, primitives_written: counts.primitives_written, allocations }
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
        missing_step(self.primitives_written, &captured(buffers))
    }

    /// Records the verdict on what was read back.
    pub(super) fn judge(
        &self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        table: &RecordTable,
        buffers: &[Option<Vec<u8>>],
        specialized: bool,
        report: &mut ProbeReport,
    ) -> Result<(), BatchError> {
        let Draw { vertex_count, instance_count, .. } = self.draw;
        let case = case_of(group, vertex_count, instance_count, specialized);
        let records = table.of(vertex_count, instance_count);
        let captured = captured(buffers);
        let expectation = Expectation {
            topology: group.topology,
            provoking: group.provoking,
            preserves_provoking_vertex: preserves_provoking_vertex(gpu, group),
            vertex_count,
            instance_count,
            layout: &group.subject.layout,
            records: records.each_ref().map(|r| &**r),
            undefined: group.subject.undefined(group.backend),
            primitives_written: self.primitives_written,
        };
        report.record(group.backend, &case, diagnose(&expectation, &captured)?);
        if report.wants_trace(group.backend, &case) {
            let all = group.topology.primitive_count(vertex_count) as usize;
            let primitives = trace(&expectation, &captured, 0, 0, all)?;
            report.trace(group.backend, &case, primitives);
        }
        Ok(())
    }
}

/// The buffers of a case that were read back.
fn captured(buffers: &[Option<Vec<u8>>]) -> Vec<CapturedBuffer<'_>> {
    let buffers = (0u32..).zip(buffers);
    let bound = |bytes: &[u8]| GUARD..bytes.len() as u64 - GUARD;
    buffers
        .filter_map(|(buffer, bytes)| Some((buffer, bytes.as_deref()?)))
        .map(|(buffer, bytes)| CapturedBuffer {
            buffer,
            bytes,
            bound: bound(bytes),
            position: 0,
            counter: None,
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
    let is_fan = group.topology == PrimitiveTopology::TriangleFan;
    group.backend != Backend::Native
        || (gpu.context().enabled().preserve_provoking_vertex && (fans || !is_fan))
}
