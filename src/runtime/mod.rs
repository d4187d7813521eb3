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
//! It does not submit, wait or allocate device memory behind the caller's back: recording only records, except that the
//! Vulkan pipelines that a draw is the first to need are created there, unless they were prepared
//! ([`Pipeline::prepare`], [`Kernels::prepare`]). Memory comes from an [`Arena`] made ahead through a
//! [`MemoryAllocator`], or from that allocator where the caller lets it [grow](Arena::growing), and every object has an
//! explicit `destroy`. Barriers towards the application's own commands are recorded when it asks for them
//! ([`Context::capture_barrier`]). Those between the kernels and the captures, and the state of the command buffer that
//! is disturbed, are listed in [synchronization](crate::guide::synchronization).
//!
//! # Resources
//!
//! Captures by compute reach buffers by device addresses, or by descriptors where the device has none: see
//! [resource plans](crate::guide::resource_plans).

mod arena;
pub(crate) mod barrier;
mod capabilities;
pub(crate) mod checks;
mod choice;
pub(crate) mod context;
mod create_device;
mod debug_utils;
mod descriptors;
mod draw_arguments;
mod error;
mod extensions;
mod features;
pub(crate) mod fold;
mod identity;
mod job;
mod kernels;
mod lazy;
mod memory;
mod parameters;
pub(crate) mod pipeline;
mod pulling;
mod queries;
mod recorder;
mod simple_allocator;
mod tunings;
mod variants;
pub mod vulkan;
mod workarounds;

pub use arena::{Arena, ArenaAccess, ArenaDesc, ArenaRing};
pub(crate) use barrier::Barrier;
pub use barrier::ConsumerScope;
pub use capabilities::{Capabilities, Limits, Unavailable, version_string};
pub use choice::CaptureNeeds;
pub use context::{Context, RawDevice};
pub use draw_arguments::{DrawCommands, LateDraws};
pub use error::RuntimeError;
pub use extensions::{
    AddressSource, CreateInfoAdditions, ProvokingVertexSupport, TransformFeedbackSupport,
    VertexDivisorSupport,
};
pub use features::{RequiredFeatures, required_features};
pub use identity::DeviceIdentity;
pub use kernels::Kernels;
pub use memory::{
    Allocation, AllocationRequest, Buffer, BufferDesc, MemoryAllocator, MemoryLocation,
};
pub use parameters::{
    ByteCountDraw, CaptureBuffer, ConditionalRendering, CounterBuffer, Draw, DrawIndexed,
    IndexBuffer, IndexType, IndirectDraw, VertexBuffer,
};
pub use pipeline::{ExpectedDraws, Pipeline, PipelineDesc, PipelineSpecialization};
pub use queries::{QueryKind, QueryPool, QueryResult, ResultTarget};
pub use recorder::{Capture, CaptureDesc, CaptureOrder, Captured, Recorded, Recorder};
pub use simple_allocator::SimpleAllocator;
pub use tunings::{TUNINGS, Tuning, TuningEffect};
pub use variants::{VariantDesc, VariantError, Variants};
pub use workarounds::{WORKAROUNDS, Workaround, WorkaroundEffect};
