//! The Vulkan side of a capture: what a device can do, pipelines of lowered shaders, and the
//! recording of captures into the application's command buffers.
//!
//! # The model
//!
//! ```text
//! Capabilities --required_features--> RequiredFeatures --(the application creates its VkDevice)-->
//! Context --Pipeline::new(Lowered)--> Pipeline --Recorder::begin, draw*, end--> Recorded
//! ```
//!
//! * [`Capabilities`] is everything that is asked of a physical device, asked once. Each backend is
//!   available or not for reasons that [`Unavailable`] lists.
//! * [`RequiredFeatures`] is what the application enables when it creates its device. The device,
//!   its queues and its memory stay the application's.
//! * [`Context`] holds the entry points that the captures call.
//! * [`Pipeline`] is one lowered shader as a Vulkan pipeline with its layout.
//! * [`Recorder`] stands for one `vkCmdBeginTransformFeedbackEXT` .. `vkCmdEndTransformFeedbackEXT`.
//!   As long as the CPU knows every count, clamp and position it computes them while recording
//!   ([`DrawCounts`](crate::draw::DrawCounts)), and the GPU does nothing but shade and store;
//!   otherwise a setup kernel finds them out for all draws at once. Draws of one capture need no
//!   barrier between them, as they write disjoint ranges.
//! * [`Kernels`] are the pipelines of that setup, one set a device.
//! * [`QueryPool`] holds queries, as `VkQueryPool` does.
//! * [`Arena`] is where a record puts what does not fit into push constants, and the scratch memory of
//!   the kernels.
//!
//! # What the runtime never does
//!
//! It does not submit, wait, allocate device memory or create objects behind the caller's back:
//! recording only records, memory comes from an [`Arena`] made ahead through a [`MemoryAllocator`],
//! and every object has an explicit `destroy`. Barriers towards the application's own commands are
//! recorded when it asks for them ([`Context::capture_barrier`]); those between the kernels and the
//! captures are listed on [`Recorder::begin`]. State of the command buffer that a function disturbs is
//! listed on the function.
//!
//! # Resources
//!
//! There is one resource plan: buffers are reached by device address (`bufferDeviceAddress`), so a
//! lowered shader binds no descriptor of its own and all sets are left to the application. A plan
//! by storage-buffer descriptors, for devices without addresses, attaches in three places: the set
//! layout of [`Pipeline::new`], the addresses that [`Recorder::begin`] writes into the sysvals, and
//! the usage flags that [`Context::capture_buffer_usage`] and
//! [`Context::vertex_buffer_usage`] report.

mod arena;
mod capabilities;
mod choice;
mod context;
mod draws;
mod error;
mod extensions;
mod features;
pub(crate) mod fold;
mod kernels;
mod memory;
pub(crate) mod pipeline;
mod pulling;
mod queries;
mod recorder;

pub use arena::{Arena, ArenaDesc};
pub use capabilities::{Capabilities, Limits, Unavailable, version_string};
pub use choice::CaptureNeeds;
#[doc(hidden)]
pub use context::Barrier;
pub use context::{ConsumerScope, Context};
pub use draws::{
    ByteCountDraw, CaptureBuffer, CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndexType,
    IndirectDraw, VertexBuffer,
};
pub use error::RuntimeError;
pub use extensions::{
    AddressSource, ProvokingVertexSupport, TransformFeedbackSupport, VertexDivisorSupport,
};
pub use features::{RequiredFeatures, required_features};
pub use kernels::Kernels;
pub use memory::{
    Allocation, AllocationRequest, Buffer, BufferDesc, MemoryAllocator, MemoryLocation,
};
pub use pipeline::{Pipeline, PipelineDesc};
pub use queries::{QueryKind, QueryPool, QueryResult, ResultFormat};
pub use recorder::{CaptureDesc, Captured, Recorded, Recorder};
