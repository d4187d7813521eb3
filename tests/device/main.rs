//! Devices and pipelines: what applications create them with, what their context reports, and what
//! is done differently on some devices.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod application;
mod bifrost;
#[path = "../common/mod.rs"]
mod common;
mod debug_utils;
mod existing;
mod pipeline_layouts;
mod prepared;
mod set_layouts;
mod variants;
mod vertex_formats;
mod whole;
mod workarounds;
