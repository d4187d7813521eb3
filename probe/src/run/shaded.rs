//! Shaders as a backend takes them, and their pipelines. Consecutive batches mostly have the same shader, which then is
//! lowered once, and captured by one pipeline where that takes every topology.

use std::rc::Rc;

use vkxfb::lower::{Backend, Lowered};
use vkxfb::runtime::{Pipeline, PipelineDesc};
use vkxfb::topology::ProvokingVertex;

use crate::gpu::{BoundContents, CaptureRequest, CaptureResult, Gpu, GpuError, VertexData};
use crate::plan::CaseGroup;

use super::BatchError;
use super::case::Prepared;

/// A shader as a backend takes it, and what its descriptors hold.
pub(super) struct Shaded<'a> {
    pub(super) lowered: Rc<Lowered>,
    pub(super) contents: &'a BoundContents,
}

/// The shaders and the backend of a group.
#[derive(Clone, PartialEq, Eq)]
struct Name {
    backend: Backend,
    vertex: String,
    geometry: Option<String>,
}

impl Name {
    fn of(group: &CaseGroup<'_>) -> Self {
        let CaseGroup { backend, subject, .. } = *group;
        let geometry = subject.geometry.as_ref().map(|geometry| geometry.name.clone());
        Self { backend, vertex: subject.name.clone(), geometry }
    }
}

/// What the last batch left for the next one.
#[derive(Default)]
pub(super) struct Kept {
    lowered: Option<(Name, Rc<Lowered>)>,
    pipeline: Option<(Name, ProvokingVertex, Pipeline)>,
}

impl Kept {
    /// The shader of a group.
    pub(super) fn shaded<'a>(
        &mut self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        contents: &'a BoundContents,
    ) -> Result<Shaded<'a>, BatchError> {
        let name = Name::of(group);
        let lowered = match self.lowered.take().filter(|(kept, _)| *kept == name) {
            Some((_, lowered)) => lowered,
            None => {
                let target = gpu.compute_target(group.backend)?;
                Rc::new(group.subject.lower(group.backend, &target)?)
            }
        };
        self.lowered = Some((name, Rc::clone(&lowered)));
        Ok(Shaded { lowered, contents })
    }

    /// A pipeline of a group, which is handed back with [`put`](Self::put).
    pub(super) fn pipeline(
        &mut self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        shader: &Shaded<'_>,
        specialize: bool,
    ) -> Result<Pipeline, GpuError> {
        let is_it = |(name, provoking, _): &(Name, ProvokingVertex, Pipeline)| {
            takes_every_topology(group, specialize)
                && (&Name::of(group), group.provoking) == (name, *provoking)
        };
        match self.pipeline.take_if(|kept| is_it(kept)) {
            Some((.., pipeline)) => Ok(pipeline),
            None => make_pipeline(gpu, group, shader, specialize),
        }
    }

    /// Keeps a pipeline, or destroys it where no other group has a use for it.
    pub(super) fn put(
        &mut self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        specialize: bool,
        pipeline: Pipeline,
    ) {
        if takes_every_topology(group, specialize) {
            self.destroy(gpu);
            self.pipeline = Some((Name::of(group), group.provoking, pipeline));
        } else {
            gpu.destroy_pipeline(pipeline);
        }
    }

    /// Destroys what is kept.
    pub(super) fn destroy(&mut self, gpu: &Gpu) {
        if let Some((.., pipeline)) = self.pipeline.take() {
            gpu.destroy_pipeline(pipeline);
        }
    }
}

/// Whether a pipeline of the group captures draws of every topology that its shader takes, and knows nothing of set
/// layouts, which each batch has of its own.
fn takes_every_topology(group: &CaseGroup<'_>, specialize: bool) -> bool {
    group.backend == Backend::Compute && !specialize && group.subject.contents.is_empty()
}

/// Makes a pipeline of a group.
pub(super) fn make_pipeline(
    gpu: &Gpu,
    group: &CaseGroup<'_>,
    shader: &Shaded<'_>,
    specialize: bool,
) -> Result<Pipeline, GpuError> {
    let desc = PipelineDesc::new(&shader.lowered)
        .topology(group.topology)
        .dynamic_topology(!specialize)
        .provoking_vertex(group.provoking)
        .vertex_input(&group.subject.vertex_input)
        .set_layouts(shader.contents.set_layouts())
        .render_pass(gpu.render_pass())
        .cache(ash::vk::PipelineCache::null());
    // SAFETY: the context is of a live device, the module was lowered for this backend, and the set layouts have what it
    // uses.
    Ok(unsafe { Pipeline::new(gpu.context(), &desc) }?)
}

/// Captures prepared cases of a group with one pipeline.
pub(super) fn capture(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    shader: &Shaded<'_>,
    group: &CaseGroup<'_>,
    cases: &[Prepared],
) -> Result<Vec<CaptureResult>, GpuError> {
    let CaseGroup { subject, topology, .. } = *group;
    let vertex_buffers: Vec<Vec<(u32, Vec<u8>)>> = cases
        .iter()
        .map(|case| {
            let bindings = &subject.vertex_input.bindings;
            let (vertices, instances) = (case.vertices, case.draw.instance_count);
            bindings
                .iter()
                .map(|b| (b.binding, subject.vertex_buffer(b, vertices, instances)))
                .collect()
        })
        .collect();
    let vertex_data: Vec<Vec<VertexData<'_>>> = vertex_buffers
        .iter()
        .map(|buffers| {
            buffers.iter().map(|(binding, bytes)| VertexData { binding: *binding, bytes }).collect()
        })
        .collect();
    let draws: Vec<_> = cases.iter().map(|case| [(topology, case.draw)]).collect();
    let push_constants = [subject.contents.push_constants.clone()];
    let pushed = if push_constants[0].is_empty() { &[] } else { &push_constants[..] };
    let targets: Vec<_> = cases.iter().map(Prepared::targets).collect();
    let requests: Vec<CaptureRequest<'_>> = draws
        .iter()
        .zip(cases)
        .zip(&targets)
        .zip(&vertex_data)
        .map(|(((draws, case), targets), vertex_data)| {
            // Buffers after the last that is captured to are not bound.
            let used = targets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            CaptureRequest {
                pipeline,
                vertex_data,
                descriptor_sets: shader.contents.sets(),
                push_constants: pushed,
                draws,
                buffers: &targets[..used],
                indices: &case.indices,
                // How much a geometry shader emits is part of what is captured.
                counters: subject.geometry.is_some(),
            }
        })
        .collect();
    // SAFETY: the pipeline is of this device, and the vertex data holds every vertex of the draws.
    unsafe { gpu.capture(&requests) }
}
