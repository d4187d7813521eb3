//! The winding probe captures draws of every topology, compares every byte with the model on the
//! CPU in [`vkxfb_rewriter::topology`], and names the differences in words that help an engineer.
//!
//! Most modules need no device. [`shaders`] has vertex, geometry and tessellation shaders whose
//! records are given by formulas, and [`emission`] describes what a geometry shader emits.
//! [`subject`] describes the shader under test, and [`contents`] the contents of its descriptors.
//! [`plan`] lists the captures of a run, and [`trial`] the properties of the device that are tried
//! before the captures. [`diagnose`] turns captured bytes into a verdict. [`report`] collects the
//! verdicts of a run, [`compare`] compares the reports of two runs, and [`picture`], [`html`] and
//! `table` show reports, `table` by `terminal`, which escapes. [`bug`] writes them in one file for a driver's maintainers, and [`junit`] for CI systems.
//! [`demand`] says what the specification demands where a case is wrong, and [`reproduce`] writes a C program that
//! shows a case without vkxfb.
//!
//! Two modules use a device: [`gpu`] opens a headless device, which tests and examples use too, and [`run`] runs a plan
//! on it.
//!
//! # Words
//!
//! The glossary of `vkxfb` explains the words of captures. The probe adds these words, or uses them in another sense:
//!
//! * *batch*: draws that are submitted together ([`plan::Batch`]).
//! * *case*: a draw that is captured with one pipeline ([`report::Case`]). It *could not run* if there is no capture to
//!   compare, for example because a Vulkan command failed.
//! * *cell*: the results of the cases in one *row* of the report's table on one backend ([`report::Cell`]). A row is a
//!   topology and the stage that is captured ([`report::Row`]).
//! * *fault*: what is wrong with a capture ([`diagnose::Fault`]).
//! * *facts*: properties of the device, the driver, the machine and the run, as names and values.
//! * *gap*: bytes of a record that no output covers, and that must not be written.
//! * *group*: the cases with the same backend, shaders, provoking vertex and topology ([`plan::CaseGroup`]). Where
//!   reports are shown, it is a list of cases with similar results.
//! * *guard region*: memory before and after the bound range of a capture buffer, which must not be written.
//! * *loss*: the device was lost, the process crashed, or the device did not finish ([`report::LostCase`]).
//! * *plan*: the captures of a run ([`plan::Plan`]).
//! * *reference records*: the records of a shader from a file, captured with a list topology. The captures of all draws
//!   are compared with them ([`run`]).
//! * *sentinels*: the bytes with which memory is filled before a capture, to find the bytes that were written
//!   ([`sentinel`]).
//! * *slot*: the part of a buffer that belongs to one of the captures that share the buffer. A [`diagnose::Slot`] is
//!   what a captured record contains.
//! * *subject*: the shaders under test ([`subject::Subject`]).
//! * *trace*: the captured primitives of a draw, right or wrong, for a picture ([`report::Trace`]).
//! * *trial*: a test of a property that devices do not report, before the cases run ([`trial::Trial`]).
//! * *verdict*: the result of comparing a capture with the records that it should have ([`diagnose::Verdict`]).

pub mod bug;
mod case;
pub mod compare;
pub mod contents;
pub mod demand;
pub mod diagnose;
pub mod emission;
pub mod gpu;
pub mod html;
pub mod junit;
mod names;
pub mod picture;
pub mod plan;
pub mod records;
pub mod report;
pub mod reproduce;
mod row;
pub mod run;
pub mod sentinel;
pub mod shaders;
pub mod subject;
mod system;
pub mod table;
pub mod terminal;
pub mod trial;
