//! Why the runtime refused.

use std::error::Error;
use std::time::Duration;

use ash::vk;

use super::Unavailable;
use crate::lower::{Backend, ResourcePlan};
use crate::topology::PrimitiveTopology;
use crate::vertex_input::{InputRate, VertexFormat};

/// An error of [`runtime`](crate::runtime). The message names the rule, the limit and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A Vulkan command failed.
    #[error("{call}: {result}")]
    Vulkan {
        /// The command.
        call: &'static str,
        /// What it returned.
        result: vk::Result,
    },
    /// An instance below Vulkan 1.1 without `VK_KHR_get_physical_device_properties2`.
    #[error(
        "the instance has Vulkan {}.{}: below 1.1 it has to enable {name}",
        vk::api_version_major(*.api_version), vk::api_version_minor(*.api_version)
    )]
    MissingInstanceExtension {
        /// The extension.
        name: &'static str,
        /// Version of the instance or of the device, whichever is lower.
        api_version: u32,
    },
    /// The device was created without something that [`RequiredFeatures`](super::RequiredFeatures)
    /// asked for.
    #[error("the device has no {function}: was it created with {needs} enabled?")]
    MissingFunction {
        /// The command that could not be loaded.
        function: &'static str,
        /// What brings it.
        needs: &'static str,
    },
    /// The device cannot do it.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A feature that the pipeline needs was not enabled.
    #[error("{what} needs the feature {feature}, which the device was created without")]
    FeatureNotEnabled {
        /// What needs it.
        what: String,
        /// The feature.
        feature: &'static str,
    },
    /// A command that the device does not have, by a property that it reports.
    #[error("{what} needs {property}, which the device does not have")]
    MissingProperty {
        /// What needs it.
        what: String,
        /// The property.
        property: &'static str,
    },
    /// A value beyond a limit of the device.
    #[error("{what} is {value}: {limit} is {max}")]
    Limit {
        /// What was measured.
        what: String,
        /// Its value.
        value: u64,
        /// Name of the limit.
        limit: &'static str,
        /// Its value on this device.
        max: u64,
    },
    /// Two vertex input bindings or attributes of one number.
    #[error("vertex input {what} {number} is described twice")]
    DuplicateVertexInput {
        /// `binding` or `attribute location`.
        what: &'static str,
        /// The number.
        number: u32,
    },
    /// An attribute of a binding that does not exist.
    #[error(
        "the vertex attribute at location {location} reads binding {binding}, which the vertex input state does not describe"
    )]
    UnknownBinding {
        /// Location of the attribute.
        location: u32,
        /// Number of the binding.
        binding: u32,
    },
    /// The shader reads a location that has no attribute.
    #[error(
        "the shader reads vertex attribute location {location}, which the vertex input state does not describe"
    )]
    MissingAttribute {
        /// The location.
        location: u32,
    },
    /// A format other than the one that the shader was lowered for.
    #[error(
        "the vertex attribute at location {location} is {given:?}: the shader was lowered for {lowered:?}"
    )]
    AttributeFormat {
        /// The location.
        location: u32,
        /// What the shader was lowered for.
        lowered: VertexFormat,
        /// What the pipeline's vertex input state says.
        given: VertexFormat,
    },
    /// An input rate other than the one that the shader was lowered for.
    #[error(
        "the vertex attribute at location {location} advances by {given:?}: the shader was lowered for \
         {lowered:?}"
    )]
    AttributeRate {
        /// The location.
        location: u32,
        /// What the shader was lowered for.
        lowered: InputRate,
        /// What the pipeline's vertex input state says.
        given: InputRate,
    },
    /// A descriptor set that the shader uses has no layout.
    #[error(
        "the shader uses descriptor set {set}, for which the {layouts} set layouts of the pipeline have none"
    )]
    MissingSetLayout {
        /// Number of the set.
        set: u32,
        /// How many layouts there are.
        layouts: usize,
    },
    /// Some binding that attributes read has no buffer.
    #[error(
        "no vertex buffer is bound to binding {binding}, which the attribute at location {location} reads"
    )]
    MissingVertexBuffer {
        /// Number of the binding.
        binding: u32,
        /// Location of the first attribute that reads it.
        location: u32,
    },
    /// Two vertex buffers of one binding.
    #[error("two vertex buffers are bound to binding {binding}")]
    DuplicateVertexBuffer {
        /// Number of the binding.
        binding: u32,
    },
    /// A stride other than the one that a graphics pipeline was made with.
    #[error(
        "vertex binding {binding} is bound with stride {stride}: the pipeline was made with {pipeline}, and only compute captures take another"
    )]
    StaticStride {
        /// Number of the binding.
        binding: u32,
        /// The buffer's stride in bytes.
        stride: u32,
        /// The pipeline's.
        pipeline: u32,
    },
    /// An offset, size or stride that is not a multiple of what it must be.
    #[error("{what} is {value} bytes: it must be a multiple of {alignment}")]
    Misaligned {
        /// What was measured.
        what: String,
        /// Its value in bytes.
        value: u64,
        /// What divides it.
        alignment: u64,
    },
    /// A range without an end: buffers are known here by their handles, which do not tell sizes.
    #[error("the size of {what} is VK_WHOLE_SIZE: captures need it in bytes")]
    WholeSize {
        /// Which range.
        what: String,
    },
    /// A range that ends in the middle of a dword, of which the buffer does not have the rest. Not every such buffer
    /// is found: it is held against its memory, which is often longer than the buffer.
    #[error(
        "{what} ends with byte {end} of its buffer, which has {memory} bytes of memory: shaders read whole \
         dwords, so the buffer needs a size that is a multiple of 4 bytes"
    )]
    PartialDword {
        /// Which range.
        what: String,
        /// Where the range ends in the buffer, in bytes.
        end: u64,
        /// `VkMemoryRequirements::size` of the buffer.
        memory: u64,
    },
    /// By descriptors, which name all that may be read: commands of an indirect draw that its buffer does not hold.
    #[error(
        "the {draw_count} commands that an indirect draw may read end at byte {end} of their buffer, which takes {memory} \
         bytes of memory: the buffer has to hold all of them, however few are counted"
    )]
    CommandsPastTheEnd {
        /// `draw_count` of the draw.
        draw_count: u32,
        /// Bytes from the start of the buffer to the end of the last command.
        end: u64,
        /// `VkMemoryRequirements::size` of the buffer.
        memory: u64,
    },
    /// A range that no buffer holds.
    #[error("{what} has {size} bytes from byte {offset} on, which pass 2^64")]
    PastTheEnd {
        /// Which range.
        what: String,
        /// Its offset in bytes.
        offset: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// Results that are written over each other, or indirect commands that overlap.
    #[error("the stride of {what} is {stride} bytes: each takes {size}")]
    SmallStride {
        /// What has the stride.
        what: &'static str,
        /// The stride in bytes.
        stride: u64,
        /// Bytes of one.
        size: u64,
    },
    /// A buffer of which an address is needed has none.
    #[error("the {what} has no device address: it needs the usage SHADER_DEVICE_ADDRESS")]
    NoAddress {
        /// Which buffer.
        what: String,
    },
    /// More buffers than the descriptors of a capture name. All count that were bound since
    /// [`Recorder::begin`](super::Recorder::begin), used or not, and flushes in between change nothing.
    #[error(
        "{what} has no place among the descriptors of a capture: {max} of the {storage_buffers} are for what \
         is used like it (RequiredFeatures::storage_buffers, within maxPerStageDescriptorStorageBuffers)"
    )]
    TooManyBuffers {
        /// The buffer that has no place.
        what: String,
        /// Places for what is captured to, what kernels write, or what is read.
        max: u32,
        /// Places in all.
        storage_buffers: u32,
    },
    /// The arena has no descriptor set left.
    #[error(
        "the arena's {capacity} descriptor sets are used up: reset it when the device is done with what was \
         recorded, make it with more or let it grow (Arena::growing)"
    )]
    NoDescriptorSet {
        /// How many it has.
        capacity: u32,
    },
    /// A shader that was lowered for another resource plan.
    #[error(
        "the shader reaches memory by {lowered}: with these set layouts this device takes {needed}"
    )]
    ResourcePlan {
        /// What it was lowered for.
        lowered: ResourcePlan,
        /// [`Context::resource_plan`](super::Context::resource_plan) of the set layouts.
        needed: ResourcePlan,
    },
    /// Kernels come between a descriptor set of the application and the captures that read it.
    #[error(
        "kernels are recorded before the draws, and take the place of descriptor set {set}, which the shader \
         reads: it has to be bound by Recorder::bind_descriptor_sets"
    )]
    DescriptorSetUnknown {
        /// Number of the set.
        set: u32,
    },
    /// Descriptor sets at numbers for which the pipeline has no set layout of the application.
    #[error(
        "{count} descriptor sets are bound from number {first} on: the pipeline has {sets} set layouts of the \
         application"
    )]
    DescriptorSetRange {
        /// The first number.
        first: u32,
        /// How many are bound.
        count: usize,
        /// Set layouts of the application.
        sets: u32,
    },
    /// More capture buffers than a shader can name.
    #[error("{count} capture buffers are bound: a shader has at most {max}")]
    TooManyCaptureBuffers {
        /// Length of the slice.
        count: usize,
        /// The most that it may have.
        max: usize,
    },
    /// More counters than capture buffers that a shader can name.
    #[error("{count} counters are given: a shader has at most {max} capture buffers")]
    TooManyCounters {
        /// Length of the slice.
        count: usize,
        /// The most that it may have.
        max: usize,
    },
    /// Two capture buffers whose ends would be written to one place.
    #[error("counters {first} and {second} of the end of a capture are the same four bytes")]
    DuplicateCounter {
        /// Number of a capture buffer.
        first: usize,
        /// Number of another.
        second: usize,
    },
    /// A vertex attribute of a format that no shader can pull.
    #[error("the vertex attribute at location {location}: {source}")]
    VertexFormat {
        /// Location of the attribute.
        location: u32,
        /// Which format.
        source: crate::vertex_input::UnsupportedFormat,
    },
    /// A `VkSpecializationMapEntry` outside of the data.
    #[error(
        "specialisation constant {constant_id} lies at byte {offset} with {size} bytes, of data of {data_size} bytes"
    )]
    SpecializationData {
        /// `constantID`
        constant_id: u32,
        /// Bytes from the start of the data.
        offset: u32,
        /// Bytes of the value.
        size: usize,
        /// Bytes of the data.
        data_size: usize,
    },
    /// A capture that was not begun, or was cleared since.
    #[error("the capture was not begun")]
    NotBegun,
    /// A capture whose [`Recorder`](super::Recorder) was dropped without [`end`](super::Recorder::end): it may lack
    /// draws. [`Capture::end`](super::Capture::end) ends it as it is.
    #[error("the recorder of the capture was dropped without `end`")]
    NotEnded,
    /// A capture some of whose draws another command buffer has: they were flushed there.
    #[error("draws of the capture were flushed into another command buffer")]
    FlushedElsewhere,
    /// An object of another [`Context`](super::Context).
    #[error("{what} was made with another context")]
    OtherContext {
        /// Which object.
        what: &'static str,
    },
    /// A query that ended in the same recording is begun again without a flush between.
    #[error("query {query} ended in this recording: it is begun again behind a flush and a reset")]
    QueryUsed {
        /// Number of the query.
        query: u32,
    },
    /// A pipeline whose records are not those that the capture was begun with.
    #[error(
        "the capture was begun with records of {} in buffer {buffer}, and the pipeline has {}",
        bytes(.begun),
        bytes(.pipeline)
    )]
    StrideMismatch {
        /// Number of the capture buffer.
        buffer: usize,
        /// `XfbStride` of the pipeline that the capture was begun with, in bytes, or `None` where it captures nothing
        /// there.
        begun: Option<u32>,
        /// That of the other pipeline.
        pipeline: Option<u32>,
    },
    /// Native transform feedback of a shader that captures something, without a buffer.
    #[error("no capture buffer is bound: native transform feedback needs one at least")]
    NoCaptureBuffer,
    /// The topology of a draw is not the one that the pipeline was built for.
    #[error("a draw of topology {draw} with a pipeline that is fixed to {pipeline}")]
    TopologyMismatch {
        /// The draw's.
        draw: PrimitiveTopology,
        /// The pipeline's.
        pipeline: PrimitiveTopology,
    },
    /// The indices of a draw pass 2^32.
    #[error("first {what} {first} and {what} count {count}: their sum passes 2^32")]
    IndexOverflow {
        /// `vertex` or `instance`.
        what: &'static str,
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// More workgroups than two axes hold.
    #[error("a capture of {workgroups} workgroups: two axes of {per_axis} hold fewer")]
    DispatchTooLarge {
        /// Workgroups of the draw.
        workgroups: u64,
        /// Workgroups that one axis may have.
        per_axis: u32,
    },
    /// The arena is full.
    #[error(
        "the arena has {left} bytes left of {capacity} for {part}, and the recording needs {needed}: {}",
        room_for(*.needed, *.capacity, *.was_reset)
    )]
    ArenaFull {
        /// Which part of it: upload or scratch.
        part: &'static str,
        /// Bytes that are needed, padding included.
        needed: u64,
        /// Bytes that are left.
        left: u64,
        /// Bytes in all.
        capacity: u64,
        /// Whether [`Arena::reset`](super::Arena::reset) was ever called.
        was_reset: bool,
    },
    /// Something that a backend cannot capture, or that it leaves to Vulkan.
    #[error("the {backend} backend does not do {what}")]
    Unsupported {
        /// The backend.
        backend: Backend,
        /// What was asked of it.
        what: &'static str,
    },
    /// Primitive restart with a pipeline that has no code for it.
    #[error(
        "primitive restart is enabled for a pipeline that was made without `primitive_restart`"
    )]
    NoRestart,
    /// An indexed draw without an index buffer.
    #[error("an indexed draw, and no index buffer is bound")]
    NoIndexBuffer,
    /// A query of a kind of which one is active.
    #[error("a query of that kind is active: it has to end before another begins")]
    QueryActive,
    /// The beginning of conditional rendering while it is active.
    #[error("conditional rendering is active: it has to end before it begins again")]
    ConditionalRenderingActive,
    /// The end of conditional rendering that was not begun.
    #[error("conditional rendering is not active")]
    NoConditionalRendering,
    /// The end of a query that was not begun.
    #[error("no query of that kind is active")]
    NoQuery,
    /// A capture by compute with kernels of a device that was not created for it.
    #[error("the kernels are those of a device without the compute backend: there are none")]
    NoKernels,
    /// Queries that a pool does not have.
    #[error("queries {first} and {count} in all: the pool has {queries}")]
    QueryRange {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
        /// How many the pool has.
        queries: u32,
    },
    /// Commands for `vkCmdDrawIndirect` on a device where it does nothing.
    #[error(
        "indirect draws do nothing on this device: read the counter back, and draw as many vertices as \
         (counter - counterOffset) / vertexStride"
    )]
    NoIndirectDraws,
    /// Results of queries in a form that no query of this crate has.
    #[error("query results are asked for with {flags:?}, which queries of vkxfb do not have")]
    ResultFlags {
        /// Those that are not known.
        flags: vk::QueryResultFlags,
    },
    /// Results of queries that the caller's memory does not hold.
    #[error("the query results take {needed} bytes: there are {len}")]
    ResultsTooLong {
        /// Bytes from the first result to the end of the last.
        needed: u64,
        /// Bytes that were given.
        len: usize,
    },
    /// A query that did not become available while it was waited for.
    #[error("query {query} has not become available within {timeout:?}")]
    QueryTimeout {
        /// Number of the query.
        query: u32,
        /// How long it was waited for, with those before it.
        timeout: Duration,
    },
    /// A lowered shader that contradicts itself.
    #[error("invalid lowered shader: {0}")]
    InvalidShader(String),
    /// The allocator failed.
    #[error("cannot allocate {size} bytes for '{name}'")]
    Allocation {
        /// What the memory was for.
        name: String,
        /// Bytes.
        size: u64,
        /// The allocator's own error.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Memory of the wrong kind.
    #[error("the allocator gave '{name}' memory that is not {property}")]
    WrongMemory {
        /// What the memory was for.
        name: String,
        /// What it should be.
        property: &'static str,
    },
}

impl RuntimeError {
    /// What Vulkan calls it, where it is the device's or the host's state and no mistake of the caller: the result of
    /// the command that failed, or `VK_ERROR_OUT_OF_DEVICE_MEMORY` for memory that an arena or an allocator does not
    /// have.
    #[must_use]
    pub const fn vk_result(&self) -> Option<vk::Result> {
        match self {
            Self::Vulkan { result, .. } => Some(*result),
            Self::ArenaFull { .. } | Self::Allocation { .. } => {
                Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
            }
            _ => None,
        }
    }

    /// For `map_err`: the failed command and its result.
    pub(crate) fn vulkan(call: &'static str) -> impl FnOnce(vk::Result) -> Self {
        move |result| Self::Vulkan { call, result }
    }
}

/// How a full arena comes by more room, in messages.
const fn room_for(needed: u64, capacity: u64, was_reset: bool) -> &'static str {
    match (needed > capacity, was_reset) {
        (true, _) => "it has to be made larger, or to grow (Arena::growing)",
        (false, false) => {
            "it was never reset: reset it when the device is done with what was recorded \
             (Arena::reset, ArenaRing)"
        }
        (false, true) => {
            "reset it when the device is done with what was recorded, make it larger or let it grow \
             (Arena::growing)"
        }
    }
}

/// A stride, in messages.
fn bytes(stride: &Option<u32>) -> String {
    stride.map_or_else(|| "nothing".to_owned(), |stride| format!("{stride} bytes"))
}
