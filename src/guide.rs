//! Pages about captures as a whole, in addition to the documentation of each item.
//!
//! * [`embedding`]: from an existing device of ash to the buffer with the captured vertices, step by step.
//! * [`wgpu`]: these steps with the adapter, buffers and encoders of wgpu.
//! * [`engines`]: which handles VMA, vulkano, SDL_gpu and bgfx give access to, and which flags their buffers have.
//! * [`synchronization`]: what the application must synchronize, what captures synchronize themselves, and which
//!   command buffer state recording changes.
//! * [`resource_plans`]: how shaders access buffers, by device addresses or by descriptors, and what each plan
//!   requires.
//! * [`limits`]: what this crate does not do.
//! * [`errors`]: the meanings of errors, and how to avoid them.
//!
//! The examples on these pages are tests of this crate. Examples that need a device are only compiled. The
//! examples with wgpu are parts of a program in the repository, which is run.

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
