//! The lowered shader and the pipelines of the cases that run. The last shader and its last pipelines are kept for the
//! next batch: consecutive batches mostly have the same shader, and on the compute backend one pipeline captures every
//! topology.

use std::rc::Rc;

use vkxfb::runtime::{Pipeline, PipelineDesc};
use vkxfb_rewriter::lower::{Backend, Lowered};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::gpu::{BoundContents, CaptureRequest, CaptureResult, Gpu, GpuError, VertexData};
use crate::plan::CaseGroup;
use crate::run::case::Prepared;
use crate::run::error::BatchError;
use crate::shaders::PATCH_CONTROL_POINTS;

/// A shader that was lowered for a backend, with the descriptor sets that it reads.
pub(super) struct BoundShader<'a> {
    pub(super) lowered: Rc<Lowered>,
    pub(super) contents: &'a BoundContents,
}

/// Identifies a lowered shader by its backend and the names of its stages.
#[derive(Clone, PartialEq, Eq)]
struct ShaderKey {
    backend: Backend,
    vertex: String,
    geometry: Option<String>,
}

impl ShaderKey {
    fn of(group: &CaseGroup<'_>) -> Self {
        let CaseGroup { backend, subject, .. } = *group;
        let geometry = subject.geometry.as_ref().map(|geometry| geometry.name.clone());
        Self { backend, vertex: subject.name.clone(), geometry }
    }
}

/// Identifies a pipeline in the cache.
#[derive(PartialEq, Eq)]
struct PipelineKey {
    shader: ShaderKey,
    provoking: ProvokingVertex,
    /// The topology, or `None` if the pipeline captures every topology.
    topology: Option<PrimitiveTopology>,
    specialized: bool,
}

impl PipelineKey {
    fn of(group: &CaseGroup<'_>, specialized: bool) -> Self {
        let takes_all = group.backend == Backend::Compute && !specialized;
        Self {
            shader: ShaderKey::of(group),
            provoking: group.provoking,
            topology: (!takes_all).then_some(group.topology),
            specialized,
        }
    }
}

/// Keeps the last shader that was lowered, and of each form, specialized or not, the last pipeline that was created. A
/// batch is captured by both forms: one place for both would lose the pipeline that takes every topology with each
/// batch.
#[derive(Default)]
pub(super) struct PipelineCache {
    lowered: Option<(ShaderKey, Rc<Lowered>)>,
    general: Option<(PipelineKey, Pipeline)>,
    specialized: Option<(PipelineKey, Pipeline)>,
}

impl PipelineCache {
    pub(super) fn shader<'a>(
        &mut self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        contents: &'a BoundContents,
    ) -> Result<BoundShader<'a>, BatchError> {
        let key = ShaderKey::of(group);
        let lowered = match self.lowered.take().filter(|(last, _)| *last == key) {
            Some((_, lowered)) => lowered,
            None => {
                let target = gpu.compute_target(group.backend)?;
                Rc::new(group.subject.lower(group.backend, &target)?)
            }
        };
        self.lowered = Some((key, Rc::clone(&lowered)));
        Ok(BoundShader { lowered, contents })
    }

    /// Returns the pipeline for a group of cases, which have the same backend, shaders, provoking vertex and topology.
    /// If `specialize` is true, the topology is compiled into the pipeline.
    pub(super) fn pipeline(
        &mut self,
        gpu: &Gpu,
        group: &CaseGroup<'_>,
        shader: &BoundShader<'_>,
        specialize: bool,
    ) -> Result<&Pipeline, GpuError> {
        let key = PipelineKey::of(group, specialize);
        let kept = if specialize { &mut self.specialized } else { &mut self.general };
        let made = match kept.take_if(|(last, _)| *last == key) {
            Some(made) => made,
            None => {
                if let Some((_, pipeline)) = kept.take() {
                    gpu.destroy_pipeline(pipeline);
                }
                (key, make_pipeline(gpu, group, shader, specialize)?)
            }
        };
        let (_, pipeline) = kept.insert(made);
        Ok(pipeline)
    }

    /// Called at the end of a batch. Destroys the kept pipelines if they use descriptor set layouts, because these are
    /// destroyed with the batch.
    pub(super) fn end_batch(&mut self, gpu: &Gpu, group: &CaseGroup<'_>) {
        if !group.subject.contents.is_empty() {
            self.destroy(gpu);
        }
    }

    pub(super) fn destroy(&mut self, gpu: &Gpu) {
        for (_, pipeline) in self.general.take().into_iter().chain(self.specialized.take()) {
            gpu.destroy_pipeline(pipeline);
        }
    }
}

fn make_pipeline(
    gpu: &Gpu,
    group: &CaseGroup<'_>,
    shader: &BoundShader<'_>,
    specialize: bool,
) -> Result<Pipeline, GpuError> {
    let desc = PipelineDesc {
        topology: Some(group.topology.into()),
        specialize_topology: specialize,
        patch_control_points: PATCH_CONTROL_POINTS,
        provoking_vertex: group.provoking,
        vertex_input: Some(&group.subject.vertex_input),
        set_layouts: shader.contents.set_layouts(),
        render_pass: gpu.render_pass(),
        cache: ash::vk::PipelineCache::null(),
        ..PipelineDesc::new(&shader.lowered)
    };
    // SAFETY: the device of the context is live, the module was lowered for this backend, and the
    // set layouts contain what it uses.
    Ok(unsafe { Pipeline::new(gpu.context(), &desc) }?)
}

/// Captures cases with the same backend, shaders, provoking vertex and topology with one pipeline, in one submission.
pub(super) fn capture(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    shader: &BoundShader<'_>,
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
            // Buffers after the last one that is captured to are not bound.
            let used = targets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            CaptureRequest {
                pipeline,
                vertex_data,
                descriptor_sets: shader.contents.sets(),
                push_constants: pushed,
                draws,
                buffers: &targets[..used],
                indices: &case.indices,
                // For geometry shaders the counters are read back, too, to be compared.
                counters: subject.geometry.is_some(),
            }
        })
        .collect();
    // SAFETY: the pipeline belongs to this device, and the vertex data contains all vertices of the
    // draws.
    unsafe { gpu.capture(&requests) }
}
