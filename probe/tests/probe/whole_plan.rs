//! Runs the whole plan on lavapipe with validation, in both profiles and with both resource plans.
//! Every expected case runs, and is right.

use vkxfb::lower::{Backend, Shader};
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::VertexFormat;
use vkxfb_probe::contents::Given;
use vkxfb_probe::gpu::{OpenOptions, Profile, Resources};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::report::{CapturedStage, Outcome, ProbeReport, Row};
use vkxfb_probe::run;
use vkxfb_probe::subject::Subject;

use crate::common;
use crate::common::settings::is_full;
use crate::common::test_device::TestDevice;

/// The number of draws with a topology: shaders * provoking vertices * vertex counts * instance
/// counts.
const DRAWS: u32 = 3 * 2 * 16 * 2;

/// The number of cases of a topology on a backend, worked out by hand, so that the plan cannot
/// shrink unnoticed.
fn expected_cases(
    backend: Backend,
    resources: Resources,
    topology: PrimitiveTopology,
    has_large: bool,
) -> u32 {
    let large = match topology {
        _ if !has_large => 0,
        // The large draw captures 12 million records of 16 bytes. They exceed a descriptor of 128
        // MiB, so the draw is left out.
        PrimitiveTopology::TriangleStrip
            if backend == Backend::Compute && resources == Resources::Descriptors =>
        {
            0
        }
        PrimitiveTopology::TriangleList | PrimitiveTopology::TriangleStrip => 1,
        _ => 0,
    };
    match backend {
        Backend::Native => DRAWS + large,
        // There is a pipeline for this topology alone, and one for every topology.
        Backend::Vertex | Backend::Compute => 2 * (DRAWS + large),
    }
}

/// The number of cases of a topology with geometry shaders: kinds of emitted primitives * one or
/// two strips * vertex counts * instance counts. They have one pipeline.
const EMITTED: u32 = 3 * 2 * 7 * 2;

/// The number of cases of the geometry shaders with several vertex streams, and of the tessellation
/// shaders: kinds of emitted primitives * vertex counts * instance counts.
const EMITTED_TO_STREAMS: u32 = 3 * 7 * 2;

fn probe(profile: Profile, resources: Resources, backends: &[Backend]) {
    probe_with(&OpenOptions { profile, resources, ..Default::default() }, backends);
}

fn probe_with(options: &OpenOptions, backends: &[Backend]) {
    let gpu = common::device::open_with(options.clone());
    assert_eq!(gpu.backends(), backends);
    run_plan(gpu, options.resources, backends);
}

fn run_plan(mut gpu: TestDevice, resources: Resources, backends: &[Backend]) {
    let mut plan = Plan::full(backends, gpu.context().settings().max_workgroups_per_axis).unwrap();
    // The large draws take three quarters of the time of a plan. Without `VKXFB_FULL=1`, only the
    // plan of all backends has them.
    let has_large = is_full() || backends == Backend::ALL;
    if !has_large {
        plan.large = None;
    }
    plan.max_capture_buffer = gpu.context().max_capture_buffer();
    let mut report = ProbeReport::new(run::device_info(&gpu), "");
    common::device::probe(&mut gpu, &plan, &mut report);
    let native = gpu.capabilities().transform_feedback.as_ref();
    let streams_lines = native.is_some_and(|support| support.streams_lines_triangles);

    assert_eq!(report.outcome(), Outcome::AllRight, "{:#?}", report.cells);
    let of_geometry = PrimitiveTopology::ALL
        .map(|topology| (Row { stage: CapturedStage::Geometry, topology }, EMITTED));
    let topology = PrimitiveTopology::PointList;
    let of_streams = Row { stage: CapturedStage::GeometryStreams, topology };
    let topology = PrimitiveTopology::PatchList;
    let of_patches = Row { stage: CapturedStage::Tessellation, topology };
    let emitted: Vec<_> = (of_geometry.into_iter())
        .chain([(of_streams, EMITTED_TO_STREAMS), (of_patches, EMITTED_TO_STREAMS)])
        .collect();
    assert_eq!(report.cells.len(), backends.len() * (PrimitiveTopology::ALL.len() + emitted.len()));
    for backend in backends {
        for &(row, count) in &emitted {
            let cell = report.cell(*backend, row).unwrap();
            let (expected, reason) = match backend {
                Backend::Vertex => (0, Some("the vertex backend takes vertex shaders alone")),
                // Only the one of the three shaders that emits points can be captured.
                Backend::Native if row == of_streams && !streams_lines => {
                    (count / 3, Some("no transformFeedbackStreamsLinesTriangles"))
                }
                Backend::Native | Backend::Compute => (count, None),
            };
            assert_eq!((cell.run, cell.passed), (expected, expected), "{backend} {row}");
            assert_eq!(cell.skipped.as_deref(), reason, "{backend} {row}");
            assert_eq!(cell.rotated, 0, "{backend} {row}");
        }
        for topology in PrimitiveTopology::ALL {
            let cell = report.cell(*backend, topology).unwrap();
            let expected = expected_cases(*backend, resources, topology, has_large);
            assert_eq!((cell.run, cell.passed), (expected, expected), "{backend} {topology}");
            assert_eq!(cell.skipped, None, "{backend} {topology}");
            // lavapipe guarantees the order of vertices except for fans, and keeps it for fans,
            // too.
            assert_eq!(cell.rotated, 0, "{backend} {topology}");
        }
    }
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    // There is a picture of each row. With several vertex streams, there is one of each stream of each shader that is
    // captured: of triangles to two streams, and of points and lines to four.
    let cells = report.cells.iter().filter(|cell| cell.run > 0);
    let pictures = cells.map(|cell| match (cell.row() == of_streams, cell.backend) {
        (false, _) => 1,
        (true, Backend::Native) if !streams_lines => 4,
        (true, _) => 2 + 4 + 4,
    });
    assert_eq!(report.traces.len(), pictures.sum::<usize>());
    for trace in &report.traces {
        assert!(!trace.primitives.is_empty(), "{} {}", trace.backend, trace.case);
    }
}

#[test]
fn the_whole_plan_is_right_on_every_backend() {
    probe(Profile::Full, Resources::Best, &Backend::ALL);
}

#[test]
fn the_whole_plan_is_right_on_the_floor() {
    probe(Profile::Bifrost, Resources::Best, &[Backend::Compute]);
}

/// Staging is not faster on lavapipe, but its results must be right.
#[test]
fn the_whole_plan_is_right_with_staging() {
    let options =
        OpenOptions { profile: Profile::Bifrost, staging: Some(4096), ..Default::default() };
    probe_with(&options, &[Backend::Compute]);
}

/// Each draw gets a dispatch of its own, as large draws do.
#[test]
fn the_whole_plan_is_right_for_large_draws() {
    let options = OpenOptions { max_shared_workgroups: Some(0), ..Default::default() };
    run_plan(common::device::open_with(options), Resources::Best, &[Backend::Compute]);
}

#[test]
fn the_whole_plan_is_right_by_descriptors() {
    probe(Profile::Full, Resources::Descriptors, &[Backend::Native, Backend::Compute]);
}

#[test]
fn the_whole_plan_is_right_by_descriptors_on_the_floor() {
    probe(Profile::Bifrost, Resources::Descriptors, &[Backend::Compute]);
}

/// No graphics pipeline is created with a format that the device does not support. Its captures
/// would be compared with those of the compute backend, which supports every format.
#[test]
fn formats_that_the_device_does_not_read_are_skipped_with_a_reason() {
    let words = common::compile(
        "#version 450
         layout(location = 0) in dvec2 position;
         layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 captured;
         void main() {
             captured = vec4(vec2(position), vec2(floatBitsToUint(vec2(position))));
             gl_Position = vec4(0);
             gl_PointSize = 1;
         }",
        &["--target-env", "vulkan1.1"],
    );
    let mut gpu = common::device::open(Profile::Full);
    let has_format = gpu.has_vertex_format(VertexFormat::R64G64Sfloat);
    let mut plan = Plan::full(&Backend::ALL, 1).unwrap();
    plan.quick();
    let (shader, given) = (Shader::new(&words), Given::default());
    plan.subjects = vec![Subject::from_shader("double", &shader, &given).unwrap()];
    plan.topologies = vec![PrimitiveTopology::TriangleList];
    let mut report = ProbeReport::new(run::device_info(&gpu), "");
    common::device::probe(&mut gpu, &plan, &mut report);
    assert_eq!(report.outcome(), Outcome::AllRight, "{:#?}", report.cells);
    for cell in &report.cells {
        // lavapipe does not support the format.
        let is_skipped = !has_format && cell.backend != Backend::Compute;
        let reason = is_skipped.then_some("no vertex buffers of VK_FORMAT_R64G64_SFLOAT");
        assert_eq!(cell.skipped.as_deref(), reason, "{}", cell.backend);
        assert_eq!(cell.run == 0, is_skipped, "{}", cell.backend);
    }
}
