//! Transform feedback for every Vulkan device: the same bytes that `VK_EXT_transform_feedback`
//! captures, also if the driver does not have that extension.
//!
//! The input is the SPIR-V of a shader with transform feedback decorations, for example of a vertex shader. [`capture`]
//! reads which outputs the shader captures, [`lower`] rewrites the shader for one of three backends, and [`runtime`]
//! creates a Vulkan pipeline from the result and records captures with it:
//!
//! ```text
//! SPIR-V words -> spirv::Module -> capture::Layout -> lower::{native, vertex, compute}
//!              -> runtime::Pipeline -> runtime::Recorder: begin, draw*, end -> capture buffers
//! ```
//!
//! [`runtime`] and the [`guide`] are this crate's own. All other modules are those of the crate [`vkxfb_rewriter`],
//! which rewrites shaders and uses no Vulkan object. The rules are implemented on the CPU by [`topology`] (which
//! vertices a primitive writes, in which order) and [`counts`] (how many primitives there are, and how many fit into
//! the buffers), and for the GPU by functions that are linked into the rewritten shader.
//!
//! # A capture
//!
//! ```no_run
//! use vkxfb::ash::{self, vk};
//! use vkxfb::lower::compute;
//! use vkxfb::runtime::vulkan::vertex_input_descriptions;
//! use vkxfb::{
//!     Arena, Backend, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Context, Draw, Kernels,
//!     Pipeline, PipelineDesc, PrimitiveTopology, Recorder, Shader, VertexBuffer,
//! };
//!
//! // Create the device with `Context::create_device`. For an existing device call
//! // `Capabilities::restrict`, `required_features` and `Context::new`. Then call `Arena::new` with
//! // the size that `ArenaDesc::for_draws` returns.
//! /// Captures `count` vertices of 16 bytes each into a buffer that was created with the usage
//! /// `Context::capture_buffer_usage`.
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
//!     // Once: create a compute pipeline from the shader.
//!     let binding = vk::VertexInputBindingDescription::default().stride(16);
//!     let attribute = vk::VertexInputAttributeDescription::default()
//!         .format(vk::Format::R32G32B32A32_SFLOAT);
//!     let vertex_input = vertex_input_descriptions(&[binding], &[attribute])?;
//!     let options = compute::Options::new(&vertex_input).target(context.compute_target()?);
//!     let lowered = compute::lower(&Shader::new(spirv), &options)?;
//!     let pipeline = Pipeline::new(context, &PipelineDesc::new(&lowered))?;
//!     let kernels = Kernels::new(context)?;
//!     let mut capture = Capture::new(context, &kernels);
//!
//!     // In each frame: record this in place of vkCmdBeginTransformFeedbackEXT, the draws and
//!     // vkCmdEndTransformFeedbackEXT.
//!     let buffers = [Some(CaptureBuffer::new(captured, captured_size))];
//!     let vertex_buffers = [VertexBuffer::new(0, vertices, vertices_size)];
//!     let desc = CaptureDesc::new(&pipeline).buffers(&buffers).vertex_buffers(&vertex_buffers);
//!     let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
//!     recorder.draw(PrimitiveTopology::TriangleStrip, &Draw::new(count))?;
//!     recorder.end(&[])?;
//!     context.capture_barrier(cmd, Backend::Compute, ConsumerScope::VERTEX_BUFFER);
//!     # Ok(())
//!     // When the device has finished the frame: `arena.reset()`. At the end: `context.destroy`.
//! # } }
//! ```
//!
//! The whole program is `examples/minimal.rs` in the repository. The [`guide`] goes through it [step by
//! step](guide::embedding), and says what to [synchronize](guide::synchronization), what this crate [does not
//! do](guide::limits) and how to cure its [errors](guide::errors).
//!
//! The command `vkxfb`, the probe, the benchmark and the Vulkan layer are packages of their own, which use this public
//! API.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! * `gpu-allocator`: implements [`runtime::MemoryAllocator`] for
//!   `gpu_allocator::vulkan::Allocator`.
//! * `wgsl`: the module `frontend`, which compiles vertex shaders in WGSL, and modules of naga. A
//!   [`capture::CaptureList`] says what to capture from them.

// docs.rs says of what needs a feature that it does.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod guide;
pub mod runtime;

#[cfg(feature = "wgsl")]
pub use vkxfb_rewriter::frontend;
pub use vkxfb_rewriter::{capture, counts, lower, spirv, topology, vertex_input};

// The types that every capture needs. Other types stay in their modules.
#[doc(no_inline)]
pub use capture::CaptureList;
#[doc(no_inline)]
pub use lower::{Backend, Shader};
#[doc(no_inline)]
pub use runtime::{
    Arena, ArenaDesc, ArenaRing, Buffer, BufferDesc, Capabilities, Capture, CaptureBuffer,
    CaptureDesc, ConsumerScope, Context, CounterBuffer, CreateInfoAdditions, Draw, DrawIndexed,
    IndexBuffer, IndexType, Kernels, MemoryLocation, Pipeline, PipelineDesc, Recorded, Recorder,
    RequiredFeatures, RuntimeError, SimpleAllocator, VertexBuffer, required_features,
};
#[doc(no_inline)]
pub use topology::{PrimitiveTopology, ProvokingVertex};
#[doc(no_inline)]
pub use vertex_input::VertexInput;

/// The version of ash whose handles and structures this crate takes.
pub use ash;

/// The version of gpu-allocator whose allocator this crate takes memory from.
#[cfg(feature = "gpu-allocator")]
pub use gpu_allocator;

/// The version of naga whose modules this crate takes.
#[cfg(feature = "wgsl")]
pub use vkxfb_rewriter::naga;
