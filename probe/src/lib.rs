//! The winding probe: captures draws of every topology, compares every byte with the model on the
//! CPU in [`vkxfb::topology`], and names differences in terms that an engineer can use.
//!
//! These modules need no device: [`shaders`] has shaders whose records are formulas, [`subject`]
//! any shader under test, [`contents`] what its descriptors hold, [`emission`] what a geometry shader emits, [`plan`] what
//! is run, [`trial`] what is tried before. [`diagnose`] turns bytes into a verdict,
//! [`self_test`] proves that the verdict can be negative, [`report`] collects the verdicts of a
//! run, [`compare`] sets it beside that of another run, and [`picture`], [`html`] and `table` show them. These use a device: [`gpu`] is a headless
//! device, which tests and examples use too, and [`run`] runs a plan on it.

pub mod compare;
pub mod contents;
pub mod diagnose;
pub mod emission;
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
pub mod trial;
