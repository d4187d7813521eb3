//! The vertex backend refuses fans whose first vertex would be stored too many times by one
//! invocation, and all code that chooses among backends takes that into account.

use vkxfb::lower::Backend;
use vkxfb::lower::vertex::{MAX_FAN_PRIMITIVES, MAX_FAN_VERTICES};
use vkxfb::runtime::{Draw, RuntimeError};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{CaptureRequest, CaptureTarget, GpuError, Profile};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::report::{Outcome, ProbeReport};
use vkxfb_probe::run;
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, Bound, Capture, PipelineOptions};

const FAN: PrimitiveTopology = PrimitiveTopology::TriangleFan;

fn draw(vertex_count: u32) -> Draw {
    Draw { vertex_count, instance_count: 2, first_vertex: 3, first_instance: 1 }
}

#[test]
fn a_fan_is_captured_up_to_the_limit_and_refused_beyond() {
    let mut gpu = device::open(Profile::Full);
    let shader = ProbeShader::identify();
    let lowered = device::lower(&gpu, &shader, Backend::Vertex);
    let options =
        PipelineOptions { topology: FAN, provoking: ProvokingVertex::First, specialize: false };
    let pipeline = device::pipeline(&gpu, &shader, &lowered, options);
    let primitive = 3 * u64::from(lowered.layout.strides[0].unwrap());
    let bound = |primitives: u64| Some(Bound { offset: 0, size: primitives * primitive });

    // Two instances of the largest fan, and a larger fan of which few primitives fit: only those
    // are stored.
    for (vertices, room) in
        [(MAX_FAN_VERTICES, 2 * u64::from(MAX_FAN_PRIMITIVES) + 1), (MAX_FAN_VERTICES + 1000, 500)]
    {
        let capture = Capture { draws: vec![(FAN, draw(vertices))], buffers: vec![bound(room)] };
        let expected = capture.model(&shader, ProvokingVertex::First);
        let found = device::run(&mut gpu, &shader, &pipeline, std::slice::from_ref(&capture));
        device::assert_same(&found[0], &expected, &format_args!("{vertices} vertices"));
    }

    let initial = vec![0; (u64::from(MAX_FAN_PRIMITIVES + 1) * primitive) as usize];
    let target = CaptureTarget { initial: &initial, offset: 0, size: initial.len() as u64 };
    let request = CaptureRequest {
        pipeline: &pipeline,
        vertex_data: &[],
        descriptor_sets: &[],
        push_constants: &[],
        draws: &[(FAN, draw(MAX_FAN_VERTICES + 1))],
        buffers: &[Some(target)],
        indices: &[],
        counters: false,
    };
    // SAFETY: the pipeline is of this device, and the shader reads no vertex data.
    let error = unsafe { gpu.capture(&[request]) }.unwrap_err();
    let GpuError::Capture { source: RuntimeError::Limit { value, limit, max, .. }, .. } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(
        (*value, *limit, *max),
        (65_536, "lower::vertex::MAX_FAN_PRIMITIVES", MAX_FAN_PRIMITIVES.into())
    );
}

/// The probe leaves such fans out, and reports the reason.
#[test]
fn the_probe_skips_what_is_refused() {
    let mut gpu = device::open(Profile::Full);
    let mut plan = Plan::full(&[Backend::Vertex, Backend::Compute], 1).unwrap();
    plan.subjects.truncate(1);
    plan.topologies = vec![FAN, PrimitiveTopology::LineStrip];
    plan.vertex_counts = vec![9, MAX_FAN_VERTICES + 1];
    plan.instance_counts = vec![1];
    plan.large = None;
    let mut report = ProbeReport::new(run::device_info(&gpu), "");
    device::probe(&mut gpu, &plan, &mut report);
    assert_eq!(report.outcome(), Outcome::AllRight, "{:#?}", report.cells);
    for cell in &report.cells {
        let is_refused = (cell.backend, cell.topology) == (Backend::Vertex, FAN);
        let skipped = is_refused.then_some("triangle fans of more than 65537 vertices");
        assert_eq!(cell.skipped.as_deref(), skipped, "{} {}", cell.backend, cell.topology);
        // With two conventions, with pipelines that are specialised to the topology and without.
        assert_eq!(cell.passed, if is_refused { 4 } else { 8 });
    }
}
