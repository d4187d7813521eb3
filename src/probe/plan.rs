//! What a probe runs: backends x shaders x conventions x topologies, and the draws of each.

#![forbid(unsafe_code)]

use crate::lower::{Backend, compute};
use crate::topology::{PrimitiveTopology, ProvokingVertex};

use super::shaders::ProbeShader;
use super::subject::{Subject, SubjectError};

/// Vertex counts up to 13 see every way in which a primitive can be incomplete, and two odd and two even
/// primitives of every strip; 1000 passes several workgroups.
const VERTEX_COUNTS: [u32; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1000];
/// The same in short.
const QUICK_VERTEX_COUNTS: [u32; 7] = [0, 3, 7, 8, 9, 12, 70];
/// More than one, and odd.
const INSTANCE_COUNTS: [u32; 2] = [1, 3];

/// The list and the strip that are drawn past the workgroup limit.
const LARGE_TOPOLOGIES: [PrimitiveTopology; 2] =
    [PrimitiveTopology::TriangleList, PrimitiveTopology::TriangleStrip];

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who captures.
    pub backends: Vec<Backend>,
    /// The shaders.
    pub subjects: Vec<Subject>,
    /// The conventions.
    pub provoking: Vec<ProvokingVertex>,
    /// The topologies.
    pub topologies: Vec<PrimitiveTopology>,
    /// Vertices of an instance.
    pub vertex_counts: Vec<u32>,
    /// Instances of a draw.
    pub instance_counts: Vec<u32>,
    /// Vertices of the draws past the workgroup limit, which only the first shader captures.
    pub large: Option<u32>,
}

/// The cases that one pair of pipelines captures.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Who captures.
    pub backend: Backend,
    /// The shader.
    pub subject: &'a Subject,
    /// The convention.
    pub provoking: ProvokingVertex,
    /// The topology.
    pub topology: PrimitiveTopology,
}

impl Plan {
    /// Everything that a device allows: all topologies, both conventions, the probe's own shaders, and
    /// draws that pass `max_workgroups`.
    ///
    /// # Errors
    /// None that is not a mistake of this crate.
    pub fn full(backends: &[Backend], max_workgroups: u32) -> Result<Self, SubjectError> {
        Ok(Self {
            backends: backends.to_vec(),
            subjects: ProbeShader::all()
                .into_iter()
                .map(Subject::built_in)
                .collect::<Result<_, _>>()?,
            provoking: ProvokingVertex::ALL.to_vec(),
            topologies: PrimitiveTopology::ALL.to_vec(),
            vertex_counts: VERTEX_COUNTS.to_vec(),
            instance_counts: INSTANCE_COUNTS.to_vec(),
            large: max_workgroups.checked_mul(compute::DEFAULT_WORKGROUP_SIZE).map(|n| n + 13),
        })
    }

    /// Leaves out what takes long.
    pub fn quick(&mut self) {
        self.vertex_counts = QUICK_VERTEX_COUNTS.to_vec();
        self.large = None;
    }

    /// The groups, in the order in which they run.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.backends.iter().flat_map(move |backend| {
            self.subjects.iter().flat_map(move |subject| {
                self.provoking.iter().flat_map(move |provoking| {
                    self.topologies.iter().map(move |topology| Group {
                        backend: *backend,
                        subject,
                        provoking: *provoking,
                        topology: *topology,
                    })
                })
            })
        })
    }

    /// Vertex and instance counts of a group's draws, in batches that are submitted together.
    pub fn batches(&self, group: &Group<'_>) -> Vec<Vec<(u32, u32)>> {
        let small = self
            .vertex_counts
            .iter()
            .flat_map(|vertices| self.instance_counts.iter().map(|i| (*vertices, *i)))
            .collect();
        let is_first = self.subjects.first().is_some_and(|first| first.name == group.subject.name);
        let large = self.large.filter(|_| {
            is_first
                && group.subject.has_formulas()
                && group.provoking == ProvokingVertex::First
                && LARGE_TOPOLOGIES.contains(&group.topology)
        });
        let mut batches = vec![small];
        batches.extend(large.map(|vertices| vec![(vertices, 1)]));
        batches
    }
}
