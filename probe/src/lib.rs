//! The winding probe captures draws of every topology, compares every byte with the model on the
//! CPU in [`vkxfb::topology`], and names the differences in words that help an engineer.
//!
//! Most modules need no device. [`shaders`] has vertex, geometry and tessellation shaders whose
//! records are given by formulas, and [`emission`] describes what a geometry shader emits.
//! [`subject`] describes the shader under test, and [`contents`] the contents of its descriptors.
//! [`plan`] lists the captures of a run, and [`trial`] the properties of the device that are tried
//! before the captures. [`diagnose`] turns captured bytes into a verdict, and [`self_test`] shows
//! that [`diagnose`] finds every fault. [`report`] collects the verdicts of a run, [`compare`]
//! compares the reports of two runs, and [`picture`], [`html`] and `table` show reports.
//!
//! Two modules use a device: [`gpu`] opens a headless device, which tests and examples use too, and
//! [`run`] runs a plan on it.

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
mod system;
pub mod table;
pub mod trial;
