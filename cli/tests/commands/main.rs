//! Runs the command as a user does: checks exit statuses, output, and the files that it writes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod bench;
mod bench_bars;
mod capture;
mod capture_gltf;
mod capture_pictures;
mod cli;
mod command;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod driver;
mod geometry;
mod info;
mod layer;
mod probe_compare;
#[cfg(target_os = "linux")]
mod probe_driver;
mod probe_geometry;
mod probe_isolate;
mod probe_junit;
mod probe_repeat;
mod probe_reproduce;
mod probe_running;
mod probe_trials;
mod terminal;
mod tessellation;
