//! Tests the translation of masks against the specification's tables, and the translation of structures and their
//! chains.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod masks;
mod passes;
mod table;
mod usages;
