//! Passes for translators from other graphics APIs to Vulkan, in addition to the captures of `vkxfb`.
//!
//! | module | what it does |
//! |---|---|
//! | [`slots`] | Mesa's varying slots as locations and built-ins |
//! | [`stream_output`] | Gallium's stream outputs as a [`CaptureList`](vkxfb_rewriter::capture::CaptureList) |
//! | [`split_blocks`] | output structures become variables, so that each member can be captured by its own decorations |
//! | [`broadcast`] | `gl_FragColor`: one output for all colour attachments |
//!
//! Each pass is a function of SPIR-V words or of numbers, and needs no device.

#![forbid(unsafe_code)]

pub mod broadcast;
pub mod slots;
pub mod split_blocks;
pub mod stream_output;
