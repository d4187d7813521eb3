//! The winding probe: captures draws of every topology, compares what came back byte by byte with
//! the CPU twin in [`crate::topology`], and names what differs as an engineer would.
//!
//! The pure half: [`shaders`] are shaders whose records are formulas, [`diagnose`] turns bytes into a
//! verdict, [`self_test`] proves that it can fail, [`report`] collects the verdicts of a run, and
//! [`picture`], [`html`] and `table` show them.

pub mod diagnose;
pub mod html;
pub mod picture;
pub mod report;
pub mod self_test;
pub mod sentinel;
pub mod shaders;
#[cfg(feature = "cli")]
pub mod table;
