//! If a device executes nothing, or leaves out a copy or the capture, the probe reports that
//! instead of an overrun. `Gpu::omit_step` leaves out a step.

use vkxfb::lower::{Backend, Shader};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::contents::Given;
use vkxfb_probe::diagnose::Fault;
use vkxfb_probe::gpu::{Gpu, OpenOptions, Step};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::report::{Outcome, ProbeReport};
use vkxfb_probe::run;
use vkxfb_probe::subject::Subject;

use crate::common;

/// Runs a small plan with `step` left out.
fn probe(subjects: Option<Vec<Subject>>, step: Option<Step>) -> ProbeReport {
    // The validation layer is not enabled, because it would report the missing step.
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let mut plan = Plan::full(&Backend::ALL, 1).unwrap();
    plan.quick();
    plan.vertex_counts = vec![3, 12];
    plan.geometry_vertex_counts = plan.vertex_counts.clone();
    plan.topologies = vec![PrimitiveTopology::LineStrip, PrimitiveTopology::TriangleStrip];
    if let Some(subjects) = subjects {
        plan.subjects = subjects;
    }
    gpu.omit_step(step);
    let mut report = ProbeReport::new(run::device_info(&gpu), "");
    common::device::probe(&mut gpu, &plan, &mut report);
    report
}

fn assert_named(report: &ProbeReport, fault: Fault) {
    assert_eq!(report.outcome(), Outcome::Mismatches);
    let (run, skipped): (Vec<_>, Vec<_>) =
        report.cells.iter().partition(|cell| cell.skipped.is_none());
    // Only geometry shaders on the vertex backend are left out.
    assert!(skipped.iter().all(|cell| cell.backend == Backend::Vertex && cell.run == 0));
    for cell in run {
        assert!(cell.run > 0 && cell.failed() == cell.run, "{fault}: {cell:#?}");
        let mismatch = &cell.first_failure.as_ref().unwrap().mismatch;
        assert_eq!(mismatch.fault, fault, "{mismatch}");
    }
    for failure in &report.mismatches {
        let mismatch = &failure.mismatch;
        assert!(mismatch.fault == fault && mismatch.also.is_empty(), "{mismatch}");
    }
}

const STEPS: [(Step, Fault); 4] = [
    (Step::Submission, Fault::NothingExecuted),
    (Step::CopyIn, Fault::NothingCopiedIn),
    (Step::Capture, Fault::NothingWritten),
    (Step::CopyBack, Fault::NothingCopiedBack),
];

#[test]
fn each_step_that_is_left_out_is_named() {
    assert_eq!(probe(None, None).outcome(), Outcome::AllRight);
    for (step, fault) in STEPS {
        assert_named(&probe(None, Some(step)), fault);
    }
}

/// For a shader from a file, the step is missing from the capture of the reference records, too.
#[test]
fn each_step_is_named_for_shaders_from_files() {
    let words = common::compile(
        "#version 450
         layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 captured;
         void main() {
             captured = vec4(gl_VertexIndex, gl_InstanceIndex, 1, 2);
             gl_Position = vec4(0);
             gl_PointSize = 1;
         }",
        &["--target-env", "vulkan1.1"],
    );
    let geometry = common::compile_stage(
        "geom",
        "#version 450
         layout(lines) in;
         layout(line_strip, max_vertices = 3) out;
         layout(location = 0) in vec4 captured[];
         layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 emitted;
         void main() {
             for (uint i = 0; i < 3; i++) { emitted = captured[i % 2] + i; EmitVertex(); }
         }",
        &[],
    );
    let behind = ("geometry", &Shader::new(&geometry));
    let (vertex, given) = (Shader::new(&words), Given::default());
    let subject = |behind| Subject::from_stages("vertex", &vertex, behind, &given).unwrap();
    let subjects = || Some(vec![subject(None), subject(Some(behind))]);
    assert_eq!(probe(subjects(), None).outcome(), Outcome::AllRight);
    for (step, fault) in STEPS {
        assert_named(&probe(subjects(), Some(step)), fault);
    }
}
