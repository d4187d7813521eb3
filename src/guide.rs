//! Pages about captures as a whole, beside the documentation of each item.
//!
//! * [`embedding`]: from an existing device of ash to the buffer with the captured vertices, step by step.
//! * [`synchronization`]: what the application orders, what captures order themselves, and which state of a command
//!   buffer recording changes.
//! * [`resource_plans`]: how shaders reach buffers, by device addresses or by descriptors, and what each plan demands.
//! * [`limits`]: what this crate does not do.
//! * [`errors`]: what errors mean, and their cures.
//!
//! The examples on these pages are tests of this crate. Those that need a device are only compiled.

#[doc = include_str!("guide/embedding.md")]
pub mod embedding {}

#[doc = include_str!("guide/synchronization.md")]
pub mod synchronization {}

#[doc = include_str!("guide/resource_plans.md")]
pub mod resource_plans {}

#[doc = include_str!("guide/limits.md")]
pub mod limits {}

#[doc = include_str!("guide/errors.md")]
pub mod errors {}
