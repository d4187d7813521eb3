//! What is recorded and executed: captures as values, their order, memory, costs, queries, draw
//! commands of every kind, and calls that are refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod allocations;
mod arenas;
mod capture_order;
mod capture_value;
#[path = "../common/mod.rs"]
mod common;
mod contracts;
mod costs;
mod descriptor_sets;
mod draw_arguments;
mod edges;
mod fused;
mod indirect_draws;
mod interleaved;
mod long_restarts;
mod many_draws;
mod native_draws;
mod queries;
mod recording;
mod setup;
