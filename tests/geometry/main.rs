//! Random vertex and geometry shaders, captured with the device's own transform feedback and by
//! compute, and compared with a model that runs them on the CPU: the whole memory with its counters
//! is compared byte by byte, and so are queries.
//!
//! | variable | |
//! |---|---|
//! | `VKXFB_GEOMETRY` | the number of cases: by default 60 to 200 with `VKXFB_FULL=1`, and a quarter
//! of that without |
//! | `VKXFB_EMISSION` | the number of shaders of which the known numbers of primitives are compared: by default 2,000 with
//! `VKXFB_FULL=1`, and a quarter of that without |
//! | `VKXFB_PRINT=1` | prints each case before it runs, for crashes of drivers |
//! | `VKXFB_TEST_VALIDATION=0` | runs without the validation layer |
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
mod drawn;
mod emission;
mod generate;
mod glsl;
mod interpret;
mod known;
mod model;
mod native;
mod program;
mod reach;
mod run;

use crate::common::skip::{Why, skip};
use common::batches::{self, Worker};
use common::settings::{cases, has_validation};
use generate::Draws;
use run::GeometryWorker;
use vkxfb::runtime::Barrier;
use vkxfb_probe::gpu::Resources;

/// The number of cases that a thread runs at a time.
const BATCH: u64 = 10;

#[test]
fn random_geometry_shaders_capture_what_the_model_says() {
    let count = cases("VKXFB_GEOMETRY", 200);
    let open = || GeometryWorker::new(Draws::Direct, Resources::Best);
    batches::run("geometry", count, BATCH, open).check();
}

/// Tests draws with primitive restart, and draws whose arguments are in memory.
#[test]
fn random_draws_of_geometry_shaders_capture_what_the_model_says() {
    let count = cases("VKXFB_GEOMETRY", 200);
    let open = || GeometryWorker::new(Draws::All, Resources::Best);
    batches::run("geometry-draws", count, BATCH, open).check();
}

/// Tests the same draws with descriptors instead of addresses.
#[test]
fn random_draws_of_geometry_shaders_hold_by_descriptors() {
    let count = cases("VKXFB_GEOMETRY", 60);
    let open = || GeometryWorker::by_compute(Resources::Descriptors);
    batches::run("geometry-descriptors", count, BATCH, open).check();
}

/// A draw of many workgroups has a Vulkan pipeline of its own, and its parameters in push constants. Here every draw has.
/// Some of their dispatches are folded into two axes.
#[test]
fn random_draws_of_geometry_shaders_hold_if_all_are_large() {
    let count = cases("VKXFB_GEOMETRY", 60);
    for resources in [Resources::Best, Resources::Descriptors] {
        let open = || {
            let mut worker = GeometryWorker::by_compute(resources);
            worker.gpu.set(|settings| {
                settings.max_shared_workgroups = 0;
                settings.max_workgroups_per_axis = 48;
            });
            worker
        };
        batches::run("geometry-large", count, BATCH, open).check();
    }
}

/// A vertex shader that draws what a geometry shader emits, for drivers without geometry shaders: the driver's own captures
/// find what the model says.
#[test]
fn random_geometry_shaders_are_drawn_by_vertex_shaders() {
    let count = cases("VKXFB_GEOMETRY", 400);
    let report = batches::run("geometry-drawn", count, BATCH, drawn::DrawnWorker::new);
    report.check();
    // Each list is drawn in each way.
    assert!(report.counts.len() == 4 || count < 1000, "{report}");
}

/// The results must not depend on the number of entries that the draws are divided into.
#[test]
fn random_draws_of_geometry_shaders_hold_with_two_entries() {
    let count = cases("VKXFB_GEOMETRY", 60);
    let open = || {
        let mut worker = GeometryWorker::by_compute(Resources::Best);
        worker.gpu.set(|settings| {
            settings.max_entries = 2;
            settings.serial_kernels = false;
        });
        worker
    };
    batches::run("geometry-entries", count, BATCH, open).check();
}

/// The results must not depend on how many draws, blocks and jobs the kernels process in a turn: one or a few.
#[test]
fn random_draws_of_geometry_shaders_hold_in_turns() {
    let count = cases("VKXFB_GEOMETRY", 60);
    for resources in [Resources::Best, Resources::Descriptors] {
        let open = || {
            let mut worker = GeometryWorker::by_compute(resources);
            worker.gpu.set(|settings| settings.kernel_rounds = 38);
            worker
        };
        batches::run("geometry-turns", count, BATCH, open).check();
    }
}

/// Synchronization validation reports each barrier of geometry captures that is left out.
#[test]
fn barriers_that_lack_are_reported() {
    if !has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let mut worker = GeometryWorker::by_compute(Resources::Descriptors);
    worker.gpu.set(|settings| settings.kernel_rounds = 38);
    let barriers = [
        Barrier::BeforeCountPass,
        Barrier::CountsToSums,
        Barrier::SumsToPlace,
        Barrier::PlaceToCapture,
        Barrier::BetweenTurns,
    ];
    for barrier in [None].into_iter().chain(barriers.map(Some)) {
        let mut reported = 0;
        for seed in 0..12 {
            let messages = worker.messages_without(barrier, seed);
            assert!(messages.iter().all(|m| m.id.starts_with("SYNC-HAZARD")), "{messages:?}");
            reported += messages.len();
        }
        assert_eq!(reported > 0, barrier.is_some(), "{barrier:?}: {reported} messages");
    }
    assert!(worker.finish().failures.is_empty());
}

/// A wrong model must be noticed.
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
