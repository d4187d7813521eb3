//! Random vertex and geometry shaders, captured by the device's own transform feedback and by compute, and
//! compared with a model that runs them on the CPU: whole memories, byte by byte, with counters and queries.
//!
//! | variable | |
//! |---|---|
//! | `VKXFB_GEOMETRY` | how many cases: by default 600 and 300 with `VKXFB_FULL=1`, and a fifth without |
//! | `VKXFB_PRINT=1` | prints each case before it runs, for crashes of drivers |
//! | `VKXFB_TEST_VALIDATION=0` | without the validation layer |
//!
//! A failure names its seed: `VKXFB_SEED=<seed> VKXFB_GEOMETRY=1` repeats it. For seeds, threads, and crashes of
//! drivers see tests/common/batches.rs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod assembly;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod compile;
mod compute;
mod generate;
mod glsl;
mod interpret;
mod known;
mod model;
mod native;
mod program;
mod reach;
mod run;

use common::batches::{self, Worker};
use common::settings::cases;
use generate::Draws;
use run::GeometryWorker;
use vkxfb_probe::gpu::Resources;

/// Cases that a thread takes at a time.
const BATCH: u64 = 10;

#[test]
fn random_geometry_shaders_capture_what_the_model_says() {
    let count = cases("VKXFB_GEOMETRY", 600);
    let open = || GeometryWorker::new(Draws::Direct, Resources::Best);
    batches::run("geometry", count, BATCH, open).check();
}

/// With primitive restart, and with draws whose arguments are in memory.
#[test]
fn random_draws_of_geometry_shaders_capture_what_the_model_says() {
    let count = cases("VKXFB_GEOMETRY", 300);
    let open = || GeometryWorker::new(Draws::All, Resources::Best);
    batches::run("geometry-draws", count, BATCH, open).check();
}

/// A wrong model is noticed.
#[test]
fn a_wrong_model_is_found_out() {
    let mut worker = GeometryWorker::new(Draws::Direct, Resources::Best);
    worker.perturb = true;
    worker.batch(&(0..8).collect::<Vec<_>>());
    let report = worker.finish();
    let captured: u64 = report.compared.values().sum();
    assert!(captured > 4, "{report}");
    assert_eq!(report.failures.len() as u64, captured, "{report}");
}
