//! Tests what the documentation says: the guide, the examples, and which types threads may share.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod examples;
mod guide;
mod pages;
mod rooms;
mod send_sync;
mod wgpu;
