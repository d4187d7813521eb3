//! The contestants of the benchmark, and their pipelines.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use vkxfb::runtime::{CaptureNeeds, Pipeline, PipelineDesc, RuntimeError};
use vkxfb_probe::gpu::Gpu;
use vkxfb_rewriter::lower::{Backend, LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::case::{Case, Division, Emission, PATCH, Record};
use crate::data::{self, SALT};
use crate::roofline::Spread;
use crate::vertices::Vertices;

/// A contestant: a way to capture, or the roofline kernel, which only moves the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contestant {
    /// The driver's own capture.
    Native,
    /// The vertex backend.
    Vertex,
    /// The compute backend, with a pipeline for all topologies.
    Compute,
    /// The compute backend, with a pipeline into which the topology is compiled as a constant.
    ComputeSpecialized,
    /// The kernel that only moves the same bytes as a capture.
    Roofline,
}

impl Contestant {
    /// All contestants.
    pub const ALL: [Self; 5] =
        [Self::Native, Self::Vertex, Self::Compute, Self::ComputeSpecialized, Self::Roofline];

    /// The backend that captures. `None` for the roofline.
    pub const fn backend(self) -> Option<Backend> {
        match self {
            Self::Native => Some(Backend::Native),
            Self::Vertex => Some(Backend::Vertex),
            Self::Compute | Self::ComputeSpecialized => Some(Backend::Compute),
            Self::Roofline => None,
        }
    }

    /// Returns the reason why the contestant cannot capture a case on this device. `None` if it
    /// can.
    pub(super) fn unavailable(self, gpu: &Gpu, case: &Case) -> Option<String> {
        let Some(backend) = self.backend() else {
            return Spread::all(gpu.context(), case).err();
        };
        if !gpu.backends().contains(&backend) {
            let reason = gpu.capabilities().availability(backend).err();
            return Some(reason.map_or_else(
                || "the profile does not include the backend".to_owned(),
                |unavailable| unavailable.reasons.join("; "),
            ));
        }
        let has_geometry = case.workload.geometry().is_some();
        let needs_stage = case.topology.has_adjacency() || has_geometry;
        let is_graphics = backend != Backend::Compute;
        let enabled = gpu.context().enabled();
        if is_graphics && needs_stage && !enabled.geometry_shader {
            return Some("no geometryShader".to_owned());
        }
        let has_tessellation = case.workload.tessellation().is_some();
        if is_graphics && has_tessellation && !enabled.tessellation_shader {
            return Some("no tessellationShader".to_owned());
        }
        let is_fan = case.topology == PrimitiveTopology::TriangleFan;
        let needs = CaptureNeeds {
            indexed: case.workload.is_indexed(),
            counters: case.has_counters(),
            geometry_shader: has_geometry,
            tessellation_shaders: has_tessellation,
            fan_vertices: if is_fan { case.vertices } else { 0 },
            ..CaptureNeeds::default()
        };
        needs.refused_by(backend).map(|what| format!("the backend does not do {what}"))
    }
}

/// The name on the command line and in the JSON.
impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A formatter is a serializer of what is only a name.
        self.serialize(f)
    }
}

/// The reason why a pipeline could not be created.
#[derive(Debug, thiserror::Error)]
pub(super) enum PipelineError {
    #[error(transparent)]
    Parse(#[from] vkxfb_rewriter::spirv::ParseError),
    #[error(transparent)]
    Lower(#[from] LowerError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// Lowers the shaders of a case for a backend. `salt` is a specialization constant by which shaders
/// differ, so that drivers do not find them in a cache.
pub(super) fn lower(
    gpu: &Gpu,
    backend: Backend,
    case: &Case,
    salt: f32,
) -> Result<Lowered, PipelineError> {
    let (vertices, record) = (case.workload.vertices(), case.record);
    let words = data::shader(vertices, record)?;
    let list = data::capture_list(record);
    let salt = salt.to_le_bytes();
    let specialization = [SpecializationConstant { constant_id: SALT, data: &salt }];
    let vertex = Shader::new(&words).captures(&list).specialization(&specialization);
    let tessellation = case.workload.tessellation();
    let levels = tessellation.map(data::level_constants);
    let levels: Vec<SpecializationConstant<'_>> = (levels.iter().flatten())
        .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
        .collect();
    let tessellation = tessellation.map(|_| data::tessellation_shaders()).transpose()?;
    let control =
        tessellation.as_ref().map(|[words, _]| Shader::new(words).specialization(&levels));
    let geometry = case.workload.geometry().map(data::geometry_shader).transpose()?;
    let last = geometry.as_ref().or(tessellation.as_ref().map(|[_, words]| words));
    // `shader` is captured. `before` is the vertex shader, unless the vertex shader is captured.
    let (shader, before) = match last {
        Some(words) => (Shader::new(words).captures(&list), Some(&vertex)),
        None => (vertex, None),
    };
    Ok(match backend {
        Backend::Native => {
            let mut options = native::Options::new();
            match before {
                // Whole outputs are captured, so lowering adds no outputs, and needs no limit for
                // them.
                Some(_) => {
                    options.vertex_shader = before;
                    options.control_shader = control.as_ref();
                }
                None => {
                    let limits = &gpu.capabilities().limits;
                    options.max_output_components = limits.max_vertex_output_components;
                }
            }
            native::lower_with(&shader, &options)?
        }
        Backend::Vertex => vertex::lower(&shader)?,
        Backend::Compute => {
            let vertex_input = vertices.vertex_input();
            let target = gpu.context().compute_target()?;
            let mut options = compute::Options::new(&vertex_input).target(target);
            options.vertex_shader = before;
            options.control_shader = control.as_ref();
            compute::lower(&shader, &options)?
        }
    })
}

/// Creates a pipeline for a contestant.
pub(super) fn create(
    gpu: &Gpu,
    contestant: Contestant,
    shader: &Lowered,
    vertices: Vertices,
    topology: PrimitiveTopology,
    primitive_restart: bool,
) -> Result<Pipeline, RuntimeError> {
    let vertex_input = vertices.vertex_input();
    let desc = PipelineDesc {
        topology: Some(topology.into()),
        // Only the contestant `Compute` uses one pipeline for all topologies.
        specialize_topology: contestant != Contestant::Compute,
        primitive_restart,
        patch_control_points: PATCH,
        vertex_input: Some(&vertex_input),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(shader)
    };
    // SAFETY: the device is live. The module is valid, because the library lowered it, and reads
    // this vertex input.
    unsafe { Pipeline::new(gpu.context(), &desc) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    contestant: Contestant,
    vertices: Vertices,
    geometry: Option<Emission>,
    tessellation: Option<Division>,
    record: Record,
    topology: PrimitiveTopology,
    restart: bool,
}

/// The pipelines that have been created so far.
#[derive(Default)]
pub(super) struct Pipelines {
    all: HashMap<Key, Pipeline>,
}

impl Pipelines {
    /// Returns the pipeline of a contestant for a case, and creates that pipeline if necessary.
    pub(super) fn get(
        &mut self,
        gpu: &Gpu,
        contestant: Contestant,
        backend: Backend,
        case: &Case,
    ) -> Result<&Pipeline, PipelineError> {
        let key = Key {
            contestant,
            vertices: case.workload.vertices(),
            geometry: case.workload.geometry(),
            tessellation: case.workload.tessellation(),
            record: case.record,
            topology: match contestant {
                Contestant::Compute if case.topology != PrimitiveTopology::PatchList => {
                    PrimitiveTopology::PointList
                }
                _ => case.topology,
            },
            restart: case.has_restart(),
        };
        Ok(match self.all.entry(key) {
            std::collections::hash_map::Entry::Occupied(made) => made.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                let shader = lower(gpu, backend, case, 1.0)?;
                let Key { vertices, topology, restart, .. } = key;
                place.insert(create(gpu, contestant, &shader, vertices, topology, restart)?)
            }
        })
    }

    pub(super) fn destroy(self, gpu: &Gpu) {
        for pipeline in self.all.into_values() {
            gpu.destroy_pipeline(pipeline);
        }
    }
}
