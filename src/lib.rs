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
//! [`counts`] (how many fit), on the CPU; `shaders/*.wgsl` says the same to the GPU, and the functions there
//! are linked into the rewritten shader. [`sysval`] is what the CPU tells the GPU of a draw.
//!
//! # A capture
//!
//! ```no_run
//! use vkxfb::ash::{self, vk};
//! use vkxfb::lower::compute;
//! use vkxfb::{
//!     Arena, Backend, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Context, Draw, Kernels, Pipeline,
//!     PipelineDesc, PrimitiveTopology, Recorder, Shader, VertexBuffer, runtime::vulkan::vertex_input_descriptions,
//! };
//!
//! // Before: `Capabilities::query`, `required_features` and `RequiredFeatures::with_create_info` where the device is
//! // created, or `Capabilities::restrict` for one that exists; then `Context::new`. `Arena::new` takes memory for
//! // `ArenaDesc::for_draws`.
//! /// Captures `count` vertices of 16 bytes each into a buffer with the usage `Context::capture_buffer_usage`.
//! # #[allow(clippy::too_many_arguments)]
//! unsafe fn capture(
//!     context: &Context,
//!     arena: &mut Arena,
//!     cmd: vk::CommandBuffer,
//!     spirv: &[u32], // a vertex shader with transform feedback decorations
//!     (vertices, vertices_size): (vk::Buffer, u64),
//!     (captured, captured_size): (vk::Buffer, u64),
//!     count: u32,
//! ) -> Result<(), Box<dyn std::error::Error>> { unsafe {
//!     // Once: the shader as a compute pipeline.
//!     let vertex_input = vertex_input_descriptions(
//!         &[vk::VertexInputBindingDescription::default().stride(16)],
//!         &[vk::VertexInputAttributeDescription::default().format(vk::Format::R32G32B32A32_SFLOAT)],
//!     )?;
//!     let options =
//!         compute::Options { vertex_input: &vertex_input, target: context.compute_target(0)? };
//!     let lowered = compute::lower(&Shader::new(spirv), &options)?;
//!     let pipeline = Pipeline::new(context, &PipelineDesc::new(&lowered, &vertex_input))?;
//!     let kernels = Kernels::new(context, vk::PipelineCache::null())?;
//!     let mut capture = Capture::new(context, &kernels);
//!
//!     // In each frame: what stood between vkCmdBeginTransformFeedbackEXT and vkCmdEndTransformFeedbackEXT.
//!     let buffers = [Some(CaptureBuffer::new(captured, captured_size))];
//!     let vertex_buffers = [VertexBuffer::new(0, vertices, vertices_size)];
//!     let desc = CaptureDesc::new(&pipeline).buffers(&buffers).vertex_buffers(&vertex_buffers);
//!     let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
//!     recorder.draw(PrimitiveTopology::TriangleStrip, &Draw::new(count))?;
//!     recorder.end(&[])?;
//!     context.capture_barrier(cmd, Backend::Compute, ConsumerScope::VERTEX_BUFFER);
//!     # Ok(())
//!     // At the end: `arena.reset()` when the device is done with the frame, and `destroy` of each object.
//! # } }
//! ```
//!
//! The whole program is `examples/minimal.rs` in the repository.
//!
//! Above [`runtime`] nothing knows Vulkan's objects, and below it nothing knows SPIR-V. The command `vkxfb`, the
//! probe, the benchmark and the Vulkan layer are packages of their own, and users of this API like any other.
//!
//! # Features
//!
//! None is on by default.
//!
//! * `gpu-allocator`: [`runtime::MemoryAllocator`] for `gpu_allocator::vulkan::Allocator`.
//! * `wgsl`, `glsl`: `frontend`, vertex shaders in these languages. A [`capture::CaptureList`] says what is captured.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod capture;
pub mod counts;
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

// What every capture takes; the rest stays in its module.
#[doc(no_inline)]
pub use lower::{Backend, Shader};
#[doc(no_inline)]
pub use runtime::{
    Arena, ArenaDesc, ArenaRing, Buffer, BufferDesc, Capabilities, Capture, CaptureBuffer,
    CaptureDesc, ConsumerScope, Context, CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndexType,
    Kernels, MemoryLocation, Pipeline, PipelineDesc, Recorded, Recorder, RequiredFeatures,
    RuntimeError, VertexBuffer, required_features,
};
#[doc(no_inline)]
pub use topology::{PrimitiveTopology, ProvokingVertex};
#[doc(no_inline)]
pub use vertex_input::VertexInput;

/// The ash whose handles and structures this crate takes.
pub use ash;
