//! The plan of a probe: the combinations of backends, shaders, provoking vertices and topologies
//! that it captures, and the draws of each combination.

#![forbid(unsafe_code)]

use std::time::Duration;

use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;
use vkxfb_rewriter::lower::{Backend, compute};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::case::Case;
use crate::diagnose::Sequence;
use crate::row::Row;
use crate::shaders::{ProbeGeometry, ProbeShader};
use crate::subject::{Subject, SubjectError};
use crate::trial::Rate;

/// The vertex counts of the full plan. The counts up to 13 contain every way in which the last primitive can
/// be incomplete, and two odd and two even primitives of every strip. 1000 vertices need several workgroups.
/// All counts of a quick run are in this list, so that a full run has all cases of a quick run.
const VERTEX_COUNTS: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 70, 1000];
/// The vertex counts of a quick run, and of draws with the probe's geometry shaders. With three
/// instances, 70 vertices need several workgroups.
const QUICK_VERTEX_COUNTS: [u32; 7] = [0, 3, 7, 8, 9, 12, 70];
/// The instance counts: one, and an odd number of several instances.
const INSTANCE_COUNTS: [u32; 2] = [1, 3];

/// The topologies of the large draws, which need more workgroups than the limit of one axis of a dispatch.
const LARGE_TOPOLOGIES: [PrimitiveTopology; 2] =
    [PrimitiveTopology::TriangleList, PrimitiveTopology::TriangleStrip];

/// The maximum size in bytes of one batch (the draws that are submitted together): of its expected records, captured
/// records and vertex data. The large draws need almost this many bytes. Several copies of a batch are in memory at a
/// time: see [`batch_bytes_within`].
pub const MAX_BATCH_BYTES: u64 = 1 << 30;

/// The number of copies of a batch that are in memory at a time, on the host and on the device: initial contents,
/// capture buffers, readback memory and expected records. This number was measured and rounded up.
const COPIES: u64 = 5;

/// Returns the maximum size in bytes of a batch (draws that are submitted together) that fits into `memory` bytes with
/// all its copies. It is at most [`MAX_BATCH_BYTES`].
pub const fn batch_bytes_within(memory: u64) -> u64 {
    let bytes = memory / COPIES;
    if bytes < MAX_BATCH_BYTES { bytes } else { MAX_BATCH_BYTES }
}

/// The draws of a batch, which are submitted together, would need too much memory, or their size overflows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "draws of {vertex_count} vertices x {instance_count} instances with topology {topology} and shader {shader} take \
     {bytes} bytes, of which several copies are in memory: the limit is {limit}"
)]
pub struct BatchTooLarge {
    /// The name of the shader.
    pub shader: String,
    /// The topology of the draws.
    pub topology: PrimitiveTopology,
    /// The maximum number of vertices of an instance.
    pub vertex_count: u32,
    /// The maximum number of instances.
    pub instance_count: u32,
    /// The size in bytes of the batch; saturates at `u64::MAX`.
    pub bytes: u64,
    /// The maximum size in bytes of a batch.
    pub limit: u64,
}

/// The captures of a probe run: all possible combinations of the values in these fields.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The backends that capture.
    pub backends: Vec<Backend>,
    /// The shaders under test.
    pub subjects: Vec<Subject>,
    /// The provoking vertices for which pipelines are created.
    pub provoking: Vec<ProvokingVertex>,
    /// The topologies.
    pub topologies: Vec<PrimitiveTopology>,
    /// The numbers of vertices of an instance.
    pub vertex_counts: Vec<u32>,
    /// The numbers of vertices of an instance, for draws with one of the probe's own geometry
    /// shaders.
    pub geometry_vertex_counts: Vec<u32>,
    /// The numbers of instances of a draw.
    pub instance_counts: Vec<u32>,
    /// The number of vertices of the large draws, which need more workgroups than the limit of one axis of a dispatch.
    /// Only the first shader captures them, and only if it is one of the probe's own vertex shaders. `None` for no
    /// large draws.
    pub large: Option<u32>,
    /// The backends for which the large draws are left out because they take too long.
    pub slow: Vec<Backend>,
    /// The maximum size in bytes of a capture buffer of the compute backend:
    /// [`Context::max_capture_buffer`](vkxfb::runtime::Context::max_capture_buffer). Large draws
    /// that need a larger buffer are left out.
    pub max_capture_buffer: u64,
    /// The maximum size of a batch in bytes: [`batch_bytes_within`]. The draws are divided into batches of at most this
    /// size. Large draws that exceed it are left out. For other draws that exceed it, [`check`](Self::check) fails.
    pub max_batch_bytes: u64,
    /// Whether the run stops after the first batch (draws that are submitted together) with a case that is wrong or
    /// could not run.
    pub fail_fast: bool,
}

/// Draws that are submitted together. All belong to one group: they have the same backend, shaders, provoking vertex
/// and topology.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    /// The cases to which the draws belong.
    pub group: CaseGroup<'a>,
    /// The numbers of vertices and of instances of each draw.
    pub draws: Vec<(u32, u32)>,
}

/// The cases with the same backend, shader, provoking vertex and topology. A case is a draw that is
/// captured with one pipeline.
#[derive(Debug, Clone, Copy)]
pub struct CaseGroup<'a> {
    /// The backend that captures.
    pub backend: Backend,
    /// The shader under test.
    pub subject: &'a Subject,
    /// The provoking vertex.
    pub provoking: ProvokingVertex,
    /// The topology.
    pub topology: PrimitiveTopology,
    /// The maximum size of a batch in bytes: [`Plan::max_batch_bytes`].
    pub max_batch_bytes: u64,
}

impl CaseGroup<'_> {
    /// The row of the report's table for the cases of this group.
    pub const fn row(&self) -> Row {
        Row { stage: self.subject.captured_stage(), topology: self.topology }
    }

    /// Returns the case of a draw, which is given by its numbers of vertices and instances.
    /// `specialized` says whether the topology is compiled into the pipeline.
    pub fn case(&self, (vertex_count, instance_count): (u32, u32), specialized: bool) -> Case {
        Case {
            shader: self.subject.name.clone(),
            geometry: self.subject.geometry.as_ref().map(|geometry| geometry.name.clone()),
            stage: self.subject.captured_stage(),
            topology: self.topology,
            provoking: self.provoking,
            vertex_count,
            instance_count,
            specialized,
        }
    }

    /// Returns the primitives that are assembled from an instance with this many vertices.
    pub const fn assembled(&self, vertex_count: u32) -> Sequence<'static> {
        let (topology, provoking) = (self.topology, self.provoking);
        Sequence::Assembled { topology, provoking, vertex_count }
    }

    /// Checks that the size of a batch (draws that are submitted together) is within the limit, before any memory is
    /// allocated for it. The draws are given as their numbers of vertices and instances.
    ///
    /// # Errors
    /// [`BatchTooLarge`]
    pub fn check(&self, batch: &[(u32, u32)]) -> Result<(), BatchTooLarge> {
        let (bytes, limit) = (self.bytes(batch), self.max_batch_bytes);
        if bytes <= limit {
            return Ok(());
        }
        let max = |f: fn(&(u32, u32)) -> u32| batch.iter().map(f).max().unwrap_or(0);
        let (vertex_count, instance_count) = (max(|b| b.0), max(|b| b.1));
        let (shader, topology) = (self.subject.name.clone(), self.topology);
        Err(BatchTooLarge { shader, topology, vertex_count, instance_count, bytes, limit })
    }

    /// Returns the size in bytes of a batch (draws that are submitted together): of its expected records, captured
    /// records and vertex data. Saturates at `u64::MAX`.
    fn bytes(&self, batch: &[(u32, u32)]) -> u64 {
        let max = |f: fn(&(u32, u32)) -> u32| batch.iter().map(f).max().unwrap_or(0);
        let (vertex_count, instance_count) = (max(|b| b.0), max(|b| b.1));
        let strides: u64 = self.subject.layout.buffers().map(|(_, stride)| u64::from(stride)).sum();
        let inputs: u64 =
            self.subject.vertex_input.bindings.iter().map(|b| u64::from(b.stride)).sum();
        // Instances without vertices count as if they had one vertex, because devices and drivers iterate over these
        // instances. Draws without instances count as if they had one instance.
        let vertices = |vertices: u32, instances: u32| {
            u64::from(vertices.max(1)).saturating_mul(u64::from(instances.max(1)))
        };
        let per_primitive = u64::from(self.subject.vertices_per_primitive(self.topology));
        // The probe's own shaders emit each vertex to only one stream. Other shaders may emit all
        // vertices to each stream, and the buffers for the reference records must be large enough
        // for that.
        let captured_strides = if self.subject.has_formulas() && self.subject.stream_count() > 1 {
            self.subject.layout.strides.iter().flatten().max().map_or(0, |s| u64::from(*s))
        } else {
            strides
        };
        let captures = batch.iter().map(|&(v, i)| {
            let captured = (self.subject.most_primitives(self.topology, v).saturating_add(1))
                .saturating_mul(i.max(1).into())
                .saturating_mul(per_primitive);
            let inputs = inputs.saturating_mul(u64::from(v.max(i)));
            captured.saturating_mul(captured_strides).saturating_add(inputs)
        });
        // For a shader from a file, reference records (those that the captures are compared with) are captured for each
        // draw. For the probe's own shaders, formulas compute the records of the largest draw, which contain those of
        // the smaller draws.
        let records = if self.subject.has_formulas() {
            vertices(vertex_count, instance_count)
        } else {
            batch.iter().fold(0, |all: u64, &(v, i)| all.saturating_add(vertices(v, i)))
        };
        let records = records.saturating_mul(strides.max(4));
        captures.fold(records, u64::saturating_add)
    }

    /// Splits draws, in order, into batches that are within the limit. A draw that exceeds the
    /// limit becomes the only draw of a batch.
    fn split(&self, draws: Vec<(u32, u32)>) -> Vec<Vec<(u32, u32)>> {
        let mut batches: Vec<Vec<(u32, u32)>> = Vec::new();
        for draw in draws {
            match batches.last_mut() {
                Some(batch) => {
                    batch.push(draw);
                    if self.bytes(batch) > self.max_batch_bytes {
                        batch.pop();
                        batches.push(vec![draw]);
                    }
                }
                None => batches.push(vec![draw]),
            }
        }
        batches
    }
}

impl Plan {
    /// Makes the full plan: all topologies, the probe's own shaders, both provoking vertices (only one for each
    /// geometry or tessellation shader), and large draws that need more than `max_workgroups` workgroups.
    ///
    /// # Errors
    /// Only if one of the probe's own shaders is invalid, which would be a defect of this crate.
    pub fn full(backends: &[Backend], max_workgroups: u32) -> Result<Self, SubjectError> {
        let vertex = ProbeShader::all().into_iter().map(Subject::built_in);
        let geometry = ProbeGeometry::all().into_iter().map(|shader| {
            let mut subject = Subject::built_in_geometry(shader)?;
            subject.provoking = Some(shader.planned_provoking());
            Ok(subject)
        });
        Ok(Self {
            backends: backends.to_vec(),
            subjects: vertex.chain(geometry).collect::<Result<_, _>>()?,
            provoking: ProvokingVertex::ALL.to_vec(),
            topologies: PrimitiveTopology::every().collect(),
            vertex_counts: VERTEX_COUNTS.to_vec(),
            geometry_vertex_counts: QUICK_VERTEX_COUNTS.to_vec(),
            instance_counts: INSTANCE_COUNTS.to_vec(),
            large: max_workgroups.checked_mul(compute::DEFAULT_WORKGROUP_SIZE).map(|n| n + 13),
            slow: Vec::new(),
            max_capture_buffer: MAX_BUFFER_SIZE,
            max_batch_bytes: MAX_BATCH_BYTES,
            fail_fast: false,
        })
    }

    /// Leaves out cases that take long. Of the probe's geometry shaders, keeps one for each kind of
    /// input primitive and number of vertex streams, because creating a pipeline with a geometry
    /// shader takes ten times as long as creating one without.
    pub fn quick(&mut self) {
        let mut taken = Vec::new();
        self.subjects.retain(|subject| match &subject.geometry {
            Some(geometry) if subject.has_formulas() => {
                let kind = (geometry.declared.input, subject.stream_count());
                let is_first = !taken.contains(&kind);
                taken.push(kind);
                is_first
            }
            _ => true,
        });
        self.vertex_counts = QUICK_VERTEX_COUNTS.to_vec();
        self.large = None;
    }

    /// Leaves out the large draws on each backend that, at its measured rate, takes longer than `limit` for one such
    /// draw. (A draw cannot be divided into several submissions.) Returns whether the plan has fewer draws now.
    pub fn leave_out_slow(&mut self, rates: &[Rate], limit: Duration) -> bool {
        let Some(large) = self.large else { return false };
        let is_slow =
            |rate: &&Rate| f64::from(large) / rate.vertices_per_second > limit.as_secs_f64();
        self.slow = rates.iter().filter(is_slow).map(|rate| rate.backend).collect();
        let unlimited = Self { slow: Vec::new(), ..self.clone() };
        self.all_batches().len() < unlimited.all_batches().len()
    }

    /// Returns the number of vertices of the large draws, if some of these draws are left out because they need too
    /// much memory; otherwise `None`.
    pub fn large_left_out(&self) -> Option<u32> {
        let unlimited = Self { max_batch_bytes: MAX_BATCH_BYTES, ..self.clone() };
        let count = |plan: &Self| {
            let batches = plan.all_batches();
            let draws = batches.iter().flat_map(|batch| &batch.draws);
            draws.filter(|draw| Some(draw.0) == self.large).count()
        };
        self.large.filter(|_| count(self) < count(&unlimited))
    }

    /// Checks that all batches (draws that are submitted together) are within the limit, before the run starts.
    ///
    /// # Errors
    /// [`BatchTooLarge`] for the first batch that exceeds the limit.
    pub fn check(&self) -> Result<(), BatchTooLarge> {
        self.groups().try_for_each(|group| {
            self.batches(&group).iter().try_for_each(|batch| group.check(batch))
        })
    }

    /// Iterates over the groups of cases (those with the same backend, shaders, provoking vertex and topology), in the
    /// order in which they run.
    pub fn groups(&self) -> impl Iterator<Item = CaseGroup<'_>> {
        self.backends.iter().flat_map(move |backend| {
            self.subjects.iter().flat_map(move |subject| {
                let is_planned = |provoking: &&ProvokingVertex| {
                    subject.provoking.is_none_or(|only| only == **provoking)
                };
                self.provoking.iter().filter(is_planned).flat_map(move |provoking| {
                    let taken = self.topologies.iter().filter(|topology| subject.takes(**topology));
                    taken.map(move |topology| CaseGroup {
                        backend: *backend,
                        subject,
                        provoking: *provoking,
                        topology: *topology,
                        max_batch_bytes: self.max_batch_bytes,
                    })
                })
            })
        })
    }

    /// Returns the batches (draws that are submitted together) of all groups of cases, in the order in which they run.
    pub fn all_batches(&self) -> Vec<Batch<'_>> {
        let of_group = |group: CaseGroup<'_>| self.batches(&group);
        let groups = self.groups().map(|group| (group, of_group(group)));
        let batches = groups.flat_map(|(group, batches)| {
            batches.into_iter().map(move |draws| Batch { group, draws })
        });
        batches.collect()
    }

    /// Returns the draws of a group, in batches that are submitted together. A draw is given as its
    /// numbers of vertices and instances.
    pub fn batches(&self, group: &CaseGroup<'_>) -> Vec<Vec<(u32, u32)>> {
        let is_own_geometry = group.subject.geometry.is_some() && group.subject.has_formulas();
        let counts =
            if is_own_geometry { &self.geometry_vertex_counts } else { &self.vertex_counts };
        let small = counts
            .iter()
            .flat_map(|vertices| self.instance_counts.iter().map(|i| (*vertices, *i)))
            .collect();
        let is_first = self.subjects.first().is_some_and(|first| first.name == group.subject.name)
            && group.subject.geometry.is_none();
        let strides = group.subject.layout.strides.iter().flatten();
        let stride = strides.max().copied().unwrap_or(0);
        let large = self.large.filter(|vertices| {
            let bytes = group.topology.output_count(*vertices) * u64::from(stride);
            let fits = group.backend != Backend::Compute || bytes <= self.max_capture_buffer;
            let in_memory = group.bytes(&[(*vertices, 1)]) <= self.max_batch_bytes;
            fits && in_memory
                && !self.slow.contains(&group.backend)
                && is_first
                && group.subject.has_formulas()
                && group.provoking == ProvokingVertex::First
                && LARGE_TOPOLOGIES.contains(&group.topology)
        });
        let mut batches = group.split(small);
        batches.extend(large.map(|vertices| vec![(vertices, 1)]));
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_fit_and_hostile_draws_do_not() {
        let mut plan = Plan::full(&Backend::ALL, 65535).unwrap();
        plan.check().unwrap();
        plan.quick();
        plan.check().unwrap();
        for (vertices, instances) in
            [(u32::MAX, 1), (1, u32::MAX), (0, u32::MAX), (u32::MAX, 0), (u32::MAX, u32::MAX)]
        {
            plan.vertex_counts = vec![vertices];
            plan.instance_counts = vec![instances];
            for group in plan.groups() {
                let error = group.check(&[(vertices, instances)]).unwrap_err();
                assert!(error.bytes > MAX_BATCH_BYTES, "{error}");
            }
            assert!(plan.check().is_err());
        }
    }

    /// The full plan has all cases of the quick plan. So a comparison of a quick report with a full report lists new
    /// cases, and no case that is gone.
    #[test]
    fn quick_cases_are_a_part_of_all_cases() {
        let cases = |plan: &Plan| -> Vec<(Backend, Case)> {
            let batches = plan.all_batches();
            let of_batch = |batch: &Batch<'_>| -> Vec<_> {
                let case = |draw| (batch.group.backend, batch.group.case(draw, false));
                batch.draws.iter().map(|draw| case(*draw)).collect()
            };
            batches.iter().flat_map(of_batch).collect()
        };
        let mut plan = Plan::full(&[Backend::Native, Backend::Compute], 65535).unwrap();
        let all = cases(&plan);
        plan.quick();
        let quick = cases(&plan);
        assert!(quick.len() < all.len() / 2 && !quick.is_empty());
        for case in &quick {
            assert!(all.contains(case), "{case:?}");
        }
    }

    /// With little memory, only large draws are left out.
    #[test]
    fn batches_fit_the_memory() {
        let draws = |plan: &Plan| -> Vec<(u32, u32)> {
            plan.all_batches().into_iter().flat_map(|batch| batch.draws).collect()
        };
        let mut plan = Plan::full(&[Backend::Compute], 65535).unwrap();
        let (all, large) = (draws(&plan), plan.large.unwrap());
        let batches = plan.all_batches().len();
        plan.max_batch_bytes = batch_bytes_within(4 << 20);
        plan.check().unwrap();
        assert_eq!(plan.large_left_out(), Some(large));
        for batch in plan.all_batches() {
            assert!(batch.group.bytes(&batch.draws) * COPIES <= 4 << 20, "{:?}", batch.draws);
        }
        let small: Vec<_> = all.iter().copied().filter(|draw| draw.0 != large).collect();
        assert_eq!(draws(&plan), small);
        assert_eq!(all.len() - small.len(), 2, "large draws, of two topologies");
        assert!(plan.all_batches().len() > batches, "no batch was split");
        plan.max_batch_bytes = batch_bytes_within(64 << 10);
        let error = plan.check().unwrap_err();
        assert_eq!(error.limit, (64 << 10) / COPIES);
    }

    #[test]
    fn large_draws_of_slow_backends_are_left_out() {
        let mut plan = Plan::full(&[Backend::Vertex, Backend::Compute], 65535).unwrap();
        let rates = [(Backend::Vertex, 1e6), (Backend::Compute, 1e9)]
            .map(|(backend, vertices_per_second)| Rate { backend, vertices_per_second });
        let large_of = |plan: &Plan| -> Vec<Backend> {
            let batches = plan.all_batches();
            let large = batches.iter().filter(|batch| Some(batch.draws[0].0) == plan.large);
            large.map(|batch| batch.group.backend).collect()
        };
        let all = large_of(&plan);
        assert!(!plan.leave_out_slow(&rates, Duration::MAX));
        assert_eq!(large_of(&plan), all);
        assert!(plan.leave_out_slow(&rates, Duration::from_millis(300)));
        assert_eq!(large_of(&plan), [Backend::Compute; 2]);
        plan.quick();
        assert!(!plan.leave_out_slow(&rates, Duration::from_millis(300)), "there are none");
    }
}
