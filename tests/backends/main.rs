//! Captures on a device by every backend, with both resource plans, compared with the model of the
//! specification or with the driver's own captures.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod drawn;
mod effects;
mod fan_limit;
mod geometry;
mod index_buffers;
mod largest_buffer;
mod native_stages;
mod pipeline_choice;
mod pushed_addresses;
mod random_lists;
mod rasterizing;
mod resources;
mod stages;
mod what_works;
