//! Runs a plan on a device.
//!
//! Each case is captured into memory that is filled with [`super::sentinel`], with guards around
//! it. The result is compared with the records that the model on the CPU gathers. For the probe's
//! own shaders the records are formulas, so every backend is compared with the same expectation,
//! and so with the other backends. The records of a shader from a file are not known. They are
//! captured first by the same backend, as a list of points (or of lines, if the shader must not be
//! drawn as points), and compared with those of the first backend.

mod case;
mod reference;

use std::time::Instant;

use vkxfb::lower::{Backend, Lowered, compute};
use vkxfb::runtime::{CaptureNeeds, Pipeline, PipelineDesc, version_string};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexFormat;

use self::case::Prepared;
use self::reference::References;
use super::diagnose::{DiagnoseError, Fault, Mismatch, Verdict};
use super::gpu::{BoundContents, CaptureRequest, Gpu, GpuError, VertexData};
use super::plan::{BatchTooLarge, CaseGroup, Plan};
use super::records::RecordsDiffer;
use super::report::{BugReport, Case, DeviceInfo, Failure, ProbeReport, bug_report};
use super::subject::{Subject, SubjectError};

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The number of groups that are done.
    pub done: usize,
    /// The number of all groups.
    pub total: usize,
    /// The group that runs now.
    pub group: CaseGroup<'a>,
}

/// Runs a plan, and records the results in `report`.
///
/// A case that cannot be captured is recorded, too. Only a lost device ends the run early, which
/// the report also says.
pub fn run(
    gpu: &mut Gpu,
    plan: &Plan,
    report: &mut ProbeReport,
    mut observe: impl FnMut(Progress<'_>),
) {
    let start = Instant::now();
    for subject in &plan.subjects {
        for what in &subject.contents.made_up {
            report.note(format!("{}: the contents of {what} are made up", subject.name));
        }
    }
    let groups: Vec<CaseGroup<'_>> = plan.groups().collect();
    let mut references = References::default();
    for (done, group) in groups.iter().enumerate() {
        observe(Progress { done, total: groups.len(), group: *group });
        if let Some(reason) = unsupported(gpu, group) {
            report.skip(group.backend, group.topology, reason);
            continue;
        }
        let lost = run_group(gpu, plan, group, &mut references, report);
        let is_enough = plan.fail_fast && report.has_failures();
        if lost || is_enough {
            break;
        }
    }
    report.elapsed_s = start.elapsed().as_secs_f64();
}

/// The device under test, for a report.
pub fn device_info(gpu: &Gpu) -> DeviceInfo {
    let capabilities = gpu.capabilities();
    let limits = &capabilities.limits;
    let yes_no = |value: bool| if value { "yes" } else { "no" }.to_owned();
    let xfb = capabilities.transform_feedback.as_ref();
    let provoking = capabilities.provoking_vertex.as_ref();
    let list = |values: [u32; 3]| values.map(|value| value.to_string()).join(" x ");
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let limits = [
        ("maxComputeWorkGroupCount", list(limits.max_workgroups)),
        ("maxComputeWorkGroupSize", list(limits.max_workgroup_size)),
        ("maxComputeWorkGroupInvocations", limits.max_workgroup_invocations.to_string()),
        ("maxPushConstantsSize", limits.max_push_constants.to_string()),
        ("maxBoundDescriptorSets", limits.max_descriptor_sets.to_string()),
        ("maxTransformFeedbackBuffers", number(xfb.map(|x| x.max_buffers.into()))),
        ("maxTransformFeedbackBufferSize", number(xfb.map(|x| x.max_buffer_size))),
        (
            "maxTransformFeedbackBufferDataStride",
            number(xfb.map(|x| x.max_buffer_data_stride.into())),
        ),
        ("bufferDeviceAddress", yes_no(capabilities.buffer_device_address.is_some())),
        ("geometryShader", yes_no(capabilities.geometry_shader)),
        ("vertexPipelineStoresAndAtomics", yes_no(capabilities.vertex_stores)),
        ("provokingVertexLast", yes_no(provoking.is_some_and(|p| p.last))),
        (
            "transformFeedbackPreservesProvokingVertex",
            yes_no(provoking.is_some_and(|p| p.preserved)),
        ),
        (
            "transformFeedbackPreservesTriangleFanProvokingVertex",
            yes_no(provoking.is_some_and(|p| p.triangle_fan_preserved)),
        ),
        (
            "workgroups per axis that captures use",
            gpu.context().max_workgroups_per_axis().to_string(),
        ),
    ];
    DeviceInfo {
        index: (gpu.device_count() > 1).then_some(gpu.device_index()),
        name: capabilities.device_name.clone(),
        driver: capabilities.driver(),
        driver_version: format!("{:#x}", capabilities.driver_version),
        api_version: version_string(capabilities.device_api_version),
        vendor_id: capabilities.vendor_id,
        device_id: capabilities.device_id,
        limits: limits.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

/// Writes a bug report about a mismatch, for the maintainers of the driver. `disassemble` returns
/// the disassembly of words, if it can; `resources` is the resource plan for which the shader was
/// lowered.
///
/// # Errors
/// [`SubjectError`] if the shader cannot be lowered.
pub fn describe_failure(
    report: &ProbeReport,
    failure: &Failure,
    plan: &Plan,
    target: &compute::Target,
    disassemble: impl FnOnce(&[u32]) -> Option<String>,
) -> Result<String, SubjectError> {
    let subject = plan.subjects.iter().find(|s| s.name == failure.case.shader);
    let lowered = subject.map(|s| s.lower(failure.backend, target)).transpose()?;
    let spirv = lowered.map(|l| l.words).unwrap_or_default();
    let disassembly = disassemble(&spirv);
    let disassembly = disassembly.as_deref();
    Ok(bug_report(&BugReport { report, failure, spirv: &spirv, disassembly }))
}

/// Why a group cannot run on a device that has the backend.
fn unsupported(gpu: &Gpu, group: &CaseGroup<'_>) -> Option<String> {
    let enabled = gpu.context().enabled();
    let is_graphics = group.backend != Backend::Compute;
    if is_graphics && group.topology.has_adjacency() && !enabled.geometry_shader {
        return Some("no geometryShader: adjacency is illegal in a graphics pipeline".to_owned());
    }
    let is_points = group.topology == PrimitiveTopology::PointList;
    if is_graphics && is_points && !group.subject.writes_point_size() {
        return Some("the shader writes no PointSize: points are illegal then".to_owned());
    }
    // A graphics pipeline with a format that the device does not support is invalid, so its
    // captures mean nothing.
    let lacks = |format: &VertexFormat| is_graphics && !gpu.has_vertex_format(*format);
    let mut formats = group.subject.vertex_input.attributes.iter().map(|a| a.format);
    if let Some(format) = formats.find(lacks) {
        let format = ash::vk::Format::from(format);
        return Some(format!("no vertex buffers of VK_FORMAT_{format:?}"));
    }
    let is_last = group.provoking == ProvokingVertex::Last;
    if group.backend == Backend::Native && is_last && !enabled.provoking_vertex_last {
        return Some("last-vertex cases: no provokingVertexLast".to_owned());
    }
    None
}

/// Why the backend refuses a draw of a group, if it does.
fn refused(group: &CaseGroup<'_>, vertex_count: u32) -> Option<&'static str> {
    let is_fan = group.topology == PrimitiveTopology::TriangleFan;
    let fan_vertices = if is_fan { vertex_count } else { 0 };
    group.backend.refuses(&CaptureNeeds { fan_vertices, ..CaptureNeeds::default() })
}

/// Runs the cases of a group. Returns whether the device was lost.
fn run_group(
    gpu: &mut Gpu,
    plan: &Plan,
    group: &CaseGroup<'_>,
    references: &mut References,
    report: &mut ProbeReport,
) -> bool {
    let mut lost = false;
    for mut batch in plan.batches(group) {
        batch.retain(|&(vertex_count, _)| {
            let reason = refused(group, vertex_count);
            if let Some(reason) = reason {
                report.skip(group.backend, group.topology, reason);
            }
            reason.is_none()
        });
        if batch.is_empty() {
            continue;
        }
        let result = match lost {
            true => Err(BatchError::Lost),
            false => run_batch(gpu, group, &batch, references, report),
        };
        let Err(error) = result else { continue };
        lost |= error.is_fatal();
        for (vertex_count, instance_count) in batch {
            let case = case_of(group, vertex_count, instance_count, false);
            error.record(group.backend, &case, report);
        }
    }
    lost
}

/// Why a batch could not be captured.
#[derive(Debug, thiserror::Error)]
enum BatchError {
    #[error("the device was lost")]
    Lost,
    #[error(transparent)]
    TooLarge(#[from] BatchTooLarge),
    #[error(transparent)]
    Subject(#[from] SubjectError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Diagnose(#[from] DiagnoseError),
    /// A step of the capture of the records did nothing.
    #[error("{0}")]
    MissingStep(Box<Mismatch>),
    /// The backends captured different records.
    #[error("{differ} (compared with {first})")]
    Records { differ: RecordsDiffer, first: Backend },
}

impl BatchError {
    const fn is_fatal(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::DeviceLost { .. } | GpuError::Timeout(_)))
    }

    /// Records a case that could not be captured because of this error.
    fn record(&self, backend: Backend, case: &Case, report: &mut ProbeReport) {
        match self {
            Self::Records { differ, .. } => {
                let mismatch = Mismatch {
                    fault: Fault::WrongBytes,
                    also: Vec::new(),
                    first: None,
                    differing_primitives: 0,
                    rotated_primitives: 0,
                    buffer: differ.buffer,
                    byte_offset: differ.byte_offset.cast_signed(),
                    note: Some(self.to_string()),
                    excerpt: Vec::new(),
                };
                report.record_disagreement(backend, case, mismatch);
            }
            Self::MissingStep(mismatch) => {
                report.record(backend, case, Verdict::Mismatch(mismatch.clone()));
            }
            // The outermost message alone may be only the name of a file.
            _ => report.record_error(backend, case, chain(self)),
        }
    }
}

/// An error and its sources, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

fn case_of(
    group: &CaseGroup<'_>,
    vertex_count: u32,
    instance_count: u32,
    specialized: bool,
) -> Case {
    Case {
        shader: group.subject.name.clone(),
        topology: group.topology,
        provoking: group.provoking,
        vertex_count,
        instance_count,
        specialized,
    }
}

/// Captures a batch with the group's pipelines, and records the verdicts.
fn run_batch(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    batch: &[(u32, u32)],
    references: &mut References,
    report: &mut ProbeReport,
) -> Result<(), BatchError> {
    group.check(batch)?;
    let contents = gpu.bind_contents(&group.subject.contents)?;
    let result = run_bound(gpu, group, &contents, batch, references, report);
    gpu.destroy_contents(contents);
    result
}

/// The same, with what the shader's descriptors hold.
fn run_bound(
    gpu: &mut Gpu,
    group: &CaseGroup<'_>,
    contents: &BoundContents,
    batch: &[(u32, u32)],
    references: &mut References,
    report: &mut ProbeReport,
) -> Result<(), BatchError> {
    let sets = group.subject.contents.set_count();
    let target = gpu.compute_target_behind(group.backend, sets)?;
    let shader = &Shaded { lowered: group.subject.lower(group.backend, &target)?, contents };
    let max = |f: fn(&(u32, u32)) -> u32| batch.iter().map(f).max().unwrap_or(0);
    let (max_vertices, max_instances) = (max(|b| b.0), max(|b| b.1));
    let table = references.table(gpu, group, shader, max_vertices, max_instances, report)?;

    // Pipelines that are specialised to a topology and pipelines that are not are both in use, so
    // both are probed.
    let forms: &[bool] = match group.backend {
        Backend::Native => &[false],
        Backend::Vertex | Backend::Compute => &[false, true],
    };
    for specialized in forms.iter().copied() {
        let pipeline = make_pipeline(gpu, group, shader, group.topology, specialized)?;
        let cases: Vec<Prepared> = batch
            .iter()
            .map(|(vertices, instances)| Prepared::new(group, *vertices, *instances))
            .collect();
        let result = capture(gpu, &pipeline, shader, group.subject, group.topology, &cases);
        gpu.destroy_pipeline(pipeline);
        for (prepared, buffers) in cases.iter().zip(result?) {
            prepared.judge(gpu, group, &table, &buffers, specialized, report)?;
        }
    }
    Ok(())
}

/// A shader as a backend takes it, and what its descriptors hold.
struct Shaded<'a> {
    lowered: Lowered,
    contents: &'a BoundContents,
}

fn make_pipeline(
    gpu: &Gpu,
    group: &CaseGroup<'_>,
    shader: &Shaded<'_>,
    topology: PrimitiveTopology,
    specialize: bool,
) -> Result<Pipeline, GpuError> {
    let desc = PipelineDesc {
        shader: &shader.lowered,
        topology,
        provoking_vertex: group.provoking,
        primitive_restart: false,
        vertex_input: &group.subject.vertex_input,
        set_layouts: shader.contents.set_layouts(),
        dynamic_topology: !specialize,
        render_pass: gpu.render_pass(),
        prepared: &[],
        cache: ash::vk::PipelineCache::null(),
    };
    // SAFETY: the context is of a live device, the module was lowered for this backend, and the set layouts have what it
    // uses.
    Ok(unsafe { Pipeline::new(gpu.context(), &desc) }?)
}

/// Captures prepared cases with one pipeline. Returns the allocations after the capture.
fn capture(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    shader: &Shaded<'_>,
    subject: &Subject,
    topology: PrimitiveTopology,
    cases: &[Prepared],
) -> Result<Vec<Vec<Option<Vec<u8>>>>, GpuError> {
    let vertex_buffers: Vec<Vec<(u32, Vec<u8>)>> = cases
        .iter()
        .map(|case| {
            let bindings = &subject.vertex_input.bindings;
            let (vertices, instances) = (case.draw.vertex_count, case.draw.instance_count);
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
        .zip(&targets)
        .zip(&vertex_data)
        .map(|((draws, targets), vertex_data)| {
            // Buffers after the last that is captured to are not bound.
            let used = targets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            CaptureRequest {
                pipeline,
                vertex_data,
                descriptor_sets: shader.contents.sets(),
                push_constants: pushed,
                draws,
                buffers: &targets[..used],
            }
        })
        .collect();
    // SAFETY: the pipeline is of this device, and the vertex data holds every vertex of the draws.
    let results = unsafe { gpu.capture(&requests) }?;
    Ok(results.into_iter().map(|result| result.buffers).collect())
}
