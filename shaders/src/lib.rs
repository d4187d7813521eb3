//! Rewrites shaders so that they store what transform feedback captures: the same bytes that
//! [`VK_EXT_transform_feedback`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_transform_feedback.html)
//! captures, also if the driver does not have that extension.
//!
//! SPIR-V goes in, and SPIR-V comes out; no Vulkan object is needed. The crate `vkxfb` creates pipelines from what
//! comes out and records captures with them. Take this crate alone to rewrite shaders offline or for a runtime of your
//! own: Mesa's compilers and Vulkan layers do the same in their own representation.
//!
//! # From a shader to a rewritten shader
//!
//! ```text
//! words -> spirv::Module -> capture::Layout -> lower::{native, vertex, compute} -> lower::Lowered
//! ```
//!
//! 1. [`spirv`] splits the words into instructions and knows their operands. Only what a pass asks for is decoded, so that
//!    nothing is lost that this crate does not know.
//! 2. [`capture`] reads what the shader captures: by its decorations, or by a [`CaptureList`](capture::CaptureList).
//! 3. [`lower`] rewrites it for one of three [backends](lower::Backend). By compute, the stages of a pipeline up to the captured
//!    one are merged into one compute shader, functions of this crate's shader library (`*.wgsl` beside the sources) are linked
//!    into it, and each invocation stores what one vertex or primitive contributes.
//!
//! ```
//! use vkxfb_rewriter::capture::CaptureList;
//! use vkxfb_rewriter::lower::{Shader, compute};
//! use vkxfb_rewriter::vertex_input::VertexInput;
//!
//! /// Returns the compute shader that captures the position of each vertex, 16 bytes.
//! fn capture_positions(vertex_shader: &[u32]) -> Result<Vec<u32>, vkxfb_rewriter::lower::LowerError> {
//!     let list = CaptureList::new(16).output("@Position", 0);
//!     let input = VertexInput::default();
//!     let lowered = compute::lower(&Shader::new(vertex_shader).captures(&list), &compute::Options::new(&input))?;
//!     Ok(lowered.words)
//! }
//! ```
//!
//! # For a runtime of your own
//!
//! A rewritten shader reads [`sysval::Sysvals`] from its push constants: the draw, where its records begin, the
//! addresses of buffers, and how attributes are pulled ([`vertex_input`]). Whoever records the dispatch fills them.
//! What a draw writes and in which order is in [`topology`], how many primitives it has and how many fit in [`counts`],
//! how patches are divided in [`tessellator`]. Where counts or positions are known to the GPU alone, [`lower::kernel`]
//! has the compute shaders that find them. [`lower::reflect`] says which inputs an application has to provide for a
//! shader.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! * `ash`: conversions between the enumerations of `ash::vk` and the types of this crate.
//! * `wgsl`: the module `frontend`, which compiles vertex shaders in WGSL, and modules of naga.

// docs.rs says of what needs a feature that it does.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod capture;
pub mod counts;
#[cfg(feature = "wgsl")]
pub mod frontend;
pub mod lower;
mod setters;
pub mod spirv;
pub mod sysval;
pub mod tessellator;
pub mod topology;
pub mod vertex_input;
#[cfg(feature = "ash")]
pub mod vulkan;

/// The version of naga whose modules this crate takes.
#[cfg(feature = "wgsl")]
pub use naga;
