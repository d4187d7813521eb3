//! Tests masks against the specification's tables, structures and their chains, and commands with a
//! driver that logs its arguments.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "all arguments are those of these tests")]

mod commands;
mod masks;
mod passes;
mod registry;
mod table;
mod usages;
