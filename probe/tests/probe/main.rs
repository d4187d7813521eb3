//! The probe as a library: its plans on lavapipe, what it reports where a device leaves out a step, and the types that
//! threads may share.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../tests/common/mod.rs"]
mod common;
mod contents;
mod host_memory;
mod missing_steps;
mod send_sync;
mod submissions;
mod whole_plan;
