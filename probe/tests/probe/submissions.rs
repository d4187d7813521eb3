//! The results of captures do not depend on how captures are split into submissions.

use std::time::Duration;

use vkxfb::lower::Backend;
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::diagnose::Fault;
use vkxfb_probe::gpu::{Gpu, OpenOptions, Profile, Step};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::report::{Outcome, ProbeReport};
use vkxfb_probe::run;

use crate::common;

/// Returns the report of a small plan, and the number of submissions.
fn probe(gpu: &mut Gpu, limit: Duration) -> (ProbeReport, u64) {
    let mut plan = Plan::full(&Backend::ALL, 1).unwrap();
    plan.large = None;
    // No case with 3000 vertices fits into one copy.
    plan.vertex_counts = vec![3, 12, 3000];
    plan.geometry_vertex_counts = plan.vertex_counts.clone();
    plan.topologies = vec![PrimitiveTopology::LineStrip, PrimitiveTopology::TriangleStrip];
    gpu.set_submission_limit(limit);
    let before = gpu.submissions();
    let mut report = ProbeReport::new(run::device_info(gpu), "");
    common::device::probe(gpu, &plan, &mut report);
    (report, gpu.submissions() - before)
}

#[test]
fn results_do_not_depend_on_the_submissions() {
    let mut gpu = common::device::open(Profile::Full);
    let (together, few) = probe(&mut gpu, Duration::MAX);
    let (alone, many) = probe(&mut gpu, Duration::ZERO);
    // There are 3 vertex shaders, 2 provoking vertices and 2 topologies, with one native pipeline,
    // and two pipelines of each other backend. For each topology there are 6 geometry shaders, on
    // the native and the compute backend.
    let batches = 3 * 2 * 2 * 5 + 2 * 6 * 2;
    assert_eq!(few, batches);
    // Each of the 6 draws of a batch has at least one submission. The copies of large draws have
    // several.
    assert!(many >= batches * 8, "{many} submissions");
    assert_eq!(together.outcome(), Outcome::AllRight, "{:#?}", together.cells);
    assert_eq!(together.results, alone.results);
    let cells = |report: &ProbeReport| serde_json::to_value(&report.cells).unwrap();
    assert_eq!(cells(&together), cells(&alone));
    let traces = |report: &ProbeReport| serde_json::to_value(&report.traces).unwrap();
    assert_eq!(traces(&together), traces(&alone));
    assert!(together.longest_submission_s > 0.0);
}

/// A missing step is also reported if each capture has its own submission.
#[test]
fn a_missing_step_is_named_however_captures_are_split() {
    // The validation layer is not enabled, because it would report the missing step.
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    for (step, fault) in [
        (Step::CopyIn, Fault::NothingCopiedIn),
        (Step::Capture, Fault::NothingWritten),
        (Step::CopyBack, Fault::NothingCopiedBack),
    ] {
        gpu.omit_step(Some(step));
        let (report, _) = probe(&mut gpu, Duration::ZERO);
        assert!(!report.mismatches.is_empty());
        for failure in &report.mismatches {
            assert_eq!(failure.mismatch.fault, fault, "{}", failure.mismatch);
        }
    }
}
