//! The Vulkan side of a capture: capabilities of devices, pipelines of lowered shaders, and the
//! recording of captures into the application's command buffers.
//!
//! # The model
//!
//! ```text
//! Capabilities --required_features--> RequiredFeatures --(the application creates its VkDevice)-->
//! Context --Pipeline::new(Lowered)--> Pipeline --Recorder::begin(Capture), draw*, end--> Recorded
//! ```
//!
//! * [`Capabilities`] contains the result of all queries of a physical device. [`Unavailable`]
//!   lists the reasons why a backend is not available.
//! * [`RequiredFeatures`] is what the application enables when it creates its device. The device,
//!   its queues and its memory stay the application's.
//! * [`Context`] holds the entry points of the device that captures call.
//! * [`Pipeline`] is one lowered shader as a Vulkan pipeline with its layout.
//! * [`Variants`] creates capture pipelines on first use, from what an application passes to its
//!   graphics pipelines. [`vulkan`] reads Vulkan's own structures, makes set layouts visible to the
//!   compute stage, and checks pipeline layouts against shaders.
//! * [`Recorder`] records what `vkCmdBeginTransformFeedbackEXT` .. `vkCmdEndTransformFeedbackEXT`
//!   would contain. If the CPU knows all vertex counts and counters, it computes while recording
//!   where each draw writes ([`DrawCounts`](crate::counts::DrawCounts)), and the GPU only runs the
//!   shader and stores the records. Otherwise one dispatch of a setup kernel computes that for all
//!   draws. Draws of one capture need no barriers between them, because they write disjoint ranges.
//! * [`Kernels`] are the pipelines of the setup kernel and the other kernels, one set per device.
//! * [`QueryPool`] contains queries, like `VkQueryPool`.
//! * [`Capture`] is what a recorder of the compute backend collects: the bound state, and the
//!   draws. It borrows nothing, can be kept, and can be played into command buffers any number of
//!   times.
//! * [`Arena`] contains the data of a recording that does not fit into push constants, and the
//!   scratch memory of the kernels. [`ArenaRing`] has one arena for each frame in flight.
//!
//! # What the runtime never does
//!
//! The runtime does not submit, wait, allocate device memory or create objects without being asked:
//! recording only records. Memory comes from an [`Arena`], which is made before recording through a
//! [`MemoryAllocator`]; an arena allocates more only if the caller lets it [grow](Arena::growing).
//! Every object has an explicit `destroy`. Barriers towards the application's own commands are
//! recorded only by [`Context::capture_barrier`]; [`Recorder::begin`] lists the barriers between
//! kernels and captures. Each function documents which state of the command buffer it disturbs.
//!
//! # Resources
//!
//! Compute captures reach buffers by one of two [resource plans](crate::lower::ResourcePlan):
//!
//! * **device addresses**, if the device has `bufferDeviceAddress`. A lowered shader binds no
//!   descriptors of its own, and all descriptor sets belong to the application.
//! * **descriptors** otherwise: one descriptor set with two arrays of storage buffers
//!   ([`RequiredFeatures::storage_buffers`]), after the sets of the application. Each buffer that a
//!   [`Recorder`] uses gets an element of these arrays. The [`Arena`] has the descriptor sets
//!   ([`ArenaDesc::descriptor_sets`]).
//!
//! [`Capabilities::availability`] and [`required_features`] choose the plan: descriptors if
//! [`Capabilities::buffer_device_address`] is `None`. [`Context`] then returns what depends on the
//! plan: shaders are lowered for [`Context::compute_target`], and buffers are created with
//! [`Context::capture_buffer_usage`] and the similar functions. Draws are recorded in the same way
//! under both plans, with one difference: the kernels that some captures need bind their own
//! descriptor set 0 ([`Recorder::bind_descriptor_sets`]).
//!
//! Shaders read whole dwords, by device address and by descriptor. The size of a vertex or index
//! buffer must therefore be a multiple of 4 bytes, even if a smaller range is bound
//! ([`vkGetBufferDeviceAddress`](https://docs.vulkan.org/refpages/latest/refpages/source/vkGetBufferDeviceAddress.html):
//! what shaders access lies within a buffer's size). A handle does not tell the size of its buffer,
//! but the runtime returns [`RuntimeError::PartialDword`] if the memory requirements of the buffer
//! are too small for the last dword.
//!
//! Synchronization validation takes all bytes of a bound descriptor as accessed. A descriptor
//! therefore covers only the ranges that the draws reach, so that validation reports real missing
//! barriers only. There are two exceptions:
//!
//! * A descriptor begins at a multiple of `minStorageBufferOffsetAlignment`, and ends with a dword.
//!   Ranges of a buffer that are written and read without a barrier between them should be at least
//!   that far apart.
//! * If draws reach more ranges than there are descriptors, the closest ranges of a buffer share
//!   one descriptor, which also covers the bytes between them. [Barriers](Recorder::begin) then
//!   order such a capture after every earlier capture and before every later one. Synchronization
//!   validation may report commands of the application that access the bytes between the ranges.
//!
//! Ranges of different buffers never share a descriptor, nor do ranges of one buffer that span more
//! than `maxStorageBufferRange`. All ranges that are bound between [`Recorder::begin`] and
//! [`Recorder::end`] count, also those that were [flushed](Recorder::flush) or replaced.
//! [`RuntimeError::TooManyBuffers`] is returned if they need more descriptors than there are; a new
//! recording starts from zero.
//!
//! In all cases captures write to their own ranges only.
//!
//! The vertex backend takes device addresses only.

mod arena;
mod barrier;
mod capabilities;
pub(crate) mod checks;
mod choice;
pub(crate) mod context;
mod debug_utils;
mod descriptors;
mod draw_arguments;
mod error;
mod extensions;
mod features;
pub(crate) mod fold;
mod job;
mod kernels;
mod memory;
mod parameters;
pub(crate) mod pipeline;
mod pulling;
mod queries;
mod recorder;
mod variants;
pub mod vulkan;
mod workarounds;

pub use arena::{Arena, ArenaAccess, ArenaDesc, ArenaRing};
#[doc(hidden)]
pub use barrier::Barrier;
pub use barrier::ConsumerScope;
pub use capabilities::{Capabilities, Limits, Unavailable, version_string};
pub use choice::CaptureNeeds;
pub use context::{Context, RawDevice};
pub use draw_arguments::DrawCommands;
pub use error::RuntimeError;
pub use extensions::{
    AddressSource, ProvokingVertexSupport, TransformFeedbackSupport, VertexDivisorSupport,
};
pub use features::{RequiredFeatures, required_features};
pub use kernels::Kernels;
pub use memory::{
    Allocation, AllocationRequest, Buffer, BufferDesc, MemoryAllocator, MemoryLocation,
};
pub use parameters::{
    ByteCountDraw, CaptureBuffer, ConditionalRendering, CounterBuffer, Draw, DrawIndexed,
    IndexBuffer, IndexType, IndirectDraw, VertexBuffer,
};
pub use pipeline::{Pipeline, PipelineDesc, PipelineSpecialization};
pub use queries::{QueryKind, QueryPool, QueryResult, ResultTarget};
pub use recorder::{Capture, CaptureDesc, Captured, Recorded, Recorder};
pub use variants::{VariantDesc, VariantError, Variants};
pub use workarounds::{DeviceIdentity, Effect, WORKAROUNDS, Workaround};
