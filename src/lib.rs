//! Transform feedback for every Vulkan device: the same bytes that `VK_EXT_transform_feedback`
//! captures, also if the driver does not have that extension.
//!
//! ```no_run
//! use vkxfb::ash::{self, vk};
//! use vkxfb::{CaptureDesc, ConsumerScope, Device, Draw, MemoryLocation, Stages};
//!
//! # unsafe fn capture(
//! #     entry: &ash::Entry,
//! #     instance: &ash::Instance,
//! #     physical_device: vk::PhysicalDevice,
//! #     info: vk::DeviceCreateInfo<'_>,
//! #     cmd: vk::CommandBuffer,
//! #     spirv: &[u32],
//! # ) -> Result<(), Box<dyn std::error::Error>> { unsafe {
//! // Once: a Vulkan device with what captures need beside `info`, a buffer, and a pipeline
//! // that captures the position of the vertex shader `spirv`.
//! let mut xfb = Device::create(entry, instance, vk::API_VERSION_1_2, physical_device, info)?;
//! let captured = xfb.buffer("captured", 3 * 3 * 16, MemoryLocation::Readback)?;
//! let pipeline = xfb.pipeline(&Stages::new(spirv).varyings(&["@Position"]))?;
//!
//! // In each frame: the three triangles of a strip, in place of
//! // vkCmdBeginTransformFeedbackEXT, the draws and vkCmdEndTransformFeedbackEXT.
//! let buffers = captured.as_capture_buffers();
//! let desc = CaptureDesc { buffers, ..CaptureDesc::new(&pipeline) };
//! xfb.capture(cmd, &desc, ConsumerScope::HOST, |recorder| {
//!     recorder.draw(vk::PrimitiveTopology::TRIANGLE_STRIP, &Draw::new(5))
//! })?;
//!
//! // When the device has executed the commands.
//! let positions: &[[f32; 4]] = bytemuck::cast_slice(xfb.read(&captured)?);
//! # Ok(())
//! # } }
//! ```
//!
//! The whole program is `examples/minimal.rs` in the repository, of 50 lines. The [`guide`] shows [the parts that a
//! device is made of](guide::embedding), and says what to [synchronize](guide::synchronization), what this crate [does
//! not do](guide::limits) and how to cure its [errors](guide::errors).
//!
//! # What is where
//!
//! * A [`Device`] owns what captures need, [`Stages`] describe what is captured, and a [`Recorder`] has a
//!   function for each Vulkan command that binds or draws. They are enough for most programs.
//! * [`runtime`] has the parts of a device for engines that allocate memory, place barriers and record in several threads by
//!   their own rules.
//! * [`lower`] rewrites a shader for one of three backends, without a device. It, [`capture`], [`counts`], [`spirv`],
//!   [`topology`] and [`vertex_input`] are modules of the crate [`vkxfb-rewriter`](https://docs.rs/vkxfb-rewriter), which
//!   uses no Vulkan object: what is `vkxfb_rewriter::lower` in their examples is `vkxfb::lower` here.
//!
//! ```text
//! Stages: SPIR-V words -> spirv::Module -> capture::Layout -> lower::compute
//!         -> runtime::Pipeline -> runtime::Recorder: draws -> capture buffers
//! ```
//!
//! The command `vkxfb`, the probe, the benchmark and the Vulkan layer are packages of their own, which use this public API.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! * `gpu-allocator`: implements [`runtime::MemoryAllocator`] for
//!   `gpu_allocator::vulkan::Allocator`.
//! * `wgsl`: the module `frontend`, which compiles vertex shaders in WGSL, and modules of naga.

// docs.rs says of what needs a feature that it does.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod device;
pub mod guide;
pub mod runtime;

pub use device::Device;

#[cfg(feature = "wgsl")]
pub use vkxfb_rewriter::frontend;
pub use vkxfb_rewriter::{capture, counts, lower, spirv, topology, vertex_input};

// What most programs need is documented here, too.
#[doc(inline)]
pub use runtime::{
    Buffer, CaptureBuffer, CaptureDesc, ConsumerScope, CounterBuffer, Draw, DrawIndexed,
    IndexBuffer, IndexType, MemoryLocation, Pipeline, Recorded, Recorder, RuntimeError, Stages,
    StagesError, VertexBuffer,
};
// What programs need that are made of the parts stays in its module.
#[doc(no_inline)]
pub use capture::CaptureList;
#[doc(no_inline)]
pub use lower::{Backend, Shader};
#[doc(no_inline)]
pub use runtime::{
    Arena, ArenaDesc, ArenaRing, BufferDesc, Capabilities, Capture, Context, CreateInfoAdditions,
    Kernels, PipelineDesc, RequiredFeatures, SimpleAllocator, required_features,
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
