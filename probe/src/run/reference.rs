//! The reference for the captures of a batch: the records that the shader writes for each vertex.

use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::lower::Backend;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use crate::gpu::Gpu;
use crate::plan::CaseGroup;
use crate::records::{Records, compare};
use crate::report::ProbeReport;

use super::case::{GUARD, Prepared};
use super::{BatchError, Shaded, capture, make_pipeline};

/// The records of a shader for each vertex of the largest draw of a batch.
pub(super) struct RecordTable {
    vertices: u32,
    instances: u32,
    strides: [Option<u32>; MAX_XFB_BUFFERS],
    records: [Vec<u8>; MAX_XFB_BUFFERS],
}

impl RecordTable {
    /// The records of a smaller draw.
    pub(super) fn of(
        &self,
        vertices: u32,
        instances: u32,
    ) -> [std::borrow::Cow<'_, [u8]>; MAX_XFB_BUFFERS] {
        std::array::from_fn(|buffer| {
            let all = &self.records[buffer];
            if (vertices, instances) == (self.vertices, self.instances) {
                return all.as_slice().into();
            }
            let stride = self.strides[buffer].unwrap_or(0) as usize;
            let per_instance = self.vertices as usize * stride;
            let taken = vertices as usize * stride;
            (0..instances as usize)
                .flat_map(|i| &all[i * per_instance..i * per_instance + taken])
                .copied()
                .collect::<Vec<u8>>()
                .into()
        })
    }
}

/// A shader, and the vertices and instances of the largest draw of a batch.
type BatchName = (String, u32, u32);

/// The records of shaders from files as the first backend captured them.
#[derive(Default)]
pub(super) struct References {
    first: Vec<(BatchName, Backend, [Vec<u8>; MAX_XFB_BUFFERS])>,
}

impl References {
    /// The records of a group's shader.
    pub(super) fn table(
        &mut self,
        gpu: &mut Gpu,
        group: &CaseGroup<'_>,
        shader: &Shaded<'_>,
        vertices: u32,
        instances: u32,
        report: &mut ProbeReport,
    ) -> Result<RecordTable, BatchError> {
        let strides = group.subject.layout.strides;
        if group.subject.has_formulas() {
            let records = std::array::from_fn(|buffer| {
                group.subject.records(buffer, vertices, instances).unwrap_or_default()
            });
            return Ok(RecordTable { vertices, instances, strides, records });
        }
        // One topology for all backends, with the provoking vertex convention that keeps the order
        // on every device.
        let (provoking, topology) = match group.subject.writes_point_size() {
            true => (group.provoking, PrimitiveTopology::PointList),
            false => (ProvokingVertex::First, PrimitiveTopology::LineList),
        };
        let vertices = vertices.next_multiple_of(topology.vertices_per_primitive());
        let list = CaseGroup { topology, provoking, ..*group };
        let pipeline = make_pipeline(gpu, &list, shader, list.topology, false)?;
        let prepared = [Prepared::new(&list, vertices, instances)];
        let captured = capture(gpu, &pipeline, shader, group.subject, list.topology, &prepared);
        gpu.destroy_pipeline(pipeline);
        let mut buffers = captured?.pop().unwrap_or_default();
        // If a step did nothing, there is no capture that could be a reference.
        let [prepared] = prepared;
        if let Some(mismatch) = prepared.missing_step(&buffers) {
            return Err(BatchError::MissingStep(Box::new(mismatch)));
        }
        buffers.resize(MAX_XFB_BUFFERS, None);
        let mut buffers = buffers.into_iter();
        let records: [Vec<u8>; MAX_XFB_BUFFERS] = std::array::from_fn(|buffer| {
            let bytes = buffers.next().flatten().unwrap_or_default();
            let stride = strides[buffer].unwrap_or(0) as usize;
            let size = stride * vertices as usize * instances as usize;
            bytes.get(GUARD as usize..GUARD as usize + size).unwrap_or_default().to_vec()
        });
        let name = &group.subject.name;
        let batch = (name.clone(), vertices, instances);
        match self.first.iter().find(|(first, ..)| *first == batch) {
            None => self.first.push((batch, group.backend, records.clone())),
            Some((_, first, reference)) => {
                let differences = compare(
                    group.subject,
                    &Records { backend: group.backend, buffers: &records },
                    &Records { backend: *first, buffers: reference },
                )
                .map_err(|differ| BatchError::Records { differ, first: *first })?;
                for difference in differences.notes() {
                    report.note(format!("{name}: {} and {first} {difference}", group.backend));
                }
            }
        }
        Ok(RecordTable { vertices, instances, strides, records })
    }
}
