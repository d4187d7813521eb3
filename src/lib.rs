//! Transform feedback for every Vulkan device: `VK_EXT_transform_feedback`'s captures, byte for byte, where
//! the driver has none.
//!
//! A vertex shader with capture decorations goes in as SPIR-V words. [`capture`] reads what it captures,
//! [`lower`] rewrites it for one of three backends, and [`runtime`] makes a Vulkan pipeline of the result
//! and records captures with it:
//!
//! ```text
//! SPIR-V words -> spirv::Module -> capture::Layout -> lower::{native, vertex, compute}
//!              -> runtime::Pipeline -> runtime::Recorder: begin, draw*, end -> capture buffers
//! ```
//!
//! The rules themselves stand in [`topology`] (which vertices a primitive writes, in which order) and
//! [`draw`] (how many fit), on the CPU; `shaders/*.wgsl` says the same to the GPU, and the functions there
//! are linked into the rewritten shader. [`sysval`] is what the CPU tells the GPU of a draw.
//!
//! Above [`runtime`] nothing knows Vulkan's objects, and below it nothing knows SPIR-V. The command `vkxfb`, the
//! probe, the benchmark and the Vulkan layer are packages of their own, and users of this API like any other.
//!
//! # Features
//!
//! None is on by default.
//!
//! * `gpu-allocator`: [`runtime::MemoryAllocator`] for `gpu_allocator::vulkan::Allocator`.
//! * `wgsl`, `glsl`: `frontend`, vertex shaders in these languages. What is captured of them says a
//!   [`capture::CaptureList`].

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod capture;
pub mod draw;
#[cfg(any(feature = "glsl", feature = "wgsl"))]
pub mod frontend;
#[doc(hidden)]
pub mod internal;
pub mod lower;
pub mod runtime;
pub mod slots;
pub mod spirv;
pub mod sysval;
pub mod topology;
pub mod vertex_input;
