//! Determines the contents that the captures of a batch should have: the records of all vertices, and the vertices of
//! all primitives. For a shader from a file, the expected records are *reference records*: each backend captures them
//! with a list topology before it captures the draws of the batch.

use std::collections::BTreeMap;

use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::diagnose::{Fault, Mismatch};
use crate::emission::Emission;
use crate::gpu::Gpu;
use crate::plan::CaseGroup;
use crate::records::{Differences, Records, compare};
use crate::report::ProbeReport;
use crate::run::case::{GUARD, Prepared};
use crate::run::error::BatchError;
use crate::run::pipelines::{BoundShader, PipelineCache, capture};
use crate::run::record_table::{
    Buffers, DrawSize, RecordTable, Strides, TableRecords, first_of_instances,
};

/// Identifies reference records by the shaders and by the numbers of vertices and instances. Reference records of
/// geometry shaders are also identified by the topology, the provoking vertex and the vertex stream.
type ReferenceKey = (String, Option<(String, PrimitiveTopology, ProvokingVertex, u32)>, DrawSize);

/// The reference records (those that captures are compared with) of shaders from files, as the first backend captured
/// them.
#[derive(Default)]
pub(super) struct References {
    first: Vec<FirstCapture>,
}

/// The reference records (those that captures are compared with) of a draw, as the first backend captured them.
struct FirstCapture {
    key: ReferenceKey,
    backend: Backend,
    records: Buffers,
    /// The topologies and provoking vertices with which `backend` captured the records. Records of another backend are
    /// compared only for these: for other topologies and provoking vertices, the command that repeats a case would
    /// capture no records on `backend` to compare with.
    groups: Vec<(PrimitiveTopology, ProvokingVertex)>,
}

impl References {
    /// Returns the records and primitives that the draws of a batch should write. For a shader from a file,
    /// captures reference records, and compares them with those of the first backend.
    pub(super) fn table(
        &mut self,
        gpu: &mut Gpu,
        group: &CaseGroup<'_>,
        shader: &BoundShader<'_>,
        cache: &mut PipelineCache,
        draws: &[DrawSize],
        report: &mut ProbeReport,
    ) -> Result<RecordTable, BatchError> {
        match group.subject.geometry {
            None => self.of_vertices(gpu, group, shader, cache, draws, report),
            Some(_) => self.of_emitted(gpu, group, shader, cache, draws, report),
        }
    }

    fn of_vertices(
        &mut self,
        gpu: &mut Gpu,
        group: &CaseGroup<'_>,
        shader: &BoundShader<'_>,
        cache: &mut PipelineCache,
        draws: &[DrawSize],
        report: &mut ProbeReport,
    ) -> Result<RecordTable, BatchError> {
        let strides = group.subject.layout.strides;
        if group.subject.has_formulas() {
            let max = |f: fn(&DrawSize) -> u32| draws.iter().map(f).max().unwrap_or(0);
            let (vertices, instances) = (max(|b| b.0), max(|b| b.1));
            let records = std::array::from_fn(|buffer| {
                group.subject.records(buffer, vertices, instances).unwrap_or_default()
            });
            return Ok(TableRecords::Formulas { vertices, instances, strides, records }.into());
        }
        // All backends draw the shader with the same list topology: as points or, if that is not
        // possible, as lines with the provoking vertex for which all devices keep the order of
        // vertices.
        let (provoking, topology) = if group.subject.may_take_points() {
            (group.provoking, PrimitiveTopology::PointList)
        } else {
            (ProvokingVertex::First, PrimitiveTopology::LineList)
        };
        let listed = |vertices: u32| vertices.next_multiple_of(topology.vertices_per_primitive());
        let list = CaseGroup { topology, provoking, ..*group };
        let prepare = |&(vertices, instances): &DrawSize| {
            let vertices = listed(vertices);
            let primitives = topology.primitive_count(vertices) * u64::from(instances);
            Prepared::of_at_most(&list, primitives, (vertices, instances))
        };
        let prepared: Vec<_> = draws.iter().map(prepare).collect();
        let pipeline = cache.pipeline(gpu, &list, shader, false)?;
        let captured = capture(gpu, pipeline, shader, &list, &prepared)?;
        let mut differences = Differences::default();
        let (mut found, mut faults) = (BTreeMap::new(), BTreeMap::new());
        for ((&draw, prepared), captured) in draws.iter().zip(&prepared).zip(captured) {
            // If a step of the submission had no effect, the memory does not contain reference records, those that
            // captures are compared with.
            if let Some(mismatch) = prepared.missing_step(&captured.buffers) {
                faults.insert(draw, BatchError::MissingStep(Box::new(mismatch)));
                continue;
            }
            let (vertices, instances) = draw;
            let all = listed(vertices);
            let records =
                first_records(&strides, &captured.buffers, u64::from(all) * u64::from(instances));
            let records = std::array::from_fn(|buffer| {
                first_of_instances(&records[buffer], strides[buffer].unwrap_or(0), all, draw)
            });
            let key = (group.subject.name.clone(), None, draw);
            match self.compare(key, group, &records) {
                Ok(of_draw) => differences.add(of_draw),
                Err(error) => {
                    faults.insert(draw, error);
                    continue;
                }
            }
            found.insert(draw, records);
        }
        self.note(group, &differences, report);
        Ok(RecordTable { records: TableRecords::Captured(found), faults })
    }

    /// Returns the vertices and primitives that a geometry shader emits for each draw. For a shader from a file, they
    /// are captured from a draw of a list topology, whose index buffer contains the vertices of each primitive
    /// according to the model. So the result does not depend on how the device assembles strips and fans.
    fn of_emitted(
        &mut self,
        gpu: &mut Gpu,
        group: &CaseGroup<'_>,
        shader: &BoundShader<'_>,
        cache: &mut PipelineCache,
        draws: &[DrawSize],
        report: &mut ProbeReport,
    ) -> Result<RecordTable, BatchError> {
        let CaseGroup { subject, topology, provoking, .. } = *group;
        let mut emitted = BTreeMap::new();
        for &draw in draws {
            let known = subject.emission(topology, provoking, draw.0, draw.1);
            for (stream, mut emission) in known.into_iter().flatten() {
                // The order in which the library's own tessellator divides patches is known, and that of drivers is
                // not.
                if group.backend == Backend::Compute {
                    emission.patches.clear();
                }
                emitted.insert((draw, stream), emission);
            }
        }
        if !emitted.is_empty() {
            return Ok(TableRecords::Emitted(emitted).into());
        }
        let list = CaseGroup { topology: list_of(topology), ..*group };
        let prepared: Vec<_> = draws
            .iter()
            .map(|(vertices, instances)| {
                let most = subject.most_primitives(topology, *vertices) * u64::from(*instances);
                let indices = assembled(topology, provoking, *vertices);
                Prepared::of_at_most(&list, most, (*vertices, *instances)).by_indices(indices)
            })
            .collect();
        let pipeline = cache.pipeline(gpu, &list, shader, false)?;
        let captured = capture(gpu, pipeline, shader, &list, &prepared)?;
        let vertices_per_primitive = subject.vertices_per_primitive(topology);
        let mut differences = Differences::default();
        let mut faults = BTreeMap::new();
        for ((&draw, prepared), captured) in draws.iter().zip(&prepared).zip(captured) {
            let mut of_stream = |stream: u32| -> Result<Emission, BatchError> {
                let missing = |mismatch| BatchError::MissingStep(Box::new(mismatch));
                if let Some(mismatch) = prepared.missing_submission(&captured.buffers) {
                    return Err(missing(mismatch));
                }
                let strides = subject.layout.clone().of_stream(stream).strides;
                let primitives = counted(&strides, &captured.counters, vertices_per_primitive)
                    .filter(|primitives| *primitives <= prepared.primitives(stream))
                    .ok_or_else(|| {
                        let step = prepared.missing_step(&captured.buffers);
                        missing(step.unwrap_or_else(|| wrong_counters(&captured.counters)))
                    })?;
                let records = primitives * u64::from(vertices_per_primitive);
                let records = first_records(&strides, &captured.buffers, records);
                let name = subject.captured_name().to_owned();
                let geometry = Some((name, topology, provoking, stream));
                let key = (subject.name.clone(), geometry, draw);
                differences.add(self.compare(key, group, &records)?);
                let primitives = u32::try_from(primitives).unwrap_or(u32::MAX);
                Ok(Emission::listed(vertices_per_primitive, primitives, records))
            };
            for stream in subject.layout.captured_streams() {
                match of_stream(stream) {
                    Ok(emission) => drop(emitted.insert((draw, stream), emission)),
                    Err(error) => {
                        faults.insert(draw, error);
                        break;
                    }
                }
            }
        }
        self.note(group, &differences, report);
        Ok(RecordTable { records: TableRecords::Emitted(emitted), faults })
    }

    /// Keeps the records if this backend is the first that captured them. Otherwise compares them with the records of
    /// the first backend, if that backend captured them with the same topology and provoking vertex.
    fn compare(
        &mut self,
        key: ReferenceKey,
        group: &CaseGroup<'_>,
        records: &Buffers,
    ) -> Result<Differences, BatchError> {
        let in_group = (group.topology, group.provoking);
        let Some(first) = self.first.iter_mut().find(|first| first.key == key) else {
            let (backend, records) = (group.backend, records.clone());
            self.first.push(FirstCapture { key, backend, records, groups: vec![in_group] });
            return Ok(Differences::default());
        };
        if first.backend == group.backend {
            first.groups.push(in_group);
            return Ok(Differences::default());
        }
        if !first.groups.contains(&in_group) {
            return Ok(Differences::default());
        }
        compare(
            group.subject,
            &Records { backend: group.backend, buffers: records },
            &Records { backend: first.backend, buffers: &first.records },
        )
        .map_err(|differ| BatchError::Records { differ, first: first.backend })
    }

    /// Adds remarks to the report about allowed differences from the records of the first backend.
    fn note(&self, group: &CaseGroup<'_>, differences: &Differences, report: &mut ProbeReport) {
        let is_of = |first: &&FirstCapture| first.key.0 == group.subject.name;
        let Some(first) = self.first.iter().find(is_of) else { return };
        let (captured, backend) = (group.subject.captured_name(), first.backend);
        for difference in differences.notes() {
            report.note(format!("{captured}: {} and {backend} {difference}", group.backend));
        }
    }
}

/// Returns the first `records` records of each buffer.
fn first_records(strides: &Strides, buffers: &[Option<Vec<u8>>], records: u64) -> Buffers {
    std::array::from_fn(|buffer| {
        let bytes = buffers.get(buffer).and_then(Option::as_deref).unwrap_or_default();
        let size = strides[buffer].unwrap_or(0) as usize * records as usize;
        bytes.get(GUARD as usize..GUARD as usize + size).unwrap_or_default().to_vec()
    })
}

/// Returns the list topology that has the same kind of primitives.
const fn list_of(topology: PrimitiveTopology) -> PrimitiveTopology {
    use PrimitiveTopology as T;
    match topology.input_vertices() {
        1 => T::PointList,
        2 => T::LineList,
        3 => T::TriangleList,
        4 => T::LineListWithAdjacency,
        _ => T::TriangleListWithAdjacency,
    }
}

/// Returns the input vertices of a geometry shader for each primitive of an instance, one primitive
/// after the other.
fn assembled(
    topology: PrimitiveTopology,
    provoking: ProvokingVertex,
    vertex_count: u32,
) -> Vec<u32> {
    let primitives = topology.primitive_count(vertex_count);
    let of_primitive = |primitive| {
        let vertex = move |slot| topology.assemble(provoking, primitives, primitive, slot) as u32;
        (0..topology.input_vertices()).map(vertex)
    };
    (0..primitives).flat_map(of_primitive).collect()
}

/// Returns the number of captured primitives according to the counters. `None` if the counters contradict each other,
/// if one is not a multiple of the size of a primitive, or if there are none.
fn counted(
    strides: &Strides,
    counters: &[Option<u32>; MAX_XFB_BUFFERS],
    vertices_per_primitive: u32,
) -> Option<u64> {
    let mut counted = None;
    for (stride, counter) in strides.iter().zip(counters) {
        let (Some(stride), Some(counter)) = (stride, counter) else { continue };
        let bytes = u64::from(*stride) * u64::from(vertices_per_primitive);
        let primitives = u64::from(*counter).checked_div(bytes)?;
        let is_same = counted.is_none_or(|other| other == primitives);
        if primitives * bytes != u64::from(*counter) || !is_same {
            return None;
        }
        counted = Some(primitives);
    }
    counted
}

/// Makes the mismatch for a capture of reference records whose counters contradict each other, or are not multiples of
/// the size of a primitive.
fn wrong_counters(counters: &[Option<u32>; MAX_XFB_BUFFERS]) -> Mismatch {
    let (buffer, counter) =
        (0..).zip(counters).find_map(|(b, counter)| Some((b, (*counter)?))).unwrap_or((0, 0));
    let counters: Vec<_> = counters.iter().flatten().map(u32::to_string).collect();
    let note = format!(
        "a list of the same primitives was captured first, and its counters, {}, are no number of primitives",
        counters.join(", ")
    );
    Mismatch::of_no_primitive(Fault::WrongCounter, buffer, counter.into(), note)
}
