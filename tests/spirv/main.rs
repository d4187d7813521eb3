//! Modules themselves, and where they come from: what is read and changed in them word by word,
//! specialization, the front end for WGSL, and the committed modules.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod committed;
#[path = "../common/mod.rs"]
mod common;
mod frontend;
mod library;
mod specialization;
mod strip;
mod words;
