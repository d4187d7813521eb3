//! [`RuntimeError`], the error type of the runtime.

mod kind;

pub use kind::ErrorKind;

use std::collections::TryReserveError;
use std::error::Error;
use std::time::Duration;

use ash::vk;

use crate::runtime::device::unavailable::Unavailable;
use vkxfb_rewriter::lower::{Backend, GeometryInput, ResourcePlan};
use vkxfb_rewriter::spirv::headers::ExecutionModel;
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::{InputRate, VertexFormat};

/// An error of [`runtime`](crate::runtime). The message names the value that is wrong, and the rule or limit that it
/// breaks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A Vulkan command failed.
    #[error("{call}: {result}")]
    Vulkan {
        /// The name of the command.
        call: &'static str,
        /// The result of the command.
        result: vk::Result,
    },
    /// The instance or the device has a version below Vulkan 1.1, and the instance does not enable
    /// `VK_KHR_get_physical_device_properties2`.
    #[error(
        "the instance and the device have Vulkan {}.{} in common: below 1.1 the instance has to enable {name}",
        vk::api_version_major(*.api_version), vk::api_version_minor(*.api_version)
    )]
    MissingInstanceExtension {
        /// The name of the extension.
        name: &'static str,
        /// The version of the instance or of the device, whichever is lower.
        api_version: u32,
    },
    /// A command cannot be loaded, probably because the device was created without an extension or a feature of
    /// [`RequiredFeatures`](crate::runtime::RequiredFeatures).
    #[error("the device has no {function}: was it created with {needs} enabled?")]
    MissingFunction {
        /// The command that could not be loaded.
        function: &'static str,
        /// The extension or feature that provides the command.
        needs: &'static str,
    },
    /// The device cannot run the backend.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// An object or a command needs a feature that the device was created without.
    #[error("{what} needs the feature {feature}, which the device was created without")]
    FeatureNotEnabled {
        /// The object or option that requires the feature.
        what: String,
        /// The name of the feature.
        feature: &'static str,
    },
    /// An object or a command needs a property (a `VkBool32` of a properties structure) that the device does not have.
    #[error("{what} needs {property}, which the device does not have")]
    MissingProperty {
        /// The object, command or option that requires the property.
        what: String,
        /// The name of the property.
        property: &'static str,
    },
    /// A value exceeds a limit of the device.
    #[error("{what} is {value}: {limit} is {max}")]
    Limit {
        /// The name of the value.
        what: String,
        /// The value.
        value: u64,
        /// The name of the limit.
        limit: &'static str,
        /// The limit of this device.
        max: u64,
    },
    /// The vertex input state describes a binding or an attribute location twice.
    #[error("vertex input {what} {number} is described twice")]
    DuplicateVertexInput {
        /// What `number` identifies: `binding` or `attribute location`.
        what: &'static str,
        /// The number of the binding or location.
        number: u32,
    },
    /// An attribute reads a binding that the vertex input state does not describe.
    #[error(
        "the vertex attribute at location {location} reads binding {binding}, which the vertex input \
         state does not describe"
    )]
    UnknownBinding {
        /// The location of the attribute.
        location: u32,
        /// The number of the binding.
        binding: u32,
    },
    /// The shader reads a location that has no attribute.
    #[error(
        "the shader reads vertex attribute location {location}, which the vertex input state does not describe"
    )]
    MissingAttribute {
        /// The location of the missing attribute.
        location: u32,
    },
    /// A pipeline for the native or the vertex backend is described without a vertex input state.
    #[error(
        "the vertex input state is missing, which a pipeline of the {} backend is made with",
        .0.name()
    )]
    MissingVertexInput(Backend),
    /// The format of an attribute differs from the format that the shader was lowered for.
    #[error(
        "the vertex attribute at location {location} is {given:?}: the shader was lowered for {lowered:?}"
    )]
    AttributeFormat {
        /// The location of the attribute.
        location: u32,
        /// The format that the shader was lowered for.
        lowered: VertexFormat,
        /// The format in the pipeline's vertex input state.
        given: VertexFormat,
    },
    /// The input rate of an attribute differs from the one that the shader was lowered for.
    #[error(
        "the vertex attribute at location {location} advances by {given:?}: the shader was lowered for \
         {lowered:?}"
    )]
    AttributeRate {
        /// The location of the attribute.
        location: u32,
        /// The input rate that the shader was lowered for.
        lowered: InputRate,
        /// The input rate in the pipeline's vertex input state.
        given: InputRate,
    },
    /// The application gave no set layout for a descriptor set that the shader uses.
    #[error(
        "the shader uses descriptor set {set}, for which the pipeline is given no layout: set_layouts has {layouts}"
    )]
    MissingSetLayout {
        /// The number of the set.
        set: u32,
        /// The number of set layouts that the application gave.
        layouts: usize,
    },
    /// No buffer is bound to a vertex binding that an attribute reads.
    #[error(
        "no vertex buffer is bound to binding {binding}, which the attribute at location {location} reads"
    )]
    MissingVertexBuffer {
        /// The number of the binding.
        binding: u32,
        /// The location of the first attribute that reads the binding.
        location: u32,
    },
    /// Two vertex buffers are bound to the same binding.
    #[error("two vertex buffers are bound to binding {binding}")]
    DuplicateVertexBuffer {
        /// The number of the binding.
        binding: u32,
    },
    /// The stride of a vertex buffer differs from the stride that the graphics pipeline was created with.
    #[error(
        "vertex binding {binding} is bound with stride {stride}: the pipeline was made with \
         {pipeline}, and only compute captures take another"
    )]
    StaticStride {
        /// The number of the binding.
        binding: u32,
        /// The stride that the buffer is bound with, in bytes.
        stride: u32,
        /// The stride that the pipeline was created with, in bytes.
        pipeline: u32,
    },
    /// An offset, size or stride is not a multiple of the required alignment.
    #[error("{what} is {value} bytes: it must be a multiple of {alignment}")]
    Misaligned {
        /// The name of the value.
        what: String,
        /// The value in bytes.
        value: u64,
        /// The required alignment in bytes.
        alignment: u64,
    },
    /// The size of a range is `VK_WHOLE_SIZE`. The runtime knows buffers only by their handles,
    /// which do not tell sizes.
    #[error("the size of {what} is VK_WHOLE_SIZE: captures need it in bytes")]
    WholeSize {
        /// The name of the range.
        what: String,
    },
    /// A range ends in the middle of a dword, and the buffer does not contain the rest of the
    /// dword. This is not always detected: the range is compared with the memory requirements of
    /// the buffer, which are often larger than the buffer.
    #[error(
        "{what} ends with byte {end} of its buffer, which has {memory} bytes of memory: shaders read whole \
         dwords, so the buffer needs a size that is a multiple of 4 bytes"
    )]
    PartialDword {
        /// The name of the range.
        what: String,
        /// The end of the range in the buffer, in bytes.
        end: u64,
        /// `VkMemoryRequirements::size` of the buffer.
        memory: u64,
    },
    /// The buffer of an indirect draw does not contain all `draw_count` commands. It must contain all of them even if
    /// the draw count that the GPU reads is lower, because under the descriptor plan a descriptor covers all of them.
    #[error(
        "the {draw_count} commands that an indirect draw may read end at byte {end} of their buffer, \
         which takes {memory} bytes of memory: the buffer has to hold all of them, however few are \
         counted"
    )]
    CommandsPastTheEnd {
        /// `draw_count` of the draw.
        draw_count: u32,
        /// The number of bytes from the start of the buffer to the end of the last command.
        end: u64,
        /// `VkMemoryRequirements::size` of the buffer.
        memory: u64,
    },
    /// The end of a range exceeds 2^64 - 1.
    #[error("{what} has {size} bytes from byte {offset} on, which pass 2^64")]
    PastTheEnd {
        /// The name of the range.
        what: String,
        /// The offset of the range in bytes.
        offset: u64,
        /// The size of the range in bytes.
        size: u64,
    },
    /// The stride of an array is smaller than its elements, so that query results or indirect commands would overlap.
    #[error("the stride of {what} is {stride} bytes: each takes {size}")]
    SmallStride {
        /// The name of the array.
        what: &'static str,
        /// The stride in bytes.
        stride: u64,
        /// The size of one element in bytes.
        size: u64,
    },
    /// The vertex size of a byte-count draw is 0, but the counter is divided by it.
    #[error("vertexStride is 0: the counter is divided by it")]
    ZeroStride,
    /// A buffer that shaders access has no device address: the usage or the feature for addresses is missing.
    #[error("the {what} has no device address: it needs the usage SHADER_DEVICE_ADDRESS")]
    NoAddress {
        /// The name of the buffer.
        what: String,
    },
    /// A capture accesses more buffers than it has descriptors for. The count includes every buffer that a draw
    /// since [`Recorder::begin`](crate::runtime::Recorder::begin) accesses.
    #[error(
        "no descriptor is left for {what}: of the {storage_buffers} storage buffers that captures take of \
         maxPerStageDescriptorStorageBuffers, {max} are for buffers with the same use"
    )]
    TooManyBuffers {
        /// The name of the buffer that is left without a descriptor.
        what: String,
        /// The number of descriptors for buffers with the same use: capture buffers, buffers that kernels write, or
        /// buffers that are only read.
        max: u32,
        /// The total number of descriptors of a set.
        storage_buffers: u32,
    },
    /// The arena has no unused descriptor set left.
    #[error(
        "the arena's {capacity} descriptor sets are used up: reset it when the device is done with what was \
         recorded, make it with more or let it grow"
    )]
    NoDescriptorSet {
        /// The number of sets that the arena has.
        capacity: u32,
    },
    /// The shader was lowered for another resource plan than the one that the context needs.
    #[error(
        "the shader is lowered for {lowered}, and captures on this device use {needed}: lower it for \
         the compute_target of the context"
    )]
    ResourcePlan {
        /// The plan that the shader was lowered for.
        lowered: ResourcePlan,
        /// The plan of [`Context::compute_target`](crate::runtime::Context::compute_target).
        needed: ResourcePlan,
    },
    /// Push constants end after the last byte that the device has for them.
    #[error("push constants of {size} bytes from byte {offset} on: maxPushConstantsSize is {max}")]
    PushConstantRange {
        /// The offset of the push constants in bytes.
        offset: u32,
        /// The size of the push constants in bytes.
        size: u64,
        /// `maxPushConstantsSize` of the device.
        max: u32,
    },
    /// A shader reads a descriptor set that is not bound in the capture.
    #[error(
        "the shader reads descriptor set {set}, and it is not bound: bind it in the capture \
         (bind_descriptor_sets), or say there that the command buffer has it (assume_descriptor_sets)"
    )]
    MissingDescriptorSet {
        /// The number of the set.
        set: u32,
    },
    /// A shader reads a descriptor set that the application bound outside of the capture, but commands that are
    /// recorded before the draws disturb it.
    #[error(
        "what is recorded before the draws disturbs descriptor set {set}, which the shader reads: \
         bind it in the capture (bind_descriptor_sets)"
    )]
    DescriptorSetUnknown {
        /// The number of the set.
        set: u32,
    },
    /// Descriptor sets are bound at set numbers for which the pipeline has no set layout of the
    /// application.
    #[error(
        "{count} descriptor sets are bound from number {first} on: the pipeline has {sets} set layouts of the \
         application"
    )]
    DescriptorSetRange {
        /// The first set number.
        first: u32,
        /// The number of sets.
        count: usize,
        /// The number of set layouts of the application.
        sets: u32,
    },
    /// More capture buffers are bound than a shader can use.
    #[error("{count} capture buffers are bound: a shader has at most {max}")]
    TooManyCaptureBuffers {
        /// The number of capture buffers that were passed.
        count: usize,
        /// The largest number that a shader can use.
        max: usize,
    },
    /// There are more counters than a shader can have capture buffers.
    #[error("{count} counters are given: a shader has at most {max} capture buffers")]
    TooManyCounters {
        /// The number of counters that were passed.
        count: usize,
        /// The largest number of capture buffers that a shader can use.
        max: usize,
    },
    /// At the end of a capture, two counters would be written to the same address.
    #[error("counters {first} and {second} of the end of a capture are the same four bytes")]
    DuplicateCounter {
        /// The number of the capture buffer of one of the two counters.
        first: usize,
        /// The number of the capture buffer of the other counter.
        second: usize,
    },
    /// The format of a vertex attribute is not supported.
    #[error("the vertex attribute at location {location} cannot be read")]
    VertexFormat {
        /// The location of the attribute.
        location: u32,
        /// Why the format is not supported.
        source: vkxfb_rewriter::vertex_input::UnsupportedFormat,
    },
    /// A `VkSpecializationMapEntry` exceeds the data of its `VkSpecializationInfo`.
    #[error(
        "specialisation constant {constant_id} lies at byte {offset} with {size} bytes, of data of {data_size} bytes"
    )]
    SpecializationData {
        /// The `constantID` of the entry.
        constant_id: u32,
        /// The offset of the value in the data, in bytes.
        offset: u32,
        /// The size of the value in bytes.
        size: usize,
        /// The size of the data in bytes.
        data_size: usize,
    },
    /// The capture was not begun, or it was cleared since it was begun.
    #[error("the capture was not begun")]
    NotBegun,
    /// The [`Recorder`](crate::runtime::Recorder) of the capture was dropped without
    /// [`end`](crate::runtime::Recorder::end), so that draws may be missing.
    /// [`Capture::end`](crate::runtime::Capture::end) ends the capture with the draws that it has.
    #[error("the recorder of the capture was dropped without an end")]
    NotEnded,
    /// Some draws of the capture were recorded into another command buffer before an error.
    #[error("draws of the capture were recorded into another command buffer before an error")]
    RecordedElsewhere,
    /// An object belongs to another [`Context`](crate::runtime::Context).
    #[error("{what} was made with another context")]
    OtherContext {
        /// The name of the object.
        what: &'static str,
    },
    /// A query is begun again in the recording in which it was ended.
    #[error(
        "query {query} ended in this recording: it begins again after the draws are recorded and the query is \
         reset"
    )]
    QueryUsed {
        /// The number of the query.
        query: u32,
    },
    /// The pipeline's record strides differ from those at the begin of the capture.
    #[error(
        "the capture was begun with records of {} in buffer {buffer}, and the pipeline has {}",
        bytes(.begun),
        bytes(.pipeline)
    )]
    StrideMismatch {
        /// The number of the capture buffer.
        buffer: usize,
        /// `XfbStride` in bytes of the pipeline that the capture was begun with, or `None` if that
        /// pipeline does not write to the buffer.
        begun: Option<u32>,
        /// `XfbStride` in bytes of the new pipeline, or `None` if it does not write to the buffer.
        pipeline: Option<u32>,
    },
    /// The pipeline captures a different vertex stream to a buffer than the pipeline at the begin of the
    /// capture.
    #[error(
        "the capture was begun with vertex stream {begun} in buffer {buffer}, and the pipeline captures stream {pipeline}"
    )]
    StreamMismatch {
        /// The number of the capture buffer.
        buffer: usize,
        /// The vertex stream of the pipeline that the capture was begun with.
        begun: u32,
        /// The vertex stream of the new pipeline.
        pipeline: u32,
    },
    /// A query was begun for a vertex stream that does not exist.
    #[error("there is no vertex stream {stream} to query: the streams are 0 to 3")]
    QueryStream {
        /// The number of the stream.
        stream: u32,
    },
    /// Native transform feedback of a shader with captured outputs was begun without any capture buffer.
    #[error("no capture buffer is bound: native transform feedback needs one at least")]
    NoCaptureBuffer,
    /// The topology of a draw is no topology of Vulkan.
    #[error("VkPrimitiveTopology({}) is no topology", .0.as_raw())]
    UnknownTopology(vk::PrimitiveTopology),
    /// The topology of a draw differs from the one that the pipeline was created for.
    #[error("a draw of topology {draw} with a pipeline that is fixed to {pipeline}")]
    TopologyMismatch {
        /// The topology of the draw.
        draw: PrimitiveTopology,
        /// The topology of the pipeline.
        pipeline: PrimitiveTopology,
    },
    /// A capture needs more workgroups than a two-dimensional dispatch can have.
    #[error("a capture of {workgroups} workgroups: two axes of {per_axis} hold fewer")]
    DispatchTooLarge {
        /// The number of workgroups that the draw needs.
        workgroups: u64,
        /// The number of workgroups that one axis may have.
        per_axis: u32,
    },
    /// The arena has too little memory left.
    #[error(
        "the arena has {left} bytes left of {capacity} for {part}, and the recording needs {needed}{}: {}",
        of_restarts(*.restarts), room_for(*.needed, *.capacity, *.was_reset)
    )]
    ArenaFull {
        /// The part of the arena: upload or scratch.
        part: &'static str,
        /// The number of bytes that are needed, including padding.
        needed: u64,
        /// How many of these bytes are for primitive restart
        /// ([`ArenaDesc::restarted_draws`](crate::runtime::ArenaDesc::restarted_draws)).
        restarts: u64,
        /// The number of bytes that are left.
        left: u64,
        /// The capacity in bytes.
        capacity: u64,
        /// Whether [`Arena::reset`](crate::runtime::Arena::reset) was ever called.
        was_reset: bool,
    },
    /// The backend does not support an operation. For some operations the application has to record Vulkan's own
    /// command instead.
    #[error("the {backend} backend does not do {what}")]
    Unsupported {
        /// The backend.
        backend: Backend,
        /// The unsupported operation.
        what: &'static str,
    },
    /// The topology of a draw does not match the input primitives of the geometry shader or tessellation shaders.
    #[error(
        "the stage after the vertex shader takes {input}, and the draw has topology {topology}"
    )]
    GeometryInput {
        /// The input primitives of the shader.
        input: GeometryInput,
        /// The topology of the draw.
        topology: PrimitiveTopology,
    },
    /// A draw has the topology patch list, but the pipeline has no tessellation shaders.
    #[error("the draw has topology patch-list, and the pipeline no tessellation shaders")]
    NoTessellation,
    /// The number of control points of a patch is 0, but the pipeline has tessellation shaders.
    #[error(
        "a pipeline with tessellation shaders needs a number of control points of a patch, at least 1"
    )]
    NoControlPoints,
    /// A draw with a geometry shader or tessellation shaders has more primitives than the compute backend supports.
    #[error("a draw has {primitives} {what} with all its instances; at most {max} are supported")]
    TooManyPrimitives {
        /// What is counted: patches, or primitives before a geometry shader.
        what: &'static str,
        /// The number of them.
        primitives: u64,
        /// The largest supported number.
        max: u64,
    },
    /// The `draw_count` of an indirect draw with a geometry shader is larger than the compute backend supports.
    #[error(
        "an indirect command may be {draws} draws with a geometry shader; at most {max} are supported"
    )]
    TooManyDraws {
        /// The `draw_count` of the command.
        draws: u64,
        /// The largest supported number.
        max: u64,
    },
    /// Primitive restart was enabled with a pipeline that was created without it.
    #[error("primitive restart is enabled for a pipeline that was made without primitive restart")]
    NoRestart,
    /// An indexed draw was recorded, or a restart index was set, while no index buffer was bound.
    #[error("no index buffer is bound in the capture: bind one before (bind_index_buffer)")]
    NoIndexBuffer,
    /// A query was begun while another query of the same kind (transform feedback or primitives generated) was active.
    #[error("a query of that kind is active: it has to end before another begins")]
    QueryActive,
    /// Conditional rendering was begun while it was active.
    #[error("conditional rendering is active: it has to end before it begins again")]
    ConditionalRenderingActive,
    /// Conditional rendering was ended while it was not active.
    #[error("conditional rendering is not active")]
    NoConditionalRendering,
    /// A query was ended while no query of its kind (transform feedback or primitives generated) was active.
    #[error("no query of that kind is active")]
    NoQuery,
    /// A compute capture was begun with the kernels of a device that was not created for the
    /// compute backend.
    #[error("the device was created without the compute backend, so there are no kernels")]
    NoKernels,
    /// Queries are out of the range of their pool.
    #[error(
        "{count} {} from number {first} on: the pool has {queries}",
        if *.count == 1 { "query" } else { "queries" }
    )]
    QueryRange {
        /// The first query.
        first: u32,
        /// The number of queries.
        count: u32,
        /// The number of queries in the pool.
        queries: u32,
    },
    /// Commands for `vkCmdDrawIndirect` were requested on a device where that command does not
    /// work.
    #[error(
        "indirect draws do nothing on this device: read the counter back, and draw as many vertices as \
         (counter - counterOffset) / vertexStride"
    )]
    NoIndirectDraws,
    /// Draw commands that are [added later](crate::runtime::Kernels::write_draw_commands_later) were requested under
    /// the descriptor plan.
    #[error(
        "captures use descriptors: draws cannot be added later, because all buffers must be known when the kernel is \
         recorded"
    )]
    NoLateDraws,
    /// Query results were requested with flags that queries of this crate do not support.
    #[error("query results are asked for with {flags:?}, which queries of vkxfb do not have")]
    ResultFlags {
        /// The unsupported flags.
        flags: vk::QueryResultFlags,
    },
    /// The memory that the caller passed is too small for the query results.
    #[error("the query results take {needed} bytes: there are {len}")]
    ResultsTooLong {
        /// The number of bytes from the first result to the end of the last.
        needed: u64,
        /// The length of the caller's memory in bytes.
        len: usize,
    },
    /// A query did not become available in time.
    #[error("query {query} has not become available within {timeout:?}")]
    QueryTimeout {
        /// The number of the query.
        query: u32,
        /// How long the call waited for this query and the queries before it.
        timeout: Duration,
    },
    /// A pipeline was described with a shader of an unsupported stage, or with a tessellation evaluation or geometry
    /// shader that was lowered without the shaders before it.
    #[error(
        "a pipeline that captures takes a vertex shader, or a later shader lowered together with those before it: \
         this is a {stage:?} shader without the vertex shader before it"
    )]
    LoneStage {
        /// The stage of the shader.
        stage: ExecutionModel,
    },
    /// The name of an entry point contains a NUL. Vulkan takes the name as a C string, which ends
    /// at the first NUL.
    #[error("the entry point {name:?} has a NUL in its name")]
    EntryPointName {
        /// The name.
        name: String,
    },
    /// The lowered shader contradicts itself: its words do not match its description.
    #[error("invalid lowered shader: {0}")]
    InvalidShader(String),
    /// The host has no memory left for a list that grows with what is recorded.
    #[error("the host has no memory left for what is recorded")]
    HostMemory,
    /// The allocator failed.
    #[error("cannot allocate {size} bytes for '{name}'")]
    Allocation {
        /// The name of the memory.
        name: String,
        /// The requested size in bytes.
        size: u64,
        /// The error that the allocator returned.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The allocator returned memory without a property that its [`MemoryLocation`](crate::runtime::MemoryLocation)
    /// requires.
    #[error("the allocator gave '{name}' memory that is not {property}")]
    WrongMemory {
        /// The name of the memory.
        name: String,
        /// The property that it must have.
        property: &'static str,
    },
}

impl From<TryReserveError> for RuntimeError {
    /// [`RuntimeError::HostMemory`]
    fn from(_: TryReserveError) -> Self {
        Self::HostMemory
    }
}

impl RuntimeError {
    /// The `VkResult` of an error that the state of the device or the host caused: the result of the failed command, or
    /// `VK_ERROR_OUT_OF_DEVICE_MEMORY` if an arena or an allocator has too little memory, or
    /// `VK_ERROR_OUT_OF_HOST_MEMORY` if the host has. `None` for all other errors,
    /// such as mistakes of the caller.
    #[must_use]
    pub const fn vk_result(&self) -> Option<vk::Result> {
        match self {
            Self::Vulkan { result, .. } => Some(*result),
            Self::HostMemory => Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY),
            Self::ArenaFull { .. } | Self::Allocation { .. } => {
                Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
            }
            _ => None,
        }
    }

    /// Returns a function for `map_err` that makes an error from the result of the command `call`.
    pub fn vulkan(call: &'static str) -> impl FnOnce(vk::Result) -> Self {
        move |result| Self::Vulkan { call, result }
    }
}

/// Returns what the message of [`RuntimeError::ArenaFull`] says about memory for primitive restart.
fn of_restarts(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(", {bytes} of them for primitive restart (restarted_draws)"),
    }
}

/// Returns advice on how to make room in a full arena, for the message of [`RuntimeError::ArenaFull`].
const fn room_for(needed: u64, capacity: u64, was_reset: bool) -> &'static str {
    match (needed > capacity, was_reset) {
        (true, _) => "it has to be made larger, or to grow",
        (false, false) => {
            "it was never reset: reset it when the device is done with what was recorded"
        }
        (false, true) => {
            "reset it when the device is done with what was recorded, make it larger or let it grow"
        }
    }
}

/// Formats a stride for a message. `None` is the stride of a buffer that the pipeline does not write to.
fn bytes(stride: &Option<u32>) -> String {
    stride.map_or_else(|| "nothing".to_owned(), |stride| format!("{stride} bytes"))
}
