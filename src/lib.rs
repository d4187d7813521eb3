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
//! The rules are implemented on the CPU by [`topology`] (which vertices a primitive writes, in
//! which order) and [`counts`] (how many primitives there are, and how many fit into the buffers). `shaders/*.wgsl`
//! implements the same rules for the GPU; the functions there are linked into the rewritten shader.
//! `sysval` defines the data that the CPU passes to the GPU for each draw.
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
//! Only [`runtime`] uses Vulkan objects, and [`runtime`] does not parse SPIR-V. The command
//! `vkxfb`, the probe, the benchmark and the Vulkan layer are packages of their own, which use this
//! public API.
//!
//! # Words
//!
//! Each word has one meaning in the code and in the documentation. If Vulkan, SPIR-V or Mesa has a
//! word for something, that word is used. The paths are relative to `src/`, except `shaders/`,
//! which uses the same words.
//!
//! * *arena*: memory that recording takes from. It has two parts: *upload*, which the host writes,
//!   and *scratch*, which only the device uses (`runtime/arena.rs`). Each part grows by itself
//!   (`runtime/arena/part.rs`).
//! * *attribute*: a vertex attribute. A compute capture *pulls* it: the shader reads it from the
//!   vertex buffer as *attribute descriptors* say (`lower/inputs/`, `runtime/pulling.rs`), and
//!   decodes its *format* (`vertex_input/format.rs`, `shaders/formats.wgsl`).
//! * *backend*: how a draw is captured, see [`Backend`] (`lower/{native,vertex,compute}.rs`).
//! * *batch*: the draws in memory that one dispatch captures, with the place where their records begin
//!   (`sysval/mod.rs`).
//! * *built-in*: an input that is not an attribute, such as `VertexIndex`. A compute capture sets it
//!   from the sysvals (`lower/inputs.rs`).
//! * *capture*: the draws between a Begin and an End, and the state that is bound for each of them
//!   (`runtime/recorder/`).
//! * *capture buffer*: a transform feedback buffer (`runtime/parameters.rs`).
//! * *capture list*: what to capture from a shader without transform feedback decorations
//!   (`capture/list.rs`).
//! * *captured output*: a scalar, a vector or a matrix column that is captured. It is a part of an
//!   *output*, which is a variable in the storage class `Output` (`capture/mod.rs`).
//! * *collect*: to check bindings and draws, and keep them as values to be recorded later
//!   (`runtime/recorder/collect/`).
//! * *counter*: one dword in a counter buffer: the offset in bytes in a capture buffer at which the
//!   next record is written (`runtime/parameters.rs`).
//! * *counts*: how many primitives a draw generates, and how many of them fit (`counts.rs`,
//!   `shaders/counts.wgsl`).
//! * *direct*: a recording is direct if the CPU knows how much each draw captures, and where. Otherwise the setup
//!   kernel computes that (`runtime/recorder/plan/{place,setup}.rs`).
//! * *decomposition*: which vertices of a draw each primitive captures, and in which order. The CPU
//!   has it in `topology.rs`, the GPU in `shaders/decompose.wgsl`; the two change together.
//! * *entry*: a run of consecutive input primitives of a geometry shader's draw. One invocation processes it
//!   (`sysval/entries.rs`, `shaders/geometry.wgsl`). An *entry point* is SPIR-V's.
//! * *folded*: a dispatch whose workgroups exceed the limit of one axis is folded into two axes (`runtime/fold.rs`).
//! * *fused*: a capture of one small draw whose workgroups also do what kernels do for other
//!   captures: they place the draw, and write counters and queries (`runtime/recorder/plan/fused.rs`,
//!   `shaders/fused.wgsl`).
//! * *group*: consecutive recorded draws that one dispatch captures (`runtime/recorder/plan/setup.rs`).
//! * *hub*: the first vertex of a triangle fan, which all its triangles share (`topology.rs`).
//! * *index*: an element of an index buffer. Its type says how large it is, and which index restarts
//!   primitives (`runtime/parameters.rs`, `shaders/indices.wgsl`).
//! * *item*: a vertex of a draw that contributes to the capture. Items are numbered consecutively
//!   (`topology.rs`, `shaders/decompose.wgsl`). With a geometry shader an item is an input primitive instead, and with
//!   primitive restart an index.
//! * *kernel*: a compute shader of this crate, not of the application: it counts primitives, places
//!   draws, writes results or copies them (`lower/kernel.rs`, `runtime/kernels.rs`).
//! * *layout*: which captured output is at which offset in which capture buffer. Descriptor set
//!   layouts and pipeline layouts are always called by their full names (`capture/`).
//! * *listed*: draws of one dispatch are listed if the CPU wrote all their parameters to memory, with the number of the
//!   draw of each workgroup (`sysval/mod.rs`).
//! * *lower*: to rewrite a shader for a backend (`lower/`).
//! * *patch*: the input primitive of tessellation shaders. The tessellator *divides* it into primitives by
//!   its levels (`tessellator.rs`, `shaders/tessellate.wgsl`).
//! * *place*, to: to compute where in the capture buffers the records of a draw begin, and how many of its primitives
//!   fit (`counts.rs`, `shaders/placing.wgsl`).
//! * *plan*: the steps and the memory of a recording, as a value without Vulkan handles (`runtime/recorder/plan/`).
//! * *play*: to record the commands of a capture that was collected (`runtime/recorder/play/`).
//! * *record*, a: the bytes of one captured vertex in one capture buffer; their number is the
//!   stride. Records are numbered within an instance, a draw or a capture (`topology.rs`,
//!   `lower/store.rs`).
//! * *record*, to: to put commands into a command buffer, as in Vulkan. Commands that are recorded
//!   together are a *recording* (`runtime/recorder/`).
//! * *resource plan*: whether shaders of this crate access memory by device addresses or, under the *descriptor
//!   plan*, by descriptors. It also defines what an *address* is (`lower/resources.rs`, `runtime/descriptors.rs`).
//! * *restart*: an index that ends a primitive, see primitive restart
//!   (`runtime/recorder/plan/restarts.rs`, `shaders/restart.wgsl`).
//! * *query*: a transform feedback or primitives generated query to which compute captures add
//!   (`runtime/queries.rs`). `runtime/extensions/query.rs` queries the capabilities of a device.
//! * *segment*: a run of vertices that form primitives only with each other: the vertices of one instance, or
//!   with primitive restart the vertices between two restarts (`shaders/decompose.wgsl`).
//! * *shader library*: the functions in `shaders/*.wgsl`, which are linked into the rewritten
//!   shader (`lower/library.rs`). `lower/functions.rs` lists those that generated code calls.
//! * *slice*: consecutive primitives of a patch: the item of a capture with tessellation (`shaders/patches.wgsl`).
//! * *slot*: the number of an output in Mesa (`gl_varying_slot`), as opposed to its *location* in
//!   SPIR-V (`slots.rs` of the package `vkxfb-translators`).
//! * *staging*: a workgroup collects its records in shared memory before it stores them. A *stage*
//!   is always a pipeline stage (`lower/staging.rs`, `shaders/staged.wgsl`).
//! * *state*, a: what is bound and set for draws: pipeline, vertex buffers, descriptor sets, push constants. Draws with
//!   the same state may share a dispatch (`runtime/recorder/collect/values.rs`).
//! * *stream*: a vertex stream. Only geometry shaders have several (`capture/streams.rs`).
//! * *stream output*: an entry of Gallium's `pipe_stream_output_info` (`stream_output.rs` of
//!   the package `vkxfb-translators`).
//! * *stub*: a function of the shader library whose body is generated when the library is linked
//!   (`lower/functions.rs`, `shaders/stubs.wgsl`).
//! * *sysvals*: the data that the CPU passes to the GPU for each draw, by Mesa's name for it
//!   (`sysval/`, `shaders/sysvals.wgsl`). `lower/sysvals.rs` says where a lowered shader reads them.
//! * *table*: the data of a state for which the sysvals have no room: push constants and attribute descriptors. A
//!   *table of restarts* belongs to a range of indices (`sysval/mod.rs`, `shaders/restart.wgsl`).
//! * *unchecked*: a capture of one draw of one instance for which the CPU has made all checks, so that its pipeline
//!   needs none (`shaders/stubs.wgsl`).
//! * *variant*: a compute pipeline that replaces an application's graphics pipeline
//!   (`runtime/variants.rs`).
//! * *varying*: a captured output as OpenGL lists it: a whole matrix, an array, or a named member
//!   of a block (`capture/program_interface.rs`).
//! * *window*: under the descriptor plan, a range of a buffer that one descriptor covers
//!   (`runtime/descriptors.rs`).
//! * *workaround*: a setting that differs because of a driver's fault (`runtime/workarounds.rs`). A setting that is
//!   only faster on some devices is a *tuning* (`runtime/tunings.rs`).
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
#![cfg_attr(
    not(feature = "internal"),
    allow(dead_code, unused_imports, reason = "other packages of the workspace use the rest")
)]

pub mod capture;
pub mod counts;
#[cfg(feature = "wgsl")]
pub mod frontend;
pub mod guide;
#[cfg(feature = "internal")]
#[doc(hidden)]
pub mod internal;
pub mod lower;
pub mod runtime;
mod setters;
pub mod spirv;
mod sysval;
mod tessellator;
pub mod topology;
pub mod vertex_input;

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
pub use naga;
