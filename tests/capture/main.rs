//! Which outputs of a shader are captured: layouts from its decorations, and from an explicit list.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

#[path = "../common/mod.rs"]
mod common;
mod layout;
mod list;
mod no_captures;
