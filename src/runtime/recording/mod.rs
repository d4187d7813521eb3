//! [`Recorder`]: records one capture (`vkCmdBeginTransformFeedbackEXT`, draws, `vkCmdEndTransformFeedbackEXT`) on the
//! backend of its pipeline.
//!
//! | backend | what a draw records |
//! |---|---|
//! | native | the corresponding Vulkan command |
//! | vertex | `vkCmdDraw`, with the sysvals in push constants that say where its records are written |
//! | compute | nothing: [`Recorder::end`] records all draws |
//!
//! The functions of [`Recorder`] are in recorder.rs. graphics.rs implements the native and the vertex backend.
//!
//! The compute backend has three phases. A [`Capture`] calls one after the other:
//!
//! | phase | input | result |
//! |---|---|---|
//! | collect | what the application binds and draws | the draws in order as values, with their states |
//! | plan | these values | the steps to record and the memory that they take, without Vulkan handles |
//! | play | the plan, and the handles that were collected beside the values | commands |
//!
//! Draws are collected because recording them together is cheaper. If the CPU knows everything (all draws are direct,
//! and the buffers are written from a known position on), it computes all counts and positions itself, and records only
//! dispatches without barriers between them: one for each large draw, and one for all small draws between two large
//! ones. Otherwise one dispatch of a setup kernel computes the counts and positions of all draws on the GPU, and after
//! it all draws are dispatched.

pub(crate) mod arena_desc;
mod capture;
mod capture_desc;
mod checks;
mod collect;
pub(crate) mod draw_arguments;
pub(crate) mod drawn;
mod graphics;
mod job;
mod plan;
mod play;
pub(crate) mod queries;
mod recorder;
mod set_arguments;

pub use self::capture::Capture;
pub use self::capture_desc::{CaptureDesc, Captured, Recorded};
pub use self::play::CaptureOrder;
pub use self::recorder::Recorder;
pub use self::set_arguments::BufferSet;
