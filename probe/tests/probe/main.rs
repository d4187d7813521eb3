//! Tests the probe as a library: its plans on lavapipe, its reports about devices that leave out a
//! step, and which types threads may share.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../tests/common/mod.rs"]
mod common;
mod contents;
mod host_memory;
mod missing_steps;
mod send_sync;
mod submissions;
mod whole_plan;
