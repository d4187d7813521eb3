//! What of a shader is captured: layouts by its decorations, and by an explicit list.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

#[path = "../common/mod.rs"]
mod common;
mod layout;
mod list;
mod no_captures;
