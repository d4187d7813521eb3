//! The Vulkan side of a capture: what a device can do, pipelines of lowered shaders, and the
//! recording of captures into the application's command buffers.
//!
//! # The model
//!
//! ```text
//! Capabilities --required_features--> RequiredFeatures --(the application creates its VkDevice)-->
//! Context --Pipeline::new(Lowered)--> Pipeline --Recorder::begin(Capture), draw*, end--> Recorded
//! ```
//!
//! * [`Capabilities`] is everything that is asked of a physical device, asked once. Each backend is
//!   available or not for reasons that [`Unavailable`] lists.
//! * [`RequiredFeatures`] is what the application enables when it creates its device. The device,
//!   its queues and its memory stay the application's.
//! * [`Context`] holds the entry points that the captures call.
//! * [`Pipeline`] is one lowered shader as a Vulkan pipeline with its layout.
//! * [`Variants`] makes pipelines when they are first needed, of what an application gave its graphics pipelines;
//!   [`vulkan`] reads Vulkan's own structures, makes set layouts visible to captures, and holds pipeline layouts
//!   against shaders.
//! * [`Recorder`] stands for one `vkCmdBeginTransformFeedbackEXT` .. `vkCmdEndTransformFeedbackEXT`.
//!   As long as the CPU knows every count, clamp and position it computes them while recording
//!   ([`DrawCounts`](crate::counts::DrawCounts)), and the GPU does nothing but shade and store;
//!   otherwise a setup kernel finds them out for all draws at once. Draws of one capture need no
//!   barrier between them, as they write disjoint ranges.
//! * [`Kernels`] are the pipelines of that setup, one set a device.
//! * [`QueryPool`] holds queries, as `VkQueryPool` does.
//! * [`Capture`] is what a recorder of the compute backend collects, as a value: what is bound, and the draws. It
//!   borrows nothing, can be kept, and is played into command buffers as often as needed.
//! * [`Arena`] is where a recording puts what does not fit into push constants, and the scratch memory of
//!   the kernels. [`ArenaRing`] has one for each frame in flight.
//!
//! # What the runtime never does
//!
//! It does not submit, wait, allocate device memory or create objects behind the caller's back: recording only
//! records, memory comes from an [`Arena`] made ahead through a [`MemoryAllocator`], or from that allocator where the
//! caller lets it [grow](Arena::growing), and every object has an explicit `destroy`. Barriers towards the
//! application's own commands are recorded when it asks for them ([`Context::capture_barrier`]); those between the
//! kernels and the captures are listed on [`Recorder::begin`]. State of the command buffer that a function disturbs
//! is listed on the function.
//!
//! # Resources
//!
//! Captures by compute reach buffers by one of two [resource plans](crate::lower::ResourcePlan):
//!
//! * **device addresses**, where the device has `bufferDeviceAddress`. A lowered shader binds no descriptor
//!   of its own, and all sets are left to the application.
//! * **descriptors** otherwise: one descriptor set with two arrays of storage buffers
//!   ([`RequiredFeatures::storage_buffers`]), behind the sets of the application. What a [`Recorder`] is
//!   given gets a place in them, and the [`Arena`] has the sets ([`ArenaDesc::descriptor_sets`]).
//!
//! [`Capabilities::availability`] and [`required_features`] choose; without
//! [`Capabilities::buffer_device_address`] they choose descriptors. From then on [`Context`] knows: shaders
//! are lowered for [`Context::compute_target`], and buffers made with [`Context::capture_buffer_usage`] and
//! its like. What is drawn and recorded is the same, with one difference: the kernels that some captures
//! need bind their own set 0 ([`Recorder::bind_descriptor_sets`]).
//!
//! Shaders read whole dwords, by address and by descriptor: a vertex or index buffer is made with a size that is
//! a multiple of 4 bytes, however few of them are bound
//! ([`vkGetBufferDeviceAddress`](https://docs.vulkan.org/refpages/latest/refpages/source/vkGetBufferDeviceAddress.html):
//! what shaders access lies within a buffer's size). Its handle does not tell that size, but where it does not
//! even have memory for the rest of the last dword, [`RuntimeError::PartialDword`] says so.
//!
//! A descriptor names what the draws reach and nothing else, so that synchronization validation, which takes
//! all that a descriptor names for touched, reports what lacks a barrier and only that, as far as that goes:
//!
//! * A descriptor begins at a multiple of `minStorageBufferOffsetAlignment`, and ends with a dword. Ranges
//!   of a buffer that are written and used without a barrier between should lie that far apart.
//! * Where draws reach more ranges than there are descriptors, the closest ranges of a buffer share one descriptor,
//!   which also covers the bytes between them. [Barriers](Recorder::begin) then order such a capture after every
//!   earlier capture and before every later one. Synchronization validation may report the application's own commands
//!   that touch the bytes between.
//!
//! Different buffers share none, and neither do parts of one that `maxStorageBufferRange` does not span. All of
//! them that are bound from [`Recorder::begin`] to [`Recorder::end`] count, whatever was
//! [flushed](Recorder::flush) or replaced since: for more than there are descriptors
//! [`RuntimeError::TooManyBuffers`] is returned, and a new recording begins anew.
//!
//! Captures touch their ranges alone all the same.
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
