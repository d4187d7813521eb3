//! The winding probe: captures draws of every topology, compares what came back byte by byte with
//! the CPU twin in [`vkxfb::topology`], and names what differs as an engineer would.
//!
//! The pure half: [`shaders`] are shaders whose records are formulas, [`subject`] is any shader under
//! test, [`contents`] is what its descriptors hold, [`plan`] says what is run, [`diagnose`] turns bytes
//! into a verdict, [`self_test`] proves that it can fail, [`report`] collects the verdicts of a run, and
//! [`picture`], [`html`] and `table` show them. The other half: [`gpu`] is a headless device, which the
//! tests and examples use too, and [`run`] runs a plan on it.

pub mod contents;
pub mod diagnose;
pub mod gpu;
pub mod html;
pub mod picture;
pub mod plan;
pub mod records;
pub mod report;
pub mod run;
pub mod self_test;
pub mod sentinel;
pub mod shaders;
pub mod subject;
pub mod table;
