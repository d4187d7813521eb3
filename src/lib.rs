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
//! The whole program is `examples/minimal.rs` in the repository. The [`guide`] goes through it [step by
//! step](guide::embedding), and says what to [synchronize](guide::synchronization), what this crate [does not
//! do](guide::limits) and how to cure its [errors](guide::errors).
//!
//! Above [`runtime`] nothing knows Vulkan's objects, and below it nothing knows SPIR-V. The command `vkxfb`, the
//! probe, the benchmark and the Vulkan layer are packages of their own, and users of this API like any other.
//!
//! # Words
//!
//! Each means one thing, in the code and in what is written about it. Where Vulkan, SPIR-V or Mesa has a word, it is
//! that one. [`runtime`] is `src/runtime/`, and so on; `shaders/` has the same words.
//!
//! | word | what it means | where |
//! |---|---|---|
//! | *arena* | memory that recording takes from: *upload*, which the host writes, and *scratch*, which is the device's | `runtime/arena.rs` |
//! | *attribute* | a vertex attribute; a compute capture *pulls* it: reads it from its vertex buffer by *descriptors* of its own | `lower/inputs/`, `runtime/pulling.rs` |
//! | *backend* | who captures: [`Backend`] | `lower/{native,vertex,compute}.rs` |
//! | *capture* | what lies between a Begin and an End: its draws, and what is bound for each | `runtime/recorder/` |
//! | *capture buffer* | a transform feedback buffer: what is captured to | `runtime/parameters.rs` |
//! | *capture list* | what is captured of a shader that does not say so itself, entry by entry | `capture/list.rs` |
//! | *captured output* | a scalar, a vector or a column that is captured: a part of an *output*, which is a variable in `Output` | `capture/mod.rs` |
//! | *counter* | one dword of a counter buffer: where in a capture buffer the next record goes, in bytes | `runtime/parameters.rs` |
//! | *counts* | how many primitives a draw makes, and how many of them fit | `counts.rs`, `shaders/counts.wgsl` |
//! | *direct* | of a recording: the CPU knows how much each draw captures, and where. Otherwise the setup kernel finds that out | `runtime/recorder/{direct,gpu}.rs` |
//! | *item* | a vertex of a draw that contributes to what is captured, numbered among those that do | `topology.rs`, `shaders/decompose.wgsl` |
//! | *kernel* | a compute shader that is none of the application's: it counts, places, finishes or copies | `lower/kernel.rs`, `runtime/kernels.rs` |
//! | *layout* | what goes where in the capture buffers. Layouts of descriptor sets and of pipelines are never called that alone | `capture/` |
//! | *lower* | to rewrite a shader for a backend | `lower/` |
//! | *play* | to record the commands of a capture that was collected | `runtime/recorder/play.rs` |
//! | *record*, a | the bytes of one captured vertex in one capture buffer, as many as its stride; numbered within an instance, a draw or a capture | `topology.rs`, `lower/store.rs` |
//! | *record*, to | to put commands into a command buffer, as in Vulkan. What was put there at a time is a *recording* | `runtime/recorder/` |
//! | *resource plan* | how shaders of this crate reach memory: by device addresses or by descriptors. What an *address* is follows from it | `lower/resources.rs`, `runtime/descriptors.rs` |
//! | *restart* | an index that ends a primitive: primitive restart | `runtime/recorder/restarts.rs`, `shaders/restart.wgsl` |
//! | *slot* | where Mesa has an output (`gl_varying_slot`), as opposed to its *location* in SPIR-V | `slots.rs` |
//! | *staging* | collecting the records of a workgroup in shared memory; a *stage* is one of a pipeline | `lower/staging.rs`, `shaders/staged.wgsl` |
//! | *stream* | a vertex stream, of which geometry shaders have several | `capture/streams.rs` |
//! | *stream output* | an entry of Gallium's `pipe_stream_output_info` | `capture/stream_output.rs` |
//! | *stub* | a function of the shader library whose body is made when it is linked | `lower/functions.rs`, `shaders/stubs.wgsl` |
//! | *sysvals* | what the CPU tells the GPU of a draw, as Mesa calls it | `sysval/`, `shaders/sysvals.wgsl` |
//! | *variant* | a compute pipeline that stands for an application's graphics pipeline | `runtime/variants.rs` |
//! | *varying* | a captured output as OpenGL lists it: a whole matrix, an array, a member by its name | `capture/program_interface.rs` |
//! | *workaround* | what is done differently on some devices | `runtime/workarounds.rs` |
//!
//! The words of the Vulkan layer are at the head of `layer/src/lib.rs`.
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
pub mod guide;
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
    CaptureDesc, ConsumerScope, Context, CounterBuffer, CreateInfoAdditions, Draw, DrawIndexed,
    IndexBuffer, IndexType, Kernels, MemoryLocation, Pipeline, PipelineDesc, Recorded, Recorder,
    RequiredFeatures, RuntimeError, VertexBuffer, required_features,
};
#[doc(no_inline)]
pub use topology::{PrimitiveTopology, ProvokingVertex};
#[doc(no_inline)]
pub use vertex_input::VertexInput;

/// The ash whose handles and structures this crate takes.
pub use ash;
