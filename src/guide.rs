//! Pages about captures as a whole, beside the documentation of each item.
//!
//! * [`embedding`]: from an existing device of ash to the buffer with the captured vertices, step by step.
//! * [`wgpu`]: the same with wgpu, whose adapter, buffers and encoders stay.
//! * [`engines`]: which handles VMA, vulkano, SDL_gpu and bgfx give, and which flags their buffers take.
//! * [`synchronization`]: what the application orders, what captures order themselves, and which state of a command
//!   buffer recording changes.
//! * [`resource_plans`]: how shaders reach buffers, by device addresses or by descriptors, and what each plan demands.
//! * [`limits`]: what this crate does not do.
//! * [`errors`]: what errors mean, and their cures.
//!
//! The examples on these pages are tests of this crate. Those that need a device are only compiled; those with wgpu are parts
//! of a program in the repository that is run.

#[doc = include_str!("guide/embedding.md")]
pub mod embedding {}

#[doc = include_str!("guide/wgpu.md")]
pub mod wgpu {}

#[doc = include_str!("guide/engines.md")]
pub mod engines {}

#[doc = include_str!("guide/synchronization.md")]
pub mod synchronization {}

#[doc = include_str!("guide/resource_plans.md")]
pub mod resource_plans {}

#[doc = include_str!("guide/limits.md")]
pub mod limits {}

#[doc = include_str!("guide/errors.md")]
pub mod errors {}
