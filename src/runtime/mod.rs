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
//! * [`Capabilities`] contains what a physical device reports about itself. [`Unavailable`] lists the reasons why a
//!   backend is not available.
//! * [`RequiredFeatures`] is what the application must enable when it creates its device. The application owns the
//!   device, its queues and its memory.
//! * [`Context`] holds the device functions (`vkCmd...`) that captures call, and the features that the device was
//!   created with.
//! * [`Pipeline`] is one lowered shader as a Vulkan pipeline with its layout.
//! * [`Variants`] creates capture pipelines on first use, from the create infos of the application's graphics
//!   pipelines. [`vulkan`] reads Vulkan's own structures, makes set layouts visible to the compute stage, and checks
//!   pipeline layouts against shaders.
//! * [`Recorder`] takes the place of `vkCmdBeginTransformFeedbackEXT`, the draws and `vkCmdEndTransformFeedbackEXT`. If
//!   the CPU knows all vertex counts and counters, it computes during recording where each draw writes
//!   ([`counts`](vkxfb_rewriter::counts)), and the GPU only runs the shader and stores the records. Otherwise the GPU first runs
//!   one dispatch of the setup kernel, which computes where each draw of the capture writes. The draws of a capture
//!   need no barriers between each other, because they write disjoint ranges.
//! * [`Kernels`] are the pipelines of the setup kernel and the other kernels, one set per device.
//! * [`QueryPool`] contains queries, like `VkQueryPool`.
//! * [`Capture`] contains what a recorder of the compute backend collects: the bound state, and the draws. A capture
//!   borrows nothing, so it can be kept, and it can be played into command buffers any number of times.
//! * [`Arena`] contains those data of a recording that do not fit into push constants, and the scratch memory of the
//!   kernels. [`ArenaRing`] has one arena for each frame in flight.
//!
//! # What the runtime never does
//!
//! The runtime does not submit, wait or allocate device memory by itself. Recording only records commands, with one
//! exception: it creates Vulkan pipelines that do not exist yet, unless they were prepared ([`Pipeline::prepare`],
//! [`Kernels::prepare`]). The memory of a recording comes from an [`Arena`], which the application created before
//! through a [`MemoryAllocator`]; the arena allocates more only if the caller lets it [grow](Arena::growing). Objects
//! live until [`Context::destroy`]. The application decides where barriers between captures and its own commands are
//! recorded ([`Context::capture_barrier`]). The barriers between kernels and captures, and the command buffer state
//! that captures disturb, are listed in [synchronization](crate::guide::synchronization).
//!
//! # Resources
//!
//! Compute captures access buffers by device addresses, or by descriptors if the device has no addresses: see [resource
//! plans](crate::guide::resource_plans).

pub(crate) mod device;
pub(crate) mod memory;
pub(crate) mod pipelines;
pub(crate) mod recording;

pub use device::barrier::{Barrier, ConsumerScope};
pub use device::capabilities::{Capabilities, Limits};
pub use device::checks::fold;
pub use device::choice::CaptureNeeds;
pub use device::context::{BufferUsages, Context, RawDevice, Settings};
pub use device::descriptor_heaps;
pub use device::error::{ErrorKind, RuntimeError};
pub use device::extensions::{
    AddressSource, CreateInfoAdditions, PortabilitySupport, ProvokingVertexSupport,
    TransformFeedbackSupport, VertexDivisorSupport,
};
pub use device::features::{RequiredFeatures, required_features};
pub use device::identity::DeviceIdentity;
pub use device::parameters::{
    ByteCountDraw, CaptureBuffer, ConditionalRendering, CounterBuffer, Draw, DrawIndexed,
    IndexBuffer, IndexType, IndirectDraw, VertexBuffer,
};
pub use device::profile::Profile;
pub use device::tunings::{Tuning, TuningEffect};
pub use device::unavailable::Unavailable;
pub use device::workarounds::{Workaround, WorkaroundEffect};
pub use memory::arena::{Arena, ArenaAccess, ArenaRing, ArenaSize};
pub use memory::buffers::{
    Allocation, AllocationRequest, Buffer, BufferDesc, MemoryAllocator, MemoryLocation,
};
pub use memory::destroy::Destroy;
pub use memory::simple_allocator::SimpleAllocator;
pub use pipelines::kernels::Kernels;
pub use pipelines::pipeline::{ExpectedDraws, Pipeline, PipelineDesc, PipelineSpecialization};
pub use pipelines::stages::{Stages, StagesError};
pub use pipelines::variants::Variants;
pub use pipelines::vulkan;
pub use recording::arena_desc::{ArenaDesc, PipelineUse};
pub use recording::draw_arguments::{DrawCommands, LateDraws};
#[doc(hidden)]
pub use recording::drawn::{BoundForDraw, DirectDraw, DrawnList, DrawnShader};
pub use recording::queries::{QueryKind, QueryPool, QueryResult, ResultTarget};
pub use recording::{BufferSet, Capture, CaptureDesc, CaptureOrder, Captured, Recorded, Recorder};
