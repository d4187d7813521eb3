//! Tests broadcast colours on a device, and Gallium's stream outputs. The tests of split blocks are
//! where their outputs are captured: in `tests/lower` and `tests/backends` of the workspace.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod broadcast;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod send_sync;
mod stream_output;
