//! Public types can be sent to other threads and shared between threads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

#[macro_use]
#[path = "../../tests/common/thread_safety.rs"]
mod thread_safety;

send_and_sync! {
    vkxfb_bench { Contestant }
    vkxfb_bench::case { Case, Division, Emission, Record, RecordError, Work, Workload }
    vkxfb_bench::compare { Mismatch }
    vkxfb_bench::data { Vertices }
    vkxfb_bench::plan { Part, Plan, PlanError, Selection }
    vkxfb_bench::report {
        BenchReport, CaseReport, Clock, Host, LeftOut, Maker, Measured, Missing, PipelineReport,
    }
    vkxfb_bench::roofline { Resources, Spread }
    vkxfb_bench::run { BenchError, Effort, Progress }
}

/// Types that are asserted separately.
const OTHERS: &[&str] = &[];

#[test]
fn no_public_type_is_forgotten() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let known = [NAMES, OTHERS].concat();
    assert_eq!(thread_safety::forgotten(&source, &known), [""; 0]);
}
