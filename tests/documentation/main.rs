//! Tests what the documentation says: the guide, the examples, which types threads may share, the order of modules, and
//! the comments on unsafe code.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod descriptions;
mod examples;
mod guide;
mod pages;
mod rooms;
mod safety;
mod send_sync;
mod wgpu;
